//! Requests to the kernel's nf_tables (linux/netfilter/nf_tables.h): messages, and their socket.

use netlink_sys::protocols::NETLINK_NETFILTER;
use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// `NFNL_SUBSYS_NFTABLES`.
const SUBSYSTEM: u16 = 10;
/// Types of messages: the bounds of a batch (linux/netfilter/nfnetlink.h), and those of nf_tables.
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const ERROR: u16 = 2;
pub const NEW_TABLE: u16 = 0;
const GET_TABLE: u16 = 1;
pub const DELETE_TABLE: u16 = 2;
const NEW_CHAIN: u16 = 3;
const GET_CHAIN: u16 = 4;
const NEW_RULE: u16 = 6;
const NEW_SET: u16 = 9;
const NEW_ELEMENTS: u16 = 12;
const DELETE_ELEMENTS: u16 = 14;
/// Flags of netlink(7).
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const CREATE: u16 = 0x400;
const APPEND: u16 = 0x800;
const NESTED: u16 = 0x8000;
/// `NFNLGRP_NFTABLES`.
const GROUP: u32 = 7;
/// `NF_INET_POST_ROUTING`.
const POST_ROUTING: u32 = 4;
/// Length of a message's header, and of nfgenmsg behind it.
const HEADER_BYTES: usize = 16;
const BODY: usize = HEADER_BYTES + 4;
/// `NFT_REG32_00`: the first of sixteen registers of four bytes.
const REGISTERS: u32 = 8;
/// Upper bound of elements in one message: the length of their list has 16 bits.
pub const ELEMENTS_MAX: usize = 400;
/// A batch is sent once it has this many bytes: it must fit the smallest socket buffer that a user namespace may have.
pub const BATCH_BYTES: usize = 64 << 10;
/// How long the kernel may take to answer, in seconds.
const ANSWER_SECONDS: i64 = 10;
/// Bytes of unread news that the socket holds, if this process may set that: news of a filter of the largest policy
/// table take less than half.
pub const NEWS_BYTES: usize = 8 << 20;

/// Outcome of a rule or chain for a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict<'v> {
    Drop,
    Accept,
    Return,
    /// Continues in this chain, and returns behind the rule if that chain has no verdict.
    Jump(&'v str),
    /// Continues in this chain, and does not return.
    Goto(&'v str),
}

/// An expression of a rule, as nf_tables has it: a load, a comparison or a verdict. Registers are numbered from 0, four
/// bytes each.
#[derive(Clone, Debug)]
pub enum Expression<'s> {
    /// Loads metadata (`NFT_META_MARK` and others) into a register.
    Meta { key: u32, register: u32 },
    /// Loads bytes of the IP header into registers.
    Network { at: u32, bytes: u32, register: u32 },
    /// Loads bytes behind the IP headers; a packet that lacks them does not match. Of a later fragment kernels load
    /// payload, which is no header.
    Transport { at: u32, bytes: u32, register: u32 },
    /// Loads bytes of an IPv6 extension header; a packet that lacks that header does not match.
    Extension { kind: u8, at: u32, bytes: u32, register: u32 },
    /// Clears the bits of registers that are 0 in the mask.
    Mask { register: u32, mask: Vec<u8> },
    /// Continues the rule if registers have this value.
    Is { register: u32, value: Vec<u8> },
    /// Continues the rule if registers have another value.
    IsNot { register: u32, value: Vec<u8> },
    /// Continues the rule if the registers, from the first on, hold an element of a set.
    In { set: &'s str },
    /// Ends the rule with a verdict.
    Verdict(Verdict<'s>),
}

/// Keys of [`Expression::Meta`].
pub mod meta {
    pub const MARK: u32 = 3;
    pub const OUT_INDEX: u32 = 5;
    pub const OUT_NAME: u32 = 7;
    pub const PROTOCOL: u32 = 16;
}

/// Requests that are carried out all together or not at all.
pub struct Batch {
    bytes: Vec<u8>,
    family: u8,
    first: u32,
    next: u32,
    sets: u32,
    last: usize,
}

impl Batch {
    /// Whether the batch should be sent before more is added.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH_BYTES
    }

    /// The number of the next set, for a further batch on the same table.
    pub fn next_set(&self) -> u32 {
        self.sets
    }

    /// Numbers the batch's sets from `sets` on.
    pub fn with_sets_from(mut self, sets: u32) -> Batch {
        self.sets = sets;
        self
    }

    fn message(&mut self, kind: u16, flags: u16, fill: impl FnOnce(&mut Vec<u8>)) {
        self.last = self.bytes.len();
        let (family, sequence) = (self.family, self.next);
        self.next = self.next.wrapping_add(1);
        message(&mut self.bytes, (SUBSYSTEM << 8 | kind, flags | REQUEST), (family, 0), sequence, fill);
    }

    /// Adds or removes a table.
    pub fn table(&mut self, kind: u16, name: &str) {
        let flags = if kind == NEW_TABLE { CREATE } else { 0 };
        self.message(kind, flags, |to| text(to, 1, name));
    }

    /// Adds a chain. With a priority it sees packets behind routing; without one, only packets that a rule sends there.
    pub fn chain(&mut self, table: &str, name: &str, priority: Option<i32>) {
        self.message(NEW_CHAIN, CREATE, |to| {
            text(to, 1, table);
            text(to, 3, name);
            if let Some(priority) = priority {
                nest(to, 4, |to| {
                    number(to, 1, POST_ROUTING);
                    attribute(to, 2, &priority.to_be_bytes());
                });
                text(to, 7, "filter");
            }
        });
    }

    /// Adds a rule at the end of a chain.
    pub fn rule(&mut self, table: &str, chain: &str, expressions: &[Expression<'_>]) {
        self.message(NEW_RULE, CREATE | APPEND, |to| {
            text(to, 1, table);
            text(to, 2, chain);
            nest(to, 4, |to| expressions.iter().for_each(|of| expression(to, of)));
        });
    }

    /// Adds a set of keys of `key_bytes` bytes; `kind` tells nft(8) the types of their parts.
    pub fn set(&mut self, table: &str, name: &str, kind: u32, key_bytes: usize) {
        self.sets += 1;
        let id = self.sets;
        self.message(NEW_SET, CREATE, |to| {
            text(to, 1, table);
            text(to, 2, name);
            number(to, 3, 0);
            number(to, 4, kind);
            number(to, 5, key_bytes as u32);
            number(to, 10, id);
        });
    }

    /// Adds or removes elements, at most [`ELEMENTS_MAX`].
    pub fn elements(&mut self, table: &str, set: &str, add: bool, keys: &[&[u8]]) {
        let (kind, flags) = if add { (NEW_ELEMENTS, CREATE) } else { (DELETE_ELEMENTS, 0) };
        self.message(kind, flags, |to| {
            text(to, 1, table);
            text(to, 2, set);
            nest(to, 3, |to| {
                for key in keys {
                    nest(to, 1, |to| nest(to, 1, |to| attribute(to, 1, key)));
                }
            });
        });
    }
}

fn message(
    to: &mut Vec<u8>,
    (kind, flags): (u16, u16),
    (family, resource): (u8, u16),
    sequence: u32,
    fill: impl FnOnce(&mut Vec<u8>),
) {
    let start = to.len();
    to.extend_from_slice(&[0; 4]);
    to.extend_from_slice(&kind.to_ne_bytes());
    to.extend_from_slice(&flags.to_ne_bytes());
    to.extend_from_slice(&sequence.to_ne_bytes());
    to.extend_from_slice(&[0; 4]);
    to.extend_from_slice(&[family, 0]);
    to.extend_from_slice(&resource.to_be_bytes());
    fill(to);
    let bytes = (to.len() - start) as u32;
    to[start..start + 4].copy_from_slice(&bytes.to_ne_bytes());
}

fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend_from_slice(&((4 + value.len()) as u16).to_ne_bytes());
    to.extend_from_slice(&kind.to_ne_bytes());
    to.extend_from_slice(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

fn text(to: &mut Vec<u8>, kind: u16, text: &str) {
    attribute(to, kind, &[text.as_bytes(), &[0]].concat());
}

fn number(to: &mut Vec<u8>, kind: u16, number: u32) {
    attribute(to, kind, &number.to_be_bytes());
}

fn nest(to: &mut Vec<u8>, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = to.len();
    attribute(to, kind | NESTED, &[]);
    fill(to);
    let bytes = (to.len() - start) as u16;
    to[start..start + 2].copy_from_slice(&bytes.to_ne_bytes());
}

fn expression(to: &mut Vec<u8>, what: &Expression<'_>) {
    let register = |register: &u32| REGISTERS + register;
    let value = |to: &mut Vec<u8>, kind, value: &[u8]| nest(to, kind, |to| attribute(to, 1, value));
    let mut named = |name: &str, fill: &dyn Fn(&mut Vec<u8>)| {
        nest(to, 1, |to| {
            text(to, 1, name);
            nest(to, 2, |to| fill(to));
        });
    };
    match what {
        Expression::Meta { key, register: to_register } => named("meta", &|to| {
            number(to, 1, register(to_register));
            number(to, 2, *key);
        }),
        Expression::Network { at, bytes, register: to_register }
        | Expression::Transport { at, bytes, register: to_register } => named("payload", &|to| {
            number(to, 1, register(to_register));
            number(to, 2, if matches!(what, Expression::Network { .. }) { 1 } else { 2 });
            number(to, 3, *at);
            number(to, 4, *bytes);
        }),
        Expression::Extension { kind, at, bytes, register: to_register } => named("exthdr", &|to| {
            number(to, 1, register(to_register));
            attribute(to, 2, &[*kind]);
            number(to, 3, *at);
            number(to, 4, *bytes);
        }),
        Expression::Mask { register: of, mask } => named("bitwise", &|to| {
            number(to, 1, register(of));
            number(to, 2, register(of));
            number(to, 3, mask.len() as u32);
            value(to, 4, mask);
            value(to, 5, &vec![0; mask.len()]);
        }),
        Expression::Is { register: of, value: other } | Expression::IsNot { register: of, value: other } => {
            named("cmp", &|to| {
                number(to, 1, register(of));
                number(to, 2, u32::from(matches!(what, Expression::IsNot { .. })));
                value(to, 3, other);
            });
        }
        Expression::In { set } => named("lookup", &|to| {
            text(to, 1, set);
            number(to, 2, REGISTERS);
        }),
        Expression::Verdict(verdict) => named("immediate", &|to| {
            number(to, 1, 0);
            nest(to, 2, |to| {
                nest(to, 2, |to| {
                    let (code, chain): (i32, _) = match verdict {
                        Verdict::Drop => (0, None),
                        Verdict::Accept => (1, None),
                        Verdict::Jump(chain) => (-3, Some(chain)),
                        Verdict::Goto(chain) => (-4, Some(chain)),
                        Verdict::Return => (-5, None),
                    };
                    attribute(to, 1, &code.to_be_bytes());
                    if let Some(chain) = chain {
                        text(to, 2, chain);
                    }
                });
            });
        }),
    }
}

/// A socket for requests and their answers.
pub struct Nft {
    socket: Socket,
    port: u32,
    sequence: u32,
}

impl Nft {
    /// Connects to the kernel.
    ///
    /// # Errors
    /// The error of the system: EPROTONOSUPPORT if the kernel has no nf_tables.
    pub fn open() -> io::Result<Nft> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        let port = socket.bind_auto()?.port_number();
        let timeout = nix::sys::time::TimeVal::new(ANSWER_SECONDS, 0);
        nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::ReceiveTimeout, &timeout)?;
        Ok(Nft { socket, port, sequence: 1 })
    }

    /// The socket's netlink port, by which news name the sender of a change.
    pub fn port(&self) -> u32 {
        self.port
    }

    /// Begins a batch for a family: 2 for IPv4, 10 for IPv6.
    pub fn batch(&self, family: u8) -> Batch {
        let first = self.sequence;
        let mut batch = Batch { bytes: Vec::new(), family, first, next: first + 1, sets: 0, last: 0 };
        message(&mut batch.bytes, (BATCH_BEGIN, REQUEST), (0, SUBSYSTEM), first, |_| {});
        batch.last = batch.bytes.len();
        batch
    }

    /// Has a batch carried out.
    ///
    /// # Errors
    /// The kernel's first refusal; then nothing was done.
    pub fn send(&mut self, mut batch: Batch) -> io::Result<()> {
        let (first, last) = (batch.first, batch.next - 1);
        if first == last {
            return Ok(());
        }
        let flags = u16::from_ne_bytes([batch.bytes[batch.last + 6], batch.bytes[batch.last + 7]]) | ACK;
        batch.bytes[batch.last + 6..batch.last + 8].copy_from_slice(&flags.to_ne_bytes());
        message(&mut batch.bytes, (BATCH_END, REQUEST), (0, SUBSYSTEM), batch.next, |_| {});
        self.sequence = batch.next + 1;
        self.exchange(&batch.bytes, (first, last))
    }

    /// Whether the kernel has a table of this family and name.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn has_table(&mut self, family: u8, table: &str) -> io::Result<bool> {
        self.has(GET_TABLE, family, |to| text(to, 1, table))
    }

    /// Whether there is a chain of this name in a table.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn has_chain(&mut self, family: u8, table: &str, chain: &str) -> io::Result<bool> {
        self.has(GET_CHAIN, family, |to| {
            text(to, 1, table);
            text(to, 3, chain);
        })
    }

    fn has(&mut self, kind: u16, family: u8, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<bool> {
        let sequence = self.sequence;
        self.sequence += 1;
        let mut request = Vec::new();
        let kind = (SUBSYSTEM << 8 | kind, REQUEST | ACK);
        message(&mut request, kind, (family, 0), sequence, fill);
        match self.exchange(&request, (sequence, sequence)) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
            other => other.map(|()| true),
        }
    }

    fn exchange(&mut self, request: &[u8], (first, last): (u32, u32)) -> io::Result<()> {
        self.socket.send(request, 0)?;
        let mut refused = None;
        loop {
            let (datagram, _) = match self.socket.recv_from_full() {
                // A socket with a timeout does not go on by itself after a stop.
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            for (kind, sequence, body) in messages(&datagram) {
                if kind != ERROR || !(first..=last).contains(&sequence) {
                    continue;
                }
                let code = body.first_chunk().map_or(-libc_eio(), |code| i32::from_ne_bytes(*code));
                if code != 0 {
                    refused.get_or_insert(io::Error::from_raw_os_error(-code));
                }
                // The answer to the first request of a batch holds for all of them.
                if sequence == last || sequence == first {
                    return refused.map_or(Ok(()), Err);
                }
            }
        }
    }
}

fn libc_eio() -> i32 {
    rustix::io::Errno::IO.raw_os_error()
}

/// Type, sequence number and body of each complete message of a datagram.
fn messages(datagram: &[u8]) -> impl Iterator<Item = (u16, u32, &[u8])> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let header = rest.first_chunk::<HEADER_BYTES>()?;
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        let sequence = u32::from_ne_bytes([header[8], header[9], header[10], header[11]]);
        let body = rest.get(HEADER_BYTES..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, sequence, body))
    })
}

/// A socket that receives news of changed tables.
pub struct News(Socket);

/// Result of reading the news since the last call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    /// No change by others was found.
    Nothing,
    /// Some news were lost, and the rest shows no change by others. A filter of many policies itself causes more news
    /// than the socket holds.
    Lost,
    /// Others changed a table.
    Changed,
}

impl News {
    /// Opens a socket that hears of all changes from here on. It holds `bytes` of news, or the system's default.
    ///
    /// # Errors
    /// The error of the system.
    pub fn listen(bytes: usize) -> io::Result<News> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind(&SocketAddr::new(0, 0))?;
        // Refused in a user namespace, where more news are lost.
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, bytes);
        socket.add_membership(GROUP)?;
        socket.set_non_blocking(true)?;
        Ok(News(socket))
    }

    /// Whether anyone but the socket of this port changed a table whose name begins with `name`.
    pub fn take(&self, own_port: u32, name: &str) -> Heard {
        let mut heard = Heard::Nothing;
        let mut buffer = Vec::with_capacity(32 << 10);
        loop {
            buffer.clear();
            match self.0.recv(&mut buffer, 0) {
                Ok(_) if is_changed(&buffer, own_port, name) => heard = Heard::Changed,
                Ok(_) => {}
                Err(cause) if cause.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error()) => {
                    if heard == Heard::Nothing {
                        heard = Heard::Lost;
                    }
                }
                Err(_) => return heard,
            }
        }
    }
}

impl AsFd for News {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether a datagram tells of a change to such a table by another socket. The first attribute names the table, except
/// in messages of the generation's number.
fn is_changed(datagram: &[u8], own_port: u32, name: &str) -> bool {
    let mut rest = datagram;
    while let Some(header) = rest.first_chunk::<HEADER_BYTES>() {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let is_own = u32::from_ne_bytes([header[12], header[13], header[14], header[15]]) == own_port;
        let names = rest.get(BODY..length.min(rest.len())).is_some_and(|attributes| {
            attributes.get(2..4).is_some_and(|kind| u16::from_ne_bytes([kind[0], kind[1]]) == 1)
                && attributes.get(4..).is_some_and(|value| value.starts_with(name.as_bytes()))
        });
        if names && !is_own {
            return true;
        }
        rest = rest.get(length.max(HEADER_BYTES).next_multiple_of(4)..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_laid_out_as_the_kernel_reads_them() {
        let mut bytes = Vec::new();
        message(&mut bytes, (0x0a00, REQUEST), (2, 0), 7, |to| text(to, 1, "abc"));
        assert_eq!(bytes.len(), 28);
        assert_eq!(bytes[..4], 28_u32.to_ne_bytes());
        assert_eq!(bytes[16..20], [2, 0, 0, 0]);
        assert_eq!(bytes[20..], [&8_u16.to_ne_bytes()[..], &1_u16.to_ne_bytes(), b"abc\0"].concat());
        let mut bytes = Vec::new();
        nest(&mut bytes, 4, |to| number(to, 1, 0x0102_0304));
        let nested = [&12_u16.to_ne_bytes()[..], &(4 | NESTED).to_ne_bytes()].concat();
        let within = [&8_u16.to_ne_bytes()[..], &1_u16.to_ne_bytes(), &[1, 2, 3, 4]].concat();
        assert_eq!(bytes, [nested, within].concat());
    }

    #[test]
    fn changes_by_others_alone_are_told() {
        let news = |port: u32, name: &str| {
            let mut bytes = Vec::new();
            message(&mut bytes, (0x0a02, 0), (2, 0), 1, |to| text(to, 1, name));
            bytes[12..16].copy_from_slice(&port.to_ne_bytes());
            bytes
        };
        assert!(is_changed(&news(9, "ours-1"), 7, "ours"));
        assert!(!is_changed(&news(7, "ours-1"), 7, "ours"));
        assert!(!is_changed(&news(9, "other"), 7, "ours"));
        assert!(is_changed(&[news(7, "ours-1"), news(9, "other"), news(9, "ours-0")].concat(), 7, "ours"));
        for datagram in [&[][..], &[0; 15], &[0; 40], &[0xff; 40]] {
            assert!(!is_changed(datagram, 7, "ours"));
        }
    }
}
