//! The requests of the PIN verbs, of which all but the key that is tried is right.

use crate::keys::entered2;
use crate::pin;
use crate::pin2::{PAN, TWELVE, aes_profile, field4, translate2, under4};
use crate::support::{Request, entered};
use cca::Processor;
use token::variable::VariableType;
use wire::point::PointSet;
use wire::verb::{Verb, encrypted_pin_translate, encrypted_pin_translate2, encrypted_pin_verify};

const BLOCK: &[u8; 8] = b"8 bytes.";

/// What keys of ISO-4 are for.
pub const PIN_IN: &[&str] = &["DECRYPT", "PINXLATE", "REFORMAT", "RFMT4TO1", "EPINVER", "CPINGENA", "ISO-4"];
/// The uses of an AES key of PIN blocks that leave.
pub const PIN_OUT: &[&str] = &["ENCRYPT", "PINXLATE", "REFORMAT", "RFMT1TO4", "EPINGEN", "CPINENC", "ISO-4"];

/// Keys of one value for PINs, for every step, and two halves for card verification values.
pub struct PinKeys {
    /// Makes PINs.
    pub generating: Vec<u8>,
    /// Verifies PINs.
    pub verifying: Vec<u8>,
    /// PIN blocks arrive under it.
    pub inbound: Vec<u8>,
    /// PIN blocks leave under it.
    pub outbound: Vec<u8>,
    /// The first half of a CVV key.
    pub cvv_a: Vec<u8>,
    /// The second half of a CVV key.
    pub cvv_b: Vec<u8>,
    /// Of card security codes.
    pub codes: Vec<u8>,
    /// AES blocks arrive under it.
    pub aes_inbound: Vec<u8>,
    /// AES blocks leave under it.
    pub aes_outbound: Vec<u8>,
    /// Verifies the proof of a change of PINs.
    pub proving: Vec<u8>,
}

impl PinKeys {
    /// Enters all of them.
    pub fn new(processor: &mut Processor) -> Self {
        Self {
            generating: entered(processor, "PINGEN", &[], &pin::KEY),
            verifying: entered(processor, "PINVER", &[], &pin::KEY),
            inbound: entered(processor, "IPINENC", &[], &pin::KEY),
            outbound: entered(processor, "OPINENC", &[], &pin::KEY),
            cvv_a: entered(processor, "MAC", &["SINGLE", "CVVKEY-A"], &pin::KEY),
            cvv_b: entered(processor, "MAC", &["SINGLE", "CVVKEY-B"], &pin::KEY),
            codes: entered(processor, "MAC", &["DOUBLE", "AMEX-CSC"], &pin::KEY),
            aes_inbound: entered2(processor, VariableType::PinProt, PIN_IN, &pin::KEY),
            aes_outbound: entered2(processor, VariableType::PinProt, PIN_OUT, &pin::KEY),
            proving: entered2(processor, VariableType::Mac, &["VERIFY", "PTR2AUTH"], &pin::KEY),
        }
    }

    /// Requests that use this key in this place, as `Others::ways` has them.
    pub fn ways(&self, verb: Verb, position: usize, key: &[u8]) -> Vec<Request> {
        match verb {
            Verb::EncryptedPinTranslate => {
                use encrypted_pin_translate::INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER;
                let (one, two) = (&self.inbound, &self.outbound);
                let plain = pin::profile("ISO-0", "");
                let derived = pin::derived_profile("ISO-0", "", "FFFF9876543210E00001");
                let (profiles, word) = if position == INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER {
                    ([&derived, &plain], "DUKPT-IP")
                } else {
                    ([&plain, &derived], "DUKPT-OP")
                };
                let pans = ("401234567890", "401234567890");
                let with = |words: &[&str], profiles: [&Vec<u8>; 2]| {
                    pin::translate((one, two), words, (profiles[0], profiles[1]), pans, BLOCK)
                };
                vec![with(&["TRANSLAT", word], profiles), with(&["TRANSLAT"], [&plain, &plain])]
            }
            Verb::EncryptedPinTranslate2 => {
                use encrypted_pin_translate2::*;
                let (short, four) = (pin::profile("ISO-0", ""), pin::profile("ISO-4", ""));
                let derived = aes_profile("ISO-4", "00020080", 1);
                let with = |words: &[&str], keys: [&Vec<u8>; 2], profiles: [&Vec<u8>; 2]| {
                    let pan = |profile: &Vec<u8>| if profile.starts_with(b"ISO-4") { PAN } else { TWELVE };
                    let pans = (pan(profiles[0]), pan(profiles[1]));
                    let block = [0x5A; 16];
                    let block = if pans.0 == PAN { &block[..] } else { BLOCK };
                    let sides = ((&keys[0][..], &keys[1][..]), (&profiles[0][..], &profiles[1][..]), pans);
                    translate2(words, sides, block)
                };
                let (des, aes) = ([&self.inbound, &self.outbound], [&self.aes_inbound, &self.aes_outbound]);
                let fixed = with(&["TRANSLAT"], aes, [&four, &four]);
                match position {
                    INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER => vec![
                        with(&["TRANSLAT", "ADUKPTIP"], aes, [&derived, &four]),
                        with(&["TRANSLAT"], des, [&short, &short]),
                        fixed,
                    ],
                    OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER => vec![
                        with(&["TRANSLAT", "ADUKPTOP"], aes, [&four, &derived]),
                        with(&["TRANSLAT"], des, [&short, &short]),
                        fixed,
                    ],
                    _ => {
                        // Under keys of one value the block is right, and so is the proof under the key of that value
                        // alone.
                        let (old, new) = (PAN, "4012345678917");
                        let block = under4(&pin::KEY, old, &field4("1234", 7));
                        let mac = crate::peer::cmac_aes(&pin::KEY, format!("{old}{new}").as_bytes());
                        let keys = (&self.aes_inbound[..], &self.aes_outbound[..]);
                        let words = ["REFORMAT", "PAN-CHG", "PANAUTAS"];
                        vec![
                            translate2(&words, (keys, (&four, &four), (old, new)), &block)
                                .counted(AUTHENTICATION_DATA_LENGTH, AUTHENTICATION_DATA, mac)
                                .counted(
                                    AUTHENTICATION_KEY_IDENTIFIER_LENGTH,
                                    AUTHENTICATION_KEY_IDENTIFIER,
                                    &self.proving,
                                ),
                        ]
                    }
                }
            }
            Verb::EncryptedPinVerify2 => {
                let plain = pin::profile("ISO-0", "");
                let block = pin::under(&pin::KEY, &pin::iso0("1234", TWELVE));
                let side = (&self.inbound[..], &plain[..], TWELVE, &block[..]);
                vec![crate::pin2::compare(&["REFPIN"], &[], side, side, 0)]
            }
            Verb::RecoverPinFromOffset => {
                let keys = (&self.outbound[..], &self.generating[..]);
                let elements = [pin::TABLE, "1122334455667788", ""];
                vec![crate::pin2::recover(keys, &pin::profile("ISO-0", ""), TWELVE, "1234", elements)]
            }
            Verb::EncryptedPinVerify => {
                let keys = (&self.inbound[..], &self.verifying[..]);
                let plain = pin::profile("ISO-0", "");
                let data = [pin::TABLE, "1122334455667788", ""];
                let block = pin::under(&pin::KEY, &pin::iso0("1234", "401234567890"));
                let under = pin::verify(keys, &["IBM-PIN"], &plain, "401234567890", &block, 4, data);
                let derived = pin::derived_profile("ISO-0", "", "FFFF9876543210E00001");
                let words = ["IBM-PIN", "DUKPT-IP"];
                let under_derived = pin::verify(keys, &words, &derived, "401234567890", &block, 4, data);
                let others = ["VISA-PVV", "INBK-PIN"].map(|method| {
                    let data = match method {
                        "VISA-PVV" => ["334455667783", "4021", ""],
                        _ => ["3344556677861234", "", ""],
                    };
                    pin::verify(keys, &[method], &plain, "401234567890", &block, 4, data)
                });
                if position == encrypted_pin_verify::INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER {
                    vec![under_derived, under]
                } else {
                    [&others[..], &[under]].concat()
                }
            }
            Verb::ClearPinGenerate => vec![
                pin::generate(key, "VISA-PVV", (4, 4), ["3344556677834524", "", ""]),
                pin::generate(key, "IBM-PIN", (4, 4), [pin::TABLE, "1122334455667788", ""]),
            ],
            Verb::ClearPinGenerateAlternate => {
                let keys = (&self.inbound[..], &self.generating[..]);
                let plain = pin::profile("ISO-0", "");
                let block = pin::under(&pin::KEY, &pin::iso0("1234", "401234567890"));
                let data = [pin::TABLE, "1122334455667788", ""];
                vec![pin::alternate(keys, &["IBM-PINO"], &plain, "401234567890", &block, 4, data)]
            }
            Verb::EncryptedPinGenerate => {
                let keys = (&self.generating[..], &self.outbound[..]);
                let data = [pin::TABLE, "1122334455667788", ""];
                let plain = pin::profile("ISO-0", "");
                vec![pin::encrypted(keys, "IBM-PIN", 4, data, &plain, "401234567890")]
            }
            Verb::ClearPinEncrypt => {
                let request = pin::encrypt(key, &[], "1234", &pin::profile("ISO-0", ""), "401234567890");
                vec![request.points(&PointSet::EVERYTHING)]
            }
            Verb::CvvGenerate | Verb::CvvVerify => {
                let card = ["4123456789012345", "8701", "101"];
                let words = ["PAN-16", "CVV-3"];
                // A key of single length stands for either half.
                let pair = (&self.cvv_a[..], &self.cvv_b[..]);
                vec![match verb {
                    Verb::CvvGenerate => pin::value(pair, &words, card),
                    _ => pin::verified(pair, &words, card, "561"),
                }]
            }
            Verb::TransactionValidation => {
                let card = "9912371234567890123";
                vec![
                    pin::codes_of(key, &["GENERATE", "CSC-5"], card),
                    pin::code_verified(key, &["VERIFY", "CSC-5"], card, "61247"),
                ]
            }
            _ => Vec::new(),
        }
    }
}
