//! The header of a TR-31 key block as fields, with the meanings that ANSI X9.143 gives.

use super::Field;
use token::tr31::Tr31;

pub fn fields(block: &[u8]) -> Result<Vec<Field>, String> {
    let read = Tr31::parse(block).map_err(|error| error.to_string())?;
    let mut fields = vec![
        ("kind", "TR-31 key block".to_owned()),
        ("version", named(read.version(), VERSIONS)),
        ("usage", named(read.usage(), USAGES)),
        ("algorithm", named(read.algorithm(), ALGORITHMS)),
        ("mode of use", named(read.mode(), MODES)),
        ("key version", read.key_version().to_owned()),
        ("export", named(read.exportability(), EXPORTS)),
    ];
    let optional: Vec<String> = read
        .optional_blocks()
        .flatten()
        .map(|(name, whole)| {
            format!("{}{} ({} characters)", named(name, OPTIONAL), checked(whole), whole.len())
        })
        .collect();
    if !optional.is_empty() {
        fields.push(("optional blocks", optional.join(", ")));
    }
    fields
        .push(("key", "wrapped under a block protection key that is shared with another system".to_owned()));
    fields.push(("token", format!("{} characters", read.length())));
    Ok(fields)
}

/// Method and value of a block that is a check value; nothing of other blocks.
fn checked(whole: &str) -> String {
    // A length of 00 is that of a long block, which no check value fills.
    if !matches!(whole.get(..2), Some("KC" | "KP" | "PK")) || whole.get(2..4) == Some("00") {
        return String::new();
    }
    match (whole.get(4..6), whole.get(6..)) {
        (Some("00"), Some(value)) => format!(", ENC-ZERO {value}"),
        (Some("01"), Some(value)) => format!(", CMAC {value}"),
        _ => String::new(),
    }
}

/// The name of an algorithm of X9.143; its letter if that is not known.
pub fn algorithm(letter: &str) -> &str {
    ALGORITHMS.iter().find(|(known, _)| *known == letter).map_or(letter, |(_, name)| name)
}

/// A value with its meaning, if the meaning is known.
fn named(value: &str, meanings: &[(&str, &str)]) -> String {
    match meanings.iter().find(|(known, _)| *known == value) {
        Some((_, meaning)) => format!("{value}: {meaning}"),
        None => value.to_owned(),
    }
}

const VERSIONS: &[(&str, &str)] = &[
    ("A", "TDES, variants of the protection key (2005)"),
    ("B", "TDES, keys derived from the protection key (2010)"),
    ("C", "TDES, variants of the protection key (2010)"),
    ("D", "AES, keys derived from the protection key (2017)"),
];
const USAGES: &[(&str, &str)] = &[
    ("B0", "base derivation key of DUKPT"),
    ("B1", "initial key of DUKPT"),
    ("C0", "card verification"),
    ("D0", "enciphers data"),
    ("D1", "data, asymmetric"),
    ("E0", "EMV: application cryptograms"),
    ("E1", "EMV: secure messaging, confidentiality"),
    ("E2", "EMV: secure messaging, integrity"),
    ("E3", "EMV: data authentication codes"),
    ("E4", "EMV: dynamic numbers"),
    ("E5", "EMV: card personalization"),
    ("E6", "EMV: other"),
    ("I0", "initialization vector"),
    ("K0", "wraps keys"),
    ("K1", "protects TR-31 blocks"),
    ("K2", "wraps keys, asymmetric (TR-34)"),
    ("K3", "agrees on keys, asymmetric"),
    ("M0", "MACs by ISO 16609, TDES"),
    ("M1", "MACs by ISO 9797-1, algorithm 1"),
    ("M2", "MACs by ISO 9797-1, algorithm 2"),
    ("M3", "MACs by ISO 9797-1, algorithm 3"),
    ("M4", "MACs by ISO 9797-1, algorithm 4"),
    ("M5", "MACs by ISO 9797-1:2011, algorithm 5"),
    ("M6", "CMACs"),
    ("M7", "HMACs"),
    ("P0", "enciphers PINs"),
    ("S0", "key pair for signatures"),
    ("S1", "key pair of a certification authority"),
    ("V0", "verifies PINs"),
    ("V1", "verifies PINs, IBM 3624"),
    ("V2", "verifies PINs, VISA PVV"),
];
const ALGORITHMS: &[(&str, &str)] = &[
    ("A", "AES"),
    ("D", "DES"),
    ("E", "elliptic curve"),
    ("H", "HMAC"),
    ("R", "RSA"),
    ("S", "DSA"),
    ("T", "TDES"),
];
const MODES: &[(&str, &str)] = &[
    ("B", "enciphers and deciphers, wraps and unwraps"),
    ("C", "makes and verifies"),
    ("D", "deciphers, unwraps"),
    ("E", "enciphers, wraps"),
    ("G", "makes"),
    ("N", "no restriction"),
    ("S", "signs"),
    ("T", "signs, deciphers"),
    ("V", "verifies"),
    ("X", "derives keys"),
    ("Y", "makes variants of keys"),
];
const EXPORTS: &[(&str, &str)] = &[
    ("E", "allowed, under keys of a form that the standard requires"),
    ("N", "prohibited"),
    ("S", "allowed, under keys of any form"),
];
const OPTIONAL: &[(&str, &str)] = &[
    ("CT", "certificate"),
    ("HM", "hash of HMAC"),
    ("IK", "initial key identifier"),
    ("KC", "check value of the key"),
    ("KP", "check value of the protection key"),
    ("KS", "key set identifier"),
    ("KV", "versions of key blocks"),
    ("PB", "padding"),
    ("PK", "check value of an earlier protection key"),
    ("TC", "time of creation"),
    ("TS", "time stamp"),
];
