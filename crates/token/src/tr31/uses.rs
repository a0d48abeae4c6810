//! How usage, algorithm and mode of use of X9.143 map to type and usage keywords of CCA, for import
//! from TR-31 blocks and export in them. Source: Linux on Z CCA, "TR31 Key Import", "TR31 Key
//! Export".
//!
//! One [table](ROWS) serves both directions. A key may be exported under a usage and a mode only if
//! every key that such a block can be imported as has no more uses ([`may_leave`],
//! [`may_leave_variable`]).
//!
//! Mode N (no restrictions) comes in as the widest key that one of the other modes gives, or as the
//! one that the caller chooses; no key leaves under it. A key that derives others at two steps
//! (DKYL1) leaves only with its control vector: without it, the block could come in as a key of one
//! step, which makes MACs under the keys that the other one hides. So does a key of E1 of one step,
//! which could come in as one of two and make keys of cards that it does not make.
//!
//! The master keys of cards that are personalized with them, and those of no stated use (E5, E6),
//! derive keys of several types: the caller says of which. A key for enciphering sensitive data (D3)
//! is one for data.
//!
//! Codes that mean no key here have a reason each ([`why_absent`]). OKEYXLAT and IKEYXLAT keys, and
//! CSC of C0 without its point, leave under no code: the key that comes in could do more.

mod absent;

pub use absent::{ALGORITHMS, MODES, USAGES, WhyAbsent, why_absent};

use crate::control_vector::{ControlVector, KeyForm, bit};
use crate::key_type::{KeyType, USAGE_FIELD};
use crate::unconfirmed::{BLOCKS_KEYWORD, CONTROL_VECTOR_BIT_NO_TR31};
use crate::usage::{Side, Use};
use crate::variable::{Attributes, VariableType};

/// A key, by its type and usage keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A DES key, with keywords beyond the default of its type.
    Des(KeyType, &'static [&'static str]),
    /// A key of a variable-length token, with its keywords.
    Variable(VariableType, &'static [&'static str]),
}

/// The keyword by which a caller chooses, if usage and mode mean more than one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// No keyword: the usual key.
    Usual,
    /// The key that sends: OPINENC of P0, EXPORTER of K0.
    Sending,
    /// The key that receives: IPINENC of P0, IMPORTER of K0.
    Receiving,
    /// The key that makes PINs: PINGEN of V0, V1, V2.
    Generating,
    /// The key that verifies PINs: PINVER of V0, V1, V2.
    Verifying,
    /// The key of American Express's card security codes, of C0.
    SecurityCode,
    /// The key that derives others at two steps, of E0 to E4.
    LevelOne,
    /// The key that derives keys of this usage, of E5 and E6: DDATA, DMAC or DMPIN.
    Derives(&'static str),
}

/// A row: the codes of a block, and the key that they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageRow {
    /// Usage of the key in the block.
    pub usage: [u8; 2],
    /// Mode of use of the key in the block.
    pub mode: u8,
    /// The choice that the caller must make.
    pub choice: Choice,
    /// Number of the access-control point that an import by this row needs; none if it needs no
    /// point.
    pub point: Option<u16>,
    /// The key that the codes mean.
    pub meaning: Meaning,
}

/// Point for importing a key of C0 as the key of card security codes.
pub const POINT_SECURITY_CODE: u16 = 0x015B;
/// Point for importing a key of V0, V1 or V2, whose mode does not tell whether it generates or
/// verifies PINs, as one that generates.
pub const POINT_PIN_ANY_MODE: u16 = 0x017C;
/// Point for importing a key of E5 or E6, whose codes do not say which keys it derives, as one that derives others than
/// MAC keys: the point of keys that derive every type.
pub const POINT_DERIVE_ANY: u16 = 0x0290;

const fn row(usage: &[u8; 2], mode: u8, meaning: Meaning) -> UsageRow {
    UsageRow { usage: *usage, mode, choice: Choice::Usual, point: None, meaning }
}

const fn chosen(usage: &[u8; 2], mode: u8, choice: Choice, point: Option<u16>, meaning: Meaning) -> UsageRow {
    UsageRow { usage: *usage, mode, choice, point, meaning }
}

/// A key of one use among those that the codes leave open. One that makes MACs needs no point: the others are of the
/// same data keys of one value for two purposes, as DALL.
const fn deriving(usage: &[u8; 2], mode: u8, word: &'static str, meaning: Meaning) -> UsageRow {
    let point = if matches!(word.as_bytes(), b"DMAC") { None } else { Some(POINT_DERIVE_ANY) };
    UsageRow { usage: *usage, mode, choice: Choice::Derives(word), point, meaning }
}

const GENERATES: [&str; 4] = ["CPINGEN", "EPINGENA", "EPINGEN", "CPINGENA"];
const IBM_GENERATES: &[&str] = &["IBM-PIN", GENERATES[0], GENERATES[1], GENERATES[2], GENERATES[3]];
const VISA_GENERATES: &[&str] = &["VISA-PVV", GENERATES[0], GENERATES[1], GENERATES[2], GENERATES[3]];

/// All rows, for both directions.
pub const ROWS: &[UsageRow] = &{
    use Choice::{Generating, LevelOne, Receiving, SecurityCode, Sending, Verifying};
    use KeyType as K;
    use Meaning::{Des, Variable};
    use VariableType as V;
    const PIN: Option<u16> = Some(POINT_PIN_ANY_MODE);
    [
        row(b"B0", b'X', Des(K::KeyGenKy, &["UKPT"])),
        row(b"B0", b'X', Variable(V::DkyGenKy, &["D-ALL", "A-DUKPT", "DKYL0"])),
        row(b"B0", b'N', Des(K::KeyGenKy, &["UKPT"])),
        row(b"B0", b'N', Variable(V::DkyGenKy, &["D-ALL", "A-DUKPT", "DKYL0"])),
        row(b"C0", b'C', Des(K::Mac, &["CVVKEY-A"])),
        row(b"C0", b'G', Des(K::Mac, &["CVVKEY-A"])),
        row(b"C0", b'V', Des(K::MacVer, &["CVVKEY-A"])),
        row(b"C0", b'N', Des(K::Mac, &["CVVKEY-A"])),
        chosen(b"C0", b'C', SecurityCode, Some(POINT_SECURITY_CODE), Des(K::Mac, &["AMEX-CSC"])),
        chosen(b"C0", b'G', SecurityCode, Some(POINT_SECURITY_CODE), Des(K::Mac, &["AMEX-CSC"])),
        chosen(b"C0", b'V', SecurityCode, Some(POINT_SECURITY_CODE), Des(K::MacVer, &["AMEX-CSC"])),
        chosen(b"C0", b'N', SecurityCode, Some(POINT_SECURITY_CODE), Des(K::Mac, &["AMEX-CSC"])),
        row(b"D0", b'B', Des(K::Cipher, &[])),
        row(b"D0", b'E', Des(K::Encipher, &[])),
        row(b"D0", b'D', Des(K::Decipher, &[])),
        row(b"D0", b'N', Des(K::Cipher, &[])),
        row(b"D0", b'B', Variable(V::Cipher, &["ENCRYPT", "DECRYPT", "CBC"])),
        row(b"D0", b'E', Variable(V::Cipher, &["ENCRYPT", "CBC"])),
        row(b"D0", b'D', Variable(V::Cipher, &["DECRYPT", "CBC"])),
        row(b"D0", b'N', Variable(V::Cipher, &["ENCRYPT", "DECRYPT", "CBC"])),
        row(b"D3", b'B', Des(K::Cipher, &[])),
        row(b"D3", b'E', Des(K::Encipher, &[])),
        row(b"D3", b'D', Des(K::Decipher, &[])),
        row(b"D3", b'N', Des(K::Cipher, &[])),
        row(b"D3", b'B', Variable(V::Cipher, &["ENCRYPT", "DECRYPT", "CBC"])),
        row(b"D3", b'E', Variable(V::Cipher, &["ENCRYPT", "CBC"])),
        row(b"D3", b'D', Variable(V::Cipher, &["DECRYPT", "CBC"])),
        row(b"D3", b'N', Variable(V::Cipher, &["ENCRYPT", "DECRYPT", "CBC"])),
        row(b"E0", b'X', Des(K::DKyGenKy, &["DKYL0", "DMAC"])),
        row(b"E1", b'X', Des(K::DKyGenKy, &["DKYL0", "DMPIN"])),
        row(b"E2", b'X', Des(K::DKyGenKy, &["DKYL0", "DMAC"])),
        row(b"E3", b'X', Des(K::DKyGenKy, &["DKYL0", "DMAC"])),
        row(b"E4", b'X', Des(K::DKyGenKy, &["DKYL0", "DDATA"])),
        chosen(b"E0", b'X', LevelOne, None, Des(K::DKyGenKy, &["DKYL1", "DMAC"])),
        chosen(b"E1", b'X', LevelOne, None, Des(K::DKyGenKy, &["DKYL1", "DMPIN"])),
        chosen(b"E2", b'X', LevelOne, None, Des(K::DKyGenKy, &["DKYL1", "DMAC"])),
        chosen(b"E3", b'X', LevelOne, None, Des(K::DKyGenKy, &["DKYL1", "DMAC"])),
        chosen(b"E4", b'X', LevelOne, None, Des(K::DKyGenKy, &["DKYL1", "DDATA"])),
        deriving(b"E5", b'X', "DDATA", Des(K::DKyGenKy, &["DKYL0", "DDATA"])),
        deriving(b"E5", b'X', "DMAC", Des(K::DKyGenKy, &["DKYL0", "DMAC"])),
        deriving(b"E5", b'X', "DMPIN", Des(K::DKyGenKy, &["DKYL0", "DMPIN"])),
        deriving(b"E5", b'N', "DDATA", Des(K::DKyGenKy, &["DKYL0", "DDATA"])),
        deriving(b"E5", b'N', "DMAC", Des(K::DKyGenKy, &["DKYL0", "DMAC"])),
        deriving(b"E5", b'N', "DMPIN", Des(K::DKyGenKy, &["DKYL0", "DMPIN"])),
        deriving(b"E6", b'X', "DDATA", Des(K::DKyGenKy, &["DKYL0", "DDATA"])),
        deriving(b"E6", b'X', "DMAC", Des(K::DKyGenKy, &["DKYL0", "DMAC"])),
        deriving(b"E6", b'X', "DMPIN", Des(K::DKyGenKy, &["DKYL0", "DMPIN"])),
        deriving(b"E6", b'N', "DDATA", Des(K::DKyGenKy, &["DKYL0", "DDATA"])),
        deriving(b"E6", b'N', "DMAC", Des(K::DKyGenKy, &["DKYL0", "DMAC"])),
        deriving(b"E6", b'N', "DMPIN", Des(K::DKyGenKy, &["DKYL0", "DMPIN"])),
        row(b"E0", b'N', Des(K::DKyGenKy, &["DKYL0", "DMAC"])),
        row(b"E1", b'N', Des(K::DKyGenKy, &["DKYL0", "DMPIN"])),
        row(b"E2", b'N', Des(K::DKyGenKy, &["DKYL0", "DMAC"])),
        row(b"E3", b'N', Des(K::DKyGenKy, &["DKYL0", "DMAC"])),
        row(b"E4", b'N', Des(K::DKyGenKy, &["DKYL0", "DDATA"])),
        chosen(b"E0", b'N', LevelOne, None, Des(K::DKyGenKy, &["DKYL1", "DMAC"])),
        chosen(b"E1", b'N', LevelOne, None, Des(K::DKyGenKy, &["DKYL1", "DMPIN"])),
        chosen(b"E2", b'N', LevelOne, None, Des(K::DKyGenKy, &["DKYL1", "DMAC"])),
        chosen(b"E3", b'N', LevelOne, None, Des(K::DKyGenKy, &["DKYL1", "DMAC"])),
        chosen(b"E4", b'N', LevelOne, None, Des(K::DKyGenKy, &["DKYL1", "DDATA"])),
        row(b"K0", b'E', Des(K::Exporter, &[])),
        row(b"K0", b'D', Des(K::Importer, &[])),
        chosen(b"K0", b'B', Sending, None, Des(K::Exporter, &[])),
        chosen(b"K0", b'B', Receiving, None, Des(K::Importer, &[])),
        chosen(b"K0", b'N', Sending, None, Des(K::Exporter, &[])),
        chosen(b"K0", b'N', Receiving, None, Des(K::Importer, &[])),
        row(b"K0", b'E', Variable(V::Exporter, &[])),
        row(b"K0", b'D', Variable(V::Importer, &[])),
        chosen(b"K0", b'B', Sending, None, Variable(V::Exporter, &[])),
        chosen(b"K0", b'B', Receiving, None, Variable(V::Importer, &[])),
        chosen(b"K0", b'N', Sending, None, Variable(V::Exporter, &[])),
        chosen(b"K0", b'N', Receiving, None, Variable(V::Importer, &[])),
        row(b"K1", b'E', Des(K::Exporter, PROTECTS)),
        row(b"K1", b'D', Des(K::Importer, PROTECTS)),
        chosen(b"K1", b'B', Sending, None, Des(K::Exporter, PROTECTS)),
        chosen(b"K1", b'B', Receiving, None, Des(K::Importer, PROTECTS)),
        chosen(b"K1", b'N', Sending, None, Des(K::Exporter, PROTECTS)),
        chosen(b"K1", b'N', Receiving, None, Des(K::Importer, PROTECTS)),
        row(b"K1", b'E', Variable(V::Exporter, PROTECTS_OUT)),
        row(b"K1", b'D', Variable(V::Importer, PROTECTS_IN)),
        chosen(b"K1", b'B', Sending, None, Variable(V::Exporter, PROTECTS_OUT)),
        chosen(b"K1", b'B', Receiving, None, Variable(V::Importer, PROTECTS_IN)),
        chosen(b"K1", b'N', Sending, None, Variable(V::Exporter, PROTECTS_OUT)),
        chosen(b"K1", b'N', Receiving, None, Variable(V::Importer, PROTECTS_IN)),
        row(b"M0", b'C', Des(K::Mac, &[])),
        row(b"M0", b'G', Des(K::Mac, &[])),
        row(b"M0", b'V', Des(K::MacVer, &[])),
        row(b"M0", b'N', Des(K::Mac, &[])),
        row(b"M1", b'C', Des(K::Mac, &[])),
        row(b"M1", b'G', Des(K::Mac, &[])),
        row(b"M1", b'V', Des(K::MacVer, &[])),
        row(b"M1", b'N', Des(K::Mac, &[])),
        row(b"M3", b'C', Des(K::Mac, &[])),
        row(b"M3", b'G', Des(K::Mac, &[])),
        row(b"M3", b'V', Des(K::MacVer, &[])),
        row(b"M3", b'N', Des(K::Mac, &[])),
        row(b"M6", b'C', Des(K::Mac, &[])),
        row(b"M6", b'G', Des(K::Mac, &[])),
        row(b"M6", b'V', Des(K::MacVer, &[])),
        row(b"M6", b'N', Des(K::Mac, &[])),
        row(b"M6", b'C', Variable(V::Mac, &["GENERATE", "CMAC"])),
        row(b"M6", b'G', Variable(V::Mac, &["GENONLY", "CMAC"])),
        row(b"M6", b'V', Variable(V::Mac, &["VERIFY", "CMAC"])),
        row(b"M6", b'N', Variable(V::Mac, &["GENERATE", "CMAC"])),
        row(b"M7", b'C', Variable(V::Hmac, &["GENERATE", "VERIFY"])),
        row(b"M7", b'G', Variable(V::Hmac, &["GENERATE"])),
        row(b"M7", b'V', Variable(V::Hmac, &["VERIFY"])),
        row(b"M7", b'N', Variable(V::Hmac, &["GENERATE", "VERIFY"])),
        row(b"P0", b'E', Des(K::OPinEnc, &[])),
        row(b"P0", b'D', Des(K::IPinEnc, &[])),
        chosen(b"P0", b'B', Sending, None, Des(K::OPinEnc, &[])),
        chosen(b"P0", b'B', Receiving, None, Des(K::IPinEnc, &[])),
        chosen(b"P0", b'N', Sending, None, Des(K::OPinEnc, &[])),
        chosen(b"P0", b'N', Receiving, None, Des(K::IPinEnc, &[])),
        row(b"P0", b'E', Variable(V::PinProt, PIN_OUT)),
        row(b"P0", b'D', Variable(V::PinProt, PIN_IN)),
        chosen(b"P0", b'B', Sending, None, Variable(V::PinProt, PIN_OUT)),
        chosen(b"P0", b'B', Receiving, None, Variable(V::PinProt, PIN_IN)),
        chosen(b"P0", b'N', Sending, None, Variable(V::PinProt, PIN_OUT)),
        chosen(b"P0", b'N', Receiving, None, Variable(V::PinProt, PIN_IN)),
        row(b"V0", b'C', Des(K::PinGen, &[])),
        row(b"V0", b'G', Des(K::PinGen, &GENERATES)),
        row(b"V0", b'V', Des(K::PinVer, &[])),
        chosen(b"V0", b'N', Generating, PIN, Des(K::PinGen, &[])),
        chosen(b"V0", b'N', Verifying, None, Des(K::PinVer, &[])),
        row(b"V1", b'C', Des(K::PinGen, &["IBM-PIN"])),
        row(b"V1", b'G', Des(K::PinGen, IBM_GENERATES)),
        row(b"V1", b'V', Des(K::PinVer, &["IBM-PIN"])),
        chosen(b"V1", b'N', Generating, PIN, Des(K::PinGen, &["IBM-PIN"])),
        chosen(b"V1", b'N', Verifying, None, Des(K::PinVer, &["IBM-PIN"])),
        row(b"V2", b'C', Des(K::PinGen, &["VISA-PVV"])),
        row(b"V2", b'G', Des(K::PinGen, VISA_GENERATES)),
        row(b"V2", b'V', Des(K::PinVer, &["VISA-PVV"])),
        chosen(b"V2", b'N', Generating, PIN, Des(K::PinGen, &["VISA-PVV"])),
        chosen(b"V2", b'N', Verifying, None, Des(K::PinVer, &["VISA-PVV"])),
    ]
};

/// Keywords of a DES key that protects key blocks, and nothing else.
const PROTECTS: &[&str] = &[BLOCKS_KEYWORD];
/// Keywords of a key that protects key blocks of any kind that leave, and nothing else.
const PROTECTS_OUT: &[&str] = &["EXPTT31D", "VARDRV-D"];
/// The same for blocks that come in.
const PROTECTS_IN: &[&str] = &["IMPTT31D", "VARDRV-D"];
/// Keywords of a key that enciphers PIN blocks of 16 bytes: it takes no clear PINs, and writes no
/// blocks without a PAN.
const PIN_OUT: &[&str] = &["ENCRYPT", "CBC", "EPINGEN", "PINXLATE", "REFORMAT", "ISO-4"];
/// Keywords of a key that deciphers PIN blocks of 16 bytes: it puts no PINs into blocks without a
/// PAN.
const PIN_IN: &[&str] = &["DECRYPT", "CBC", "EPINVER", "CPINGENA", "PINXLATE", "REFORMAT", "ISO-4"];

/// Why codes mean no key, or a key may not be exported under them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Usage and mode mean no key of this algorithm.
    Codes,
    /// The key that usage and mode mean has no such length.
    Length,
    /// Usage and mode mean more than one key, and the caller has chosen none of them.
    Choice,
    /// The key could be imported again with more uses.
    Wider,
    /// The key may not be exported, or not in blocks.
    Export,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Codes => "usage, algorithm and mode of use mean no key here",
            Self::Length => "the key that usage and mode of use mean has no such length",
            Self::Choice => "usage and mode of use mean more than one key, or not the one that was asked for",
            Self::Wider => "the key could come back with more uses than it has",
            Self::Export => "the key may not leave in a key block",
        })
    }
}

impl std::error::Error for Refused {}

/// Rows whose keys have this algorithm of X9.143: T or D (DES), A (AES), H (HMAC).
pub fn of_algorithm(algorithm: u8) -> impl Iterator<Item = &'static UsageRow> {
    ROWS.iter().filter(move |row| match row.meaning {
        Meaning::Des(..) => matches!(algorithm, b'T' | b'D'),
        Meaning::Variable(VariableType::Hmac, _) => algorithm == b'H',
        Meaning::Variable(..) => algorithm == b'A',
    })
}

/// Rows with this usage and mode whose keys have this algorithm of X9.143.
pub fn rows(usage: [u8; 2], algorithm: u8, mode: u8) -> impl Iterator<Item = &'static UsageRow> {
    of_algorithm(algorithm).filter(move |row| row.usage == usage && row.mode == mode)
}

/// The keyword of the hash that the optional block HM of a key of HMAC names (X9.143, 6.3.6.5), by
/// its data; `None` for other data, and for a hash that no verb takes.
pub fn hash_keyword(data: &[u8]) -> Option<&'static str> {
    Some(match data {
        b"10" => "SHA-1",
        b"20" => "SHA-224",
        b"21" => "SHA-256",
        b"22" => "SHA-384",
        b"23" => "SHA-512",
        _ => return None,
    })
}

/// The row by which a block is imported.
///
/// # Errors
/// [`Refused::Codes`] if no row has the codes, [`Refused::Choice`] if no row has the choice.
pub fn comes_as(
    usage: [u8; 2],
    algorithm: u8,
    mode: u8,
    choice: Choice,
) -> Result<&'static UsageRow, Refused> {
    let mut any = false;
    for row in rows(usage, algorithm, mode) {
        if row.choice == choice {
            return Ok(row);
        }
        any = true;
    }
    Err(if any { Refused::Choice } else { Refused::Codes })
}

impl UsageRow {
    /// The keyword of TR31_Key_Import by which a caller makes the choice; none for the usual key.
    pub fn keyword(&self) -> Option<&'static str> {
        let is_pin = self.usage == *b"P0";
        Some(match self.choice {
            Choice::Usual => return None,
            Choice::Sending if is_pin => "OPINENC",
            Choice::Sending => "EXPORTER",
            Choice::Receiving if is_pin => "IPINENC",
            Choice::Receiving => "IMPORTER",
            Choice::Generating => "PINGEN",
            Choice::Verifying => "PINVER",
            Choice::SecurityCode => "CVK-CSC",
            Choice::LevelOne => "DKYL1",
            Choice::Derives(word) => word,
        })
    }

    /// Keywords of the key beyond the default of its type.
    pub fn keywords(&self) -> &'static [&'static str] {
        match self.meaning {
            Meaning::Des(_, keywords) | Meaning::Variable(_, keywords) => keywords,
        }
    }

    /// The control vector of a DES key of this form; `may_leave` says whether the key may be
    /// exported again.
    ///
    /// # Errors
    /// [`Refused::Length`] for a form that the type does not have, [`Refused::Codes`] for a row of AES.
    pub fn vector(&self, form: KeyForm, may_leave: bool) -> Result<ControlVector, Refused> {
        let Meaning::Des(key_type, keywords) = self.meaning else { return Err(Refused::Codes) };
        let export = if may_leave { "XPORT-OK" } else { "NO-XPORT" };
        let words = keywords.iter().copied().chain([export]);
        let vector = key_type.vector_with(form, words).map_err(|_| Refused::Length)?;
        vector.with_bits(bit(CONTROL_VECTOR_BIT_NO_TR31), !may_leave).map_err(|_| Refused::Codes)
    }

    /// The attributes of an AES key; `may_leave` says whether the key may be exported again. A key
    /// of HMAC may be used with every hash.
    ///
    /// # Errors
    /// [`Refused::Codes`] for a row of DES.
    pub fn attributes(&self, may_leave: bool) -> Result<Attributes, Refused> {
        self.attributes_with(None, may_leave)
    }

    /// The attributes of a key of HMAC for the hash of this keyword ([`hash_keyword`]).
    ///
    /// # Errors
    /// [`Refused::Codes`] for a row of another algorithm.
    pub fn attributes_of_hmac(&self, hash: &'static str, may_leave: bool) -> Result<Attributes, Refused> {
        match self.meaning {
            Meaning::Variable(VariableType::Hmac, _) => self.attributes_with(Some(hash), may_leave),
            _ => Err(Refused::Codes),
        }
    }

    fn attributes_with(&self, hash: Option<&'static str>, may_leave: bool) -> Result<Attributes, Refused> {
        let Meaning::Variable(key_type, keywords) = self.meaning else { return Err(Refused::Codes) };
        let forbidden: &[&str] =
            if may_leave { &[] } else { &["NOEX-SYM", "NOEXUASY", "NOEXAASY", "NOEX-RAW", "NOEXCPAC"] };
        let words = keywords.iter().chain(forbidden).copied().chain(hash);
        Attributes::new(key_type, words, None).map_err(|_| Refused::Codes)
    }
}

/// Whether a DES key with this control vector may be exported under usage and mode; `with_vector`
/// says whether the control vector goes along, by which the block comes in.
///
/// # Errors
/// [`Refused::Export`], [`Refused::Codes`], [`Refused::Length`] or [`Refused::Wider`].
pub fn may_leave(vector: ControlVector, usage: [u8; 2], mode: u8, with_vector: bool) -> Result<(), Refused> {
    may_leave_at_all(vector)?;
    if mode == ANY_MODE {
        return Err(Refused::Codes);
    }
    let form = vector.form().unwrap_or(KeyForm::Double);
    // With its control vector a key comes back as what it is. Without it, a key of one step with DMAC or DDATA that
    // comes back as one of two has no more uses: its MACs, or what it enciphers, are the keys of the second step.
    let is_own_level = |row: &UsageRow| (row.choice == Choice::LevelOne) == derives_twice(vector);
    // Who does not read the control vector takes a key of E5 for one of every use.
    if matches!(&usage, b"E5" | b"E6") && !(with_vector && derives_any(vector)) {
        return Err(Refused::Wider);
    }
    let may_come = |row: &UsageRow| match with_vector {
        true => is_own_level(row),
        false => usage == *b"E1" || row.choice != Choice::LevelOne,
    };
    let mut any = false;
    // Rows that need a point are not counted: a caller with that point may make such keys anyway.
    for row in rows(usage, b'T', mode).filter(|row| row.point.is_none() && may_come(row)) {
        if !covers(vector, row.vector(form, true)?, with_vector) {
            return Err(Refused::Wider);
        }
        any = true;
    }
    if any { Ok(()) } else { Err(Refused::Codes) }
}

/// Whether a DES key with this control vector may be exported in key blocks.
///
/// # Errors
/// [`Refused::Export`] if its vector forbids export, or export in TR-31 blocks.
pub fn may_leave_at_all(vector: ControlVector) -> Result<(), Refused> {
    let is_kept = !vector.is_zero() && (!vector.bit(17) || vector.bit(CONTROL_VECTOR_BIT_NO_TR31));
    if is_kept { Err(Refused::Export) } else { Ok(()) }
}

/// Whether an AES key with these attributes may be exported under usage and mode.
///
/// # Errors
/// [`Refused::Codes`] or [`Refused::Wider`].
pub fn may_leave_variable(attributes: &Attributes, usage: [u8; 2], mode: u8) -> Result<(), Refused> {
    if mode == ANY_MODE {
        return Err(Refused::Codes);
    }
    let mut any = false;
    // A block of a key of HMAC is not made: its hash has no keyword.
    for row in rows(usage, b'A', mode).filter(|row| row.point.is_none()) {
        let narrow = row.attributes(true)?;
        let is_covered =
            narrow.key_type() == attributes.key_type()
                && narrow.usage().len() == attributes.usage().len()
                && narrow.usage().iter().zip(attributes.usage()).enumerate().all(
                    |(field, (narrow, wide))| covers_field(attributes.key_type(), field, *narrow, *wide),
                );
        if !is_covered || (narrow.management()[0] & !attributes.management()[0]) & 0xFF00 != 0 {
            return Err(Refused::Wider);
        }
        any = true;
    }
    if any { Ok(()) } else { Err(Refused::Codes) }
}

/// Whether the narrow usage field permits nothing that the wide one does not permit. Numbers must
/// be equal, or ANY-MODE; bits may be missing.
fn covers_field(key_type: VariableType, field: usize, narrow: u16, wide: u16) -> bool {
    let numbers: u16 = match (key_type, field) {
        (VariableType::DkyGenKy, _) => 0xFFFF,
        (VariableType::Exporter | VariableType::Importer, _) => 0,
        (VariableType::PinProt, 2..) => 0xFFFF,
        (_, 1) => 0xFF00,
        _ => 0,
    };
    let any_mode = key_type == VariableType::Cipher && field == 1 && wide & 0xFF00 == 0xFF00;
    // Bits of the installation's own functions (UDX) restrict a key.
    let is_own = field == 0 && (narrow ^ wide) & 0x000F != 0;
    ((narrow ^ wide) & numbers == 0 || any_mode) && narrow & !wide & !numbers == 0 && !is_own
}

/// Whether a key with the wide vector has all uses of a key with the narrow vector. A key that derives every type
/// (DALL) counts only where its vector goes along: under two usages it would come back as keys of two purposes.
fn covers(wide: ControlVector, narrow: ControlVector, with_vector: bool) -> bool {
    const TYPE: u64 = 0x7F << 49;
    const METHOD: u64 = 0xF << 60;
    const FORM: u64 = 0b111 << 21;
    const PARITY: u64 = 0x0101_0101_0101_0101;
    // Neither export nor wrapping is a use.
    const OTHERS: u64 = FORM | PARITY | bit(17) | bit(56) | bit(CONTROL_VECTOR_BIT_NO_TR31);
    if wide.is_key_part() || wide.only_translates() {
        return false;
    }
    if narrow.protects_blocks_alone()
        && ![Side::Sending, Side::Receiving].iter().any(|side| wide.may(Use::ProtectBlocks(*side)))
    {
        return false;
    }
    let is_data = wide.type_bits() == (0, 0);
    // A compatible DATA key has every use.
    let usage =
        if wide.is_zero() { bit(18) | bit(19) | bit(20) | bit(21) } else { wide.left() & USAGE_FIELD };
    let wanted = narrow.left() & USAGE_FIELD;
    let is_number = narrow.type_bits().0 == TYPE_DKYGENKY;
    let is_any = with_vector && derives_any(wide);
    let has_uses = if is_number { usage == wanted || is_any } else { wanted & !usage == 0 };
    let has_type = wide.left() & TYPE == narrow.left() & TYPE
        || is_data && matches!(narrow.type_bits(), (0, 1 | 2)) && narrow.method_bits() == 0;
    let has_method = wide.method_bits() == narrow.method_bits() || wide.method_bits() == 0;
    let rest = |vector: ControlVector| vector.left() & !(TYPE | METHOD | USAGE_FIELD | OTHERS);
    let has_rest = wide.is_zero() || rest(wide) == rest(narrow);
    has_uses && has_type && has_method && has_rest
}

/// Whether a key with this control vector derives keys of every type (DALL).
fn derives_any(vector: ControlVector) -> bool {
    vector.type_bits().0 == TYPE_DKYGENKY && vector.left() & USAGE_FIELD == DALL
}

/// Whether a key with this control vector derives keys that derive others (DKYL1).
fn derives_twice(vector: ControlVector) -> bool {
    vector.type_bits().0 == TYPE_DKYGENKY && vector.left() & LEVEL == 1 << 49
}

const TYPE_DKYGENKY: u8 = 7;
/// The usage field of a DKYGENKY key that derives keys of every type.
const DALL: u64 = 0xF << 41;
/// The level of a DKYGENKY key, bits 12 to 14.
const LEVEL: u64 = 0b111 << 49;
/// Mode of use without restrictions.
const ANY_MODE: u8 = b'N';

#[cfg(test)]
mod tests;
