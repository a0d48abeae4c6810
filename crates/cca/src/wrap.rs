//! How keys are wrapped: one file per method.
//!
//! | method | keys | file |
//! |---|---|---|
//! | HCTR2 over the whole key field, bound to the rest of the token | DES and AES keys of internal tokens of fixed length | [`wide_block`] |
//! | DES in ECB under a key xor the control vector | DES keys of external tokens, and of compatible internal ones | [`des_ecb`] |
//! | DES in CBC with inner chaining, under a key derived from the wrapping one, xor the control vector | the same, where their tokens say so | [`des_enhanced`] |
//! | AES in CBC under the AES master key | AES keys of compatible tokens | [`aes_cbc`] |
//! | AES key wrap of ANSI X9.102 | used by other methods | [`aeskw`] |
//! | AES key wrap, bound to the rest of the token | AES and HMAC keys of tokens of variable length | [`variable`] |
//! | AES key wrap under an object protection key, or a key-encrypting key | the private values of internal PKA tokens, and of external ones under AES keys | [`pka_sections`] |
//! | DES and TDES in CBC under a key-encrypting key | the private values of external RSA tokens under DES keys | [`des_cbc`] |
//! | TDES in CBC under an object protection key, and that under the ASYM master key | the private values of compatible internal RSA tokens | [`asym`] |
//!
//! A method prepares one lane per key and runs all lanes in one kernel call.

pub(crate) mod aes_cbc;
pub(crate) mod aeskw;
pub(crate) mod asym;
pub(crate) mod des_cbc;
pub(crate) mod des_ecb;
pub(crate) mod des_enhanced;
pub(crate) mod pka_sections;
pub(crate) mod variable;
pub(crate) mod wide_block;

use crate::ground::Age;
use crate::kernel::Kernel;
use engine::{CipherDirection, Engine, SecretBytes};
use subtle::{Choice, ConstantTimeEq};
use token::DesToken;
use token::control_vector::{ControlVector, KeyForm};
use token::des::Origin;
use token::pattern::PATTERN_BYTES;
use wire::control::Register;
use wire::{Codes, code};

/// A method, implemented by its lanes: keys on their way through the kernel.
pub(crate) trait Method: Sized {
    /// Opens or closes the keys of all lanes, which were made for this direction.
    fn run(engine: &Engine, direction: CipherDirection, lanes: &mut [(usize, Self)]) -> Result<(), Codes>;

    /// Runs all lanes, and writes the answer that `of` makes of each at its index.
    fn answer<A>(
        engine: &Engine,
        direction: CipherDirection,
        mut lanes: Vec<(usize, Self)>,
        answers: &mut [Option<Result<A, Codes>>],
        of: impl Fn(usize, Self) -> Result<A, Codes>,
    ) {
        let done = Self::run(engine, direction, &mut lanes);
        for (index, lane) in lanes {
            answers[index] = Some(done.and_then(|()| of(index, lane)));
        }
    }
}

/// What wraps a key.
pub(crate) enum By {
    /// The master key of this domain, in the register that goes with the method.
    Master(u16),
    /// A key-encrypting key that an earlier pass opened.
    Key(Box<SecretBytes>),
}

/// The key that wraps that of a compatible DES token.
struct Under<'k> {
    key: &'k [u8],
    /// Age of the master key; current if another key wraps.
    age: Age,
    /// Pattern of the master key; zero if another key wraps.
    pattern: [u8; PATTERN_BYTES],
}

impl<'k> Under<'k> {
    fn key(key: &'k SecretBytes) -> Self {
        Self { key, age: Age::Current, pattern: [0; PATTERN_BYTES] }
    }
}

/// The key that wraps the key of a token, and the wrapped key.
///
/// # Errors
/// 8/47 for a token without a key, or an internal one under a transport key or the reverse; 8/48 and 12/764 as the
/// register has it.
fn under_to_open<'t, 'k>(
    kernel: &'k Kernel<'_>,
    by: &'k By,
    token: &'t DesToken,
) -> Result<(&'t [u8], Under<'k>), Codes> {
    let wrapped = token.wrapped().ok_or(code::TOKEN_INVALID)?;
    let under = match (by, token.origin()) {
        (By::Master(domain), Origin::Internal) => {
            let domain = kernel.domains.get(usize::from(*domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
            let (age, master) = domain.of_pattern(Register::Sym, &wrapped.pattern)?;
            Under { key: &master.key, age, pattern: master.pattern }
        }
        (By::Key(by), Origin::External) => Under::key(by),
        _ => return Err(code::TOKEN_INVALID),
    };
    Ok((&wrapped.key[..token.form().key_bytes()], under))
}

/// The key that is to wrap a key that goes into this token.
///
/// # Errors
/// 8/47 where the lengths differ or the token is not of the kind that the wrapping key makes; 12/764.
fn under_to_close<'k>(
    kernel: &'k Kernel<'_>,
    by: &'k By,
    skeleton: &DesToken,
    key: &[u8],
) -> Result<Under<'k>, Codes> {
    if key.len() != skeleton.form().key_bytes() {
        return Err(code::TOKEN_INVALID);
    }
    match (by, skeleton.origin()) {
        (By::Master(domain), Origin::Internal) => {
            let domain = kernel.domains.get(usize::from(*domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
            let master = domain.current(Register::Sym)?;
            Ok(Under { key: &master.key, age: Age::Current, pattern: master.pattern })
        }
        (By::Key(by), Origin::External) => Ok(Under::key(by)),
        _ => Err(code::TOKEN_INVALID),
    }
}

/// Refuses a DES key whose parts must differ, if two of its parts are the same DES key: with two equal parts side by
/// side, triple DES is single DES. The form of a key can require different parts. A key-encrypting key must have them,
/// since many keys with equal halves can be searched for as one. A part of a key is not checked. Parity bits, which DES
/// does not use, do not count.
///
/// # Errors
/// 8/442.
pub(crate) fn check_parts(form: KeyForm, vector: ControlVector, key: &[u8]) -> Result<(), Codes> {
    if vector.is_key_part() || !(form.is_unique() || vector.is_transport()) {
        return Ok(());
    }
    let parts = key.as_chunks::<8>().0;
    let bits = |part: &[u8; 8]| u64::from_ne_bytes(*part) & !0x0101_0101_0101_0101;
    let mut equal = Choice::from(0);
    for (at, one) in parts.iter().enumerate() {
        for other in &parts[at + 1..] {
            equal |= bits(one).ct_eq(&bits(other));
        }
    }
    if bool::from(equal) { Err(code::KEY_REPLICATED) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use token::KeyType;
    use token::control_vector::bit;

    #[test]
    fn parts_that_differ_in_parity_alone_are_equal() {
        let key = |parts: &[u8]| parts.iter().flat_map(|part| [*part; 8]).collect::<Vec<_>>();
        for (form, parts, refused) in [
            (KeyForm::Double, &[2, 2][..], false),
            (KeyForm::DoubleUnique, &[2, 4], false),
            (KeyForm::DoubleUnique, &[2, 2], true),
            (KeyForm::DoubleUnique, &[2, 3], true),
            (KeyForm::Triple, &[2, 2, 2], false),
            (KeyForm::TripleUnique, &[2, 4, 6], false),
            (KeyForm::TripleUnique, &[2, 2, 6], true),
            (KeyForm::TripleUnique, &[2, 6, 7], true),
            (KeyForm::TripleUnique, &[2, 6, 2], true),
        ] {
            let expected = if refused { Err(code::KEY_REPLICATED) } else { Ok(()) };
            assert_eq!(check_parts(form, ControlVector::ZERO, &key(parts)), expected, "{form:?} {parts:?}");
        }
        let mut one_bit = key(&[2, 2]);
        one_bit[9] ^= 0x80;
        assert_eq!(check_parts(KeyForm::DoubleUnique, ControlVector::ZERO, &one_bit), Ok(()));
    }

    #[test]
    fn halves_of_a_key_encrypting_key_differ_once_it_is_complete() {
        let exporter = KeyType::Exporter.default_vector(KeyForm::Double).unwrap();
        let part = exporter.with_bits(bit(44), true).unwrap();
        assert_eq!(check_parts(KeyForm::Double, exporter, &[7; 16]), Err(code::KEY_REPLICATED));
        assert_eq!(check_parts(KeyForm::Double, part, &[7; 16]), Ok(()));
    }
}
