//! Derives keys from passphrases by Argon2id (RFC 9580, 3.7.1.4; RFC 9106), within bounds.

use crate::Passphrase;
use argon2::{Algorithm, Argon2, Block, Params, Version};
use pgp::types::StringToKey;
use std::fmt;
use zeroize::Zeroizing;

/// Upper bound of Argon2's memory, as the binary logarithm of kibibytes: 2 GiB, the larger recommendation of RFC 9106,
/// 4.
pub const ARGON2_MEMORY_BITS_MAX: u8 = 21;
/// Upper bound of Argon2's work, in passes times kibibytes, for one key and for all passphrase packets of one message
/// together. It is four times that recommendation; 32 packets of the smaller recommendation stay below it.
pub const ARGON2_WORK_MAX: u64 = 4 << ARGON2_MEMORY_BITS_MAX;
/// Upper bound of Argon2's lanes.
pub const ARGON2_LANES_MAX: u8 = 16;

/// Passphrase packets that ask for more Argon2 than is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooDemanding {
    /// The work that the packets ask for in all, in passes times kibibytes; at most [`ARGON2_WORK_MAX`] is allowed.
    pub work: u64,
    /// Whether a single packet asks for more memory or lanes than is allowed.
    pub is_too_wide: bool,
}

impl fmt::Display for TooDemanding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = |work: u64| work >> 10;
        if self.is_too_wide {
            return write!(
                out,
                "a passphrase packet asks for more Argon2 than is computed: at most {} MiB and {ARGON2_LANES_MAX} lanes",
                mebibytes(1 << ARGON2_MEMORY_BITS_MAX)
            );
        }
        write!(
            out,
            "its passphrase packets ask for {} MiB of Argon2 in all, passes counted; at most {} MiB are computed",
            mebibytes(self.work),
            mebibytes(ARGON2_WORK_MAX)
        )
    }
}

impl std::error::Error for TooDemanding {}

/// Checks that the Argon2 of all these specifiers together is within the bounds.
///
/// # Errors
/// [`TooDemanding`] if it is not.
pub(crate) fn check<'a>(specifiers: impl Iterator<Item = &'a StringToKey>) -> Result<(), TooDemanding> {
    let mut demands = TooDemanding { work: 0, is_too_wide: false };
    for s2k in specifiers {
        demands.work = demands.work.saturating_add(work(s2k));
        demands.is_too_wide |= is_too_wide(s2k);
    }
    if demands.is_too_wide || demands.work > ARGON2_WORK_MAX { Err(demands) } else { Ok(()) }
}

/// The work of a specifier's Argon2, in passes times kibibytes; 0 for other methods.
fn work(s2k: &StringToKey) -> u64 {
    match *s2k {
        StringToKey::Argon2 { t, m_enc, .. } => u64::from(t) << m_enc.min(32),
        _ => 0,
    }
}

fn is_too_wide(s2k: &StringToKey) -> bool {
    matches!(*s2k, StringToKey::Argon2 { p, m_enc, .. } if m_enc > ARGON2_MEMORY_BITS_MAX || p > ARGON2_LANES_MAX)
}

/// Derives the key; `None` if the specifier is not for Argon2. The memory is wiped afterwards.
///
/// # Errors
/// A text for people: parameters contradict each other, or demand more than the bounds or than the machine has.
pub(super) fn key(
    s2k: &StringToKey,
    passphrase: &Passphrase,
    key_bytes: usize,
) -> Option<Result<Zeroizing<Vec<u8>>, String>> {
    let StringToKey::Argon2 { salt, t, p, m_enc } = s2k else { return None };
    if is_too_wide(s2k) || work(s2k) > ARGON2_WORK_MAX {
        return Some(Err(format!(
            "its Argon2 demands 2^{m_enc} KiB, {t} passes and {p} lanes; at most 2^{ARGON2_MEMORY_BITS_MAX} KiB, 4 \
             passes over them and {ARGON2_LANES_MAX} lanes are given"
        )));
    }
    Some(derive(passphrase.bytes(), salt, (*t, *p, *m_enc), key_bytes))
}

fn derive(
    passphrase: &[u8],
    salt: &[u8],
    (passes, lanes, memory_bits): (u8, u8, u8),
    key_bytes: usize,
) -> Result<Zeroizing<Vec<u8>>, String> {
    let said = |error: argon2::Error| format!("its Argon2 parameters are not valid: {error}");
    let params = Params::new(1 << memory_bits, passes.into(), lanes.into(), Some(key_bytes)).map_err(said)?;
    let mut memory = Zeroizing::new(Vec::<Block>::new());
    let blocks = params.block_count();
    memory.try_reserve_exact(blocks).map_err(|_| {
        format!("its Argon2 demands 2^{memory_bits} KiB of memory, which this process does not get")
    })?;
    memory.resize(blocks, Block::default());
    let mut key = Zeroizing::new(vec![0; key_bytes]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into_with_memory(passphrase, salt, &mut key, memory.as_mut_slice())
        .map_err(said)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn argon2(t: u8, p: u8, m_enc: u8) -> StringToKey {
        StringToKey::Argon2 { salt: [7; 16], t, p, m_enc }
    }

    proptest! {
        #[test]
        fn keys_are_those_of_rpgp(
            t in 0u8..4,
            p in 0u8..5,
            m_enc in 0u8..9,
            passphrase in proptest::collection::vec(any::<u8>(), 0..40),
            key_bytes in proptest::sample::select(&[16usize, 24, 32][..]),
        ) {
            let s2k = argon2(t, p, m_enc);
            let expected = s2k.derive_key(&passphrase, key_bytes).ok();
            let key = key(&s2k, &Passphrase::new(passphrase), key_bytes).unwrap().ok();
            prop_assert_eq!(key.as_deref().map(Vec::as_slice), expected.as_ref().map(AsRef::as_ref));
        }
    }

    #[test]
    fn what_is_beyond_the_bounds_is_refused_before_any_work() {
        for s2k in [argon2(1, 4, 22), argon2(5, 4, 21), argon2(1, 17, 16), argon2(255, 255, 255)] {
            let refused = key(&s2k, &Passphrase::new(b"x".to_vec()), 16).unwrap();
            assert!(refused.unwrap_err().contains("demands"), "{s2k:?}");
        }
    }
}
