//! `make bench`, the part on TLS: servers with keys on a card beside nginx, and beside the same server with the key in its
//! process, under one driver.
//!
//! Server and cards are bound to one processor, the driver to another. Sides run in turn; a side's figure is
//! transactions for each second of processor time that server and cards took together, as the kernel booked it.

mod handshakes;
mod many;
mod rest;
mod shares;
mod sides;

use super::desk::{Desk, PACKAGES};
use crate::experiment::promise::{Measure, Options, Part};
use crate::load::LabError;
use sides::Bench;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The row that the part is known by.
pub(crate) const FULL_RSA: &str = "full TLS 1.3, RSA-2048 on a card";
/// Rounds of a row at the most: the part is to end within a few minutes.
const ROUNDS_MAX: usize = 5;
/// A side works so many times as long as one of an engine row.
const LONGER: f64 = 10.0;

/// How thoroughly rows are measured.
#[derive(Clone, Copy, Debug)]
struct Effort {
    rounds: usize,
    /// Seconds that each side works in a round.
    seconds: f64,
}

impl Effort {
    fn of(options: &Options) -> Self {
        Self { rounds: options.rounds.clamp(1, ROUNDS_MAX), seconds: options.seconds * LONGER }
    }
}

type Group = fn(&mut Bench) -> Result<Vec<Measure>, LabError>;

/// The groups of rows, each with the words that `--filter` finds it by.
const GROUPS: [(&str, Group); 14] = [
    ("full TLS 1.3, RSA-2048", handshakes::full_rsa),
    ("full TLS 1.2, RSA key exchange", handshakes::key_exchange),
    ("full TLS 1.3, ECDSA P-256", handshakes::full_ecdsa),
    ("client certificates", handshakes::client_certificates),
    ("resumed", handshakes::resumed),
    ("1 GB from a backend", rest::bulk),
    ("forwarded to a backend", rest::forwarded),
    ("fill of passes", rest::fill),
    ("one connection at a time", rest::lonely),
    ("memory of kept connections", many::connections),
    ("10,000 certificates", many::certificates),
    ("both processors", rest::both_processors),
    ("X25519MLKEM768", rest::hybrid),
    ("where the time goes", shares::shares),
];

/// Measures the groups that the filter wants. A group that cannot run is a row that says why.
///
/// # Errors
/// [`LabError`] where servers, cards or driver cannot be had at all; [`LabError::Interrupted`].
pub fn run(
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    let wanted: Vec<_> = GROUPS.into_iter().filter(|(name, _)| options.wants(name)).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    progress("TLS: keys and certificates");
    let mut bench = Bench::new(Desk::new()?, Effort::of(options), stop)?;
    let mut rows = Vec::new();
    for (name, group) in wanted {
        progress(name);
        match group(&mut bench) {
            Ok(of_group) => rows.extend(of_group),
            Err(LabError::Interrupted) => return Err(LabError::Interrupted),
            Err(error) if stop.load(Ordering::Relaxed) => return Err(error),
            Err(LabError::Program(why)) => rows.push(failed(name, &why)),
            Err(error) => return Err(error),
        }
    }
    rows.iter_mut().for_each(|row| row.part = Part::Tls);
    Ok(rows)
}

/// The row of a group that could not be measured: a promise that is not kept, with the reason.
fn failed(name: &str, why: &str) -> Measure {
    let promise = Some(crate::experiment::promise::Promise::Above(0.0));
    Measure::alone(&format!("{name}: not measured"), "-", &[0.0], promise).bounded_by(why)
}

/// What is said above the rows.
pub(crate) fn remark(options: &Options) -> String {
    let Effort { rounds, seconds } = Effort::of(options);
    format!(
        "## TLS\n\nUp to {rounds} rounds of {seconds} s for each side, in turn, under `cryptand tls drive`, which looks at each \
         answer. Where nothing else is said: server and cards on one processor, the driver on the other; one loop, nginx with \
         one worker; X25519, AES-128-GCM, 64 connections in flight, no tickets; certificates of the same kind and length. \
         Figures are transactions for each second of processor time of server and cards together. *What bounds it* has where \
         the time of a transaction went, and says where the driver was the limit, so that passes were emptier than a full \
         server's. The peer is Debian's nginx ({PACKAGES})."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_by_words_of_their_own() {
        for (name, _) in GROUPS {
            let options = Options { filter: Some(name.to_owned()), ..Options::default() };
            let found: Vec<&str> =
                GROUPS.iter().map(|group| group.0).filter(|name| options.wants(name)).collect();
            assert_eq!(found, [name]);
        }
    }

    #[test]
    fn a_group_that_is_not_measured_keeps_no_promise() {
        let row = failed("resumed", "the load driver failed");
        assert!(!row.is_kept() && !row.is_note() && row.bound.contains("driver"), "{row:?}");
    }

    #[test]
    fn rounds_and_seconds_are_bounded() {
        let effort = Effort::of(&Options::default());
        assert_eq!((effort.rounds, effort.seconds), (ROUNDS_MAX, 1.0));
        assert!(remark(&Options::default()).contains("5 rounds of 1 s"));
    }
}
