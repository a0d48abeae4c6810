//! Reading a cleartext message: its text, and the packets of its signatures.

use super::lines::{Lines, Out};
use super::{BEGIN_MESSAGE, BEGIN_SIGNATURE, Text};
use crate::HashAlgorithm;
use crate::packet::PacketError;
use crate::packet::armor::{Dearmorer, without_space};

/// Reads a cleartext message, in pieces of any length.
///
/// ```text
/// Before ──▶ Headers ──▶ LineBegin ⇄ Line ──▶ Signature
///    first line   empty line         BEGIN PGP SIGNATURE
/// ```
#[derive(Clone, Debug)]
pub struct Reader {
    state: State,
    /// The beginning of a line that must be seen as a whole.
    line: Vec<u8>,
    line_number: u64,
    hashes: Vec<HashAlgorithm>,
    lines: Lines,
    armor: Dearmorer,
    signatures: Vec<u8>,
    has_text_around: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before,
    Headers,
    LineBegin,
    Line,
    Signature,
}

impl Reader {
    /// A reader before a message; other text before it is skipped.
    pub fn new() -> Self {
        Self {
            state: State::Before,
            line: Vec::new(),
            line_number: 1,
            hashes: Vec::new(),
            lines: Lines::default(),
            armor: Dearmorer::new(),
            signatures: Vec::new(),
            has_text_around: false,
        }
    }

    /// Whether there is anything but white space before or after the message, where it would not be signed.
    pub fn has_text_around(&self) -> bool {
        self.has_text_around
    }

    /// The known hashes that the headers name; empty if they name none, as RFC 9580 allows. Final once text has come.
    pub fn hashes(&self) -> &[HashAlgorithm] {
        &self.hashes
    }

    /// Whether the headers were read, so that text follows.
    pub fn has_begun(&self) -> bool {
        !matches!(self.state, State::Before | State::Headers)
    }

    /// Whether the whole message was read.
    pub fn is_done(&self) -> bool {
        self.armor.is_done()
    }

    /// The line end before the signature, which is neither signed nor appended to the text.
    pub fn last_line_end(&self) -> &'static [u8] {
        self.lines.last_end().unwrap_or_default()
    }

    /// Reads the next piece and appends the text in it. Returns how many bytes of the piece were consumed, which is
    /// less than all only at the end of the message. Call it with bytes after the message too, for
    /// [`Reader::has_text_around`].
    ///
    /// # Errors
    /// [`PacketError`] if it is not a cleartext message.
    pub fn update(&mut self, input: &[u8], out: &mut Text) -> Result<usize, PacketError> {
        let mut at = 0;
        while at < input.len() && !self.is_done() {
            let rest = &input[at..];
            at += match self.state {
                State::Before | State::Headers => self.around(rest)?,
                State::LineBegin => self.line_begin(rest, out)?,
                State::Line => self.line(rest, out)?,
                State::Signature => self.signature(rest)?,
            };
        }
        self.has_text_around |= input[at..].iter().any(|byte| !byte.is_ascii_whitespace());
        Ok(at)
    }

    /// Ends the input, and returns the packets of the signatures.
    ///
    /// # Errors
    /// [`PacketError`] if the message is incomplete.
    pub fn finish(self) -> Result<Vec<u8>, PacketError> {
        match self.state {
            State::Before => Err(PacketError::NoArmor),
            State::Signature => self.armor.finish().map(|()| self.signatures),
            _ => Err(PacketError::Truncated),
        }
    }

    /// Reads lines before the text.
    fn around(&mut self, input: &[u8]) -> Result<usize, PacketError> {
        let (taken, is_whole) = self.gather(input)?;
        if is_whole {
            let line = std::mem::take(&mut self.line);
            let line = without_space(&line);
            match self.state {
                State::Before if line == BEGIN_MESSAGE => self.state = State::Headers,
                State::Before => self.has_text_around |= !line.is_empty(),
                _ if line.is_empty() => self.state = State::LineBegin,
                _ => self.header(line)?,
            }
            self.line_number += 1;
        }
        Ok(taken)
    }

    /// Reads a header line. Only hashes may be named, since anything else could pass for signed text (RFC 9580, 7.1).
    fn header(&mut self, line: &[u8]) -> Result<(), PacketError> {
        let names = line.strip_prefix(b"Hash:").and_then(|names| std::str::from_utf8(names).ok());
        for name in names.ok_or_else(|| self.bad_line())?.split(',') {
            let known = HASHES.into_iter().find(|hash| hash.to_string().eq_ignore_ascii_case(name.trim()));
            self.hashes.extend(known.filter(|hash| !self.hashes.contains(hash)));
        }
        Ok(())
    }

    /// Reads the first bytes of a line, which decide what kind of line it is.
    fn line_begin(&mut self, input: &[u8], out: &mut Text) -> Result<usize, PacketError> {
        if self.line.is_empty() && input[0] != b'-' {
            self.state = State::Line;
            return Ok(0);
        }
        if (self.line.is_empty() && input.len() > 1 && input[1] == b' ')
            || (self.line == b"-" && input[0] == b' ')
        {
            let taken = 2 - self.line.len();
            self.line.clear();
            self.state = State::Line;
            // Notes that the line has begun, even if it has no more bytes.
            self.part(&[], out)?;
            return Ok(taken);
        }
        if self.line.is_empty() && input.len() == 1 {
            self.line.push(b'-');
            return Ok(1);
        }
        let (taken, is_whole) = self.gather(input)?;
        if is_whole {
            if without_space(&self.line) != BEGIN_SIGNATURE {
                return Err(self.bad_line());
            }
            self.state = State::Signature;
            self.armor.update(BEGIN_SIGNATURE, &mut self.signatures)?;
            self.armor.update(b"\n", &mut self.signatures)?;
        }
        Ok(taken)
    }

    fn line(&mut self, input: &[u8], out: &mut Text) -> Result<usize, PacketError> {
        let end = memchr::memchr(b'\n', input);
        self.part(&input[..end.unwrap_or(input.len())], out)?;
        let Some(end) = end else { return Ok(input.len()) };
        self.lines.end(&mut Out { signed: &mut out.signed, text: Some(&mut out.text) });
        self.state = State::LineBegin;
        self.line_number += 1;
        Ok(end + 1)
    }

    fn part(&mut self, part: &[u8], out: &mut Text) -> Result<(), PacketError> {
        let mut out = Out { signed: &mut out.signed, text: Some(&mut out.text) };
        self.lines.part(part, &mut out).map_err(|_| self.bad_line())
    }

    fn signature(&mut self, input: &[u8]) -> Result<usize, PacketError> {
        let taken = self.armor.update(input, &mut self.signatures)?;
        if self.signatures.len() > SIGNATURES_BYTES_MAX {
            return Err(self.bad_line());
        }
        Ok(taken)
    }

    /// Adds bytes to the buffered line, up to its end; returns how many were consumed, and whether the line is
    /// complete.
    fn gather(&mut self, input: &[u8]) -> Result<(usize, bool), PacketError> {
        let end = memchr::memchr(b'\n', input);
        let part = &input[..end.unwrap_or(input.len())];
        let room = LINE_BYTES_MAX - self.line.len();
        if part.len() > room && self.state != State::Before {
            return Err(self.bad_line());
        }
        self.line.extend_from_slice(&part[..part.len().min(room)]);
        Ok(end.map_or((input.len(), false), |end| (end + 1, true)))
    }

    fn bad_line(&self) -> PacketError {
        PacketError::ArmorLine { line: self.line_number }
    }
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

const HASHES: [HashAlgorithm; 9] = [
    HashAlgorithm::Sha256,
    HashAlgorithm::Sha384,
    HashAlgorithm::Sha512,
    HashAlgorithm::Sha224,
    HashAlgorithm::Sha3_256,
    HashAlgorithm::Sha3_512,
    HashAlgorithm::Sha1,
    HashAlgorithm::Ripemd160,
    HashAlgorithm::Md5,
];
/// Longest line outside of the text, in bytes.
const LINE_BYTES_MAX: usize = 4096;
/// At most this many bytes of signatures are read.
const SIGNATURES_BYTES_MAX: usize = 1 << 20;
