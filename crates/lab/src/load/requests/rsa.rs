//! Requests under RSA keys: clear keys, signatures, transport of keys, and the generation of keys.

use super::{Expected, Maker, Request, TOKEN_BYTES, not_served, zeros};
use crate::load::native::{self, RsaJob, rsa_private_key};
use crate::load::operation::{RSA_BITS, RsaForm, RsaKey};
use crate::load::{LabError, Workload, keys};
use engine::{
    HashAlgorithm, RsaPrivateKey, digest_info_prefix, pkcs1_v15_encrypt_pad, pkcs1_v15_sign_pad_raw,
};
use std::sync::Arc;
use wire::bounds::PKA_TOKEN_BYTES_MAX;
use wire::verb::{
    self, Key, KeyAlgorithm, PkaOutput, PkaTokenKind, PkaUsage, RsaFormat, SignatureFormat, TransportFormat,
    Verb,
};

impl Maker<'_> {
    pub(super) fn clear_rsa(
        &mut self,
        workload: &Workload,
        bits: u32,
        form: RsaForm,
        job: usize,
    ) -> Result<Request, LabError> {
        use verb::{clear_rsa_private as private, clear_rsa_public as public};
        let made = RsaJob::new(bits, form, job).map_err(native::refused(workload.operation))?;
        let token = self.rsa_token(&made.private, bits, form, None, job)?;
        let (key, data, result) = (&token[..], &made.input[..], made.expected.len());
        Ok(if form == RsaForm::Public {
            let ask = public::Ask { key, data, result, ..public::Ask::new() };
            self::Request::new(&ask, Expected::Bytes(public::RESULT, made.expected))
        } else {
            let ask = private::Ask { key, data, result, ..private::Ask::new() };
            self::Request::new(&ask, Expected::Bytes(private::RESULT, made.expected))
        })
    }

    pub(super) fn rsa_verb(
        &mut self,
        workload: &Workload,
        verb: Verb,
        key: RsaKey,
        job: usize,
    ) -> Result<Request, LabError> {
        let refused = native::refused(workload.operation);
        let RsaKey { bits, form } = key;
        if verb == Verb::PkaKeyGenerate {
            return self.pka_key_generate(bits, form);
        }
        let private = self.private(bits, form, job).map_err(refused)?;
        let modulus_bytes = private.modulus_bytes();
        let raise = |block: &[u8]| -> Result<Vec<u8>, LabError> {
            let public = private.public_key().map_err(|error| refused(error.to_string()))?;
            let mut out = vec![0; modulus_bytes];
            self.engine.rsa_public(&public, block, &mut out).map_err(|error| refused(error.to_string()))?;
            Ok(out)
        };
        let padded = |message: &[u8]| {
            pkcs1_v15_encrypt_pad(message, modulus_bytes).map_err(|error| refused(error.to_string()))
        };
        // A digest as the caller encodes it: SHA-1, which also fits 512 bits.
        let hash = [digest_info_prefix(HashAlgorithm::Sha1), &keys::test_bytes(0x516, job, 20)].concat();
        match verb {
            Verb::DigitalSignatureGenerate | Verb::DigitalSignatureVerify => {
                let block = pkcs1_v15_sign_pad_raw(&hash, modulus_bytes)
                    .map_err(|error| refused(error.to_string()))?;
                let mut signature = vec![0; modulus_bytes];
                self.engine
                    .rsa_private(&private, &block, &mut signature)
                    .map_err(|error| refused(error.to_string()))?;
                if verb == Verb::DigitalSignatureGenerate {
                    use verb::digital_signature_generate::*;
                    let token = self.rsa_token(&private, bits, form, Some(PkaUsage::Signature), job)?;
                    let ask = Ask {
                        format: Some(SignatureFormat::Pkcs11),
                        pka_private_key_id: (&token).into(),
                        hash: &hash,
                        signature_field: modulus_bytes,
                        ..Ask::new()
                    };
                    Ok(self::Request::new(&ask, Expected::Bytes(SIGNATURE_FIELD, signature)))
                } else {
                    use verb::digital_signature_verify::*;
                    let token = self.rsa_token(&private, bits, RsaForm::Public, None, job)?;
                    let ask = Ask {
                        format: Some(SignatureFormat::Pkcs11),
                        pka_public_key_id: (&token).into(),
                        hash: &hash,
                        signature_field: &signature,
                        ..Ask::new()
                    };
                    Ok(self::Request::new(&ask, Expected::Done))
                }
            }
            Verb::PkaEncrypt => {
                use verb::pka_encrypt::*;
                let value = keys::test_bytes(0xE2C, job, 16);
                let token = self.rsa_token(&private, bits, RsaForm::Public, None, job)?;
                let ask = Ask {
                    key_value: &value,
                    rsa_public_key: (&token).into(),
                    rsa_encipher: modulus_bytes,
                    ..Ask::new(RsaFormat::Pkcs1)
                };
                let expected = Expected::Sealed(RSA_ENCIPHER, Arc::clone(&private), value.clone());
                Ok(self::Request::new(&ask, expected))
            }
            Verb::PkaDecrypt => {
                use verb::pka_decrypt::*;
                let value = keys::test_bytes(0xDEC, job, 16);
                let enciphered = raise(&padded(&value)?)?;
                let token = self.rsa_token(&private, bits, form, Some(PkaUsage::KeyManagement), job)?;
                let ask = Ask {
                    enciphered_key: &enciphered,
                    rsa_private_key: (&token).into(),
                    key_value: modulus_bytes,
                    ..Ask::new(RsaFormat::Pkcs1)
                };
                Ok(self::Request::new(&ask, Expected::Bytes(KEY_VALUE, value)))
            }
            Verb::SymmetricKeyImport => {
                use verb::symmetric_key_import::*;
                // The expected token: the same clear key, imported in the clear.
                let clear = keys::des_key(job, 16);
                let enciphered = raise(&padded(&clear)?)?;
                let expected = self.data_key(&clear, false, job)?;
                let token = self.rsa_token(&private, bits, form, Some(PkaUsage::KeyManagementOnly), job)?;
                let ask = Ask {
                    algorithm: Some(KeyAlgorithm::Des),
                    rsa_enciphered_key: &enciphered,
                    rsa_private_key_identifier: (&token).into(),
                    target_key_identifier: zeros::<TOKEN_BYTES>(),
                    ..Ask::new(TransportFormat::Pkcs1)
                };
                Ok(self::Request::new(&ask, Expected::Bytes(TARGET_KEY_IDENTIFIER, expected)))
            }
            _ => Err(not_served(workload)),
        }
    }

    /// As in the published tables: an external token in CRT form, or an internal token in ME form.
    fn pka_key_generate(&mut self, bits: u32, form: RsaForm) -> Result<Request, LabError> {
        use verb::pka_key_generate::*;
        let structure = generate_structure(bits, form);
        let skeleton = self.build_rsa(&structure, form, Some(PkaUsage::KeyManagement), false)?;
        let (output, first) =
            if form == RsaForm::Crt { (PkaOutput::Clear, 0x1E) } else { (PkaOutput::Master, 0x1F) };
        let ask = Ask {
            output: Some(output),
            skeleton_key_token: (&skeleton).into(),
            transport_key_identifier: Key::Bytes(&[0; TOKEN_BYTES]),
            generated_key_identifier: zeros::<PKA_TOKEN_BYTES_MAX>(),
            ..Ask::new()
        };
        Ok(self::Request::new(&ask, Expected::Token(GENERATED_KEY_IDENTIFIER, first)))
    }

    /// The clear token of a test key.
    pub fn clear_rsa_token(&mut self, bits: u32, form: RsaForm, job: usize) -> Result<Vec<u8>, LabError> {
        let private = self.private(bits, form, job).map_err(LabError::facility("make a key"))?;
        self.rsa_token(&private, bits, form, None, job)
    }

    /// A token of a test key for signatures, imported anew: each token of a key is another one.
    pub fn signing_token(&mut self, bits: u32, job: usize) -> Result<Vec<u8>, LabError> {
        let form = RsaForm::Crt;
        let key = self.private(bits, form, job).map_err(LabError::facility("make a key"))?;
        let clear = self.build_rsa(&structure(&key, form), form, Some(PkaUsage::Signature), true)?;
        self.import_pka(&clear)
    }

    fn private(&mut self, bits: u32, form: RsaForm, job: usize) -> Result<Arc<RsaPrivateKey>, String> {
        if let Some(kept) = self.tokens.privates.get(&(bits, form, job)) {
            return Ok(Arc::clone(kept));
        }
        let private = Arc::new(rsa_private_key(bits, form, job)?);
        if RSA_BITS.contains(&bits) {
            self.tokens.privates.insert((bits, form, job), Arc::clone(&private));
        }
        Ok(private)
    }

    /// A token of an RSA key: clear, or imported with a usage if one is given.
    fn rsa_token(
        &mut self,
        key: &RsaPrivateKey,
        bits: u32,
        form: RsaForm,
        imported: Option<PkaUsage>,
        job: usize,
    ) -> Result<Vec<u8>, LabError> {
        let name = (format!("rsa{bits}-{}-{imported:?}", form.name()), job);
        if let Some(token) = self.tokens.tokens.get(&name) {
            return Ok(token.clone());
        }
        let clear = self.build_rsa(&structure(key, form), form, imported, imported.is_some())?;
        let token = if imported.is_some() { self.import_pka(&clear)? } else { clear };
        // A size without test keys gets a new key each time a workload starts.
        if keys::rsa_test_key(bits, job).is_some() {
            self.tokens.tokens.insert(name, token.clone());
        }
        Ok(token)
    }

    fn build_rsa(
        &mut self,
        structure: &[u8],
        form: RsaForm,
        usage: Option<PkaUsage>,
        is_imported: bool,
    ) -> Result<Vec<u8>, LabError> {
        let kind = match form {
            RsaForm::Public => PkaTokenKind::Public,
            // An imported key has one of the newer sections, X'30' or X'31', under the APKA master key.
            RsaForm::Crt if is_imported => PkaTokenKind::AesCrt,
            RsaForm::Crt => PkaTokenKind::Crt,
            RsaForm::Me => PkaTokenKind::AesPrivate,
        };
        self.build_pka(structure, kind, usage)
    }
}

/// The key-values structure of PKA_Key_Token_Build: lengths of the numbers, then the numbers.
fn structure(key: &RsaPrivateKey, form: RsaForm) -> Vec<u8> {
    let secret = |value: Option<engine::SecretBytes>| value.map_or(Vec::new(), |value| value.to_vec());
    let (n, e) = (key.n(), key.e());
    let mut numbers: Vec<Vec<u8>> = vec![n, e];
    match form {
        RsaForm::Public => numbers.push(Vec::new()),
        RsaForm::Me => numbers.push(key.d().to_vec()),
        RsaForm::Crt => {
            numbers.push(Vec::new());
            numbers.extend([key.p(), key.q(), key.dp(), key.dq(), key.qinv()].map(secret));
        }
    }
    let mut out = (key.bits() as u16).to_be_bytes().to_vec();
    for number in &numbers {
        out.extend_from_slice(&(number.len() as u16).to_be_bytes());
    }
    numbers.iter().for_each(|number| out.extend_from_slice(number));
    out
}

/// The structure that asks for a key to be generated: bits, and the exponent 65537.
fn generate_structure(bits: u32, form: RsaForm) -> Vec<u8> {
    let lengths: &[u16] = if form == RsaForm::Crt { &[0, 3, 0, 0, 0, 0, 0, 0] } else { &[0, 3, 0] };
    let mut out = (bits as u16).to_be_bytes().to_vec();
    lengths.iter().for_each(|length| out.extend_from_slice(&length.to_be_bytes()));
    out.extend_from_slice(&[1, 0, 1]);
    out
}
