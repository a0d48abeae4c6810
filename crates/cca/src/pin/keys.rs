//! Keys of PIN blocks: as they are in their tokens, or derived for a transaction.

use crate::call::Call;
use crate::ground::{Algorithm, Refusal};
use crate::key::Key;
use crate::key::opening::Opening;
use crate::pass::{Ask, Derive, Derived};
use engine::SecretBytes;
use payments::dukpt::tdes::{Purpose, Serial, SerialFault};
use token::usage::Use;
use wire::{Codes, code};

/// Offset of the key serial number in a profile.
const SERIAL_AT: usize = 24;

/// The key serial number behind the fields of a profile, where the key is derived: in characters or in bytes
/// ([`Serial::of_field`]).
///
/// # Errors
/// 8/21 for a profile that ends before it or goes on behind it, 8/2050 for a field in neither form and for a counter
/// that no terminal reaches.
pub(crate) fn serial(profile: &[u8], is_derived: bool) -> Result<Option<Serial>, Refusal> {
    if !is_derived {
        return Ok(None);
    }
    let field = profile.get(SERIAL_AT..).ok_or(code::INVALID_PARAMETER)?;
    let serial = Serial::of_field(field).map_err(|fault| match fault {
        SerialFault::Length(_) => code::INVALID_PARAMETER,
        SerialFault::Digits(_) | SerialFault::Filling | SerialFault::Counter(_) => code::SERIAL_COUNTER,
    })?;
    Ok(Some(serial))
}

/// Starts opening the key of a field: a key for this use, or a base key if the key is derived.
///
/// # Errors
/// 8/39 for a key that does not permit this.
pub(crate) fn open<'p, 'a>(
    call: Call<'p, 'a>,
    field: &'a [u8],
    usage: Use,
    serial: Option<&Serial>,
) -> Result<Opening<'p, 'a>, Refusal> {
    let usage = if serial.is_some() { Use::DeriveTransactionKeys } else { usage };
    call.key(field)?.of(Algorithm::Des)?.for_use(usage)
}

/// The key of PIN blocks: known, or being derived.
pub(crate) enum Working<'p> {
    Fixed(SecretBytes),
    Derived(Ask<'p, Derive, Derived>),
}

impl<'p> Working<'p> {
    /// Starts deriving the key of a transaction if there is a key serial number; else takes the key as it is.
    ///
    /// # Errors
    /// 8/39 for a key that is not of two parts.
    pub(crate) fn of(call: Call<'p, '_>, key: &Key, serial: Option<Serial>) -> Result<Self, Codes> {
        match serial {
            None => Ok(Self::Fixed(key.secret.clone())),
            Some(serial) => {
                let base = key.secret.clone();
                if base.len() != 16 {
                    return Err(code::KEY_USAGE);
                }
                Ok(Self::Derived(call.ask(Derive::Dukpt { base, serial, purpose: Purpose::Pin })))
            }
        }
    }

    /// The key of the blocks; at once if it is not derived.
    pub(crate) async fn key(self) -> Result<SecretBytes, Codes> {
        match self {
            Self::Fixed(key) => Ok(key),
            Self::Derived(ask) => ask.await.key(),
        }
    }
}
