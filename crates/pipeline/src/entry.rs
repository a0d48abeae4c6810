//! The start of a flow that reads a message: it removes armor, reads the packets around the body, and yields the body's
//! bytes as one stream.

use crate::error::Error;
use crate::request::Limits;
use crate::run::Progress;
use crate::source::Reader;
use openpgp::body::BodyError;
use openpgp::body::grammar::{self, Inner, Outer, OuterEvent, Protected};
use openpgp::packet::PacketError;
use openpgp::packet::armor::{ArmorKind, Dearmorer, Look, look};
use openpgp::session_key::SessionKeyPacket;

/// The bytes of an input, with armor removed.
pub(crate) struct Bytes<'a> {
    reader: Reader<'a>,
    progress: &'a dyn Progress,
    dearmorer: Option<Dearmorer>,
    /// Bytes that were read and not all given out yet.
    pending: Vec<u8>,
    /// Number of bytes of `pending` that were given out.
    given: usize,
    read: u64,
    is_at_end: bool,
}

impl<'a> Bytes<'a> {
    /// Looks at the beginning of an input, which stays readable, and removes armor if there is any.
    pub(crate) fn new(reader: Reader<'a>, progress: &'a dyn Progress) -> Result<(Self, Look), Error> {
        let mut begin = vec![0; LOOKED_AT_BYTES];
        let mut reader = reader;
        let read = reader.fill(&mut begin)?;
        begin.truncate(read);
        progress.advance(read as u64);
        let look = look(&begin);
        let mut bytes = Self {
            reader,
            progress,
            dearmorer: None,
            pending: begin,
            given: 0,
            read: read as u64,
            is_at_end: read < LOOKED_AT_BYTES,
        };
        if matches!(look, Look::Armor(kind) if kind != ArmorKind::SignedMessage) {
            bytes.dearmorer = Some(Dearmorer::new());
            let armored = std::mem::take(&mut bytes.pending);
            bytes.take_armor_off(&armored)?;
        }
        Ok((bytes, look))
    }

    /// Number of bytes of the input that were read.
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// The input's name, for errors.
    pub(crate) fn name(&self) -> &str {
        self.reader.source().name()
    }

    /// Copies available bytes into `memory`; returns 0 only at the end.
    pub(crate) fn some(&mut self, memory: &mut [u8]) -> Result<usize, Error> {
        loop {
            let waiting = self.pending.len() - self.given;
            if waiting > 0 {
                let some = waiting.min(memory.len());
                memory[..some].copy_from_slice(&self.pending[self.given..self.given + some]);
                self.given += some;
                return Ok(some);
            }
            if self.is_at_end {
                return Ok(0);
            }
            if self.dearmorer.is_none() {
                let read = self.reader.some(memory)?;
                self.count(read);
                return Ok(read);
            }
            let mut armored = vec![0; ARMORED_BYTES];
            let read = self.reader.some(&mut armored)?;
            self.count(read);
            self.take_armor_off(&armored[..read])?;
        }
    }

    fn count(&mut self, read: usize) {
        self.is_at_end |= read == 0;
        self.read += read as u64;
        self.progress.advance(read as u64);
    }

    fn take_armor_off(&mut self, armored: &[u8]) -> Result<(), Error> {
        self.pending.clear();
        self.given = 0;
        let Some(dearmorer) = &mut self.dearmorer else { return Ok(()) };
        let taken = dearmorer.update(armored, &mut self.pending);
        taken.map_err(|cause| packet_error(cause, self.reader.source().name()))?;
        if self.is_at_end
            && let Some(dearmorer) = self.dearmorer.take()
        {
            let ended = dearmorer.finish();
            ended.map_err(|cause| packet_error(cause, self.reader.source().name()))?;
        }
        Ok(())
    }
}

/// The beginning of a message, up to the body.
pub(crate) enum Begin {
    /// Session key packets, the number of those that are not understood, and then a protected body.
    Encrypted { packets: Vec<SessionKeyPacket>, unknown_count: u32, protected: Protected },
    /// A message that is not encrypted: signed, or only packed.
    Clear(Box<Inner>),
}

/// Reads a message up to the first byte of its body, and then the body.
pub(crate) struct Entry<'a> {
    bytes: Bytes<'a>,
    outer: Outer,
    /// Bytes behind the body's header that were read together with it.
    rest: Vec<u8>,
    is_at_end: bool,
}

impl<'a> Entry<'a> {
    /// Reads a message up to its body.
    pub(crate) fn new(mut bytes: Bytes<'a>, limits: &Limits) -> Result<(Self, Begin), Error> {
        let mut outer = Outer::new(grammar_limits(limits));
        let (mut packets, mut unknown_count) = (Vec::new(), 0);
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let some = bytes.some(&mut piece)?;
            if some == 0 {
                let ended = outer.finish();
                return Err(ended.err().map_or_else(
                    || Error::Truncated { name: bytes.name().to_owned() },
                    |cause| body_error(cause, bytes.name()),
                ));
            }
            let mut at = 0;
            while at < some {
                let step = outer.step(&piece[at..some]).map_err(|cause| body_error(cause, bytes.name()))?;
                at += step.consumed;
                match step.event {
                    OuterEvent::SessionKey(packet) => packets.push(packet),
                    OuterEvent::UnknownSessionKey => unknown_count += 1,
                    OuterEvent::More => break,
                    OuterEvent::Protected(protected) => {
                        let rest = piece[at..some].to_vec();
                        let entry = Self { bytes, outer, rest, is_at_end: false };
                        return Ok((entry, Begin::Encrypted { packets, unknown_count, protected }));
                    }
                    OuterEvent::NotEncrypted(_) => {
                        let rest = piece[at..some].to_vec();
                        let inner =
                            outer.clone().into_inner().map_err(|cause| body_error(cause, bytes.name()))?;
                        let entry = Self { bytes, outer, rest, is_at_end: false };
                        return Ok((entry, Begin::Clear(Box::new(inner))));
                    }
                    OuterEvent::Body(_) | OuterEvent::BodyEnd => {
                        return Err(Error::malformed(bytes.name(), "a body stands where none may stand"));
                    }
                }
            }
        }
    }

    /// The input's name, for errors.
    pub(crate) fn name(&self) -> &str {
        self.bytes.name()
    }

    /// Number of bytes of the input that were read.
    pub(crate) fn read(&self) -> u64 {
        self.bytes.read()
    }

    /// Fills the memory with bytes of the body; less than asked only at the body's end.
    pub(crate) fn fill(&mut self, memory: &mut [u8]) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < memory.len() && !self.is_at_end {
            let some = self.some_raw(&mut memory[filled..])?;
            if some == 0 {
                self.end()?;
                break;
            }
            filled += self.take_framing_out(&mut memory[filled..filled + some])?;
        }
        Ok(filled)
    }

    fn end(&mut self) -> Result<(), Error> {
        let failed = |cause| body_error(cause, self.bytes.name());
        // The step after a packet's last byte reports the packet's end.
        while !matches!(self.outer.step(&[]).map_err(failed)?.event, OuterEvent::More) {}
        self.outer.finish().map_err(failed)?;
        self.is_at_end = true;
        Ok(())
    }

    /// Fills the memory with the following bytes of a message that is not encrypted, with their framing.
    pub(crate) fn fill_clear(&mut self, memory: &mut [u8]) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < memory.len() {
            match self.some_raw(&mut memory[filled..])? {
                0 => break,
                some => filled += some,
            }
        }
        Ok(filled)
    }

    fn some_raw(&mut self, memory: &mut [u8]) -> Result<usize, Error> {
        if self.rest.is_empty() {
            return self.bytes.some(memory);
        }
        let some = self.rest.len().min(memory.len());
        memory[..some].copy_from_slice(&self.rest[..some]);
        self.rest.drain(..some);
        Ok(some)
    }

    /// Moves the bytes of the body together, without the framing; returns their number.
    fn take_framing_out(&mut self, raw: &mut [u8]) -> Result<usize, Error> {
        let (mut at, mut kept) = (0, 0);
        while at < raw.len() {
            let step = self.outer.step(&raw[at..]).map_err(|cause| body_error(cause, self.bytes.name()))?;
            match step.event {
                OuterEvent::Body(range) => {
                    let bytes = range.len();
                    if at + range.start != kept {
                        raw.copy_within(at + range.start..at + range.end, kept);
                    }
                    kept += bytes;
                }
                OuterEvent::More => return Ok(kept),
                _ => {}
            }
            at += step.consumed;
        }
        Ok(kept)
    }
}

pub(crate) fn grammar_limits(limits: &Limits) -> grammar::Limits {
    grammar::Limits { nesting_max: limits.nesting_max, packets_max: limits.packets_max }
}

/// Converts an error of a body into an error of the message with this name.
pub(crate) fn body_error(cause: BodyError, name: &str) -> Error {
    match cause {
        BodyError::Incomplete | BodyError::Short { .. } => Error::Truncated { name: name.to_owned() },
        BodyError::Packet(cause) => packet_error(cause, name),
        BodyError::TooManyPackets { packets_max } => {
            Error::Limit { what: "packets", limit: packets_max.into() }
        }
        BodyError::TooDeep { nesting_max } => Error::Limit { what: "nesting", limit: nesting_max.into() },
        BodyError::Cipher(cipher) => {
            Error::Unsupported { what: format!("the cipher {cipher:?} of this message") }
        }
        BodyError::Aead(aead) => Error::Unsupported { what: format!("the mode {aead:?} of this message") },
        BodyError::ChunkBits { bits, bits_max } => {
            let bytes = |bits: u8| u32::from(bits) + 6;
            let what =
                format!("a message in chunks of 2^{} bytes, more than 2^{},", bytes(bits), bytes(bits_max));
            Error::Unsupported { what }
        }
        BodyError::Version { tag, version } => {
            Error::Unsupported { what: format!("version {version} of packets of type {}", u8::from(tag)) }
        }
        cause => Error::malformed(name, cause),
    }
}

pub(crate) fn packet_error(cause: PacketError, name: &str) -> Error {
    match cause {
        PacketError::Truncated => Error::Truncated { name: name.to_owned() },
        cause => Error::malformed(name, cause),
    }
}

/// Number of bytes at the beginning of an input that are searched for armor.
const LOOKED_AT_BYTES: usize = 16 * 1024;
/// Number of armored bytes that are read at a time.
const ARMORED_BYTES: usize = 128 * 1024;
/// Number of bytes that are read at a time for the packets before a body.
const PIECE_BYTES: usize = 16 * 1024;
