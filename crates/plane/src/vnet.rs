//! The header that a TUN with offload puts before each packet (`struct virtio_net_hdr` of Linux, in the machine's order
//! of bytes).

/// Length of a vnet header in bytes.
pub const VNET_BYTES: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
/// Flag of superpackets of TCP with CWR (congestion window reduced), which only the first segment keeps.
const WITH_ECN: u8 = 0x80;

/// Whether a packet is a superpacket, and of which protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GsoType {
    /// One packet, not a superpacket.
    Whole,
    /// A superpacket of TCP over IPv4.
    TcpV4,
    /// A superpacket of TCP over IPv6.
    TcpV6,
    /// A superpacket of UDP: datagrams of one length, but for the last.
    Udp,
}

/// A vnet header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vnet {
    /// Whether the checksum of TCP or UDP is to be completed: its field holds the sum of the pseudo-header.
    pub needs_checksum: bool,
    /// The kind of the packet behind the header.
    pub kind: GsoType,
    /// Length of the headers in bytes, as a hint.
    pub header_bytes: u16,
    /// Length of the payload of each segment but the last, in bytes.
    pub segment_bytes: u16,
    /// Offset of the first byte that the checksum covers.
    pub checksum_start: u16,
    /// Offset of the checksum's field from `checksum_start`.
    pub checksum_offset: u16,
}

impl Vnet {
    /// The header of one packet that is complete.
    pub const WHOLE: Vnet = Vnet {
        needs_checksum: false,
        kind: GsoType::Whole,
        header_bytes: 0,
        segment_bytes: 0,
        checksum_start: 0,
        checksum_offset: 0,
    };

    /// Reads a header; `None` for a kind of packet that was not offered to the kernel.
    pub fn read(bytes: &[u8; VNET_BYTES]) -> Option<Vnet> {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let kind = match bytes[1] & !WITH_ECN {
            0 => GsoType::Whole,
            1 => GsoType::TcpV4,
            4 => GsoType::TcpV6,
            5 => GsoType::Udp,
            _ => return None,
        };
        Some(Vnet {
            needs_checksum: bytes[0] & NEEDS_CHECKSUM != 0,
            kind,
            header_bytes: word(2),
            segment_bytes: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        })
    }

    /// The header as the TUN takes it.
    pub fn bytes(&self) -> [u8; VNET_BYTES] {
        let mut bytes = [0; VNET_BYTES];
        bytes[0] = if self.needs_checksum { NEEDS_CHECKSUM } else { 0 };
        bytes[1] = match self.kind {
            GsoType::Whole => 0,
            GsoType::TcpV4 => 1,
            GsoType::TcpV6 => 4,
            GsoType::Udp => 5,
        };
        let words = [self.header_bytes, self.segment_bytes, self.checksum_start, self.checksum_offset];
        for (to, word) in bytes[2..].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}
