//! Points of keywords: which point a rule array is asked for beside its verb's own.
//!
//! A row applies where the rule array has every keyword of `with` and none of `without`; what a verb does without a
//! keyword of a group stands as a row that lacks them all. Several rows may apply: each is asked.

use super::Point;
use crate::bounds::KEYWORD_BYTES;
use crate::verb::Verb;

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Keywords that must be there.
    pub with: &'static [u64],
    /// Keywords that must not.
    pub without: &'static [u64],
    /// What is asked then.
    pub point: Point,
}

impl Row {
    /// Whether it applies to a rule array.
    #[inline]
    pub fn applies(&self, given: &[[u8; KEYWORD_BYTES]]) -> bool {
        let has = |word: &u64| given.iter().any(|given| u64::from_be_bytes(*given) == *word);
        self.with.iter().all(has) && !self.without.iter().any(has)
    }
}

/// A keyword of 1 to 8 characters as a number: its blank-padded bytes, the first one highest.
///
/// # Panics
/// Where it is empty or longer.
pub const fn word(text: &str) -> u64 {
    let text = text.as_bytes();
    assert!(!text.is_empty() && text.len() <= KEYWORD_BYTES);
    let mut bytes = [b' '; KEYWORD_BYTES];
    let mut index = 0;
    while index < text.len() {
        bytes[index] = text[index];
        index += 1;
    }
    u64::from_be_bytes(bytes)
}

/// The rows of a verb; none where its keywords have no points, or it has no keywords.
pub fn of(verb: Verb) -> &'static [Row] {
    match verb {
        Verb::OneWayHash => HASHES,
        Verb::Encipher | Verb::Decipher => CIPHERS,
        Verb::SymmetricAlgorithmEncipher => AES_ENCIPHER,
        Verb::SymmetricAlgorithmDecipher => AES_DECIPHER,
        Verb::MacGenerate | Verb::MacVerify => MACS,
        Verb::ClearKeyImportMultiple => CLEAR_IMPORTS,
        Verb::PkaKeyGenerate => PKA_OUTPUTS,
        Verb::PkaEncrypt => PKA_ENCRYPT,
        Verb::PkaDecrypt => PKA_DECRYPT,
        Verb::DigitalSignatureGenerate => SIGNATURES,
        Verb::SymmetricKeyExport => EXPORTS,
        Verb::SymmetricKeyImport => IMPORTS,
        _ => &[],
    }
}

/// The points that verbs of this table ask by themselves, without a keyword.
pub fn asked_by(verb: Verb) -> &'static [Point] {
    match verb {
        Verb::KeyGenerate => {
            &[Point::KeyGenerateOne, Point::KeyGenerateSet, Point::KeyGenerateSingleR, Point::SingleLengthDes]
        }
        Verb::ClearKeyImport | Verb::ClearKeyImportMultiple => &[Point::SingleLengthDes],
        Verb::PkaKeyGenerate => &[Point::ShortRsa],
        _ => &[],
    }
}

macro_rules! rows {
    ($($name:ident { $([$($with:literal),*] - [$($without:literal),*] $point:ident;)* })*) => {
        $(const $name: &[Row] = &[$(Row {
            with: &[$(word($with)),*],
            without: &[$(word($without)),*],
            point: Point::$point,
        }),*];)*
    };
}

rows! {
    HASHES {
        ["MD5"] - [] HashMd5;
        ["SHA-1"] - [] HashSha1;
        ["SHA-224"] - [] HashSha2;
        ["SHA-256"] - [] HashSha2;
        ["SHA-384"] - [] HashSha2;
        ["SHA-512"] - [] HashSha2;
        ["SHA3-224"] - [] HashSha3_224;
        ["SHA3-256"] - [] HashSha3_256;
        ["SHA3-384"] - [] HashSha3_384;
        ["SHA3-512"] - [] HashSha3_512;
    }
    CIPHERS {
        ["X9.23"] - [] CipherX923;
        ["CUSP"] - [] CipherCusp;
        ["IPS"] - [] CipherIps;
    }
    AES_ENCIPHER {
        ["GCM"] - [] EncipherGcm;
        ["ECB"] - [] CipherEcb;
        [] - ["KEYIDENT"] CipherClearKey;
    }
    AES_DECIPHER {
        ["GCM"] - [] DecipherGcm;
        ["ECB"] - [] CipherEcb;
        [] - ["KEYIDENT"] CipherClearKey;
    }
    MACS {
        [] - ["X9.19OPT", "TDES-MAC", "EMVMAC", "EMVMACD"] MacX99;
        ["X9.19OPT"] - [] MacX919;
        ["TDES-MAC"] - [] MacTdes;
        ["EMVMAC"] - [] MacEmv;
        ["EMVMACD"] - [] MacEmvDouble;
    }
    CLEAR_IMPORTS {
        [] - ["AES"] ClearKeyImport;
        ["AES"] - [] ClearKeyImportAes;
    }
    PKA_OUTPUTS {
        ["CLEAR"] - [] PkaKeyGenerateClear;
    }
    PKA_ENCRYPT {
        ["PKCS-1.2"] - [] PkaEncryptPkcs12;
        ["ZERO-PAD"] - [] PkaEncryptZeroPad;
        ["MRP"] - [] PkaEncryptMrp;
        ["PKCSOAEP"] - [] PkaEncryptOaep;
        ["PKOAEP2"] - [] PkaEncryptOaep2;
    }
    PKA_DECRYPT {
        ["PKCS-1.2"] - [] PkaDecryptPkcs12;
        ["ZERO-PAD"] - [] PkaDecryptZeroPad;
        ["PKCSOAEP"] - [] PkaDecryptOaep;
        ["PKOAEP2"] - [] PkaDecryptOaep;
    }
    SIGNATURES {
        ["PKCS-1.0"] - [] SignPkcs10;
        ["PKCS-1.1"] - [] SignPkcs11;
        ["ZERO-PAD"] - [] SignZeroPad;
        ["X9.31"] - [] SignX931;
        ["PKCS-PSS"] - [] SignPss;
    }
    EXPORTS {
        ["PKCS-1.2"] - ["AES"] ExportDes;
        ["PKCSOAEP"] - ["AES"] ExportDes;
        ["ZERO-PAD"] - ["AES"] ExportDesZeroPad;
        ["PKCS-1.2", "AES"] - [] ExportAes;
        ["PKCSOAEP", "AES"] - [] ExportAes;
        ["ZERO-PAD", "AES"] - [] ExportAesZeroPad;
    }
    IMPORTS {
        ["PKCS-1.2"] - ["AES"] ImportDes;
        ["PKCSOAEP"] - ["AES"] ImportDes;
        ["ZERO-PAD"] - ["AES"] ImportDesZeroPad;
        ["PKCS-1.2", "AES"] - [] ImportAes;
        ["PKCSOAEP", "AES"] - [] ImportAes;
        ["ZERO-PAD", "AES"] - [] ImportAesZeroPad;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(verb: Verb, words: &[&str]) -> Vec<Point> {
        let words: Vec<_> = words.iter().map(|text| word(text).to_be_bytes()).collect();
        of(verb).iter().filter(|row| row.applies(&words)).map(|row| row.point).collect()
    }

    #[test]
    fn defaults_are_asked_like_the_keywords_that_name_them() {
        assert_eq!(asked(Verb::MacGenerate, &[]), [Point::MacX99]);
        assert_eq!(asked(Verb::MacVerify, &["X9.9-1", "FIRST"]), [Point::MacX99]);
        assert_eq!(asked(Verb::MacVerify, &["MACLEN8", "TDES-MAC"]), [Point::MacTdes]);
        assert_eq!(asked(Verb::ClearKeyImportMultiple, &[]), [Point::ClearKeyImport]);
        assert_eq!(asked(Verb::ClearKeyImportMultiple, &["AES"]), [Point::ClearKeyImportAes]);
        assert_eq!(asked(Verb::SymmetricAlgorithmEncipher, &["AES"]), [Point::CipherClearKey]);
        assert_eq!(
            asked(Verb::SymmetricAlgorithmEncipher, &["AES", "KEYIDENT", "GCM"]),
            [Point::EncipherGcm]
        );
    }

    #[test]
    fn algorithm_and_format_are_asked_together() {
        assert_eq!(asked(Verb::SymmetricKeyExport, &["PKCS-1.2"]), [Point::ExportDes]);
        assert_eq!(asked(Verb::SymmetricKeyExport, &["PKCSOAEP", "DES"]), [Point::ExportDes]);
        assert_eq!(asked(Verb::SymmetricKeyImport, &["ZERO-PAD", "AES"]), [Point::ImportAesZeroPad]);
        assert_eq!(asked(Verb::SymmetricKeyImport, &["AES"]), []);
    }

    #[test]
    fn contradicting_keywords_ask_for_each() {
        let both = [Point::MacX919, Point::MacEmv];
        assert_eq!(asked(Verb::MacGenerate, &["EMVMAC", "X9.19OPT"]), both);
    }
}
