//! The programs of one build, with a throw-away home that they serve.

use super::super::bound;
use crate::load::LabError;
use serde::Deserialize;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The arguments of one `cryptand speed`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    pub operation: &'a str,
    /// Length of a text, in bytes; 0 where the operation takes none.
    pub bytes: usize,
    pub jobs: usize,
    pub interface: &'static str,
    /// Personality of the card; none for the operation's default.
    pub personality: Option<&'static str>,
}

/// The fields of `cryptand speed --json` that are used here; every build writes them.
#[derive(Debug, Deserialize)]
pub(super) struct Measured {
    pub ops_per_s: f64,
    pub bytes_per_s: f64,
    pub p50_ns: u64,
}

/// A build: its command, and a home with a coprocessor and an accelerator. The home's processes end, and the
/// home goes, when this is dropped.
pub(super) struct Side {
    command: PathBuf,
    home: PathBuf,
    _folder: TempDir,
}

impl Side {
    /// The build that this program belongs to.
    pub fn of_this_build(processor: Option<u32>) -> Result<Self, LabError> {
        Self::start(crate::load::target::command()?, processor)
    }

    /// Makes and serves a home with the build whose command `cryptand` this is; its cards are bound to `processor`.
    pub fn start(command: PathBuf, processor: Option<u32>) -> Result<Self, LabError> {
        let folder =
            TempDir::with_prefix("cryptand-rates-").map_err(LabError::io("make a temporary folder"))?;
        let side = Self { command, home: folder.path().join("home"), _folder: folder };
        side.call(&["init", "--insecure-dev"])?;
        side.call(&["serve", "--background"])?;
        if let Some(processor) = processor {
            for card in ["0", "1"] {
                side.call(&["card", "set", card, "--processors", &processor.to_string()])?;
            }
        }
        Ok(side)
    }

    /// Runs `cryptand speed` for `seconds`, bound to `processor`; gives its figures.
    pub fn speed(&self, run: &Run<'_>, seconds: f64, processor: Option<u32>) -> Result<Measured, LabError> {
        let (bytes, jobs, seconds) = (run.bytes.to_string(), run.jobs.to_string(), seconds.to_string());
        let mut arguments = vec!["speed", "--json", "--operation", run.operation, "--bytes", &bytes];
        arguments.extend(["--jobs", &jobs, "--interface", run.interface, "--seconds", &seconds]);
        arguments.extend(run.personality.iter().flat_map(|personality| ["--personality", personality]));
        let text = bound(processor, || self.call(&arguments))?;
        serde_json::from_slice(&text).map_err(LabError::io("read what a build measured"))
    }

    /// Runs the command on the home; gives its standard output.
    fn call(&self, arguments: &[&str]) -> Result<Vec<u8>, LabError> {
        let what = "run a program of a build";
        let mut command = Command::new(&self.command);
        command.arg("--home").arg(&self.home).args(arguments).stdin(Stdio::null());
        let named = |cause: io::Error| LabError::Io {
            what,
            cause: io::Error::new(cause.kind(), format!("{}: {cause}", self.command.display())),
        };
        let output = command.output().map_err(named)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(named(io::Error::other(format!(
            "{}, {}: {}",
            arguments.join(" "),
            output.status,
            said.trim_end()
        ))))
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // A home that does not serve has nothing to stop.
        let _ = self.call(&["stop"]);
    }
}
