//! `make bench`, the part on TLS: servers with keys on a card beside nginx, and beside the same server with the key in
//! its process, under one driver.
//!
//! Server and cards are bound to one processor, the driver to another. Sides run in turn; a side's figure is
//! transactions for each second of processor time that server and cards took together, as the kernel booked it.

pub(crate) mod growth;
mod handshakes;
mod many;
mod rest;
mod shares;
mod sides;

use super::desk::{Desk, PACKAGES};
use crate::experiment::groups::{self, Effort};
use crate::experiment::promise::{Measure, Options, Part};
use crate::load::LabError;
use sides::Bench;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The main row of the part.
pub(crate) const FULL_RSA: &str = "full TLS 1.3, RSA-2048 on a card";
/// Maximum number of rounds of a row, so that the part ends within a few minutes.
const ROUNDS_MAX: usize = 5;
/// A side works this many times as long as a side of an engine row.
const LONGER: f64 = 10.0;

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

/// The groups of rows of growth.
const GROWTH: [(&str, Group); 1] = [("growth of the TLS terminator", growth::loops)];

/// Measures the groups that the filter wants. A group that cannot run is a row that says why.
///
/// # Errors
/// [`LabError`] where servers, cards or driver cannot be had at all; [`LabError::Interrupted`].
pub fn run(
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    of_groups(Part::Tls, &GROUPS, options, stop, progress)
}

/// Measures how rates grow with a server's loops.
///
/// # Errors
/// As [`run`], but programs and cards that cannot be had are a row that says why.
pub fn grow(
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    let measured = of_groups(Part::Scale, &GROWTH, options, stop, progress);
    groups::or_why(Part::Scale, GROWTH[0].0, stop, measured)
}

fn of_groups(
    part: Part,
    groups: &[(&'static str, Group)],
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    let wanted = groups::wanted(groups, options);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    progress("TLS: keys and certificates");
    let mut bench = Bench::new(Desk::new()?, effort(options), stop)?;
    groups::measure(part, wanted, stop, &mut |name, group| {
        progress(name);
        group(&mut bench)
    })
}

pub(crate) fn effort(options: &Options) -> Effort {
    Effort::of(options, ROUNDS_MAX, LONGER)
}

/// The text above the rows.
pub(crate) fn remark() -> String {
    format!(
        "Sides run in turn, under `cryptand tls drive`, which looks at each answer. Where nothing else is said: server and \
         cards on one processor, the driver on the other; one loop, nginx with one worker; X25519, AES-128-GCM, 64 \
         connections in flight, no tickets; certificates of the same kind and length. Figures are transactions for each \
         second of processor time of server and cards together. *What bounds it* has where the time of a transaction went, \
         and says where the driver was the limit, so that passes were emptier than a full server's. The peer is Debian's \
         nginx ({PACKAGES})."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_by_words_of_their_own() {
        assert!(groups::tests::are_found_by_words_of_their_own(&GROUPS));
        assert!(groups::tests::are_found_by_words_of_their_own(&GROWTH));
    }

    #[test]
    fn sides_work_a_second_in_each_of_five_rounds() {
        let Effort { rounds, seconds } = effort(&Options::default());
        assert_eq!((rounds, seconds), (5, 1.0));
    }
}
