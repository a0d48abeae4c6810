//! Messages of clients: structures and attributes, read in place. Nothing is copied, so that only the datagram has to
//! be wiped.

use crate::refusal::Refusal;
use crate::wire::{
    ADDRESS_BYTES, ATTRIBUTE_HEADER_BYTES, CURRENT_BYTES, ENCAP_BYTES, FILTER_BYTES, HEADER_BYTES,
    KMADDRESS_BYTES, MARK_BYTES, OFFLOAD_BYTES, POLICY_TYPE_BYTES, REPLAY_BYTES, SEC_CTX_BYTES, algorithm,
    attribute, errno, migrate, policy_info, replay_esn, sa_info, template,
};

/// A structure. Bytes behind its end read as zeros: lengths are checked before, and an error here would have no
/// receiver.
#[derive(Clone, Copy)]
pub(crate) struct View<'a>(pub(crate) &'a [u8]);

impl<'a> View<'a> {
    pub(crate) fn array<const N: usize>(self, at: usize) -> [u8; N] {
        self.0.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }

    pub(crate) fn u8(self, at: usize) -> u8 {
        self.array::<1>(at)[0]
    }

    pub(crate) fn u16(self, at: usize) -> u16 {
        u16::from_ne_bytes(self.array(at))
    }

    pub(crate) fn u32(self, at: usize) -> u32 {
        u32::from_ne_bytes(self.array(at))
    }

    pub(crate) fn u64(self, at: usize) -> u64 {
        u64::from_ne_bytes(self.array(at))
    }

    /// A port, in the network's byte order.
    pub(crate) fn port(self, at: usize) -> u16 {
        u16::from_be_bytes(self.array(at))
    }

    /// An SPI, in the network's byte order.
    pub(crate) fn spi(self, at: usize) -> u32 {
        u32::from_be_bytes(self.array(at))
    }

    pub(crate) fn from(self, at: usize) -> &'a [u8] {
        self.0.get(at..).unwrap_or(&[])
    }
}

/// The header of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) length: u32,
    pub(crate) kind: u16,
    pub(crate) flags: u16,
    pub(crate) sequence: u32,
    pub(crate) port: u32,
}

impl Header {
    pub(crate) fn read(bytes: &[u8]) -> Header {
        let view = View(bytes);
        Header {
            length: view.u32(0),
            kind: view.u16(4),
            flags: view.u16(6),
            sequence: view.u32(8),
            port: view.u32(12),
        }
    }
}

/// The whole messages of a datagram, as the kernel goes through them: up to the first one with an impossible length.
pub(crate) fn messages(mut datagram: &[u8]) -> impl Iterator<Item = (Header, &[u8])> {
    std::iter::from_fn(move || {
        let header = Header::read(datagram.get(..HEADER_BYTES)?);
        let length = usize::try_from(header.length).ok()?;
        if length < HEADER_BYTES || length > datagram.len() {
            return None;
        }
        let message = &datagram[..length];
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((header, message))
    })
}

/// The attributes of one message; of two attributes of a type, the last.
pub(crate) struct Attributes<'a> {
    values: [Option<&'a [u8]>; attribute::LAST as usize + 1],
}

/// Mask of the bits of an attribute's type that say what it is; the other bits say how its value is to be read.
const TYPE_MASK: u16 = 0x3fff;

impl<'a> Attributes<'a> {
    /// Reads the attributes behind a structure of `structure_bytes` bytes. Unknown types are passed over, as in the
    /// kernel.
    pub(crate) fn read(message: &'a [u8], structure_bytes: usize) -> Result<Attributes<'a>, Refusal> {
        let begin = HEADER_BYTES + structure_bytes;
        if message.len() < begin {
            return Err(Refusal::new(errno::EINVAL, "Invalid header length"));
        }
        let mut attributes = Attributes { values: [None; attribute::LAST as usize + 1] };
        let mut at = begin.next_multiple_of(4);
        while let Some(rest) = message.get(at..).filter(|rest| rest.len() >= ATTRIBUTE_HEADER_BYTES) {
            let (length, kind) = (usize::from(View(rest).u16(0)), View(rest).u16(2) & TYPE_MASK);
            if length < ATTRIBUTE_HEADER_BYTES || length > rest.len() {
                break;
            }
            let value = &rest[ATTRIBUTE_HEADER_BYTES..length];
            if value.len() < bytes_min(kind) {
                return Err(Refusal::new(errno::ERANGE, "Attribute failed policy validation").at(at));
            }
            if let Some(place) = attributes.values.get_mut(usize::from(kind)) {
                *place = Some(value);
            }
            at += length.next_multiple_of(4);
        }
        Ok(attributes)
    }

    pub(crate) fn get(&self, kind: u16) -> Option<View<'a>> {
        self.values.get(usize::from(kind)).copied().flatten().map(View)
    }

    pub(crate) fn has(&self, kind: u16) -> bool {
        self.get(kind).is_some()
    }

    pub(crate) fn u32(&self, kind: u16) -> Option<u32> {
        self.get(kind).map(|value| value.u32(0))
    }
}

/// Lower bound of the length of a value, in bytes.
fn bytes_min(kind: u16) -> usize {
    match kind {
        attribute::SA => sa_info::BYTES,
        attribute::POLICY => policy_info::BYTES,
        attribute::LASTUSED => 8,
        attribute::ALG_AUTH_TRUNC | attribute::ALG_AEAD => algorithm::WITH_ICV_BYTES,
        attribute::ALG_AUTH | attribute::ALG_CRYPT | attribute::ALG_COMP => algorithm::PLAIN_BYTES,
        attribute::ENCAP => ENCAP_BYTES,
        attribute::TMPL => template::BYTES,
        attribute::SEC_CTX => SEC_CTX_BYTES,
        attribute::LTIME_VAL => CURRENT_BYTES,
        attribute::REPLAY_VAL => REPLAY_BYTES,
        attribute::SRCADDR | attribute::COADDR => ADDRESS_BYTES,
        attribute::POLICY_TYPE => POLICY_TYPE_BYTES,
        attribute::MIGRATE => migrate::BYTES,
        attribute::KMADDRESS => KMADDRESS_BYTES,
        attribute::MARK => MARK_BYTES,
        attribute::REPLAY_ESN_VAL => replay_esn::BYTES,
        attribute::ADDRESS_FILTER => FILTER_BYTES,
        attribute::OFFLOAD_DEV => OFFLOAD_BYTES,
        attribute::PROTO | attribute::SA_DIR => 1,
        attribute::REPLAY_THRESH
        | attribute::ETIMER_THRESH
        | attribute::TFCPAD
        | attribute::SA_EXTRA_FLAGS
        | attribute::SET_MARK
        | attribute::SET_MARK_MASK
        | attribute::IF_ID
        | attribute::MTIMER_THRESH => 4,
        _ => 0,
    }
}
