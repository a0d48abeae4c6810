//! The table of all points.
//!
//! The order is that of the bits in a [`super::PointSet`]: only daemon and cards of one version
//! share it. Every point is asked somewhere: points of verbs by `wire::verb`, points of keywords by
//! [`super::keywords`] or in `cca`, the rest by the card's admission or the daemon.

use super::{Group, PointEffect, PointEntry};

macro_rules! points {
    ($($group:ident {
        $($point:ident $name:literal = $number:literal $effect:ident $text:literal;)*
    })*) => {
        /// An access-control point.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Point {
            $($(#[doc = $text] $point,)*)*
        }

        /// Every point, in the order of [`Point`].
        pub static POINTS: &[PointEntry] = ALL;

        pub(crate) const ALL: &[PointEntry] = &[$($(PointEntry {
            point: Point::$point,
            number: $number,
            name: $name,
            effect: PointEffect::$effect,
            group: Group::$group,
            text: $text,
        },)*)*];
    };
}

points! {
    Public {
        Null "null" = 0xF001 Permits "The verb that does nothing";
        KeyTokenBuild "key-token-build" = 0xF002 Permits "Build DES and AES tokens";
        ControlVectorGenerate "control-vector-generate" = 0xF033 Permits "Make control vectors";
        KeyTokenParse "key-token-parse" = 0xF0A0 Permits "Tell what DES tokens say";
        KeyTokenParse2 "key-token-parse2" = 0xF0A1 Permits "Tell what tokens of variable length say";
        KeyTokenBuild2 "key-token-build2" = 0xF038 Permits "Build tokens of variable length";
        PkaKeyTokenBuild "pka-key-token-build" = 0xF003 Permits "Build PKA tokens";
        PkaPublicKeyExtract "pka-public-key-extract" = 0xF004 Permits "Take the public key out of a PKA token";
        KeyTest "key-test" = 0x001D Permits "Compute or verify the verification pattern of a key";
        KeyTestExtended "key-test-extended" = 0xF034 Permits "Compute or verify the verification pattern of a key under a key-encrypting key";
        KeyTest2 "key-test2" = 0xF050 Permits "Compute or verify the verification pattern of a key in a token of any form, by the methods that are permitted";
        KeyTest2AesZero "key-test2-aes-enc-zero" = 0x0021 Permits "Patterns of AES keys by ENC-ZERO: what they make of a block of zeros, in part";
        KeyTest2AesCmac "key-test2-aes-cmaczero" = 0x0022 Permits "Patterns of AES keys by CMACZERO: their CMAC of a block of zeros, in part";
        KeyTest2DesCmac "key-test2-des-cmaczero" = 0x0023 Permits "Patterns of DES keys by CMACZERO: their CMAC of a block of zeros, in part";
        KeyTokenChange "key-token-change" = 0x0090 Permits "Put DES and AES tokens under the current master key";
        PkaKeyTokenChange "pka-key-token-change" = 0x0102 Permits "Put RSA and elliptic-curve tokens under the current master key";
        KeyTokenChange2 "key-token-change2" = 0x00F1 Permits "Put tokens of variable length under the current master key";
        CodeConversion "code-conversion" = 0xF072 Permits "Convert texts between character sets";
        OneWayHash "one-way-hash" = 0xF005 Permits "Hash, by the methods that are permitted";
        RandomNumberGenerate "random-number-generate" = 0xF006 Permits "8 random bytes";
        RandomNumberGenerateLong "random-number-generate-long" = 0xF007 Permits "Random bytes";
        CryptographicFacilityQuery "cryptographic-facility-query" = 0xF090 Permits "Ask for the states of master-key registers, and for cards and domains";
        AccessControlMaintenance "access-control-maintenance" = 0xF091 Permits "Ask for the role that is in force";
        DigitalSignatureVerify "digital-signature-verify" = 0x0101 Permits "Verify signatures";
        Tr31OptionalDataBuild "tr31-optional-data-build" = 0xF0E0 Permits "Make optional blocks of key blocks";
        Tr31KeyTokenParse "tr31-key-token-parse" = 0xF0E1 Permits "Tell what headers of key blocks say";
        Tr31OptionalDataRead "tr31-optional-data-read" = 0xF0E2 Permits "Tell what optional blocks of key blocks say";
    }
    Hash {
        HashSha1 "one-way-hash-sha-1" = 0x0107 Permits "Hash by SHA-1";
        HashSha2 "one-way-hash-sha-2" = 0xF008 Permits "Hash by SHA-224 to SHA-512";
        HashSha3_224 "one-way-hash-sha3-224" = 0x03BD Permits "Hash by SHA3-224";
        HashSha3_256 "one-way-hash-sha3-256" = 0x03BE Permits "Hash by SHA3-256";
        HashSha3_384 "one-way-hash-sha3-384" = 0x03BF Permits "Hash by SHA3-384";
        HashSha3_512 "one-way-hash-sha3-512" = 0x03C0 Permits "Hash by SHA3-512";
        HashRipemd160 "one-way-hash-rpmd-160" = 0xF087 Permits "Hash by RIPEMD-160";
        MdcGenerate "mdc-generate" = 0x008A Permits "Hash by MDC-2 and MDC-4: 128 bits, of DES";
    }
    Cipher {
        Encipher "encipher" = 0x000E Permits "Encipher under DES keys";
        Decipher "decipher" = 0x000F Permits "Decipher under DES keys";
        CipherX923 "cipher-x9.23" = 0xF009 Permits "Padding by X9.23 under DES keys";
        CipherCusp "cipher-cusp" = 0xF00A Permits "Chaining by CUSP: a call also runs the cipher the other way";
        CipherIps "cipher-ips" = 0xF00B Permits "Chaining by IPS: a call also runs the cipher the other way";
        SymmetricAlgorithmEncipher "symmetric-algorithm-encipher" = 0x012A Permits "Encipher under AES keys";
        SymmetricAlgorithmDecipher "symmetric-algorithm-decipher" = 0x012B Permits "Decipher under AES keys";
        EncipherGcm "symmetric-algorithm-encipher-gcm" = 0x01CD Permits "Encipher by AES in Galois/Counter mode";
        DecipherGcm "symmetric-algorithm-decipher-gcm" = 0x01CE Permits "Decipher by AES in Galois/Counter mode";
        CipherEcb "symmetric-algorithm-ecb" = 0xF00C Permits "AES in electronic codebook mode: shows equal blocks";
        CipherTextTranslate2 "cipher-text-translate2" = 0x01C0 Permits "Put texts from under one key under another";
        TranslateDataKeys "cipher-text-translate-data-keys" = 0x01C4 Forbids "Translate between keys that also encipher and decipher texts";
        CryptographicVariableEncipher "cryptographic-variable-encipher" = 0x00DA Permits "Encipher under CVARENC keys";
        FormatPreservingEncipher "format-preserving-encipher" = 0x0399 Permits "Encipher texts into texts of the same characters, by the methods that are permitted";
        FormatPreservingDecipher "format-preserving-decipher" = 0x039A Permits "Decipher such texts";
        FormatPreservingTranslate "format-preserving-translate" = 0x039B Permits "Put such texts from under one key under another";
        FormatFf1 "format-preserving-ff1" = 0x0396 Permits "FF1 of SP 800-38G";
        CipherClearKey "symmetric-algorithm-clear-key" = 0xF00D Permits "AES keys that are clear in the request";
    }
    Mac {
        MacGenerate "mac-generate" = 0x0010 Permits "Make MACs";
        MacVerify "mac-verify" = 0x0011 Permits "Verify MACs";
        MacX99 "mac-x9.9" = 0xF00E Permits "MACs by X9.9: under keys of single length";
        MacX919 "mac-x9.19" = 0xF00F Permits "MACs by X9.19";
        MacTdes "mac-tdes" = 0xF010 Permits "MACs by TDES-CBC";
        MacEmv "mac-emv" = 0xF011 Permits "MACs by EMV under keys of single length";
        MacEmvDouble "mac-emv-double" = 0xF012 Permits "MACs by EMV under keys of double length";
        MacCmac "mac-cmac" = 0xF088 Permits "CMACs by TDES";
        MacGenerate2 "mac-generate2" = 0xF070 Permits "Make CMACs and HMACs, by the methods that are permitted";
        MacGenerate2Cmac "mac-generate2-cmac" = 0x0336 Permits "Make CMACs under AES keys";
        MacVerify2 "mac-verify2" = 0xF071 Permits "Verify CMACs and HMACs, by the methods that are permitted";
        MacVerify2Cmac "mac-verify2-cmac" = 0x0337 Permits "Verify CMACs under AES keys";
        HmacGenerate "hmac-generate" = 0xF03A Permits "Make HMACs, with the hashes that are permitted";
        HmacGenerateSha1 "hmac-generate-sha-1" = 0x00E4 Permits "Make HMACs with SHA-1";
        HmacGenerateSha224 "hmac-generate-sha-224" = 0x00E5 Permits "Make HMACs with SHA-224";
        HmacGenerateSha256 "hmac-generate-sha-256" = 0x00E6 Permits "Make HMACs with SHA-256";
        HmacGenerateSha384 "hmac-generate-sha-384" = 0x00E7 Permits "Make HMACs with SHA-384";
        HmacGenerateSha512 "hmac-generate-sha-512" = 0x00E8 Permits "Make HMACs with SHA-512";
        HmacVerify "hmac-verify" = 0xF03B Permits "Verify HMACs, with the hashes that are permitted";
        HmacVerifySha1 "hmac-verify-sha-1" = 0x00F7 Permits "Verify HMACs with SHA-1";
        HmacVerifySha224 "hmac-verify-sha-224" = 0x00F8 Permits "Verify HMACs with SHA-224";
        HmacVerifySha256 "hmac-verify-sha-256" = 0x00F9 Permits "Verify HMACs with SHA-256";
        HmacVerifySha384 "hmac-verify-sha-384" = 0x00FA Permits "Verify HMACs with SHA-384";
        MacVerifyShort "mac-verify-short" = 0xF0EB Permits "Verify MACs of four bytes: 2^32 tries find that of any text, and a card has them in an hour";
        HmacVerifySha512 "hmac-verify-sha-512" = 0x00FB Permits "Verify HMACs with SHA-512";
    }
    Pin {
        EncryptedPinTranslate "encrypted-pin-translate" = 0xF0B0 Permits "Put PIN blocks under another key, as is permitted";
        PinTranslate "encrypted-pin-translate-translate" = 0x00B3 Permits "Put PIN blocks as they are under another key";
        PinReformat "encrypted-pin-translate-reformat" = 0x00B7 Permits "Put PINs into blocks of another format";
        PinBound "pin-reformat-bound" = 0xF0EA Permits "Reformat PIN blocks of ISO-3, which are bound to no PAN, into blocks that are, in a role that verifies PINs: ten guesses of one block for each of many PANs";
        PinDukpt "dukpt-pin" = 0x00E1 Permits "PIN blocks under keys that are derived for each transaction";
        EncryptedPinVerify "encrypted-pin-verify" = 0xF0B1 Permits "Verify PINs, by the methods that are permitted";
        PinVerifyIbm "encrypted-pin-verify-3624" = 0x00AB Permits "Verify PINs and offsets of IBM 3624";
        PinVerifyPool "encrypted-pin-verify-gbp" = 0x00AC Permits "Verify PINs and offsets of the German banking pool";
        PinVerifyVisa "encrypted-pin-verify-visa-pvv" = 0x00AD Permits "Verify PINs by VISA PVV";
        PinVerifyInterbank "encrypted-pin-verify-interbank" = 0x00AE Permits "Verify Interbank PINs";
        CvvVerify "cvv-verify" = 0x00E0 Permits "Verify card verification values";
        TransactionValidation "transaction-validation" = 0xF0E6 Permits "Make and verify card security codes, as is permitted";
        SecurityCodeVerify3 "transaction-validation-verify-csc-3" = 0x0292 Permits "Verify card security codes of three digits";
        SecurityCodeVerify4 "transaction-validation-verify-csc-4" = 0x0293 Permits "Verify card security codes of four digits";
        SecurityCodeVerify5 "transaction-validation-verify-csc-5" = 0x0294 Permits "Verify card security codes of five digits";
        EncryptedPinTranslate2 "encrypted-pin-translate2" = 0xF0DC Permits "Put PIN blocks under another key of DES or AES, as is permitted";
        EncryptedPinVerify2 "encrypted-pin-verify2" = 0xF0DE Permits "Compare PINs in blocks, as is permitted";
        PinVerifyReference "encrypted-pin-verify2-refpin" = 0x03B0 Permits "Compare PINs in blocks whole";
        PinVerifyTruncated "encrypted-pin-verify2-truncpin" = 0x03B1 Permits "Compare the last digits of PINs in blocks";
        PinReformat2 "encrypted-pin-translate2-reformat" = 0x0391 Permits "Put PINs into blocks of another format, to or from blocks of ISO-4";
        PinTranslate2 "encrypted-pin-translate2-translate" = 0x0392 Permits "Put PIN blocks of ISO-4 as they are under another key";
        PanChangeAuthenticated "pin-authenticated-pan-change" = 0x038B Permits "Put PINs of ISO-4 into blocks of another PAN, where a CMAC of both PANs proves the change";
        EmvTransaction "emv-transaction" = 0xF0D0 Permits "Verify request cryptograms of chip cards, and make responses, as is permitted";
        EmvVerify "emv-transaction-verify" = 0xF0D1 Permits "Verify request cryptograms of chip cards";
        EmvBoth "emv-transaction-verify-and-respond" = 0xF0D2 Permits "Verify request cryptograms of chip cards, and make responses to right ones";
    }
    CardIssue {
        ClearPinGenerate "clear-pin-generate" = 0xF0B2 Permits "Make clear PINs, offsets and PVVs, by the methods that are permitted";
        PinGenerateIbm "clear-pin-generate-3624" = 0x00A0 Permits "Make clear PINs and offsets of IBM 3624";
        PinGeneratePool "clear-pin-generate-gbp" = 0xF0B6 Permits "Make clear PINs and offsets of the German banking pool";
        PinGenerateVisa "clear-pin-generate-visa-pvv" = 0xF0B7 Permits "Make VISA PVVs of clear PINs";
        PinGenerateInterbank "clear-pin-generate-interbank" = 0xF0B8 Permits "Make clear Interbank PINs";
        ClearPinGenerateAlternate "clear-pin-generate-alternate" = 0xF0B3 Permits "Make offsets and PVVs of PINs in blocks, by the methods that are permitted";
        PinAlternateIbm "clear-pin-generate-alternate-3624" = 0x00A4 Permits "Make offsets of IBM 3624 of PINs in blocks";
        PinAlternateVisa "clear-pin-generate-alternate-visa" = 0x00BB Permits "Make VISA PVVs of PINs in blocks";
        EncryptedPinGenerate "encrypted-pin-generate" = 0xF0B4 Permits "Make PINs in blocks, by the methods that are permitted";
        PinEncryptedIbm "encrypted-pin-generate-3624" = 0x00B0 Permits "Make PINs of IBM 3624 in blocks";
        PinEncryptedPool "encrypted-pin-generate-gbp" = 0x00B1 Permits "Make PINs of the German banking pool in blocks";
        PinEncryptedInterbank "encrypted-pin-generate-interbank" = 0x00B2 Permits "Make Interbank PINs in blocks";
        RecoverPinFromOffset "recover-pin-from-offset" = 0x02B0 Permits "Put PINs that offsets lead to into blocks";
        CvvGenerate "cvv-generate" = 0x00DF Permits "Make card verification values";
        SecurityCodeGenerate "transaction-validation-generate" = 0x0291 Permits "Make card security codes";
        DiversifiedKeyGenerate "diversified-key-generate" = 0xF0D3 Permits "Derive DES keys from data, by the methods that are permitted";
        DiversifySingle "diversified-key-generate-clr8-enc" = 0x0040 Permits "Derive keys of single length";
        DiversifyEncipher "diversified-key-generate-tdes-enc" = 0x0041 Permits "Derive keys by enciphering data";
        DiversifyChained "diversified-key-generate-tdes-cbc" = 0xF0D4 Permits "Derive keys by enciphering data as a chain";
        DiversifyDecipher "diversified-key-generate-tdes-dec" = 0x0042 Permits "Derive keys by deciphering data";
        DiversifyCounter "diversified-key-generate-tdes-xor" = 0x0045 Permits "Derive keys of sessions from a card's and a transaction counter";
        DiversifyTree "diversified-key-generate-tdesemv" = 0x0046 Permits "Derive keys of sessions by the tree of EMV 2000";
        DiversifiedKeyGenerate2 "diversified-key-generate2" = 0xF0D5 Permits "Derive AES keys from data, by the methods that are permitted";
        DiversifyOptionC "diversified-key-generate2-mk-optc" = 0x02D2 Permits "Derive AES keys of chip cards";
        DiversifySession "diversified-key-generate2-sess-enc" = 0x02CC Permits "Derive AES keys of sessions";
        DeriveIccMk "derive-icc-mk" = 0xF0D6 Permits "Derive master keys of chip cards";
        DeriveIccMkTransported "derive-icc-mk-transported" = 0xF0D7 Permits "Derive master keys of chip cards under EXPORTER keys";
        UniqueKeyDerive "unique-key-derive" = 0x01C8 Permits "Derive keys of transactions by DUKPT";
        UniqueKeyWrapping "unique-key-derive-wrapping" = 0x01CA Permits "Say how these keys are wrapped";
        PinChangeUnblock "pin-change-unblock" = 0xF0DA Permits "Make the data of commands that give chip cards new PINs, from keys that are permitted";
        PinChangeOutbound "pin-change-unblock-opinenc" = 0x00BC Permits "New PINs out of blocks under OPINENC keys";
        PinChangeInbound "pin-change-unblock-ipinenc" = 0x00BD Permits "New PINs out of blocks under IPINENC keys";
        CvvKeyCombine "cvv-key-combine" = 0x0155 Permits "Put two keys of card verification values into one of double length";
        CombinedWrapping "cvv-key-combine-wrapping" = 0x0156 Permits "Say how that key is wrapped";
    }
    Generate {
        KeyGenerate "key-generate" = 0xF013 Permits "Generate DES and AES keys, in the forms that are permitted";
        KeyGenerateOne "key-generate-op" = 0x008E Permits "Generate one key for use here";
        KeyGenerateSet "key-generate-key-set" = 0x008C Permits "Generate a key as two tokens of complementary types";
        KeyGenerateSingleR "key-generate-single-r" = 0x00DB Permits "Generate keys of double length with equal halves";
        KeyGenerateSetExtended "key-generate-key-set-extended" = 0x00D7 Permits "Generate a key for use here as two tokens that undo what the other does to PIN blocks";
        KeyGenerate2 "key-generate2" = 0xF039 Permits "Generate keys in tokens of variable length, in the forms that are permitted";
        KeyGenerate2One "key-generate2-op" = 0x00EA Permits "Generate a key as one token of variable length";
        KeyGenerate2Set "key-generate2-key-set" = 0x00EB Permits "Generate a key as two tokens of variable length";
        KeyGenerate2SetExtended "key-generate2-key-set-extended" = 0x00EC Permits "Generate a key for use here as two tokens of variable length that undo what the other does to PIN blocks";
        PkaKeyGenerate "pka-key-generate" = 0x0103 Permits "Generate RSA and elliptic-curve keys";
    }
    ClearImport {
        ClearKeyImport "clear-key-import" = 0x00C3 Permits "Import clear DES keys";
        ClearKeyImportMultiple "clear-key-import-multiple" = 0xF014 Permits "Import clear keys of all lengths";
        ClearKeyImportAes "clear-key-import-aes" = 0x0129 Permits "Import clear AES keys";
        KeyPartImport "key-part-import" = 0xF035 Permits "Enter DES keys in clear parts, of which each role permits some";
        KeyPartFirst "key-part-import-first" = 0x001B Permits "Enter the first part of a DES key";
        KeyPartCombine "key-part-import-middle-last" = 0x001C Permits "Enter parts of a DES key, of which the last one completes it";
        KeyPartAdd "key-part-import-add-part" = 0x0278 Permits "Enter further parts of a DES key";
        KeyPartComplete "key-part-import-complete" = 0x0279 Permits "Complete a DES key of which all parts were entered";
        PkaKeyImport "pka-key-import" = 0x0104 Permits "Import RSA and elliptic-curve keys that are clear, or under transport keys where that is permitted";
        KeyPartImport2 "key-part-import2" = 0xF03E Permits "Import clear keys of variable length in parts, in the steps that are permitted";
        KeyPartFirst3 "key-part-import2-first-of-3" = 0x0297 Permits "The first part of a key that needs three or more";
        KeyPartFirst2 "key-part-import2-first-of-2" = 0x0298 Permits "The first part of a key that needs two or more";
        KeyPartFirst1 "key-part-import2-first-of-1" = 0x0299 Permits "The first part of a key that needs no other";
        KeyPartSecond "key-part-import2-second" = 0x029A Permits "The second of three or more parts of a key";
        KeyPartLast "key-part-import2-last" = 0x029B Permits "The last part that a key needs";
        KeyPartOptional "key-part-import2-optional" = 0x029C Permits "Parts beyond those that a key needs";
        KeyPartComplete2 "key-part-import2-complete" = 0x029D Permits "Call a key of parts complete";
    }
    Import {
        SymmetricKeyImport "symmetric-key-import" = 0xF015 Permits "Import keys under RSA keys, in the forms that are permitted";
        KeyImport "key-import" = 0x0012 Permits "Import DES keys under IMPORTER keys";
        PkaKeyImportTransported "pka-key-import-transported" = 0xF061 Permits "Import RSA keys under IMP-PKA keys, RSA and elliptic-curve keys under AES IMPORTER keys";
        DataKeyImport "data-key-import" = 0x0109 Permits "Import DATA keys of DES under IMPORTER keys";
        SymmetricKeyImport2 "symmetric-key-import2" = 0xF041 Permits "Import keys of external tokens of variable length, by the methods that are permitted";
        Import2Aeskw "symmetric-key-import2-aeskw" = 0x0329 Permits "Import AES and HMAC keys under AES IMPORTER keys";
        Import2AesOaep2 "symmetric-key-import2-aes-pkoaep2" = 0x00FD Permits "Import AES keys of variable length under RSA keys: anyone has the public key";
        Import2HmacOaep2 "symmetric-key-import2-hmac-pkoaep2" = 0x00F4 Permits "Import HMAC keys under RSA keys: anyone has the public key";
        ImportDes "symmetric-key-import-des" = 0x0106 Permits "Import DES keys in blocks of PKCS-1.2 and OAEP";
        ImportDesZeroPad "symmetric-key-import-des-zero-pad" = 0x023D Permits "Import DES keys in blocks of ZERO-PAD";
        ImportAes "symmetric-key-import-aes" = 0x012E Permits "Import AES keys in blocks of PKCS-1.2 and OAEP";
        EcDiffieHellman "ec-diffie-hellman" = 0x0360 Permits "Agree on keys with private keys of elliptic curves, on the curves that are permitted: whoever has one private key knows the derived key";
        AgreementDerive2 "ec-diffie-hellman-deriv02" = 0x035F Permits "Derive keys by ANSI X9.63";
        AgreementTransportKey "ec-diffie-hellman-transport-key" = 0xF080 Permits "Derive EXPORTER and IMPORTER keys";
        AgreementP224 "ec-diffie-hellman-p-224" = 0xF081 Permits "Agree on the curve P-224";
        AgreementP256 "ec-diffie-hellman-p-256" = 0xF082 Permits "Agree on the curve P-256";
        AgreementP384 "ec-diffie-hellman-p-384" = 0xF083 Permits "Agree on the curve P-384";
        AgreementP521 "ec-diffie-hellman-p-521" = 0xF084 Permits "Agree on the curve P-521";
        AgreementBrainpool256 "ec-diffie-hellman-brainpool-256" = 0x036B Permits "Agree on the curve brainpoolP256r1";
        AgreementBrainpool384 "ec-diffie-hellman-brainpool-384" = 0xF085 Permits "Agree on the curve brainpoolP384r1";
        AgreementKoblitz256 "ec-diffie-hellman-koblitz-256" = 0xF086 Permits "Agree on the curve secp256k1";
        ImportAesZeroPad "symmetric-key-import-aes-zero-pad" = 0x012F Permits "Import AES keys in blocks of ZERO-PAD";
        Tr31KeyImport "tr31-key-import" = 0xF0E3 Permits "Import keys of key blocks, of the versions that are permitted";
        Tr31ImportB "tr31-key-import-b" = 0x0151 Permits "Import keys of key blocks of version B, under DES keys";
        Tr31ImportD "tr31-key-import-d" = 0xF0E4 Permits "Import keys of key blocks of version D, under AES keys";
        Tr31ImportWrapping "tr31-key-import-wrapping" = 0x0153 Permits "Say how keys of key blocks are wrapped";
    }
    Export {
        SymmetricKeyExport "symmetric-key-export" = 0xF016 Permits "Export keys under RSA keys and AES EXPORTER keys, in the forms that are permitted: anyone can make an RSA key";
        KeyExport "key-export" = 0x0013 Permits "Export DES keys under EXPORTER keys";
        DataKeyExport "data-key-export" = 0x010A Permits "Export DATA keys of DES under EXPORTER keys";
        KeyTranslate "key-translate" = 0xF036 Permits "Put DES keys from one key-encrypting key under another";
        KeyGenerateTransported "key-generate-transported" = 0xF037 Permits "Generate DES keys under IMPORTER and EXPORTER keys";
        PkaKeyTranslate "pka-key-translate" = 0xF0A2 Permits "Put RSA keys from under keys of DES under keys of AES, as is permitted";
        PkaKeyTranslateInternal "pka-key-translate-internal" = 0x00FE Permits "Put internal RSA tokens from under the ASYM master key under the APKA one";
        PkaKeyTranslateExternal "pka-key-translate-external" = 0x00FF Permits "Put external RSA tokens from under transport keys of DES under those of AES";
        PkaKeyTranslateToExporter "pka-key-translate-importer-to-exporter" = 0x031C Permits "Translate RSA keys from under IMPORTER keys of DES under EXPORTER keys of AES";
        PkaKeyTranslateToImporter "pka-key-translate-importer-to-importer" = 0x031D Permits "Translate RSA keys from under IMPORTER keys of DES under IMPORTER keys of AES";
        PkaKeyGenerateTransported "pka-key-generate-transported" = 0xF060 Permits "Generate RSA keys under EXPORTER and IMP-PKA keys, RSA and elliptic-curve keys under AES transport keys";
        KeyGenerate2Transported "key-generate2-transported" = 0xF040 Permits "Generate keys of variable length under AES IMPORTER and EXPORTER keys";
        ProhibitExport "prohibit-export" = 0x00CD Permits "Forbid the export of DES keys";
        ProhibitExportExtended "prohibit-export-extended" = 0x0301 Permits "Forbid whoever imports a DES key to export it";
        RestrictKeyAttribute "restrict-key-attribute" = 0xF051 Permits "Take from keys ways in which they may leave, for the algorithms that are permitted";
        RestrictVariable "restrict-key-attribute-variable" = 0x00E9 Permits "Take from AES and HMAC keys ways in which they may leave";
        RestrictDes "restrict-key-attribute-des" = 0x0154 Permits "Take from DES keys ways in which they may leave";
        ProhibitExport2 "prohibit-export2" = 0xF053 Permits "Forbid the export of keys in tokens of any form";
        KeyTranslate2 "key-translate2" = 0xF052 Permits "Change the form of tokens, or what their keys are wrapped under, as is permitted";
        KeyTranslate2Translate "key-translate2-translate" = 0x0149 Permits "Put keys from one key-encrypting key under another; change the form of payloads";
        KeyTranslate2Reformat "key-translate2-reformat" = 0x014B Permits "Put AES keys from tokens of fixed length into tokens of variable length";
        ExportDes "symmetric-key-export-des" = 0x0105 Permits "Export DES keys in blocks of PKCS-1.2 and OAEP";
        ExportDesZeroPad "symmetric-key-export-des-zero-pad" = 0x023E Permits "Export DES keys in blocks of ZERO-PAD";
        ExportAes "symmetric-key-export-aes" = 0x0130 Permits "Export AES keys in blocks of PKCS-1.2 and OAEP";
        SymmetricKeyGenerate "symmetric-key-generate" = 0xF063 Permits "Generate DATA keys that leave under RSA keys, in the forms that are permitted: anyone can make such a key";
        GenerateDes "symmetric-key-generate-des" = 0x023F Permits "Generate DES keys in blocks of PKCS-1.2 and OAEP";
        GenerateDesZeroPad "symmetric-key-generate-des-zero-pad" = 0x023C Permits "Generate DES keys in blocks of ZERO-PAD";
        GenerateAes "symmetric-key-generate-aes" = 0x012C Permits "Generate AES keys in blocks of PKCS-1.2 and OAEP";
        GenerateAesZeroPad "symmetric-key-generate-aes-zero-pad" = 0x012D Permits "Generate AES keys in blocks of ZERO-PAD";
        ExportAesZeroPad "symmetric-key-export-aes-zero-pad" = 0x0131 Permits "Export AES keys in blocks of ZERO-PAD";
        ExportAeskw "symmetric-key-export-aeskw" = 0x0327 Permits "Export AES and HMAC keys of variable length under AES EXPORTER keys";
        ExportAesOaep2 "symmetric-key-export-aes-pkoaep2" = 0x00FC Permits "Export AES keys of variable length under RSA keys: anyone can make one";
        ExportHmacOaep2 "symmetric-key-export-hmac-pkoaep2" = 0x00F5 Permits "Export HMAC keys under RSA keys: anyone can make one";
        Tr31KeyExport "tr31-key-export" = 0xF0E5 Permits "Export keys in key blocks, of the versions that are permitted";
        Tr31ExportB "tr31-key-export-b" = 0x014E Permits "Export keys in key blocks of version B, under DES keys";
        Tr31ExportD "tr31-key-export-d" = 0x0382 Permits "Export keys in key blocks of version D, under AES keys";
    }
    ClearExport {
        PkaKeyGenerateClear "pka-key-generate-clear" = 0x0205 Permits "Generate RSA and elliptic-curve keys that leave the card clear";
    }
    Sign {
        DigitalSignatureGenerate "digital-signature-generate" = 0x0100 Permits "Sign, in the formats that are permitted";
        SignPkcs10 "digital-signature-pkcs-1.0" = 0xF017 Permits "Sign blocks of PKCS-1.0: the data is the block";
        SignPkcs11 "digital-signature-pkcs-1.1" = 0xF018 Permits "Sign blocks of PKCS-1.1";
        SignZeroPad "digital-signature-zero-pad" = 0xF019 Permits "Sign blocks of ZERO-PAD: the data is the block";
        SignX931 "digital-signature-x9.31" = 0xF01A Permits "Sign blocks of X9.31";
        SignPss "digital-signature-pss" = 0xF01B Permits "Sign blocks of PSS";
        SignEcdsa "digital-signature-ecdsa" = 0xF03C Permits "Sign digests by ECDSA";
        SignEddsa "digital-signature-eddsa" = 0xF03D Permits "Sign texts by EdDSA";
    }
    RsaEncipher {
        PkaEncrypt "pka-encrypt" = 0x011E Permits "Encipher with RSA public keys";
        PkaEncryptPkcs12 "pka-encrypt-pkcs-1.2" = 0x0206 Forbids "Encipher blocks of PKCS-1.2";
        PkaEncryptZeroPad "pka-encrypt-zero-pad" = 0x0207 Forbids "Encipher blocks of ZERO-PAD";
        PkaEncryptMrp "pka-encrypt-mrp" = 0x0208 Forbids "Encipher blocks as they are";
        PkaEncryptOaep "pka-encrypt-oaep" = 0x0209 Forbids "Encipher blocks of OAEP";
        PkaEncryptOaep2 "pka-encrypt-oaep2" = 0x03F1 Forbids "Encipher blocks of OAEP with all hashes";
    }
    RsaDecipher {
        PkaDecrypt "pka-decrypt" = 0x011F Permits "Decipher with secure RSA keys: also what transports a key";
        PkaDecryptPkcs12 "pka-decrypt-pkcs-1.2" = 0x020A Forbids "Decipher blocks of PKCS-1.2: each answer is an oracle";
        PkaDecryptZeroPad "pka-decrypt-zero-pad" = 0x020B Forbids "Decipher blocks of ZERO-PAD: a private operation on any block";
        PkaDecryptOaep "pka-decrypt-oaep" = 0x020C Forbids "Decipher blocks of OAEP";
        TlsPremaster "tls-premaster" = 0xF0A3 Permits "Open premaster secrets of TLS with RSA keys made for it (TLS-ONLY)";
    }
    ClearRsa {
        ClearRsaPrivate "clear-rsa-private" = 0xF01C Permits "RSA private operations with keys that are clear in the request";
        ClearRsaPublic "clear-rsa-public" = 0xF01D Permits "RSA public operations with keys in the request";
    }
    RecordRead {
        RecordList "record-list" = 0xF01E Permits "List key records";
        DesKeyRecordRead "des-key-record-read" = 0xF01F Permits "Read the token of a DES key record";
        AesKeyRecordRead "aes-key-record-read" = 0xF020 Permits "Read the token of an AES key record";
        PkaKeyRecordRead "pka-key-record-read" = 0xF021 Permits "Read the token of a PKA key record";
    }
    RecordWrite {
        DesKeyRecordCreate "des-key-record-create" = 0xF022 Permits "Create DES key records";
        DesKeyRecordWrite "des-key-record-write" = 0xF023 Permits "Write DES key records";
        DesKeyRecordDelete "des-key-record-delete" = 0xF024 Permits "Delete DES key records";
        AesKeyRecordCreate "aes-key-record-create" = 0xF025 Permits "Create AES key records";
        AesKeyRecordWrite "aes-key-record-write" = 0xF026 Permits "Write AES key records";
        AesKeyRecordDelete "aes-key-record-delete" = 0xF027 Permits "Delete AES key records";
        PkaKeyRecordCreate "pka-key-record-create" = 0xF028 Permits "Create PKA key records";
        PkaKeyRecordWrite "pka-key-record-write" = 0xF029 Permits "Write PKA key records";
        PkaKeyRecordDelete "pka-key-record-delete" = 0xF02A Permits "Delete PKA key records";
        TokenUnchecked "token-unchecked" = 0xF0E8 Permits "Wrapped keys as bytes in requests, whose tokens are of the method X'E0' and tell nothing of a change, to bring them over";
        KeyRecordsWrite "key-records-write" = 0xF02F Permits "Make a record with its key, or give two records other keys";
    }
    Tokens {
        TokenBytes "token-bytes" = 0xF02B Permits "Wrapped keys as bytes in requests: labels no longer say which keys are used";
    }
    Weak {
        TranslateAesToDes "cipher-text-translate-aes-to-des" = 0x01C1 Permits "Put texts from under AES keys under DES keys";
        TranslateWeakerAes "cipher-text-translate-weaker-aes" = 0x01C2 Permits "Put texts under shorter AES keys";
        TranslateWeakerDes "cipher-text-translate-weaker-des" = 0x01C3 Permits "Put texts under shorter DES keys";
        FormatWeaker "format-preserving-translate-weaker" = 0x039C Permits "Put texts of format-preserving encryption under shorter keys";
        HashMd5 "one-way-hash-md5" = 0xF02C Permits "Hash by MD5";
        SingleLengthDes "single-length-des" = 0xF02D Forbids "Make DES keys of single length";
        DiversifyEqualHalves "diversified-key-generate-single-same" = 0x0044 Permits "Derive DES keys of single length, and of double length with equal halves, by TDES-ENC, TDES-CBC and TDES-DEC";
        ShortRsa "short-rsa" = 0xF02E Forbids "Make RSA keys below 2048 bits";
    }
    Legacy {
        KeyEncryptionTranslate "key-encryption-translate" = 0xF073 Permits "Turn DATA keys from CBC into tokens and back: the difference of two keys is the caller's choice";
        WeakImport "symmetric-key-import2-weak" = 0x032B Forbids "Import keys of variable length, RSA and elliptic-curve keys under AES key-encrypting keys that are weaker";
        KeyTranslate2Fixed "key-translate2-fixed-length" = 0x032A Forbids "Put AES keys from tokens of variable length into tokens of fixed length, which say nothing of their use";
        AgreementWeak "ec-diffie-hellman-weak-curve" = 0x036F Forbids "Derive keys that are stronger than the curve they are agreed on";
        AgreementPassThrough "ec-diffie-hellman-passthru" = 0x0361 Permits "Show the secret that two parties agree on, from which keys are derived";
        WeakTransport "weak-transport-key" = 0x0328 Forbids "Wrap keys under key-encrypting keys that are weaker: DES keys under shorter ones, RSA keys above 2048 bits under those of DES, above 3072 bits under AES-128, curves above their length under those of AES";
        TransportUnderRsa "transport-keys-under-rsa" = 0xF08A Permits "Carry AES transport keys, and keys that derive keys, under RSA keys (PKOAEP2): anyone can make an RSA key, and who knows a transport key reads what it carries";
        ExportRakw "symmetric-key-export-rakw" = 0x03B8 Permits "Export AES keys as objects of PKCS #11 under RSA keys (CKM-RAKW), which say nothing of their use";
        WeakRakw "symmetric-key-export-rakw-weak" = 0x033E Permits "Export AES keys by CKM-RAKW under RSA keys that are weaker, which all of this system are from 192 bits on";
        Import2Rakw "symmetric-key-import2-rakw" = 0x03CD Permits "Import AES keys from objects of PKCS #11 under RSA keys (CKM-RAKW): the caller says what their use is";
        ImportUnderImporter "pka-importers-of-both" = 0xF062 Permits "Carry RSA keys under IMPORTER keys, with which DES keys are imported as well: what RSA keys are enciphered to comes in as DES keys";
        DiversifyDifference "diversified-key-generate-sess-xor" = 0x0043 Permits "Derive keys that differ from another by what the caller says (SESS-XOR): a search for one finds any of many";
        DiversifyAny "diversified-key-generate-dall" = 0x0290 Permits "Derive keys from one that derives DES keys of every type (DALL): the same data give keys of one value for two purposes";
        DiversifyAny2 "diversified-key-generate2-dall" = 0x02CD Permits "The same of AES keys (D-ALL)";
        SecureMessagingForKeys "secure-messaging-for-keys" = 0x0273 Permits "Put keys that may be exported into messages to chip cards, among text of the caller's: whoever knows the key of a session has them";
        EmvRespond "emv-transaction-respond" = 0xF0D8 Permits "Make responses to request cryptograms that are not verified: blocks of the caller's choice are enciphered, of which keys of sessions are made";
        SignAnyData "digital-signature-any-data" = 0xF031 Permits "Sign data without structure with keys that also decipher: two signatures open what is enciphered for the key";
        DecipherBoth "rsa-decipher-keys-and-data" = 0xF032 Permits "Import keys with RSA keys that decipher data, and decipher data with those that import keys: what transports a key is opened";
        Tr31ExportA "tr31-key-export-a" = 0x014D Permits "Export keys in key blocks of version A, whose header is bound with four bytes";
        Tr31ExportC "tr31-key-export-c" = 0x014F Permits "Export keys in key blocks of version C, whose header is bound with four bytes";
        Tr31ImportA "tr31-key-import-a" = 0x0150 Permits "Import keys of key blocks of version A: one in four thousand million edited headers passes";
        Tr31ImportC "tr31-key-import-c" = 0x0152 Permits "Import keys of key blocks of version C: one in four thousand million edited headers passes";
        Tr31AnyWithVector "tr31-key-export-any-with-vector" = 0x0158 Permits "Export keys under any usage of a key block that has their control vectors: others may heed the usage alone";
        UniqueKeyInitial "unique-key-derive-initial" = 0x0335 Permits "Derive initial keys of terminals by DUKPT into key blocks: who has one has every key of that terminal";
        CombinedMixed "cvv-key-combine-mixed" = 0x0157 Permits "Put keys of different types into one key of card verification values";
    }
    LegacyPin {
        ClearPinEncrypt "clear-pin-encrypt" = 0x00AF Permits "Put clear PINs into blocks: a list of the blocks of all PINs opens every block without a PAN";
        SecureMessagingForPins "secure-messaging-for-pins" = 0x0274 Permits "Put PIN blocks into messages to chip cards, in the forms of EMV, Visa and MasterCard: equal PINs are equal there";
        SecureMessagingAnyPlace "secure-messaging-any-place" = 0xF0D9 Permits "Put keys and PIN blocks anywhere into messages, among text of the caller's: a block that is known but for one digit is looked up";
        PinUnrestricted "pin-block-restrictions" = 0x0350 Forbids "Reformat PIN blocks as ANSI X9.8 forbids: out of those that hold a PAN into others, where PINs are compared and looked up";
        PanChange "pin-pan-change" = 0x0351 Permits "Reformat PIN blocks to another PAN: wrong digits of a PAN make errors that tell of the PIN";
        PinAnyBlock "pin-only-ansi-blocks" = 0x0352 Forbids "Reformat to and from PIN blocks that ANSI X9.8 does not know, and verify them: what is a PIN in one format is two digits of it in another";
        PinAnyTable "pin-stored-tables-only" = 0x0356 Forbids "Decimalisation tables that are not stored: chosen ones find a PIN in fifteen tries";
        PinIso1 "pin-disallow-iso-1" = 0x032F Forbids "PIN blocks of ISO-1, which hold no PAN";
        PinAnyDigits "pin-enhanced-security" = 0x0313 Forbids "PINs of fewer than four digits, and checks of fewer";
        PinUncounted "pin-uncounted" = 0xF0DD Permits "Verify PINs without counting what is wrong: whoever may, tries them all";
        SecurityCodeUnconfirmed "card-security-code-unconfirmed" = 0xF0E7 Permits "Card security codes of three and four digits, and of cards that begin with 34: how these are computed, no value of another system confirms, and a card could have codes that no other system finds right";
        PinCheckDigits "pin-check-digits" = 0x0055 Forbids "Refuse blocks of ISO-0, ISO-3 and VISA-4 whose PIN has other than decimal digits: with wrong digits of a PAN, each refusal tells of the PIN";
        PinFineCodes "pin-general-error" = 0x039F Forbids "Tell what is wrong in a clear PIN block, where 8/2514 says that something is: each answer tells of the PIN";
        UniqueKeyPinAsData "unique-key-derive-pin-data" = 0x01C9 Permits "Derive keys of PIN blocks as DATA keys, which decipher these blocks";
        Tr31PinAnyMode "tr31-key-import-pin-any-mode" = 0x017C Permits "Import keys of PINs whose key blocks do not say whether they make or verify: a key that verifies becomes one that makes PINs";
        CardValueShort "cvv-verify-short" = 0xF0E9 Permits "Verify one or two digits of card verification values: thirty tries find three, one after the other";
        Tr31SecurityCode "tr31-key-import-security-code" = 0x015B Permits "Import keys of card verification values as keys of card security codes";
    }
}
