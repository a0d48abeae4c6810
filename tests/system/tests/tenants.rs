//! Tenants over real cards: domains that know nothing of each other's keys, and changes under load.

use facility::{Facility, FacilityError, Options, Reply};
use home::Settings;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use system_tests::{Installation, expected_mac, mac_key, mac_of, mac_request, rsa_skeleton_for, settings};
use wire::control::{CardState, Personality, PollMode, Refusal};
use wire::frame::Arguments;
use wire::tenant::{CardChange, Change, Credential, Dedicated, Limits, Tenant};
use wire::verb::{Direction, Entry, Kind, Place, TABLE, Verb};

/// Values of a call by the names of its parameters; lengths and counts follow from them.
type Call<'a> = (Verb, Vec<(&'static str, Value<'a>)>);

#[derive(Clone, Copy)]
enum Value<'a> {
    Number(i64),
    Bytes(&'a [u8]),
}
use Value::{Bytes, Number};

const ROOM: i64 = 3500;
const NONE: [u8; 64] = [0; 64];

fn position(entry: &Entry, name: &str) -> Option<usize> {
    entry.parameters.iter().position(|parameter| parameter.name == name)
}

fn call(facility: &Facility, domain: u16, (verb, values): &Call<'_>) -> Reply {
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

fn output(reply: &Reply, verb: Verb, name: &str) -> Vec<u8> {
    assert!(reply.codes().has_output(), "{}: {}", verb.entry().name, reply.codes());
    reply.arguments().bytes(position(verb.entry(), name).unwrap()).to_vec()
}

/// Every verb that works with a key that only a master key opens, with keys of domain 0.
fn calls<'a>(keys: &'a Keys) -> Vec<Call<'a>> {
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
                ("pan_data", Bytes(b"4123456789012")),
                ("expiration_date", Bytes(b"8701")),
                ("service_code", Bytes(b"101")),
                ("cvv_key_a_identifier", Bytes(&keys.card)),
                ("cvv_key_b_identifier", Bytes(&NONE)),
                ("cvv_value", Bytes(b"1    ")),
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
fn pin_in_a_block(keys: &Keys) -> Call<'_> {
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

const PROFILE: &[u8; 24] = b"ISO-0   NONE            ";
const PAN: &[u8; 12] = b"401234567890";
/// Decimalisation table and validation data of IBM 3624.
const PIN_DATA: &[u8; 48] = b"01234567890123451122334455667788                ";

/// Verbs that the owner's role does not permit.
const NOT_FOR_THE_OWNER: [Verb; 4] = [
    Verb::KeyEncryptionTranslate,
    Verb::ClearPinEncrypt,
    Verb::SecureMessagingForKeys,
    Verb::SecureMessagingForPins,
];

/// A part of a key-encrypting key.
const PART: &[u8; 16] = b"a part of a key!";

/// Verbs whose keys are public, clear, skeletons, or those that are made.
const OPEN: [Verb; 14] = [
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

/// Keys of domain 0, and what was made with them there.
#[derive(Default)]
struct Keys {
    des: Vec<u8>,
    aes: Vec<u8>,
    /// Deciphers data.
    rsa: Vec<u8>,
    /// Deciphers keys.
    transport: Vec<u8>,
    /// Opens premaster secrets of TLS.
    tls: Vec<u8>,
    /// The MAC of the text under the DES key.
    signature: Vec<u8>,
    /// A block under the RSA key.
    block: Vec<u8>,
    /// A key under the one for keys.
    wrapped: Vec<u8>,
    /// Key-encrypting keys of one value, and the first part of one.
    importer: Vec<u8>,
    exporter: Vec<u8>,
    part: Vec<u8>,
    /// The DES key under that value.
    external: Vec<u8>,
    hmac: Vec<u8>,
    /// Enciphers cryptographic variables.
    variable: Vec<u8>,
    /// AES transport keys of one value, the first part of one, a CIPHER key under that value, and a token for one.
    aes_importer: Vec<u8>,
    aes_exporter: Vec<u8>,
    aes_part: Vec<u8>,
    aes_external: Vec<u8>,
    aes_skeleton: Vec<u8>,
    /// A CIPHER key for FF1.
    format: Vec<u8>,
    /// PIN keys: IPINENC and OPINENC of one value, PINGEN; a block of theirs; a key of card verification values.
    pin_in: Vec<u8>,
    pin_out: Vec<u8>,
    pin_gen: Vec<u8>,
    pin_block: Vec<u8>,
    card: Vec<u8>,
    /// A pair of keys of card verification values, and the OPINENC key in a key block.
    halves: [Vec<u8>; 2],
    key_block: Vec<u8>,
    /// Derives keys of transactions.
    base: Vec<u8>,
    /// Keys that derive keys of chip cards, at both levels, one of AES, and what that derives.
    chip: Vec<u8>,
    chip_above: Vec<u8>,
    chip_pins: Vec<u8>,
    aes_chip: Vec<u8>,
    aes_mac_skeleton: Vec<u8>,
    /// Agrees on AES keys.
    curve: Vec<u8>,
    /// A transport key of private keys, and an RSA key under its value.
    private_importer: Vec<u8>,
    rsa_external: Vec<u8>,
}

/// An AES key of variable length and of a known value: its first part, and all of it.
fn entered2(facility: &Facility, skeleton: &[u8]) -> [Vec<u8>; 2] {
    let step = |rules, part: &'static [u8], token: &[u8]| {
        let values = vec![
            ("rule_array", Bytes(rules)),
            ("clear_key_part", Bytes(part)),
            ("clear_key_part_length", Number(8 * part.len() as i64)),
            ("key_identifier", Bytes(token)),
            ("key_identifier_length", Number(ROOM)),
        ];
        output(&call(facility, 0, &(Verb::KeyPartImport2, values)), Verb::KeyPartImport2, "key_identifier")
    };
    let first = step(b"AES     FIRST   MIN1PART", PART, skeleton);
    let whole = step(b"AES     COMPLETE", &[], &first);
    [first, whole]
}

/// A skeleton of variable length.
fn skeleton2(facility: &Facility, rules: &[u8]) -> Vec<u8> {
    let values = vec![("rule_array", Bytes(rules)), ("target_key_token_length", Number(ROOM))];
    output(&call(facility, 0, &(Verb::KeyTokenBuild2, values)), Verb::KeyTokenBuild2, "target_key_token")
}

/// A key of P-256 that agrees on AES DATA keys of 128 bits.
fn agreeing(facility: &Facility) -> Vec<u8> {
    let build: Call<'_> = (
        Verb::PkaKeyTokenBuild,
        vec![
            ("rule_array", Bytes(b"ECC-PAIRKEY-MGMTECC-VER1")),
            ("key_values_structure", Bytes(&[0, 0, 1, 0, 0, 0, 0, 0])),
            ("key_derivation_data", Bytes(&[2, 1, 0, 128])),
            ("token_length", Number(ROOM)),
        ],
    );
    let skeleton = output(&call(facility, 0, &build), Verb::PkaKeyTokenBuild, "token");
    let made = facility.call(0, &system_tests::rsa_generate(&skeleton)).unwrap();
    output(&made, Verb::PkaKeyGenerate, "generated_key_identifier")
}

/// An RSA key under a transport key, which may be translated.
fn transported(facility: &Facility, transport: &[u8]) -> Vec<u8> {
    // Bits and lengths; then the exponent.
    let structure = [&1024_u16.to_be_bytes()[..], &[0, 0, 0, 3], &[0; 12], &[1, 0, 1]].concat();
    let build: Call<'_> = (
        Verb::PkaKeyTokenBuild,
        vec![
            ("rule_array", Bytes(b"RSA-CRT XLATE-OK")),
            ("key_values_structure", Bytes(&structure)),
            ("token_length", Number(ROOM)),
        ],
    );
    let skeleton = output(&call(facility, 0, &build), Verb::PkaKeyTokenBuild, "token");
    let generate: Call<'_> = (
        Verb::PkaKeyGenerate,
        vec![
            ("rule_array", Bytes(b"XPORT   ")),
            ("skeleton_key_token", Bytes(&skeleton)),
            ("transport_key_identifier", Bytes(transport)),
            ("generated_key_identifier_length", Number(ROOM)),
        ],
    );
    let made = call(facility, 0, &generate);
    output(&made, Verb::PkaKeyGenerate, "generated_key_identifier")
}

/// A key-encrypting key of a known value: its first part, and all of it.
fn entered(facility: &Facility, key_type: &[u8], uses: &[u8]) -> [Vec<u8>; 2] {
    entered_from(facility, key_type, uses, PART)
}

/// The same of another part.
fn entered_from(facility: &Facility, key_type: &[u8], uses: &[u8], first: &'static [u8; 16]) -> [Vec<u8>; 2] {
    let build = (Verb::KeyTokenBuild, vec![("key_type", Bytes(key_type)), ("rule_array", Bytes(uses))]);
    let skeleton = output(&call(facility, 0, &build), Verb::KeyTokenBuild, "key_token");
    let part = |step, part, token: &[u8]| {
        let values =
            vec![("rule_array", Bytes(step)), ("key_part", Bytes(part)), ("key_identifier", Bytes(token))];
        output(&call(facility, 0, &(Verb::KeyPartImport, values)), Verb::KeyPartImport, "key_identifier")
    };
    let first = part(b"FIRST   ", first, &skeleton);
    let whole = part(b"LAST    ", &[0; 16], &first);
    [first, whole]
}

impl Keys {
    fn of_domain_0(facility: &Facility) -> Self {
        let mut keys = Self { des: mac_key(facility), ..Self::default() };
        let generate: Call<'_> = (
            Verb::KeyGenerate,
            vec![
                ("key_form", Bytes(b"OP  ")),
                ("key_length", Bytes(b"KEYLN16 ")),
                ("key_type_1", Bytes(b"AESDATA ")),
                ("key_type_2", Bytes(b"        ")),
                ("kek_key_identifier_1", Bytes(&NONE)),
                ("kek_key_identifier_2", Bytes(&NONE)),
                ("generated_key_identifier_1", Bytes(&NONE)),
                ("generated_key_identifier_2", Bytes(&NONE)),
            ],
        );
        let mut variable = generate.clone();
        variable.1[1].1 = Bytes(b"SINGLE  ");
        variable.1[2].1 = Bytes(b"CVARENC ");
        let made = call(facility, 0, &variable);
        keys.variable = output(&made, Verb::KeyGenerate, "generated_key_identifier_1");
        let made = call(facility, 0, &generate);
        keys.aes = output(&made, Verb::KeyGenerate, "generated_key_identifier_1");
        let rsa = |usage| {
            let skeleton = rsa_skeleton_for(facility, 1024, usage);
            let made = facility.call(0, &system_tests::rsa_generate(&skeleton)).unwrap();
            output(&made, Verb::PkaKeyGenerate, "generated_key_identifier")
        };
        (keys.rsa, keys.transport, keys.tls) = (rsa(b"KEY-MGMT"), rsa(b"KM-ONLY "), rsa(b"TLS-ONLY"));
        [keys.part, keys.importer] = entered(facility, b"IMPORTER", b"INTERNALIMPORT  XLATE   ");
        [_, keys.exporter] = entered(facility, b"EXPORTER", b"INTERNALEXPORT  XLATE   ");
        keys.aes_skeleton = skeleton2(facility, b"INTERNALAES     CIPHER  ");
        [_, keys.format] = entered2(facility, &skeleton2(facility, b"INTERNALAES     CIPHER  FF1     "));
        [keys.aes_part, keys.aes_importer] =
            entered2(facility, &skeleton2(facility, b"INTERNALAES     IMPORTER"));
        [_, keys.aes_exporter] = entered2(facility, &skeleton2(facility, b"INTERNALAES     EXPORTER"));
        let [_, cipher] = entered2(facility, &keys.aes_skeleton);
        let export: Call<'_> = (
            Verb::SymmetricKeyExport,
            vec![
                ("rule_array", Bytes(b"AES     AESKW   ")),
                ("source_key_identifier", Bytes(&cipher)),
                ("rsa_public_key_identifier", Bytes(&keys.aes_exporter)),
                ("rsa_enciphered_key_length", Number(ROOM)),
            ],
        );
        keys.aes_external =
            output(&call(facility, 0, &export), Verb::SymmetricKeyExport, "rsa_enciphered_key");
        keys.curve = agreeing(facility);
        [_, keys.private_importer] = entered(facility, b"IMP-PKA ", b"INTERNAL");
        [_, keys.pin_in] = entered(facility, b"IPINENC ", b"INTERNAL");
        [_, keys.pin_out] = entered(facility, b"OPINENC ", b"INTERNAL");
        [_, keys.pin_gen] = entered(facility, b"PINGEN  ", b"INTERNAL");
        [_, keys.card] = entered(facility, b"MAC     ", b"INTERNALDOUBLE  CVVKEY-A");
        let half = |uses, part| {
            let [_, half] = entered_from(facility, b"MAC     ", uses, part);
            half
        };
        keys.halves =
            [half(b"INTERNALSINGLE  CVVKEY-A", PART), half(b"INTERNALSINGLE  CVVKEY-B", b"another part of.")];
        [_, keys.base] = entered(facility, b"KEYGENKY", b"INTERNALUKPT    ");
        [_, keys.chip] = entered(facility, b"DKYGENKY", b"INTERNALDKYL0   DMAC    ");
        [_, keys.chip_above] = entered(facility, b"DKYGENKY", b"INTERNALDKYL1   DMAC    ");
        [_, keys.chip_pins] = entered(facility, b"DKYGENKY", b"INTERNALDKYL0   DMPIN   ");
        keys.aes_mac_skeleton = skeleton2(facility, b"INTERNALAES     MAC     GENERATECMAC    ");
        let deriving = vec![
            ("rule_array", Bytes(b"INTERNALAES     DKYGENKYD-MAC   DKYL0   ")),
            ("token_data", Bytes(&keys.aes_mac_skeleton)),
            ("target_key_token_length", Number(ROOM)),
        ];
        let built = call(facility, 0, &(Verb::KeyTokenBuild2, deriving));
        let skeleton = output(&built, Verb::KeyTokenBuild2, "target_key_token");
        [_, keys.aes_chip] = entered2(facility, &skeleton);
        let block = call(facility, 0, &pin_in_a_block(&keys));
        keys.pin_block = output(&block, Verb::EncryptedPinGenerate, "encrypted_pin_block");
        keys.rsa_external = transported(facility, &keys.private_importer);
        let hmac: Call<'_> = (
            Verb::KeyGenerate2,
            vec![
                ("rule_array", Bytes(b"HMAC    OP      ")),
                ("clear_key_bit_length", Number(160)),
                ("key_type_1", Bytes(b"MAC     ")),
                ("key_type_2", Bytes(b"        ")),
                ("generated_key_identifier_1_length", Number(ROOM)),
            ],
        );
        keys.hmac = output(&call(facility, 0, &hmac), Verb::KeyGenerate2, "generated_key_identifier_1");
        let encrypt: Call<'_> = (
            Verb::PkaEncrypt,
            vec![
                ("rule_array", Bytes(b"PKCS-1.2")),
                ("key_value", Bytes(b"a secret")),
                ("rsa_public_key", Bytes(&keys.rsa)),
                ("rsa_encipher_length", Number(ROOM)),
            ],
        );
        let block = output(&call(facility, 0, &encrypt), Verb::PkaEncrypt, "rsa_encipher");
        let find = |verb| calls(&keys).into_iter().find(|call| call.0 == verb).unwrap();
        let mac = output(&call(facility, 0, &find(Verb::MacGenerate)), Verb::MacGenerate, "mac");
        let export = call(facility, 0, &find(Verb::SymmetricKeyExport));
        let wrapped = output(&export, Verb::SymmetricKeyExport, "rsa_enciphered_key");
        let export = call(facility, 0, &find(Verb::KeyExport));
        let external = output(&export, Verb::KeyExport, "target_key_token");
        let export = call(facility, 0, &find(Verb::Tr31KeyExport));
        let key_block = output(&export, Verb::Tr31KeyExport, "tr31_key_block");
        Self { external, key_block, signature: mac[..8].to_vec(), block, wrapped, ..keys }
    }
}

fn two_domains(change: impl FnOnce(&mut Settings)) -> Installation {
    let mut settings = settings(2, 1);
    settings.cards.domains = 2;
    settings.tenant_number_next = 10;
    change(&mut settings);
    let mut installation = Installation::stopped(&settings);
    installation.start();
    installation
}

fn hash(credential: &Credential) -> String {
    let digest = engine::sha256(&credential.0);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn tenant(name: &str, number: u32) -> Tenant {
    Tenant {
        credential_sha256: Some(hash(&credential(number))),
        role: Some(wire::role::OWNER.into()),
        ..Tenant::new(name, number)
    }
}

fn credential(number: u32) -> Credential {
    Credential([number as u8; 32])
}

fn facility_of(installation: &Installation, number: u32) -> Facility {
    let options = Options { credential: Some(credential(number)), ..Options::default() };
    Facility::open(installation.home.folder(), options).unwrap()
}

#[test]
fn no_token_of_one_domain_works_in_another() {
    let installation = two_domains(|_| ());
    let facility = installation.facility();
    let keys = Keys::of_domain_0(&facility);
    let calls = calls(&keys);
    for call_of in &calls {
        let name = call_of.0.entry().name;
        let here = call(&facility, 0, call_of);
        assert!(here.codes().has_output(), "{name} in its own domain: {}", here.codes());
        let there = call(&facility, 1, call_of);
        assert!(there.codes().return_code >= 8, "{name} in the other domain: {}", there.codes());
        for (at, parameter) in call_of.0.entry().parameters.iter().enumerate() {
            if parameter.direction == Direction::Out && parameter.kind != Kind::Integer {
                assert!(there.arguments().bytes(at).is_empty(), "{name} shows {}", parameter.name);
            }
        }
    }
    // No verb is forgotten: whatever takes a key is called here, or takes none that is wrapped.
    let mut forgotten = Vec::new();
    for entry in TABLE.iter().filter(|entry| entry.place == Place::Coprocessor) {
        let takes_key = entry.parameters.iter().any(|parameter| matches!(parameter.kind, Kind::Key { .. }));
        let is_called = calls.iter().any(|(verb, _)| *verb == entry.verb);
        let is_other = [&OPEN[..], &NOT_FOR_THE_OWNER].concat().contains(&entry.verb);
        if takes_key && !is_called && !is_other {
            forgotten.push(entry.name);
        }
    }
    assert!(forgotten.is_empty(), "{forgotten:?}");
}

#[test]
fn a_tenant_of_one_domain_does_not_reach_another() {
    let installation = two_domains(|settings| {
        settings.tenants = vec![Tenant { domains: vec![1], ..tenant("one", 1) }];
    });
    let owner = installation.facility();
    let key = mac_key(&owner);
    let one = facility_of(&installation, 1);
    assert_eq!(one.welcome().unwrap().tenant_name, "one");
    match one.call(0, &mac_request(&key, b"text")) {
        Err(FacilityError::Refused { refusal: Refusal::Invalid(why), .. }) => {
            assert!(why.contains("domain 0"))
        }
        other => panic!("{other:?}"),
    }
    let refused = one.call(1, &mac_request(&key, b"text")).unwrap();
    assert!(refused.codes().return_code >= 8, "{}", refused.codes());
}

/// Keeps tenants busy while `meanwhile` runs; gives the number of answers. Every request is answered rightly.
fn under_load(facilities: &[(&Facility, &[u8])], meanwhile: impl FnOnce(&dyn Fn())) -> u64 {
    let (stop, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for (facility, key) in facilities {
            scope.spawn(|| {
                let mut text = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    text += 1;
                    let text = text.to_le_bytes();
                    let reply = facility.call(0, &mac_request(key, &text)).unwrap();
                    assert_eq!(mac_of(&reply), expected_mac(&text));
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Until every part of the change has been met by requests.
        let more = || {
            let until = answers.load(Ordering::Relaxed) + 50;
            while answers.load(Ordering::Relaxed) < until {
                std::thread::yield_now();
            }
        };
        meanwhile(&more);
        stop.store(true, Ordering::Relaxed);
    });
    answers.into_inner()
}

#[test]
fn no_request_is_lost_while_cards_and_tenants_change() {
    let installation = two_domains(|settings| settings.tenants = vec![tenant("one", 1), tenant("two", 2)]);
    let owner = installation.facility();
    let key = mac_key(&owner);
    let (one, two) = (facility_of(&installation, 1), facility_of(&installation, 2));
    let set = |card, change| owner.change(Change::CardSet { card, change }).unwrap();
    let answers = under_load(&[(&one, &key), (&two, &key), (&owner, &key)], |more| {
        more();
        owner
            .change(Change::CardAdd(CardChange {
                personality: Some(Personality::Coprocessor),
                ..CardChange::default()
            }))
            .unwrap();
        more();
        set(0, CardChange { poll: Some(PollMode::Sleep), ..CardChange::default() });
        more();
        owner.change(Change::CardQuiesce { card: 1 }).unwrap();
        more();
        owner.change(Change::CardResume { card: 1 }).unwrap();
        // A card of its own: what it had elsewhere ends, what others have there, too.
        let dedicated = vec![Dedicated { card: 1, share_percent: 100 }];
        owner.change(Change::TenantSet(Tenant { dedicated, ..tenant("one", 1) })).unwrap();
        more();
        let limits = Limits { weight: 3, ..Limits::default() };
        owner.change(Change::TenantSet(Tenant { limits, ..tenant("one", 1) })).unwrap();
        more();
        owner.change(Change::CardRemove { card: 0 }).unwrap();
        more();
    });
    assert!(answers >= 350);
    let rows = installation.until_ready();
    assert_eq!(rows.iter().map(|row| row.index).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_removed_tenant_is_told_so() {
    let installation = two_domains(|settings| settings.tenants = vec![tenant("one", 1)]);
    let owner = installation.facility();
    let key = mac_key(&owner);
    let one = facility_of(&installation, 1);
    mac_of(&one.call(0, &mac_request(&key, b"text")).unwrap());
    owner.change(Change::TenantRemove { name: "one".into() }).unwrap();
    match one.call(0, &mac_request(&key, b"text")) {
        Err(error @ FacilityError::Refused { refusal: Refusal::NoSuchTenant(_), .. }) => {
            assert_eq!(error.ran(), facility::Ran::No);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_quiesced_card_shows_and_stays_so_with_real_cards() {
    let mut installation = two_domains(|_| ());
    let owner = installation.facility();
    owner.change(Change::CardQuiesce { card: 1 }).unwrap();
    drop(owner);
    installation.kill_daemon();
    installation.start();
    let card = || installation.facility().status().unwrap().cards[1].state;
    assert_eq!(card(), CardState::Quiescing);
    let options = Options { card_wait: Duration::from_millis(50), ..Options::default() };
    let options = Options { selection: facility::Selection::card(1), ..options };
    let only = Facility::open(installation.home.folder(), options).unwrap();
    assert!(matches!(only.call(0, &system_tests::null()), Err(FacilityError::NoCard { .. })));
    installation.facility().change(Change::CardResume { card: 1 }).unwrap();
    let _ = only.call(0, &system_tests::null()).unwrap();
}
