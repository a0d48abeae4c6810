//! Datagrams for clients, and how they are written. Replies may hold keys: memory that held bytes of a message is wiped
//! when it is given up.

use crate::client::Client;
use crate::refusal::Refusal;
use crate::view::Header;
use crate::wire::{ATTRIBUTE_HEADER_BYTES, HEADER_BYTES, netlink};
use std::collections::{BTreeSet, VecDeque};
use zeroize::Zeroizing;

/// Upper bound of the bytes that wait in an outbox. A datagram beyond it is dropped, and its client named
/// ([`Outbox::take_overrun`]).
pub const OUTBOX_BYTES_MAX: usize = 16 << 20;

/// Datagrams that wait to be sent, in their order. Each is wiped when it is dropped.
#[derive(Default)]
pub struct Outbox {
    datagrams: VecDeque<(Client, Zeroizing<Vec<u8>>)>,
    bytes: usize,
    overrun: BTreeSet<Client>,
}

impl Outbox {
    /// An outbox without datagrams.
    pub fn new() -> Outbox {
        Outbox::default()
    }

    /// Takes the next datagram, with the client that it is for.
    pub fn take(&mut self) -> Option<(Client, Zeroizing<Vec<u8>>)> {
        let next = self.datagrams.pop_front()?;
        self.bytes -= next.1.len();
        Some(next)
    }

    /// Whether no datagram waits.
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Bytes of the datagrams that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the clients for whom a datagram was dropped for want of room: a kernel tells them by ENOBUFS.
    pub fn take_overrun(&mut self) -> impl Iterator<Item = Client> {
        std::mem::take(&mut self.overrun).into_iter()
    }

    pub(crate) fn push(&mut self, client: Client, datagram: Zeroizing<Vec<u8>>) {
        if datagram.is_empty() {
            return;
        }
        if self.bytes + datagram.len() > OUTBOX_BYTES_MAX {
            self.overrun.insert(client);
            return;
        }
        self.bytes += datagram.len();
        self.datagrams.push_back((client, datagram));
    }
}

/// Header fields of a message to a client: sequence number and port of the request that it answers, and flags.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub(crate) sequence: u32,
    pub(crate) port: u32,
    pub(crate) flags: u16,
}

impl Reply {
    /// The fields of an event that no request caused.
    pub(crate) const EVENT: Reply = Reply { sequence: 0, port: 0, flags: 0 };
}

/// Room that most datagrams have from the start, in bytes.
const FIRST_BYTES: usize = 2048;

/// A datagram that is being written.
pub(crate) struct Writer {
    bytes: Zeroizing<Vec<u8>>,
    message: usize,
}

impl Writer {
    pub(crate) fn new() -> Writer {
        Writer::with_room(FIRST_BYTES)
    }

    pub(crate) fn with_room(bytes: usize) -> Writer {
        Writer { bytes: Zeroizing::new(Vec::with_capacity(bytes)), message: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Makes room without leaving a copy behind, which a vector that grows would.
    fn reserve(&mut self, more: usize) {
        let needed = self.bytes.len() + more;
        if needed > self.bytes.capacity() {
            let mut larger = Vec::with_capacity(needed.max(self.bytes.capacity() * 2));
            larger.extend_from_slice(&self.bytes);
            self.bytes = Zeroizing::new(larger);
        }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    fn pad(&mut self) {
        let padding = self.bytes.len().next_multiple_of(4) - self.bytes.len();
        self.put(&[0; 3][..padding]);
    }

    /// Begins a message with a structure.
    pub(crate) fn begin(&mut self, kind: u16, reply: Reply, structure: &[u8]) {
        self.message = self.bytes.len();
        self.put(&[0; 4]);
        self.put(&kind.to_ne_bytes());
        self.put(&reply.flags.to_ne_bytes());
        self.put(&reply.sequence.to_ne_bytes());
        self.put(&reply.port.to_ne_bytes());
        self.put(structure);
        self.pad();
    }

    /// Writes an attribute whose value comes in pieces.
    pub(crate) fn attribute(&mut self, kind: u16, value: &[&[u8]]) {
        let length = ATTRIBUTE_HEADER_BYTES + value.iter().map(|piece| piece.len()).sum::<usize>();
        // Values are far shorter than a length can state; a longer one is left out.
        let Ok(length) = u16::try_from(length) else { return };
        self.put(&length.to_ne_bytes());
        self.put(&kind.to_ne_bytes());
        value.iter().for_each(|piece| self.put(piece));
        self.pad();
    }

    pub(crate) fn attribute_u32(&mut self, kind: u16, value: u32) {
        self.attribute(kind, &[&value.to_ne_bytes()]);
    }

    /// Ends the message by writing its length.
    pub(crate) fn end(&mut self) {
        let length = (self.bytes.len() - self.message) as u32;
        if let Some(place) = self.bytes.get_mut(self.message..self.message + 4) {
            place.copy_from_slice(&length.to_ne_bytes());
        }
    }

    /// Writes the end of a dump.
    pub(crate) fn done(&mut self, reply: Reply) {
        let flags = netlink::MULTI;
        self.begin(netlink::DONE, Reply { flags, ..reply }, &0_i32.to_ne_bytes());
        self.end();
    }

    /// Writes the acknowledgement of a request, or its refusal. Of the request only the header is repeated, since the
    /// request may hold keys.
    pub(crate) fn acknowledge(
        &mut self,
        request: &Header,
        port: u32,
        refusal: Option<&Refusal>,
        extended: bool,
    ) {
        let mut structure = [0; 4 + HEADER_BYTES];
        let errno = refusal.map_or(0, |refusal| -refusal.errno);
        structure[..4].copy_from_slice(&errno.to_ne_bytes());
        structure[4..8].copy_from_slice(&request.length.to_ne_bytes());
        structure[8..10].copy_from_slice(&request.kind.to_ne_bytes());
        structure[10..12].copy_from_slice(&request.flags.to_ne_bytes());
        structure[12..16].copy_from_slice(&request.sequence.to_ne_bytes());
        structure[16..].copy_from_slice(&request.port.to_ne_bytes());
        let told =
            refusal.filter(|refusal| extended && (!refusal.text.is_empty() || refusal.offset.is_some()));
        let flags = netlink::CAPPED | if told.is_some() { netlink::ACK_TLVS } else { 0 };
        self.begin(netlink::ERROR, Reply { sequence: request.sequence, port, flags }, &structure);
        if let Some(refusal) = told {
            if !refusal.text.is_empty() {
                self.attribute(netlink::ACK_TEXT, &[refusal.text.as_bytes(), &[0]]);
            }
            if let Some(offset) = refusal.offset {
                self.attribute_u32(netlink::ACK_OFFSET, offset);
            }
        }
        self.end();
    }

    pub(crate) fn finish(self) -> Zeroizing<Vec<u8>> {
        self.bytes
    }
}
