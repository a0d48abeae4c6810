//! One SA as the interface holds it: the request for it, with its keys, and the SA of `ipsec` that was made of it.

use crate::algorithms::Algorithms;
use crate::fields::{Clock, Current, Fields, RawLifetime, RawSelector, address_field, family_number};
use crate::outbox::{Reply, Writer};
use crate::refusal::Refusal;
use crate::replay::Replay;
use crate::view::View;
use crate::wire::{
    ADDRESS_BYTES, ENCAP_BYTES, REPLAY_BYTES, aevent, attribute, flag, message, mode, protocol, sa_id,
    sa_info,
};
use ipsec::{Direction, Family, FragmentRule, Mode, Sa, SaParameters, Time, Verdict, Window};
use ipsec::{DscpRule, Endpoint, WINDOW_MAX, WINDOW_MIN};
use std::net::IpAddr;
use std::sync::Arc;

/// Encapsulation in UDP: both ports, and the original address, which is only given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Encap {
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    pub(crate) raw: [u8; ENCAP_BYTES],
}

impl Encap {
    pub(crate) fn read(value: View<'_>) -> Encap {
        Encap { source_port: value.port(2), destination_port: value.port(4), raw: value.array(0) }
    }
}

/// The fields of a request for an SA.
pub(crate) struct Given {
    pub(crate) selector: RawSelector,
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) spi: u32,
    pub(crate) lifetime: RawLifetime,
    pub(crate) sequence: u32,
    pub(crate) request: u32,
    pub(crate) mode: u8,
    /// Size of a window in the plain form, in numbers.
    pub(crate) window: u8,
    pub(crate) flags: u8,
    pub(crate) extra_flags: u32,
    pub(crate) algorithms: Algorithms,
    pub(crate) encap: Option<Encap>,
    pub(crate) tfc_bytes: u32,
    pub(crate) care_of: Option<[u8; ADDRESS_BYTES]>,
    pub(crate) replay: Replay,
    pub(crate) replay_threshold: u32,
    pub(crate) timer_threshold: u32,
    pub(crate) mapping_threshold: u32,
    /// XFRMA_SA_DIR, if the request had it.
    pub(crate) said_direction: Option<u8>,
}

/// The kernel's `net.core.xfrm_aevent_rseqth`; [`TIMER_THRESHOLD`] is its `xfrm_aevent_etime`.
pub(crate) const REPLAY_THRESHOLD: u32 = 2;
pub(crate) const TIMER_THRESHOLD: u32 = 10;

impl Given {
    /// The fields of an SA that is being negotiated: those by which it is known, and nothing else.
    pub(crate) fn larval(source: IpAddr, destination: IpAddr, mode: u8, request: u32) -> Given {
        Given {
            selector: RawSelector::of_ends(source, destination),
            source,
            destination,
            spi: 0,
            lifetime: RawLifetime::ending_after(crate::LARVAL_SECONDS),
            sequence: 0,
            request,
            mode,
            window: 0,
            flags: 0,
            extra_flags: 0,
            algorithms: Algorithms::default(),
            encap: None,
            tfc_bytes: 0,
            care_of: None,
            replay: Replay::default(),
            replay_threshold: REPLAY_THRESHOLD,
            timer_threshold: TIMER_THRESHOLD,
            mapping_threshold: 0,
            said_direction: None,
        }
    }

    pub(crate) fn family(&self) -> Family {
        Family::of(self.destination)
    }

    fn ipsec_mode(&self) -> Mode {
        if self.mode == mode::TUNNEL { Mode::Tunnel } else { Mode::Transport }
    }

    /// Size of the window in numbers: of the extended form if the request has it, else of the plain one.
    fn window(&self) -> u32 {
        let asked = self.replay.extended_form().map_or(u32::from(self.window), |form| form.window);
        if asked == 0 { 0 } else { asked.clamp(WINDOW_MIN, WINDOW_MAX) }
    }

    /// Makes the SA. `number` is the last number used, or the highest taken; the window also gets the numbers before it
    /// that were taken.
    pub(crate) fn make(
        &self,
        engine: &engine::Engine,
        direction: Direction,
        weak_suites: bool,
        number: u64,
        added: Time,
    ) -> Result<Arc<Sa>, Refusal> {
        let suite = self.algorithms.suite()?;
        let (source_port, destination_port) =
            self.encap.map_or((0, 0), |encap| (encap.source_port, encap.destination_port));
        let parameters = SaParameters {
            spi: self.spi,
            direction,
            mode: self.ipsec_mode(),
            suite,
            keys: self.algorithms.keys(),
            source: Endpoint::new(self.source, source_port),
            destination: Endpoint::new(self.destination, destination_port),
            in_udp: self.encap.is_some(),
            extended: self.flags & flag::ESN != 0,
            window: self.window(),
            limits: self.lifetime.limits(),
            selector: self.selector.of_sa()?,
            request: self.request,
            dscp: if self.extra_flags & flag::DONT_ENCAP_DSCP != 0 {
                DscpRule::Set(0)
            } else {
                DscpRule::Copy
            },
            dscp_in: self.flags & flag::DECAP_DSCP != 0,
            ecn: self.flags & flag::NO_ECN == 0,
            fragments: match self.flags & flag::NO_PMTU_DISCOVERY {
                0 => FragmentRule::Copy,
                _ => FragmentRule::Always,
            },
            tfc_bytes: u16::try_from(self.tfc_bytes).unwrap_or(u16::MAX),
            number,
            added,
        };
        let sa = Sa::new(engine, &parameters, weak_suites)?;
        if let Some(window) = sa.window() {
            self.replay.taken().for_each(|number| {
                window.accept(number);
            });
        }
        Ok(Arc::new(sa))
    }

    /// The number that the replay state gives an SA of this direction.
    pub(crate) fn number(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Out => self.replay.out_number(),
            Direction::In => self.replay.in_number(),
        }
    }
}

/// The stage of an SA.
pub(crate) enum Stage {
    /// Being negotiated, until this time: its SPI, if it has one, is reserved.
    Larval(Time),
    /// In use.
    Full(Arc<Sa>),
}

/// One SA of the interface.
pub(crate) struct XfrmState {
    pub(crate) given: Given,
    pub(crate) stage: Stage,
    /// When it was added, in seconds of the wall clock.
    pub(crate) added: u64,
}

impl XfrmState {
    pub(crate) fn sa(&self) -> Option<&Arc<Sa>> {
        match &self.stage {
            Stage::Full(sa) => Some(sa),
            Stage::Larval(_) => None,
        }
    }

    pub(crate) fn is_larval(&self) -> bool {
        self.sa().is_none()
    }

    pub(crate) fn direction(&self) -> Option<Direction> {
        self.sa().map(|sa| sa.direction())
    }

    /// Bytes, packets and times of the SA so far.
    pub(crate) fn current(&self, clock: Clock) -> Current {
        let Some(figures) = self.sa().map(|sa| sa.figures()) else {
            return Current { added: self.added, ..Current::default() };
        };
        Current {
            bytes: figures.bytes,
            packets: figures.packets,
            added: self.added,
            used: figures.first.map_or(0, |first| clock.wall_of(first)),
        }
    }

    /// The SA's `struct xfrm_usersa_info`.
    pub(crate) fn info(&self, clock: Clock) -> [u8; sa_info::BYTES] {
        let given = &self.given;
        let mut fields = Fields::new();
        fields.put(sa_info::SELECTOR, &given.selector.0);
        fields.put_address(sa_info::DESTINATION, given.destination);
        fields.put_spi(sa_info::SPI, given.spi);
        fields.put(sa_info::PROTOCOL, &[protocol::ESP]);
        fields.put_address(sa_info::SOURCE, given.source);
        fields.put(sa_info::LIFETIME, &given.lifetime.0);
        fields.put(sa_info::CURRENT, &self.current(clock).field());
        if let Some(figures) = self.sa().map(|sa| sa.figures()) {
            let counts = [figures.too_old, figures.replayed, figures.unauthenticated];
            for (at, count) in counts.into_iter().enumerate() {
                fields.put_u32(sa_info::STATS + 4 * at, u32::try_from(count).unwrap_or(u32::MAX));
            }
        }
        fields.put_u32(sa_info::SEQUENCE, given.sequence);
        fields.put_u32(sa_info::REQUEST, given.request);
        fields.put_u16(sa_info::FAMILY, family_number(given.family()));
        fields.put(sa_info::MODE, &[given.mode, given.window, given.flags]);
        fields.0
    }

    /// The SA's `struct xfrm_usersa_id`.
    pub(crate) fn id(&self) -> [u8; sa_id::BYTES] {
        sa_id_of(self.given.destination, self.given.spi)
    }

    /// Writes the attributes that stand behind `struct xfrm_usersa_info`, in the kernel's order; with keys.
    pub(crate) fn write_attributes(&self, writer: &mut Writer, clock: Clock) {
        let given = &self.given;
        if given.extra_flags != 0 {
            writer.attribute_u32(attribute::SA_EXTRA_FLAGS, given.extra_flags);
        }
        if let Some(care_of) = &given.care_of {
            writer.attribute(attribute::COADDR, &[care_of]);
        }
        if let Some(last) = self.sa().and_then(|sa| sa.figures().last) {
            writer.attribute(attribute::LASTUSED, &[&clock.wall_of(last).to_ne_bytes()]);
        }
        given.algorithms.write(writer);
        if let Some(encap) = &given.encap {
            writer.attribute(attribute::ENCAP, &[&encap.raw]);
        }
        if given.tfc_bytes != 0 {
            writer.attribute_u32(attribute::TFCPAD, given.tfc_bytes);
        }
        self.write_replay(writer);
        if given.mapping_threshold != 0 {
            writer.attribute_u32(attribute::MTIMER_THRESH, given.mapping_threshold);
        }
        if let Some(direction) = given.said_direction {
            writer.attribute(attribute::SA_DIR, &[&[direction]]);
        }
    }

    /// Writes its numbers and window, in the form that it has.
    pub(crate) fn write_replay(&self, writer: &mut Writer) {
        let replay = self.replay();
        match replay.extended_form() {
            Some(form) => {
                let words: Vec<u8> = form.words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                writer.attribute(attribute::REPLAY_ESN_VAL, &[&form.head(), &words]);
            }
            None => {
                let field: [u8; REPLAY_BYTES] = replay.plain_form();
                writer.attribute(attribute::REPLAY_VAL, &[&field]);
            }
        }
    }

    /// The SA's sequence numbers and window as they are now.
    pub(crate) fn replay(&self) -> Replay {
        let Some(sa) = self.sa() else { return self.given.replay.clone() };
        let number = sa.figures().sequence;
        match (sa.direction(), sa.window()) {
            (Direction::Out, _) => self.given.replay.with_out_number(number),
            (Direction::In, Some(window)) => {
                self.given.replay.with_window(number, |number| is_taken(window, number))
            }
            (Direction::In, None) => self.given.replay.clone(),
        }
    }

    /// Writes a message of NEWSA, UPDSA and the like.
    pub(crate) fn write(&self, writer: &mut Writer, kind: u16, reply: Reply, clock: Clock) {
        writer.begin(kind, reply, &self.info(clock));
        self.write_attributes(writer, clock);
        writer.end();
    }

    /// Writes the message that it was deleted.
    pub(crate) fn write_deleted(&self, writer: &mut Writer, reply: Reply, clock: Clock) {
        writer.begin(message::DELSA, reply, &self.id());
        writer.attribute(attribute::SA, &[&self.info(clock)]);
        self.write_attributes(writer, clock);
        writer.end();
    }

    /// Writes a message of NEWAE.
    pub(crate) fn write_aevent(&self, writer: &mut Writer, reply: Reply, flags: u32, clock: Clock) {
        let mut fields = Fields::<{ aevent::BYTES }>::new();
        fields.put(0, &self.id());
        fields.put_address(aevent::SOURCE, self.given.source);
        fields.put_u32(aevent::FLAGS, flags);
        fields.put_u32(aevent::REQUEST, self.given.request);
        writer.begin(message::NEWAE, reply, &fields.0);
        self.write_replay(writer);
        writer.attribute(attribute::LTIME_VAL, &[&self.current(clock).field()]);
        if flags & aevent::REPLAY_THRESHOLD != 0 {
            writer.attribute_u32(attribute::REPLAY_THRESH, self.given.replay_threshold);
        }
        if flags & aevent::TIMER_THRESHOLD != 0 {
            writer.attribute_u32(attribute::ETIMER_THRESH, self.given.timer_threshold);
        }
        writer.end();
    }
}

fn is_taken(window: &Window, number: u64) -> bool {
    window.check(number) == Verdict::Seen
}

/// `struct xfrm_usersa_id` of an SA.
pub(crate) fn sa_id_of(destination: IpAddr, spi: u32) -> [u8; sa_id::BYTES] {
    let mut fields = Fields::new();
    fields.put(sa_id::DESTINATION, &address_field(destination));
    fields.put_spi(sa_id::SPI, spi);
    fields.put_u16(sa_id::FAMILY, family_number(Family::of(destination)));
    fields.put(sa_id::PROTOCOL, &[protocol::ESP]);
    fields.0
}
