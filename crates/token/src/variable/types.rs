//! Types of variable-length keys, and the bits that the keywords of Key_Token_Build2 set in their
//! usage and management fields.
//!
//! Sources: Linux on Z CCA, "Key Token Build2, keywords reference" and the format of each type;
//! ICSF Application Programmer's Guide, "Variable-length symmetric key token". A field is two
//! bytes; a keyword sets the bits under its mask to its value. Two keywords whose masks overlap
//! exclude each other. A bit that no keyword sets is not defined and is refused, and so is a value
//! that no keyword with its mask sets.
//!
//! Not defined here, and so refused: the compliance tag (COMP-TAG), and D-KDKGKY, MMSAUTH1 and
//! MMSAUTH2 of DKYGENKY.
//! The usage fields of KDKGENKY after the first have no published meaning where it was looked for:
//! they are kept as they are.

use crate::unconfirmed::TRANSPORT_USAGE;

/// Type of a variable-length key, with its algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableType {
    /// AES CIPHER: enciphers and deciphers texts.
    Cipher,
    /// AES MAC: makes and verifies CMACs.
    Mac,
    /// AES EXPORTER: wraps keys for others.
    Exporter,
    /// AES IMPORTER: unwraps keys of others.
    Importer,
    /// AES PINPROT: enciphers PIN blocks.
    PinProt,
    /// AES PINCALC: makes PINs.
    PinCalc,
    /// AES PINPRW: makes and checks PIN reference values.
    PinPrw,
    /// AES DKYGENKY: derives keys.
    DkyGenKy,
    /// AES SECMSG: enciphers PINs within messages.
    SecMsg,
    /// AES KDKGENKY: derives keys that derive keys.
    KdkGenKy,
    /// HMAC MAC: makes and verifies HMACs.
    Hmac,
}

/// The field that a keyword sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeField {
    /// A usage field, by its index from 0.
    Usage(usize),
    /// A management field, by its index from 0.
    Management(usize),
}

/// The bits that one keyword sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: &'static str,
    pub(crate) field: AttributeField,
    pub(crate) mask: u16,
    pub(crate) value: u16,
    /// The keyword needs this usage field to have this value under this mask; none if it needs
    /// nothing.
    pub(crate) with: Option<(usize, u16, u16)>,
}

/// The fields and keywords of a type.
pub(crate) struct Row {
    pub(crate) key_type: VariableType,
    pub(crate) name: &'static str,
    /// Byte 41 of a token: the algorithm.
    pub(crate) algorithm: u8,
    /// Bytes 42 and 43 of a token: the type.
    pub(crate) number: u16,
    /// Initial usage fields, before keywords are applied.
    pub(crate) start: &'static [u16],
    /// The numbers of usage fields that a token may have.
    pub(crate) counts: &'static [usize],
    /// Usage field, mask, and the value that is set if no keyword has set a bit under the mask; 0
    /// if a keyword must.
    pub(crate) defaults: &'static [(usize, u16, u16)],
    /// Whether tokens with payloads of version X'00' are made.
    pub(crate) has_version_0: bool,
    pub(crate) words: &'static [Word],
}

/// The type that a DKYGENKY key derives, by the high byte of its first usage field; `None` for
/// every type.
pub(crate) const DERIVED: &[(u8, Option<VariableType>)] = &[
    (0x00, None),
    (0x01, Some(VariableType::Cipher)),
    (0x02, Some(VariableType::Mac)),
    (0x03, Some(VariableType::Exporter)),
    (0x04, Some(VariableType::Importer)),
    (0x05, Some(VariableType::PinProt)),
    (0x06, Some(VariableType::PinCalc)),
    (0x07, Some(VariableType::PinPrw)),
    (0x08, Some(VariableType::SecMsg)),
];

impl VariableType {
    /// All types.
    pub const ALL: [Self; 11] = [
        Self::Cipher,
        Self::Mac,
        Self::Exporter,
        Self::Importer,
        Self::PinProt,
        Self::PinCalc,
        Self::PinPrw,
        Self::DkyGenKy,
        Self::SecMsg,
        Self::KdkGenKy,
        Self::Hmac,
    ];

    /// Name of the type; HMAC has the name MAC, as [`Self::Mac`] has.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether keys of the type carry or derive other keys, so that the other keys are known with
    /// them.
    pub fn leads_to_keys(self) -> bool {
        matches!(self, Self::Exporter | Self::Importer | Self::DkyGenKy | Self::KdkGenKy)
    }

    /// Whether the type is of AES, rather than HMAC.
    pub fn is_aes(self) -> bool {
        self.row().algorithm == ALGORITHM_AES
    }

    /// The type of this name, of AES or of HMAC.
    pub fn from_name(is_aes: bool, name: &[u8; 8]) -> Option<Self> {
        let named = |row: &&Row| {
            (row.algorithm == ALGORITHM_AES) == is_aes && name.trim_ascii_end() == row.name.as_bytes()
        };
        ROWS.iter().find(named).map(|row| row.key_type)
    }

    /// Whether a key of the type may be clear in a token.
    pub fn may_be_clear(self) -> bool {
        matches!(self, Self::Cipher | Self::Hmac)
    }

    /// Whether keys of the type may have this length in bytes: 16, 24 or 32 for AES, 10 to 256 for
    /// HMAC.
    pub fn has_length(self, key_bytes: usize) -> bool {
        if self.is_aes() { matches!(key_bytes, 16 | 24 | 32) } else { (10..=256).contains(&key_bytes) }
    }

    pub(crate) fn of_bytes(algorithm: u8, number: u16) -> Option<Self> {
        let row = ROWS.iter().find(|row| (row.algorithm, row.number) == (algorithm, number));
        row.map(|row| row.key_type)
    }

    pub(crate) fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

pub(crate) const ALGORITHM_AES: u8 = 0x02;
pub(crate) const ALGORITHM_HMAC: u8 = 0x03;

macro_rules! words {
    ($($name:ident { $($field:literal $mask:literal $with:tt {
        $($text:literal = $value:literal),* $(,)?
    })* })*) => {
        $(const $name: &[Word] = &[$($(Word {
            text: $text,
            field: AttributeField::Usage($field),
            mask: if $mask == EACH { $value } else { $mask },
            value: $value,
            with: words!(@with $with),
        }),*),*];)*
    };
    (@with any) => { None };
    (@with ($field:literal, $mask:literal, $value:literal)) => { Some(($field, $mask, $value)) };
}

/// Stands for a mask: each keyword sets a single bit of its own.
const EACH: u16 = 0;

words! {
    CIPHER {
        0 0 any { "ENCRYPT" = 0x8000, "DECRYPT" = 0x4000, "C-XLATE" = 0x2000 }
        0 0 any { "UDX-ONLY" = 0x0008, "UDX-100" = 0x0004, "UDX-010" = 0x0002, "UDX-001" = 0x0001 }
        1 0xFF00 any {
            "CBC" = 0x0000, "ECB" = 0x0100, "CFB" = 0x0200, "OFB" = 0x0300, "GCM" = 0x0400, "XTS" = 0x0500,
            "FF1" = 0x0600, "FF2" = 0x0700, "FF2.1" = 0x0800, "ANY-MODE" = 0xFF00,
        }
    }
    MAC {
        0 0xC000 any { "GENERATE" = 0xC000, "GENONLY" = 0x8000, "VERIFY" = 0x4000 }
        0 0 any { "UDX-ONLY" = 0x0008, "UDX-100" = 0x0004, "UDX-010" = 0x0002, "UDX-001" = 0x0001 }
        1 0xFF00 any { "CMAC" = 0x0100 }
        1 0x0080 any { "PTR2AUTH" = 0x0080, "NOP2AUTH" = 0x0000 }
        2 0xFFFF any { "DKPINOP" = 0x0101, "DKPINAD1" = 0x0301, "DKPINAD2" = 0x0401 }
    }
    EXPORTER {
        0 0 any {
            "EXPORT" = 0x8000, "TRANSLAT" = 0x4000, "GEN-OPEX" = 0x2000, "GEN-IMEX" = 0x1000, "GEN-EXEX" = 0x0800,
            "GEN-PUB" = 0x0400,
        }
        0 0 (0, 0xFC00, 0x0000) { "EXPTT31D" = 0x0100 }
        0 0 any { "UDX-ONLY" = 0x0008, "UDX-100" = 0x0004, "UDX-010" = 0x0002, "UDX-001" = 0x0001 }
        1 0 any { "WR-TR31" = 0x8000, "VARDRV-D" = 0x0100, "KEK-RAW" = 0x0001 }
        2 0 any {
            "WR-DES" = 0x8000, "WR-AES" = 0x4000, "WR-HMAC" = 0x2000, "WR-RSA" = 0x1000, "WR-ECC" = 0x0800,
            "WR-QSA" = 0x0400,
        }
        3 0 any {
            "WR-DATA" = 0x8000, "WR-KEK" = 0x4000, "WR-PIN" = 0x2000, "WRDERIVE" = 0x1000, "WR-CARD" = 0x0800,
            "WR-CVAR" = 0x0400,
        }
    }
    IMPORTER {
        0 0 any {
            "IMPORT" = 0x8000, "TRANSLAT" = 0x4000, "GEN-OPIM" = 0x2000, "GEN-IMEX" = 0x1000, "GEN-IMIM" = 0x0800,
            "GEN-PUB" = 0x0400,
        }
        0 0 (0, 0xFC00, 0x0000) { "IMPTT31D" = 0x0100 }
        0 0 any { "UDX-ONLY" = 0x0008, "UDX-100" = 0x0004, "UDX-010" = 0x0002, "UDX-001" = 0x0001 }
        1 0 any { "WR-TR31" = 0x8000, "VARDRV-D" = 0x0100, "KEK-RAW" = 0x0001 }
        2 0 any {
            "WR-DES" = 0x8000, "WR-AES" = 0x4000, "WR-HMAC" = 0x2000, "WR-RSA" = 0x1000, "WR-ECC" = 0x0800,
            "WR-QSA" = 0x0400,
        }
        3 0 any {
            "WR-DATA" = 0x8000, "WR-KEK" = 0x4000, "WR-PIN" = 0x2000, "WRDERIVE" = 0x1000, "WR-CARD" = 0x0800,
            "WR-CVAR" = 0x0400,
        }
    }
    PINPROT {
        0 0xC000 any { "ENCRYPT" = 0x8000, "DECRYPT" = 0x4000 }
        0 0 any { "UDX-ONLY" = 0x0008, "UDX-100" = 0x0004, "UDX-010" = 0x0002, "UDX-001" = 0x0001 }
        1 0xFF00 any { "CBC" = 0x0000 }
        1 0 (0, 0xC000, 0x4000) { "EPINVER" = 0x0010, "CPINGENA" = 0x0008, "RFMT4TO1" = 0x0001 }
        1 0 (0, 0xC000, 0x8000) { "CPINENC" = 0x0020, "EPINGEN" = 0x0010, "RFMT1TO4" = 0x0001 }
        1 0 any { "PINXLATE" = 0x0004, "REFORMAT" = 0x0002 }
        2 0xFFFF any { "NOFLDFMT" = 0x0000, "DKPINOP" = 0x0101, "DKPINOPP" = 0x0201, "DKPINAD1" = 0x0301 }
        3 0xFFFF any { "ISO-4" = 0x0100 }
    }
    PINCALC {
        0 0xC000 any { "GENONLY" = 0x8000 }
        0 0 any { "UDX-ONLY" = 0x0008, "UDX-100" = 0x0004, "UDX-010" = 0x0002, "UDX-001" = 0x0001 }
        1 0xFF00 any { "CBC" = 0x0000 }
        2 0xFFFF any { "DKPINOP" = 0x0101 }
    }
    PINPRW {
        0 0xC000 any { "GENONLY" = 0x8000, "VERIFY" = 0x4000 }
        0 0 any { "UDX-ONLY" = 0x0008, "UDX-100" = 0x0004, "UDX-010" = 0x0002, "UDX-001" = 0x0001 }
        1 0xFF00 any { "CMAC" = 0x0100 }
        2 0xFFFF any { "DKPINOP" = 0x0101 }
    }
    DKYGENKY {
        0 0xFF00 any {
            "D-ALL" = 0x0000, "D-CIPHER" = 0x0100, "D-MAC" = 0x0200, "D-EXP" = 0x0300, "D-IMP" = 0x0400,
            "D-PPROT" = 0x0500, "D-PCALC" = 0x0600, "D-PPRW" = 0x0700, "D-SECMSG" = 0x0800,
        }
        0 0 any { "A-DUKPT" = 0x0080 }
        0 0 any { "UDX-ONLY" = 0x0008, "UDX-100" = 0x0004, "UDX-010" = 0x0002, "UDX-001" = 0x0001 }
        1 0x8000 any { "KUF-MBE" = 0x8000, "KUF-MBP" = 0x0000 }
        1 0x4000 any { "KMF-MBP" = 0x4000 }
        1 0x2000 any { "KMF-MBE" = 0x2000 }
        1 0x00FF any { "DKYL0" = 0x0000, "DKYL1" = 0x0001, "DKYL2" = 0x0002 }
    }
    SECMSG {
        0 0xFF00 any { "SMPIN" = 0x0000 }
        0 0 any { "UDX-ONLY" = 0x0008, "UDX-100" = 0x0004, "UDX-010" = 0x0002, "UDX-001" = 0x0001 }
        1 0xFF00 any { "ANY-USE" = 0x0000, "DPC-ONLY" = 0x0100 }
    }
    KDKGENKY {
        0 0xFF00 any { "KDKTYPEA" = 0x0000, "KDKTYPEB" = 0x0100 }
        0 0 any { "UDX-ONLY" = 0x0008, "UDX-100" = 0x0004, "UDX-010" = 0x0002, "UDX-001" = 0x0001 }
    }
    HMAC {
        0 0 any { "GENERATE" = 0x8000, "VERIFY" = 0x4000 }
        0 0 any { "UDX-ONLY" = 0x0008, "UDX-100" = 0x0004, "UDX-010" = 0x0002, "UDX-001" = 0x0001 }
        1 0 any {
            "SHA-1" = 0x8000, "SHA-224" = 0x4000, "SHA-256" = 0x2000, "SHA-384" = 0x1000, "SHA-512" = 0x0800,
        }
    }
}

/// A keyword of the first management field, which every type has.
const fn managed(text: &'static str, mask: u16, value: u16) -> Word {
    Word { text, field: AttributeField::Management(0), mask, value, with: None }
}

/// Keywords of the first management field: the high byte permits ways of export, the low byte
/// forbids some. Callers cannot set the other two fields.
pub(crate) const MANAGEMENT: &[Word] = &[
    managed("XPRT-SYM", 0x8000, 0x8000),
    managed("NOEX-SYM", 0x8000, 0),
    managed("XPRTUASY", 0x4000, 0x4000),
    managed("NOEXUASY", 0x4000, 0),
    managed("XPRTAASY", 0x2000, 0x2000),
    managed("NOEXAASY", 0x2000, 0),
    managed("XPRT-RAW", 0x1000, 0x1000),
    managed("NOEX-RAW", 0x1000, 0),
    managed("XPRTCPAC", 0x0800, 0x0800),
    managed("NOEXCPAC", 0x0800, 0),
    managed("XPRT-DES", 0x0080, 0),
    managed("NOEX-DES", 0x0080, 0x0080),
    managed("XPRT-AES", 0x0040, 0),
    managed("NOEX-AES", 0x0040, 0x0040),
    managed("XPRT-RSA", 0x0008, 0),
    managed("NOEX-RSA", 0x0008, 0x0008),
];

const fn aes(key_type: VariableType, name: &'static str, number: u16, words: &'static [Word]) -> Row {
    Row {
        key_type,
        name,
        algorithm: ALGORITHM_AES,
        number,
        start: &[0, 0],
        counts: &[2],
        defaults: &[],
        has_version_0: false,
        words,
    }
}

/// Defaults of the usage fields of transport keys, for fields in which no keyword sets a bit. EXPTT31D and IMPTT31D
/// stand alone in the first field.
const TRANSPORT: &[(usize, u16, u16)] = &{
    let [(first, one), (second, two), (third, three)] = TRANSPORT_USAGE;
    [(first, one | BLOCKS_ALONE, one), (second, two, two), (third, three, three)]
};
/// EXPTT31D, IMPTT31D: the key protects key blocks of version D (VARDRV-D), and wraps no tokens.
pub(crate) const BLOCKS_ALONE: u16 = 0x0100;

/// The rows, in the order of [`VariableType`].
const ROWS: &[Row] = &[
    Row {
        defaults: &[(0, 0xC000, 0xC000)],
        has_version_0: true,
        ..aes(VariableType::Cipher, "CIPHER", 0x0001, CIPHER)
    },
    Row {
        start: &[0, 0x0100],
        counts: &[2, 3],
        defaults: &[(0, 0xC000, 0)],
        ..aes(VariableType::Mac, "MAC", 0x0002, MAC)
    },
    Row {
        start: &[0; 4],
        counts: &[4],
        defaults: TRANSPORT,
        has_version_0: true,
        ..aes(VariableType::Exporter, "EXPORTER", 0x0003, EXPORTER)
    },
    Row {
        start: &[0; 4],
        counts: &[4],
        defaults: TRANSPORT,
        has_version_0: true,
        ..aes(VariableType::Importer, "IMPORTER", 0x0004, IMPORTER)
    },
    Row {
        start: &[0; 4],
        counts: &[3, 4],
        defaults: &[(0, 0xC000, 0)],
        ..aes(VariableType::PinProt, "PINPROT", 0x0005, PINPROT)
    },
    Row {
        start: &[0x8000, 0, 0x0101],
        counts: &[3],
        ..aes(VariableType::PinCalc, "PINCALC", 0x0006, PINCALC)
    },
    Row {
        start: &[0, 0x0100, 0x0101],
        counts: &[3],
        defaults: &[(0, 0xC000, 0)],
        ..aes(VariableType::PinPrw, "PINPRW", 0x0007, PINPRW)
    },
    Row { counts: &[2, 4, 5, 6], ..aes(VariableType::DkyGenKy, "DKYGENKY", 0x0009, DKYGENKY) },
    aes(VariableType::SecMsg, "SECMSG", 0x000A, SECMSG),
    Row { counts: &[13, 25, 37, 49], ..aes(VariableType::KdkGenKy, "KDKGENKY", 0x000B, KDKGENKY) },
    Row {
        algorithm: ALGORITHM_HMAC,
        defaults: &[(0, 0xC000, 0), (1, 0xF800, 0xF800)],
        has_version_0: true,
        ..aes(VariableType::Hmac, "MAC", 0x0002, HMAC)
    },
];

const _: () = {
    let mut at = 0;
    while at < ROWS.len() {
        assert!(ROWS[at].key_type as usize == at, "a row stands at the place of its type");
        at += 1;
    }
    assert!(ROWS.len() == VariableType::ALL.len());
};
