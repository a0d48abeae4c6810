//! Handling what a daemon of another version left in `run/`: processes with another protocol, files with another
//! layout.
//!
//! Cards hold nothing that is not elsewhere: they are ended, and their clients send again what was in flight. The
//! keeper is ended too. Unsealed master keys go with it, unless the home is for development. Of the processes' rows
//! only the head is read, which is the same in all versions: their identities.

use super::cards::KILL_WAIT;
use crate::rows::Rows;
use crate::supervise::card::ProcessRow;
use crate::supervise::process::Identity;
use home::Home;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use wire::control::CONTROL_VERSION;

/// The file that names the version of all other files in `run/`.
const VERSION: &str = "version";
/// Upper bound of the bytes that are read of that file.
const VERSION_BYTES_MAX: u64 = 16;

/// Ends processes of another version, and removes the files in `run/` that they and their daemon wrote.
pub(super) fn end_other_versions(home: &Home) {
    let run = home.run();
    let path = run.join(VERSION);
    let mut found = String::new();
    let read = File::open(&path).and_then(|file| file.take(VERSION_BYTES_MAX).read_to_string(&mut found));
    let found = read.is_ok().then_some(found);
    if found.as_deref().map(str::trim) == Some(CONTROL_VERSION.to_string().as_str()) {
        return;
    }
    let found = found.map_or_else(|| "an earlier one".to_owned(), |text| text.trim().to_owned());
    let heads = Rows::<ProcessRow>::open(&run.join("processes")).and_then(|rows| rows.heads::<Identity>());
    for process in heads.unwrap_or_default().iter().filter_map(Identity::open) {
        tracing::warn!(
            version = found,
            "a card or keeper of another version than {CONTROL_VERSION} is ended; a new one takes its place, and a \
             secure home needs unsealing"
        );
        let _ = process.kill();
        let _ = process.wait_dead(Some(KILL_WAIT));
    }
    let cleared = (|| -> io::Result<()> {
        for entry in fs::read_dir(&run)? {
            let entry = entry?;
            if entry.file_name() != VERSION && !entry.file_type()?.is_dir() {
                fs::remove_file(entry.path())?;
            }
        }
        // Written last: if this daemon ends before, the next one does it all again.
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        writeln!(file, "{CONTROL_VERSION}")
    })();
    if let Err(error) = cleared {
        tracing::warn!("{}: what another version left was not cleared: {error}", run.display());
    }
}
