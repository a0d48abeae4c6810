//! Opening: packets of ESP become packets of IP again.

use super::{HasPacket, PacketOutcome, Work, bring_together, crypto, fetch_keys, runs};
use crate::address::{Endpoint, Family};
use crate::checksum;
use crate::congestion;
use crate::esp::{self, HEADER_BYTES, NO_NEXT_HEADER};
use crate::frame::Frame;
use crate::inner::{self, Flow, Inner};
use crate::limits::Standing;
use crate::mtu::UDP_BYTES;
use crate::outer::{self, Arrival, Outer};
use crate::parameters::Mode;
use crate::reason::Reason;
use crate::replay::Verdict;
use crate::sa::Sa;
use crate::sad::Sad;
use crate::sequence::whole_number;
use crate::time::Time;
use crate::worker::Worker;
use std::sync::atomic::{AtomicU64, Ordering};

/// A packet to be opened.
#[derive(Debug)]
pub struct OpenItem<'a, 't> {
    /// In: a packet of ESP, from its SPI to its ICV. Out: a packet of IP.
    pub frame: Frame<'a>,
    /// The fields of the outer headers with which the packet came.
    pub arrival: Arrival,
    /// Whether the packet was opened, or why it was dropped.
    pub outcome: PacketOutcome<Opened<'t>>,
    /// Length of the headers of IP that stand before the frame, where UDP's may follow them; 0 if there are none, or if
    /// they have no options or extensions.
    headers: usize,
}

/// A packet that was opened. Policies decide whether it may come in ([`Worker::admit`]).
#[derive(Clone, Copy, Debug)]
pub struct Opened<'t> {
    /// The SA that opened it.
    pub sa: &'t Sa,
    /// The flow of the packet of IP inside.
    pub flow: Flow,
    /// Whether the packet inside is a piece of a packet ([`Worker::admit_piece`]).
    pub is_fragment: bool,
    /// The whole sequence number, of 64 bits.
    pub number: u64,
}

impl<'a, 't> OpenItem<'a, 't> {
    /// A packet of ESP that arrived like this.
    pub fn new(frame: Frame<'a>, arrival: Arrival) -> OpenItem<'a, 't> {
        OpenItem { frame, arrival, outcome: PacketOutcome::Waiting, headers: 0 }
    }

    /// A whole packet of IP with ESP in it. In transport mode it keeps its options of IPv4 or extension headers.
    ///
    /// # Errors
    /// As [`Arrival::read`].
    pub fn read(mut frame: Frame<'a>) -> Result<OpenItem<'a, 't>, Reason> {
        let (arrival, headers) = Arrival::read_headers(&mut frame)?;
        let is_bare = headers == Family::of(arrival.destination).header_bytes();
        Ok(OpenItem { headers: if is_bare { 0 } else { headers }, ..OpenItem::new(frame, arrival) })
    }
}

impl HasPacket for OpenItem<'_, '_> {
    #[inline]
    fn packet(&mut self) -> &mut [u8] {
        self.frame.bytes_mut()
    }
}

impl Worker {
    /// Opens packets, and notes the outcome of each; dropped packets are counted.
    pub fn open<'t>(&mut self, sad: &'t Sad, now: Time, items: &mut [OpenItem<'_, 't>]) {
        let mut works = Vec::with_capacity(items.len());
        fetch(sad, items);
        let mut last = None;
        for item in items {
            match admitted(sad, now, &mut last, item) {
                Ok((sa, number)) => {
                    fetch_keys(&works, sa);
                    // Filled in once the content is known.
                    item.outcome = PacketOutcome::Waiting;
                    works.push(Work::new(sa, item, number));
                }
                Err(reason) => {
                    item.outcome = PacketOutcome::Dropped(reason);
                    self.counters.count(reason, 1);
                }
            }
        }
        bring_together(&mut works);
        crypto::open(&self.engine, &mut works);
        for run in runs(&mut works) {
            self.take_run(now, run);
        }
    }

    /// Moves the window over packets of one SA, lays out those that were authenticated, and charges them.
    fn take_run<'t>(&mut self, now: Time, run: &mut [Work<'_, 't, OpenItem<'_, 't>>]) {
        let sa = run[0].sa;
        let (mut packets, mut bytes) = (0, 0);
        let mut newest = None;
        for work in run.iter_mut() {
            match take(work, &mut newest) {
                Ok(opened) => {
                    packets += 1;
                    bytes += work.item.frame.len() as u64;
                    work.item.outcome = PacketOutcome::Done(opened);
                }
                Err(reason) => {
                    work.item.outcome = PacketOutcome::Dropped(reason);
                    self.counters.count(reason, 1);
                }
            }
        }
        self.counters.opened += packets;
        self.counters.opened_bytes += bytes;
        if packets > 0 {
            // A batch that was authenticated comes in as a whole, past a hard limit too.
            sa.usage.charge(&sa.limits(), now, packets, bytes);
        }
        self.tell_standing(sa, now);
        if let Some(seen) = newest.filter(|_| sa.in_udp) {
            self.tell_mapping(sa, seen);
        }
    }
}

/// Moves the window for a packet that was authenticated and lays it out.
fn take<'t>(
    work: &mut Work<'_, 't, OpenItem<'_, 't>>,
    newest: &mut Option<Endpoint>,
) -> Result<Opened<'t>, Reason> {
    let sa = work.sa;
    let failed = |count: &AtomicU64, reason| {
        count.fetch_add(1, Ordering::Relaxed);
        Err(reason)
    };
    if !work.good {
        return failed(&sa.failures.unauthenticated, Reason::Unauthenticated);
    }
    match sa.window.as_ref().map(|window| window.accept(work.number)) {
        None => *newest = Some(work.item.arrival.source),
        Some(Verdict::Fresh { advanced: true }) => *newest = Some(work.item.arrival.source),
        Some(Verdict::Fresh { advanced: false }) => {}
        Some(Verdict::TooOld) => return failed(&sa.failures.too_old, Reason::TooOld),
        Some(Verdict::Seen) => return failed(&sa.failures.replayed, Reason::Replayed),
    }
    let Inner { flow, is_fragment, .. } = lay_out(sa, work.item)?;
    Ok(Opened { sa, flow, is_fragment, number: work.number })
}

/// Has the SAs of a batch fetched into the cache, together and not one after the other.
fn fetch(sad: &Sad, items: &[OpenItem<'_, '_>]) {
    let mut last = None;
    for item in items {
        let spi = esp::read_header(item.frame.bytes()).map(|(spi, _)| spi);
        if last != spi
            && let Some(sa) = spi.and_then(|spi| sad.inbound(spi))
        {
            engine::prefetch(&**sa);
        }
        last = spi;
    }
}

/// Checks a packet before anything is computed: its SA, its lengths and its number. Returns the SA and the whole
/// number.
#[inline]
fn admitted<'t>(
    sad: &'t Sad,
    now: Time,
    last: &mut Option<(&'t Sa, Standing)>,
    item: &OpenItem<'_, '_>,
) -> Result<(&'t Sa, u64), Reason> {
    let packet = item.frame.bytes();
    let (spi, low) = esp::read_header(packet).ok_or(Reason::Malformed)?;
    // Packets of one SA come one after the other.
    let (sa, standing) = match last {
        Some((sa, standing)) if sa.spi == spi => (*sa, *standing),
        _ => {
            let sa: &'t Sa = sad.inbound(spi).ok_or(Reason::UnknownSpi)?;
            *last.insert((sa, sa.standing(now)))
        }
    };
    esp::enciphered_bytes(sa.suite, packet.len()).ok_or(Reason::Malformed)?;
    if standing == Standing::Hard {
        return Err(Reason::Expired);
    }
    let Some(window) = &sa.window else { return Ok((sa, u64::from(low))) };
    let number = if sa.extended {
        whole_number(window.top(), window.size(), low).ok_or(Reason::TooOld)
    } else {
        Ok(u64::from(low))
    };
    let checked = number.and_then(|number| match window.check(number) {
        Verdict::Fresh { .. } => Ok(number),
        Verdict::TooOld => Err(Reason::TooOld),
        Verdict::Seen => Err(Reason::Replayed),
    });
    let count = |reason: &Reason| match reason {
        Reason::Replayed => sa.failures.replayed.fetch_add(1, Ordering::Relaxed),
        _ => sa.failures.too_old.fetch_add(1, Ordering::Relaxed),
    };
    checked.map(|number| (sa, number)).inspect_err(|reason| {
        count(reason);
    })
}

/// Makes a packet of IP of a deciphered packet of ESP.
fn lay_out(sa: &Sa, item: &mut OpenItem<'_, '_>) -> Result<Inner, Reason> {
    let OpenItem { frame, arrival, headers, .. } = item;
    let icv_bytes = sa.suite.icv_bytes();
    frame.truncate(frame.len() - icv_bytes);
    frame.shrink_front(HEADER_BYTES + sa.suite.iv_bytes());
    let (payload, next_header) = esp::read_trailer(frame.bytes()).ok_or(Reason::Padding)?;
    frame.truncate(payload);
    if next_header == NO_NEXT_HEADER {
        return Err(Reason::Dummy);
    }
    let inner = match sa.mode {
        Mode::Tunnel => open_tunnel(sa, frame, arrival, next_header)?,
        Mode::Transport => open_transport(sa, frame, arrival, *headers, next_header)?,
    };
    if sa.selector.as_ref().is_some_and(|selector| !selector.matches(&inner.flow)) {
        return Err(Reason::Selector);
    }
    Ok(inner)
}

fn open_tunnel(sa: &Sa, frame: &mut Frame<'_>, arrival: &Arrival, next_header: u8) -> Result<Inner, Reason> {
    if ![Family::V4, Family::V6].iter().any(|family| family.next_header() == next_header) {
        return Err(Reason::NextHeader);
    }
    let inner = Inner::read(frame.bytes())?;
    if inner.flow.family().next_header() != next_header {
        return Err(Reason::Inner);
    }
    // Bytes behind the inner packet are TFC padding.
    frame.truncate(inner.bytes);
    let (dscp, ecn) = (sa.rules.dscp_in, sa.rules.ecn);
    let traffic_class = congestion::opened(inner.traffic_class, arrival.traffic_class, dscp, ecn);
    let traffic_class = traffic_class.ok_or(Reason::Congestion)?;
    if traffic_class != inner.traffic_class {
        inner::set_traffic_class(frame.bytes_mut(), traffic_class);
    }
    Ok(inner)
}

/// Puts headers of IP before the payload: those of the packet outside, without the fields that are about ESP.
fn open_transport(
    sa: &Sa,
    frame: &mut Frame<'_>,
    arrival: &Arrival,
    headers: usize,
    next_header: u8,
) -> Result<Inner, Reason> {
    let (source, destination) = (arrival.source.address, arrival.destination);
    let family = Family::of(source);
    if family != Family::of(destination) || family != sa.family() {
        return Err(Reason::Address);
    }
    if sa.in_udp {
        checksum::write_transport(source, destination, next_header, frame.bytes_mut());
    }
    if headers > 0 {
        let udp_bytes = if arrival.source.port > 0 { UDP_BYTES } else { 0 };
        frame.move_before(headers, udp_bytes + HEADER_BYTES + sa.suite.iv_bytes(), 0);
        // This cannot fail: the headers stood there, before headers of ESP that are gone.
        let _ = frame.grow_front(headers);
        inner::set_payload(frame.bytes_mut(), headers, next_header);
        return Inner::read(frame.bytes());
    }
    let (header_bytes, payload) = (family.header_bytes(), frame.len());
    let counted = payload + if family == Family::V4 { header_bytes } else { 0 };
    let Ok(counted) = u16::try_from(counted) else { return Err(Reason::TooLong) };
    if !frame.grow_front(header_bytes) {
        return Err(Reason::NoRoom);
    }
    let header = Outer {
        source: arrival.source,
        destination: Endpoint::new(destination, 0),
        in_udp: false,
        is_whole: false,
        traffic_class: arrival.traffic_class,
        hop_limit: arrival.hop_limit,
        dont_fragment: true,
        flow_label: 0,
    };
    outer::write_ip(&mut frame.bytes_mut()[..header_bytes], &header, next_header, counted);
    Inner::read(frame.bytes())
}
