//! Requests of Unique_Key_Derive, and keys of known values.

use crate::keys::{AES_TRANSPORT, TRANSPORT, entered2, skeleton_of};
use crate::support::{Reply, Request, entered, processor, skeleton, sym_key};
use cca::Processor;
use token::variable::VariableType;
use wire::point::PointSet;
use wire::verb::Verb;
use wire::verb::unique_key_derive::*;

/// Room for any token, and for any block of an initial key.
pub const CAPACITY: i64 = 2500;
/// ANSI X9.24-1.
pub const BASE: [u8; 16] = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210u128.to_be_bytes();
/// ANSI X9.24-3.
pub const AES_BASE: [u8; 16] = 0xFEDC_BA98_7654_3210_F1F1_F1F1_F1F1_F1F1u128.to_be_bytes();
/// A key serial number of the first, of the first transaction.
pub const SERIAL: [u8; 10] = [0xFF, 0xFF, 0x98, 0x76, 0x54, 0x32, 0x10, 0xE0, 0, 1];

/// A derivation: its words, the base key, the derivation data, what is in the fields of the keys, and the transport
/// key.
pub fn unique(words: &[&str], base: &[u8], data: &[u8], fields: [&[u8]; 3], transport: &[u8]) -> Request {
    let request = crate::support::Request::new(Verb::UniqueKeyDerive)
        .rules(words)
        .counted(BASE_DERIVATION_KEY_IDENTIFIER_LENGTH, BASE_DERIVATION_KEY_IDENTIFIER, base)
        .counted(DERIVATION_DATA_LENGTH, DERIVATION_DATA, data)
        .counted(TRANSPORT_KEY_IDENTIFIER_LENGTH, TRANSPORT_KEY_IDENTIFIER, transport);
    FIELDS.into_iter().zip(fields).fold(request, |request, ((length, position), field)| {
        request.integer(length, CAPACITY).bytes(position, field)
    })
}

/// Lengths and positions of the keys.
pub const FIELDS: [(usize, usize); 3] = [
    (GENERATED_KEY_IDENTIFIER1_LENGTH, GENERATED_KEY_IDENTIFIER1),
    (GENERATED_KEY_IDENTIFIER2_LENGTH, GENERATED_KEY_IDENTIFIER2),
    (GENERATED_KEY_IDENTIFIER3_LENGTH, GENERATED_KEY_IDENTIFIER3),
];

/// The tokens of a reply.
pub fn tokens(reply: &Reply) -> [Vec<u8>; 3] {
    FIELDS.map(|(length, position)| {
        let token = reply.bytes(position);
        // Where there is none the length is as it came.
        assert!(token.is_empty() || reply.integer(length) == token.len() as i64);
        token
    })
}

/// The block of an initial key.
pub fn block(reply: &Reply) -> String {
    String::from_utf8(reply.bytes(GENERATED_KEY_IDENTIFIER3)).unwrap()
}

/// Derivation data by AES of the first transaction of a terminal, for this usage and kind of key, as hexadecimal
/// digits.
pub fn data(usage: &str, kind: &str, counter: u32) -> Vec<u8> {
    let text = format!("0101{usage}{kind}1234567890123456{counter:08X}");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The value of a DES key in an internal token.
pub fn value(token: &[u8]) -> Vec<u8> {
    crate::peer::unwrap_token(&sym_key(false), token)
}

/// The owner's role with the points of this verb that no role has.
pub fn everything() -> &'static PointSet {
    let mut set = wire::role::BUILT_IN[0].points;
    set.allow(wire::point::Point::UniqueKeyInitial);
    set.allow(wire::point::Point::UniqueKeyPinAsData);
    Box::leak(Box::new(set))
}

/// Keys of known values.
pub struct Keys {
    /// The processor that has the keys.
    pub processor: Processor,
    /// KEYGENKY of [`BASE`].
    pub base: Vec<u8>,
    /// DKYGENKY of [`AES_BASE`], for every type.
    pub aes_base: Vec<u8>,
    /// A DES key for keys that leave.
    pub exporter: Vec<u8>,
    /// An AES key for keys that leave.
    pub aes_exporter: Vec<u8>,
}

impl Keys {
    /// The keys, in a processor of their own.
    pub fn new() -> Self {
        let mut processor = processor();
        let of_aes = VariableType::DkyGenKy;
        Self {
            base: entered(&mut processor, "KEYGENKY", &["UKPT"], &BASE),
            aes_base: entered2(&mut processor, of_aes, &["D-ALL", "A-DUKPT"], &AES_BASE),
            exporter: entered(&mut processor, "EXPORTER", &[], &TRANSPORT),
            aes_exporter: entered2(&mut processor, VariableType::Exporter, &["WR-TR31"], &AES_TRANSPORT),
            processor,
        }
    }

    /// An internal DES token without a key, of double length.
    pub fn des(&mut self, key_type: &str, words: &[&str]) -> Vec<u8> {
        let has_single = matches!(key_type, "CIPHER" | "ENCIPHER" | "DECIPHER" | "MAC" | "MACVER" | "DATA");
        let words = if has_single { [&["DOUBLE"], words].concat() } else { words.to_vec() };
        skeleton(&mut self.processor, key_type, &words)
    }

    /// The token that one keyword makes of a skeleton.
    pub fn one(&self, word: &str, data: &[u8], field: &[u8]) -> Request {
        unique(&[word], &self.base, data, in_field(word, field), &[])
    }

    /// The same by AES.
    pub fn aes_one(&self, word: &str, data: &[u8], field: &[u8]) -> Request {
        unique(&["A-DUKPT", word], &self.aes_base, data, in_field(word, field), &[])
    }
}

/// The fields, of which that of this keyword has something in it.
pub fn in_field<'f>(word: &str, field: &'f [u8]) -> [&'f [u8]; 3] {
    let at = match word {
        "K1DATA" => 0,
        "K2MAC" => 1,
        _ => 2,
    };
    std::array::from_fn(|place| if place == at { field } else { &[] })
}

/// An AES token without a key.
pub fn aes(key_type: VariableType, words: &[&str]) -> Vec<u8> {
    skeleton_of(key_type, words)
}

/// The uses of an AES key of arriving PIN blocks.
pub const PIN_IN: &[&str] = &["DECRYPT", "PINXLATE", "ISO-4"];
/// The uses of an AES key of PIN blocks that leave.
pub const PIN_OUT: &[&str] = &["ENCRYPT", "PINXLATE", "ISO-4"];

/// A label where a token is to be.
pub fn label() -> Vec<u8> {
    wire::Label::new("A.KEY").unwrap().to_field().to_vec()
}

/// What is tried with every key.
pub struct Tried {
    /// The base derivation key.
    pub base: Vec<u8>,
    aes_base: Vec<u8>,
    exporter: Vec<u8>,
    aes_exporter: Vec<u8>,
    fields: [Vec<u8>; 3],
}

impl Tried {
    /// The keys, in a processor of their own.
    pub fn new() -> Self {
        let mut keys = Keys::new();
        let fields = ["CIPHER", "MAC", "IPINENC"].map(|name| keys.des(name, &["NO-XPORT"]));
        let Keys { base, aes_base, exporter, aes_exporter, .. } = keys;
        Self { base, aes_base, exporter, aes_exporter, fields }
    }

    /// Requests that use a key in this place, as `Others::ways` has them.
    pub fn ways(&self, position: usize) -> Vec<Request> {
        let fields = self.fields.each_ref().map(|field| &field[..]);
        let all = unique(&["K1DATA", "K2MAC", "K3PIN"], &self.base, &SERIAL, fields, &[]);
        let of = |word: &str, usage: &str| {
            let words = ["A-DUKPT", word];
            unique(&words, &self.aes_base, &data(usage, "00020080", 1), [&[]; 3], &[])
        };
        match position {
            GENERATED_KEY_IDENTIFIER1 => vec![all, of("K1DATA", "3002")],
            GENERATED_KEY_IDENTIFIER2 => vec![all, of("K2MAC", "2002")],
            GENERATED_KEY_IDENTIFIER3 => vec![all, of("K3PIN", "1000")],
            TRANSPORT_KEY_IDENTIFIER => {
                let words = ["A-DUKPT", "K3IPEK", "TR31-TOK"];
                let initial = data("8001", "00020080", 0);
                [
                    unique(&words[1..], &self.base, &SERIAL, [&[]; 3], &self.exporter),
                    unique(&words, &self.aes_base, &initial, [&[]; 3], &self.aes_exporter),
                ]
                .map(|request| request.points(everything()))
                .to_vec()
            }
            _ => {
                let field = aes(VariableType::Cipher, &["ENCRYPT", "DECRYPT", "NOEX-SYM", "NOEXUASY"]);
                let request = of("K1DATA", "3002").bytes(GENERATED_KEY_IDENTIFIER1, field);
                vec![all, request]
            }
        }
    }
}
