//! Unpacks a body: literal, compressed and signature packets, down to the text.
//!
//! ```text
//! block of the body ─ level 0 ─┬─ text: the block goes on as it is
//!                              └─ compressed ─ inflate ─ level 1 ─┬─ text, in the memory of a block that goes on
//!                                                                 └─ compressed ─ inflate ─ level 2 ...
//! ```
//! Each level gets its bytes from the one before. Pieces that hold only text are not copied. Compressed data are
//! inflated into the memory of the blocks that go on.

use crate::block::Block;
use crate::entry::body_error;
use crate::error::Error;
use crate::flow::Passed;
use crate::request::Limits;
use deflate::{Backend, Format, Inflated, Inflater};
use openpgp::CompressionAlgorithm;
use openpgp::body::grammar::{Inner, InnerEvent, LiteralHeader};
use openpgp::signature::Checker;
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// The contents of a body besides the text.
#[derive(Default)]
pub(crate) struct Found {
    /// Signatures, which the text is to be hashed for.
    pub(crate) checker: Checker,
    /// Number of signatures of an unknown kind, or malformed.
    pub(crate) unknown_signatures: u32,
    /// Header of the literal packet, once it was read.
    pub(crate) literal: Option<LiteralHeader>,
}

/// Reads the packets inside of a body.
pub(crate) struct Unwrap<'a> {
    levels: Vec<Level>,
    found: &'a Mutex<Found>,
    limits: Limits,
    name: String,
    backend: Backend,
    /// Whether the body is authenticated only at its end. Errors inside are then reported after that, since they would
    /// tell a forger what became of the forged bytes.
    is_late: bool,
    /// Length of blocks of inflated text, in bytes.
    text_block_bytes: usize,
    error: Option<Error>,
    packed_bytes: u64,
    /// Number of bytes that came out of the compressed packets of all levels, text or not.
    inflated_bytes: u64,
    text_bytes: u64,
}

/// A level of nested packets.
struct Level {
    inner: Inner,
    /// Unpacks the level's compressed packet, if the level has one; the output is the next level.
    unpacker: Option<Unpacker>,
    is_inflated: bool,
    is_ended: bool,
    /// Number of bytes at the cursor that are compressed data.
    data_bytes: usize,
    /// Bytes of this level; the unread ones begin at `cursor`. Those of level 0 are in a block.
    buffer: Zeroizing<Vec<u8>>,
    cursor: usize,
}

/// Unpacks the data of a compressed packet.
enum Unpacker {
    Inflater(Box<Inflater>),
    /// The data are not compressed (algorithm 0, RFC 9580, 9.4); they end with the packet.
    None,
}

/// The result of asking for bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Had {
    /// This many bytes are there.
    Some(usize),
    /// No bytes are there before the next block comes.
    NotYet,
    /// No more bytes will come.
    End,
}

/// The result of reading packets in memory.
enum Led {
    /// All packets are read; the text ends at `text_end`.
    Through { text_end: usize },
    /// A compressed packet's data begin at `at`.
    Compressed { at: usize },
}

impl<'a> Unwrap<'a> {
    pub(crate) fn new(
        inner: Inner,
        found: &'a Mutex<Found>,
        limits: Limits,
        name: &str,
        backend: Backend,
        is_late: bool,
        text_block_bytes: usize,
    ) -> Self {
        let name = name.to_owned();
        let levels = vec![Level::new(inner)];
        Self {
            levels,
            found,
            limits,
            name,
            backend,
            is_late,
            text_block_bytes,
            error: None,
            packed_bytes: 0,
            inflated_bytes: 0,
            text_bytes: 0,
        }
    }

    /// Makes a block of text from a block of the body.
    pub(crate) fn pass(&mut self, input: &mut Block, out: &mut Block) -> Result<Passed, Error> {
        if self.error.is_none() {
            match self.pass_on(input, out) {
                Err(error) if self.is_late => self.error = Some(error),
                result => return result,
            }
        }
        // The rest of the body is read only for its authentication.
        match self.error.take() {
            Some(error) if input.is_last => Err(error),
            error => {
                self.error = error;
                Ok(Passed { is_input_used: true, ..Passed::default() })
            }
        }
    }

    fn pass_on(&mut self, input: &mut Block, out: &mut Block) -> Result<Passed, Error> {
        if self.levels.len() == 1 {
            let (from, to) = (input.range().start, input.range().end);
            match self.read_packets(0, input.memory(to), from, to)? {
                Led::Compressed { at } => {
                    self.packed_bytes += (at - from) as u64;
                    input.keep(at..to);
                }
                Led::Through { text_end } => {
                    self.packed_bytes += (to - from) as u64;
                    self.count(text_end - from)?;
                    input.keep(from..text_end);
                    if input.is_last {
                        self.end_level(0)?;
                    }
                    out.is_last = input.is_last;
                    out.take_piece(input);
                    let is_output_ready = out.is_last || out.len() > 0;
                    return Ok(Passed { is_input_used: true, is_output_ready, is_inflated: false });
                }
            }
        }
        self.fill(input, out)
    }

    /// Fills a block with text of the last level.
    fn fill(&mut self, input: &mut Block, out: &mut Block) -> Result<Passed, Error> {
        let room = out.memory(self.text_block_bytes).len();
        let mut text_end = 0;
        loop {
            if room - text_end < ROOM_BYTES_MIN {
                return self.give(out, text_end, false);
            }
            let last = self.levels.len() - 1;
            let memory = out.memory(0);
            match self.pull(last, input, &mut memory[text_end..])? {
                Had::NotYet => return self.give(out, text_end, true),
                Had::End => {
                    self.end_level(last)?;
                    out.is_last = true;
                    return self.give(out, text_end, true);
                }
                Had::Some(bytes) => {
                    let to = text_end + bytes;
                    match self.read_packets(last, memory, text_end, to)? {
                        Led::Through { text_end: end } => text_end = end,
                        Led::Compressed { at } => {
                            self.levels[last].buffer = memory[at..to].to_vec().into();
                        }
                    }
                }
            }
        }
    }

    fn give(&mut self, out: &mut Block, text_end: usize, is_input_used: bool) -> Result<Passed, Error> {
        out.keep(0..text_end);
        self.count(text_end)?;
        Ok(Passed { is_input_used, is_output_ready: out.is_last || text_end > 0, is_inflated: true })
    }

    /// Gets bytes of a level by inflating the data of the level before.
    fn pull(&mut self, level: usize, input: &mut Block, out: &mut [u8]) -> Result<Had, Error> {
        let before = level - 1;
        loop {
            if !self.levels[before].is_inflated {
                let had = self.inflate(before, input, out)?;
                if had > 0 {
                    return Ok(Had::Some(had));
                }
            } else {
                let rest = std::mem::take(&mut self.levels[before].data_bytes);
                self.move_on(before, input, rest);
            }
            if self.levels[before].data_bytes > 0 {
                continue;
            }
            match self.advance(before, input)? {
                Had::Some(_) => {}
                other => return Ok(other),
            }
        }
    }

    fn inflate(&mut self, level: usize, input: &mut Block, out: &mut [u8]) -> Result<usize, Error> {
        let Level { unpacker, data_bytes, buffer, cursor, .. } = &mut self.levels[level];
        let data = if level == 0 { input.piece() } else { &buffer[*cursor..] };
        let done = match unpacker {
            None => return Ok(0),
            Some(Unpacker::Inflater(inflater)) => {
                let done = inflater.inflate(&data[..*data_bytes], out);
                done.map_err(|cause| Error::malformed(&self.name, cause))?
            }
            Some(Unpacker::None) => {
                let bytes = out.len().min(*data_bytes);
                out[..bytes].copy_from_slice(&data[..bytes]);
                Inflated { consumed: bytes, produced: bytes, is_end: false }
            }
        };
        if done.consumed == 0 && done.produced == 0 && !done.is_end && *data_bytes > 0 {
            return Err(Error::malformed(&self.name, "compressed data lead nowhere"));
        }
        *data_bytes -= done.consumed;
        self.levels[level].is_inflated = done.is_end;
        self.move_on(level, input, done.consumed);
        self.bound_expansion(done.produced)?;
        Ok(done.produced)
    }

    /// Moves the cursor of a level on by `bytes`.
    fn move_on(&mut self, level: usize, input: &mut Block, bytes: usize) {
        if level == 0 {
            input.skip(bytes);
            self.packed_bytes += bytes as u64;
        } else {
            self.levels[level].cursor += bytes;
        }
    }

    /// Reads packets of a level with a compressed packet, up to the next data of that packet.
    fn advance(&mut self, level: usize, input: &mut Block) -> Result<Had, Error> {
        loop {
            let left = if level == 0 {
                input.len()
            } else {
                self.levels[level].buffer.len() - self.levels[level].cursor
            };
            if left == 0 {
                match self.refill(level, input)? {
                    Had::Some(_) => continue,
                    other => return Ok(other),
                }
            }
            let Level { inner, buffer, cursor, .. } = &mut self.levels[level];
            let bytes = if level == 0 { input.piece() } else { &buffer[*cursor..] };
            let step = inner.step(bytes).map_err(|cause| body_error(cause, &self.name))?;
            if let InnerEvent::Data(range) = step.event {
                self.levels[level].data_bytes = range.len();
                self.move_on(level, input, range.start);
                return Ok(Had::Some(range.len()));
            }
            self.move_on(level, input, step.consumed);
            self.note(step.event)?;
        }
    }

    fn refill(&mut self, level: usize, input: &mut Block) -> Result<Had, Error> {
        if self.levels[level].is_ended {
            return Ok(Had::End);
        }
        let had = if level == 0 {
            if input.is_last { Had::End } else { Had::NotYet }
        } else {
            let mut buffer = std::mem::take(&mut self.levels[level].buffer);
            buffer.resize(BUFFER_BYTES, 0);
            let had = self.pull(level, input, &mut buffer)?;
            buffer.truncate(if let Had::Some(bytes) = had { bytes } else { 0 });
            self.levels[level].buffer = buffer;
            self.levels[level].cursor = 0;
            had
        };
        if had == Had::End {
            self.end_level(level)?;
        }
        Ok(had)
    }

    /// Reads packets that are in memory, and moves their text together at the beginning.
    fn read_packets(
        &mut self,
        level: usize,
        memory: &mut [u8],
        from: usize,
        to: usize,
    ) -> Result<Led, Error> {
        let mut at = from;
        let mut text_end = from;
        loop {
            let step = self.levels[level].inner.step(&memory[at..to]);
            let step = step.map_err(|cause| body_error(cause, &self.name))?;
            let begin = at;
            at += step.consumed;
            match step.event {
                InnerEvent::More => return Ok(Led::Through { text_end }),
                InnerEvent::Text(range) => {
                    let bytes = range.len();
                    if begin + range.start != text_end {
                        memory.copy_within(begin + range.start..begin + range.end, text_end);
                    }
                    text_end += bytes;
                }
                InnerEvent::Compressed(algorithm) => {
                    self.descend(level, algorithm)?;
                    return Ok(Led::Compressed { at });
                }
                event => self.note(event)?,
            }
        }
    }

    fn descend(&mut self, level: usize, algorithm: CompressionAlgorithm) -> Result<(), Error> {
        let format = match algorithm {
            CompressionAlgorithm::Uncompressed => None,
            CompressionAlgorithm::ZIP => Some(Format::Zip),
            CompressionAlgorithm::ZLIB => Some(Format::Zlib),
            CompressionAlgorithm::BZip2 => Some(Format::Bzip2),
            other => return Err(Error::Unsupported { what: format!("the compression {other:?}") }),
        };
        let nested = self.levels[level].inner.nested().map_err(|cause| body_error(cause, &self.name))?;
        let unpacker = |format| Unpacker::Inflater(Box::new(Inflater::new(format, self.backend)));
        self.levels[level].unpacker = Some(format.map_or(Unpacker::None, unpacker));
        self.levels.push(Level::new(nested));
        Ok(())
    }

    /// Notes contents other than text: signatures, and the literal packet's header.
    fn note(&mut self, event: InnerEvent) -> Result<(), Error> {
        let mut found = self.lock();
        match event {
            InnerEvent::OnePass(packet) => found.checker.one_pass(&packet),
            InnerEvent::UnknownOnePass | InnerEvent::UnknownSignature => found.unknown_signatures += 1,
            InnerEvent::Signature(signature) => {
                if found.literal.is_none() {
                    found.checker.signature(*signature);
                } else {
                    found.checker.trailing(*signature);
                }
            }
            InnerEvent::Literal(header) => found.literal = Some(header),
            InnerEvent::Text(_) | InnerEvent::Compressed(_) => {
                drop(found);
                return Err(Error::malformed(&self.name, "text stands beside compressed data"));
            }
            InnerEvent::TextEnd | InnerEvent::Data(_) | InnerEvent::DataEnd | InnerEvent::More => {}
        }
        Ok(())
    }

    fn end_level(&mut self, level: usize) -> Result<(), Error> {
        let Level { inner, unpacker, is_inflated, is_ended, .. } = &mut self.levels[level];
        let truncated = || Error::Truncated { name: self.name.clone() };
        if matches!(unpacker, Some(Unpacker::Inflater(_))) && !*is_inflated {
            return Err(truncated());
        }
        *is_ended = true;
        let mut events = Vec::new();
        while let Some(event) = inner.finish().map_err(|cause| body_error(cause, &self.name))? {
            events.push(event);
        }
        events.into_iter().try_for_each(|event| self.note(event))
    }

    fn count(&mut self, text_bytes: usize) -> Result<(), Error> {
        self.text_bytes += text_bytes as u64;
        if let Some(limit) = self.limits.text_bytes_max.filter(|most| self.text_bytes > *most) {
            return Err(Error::Limit { what: "text", limit });
        }
        Ok(())
    }

    /// Counts inflated bytes of any kind, since ignored packets cost as much time as text.
    ///
    /// # Errors
    /// [`Error::Limit`] if there are too many for the compressed bytes.
    fn bound_expansion(&mut self, more_bytes: usize) -> Result<(), Error> {
        self.inflated_bytes += more_bytes as u64;
        let is_bomb = |most: &u64| self.inflated_bytes / most > self.packed_bytes.max(1);
        match self.limits.expansion_max.filter(|most| *most > 0).filter(is_bomb) {
            Some(limit) if self.inflated_bytes > EXPANSION_COUNTS_FROM_BYTES => {
                Err(Error::Limit { what: "expansion", limit })
            }
            _ => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Level {
    fn new(inner: Inner) -> Self {
        Self {
            inner,
            unpacker: None,
            is_inflated: false,
            is_ended: false,
            data_bytes: 0,
            buffer: Zeroizing::default(),
            cursor: 0,
        }
    }
}

/// With less room than this at the end of a block, in bytes, inflating is not called.
const ROOM_BYTES_MIN: usize = 4096;
/// Length of the buffer between two compressed packets, in bytes.
const BUFFER_BYTES: usize = 64 * 1024;
/// Up to this many inflated bytes, the expansion of a message is not bounded.
const EXPANSION_COUNTS_FROM_BYTES: u64 = 64 << 20;
