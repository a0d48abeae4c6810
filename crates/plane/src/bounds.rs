//! Bounds of what a thread holds and of what one look brings. Buffers are made once, at a thread's start.

/// Most threads, each with a queue of the TUN and a socket of each address.
pub const THREADS_MAX: usize = 64;
/// Most addresses whose sockets are held at a time.
pub const ADDRESSES_MAX: usize = 256;
/// Longest packet of IP in bytes, and longest datagram or superpacket.
pub const PACKET_BYTES_MAX: usize = 65_535;
/// Most packets that one look at the TUN reads, each of which may be a superpacket.
pub const TUN_READS_MAX: usize = 64;
/// Most packets that are sealed together. A look ends once half as many wait.
pub const FRAMES_MAX: usize = 256;
/// Bytes in which packets are sealed.
pub const OUT_BYTES: usize = 512 * 1024;
/// Most datagrams that one look at a socket reads, each of which may hold as many packets as the kernel puts together.
pub const DATAGRAMS_MAX: usize = 64;
/// A look at a socket ends once so many packets wait.
pub const OPENED_TOGETHER: usize = 128;
/// Bytes into which datagrams are read.
pub const IN_BYTES: usize = 384 * 1024;
/// Most packets in a datagram that the kernel cuts or puts together (`UDP_MAX_SEGMENTS` of Linux before 6.9).
pub const SEGMENTS_MAX: usize = 64;
/// Most bytes of payload in such a datagram.
pub const SEGMENTED_BYTES_MAX: usize = 65_000;
/// Flows whose packets are put together at a time.
pub const FLOWS_MAX: usize = 8;
/// Longest wait for a socket or a TUN that is full, in milliseconds for each look; what does not fit then is dropped.
pub const FULL_WAIT_MS: i64 = 10;
/// Most events that wait to be taken ([`crate::Shared::take_events`]); each thread holds [`ipsec::EVENTS_MAX`] besides.
pub const EVENTS_WAITING_MAX: usize = 4096;
/// Most errors that one look at a socket's error queue reads.
pub const ERRORS_MAX: usize = 16;
/// Most peers whose path is remembered.
pub const PATHS_MAX: usize = 1024;
/// Seconds for which a path that was learnt is believed (RFC 1191, 6.3).
pub const PATH_SECONDS: u64 = 600;
/// Lowest MTU that is believed of a path of IPv4 (RFC 1122, 3.3.2); of IPv6 it is 1,280.
pub const PATH_MTU_MIN_V4: usize = 576;
/// Lowest MTU of a path of IPv6 (RFC 8200, 5).
pub const PATH_MTU_MIN_V6: usize = 1280;
/// How often a thread looks whether others have sent the packets whose numbers come before its own, before it sends
/// anyway: as long as sealing some hundred packets takes.
pub const TURN_LOOKS: usize = 96;
/// Every so many looks it gives the processor to others, which may be the ones that it waits for.
pub const TURN_YIELD: usize = 8;
/// Pauses of the processor between two looks, of some 40 cycles each.
pub const TURN_SPINS: usize = 40;
