//! A processor with master keys of its own, and valid tokens under them.

use crate::keywords::padded;
use cca::{Batch, Incoming, Processor};
use engine::{Engine, Level, Options};
use lab::load::keys::rsa_test_key;
use token::pka::{self, Attributes, ClearKey, CrtComponents, Form, PkaToken, Usage};
use wire::control::{Handout, MasterKeyPair, Register, TokenForm, TokenForms};
use wire::frame::Arguments;
use wire::verb::{
    Verb, clear_key_import_multiple as ckm, key_export as kex, key_generate as kgn, key_part_import as kpi,
    key_part_import2 as kpi2, key_token_build as ktb, key_token_build2 as ktb2, pka_key_import as pki,
    pka_public_key_extract as pkx, symmetric_key_export as syx,
};

/// Positions among the tokens.
const DATA_DOUBLE: usize = 1;
const MAC_DOUBLE: usize = 3;
const AES_128: usize = 11;
const CRT_PUBLIC: usize = 18;
const CRT_CLEAR: usize = 19;
/// A token has at most this many bytes.
const ROOM: i64 = wire::bounds::PKA_TOKEN_BYTES_MAX as i64;

/// The value of the DES keys of PINs.
pub const PIN_VALUE: [u8; 16] =
    [0x61, 0x62, 0x64, 0x67, 0x68, 0x6B, 0x6D, 0x6E, 0x70, 0x73, 0x75, 0x76, 0x79, 0x7A, 0x7C, 0x7F];
/// The value of the AES keys of PINs.
pub const AES_PIN_VALUE: [u8; 16] =
    [0x90, 0x92, 0x94, 0x96, 0x98, 0x9A, 0x9C, 0x9E, 0xA0, 0xA2, 0xA4, 0xA6, 0xA8, 0xAA, 0xAC, 0xAE];

/// With the lowest bit such that the byte has odd parity, as DES keys do.
fn odd(byte: u8) -> u8 {
    byte ^ u8::from(byte.count_ones().is_multiple_of(2))
}

/// A processor, tokens that it opens, and what none of its answers may hold.
pub struct Keys {
    pub processor: Processor,
    pub tokens: Vec<Vec<u8>>,
    pub secrets: Vec<Vec<u8>>,
    /// Where among the tokens those of PINs begin: IPINENC, OPINENC, PINGEN and KEYGENKY of [`PIN_VALUE`], a key of
    /// card verification values, then the four of AES of [`AES_PIN_VALUE`].
    pub pins: usize,
    /// The AES-128 key as exported under the public key of the 1024-bit CRT key.
    pub exported: Vec<u8>,
    /// The CIPHER key of variable length as exported under the AES transport key.
    pub external: Vec<u8>,
}

impl Keys {
    /// DES keys of several types and lengths, AES keys of every length, RSA keys of two forms; then key-encrypting keys
    /// of both sides, what is wrapped under them, a token without a key, and a CVARENC key; then AES keys of variable
    /// length: an IMPORTER and an EXPORTER key of one value, a CIPHER key, and that key under this value; then an RSA
    /// key under the ASYM master key, and one for TLS; then keys of PINs (IPINENC, OPINENC, PINGEN, KEYGENKY) and of
    /// card verification values; then those of AES (PINPROT of either side, DKYGENKY, MAC for changes of PANs); then
    /// keys that derive those of chip cards, of DES and of AES, and that encipher messages to cards (SECMSG); then AES
    /// keys that protect key blocks, a pair of keys of card verification values, and an AES key of FF1.
    pub fn new() -> Self {
        Self::with_level(None)
    }

    /// The same with kernels of this level at the most.
    ///
    /// # Panics
    /// Where the machine lacks it.
    pub fn with_level(limit: Option<Level>) -> Self {
        let engine = Engine::new(Options { limit, weak_algorithms: true }).expect("an engine");
        let mut processor = Processor::new(engine, 1);
        let keys = Register::ALL.map(|register| MasterKeyPair {
            current: (0..register.key_bytes()).map(|index| 0x10 + 3 * index as u8).collect(),
            old: Vec::new(),
        });
        let mut secrets: Vec<_> = keys.iter().map(|pair| pair.current.clone()).collect();
        processor.load(&Handout { domain: 0, keys }).expect("keys of the right length");
        let mut keys = Self {
            processor,
            tokens: Vec::new(),
            secrets: Vec::new(),
            pins: 0,
            exported: Vec::new(),
            external: Vec::new(),
        };
        for (length, key_type) in [
            ("SINGLE", "DATA"),
            ("DOUBLE", "DATA"),
            ("SINGLE", "MAC"),
            ("DOUBLE", "MAC"),
            ("DOUBLE", "MACVER"),
            ("DOUBLE", "CIPHER"),
            ("DOUBLE", "ENCIPHER"),
            ("DOUBLE", "DECIPHER"),
        ] {
            let token = keys.generated(length, key_type);
            keys.tokens.push(token);
        }
        for (algorithm, length) in
            [("DES", 8), ("DES", 16), ("DES", 24), ("AES", 16), ("AES", 24), ("AES", 32)]
        {
            let clear: Vec<u8> = (0..length as u8).map(|index| odd(0x80 | (2 * index))).collect();
            let token = keys.imported(algorithm, &clear);
            keys.tokens.push(token);
            secrets.push(clear);
        }
        for (bits, form) in [(512, Form::Me1024), (1024, Form::Crt), (1024, Form::Me1024)] {
            let [private, public, clear] = keys.rsa(bits, form, &mut secrets);
            keys.tokens.extend([private, public, clear]);
        }
        keys.add_transport(&mut secrets);
        let token = keys.generated("SINGLE", "CVARENC");
        keys.tokens.push(token);
        keys.add_variable(&mut secrets);
        keys.add_asym();
        keys.add_tls();
        keys.add_pins(&mut secrets);
        keys.add_aes_pins(&mut secrets);
        keys.add_chips(&mut secrets);
        keys.add_protecting(&mut secrets);
        let token = keys.entered_variable(&["CIPHER", "FF1"], &[0x15; 32]);
        keys.tokens.push(token);
        secrets.retain(|secret| secret.len() >= 16);
        keys.secrets = secrets;
        keys.exported = keys.exported();
        keys
    }

    fn call<'a>(&mut self, request: &Arguments<'a>, output: usize) -> Vec<u8> {
        let mut payload = Vec::new();
        request.write_request(&mut payload).expect("a request that fits");
        let mut batch = Batch::new();
        batch
            .push(&Incoming {
                verb: request.verb(),
                domain: 0,
                points: &wire::point::PointSet::EVERYTHING,
                payload: &payload,
            })
            .expect("room");
        self.processor.run(&mut batch);
        let answer = &batch.answers()[0];
        let name = request.verb().entry().name;
        assert!(answer.codes.has_output(), "{name}: {}", answer.codes);
        Arguments::read_reply(request.verb(), &answer.payload).expect("a reply").bytes(output).to_vec()
    }

    fn generated(&mut self, length: &str, key_type: &str) -> Vec<u8> {
        let (length, key_type) = (padded(length), padded(key_type));
        let mut request = Arguments::new(Verb::KeyGenerate);
        request.set_bytes(kgn::KEY_FORM, b"OP  ").set_bytes(kgn::KEY_LENGTH, &length);
        request.set_bytes(kgn::KEY_TYPE_1, &key_type).set_bytes(kgn::KEY_TYPE_2, b"        ");
        request.set_bytes(kgn::GENERATED_KEY_IDENTIFIER_1, &[0; 64]);
        self.call(&request, kgn::GENERATED_KEY_IDENTIFIER_1)
    }

    /// An IMPORTER and an EXPORTER key of one value, a MAC key and a DATA key under it, and a MAC skeleton.
    fn add_transport(&mut self, secrets: &mut Vec<Vec<u8>>) {
        let value: Vec<u8> = (0..16u8).map(|index| odd(0x30 + 2 * index)).collect();
        let importer = self.entered("IMPORTER", &["IMPORT", "OPIM", "IMEX", "IMIM", "XLATE"], &value);
        let exporter = self.entered("EXPORTER", &["EXPORT", "OPEX", "IMEX", "EXEX", "XLATE"], &value);
        secrets.push(value);
        let exported = [MAC_DOUBLE, DATA_DOUBLE].map(|key| {
            let source = self.tokens[key].clone();
            let mut request = Arguments::new(Verb::KeyExport);
            request.set_bytes(kex::KEY_TYPE, b"TOKEN   ");
            request.set_bytes(kex::SOURCE_KEY_IDENTIFIER, &source);
            request.set_bytes(kex::EXPORTER_KEY_IDENTIFIER, &exporter);
            self.call(&request, kex::TARGET_KEY_TOKEN)
        });
        let skeleton = self.skeleton("MAC", &["DOUBLE"]);
        self.tokens.extend([importer, exporter]);
        self.tokens.extend(exported);
        self.tokens.push(skeleton);
    }

    /// AES transport keys of one value, a CIPHER key, and what is wrapped under them.
    fn add_variable(&mut self, secrets: &mut Vec<Vec<u8>>) {
        let value: Vec<u8> = (0..16u8).map(|index| 0x50 + 2 * index).collect();
        let importer = self.entered_variable(&["IMPORTER"], &value);
        let exporter = self.entered_variable(&["EXPORTER"], &value);
        let cipher =
            self.entered_variable(&["CIPHER"], &value.iter().map(|byte| byte ^ 0xFF).collect::<Vec<_>>());
        let rules = [padded("AES"), padded("AESKW")].concat();
        let mut request = Arguments::new(Verb::SymmetricKeyExport);
        request.set_integer(syx::RULE_ARRAY_COUNT, 2).set_bytes(syx::RULE_ARRAY, &rules);
        request.set_integer(syx::SOURCE_KEY_IDENTIFIER_LENGTH, cipher.len() as i64);
        request.set_bytes(syx::SOURCE_KEY_IDENTIFIER, &cipher);
        request.set_integer(syx::RSA_PUBLIC_KEY_IDENTIFIER_LEN, exporter.len() as i64);
        request.set_bytes(syx::RSA_PUBLIC_KEY_IDENTIFIER, &exporter);
        request.set_integer(syx::RSA_ENCIPHERED_KEY_LENGTH, ROOM);
        let external = self.call(&request, syx::RSA_ENCIPHERED_KEY);
        secrets.push(value);
        self.external = external.clone();
        self.tokens.extend([importer, exporter, cipher, external]);
    }

    /// The 1024-bit CRT key under the ASYM master key.
    fn add_asym(&mut self) {
        self.processor.set_token_forms(TokenForms { form: TokenForm::Compatible, open_compatible: true });
        let token = self.private(&self.tokens[CRT_CLEAR].clone());
        self.processor.set_token_forms(TokenForms::default());
        self.tokens.push(token);
    }

    /// The 1024-bit CRT key as one of TLS.
    fn add_tls(&mut self) {
        let key = rsa_test_key(1024, 1).expect("a size that is listed");
        let components = CrtComponents { p: &key.p, q: &key.q, dp: &key.dp, dq: &key.dq, u: &key.qinv };
        let clear = ClearKey::Crt { n: &key.n, e: &key.e, components };
        let attributes = Attributes { usage: Usage::TlsOnly, ..Attributes::default() };
        let source = pka::clear_token(Form::Crt, &clear, &attributes, &(engine::sha1, engine::sha256))
            .expect("a clear token");
        let token = self.private(&source);
        self.tokens.push(token);
    }

    /// Keys of one value for PIN blocks that come in and go out, for PINs, for transactions and for card verification
    /// values.
    fn add_pins(&mut self, secrets: &mut Vec<Vec<u8>>) {
        let value = PIN_VALUE.to_vec();
        self.pins = self.tokens.len();
        let kinds: [(&str, &[&str]); 5] = [
            ("IPINENC", &[]),
            ("OPINENC", &[]),
            ("PINGEN", &[]),
            ("KEYGENKY", &["UKPT"]),
            ("MAC", &["DOUBLE", "CVVKEY-A"]),
        ];
        for (key_type, usage) in kinds {
            let token = self.entered(key_type, usage, &value);
            self.tokens.push(token);
        }
        secrets.push(value);
    }

    /// The same of AES, with a key that verifies changes of PANs.
    fn add_aes_pins(&mut self, secrets: &mut Vec<Vec<u8>>) {
        let value = AES_PIN_VALUE.to_vec();
        let kinds: [&[&str]; 4] = [
            &["PINPROT", "DECRYPT", "PINXLATE", "REFORMAT", "RFMT4TO1", "EPINVER", "ISO-4"],
            &["PINPROT", "ENCRYPT", "PINXLATE", "REFORMAT", "RFMT1TO4", "EPINGEN", "ISO-4"],
            &["DKYGENKY", "D-ALL", "A-DUKPT"],
            &["MAC", "VERIFY", "PTR2AUTH"],
        ];
        for words in kinds {
            let token = self.entered_variable(words, &value);
            self.tokens.push(token);
        }
        secrets.push(value);
    }

    /// AES keys of one value that protect key blocks, IMPORTER and EXPORTER, and keys A and B of card verification
    /// values.
    fn add_protecting(&mut self, secrets: &mut Vec<Vec<u8>>) {
        let value: Vec<u8> = (0..16u8).map(|index| 0x70 + 2 * index).collect();
        for key_type in ["IMPORTER", "EXPORTER"] {
            let token = self.entered_variable(&[key_type, "WR-TR31"], &value);
            self.tokens.push(token);
        }
        for (word, value) in [("CVVKEY-A", 0x11), ("CVVKEY-B", 0x13)] {
            let token = self.entered("MAC", &["SINGLE", word], &[value; 16]);
            self.tokens.push(token);
        }
        secrets.push(value);
    }

    /// Keys of one value that derive those of chip cards, and encipher messages to these.
    fn add_chips(&mut self, secrets: &mut Vec<Vec<u8>>) {
        let value: Vec<u8> = (0..16u8).map(|index| odd(0x90 + 2 * index)).collect();
        let [messages_of_keys, messages_of_pins, of_pins] =
            [("SECMSG", &["SMKEY"][..]), ("SECMSG", &["SMPIN"]), ("DKYGENKY", &["DKYL0", "DMPIN"])]
                .map(|(key_type, usage)| self.entered(key_type, usage, &value));
        let cryptograms = self.entered("DKYGENKY", &["DKYL0", "DMAC"], &value);
        let above = self.entered("DKYGENKY", &["DKYL1", "DMAC"], &value);
        let aes = self.entered_variable(&["DKYGENKY"], &value);
        self.tokens.extend([cryptograms, above, aes, messages_of_keys, messages_of_pins, of_pins]);
        secrets.push(value);
    }

    /// An AES key of variable length of this type and usage, entered in one part.
    fn entered_variable(&mut self, words: &[&str], value: &[u8]) -> Vec<u8> {
        let words: Vec<u8> = ["INTERNAL", "AES"].iter().chain(words).flat_map(|word| padded(word)).collect();
        let mut request = Arguments::new(Verb::KeyTokenBuild2);
        request.set_integer(ktb2::RULE_ARRAY_COUNT, words.len() as i64 / 8);
        request.set_bytes(ktb2::RULE_ARRAY, &words);
        request.set_integer(ktb2::TARGET_KEY_TOKEN_LENGTH, ROOM);
        let mut token = self.call(&request, ktb2::TARGET_KEY_TOKEN);
        for (words, part) in [(&["AES", "FIRST", "MIN1PART"][..], value), (&["AES", "COMPLETE"], &[])] {
            let rules: Vec<u8> = words.iter().flat_map(|word| padded(word)).collect();
            let mut request = Arguments::new(Verb::KeyPartImport2);
            request.set_integer(kpi2::RULE_ARRAY_COUNT, words.len() as i64);
            request.set_bytes(kpi2::RULE_ARRAY, &rules);
            request.set_integer(kpi2::CLEAR_KEY_PART_LENGTH, 8 * part.len() as i64);
            request.set_bytes(kpi2::CLEAR_KEY_PART, part);
            request.set_integer(kpi2::KEY_IDENTIFIER_LENGTH, ROOM).set_bytes(kpi2::KEY_IDENTIFIER, &token);
            token = self.call(&request, kpi2::KEY_IDENTIFIER);
        }
        token
    }

    fn skeleton(&mut self, key_type: &str, usage: &[&str]) -> Vec<u8> {
        let key_type = padded(key_type);
        let words: Vec<u8> = ["INTERNAL"].iter().chain(usage).flat_map(|word| padded(word)).collect();
        let mut request = Arguments::new(Verb::KeyTokenBuild);
        request.set_bytes(ktb::KEY_TYPE, &key_type);
        request.set_integer(ktb::RULE_ARRAY_COUNT, (words.len() / 8) as i64);
        request.set_bytes(ktb::RULE_ARRAY, &words);
        self.call(&request, ktb::KEY_TOKEN)
    }

    fn entered(&mut self, key_type: &str, usage: &[&str], value: &[u8]) -> Vec<u8> {
        let mut token = self.skeleton(key_type, usage);
        for (step, part) in [("FIRST", value), ("LAST", &[0; 16])] {
            let step = padded(step);
            let mut request = Arguments::new(Verb::KeyPartImport);
            request.set_integer(kpi::RULE_ARRAY_COUNT, 1).set_bytes(kpi::RULE_ARRAY, &step);
            request.set_bytes(kpi::KEY_PART, part).set_bytes(kpi::KEY_IDENTIFIER, &token);
            token = self.call(&request, kpi::KEY_IDENTIFIER);
        }
        token
    }

    fn exported(&mut self) -> Vec<u8> {
        let rules = [padded("AES"), padded("PKCSOAEP")].concat();
        let (key, public) = (self.tokens[AES_128].clone(), self.tokens[CRT_PUBLIC].clone());
        let mut request = Arguments::new(Verb::SymmetricKeyExport);
        request.set_integer(syx::RULE_ARRAY_COUNT, 2).set_bytes(syx::RULE_ARRAY, &rules);
        request.set_integer(syx::SOURCE_KEY_IDENTIFIER_LENGTH, key.len() as i64);
        request.set_bytes(syx::SOURCE_KEY_IDENTIFIER, &key);
        request.set_integer(syx::RSA_PUBLIC_KEY_IDENTIFIER_LEN, public.len() as i64);
        request.set_bytes(syx::RSA_PUBLIC_KEY_IDENTIFIER, &public);
        request.set_integer(syx::RSA_ENCIPHERED_KEY_LENGTH, ROOM);
        self.call(&request, syx::RSA_ENCIPHERED_KEY)
    }

    fn imported(&mut self, algorithm: &str, clear: &[u8]) -> Vec<u8> {
        let algorithm = padded(algorithm);
        let mut request = Arguments::new(Verb::ClearKeyImportMultiple);
        request.set_integer(ckm::RULE_ARRAY_COUNT, 1).set_bytes(ckm::RULE_ARRAY, &algorithm);
        request.set_integer(ckm::CLEAR_KEY_LENGTH, clear.len() as i64).set_bytes(ckm::CLEAR_KEY, clear);
        request.set_bytes(ckm::TARGET_KEY_IDENTIFIER, &[0; 64]);
        self.call(&request, ckm::TARGET_KEY_IDENTIFIER)
    }

    /// The internal token of a clear one.
    pub(crate) fn private(&mut self, source: &[u8]) -> Vec<u8> {
        let mut request = Arguments::new(Verb::PkaKeyImport);
        request.set_integer(pki::SOURCE_KEY_TOKEN_LENGTH, source.len() as i64);
        request.set_bytes(pki::SOURCE_KEY_TOKEN, source).set_bytes(pki::IMPORTER_KEY_IDENTIFIER, &[0; 64]);
        request.set_integer(pki::TARGET_KEY_IDENTIFIER_LENGTH, ROOM);
        self.call(&request, pki::TARGET_KEY_IDENTIFIER)
    }

    /// An RSA key as internal token, as public token and as clear external token.
    fn rsa(&mut self, bits: u32, form: Form, secrets: &mut Vec<Vec<u8>>) -> [Vec<u8>; 3] {
        let key = rsa_test_key(bits, usize::from(form == Form::Crt)).expect("a size that is listed");
        let components = CrtComponents { p: &key.p, q: &key.q, dp: &key.dp, dq: &key.dq, u: &key.qinv };
        let clear = match form {
            Form::Crt | Form::CrtAes => ClearKey::Crt { n: &key.n, e: &key.e, components },
            Form::Me1024 | Form::MeAes => ClearKey::Me { n: &key.n, e: &key.e, d: &key.d },
        };
        let attributes = Attributes { usage: Usage::KeyManagement, ..Attributes::default() };
        let source = pka::clear_token(form, &clear, &attributes, &(engine::sha1, engine::sha256))
            .expect("a clear token")
            .to_vec();
        secrets.extend([key.d.clone(), key.p.clone(), key.q.clone()]);
        let private = self.private(&source);
        let mut request = Arguments::new(Verb::PkaPublicKeyExtract);
        request.set_integer(pkx::SOURCE_KEY_IDENTIFIER_LENGTH, private.len() as i64);
        request.set_bytes(pkx::SOURCE_KEY_IDENTIFIER, &private);
        request.set_integer(pkx::TARGET_KEY_TOKEN_LENGTH, ROOM);
        let public = self.call(&request, pkx::TARGET_KEY_TOKEN);
        for token in [&private, &public] {
            assert!(
                PkaToken::parse(token, &(engine::sha1, engine::sha256)).is_ok(),
                "a card's own token is read"
            );
        }
        [private, public, source]
    }
}
