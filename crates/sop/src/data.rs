//! Where the data of an operation comes from and goes.

use crate::failure::of_pipeline;
use pipeline::{Input, Output, Summary};
use sop::Result;
use std::io::{self, Cursor, Read, Seek, Write};
use std::sync::{Arc, Mutex};
use tempfile::SpooledTempFile;

/// Text that waits in memory for its authentication; longer ones wait in a file without a name.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Whose streams data travels on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Standard input and output.
    Standard,
    /// Those that an operation is handed.
    Given,
}

/// The input of an operation; `is_text` where it has to be UTF-8.
///
/// # Errors
/// Where it cannot be read.
pub(crate) fn input(streams: Streams, given: &mut (dyn Read + Send + Sync), is_text: bool) -> Result<Input> {
    let name = "standard input".to_owned();
    Ok(match (streams, is_text) {
        (Streams::Standard, false) => Input::Stdin,
        (Streams::Standard, true) => {
            Input::Reader { reader: Box::new(Utf8::new(io::stdin())), bytes: None, name }
        }
        (Streams::Given, _) => {
            let mut bytes = Vec::new();
            given.read_to_end(&mut bytes)?;
            let length = Some(bytes.len() as u64);
            let reader = Cursor::new(bytes);
            let reader: Box<dyn Read + Send> =
                if is_text { Box::new(Utf8::new(reader)) } else { Box::new(reader) };
            Input::Reader { reader, bytes: length, name: "the data".to_owned() }
        }
    })
}

/// Runs an operation whose output may leave as it is made.
///
/// # Errors
/// Its errors in the draft's words.
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

/// Runs an operation whose output leaves when all is well, and not before.
///
/// # Errors
/// Its errors in the draft's words.
pub(crate) fn run_waiting(
    sink: &mut (dyn Write + Send + Sync),
    operation: impl FnOnce(Output) -> std::result::Result<Summary, pipeline::Error>,
) -> Result<Summary> {
    let waiting = Waiting::new();
    let summary = operation(Output::Writer(Box::new(waiting.clone()))).map_err(of_pipeline)?;
    waiting.copy_to(sink)?;
    Ok(summary)
}

/// Output that waits.
#[derive(Clone)]
pub(crate) struct Waiting(Arc<Mutex<SpooledTempFile>>);

impl Waiting {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(SpooledTempFile::new(WAITING_BYTES_MAX))))
    }

    /// Lets it leave.
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

/// Passes UTF-8 on, and fails with [`io::ErrorKind::InvalidData`] where there is something else.
struct Utf8<R> {
    reader: R,
    /// The beginning of a letter whose other bytes are still to come: at most 3 bytes.
    open: Vec<u8>,
}

impl<R: Read> Utf8<R> {
    fn new(reader: R) -> Self {
        Self { reader, open: Vec::new() }
    }

    fn check(&mut self, bytes: &[u8]) -> io::Result<()> {
        let not_text = || io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text");
        if bytes.is_empty() {
            return if self.open.is_empty() { Ok(()) } else { Err(not_text()) };
        }
        let mut text = std::mem::take(&mut self.open);
        text.extend_from_slice(bytes);
        match std::str::from_utf8(&text) {
            Ok(_) => Ok(()),
            Err(error) if error.error_len().is_none() => {
                self.open = text.split_off(error.valid_up_to());
                Ok(())
            }
            Err(_) => Err(not_text()),
        }
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(out)?;
        if !out.is_empty() {
            self.check(&out[..count])?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte a call.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = out.len().min(1);
            self.0.read(&mut out[..count])
        }
    }

    #[test]
    fn text_is_passed_on_however_it_is_cut() {
        let text = "aä€𝄞";
        let mut read = String::new();
        Utf8::new(Slow(text.as_bytes())).read_to_string(&mut read).unwrap();
        assert_eq!(read, text);
    }

    #[test]
    fn what_is_not_text_is_refused() {
        for bytes in [&b"\xff"[..], b"a\xc3", b"\xc3a", b"\xed\xa0\x80", b"ok\xf0\x9d\x84"] {
            let mut read = Vec::new();
            let error = Utf8::new(Slow(bytes)).read_to_end(&mut read).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{bytes:?}");
        }
    }
}
