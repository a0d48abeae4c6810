//! `cryptand pin generate`, `offset`, `pvv` and `encrypt`: by Encrypted_PIN_Generate, Recover_PIN_From_Offset,
//! Clear_PIN_Generate, Clear_PIN_Generate_Alternate and Clear_PIN_Encrypt.

use super::rule::of_8_bytes;
use super::translate::{sequence, taken_in};
use crate::args::payment::ClearPin;
use crate::args::pin::{Alternate, Clear, Encrypt, Generate, Method};
use crate::commands::payment::call::{Call, Reading, Taken};
use crate::commands::payment::fields::{
    Profile, block, controls, digits, extraction, is_pin, label, pan_of_block,
};
use crate::commands::payment::{self, Order, clear_pin};
use crate::failure::Failure;
use crate::output::write_new;
use std::path::Path;
use wire::verb::{
    Verb, clear_pin_encrypt as cpe, clear_pin_generate as pgn, clear_pin_generate_alternate as cpa,
    encrypted_pin_generate as epg, recover_pin_from_offset as pfo,
};
use zeroize::Zeroizing;

const PINGEN: Taken = ("--pin-key", "a PINGEN key of the method (--type tdes-pingen --usage METHOD)");
const OPINENC: Taken = ("--block-key", "an OPINENC key (--type tdes-opinenc)");

/// `cryptand pin generate`: generates a PIN, as a block, or in clear on standard output or in a new file.
pub fn generate(asked: Option<&Path>, typed: &Generate) -> Result<(), Failure> {
    match &typed.pin_file {
        Some(file) if file != Path::new("-") => {
            if typed.many.lines.is_some() {
                return Err(Failure::Usage(
                    "--lines: clear PINs go to standard output, --pin-file -".to_owned(),
                ));
            }
            let answer = payment::answered(asked, typed, typed.many.domain)?;
            let mut line = Zeroizing::new(Vec::with_capacity(answer.text().len() + 1));
            line.extend_from_slice(answer.text().as_bytes());
            line.push(b'\n');
            write_new(file, &line)
        }
        file => {
            // The orders of lines are made of serialised options, and the file of the PIN is not serialised.
            let typed = Generate { is_clear: file.is_some(), ..typed.clone() };
            payment::run(asked, &typed, &typed.many)
        }
    }
}

impl Order for Generate {
    fn call(&self) -> Result<Call, Failure> {
        let (rule, form) = (&self.rule, &self.block.form);
        let pin_key = label("--pin-key", rule.pin_key.as_ref())?;
        let length = i64::from(self.length.unwrap_or(4));
        let Some(under) = &self.block.block_key else {
            if !self.is_clear && self.pin_file.is_none() {
                return Err(Failure::Usage(
                    "give --block-key LABEL for a block, or --pin-file FILE for the clear PIN".to_owned(),
                ));
            }
            return Ok(Call::new(Verb::ClearPinGenerate, Reading::Digits("pin", pgn::RETURNED_RESULT))
                .key(pgn::PIN_GENERATING_KEY_IDENTIFIER, &pin_key, PINGEN)
                .keywords(pgn::RULE_ARRAY, &[rule.keyword(false)])
                .integer(pgn::PIN_LENGTH, length)
                .integer(pgn::PIN_CHECK_LENGTH, rule.checked())
                .bytes(pgn::DATA_ARRAY, rule.data(form.pan.as_ref(), None)?));
        };
        let format = of_8_bytes(form.format)?;
        let profile = Profile::fixed(Some(format), form.pad.as_ref()).field()?;
        let pan = pan_of_block("--pan", form.pan.as_ref(), format)?;
        let under = label("--block-key", Some(under))?;
        if let Some(offset) = &rule.offset {
            if rule.method() != Method::Ibm {
                return Err(Failure::Usage("--offset leads to PINs of ibm-3624 alone".to_owned()));
            }
            let bare = crate::args::pin::Rule { offset: None, ..rule.clone() };
            return Ok(Call::new(
                Verb::RecoverPinFromOffset,
                Reading::Bytes("block", pfo::ENCRYPTED_PIN_BLK),
            )
            .key(pfo::PIN_ENC_KEY_ID, &under, OPINENC)
            .key(pfo::PIN_GEN_KEY_ID, &pin_key, PINGEN)
            .controls(controls(&[format], false))
            .bytes(pfo::PIN_PROFILE, profile)
            .maybe(pfo::PAN_DATA, pan)
            .bytes(pfo::OFFSET, format!("{:16}", digits("--offset", offset, 4..=12)?))
            .bytes(pfo::DATA_ARRAY, bare.data(None, None)?)
            .integer(pfo::ENCRYPTED_PIN_BLK_LENGTH, 8));
        }
        Ok(Call::new(Verb::EncryptedPinGenerate, Reading::Bytes("block", epg::ENCRYPTED_PIN_BLOCK))
            .key(epg::PIN_GENERATING_KEY_IDENTIFIER, &pin_key, PINGEN)
            .key(epg::OUTBOUND_PIN_ENCRYPTING_KEY_IDENTIFIER, &under, OPINENC)
            .keywords(epg::RULE_ARRAY, &[rule.keyword(false)])
            .integer(epg::PIN_LENGTH, length)
            .bytes(epg::DATA_ARRAY, rule.data(form.pan.as_ref(), None)?)
            .controls(controls(&[format], false))
            .bytes(epg::PIN_PROFILE, profile)
            .maybe(epg::PAN_DATA, pan)
            .integer(epg::SEQUENCE_NUMBER, sequence(&self.block.numbered)))
    }
}

/// Reads the clear PIN of a file.
fn read(clear: &mut Clear) -> Result<(), Failure> {
    clear.pin = clear.pin_file.as_deref().map(clear_pin).transpose()?;
    Ok(())
}

/// `cryptand pin offset`: computes the offset of a PIN; only methods with offsets are accepted.
pub fn offset(asked: Option<&Path>, typed: &Alternate) -> Result<(), Failure> {
    match typed.rule.method() {
        Method::Ibm | Method::Gbp => alternate(asked, typed, Method::Ibm),
        _ => Err(Failure::Usage("--method: ibm-3624 and gbp have offsets".to_owned())),
    }
}

/// `cryptand pin pvv`: computes the PVV of a PIN; only VISA-PVV is accepted.
pub fn pvv(asked: Option<&Path>, typed: &Alternate) -> Result<(), Failure> {
    match typed.rule.method {
        None | Some(Method::VisaPvv) => alternate(asked, typed, Method::VisaPvv),
        _ => Err(Failure::Usage("--method: a PVV is of visa-pvv".to_owned())),
    }
}

fn alternate(asked: Option<&Path>, typed: &Alternate, method: Method) -> Result<(), Failure> {
    let mut typed = typed.clone();
    typed.rule.method.get_or_insert(method);
    read(&mut typed.clear)?;
    payment::run(asked, &typed, &typed.many)
}

impl Order for Alternate {
    fn call(&self) -> Result<Call, Failure> {
        let (rule, given) = (&self.rule, &self.block.given);
        let form = &given.form;
        let name = match rule.method() {
            Method::Ibm | Method::Gbp => "offset",
            _ => "pvv",
        };
        if rule.offset.is_some() || rule.pvv.is_some() {
            return Err(Failure::Usage(format!("--{name} is what is made here")));
        }
        let pin_key = label("--pin-key", rule.pin_key.as_ref())?;
        let word = rule.keyword(true);
        if let Some(pin) = &self.clear.pin {
            if given.block.is_some() {
                return Err(Failure::Usage("give --block or a clear PIN, not both".to_owned()));
            }
            let ClearPin(clear) = pin;
            // If fewer digits are checked than the PIN has, an offset covers the last ones; the verb takes as many as
            // it checks.
            return Ok(Call::new(Verb::ClearPinGenerate, Reading::Digits(name, pgn::RETURNED_RESULT))
                .key(pgn::PIN_GENERATING_KEY_IDENTIFIER, &pin_key, PINGEN)
                .keywords(pgn::RULE_ARRAY, &[word])
                .integer(pgn::PIN_LENGTH, clear.len() as i64)
                .integer(pgn::PIN_CHECK_LENGTH, rule.checked())
                .bytes(pgn::DATA_ARRAY, rule.data(form.pan.as_ref(), Some(pin))?));
        }
        if given.block.is_none() {
            return Err(Failure::Usage(
                "give --block HEX and --block-key LABEL, or --pin-file FILE".to_owned(),
            ));
        }
        if word == "GBP-PINO" {
            return Err(Failure::Usage(
                "--method gbp: an offset is made of a clear PIN alone, --pin-file FILE".to_owned(),
            ));
        }
        let format = of_8_bytes(form.format)?;
        let found = extraction(given.extraction);
        let words: Vec<&str> = [word].into_iter().chain(found.as_deref()).collect();
        let under = label("--block-key", self.block.block_key.as_ref())?;
        Ok(Call::new(Verb::ClearPinGenerateAlternate, Reading::Digits(name, cpa::RETURNED_RESULT))
            .key(cpa::PIN_ENCRYPTION_KEY_IDENTIFIER, &under, ("--block-key", taken_in(None)))
            .key(cpa::PIN_GENERATION_KEY_IDENTIFIER, &pin_key, PINGEN)
            .controls(controls(&[format], false))
            .bytes(cpa::PIN_PROFILE, Profile::fixed(Some(format), form.pad.as_ref()).field()?)
            .maybe(cpa::PAN_DATA, pan_of_block("--pan", form.pan.as_ref(), format)?)
            .bytes(cpa::ENCRYPTED_PIN_BLOCK, block("--block", given.block.as_ref(), format)?)
            .keywords(cpa::RULE_ARRAY, &words)
            .integer(cpa::PIN_CHECK_LENGTH, rule.checked())
            .bytes(cpa::DATA_ARRAY, rule.data(form.pan.as_ref(), None)?))
    }

    fn clear(&mut self) -> Option<&mut Option<ClearPin>> {
        Some(&mut self.clear.pin)
    }
}

/// `cryptand pin encrypt`: enciphers given or random PINs into blocks.
pub fn encrypt(asked: Option<&Path>, typed: &Encrypt) -> Result<(), Failure> {
    let mut typed = typed.clone();
    read(&mut typed.clear)?;
    payment::run(asked, &typed, &typed.many)
}

impl Order for Encrypt {
    fn call(&self) -> Result<Call, Failure> {
        let form = &self.block.form;
        let (word, pin) = match (&self.clear.pin, self.random) {
            (Some(ClearPin(pin)), _) => ("ENCRYPT", pin.as_str()),
            (None, true) => ("RANDOM", "0000"),
            (None, false) => return Err(Failure::Usage("give --pin-file FILE or --random".to_owned())),
        };
        if !is_pin(pin.as_bytes()) {
            return Err(Failure::Usage("a PIN has 4 to 16 digits".to_owned()));
        }
        let under = label("--block-key", self.block.block_key.as_ref())?;
        let format = of_8_bytes(form.format)?;
        let mut clear = Zeroizing::new([b' '; 16]);
        clear[..pin.len()].copy_from_slice(pin.as_bytes());
        Ok(Call::new(Verb::ClearPinEncrypt, Reading::Bytes("block", cpe::ENCRYPTED_PIN_BLOCK))
            .key(cpe::PIN_ENCRYPTING_KEY_IDENTIFIER, &under, OPINENC)
            .keywords(cpe::RULE_ARRAY, &[word])
            .bytes(cpe::CLEAR_PIN, *clear)
            .controls(controls(&[format], false))
            .bytes(cpe::PIN_PROFILE, Profile::fixed(Some(format), form.pad.as_ref()).field()?)
            .maybe(cpe::PAN_DATA, pan_of_block("--pan", form.pan.as_ref(), format)?)
            .integer(cpe::SEQUENCE_NUMBER, sequence(&self.block.numbered)))
    }

    fn clear(&mut self) -> Option<&mut Option<ClearPin>> {
        Some(&mut self.clear.pin)
    }
}
