//! The subcommand `inline-detach`: splits a signed message into its text and its signatures. Nothing is verified.

use crate::Tool;
use crate::data;
use crate::failure::told;
use crate::objects::{Packets, Sigs};
use openpgp::packet::armor::{ArmorKind, Look, look};
use openpgp::packet::cleartext;
use pgp::composed::Message;
use pgp::packet::PacketTrait;
use pipeline::Limits;
use sop::Result;
use sop::errors::Error;
use sop::ops::{self, Ready};
use std::fmt::Display;
use std::io::{BufReader, Cursor, Read, Write};

/// Length of the pieces in which a cleartext message is read, in bytes.
const PIECE_BYTES: usize = 1 << 20;
/// Longest message in bytes; it is taken apart in memory.
const MESSAGE_BYTES_MAX: u64 = 1 << 30;

/// The subcommand `inline-detach`.
pub struct InlineDetach<'s> {
    tool: &'s Tool,
}

impl<'s> InlineDetach<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        Self { tool }
    }
}

impl<'s> ops::InlineDetach<'s, Sigs<'s>> for InlineDetach<'s> {
    fn message<'d>(
        self: Box<Self>,
        data: &'d mut (dyn Read + Send + Sync),
    ) -> Result<Box<dyn Ready<Sigs<'s>> + 'd>>
    where
        's: 'd,
    {
        Ok(Box::new(ReadyToDetach { tool: self.tool, data }))
    }
}

struct ReadyToDetach<'s, 'd> {
    tool: &'s Tool,
    data: &'d mut (dyn Read + Send + Sync),
}

impl<'s> Ready<Sigs<'s>> for ReadyToDetach<'s, '_> {
    fn to_writer(self: Box<Self>, sink: &mut (dyn Write + Send + Sync)) -> Result<Sigs<'s>> {
        let mut message = Vec::new();
        self.data.take(MESSAGE_BYTES_MAX + 1).read_to_end(&mut message)?;
        if message.len() as u64 > MESSAGE_BYTES_MAX {
            return Err(told("the message is longer than 1 GiB", Error::BadData));
        }
        let mut waiting = data::Waiting::new();
        let packets = match look(&message) {
            Look::Armor(ArmorKind::SignedMessage) => cleartext(&message, &mut waiting)?,
            _ => inline(message, &mut waiting)?,
        };
        waiting.copy_to(sink)?;
        Ok(Sigs::new(self.tool, Packets(packets)))
    }
}

fn malformed(cause: impl Display) -> Error {
    told(cause, Error::BadData)
}

fn cleartext(message: &[u8], out: &mut data::Waiting) -> Result<Vec<u8>> {
    let mut reader = cleartext::Reader::new();
    let mut text = cleartext::Text::default();
    for piece in message.chunks(PIECE_BYTES) {
        reader.update(piece, &mut text).map_err(malformed)?;
        out.write_all(&text.text)?;
        text.clear();
    }
    reader.finish().map_err(malformed)
}

fn inline(message: Vec<u8>, out: &mut data::Waiting) -> Result<Vec<u8>> {
    let message_bytes = message.len() as u64;
    let (mut message, _) = Message::from_reader(BufReader::new(Cursor::new(message))).map_err(malformed)?;
    for _ in 0..Limits::default().nesting_max {
        if message.is_compressed() {
            message = message.decompress().map_err(malformed)?;
        }
    }
    if !message.is_signed() {
        return Err(malformed("the message is not signed"));
    }
    let text_bytes_max = message_bytes.saturating_mul(Limits::default().expansion_max.unwrap_or(u64::MAX));
    let copied = std::io::copy(&mut (&mut message).take(text_bytes_max + 1), out).map_err(malformed)?;
    if copied > text_bytes_max {
        return Err(malformed("the message expands beyond what compression does to honest text"));
    }
    let Message::Signed { reader, .. } = &message else { return Err(malformed("the message is not signed")) };
    let mut packets = Vec::new();
    for signature in reader.signatures().unwrap_or_default() {
        signature.signature().to_writer_with_header(&mut packets).map_err(malformed)?;
    }
    Ok(packets)
}
