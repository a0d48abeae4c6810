//! `cryptand pin verify`: by Encrypted_PIN_Verify, or with the PIN of another block by Encrypted_PIN_Verify2.

use super::rule::of_8_bytes;
use super::translate::taken_in;
use crate::args::pin::{Given, Verify};
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
        let other = &self.reference;
        if let Some(reference) = &other.reference {
            let format = of_8_bytes(other.reference_format.or(form.format))?;
            let profile = Profile::fixed(Some(format), form.pad.as_ref());
            let card = other.reference_pan.as_ref().or(form.pan.as_ref());
            let other_key = label("--reference-key", other.reference_key.as_ref())?;
            let mut words = vec!["REFPIN"];
            words.extend(serial.map(Serial::word));
            words.extend(found.as_deref());
            return Ok(Call::new(Verb::EncryptedPinVerify2, Reading::Verified("PIN"))
                .keywords(pvr2::RULE_ARRAY, &words)
                .controls(controls(&[format], false))
                .integer(pvr2::REFERENCE_PIN_RULE_ARRAY_COUNT, 0)
                .bytes(pvr2::REFERENCE_PIN_RULE_ARRAY, [])
                .integer(pvr2::PIN_CHECK_LENGTH, 0)
                .key(pvr2::INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, &key, taken)
                .key(
                    pvr2::REFERENCE_PIN_ENCRYPTING_KEY_IDENTIFIER,
                    &other_key,
                    ("--reference-key", taken_in(None)),
                )
                .bytes(pvr2::INPUT_PIN_PROFILE, field)
                .bytes(pvr2::INPUT_PIN_BLOCK, block_in)
                .bytes(pvr2::REFERENCE_PIN_PROFILE, profile.field()?)
                .bytes(pvr2::REFERENCE_PIN_BLOCK, block("--reference", Some(reference), format)?)
                .maybe(pvr2::INPUT_PAN_DATA, pan)
                .maybe(pvr2::REFERENCE_PAN_DATA, pan_of_block("--reference-pan", card, format)?));
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
                ("--pin-key", "a PINVER key of the method (--type tdes-pinver)"),
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
