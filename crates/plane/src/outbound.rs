//! From the TUN: packets are cut, fitted to their path, sealed together and handed on.

use crate::bounds::{FRAMES_MAX, OUT_BYTES, TURN_LOOKS, TURN_SPINS, TURN_YIELD};
use crate::core::{Core, Placed, Ways};
use crate::counters::{Figures, Loss};
use crate::lock::lock;
use crate::shared::Tables;
use crate::split::Superpacket;
use crate::vnet::Vnet;
use ipsec::{
    Amount, Family, Fit, Frame, Gathered, HEAD_ROOM, Inner, Mode, PacketOutcome, Path, Route, Sa, SealItem,
    Time, fit, fragment_ipv4, inner_mtu, too_big,
};
use std::io::IoSlice;

/// A packet that waits to be sealed, with room around it.
#[derive(Debug)]
struct Waiting<'t> {
    sa: &'t Sa,
    start: usize,
    end: usize,
    /// Bytes of room before the packet.
    before: usize,
    bytes: usize,
    /// As [`Placed::cut`].
    cut: Option<usize>,
}

/// Packets that are sealed together: those of one look at the TUN.
#[derive(Debug)]
pub struct Batch<'t> {
    tables: &'t Tables,
    now: Time,
    waiting: Vec<Waiting<'t>>,
    /// Bytes of the memory that are taken. Headers outside the first packet have room before it; headers outside later
    /// packets overwrite packets that have left.
    used: usize,
}

impl<'t> Batch<'t> {
    /// A batch without packets. Tables and time hold for all packets that are added.
    pub fn new(tables: &'t Tables, now: Time) -> Batch<'t> {
        Batch { tables, now, waiting: Vec::with_capacity(FRAMES_MAX), used: HEAD_ROOM }
    }

    /// Number of packets that wait to be sealed.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no packet waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether a look should end: half of [`FRAMES_MAX`] packets wait, and another superpacket would find little room.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= FRAMES_MAX / 2
    }
}

impl Core {
    /// Takes the bytes of one read of the TUN: a packet or superpacket with its vnet header. Its packets are added to
    /// the batch, sent in clear, or dropped.
    pub fn take<'t>(&mut self, batch: &mut Batch<'t>, ways: &mut impl Ways, bytes: &[u8]) {
        let Ok(packets) = Superpacket::read(bytes) else {
            return self.figures.lose(Loss::TunMalformed, 1);
        };
        let Batch { tables, now, .. } = *batch;
        // All packets of a superpacket are of one flow. `route` has counted a packet that is dropped.
        match self.worker.route(&tables.sad, &tables.spd, now, packets.bytes(), packets.amount()) {
            Err(_) => {}
            Ok(Route::Bypass) => self.pass(batch, ways, &packets),
            Ok(Route::Gather) => self.gather(batch, ways, &packets),
            Ok(Route::Seal(sa)) => {
                let mtu = self.mtu_for(tables, sa, now);
                if packets.frame_bytes(0) > mtu {
                    return self.refit(batch, ways, sa, &packets, mtu);
                }
                let engine = self.engine;
                for number in 0..packets.frames() {
                    let bytes = packets.frame_bytes(number);
                    self.place(batch, ways, sa, bytes, None, |to| packets.write(&engine, number, to));
                }
            }
        }
    }

    /// Takes a piece of a packet. The whole packet decides where it goes: no piece leaves before the last has come.
    fn gather<'t>(&mut self, batch: &mut Batch<'t>, ways: &mut impl Ways, packets: &Superpacket<'_>) {
        let Batch { tables, now, .. } = *batch;
        let gathered = {
            let mut gathering = lock(&self.shared.gathering);
            self.worker.gather(&mut gathering, now, packets.bytes())
        };
        let Some(Gathered { packet, mut pieces }) = gathered else { return };
        let amount = Amount::one(packet.len());
        match self.worker.route(&tables.sad, &tables.spd, now, &packet, amount) {
            // The gathered packet is no piece.
            Err(_) | Ok(Route::Gather) => {}
            // The pieces leave as they came: their sender has cut them for its path.
            Ok(Route::Bypass) => {
                let mut is_told = false;
                for piece in &mut pieces {
                    self.pass_one(batch, ways, piece, &mut is_told);
                }
            }
            Ok(Route::Seal(sa)) => self.place_long(batch, ways, sa, &packet),
        }
    }

    /// Seals a packet whole, and has it cut outside if it is longer than its path. Transport mode needs this, since it
    /// has no pieces. So do policies that look at ports, which pieces would lack at the other end. If the sender has
    /// forbidden cutting (DF), the packet is dropped and its sender told.
    fn place_long<'t>(&mut self, batch: &mut Batch<'t>, ways: &mut impl Ways, sa: &'t Sa, packet: &[u8]) {
        let outside = self.path_mtu(batch.tables, sa, batch.now);
        let is_long = packet.len() > self.mtu_for(batch.tables, sa, batch.now);
        if is_long
            && let Ok(inner) = Inner::read(packet)
            && inner.flow.family() == Family::V4
            && inner.dont_fragment
        {
            self.figures.lose(Loss::TooLong, 1);
            return self.tell(ways, packet, &inner, self.mtu_for(batch.tables, sa, batch.now));
        }
        let cut = is_long.then_some(outside);
        self.place(batch, ways, sa, packet.len(), cut, |to| to.copy_from_slice(packet));
    }

    /// The longest packet that the path to an SA's peer takes, headers outside included, in bytes.
    fn path_mtu(&self, tables: &Tables, sa: &Sa, now: Time) -> usize {
        self.paths.mtu(&tables.path_mtus, sa.peer().address, now)
    }

    /// The longest packet that may be sealed by an SA for that path, in bytes.
    fn mtu_for(&self, tables: &Tables, sa: &Sa, now: Time) -> usize {
        let outside = self.path_mtu(tables, sa, now);
        let path = Path { family: sa.family(), in_udp: sa.in_udp() };
        inner_mtu(sa.suite(), path, sa.mode(), outside)
    }

    /// Has `write` put a packet where it will be sealed. A batch that is full is sealed and sent before.
    #[inline]
    fn place<'t>(
        &mut self,
        batch: &mut Batch<'t>,
        ways: &mut impl Ways,
        sa: &'t Sa,
        bytes: usize,
        cut: Option<usize>,
        write: impl FnOnce(&mut [u8]),
    ) {
        let (before, behind) = sa.room(bytes);
        // Packets of protocol 50 leave together, and headers of IP are written before each.
        let before = before + if sa.in_udp() { 0 } else { Family::V6.header_bytes() };
        let total = before + bytes + behind;
        if batch.waiting.len() >= FRAMES_MAX || batch.used + total > OUT_BYTES {
            self.seal(batch, ways);
        }
        let start = batch.used;
        let Some(memory) = self.out.get_mut(start..start + total) else {
            return self.figures.lose(Loss::NoRoom, 1);
        };
        write(&mut memory[before..before + bytes]);
        batch.waiting.push(Waiting { sa, start, end: start + total, before, bytes, cut });
        batch.used += total;
    }

    /// Fits packets that are longer than their path: they are cut if they may be; else their sender is told, once for a
    /// superpacket.
    fn refit<'t>(
        &mut self,
        batch: &mut Batch<'t>,
        ways: &mut impl Ways,
        sa: &'t Sa,
        packets: &Superpacket<'_>,
        mtu: usize,
    ) {
        let mut is_told = false;
        for number in 0..packets.frames() {
            let mut packet = vec![0; packets.frame_bytes(number)];
            packets.write(&self.engine, number, &mut packet);
            let fitted = Inner::read(&packet).map(|inner| fit(&inner, mtu));
            if sa.mode() == Mode::Transport && matches!(fitted, Ok(Fit::Cut { .. })) {
                self.place_long(batch, ways, sa, &packet);
                continue;
            }
            self.fit_one(ways, &mut packet, mtu, &mut is_told, |core, ways, packet| {
                let packet = &*packet;
                core.place(batch, ways, sa, packet.len(), None, |to| to.copy_from_slice(packet));
            });
        }
    }

    /// Sends packets that no policy protects in clear, with one hop less, as any router does. So a route that brings
    /// them back to the TUN makes no endless loop.
    fn pass(&mut self, batch: &Batch<'_>, ways: &mut impl Ways, packets: &Superpacket<'_>) {
        let mut is_told = false;
        for number in 0..packets.frames() {
            let mut packet = vec![0; packets.frame_bytes(number)];
            packets.write(&self.engine, number, &mut packet);
            self.pass_one(batch, ways, &mut packet, &mut is_told);
        }
    }

    fn pass_one(&mut self, batch: &Batch<'_>, ways: &mut impl Ways, packet: &mut [u8], is_told: &mut bool) {
        let mtu = batch.tables.path_mtus.default;
        self.fit_one(ways, packet, mtu, is_told, |core, ways, packet| {
            if age(packet) && ways.in_clear(packet) {
                core.figures.bypassed += 1;
            } else {
                core.figures.lose(Loss::Bypass, 1);
            }
        });
    }

    /// Hands a packet to `go`, in pieces if it is too long and may be cut; else its sender is told, once for a
    /// superpacket.
    fn fit_one<W: Ways>(
        &mut self,
        ways: &mut W,
        packet: &mut [u8],
        mtu: usize,
        is_told: &mut bool,
        mut go: impl FnMut(&mut Core, &mut W, &mut [u8]),
    ) {
        let Ok(inner) = Inner::read(packet) else { return self.figures.lose(Loss::TunMalformed, 1) };
        match fit(&inner, mtu) {
            Fit::Fits => go(self, ways, packet),
            Fit::Cut { mtu } => match fragment_ipv4(packet, mtu) {
                Ok(mut pieces) => {
                    self.figures.cut += 1;
                    pieces.iter_mut().for_each(|piece| go(self, ways, piece));
                }
                Err(_) => self.figures.lose(Loss::TooLong, 1),
            },
            Fit::Tell { mtu } => {
                self.figures.lose(Loss::TooLong, 1);
                if !std::mem::replace(is_told, true) {
                    self.tell(ways, packet, &inner, mtu);
                }
            }
        }
    }

    /// Tells the sender of a packet the MTU. The message has the packet's destination as its source: the kernel takes
    /// no packet with one of its own addresses from a device.
    fn tell(&mut self, ways: &mut impl Ways, packet: &[u8], inner: &Inner, mtu: usize) {
        let from = inner.flow.destination();
        let message = too_big(packet, mtu, from).filter(|_| !from.is_multicast());
        if let Some(message) = message {
            self.figures.told += 1;
            ways.to_tun(&[IoSlice::new(&Vnet::WHOLE.bytes()), IoSlice::new(&message)], 1);
        }
    }

    /// Seals all packets that wait, and sends them.
    pub fn seal(&mut self, batch: &mut Batch<'_>, ways: &mut impl Ways) {
        if batch.waiting.is_empty() {
            return;
        }
        let mut items = Vec::with_capacity(batch.waiting.len());
        let mut rest = &mut self.out[HEAD_ROOM..batch.used];
        for waiting in &batch.waiting {
            let (memory, next) = rest.split_at_mut(waiting.end - waiting.start);
            rest = next;
            let frame = Frame::new(memory, waiting.before, waiting.before + waiting.bytes);
            // `place` put the packet within its memory, so `frame` is not `None`.
            items.extend(frame.map(|frame| SealItem::new(waiting.sa, frame)));
        }
        self.worker.seal(batch.now, &mut items);
        let mut placed = std::mem::take(&mut self.placed);
        placed.extend(items.iter().zip(&batch.waiting).filter_map(|(item, waiting)| {
            let PacketOutcome::Done(sealed) = &item.outcome else { return None };
            let (start, end) = item.frame.place();
            Some(Placed {
                outer: sealed.outer,
                start: waiting.start + start,
                end: waiting.start + end,
                cut: waiting.cut,
            })
        }));
        Figures::batch(&mut self.figures.sealed_batches, items.len());
        let runs = if self.is_shared { numbers(&items) } else { Vec::new() };
        drop(items);
        if self.is_shared {
            wait_for_turns(&runs);
        }
        ways.outside(&mut self.out, &placed);
        for run in &runs {
            run.sa.sent(run.last);
        }
        placed.clear();
        self.placed = placed;
        batch.waiting.clear();
        batch.used = HEAD_ROOM;
    }
}

/// The first and the last sequence number of one SA in a batch.
struct Run<'t> {
    sa: &'t Sa,
    first: u64,
    last: u64,
}

/// The sequence numbers of a batch, as a run for each SA.
fn numbers<'t>(items: &[SealItem<'_, 't>]) -> Vec<Run<'t>> {
    let mut runs: Vec<Run<'t>> = Vec::new();
    for item in items {
        let PacketOutcome::Done(sealed) = &item.outcome else { continue };
        match runs.iter_mut().rev().find(|run| std::ptr::eq(run.sa, item.sa)) {
            Some(run) => run.last = run.last.max(sealed.number),
            None => runs.push(Run { sa: item.sa, first: sealed.number, last: sealed.number }),
        }
    }
    runs
}

/// Lets threads that took earlier numbers of the same SAs send first, so that packets leave in their order. Two threads
/// may wait for each other, if each has the earlier numbers of one SA: so a thread gives up after [`TURN_LOOKS`]
/// checks.
fn wait_for_turns(runs: &[Run<'_>]) {
    for look in 0..TURN_LOOKS {
        if runs.iter().all(|run| run.sa.is_turn(run.first)) {
            return;
        }
        if look % TURN_YIELD == TURN_YIELD - 1 {
            std::thread::yield_now();
        } else {
            for _ in 0..TURN_SPINS {
                std::hint::spin_loop();
            }
        }
    }
}

/// Lowers the hop limit of a packet by one; false if it would become 0. The kernel writes the checksum of IPv4.
fn age(packet: &mut [u8]) -> bool {
    let at = if packet.first().is_some_and(|first| first >> 4 == 4) { 8 } else { 7 };
    let Some(hops) = packet.get_mut(at).filter(|hops| **hops > 1) else { return false };
    *hops -= 1;
    true
}
