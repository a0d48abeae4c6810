//! `cryptand pin verify`: by Encrypted_PIN_Verify, or with the PIN of another block, whole or by its last digits, by
//! Encrypted_PIN_Verify2.

use super::rule::of_8_bytes;
use super::translate::taken_in;
use crate::args::pin::{Given, Reference, Verify};
use crate::commands::payment::Order;
use crate::commands::payment::call::{Call, Reading};
use crate::commands::payment::fields::{Profile, Serial, block, controls, extraction, label, pan_of_block};
use crate::failure::Failure;
use wire::verb::{Verb, encrypted_pin_verify as pvr, encrypted_pin_verify2 as pvr2};

impl Order for Verify {
    fn call(&self) -> Result<Call, Failure> {
        let Given { block: given_block, form, extraction: found } = &self.block.given;
        let format = of_8_bytes(form.format)?;
        let serial = Serial::of("--ksn", self.transaction.ksn.as_ref())?;
        let working_key = self.transaction.working_key;
        let profile = Profile { format, pad: form.pad.as_ref(), serial, working_key };
        let (field, pan) = (profile.field()?, pan_of_block("--pan", form.pan.as_ref(), format)?);
        let key = label("--block-key", self.block.block_key.as_ref())?;
        let taken = ("--block-key", taken_in(serial));
        let block_in = block("--block", given_block.as_ref(), format)?;
        let found = extraction(*found);
        if let Some(reference) = &self.reference.reference {
            let common = (serial, found.as_deref());
            let call = Call::new(Verb::EncryptedPinVerify2, Reading::Verified("PIN"))
                .key(pvr2::INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, &key, taken)
                .bytes(pvr2::INPUT_PIN_PROFILE, field)
                .bytes(pvr2::INPUT_PIN_BLOCK, block_in)
                .maybe(pvr2::INPUT_PAN_DATA, pan);
            return self.reference.put(call, &self.block.given, reference, common);
        }
        if self.rule.method.is_none() && self.rule.pvv.is_none() && self.rule.validation_data.is_none() {
            return Err(Failure::Usage(
                "what says that the PIN is right is missing: give --pvv, --validation-data or --reference"
                    .to_owned(),
            ));
        }
        let mut words = vec![self.rule.keyword(self.rule.offset.is_some())];
        words.extend(serial.map(|of| if of.word() == "DUKPT" { "DUKPT-IP" } else { "ADUKPTIP" }));
        words.extend(found.as_deref());
        let pin_key = label("--pin-key", self.rule.pin_key.as_ref())?;
        Ok(Call::new(Verb::EncryptedPinVerify, Reading::Verified("PIN"))
            .key(pvr::INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, &key, taken)
            .key(
                pvr::PIN_VERIFYING_KEY_IDENTIFIER,
                &pin_key,
                ("--pin-key", "a PINVER key of the method (--type tdes-pinver --usage METHOD)"),
            )
            .bytes(pvr::INPUT_PIN_PROFILE, field)
            .maybe(pvr::PAN_DATA, pan)
            .bytes(pvr::ENCRYPTED_PIN_BLOCK, block_in)
            .keywords(pvr::RULE_ARRAY, &words)
            .integer(pvr::PIN_CHECK_LENGTH, self.rule.checked())
            .controls(controls(&[format], false))
            .bytes(pvr::DATA_ARRAY, self.rule.data(form.pan.as_ref(), None)?))
    }
}

impl Reference {
    /// Adds the parameters of the reference block to a request, and the keywords for the comparison with it.
    fn put(
        &self,
        call: Call,
        own: &Given,
        block_in: &String,
        (serial, found): (Option<Serial>, Option<&str>),
    ) -> Result<Call, Failure> {
        let own_format = of_8_bytes(own.form.format)?;
        let format = match self.reference_format {
            Some(format) => of_8_bytes(Some(format))?,
            None => own_format,
        };
        // The way to extract a PIN depends on the format: it is shared only if the formats are the same.
        let same = own.extraction.filter(|_| self.reference_format.is_none());
        let other_found = extraction(self.reference_extraction.or(same));
        let other_serial = Serial::of("--reference-ksn", self.reference_ksn.as_ref())?;
        let profile = Profile {
            format,
            pad: self.reference_pad.as_ref().or(own.form.pad.as_ref()),
            serial: other_serial,
            working_key: self.reference_working_key,
        };
        let card = self.reference_pan.as_ref().or(own.form.pan.as_ref());
        let key = label("--reference-key", self.reference_key.as_ref())?;
        let mut words = vec![if self.reference_digits.is_some() { "TRUNCPIN" } else { "REFPIN" }];
        words.extend(serial.map(Serial::word));
        words.extend(found);
        let mut other_words: Vec<&str> = other_serial.map(Serial::word).into_iter().collect();
        other_words.extend(other_found.as_deref());
        Ok(call
            .keywords(pvr2::RULE_ARRAY, &words)
            .controls(controls(&[own_format, format], false))
            .integer(pvr2::REFERENCE_PIN_RULE_ARRAY_COUNT, other_words.len() as i64)
            .keywords(pvr2::REFERENCE_PIN_RULE_ARRAY, &other_words)
            .integer(pvr2::PIN_CHECK_LENGTH, self.reference_digits.unwrap_or(0).into())
            .key(
                pvr2::REFERENCE_PIN_ENCRYPTING_KEY_IDENTIFIER,
                &key,
                ("--reference-key", taken_in(other_serial)),
            )
            .bytes(pvr2::REFERENCE_PIN_PROFILE, profile.field()?)
            .bytes(pvr2::REFERENCE_PIN_BLOCK, block("--reference", Some(block_in), format)?)
            .maybe(pvr2::REFERENCE_PAN_DATA, pan_of_block("--reference-pan", card, format)?))
    }
}
