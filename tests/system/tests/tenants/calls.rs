//! Every verb that works with a key that only a master key opens, called with keys of one domain.

use super::keys::Keys;
use facility::{Facility, Reply};
use wire::frame::Arguments;
use wire::verb::{Entry, Verb};

/// Values of a call by the names of its parameters; lengths and counts follow from them.
pub type Call<'a> = (Verb, Vec<(&'static str, Value<'a>)>);

#[derive(Clone, Copy)]
pub enum Value<'a> {
    Number(i64),
    Bytes(&'a [u8]),
}
use Value::{Bytes, Number};

pub const ROOM: i64 = 3500;
pub const NONE: [u8; 64] = [0; 64];

pub fn position(entry: &Entry, name: &str) -> Option<usize> {
    entry.parameters.iter().position(|parameter| parameter.name == name)
}

pub fn call(facility: &Facility, domain: u16, (verb, values): &Call<'_>) -> Reply {
    let entry = verb.entry();
    let mut arguments = Arguments::new(*verb);
    for (name, value) in values {
        let at = position(entry, name).unwrap_or_else(|| panic!("{} has no {name}", entry.name));
        match value {
            Number(number) => arguments.set_integer(at, *number),
            Bytes(bytes) => arguments.set_bytes(at, bytes),
        };
        if let Bytes(bytes) = value {
            let lengths =
                [(format!("{name}_length"), 1), (format!("{name}_len"), 1), (format!("{name}_count"), 8)];
            for (length, unit) in lengths {
                if let Some(at) = position(entry, &length) {
                    arguments.set_integer(at, (bytes.len() / unit) as i64);
                }
            }
        }
    }
    facility.call(domain, &arguments).unwrap_or_else(|error| panic!("{}: {error}", entry.name))
}

pub fn output(reply: &impl AsRef<Reply>, verb: Verb, name: &str) -> Vec<u8> {
    let reply = reply.as_ref();
    assert!(reply.codes().has_output(), "{}: {}", verb.entry().name, reply.codes());
    reply.arguments().bytes(position(verb.entry(), name).unwrap()).to_vec()
}

/// Every verb that works with a key that only a master key opens, with keys of domain 0.
pub fn calls<'a>(keys: &'a Keys) -> Vec<Call<'a>> {
    let Keys { des, aes, rsa, transport, block, wrapped, .. } = keys;
    let text = &[0x5A; 16][..];
    let aes_rules = &b"AES     CBC     KEYIDENTINITIAL "[..];
    let mac_rules = &b"X9.9-1  ONLY    MACLEN8 "[..];
    let parms = |values: Vec<(&'static str, Value<'a>)>| values;
    let aes_call = |verb, from, to| {
        let values = parms(vec![
            ("rule_array", Bytes(aes_rules)),
            ("key_identifier", Bytes(aes)),
            ("key_length", Number(64)),
            ("block_size", Number(16)),
            ("initialization_vector", Bytes(&[0; 16])),
            ("chain_data", Bytes(&[0; 32])),
            (from, Bytes(text)),
            (to, Number(16)),
        ]);
        (verb, values)
    };
    vec![
        (
            Verb::KeyTest,
            vec![
                ("rule_array", Bytes(b"GENERATE")),
                ("key_identifier", Bytes(des)),
                ("value_1", Bytes(&[0; 8])),
                ("value_2", Bytes(&[0; 8])),
            ],
        ),
        (Verb::KeyTokenChange, vec![("rule_array", Bytes(b"RTCMK   ")), ("key_identifier", Bytes(des))]),
        (Verb::PkaKeyTokenChange, vec![("rule_array", Bytes(b"RTCMK   ")), ("key_identifier", Bytes(rsa))]),
        (
            Verb::Encipher,
            vec![
                ("key_identifier", Bytes(des)),
                ("plaintext", Bytes(text)),
                ("text_length", Number(16)),
                ("rule_array", Bytes(b"CBC     INITIAL ")),
                ("initialization_vector", Bytes(&[0; 8])),
                ("chaining_vector", Bytes(&[0; 18])),
            ],
        ),
        (
            Verb::Decipher,
            vec![
                ("key_identifier", Bytes(des)),
                ("ciphertext", Bytes(text)),
                ("text_length", Number(16)),
                ("rule_array", Bytes(b"CBC     INITIAL ")),
                ("initialization_vector", Bytes(&[0; 8])),
                ("chaining_vector", Bytes(&[0; 18])),
            ],
        ),
        aes_call(Verb::SymmetricAlgorithmEncipher, "clear_text", "cipher_text_length"),
        aes_call(Verb::SymmetricAlgorithmDecipher, "cipher_text", "clear_text_length"),
        (
            Verb::MacGenerate,
            vec![
                ("key_identifier", Bytes(des)),
                ("text", Bytes(text)),
                ("rule_array", Bytes(mac_rules)),
                ("chaining_vector", Bytes(&[0; 18])),
            ],
        ),
        (
            Verb::MacVerify,
            vec![
                ("key_identifier", Bytes(des)),
                ("text", Bytes(text)),
                ("rule_array", Bytes(mac_rules)),
                ("chaining_vector", Bytes(&[0; 18])),
                ("mac", Bytes(&keys.signature)),
            ],
        ),
        (
            Verb::DigitalSignatureGenerate,
            vec![
                ("rule_array", Bytes(b"X9.31   SHA-1   ")),
                ("pka_private_key_id", Bytes(rsa)),
                ("hash", Bytes(&[0x5A; 20])),
                ("signature_field_length", Number(ROOM)),
            ],
        ),
        (
            Verb::PkaDecrypt,
            vec![
                ("rule_array", Bytes(b"PKCS-1.2")),
                ("enciphered_key", Bytes(block)),
                ("rsa_private_key", Bytes(rsa)),
                ("key_value_length", Number(ROOM)),
            ],
        ),
        (
            Verb::TlsPremaster,
            vec![("encrypted_premaster", Bytes(block)), ("rsa_private_key", Bytes(&keys.tls))],
        ),
        (
            Verb::SymmetricKeyExport,
            vec![
                ("rule_array", Bytes(b"AES     PKCS-1.2")),
                ("source_key_identifier", Bytes(aes)),
                ("rsa_public_key_identifier", Bytes(transport)),
                ("rsa_enciphered_key_length", Number(ROOM)),
            ],
        ),
        (
            Verb::SymmetricKeyImport,
            vec![
                ("rule_array", Bytes(b"AES     PKCS-1.2")),
                ("rsa_enciphered_key", Bytes(wrapped)),
                ("rsa_private_key_identifier", Bytes(transport)),
                ("target_key_identifier_length", Number(64)),
            ],
        ),
        (
            Verb::KeyTestExtended,
            vec![
                ("rule_array", Bytes(b"GENERATEENC-ZERO")),
                ("key_identifier", Bytes(&keys.external)),
                ("random_number", Bytes(&[0; 8])),
                ("verification_pattern", Bytes(&[0; 8])),
                ("kek_key_identifier", Bytes(&keys.importer)),
            ],
        ),
        (
            Verb::KeyPartImport,
            vec![
                ("rule_array", Bytes(b"LAST    ")),
                ("key_part", Bytes(&[0; 16])),
                ("key_identifier", Bytes(&keys.part)),
            ],
        ),
        (
            Verb::KeyImport,
            vec![
                ("key_type", Bytes(b"TOKEN   ")),
                ("source_key_token", Bytes(&keys.external)),
                ("importer_key_identifier", Bytes(&keys.importer)),
                ("target_key_identifier", Bytes(&NONE)),
            ],
        ),
        (
            Verb::KeyExport,
            vec![
                ("key_type", Bytes(b"TOKEN   ")),
                ("source_key_identifier", Bytes(des)),
                ("exporter_key_identifier", Bytes(&keys.exporter)),
            ],
        ),
        (
            Verb::DataKeyImport,
            vec![
                ("source_key_token", Bytes(&keys.external)),
                ("importer_key_identifier", Bytes(&keys.importer)),
                ("target_key_identifier", Bytes(&NONE)),
            ],
        ),
        (
            Verb::DataKeyExport,
            vec![("source_key_identifier", Bytes(des)), ("exporter_key_identifier", Bytes(&keys.exporter))],
        ),
        (
            Verb::KeyTranslate,
            vec![
                ("input_key_token", Bytes(&keys.external)),
                ("input_kek_key_identifier", Bytes(&keys.importer)),
                ("output_kek_key_identifier", Bytes(&keys.exporter)),
            ],
        ),
        (Verb::ProhibitExport, vec![("key_identifier", Bytes(des))]),
        (
            Verb::ProhibitExportExtended,
            vec![("source_key_token", Bytes(&keys.external)), ("kek_key_identifier", Bytes(&keys.exporter))],
        ),
        (
            Verb::HmacGenerate,
            vec![
                ("rule_array", Bytes(b"HMAC    SHA-256 ONLY    ")),
                ("key_identifier", Bytes(&keys.hmac)),
                ("message_text", Bytes(text)),
                ("chaining_vector", Bytes(&[0; 128])),
                ("mac_length", Number(32)),
            ],
        ),
        (
            Verb::HmacVerify,
            vec![
                ("rule_array", Bytes(b"HMAC    SHA-256 ONLY    ")),
                ("key_identifier", Bytes(&keys.hmac)),
                ("message_text", Bytes(text)),
                ("chaining_vector", Bytes(&[0; 128])),
                ("mac_text", Bytes(&[0; 32])),
                ("mac_length", Number(32)),
            ],
        ),
        (
            Verb::MacGenerate2,
            vec![
                ("rule_array", Bytes(b"HMAC    SHA-256 ONLY    ")),
                ("key_identifier", Bytes(&keys.hmac)),
                ("message_text", Bytes(text)),
                ("chaining_vector", Bytes(&[0; 128])),
                ("mac_length", Number(32)),
            ],
        ),
        (
            Verb::MacVerify2,
            vec![
                ("rule_array", Bytes(b"HMAC    SHA-256 ONLY    ")),
                ("key_identifier", Bytes(&keys.hmac)),
                ("message_text", Bytes(text)),
                ("chaining_vector", Bytes(&[0; 128])),
                ("mac_text", Bytes(&[0; 32])),
                ("mac_length", Number(32)),
            ],
        ),
        (
            Verb::CipherTextTranslate2,
            vec![
                ("rule_array", Bytes(b"IKEY-AESI-ECB   OKEY-AESO-ECB   ")),
                ("key_identifier_in", Bytes(aes)),
                ("cipher_text_in", Bytes(text)),
                ("key_identifier_out", Bytes(aes)),
                ("cipher_text_out_length", Number(ROOM)),
            ],
        ),
        (
            Verb::CryptographicVariableEncipher,
            vec![
                ("cvarenc_key_id", Bytes(&keys.variable)),
                ("plain_text", Bytes(text)),
                ("text_length", Number(16)),
                ("init_vector", Bytes(&[0; 8])),
            ],
        ),
        (
            Verb::EncryptedPinTranslate,
            vec![
                ("input_pin_encrypting_key_identifier", Bytes(&keys.pin_in)),
                ("output_pin_encrypting_key_identifier", Bytes(&keys.pin_out)),
                ("input_pin_profile", Bytes(PROFILE)),
                ("pan_data_in", Bytes(PAN)),
                ("pin_block_in", Bytes(&keys.pin_block)),
                ("rule_array", Bytes(b"REFORMAT")),
                ("output_pin_profile", Bytes(PROFILE)),
                ("pan_data_out", Bytes(PAN)),
            ],
        ),
        (
            Verb::EncryptedPinTranslate2,
            vec![
                ("rule_array", Bytes(b"REFORMAT")),
                ("input_pin_encrypting_key_identifier", Bytes(&keys.pin_in)),
                ("output_pin_encrypting_key_identifier", Bytes(&keys.pin_out)),
                ("input_pin_profile", Bytes(PROFILE)),
                ("input_pan_data", Bytes(PAN)),
                ("input_pin_block", Bytes(&keys.pin_block)),
                ("output_pin_profile", Bytes(PROFILE)),
                ("output_pan_data", Bytes(PAN)),
                ("output_pin_block_length", Number(16)),
            ],
        ),
        (
            Verb::Tr31KeyExport,
            vec![
                ("rule_array", Bytes(b"VARDRV-BPINENC  ENC-ONLY")),
                ("key_version_number", Bytes(b"00")),
                ("source_key_identifier", Bytes(&keys.pin_out)),
                ("wrap_kek_identifier", Bytes(&keys.exporter)),
                ("tr31_key_block_length", Number(ROOM)),
            ],
        ),
        (
            Verb::Tr31KeyImport,
            vec![
                ("rule_array", Bytes(b"INTERNAL")),
                ("tr31_key_block", Bytes(&keys.key_block)),
                ("unwrap_kek_identifier", Bytes(&keys.importer)),
                ("output_key_identifier_length", Number(64)),
                ("output_key_identifier", Bytes(&NONE)),
            ],
        ),
        (
            Verb::CvvKeyCombine,
            vec![
                ("key_aidentifier", Bytes(&keys.halves[0])),
                ("key_bidentifier", Bytes(&keys.halves[1])),
                ("output_key_identifier_length", Number(64)),
                ("output_key_identifier", Bytes(&NONE)),
            ],
        ),
        (
            Verb::FormatPreservingEncipher,
            vec![
                ("rule_array", Bytes(b"FF1     AES     BASE10  ")),
                ("key_identifier", Bytes(&keys.format)),
                ("plaintext", Bytes(PAN)),
                ("ciphertext_length", Number(12)),
            ],
        ),
        (
            Verb::FormatPreservingDecipher,
            vec![
                ("rule_array", Bytes(b"FF1     AES     BASE10  ")),
                ("key_identifier", Bytes(&keys.format)),
                ("ciphertext", Bytes(PAN)),
                ("plaintext_length", Number(12)),
            ],
        ),
        (
            Verb::FormatPreservingTranslate,
            vec![
                ("rule_array", Bytes(b"ICFF1   OCFF1   AES     IBASE10 OBASE10 ")),
                ("input_key_identifier", Bytes(&keys.format)),
                ("output_key_identifier", Bytes(&keys.format)),
                ("ciphertext", Bytes(PAN)),
            ],
        ),
        (
            Verb::EncryptedPinVerify2,
            vec![
                ("rule_array", Bytes(b"REFPIN  ")),
                ("input_pin_encrypting_key_identifier", Bytes(&keys.pin_in)),
                ("reference_pin_encrypting_key_identifier", Bytes(&keys.pin_in)),
                ("input_pin_profile", Bytes(PROFILE)),
                ("reference_pin_profile", Bytes(PROFILE)),
                ("input_pin_block", Bytes(&keys.pin_block)),
                ("reference_pin_block", Bytes(&keys.pin_block)),
                ("input_pan_data", Bytes(PAN)),
                ("reference_pan_data", Bytes(PAN)),
            ],
        ),
        (
            Verb::RecoverPinFromOffset,
            vec![
                ("pin_enc_key_id", Bytes(&keys.pin_out)),
                ("pin_gen_key_id", Bytes(&keys.pin_gen)),
                ("pin_profile", Bytes(PROFILE)),
                ("pan_data", Bytes(PAN)),
                ("offset", Bytes(b"1234            ")),
                ("data_array", Bytes(PIN_DATA)),
                ("encrypted_pin_blk_length", Number(8)),
            ],
        ),
        (
            Verb::EncryptedPinVerify,
            vec![
                ("input_pin_encrypting_key_identifier", Bytes(&keys.pin_in)),
                ("pin_verifying_key_identifier", Bytes(&keys.pin_gen)),
                ("input_pin_profile", Bytes(PROFILE)),
                ("pan_data", Bytes(PAN)),
                ("encrypted_pin_block", Bytes(&keys.pin_block)),
                ("rule_array", Bytes(b"IBM-PIN ")),
                ("pin_check_length", Number(4)),
                ("data_array", Bytes(PIN_DATA)),
            ],
        ),
        (
            Verb::ClearPinGenerate,
            vec![
                ("pin_generating_key_identifier", Bytes(&keys.pin_gen)),
                ("rule_array", Bytes(b"IBM-PIN ")),
                ("pin_length", Number(4)),
                ("data_array", Bytes(PIN_DATA)),
            ],
        ),
        (
            Verb::ClearPinGenerateAlternate,
            vec![
                ("pin_encryption_key_identifier", Bytes(&keys.pin_in)),
                ("pin_generation_key_identifier", Bytes(&keys.pin_gen)),
                ("pin_profile", Bytes(PROFILE)),
                ("pan_data", Bytes(PAN)),
                ("encrypted_pin_block", Bytes(&keys.pin_block)),
                ("rule_array", Bytes(b"IBM-PINO")),
                ("pin_check_length", Number(4)),
                ("data_array", Bytes(PIN_DATA)),
            ],
        ),
        pin_in_a_block(keys),
        (
            Verb::CvvGenerate,
            vec![
                ("pan_data", Bytes(b"4123456789012")),
                ("expiration_date", Bytes(b"8701")),
                ("service_code", Bytes(b"101")),
                ("cvv_key_a_identifier", Bytes(&keys.card)),
                ("cvv_key_b_identifier", Bytes(&NONE)),
            ],
        ),
        (
            Verb::CvvVerify,
            vec![
                ("rule_array", Bytes(b"CVV-3   ")),
                ("pan_data", Bytes(b"4123456789012")),
                ("expiration_date", Bytes(b"8701")),
                ("service_code", Bytes(b"101")),
                ("cvv_key_a_identifier", Bytes(&keys.card)),
                ("cvv_key_b_identifier", Bytes(&NONE)),
                ("cvv_value", Bytes(b"123  ")),
            ],
        ),
        (
            Verb::TransactionValidation,
            vec![
                ("rule_array", Bytes(b"GENERATECSC-5   ")),
                ("transaction_key", Bytes(&keys.codes)),
                ("transaction_info", Bytes(b"9912371234567890123")),
                ("validation_values_length", Number(5)),
            ],
        ),
        (
            Verb::DiversifiedKeyGenerate,
            vec![
                ("rule_array", Bytes(b"TDES-ENC")),
                ("generating_key_id", Bytes(&keys.chip)),
                ("data", Bytes(PART)),
                ("decrypting_key_id", Bytes(&NONE)),
                ("generated_key_id", Bytes(&keys.card)),
            ],
        ),
        (
            Verb::DiversifiedKeyGenerate2,
            vec![
                ("rule_array", Bytes(b"MK-OPTC ")),
                ("generating_key_id", Bytes(&keys.aes_chip)),
                ("derivation_data", Bytes(PART)),
                ("generated_key_id1", Bytes(&keys.aes_mac_skeleton)),
                ("generated_key_id1_length", Number(ROOM)),
            ],
        ),
        (
            Verb::EmvTransaction,
            vec![
                ("rule_array", Bytes(b"VERARQC VISA    ")),
                ("issuer_master_key_identifier", Bytes(&keys.chip)),
                ("pan", Bytes(PAN)),
                ("cryptogram_info", Bytes(text)),
                ("atc", Bytes(&[0; 2])),
                ("arc", Bytes(&[0; 2])),
                ("arqc", Bytes(&[0; 8])),
            ],
        ),
        (
            Verb::PinChangeUnblock,
            vec![
                ("rule_array", Bytes(b"VISAPCU1")),
                ("authentication_master_key", Bytes(&keys.chip)),
                ("issuer_master_key", Bytes(&keys.chip_pins)),
                ("key_generation_data", Bytes(b"eighteen bytes now")),
                ("new_ref_pin_key", Bytes(&keys.pin_in)),
                ("new_ref_pin_block", Bytes(&keys.pin_block)),
                ("new_ref_pin_profile", Bytes(PROFILE)),
                ("new_ref_pan_data", Bytes(PAN)),
                ("output_pin_profile", Bytes(b"VISAPCU1NONE            ")),
                ("output_pin_message_length", Number(16)),
            ],
        ),
        (
            Verb::DeriveIccMk,
            vec![
                ("rule_array", Bytes(b"AC      ")),
                ("issuer_master_key_identifier", Bytes(&keys.chip_above)),
                ("icc_master_key_identifier", Bytes(&NONE)),
                ("pan", Bytes(PAN)),
            ],
        ),
        (
            Verb::UniqueKeyDerive,
            vec![
                ("rule_array", Bytes(b"K3PIN   ")),
                ("base_derivation_key_identifier", Bytes(&keys.base)),
                ("derivation_data", Bytes(&[1; 10])),
                ("generated_key_identifier3", Bytes(&keys.pin_in)),
            ],
        ),
        (
            Verb::SymmetricKeyImport2,
            vec![
                ("rule_array", Bytes(b"AES     AESKW   ")),
                ("rsa_enciphered_key", Bytes(&keys.aes_external)),
                ("rsa_private_key_identifier", Bytes(&keys.aes_importer)),
                ("target_key_identifier_length", Number(ROOM)),
            ],
        ),
        (
            Verb::KeyPartImport2,
            vec![
                ("rule_array", Bytes(b"AES     ADD-PART")),
                ("clear_key_part", Bytes(PART)),
                ("clear_key_part_length", Number(128)),
                ("key_identifier", Bytes(&keys.aes_part)),
                ("key_identifier_length", Number(ROOM)),
            ],
        ),
        (
            Verb::KeyTokenChange2,
            vec![("rule_array", Bytes(b"RTCMK   HMAC    ")), ("key_identifier", Bytes(&keys.hmac))],
        ),
        (
            Verb::KeyTest2,
            vec![
                ("rule_array", Bytes(b"AES     GENERATEENC-ZERO")),
                ("key_identifier", Bytes(aes)),
                ("verification_pattern", Bytes(&[0; 8])),
            ],
        ),
        (
            Verb::RestrictKeyAttribute,
            vec![("rule_array", Bytes(b"HMAC    NOEX-SYM")), ("key_identifier", Bytes(&keys.hmac))],
        ),
        (
            Verb::ProhibitExport2,
            vec![("rule_array", Bytes(b"HMAC    ")), ("key_identifier", Bytes(&keys.hmac))],
        ),
        (
            Verb::KeyTranslate2,
            vec![
                ("rule_array", Bytes(b"AES     REFORMAT")),
                ("input_key_token", Bytes(aes)),
                ("output_key_token", Bytes(&keys.aes_skeleton)),
                ("output_key_token_length", Number(ROOM)),
            ],
        ),
        (
            Verb::PkaKeyTranslate,
            vec![
                ("rule_array", Bytes(b"EXTDWAKW")),
                ("source_key_identifier", Bytes(&keys.rsa_external)),
                ("source_transport_key_identifier", Bytes(&keys.private_importer)),
                ("target_transport_key_identifier", Bytes(&keys.aes_exporter)),
                ("target_key_token_length", Number(ROOM)),
            ],
        ),
        (
            Verb::EcDiffieHellman,
            vec![
                ("rule_array", Bytes(b"DERIV02 SHA-256 ")),
                ("private_key_identifier", Bytes(&keys.curve)),
                ("public_key_identifier", Bytes(&keys.curve)),
                ("party_identifier", Bytes(b"party")),
                ("key_bit_length", Number(128)),
                ("output_key_identifier", Bytes(&NONE)),
            ],
        ),
    ]
}

/// Encrypted_PIN_Generate: what makes the block of the other PIN verbs.
pub fn pin_in_a_block(keys: &Keys) -> Call<'_> {
    (
        Verb::EncryptedPinGenerate,
        vec![
            ("pin_generating_key_identifier", Bytes(&keys.pin_gen)),
            ("outbound_pin_encrypting_key_identifier", Bytes(&keys.pin_out)),
            ("rule_array", Bytes(b"IBM-PIN ")),
            ("pin_length", Number(4)),
            ("data_array", Bytes(PIN_DATA)),
            ("pin_profile", Bytes(PROFILE)),
            ("pan_data", Bytes(PAN)),
        ],
    )
}

pub const PROFILE: &[u8; 24] = b"ISO-0   NONE            ";
pub const PAN: &[u8; 12] = b"401234567890";
/// Decimalisation table and validation data of IBM 3624.
pub const PIN_DATA: &[u8; 48] = b"01234567890123451122334455667788                ";

/// Verbs that the owner's role does not permit.
pub const NOT_FOR_THE_OWNER: [Verb; 4] = [
    Verb::KeyEncryptionTranslate,
    Verb::ClearPinEncrypt,
    Verb::SecureMessagingForKeys,
    Verb::SecureMessagingForPins,
];

/// A part of a key-encrypting key.
pub const PART: &[u8; 16] = b"a part of a key!";

/// Verbs whose keys are public, clear, skeletons, or those that are made, and those that read headers alone.
pub const OPEN: [Verb; 16] = [
    Verb::Tr31KeyTokenParse,
    Verb::Tr31OptionalDataRead,
    Verb::KeyTokenParse,
    Verb::KeyTokenParse2,
    Verb::KeyGenerate,
    Verb::KeyGenerate2,
    Verb::KeyTokenBuild2,
    Verb::ClearKeyImport,
    Verb::ClearKeyImportMultiple,
    Verb::PkaKeyGenerate,
    Verb::PkaKeyImport,
    Verb::PkaPublicKeyExtract,
    Verb::PkaEncrypt,
    Verb::DigitalSignatureVerify,
    Verb::PkaKeyTokenBuild,
    Verb::SymmetricKeyGenerate,
];
