//! Our data plane, and the kernel's if this machine has ESP: SAs and policies set by `ip xfrm`.

use super::desk::{Ours, write};
use super::suite::Suite;
use super::tunnel::refused;
use crate::load::LabError;
use serde::Deserialize;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use traffic::namespaces::{End, NamespaceError, Pair};
use wire::control::LEVEL_VARIABLE;

/// How long the data plane may take to answer the status request.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// The line that the data plane prints once it serves.
const READY: &str = "ready";
/// SPIs of the first SAs from the first end and from the second; those of further ones follow.
pub(super) const SPIS: [u32; 2] = [0x1001, 0x2002];
/// Names of the data plane's log in its folder, and of its status socket.
const LOG: &str = "log";
const OBSERVERS: &str = "observe.sock";
/// The status request.
const ASK: &[u8] = b"status\n";

/// The fields of a data plane's status that are used here.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Status {
    /// All threads together.
    pub totals: Totals,
    /// Packets that were dropped, by reason.
    pub drops: Vec<Drops>,
}

/// Counters of all threads since the data plane began.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Totals {
    /// Packets sealed.
    pub sealed: u64,
    /// Packets opened.
    pub opened: u64,
    /// Batches that were sealed or opened.
    pub batches: u64,
}

/// Packets that were dropped for one reason.
#[derive(Clone, Debug, Deserialize)]
pub struct Drops {
    /// The reason, as docs/understand/ipsec.md has it.
    pub reason: String,
    /// The number of packets.
    pub packets: u64,
}

impl Status {
    /// The number of packets that were dropped for `reason`.
    pub fn dropped(&self, reason: &str) -> u64 {
        self.drops.iter().find(|drops| drops.reason == reason).map_or(0, |drops| drops.packets)
    }

    /// Mean packets of a batch since an earlier status; 0 if there was no batch.
    pub fn together_since(&self, before: &Self) -> f64 {
        let packets = |totals: Totals| totals.sealed + totals.opened;
        let batches = self.totals.batches.saturating_sub(before.totals.batches);
        packets(self.totals).saturating_sub(packets(before.totals)) as f64 / batches.max(1) as f64
    }
}

/// Requests the status of the data plane at an end.
pub(super) fn status(folder: &Path, end: End) -> Result<Status, LabError> {
    let what = "ask a data plane how it stands";
    let mut socket =
        UnixStream::connect(folder.join(end.name()).join(OBSERVERS)).map_err(LabError::io(what))?;
    socket.set_read_timeout(Some(ANSWER_MAX)).map_err(LabError::io(what))?;
    socket.write_all(ASK).map_err(LabError::io(what))?;
    let mut text = String::new();
    socket.read_to_string(&mut text).map_err(LabError::io(what))?;
    serde_json::from_str(&text).map_err(LabError::io(what))
}

/// Bytes that the data plane of an end has written to its log.
pub(super) fn log_bytes(folder: &Path, end: End) -> Result<u64, LabError> {
    let log = fs::metadata(log(folder, end)).map_err(LabError::io("look at the log of a data plane"))?;
    Ok(log.len())
}

fn log(folder: &Path, end: End) -> PathBuf {
    folder.join(format!("{LOG}-{}", end.name()))
}

/// Starts our data plane at both ends, with `sas` SAs and `threads` threads each, held to a level if one is given.
pub(super) fn start(
    pair: &mut Pair,
    ours: &Ours,
    folder: &Path,
    (suite, sas): (Suite, usize),
    (threads, level): (usize, Option<&str>),
) -> Result<Vec<(u32, End)>, LabError> {
    let mut planes = Vec::new();
    for end in End::BOTH {
        let own = folder.join(end.name());
        let mut command = pair.command(end, &ours.program);
        command.arg("serve").arg("--folder").arg(&own).args([
            "--threads",
            &threads.to_string(),
            "--weak-suites",
        ]);
        if let Some(level) = level {
            command.env(LEVEL_VARIABLE, level);
        }
        let says = File::create(log(folder, end)).map_err(LabError::io("make the log of a data plane"))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(says);
        let pid = pair.keep(&mut command).map_err(refused)?;
        let mut said = String::new();
        if let Some(stdout) = pair.kept(pid).and_then(|child| child.stdout.as_mut()) {
            BufReader::new(stdout).read_line(&mut said).map_err(LabError::io("wait for a data plane"))?;
        }
        if said.trim_end() != READY {
            let said = fs::read_to_string(log(folder, end)).unwrap_or_default();
            return Err(LabError::Program(format!("cryptand-esp ended before it served: {}", said.trim())));
        }
        planes.push((pid, end));
        let commands = folder.join(format!("xfrm-{}", end.name()));
        write(&commands, &text(end, suite, sas, true))?;
        let (library, place) =
            (format!("LD_PRELOAD={}", ours.library.display()), format!("CRYPTAND_ESP={}", own.display()));
        let commands = commands.display().to_string();
        pair.run(end, "env", [library.as_str(), &place, "ip", "-batch", &commands]).map_err(refused)?;
    }
    Ok(planes)
}

/// Sets the same SAs and policies in the kernel.
pub(super) fn of_the_kernel(pair: &Pair, folder: &Path, suite: Suite) -> Result<Vec<(u32, End)>, LabError> {
    for end in End::BOTH {
        let commands = folder.join(format!("xfrm-{}", end.name()));
        write(&commands, &text(end, suite, 1, false))?;
        pair.ip(end, ["-batch", &commands.display().to_string()]).map_err(|error| match error {
            NamespaceError::Refused { why, .. } => LabError::Program(format!(
                "its kernel refuses SAs of ESP: {}",
                why.lines().next().unwrap_or_default()
            )),
            error => refused(error),
        })?;
        let (there, wire) = (end.other().inner().to_string(), end.other().outer().to_string());
        let own = end.inner().to_string();
        pair.ip(end, ["route", "add", &there, "via", &wire, "src", &own]).map_err(refused)?;
    }
    Ok(Vec::new())
}

/// The address within a tunnel that an SA has at an end.
pub(super) fn inner(end: End, sa: usize) -> IpAddr {
    match end.inner() {
        IpAddr::V4(address) => {
            let [first, second, third, last] = address.octets();
            IpAddr::from([first, second, third + sa as u8, last])
        }
        address => address,
    }
}

/// The input of `ip -batch` at an end: SAs and policies for each direction. With `in_udp`, ESP is encapsulated in UDP
/// as strongSwan's libipsec does, for a socket that receives it.
fn text(end: End, suite: Suite, sas: usize, in_udp: bool) -> String {
    let mut text = String::new();
    for (from, sa) in End::BOTH.into_iter().flat_map(|from| (0..sas).map(move |sa| (from, sa))) {
        let (source, destination) = (from.outer(), from.other().outer());
        let (spi, request) = (SPIS[usize::from(from == End::B)] + sa as u32, sa + 1);
        let algorithms = suite.algorithms(from == End::A, sa);
        let encapsulation = if in_udp { " encap espinudp 4500 4500 0.0.0.0" } else { "" };
        let _ = writeln!(
            text,
            "xfrm state add src {source} dst {destination} proto esp spi {spi:#x} reqid {request} mode tunnel replay-window 32 \
             {algorithms}{encapsulation}"
        );
        let directions: &[&str] = if from == end { &["out"] } else { &["in", "fwd"] };
        let (inner, there) = (inner(from, sa), inner(from.other(), sa));
        for direction in directions {
            let _ = writeln!(
                text,
                "xfrm policy add src {inner}/32 dst {there}/32 dir {direction} tmpl src {source} dst {destination} proto esp \
                 reqid {request} mode tunnel"
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_end_has_two_sas_and_its_policies() {
        for suite in Suite::ALL {
            let (a, b) = (text(End::A, suite, 1, true), text(End::B, suite, 1, true));
            let states = |text: &str| -> Vec<String> {
                text.lines().filter(|line| line.starts_with("xfrm state")).map(str::to_owned).collect()
            };
            // Both ends have the same SAs, and policies that mirror each other.
            assert_eq!(states(&a), states(&b));
            assert_eq!(states(&a).len(), 2);
            for (text, out) in [
                (&a, "src 10.99.0.1/32 dst 10.99.0.2/32 dir out"),
                (&b, "src 10.99.0.2/32 dst 10.99.0.1/32 dir out"),
            ] {
                assert!(text.contains(out) && text.matches("xfrm policy add").count() == 3, "{text}");
            }
        }
    }

    #[test]
    fn several_sas_have_addresses_numbers_and_keys_of_their_own() {
        let text = text(End::A, Suite::Gcm, 3, true);
        let states: Vec<&str> = text.lines().filter(|line| line.starts_with("xfrm state")).collect();
        let keys: BTreeSet<_> =
            states.iter().filter_map(|line| line.split(' ').find(|word| word.len() == 42)).collect();
        assert_eq!((states.len(), keys.len()), (6, 6), "{text}");
        assert!(states[2].contains("spi 0x1003 reqid 3 "), "{text}");
        assert!(text.contains("policy add src 10.99.2.1/32 dst 10.99.2.2/32 dir out"), "{text}");
    }
}
