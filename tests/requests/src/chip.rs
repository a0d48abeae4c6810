//! Requests of the verbs of chip cards, keys of known values, and what they give by OpenSSL.

use crate::peer;
use crate::support::{Request, entered, skeleton};
use cca::Processor;
use token::variable::{self, VariableType};
use wire::verb::{
    Verb, derive_icc_mk, diversified_key_generate, diversified_key_generate2, emv_transaction,
    pin_change_unblock, secure_messaging_for_keys, secure_messaging_for_pins,
};

/// The key of the published values.
pub const ISSUER: [u8; 16] = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210u128.to_be_bytes();
/// Another.
pub const OTHER_ISSUER: [u8; 16] = 0x2315_2070_0123_4557_8998_BABA_DCDC_FEFEu128.to_be_bytes();
/// The PAN of the cards.
pub const PAN: &str = "1234567890123456";
const CARD_PAN: &str = PAN;
/// The card's blocks of [`PAN`] with sequence number 01.
pub const CARD: [u8; 16] = 0x3456_7890_1234_5601_CBA9_876F_EDCB_A9FEu128.to_be_bytes();
/// The card's key under [`ISSUER`].
pub const CARD_KEY: [u8; 16] = 0xA7CD_8A64_4A2F_A829_D067_5210_C4B0_01F1u128.to_be_bytes();

/// A request for a key that is derived, in a token of fixed length.
pub fn derive(generating: &[u8], words: &[&str], data: &[u8], made: &[u8]) -> Request {
    use diversified_key_generate::*;
    crate::support::Request::new(Verb::DiversifiedKeyGenerate)
        .rules(words)
        .bytes(GENERATING_KEY_ID, generating)
        .counted(DATA_LENGTH, DATA, data)
        .bytes(DECRYPTING_KEY_ID, [0; 64])
        .bytes(GENERATED_KEY_ID, made)
}

/// The token that a derivation makes.
pub fn derived(request: &Request, processor: &mut Processor) -> Vec<u8> {
    request.ok(processor).bytes(diversified_key_generate::GENERATED_KEY_ID)
}

/// A request for a key that is derived, in a token of variable length.
pub fn derive2(generating: &[u8], words: &[&str], data: &[u8], made: &[u8]) -> Request {
    use diversified_key_generate2::*;
    crate::support::Request::new(Verb::DiversifiedKeyGenerate2)
        .rules(words)
        .counted(GENERATING_KEY_ID_LENGTH, GENERATING_KEY_ID, generating)
        .counted(DERIVATION_DATA_LENGTH, DERIVATION_DATA, data)
        .integer(GENERATED_KEY_ID1_LENGTH, 725)
        .bytes(GENERATED_KEY_ID1, made)
}

/// What is asked of a transaction.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// Keywords.
    pub words: &'a [&'a str],
    /// Digits of the PAN, and the sequence number.
    pub pan: &'a str,
    /// What the cryptogram is of.
    pub text: &'a [u8],
    /// The card's counter of transactions.
    pub counter: [u8; 2],
    /// The response code, for an answer to the card.
    pub code: &'a [u8],
    /// The cryptogram to verify.
    pub cryptogram: [u8; 8],
    /// The issuer's own data.
    pub own: &'a [u8],
}

/// A request for the cryptogram of a transaction, or for its verification.
pub fn transaction(keys: (&[u8], &[u8]), asked: Asked<'_>) -> Request {
    use emv_transaction::*;
    crate::support::Request::new(Verb::EmvTransaction)
        .rules(asked.words)
        .counted(ISSUER_MASTER_KEY_IDENTIFIER_LENGTH, ISSUER_MASTER_KEY_IDENTIFIER, keys.0)
        .counted(ISSUER_ARPC_MASTER_KEY_IDENTIFIER_LENGTH, ISSUER_ARPC_MASTER_KEY_IDENTIFIER, keys.1)
        .counted(PAN_LENGTH, PAN, asked.pan)
        .bytes(PAN_SEQ_NUMBER, "01")
        .counted(CRYPTOGRAM_INFO_LENGTH, CRYPTOGRAM_INFO, asked.text)
        .bytes(ATC, asked.counter)
        .bytes(ARC, asked.code)
        .bytes(ARQC, asked.cryptogram)
        .bytes(UNPREDICTABLE_NUMBER, UNPREDICTABLE)
        .counted(RESERVED1_LENGTH, RESERVED1, asked.own)
}

/// The number that a terminal chose.
pub const UNPREDICTABLE: [u8; 4] = [0x38, 0x04, 0x82, 0x3E];

/// A request for a card's own key, under a transport key.
pub fn card_key(issuer: &[u8], words: &[&str], pan: &str, transport: &[u8]) -> Request {
    use derive_icc_mk::*;
    crate::support::Request::new(Verb::DeriveIccMk)
        .rules(words)
        .counted(ISSUER_MASTER_KEY_IDENTIFIER_LENGTH, ISSUER_MASTER_KEY_IDENTIFIER, issuer)
        .counted(ICC_MASTER_KEY_IDENTIFIER_LENGTH, ICC_MASTER_KEY_IDENTIFIER, [0; 64])
        .counted(TRANSPORT_KEY_IDENTIFIER_LENGTH, TRANSPORT_KEY_IDENTIFIER, transport)
        .counted(PAN_LENGTH, PAN, pan)
        .bytes(PAN_SEQ_NUMBER, "01")
}

const PAN_12: &str = "401234567890";
/// The initialization vector of messages.
const VECTOR: [u8; 8] = [9, 8, 7, 6, 5, 4, 3, 2];

/// A request for a message that carries a key.
pub fn message_of_key(key: &[u8], session: &[u8], words: &[&str], text: &[u8], offset: i64) -> Request {
    use secure_messaging_for_keys::*;
    crate::support::Request::new(Verb::SecureMessagingForKeys)
        .rules(words)
        .bytes(INPUT_KEY_IDENTIFIER, key)
        .bytes(KEY_ENCRYPTING_KEY, [0; 64])
        .bytes(SESSION_KEY, session)
        .counted(TEXT_LENGTH, CLEAR_TEXT, text)
        .bytes(INITIALIZATION_VECTOR, VECTOR)
        .integer(KEY_OFFSET, offset)
        .integer(KEY_OFFSET_FIELD_LENGTH, 16)
}

/// Keys: of the block, and of the session.
pub fn message_of_pin(
    keys: (&[u8], &[u8]),
    words: &[&str],
    block: &[u8],
    formats: [&str; 2],
    text: &[u8],
    offset: i64,
) -> Request {
    use secure_messaging_for_pins::*;
    let pad = |format: &str| if format == "3624" { "F" } else { "" };
    crate::support::Request::new(Verb::SecureMessagingForPins)
        .rules(words)
        .bytes(IN_PIN_BLK, block)
        .bytes(IN_PIN_ENC_KEY_ID, keys.0)
        .bytes(IN_PIN_PROFILE, crate::pin::profile(formats[0], pad(formats[0])))
        .bytes(IN_PAN_DATA, PAN_12)
        .bytes(SECMSG_KEY, keys.1)
        .bytes(OUT_PIN_PROFILE, crate::pin::profile(formats[1], pad(formats[1])))
        .bytes(OUT_PAN_DATA, PAN_12)
        .counted(TEXT_LENGTH, CLEAR_TEXT, text)
        .bytes(INITIALIZATION_VECTOR, VECTOR)
        .integer(PIN_OFFSET, offset)
        .integer(PIN_OFFSET_FIELD_LENGTH, 8)
}

/// Keys: for cryptograms, for the message, of the new block, and of the one before.
pub fn pin_change(keys: [&[u8]; 4], words: &[&str], data: &[u8], blocks: (&[u8], &[u8])) -> Request {
    use pin_change_unblock::*;
    let plain = crate::pin::profile("ISO-0", "");
    crate::support::Request::new(Verb::PinChangeUnblock)
        .rules(words)
        .counted(AUTHENTICATION_MASTER_KEY_LENGTH, AUTHENTICATION_MASTER_KEY, keys[0])
        .counted(ISSUER_MASTER_KEY_LENGTH, ISSUER_MASTER_KEY, keys[1])
        .counted(KEY_GENERATION_DATA_LENGTH, KEY_GENERATION_DATA, data)
        .counted(NEW_REF_PIN_KEY_LENGTH, NEW_REF_PIN_KEY, keys[2])
        .bytes(NEW_REF_PIN_BLOCK, blocks.0)
        .bytes(NEW_REF_PIN_PROFILE, &plain)
        .bytes(NEW_REF_PAN_DATA, PAN_12)
        .counted(CURRENT_REF_PIN_KEY_LENGTH, CURRENT_REF_PIN_KEY, keys[3])
        .bytes(CURRENT_REF_PIN_BLOCK, blocks.1)
        .bytes(CURRENT_REF_PIN_PROFILE, &plain)
        .bytes(CURRENT_REF_PAN_DATA, PAN_12)
        .bytes(OUTPUT_PIN_PROFILE, format!("{:8}NONE            ", words[0]))
        .integer(OUTPUT_PIN_MESSAGE_LENGTH, 16)
}

/// Tokens of known keys, and of none.
pub struct Chips {
    /// DKYGENKY of [`ISSUER`]: DMAC at both levels, DMPIN and DDATA at level 1, DALL.
    pub cryptograms: Vec<u8>,
    /// Deriving keys of cryptograms.
    pub cryptograms_above: Vec<u8>,
    /// Deriving keys of PINs in messages.
    pub pins_above: Vec<u8>,
    /// Deriving keys of messages.
    pub data_above: Vec<u8>,
    /// A deriving key of any use.
    pub any: Vec<u8>,
    /// KEYGENKY with CLR8-ENC of it.
    pub single: Vec<u8>,
    /// SECMSG keys of it.
    pub key_messages: Vec<u8>,
    /// A key of messages of PINs.
    pub pin_messages: Vec<u8>,
    /// DKYGENKY with DMPIN, at level 0, and IPINENC of it.
    pub pins: Vec<u8>,
    /// A key of arriving PIN blocks.
    pub inbound: Vec<u8>,
    /// A MAC key of it.
    pub mac: Vec<u8>,
    /// Skeletons: MAC of both lengths, and what level 1 makes.
    pub mac_skeleton: Vec<u8>,
    /// A MAC key of single length.
    pub mac_single: Vec<u8>,
    /// A skeleton of what is derived of a derived key.
    pub below_skeleton: Vec<u8>,
    /// An AES DKYGENKY key that derives MAC keys, and a skeleton of one.
    pub aes: Vec<u8>,
    /// A skeleton of an AES key.
    pub aes_skeleton: Vec<u8>,
}

impl Chips {
    /// Keys that this processor enters.
    pub fn new(processor: &mut Processor) -> Self {
        let mut make = |key_type: &str, words: &[&str]| entered(processor, key_type, words, &ISSUER);
        let mut chips = Self {
            cryptograms: make("DKYGENKY", &["DKYL0", "DMAC"]),
            cryptograms_above: make("DKYGENKY", &["DKYL1", "DMAC"]),
            pins_above: make("DKYGENKY", &["DKYL1", "DMPIN"]),
            data_above: make("DKYGENKY", &["DKYL1", "DDATA"]),
            any: make("DKYGENKY", &["DKYL1", "DALL"]),
            single: make("KEYGENKY", &["CLR8-ENC"]),
            key_messages: make("SECMSG", &["SMKEY"]),
            pin_messages: make("SECMSG", &["SMPIN"]),
            pins: make("DKYGENKY", &["DKYL0", "DMPIN"]),
            inbound: make("IPINENC", &[]),
            mac: make("MAC", &["DOUBLE"]),
            mac_skeleton: skeleton(processor, "MAC", &["DOUBLE"]),
            mac_single: skeleton(processor, "MAC", &["SINGLE"]),
            below_skeleton: skeleton(processor, "DKYGENKY", &["DKYL0", "DMAC"]),
            aes: Vec::new(),
            aes_skeleton: aes_mac_skeleton(),
        };
        let mac = variable::Attributes::new(VariableType::Mac, ["GENERATE", "CMAC"], None).unwrap();
        chips.aes = aes_key(processor, &aes_deriving(&["D-MAC", "DKYL0"], Some(&mac)), 128);
        chips
    }

    /// Requests that use this key in this place, as `Others::ways` has them.
    pub fn ways(&self, verb: Verb, position: usize, key: &[u8], exporter: &[u8]) -> Vec<Request> {
        let asked = Asked {
            words: &["TDES", "VERARQC", "EMV", "EMVCSK"],
            pan: PAN,
            text: b"a text of blocks",
            counter: [0, 1],
            code: b"00",
            cryptogram: [0; 8],
            own: &[],
        };
        let replaced = |request: Request, counted: Option<usize>| match counted {
            Some(length) => vec![request.counted(length, position, key)],
            None => vec![request.bytes(position, key)],
        };
        match verb {
            Verb::DiversifiedKeyGenerate if position == diversified_key_generate::GENERATED_KEY_ID => {
                vec![
                    derive(&self.cryptograms_above, &["TDES-ENC"], &CARD, key),
                    derive(&self.cryptograms, &["TDES-ENC"], &CARD, key),
                ]
            }
            Verb::DiversifiedKeyGenerate => vec![
                derive(key, &["TDES-ENC"], &CARD, &self.mac_skeleton),
                derive(key, &["TDES-ENC"], &CARD, &self.below_skeleton),
                derive(key, &["CLR8-ENC"], &CARD[..8], &self.mac_single)
                    .points(&wire::point::PointSet::EVERYTHING),
            ],
            Verb::DiversifiedKeyGenerate2 if position == diversified_key_generate2::GENERATED_KEY_ID1 => {
                vec![derive2(&self.aes, &["MK-OPTC"], &CARD, key)]
            }
            Verb::DiversifiedKeyGenerate2 => {
                vec![derive2(key, &["MK-OPTC"], &CARD, &self.aes_skeleton)]
            }
            Verb::EmvTransaction if position == emv_transaction::ISSUER_ARPC_MASTER_KEY_IDENTIFIER => {
                let request = transaction(
                    (&self.cryptograms, &self.cryptograms),
                    Asked { words: &["VERGEN", "MC"], ..asked },
                );
                replaced(request, Some(emv_transaction::ISSUER_ARPC_MASTER_KEY_IDENTIFIER_LENGTH))
            }
            Verb::EmvTransaction => replaced(
                transaction((&self.cryptograms, &[]), asked),
                Some(emv_transaction::ISSUER_MASTER_KEY_IDENTIFIER_LENGTH),
            ),
            Verb::SecureMessagingForKeys => {
                let request = message_of_key(&self.mac, &self.key_messages, &[], &[0; 16], 1);
                replaced(request.points(&wire::point::PointSet::EVERYTHING), None)
            }
            Verb::SecureMessagingForPins => {
                let block = crate::pin::under(&ISSUER, &crate::pin::iso0("1234", PAN_12));
                let keys = (&self.inbound[..], &self.pin_messages[..]);
                let request = message_of_pin(keys, &[], &block, ["ISO-0", "ISO-0"], &[0; 8], 1);
                replaced(request.points(&wire::point::PointSet::EVERYTHING), None)
            }
            Verb::PinChangeUnblock => {
                use pin_change_unblock::*;
                let block = crate::pin::under(&ISSUER, &crate::pin::iso0("1234", PAN_12));
                let keys = [&self.cryptograms, &self.pins, &self.inbound, &self.inbound];
                let data = [&CARD[..], &[0, 1]].concat();
                let keys = keys.map(|key| &key[..]);
                let request = pin_change(keys, &["VISAPCU2"], &data, (&block, &block));
                let length = match position {
                    AUTHENTICATION_MASTER_KEY => AUTHENTICATION_MASTER_KEY_LENGTH,
                    ISSUER_MASTER_KEY => ISSUER_MASTER_KEY_LENGTH,
                    NEW_REF_PIN_KEY => NEW_REF_PIN_KEY_LENGTH,
                    _ => CURRENT_REF_PIN_KEY_LENGTH,
                };
                replaced(request, Some(length))
            }
            Verb::DeriveIccMk => {
                use derive_icc_mk::*;
                let base = |word: &str| card_key(&self.cryptograms_above, &[word], CARD_PAN, &[]);
                match position {
                    ICC_MASTER_KEY_IDENTIFIER => replaced(base("AC"), Some(ICC_MASTER_KEY_IDENTIFIER_LENGTH)),
                    TRANSPORT_KEY_IDENTIFIER => {
                        let request = card_key(&self.cryptograms_above, &["AC"], CARD_PAN, exporter);
                        replaced(request, Some(TRANSPORT_KEY_IDENTIFIER_LENGTH))
                    }
                    _ => ["DATA", "ENC", "AC"]
                        .map(|word| {
                            let length = ISSUER_MASTER_KEY_IDENTIFIER_LENGTH;
                            base(word).counted(length, ISSUER_MASTER_KEY_IDENTIFIER, key)
                        })
                        .to_vec(),
                }
            }
            _ => Vec::new(),
        }
    }
}

/// A MAC skeleton of variable length.
pub fn aes_mac_skeleton() -> Vec<u8> {
    let mac = variable::Attributes::new(VariableType::Mac, ["GENERATE", "CMAC"], None).unwrap();
    aes_skeleton(mac)
}

/// The skeleton of these attributes.
pub fn aes_skeleton(attributes: variable::Attributes) -> Vec<u8> {
    let payload = token::VariableToken::default_payload(attributes.key_type());
    let token = token::VariableToken::skeleton(token::des::Origin::Internal, payload, attributes).unwrap();
    token.to_bytes().to_vec()
}

/// The skeleton of a key that derives others.
pub fn aes_deriving(words: &[&str], derived: Option<&variable::Attributes>) -> Vec<u8> {
    let attributes =
        variable::Attributes::new(VariableType::DkyGenKy, words.iter().copied(), derived).unwrap();
    aes_skeleton(attributes)
}

/// A generated key of this skeleton.
pub fn aes_key(processor: &mut Processor, skeleton: &[u8], bits: i64) -> Vec<u8> {
    use wire::verb::key_generate2::*;
    crate::support::Request::new(Verb::KeyGenerate2)
        .rules(&["AES", "OP"])
        .integer(CLEAR_KEY_BIT_LENGTH, bits)
        .bytes(KEY_TYPE_1, "TOKEN   ")
        .bytes(KEY_TYPE_2, "        ")
        .integer(GENERATED_KEY_IDENTIFIER_1_LENGTH, 725)
        .bytes(GENERATED_KEY_IDENTIFIER_1, skeleton)
        .ok(processor)
        .bytes(GENERATED_KEY_IDENTIFIER_1)
}

/// A generated key of this skeleton whose halves are equal.
pub fn with_equal_halves(processor: &mut Processor, skeleton: &[u8]) -> Vec<u8> {
    use wire::verb::key_generate::GENERATED_KEY_IDENTIFIER_1;
    let request = crate::support::generate("TOKEN", "SINGLE-R");
    request.bytes(GENERATED_KEY_IDENTIFIER_1, skeleton).ok(processor).bytes(GENERATED_KEY_IDENTIFIER_1)
}

/// With odd parity.
pub fn odd(key: &[u8]) -> Vec<u8> {
    key.iter().map(|byte| byte ^ u8::from(byte.count_ones() % 2 == 0)).collect()
}

/// The key of a session by EMV's common method, by OpenSSL.
pub fn common(card: &[u8], diversifier: [u8; 8]) -> Vec<u8> {
    let (mut one, mut two) = (diversifier, diversifier);
    (one[2], two[2]) = (0xF0, 0x0F);
    odd(&peer::des(card, true, &[one, two].concat()))
}

/// The MAC of algorithm 3 of whole blocks, by OpenSSL.
pub fn retail(key: &[u8], text: &[u8]) -> [u8; 8] {
    let last = peer::des_cbc(&key[..8], &[0; 8], text).split_off(text.len() - 8);
    let middle = peer::des(&key[8..16], false, &last);
    peer::des(&key[..8], true, &middle).try_into().unwrap()
}

/// A text with a bit and zeros behind it.
pub fn filled(text: &[u8]) -> Vec<u8> {
    let mut all = [text, &[0x80]].concat();
    all.resize(all.len().next_multiple_of(8), 0);
    all
}
