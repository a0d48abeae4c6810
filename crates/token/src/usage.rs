//! The uses of a key that its control vector allows.

use crate::control_vector::ControlVector;
use crate::key_type::USAGE_FIELD;

/// A use of a DES key that a verb asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// Encipher data.
    Encipher,
    /// Decipher data.
    Decipher,
    /// Generate a message authentication code.
    MacGenerate,
    /// Verify a message authentication code.
    MacVerify,
    /// Decipher texts that are enciphered under another key in the same call.
    TranslateFrom,
    /// Encipher texts that were deciphered with another key in the same call.
    TranslateTo,
    /// Encipher cryptographic variables.
    EncipherVariable,
    /// Decipher incoming PIN blocks (IPINENC).
    PinBlockIn(PinBlockIn),
    /// Encipher outgoing PIN blocks (OPINENC).
    PinBlockOut(PinBlockOut),
    /// Compute PINs (PINGEN, PINVER) by this method.
    Pin(PinStep, PinMethod),
    /// Derive keys of PIN blocks for each transaction (KEYGENKY with UKPT).
    DeriveTransactionKeys,
    /// Compute card verification values that are returned.
    CardValueGenerate(CardValueHalf),
    /// Compute card verification values that are compared.
    CardValueVerify(CardValueHalf),
    /// Compute card security codes that are returned.
    SecurityCodeGenerate,
    /// Compute card security codes that are compared.
    SecurityCodeVerify,
    /// Encipher messages to chip cards with keys in them (SECMSG with SMKEY).
    MessageOfKeys,
    /// Encipher messages to chip cards with PINs in them (SECMSG with SMPIN).
    MessageOfPins,
    /// Export the key.
    Export,
    /// Wrap the key for another system as a plain DATA key, which has every use.
    TransportAsData,
    /// Wrap other keys, as a key-encrypting key of this side.
    Wrap(Side, Wrapping),
    /// Protect key blocks of versions A, B and C that leave, or come in.
    ProtectBlocks(Side),
}

/// What is done with an incoming PIN block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PinBlockIn {
    /// Its PIN is verified (EPINVER).
    Verify,
    /// An offset or a PVV of its PIN is made (CPINGENA).
    Alternate,
    /// The block is enciphered under another key as it is (TRANSLAT).
    Translate,
    /// Its PIN is put into another block (REFORMAT).
    Reformat,
}

/// The origin of an outgoing PIN block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PinBlockOut {
    /// Its PIN was clear (CPINENC).
    Encrypt,
    /// Its PIN was computed (EPINGEN).
    Generate,
    /// The block was deciphered as it is (TRANSLAT).
    Translate,
    /// Its PIN comes from another block (REFORMAT).
    Reformat,
}

/// What is done with the result of a PIN key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PinStep {
    /// A PIN, or a value made from a clear PIN, is returned in the clear (CPINGEN).
    Clear,
    /// A PIN is returned in a block (EPINGEN).
    Encrypted,
    /// An offset or a PVV of a PIN in a block is returned (CPINGENA).
    Alternate,
    /// A PIN in a block is verified (EPINVER).
    Verify,
}

/// The method by which a PIN key computes PINs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PinMethod {
    /// IBM 3624 (IBM-PIN).
    Ibm,
    /// IBM 3624 with an offset (IBM-PINO).
    IbmOffset,
    /// VISA PVV (VISA-PVV).
    Visa,
    /// Interbank (INBK-PIN).
    Interbank,
    /// German banking pool (GBP-PIN).
    Pool,
    /// German banking pool with an offset (GBP-PINO).
    PoolOffset,
}

impl PinMethod {
    /// Number of the method in bits 0 to 3 of a control vector.
    const fn number(self) -> u8 {
        match self {
            Self::Ibm | Self::IbmOffset => 1,
            Self::Visa => 2,
            Self::Interbank => 3,
            Self::Pool | Self::PoolOffset => 4,
        }
    }

    const fn has_offset(self) -> bool {
        matches!(self, Self::IbmOffset | Self::PoolOffset)
    }
}

/// Which key of the pair for card verification values a key is; one key of double length may be
/// both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CardValueHalf {
    /// Key A, or both in one key of double length.
    A,
    /// Key B of the pair, of single length.
    B,
}

/// The side of a transport on which a key-encrypting key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// EXPORTER and OKEYXLAT: keys are exported under it.
    Sending,
    /// IMPORTER and IKEYXLAT: keys are imported under it.
    Receiving,
}

/// The keys that a key-encrypting key wraps or unwraps, each with a bit of its control vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wrapping {
    /// Keys that are used here (EXPORT, IMPORT).
    Keys,
    /// Keys that are translated from one key-encrypting key to another (XLATE).
    Translated,
    /// The only wrapped token of a generated key (OPEX, OPIM).
    GeneratedOnce,
    /// Both tokens of a generated key, on the same side (EXEX, IMIM), and the single one of EX.
    GeneratedTwice,
    /// One token of a generated key whose other token is for the other side (IMEX), and the single
    /// token of IM.
    GeneratedForBoth,
    /// Keys whose verification pattern is computed: every key-encrypting key may do so.
    Tested,
    /// Private keys (EXPORT, IMPORT): a key for them alone (IMP-PKA) wraps nothing else.
    PrivateKeys,
    /// The only token of a generated private key (GEN-PUB with AES; EXPORT, IMPORT with DES).
    GeneratedPrivateKeys,
}

impl Wrapping {
    const fn bit(self) -> Option<u32> {
        Some(match self {
            Self::GeneratedForBoth => 18,
            Self::GeneratedOnce => 19,
            Self::GeneratedTwice => 20,
            Self::Keys | Self::PrivateKeys | Self::GeneratedPrivateKeys => 21,
            Self::Translated => 22,
            Self::Tested => return None,
        })
    }
}

impl ControlVector {
    /// Whether the vector belongs to a key-encrypting key (EXPORTER, IMPORTER, OKEYXLAT, IKEYXLAT,
    /// IMP-PKA).
    pub const fn is_transport(self) -> bool {
        self.type_bits().0 == MAIN_TRANSPORT
    }

    /// Whether the vector belongs to a key-encrypting key for private keys alone (IMP-PKA), which
    /// only imports and may not be exported. Such a key deciphers numbers of private keys in whole
    /// blocks; as DES keys these could be used, tested and exported block after block.
    pub const fn is_for_private_keys(self) -> bool {
        let imports_only = self.bit(21) && !(self.bit(18) || self.bit(19) || self.bit(20) || self.bit(22));
        imports_only && !self.bit(17) && matches!(self.type_bits(), (MAIN_TRANSPORT, SUB_RECEIVING))
    }

    /// Whether the vector belongs to a key-encrypting key that protects key blocks and wraps no token
    /// (KBPK): none of its usage bits is set.
    pub const fn protects_blocks_alone(self) -> bool {
        self.is_transport() && self.left() & USAGE_FIELD == 0
    }

    /// Whether keys of this use have at most two parts: card verification values and security codes,
    /// and Visa PVVs, which are defined for two.
    pub(crate) const fn is_of_two_parts(self) -> bool {
        match self.type_bits() {
            (MAIN_DATA, SUB_MAC) => self.method_bits() > METHOD_X9_9,
            (MAIN_PIN, SUB_PIN) => self.method_bits() == PinMethod::Visa.number(),
            _ => false,
        }
    }

    /// Whether a key with this vector is kept only in authenticated tokens: a key-encrypting key,
    /// or a part of a key. If an attacker combined such a key from two tokens, the whole domain
    /// would be lost.
    pub const fn needs_authentication(self) -> bool {
        self.is_transport() || self.is_key_part()
    }

    /// Whether the vector belongs to a key that only translates texts (CIPHERXI, CIPHERXO,
    /// CIPHERXL).
    pub const fn only_translates(self) -> bool {
        matches!(self.type_bits(), (MAIN_DATA, SUB_TRANSLATION))
    }

    /// Whether the vector belongs to a DATA key with every use, so that it is no narrower than that
    /// of the DATA key which the receiver gets. DATAC, DATAM and DATAMV have the same type and
    /// fewer uses.
    pub const fn is_plain_data(self) -> bool {
        let is_for_all = self.bit(18) && self.bit(19) && self.bit(20) && self.bit(21);
        self.is_zero() || (is_for_all && matches!(self.type_bits(), (MAIN_DATA, SUB_DATA)))
    }

    /// Whether a key with this vector may be used in this way. Parts of keys may not be used at
    /// all.
    pub const fn may(self, usage: Use) -> bool {
        if self.is_key_part() {
            return false;
        }
        if self.is_zero() {
            return matches!(
                usage,
                Use::Encipher
                    | Use::Decipher
                    | Use::MacGenerate
                    | Use::MacVerify
                    | Use::TranslateFrom
                    | Use::TranslateTo
                    | Use::Export
                    | Use::TransportAsData
            );
        }
        match usage {
            Use::Wrap(side, wrapping) => {
                let subtype = match side {
                    Side::Sending => SUB_SENDING,
                    Side::Receiving => SUB_RECEIVING,
                };
                let is_permitted = match wrapping.bit() {
                    Some(bit) => self.bit(bit),
                    None => !self.protects_blocks_alone(),
                };
                let of_private = matches!(wrapping, Wrapping::PrivateKeys | Wrapping::GeneratedPrivateKeys);
                let is_for_these = of_private || !self.is_for_private_keys();
                matches!(self.type_bits(), (MAIN_TRANSPORT, sub) if sub == subtype)
                    && is_permitted
                    && is_for_these
            }
            Use::ProtectBlocks(side) => {
                let subtype = match side {
                    Side::Sending => SUB_SENDING,
                    Side::Receiving => SUB_RECEIVING,
                };
                let is_of_side = matches!(self.type_bits(), (MAIN_TRANSPORT, sub) if sub == subtype);
                is_of_side && (self.protects_blocks_alone() || self.may(Use::Wrap(side, Wrapping::Keys)))
            }
            Use::Encipher => is_cipher(self) && self.bit(18),
            Use::Decipher => is_cipher(self) && self.bit(19),
            Use::TranslateFrom => (is_cipher(self) || self.only_translates()) && self.bit(19),
            Use::TranslateTo => (is_cipher(self) || self.only_translates()) && self.bit(18),
            Use::EncipherVariable => {
                matches!(self.type_bits(), (MAIN_VARIABLE, SUB_VARIABLE)) && self.bit(20)
            }
            Use::PinBlockIn(step) => {
                let bit = match step {
                    PinBlockIn::Verify => 19,
                    PinBlockIn::Alternate => 20,
                    PinBlockIn::Translate => 21,
                    PinBlockIn::Reformat => 22,
                };
                matches!(self.type_bits(), (MAIN_PIN, SUB_PIN_BLOCK_IN)) && self.bit(bit)
            }
            Use::PinBlockOut(from) => {
                let bit = match from {
                    PinBlockOut::Encrypt => 18,
                    PinBlockOut::Generate => 19,
                    PinBlockOut::Translate => 21,
                    PinBlockOut::Reformat => 22,
                };
                matches!(self.type_bits(), (MAIN_PIN, SUB_PIN_BLOCK_OUT)) && self.bit(bit)
            }
            Use::Pin(step, method) => {
                let bit = match step {
                    PinStep::Clear => 18,
                    PinStep::Encrypted => 20,
                    PinStep::Alternate => 21,
                    PinStep::Verify => 22,
                };
                let is_of_method = self.method_bits() == 0 || self.method_bits() == method.number();
                let is_of_offset = !method.has_offset() || !self.bit(NO_OFFSET);
                let is_of_length = !(self.is_triple() && matches!(method, PinMethod::Visa));
                matches!(self.type_bits(), (MAIN_PIN, SUB_PIN))
                    && is_of_length
                    && self.bit(bit)
                    && is_of_method
                    && is_of_offset
            }
            Use::DeriveTransactionKeys => self.type_bits().0 == MAIN_DERIVING && self.bit(18),
            Use::MessageOfKeys => matches!(self.type_bits(), (MAIN_DATA, SUB_MESSAGES)) && self.bit(18),
            Use::MessageOfPins => matches!(self.type_bits(), (MAIN_DATA, SUB_MESSAGES)) && self.bit(19),
            Use::CardValueGenerate(half) => is_card_value(self, half) && self.bit(20),
            Use::CardValueVerify(half) => is_card_value(self, half) && self.bit(21),
            Use::SecurityCodeGenerate => is_security_code(self) && self.bit(20),
            Use::SecurityCodeVerify => is_security_code(self) && self.bit(21),
            Use::MacGenerate => is_mac(self) && self.bit(20),
            Use::MacVerify => is_mac(self) && self.bit(21),
            Use::Export => self.bit(17),
            Use::TransportAsData => self.bit(17) && self.is_plain_data(),
        }
    }
}

const fn is_cipher(vector: ControlVector) -> bool {
    matches!(vector.type_bits(), (MAIN_DATA, SUB_DATA | SUB_CIPHER))
}

/// Subtype DATA, or MAC for any purpose or for X9.9: card-verification keys are not for texts.
const fn is_mac(vector: ControlVector) -> bool {
    match vector.type_bits() {
        (MAIN_DATA, SUB_DATA) => true,
        (MAIN_DATA, SUB_MAC) => vector.method_bits() <= METHOD_X9_9,
        _ => false,
    }
}

/// Subtype MAC for card verification values, or for any purpose.
const fn is_card_value(vector: ControlVector, half: CardValueHalf) -> bool {
    let own = match half {
        CardValueHalf::A => METHOD_CVV_A,
        CardValueHalf::B => METHOD_CVV_B,
    };
    let method = vector.method_bits();
    let is_of_type = matches!(vector.type_bits(), (MAIN_DATA, SUB_MAC)) && !vector.is_triple();
    is_of_type && (method == 0 || method == own)
}

/// Subtype MAC for card security codes, or for any purpose.
const fn is_security_code(vector: ControlVector) -> bool {
    let method = vector.method_bits();
    let is_of_type = matches!(vector.type_bits(), (MAIN_DATA, SUB_MAC)) && !vector.is_triple();
    is_of_type && (method == 0 || method == METHOD_SECURITY_CODE)
}

const MAIN_DATA: u8 = 0;
const MAIN_TRANSPORT: u8 = 4;
const MAIN_VARIABLE: u8 = 3;
const SUB_VARIABLE: u8 = 7;
const SUB_TRANSLATION: u8 = 6;
const SUB_SENDING: u8 = 0;
const SUB_RECEIVING: u8 = 1;
const SUB_DATA: u8 = 0;
const SUB_CIPHER: u8 = 1;
const SUB_MAC: u8 = 2;
const SUB_MESSAGES: u8 = 5;
const METHOD_X9_9: u8 = 1;
const METHOD_CVV_A: u8 = 2;
const METHOD_CVV_B: u8 = 3;
const METHOD_SECURITY_CODE: u8 = 4;
const MAIN_PIN: u8 = 2;
const SUB_PIN_BLOCK_IN: u8 = 0;
const SUB_PIN: u8 = 1;
const SUB_PIN_BLOCK_OUT: u8 = 2;
const MAIN_DERIVING: u8 = 5;
/// The bit that forbids a PIN key methods with an offset (NOOFFSET).
const NO_OFFSET: u32 = 37;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_vector::{KeyForm, bit};
    use crate::key_type::KeyType;

    #[test]
    fn default_vectors_allow_what_their_types_say() {
        let uses = [Use::Encipher, Use::Decipher, Use::MacGenerate, Use::MacVerify];
        let check = |key_type: KeyType, allowed: [bool; 4]| {
            for form in [KeyForm::Single, KeyForm::Double] {
                if let Some(vector) = key_type.default_vector(form) {
                    for (usage, expected) in uses.iter().zip(allowed) {
                        assert_eq!(vector.may(*usage), expected, "{key_type:?} {usage:?}");
                    }
                }
            }
        };
        check(KeyType::Data, [true, true, true, true]);
        check(KeyType::DataC, [true, true, false, false]);
        check(KeyType::DataM, [false, false, true, true]);
        check(KeyType::DataMv, [false, false, false, true]);
        check(KeyType::Cipher, [true, true, false, false]);
        check(KeyType::Encipher, [true, false, false, false]);
        check(KeyType::Decipher, [false, true, false, false]);
        check(KeyType::Mac, [false, false, true, true]);
        check(KeyType::MacVer, [false, false, false, true]);
        for other in KeyType::ALL.iter().filter(|key_type| key_type.name() >= "DKYGENKY") {
            if !matches!(other, KeyType::Encipher | KeyType::Mac | KeyType::MacVer) {
                check(*other, [false; 4]);
            }
        }
        assert!(uses.iter().all(|usage| ControlVector::ZERO.may(*usage)));
    }

    #[test]
    fn only_key_encrypting_keys_wrap_each_on_its_side_what_its_bits_say() {
        use Wrapping::*;
        let wrappings =
            [Keys, Translated, GeneratedOnce, GeneratedTwice, GeneratedForBoth, Tested, PrivateKeys];
        let by_default = [Keys, GeneratedOnce, GeneratedTwice, GeneratedForBoth, Tested, PrivateKeys];
        for key_type in KeyType::ALL.iter().copied().filter(|key_type| key_type.has_default()) {
            let vector = key_type.default_vector(key_type.default_form()).unwrap();
            for (side, wrapping) in
                [Side::Sending, Side::Receiving].into_iter().flat_map(|side| wrappings.map(|one| (side, one)))
            {
                let expected = match (key_type, side) {
                    (KeyType::Exporter, Side::Sending) | (KeyType::Importer, Side::Receiving) => {
                        by_default.contains(&wrapping)
                    }
                    (KeyType::OKeyXlat, Side::Sending) | (KeyType::IKeyXlat, Side::Receiving) => {
                        matches!(wrapping, Translated | Tested)
                    }
                    (KeyType::ImpPka, Side::Receiving) => wrapping == PrivateKeys,
                    _ => false,
                };
                assert_eq!(
                    vector.may(Use::Wrap(side, wrapping)),
                    expected,
                    "{key_type:?} {side:?} {wrapping:?}"
                );
            }
        }
        let importer = KeyType::Importer.default_vector(KeyForm::Double).unwrap();
        let part = importer.with_bits(bit(44), true).unwrap();
        for wrapping in wrappings {
            assert!(!ControlVector::ZERO.may(Use::Wrap(Side::Receiving, wrapping)));
            assert!(!part.may(Use::Wrap(Side::Receiving, wrapping)));
        }
    }

    #[test]
    fn parts_and_card_verification_keys_are_refused() {
        let data = KeyType::Data.default_vector(KeyForm::Double).unwrap();
        let part = data.with_bits(bit(44), true).unwrap();
        assert!(!part.may(Use::Encipher) && !part.may(Use::MacVerify) && !part.may(Use::Export));
        let mac = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
        assert!(mac.with_bits(bit(3), true).unwrap().may(Use::MacGenerate));
        assert!(!mac.with_bits(bit(2), true).unwrap().may(Use::MacGenerate));
        assert!(!data.with_bits(bit(17), false).unwrap().may(Use::TransportAsData));
        for narrower in [KeyType::DataC, KeyType::DataM, KeyType::DataMv] {
            let vector = narrower.default_vector(KeyForm::Double).unwrap();
            assert!(!vector.may(Use::TransportAsData) && vector.may(Use::Export), "{narrower:?}");
        }
    }

    #[test]
    fn pin_keys_do_what_their_types_and_bits_say_and_no_other_key_does() {
        let steps = [PinStep::Clear, PinStep::Encrypted, PinStep::Alternate, PinStep::Verify];
        let methods = [
            PinMethod::Ibm,
            PinMethod::IbmOffset,
            PinMethod::Visa,
            PinMethod::Interbank,
            PinMethod::Pool,
            PinMethod::PoolOffset,
        ];
        let blocks_in =
            [PinBlockIn::Verify, PinBlockIn::Alternate, PinBlockIn::Translate, PinBlockIn::Reformat];
        let blocks_out =
            [PinBlockOut::Encrypt, PinBlockOut::Generate, PinBlockOut::Translate, PinBlockOut::Reformat];
        let halves = [CardValueHalf::A, CardValueHalf::B];
        let mut uses: Vec<(Use, Vec<KeyType>)> = vec![];
        for step in steps {
            let types = if step == PinStep::Verify {
                vec![KeyType::PinGen, KeyType::PinVer]
            } else {
                vec![KeyType::PinGen]
            };
            uses.extend(methods.map(|method| (Use::Pin(step, method), types.clone())));
        }
        uses.extend(blocks_in.map(|step| (Use::PinBlockIn(step), vec![KeyType::IPinEnc])));
        uses.extend(blocks_out.map(|from| (Use::PinBlockOut(from), vec![KeyType::OPinEnc])));
        uses.extend(halves.map(|half| (Use::CardValueGenerate(half), vec![KeyType::Mac])));
        uses.extend(halves.map(|half| (Use::CardValueVerify(half), vec![KeyType::Mac, KeyType::MacVer])));
        uses.push((Use::SecurityCodeGenerate, vec![KeyType::Mac]));
        uses.push((Use::SecurityCodeVerify, vec![KeyType::Mac, KeyType::MacVer]));
        uses.push((Use::DeriveTransactionKeys, vec![]));
        for (usage, types) in uses {
            for key_type in KeyType::ALL.iter().copied().filter(|key_type| key_type.has_default()) {
                let vector = key_type.default_vector(key_type.default_form()).unwrap();
                let part = vector.with_bits(bit(44), true).unwrap();
                assert_eq!(vector.may(usage), types.contains(&key_type), "{key_type:?} {usage:?}");
                assert!(!part.may(usage));
            }
            assert!(!ControlVector::ZERO.may(usage), "{usage:?}");
        }
    }

    #[test]
    fn methods_and_halves_narrow_a_key() {
        let of = |key_type: KeyType, words: &[&str]| {
            key_type.vector_with(KeyForm::Double, words.iter().copied()).unwrap()
        };
        let visa = of(KeyType::PinVer, &["VISA-PVV"]);
        assert!(visa.may(Use::Pin(PinStep::Verify, PinMethod::Visa)));
        assert!(!visa.may(Use::Pin(PinStep::Verify, PinMethod::Ibm)));
        let plain = of(KeyType::PinGen, &["IBM-PIN", "NOOFFSET"]);
        assert!(plain.may(Use::Pin(PinStep::Clear, PinMethod::Ibm)));
        assert!(!plain.may(Use::Pin(PinStep::Clear, PinMethod::IbmOffset)));
        let only = of(KeyType::PinGen, &["EPINVER"]);
        assert!(only.may(Use::Pin(PinStep::Verify, PinMethod::Pool)));
        assert!(!only.may(Use::Pin(PinStep::Alternate, PinMethod::Pool)));
        let derives = of(KeyType::KeyGenKy, &["UKPT"]);
        assert!(derives.may(Use::DeriveTransactionKeys) && !derives.may(Use::Encipher));
        assert!(!of(KeyType::KeyGenKy, &["CLR8-ENC"]).may(Use::DeriveTransactionKeys));
        let (a, b) = (of(KeyType::Mac, &["CVVKEY-A"]), of(KeyType::Mac, &["CVVKEY-B"]));
        let code = of(KeyType::Mac, &["AMEX-CSC"]);
        assert!(code.may(Use::SecurityCodeGenerate) && code.may(Use::SecurityCodeVerify));
        assert!(!code.may(Use::MacGenerate) && !code.may(Use::CardValueGenerate(CardValueHalf::A)));
        assert!(!a.may(Use::SecurityCodeGenerate) && !b.may(Use::SecurityCodeVerify));
        assert!(!of(KeyType::Mac, &["ANSIX9.9"]).may(Use::SecurityCodeVerify));
        let verifying = of(KeyType::MacVer, &["AMEX-CSC"]);
        assert!(verifying.may(Use::SecurityCodeVerify) && !verifying.may(Use::SecurityCodeGenerate));
        assert!(a.may(Use::CardValueGenerate(CardValueHalf::A)) && !a.may(Use::MacGenerate));
        assert!(
            !a.may(Use::CardValueGenerate(CardValueHalf::B)) && b.may(Use::CardValueVerify(CardValueHalf::B))
        );
    }
}
