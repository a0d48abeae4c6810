//! Points of keywords: the points that a rule array is asked for beside its verb's own.
//!
//! A row applies to a rule array that has every keyword of `with` and none of `without`. A verb's
//! behaviour without any keyword of a group has a row that lacks them all. If several rows apply,
//! each is asked.

use super::{Point, PointSet};
use crate::bounds::KEYWORD_BYTES;
use crate::parameters::Verb;

/// One row: keywords, and the point that they ask for.
#[derive(Clone, Copy, Debug)]
pub struct KeywordPoint {
    /// Keywords that the rule array must have.
    pub with: &'static [u64],
    /// Keywords that the rule array must not have.
    pub without: &'static [u64],
    /// The point that is asked then.
    pub point: Point,
    /// The [`mark`]s of all keywords in `with`.
    marks: u64,
}

impl KeywordPoint {
    /// Whether the row applies to a rule array.
    #[inline]
    pub fn applies(&self, given: &[[u8; KEYWORD_BYTES]]) -> bool {
        let has = |word: &u64| given.iter().any(|given| u64::from_be_bytes(*given) == *word);
        self.with.iter().all(has) && !self.without.iter().any(has)
    }
}

/// A keyword of 1 to 8 characters as a number: its blank-padded bytes, the first one highest.
///
/// # Panics
/// If the text is empty or longer.
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

/// The rows of a verb; empty if it has no keywords, or its keywords have no points.
pub fn of(verb: Verb) -> &'static [KeywordPoint] {
    match verb {
        Verb::OneWayHash => HASHES,
        Verb::Encipher | Verb::Decipher => CIPHERS,
        Verb::SymmetricAlgorithmEncipher => AES_ENCIPHER,
        Verb::SymmetricAlgorithmDecipher => AES_DECIPHER,
        Verb::MacGenerate | Verb::MacVerify => MACS,
        Verb::EncryptedPinTranslate => PIN_TRANSLATIONS,
        Verb::EncryptedPinTranslate2 => PIN_TRANSLATIONS_2,
        Verb::EncryptedPinVerify => PIN_VERIFICATIONS,
        Verb::EncryptedPinVerify2 => PIN_VERIFICATIONS_2,
        Verb::FormatPreservingEncipher | Verb::FormatPreservingDecipher => FORMATS,
        Verb::FormatPreservingTranslate => FORMAT_TRANSLATIONS,
        Verb::ClearPinGenerate => CLEAR_PINS,
        Verb::ClearPinGenerateAlternate => ALTERNATE_PINS,
        Verb::EncryptedPinGenerate => ENCRYPTED_PINS,
        Verb::DiversifiedKeyGenerate => DIVERSIFICATIONS,
        Verb::DiversifiedKeyGenerate2 => DIVERSIFICATIONS_2,
        Verb::UniqueKeyDerive => UNIQUE_KEYS,
        Verb::EmvTransaction => EMV_TRANSACTIONS,
        Verb::Tr31KeyExport => KEY_BLOCKS_OUT,
        Verb::Tr31KeyImport => KEY_BLOCKS_IN,
        Verb::CvvKeyCombine => COMBINED,
        Verb::TransactionValidation => SECURITY_CODES,
        Verb::HmacGenerate => HMAC_GENERATE,
        Verb::HmacVerify => HMAC_VERIFY,
        Verb::MacGenerate2 => MAC_GENERATE_2,
        Verb::MacVerify2 => MAC_VERIFY_2,
        Verb::ClearKeyImportMultiple => CLEAR_IMPORTS,
        Verb::KeyPartImport => KEY_PARTS,
        Verb::KeyGenerate2 => KEY_FORMS,
        Verb::KeyPartImport2 => KEY_PARTS_2,
        Verb::KeyTest2 => KEY_TESTS,
        Verb::RestrictKeyAttribute => RESTRICTIONS,
        Verb::KeyTranslate2 => TRANSLATIONS,
        Verb::PkaKeyGenerate => PKA_OUTPUTS,
        Verb::PkaKeyTranslate => PRIVATE_TRANSLATIONS,
        Verb::PkaEncrypt => PKA_ENCRYPT,
        Verb::PkaDecrypt => PKA_DECRYPT,
        Verb::DigitalSignatureGenerate => SIGNATURES,
        Verb::SymmetricKeyExport => EXPORTS,
        Verb::SymmetricKeyImport => IMPORTS,
        Verb::EcDiffieHellman => AGREEMENTS,
        Verb::SymmetricKeyImport2 => IMPORTS_2,
        Verb::SymmetricKeyGenerate => GENERATED,
        _ => &[],
    }
}

/// The first point that a rule array asks for and that a role does not permit.
#[inline]
pub fn forbidden(verb: Verb, given: &[[u8; KEYWORD_BYTES]], points: &PointSet) -> Option<Point> {
    // The role permits most rows, and the marks rule out most of the others: few rows are compared
    // with the keywords.
    let marks = given.iter().fold(0, |marks, given| marks | mark(u64::from_be_bytes(*given)));
    let mut rows = of(verb).iter().filter(|row| row.marks & !marks == 0 && !points.permits(row.point));
    rows.find(|row| row.applies(given)).map(|row| row.point)
}

/// A 64-bit word with one bit set, which stands for this keyword and some others.
const fn mark(word: u64) -> u64 {
    // The odd number nearest to 2^64 over the golden ratio; the highest six bits of the product
    // depend on the whole word.
    1 << (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58)
}

const fn marks(words: &[u64]) -> u64 {
    let (mut all, mut at) = (0, 0);
    while at < words.len() {
        all |= mark(words[at]);
        at += 1;
    }
    all
}

macro_rules! rows {
    ($($name:ident { $([$($with:literal),*] - [$($without:literal),*] $point:ident;)* })*) => {
        $(const $name: &[KeywordPoint] = &[$(KeywordPoint {
            with: &[$(word($with)),*],
            without: &[$(word($without)),*],
            point: Point::$point,
            marks: marks(&[$(word($with)),*]),
        }),*];)*
    };
}

rows! {
    AGREEMENTS {
        ["DERIV02"] - [] AgreementDerive2;
        ["PASSTHRU"] - [] AgreementPassThrough;
    }
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
        ["RPMD-160"] - [] HashRipemd160;
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
        [] - ["X9.19OPT", "TDES-MAC", "EMVMAC", "EMVMACD", "CMAC"] MacX99;
        ["X9.19OPT"] - [] MacX919;
        ["TDES-MAC"] - [] MacTdes;
        ["EMVMAC"] - [] MacEmv;
        ["EMVMACD"] - [] MacEmvDouble;
        ["CMAC"] - [] MacCmac;
    }
    PIN_TRANSLATIONS {
        ["TRANSLAT"] - [] PinTranslate;
        ["REFORMAT"] - [] PinReformat;
        ["DUKPT-IP"] - [] PinDukpt;
        ["DUKPT-OP"] - [] PinDukpt;
        ["DUKPT-BH"] - [] PinDukpt;
        ["ADUKPTIP"] - [] PinDukpt;
        ["ADUKPTOP"] - [] PinDukpt;
        ["ADUKPTBH"] - [] PinDukpt;
    }
    PIN_TRANSLATIONS_2 {
        ["DUKPT-IP"] - [] PinDukpt;
        ["DUKPT-OP"] - [] PinDukpt;
        ["DUKPT-BH"] - [] PinDukpt;
        ["ADUKPTIP"] - [] PinDukpt;
        ["ADUKPTOP"] - [] PinDukpt;
        ["ADUKPTBH"] - [] PinDukpt;
        ["PAN-CHG"] - [] PanChangeAuthenticated;
    }
    PIN_VERIFICATIONS_2 {
        ["REFPIN"] - [] PinVerifyReference;
        ["TRUNCPIN"] - [] PinVerifyTruncated;
        ["DUKPT"] - [] PinDukpt;
        ["ADUKPT"] - [] PinDukpt;
    }
    FORMATS {
        ["FF1"] - [] FormatFf1;
    }
    FORMAT_TRANSLATIONS {
        ["ICFF1"] - [] FormatFf1;
        ["OCFF1"] - [] FormatFf1;
    }
    PIN_VERIFICATIONS {
        ["IBM-PIN"] - [] PinVerifyIbm;
        ["IBM-PINO"] - [] PinVerifyIbm;
        ["GBP-PIN"] - [] PinVerifyPool;
        ["GBP-PINO"] - [] PinVerifyPool;
        ["VISA-PVV"] - [] PinVerifyVisa;
        ["VISAPVV4"] - [] PinVerifyVisa;
        ["INBK-PIN"] - [] PinVerifyInterbank;
        ["DUKPT-IP"] - [] PinDukpt;
        ["ADUKPTIP"] - [] PinDukpt;
    }
    CLEAR_PINS {
        ["IBM-PIN"] - [] PinGenerateIbm;
        ["IBM-PINO"] - [] PinGenerateIbm;
        ["GBP-PIN"] - [] PinGeneratePool;
        ["GBP-PINO"] - [] PinGeneratePool;
        ["VISA-PVV"] - [] PinGenerateVisa;
        ["INBK-PIN"] - [] PinGenerateInterbank;
    }
    ALTERNATE_PINS {
        ["IBM-PINO"] - [] PinAlternateIbm;
        ["VISA-PVV"] - [] PinAlternateVisa;
    }
    DIVERSIFICATIONS {
        ["CLR8-ENC"] - [] DiversifySingle;
        ["TDES-ENC"] - [] DiversifyEncipher;
        ["TDES-CBC"] - [] DiversifyChained;
        ["TDES-DEC"] - [] DiversifyDecipher;
        ["TDES-XOR"] - [] DiversifyCounter;
        ["TDESEMV2"] - [] DiversifyTree;
        ["TDESEMV4"] - [] DiversifyTree;
        ["SESS-XOR"] - [] DiversifyDifference;
    }
    DIVERSIFICATIONS_2 {
        ["MK-OPTC"] - [] DiversifyOptionC;
        ["SESS-ENC"] - [] DiversifySession;
    }
    EMV_TRANSACTIONS {
        ["VERARQC"] - [] EmvVerify;
        ["VERGEN"] - [] EmvBoth;
        ["GENARPC"] - [] EmvRespond;
    }
    UNIQUE_KEYS {
        ["K3IPEK"] - [] UniqueKeyInitial;
        ["PIN-DATA"] - [] UniqueKeyPinAsData;
        ["WRAP-ECB"] - [] UniqueKeyWrapping;
        ["WRAP-ENH"] - [] UniqueKeyWrapping;
    }
    ENCRYPTED_PINS {
        ["IBM-PIN"] - [] PinEncryptedIbm;
        ["GBP-PIN"] - [] PinEncryptedPool;
        ["INBK-PIN"] - [] PinEncryptedInterbank;
    }
    KEY_BLOCKS_OUT {
        ["VARXOR-A"] - [] Tr31ExportA;
        ["VARDRV-B"] - [] Tr31ExportB;
        ["VARXOR-C"] - [] Tr31ExportC;
        ["VARDRV-D"] - [] Tr31ExportD;
    }
    KEY_BLOCKS_IN {
        ["CVK-CSC"] - [] Tr31SecurityCode;
        ["WRAP-ECB"] - [] Tr31ImportWrapping;
        ["WRAP-ENH"] - [] Tr31ImportWrapping;
    }
    SECURITY_CODES {
        ["GENERATE"] - [] SecurityCodeGenerate;
        ["CSC-3"] - ["GENERATE"] SecurityCodeVerify3;
        ["CSC-4"] - ["GENERATE"] SecurityCodeVerify4;
        ["CSC-5"] - ["GENERATE"] SecurityCodeVerify5;
        ["CSC-345"] - ["GENERATE"] SecurityCodeVerify3;
        ["CSC-345"] - ["GENERATE"] SecurityCodeVerify4;
        ["CSC-345"] - ["GENERATE"] SecurityCodeVerify5;
        ["CSC-3"] - [] SecurityCodeUnconfirmed;
        ["CSC-4"] - [] SecurityCodeUnconfirmed;
        ["CSC-345"] - [] SecurityCodeUnconfirmed;
    }
    COMBINED {
        ["WRAP-ECB"] - [] CombinedWrapping;
        ["WRAP-ENH"] - [] CombinedWrapping;
    }
    HMAC_GENERATE {
        ["SHA-1"] - [] HmacGenerateSha1;
        ["SHA-224"] - [] HmacGenerateSha224;
        ["SHA-256"] - [] HmacGenerateSha256;
        ["SHA-384"] - [] HmacGenerateSha384;
        ["SHA-512"] - [] HmacGenerateSha512;
    }
    HMAC_VERIFY {
        ["SHA-1"] - [] HmacVerifySha1;
        ["SHA-224"] - [] HmacVerifySha224;
        ["SHA-256"] - [] HmacVerifySha256;
        ["SHA-384"] - [] HmacVerifySha384;
        ["SHA-512"] - [] HmacVerifySha512;
    }
    MAC_GENERATE_2 {
        ["AES"] - [] MacGenerate2Cmac;
        ["SHA-1"] - [] HmacGenerateSha1;
        ["SHA-224"] - [] HmacGenerateSha224;
        ["SHA-256"] - [] HmacGenerateSha256;
        ["SHA-384"] - [] HmacGenerateSha384;
        ["SHA-512"] - [] HmacGenerateSha512;
    }
    MAC_VERIFY_2 {
        ["AES"] - [] MacVerify2Cmac;
        ["SHA-1"] - [] HmacVerifySha1;
        ["SHA-224"] - [] HmacVerifySha224;
        ["SHA-256"] - [] HmacVerifySha256;
        ["SHA-384"] - [] HmacVerifySha384;
        ["SHA-512"] - [] HmacVerifySha512;
    }
    CLEAR_IMPORTS {
        [] - ["AES"] ClearKeyImport;
        ["AES"] - [] ClearKeyImportAes;
    }
    KEY_PARTS {
        ["FIRST"] - [] KeyPartFirst;
        ["MIDDLE"] - [] KeyPartCombine;
        ["LAST"] - [] KeyPartCombine;
        ["ADD-PART"] - [] KeyPartAdd;
        ["COMPLETE"] - [] KeyPartComplete;
    }
    KEY_FORMS {
        ["OP"] - [] KeyGenerate2One;
        ["IM"] - [] KeyGenerate2One;
        ["EX"] - [] KeyGenerate2One;
        ["OPOP"] - [] KeyGenerate2Set;
        ["OPIM"] - [] KeyGenerate2Set;
        ["OPEX"] - [] KeyGenerate2Set;
        ["IMIM"] - [] KeyGenerate2Set;
        ["IMEX"] - [] KeyGenerate2Set;
        ["EXEX"] - [] KeyGenerate2Set;
        [] - ["OP", "OPOP"] KeyGenerate2Transported;
    }
    KEY_PARTS_2 {
        ["FIRST"] - ["MIN2PART", "MIN1PART"] KeyPartFirst3;
        ["FIRST", "MIN2PART"] - [] KeyPartFirst2;
        ["FIRST", "MIN1PART"] - [] KeyPartFirst1;
        ["COMPLETE"] - [] KeyPartComplete2;
    }
    KEY_TESTS {
        ["AES", "ENC-ZERO"] - [] KeyTest2AesZero;
        ["AES", "CMACZERO"] - [] KeyTest2AesCmac;
        ["DES", "CMACZERO"] - [] KeyTest2DesCmac;
    }
    RESTRICTIONS {
        [] - ["DES"] RestrictVariable;
        ["DES"] - [] RestrictDes;
    }
    TRANSLATIONS {
        [] - ["REFORMAT"] KeyTranslate2Translate;
        ["REFORMAT"] - [] KeyTranslate2Reformat;
    }
    PRIVATE_TRANSLATIONS {
        ["INTDWAKW"] - [] PkaKeyTranslateInternal;
        ["EXTDWAKW"] - [] PkaKeyTranslateExternal;
    }
    PKA_OUTPUTS {
        ["CLEAR"] - [] PkaKeyGenerateClear;
        ["XPORT"] - [] PkaKeyGenerateTransported;
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
        ["ECDSA"] - [] SignEcdsa;
        ["EDDSA"] - [] SignEddsa;
    }
    EXPORTS {
        ["PKCS-1.2"] - ["AES"] ExportDes;
        ["PKCSOAEP"] - ["AES"] ExportDes;
        ["ZERO-PAD"] - ["AES"] ExportDesZeroPad;
        ["PKCS-1.2", "AES"] - [] ExportAes;
        ["PKCSOAEP", "AES"] - [] ExportAes;
        ["ZERO-PAD", "AES"] - [] ExportAesZeroPad;
        ["AESKW"] - [] ExportAeskw;
        ["PKOAEP2", "AES"] - [] ExportAesOaep2;
        ["PKOAEP2", "HMAC"] - [] ExportHmacOaep2;
        ["CKM-RAKW"] - [] ExportRakw;
    }
    GENERATED {
        ["PKCS-1.2"] - ["AES"] GenerateDes;
        ["PKCSOAEP"] - ["AES"] GenerateDes;
        ["ZERO-PAD"] - ["AES"] GenerateDesZeroPad;
        ["PKCS-1.2", "AES"] - [] GenerateAes;
        ["PKCSOAEP", "AES"] - [] GenerateAes;
        ["ZERO-PAD", "AES"] - [] GenerateAesZeroPad;
        ["EX"] - [] KeyGenerateTransported;
        ["IM"] - [] KeyGenerateTransported;
    }
    IMPORTS {
        ["PKCS-1.2"] - ["AES"] ImportDes;
        ["PKCSOAEP"] - ["AES"] ImportDes;
        ["ZERO-PAD"] - ["AES"] ImportDesZeroPad;
        ["PKCS-1.2", "AES"] - [] ImportAes;
        ["PKCSOAEP", "AES"] - [] ImportAes;
        ["ZERO-PAD", "AES"] - [] ImportAesZeroPad;
    }
    IMPORTS_2 {
        ["AESKW"] - [] Import2Aeskw;
        ["PKOAEP2", "AES"] - [] Import2AesOaep2;
        ["PKOAEP2", "HMAC"] - [] Import2HmacOaep2;
        ["CKM-RAKW"] - [] Import2Rakw;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::TABLE;

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
    fn what_is_forbidden_is_what_a_row_that_applies_asks_for() {
        for entry in TABLE {
            let rows = of(entry.verb);
            let mut words =
                rows.iter().flat_map(|row| row.with.iter().chain(row.without)).collect::<Vec<_>>();
            let other = word("ANOTHER");
            words.push(&other);
            let sets = rows.iter().map(|row| {
                let mut points = PointSet::EVERYTHING;
                points.deny(row.point);
                points
            });
            for points in sets.chain([PointSet::EVERYTHING, PointSet::NOTHING]) {
                for (one, two) in words.iter().flat_map(|one| words.iter().map(move |two| (one, two))) {
                    let given = [one.to_be_bytes(), two.to_be_bytes()];
                    let asked = rows.iter().filter(|row| row.applies(&given)).map(|row| row.point);
                    let first = { asked }.find(|point| !points.permits(*point));
                    assert_eq!(forbidden(entry.verb, &given, &points), first, "{}", entry.name);
                }
            }
        }
    }

    #[test]
    fn contradicting_keywords_ask_for_each() {
        let both = [Point::MacX919, Point::MacEmv];
        assert_eq!(asked(Verb::MacGenerate, &["EMVMAC", "X9.19OPT"]), both);
        let words = ["EMVMAC", "X9.19OPT"].map(|text| word(text).to_be_bytes());
        for point in both {
            let mut points = PointSet::EVERYTHING;
            points.deny(point);
            assert_eq!(forbidden(Verb::MacGenerate, &words, &points), Some(point));
        }
        assert_eq!(forbidden(Verb::MacGenerate, &words, &PointSet::EVERYTHING), None);
    }
}
