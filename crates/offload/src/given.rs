//! Arguments of callers in C, once they are copied: read before a home or a card is asked for anything.

use crate::error::{OffloadError, Status};
use crate::offload::LoopOptions;
use crate::work::Scheme;
use facility::{LOOP_REQUESTS_MAX, Options};
use std::time::Duration;

/// Longest structure that a newer header may have, in bytes.
pub(crate) const STRUCTURE_BYTES_MAX: usize = 4096;

pub(crate) fn invalid(text: impl Into<String>) -> OffloadError {
    OffloadError::new(Status::Invalid, text)
}

/// Checks how many bytes an argument has.
///
/// # Errors
/// [`Status::Invalid`] for none and for more than `most`.
pub fn length(operation: &str, bytes: usize, most: usize) -> Result<(), OffloadError> {
    if bytes == 0 || bytes > most {
        return Err(invalid(format!("{operation}: {bytes} bytes, not 1 to {most}")));
    }
    Ok(())
}

/// Reads `struct cryptand_offload_options`, in this machine's byte order. A shorter structure is of an older header:
/// the fields that it lacks are zero, the default. Additional fields of a newer header must be zero.
///
/// # Errors
/// [`Status::Invalid`] for options that this version does not have, and for what no loop can be set to.
pub fn options(bytes: &[u8]) -> Result<(Options, LoopOptions), OffloadError> {
    let mut words = bytes.chunks(4).map(|word| {
        let mut whole = [0; 4];
        whole[..word.len()].copy_from_slice(word);
        u32::from_ne_bytes(whole)
    });
    let mut next = || words.next().unwrap_or(0);
    let (domain, in_flight_max, card_wait, answer_wait) = (next(), next(), next(), next());
    if words.any(|word| word != 0) {
        return Err(invalid("open: options that this version of libcryptand-offload does not have"));
    }
    let domain = u16::try_from(domain)
        .map_err(|_| invalid(format!("open: domain {domain}, which there cannot be")))?;
    let in_flight_max = if in_flight_max == 0 { LOOP_REQUESTS_MAX } else { in_flight_max as usize };
    let of_loop = LoopOptions { domain, in_flight_max };
    of_loop.check().map_err(|cause| invalid(format!("open: {cause}")))?;
    let mut options = Options::default();
    let wait = |place: &mut Duration, milliseconds: u32| {
        if milliseconds != 0 {
            *place = Duration::from_millis(milliseconds.into());
        }
    };
    wait(&mut options.card_wait, card_wait);
    wait(&mut options.answer_wait, answer_wait);
    Ok((options, of_loop))
}

/// Reads a label's bytes, without the zero at their end.
///
/// # Errors
/// [`Status::Invalid`] for bytes that are not even text; [`Offload::key`](crate::Offload::key) checks the rest.
pub fn label(bytes: &[u8]) -> Result<&str, OffloadError> {
    std::str::from_utf8(bytes).map_err(|_| invalid("key: a label that is not ASCII"))
}

/// Reads a signature scheme of TLS.
///
/// # Errors
/// [`Status::Invalid`] for a scheme by which cards do not sign.
pub fn scheme(number: u32) -> Result<Scheme, OffloadError> {
    let code = u16::try_from(number).ok().and_then(Scheme::of_code_point);
    code.ok_or_else(|| {
        invalid(format!("sign: {number:#06x} is no signature scheme of TLS that cards sign by"))
    })
}
