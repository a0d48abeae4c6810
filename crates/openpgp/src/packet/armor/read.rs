//! Reading armor: finds a block, and decodes its base64.

use super::{ArmorKind, DASHES, END, UTF8_MARK, without_space};
use crate::packet::PacketError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Reads one block of armor, in pieces of any length. Less than a line is buffered.
///
/// ```text
/// Before ──▶ Headers ──▶ Data ──▶ Padded ──▶ End ──▶ Done
///    first line    empty line   '='    checksum   last line
/// ```
/// Text before the block is skipped. A checksum is ignored, as RFC 9580, 6.1 asks: the contents have their own
/// protection.
#[derive(Clone, Debug)]
pub struct Dearmorer {
    state: State,
    kind: Option<ArmorKind>,
    /// The part of the current line that was read, outside of data.
    line: Vec<u8>,
    /// Characters of data that are not decoded yet, fewer than four.
    quad: [u8; 4],
    quad_chars: usize,
    is_line_begin: bool,
    line_number: u64,
    header_lines: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before,
    Headers,
    Data,
    /// After padding: only a checksum and the last line may follow.
    Padded,
    /// Inside of the checksum's line.
    Checksum,
    /// Inside of the block's last line.
    End,
    Done,
}

impl Dearmorer {
    /// A reader before a block.
    pub fn new() -> Self {
        Self {
            state: State::Before,
            kind: None,
            line: Vec::new(),
            quad: [0; 4],
            quad_chars: 0,
            is_line_begin: true,
            line_number: 1,
            header_lines: 0,
        }
    }

    /// The kind of block, once its first line was read.
    pub fn kind(&self) -> Option<ArmorKind> {
        self.kind
    }

    /// Whether the last line was read; bytes after it are not consumed.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Reads the next piece, and appends the bytes that it decodes to: at most three quarters of its length and 3 more.
    /// Returns how many bytes of the piece were consumed, which is less than all only at the end of the block.
    ///
    /// # Errors
    /// [`PacketError`] if it is not armor; the appended bytes are then to be discarded.
    pub fn update(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, PacketError> {
        let mut at = 0;
        while at < input.len() && self.state != State::Done {
            let rest = &input[at..];
            at += match self.state {
                State::Data => self.data(rest, out)?,
                _ => self.text(rest)?,
            };
        }
        Ok(at)
    }

    /// Ends the input.
    ///
    /// # Errors
    /// [`PacketError`] if no block began, or the block has not ended.
    pub fn finish(mut self) -> Result<(), PacketError> {
        if self.state != State::Done && !self.line.is_empty() {
            // The last line need not have a line feed.
            self.text(b"\n")?;
        }
        match self.state {
            State::Done => Ok(()),
            State::Before => Err(PacketError::NoArmor),
            _ => Err(PacketError::Truncated),
        }
    }

    /// Reads the rest of the current line outside of data; returns how many bytes were consumed.
    fn text(&mut self, input: &[u8]) -> Result<usize, PacketError> {
        let end = memchr::memchr(b'\n', input);
        let part = &input[..end.unwrap_or(input.len())];
        let room = LINE_BYTES_MAX - self.line.len();
        if part.len() > room && self.state != State::Before {
            return Err(self.too_long());
        }
        // Long lines before the block are not armor, however they end.
        self.line.extend_from_slice(&part[..part.len().min(room)]);
        let Some(end) = end else { return Ok(input.len()) };
        let line = std::mem::take(&mut self.line);
        self.whole_line(without_space(&line))?;
        self.line = line;
        self.line.clear();
        self.line_number += 1;
        Ok(end + 1)
    }

    fn whole_line(&mut self, line: &[u8]) -> Result<(), PacketError> {
        match self.state {
            State::Before => {
                let line = line.strip_prefix(UTF8_MARK).filter(|_| self.line_number == 1).unwrap_or(line);
                self.kind = ArmorKind::of_first_line(line);
                match self.kind {
                    None => {}
                    Some(ArmorKind::SignedMessage) => self.state = State::Done,
                    Some(_) => self.state = State::Headers,
                }
            }
            State::Headers if line.is_empty() => {
                self.state = State::Data;
                self.is_line_begin = true;
            }
            State::Headers => {
                self.header_lines += 1;
                if self.header_lines > HEADER_LINES_MAX {
                    return Err(self.too_long());
                }
                if !line.contains(&b':') {
                    return Err(self.bad_line());
                }
            }
            State::Checksum => self.state = State::Padded,
            State::Padded if line.is_empty() => {}
            State::Padded if line.starts_with(b"=") => {}
            State::Padded | State::End => {
                let name = line.strip_prefix(END).and_then(|line| line.strip_suffix(DASHES));
                let name = name.ok_or_else(|| self.bad_line())?;
                if self.kind.is_some_and(|kind| kind.name().as_bytes() != name) {
                    return Err(PacketError::ArmorKind);
                }
                self.state = State::Done;
            }
            State::Data | State::Done => {}
        }
        Ok(())
    }

    /// Reads data: usual whole lines in the fast way, all other data character by character.
    fn data(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, PacketError> {
        if self.is_line_begin && self.quad_chars == 0 {
            let taken = self.usual_lines(input, out);
            if taken > 0 {
                return Ok(taken);
            }
        }
        for (at, byte) in input.iter().enumerate() {
            match *byte {
                b'\n' => {
                    self.is_line_begin = true;
                    self.line_number += 1;
                    // A usual line may follow.
                    return Ok(at + 1);
                }
                b' ' | b'\t' | b'\r' => {}
                b'-' if self.is_line_begin => return self.leave_data(State::End).map(|()| at),
                b'=' if self.is_line_begin && self.quad_chars == 0 => {
                    return self.leave_data(State::Checksum).map(|()| at);
                }
                b'=' => {
                    self.padding(out)?;
                    return Ok(at + 1);
                }
                byte => {
                    self.is_line_begin = false;
                    self.character(byte, out)?;
                }
            }
        }
        Ok(input.len())
    }

    /// Reads lines that consist of whole groups of four characters without padding; returns how many bytes were
    /// consumed.
    fn usual_lines(&mut self, input: &[u8], out: &mut Vec<u8>) -> usize {
        let input = &input[..input.len().min(USUAL_BYTES_MAX)];
        let mut written = out.len();
        out.resize(written + input.len() / 4 * 3, 0);
        let mut taken = 0;
        while let Some(end) = memchr::memchr(b'\n', &input[taken..]) {
            let line = without_space(&input[taken..taken + end]);
            let is_usual = line.len().is_multiple_of(4) && line.last().is_some_and(|last| *last != b'=');
            // Any other line has characters that are not in base64.
            let Some(bytes) =
                is_usual.then(|| STANDARD.decode_slice(line, &mut out[written..]).ok()).flatten()
            else {
                break;
            };
            written += bytes;
            taken += end + 1;
            self.line_number += 1;
        }
        out.truncate(written);
        taken
    }

    fn character(&mut self, byte: u8, out: &mut Vec<u8>) -> Result<(), PacketError> {
        self.quad[self.quad_chars] = byte;
        self.quad_chars += 1;
        if self.quad_chars == self.quad.len() {
            self.quad_chars = 0;
            let mut bytes = [0; 3];
            let count = STANDARD.decode_slice(self.quad, &mut bytes).map_err(|_| self.bad_line())?;
            out.extend_from_slice(&bytes[..count]);
        }
        Ok(())
    }

    /// Reads the first `=` of the padding, which is only valid after two or three characters of a group; another `=`
    /// may follow.
    fn padding(&mut self, out: &mut Vec<u8>) -> Result<(), PacketError> {
        if self.quad_chars < 2 {
            return Err(self.bad_line());
        }
        for _ in self.quad_chars..self.quad.len() {
            self.character(b'=', out)?;
        }
        // The rest of the line is another `=`, or empty: it is read as a line that may begin with `=`.
        self.state = State::Padded;
        Ok(())
    }

    fn leave_data(&mut self, state: State) -> Result<(), PacketError> {
        if self.quad_chars != 0 {
            return Err(self.bad_line());
        }
        self.state = state;
        Ok(())
    }

    fn bad_line(&self) -> PacketError {
        PacketError::ArmorLine { line: self.line_number }
    }

    fn too_long(&self) -> PacketError {
        PacketError::ArmorHeaders { line_bytes_max: LINE_BYTES_MAX, lines_max: HEADER_LINES_MAX }
    }
}

impl Default for Dearmorer {
    fn default() -> Self {
        Self::new()
    }
}

/// Longest line outside of data, in bytes.
const LINE_BYTES_MAX: usize = 4096;
const HEADER_LINES_MAX: usize = 64;
/// At most this many bytes of a piece are decoded at a time.
const USUAL_BYTES_MAX: usize = 64 << 10;
