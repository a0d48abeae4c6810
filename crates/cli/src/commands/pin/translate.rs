//! `cryptand pin translate`: by Encrypted_PIN_Translate, or where a block of ISO-4, two ways to derive keys or a change
//! of the PAN takes it by Encrypted_PIN_Translate2.

use crate::args::payment::BlockFormat;
use crate::args::pin::{ChangeOf, Numbered, Translate};
use crate::commands::payment::Order;
use crate::commands::payment::call::{Call, Reading, Taken};
use crate::commands::payment::fields::{
    Profile, Serial, block, bytes, controls, extraction, label, pan_of_block,
};
use crate::failure::Failure;
use wire::point::Point;
use wire::verb::{Verb, encrypted_pin_translate as ptr, encrypted_pin_translate2 as ptr2};

/// The sequence number of a new block; 99999 stands for none, which formats with a sequence number refuse.
pub fn sequence(given: &Numbered) -> i64 {
    given.sequence.map_or(99_999, i64::from)
}

/// Stand-in for the PAN of a block that is passed through: the PAN is not read.
const NO_PAN: &str = "0000000000000";

impl Order for Translate {
    fn call(&self) -> Result<Call, Failure> {
        let (form, new, change) = (&self.given.form, &self.target, &self.change);
        let into = new.to_format.or(form.format);
        let mut profile_in = Profile::fixed(form.format, form.pad.as_ref());
        let mut profile_out = Profile::fixed(into, new.to_pad.as_ref().or(form.pad.as_ref()));
        profile_in.serial = Serial::of("--ksn", self.transaction.ksn.as_ref())?;
        profile_out.serial = Serial::of("--to-ksn", new.to_ksn.as_ref())?;
        profile_in.working_key = self.transaction.working_key;
        profile_out.working_key = new.to_working_key;
        let four = BlockFormat::Iso4;
        let is_changed = change.change_mac.is_some();
        let extracted = self.given.extraction;
        let is_looked_at =
            new.to_format.is_some() || new.to_pan.is_some() || extracted.is_some() || is_changed;
        let none = NO_PAN.to_owned();
        // A block that is passed through needs no PAN, except in ISO-4, which enciphers with the PAN.
        let pan = match &form.pan {
            None if !is_looked_at && profile_in.format != four => Some(&none),
            given => given.as_ref(),
        };
        let pan_in = pan_of_block("--pan", pan, profile_in.format)?;
        let (option, pan) = match &new.to_pan {
            Some(pan) => ("--to-pan", Some(pan)),
            None => ("--pan", pan),
        };
        let pan_out = pan_of_block(option, pan, profile_out.format)?;
        let mut words = vec![if is_looked_at { "REFORMAT" } else { "TRANSLAT" }.to_owned()];
        let serials = (profile_in.serial, profile_out.serial);
        let is_mixed = derivations(serials, &mut words);
        words.extend(extraction(extracted));
        if is_changed {
            let form = match change.change_of.unwrap_or(ChangeOf::Fields) {
                ChangeOf::Fields => "PANAUTI4",
                ChangeOf::Digits => "PANAUTAS",
            };
            words.extend(["PAN-CHG".to_owned(), form.to_owned()]);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (from, to) = (label("--from", self.from.as_ref())?, label("--to", new.to.as_ref())?);
        let takes = (("--from", taken(&profile_in, true)), ("--to", taken(&profile_out, false)));
        let mut points = controls(&[profile_in.format, profile_out.format], true);
        let binds = profile_in.format == BlockFormat::Iso3
            && matches!(profile_out.format, BlockFormat::Iso0 | BlockFormat::Visa4 | BlockFormat::Iso4);
        points.extend(binds.then_some(Point::PinBound));
        points.extend((new.to_pan.is_some() && !is_changed).then_some(Point::PanChange));
        let given = block("--block", self.given.block.as_ref(), profile_in.format)?;
        let (field_in, field_out) = (profile_in.field()?, profile_out.field()?);
        if ![profile_in.format, profile_out.format].contains(&four) && !is_mixed && !is_changed {
            return Ok(Call::new(Verb::EncryptedPinTranslate, Reading::Bytes("block", ptr::PIN_BLOCK_OUT))
                .key(ptr::INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, &from, takes.0)
                .key(ptr::OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, &to, takes.1)
                .bytes(ptr::INPUT_PIN_PROFILE, field_in)
                .bytes(ptr::OUTPUT_PIN_PROFILE, field_out)
                .maybe(ptr::PAN_DATA_IN, pan_in)
                .maybe(ptr::PAN_DATA_OUT, pan_out)
                .bytes(ptr::PIN_BLOCK_IN, given)
                .keywords(ptr::RULE_ARRAY, &words)
                .integer(ptr::SEQUENCE_NUMBER, sequence(&new.numbered))
                .controls(points));
        }
        let call = Call::new(Verb::EncryptedPinTranslate2, Reading::Bytes("block", ptr2::OUTPUT_PIN_BLOCK))
            .keywords(ptr2::RULE_ARRAY, &words)
            .key(ptr2::INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, &from, takes.0)
            .key(ptr2::OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, &to, takes.1)
            .bytes(ptr2::INPUT_PIN_PROFILE, field_in)
            .bytes(ptr2::OUTPUT_PIN_PROFILE, field_out)
            .bytes(ptr2::INPUT_PAN_DATA, pan_in.unwrap_or_default())
            .bytes(ptr2::OUTPUT_PAN_DATA, pan_out.unwrap_or_default())
            .bytes(ptr2::INPUT_PIN_BLOCK, given)
            .controls(points);
        let Some(mac) = &change.change_mac else {
            return Ok(call
                .integer(ptr2::AUTHENTICATION_KEY_IDENTIFIER_LENGTH, 0)
                .integer(ptr2::AUTHENTICATION_DATA_LENGTH, 0));
        };
        let proving: Taken = ("--change-key", "an AES MAC key with VERIFY and PTR2AUTH (aes128-mac)");
        let key = label(proving.0, change.change_key.as_ref())?;
        Ok(call
            .key(ptr2::AUTHENTICATION_KEY_IDENTIFIER, &key, proving)
            .bytes(ptr2::AUTHENTICATION_DATA, bytes("--change-mac", mac, 16)?))
    }
}

/// Adds the keywords for derived keys. True if both sides derive, in different ways: then each has its own keyword.
fn derivations(sides: (Option<Serial>, Option<Serial>), words: &mut Vec<String>) -> bool {
    match sides {
        (None, None) => false,
        (Some(of), None) => {
            words.push(ingoing(of));
            false
        }
        (None, Some(of)) => {
            words.push(outgoing(of));
            false
        }
        (Some(one), Some(other)) if one.word() == other.word() => {
            words.push(if one.word() == "DUKPT" { "DUKPT-BH" } else { "ADUKPTBH" }.to_owned());
            false
        }
        (Some(one), Some(other)) => {
            words.extend([ingoing(one), outgoing(other)]);
            true
        }
    }
}

fn ingoing(serial: Serial) -> String {
    if serial.word() == "DUKPT" { "DUKPT-IP" } else { "ADUKPTIP" }.to_owned()
}

fn outgoing(serial: Serial) -> String {
    if serial.word() == "DUKPT" { "DUKPT-OP" } else { "ADUKPTOP" }.to_owned()
}

/// Description of the key of an incoming or an outgoing block, for messages.
fn taken(profile: &Profile<'_>, comes_in: bool) -> &'static str {
    match (profile.serial, profile.format, comes_in) {
        (Some(serial), ..) => serial.base_key(),
        (None, BlockFormat::Iso4, true) => "a PINPROT key that deciphers (the .IN of --type aes128-zpk)",
        (None, BlockFormat::Iso4, false) => "a PINPROT key that enciphers (the .OUT of --type aes128-zpk)",
        (None, _, true) => "an IPINENC key (--type tdes-ipinenc)",
        (None, _, false) => "an OPINENC key (--type tdes-opinenc)",
    }
}

/// Description of the key of an incoming 8-byte block whose PIN is used, for messages.
pub fn taken_in(serial: Option<Serial>) -> &'static str {
    taken(&Profile { format: BlockFormat::Iso0, pad: None, serial, working_key: None }, true)
}
