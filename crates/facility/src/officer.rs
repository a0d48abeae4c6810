//! What officers send to the keeper: key parts and passphrases, sealed at the officer's terminal as
//! [`engine::seal_to`] says. The daemon passes them on unread.

use wire::control::Sealed;

/// The start-up key is a point that no keeper has: what would be derived from it is public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartupKeyInvalid;

impl std::fmt::Display for StartupKeyInvalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the keeper's start-up key is not valid; ask for it again")
    }
}

impl std::error::Error for StartupKeyInvalid {}

/// Seals a secret to the start-up key of a keeper, for one purpose:
/// [`PURPOSE_PART`](wire::control::PURPOSE_PART) or
/// [`PURPOSE_PASSPHRASE`](wire::control::PURPOSE_PASSPHRASE). The secret stays the caller's to wipe.
///
/// # Errors
/// [`StartupKeyInvalid`].
pub fn seal(startup_key: &[u8; 32], purpose: &[u8], secret: &[u8]) -> Result<Sealed, StartupKeyInvalid> {
    let sealed = engine::seal_to(startup_key, purpose, secret).ok_or(StartupKeyInvalid)?;
    Ok(Sealed { share: sealed.share, ciphertext: sealed.ciphertext })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::{PURPOSE_PART, PURPOSE_PASSPHRASE};

    #[test]
    fn a_sealed_secret_opens_for_its_purpose_only() {
        let key = engine::SealingKey::generate();
        let sealed = seal(&key.public(), PURPOSE_PART, &[7; 24]).unwrap();
        let open = |purpose| key.open(purpose, &sealed.share, &sealed.ciphertext);
        assert_eq!(open(PURPOSE_PART).unwrap().as_slice(), [7; 24]);
        assert!(open(PURPOSE_PASSPHRASE).is_none());
    }

    #[test]
    fn a_point_of_small_order_is_refused() {
        assert_eq!(seal(&[0; 32], PURPOSE_PART, b"x").unwrap_err(), StartupKeyInvalid);
    }
}
