//! The requests of the PIN verbs, of which all but the key that is tried is right.

use cca::Processor;
use wire::point::PointSet;
use wire::verb::{Verb, encrypted_pin_translate, encrypted_pin_verify};

use crate::pin;
use crate::support::{Request, entered};

const BLOCK: &[u8; 8] = b"8 bytes.";

/// Keys of one value for PINs, for every step, and two halves for card verification values.
pub struct PinKeys {
    pub generating: Vec<u8>,
    pub verifying: Vec<u8>,
    pub inbound: Vec<u8>,
    pub outbound: Vec<u8>,
    pub cvv_a: Vec<u8>,
    pub cvv_b: Vec<u8>,
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
            _ => Vec::new(),
        }
    }
}
