//! `make bench`, the part on IPsec: tunnels between two namespaces of this machine, ours beside strongSwan's libipsec and wireguard-go.
//!
//! All tunnels of a row stand at once and are driven in turn, the order turning over from round to round. Both ends of a tunnel are alike, the
//! processor time is that of both data planes, threads and children included, and every byte that arrives is checked.

mod batches;
mod engine;
mod floods;
mod rows;
mod shares;
mod sides;
mod threads;

use super::desk::{Desk, PEERS};
use crate::experiment::promise::{Measure, Options, Part};
use crate::load::LabError;
use sides::Bench;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The row that the part is known by.
pub(crate) const STREAM: &str = "one TCP stream, AES-128-GCM: rate against libipsec";
/// Rounds of a row at the most: the part is to end within some minutes.
const ROUNDS_MAX: usize = 5;
/// A side works so many times as long as one of an engine row.
const LONGER: f64 = 20.0;

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

/// Measures the groups that the filter wants. A group that cannot run is a row that says why.
///
/// # Errors
/// [`LabError`] where there is no folder to work in; [`LabError::Interrupted`].
pub fn run(
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    let wanted: Vec<_> = GROUPS.into_iter().filter(|(name, _)| options.wants(name)).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let bench = Bench { desk: Desk::new()?, effort: Effort::of(options), stop: Arc::clone(stop) };
    let mut rows = Vec::new();
    for (name, group) in wanted {
        progress(&format!("IPsec: {name}"));
        match group(&bench) {
            Ok(of_group) => rows.extend(of_group),
            Err(LabError::Interrupted) => return Err(LabError::Interrupted),
            Err(error) if stop.load(Ordering::Relaxed) => return Err(error),
            Err(LabError::Program(why)) => rows.push(failed(name, &why)),
            Err(error) => return Err(error),
        }
    }
    rows.iter_mut().for_each(|row| row.part = Part::Ipsec);
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
        "## IPsec\n\nTwo network namespaces with a wire of 1,500 bytes between them, a data plane in each, {rounds} rounds of {seconds} s for \
         each side, in turn, under the workloads of `cryptand ipsec drive`, which check every byte. Data planes, client and server share \
         the processors of this machine. Processor time is that of both data planes. Ours has one thread an end where nothing else is said, \
         and its SAs from `ip xfrm`; ESP goes in UDP. *What bounds it* divides the processor time into the kernel's, which is calls of TUN \
         and sockets, and the program's. *Where a packet's time goes* takes that division of each end by itself, and from the program's part what \
         the same packets take that are sealed or opened alone, without a tunnel; *of the limit* is the share that calls and cryptography have. *A look* is what \
         is sealed or opened together. Floods come at the data plane's own socket. Peers: {PEERS}. A tunnel of wireguard-go has ChaCha20-Poly1305."
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
        let row = failed("64-byte UDP", "strongSwan is not here");
        assert!(!row.is_kept() && !row.is_note() && row.bound.contains("strongSwan"), "{row:?}");
    }

    #[test]
    fn rounds_and_seconds_are_bounded() {
        assert!(remark(&Options::default()).contains("5 rounds of 2 s"));
    }
}
