//! Key records: the verbs of the daemon as typed functions.

use crate::Facility;
use crate::control::connection::Repeat;
use crate::control::{refusals, unexpected};
use crate::error::FacilityError;
use crate::reply::Reply;
use wire::Label;
use wire::bounds::TOKEN_BYTES_MAX;
use wire::control::{ClientReply, ClientRequest, Refusal, Store};
use wire::frame::Arguments;
use wire::verb::{
    Verb, aes_key_record_create, aes_key_record_delete, aes_key_record_read, aes_key_record_write,
    des_key_record_create, des_key_record_delete, des_key_record_read, des_key_record_write,
    key_records_write, pka_key_record_create, pka_key_record_delete, pka_key_record_read,
    pka_key_record_write,
};

impl Facility {
    /// Creates a key record; an empty token makes a record without a key (DES only).
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with the codes of the verb, such as 8/44 where the label exists.
    pub fn record_create(&self, store: Store, label: &Label, token: &[u8]) -> Result<(), FacilityError> {
        let (field, length) = (label.to_field(), token.len() as i64);
        let mut arguments;
        match store {
            Store::Des if token.is_empty() => {
                arguments = Arguments::new(Verb::DesKeyRecordCreate);
                arguments.set_bytes(des_key_record_create::KEY_LABEL, &field);
            }
            // The verb of this store makes records without a key alone.
            Store::Des => {
                use key_records_write::*;
                arguments = Arguments::new(Verb::KeyRecordsWrite);
                arguments.set_integer(RULE_ARRAY_COUNT, 1).set_bytes(RULE_ARRAY, b"CREATE  ");
                arguments.set_bytes(KEY_LABEL_1, &field).set_bytes(KEY_LABEL_2, &NO_LABEL);
                arguments.set_integer(KEY_TOKEN_1_LENGTH, length).set_bytes(KEY_TOKEN_1, token);
            }
            Store::Aes => {
                use aes_key_record_create::*;
                arguments = Arguments::new(Verb::AesKeyRecordCreate);
                arguments.set_bytes(KEY_LABEL, &field);
                arguments.set_integer(KEY_TOKEN_LENGTH, length).set_bytes(KEY_TOKEN, token);
            }
            Store::Pka => {
                use pka_key_record_create::*;
                arguments = Arguments::new(Verb::PkaKeyRecordCreate);
                arguments.set_bytes(KEY_LABEL, &field);
                arguments.set_integer(KEY_TOKEN_LENGTH, length).set_bytes(KEY_TOKEN, token);
            }
        }
        self.record("create a key record", &arguments).map(drop)
    }

    /// The token of a key record; empty where the record holds none.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with the codes of the verb, such as 8/30 for an unknown label.
    pub fn record_read(&self, store: Store, label: &Label) -> Result<Vec<u8>, FacilityError> {
        let (field, room) = (label.to_field(), TOKEN_BYTES_MAX as i64);
        let mut arguments;
        let at = match store {
            Store::Des => {
                arguments = Arguments::new(Verb::DesKeyRecordRead);
                arguments.set_bytes(des_key_record_read::KEY_LABEL, &field);
                des_key_record_read::KEY_TOKEN
            }
            Store::Aes => {
                use aes_key_record_read::*;
                arguments = Arguments::new(Verb::AesKeyRecordRead);
                arguments.set_bytes(KEY_LABEL, &field).set_integer(KEY_TOKEN_LENGTH, room);
                KEY_TOKEN
            }
            Store::Pka => {
                use pka_key_record_read::*;
                arguments = Arguments::new(Verb::PkaKeyRecordRead);
                arguments.set_bytes(KEY_LABEL, &field).set_integer(KEY_TOKEN_LENGTH, room);
                KEY_TOKEN
            }
        };
        let reply = self.record("read a key record", &arguments)?;
        let token = reply.arguments().bytes(at).to_vec();
        // A DES record without a key reads as the null token.
        Ok(if token.iter().all(|byte| *byte == 0) { Vec::new() } else { token })
    }

    /// Writes the token of an existing key record.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with the codes of the verb.
    pub fn record_write(&self, store: Store, label: &Label, token: &[u8]) -> Result<(), FacilityError> {
        let (field, length) = (label.to_field(), token.len() as i64);
        let mut arguments;
        match store {
            Store::Des => {
                use des_key_record_write::*;
                arguments = Arguments::new(Verb::DesKeyRecordWrite);
                arguments.set_bytes(KEY_TOKEN, token).set_bytes(KEY_LABEL, &field);
            }
            Store::Aes => {
                use aes_key_record_write::*;
                arguments = Arguments::new(Verb::AesKeyRecordWrite);
                arguments.set_bytes(KEY_LABEL, &field);
                arguments.set_integer(KEY_TOKEN_LENGTH, length).set_bytes(KEY_TOKEN, token);
            }
            Store::Pka => {
                use pka_key_record_write::*;
                arguments = Arguments::new(Verb::PkaKeyRecordWrite);
                arguments.set_bytes(KEY_LABEL, &field);
                arguments.set_integer(KEY_TOKEN_LENGTH, length).set_bytes(KEY_TOKEN, token);
            }
        }
        self.record("write a key record", &arguments).map(drop)
    }

    /// Deletes a key record, or only its token.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with the codes of the verb.
    pub fn record_delete(&self, store: Store, label: &Label, token_only: bool) -> Result<(), FacilityError> {
        let (verb, rules, identifier) = match store {
            Store::Des => {
                use des_key_record_delete::*;
                (Verb::DesKeyRecordDelete, RULE_ARRAY_COUNT, KEY_IDENTIFIER)
            }
            Store::Aes => {
                use aes_key_record_delete::*;
                (Verb::AesKeyRecordDelete, RULE_ARRAY_COUNT, KEY_LABEL)
            }
            Store::Pka => {
                use pka_key_record_delete::*;
                (Verb::PkaKeyRecordDelete, RULE_ARRAY_COUNT, KEY_IDENTIFIER)
            }
        };
        let field = label.to_field();
        let mut arguments = Arguments::new(verb);
        arguments
            .set_integer(rules, 1)
            .set_bytes(rules + 1, if token_only { b"TOKEN-DL" } else { b"LABEL-DL" });
        arguments.set_bytes(identifier, &field);
        self.record("delete a key record", &arguments).map(drop)
    }

    /// The certificate chain beside a PKA key record, in DER ([`wire::chain`]); empty for none. For who may open the
    /// label.
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
    /// empty one takes it away. For who may write the record.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with 8/30 for an unknown label, or with what is wrong with the chain's form or length
    /// ([`wire::chain::certificates`]). [`FacilityError::Denied`].
    pub fn chain_write(&self, label: &Label, chain: &[u8]) -> Result<(), FacilityError> {
        let request = ClientRequest::ChainWrite { label: label.clone(), chain: chain.to_vec() };
        self.done("install the certificates of a key record", &request, Repeat::Safe)
    }

    /// Calls a verb of key records; what it refuses is an error.
    fn record(&self, operation: &'static str, arguments: &Arguments<'_>) -> Result<Reply, FacilityError> {
        let verb = arguments.verb();
        match refusals(operation, self.ask_verb(operation, 0, arguments)?)? {
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

/// In place of a second label where there is one record.
const NO_LABEL: [u8; 64] = [b' '; 64];
