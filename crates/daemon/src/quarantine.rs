//! Tenants whose requests cards die with, and how such tenants are confined.
//!
//! ```text
//!   none --a card died with its requests and others'--> apart --no death for a window--> none
//!   apart, none --cards died with its requests alone, `deaths` times within a window--> refused
//!   refused --its time is over--> apart, where one death alone is enough --no death for `longest_s`--> none
//! ```
//! A pass may hold requests of several tenants, and a dead card does not show whose request killed it. So a death in
//! such a pass counts against none of them: each tenant's requests run in passes of their own from then on, and the
//! next death is clearly one tenant's. Only such deaths count. So a tenant that kills cards can slow a neighbour down,
//! whose passes are less full for a while, but cannot have the neighbour refused.
//!
//! Only deaths that requests may have caused are reported here: the card crashed, a result failed its check, or it was
//! killed because it hung. Administrators are exempt ([`Present::add`]).

use crate::rows::RowValue;
use home::Quarantine as Rules;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use wire::bounds::{QUARANTINE_DEATHS_MAX, QUARANTINE_SPAN_MAX_S, TENANTS_MAX};
use wire::tenant::Confinement;

/// Whose requests a card held when it died.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Present {
    /// The tenants, each once.
    pub tenants: Vec<u32>,
    /// Whether there were other requests: administrators', or those of more tenants than the card's roster holds.
    pub others: bool,
}

impl Present {
    /// Adds a tenant whose requests the card held. One that is exempt, as administrators are, only counts as others.
    pub fn add(&mut self, tenant: u32, exempt: bool) {
        if exempt {
            self.others = true;
        } else if !self.tenants.contains(&tenant) {
            self.tenants.push(tenant);
        }
    }

    /// Whether all requests were of one tenant.
    pub fn is_one(&self) -> bool {
        self.tenants.len() == 1 && !self.others
    }
}

/// Record of a tenant that a card has died with.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Suspect {
    /// Deaths of cards that ran its requests alone and that count towards the next quarantine.
    recent: Vec<Instant>,
    /// Number of all deaths of cards that ran its requests alone.
    deaths: u32,
    /// Deaths of cards that ran its requests together with others'.
    shared: u32,
    /// Times that it was refused.
    quarantines: u32,
    /// When its present confinement began.
    since: Instant,
    /// Until when its requests are refused; `None` if they are not.
    refused_until: Option<Instant>,
    /// Until when its requests run apart, if no further card dies; later than the end of a refusal.
    apart_until: Instant,
}

/// Everything that is known of one tenant, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Number of the tenant.
    pub tenant: u32,
    /// The tenant's present confinement.
    pub confinement: Confinement,
    /// Deaths of cards that ran its requests alone.
    pub deaths: u32,
    /// Deaths of cards that ran its requests together with others'.
    pub shared: u32,
    /// Times that it was refused.
    pub quarantines: u32,
    /// When the present confinement began.
    pub since: Instant,
    /// When the present confinement ends if no further card dies.
    pub until: Instant,
}

/// A suspect as a later daemon reads it: times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspectRow {
    tenant: u32,
    recent_ms: Vec<u64>,
    deaths: u32,
    shared: u32,
    quarantines: u32,
    since_ms: u64,
    refused_until_ms: Option<u64>,
    apart_until_ms: u64,
}

impl RowValue for SuspectRow {
    const BYTES: usize = 256;
}

/// A moment by the monotonic clock and by the calendar.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// By the monotonic clock.
    pub at: Instant,
    /// By the calendar, in milliseconds since 1970.
    pub unix_ms: u64,
}

impl Moment {
    /// The calendar's time of an instant.
    pub fn unix_ms_of(&self, instant: Instant) -> u64 {
        let ahead = instant.saturating_duration_since(self.at).as_millis() as u64;
        let behind = self.at.saturating_duration_since(instant).as_millis() as u64;
        self.unix_ms.saturating_add(ahead).saturating_sub(behind)
    }

    /// The instant of a calendar time, at most twice the longest quarantine away: the calendar's clock may have been
    /// set.
    fn instant_of(&self, unix_ms: u64) -> Instant {
        let span = |ms: u64| Duration::from_millis(ms.min(2 * QUARANTINE_SPAN_MAX_S * 1_000));
        let ahead = self.at + span(unix_ms.saturating_sub(self.unix_ms));
        ahead.checked_sub(span(self.unix_ms.saturating_sub(unix_ms))).unwrap_or(self.at)
    }
}

/// The tenants that cards have died with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quarantine {
    suspects: BTreeMap<u32, Suspect>,
}

impl Quarantine {
    /// Records that a card died with these requests. Returns the tenants whose confinement changed.
    pub fn died(&mut self, present: &Present, now: Instant, rules: &Rules) -> Vec<u32> {
        if rules.deaths == 0 {
            return Vec::new();
        }
        let window = Duration::from_secs(rules.window_s);
        let mut changed = Vec::new();
        for tenant in &present.tenants {
            let before = self.confinement(*tenant, now);
            self.make_room(*tenant);
            let suspect = self.suspects.entry(*tenant).or_insert_with(|| Suspect::new(now));
            suspect.apart_until = suspect.apart_until.max(now + window);
            if present.is_one() {
                suspect.convict(now, rules);
            } else {
                suspect.shared = suspect.shared.saturating_add(1);
            }
            if self.confinement(*tenant, now) != before {
                changed.push(*tenant);
            }
        }
        changed
    }

    /// The present confinement of a tenant's requests.
    pub fn confinement(&self, tenant: u32, now: Instant) -> Confinement {
        match self.suspects.get(&tenant) {
            Some(suspect) if suspect.refused_until.is_some_and(|until| now < until) => Confinement::Refused,
            Some(suspect) if now < suspect.apart_until => Confinement::Apart,
            Some(_) | None => Confinement::None,
        }
    }

    /// When a confinement next changes by time alone; `None` if there is no confinement.
    pub fn due(&self) -> Option<Instant> {
        self.suspects.values().map(|suspect| suspect.refused_until.unwrap_or(suspect.apart_until)).min()
    }

    /// Applies the passing of time. Returns the tenants whose confinement changed.
    pub fn on_time(&mut self, now: Instant) -> Vec<u32> {
        let mut changed = Vec::new();
        self.suspects.retain(|tenant, suspect| {
            if suspect.refused_until.is_some_and(|until| until <= now) {
                suspect.refused_until = None;
                suspect.since = now;
                changed.push(*tenant);
            }
            let stays = suspect.refused_until.is_some() || now < suspect.apart_until;
            if !stays && changed.last() != Some(tenant) {
                changed.push(*tenant);
            }
            stays
        });
        changed
    }

    /// Forgets everything about a tenant, and returns whether anything was known.
    pub fn lift(&mut self, tenant: u32) -> bool {
        self.suspects.remove(&tenant).is_some()
    }

    /// Everything that is known of a tenant; `None` if no card died with its requests.
    pub fn known(&self, tenant: u32, now: Instant) -> Option<Known> {
        let suspect = self.suspects.get(&tenant)?;
        Some(Known {
            tenant,
            confinement: self.confinement(tenant, now),
            deaths: suspect.deaths,
            shared: suspect.shared,
            quarantines: suspect.quarantines,
            since: suspect.since,
            until: suspect.refused_until.unwrap_or(suspect.apart_until),
        })
    }

    /// Everything that is known of all tenants, refused tenants first.
    pub fn all(&self, now: Instant) -> Vec<Known> {
        let mut all: Vec<Known> =
            self.suspects.keys().filter_map(|tenant| self.known(*tenant, now)).collect();
        all.sort_by_key(|known| (known.confinement != Confinement::Refused, known.tenant));
        all
    }

    /// The rows from which a later daemon reads this quarantine.
    pub fn rows(&self, now: Moment) -> Vec<SuspectRow> {
        let row = |(tenant, suspect): (&u32, &Suspect)| SuspectRow {
            tenant: *tenant,
            recent_ms: suspect.recent.iter().map(|at| now.unix_ms_of(*at)).collect(),
            deaths: suspect.deaths,
            shared: suspect.shared,
            quarantines: suspect.quarantines,
            since_ms: now.unix_ms_of(suspect.since),
            refused_until_ms: suspect.refused_until.map(|until| now.unix_ms_of(until)),
            apart_until_ms: now.unix_ms_of(suspect.apart_until),
        };
        self.suspects.iter().map(row).collect()
    }

    /// The quarantine of an earlier daemon, from its rows.
    pub fn of_rows(rows: impl IntoIterator<Item = SuspectRow>, now: Moment) -> Self {
        let suspect = |row: SuspectRow| {
            let suspect = Suspect {
                recent: row.recent_ms.iter().map(|at| now.instant_of(*at)).collect(),
                deaths: row.deaths,
                shared: row.shared,
                quarantines: row.quarantines,
                since: now.instant_of(row.since_ms),
                refused_until: row.refused_until_ms.map(|until| now.instant_of(until)),
                apart_until: now.instant_of(row.apart_until_ms),
            };
            (row.tenant, suspect)
        };
        Self { suspects: rows.into_iter().take(TENANTS_MAX).map(suspect).collect() }
    }

    /// Makes room for this tenant if as many are remembered as a home may have. The tenant whose time ends first is
    /// forgotten, a refused one only if all are refused.
    fn make_room(&mut self, tenant: u32) {
        if self.suspects.contains_key(&tenant) || self.suspects.len() < TENANTS_MAX {
            return;
        }
        let first = self.suspects.iter().min_by_key(|(_, suspect)| {
            (suspect.refused_until.is_some(), suspect.refused_until.unwrap_or(suspect.apart_until))
        });
        if let Some(first) = first.map(|(tenant, _)| *tenant) {
            self.suspects.remove(&first);
        }
    }
}

impl Suspect {
    fn new(now: Instant) -> Self {
        let (recent, apart_until, refused_until) = (Vec::new(), now, None);
        Self { recent, deaths: 0, shared: 0, quarantines: 0, since: now, refused_until, apart_until }
    }

    /// Records that a card died with this tenant's requests alone.
    fn convict(&mut self, now: Instant, rules: &Rules) {
        let window = Duration::from_secs(rules.window_s);
        self.deaths = self.deaths.saturating_add(1);
        self.recent.retain(|at| now.saturating_duration_since(*at) < window);
        self.recent.truncate(QUARANTINE_DEATHS_MAX as usize);
        self.recent.push(now);
        // Another card may have died of requests that it took before it learnt of the refusal.
        let is_refused = self.refused_until.is_some_and(|until| now < until);
        let is_enough = self.quarantines > 0 || self.recent.len() >= rules.deaths as usize;
        if is_enough && !is_refused {
            let until = now + rules.span(self.quarantines);
            self.quarantines = self.quarantines.saturating_add(1);
            self.recent.clear();
            (self.since, self.refused_until) = (now, Some(until));
            self.apart_until = until + Duration::from_secs(rules.longest_s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Confinement::{Apart, Refused};

    const RULES: Rules = Rules { deaths: 3, window_s: 600, first_s: 60, longest_s: 300 };
    const HOSTILE: u32 = 5;
    const NEIGHBOUR: u32 = 6;

    fn seconds(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    fn with(tenants: &[u32]) -> Present {
        Present { tenants: tenants.into(), others: false }
    }

    #[test]
    fn three_deaths_alone_are_a_quarantine_and_each_further_one_doubles_it_up_to_the_longest() {
        let (mut quarantine, mut now) = (Quarantine::default(), Instant::now());
        for death in 0..3 {
            assert_ne!(quarantine.confinement(HOSTILE, now), Refused, "{death}");
            quarantine.died(&with(&[HOSTILE]), now, &RULES);
            now += seconds(10);
        }
        now -= seconds(10);
        for span in [60, 120, 240, 300, 300] {
            assert_eq!(quarantine.confinement(HOSTILE, now + seconds(span - 1)), Refused);
            assert_eq!(quarantine.due(), Some(now + seconds(span)));
            now += seconds(span);
            assert_eq!(quarantine.confinement(HOSTILE, now), Apart);
            assert_eq!((quarantine.on_time(now), quarantine.on_time(now)), (vec![HOSTILE], vec![]));
            // Once is enough for who was in quarantine.
            assert_eq!(quarantine.died(&with(&[HOSTILE]), now, &RULES), [HOSTILE]);
        }
        assert_eq!(quarantine.known(HOSTILE, now).unwrap().quarantines, 6);
        // After as long as the longest without a death all is forgotten.
        now += seconds(300);
        quarantine.on_time(now);
        assert_eq!(quarantine.confinement(HOSTILE, now), Apart);
        now += seconds(300);
        assert_eq!(quarantine.on_time(now), [HOSTILE]);
        assert_eq!(quarantine, Quarantine::default());
    }

    #[test]
    fn deaths_that_are_far_apart_are_no_quarantine() {
        let (mut quarantine, mut now) = (Quarantine::default(), Instant::now());
        for _ in 0..20 {
            quarantine.died(&with(&[HOSTILE]), now, &RULES);
            assert_eq!(quarantine.confinement(HOSTILE, now), Apart);
            now += seconds(301);
        }
        let (mut quarantine, mut now) = (Quarantine::default(), Instant::now());
        for _ in 0..2 {
            quarantine.died(&with(&[HOSTILE]), now, &RULES);
            now += seconds(299);
        }
        assert_eq!(quarantine.died(&with(&[HOSTILE]), now, &RULES), [HOSTILE]);
    }

    #[test]
    fn whoever_was_only_there_beside_others_is_kept_apart_and_never_refused() {
        let (mut quarantine, mut now) = (Quarantine::default(), Instant::now());
        assert_eq!(quarantine.died(&with(&[HOSTILE, NEIGHBOUR]), now, &RULES), [HOSTILE, NEIGHBOUR]);
        for _ in 0..1_000 {
            now += seconds(1);
            quarantine.died(&with(&[HOSTILE, NEIGHBOUR]), now, &RULES);
            assert_eq!([HOSTILE, NEIGHBOUR].map(|who| quarantine.confinement(who, now)), [Apart; 2]);
        }
        let known = quarantine.known(NEIGHBOUR, now).unwrap();
        assert_eq!((known.deaths, known.shared, known.until), (0, 1_001, now + seconds(600)));
        // Nothing for a window, and all is as before.
        assert_eq!(quarantine.on_time(now + seconds(599)), []);
        assert_eq!(quarantine.on_time(now + seconds(600)), [HOSTILE, NEIGHBOUR]);
    }

    #[test]
    fn a_death_in_company_of_administrators_or_of_more_than_is_known_is_nobody_s() {
        let (mut quarantine, now) = (Quarantine::default(), Instant::now());
        for _ in 0..10 {
            let mut present = Present::default();
            present.add(HOSTILE, false);
            present.add(0, true);
            quarantine.died(&present, now, &RULES);
            assert_eq!(quarantine.confinement(HOSTILE, now), Apart);
        }
        let mut only_administrators = Present::default();
        only_administrators.add(0, true);
        assert_eq!(quarantine.died(&only_administrators, now, &RULES), []);
        assert_eq!(quarantine.known(0, now), None);
    }

    #[test]
    fn lifting_forgets_and_zero_deaths_are_never_a_quarantine() {
        let (mut quarantine, now) = (Quarantine::default(), Instant::now());
        (0..3).for_each(|_| drop(quarantine.died(&with(&[HOSTILE]), now, &RULES)));
        assert_eq!(quarantine.confinement(HOSTILE, now), Refused);
        assert!(quarantine.lift(HOSTILE) && !quarantine.lift(HOSTILE));
        assert_eq!(quarantine.confinement(HOSTILE, now), Confinement::None);
        let never = Rules { deaths: 0, ..RULES };
        (0..9).for_each(|_| assert!(quarantine.died(&with(&[HOSTILE]), now, &never).is_empty()));
        assert_eq!(quarantine.due(), None);
    }

    #[test]
    fn cards_that_die_together_are_one_quarantine() {
        let (mut quarantine, now) = (Quarantine::default(), Instant::now());
        (0..64).for_each(|_| drop(quarantine.died(&with(&[HOSTILE]), now, &RULES)));
        let known = quarantine.known(HOSTILE, now).unwrap();
        assert_eq!((known.quarantines, known.until, known.deaths), (1, now + seconds(60), 64));
    }

    #[test]
    fn as_many_are_remembered_as_there_may_be_tenants() {
        let (mut quarantine, now) = (Quarantine::default(), Instant::now());
        (0..3).for_each(|_| drop(quarantine.died(&with(&[HOSTILE]), now, &RULES)));
        for tenant in 100..100 + 2 * TENANTS_MAX as u32 {
            quarantine.died(&with(&[tenant, NEIGHBOUR]), now + seconds(u64::from(tenant)), &RULES);
        }
        assert_eq!(quarantine.all(now).len(), TENANTS_MAX);
        assert_eq!(quarantine.all(now)[0].tenant, HOSTILE);
    }

    #[test]
    fn a_later_daemon_knows_what_the_earlier_one_did_whatever_its_clock() {
        let (mut quarantine, now) = (Quarantine::default(), Instant::now());
        quarantine.died(&with(&[HOSTILE, NEIGHBOUR]), now, &RULES);
        (0..4).for_each(|_| drop(quarantine.died(&with(&[HOSTILE]), now, &RULES)));
        let moment = Moment { at: now, unix_ms: 1_800_000_000_000 };
        let rows = quarantine.rows(moment);
        for row in &rows {
            assert!(postcard::to_stdvec(row).unwrap().len() <= SuspectRow::BYTES - 2);
        }
        assert_eq!(Quarantine::of_rows(rows.clone(), moment), quarantine);
        let later = Moment { at: now + seconds(59), unix_ms: moment.unix_ms + 59_000 };
        let read = Quarantine::of_rows(rows.clone(), later);
        assert_eq!(read.confinement(HOSTILE, later.at), Refused);
        assert_eq!(read.confinement(HOSTILE, later.at + seconds(1)), Apart);
        for unix_ms in [0, u64::MAX] {
            let read = Quarantine::of_rows(rows.clone(), Moment { at: now, unix_ms });
            let most = now + seconds(2 * QUARANTINE_SPAN_MAX_S);
            assert!(read.due().is_none_or(|due| due <= most));
        }
        let most = SuspectRow {
            tenant: u32::MAX,
            recent_ms: vec![u64::MAX; QUARANTINE_DEATHS_MAX as usize + 1],
            deaths: u32::MAX,
            shared: u32::MAX,
            quarantines: u32::MAX,
            since_ms: u64::MAX,
            refused_until_ms: Some(u64::MAX),
            apart_until_ms: u64::MAX,
        };
        assert!(postcard::to_stdvec(&most).unwrap().len() <= SuspectRow::BYTES - 2);
    }
}
