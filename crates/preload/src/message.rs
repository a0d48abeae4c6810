//! The parts of netlink messages that the library reads and writes: headers, hellos and refusals (Linux
//! `uapi/linux/netlink.h`). All numbers are in native byte order.

/// Length of a header in bytes.
pub const HEADER_BYTES: usize = 16;
/// Length of a hello in bytes.
pub const HELLO_BYTES: usize = 28;
/// Length of a refusal in bytes.
pub const REFUSAL_BYTES: usize = 36;
/// NLMSG_NOOP: a hello.
const NOOP: u16 = 1;
/// NLMSG_ERROR: an acknowledgement, or an error.
const ERROR: u16 = 2;
/// NLMSG_DONE: the end of a dump.
const DONE: u16 = 3;
/// NLM_F_REQUEST: the message is a request.
const REQUEST: u16 = 0x1;
/// NLM_F_MULTI: more messages follow, the last of which is [`DONE`].
const MULTI: u16 = 0x2;
/// NLM_F_ACK: an acknowledgement is wanted.
const ACK: u16 = 0x4;
/// NLM_F_DUMP: a listing is wanted; either of its two bits is enough.
const DUMP: u16 = 0x300;
/// Requests that something other than an acknowledgement answers: XFRM_MSG_GETSA, GETPOLICY, ALLOCSPI, GETAE,
/// GETSADINFO, GETSPDINFO and GETDEFAULT.
const ANSWERED: [u16; 7] = [0x12, 0x15, 0x16, 0x1f, 0x23, 0x25, 0x28];

/// The header of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the message with its header.
    pub length: u32,
    /// The message's type.
    pub kind: u16,
    /// Flags: NLM_F_REQUEST and the like.
    pub flags: u16,
    /// Number by which answers are matched to requests.
    pub sequence: u32,
    /// Netlink port of the program that asked.
    pub port: u32,
}

impl Header {
    /// The header that a message begins with; `None` if there are fewer bytes.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (bytes, _) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *bytes;
        Some(Self {
            length: u32::from_ne_bytes([a, b, c, d]),
            kind: u16::from_ne_bytes([e, f]),
            flags: u16::from_ne_bytes([g, h]),
            sequence: u32::from_ne_bytes([i, j, k, l]),
            port: u32::from_ne_bytes([m, n, o, p]),
        })
    }

    /// The header as bytes.
    fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&self.length.to_ne_bytes());
        bytes[4..6].copy_from_slice(&self.kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&self.flags.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_ne_bytes());
        bytes[12..].copy_from_slice(&self.port.to_ne_bytes());
        bytes
    }

    /// Whether the message is a request that something answers.
    pub fn awaits(&self) -> bool {
        self.flags & REQUEST != 0 && (self.flags & (ACK | DUMP) != 0 || ANSWERED.contains(&self.kind))
    }

    /// Whether the message is the last one that answers `request`.
    pub fn ends(&self, request: &Self) -> bool {
        self.sequence == request.sequence
            && match self.kind {
                ERROR | DONE => true,
                // An acknowledgement still follows, or the rest of a dump.
                _ => self.flags & MULTI == 0 && request.flags & ACK == 0,
            }
    }
}

/// The headers of a datagram's messages, up to the first with an impossible length.
pub fn headers(datagram: &[u8]) -> impl Iterator<Item = Header> + '_ {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let header = Header::read(rest)?;
        let length = header.length as usize;
        if length < HEADER_BYTES || length > rest.len() {
            return None;
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(header)
    })
}

/// The hello that a connection begins with, and that is sent again after each change: its netlink port, the groups of
/// events that it wants, and its options.
pub fn hello(port: u32, groups: u32, flags: u32) -> [u8; HELLO_BYTES] {
    let header = Header { length: HELLO_BYTES as u32, kind: NOOP, flags: 0, sequence: 0, port };
    let mut bytes = [0; HELLO_BYTES];
    bytes[..HEADER_BYTES].copy_from_slice(&header.bytes());
    for (at, value) in [port, groups, flags].iter().enumerate() {
        bytes[HEADER_BYTES + 4 * at..][..4].copy_from_slice(&value.to_ne_bytes());
    }
    bytes
}

/// The error that ends a request which nobody answers any more.
pub fn refusal(request: &Header, port: u32, errno: i32) -> [u8; REFUSAL_BYTES] {
    let header =
        Header { length: REFUSAL_BYTES as u32, kind: ERROR, flags: 0, sequence: request.sequence, port };
    let mut bytes = [0; REFUSAL_BYTES];
    bytes[..HEADER_BYTES].copy_from_slice(&header.bytes());
    bytes[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&(-errno).to_ne_bytes());
    bytes[HEADER_BYTES + 4..].copy_from_slice(&request.bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, flags: u16, sequence: u32, payload: usize) -> Vec<u8> {
        let length = (HEADER_BYTES + payload) as u32;
        let mut bytes = Header { length, kind, flags, sequence, port: 7 }.bytes().to_vec();
        bytes.resize((HEADER_BYTES + payload).next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn headers_are_found_behind_each_other() {
        let datagram = [message(0x10, 5, 1, 3), message(0x12, 1, 2, 0)].concat();
        let found: Vec<_> = headers(&datagram).map(|header| (header.kind, header.sequence)).collect();
        assert_eq!(found, [(0x10, 1), (0x12, 2)]);
        assert_eq!(headers(&datagram[..30]).count(), 1);
    }

    #[test]
    fn lengths_that_lie_end_the_search() {
        for length in [0, 15, 17, u32::MAX] {
            let mut bytes = message(0x10, 5, 1, 0);
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(headers(&bytes).count(), 0, "{length}");
        }
        assert_eq!(headers(&[]).count(), 0);
        assert_eq!(headers(&[0; 15]).count(), 0);
    }

    #[test]
    fn answers_end_what_was_asked() {
        let asked = |kind, flags| Header { kind, flags, sequence: 9, ..Header::default() };
        let answer = |kind, flags| Header { kind, flags, sequence: 9, ..Header::default() };
        assert!(asked(0x10, REQUEST | ACK).awaits() && asked(0x12, REQUEST).awaits());
        assert!(asked(0x21, REQUEST | 0x300).awaits());
        assert!(!asked(0x10, REQUEST).awaits() && !asked(0x12, ACK).awaits());
        assert!(answer(ERROR, 0).ends(&asked(0x10, REQUEST | ACK)));
        assert!(answer(0x10, 0).ends(&asked(0x16, REQUEST)));
        assert!(!answer(0x10, 0).ends(&asked(0x16, REQUEST | ACK)));
        assert!(!answer(0x10, MULTI).ends(&asked(0x12, REQUEST | 0x300)));
        assert!(answer(DONE, MULTI).ends(&asked(0x12, REQUEST | 0x300)));
        let other = Header { sequence: 8, ..answer(ERROR, 0) };
        assert!(!other.ends(&asked(0x10, REQUEST | ACK)));
    }

    #[test]
    fn a_refusal_repeats_the_header_that_it_answers() {
        let request = Header { length: 40, kind: 0x10, flags: 5, sequence: 77, port: 1 };
        let bytes = refusal(&request, 4242, 104);
        let found: Vec<_> = headers(&bytes).collect();
        assert_eq!((found[0].kind, found[0].sequence, found[0].port), (ERROR, 77, 4242));
        assert_eq!(bytes[16..20], (-104i32).to_ne_bytes());
        assert_eq!(Header::read(&bytes[20..]), Some(request));
    }

    #[test]
    fn a_hello_says_port_groups_and_options() {
        let bytes = hello(5, 0x8000_0001, 3);
        assert_eq!(headers(&bytes).next().map(|header| (header.kind, header.port)), Some((NOOP, 5)));
        assert_eq!(
            bytes[16..],
            [5u32.to_ne_bytes(), 0x8000_0001u32.to_ne_bytes(), 3u32.to_ne_bytes()].concat()
        );
    }
}
