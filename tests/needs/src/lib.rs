//! What tests need from a machine, and what they make of the code ([`assert_committed`]).
//!
//! A test that needs root or wide vectors checks for it here, and ends if the machine lacks it:
//!
//! ```no_run
//! use needs::Need;
//!
//! if needs::lacks(Need::Root) {
//!     return;
//! }
//! ```
//!
//! What is lacking is printed on standard error and appended to the file that `CRYPTAND_TESTS_LACKED` names, whose
//! lines `make test` counts at its end. `CRYPTAND_TESTS_NEED=root,avx512` (or `all`) makes such a test fail instead.

mod committed;
mod limits;
mod program;
mod waits;

pub use committed::{BLESS, assert_committed, blessing, is_blessed};
pub use limits::{has_inotify, lacks_descriptors, without_inotify};
pub use program::{copy_program, short_folder, write_script};
pub use waits::uninterrupted;

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

/// Names the file that takes a line for each test, or part of one, that did without.
const LACKED: &str = "CRYPTAND_TESTS_LACKED";
/// Names what must be there, separated by commas, or `all`.
const NEEDED: &str = "CRYPTAND_TESTS_NEED";

/// What a test may need, and a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The user root: to act as other users, to mount, to read other processes' memory.
    Root,
    /// The library ISA-L 2.24 or later.
    IsaL,
    /// The instructions of AVX-512, with IFMA and VBMI.
    Avx512,
    /// Memory that cannot be swapped or dumped, as much as a card wants.
    LockedMemory,
    /// Mounting file systems in a namespace.
    Mount,
    /// `systemd-analyze` of systemd 252 or later.
    SystemdAnalyze,
    /// Prometheus and promtool.
    Prometheus,
    /// Debian's packages of openCryptoki 3.8.1 and of OpenSC, unpacked by `scripts/need test`.
    OpenCryptoki,
    /// Java 17 or later: `java` runs a file of source.
    Java,
    /// Go 1.25 or later.
    Go,
    /// Namespaces in which file systems can be mounted, for a user without rights or for root.
    Namespaces,
    /// HAProxy 2.6 or later, as Debian has it.
    HaProxy,
    /// What Graviola computes with, the cryptography of rustls in tests: instructions for AES and carry-less products,
    /// and on x86-64 AVX2, BMI and ADX.
    Graviola,
    /// certbot 2.1 and dehydrated 0.7, as Debian has them, and in `target/pebble` the ACME server pebble with its DNS
    /// server, which `scripts/test-all` builds.
    Acme,
    /// Debian's packages of strongSwan 5.9.8, unpacked by `scripts/need test`.
    StrongSwan,
    /// Debian's packages of Libreswan 4.10, unpacked by `scripts/need test`.
    Libreswan,
    /// Network namespaces with a TUN in them, for a user without rights or for root, and `ip` of iproute2.
    Tun,
    /// The Python package scapy, in the environment that `scripts/need test` makes.
    Scapy,
    /// As many open files as the connections of a full daemon take at both ends: `ulimit -Hn`.
    Descriptors,
    /// Wireshark's tshark 4.0, Debian's package, unpacked by `scripts/need test`.
    Tshark,
    /// Debian's hunspell with its British dictionary, unpacked by `scripts/need test`.
    Speller,
    /// Two processors that this process may use.
    TwoProcessors,
}

impl Need {
    /// Everything, for `all` and for messages.
    pub const ALL: [Self; 22] = [
        Self::Root,
        Self::IsaL,
        Self::Avx512,
        Self::LockedMemory,
        Self::Mount,
        Self::SystemdAnalyze,
        Self::Prometheus,
        Self::OpenCryptoki,
        Self::Java,
        Self::Go,
        Self::Namespaces,
        Self::HaProxy,
        Self::Graviola,
        Self::Acme,
        Self::StrongSwan,
        Self::Libreswan,
        Self::Tun,
        Self::Scapy,
        Self::Descriptors,
        Self::Tshark,
        Self::Speller,
        Self::TwoProcessors,
    ];

    /// The name in `CRYPTAND_TESTS_NEED`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::IsaL => "isa-l",
            Self::Avx512 => "avx512",
            Self::LockedMemory => "locked-memory",
            Self::Mount => "mount",
            Self::SystemdAnalyze => "systemd-analyze",
            Self::Prometheus => "prometheus",
            Self::OpenCryptoki => "opencryptoki",
            Self::Java => "java",
            Self::Go => "go",
            Self::Namespaces => "namespaces",
            Self::HaProxy => "haproxy",
            Self::Graviola => "graviola",
            Self::Acme => "acme",
            Self::StrongSwan => "strongswan",
            Self::Libreswan => "libreswan",
            Self::Tun => "tun",
            Self::Scapy => "scapy",
            Self::Descriptors => "descriptors",
            Self::Tshark => "tshark",
            Self::Speller => "speller",
            Self::TwoProcessors => "processors",
        }
    }

    /// Whether this machine has it, where that can be told without the program under test; true of the others.
    fn is_there(self) -> bool {
        match self {
            Self::Root => rustix::process::geteuid().is_root(),
            Self::Avx512 => has_avx512(),
            Self::Graviola => has_graviola(),
            Self::TwoProcessors => thread::available_parallelism().is_ok_and(|there| there.get() > 1),
            Self::IsaL
            | Self::LockedMemory
            | Self::Mount
            | Self::SystemdAnalyze
            | Self::Prometheus
            | Self::OpenCryptoki
            | Self::Java
            | Self::Go
            | Self::Namespaces
            | Self::HaProxy
            | Self::Acme
            | Self::StrongSwan
            | Self::Libreswan
            | Self::Tun
            | Self::Scapy
            | Self::Descriptors
            | Self::Tshark
            | Self::Speller => true,
        }
    }
}

/// Whether the machine lacks what a test needs, which then ends without a judgement.
///
/// # Panics
/// Where `CRYPTAND_TESTS_NEED` names it.
pub fn lacks(need: Need) -> bool {
    did_without(need, !need.is_there())
}

/// The same, of what the test has found out itself.
///
/// # Panics
/// Where `CRYPTAND_TESTS_NEED` names it.
pub fn did_without(need: Need, is_lacking: bool) -> bool {
    if is_lacking {
        let current = thread::current();
        let test = current.name().unwrap_or("a test");
        let asked = env::var(NEEDED).unwrap_or_default();
        assert!(!is_named(need, &asked), "{test}: {NEEDED} names {}, and it is not there", need.name());
        eprintln!("{test}: not tested, or not all of it: this machine lacks {}", need.name());
        note(&format!("{}\t{test}\n", need.name()));
    }
    is_lacking
}

fn is_named(need: Need, asked: &str) -> bool {
    asked.split(',').map(str::trim).any(|name| name == need.name() || name == "all")
}

/// One write, so that lines of tests that run at the same time do not mix.
fn note(line: &str) {
    let Some(path) = env::var_os(LACKED) else { return };
    let file = OpenOptions::new().append(true).create(true).open(&path);
    let noted = file.and_then(|mut file| file.write_all(line.as_bytes()));
    noted.unwrap_or_else(|error| panic!("{LACKED}: cannot write {}: {error}", path.display()));
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512ifma") && is_x86_feature_detected!("avx512vbmi")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
fn has_graviola() -> bool {
    is_x86_feature_detected!("adx")
        && is_x86_feature_detected!("aes")
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("pclmulqdq")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_graviola() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_named_alone_in_a_list_or_all_together() {
        for need in Need::ALL {
            assert!(is_named(need, need.name()) && is_named(need, "all"));
            assert!(is_named(need, &format!("other, {}", need.name())));
            assert!(!is_named(need, "") && !is_named(need, "other"));
        }
    }

    #[test]
    fn only_what_lacks_is_noted() {
        assert!(!did_without(Need::Mount, false));
    }
}
