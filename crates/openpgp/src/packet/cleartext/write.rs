//! Writing the text of a cleartext message.

use super::BEGIN_MESSAGE;
use super::lines::{Lines, Out};
use crate::HashAlgorithm;
use crate::packet::PacketError;

/// Writes the text of a cleartext message, in pieces of any length.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    lines: Lines,
    is_within_line: bool,
}

impl Writer {
    /// A writer at the beginning of a text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the lines before the text. `hashes` are those of the signatures that will follow, each once.
    pub fn begin(&self, hashes: &[HashAlgorithm], out: &mut Vec<u8>) {
        out.extend_from_slice(BEGIN_MESSAGE);
        out.push(b'\n');
        for hash in hashes {
            out.extend_from_slice(format!("Hash: {hash}\n").as_bytes());
        }
        out.push(b'\n');
    }

    /// Appends the next piece of the text in the message's form to `out`, and in the form that is signed to `signed`.
    ///
    /// # Errors
    /// [`PacketError`] for more than 64 KiB of white space in a row that may or may not end a line.
    pub fn update(
        &mut self,
        text: &[u8],
        out: &mut Vec<u8>,
        signed: &mut Vec<u8>,
    ) -> Result<(), PacketError> {
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if !self.is_within_line && line.starts_with(b"-") {
                out.extend_from_slice(b"- ");
            }
            out.extend_from_slice(line);
            let mut to = Out { signed, text: None };
            let whole = line.strip_suffix(b"\n");
            self.lines.part(whole.unwrap_or(line), &mut to)?;
            self.is_within_line = whole.is_none();
            if whole.is_some() {
                self.lines.end(&mut to);
            }
        }
        Ok(())
    }

    /// Appends the line feed that separates the text from the armor of its signatures, unless the text's last line has
    /// an end.
    pub fn finish(self, out: &mut Vec<u8>) {
        if self.is_within_line || self.lines.last_end().is_none() {
            out.push(b'\n');
        }
    }
}
