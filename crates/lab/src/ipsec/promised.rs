//! `make bench`, the part on IPsec: tunnels between two namespaces of this machine, ours beside strongSwan's libipsec
//! and wireguard-go.
//!
//! All tunnels of a row stand at once and are driven in turn, the order turning over from round to round. Both ends of
//! a tunnel are alike, the processor time is that of both data planes, threads and children included, and every byte
//! that arrives is checked.

mod batches;
mod engine;
mod floods;
pub(crate) mod growth;
mod rows;
mod shares;
mod sides;
mod threads;

use super::desk::{Desk, PEERS};
use crate::experiment::groups::{self, Effort};
use crate::experiment::promise::{Measure, Options, Part};
use crate::load::LabError;
use sides::{Bench, KEY_SECONDS_MAX};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The main row of the part.
pub(crate) const STREAM: &str = "one TCP stream, AES-128-GCM: rate against libipsec";
/// Maximum number of rounds of a row, so that the part ends within some minutes.
const ROUNDS_MAX: usize = 5;
/// A side works this many times as long as a side of an engine row.
const LONGER: f64 = 20.0;

type Group = fn(&Bench) -> Result<Vec<Measure>, LabError>;

/// The groups of rows, each with the words that `--filter` finds it by.
const GROUPS: [(&str, Group); 16] = [
    ("one TCP stream, AES-128-GCM", rows::stream_gcm),
    ("one TCP stream, AES-128-CBC + SHA-1", rows::stream_cbc),
    ("rr 200/32768, AES-128-GCM", rows::rr_gcm),
    ("rr 200/32768, AES-128-CBC + SHA-1", rows::rr_cbc),
    ("rr 200/32768, 3DES + SHA-1", rows::rr_tdes),
    ("ping-pong of 200 bytes", rows::ping),
    ("64-byte UDP", rows::small),
    ("UDP by size", rows::sizes),
    ("UDP by batch", batches::batches),
    ("floods on a socket", floods::floods),
    ("two threads on one SA", rows::threads),
    ("one SA by two threads at once", threads::threads),
    ("the kernel's ESP", rows::kernel),
    ("engine, 47 packets", engine::together),
    ("look-ups with 1,000 SAs", engine::lookups),
    ("where a packet's time goes", shares::shares),
];

/// The groups of rows of growth.
const GROWTH: [(&str, Group); 2] = [
    ("growth of IPsec: threads with an SA each, in process", growth::in_process),
    ("growth of IPsec: tunnels with several SAs and threads", growth::tunnels),
];

/// Measures the groups that the filter wants. A group that cannot run is a row that says why.
///
/// # Errors
/// [`LabError`] where there is no folder to work in; [`LabError::Interrupted`].
pub fn run(
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    of_groups(Part::Ipsec, &GROUPS, options, stop, progress)
}

/// Measures how rates grow with threads and SAs.
///
/// # Errors
/// As [`run`].
pub fn grow(
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    of_groups(Part::Scale, &GROWTH, options, stop, progress)
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
    let bench = Bench { desk: Desk::new()?, effort: effort(options), stop: Arc::clone(stop) };
    groups::measure(part, wanted, stop, &mut |name, group| {
        progress(&format!("IPsec: {name}"));
        group(&bench)
    })
}

pub(crate) fn effort(options: &Options) -> Effort {
    Effort::of(options, ROUNDS_MAX, LONGER)
}

/// The text above the rows.
pub(crate) fn remark() -> String {
    format!(
        "Two network namespaces with a wire of 1,500 bytes between them, a data plane in each. Sides run in turn, for \
         {KEY_SECONDS_MAX} s at most where one is used up by 3DES, under the workloads of `cryptand ipsec drive`, which check \
         every byte. Data planes, client and server share the processors of the machine. Processor time is that of both data \
         planes. Ours has one thread an end where nothing else is said, and its SAs from `ip xfrm`; ESP goes in UDP.\n\n\
         *What bounds it* divides the processor time into the kernel's, which is calls of TUN and sockets, and the \
         program's. *Where a packet's time goes* takes that division of each end by itself, and from the program's part what \
         the same packets take that are sealed or opened alone, without a tunnel; *of the limit* is the share that calls and \
         cryptography have. *A look* is what is sealed or opened together. Floods come at the data plane's own socket. \
         Peers: {PEERS}. A tunnel of wireguard-go has ChaCha20-Poly1305."
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
    fn sides_work_two_seconds_in_each_of_five_rounds() {
        let Effort { rounds, seconds } = effort(&Options::default());
        assert_eq!((rounds, seconds), (5, 2.0));
    }
}
