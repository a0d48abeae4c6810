//! Other people's IPsec, unmodified, with the data plane in user space: strongSwan, Libreswan, iproute2, scapy, tshark.
//!
//! `scripts/need test` unpacks the packages into `target/strongswan`, `target/libreswan` and `target/tshark`. Each test
//! has a [`Site`] of its own: namespaces of processes, mounts and networks that end with the test, in which the
//! packages lie over `/usr`, and hosts on one wire.
//!
//! ```text
//!   host a: charon + cryptand-esp ── eth0 ──┐
//!                                           br0   (captures)
//!   host b: charon (libipsec)     ── eth0 ──┘
//! ```
#![forbid(unsafe_code)]

mod capture;
mod charon;
mod host;
mod plane;
mod pluto;
mod site;
mod traffic;

pub use capture::{Capture, clear, is_esp};
pub use charon::{Charon, Config, Kernel, SUITES, Suite};
pub use host::Host;
pub use plane::{DEVICE, FOLDER, Plane};
pub use pluto::Pluto;
pub use site::Site;
pub use traffic::{Flow, Ping, Pings, bulk, load, ping};

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a test waits for what takes milliseconds on an idle machine.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(10);

/// Waits until something holds.
///
/// # Panics
/// If it does not within [`PATIENCE`].
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    assert!(within(PATIENCE, &mut holds), "not within {PATIENCE:?}: {what}");
}

/// Whether something comes to hold within a time.
pub fn within(time: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if holds() {
            return true;
        }
        if start.elapsed() > time {
            return false;
        }
        std::thread::sleep(LOOK);
    }
}

/// A program or library that was built, beside the folder of this test.
///
/// # Panics
/// If it is not there.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let path = test.ancestors().nth(2).expect("tests lie in a folder below the programs").join(name);
    assert!(path.exists(), "{} is missing: build it first, with `make build`", path.display());
    path
}

/// A file or folder below `target`, which `scripts/need test` made.
pub fn fetched(name: &str) -> Option<PathBuf> {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(name).canonicalize().ok()
}
