//! The subcommands `armor` and `dearmor`, as streams; and armoring and dearmoring of data in memory.

use crate::Tool;
use crate::failure::told;
use openpgp::packet::armor::{ArmorKind, Armorer, Dearmorer, Look, look};
use openpgp::packet::{Event, PacketError, SplitStep, Splitter, Tag};
use sop::Result;
use sop::errors::Error;
use sop::ops::{self, ArmorLabel, Ready};
use std::io::{self, Read, Write};
use std::marker::PhantomData;

/// Length of the blocks that are read, in bytes.
const PIECE_BYTES: usize = 1 << 20;

fn malformed(error: &PacketError) -> Error {
    told(error, Error::BadData)
}

/// Whether armor of packets that begin with `begin` gets a checksum. GnuPG 2.2 does not see the end of a block without
/// one; packets of version 6 must not have one (RFC 9580, 6.1).
fn has_checksum(begin: &[u8]) -> bool {
    match Splitter::new().step(begin) {
        Ok(SplitStep { consumed, event: Event::Header(_) }) => begin.get(consumed) != Some(&6),
        _ => true,
    }
}

/// Packets as one block of armor.
pub(crate) fn armored(packets: &[u8], kind: ArmorKind) -> Vec<u8> {
    let mut text = Vec::new();
    let mut armorer = Armorer::new(kind, has_checksum(packets));
    armorer.begin(&[], &mut text);
    armorer.update(packets, &mut text);
    armorer.finish(&mut text);
    text
}

/// The packets in a block of armor; bytes that are packets already are returned as they are.
///
/// # Errors
/// [`Error::BadData`] if `bytes` are neither armor nor packets.
pub(crate) fn dearmored(bytes: &[u8]) -> Result<Vec<u8>> {
    if look(bytes) == Look::Packets {
        return Ok(bytes.to_vec());
    }
    let mut packets = Vec::new();
    let mut dearmorer = Dearmorer::new();
    dearmorer.update(bytes, &mut packets).map_err(|error| malformed(&error))?;
    dearmorer.finish().map_err(|error| malformed(&error))?;
    Ok(packets)
}

/// The armor label that fits packets, by the type of the first one.
fn kind_of(begin: &[u8]) -> ArmorKind {
    let tag =
        begin.first().map_or(0, |octet| if octet & 0x40 != 0 { octet & 0x3f } else { octet >> 2 & 0x0f });
    match Tag::from(tag) {
        Tag::PublicKey => ArmorKind::PublicKey,
        Tag::SecretKey => ArmorKind::PrivateKey,
        Tag::Signature => ArmorKind::Signature,
        _ => ArmorKind::Message,
    }
}

/// Reads until the block is full or the input ends; returns the number of bytes read.
fn fill(reader: &mut (dyn Read + Send + Sync), block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match reader.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The subcommand `armor`.
pub struct Armor<'s> {
    label: ArmorLabel,
    tool: PhantomData<&'s Tool>,
}

impl Armor<'_> {
    pub(crate) fn new() -> Self {
        Self { label: ArmorLabel::Auto, tool: PhantomData }
    }
}

impl<'s> ops::Armor<'s> for Armor<'s> {
    fn label(mut self: Box<Self>, label: ArmorLabel) -> Box<dyn ops::Armor<'s> + 's> {
        self.label = label;
        self
    }

    fn data<'d>(self: Box<Self>, data: &'d mut (dyn Read + Send + Sync)) -> Result<Box<dyn Ready + 'd>>
    where
        's: 'd,
    {
        Ok(Box::new(ReadyToArmor { label: self.label, data }))
    }
}

struct ReadyToArmor<'d> {
    label: ArmorLabel,
    data: &'d mut (dyn Read + Send + Sync),
}

impl Ready for ReadyToArmor<'_> {
    fn to_writer(self: Box<Self>, sink: &mut (dyn Write + Send + Sync)) -> Result<()> {
        let mut block = vec![0; PIECE_BYTES];
        let mut count = fill(self.data, &mut block)?;
        match look(&block[..count]) {
            Look::Packets => {}
            // Input that is armored already is copied unchanged.
            Look::Armor(_) => {
                sink.write_all(&block[..count])?;
                io::copy(self.data, sink)?;
                return Ok(sink.flush()?);
            }
            Look::Unknown => return Err(told("the input holds no OpenPGP packets", Error::BadData)),
        }
        let kind = match self.label {
            ArmorLabel::Auto => kind_of(&block[..count]),
            ArmorLabel::Sig => ArmorKind::Signature,
            ArmorLabel::Key => ArmorKind::PrivateKey,
            ArmorLabel::Cert => ArmorKind::PublicKey,
            ArmorLabel::Message => ArmorKind::Message,
        };
        let mut text = Vec::new();
        let mut armorer = Armorer::new(kind, has_checksum(&block[..count]));
        armorer.begin(&[], &mut text);
        while count > 0 {
            armorer.update(&block[..count], &mut text);
            sink.write_all(&text)?;
            text.clear();
            count = fill(self.data, &mut block)?;
        }
        armorer.finish(&mut text);
        sink.write_all(&text)?;
        Ok(sink.flush()?)
    }
}

/// The subcommand `dearmor`.
pub struct Dearmor<'s>(PhantomData<&'s Tool>);

impl Dearmor<'_> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'s> ops::Dearmor<'s> for Dearmor<'s> {
    fn data<'d>(self: Box<Self>, data: &'d mut (dyn Read + Send + Sync)) -> Result<Box<dyn Ready + 'd>>
    where
        's: 'd,
    {
        Ok(Box::new(ReadyToDearmor { data }))
    }
}

struct ReadyToDearmor<'d> {
    data: &'d mut (dyn Read + Send + Sync),
}

impl Ready for ReadyToDearmor<'_> {
    fn to_writer(self: Box<Self>, sink: &mut (dyn Write + Send + Sync)) -> Result<()> {
        let mut block = vec![0; PIECE_BYTES];
        let mut count = fill(self.data, &mut block)?;
        // Empty input gives empty output, as in other implementations; packets are copied unchanged.
        if count == 0 || look(&block[..count]) == Look::Packets {
            sink.write_all(&block[..count])?;
            io::copy(self.data, sink)?;
            return Ok(sink.flush()?);
        }
        let mut packets = Vec::new();
        let mut dearmorer = Dearmorer::new();
        while count > 0 {
            dearmorer.update(&block[..count], &mut packets).map_err(|error| malformed(&error))?;
            sink.write_all(&packets)?;
            packets.clear();
            count = fill(self.data, &mut block)?;
        }
        dearmorer.finish().map_err(|error| malformed(&error))?;
        Ok(sink.flush()?)
    }
}
