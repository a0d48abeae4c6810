//! Our data plane, and the kernel's where it has one: SAs and policies that `ip xfrm` sets.

use super::desk::{Ours, write};
use super::suite::Suite;
use super::tunnel::refused;
use crate::load::LabError;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use traffic::namespaces::{End, Pair};
use wire::control::LEVEL_VARIABLE;

/// What the data plane says once it serves.
const READY: &str = "ready";
/// SPIs of the SAs from the first end and from the second.
const SPIS: [u32; 2] = [0x1001, 0x2002];

/// Starts it at both ends, with so many threads each, at a level.
pub(super) fn start(
    pair: &mut Pair,
    ours: &Ours,
    folder: &Path,
    suite: Suite,
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
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let pid = pair.keep(&mut command).map_err(refused)?;
        let mut said = String::new();
        if let Some(stdout) = pair.kept(pid).and_then(|child| child.stdout.as_mut()) {
            BufReader::new(stdout).read_line(&mut said).map_err(LabError::io("wait for a data plane"))?;
        }
        if said.trim_end() != READY {
            return Err(LabError::Program("cryptand-esp ended before it served".to_owned()));
        }
        planes.push((pid, end));
        let commands = folder.join(format!("xfrm-{}", end.name()));
        write(&commands, &text(end, suite, true))?;
        let (library, place) =
            (format!("LD_PRELOAD={}", ours.library.display()), format!("CRYPTAND_ESP={}", own.display()));
        let commands = commands.display().to_string();
        pair.run(end, "env", [library.as_str(), &place, "ip", "-batch", &commands]).map_err(refused)?;
    }
    Ok(planes)
}

/// The same SAs and policies for the kernel.
pub(super) fn of_the_kernel(pair: &Pair, folder: &Path, suite: Suite) -> Result<Vec<(u32, End)>, LabError> {
    for end in End::BOTH {
        let commands = folder.join(format!("xfrm-{}", end.name()));
        write(&commands, &text(end, suite, false))?;
        pair.ip(end, ["-batch", &commands.display().to_string()]).map_err(refused)?;
        let (there, wire) = (end.other().inner().to_string(), end.other().outer().to_string());
        let own = end.inner().to_string();
        pair.ip(end, ["route", "add", &there, "via", &wire, "src", &own]).map_err(refused)?;
    }
    Ok(Vec::new())
}

/// What `ip -batch` reads at an end: an SA and a policy for each direction. In UDP as strongSwan's libipsec has it, where a socket is there to take it.
fn text(end: End, suite: Suite, in_udp: bool) -> String {
    let mut text = String::new();
    for from in End::BOTH {
        let (source, destination) = (from.outer(), from.other().outer());
        let spi = SPIS[usize::from(from == End::B)];
        let algorithms = suite.algorithms(from == End::A);
        let encapsulation = if in_udp { " encap espinudp 4500 4500 0.0.0.0" } else { "" };
        let _ = writeln!(
            text,
            "xfrm state add src {source} dst {destination} proto esp spi {spi:#x} reqid 1 mode tunnel replay-window 32 \
             {algorithms}{encapsulation}"
        );
        let directions: &[&str] = if from == end { &["out"] } else { &["in", "fwd"] };
        let (inner, there) = (from.inner(), from.other().inner());
        for direction in directions {
            let _ = writeln!(
                text,
                "xfrm policy add src {inner}/32 dst {there}/32 dir {direction} tmpl src {source} dst {destination} proto esp \
                 reqid 1 mode tunnel"
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_two_sas_and_its_policies() {
        for suite in Suite::ALL {
            let (a, b) = (text(End::A, suite, true), text(End::B, suite, true));
            let states = |text: &str| -> Vec<String> {
                text.lines().filter(|line| line.starts_with("xfrm state")).map(str::to_owned).collect()
            };
            // Both ends have the same SAs, and policies that look at each other.
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
}
