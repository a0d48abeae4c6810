//! What `C_Encrypt` (AES, 4 KiB) and `C_Sign` (HMAC) cost through Debian's openCryptoki with a card, beside its token
//! in software and beside the verb called from C: median, least and most of the rounds, the three in turn.
//!
//! ```text
//! cargo run --release -p opencryptoki-tests --example rates -- 21 0.2
//! ```
#![forbid(unsafe_code)]

use opencryptoki_tests::{MODULE, Packages, compile};
use system_tests::Installation;

fn main() {
    let mut given = std::env::args().skip(1);
    let (rounds, seconds) =
        (given.next().unwrap_or_else(|| "21".into()), given.next().unwrap_or_else(|| "0.2".into()));
    let Some(packages) = Packages::find() else { std::process::exit(1) };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile(folder.path(), "rates.c");
    let installation = Installation::new(1, 0);
    installation.until_ready();
    let mut command = packages.command(installation.home.folder());
    let status = command.arg(program).args([MODULE, &rounds, &seconds]).status();
    let status = status.expect("unshare can be executed");
    assert!(status.success(), "{status}");
}
