//! What the requests need beside the key that is tried: keys of every kind, and what was made with them.

use super::pins::PinKeys;
use crate::chip::Chips;
use crate::keys::{AES_TRANSPORT, TRANSPORT, entered2, export2, generate_under, generate2, skeleton_of};
use crate::pairs::{
    curve_token, derives, deriving_skeleton, internal, public_part, rsa_skeleton, rsa_structure,
};
use crate::support::{Request, entered, generate, imported, processor};
use crate::unique::Tried;
use cca::Processor;
use openssl::hash::{MessageDigest, hash};
use token::pka::{KeyValues, Usage};
use token::variable::VariableType;
use wire::verb::{
    Verb, digital_signature_generate, key_export, key_generate, key_generate2, pka_encrypt, pka_key_generate,
    pka_key_token_build, symmetric_key_export,
};

const RSA_BITS: usize = 1024;
const CAPACITY: i64 = 2500;
const TEXT: [u8; 16] = *b"sixteen bytes...";

/// What requests need beside the key that is tried: all of one RSA key.
pub struct Others {
    /// The processor that has the keys.
    pub processor: Processor,
    /// A clear private key that may sign and decipher.
    pub clear: Vec<u8>,
    /// Its public part.
    pub public: Vec<u8>,
    /// The same key under the master key, for signatures and data.
    pub management: Vec<u8>,
    /// The same key under the master key, for keys.
    pub transport: Vec<u8>,
    /// The same key under the master key, for TLS.
    pub tls: Vec<u8>,
    /// What asks for a key like it.
    pub skeleton: Vec<u8>,
    /// A text under a data key.
    pub enciphered_text: Vec<u8>,
    /// A key under an RSA key.
    pub enciphered_key: Vec<u8>,
    /// A signature of an RSA key.
    pub signature: Vec<u8>,
    /// A DATA key of DES, of double length.
    pub data: Vec<u8>,
    /// A DES key-encrypting key of one value, for every use of its side.
    pub importer: Vec<u8>,
    /// The same value for keys that leave.
    pub exporter: Vec<u8>,
    /// A MAC key under that value.
    pub external_mac: Vec<u8>,
    /// A DATA key under that value.
    pub external_data: Vec<u8>,
    /// Asks for an RSA key under a transport key.
    pub crt_skeleton: Vec<u8>,
    /// Such a key under that value.
    pub external_rsa: Vec<u8>,
    /// An RSA key that may go under another transport key.
    pub translatable_rsa: Vec<u8>,
    /// The transport key of private keys that arrive.
    pub private_importer: Vec<u8>,
    /// A CIPHER skeleton of variable length.
    pub variable: Vec<u8>,
    /// Keys of a curve that DATA keys of AES, CIPHER keys of AES, and DATA keys of DES of 128 bits are derived with.
    pub deriving: [Vec<u8>; 3],
    /// Asks for a key of a curve.
    pub curve_skeleton: Vec<u8>,
    /// A deriving key under a transport key.
    pub deriving_outside: Vec<u8>,
    /// An AES key-encrypting key of one value, for every use of its side.
    pub aes_importer: Vec<u8>,
    /// The same value for keys that leave.
    pub aes_exporter: Vec<u8>,
    /// A CIPHER key of variable length.
    pub variable_key: Vec<u8>,
    /// A CIPHER key that only translates.
    pub only_translating: Vec<u8>,
    /// The same key under that AES value.
    pub external_variable: Vec<u8>,
    /// An HMAC key under the RSA key.
    pub external_hmac: Vec<u8>,
    /// A key that translates texts, both ways.
    pub translating: Vec<u8>,
    /// A DATA key of AES.
    pub aes: Vec<u8>,
    /// Keys of PINs and of card verification values.
    pub pins: PinKeys,
    /// Keys of chip cards.
    pub chips: Chips,
    /// Base keys of transactions, and what they are tried with.
    pub unique: Tried,
    /// AES keys of that value that protect key blocks: EXPORTER, IMPORTER.
    pub aes_protecting: [Vec<u8>; 2],
    /// Key B of a pair for card verification values, of another value than key A.
    pub other_cvv_b: Vec<u8>,
}

impl Others {
    /// Makes all of it.
    pub fn new() -> Self {
        let mut processor = processor();
        // Bits, lengths of n, e and d, then e: what asks for a key with exponent 65537.
        let structure = [&(RSA_BITS as u16).to_be_bytes()[..], &[0, 0, 0, 3, 0, 0, 1, 0, 1]].concat();
        assert!(matches!(KeyValues::modulus_exponent(&structure), Ok(KeyValues::Generate { .. })));
        let skeleton = Request::new(Verb::PkaKeyTokenBuild)
            .rules(&["RSA-AESM", "KEY-MGMT"])
            .counted(
                pka_key_token_build::KEY_VALUES_STRUCTURE_LENGTH,
                pka_key_token_build::KEY_VALUES_STRUCTURE,
                structure,
            )
            .integer(pka_key_token_build::TOKEN_LENGTH, CAPACITY)
            .ok(&mut processor)
            .bytes(pka_key_token_build::TOKEN);
        let clear = Request::new(Verb::PkaKeyGenerate)
            .rules(&["CLEAR"])
            .counted(
                pka_key_generate::SKELETON_KEY_TOKEN_LENGTH,
                pka_key_generate::SKELETON_KEY_TOKEN,
                &skeleton,
            )
            .bytes(pka_key_generate::TRANSPORT_KEY_IDENTIFIER, [0; 64])
            .integer(pka_key_generate::GENERATED_KEY_IDENTIFIER_LENGTH, CAPACITY)
            .ok(&mut processor)
            .bytes(pka_key_generate::GENERATED_KEY_IDENTIFIER);
        let public = public_part(&mut processor, &clear);
        let management = internal(&mut processor, &clear, Usage::KeyManagement);
        let transport = internal(&mut processor, &clear, Usage::KeyManagementOnly);
        let tls = internal(&mut processor, &clear, Usage::TlsOnly);
        let data = generate("DATA", "DOUBLE").ok(&mut processor);
        let data = data.bytes(key_generate::GENERATED_KEY_IDENTIFIER_1);
        let importer =
            entered(&mut processor, "IMPORTER", &["OPIM", "IMEX", "IMIM", "IMPORT", "XLATE"], &TRANSPORT);
        let exporter =
            entered(&mut processor, "EXPORTER", &["OPEX", "IMEX", "EXEX", "EXPORT", "XLATE"], &TRANSPORT);
        let exported = |processor: &mut Processor, token: &[u8]| {
            Request::new(Verb::KeyExport)
                .bytes(key_export::KEY_TYPE, "TOKEN   ")
                .bytes(key_export::SOURCE_KEY_IDENTIFIER, token)
                .bytes(key_export::EXPORTER_KEY_IDENTIFIER, &exporter)
                .ok(processor)
                .bytes(key_export::TARGET_KEY_TOKEN)
        };
        let mac_key = generate("MAC", "DOUBLE").ok(&mut processor);
        let mac_key = mac_key.bytes(key_generate::GENERATED_KEY_IDENTIFIER_1);
        let external_mac = exported(&mut processor, &mac_key);
        let external_data = exported(&mut processor, &data);
        let deriving = [[2, 1], [2, 4], [1, 1]]
            .map(|[algorithm, key_type]| derives(&mut processor, algorithm, key_type));
        let translating = generate("CIPHERXL", "DOUBLE").ok(&mut processor);
        let translating = translating.bytes(key_generate::GENERATED_KEY_IDENTIFIER_1);
        let aes = imported(&mut processor, "AES", &TEXT);
        let crt_skeleton = rsa_skeleton(&mut processor, "RSA-CRT", 512);
        let translatable = Request::new(Verb::PkaKeyTokenBuild)
            .rules(&["RSA-CRT", "KEY-MGMT", "XLATE-OK"])
            .counted(
                pka_key_token_build::KEY_VALUES_STRUCTURE_LENGTH,
                pka_key_token_build::KEY_VALUES_STRUCTURE,
                rsa_structure("RSA-CRT", 512),
            )
            .integer(pka_key_token_build::TOKEN_LENGTH, CAPACITY)
            .ok(&mut processor)
            .bytes(pka_key_token_build::TOKEN);
        let private_importer = entered(&mut processor, "IMP-PKA", &[], &TRANSPORT);
        let translatable_rsa = generate_under(&translatable, &private_importer)
            .ok(&mut processor)
            .bytes(pka_key_generate::GENERATED_KEY_IDENTIFIER);
        let external_rsa = generate_under(&crt_skeleton, &exporter).ok(&mut processor);
        let external_rsa = external_rsa.bytes(pka_key_generate::GENERATED_KEY_IDENTIFIER);
        let mut others = Self {
            curve_skeleton: curve_token(&mut processor, "KEY-MGMT", None),
            deriving_outside: Vec::new(),
            crt_skeleton,
            external_rsa,
            translatable_rsa,
            private_importer,
            pins: PinKeys::new(&mut processor),
            chips: Chips::new(&mut processor),
            unique: Tried::new(),
            other_cvv_b: entered(&mut processor, "MAC", &["SINGLE", "CVVKEY-B"], &crate::pin::OTHER),
            aes_protecting: [VariableType::Exporter, VariableType::Importer]
                .map(|key_type| entered2(&mut processor, key_type, &["WR-TR31"], &AES_TRANSPORT)),
            processor,
            aes,
            clear,
            public,
            management,
            tls,
            transport,
            skeleton,
            enciphered_text: Vec::new(),
            enciphered_key: Vec::new(),
            signature: Vec::new(),
            data,
            importer,
            exporter,
            external_mac,
            external_data,
            variable: skeleton_of(VariableType::Cipher, &["ANY-MODE"]),
            deriving,
            aes_importer: Vec::new(),
            aes_exporter: Vec::new(),
            variable_key: Vec::new(),
            only_translating: Vec::new(),
            external_variable: Vec::new(),
            external_hmac: Vec::new(),
            translating,
        };
        let processor = &mut others.processor;
        others.aes_importer = entered2(processor, VariableType::Importer, &[], &AES_TRANSPORT);
        others.aes_exporter = entered2(processor, VariableType::Exporter, &[], &AES_TRANSPORT);
        let key = generate2("AES", 128, "TOKEN", &others.variable).ok(processor);
        others.variable_key = key.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
        let words = ["FF1", "ENCRYPT", "DECRYPT", "C-XLATE"];
        others.only_translating = entered2(processor, VariableType::Cipher, &words, &AES_TRANSPORT[..16]);
        let exported = export2("AES", &others.variable_key, &others.aes_exporter).ok(processor);
        others.external_variable = exported.bytes(symmetric_key_export::RSA_ENCIPHERED_KEY);
        // Not stronger than the RSA key.
        let skeleton = skeleton_of(VariableType::Hmac, &["GENERATE"]);
        let key = generate2("HMAC", 80, "TOKEN", &skeleton).ok(processor);
        let key = key.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
        let exported =
            export2("HMAC", &key, &others.public).rules(&["HMAC", "PKOAEP2", "SHA-256"]).ok(processor);
        others.external_hmac = exported.bytes(symmetric_key_export::RSA_ENCIPHERED_KEY);
        let skeleton = deriving_skeleton(processor, 2, 4);
        let outside = generate_under(&skeleton, &others.aes_importer).ok(processor);
        others.deriving_outside = outside.bytes(pka_key_generate::GENERATED_KEY_IDENTIFIER);
        let public = others.public.clone();
        let request = others.ways(Verb::PkaEncrypt, pka_encrypt::RSA_PUBLIC_KEY, &public).remove(0);
        others.enciphered_text = request.ok(&mut others.processor).bytes(pka_encrypt::RSA_ENCIPHER);
        let data = others.data.clone();
        let position = symmetric_key_export::SOURCE_KEY_IDENTIFIER;
        let request = others.ways(Verb::SymmetricKeyExport, position, &data).remove(0);
        let exported = request.ok(&mut others.processor);
        others.enciphered_key = exported.bytes(symmetric_key_export::RSA_ENCIPHERED_KEY);
        let management = others.management.clone();
        let position = digital_signature_generate::PKA_PRIVATE_KEY_ID;
        let request = others.ways(Verb::DigitalSignatureGenerate, position, &management).pop().unwrap();
        let signed = request.ok(&mut others.processor);
        others.signature = signed.bytes(digital_signature_generate::SIGNATURE_FIELD);
        others
    }
}

/// A digest of the text, as PKCS #1 has it.
pub fn digest_info() -> Vec<u8> {
    let digest = hash(MessageDigest::sha256(), &TEXT).unwrap();
    [&[0x30, 0x31, 0x30, 0x0D, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0, 4, 0x20][..], &digest[..]]
        .concat()
}
