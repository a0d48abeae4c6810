//! Sealing: packets of IP become packets of ESP.

use super::{HasPacket, PacketOutcome, Work, bring_together, crypto, fetch_keys, runs};
use crate::address::Family;
use crate::congestion;
use crate::esp::{self, HEADER_BYTES, NO_NEXT_HEADER, TRAILER_BYTES};
use crate::frame::Frame;
use crate::inner::{self, Inner};
use crate::limits::Standing;
use crate::mtu::UDP_BYTES;
use crate::outer::{ESP_PROTOCOL, HOP_LIMIT, Outer, UDP_PROTOCOL};
use crate::parameters::{Direction, FragmentRule, Mode};
use crate::reason::Reason;
use crate::sa::Sa;
use crate::time::Time;
use crate::worker::Worker;

/// A packet to be sealed, and its SA.
#[derive(Debug)]
pub struct SealItem<'a, 't> {
    /// The SA, which the caller got from policies ([`Worker::route`]).
    pub sa: &'t Sa,
    /// In: a packet of IP. Out: a packet of ESP, from its SPI to its ICV; [`Outer::write`] puts headers before it. In
    /// transport mode, if the packet has options of IPv4 or extension headers, out: the whole packet with them
    /// ([`Outer::is_whole`]).
    pub frame: Frame<'a>,
    /// Whether the packet was sealed, or why it was dropped.
    pub outcome: PacketOutcome<Sealed>,
    payload: Payload,
    /// Length of the packet's own headers that stay outside, if they are more than a header of IP; 0 otherwise.
    headers: usize,
}

/// The content of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Payload {
    Packet,
    /// Bytes without a meaning (RFC 4303, 2.6).
    Dummy,
}

/// A packet that was sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sealed {
    /// The fields of the headers outside it.
    pub outer: Outer,
    /// The whole sequence number, of 64 bits.
    pub number: u64,
}

impl<'a, 't> SealItem<'a, 't> {
    /// A packet of IP, to be sealed by this SA.
    pub fn new(sa: &'t Sa, frame: Frame<'a>) -> SealItem<'a, 't> {
        SealItem { sa, frame, outcome: PacketOutcome::Waiting, payload: Payload::Packet, headers: 0 }
    }

    /// A dummy packet (RFC 4303, 2.6) with these bytes inside, which its receiver throws away: it hides how much real
    /// traffic there is.
    pub fn dummy(sa: &'t Sa, frame: Frame<'a>) -> SealItem<'a, 't> {
        SealItem { sa, frame, outcome: PacketOutcome::Waiting, payload: Payload::Dummy, headers: 0 }
    }
}

impl HasPacket for SealItem<'_, '_> {
    #[inline]
    fn packet(&mut self) -> &mut [u8] {
        self.frame.bytes_mut()
    }
}

impl Worker {
    /// Seals packets, those of one SA in their order with consecutive numbers, and notes the outcome of each. Dropped
    /// packets are counted.
    pub fn seal(&mut self, now: Time, items: &mut [SealItem<'_, '_>]) {
        let mut works = Vec::with_capacity(items.len());
        for item in items {
            match lay_out(item) {
                Ok((outer, bytes)) => {
                    let sa = item.sa;
                    fetch_keys(&works, sa);
                    item.outcome = PacketOutcome::Done(Sealed { outer, number: 0 });
                    let mut work = Work::new(sa, item, 0);
                    work.bytes = bytes;
                    works.push(work);
                }
                Err(reason) => {
                    item.outcome = PacketOutcome::Dropped(reason);
                    self.counters.count(reason, 1);
                }
            }
        }
        bring_together(&mut works);
        for run in runs(&mut works) {
            self.number_run(now, run);
        }
        crypto::seal(&self.engine, &mut self.random, &mut works);
        for run in runs(&mut works) {
            run.iter_mut().filter(|work| work.item.headers > 0).for_each(|work| put_headers(work.item));
            self.tell_standing(run[0].sa, now);
        }
    }

    /// Charges packets of one SA, takes numbers for them and writes their headers, with one step for all of them in
    /// each counter that threads share.
    fn number_run(&mut self, now: Time, run: &mut [Work<'_, '_, SealItem<'_, '_>>]) {
        let sa = run[0].sa;
        let peer = sa.peer();
        if sa.standing(now) == Standing::Hard {
            let reason = if sa.numbers.is_at_end() { Reason::SequenceEnd } else { Reason::Expired };
            return run.iter_mut().for_each(|work| self.drop_work(work, reason));
        }
        let bytes = run.iter().map(|work| work.bytes).sum();
        let mut charged = sa.usage.charge(&sa.limits(), now, run.len() as u64, bytes);
        let within = run.iter().take_while(|work| charged.take(work.bytes)).count();
        let (within, beyond) = run.split_at_mut(within);
        beyond.iter_mut().for_each(|work| self.drop_work(work, Reason::Expired));
        let mut numbers = sa.numbers.take(within.len() as u64);
        for work in within {
            let Some(number) = numbers.next() else {
                self.drop_work(work, Reason::SequenceEnd);
                continue;
            };
            work.number = number;
            let packet = work.item.frame.bytes_mut();
            packet[..4].copy_from_slice(&sa.spi.to_be_bytes());
            packet[4..HEADER_BYTES].copy_from_slice(&(number as u32).to_be_bytes());
            if let PacketOutcome::Done(sealed) = &mut work.item.outcome {
                sealed.number = number;
                sealed.outer.destination = peer;
            }
            self.counters.sealed += 1;
            self.counters.sealed_bytes += work.bytes;
        }
    }

    fn drop_work(&mut self, work: &mut Work<'_, '_, SealItem<'_, '_>>, reason: Reason) {
        work.good = false;
        work.item.outcome = PacketOutcome::Dropped(reason);
        self.counters.count(reason, 1);
    }
}

/// Makes room for headers, padding and ICV around a payload, and writes what does not depend on a number. Returns the
/// fields of the headers outside, with the peer still to be filled in, and the number of bytes that are charged.
fn lay_out(item: &mut SealItem<'_, '_>) -> Result<(Outer, u64), Reason> {
    let sa = item.sa;
    if sa.direction != Direction::Out {
        return Err(Reason::Direction);
    }
    let frame = &mut item.frame;
    let (mut next_header, mut header_bytes, mut inner) = (NO_NEXT_HEADER, 0, None);
    if item.payload == Payload::Packet {
        let read = Inner::read(frame.bytes())?;
        frame.truncate(read.bytes);
        (next_header, header_bytes) = split(sa, &read, frame.bytes())?;
        inner = Some(read);
    }
    let bytes = frame.len() as u64;
    frame.shrink_front(header_bytes);
    let payload = frame.len();
    let filled = match sa.mode {
        Mode::Tunnel => payload.max(usize::from(sa.rules.tfc_bytes)),
        Mode::Transport => payload,
    };
    let padding = esp::padding_bytes(sa.suite, filled);
    let behind = filled - payload + padding + TRAILER_BYTES + sa.suite.icv_bytes();
    let before = HEADER_BYTES + sa.suite.iv_bytes();
    item.headers = if header_bytes > sa.family.header_bytes() { header_bytes } else { 0 };
    let udp_bytes = if sa.in_udp && item.headers > 0 { UDP_BYTES } else { 0 };
    let outside = udp_bytes + item.headers;
    let (head_room, tail_room) = frame.room();
    if head_room < outside + before || tail_room < behind {
        return Err(Reason::NoRoom);
    }
    if outside + before + payload + behind > usize::from(u16::MAX) {
        return Err(Reason::TooLong);
    }
    if item.headers > 0 {
        frame.move_before(item.headers, 0, before + udp_bytes);
    }
    let _ = frame.grow_back(behind) && frame.grow_front(before);
    let packet = frame.bytes_mut();
    packet[before + payload..before + filled].fill(0);
    let enciphered_end = packet.len() - sa.suite.icv_bytes();
    esp::write_trailer(&mut packet[before..enciphered_end], padding, next_header);
    let is_whole = item.headers > 0;
    Ok((Outer { is_whole, in_udp: sa.in_udp && !is_whole, ..outer(sa, inner.as_ref()) }, bytes))
}

/// Takes a packet's own headers into the frame: they stand before it, with room for UDP's between.
fn put_headers(item: &mut SealItem<'_, '_>) {
    let SealItem { sa, frame, outcome: PacketOutcome::Done(sealed), headers, .. } = item else { return };
    // Room for both was checked as the packet was laid out.
    let mut protocol = ESP_PROTOCOL;
    if sa.in_udp && frame.grow_front(UDP_BYTES) {
        sealed.outer.write_udp(frame.bytes_mut());
        protocol = UDP_PROTOCOL;
    }
    if frame.grow_front(*headers) {
        inner::set_payload(frame.bytes_mut(), *headers, protocol);
    }
}

/// Checks that the SA is for a packet. Returns the next header of the packet's payload, and how many bytes before the
/// payload stay outside.
fn split(sa: &Sa, inner: &Inner, packet: &[u8]) -> Result<(u8, usize), Reason> {
    let flow = &inner.flow;
    if sa.selector.as_ref().is_some_and(|selector| !selector.matches(flow)) {
        return Err(Reason::Selector);
    }
    if sa.mode == Mode::Tunnel {
        return Ok((flow.family().next_header(), 0));
    }
    if inner.is_fragment {
        return Err(Reason::Fragment);
    }
    if (flow.source(), flow.destination()) != (sa.local().address, sa.peer().address) {
        return Err(Reason::Address);
    }
    let header_bytes = inner::before_esp(packet, inner);
    Ok((packet[inner::number_at(&packet[..header_bytes])], header_bytes))
}

fn outer(sa: &Sa, inner: Option<&Inner>) -> Outer {
    let family = sa.family();
    let dont_fragment = match (sa.rules.fragments, inner) {
        (FragmentRule::Never, _) => true,
        (FragmentRule::Always, _) | (_, None) => family == Family::V6,
        (FragmentRule::Copy, Some(inner)) => inner.dont_fragment,
    };
    let (traffic_class, hop_limit) = match (inner, sa.mode) {
        (None, _) => (0, HOP_LIMIT),
        // The header is the packet's own.
        (Some(inner), Mode::Transport) => (inner.traffic_class, inner.hop_limit),
        (Some(inner), Mode::Tunnel) => {
            (congestion::outer(inner.traffic_class, sa.rules.dscp, sa.rules.ecn), HOP_LIMIT)
        }
    };
    Outer {
        source: sa.local(),
        destination: sa.local(),
        in_udp: sa.in_udp,
        is_whole: false,
        traffic_class,
        hop_limit,
        dont_fragment,
        flow_label: if family == Family::V6 { flow_label(sa.spi) } else { 0 },
    }
}

/// A flow label: twenty bits that differ between SAs.
fn flow_label(spi: u32) -> u32 {
    spi.wrapping_mul(0x9e37_79b9) >> 12
}
