//! Key records: the verbs of the daemon as typed functions.

use crate::Facility;
use crate::control::connection::Repeat;
use crate::control::{refusals, unexpected};
use crate::error::FacilityError;
use crate::reply::{Answered, Reply};
use wire::Label;
use wire::bounds::{LABEL_BYTES, TOKEN_BYTES_MAX};
use wire::control::{ClientReply, ClientRequest, Refusal, Store};
use wire::frame::Arguments;
use wire::verb::{
    Filled, RecordDeletion, RecordWriting, TypedAsk, Verb, aes_key_record_create as akrc,
    aes_key_record_delete as akrd, aes_key_record_read as akrr, aes_key_record_write as akrw,
    des_key_record_create as krc, des_key_record_delete as krd, des_key_record_read as krr,
    des_key_record_write as krw, key_records_write, pka_key_record_create as pkrc,
    pka_key_record_delete as pkrd, pka_key_record_read as pkrr, pka_key_record_write as pkrw,
};

/// In place of a second label where one record is written.
pub(crate) const NO_LABEL: [u8; LABEL_BYTES] = [b' '; LABEL_BYTES];

impl Facility {
    /// Creates a key record; an empty token makes a record without a key (DES only).
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with the codes of the verb, such as 8/44 where the label exists.
    pub fn record_create(&self, store: Store, label: &Label, token: &[u8]) -> Result<(), FacilityError> {
        let (operation, field) = ("create a key record", &label.to_field());
        match store {
            Store::Des if token.is_empty() => {
                self.record(operation, &krc::Ask { key_label: field, ..krc::Ask::new() }).map(drop)
            }
            // The verb of this store makes records without a key alone.
            Store::Des => {
                let new = key_records_write::Ask::new(RecordWriting::Create);
                let (key_label_1, key_label_2) = (field, &NO_LABEL);
                let ask = key_records_write::Ask { key_label_1, key_token_1: token, key_label_2, ..new };
                self.record(operation, &ask).map(drop)
            }
            Store::Aes => {
                let ask = akrc::Ask { key_label: field, key_token: token, ..akrc::Ask::new() };
                self.record(operation, &ask).map(drop)
            }
            Store::Pka => {
                let ask = pkrc::Ask { key_label: field, key_token: token, ..pkrc::Ask::new() };
                self.record(operation, &ask).map(drop)
            }
        }
    }

    /// The token of a key record; empty where the record holds none.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with the codes of the verb, such as 8/30 for an unknown label.
    pub fn record_read(&self, store: Store, label: &Label) -> Result<Vec<u8>, FacilityError> {
        let (operation, key_label, room) = ("read a key record", &label.to_field(), TOKEN_BYTES_MAX);
        let token = match store {
            Store::Des => {
                let ask = krr::Ask { key_label, ..krr::Ask::new() };
                self.record(operation, &ask)?.got().key_token.to_vec()
            }
            Store::Aes => {
                let ask = akrr::Ask { key_label, key_token: room, ..akrr::Ask::new() };
                self.record(operation, &ask)?.got().key_token.to_vec()
            }
            Store::Pka => {
                let ask = pkrr::Ask { key_label, key_token: room, ..pkrr::Ask::new() };
                self.record(operation, &ask)?.got().key_token.to_vec()
            }
        };
        // A DES record without a key reads as the null token.
        Ok(if token.iter().all(|byte| *byte == 0) { Vec::new() } else { token })
    }

    /// Writes the token of an existing key record.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with the codes of the verb.
    pub fn record_write(&self, store: Store, label: &Label, token: &[u8]) -> Result<(), FacilityError> {
        let (operation, field) = ("write a key record", &label.to_field());
        match store {
            Store::Des => {
                // By position: the daemon says what is wrong with a token of another length.
                let mut arguments = Arguments::new(Verb::DesKeyRecordWrite);
                arguments.set_bytes(krw::KEY_TOKEN, token).set_bytes(krw::KEY_LABEL, field);
                self.record_by(operation, &arguments).map(drop)
            }
            Store::Aes => {
                let ask = akrw::Ask { key_label: field, key_token: token, ..akrw::Ask::new() };
                self.record(operation, &ask).map(drop)
            }
            Store::Pka => {
                let ask = pkrw::Ask { key_label: field, key_token: token, ..pkrw::Ask::new() };
                self.record(operation, &ask).map(drop)
            }
        }
    }

    /// Writes the tokens of two existing key records: both or neither.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with the codes of the verb; 8/34 for one label twice.
    pub fn record_write_both(&self, records: [(&Label, &[u8]); 2]) -> Result<(), FacilityError> {
        let [(first, token_1), (second, token_2)] = records;
        let ask = key_records_write::Ask {
            key_label_1: &first.to_field(),
            key_token_1: token_1,
            key_label_2: &second.to_field(),
            key_token_2: token_2,
            ..key_records_write::Ask::new(RecordWriting::Replace)
        };
        self.record("write two key records", &ask).map(drop)
    }

    /// Deletes a key record, or only its token.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with the codes of the verb.
    pub fn record_delete(&self, store: Store, label: &Label, token_only: bool) -> Result<(), FacilityError> {
        let (operation, field) = ("delete a key record", &label.to_field());
        let deletion = if token_only { RecordDeletion::Token } else { RecordDeletion::Record };
        match store {
            Store::Des => {
                let ask = krd::Ask { key_identifier: field, ..krd::Ask::new(deletion) };
                self.record(operation, &ask).map(drop)
            }
            Store::Aes => {
                let ask = akrd::Ask { key_label: field, ..akrd::Ask::new(deletion) };
                self.record(operation, &ask).map(drop)
            }
            Store::Pka => {
                let ask = pkrd::Ask { key_identifier: field, ..pkrd::Ask::new(deletion) };
                self.record(operation, &ask).map(drop)
            }
        }
    }

    /// The certificate chain beside a PKA key record, in DER ([`wire::chain`]); empty for none. Requires the right to
    /// open the label.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with 8/30 for a label that the PKA key store does not have, 8/90 for one that the
    /// caller may not open.
    pub fn chain_read(&self, label: &Label) -> Result<Vec<u8>, FacilityError> {
        let operation = "read the certificates of a key record";
        match self.asked(operation, &ClientRequest::ChainRead { label: label.clone() }, Repeat::Safe)? {
            ClientReply::Chain(chain) => Ok(chain),
            _ => Err(unexpected(operation)),
        }
    }

    /// Puts a certificate chain beside a PKA key record, in place of the one that it has: durable when it returns. An
    /// empty chain removes it. Requires the right to write the record.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with 8/30 for an unknown label, or with what is wrong with the chain's form or length
    /// ([`wire::chain::certificates`]). [`FacilityError::Denied`].
    pub fn chain_write(&self, label: &Label, chain: &[u8]) -> Result<(), FacilityError> {
        let request = ClientRequest::ChainWrite { label: label.clone(), chain: chain.to_vec() };
        self.done("install the certificates of a key record", &request, Repeat::Safe)
    }

    /// Calls a verb of key records; what it refuses is an error.
    fn record<A: TypedAsk>(
        &self,
        operation: &'static str,
        ask: &A,
    ) -> Result<Answered<A::Of>, FacilityError> {
        self.record_by(operation, &ask.arguments(&mut Filled::default())).map(Answered::of)
    }

    /// As `record`, with the arguments by position.
    fn record_by(&self, operation: &'static str, arguments: &Arguments<'_>) -> Result<Reply, FacilityError> {
        let verb = arguments.verb();
        match refusals(operation, self.ask_verb(operation, self.selection, 0, arguments)?)? {
            ClientReply::Called { codes, payload } if codes.has_output() => {
                let mut reply = Reply::new();
                let taken = reply.take(verb, codes, payload);
                taken.map_err(|cause| FacilityError::Protocol { operation, cause })?;
                Ok(reply)
            }
            ClientReply::Called { codes, .. } => {
                Err(FacilityError::Refused { operation, refusal: Refusal::Verb(codes) })
            }
            _ => Err(unexpected(operation)),
        }
    }
}
