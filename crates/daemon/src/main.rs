//! `cryptand-daemon --home DIR [--ready-fd N] [--on-demand]`, or with `--check`: serves a home until it is told to
//! stop.
//!
//! `CRYPTAND_LEVEL` names the highest instruction-set level of its cards; where the settings name one too, the
//! lower counts.
//!
//! With `--ready-fd` the line `ready` is written to that descriptor, a pipe or a file, once every card serves or is
//! known not to; a service manager is told as well (sd_notify(3)). With `--check` nothing is served: settings and the
//! whole key store are read and checked. `--on-demand` says that a program starts the daemon because it needs one, and
//! not a user: then the daemon ends if the home was stopped, or the settings forbid it.
//!
//! Logs to `log/daemon.log` of the home, and to standard error unless that is a file. Exit codes: 0 stopped as told, 1
//! the home cannot be served, 2 the command line is wrong, 3 another daemon serves the home, 4 not to be started on
//! demand.
#![forbid(unsafe_code)]

use daemon::store::SqliteStore;
use std::process::ExitCode;

fn main() -> ExitCode {
    daemon::command::run(|home| SqliteStore::open(&home.key_store()), Some(SqliteStore::backup))
}
