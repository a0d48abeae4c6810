//! Bounds of a thread's memory and of the work in one look. Buffers are made once, at a thread's start.

/// Upper bound of threads, each with a queue of the TUN and a socket of each address.
pub const THREADS_MAX: usize = 64;
/// Upper bound of addresses that have sockets at a time.
pub const ADDRESSES_MAX: usize = 256;
/// Longest packet of IP in bytes, and longest datagram or superpacket.
pub const PACKET_BYTES_MAX: usize = 65_535;
/// Upper bound of reads in one look at the TUN; each brings a packet or a superpacket.
pub const TUN_READS_MAX: usize = 64;
/// Upper bound of packets that are sealed together. A look ends once half of them wait.
pub const FRAMES_MAX: usize = 256;
/// Bytes of the memory in which packets are sealed.
pub const OUT_BYTES: usize = 512 * 1024;
/// Upper bound of datagrams that one look at a socket reads; each may hold as many packets as the kernel puts together.
pub const DATAGRAMS_MAX: usize = 64;
/// A look at a socket ends once this many packets wait.
pub const OPENED_TOGETHER: usize = 128;
/// Bytes of the memory into which datagrams are read.
pub const IN_BYTES: usize = 384 * 1024;
/// Upper bound of packets in a datagram that the kernel cuts or puts together (`UDP_MAX_SEGMENTS` of Linux before 6.9).
pub const SEGMENTS_MAX: usize = 64;
/// Upper bound of payload bytes in such a datagram.
pub const SEGMENTED_BYTES_MAX: usize = 65_000;
/// Number of flows whose packets are put together at a time.
pub const FLOWS_MAX: usize = 8;
/// Longest wait, in milliseconds, for a socket or a TUN that is full. After a wait in vain, the rest of the look drops
/// what does not fit.
pub const FULL_WAIT_MS: i64 = 10;
/// Upper bound of events that wait to be taken ([`crate::Shared::take_events`]); each thread may hold
/// [`ipsec::EVENTS_MAX`] more.
pub const EVENTS_WAITING_MAX: usize = 4096;
/// Upper bound of errors that one look reads from a socket's error queue.
pub const ERRORS_MAX: usize = 16;
/// Upper bound of peers whose path MTU is remembered.
pub const PATHS_MAX: usize = 1024;
/// Seconds for which a learnt path MTU is believed (RFC 1191, 6.3).
pub const PATH_SECONDS: u64 = 600;
/// Lower bound of an MTU that is believed of a path of IPv4 (RFC 1122, 3.3.2); of IPv6 it is 1,280.
pub const PATH_MTU_MIN_V4: usize = 576;
/// Lower bound of an MTU that is believed of a path of IPv6 (RFC 8200, 5).
pub const PATH_MTU_MIN_V6: usize = 1280;
/// How often a thread checks whether packets with earlier numbers have left, before it sends anyway: about the time of
/// sealing some hundred packets.
pub const TURN_LOOKS: usize = 96;
/// After this many checks it gives the processor to other threads, which may be those that it waits for.
pub const TURN_YIELD: usize = 8;
/// Pause instructions between two checks, some 40 cycles each.
pub const TURN_SPINS: usize = 40;
