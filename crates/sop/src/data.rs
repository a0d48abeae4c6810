//! Where an operation's input comes from and its output goes.

use crate::failure::of_pipeline;
use pipeline::{Input, Output, Summary};
use sop::Result;
use std::io::{self, Cursor, Read, Seek, Write};
use std::sync::{Arc, Mutex};
use tempfile::SpooledTempFile;

/// Longest text, in bytes, that is buffered in memory until it is authenticated; a longer one is buffered in an unnamed
/// file.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Which streams an operation reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Standard input and output of the process.
    Standard,
    /// The reader and writer that the crate `sop` hands to the operation.
    Given,
}

/// The input of an operation.
///
/// # Errors
/// The given reader fails.
pub(crate) fn input(streams: Streams, given: &mut (dyn Read + Send + Sync)) -> Result<Input> {
    Ok(match streams {
        Streams::Standard => Input::Stdin,
        Streams::Given => {
            let mut bytes = Vec::new();
            given.read_to_end(&mut bytes)?;
            let length = Some(bytes.len() as u64);
            Input::Reader { reader: Box::new(Cursor::new(bytes)), bytes: length, name: "the data".to_owned() }
        }
    })
}

/// Runs an operation whose output may be written as it is produced. Output to a given writer is written only on
/// success.
///
/// # Errors
/// The operation's error, as the draft's error.
pub(crate) fn run(
    streams: Streams,
    sink: &mut (dyn Write + Send + Sync),
    operation: impl FnOnce(Output) -> std::result::Result<Summary, pipeline::Error>,
) -> Result<Summary> {
    match streams {
        Streams::Standard => operation(Output::Stdout).map_err(of_pipeline),
        Streams::Given => run_waiting(sink, operation),
    }
}

/// Runs an operation whose output is written only on success.
///
/// # Errors
/// The operation's error, as the draft's error; or the writer fails.
pub(crate) fn run_waiting(
    sink: &mut (dyn Write + Send + Sync),
    operation: impl FnOnce(Output) -> std::result::Result<Summary, pipeline::Error>,
) -> Result<Summary> {
    let waiting = Waiting::new();
    let summary = operation(Output::Writer(Box::new(waiting.clone()))).map_err(of_pipeline)?;
    waiting.copy_to(sink)?;
    Ok(summary)
}

/// Output that is held back, in memory or in an unnamed file, until [`Self::copy_to`].
#[derive(Clone)]
pub(crate) struct Waiting(Arc<Mutex<SpooledTempFile>>);

impl Waiting {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(SpooledTempFile::new(WAITING_BYTES_MAX))))
    }

    /// Writes all that was held back to `sink`.
    pub(crate) fn copy_to(&self, sink: &mut (dyn Write + Send + Sync)) -> io::Result<()> {
        let mut file = self.0.lock().map_err(|_| io::Error::other("a writer did not finish"))?;
        file.rewind()?;
        io::copy(&mut *file, sink)?;
        sink.flush()
    }
}

impl Write for Waiting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().map_err(|_| io::Error::other("a writer did not finish"))?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
