//! A processor with master keys of its own, and valid tokens under them.

use crate::keywords::padded;
use cca::{Batch, Incoming, Processor};
use engine::{Engine, Level, Options};
use lab::load::keys::rsa_test_key;
use token::pka::{self, Attributes, ClearKey, CrtComponents, Form, PkaToken, Usage};
use wire::control::{Handout, MasterKeyPair, Register, TokenForm, TokenForms};
use wire::frame::Arguments;
use wire::point::PointSet;
use wire::verb::{
    ExportAlgorithm, ExportFormat, Filled, Key, KeyAlgorithm, KeyPart, KeyPartsLeast, Room, TokenOrigin,
    TypedAsk, TypedGot, VariableAlgorithm, VariableKeyPart, VariableKeyType,
    clear_key_import_multiple as ckm, key_export as kex, key_generate as kgn, key_part_import as kpi,
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
const ROOM: usize = wire::bounds::PKA_TOKEN_BYTES_MAX;

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
        use KeyAlgorithm::{Aes, Des};
        for (algorithm, length) in [(Des, 8), (Des, 16), (Des, 24), (Aes, 16), (Aes, 24), (Aes, 32)] {
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
        let token = keys.entered_variable(VariableKeyType::Cipher, &["FF1"], &[0x15; 32]);
        keys.tokens.push(token);
        secrets.retain(|secret| secret.len() >= 16);
        keys.secrets = secrets;
        keys.exported = keys.exported();
        keys
    }

    fn call<A: TypedAsk>(
        &mut self,
        ask: &A,
        output: impl for<'g> FnOnce(&'g A::Got<'_>) -> &'g [u8],
    ) -> Vec<u8> {
        let mut payload = Vec::new();
        ask.arguments(&mut Filled::default()).write_request(&mut payload).expect("a request that fits");
        let mut batch = Batch::new();
        let points = &PointSet::EVERYTHING;
        batch.push(&Incoming { verb: A::VERB, domain: 0, points, payload: &payload }).expect("room");
        self.processor.run(&mut batch);
        let answer = &batch.answers()[0];
        assert!(answer.codes.has_output(), "{}: {}", A::VERB.entry().name, answer.codes);
        let reply = Arguments::read_reply(A::VERB, &answer.payload).expect("a reply");
        output(&A::Got::of(&reply)).to_vec()
    }

    fn generated(&mut self, length: &str, key_type: &str) -> Vec<u8> {
        let request = kgn::Ask {
            key_form: b"OP  ",
            key_length: &padded(length),
            key_type_1: &padded(key_type),
            key_type_2: b"        ",
            ..kgn::Ask::new()
        };
        self.call(&request, |got| got.generated_key_identifier_1)
    }

    /// An IMPORTER and an EXPORTER key of one value, a MAC key and a DATA key under it, and a MAC skeleton.
    fn add_transport(&mut self, secrets: &mut Vec<Vec<u8>>) {
        let value: Vec<u8> = (0..16u8).map(|index| odd(0x30 + 2 * index)).collect();
        let importer = self.entered("IMPORTER", &["IMPORT", "OPIM", "IMEX", "IMIM", "XLATE"], &value);
        let exporter = self.entered("EXPORTER", &["EXPORT", "OPEX", "IMEX", "EXEX", "XLATE"], &value);
        secrets.push(value);
        let exported = [MAC_DOUBLE, DATA_DOUBLE].map(|key| {
            let source = self.tokens[key].clone();
            let request = kex::Ask {
                key_type: b"TOKEN   ",
                source_key_identifier: (&source).into(),
                exporter_key_identifier: (&exporter).into(),
                ..kex::Ask::new()
            };
            self.call(&request, |got| got.target_key_token)
        });
        let skeleton = self.skeleton("MAC", &["DOUBLE"]);
        self.tokens.extend([importer, exporter]);
        self.tokens.extend(exported);
        self.tokens.push(skeleton);
    }

    /// AES transport keys of one value, a CIPHER key, and what is wrapped under them.
    fn add_variable(&mut self, secrets: &mut Vec<Vec<u8>>) {
        let value: Vec<u8> = (0..16u8).map(|index| 0x50 + 2 * index).collect();
        let importer = self.entered_variable(VariableKeyType::Importer, &[], &value);
        let exporter = self.entered_variable(VariableKeyType::Exporter, &[], &value);
        let other: Vec<u8> = value.iter().map(|byte| byte ^ 0xFF).collect();
        let cipher = self.entered_variable(VariableKeyType::Cipher, &[], &other);
        let external = self.exported_under(ExportFormat::Aeskw, &cipher, &exporter);
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
        use VariableKeyType::{DkyGenKy, Mac, PinProt};
        let kinds: [(VariableKeyType, &[&str]); 4] = [
            (PinProt, &["DECRYPT", "PINXLATE", "REFORMAT", "RFMT4TO1", "EPINVER", "ISO-4"]),
            (PinProt, &["ENCRYPT", "PINXLATE", "REFORMAT", "RFMT1TO4", "EPINGEN", "ISO-4"]),
            (DkyGenKy, &["D-ALL", "A-DUKPT"]),
            (Mac, &["VERIFY", "PTR2AUTH"]),
        ];
        for (key_type, usage) in kinds {
            let token = self.entered_variable(key_type, usage, &value);
            self.tokens.push(token);
        }
        secrets.push(value);
    }

    /// AES keys of one value that protect key blocks, IMPORTER and EXPORTER, and keys A and B of card verification
    /// values.
    fn add_protecting(&mut self, secrets: &mut Vec<Vec<u8>>) {
        let value: Vec<u8> = (0..16u8).map(|index| 0x70 + 2 * index).collect();
        for key_type in [VariableKeyType::Importer, VariableKeyType::Exporter] {
            let token = self.entered_variable(key_type, &["WR-TR31"], &value);
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
        let aes = self.entered_variable(VariableKeyType::DkyGenKy, &[], &value);
        self.tokens.extend([cryptograms, above, aes, messages_of_keys, messages_of_pins, of_pins]);
        secrets.push(value);
    }

    /// An AES key of variable length of this type and usage, entered in one part.
    fn entered_variable(&mut self, key_type: VariableKeyType, usage: &[&str], value: &[u8]) -> Vec<u8> {
        let usage: Vec<_> = usage.iter().map(|word| padded(word)).collect();
        let request = ktb2::Ask {
            usage: &usage,
            target_key_token: ROOM,
            ..ktb2::Ask::new(TokenOrigin::Internal, VariableAlgorithm::Aes, key_type)
        };
        let mut token = self.call(&request, |got| got.target_key_token);
        for (part, least, value) in [
            (VariableKeyPart::First, Some(KeyPartsLeast::One), value),
            (VariableKeyPart::Complete, None, &[]),
        ] {
            let request = kpi2::Ask {
                least,
                clear_key_part: value,
                key_identifier: Room { given: &token, bytes: ROOM },
                ..kpi2::Ask::new(VariableAlgorithm::Aes, part)
            };
            token = self.call(&request, |got| got.key_identifier);
        }
        token
    }

    fn skeleton(&mut self, key_type: &str, usage: &[&str]) -> Vec<u8> {
        let usage: Vec<_> = usage.iter().map(|word| padded(word)).collect();
        let request = ktb::Ask {
            key_type: Some(&padded(key_type)),
            usage: &usage,
            ..ktb::Ask::new(TokenOrigin::Internal)
        };
        self.call(&request, |got| got.key_token)
    }

    fn entered(&mut self, key_type: &str, usage: &[&str], value: &[u8]) -> Vec<u8> {
        let mut token = self.skeleton(key_type, usage);
        for (step, part) in [(KeyPart::First, value), (KeyPart::Last, &[0; 16])] {
            let request = kpi::Ask { key_part: part, key_identifier: (&token).into(), ..kpi::Ask::new(step) };
            token = self.call(&request, |got| got.key_identifier);
        }
        token
    }

    fn exported(&mut self) -> Vec<u8> {
        let (key, public) = (self.tokens[AES_128].clone(), self.tokens[CRT_PUBLIC].clone());
        self.exported_under(ExportFormat::Oaep, &key, &public)
    }

    /// An AES key under an EXPORTER key or an RSA key.
    fn exported_under(&mut self, format: ExportFormat, key: &[u8], under: &[u8]) -> Vec<u8> {
        let request = syx::Ask {
            algorithm: Some(ExportAlgorithm::Aes),
            source_key_identifier: key.into(),
            rsa_public_key_identifier: under.into(),
            rsa_enciphered_key: ROOM,
            ..syx::Ask::new(format)
        };
        self.call(&request, |got| got.rsa_enciphered_key)
    }

    fn imported(&mut self, algorithm: KeyAlgorithm, clear: &[u8]) -> Vec<u8> {
        let request = ckm::Ask { algorithm: Some(algorithm), clear_key: clear, ..ckm::Ask::new() };
        self.call(&request, |got| got.target_key_identifier)
    }

    /// The internal token of a clear one.
    pub(crate) fn private(&mut self, source: &[u8]) -> Vec<u8> {
        let request = pki::Ask {
            source_key_token: source.into(),
            importer_key_identifier: Key::Bytes(&[0; 64]),
            target_key_identifier: Room::of(ROOM),
            ..pki::Ask::new()
        };
        self.call(&request, |got| got.target_key_identifier)
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
        let request =
            pkx::Ask { source_key_identifier: (&private).into(), target_key_token: ROOM, ..pkx::Ask::new() };
        let public = self.call(&request, |got| got.target_key_token);
        for token in [&private, &public] {
            assert!(
                PkaToken::parse(token, &(engine::sha1, engine::sha256)).is_ok(),
                "a card's own token is read"
            );
        }
        [private, public, source]
    }
}
