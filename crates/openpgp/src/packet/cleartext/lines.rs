//! Lines of a text in the form that is signed, independent of the pieces in which they come.

use crate::packet::PacketError;

/// Normalises lines. White space and a line end are buffered until it is known that they are not the end of a line, or
/// of the text.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    /// White space that may turn out to be the end of a line.
    space: Vec<u8>,
    /// A line end that is not written yet, and whether it has a CR.
    end: Option<bool>,
    line_number: u64,
}

/// Where the lines are written to.
pub(super) struct Out<'a> {
    /// Gets the lines joined by CR LF.
    pub(super) signed: &'a mut Vec<u8>,
    /// Gets the lines with their own line ends.
    pub(super) text: Option<&'a mut Vec<u8>>,
}

impl Out<'_> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.signed.extend_from_slice(bytes);
        if let Some(text) = &mut self.text {
            text.extend_from_slice(bytes);
        }
    }

    fn line_end(&mut self, has_cr: bool) {
        self.signed.extend_from_slice(b"\r\n");
        if let Some(text) = &mut self.text {
            text.extend_from_slice(line_end(has_cr));
        }
    }
}

impl Lines {
    /// Takes a line or a part of one, without its LF.
    ///
    /// # Errors
    /// [`PacketError::ArmorLine`] if more than 64 KiB of white space would have to be buffered, from earlier parts and
    /// from this one.
    pub(super) fn part(&mut self, part: &[u8], out: &mut Out<'_>) -> Result<(), PacketError> {
        self.write_end(out);
        let solid_bytes = part.iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last + 1);
        let (solid, space) = part.split_at(solid_bytes);
        if !solid.is_empty() {
            out.bytes(&self.space);
            self.space.clear();
            out.bytes(solid);
        }
        if space.len() > SPACE_BYTES_MAX - self.space.len() {
            return Err(PacketError::ArmorLine { line: self.line_number + 1 });
        }
        self.space.extend_from_slice(space);
        Ok(())
    }

    /// Takes the LF of a line.
    pub(super) fn end(&mut self, out: &mut Out<'_>) {
        self.write_end(out);
        self.end = Some(self.space.last() == Some(&b'\r'));
        self.space.clear();
        self.line_number += 1;
    }

    /// The line end of the last line so far; `None` if it has none.
    pub(super) fn last_end(&self) -> Option<&'static [u8]> {
        self.end.map(line_end)
    }

    fn write_end(&mut self, out: &mut Out<'_>) {
        if let Some(has_cr) = self.end.take() {
            out.line_end(has_cr);
        }
    }
}

fn line_end(has_cr: bool) -> &'static [u8] {
    if has_cr { b"\r\n" } else { b"\n" }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// At most this much white space in a row is buffered until it is known whether it ends a line, in bytes.
const SPACE_BYTES_MAX: usize = 64 << 10;
