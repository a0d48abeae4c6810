//! The keys: one of each type of `token`, and what else a key-identifier field may hold.

use super::ways::{Others, TRANSPORT, curve_token, entered2, generate2, internal, public_part, skeleton_of};
use crate::support::{entered, generate, part};
use cca::Processor;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::pka::Usage;
use token::variable::{Attributes, VariableType, Wrapper};
use token::{AesToken, ControlVector, DesToken, KeyType, VariableToken};
use wire::verb::{key_generate, key_generate2, key_part_import};

/// A key to be tried.
pub struct Sample {
    /// The name of the kind of key, as the page of uses has it.
    pub name: String,
    /// A token of it.
    pub token: Vec<u8>,
    /// The form of the token.
    pub kind: SampleKind,
}

/// The form of a token.
pub enum SampleKind {
    /// A wrapped DES key of this control vector and length.
    Des(ControlVector, usize),
    /// A wrapped key of variable length.
    Variable(Attributes),
    /// An RSA key under the master key.
    Rsa(Usage),
    /// An elliptic-curve key under the master key.
    Ecc(Usage),
    /// None of these.
    Other,
}

/// A wrapped DES key of a control vector.
fn des(processor: &mut Processor, name: String, form: KeyForm, vector: ControlVector) -> Sample {
    // Some types have keys of different halves only.
    let form = vector.form().unwrap_or(form);
    let skeleton = DesToken::skeleton(Origin::Internal, form, vector).unwrap();
    let token = if vector.is_key_part() {
        let first = part(&skeleton.to_bytes(), "FIRST", &[0x13; 16]).ok(processor);
        first.bytes(key_part_import::KEY_IDENTIFIER)
    } else {
        generate("TOKEN", "")
            .bytes(key_generate::GENERATED_KEY_IDENTIFIER_1, skeleton.to_bytes())
            .ok(processor)
            .bytes(key_generate::GENERATED_KEY_IDENTIFIER_1)
    };
    Sample { name, token, kind: SampleKind::Des(vector, form.key_bytes()) }
}

/// Keys of variable length: a skeleton, a clear and a wrapped one, and of each type one that is wrapped.
fn variable(others: &mut Others) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (key_type, keywords) in VARIABLE {
        let skeleton = skeleton_of(*key_type, keywords);
        let (algorithm, bits) = if key_type.is_aes() { ("AES", 256) } else { ("HMAC", 160) };
        let reply = generate2(algorithm, bits, "TOKEN", &skeleton).ok(&mut others.processor);
        let token = reply.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
        let name =
            [&[if key_type.is_aes() { "variable" } else { "HMAC" }, key_type.name()], *keywords].concat();
        let attributes = VariableToken::parse(&token).unwrap().attributes().clone();
        samples.push(Sample { name: name.join(" "), token, kind: SampleKind::Variable(attributes) });
    }
    let parsed = VariableToken::parse(&others.variable).unwrap();
    let clear = parsed.with_clear_key(&[5; 16]).unwrap().to_bytes().to_vec();
    let external =
        VariableToken::skeleton(Origin::External, parsed.payload_version(), parsed.attributes().clone());
    let external =
        external.unwrap().with_payload(Wrapper::Key([7; 16]), vec![7; 64]).unwrap().to_bytes().to_vec();
    let other = |name: &str, token: Vec<u8>| Sample { name: name.into(), token, kind: SampleKind::Other };
    samples.extend([
        other("variable skeleton", others.variable.clone()),
        other("variable clear", clear),
        other("variable external", external),
    ]);
    samples
}

/// Types and what narrows their use.
const VARIABLE: &[(VariableType, &[&str])] = &[
    (VariableType::Cipher, &[]),
    (VariableType::Cipher, &["ANY-MODE"]),
    (VariableType::Cipher, &["ECB", "ENCRYPT"]),
    (VariableType::Cipher, &["ECB", "DECRYPT"]),
    (VariableType::Cipher, &["ECB", "C-XLATE"]),
    (VariableType::Cipher, &["ANY-MODE", "UDX-ONLY"]),
    (VariableType::Mac, &["GENERATE"]),
    (VariableType::Mac, &["GENONLY"]),
    (VariableType::Mac, &["VERIFY"]),
    (VariableType::Exporter, &[]),
    (VariableType::Importer, &[]),
    (VariableType::Exporter, &["TRANSLAT"]),
    (VariableType::Importer, &["TRANSLAT"]),
    (VariableType::Cipher, &["NOEX-SYM"]),
    (VariableType::Cipher, &["NOEX-AES"]),
    (VariableType::PinProt, &["ENCRYPT"]),
    (VariableType::PinProt, &["DECRYPT", "PINXLATE", "ISO-4"]),
    (VariableType::PinProt, &["DECRYPT", "REFORMAT", "ISO-4"]),
    (VariableType::PinProt, &["ENCRYPT", "PINXLATE", "ISO-4"]),
    (VariableType::PinProt, &["ENCRYPT", "REFORMAT", "ISO-4"]),
    (VariableType::PinCalc, &[]),
    (VariableType::PinPrw, &["VERIFY"]),
    (VariableType::DkyGenKy, &["D-ALL"]),
    (VariableType::DkyGenKy, &["D-ALL", "A-DUKPT"]),
    (VariableType::Cipher, &["FF1"]),
    (VariableType::Cipher, &["FF1", "ENCRYPT"]),
    (VariableType::Cipher, &["FF1", "DECRYPT"]),
    (VariableType::Cipher, &["FF1", "C-XLATE"]),
    (VariableType::SecMsg, &[]),
    (VariableType::Hmac, &["GENERATE"]),
    (VariableType::Hmac, &["VERIFY"]),
    (VariableType::Hmac, &["GENERATE", "SHA-512"]),
];

/// Every key that is tried.
pub fn samples(others: &mut Others) -> Vec<Sample> {
    let of_variable_length = variable(others);
    let clear = &others.clear;
    let translatable_rsa = others.translatable_rsa.clone();
    let processor = &mut others.processor;
    let mut samples = Vec::new();
    for key_type in KeyType::ALL.iter().copied() {
        for (form, length) in
            [(KeyForm::Single, "single"), (KeyForm::Double, "double"), (KeyForm::Triple, "triple")]
        {
            let vector = match key_type {
                KeyType::KeyGenKy if form == KeyForm::Double => key_type.vector_with(form, ["UKPT"]).ok(),
                KeyType::SecMsg if form == KeyForm::Double => key_type.vector_with(form, ["SMPIN"]).ok(),
                _ => key_type.default_vector(form),
            };
            let Some(vector) = vector else { continue };
            samples.push(des(processor, format!("{} {length}", key_type.name()), form, vector));
        }
    }
    for (form, length) in
        [(KeyForm::Single, "single"), (KeyForm::Double, "double"), (KeyForm::Triple, "triple")]
    {
        samples.push(des(processor, format!("DATA {length} without vector"), form, ControlVector::ZERO));
    }
    for (key_type, keyword) in [
        (KeyType::Data, "NO-XPORT"),
        (KeyType::Data, "KEY-PART"),
        (KeyType::Mac, "ENH-ONLY"),
        (KeyType::Importer, "KEY-PART"),
        (KeyType::Importer, "XLATE"),
        (KeyType::Exporter, "OPEX"),
        (KeyType::Exporter, "EXPORT"),
        (KeyType::Exporter, "KBPK"),
        (KeyType::Importer, "KBPK"),
        (KeyType::Mac, "CVVKEY-A"),
        (KeyType::Mac, "ANSIX9.9"),
        (KeyType::Mac, "AMEX-CSC"),
    ] {
        let vector = key_type.vector_with(KeyForm::Double, [keyword]).unwrap();
        let name = format!("{} double {keyword}", key_type.name());
        samples.push(des(processor, name, KeyForm::Double, vector));
    }
    // What private keys are enciphered under tells them apart, so that one sample has that value.
    let vector = KeyType::ImpPka.default_vector(KeyForm::Double).unwrap();
    let token = entered(processor, "IMP-PKA", &[], &TRANSPORT);
    samples.push(Sample {
        name: "IMP-PKA double of the value".into(),
        token,
        kind: SampleKind::Des(vector, 16),
    });
    // A change of a PAN is proved under this value.
    let keywords = ["VERIFY", "PTR2AUTH"];
    let attributes = Attributes::new(VariableType::Mac, keywords, None).unwrap();
    samples.push(Sample {
        name: "MAC VERIFY PTR2AUTH of the value".into(),
        token: entered2(processor, VariableType::Mac, &keywords, &crate::pin::KEY),
        kind: SampleKind::Variable(attributes),
    });
    // PIN blocks that are looked at are under this value.
    let vector = KeyType::IPinEnc.default_vector(KeyForm::Double).unwrap();
    let token = entered(processor, "IPINENC", &[], &crate::pin::KEY);
    samples.push(Sample {
        name: "IPINENC double of the value".into(),
        token,
        kind: SampleKind::Des(vector, 16),
    });
    // Keys that derive those of chip cards.
    let chips = &others.chips;
    for (token, words) in [
        (&chips.cryptograms_above, ["DKYL1", "DMAC"]),
        (&chips.pins_above, ["DKYL1", "DMPIN"]),
        (&chips.data_above, ["DKYL1", "DDATA"]),
        (&chips.any, ["DKYL1", "DALL"]),
    ] {
        samples.push(Sample {
            name: format!("DKYGENKY double {} {}", words[0], words[1]),
            token: token.clone(),
            kind: SampleKind::Des(KeyType::DKyGenKy.vector_with(KeyForm::Double, words).unwrap(), 16),
        });
    }
    for (token, word) in [(&chips.key_messages, "SMKEY"), (&chips.pin_messages, "SMPIN")] {
        samples.push(Sample {
            name: format!("SECMSG double {word}"),
            token: token.clone(),
            kind: SampleKind::Des(KeyType::SecMsg.vector_with(KeyForm::Double, [word]).unwrap(), 16),
        });
    }
    let vector = KeyType::DKyGenKy.vector_with(KeyForm::Double, ["DKYL0", "DMPIN"]).unwrap();
    samples.push(Sample {
        name: "DKYGENKY double DKYL0 DMPIN".into(),
        token: chips.pins.clone(),
        kind: SampleKind::Des(vector, 16),
    });
    let vector = KeyType::IPinEnc.default_vector(KeyForm::Double).unwrap();
    samples.push(Sample {
        name: "IPINENC double of chip cards".into(),
        token: chips.inbound.clone(),
        kind: SampleKind::Des(vector, 16),
    });
    samples.push(Sample {
        name: "KEYGENKY double CLR8-ENC".into(),
        token: chips.single.clone(),
        kind: SampleKind::Des(KeyType::KeyGenKy.vector_with(KeyForm::Double, ["CLR8-ENC"]).unwrap(), 16),
    });
    let token = token::VariableToken::parse(&chips.aes).unwrap();
    samples.push(Sample {
        name: "variable DKYGENKY D-MAC".into(),
        kind: SampleKind::Variable(token.attributes().clone()),
        token: chips.aes.clone(),
    });
    let vector = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
    let internal_skeleton = DesToken::skeleton(Origin::Internal, KeyForm::Double, vector).unwrap();
    let external_skeleton = DesToken::skeleton(Origin::External, KeyForm::Double, vector).unwrap();
    let external = external_skeleton.with_key([0; 8], &[7; 16]).unwrap();
    let wrapped = |length: &str, processor: &mut Processor| {
        generate("AESDATA", length).ok(processor).bytes(key_generate::GENERATED_KEY_IDENTIFIER_1)
    };
    let other = |name: &str, token: Vec<u8>| Sample { name: name.into(), token, kind: SampleKind::Other };
    samples.extend([
        other("null token", vec![0; 64]),
        other("label", wire::Label::new("A.KEY").unwrap().to_field().to_vec()),
        other("key block", super::blocks::recorded().into_bytes()),
        other("DES skeleton", internal_skeleton.to_bytes().to_vec()),
        other("DES external", external.to_bytes().to_vec()),
        other("RSA external XLATE-OK", translatable_rsa),
        other("AES-128", wrapped("KEYLN16", processor)),
        other("AES-192", wrapped("KEYLN24", processor)),
        other("AES-256", wrapped("KEYLN32", processor)),
        other("AES clear", AesToken::clear(&[5; 16]).unwrap().to_bytes().to_vec()),
        other("AES skeleton", AesToken::skeleton(16).unwrap().to_bytes().to_vec()),
        other("RSA public", others.public.clone()),
        other("RSA clear", clear.clone()),
        other("RSA skeleton", others.skeleton.clone()),
    ]);
    samples.extend(of_variable_length);
    for (usage, name) in [
        (Usage::SignatureOnly, "RSA SIG-ONLY"),
        (Usage::KeyManagement, "RSA KEY-MGMT"),
        (Usage::KeyManagementOnly, "RSA KM-ONLY"),
        (Usage::TlsOnly, "RSA TLS-ONLY"),
    ] {
        let token = internal(&mut others.processor, clear, usage);
        samples.push(Sample { name: name.into(), token, kind: SampleKind::Rsa(usage) });
    }
    let processor = &mut others.processor;
    for (usage, keyword) in [
        (Usage::SignatureOnly, "SIG-ONLY"),
        (Usage::KeyManagement, "KEY-MGMT"),
        (Usage::KeyManagementOnly, "KM-ONLY"),
    ] {
        let token = curve_token(processor, keyword, Some("MASTER"));
        samples.push(Sample { name: format!("ECC {keyword}"), token, kind: SampleKind::Ecc(usage) });
    }
    for (name, token) in ["AES DATA", "AES CIPHER", "DES DATA"].iter().zip(&others.deriving) {
        let kind = SampleKind::Other;
        samples.push(Sample { name: format!("ECC deriving {name}"), token: token.clone(), kind });
    }
    let clear = curve_token(processor, "KEY-MGMT", Some("CLEAR"));
    for (name, token) in [
        ("ECC public", public_part(processor, &clear)),
        ("ECC clear", clear),
        ("ECC skeleton", curve_token(processor, "KEY-MGMT", None)),
    ] {
        samples.push(Sample { name: name.into(), token, kind: SampleKind::Other });
    }
    samples
}
