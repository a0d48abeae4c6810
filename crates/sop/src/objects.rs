//! Keys, certificates and signatures as files: armored or not when read, as asked when written.

use crate::Tool;
use crate::failure::{of_certificate, told};
use openpgp::certificate::Certificate;
use openpgp::packet::armor::Kind;
use openpgp::private_key::PrivateCertificate;
use sop::errors::Error;
use sop::plumbing::SopRef;
use sop::{Load, Result, Save};
use std::io::{Read, Write};

/// Longest file of keys or signatures in bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Certificates.
pub struct Certs<'s> {
    pub(crate) tool: &'s Tool,
    pub(crate) all: Vec<Certificate>,
    pub(crate) source: Option<String>,
}

/// Certificates with their private keys.
pub struct Keys<'s> {
    pub(crate) tool: &'s Tool,
    pub(crate) all: Vec<PrivateCertificate>,
    pub(crate) source: Option<String>,
}

/// Detached signatures: their packets.
pub struct Sigs<'s> {
    pub(crate) tool: &'s Tool,
    pub(crate) packets: Vec<u8>,
    pub(crate) source: Option<String>,
}

fn read(source: &mut (dyn Read + Send + Sync)) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(told("a file of keys or signatures is longer than 64 MiB", Error::BadData));
    }
    Ok(bytes)
}

/// Writes packets, armored or not.
pub(crate) fn write(
    packets: &[u8],
    kind: Kind,
    armored: bool,
    sink: &mut (dyn Write + Send + Sync),
) -> Result<()> {
    if armored {
        sink.write_all(&crate::armor::armored(packets, kind))?;
    } else {
        sink.write_all(packets)?;
    }
    Ok(sink.flush()?)
}

impl<'s> Load<'s, Tool> for Certs<'s> {
    fn from_reader(
        tool: &'s Tool,
        source: &mut (dyn Read + Send + Sync),
        name: Option<String>,
    ) -> Result<Self> {
        let bytes = read(source)?;
        // A private key given in a certificate's place is a mistake that would publish it (draft, 8.4).
        if PrivateCertificate::parse_all(&bytes).is_ok() {
            return Err(told("a private key stands where a certificate was expected", Error::BadData));
        }
        let all = Certificate::parse_all(&bytes).map_err(|error| of_certificate(&error))?;
        Ok(Self { tool, all, source: name })
    }

    fn source_name(&self) -> Option<&str> {
        self.source.as_deref()
    }
}

impl Save for Certs<'_> {
    fn to_writer(&self, armored: bool, sink: &mut (dyn Write + Send + Sync)) -> Result<()> {
        let packets: Vec<u8> = self.all.iter().flat_map(Certificate::to_bytes).collect();
        write(&packets, Kind::PublicKey, armored, sink)
    }
}

impl<'s> SopRef<'s, Tool> for Certs<'s> {
    fn sop(&self) -> &'s Tool {
        self.tool
    }
}

impl<'s> Load<'s, Tool> for Keys<'s> {
    fn from_reader(
        tool: &'s Tool,
        source: &mut (dyn Read + Send + Sync),
        name: Option<String>,
    ) -> Result<Self> {
        let bytes = zeroize::Zeroizing::new(read(source)?);
        let all = PrivateCertificate::parse_all(&bytes).map_err(|error| of_certificate(&error))?;
        Ok(Self { tool, all, source: name })
    }

    fn source_name(&self) -> Option<&str> {
        self.source.as_deref()
    }
}

impl Save for Keys<'_> {
    fn to_writer(&self, armored: bool, sink: &mut (dyn Write + Send + Sync)) -> Result<()> {
        let mut packets = zeroize::Zeroizing::new(Vec::new());
        for key in &self.all {
            packets.extend_from_slice(&key.to_bytes());
        }
        write(&packets, Kind::PrivateKey, armored, sink)
    }
}

impl<'s> SopRef<'s, Tool> for Keys<'s> {
    fn sop(&self) -> &'s Tool {
        self.tool
    }
}

impl<'s> Load<'s, Tool> for Sigs<'s> {
    fn from_reader(
        tool: &'s Tool,
        source: &mut (dyn Read + Send + Sync),
        name: Option<String>,
    ) -> Result<Self> {
        let packets = crate::armor::dearmored(&read(source)?)?;
        Ok(Self { tool, packets, source: name })
    }

    fn source_name(&self) -> Option<&str> {
        self.source.as_deref()
    }
}

impl Save for Sigs<'_> {
    fn to_writer(&self, armored: bool, sink: &mut (dyn Write + Send + Sync)) -> Result<()> {
        write(&self.packets, Kind::Signature, armored, sink)
    }
}

impl<'s> SopRef<'s, Tool> for Sigs<'s> {
    fn sop(&self) -> &'s Tool {
        self.tool
    }
}
