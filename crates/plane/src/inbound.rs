//! From outside: datagrams are opened together, admitted by policies, put together and written to the TUN.

use crate::bounds::{DATAGRAMS_MAX, IN_BYTES, OPENED_TOGETHER, PACKET_BYTES_MAX, SEGMENTS_MAX};
use crate::coalesce::coalesce;
use crate::core::{Core, Ways};
use crate::counters::{Figures, Loss};
use crate::shared::Tables;
use ipsec::{Amount, Arrival, Datagram, Frame, HEAD_ROOM, Mode, OpenItem, PolicyDirection, Time, classify};

/// Bytes of memory that one datagram may take: head room, the longest datagram, and in transport mode head room before
/// each packet in it.
const PLACE_BYTES: usize = HEAD_ROOM + PACKET_BYTES_MAX + 1 + 2 * SEGMENTS_MAX * HEAD_ROOM;

/// A datagram that came, with one packet of ESP or several of one length, of which the last may be shorter.
#[derive(Clone, Copy, Debug)]
struct Came {
    start: usize,
    bytes: usize,
    segment: usize,
    /// Bytes from the start of one packet to the start of the next.
    stride: usize,
    /// Addresses and header fields that the datagram came with; `None` for a whole packet of IP, whose headers have
    /// them.
    arrival: Option<Arrival>,
}

/// Datagrams that are opened together: those of one look at a socket.
#[derive(Debug)]
pub struct Arrivals {
    came: Vec<Came>,
    used: usize,
    packets: usize,
}

impl Default for Arrivals {
    fn default() -> Arrivals {
        Arrivals { came: Vec::with_capacity(DATAGRAMS_MAX), used: 0, packets: 0 }
    }
}

impl Arrivals {
    /// Number of packets that wait to be opened.
    pub fn len(&self) -> usize {
        self.packets
    }

    /// Whether no packet waits.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Whether a look should end: enough packets wait, or there is no room for another datagram.
    pub fn is_full(&self) -> bool {
        self.packets >= OPENED_TOGETHER
            || self.came.len() >= DATAGRAMS_MAX
            || self.used + PLACE_BYTES > IN_BYTES
    }
}

impl Core {
    /// Memory for the next datagram, for which there is room unless [`Arrivals::is_full`].
    pub fn room(&mut self, arrivals: &Arrivals) -> &mut [u8] {
        let start = (arrivals.used + HEAD_ROOM).min(self.come.len());
        let end = (start + PACKET_BYTES_MAX + 1).min(self.come.len());
        &mut self.come[start..end]
    }

    /// Adds a datagram that was read into [`Core::room`]. `segment` is the length of each packet in it but the last, if
    /// there are several.
    pub fn add(
        &mut self,
        arrivals: &mut Arrivals,
        tables: &Tables,
        arrival: Arrival,
        bytes: usize,
        segment: Option<usize>,
    ) {
        let start = arrivals.used + HEAD_ROOM;
        let segment = segment.filter(|segment| *segment > 0).unwrap_or(bytes).clamp(1, bytes.max(1));
        let packets = bytes.div_ceil(segment);
        let mut stride = segment;
        if packets > 1 && packets <= 2 * SEGMENTS_MAX && self.is_transport(tables, start, bytes) {
            // Opening writes a header of IP before each packet.
            stride = segment + HEAD_ROOM;
            for packet in (1..packets).rev() {
                let from = start + packet * segment;
                let until = (from + segment).min(start + bytes);
                self.come.copy_within(from..until, start + packet * stride);
            }
        }
        arrivals.came.push(Came { start, bytes, segment, stride, arrival: Some(arrival) });
        arrivals.used = start + bytes + (stride - segment) * packets;
        arrivals.packets += packets;
    }

    /// Adds a whole packet of IP with ESP in it that was read into [`Core::room`].
    pub fn add_whole(&mut self, arrivals: &mut Arrivals, bytes: usize) {
        let start = arrivals.used + HEAD_ROOM;
        arrivals.came.push(Came { start, bytes, segment: bytes.max(1), stride: bytes, arrival: None });
        arrivals.used = start + bytes;
        arrivals.packets += 1;
    }

    fn is_transport(&self, tables: &Tables, start: usize, bytes: usize) -> bool {
        let spi = self.come.get(start..start + bytes).and_then(|packet| packet.first_chunk());
        let sa = spi.and_then(|spi| tables.sad.inbound(u32::from_be_bytes(*spi)));
        sa.is_some_and(|sa| sa.mode() == Mode::Transport)
    }

    /// Opens all packets that wait, and writes those that policies admit to the TUN. `with_udp` says whether the TUN
    /// takes superpackets of UDP.
    pub fn open(
        &mut self,
        arrivals: &mut Arrivals,
        tables: &Tables,
        now: Time,
        ways: &mut impl Ways,
        with_udp: bool,
    ) {
        if arrivals.came.is_empty() {
            return;
        }
        let Core { engine, worker, figures, come, .. } = self;
        let mut items = Vec::with_capacity(arrivals.packets);
        let (mut rest, mut at) = (&mut come[..], 0);
        for datagram in &arrivals.came {
            let Came { start, bytes, segment, stride, arrival } = *datagram;
            for packet in 0..bytes.div_ceil(segment) {
                let begin = start + packet * stride;
                let length = segment.min(bytes - packet * segment);
                // All memory from the end of the last packet to the end of this one, so that there is head room before
                // it.
                let (memory, next) = rest.split_at_mut(begin + length - at);
                (rest, at) = (next, begin + length);
                let end = memory.len();
                let Some(arrival) = arrival else {
                    let frame = Frame::new(memory, end - length, end);
                    let Some(item) = frame.and_then(|frame| OpenItem::read(frame).ok()) else {
                        figures.lose(Loss::NotEsp, 1);
                        continue;
                    };
                    figures.received_packets += 1;
                    figures.received_bytes += item.frame.bytes().len() as u64;
                    items.push(item);
                    continue;
                };
                match classify(&memory[end - length..]) {
                    Datagram::Esp => {
                        figures.received_packets += 1;
                        figures.received_bytes += length as u64;
                        let frame = Frame::new(memory, end - length, end);
                        items.extend(frame.map(|frame| OpenItem::new(frame, arrival)));
                    }
                    Datagram::Keepalive => figures.lose(Loss::Keepalive, 1),
                    Datagram::Ike | Datagram::Other => figures.lose(Loss::NotEsp, 1),
                }
            }
        }
        worker.open(&tables.sad, now, &mut items);
        let mut packets = Vec::with_capacity(items.len());
        // Packets of one flow mostly follow each other, and policies decide alike about them.
        let opened = items.iter().filter_map(|item| Some((item.outcome.done()?, item.frame.bytes())));
        let mut opened = opened.peekable();
        while let Some((first, bytes)) = opened.next() {
            let begin = packets.len();
            let mut amount = Amount::one(bytes.len());
            packets.push(bytes);
            while let Some((_, bytes)) = opened.next_if(|(next, _)| {
                next.flow == first.flow
                    && next.is_fragment == first.is_fragment
                    && std::ptr::eq(next.sa, first.sa)
            }) {
                amount.packets += 1;
                amount.bytes += bytes.len() as u64;
                packets.push(bytes);
            }
            let is_local = tables.local.contains(&first.flow.destination());
            let direction = if is_local { PolicyDirection::In } else { PolicyDirection::Forward };
            let admitted = if first.is_fragment {
                worker.admit_piece(&tables.spd, direction, &first.flow, Some(first.sa), amount)
            } else {
                worker.admit(&tables.spd, direction, &first.flow, Some(first.sa), amount)
            };
            if admitted.is_err() {
                packets.truncate(begin);
            }
        }
        Figures::batch(&mut figures.opened_batches, items.len());
        coalesce(engine, &packets, with_udp, |parts, packets| ways.to_tun(parts, packets));
        *arrivals = Arrivals { came: std::mem::take(&mut arrivals.came), used: 0, packets: 0 };
        arrivals.came.clear();
    }
}
