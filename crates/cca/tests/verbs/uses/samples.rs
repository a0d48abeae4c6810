//! The keys: one of each type of `token`, and what else a key-identifier field may hold.

use cca::Processor;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::pka::Usage;
use token::{AesToken, ControlVector, DesToken, KeyType};
use wire::verb::{key_generate, key_part_import};

use super::ways::{Others, internal};
use crate::support::{generate, part};

/// A key to be tried.
pub struct Sample {
    pub name: String,
    pub token: Vec<u8>,
    pub kind: SampleKind,
}

pub enum SampleKind {
    /// A wrapped DES key of this control vector and length.
    Des(ControlVector, usize),
    /// An RSA key under the master key.
    Rsa(Usage),
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

/// Every key that is tried.
pub fn samples(others: &mut Others) -> Vec<Sample> {
    let clear = &others.clear;
    let processor = &mut others.processor;
    let mut samples = Vec::new();
    for key_type in KeyType::ALL.iter().copied() {
        for (form, length) in
            [(KeyForm::Single, "single"), (KeyForm::Double, "double"), (KeyForm::Triple, "triple")]
        {
            let vector = match key_type {
                KeyType::KeyGenKy if form == KeyForm::Double => key_type.vector_with(form, ["UKPT"]).ok(),
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
        (KeyType::Importer, "KEY-PART"),
        (KeyType::Importer, "XLATE"),
        (KeyType::Exporter, "OPEX"),
        (KeyType::Exporter, "EXPORT"),
        (KeyType::Mac, "CVVKEY-A"),
        (KeyType::Mac, "ANSIX9.9"),
    ] {
        let vector = key_type.vector_with(KeyForm::Double, [keyword]).unwrap();
        let name = format!("{} double {keyword}", key_type.name());
        samples.push(des(processor, name, KeyForm::Double, vector));
    }
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
        other("DES skeleton", internal_skeleton.to_bytes().to_vec()),
        other("DES external", external.to_bytes().to_vec()),
        other("AES-128", wrapped("KEYLN16", processor)),
        other("AES-192", wrapped("KEYLN24", processor)),
        other("AES-256", wrapped("KEYLN32", processor)),
        other("AES clear", AesToken::clear(&[5; 16]).unwrap().to_bytes().to_vec()),
        other("AES skeleton", AesToken::skeleton(16).unwrap().to_bytes().to_vec()),
        other("RSA public", others.public.clone()),
        other("RSA clear", clear.clone()),
        other("RSA skeleton", others.skeleton.clone()),
    ]);
    for (usage, name) in [
        (Usage::SignatureOnly, "RSA SIG-ONLY"),
        (Usage::KeyManagement, "RSA KEY-MGMT"),
        (Usage::KeyManagementOnly, "RSA KM-ONLY"),
    ] {
        let token = internal(&mut others.processor, clear, usage);
        samples.push(Sample { name: name.into(), token, kind: SampleKind::Rsa(usage) });
    }
    samples
}
