//! Keys of one domain, of every kind.

use super::calls::Value::{Bytes, Number};
use super::calls::{Call, NONE, PART, ROOM, call, calls, output, pin_in_a_block};
use facility::Facility;
use system_tests::{mac_key, rsa_skeleton_for};
use wire::verb::{PkaUsage, Verb};

/// Keys of domain 0, and what was made with them there.
#[derive(Default)]
pub struct Keys {
    pub des: Vec<u8>,
    pub aes: Vec<u8>,
    /// Deciphers data.
    pub rsa: Vec<u8>,
    /// Deciphers keys.
    pub transport: Vec<u8>,
    /// Opens premaster secrets of TLS.
    pub tls: Vec<u8>,
    /// The MAC of the text under the DES key.
    pub signature: Vec<u8>,
    /// A block under the RSA key.
    pub block: Vec<u8>,
    /// A key under the one for keys.
    pub wrapped: Vec<u8>,
    /// Key-encrypting keys of one value, and the first part of one.
    pub importer: Vec<u8>,
    pub exporter: Vec<u8>,
    pub part: Vec<u8>,
    /// The DES key under that value.
    pub external: Vec<u8>,
    pub hmac: Vec<u8>,
    /// Enciphers cryptographic variables.
    pub variable: Vec<u8>,
    /// AES transport keys of one value, the first part of one, a CIPHER key under that value, and a token for one.
    pub aes_importer: Vec<u8>,
    pub aes_exporter: Vec<u8>,
    pub aes_part: Vec<u8>,
    pub aes_external: Vec<u8>,
    pub aes_skeleton: Vec<u8>,
    /// A CIPHER key for FF1.
    pub format: Vec<u8>,
    /// PIN keys: IPINENC and OPINENC of one value, PINGEN; a block of theirs; a key of card verification values.
    pub pin_in: Vec<u8>,
    pub pin_out: Vec<u8>,
    pub pin_gen: Vec<u8>,
    pub pin_block: Vec<u8>,
    pub card: Vec<u8>,
    /// A key of card security codes.
    pub codes: Vec<u8>,
    /// A pair of keys of card verification values, and the OPINENC key in a key block.
    pub halves: [Vec<u8>; 2],
    pub key_block: Vec<u8>,
    /// Derives keys of transactions.
    pub base: Vec<u8>,
    /// Keys that derive keys of chip cards, at both levels, one of AES, and what that derives.
    pub chip: Vec<u8>,
    pub chip_above: Vec<u8>,
    pub chip_pins: Vec<u8>,
    pub aes_chip: Vec<u8>,
    pub aes_mac_skeleton: Vec<u8>,
    /// Agrees on AES keys.
    pub curve: Vec<u8>,
    /// A transport key of private keys, and an RSA key under its value.
    pub private_importer: Vec<u8>,
    pub rsa_external: Vec<u8>,
}

/// An AES key of variable length and of a known value: its first part, and all of it.
pub fn entered2(facility: &Facility, skeleton: &[u8]) -> [Vec<u8>; 2] {
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
pub fn skeleton2(facility: &Facility, rules: &[u8]) -> Vec<u8> {
    let values = vec![("rule_array", Bytes(rules)), ("target_key_token_length", Number(ROOM))];
    output(&call(facility, 0, &(Verb::KeyTokenBuild2, values)), Verb::KeyTokenBuild2, "target_key_token")
}

/// A key of P-256 that agrees on AES DATA keys of 128 bits.
pub fn agreeing(facility: &Facility) -> Vec<u8> {
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
    let made = facility.ask(0, &system_tests::rsa_generate(&skeleton)).unwrap();
    output(&made, Verb::PkaKeyGenerate, "generated_key_identifier")
}

/// An RSA key under a transport key, which may be translated.
pub fn transported(facility: &Facility, transport: &[u8]) -> Vec<u8> {
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
pub fn entered(facility: &Facility, key_type: &[u8], uses: &[u8]) -> [Vec<u8>; 2] {
    entered_from(facility, key_type, uses, PART)
}

/// The same of another part.
pub fn entered_from(
    facility: &Facility,
    key_type: &[u8],
    uses: &[u8],
    first: &'static [u8; 16],
) -> [Vec<u8>; 2] {
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
    pub fn of_domain_0(facility: &Facility) -> Self {
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
            let made = facility.ask(0, &system_tests::rsa_generate(&skeleton)).unwrap();
            output(&made, Verb::PkaKeyGenerate, "generated_key_identifier")
        };
        (keys.rsa, keys.transport, keys.tls) =
            (rsa(PkaUsage::KeyManagement), rsa(PkaUsage::KeyManagementOnly), rsa(PkaUsage::TlsOnly));
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
        [_, keys.codes] = entered(facility, b"MAC     ", b"INTERNALDOUBLE  AMEX-CSC");
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
