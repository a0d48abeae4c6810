//! How long an SA lives: by time, bytes and packets, softly (rekey) and hard (end).

use crate::time::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// One end of a lifetime, soft or hard; a field is `None` if there is no such limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limit {
    /// Bytes of packets before they are sealed, or after they are opened.
    pub bytes: Option<u64>,
    /// Number of packets.
    pub packets: Option<u64>,
    /// Seconds since the SA was added.
    pub seconds: Option<u64>,
    /// Seconds since its first packet.
    pub seconds_used: Option<u64>,
}

/// The soft and the hard end of an SA's lifetime.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// The end at which rekeying is asked for.
    pub soft: Limit,
    /// The end from which on packets are dropped.
    pub hard: Limit,
}

impl Limits {
    /// Whether a soft limit lies beyond its hard one.
    pub(crate) fn contradict(&self) -> bool {
        let behind = |soft: Option<u64>, hard: Option<u64>| matches!((soft, hard), (Some(soft), Some(hard)) if soft > hard);
        let (soft, hard) = (&self.soft, &self.hard);
        behind(soft.bytes, hard.bytes)
            || behind(soft.packets, hard.packets)
            || behind(soft.seconds, hard.seconds)
            || behind(soft.seconds_used, hard.seconds_used)
    }

    /// These limits with at most `packets` packets, and rekeying asked for at three quarters of them.
    pub(crate) fn with_packets_max(mut self, packets: u64) -> Limits {
        let least = |given: Option<u64>, most: u64| Some(given.map_or(most, |given| given.min(most)));
        self.hard.packets = least(self.hard.packets, packets);
        self.soft.packets = least(self.soft.packets, packets / 4 * 3);
        self
    }
}

/// Where an SA stands within its limits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Standing {
    /// Within all limits.
    Good,
    /// Past a soft limit.
    Soft,
    /// Past a hard limit: the SA seals and opens nothing more.
    Hard,
}

/// Limits that their owner may change while threads read them: each value is read by itself, `u64::MAX` for none.
#[derive(Debug)]
pub(crate) struct SharedLimits([AtomicU64; 8]);

impl SharedLimits {
    pub(crate) fn new(limits: &Limits) -> SharedLimits {
        let shared = SharedLimits([const { AtomicU64::new(u64::MAX) }; 8]);
        shared.set(limits);
        shared
    }

    pub(crate) fn set(&self, limits: &Limits) {
        let Limits { soft, hard } = limits;
        let values =
            [soft, hard].map(|limit| [limit.bytes, limit.packets, limit.seconds, limit.seconds_used]);
        for (to, value) in self.0.iter().zip(values.as_flattened()) {
            to.store(value.unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> Limits {
        let [sb, sp, ss, su, hb, hp, hs, hu] = &self.0;
        let read = |value: &AtomicU64| match value.load(Ordering::Relaxed) {
            u64::MAX => None,
            value => Some(value),
        };
        let limit = |bytes, packets, seconds, seconds_used| Limit {
            bytes: read(bytes),
            packets: read(packets),
            seconds: read(seconds),
            seconds_used: read(seconds_used),
        };
        Limits { soft: limit(sb, sp, ss, su), hard: limit(hb, hp, hs, hu) }
    }
}

/// Nanoseconds between two updates of the time of the last packet: threads write it no more often.
const LAST_STEP_NANOS: u64 = 250_000_000;

/// An SA's use so far, and which of its limits were reported. Threads write it: so it lies apart from fields that they
/// only read.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Usage {
    bytes: AtomicU64,
    packets: AtomicU64,
    added: Time,
    /// Time of the first packet in nanoseconds, plus 1; 0 before it.
    first: AtomicU64,
    /// Time of the last packet in the same form, to a quarter of a second.
    last: AtomicU64,
    told: [AtomicBool; 2],
}

/// The use of an SA before some packets were charged, and the hard limit that they may run into.
pub(crate) struct Charged {
    bytes: u64,
    packets: u64,
    limit: Limit,
}

impl Usage {
    pub(crate) fn new(added: Time) -> Usage {
        Usage {
            bytes: AtomicU64::new(0),
            packets: AtomicU64::new(0),
            added,
            first: AtomicU64::new(0),
            last: AtomicU64::new(0),
            told: [const { AtomicBool::new(false) }; 2],
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    pub(crate) fn added(&self) -> Time {
        self.added
    }

    pub(crate) fn first(&self) -> Option<Time> {
        self.first.load(Ordering::Relaxed).checked_sub(1).map(Time::of_nanos)
    }

    pub(crate) fn last(&self) -> Option<Time> {
        self.last.load(Ordering::Relaxed).checked_sub(1).map(Time::of_nanos)
    }

    /// Sets the use that the SA had elsewhere before.
    pub(crate) fn set(&self, bytes: u64, packets: u64, first: Option<Time>) {
        self.bytes.store(bytes, Ordering::Relaxed);
        self.packets.store(packets, Ordering::Relaxed);
        let first = first.map_or(0, |first| first.nanos().saturating_add(1));
        self.first.store(first, Ordering::Relaxed);
    }

    /// Has all limits reported again, since they have changed.
    pub(crate) fn untell_all(&self) {
        self.untell(Standing::Soft);
        self.untell(Standing::Hard);
    }

    /// Charges packets of one thread's batch together.
    pub(crate) fn charge(&self, limits: &Limits, now: Time, packets: u64, bytes: u64) -> Charged {
        let at = now.nanos().saturating_add(1);
        if self.first.load(Ordering::Relaxed) == 0 {
            // Another thread's time may stay.
            let _ = self.first.compare_exchange(0, at, Ordering::Relaxed, Ordering::Relaxed);
        }
        if at.saturating_sub(self.last.load(Ordering::Relaxed)) >= LAST_STEP_NANOS {
            self.last.store(at, Ordering::Relaxed);
        }
        Charged {
            bytes: self.bytes.fetch_add(bytes, Ordering::Relaxed),
            packets: self.packets.fetch_add(packets, Ordering::Relaxed),
            limit: limits.hard,
        }
    }

    pub(crate) fn standing(&self, limits: &Limits, now: Time) -> Standing {
        if self.is_past(&limits.hard, now) {
            Standing::Hard
        } else if self.is_past(&limits.soft, now) {
            Standing::Soft
        } else {
            Standing::Good
        }
    }

    fn is_past(&self, limit: &Limit, now: Time) -> bool {
        limit.bytes.is_some_and(|bytes| self.bytes() >= bytes)
            || limit.packets.is_some_and(|packets| self.packets() >= packets)
            || self.due(limit).is_some_and(|due| now >= due)
    }

    /// When a limit by time is reached; `None` if there is none, or if that is not known yet.
    fn due(&self, limit: &Limit) -> Option<Time> {
        let added = limit.seconds.map(|seconds| self.added.after_seconds(seconds));
        let used = self.first().zip(limit.seconds_used).map(|(first, seconds)| first.after_seconds(seconds));
        added.into_iter().chain(used).min()
    }

    /// The next time at which a limit by time is reached that was not reported.
    pub(crate) fn next_due(&self, limits: &Limits) -> Option<Time> {
        let soft = (!self.is_told(Standing::Soft)).then(|| self.due(&limits.soft)).flatten();
        let hard = (!self.is_told(Standing::Hard)).then(|| self.due(&limits.hard)).flatten();
        soft.into_iter().chain(hard).min()
    }

    pub(crate) fn is_told(&self, standing: Standing) -> bool {
        self.flag(standing).is_none_or(|flag| flag.load(Ordering::Relaxed))
    }

    /// Whether this thread is the one that reports the limit, which counts as reported from then on.
    pub(crate) fn tell(&self, standing: Standing) -> bool {
        self.flag(standing).is_some_and(|flag| !flag.swap(true, Ordering::Relaxed))
    }

    /// Has the limit reported again, since it could not be reported after all.
    pub(crate) fn untell(&self, standing: Standing) {
        if let Some(flag) = self.flag(standing) {
            flag.store(false, Ordering::Relaxed);
        }
    }

    fn flag(&self, standing: Standing) -> Option<&AtomicBool> {
        match standing {
            Standing::Good => None,
            Standing::Soft => Some(&self.told[0]),
            Standing::Hard => Some(&self.told[1]),
        }
    }
}

impl Charged {
    /// Takes a packet from what was charged; false if the hard limit was reached before it.
    pub(crate) fn take(&mut self, bytes: u64) -> bool {
        let within = self.limit.bytes.is_none_or(|limit| self.bytes < limit)
            && self.limit.packets.is_none_or(|limit| self.packets < limit);
        self.bytes = self.bytes.saturating_add(bytes);
        self.packets = self.packets.saturating_add(1);
        within
    }
}
