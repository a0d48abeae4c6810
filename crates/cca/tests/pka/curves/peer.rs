//! Keys of OpenSSL's, and verbs on them.

use cca::Processor;
use openssl::bn::{BigNum, BigNumContext, BigNumRef};
use openssl::ec::{EcGroup, EcKey, EcPoint, PointConversionForm};
use openssl::ecdsa::EcdsaSig;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private, Public};
use openssl::sign::{Signer, Verifier};
use token::pka::ecc::{EccCurve, EccToken};
use verb_requests::pka::{CAPACITY, ask, build_arguments, key_import, keywords, token_build, worded};
use wire::Codes;
use wire::verb::{Filled, TokenChange};

/// The curves of ECDSA.
pub const CURVES: [(EccCurve, Nid); 7] = [
    (EccCurve::P224, Nid::SECP224R1),
    (EccCurve::P256, Nid::X9_62_PRIME256V1),
    (EccCurve::P384, Nid::SECP384R1),
    (EccCurve::P521, Nid::SECP521R1),
    (EccCurve::BrainpoolP256r1, Nid::BRAINPOOL_P256R1),
    (EccCurve::BrainpoolP384r1, Nid::BRAINPOOL_P384R1),
    (EccCurve::Secp256k1, Nid::SECP256K1),
];

/// A key pair of OpenSSL's, of any curve.
pub struct Peer {
    pub curve: EccCurve,
    pub value: Vec<u8>,
    pub point: Vec<u8>,
}

pub fn group(curve: EccCurve) -> EcGroup {
    let (_, nid) = CURVES.into_iter().find(|(known, _)| *known == curve).unwrap();
    EcGroup::from_curve_name(nid).unwrap()
}

fn padded(number: &BigNumRef, curve: EccCurve) -> Vec<u8> {
    number.to_vec_padded(curve.bytes() as i32).unwrap()
}

impl Peer {
    pub fn new(curve: EccCurve) -> Self {
        if curve == EccCurve::Ed25519 {
            let key = PKey::generate_ed25519().unwrap();
            return Self {
                curve,
                value: key.raw_private_key().unwrap(),
                point: key.raw_public_key().unwrap(),
            };
        }
        let key = EcKey::generate(&group(curve)).unwrap();
        Self::of(curve, key.private_key())
    }

    /// The key of a scalar.
    pub fn of(curve: EccCurve, scalar: &BigNumRef) -> Self {
        let (group, mut context) = (group(curve), BigNumContext::new().unwrap());
        let mut point = EcPoint::new(&group).unwrap();
        point.mul_generator2(&group, scalar, &mut context).unwrap();
        let point = point.to_bytes(&group, PointConversionForm::UNCOMPRESSED, &mut context).unwrap();
        Self { curve, value: padded(scalar, curve), point }
    }

    /// The ECC-PAIR structure.
    pub fn pair(&self) -> Vec<u8> {
        pair(self.curve, &self.value, &self.point)
    }

    /// Its clear external token.
    pub fn clear(&self, processor: &mut Processor, words: &[&str]) -> Vec<u8> {
        let words = [&["ECC-PAIR"], words].concat();
        token_build(processor, &words, &self.pair(), &[]).unwrap()
    }

    /// Its internal token.
    pub fn internal(&self, processor: &mut Processor, words: &[&str]) -> Vec<u8> {
        let clear = self.clear(processor, words);
        key_import(processor, &clear).unwrap()
    }

    /// Its public token.
    pub fn public(&self, processor: &mut Processor) -> Vec<u8> {
        point_token(processor, self.curve, &self.point).unwrap()
    }

    fn edwards(&self) -> PKey<Private> {
        PKey::private_key_from_raw_bytes(&self.value, openssl::pkey::Id::ED25519).unwrap()
    }

    /// Its public key alone.
    pub fn public_weierstrass(&self) -> EcKey<Public> {
        let (group, mut context) = (group(self.curve), BigNumContext::new().unwrap());
        let point = EcPoint::from_bytes(&group, &self.point, &mut context).unwrap();
        EcKey::from_public_key(&group, &point).unwrap()
    }

    pub fn weierstrass(&self) -> EcKey<Private> {
        let (group, mut context) = (group(self.curve), BigNumContext::new().unwrap());
        let point = EcPoint::from_bytes(&group, &self.point, &mut context).unwrap();
        let scalar = BigNum::from_slice(&self.value).unwrap();
        EcKey::from_private_components(&group, &scalar, &point).unwrap()
    }

    /// A signature as the verbs have it: of a digest, of Ed25519 of a text.
    pub fn sign(&self, data: &[u8]) -> Vec<u8> {
        if self.curve == EccCurve::Ed25519 {
            let key = self.edwards();
            return Signer::new_without_digest(&key).unwrap().sign_oneshot_to_vec(data).unwrap();
        }
        let signature = EcdsaSig::sign(data, &self.weierstrass()).unwrap();
        [padded(signature.r(), self.curve), padded(signature.s(), self.curve)].concat()
    }
}

/// Whether OpenSSL takes a signature for one of a public key.
pub fn verifies(curve: EccCurve, point: &[u8], data: &[u8], signature: &[u8]) -> bool {
    if curve == EccCurve::Ed25519 {
        let key: PKey<Public> = PKey::public_key_from_raw_bytes(point, openssl::pkey::Id::ED25519).unwrap();
        return Verifier::new_without_digest(&key).unwrap().verify_oneshot(signature, data).unwrap_or(false);
    }
    let (group, mut context) = (group(curve), BigNumContext::new().unwrap());
    let point = EcPoint::from_bytes(&group, point, &mut context).unwrap();
    let key = EcKey::from_public_key(&group, &point).unwrap();
    key.check_key().unwrap();
    let (r, s) = signature.split_at(curve.bytes());
    let [r, s] = [r, s].map(|number| BigNum::from_slice(number).unwrap());
    EcdsaSig::from_private_components(r, s).unwrap().verify(data, &key).unwrap_or(false)
}

/// The structure of a curve alone, then lengths and values.
pub fn pair(curve: EccCurve, value: &[u8], point: &[u8]) -> Vec<u8> {
    let halfword = |number: usize| (number as u16).to_be_bytes();
    let head = [&[curve.kind(), 0][..], &halfword(curve.bits())].concat();
    [&head[..], &halfword(value.len()), &halfword(point.len()), value, point].concat()
}

pub fn point_token(processor: &mut Processor, curve: EccCurve, point: &[u8]) -> Result<Vec<u8>, Codes> {
    let halfword = |number: usize| (number as u16).to_be_bytes();
    let head = [&[curve.kind(), 0][..], &halfword(curve.bits())].concat();
    let structure = [&head[..], &halfword(point.len()), point].concat();
    token_build(processor, &["ECC-PUBL"], &structure, &[])
}

/// What asks for a key.
pub fn skeleton(processor: &mut Processor, curve: EccCurve, words: &[&str]) -> Vec<u8> {
    let words = [&["ECC-PAIR"], words].concat();
    token_build(processor, &words, &pair(curve, &[], &[]), &[]).unwrap()
}

/// An ECC-PAIR token with everything that one may say.
pub fn build_full(
    processor: &mut Processor,
    structure: &[u8],
    words: &[&str],
    user_data: &[u8],
    derivation: &[u8],
) -> Result<Vec<u8>, Codes> {
    use wire::verb::pka_key_token_build::*;
    let rules = keywords(&[&["ECC-PAIR"], words].concat());
    let mut name = [b' '; 64];
    name[..6].copy_from_slice(b"MY.KEY");
    let mut arguments = build_arguments(words.len() + 1, &rules, structure, &name);
    arguments.set_integer(CUSTOMER_DATA_LENGTH, user_data.len() as i64).set_bytes(CUSTOMER_DATA, user_data);
    arguments.set_integer(KEY_DERIVATION_DATA_LENGTH, derivation.len() as i64);
    arguments.set_bytes(KEY_DERIVATION_DATA, derivation);
    let (codes, token) = ask(processor, &arguments, TOKEN);
    if codes.is_ok() { Ok(token) } else { Err(codes) }
}

/// Codes and token of PKA_Key_Token_Change.
pub fn change(processor: &mut Processor, words: &[&str], token: &[u8]) -> (Codes, Vec<u8>) {
    use wire::verb::pka_key_token_change::*;
    let request = Ask { key_identifier: token.into(), ..Ask::new(TokenChange::Current) };
    ask(processor, &worded(&request, &mut Filled::default(), &keywords(words)), KEY_IDENTIFIER)
}

/// The public key that CSNDPKX has of a token.
pub fn extracted(processor: &mut Processor, token: &[u8]) -> Result<Vec<u8>, Codes> {
    let public = verb_requests::pka::public_key_extract(processor, token, CAPACITY)?;
    Ok(EccToken::parse(&public).unwrap().point().to_vec())
}

/// The keywords with which a key of a curve signs, and a text as long as they want it.
pub fn method(curve: EccCurve) -> (&'static [&'static str], [u8; 32]) {
    match curve {
        EccCurve::Ed25519 => (&["EDDSA", "ED-HASH", "MESSAGE"], [0x5A; 32]),
        _ => (&["ECDSA"], [0x5A; 32]),
    }
}
