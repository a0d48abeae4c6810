//! RSA keys: tokens opened and checked, keys prepared.

use crate::ground::Age;
use crate::kernel::Kernel;
use crate::pka::premaster::Substitutes;
use crate::prepared::rsa::{PrivateContext, PublicContext, key_codes};
use crate::wrap::{asym, des_cbc, pka_sections};
use engine::{
    CipherDirection, Engine, RSA_BITS_STRONG, RsaCrt, RsaPrivateKey, RsaPublicKey, SecretBytes, sha1, sha256,
};
use subtle::ConstantTimeEq;
use token::pka::{PkaToken, PrivateSection, PrivateValues, Source, SplitValues, Transported};
use wire::{Codes, code};

/// The private key of a token.
///
/// # Errors
/// The reason for which the token gives no key.
pub(super) fn prepare_private(
    kernel: &Kernel<'_>,
    domain: u16,
    token: &[u8],
) -> Result<PrivateContext, Codes> {
    let view = PkaToken::parse(token, &(sha1, sha256)).map_err(|error| error.codes())?;
    let private = view.private().ok_or(code::TOKEN_INVALID)?;
    strong_enough(kernel.engine, view.modulus_bits())?;
    let (Prepared { key, premaster }, age) = prepare(kernel, domain, &view, private)?;
    Ok(PrivateContext {
        key,
        premaster,
        usage: private.usage,
        age,
        modulus: view.modulus().to_vec(),
        modulus_bits: view.modulus_bits(),
        // Only a token that no caller can write proves what it says of itself.
        generated: matches!(private.values, PrivateValues::Wrapped(_))
            && private.source == Some(Source::Random),
    })
}

fn prepare(
    kernel: &Kernel<'_>,
    domain: u16,
    view: &PkaToken<'_>,
    private: &PrivateSection<'_>,
) -> Result<(Prepared, Option<Age>), Codes> {
    let prepared = |split| {
        let premaster = private
            .usage
            .may_open_premasters()
            .then(|| Substitutes::new(kernel.engine, &split))
            .transpose()?;
        Ok(Prepared { key: private_key(kernel.engine, view, split)?, premaster })
    };
    match private.values {
        PrivateValues::Skeleton | PrivateValues::Transported(_) | PrivateValues::TransportedAes(_) => {
            Err(code::TOKEN_INVALID)
        }
        PrivateValues::ClearMe { d } => Ok((prepared(SplitValues::Me { d })?, None)),
        PrivateValues::ClearCrt(components) => Ok((prepared(SplitValues::Crt(components))?, None)),
        PrivateValues::Wrapped(wrapped) => {
            let (values, age) = pka_sections::open_rsa(kernel, domain, view, &wrapped)?;
            let split = wrapped.lengths.split(&values).ok_or(code::TOKEN_INVALID)?;
            Ok((prepared(split)?, Some(age)))
        }
        PrivateValues::Asym(wrapped) => {
            let (values, age) = asym::open(kernel, domain, &wrapped)?;
            let split = wrapped.values.lengths.split(&values).ok_or(code::TOKEN_INVALID)?;
            Ok((prepared(split).map_err(|_: Codes| code::TOKEN_INVALID)?, Some(age)))
        }
    }
}

/// A prepared private key, with what its context needs besides.
struct Prepared {
    key: RsaPrivateKey,
    premaster: Option<Substitutes>,
}

/// Prepares a private key whose parts are those of one key.
fn private_key(
    engine: &Engine,
    view: &PkaToken<'_>,
    values: SplitValues<'_>,
) -> Result<RsaPrivateKey, Codes> {
    let (n, e) = (view.modulus(), view.exponent());
    match values {
        SplitValues::Crt(c) => {
            let parts = RsaCrt { n, e, p: c.p, q: c.q, dp: c.dp, dq: c.dq, qinv: c.u };
            RsaPrivateKey::from_crt(&parts).map_err(key_codes)
        }
        SplitValues::Me { d } => {
            let key = RsaPrivateKey::from_me(n, e, d).map_err(key_codes)?;
            // Whether an exponent belongs to its modulus shows at the first operation. One operation is done here, so
            // that a wrong exponent is most probably refused before the key is kept.
            let mut trial = vec![0; n.len()];
            engine.random(&mut trial[1..]);
            trial[0] = 0;
            let mut result = SecretBytes::new(n.len());
            engine.rsa_private(&key, &trial, result.as_mut()).map_err(|_| code::PKA_FIELD)?;
            Ok(key)
        }
    }
}

/// The private values of an external token under a key-encrypting key, which are those of one key.
///
/// # Errors
/// 8/47 where they do not open, whatever is wrong with them; 8/783 for a key that only the setting for weak algorithms
/// allows; 8/39 for a wrapping key of another length than TDES takes.
pub(super) fn open_transported(
    engine: &Engine,
    wrapping: &SecretBytes,
    token: &[u8],
) -> Result<SecretBytes, Codes> {
    let view = PkaToken::parse(token, &(sha1, sha256)).map_err(|error| error.codes())?;
    strong_enough(engine, view.modulus_bits())?;
    let (values, lengths) = match view.private().map(|private| private.values) {
        Some(PrivateValues::Transported(transported)) => {
            (open_enciphered(engine, wrapping, &transported)?, transported.lengths)
        }
        Some(PrivateValues::TransportedAes(wrapped)) => {
            (pka_sections::open_transported_rsa(engine, wrapping, &view, &wrapped)?, wrapped.lengths)
        }
        _ => return Err(code::TOKEN_INVALID),
    };
    let split = lengths.split(&values).ok_or(code::TOKEN_INVALID)?;
    private_key(engine, &view, split).map_err(|_| code::TOKEN_INVALID)?;
    Ok(values)
}

/// The private values that a key-encrypting key of DES enciphers.
fn open_enciphered(
    engine: &Engine,
    wrapping: &SecretBytes,
    transported: &Transported<'_>,
) -> Result<SecretBytes, Codes> {
    let mut opened = SecretBytes::from_slice(transported.enciphered);
    des_cbc::run(engine, wrapping, transported.form, CipherDirection::Decipher, opened.as_mut())?;
    let hash = sha1(&transported.hashed(&opened));
    if !bool::from(hash.ct_eq(transported.hash)) {
        return Err(code::TOKEN_INVALID);
    }
    let values = transported.values(&opened).ok_or(code::TOKEN_INVALID)?;
    Ok(SecretBytes::from_slice(values))
}

/// Refuses a key that only the setting for weak algorithms allows.
fn strong_enough(engine: &Engine, modulus_bits: usize) -> Result<(), Codes> {
    if modulus_bits >= RSA_BITS_STRONG || engine.weak_algorithms() {
        Ok(())
    } else {
        Err(code::WEAK_ALGORITHM)
    }
}

/// The public key of a token: public, clear or internal.
///
/// # Errors
/// The reason for which the token gives no key.
pub(super) fn prepare_public(engine: &Engine, token: &[u8]) -> Result<PublicContext, Codes> {
    let view = PkaToken::parse(token, &(sha1, sha256)).map_err(|error| error.codes())?;
    if view.modulus().is_empty() {
        return Err(code::TOKEN_INVALID);
    }
    strong_enough(engine, view.modulus_bits())?;
    let key = RsaPublicKey::new(view.modulus(), view.exponent()).map_err(key_codes)?;
    Ok(PublicContext { key, modulus: view.modulus().to_vec(), modulus_bits: view.modulus_bits() })
}
