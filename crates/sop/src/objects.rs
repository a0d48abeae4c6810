//! Keys, certificates and signatures as files: armored or not when read, written in the form that is asked for.

use crate::Tool;
use crate::failure::{of_certificate, told};
use openpgp::certificate::Certificate;
use openpgp::packet::armor::ArmorKind;
use openpgp::private_key::PrivateCertificate;
use sop::errors::Error;
use sop::plumbing::SopRef;
use sop::{Load, Result, Save};
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// Longest file of keys, certificates or signatures, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The content of a file, and the file's name if it was read.
pub struct Object<'s, T> {
    pub(crate) tool: &'s Tool,
    pub(crate) content: T,
    source: Option<String>,
}

/// A file of certificates.
pub type Certs<'s> = Object<'s, Vec<Certificate>>;
/// A file of certificates with their private keys.
pub type Keys<'s> = Object<'s, Vec<PrivateCertificate>>;
/// A file of detached signatures: their packets.
pub type Sigs<'s> = Object<'s, Packets>;

/// Signature packets, one after the other.
pub struct Packets(pub(crate) Vec<u8>);

impl<'s, T> Object<'s, T> {
    /// The product of an operation, which no file holds yet.
    pub(crate) fn new(tool: &'s Tool, content: T) -> Self {
        Self { tool, content, source: None }
    }
}

/// A kind of content that a file may hold.
pub trait Content: Sized {
    /// The label of the content's armor.
    const KIND: ArmorKind;

    /// Reads the content from a file's bytes, armored or not.
    ///
    /// # Errors
    /// [`Error::BadData`] if the bytes hold something else.
    fn parse(bytes: &[u8]) -> Result<Self>;

    /// The content as packets, without armor.
    fn packets(&self) -> Zeroizing<Vec<u8>>;
}

impl Content for Vec<Certificate> {
    const KIND: ArmorKind = ArmorKind::PublicKey;

    fn parse(bytes: &[u8]) -> Result<Self> {
        // A private key given in a certificate's place is a mistake that would publish it (draft, 8.4).
        if PrivateCertificate::parse_all(bytes).is_ok() {
            return Err(told("a private key stands where a certificate was expected", Error::BadData));
        }
        Certificate::parse_all(bytes).map_err(|error| of_certificate(&error))
    }

    fn packets(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.iter().flat_map(Certificate::to_bytes).collect())
    }
}

impl Content for Vec<PrivateCertificate> {
    const KIND: ArmorKind = ArmorKind::PrivateKey;

    fn parse(bytes: &[u8]) -> Result<Self> {
        PrivateCertificate::parse_all(bytes).map_err(|error| of_certificate(&error))
    }

    fn packets(&self) -> Zeroizing<Vec<u8>> {
        let mut packets = Zeroizing::new(Vec::new());
        self.iter().for_each(|key| packets.extend_from_slice(&key.to_bytes()));
        packets
    }
}

impl Content for Packets {
    const KIND: ArmorKind = ArmorKind::Signature;

    fn parse(bytes: &[u8]) -> Result<Self> {
        crate::armor::dearmored(bytes).map(Self)
    }

    fn packets(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.0.clone())
    }
}

impl<'s, T: Content> Load<'s, Tool> for Object<'s, T> {
    fn from_reader(
        tool: &'s Tool,
        reader: &mut (dyn Read + Send + Sync),
        source: Option<String>,
    ) -> Result<Self> {
        let mut bytes = Zeroizing::new(Vec::new());
        reader.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(told("a file of keys or signatures is longer than 64 MiB", Error::BadData));
        }
        Ok(Self { tool, content: T::parse(&bytes)?, source })
    }

    fn source_name(&self) -> Option<&str> {
        self.source.as_deref()
    }
}

impl<T: Content> Save for Object<'_, T> {
    fn to_writer(&self, armored: bool, sink: &mut (dyn Write + Send + Sync)) -> Result<()> {
        let packets = self.content.packets();
        if armored {
            sink.write_all(&crate::armor::armored(&packets, T::KIND))?;
        } else {
            sink.write_all(&packets)?;
        }
        Ok(sink.flush()?)
    }
}

impl<'s, T> SopRef<'s, Tool> for Object<'s, T> {
    fn sop(&self) -> &'s Tool {
        self.tool
    }
}
