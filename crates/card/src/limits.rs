//! Limits of tenants: in flight on this card, in flight over all cards, and each second over all cards.
//!
//! A request over a limit is not refused: it stays in its slot until it may be taken. Limits belong to a
//! tenant, not to its queues. Cards keep those over all cards together, through the
//! [`CardAccounts`]; if a tenant has none, that memory is not touched.
//!
//! What ends the waiting, and so when the card looks again:
//!
//! | limit | ends by | looks again |
//! |---|---|---|
//! | in flight on this card | an answer of this card | after it |
//! | in flight over all cards | an answer of any card | after its own; else each [`LOOK_NS_MIN`] to [`LOOK_NS_MAX`] |
//! | each second | time | at that time |
//!
//! Cards that hold requests of a tenant back publish this in the accounts. If other cards do, a card that has answered
//! takes no more than its share of the limit at once, and more only after the others had time to look; otherwise the
//! card that answers first would take every place each time.

use link::{CardAccounts, ns_to_tsc};
use wire::tenant::Limits;

/// Burst of a limited rate: besides the first request, as many may come at once as the rate allows in this time, in
/// nanoseconds.
pub const BURST_NS: u64 = 10_000_000;
/// Shortest time between two looks of a card that waits for answers of other cards, in nanoseconds.
pub const LOOK_NS_MIN: u64 = 50_000;
/// Longest time between two such looks, in nanoseconds.
pub const LOOK_NS_MAX: u64 = 2_000_000;
/// A waiting card looks again after this part of a pass; looks in vain double that time up to [`IN_VAIN_MAX`] times.
const LOOK_SHARE: u64 = 8;
const IN_VAIN_MAX: u32 = 2;

/// The limits of one tenant, and what it has in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    limits: Limits,
    account: u32,
    is_limited: bool,
    in_flight: u32,
    /// Time before which no request is taken.
    not_before: u64,
    /// Whether `not_before` ends early when an answer is given.
    until_answer: bool,
    /// Number of looks at the accounts in a row that found the limit reached.
    in_vain: u32,
    /// Time before which no more than a share of the limit is taken, if other cards hold requests back.
    yields_until: u64,
    /// Whether the limit over all cards held back the last request that was to be taken.
    is_held: bool,
    /// Time-stamp counts between two requests of the rate; 0 without a rate.
    interval: u64,
    /// Number of the sweep that `room` belongs to.
    sweep: u64,
    /// Number of requests that a batch may still take.
    room: u32,
    /// Whether that sweep found more requests than `room`.
    pushes: bool,
}

/// The limits of all tenants that have a queue on the card, by their index in [`crate::turns::Turns`].
pub struct Limiter {
    accounts: CardAccounts,
    members: Vec<Member>,
    sweep: u64,
    /// The earliest time at which requests that the last sweep held back may be taken.
    wake_at: u64,
    /// Whether a request of a limited tenant was answered since the last sweep.
    has_freed: bool,
    second: u64,
    burst: u64,
    look: u64,
    look_min: u64,
    look_max: u64,
}

impl Limiter {
    /// A limiter without tenants.
    pub fn new(accounts: CardAccounts) -> Self {
        Self {
            accounts,
            members: Vec::new(),
            sweep: 0,
            has_freed: false,
            wake_at: u64::MAX,
            second: ns_to_tsc(1_000_000_000),
            burst: ns_to_tsc(BURST_NS),
            look: ns_to_tsc(LOOK_NS_MIN),
            look_min: ns_to_tsc(LOOK_NS_MIN),
            look_max: ns_to_tsc(LOOK_NS_MAX) >> IN_VAIN_MAX,
        }
    }

    /// Sets the limits of the tenant at this index; its requests in flight count on.
    pub fn set(&mut self, index: usize, account: u32, limits: Limits) {
        if index >= self.members.len() {
            self.members.resize(index + 1, Member::default());
        }
        let before = self.members[index];
        if before.limits.in_flight_max != 0 {
            self.accounts.leave(before.account, before.in_flight);
            self.accounts.set_waiting(before.account, false);
        }
        if limits.in_flight_max != 0 {
            self.accounts.add(account, before.in_flight);
        }
        self.members[index] = Member {
            limits,
            account,
            is_limited: limits.in_flight_max != 0
                || limits.in_flight_per_card_max != 0
                || limits.per_second_max != 0,
            in_flight: before.in_flight,
            interval: self.second.checked_div(u64::from(limits.per_second_max)).unwrap_or(0),
            ..Member::default()
        };
    }

    /// Forgets the tenant at this index, which has no queue any more.
    pub fn forget(&mut self, index: usize) {
        if let Some(member) = self.members.get(index).copied() {
            self.set(index, member.account, Limits::default());
            self.members[index] = Member::default();
        }
    }

    /// Begins a sweep over all queues.
    pub fn begin_sweep(&mut self) {
        self.sweep += 1;
        (self.wake_at, self.has_freed) = (u64::MAX, false);
    }

    /// How many of `waiting` requests in a queue of the tenant a batch may take, as far as that is known without the
    /// other cards. `now` is called only if it matters.
    #[inline]
    pub fn room(&mut self, index: usize, waiting: u32, now: impl FnOnce() -> u64) -> u32 {
        match self.members.get_mut(index) {
            Some(member) if member.is_limited => {
                if member.sweep != self.sweep {
                    member.begin(self.sweep, &self.accounts, self.burst, now);
                }
                let (room, wake_at) = member.room(waiting);
                self.wake_at = self.wake_at.min(wake_at);
                room
            }
            _ => waiting,
        }
    }

    /// Whether the last sweep that found work of the tenant at this index found more of it than its limits let
    /// through.
    #[inline]
    pub fn pushes(&self, index: usize) -> bool {
        self.members.get(index).is_some_and(|member| member.pushes)
    }

    /// When requests that the last sweep held back may be taken, if time alone decides that; 0, for at once, if a
    /// request of a limited tenant was answered since.
    pub fn wake_at(&self) -> u64 {
        if self.has_freed { 0 } else { self.wake_at }
    }

    /// Counts a request of the tenant as in flight at the time `now`; `false` if it must wait.
    #[inline]
    pub fn enter(&mut self, index: usize, now: u64) -> bool {
        let Some(member) = self.members.get_mut(index) else { return true };
        if member.is_limited && !Self::enter_limited(member, &mut self.accounts, self.look, self.burst, now) {
            return false;
        }
        member.in_flight += 1;
        true
    }

    fn enter_limited(
        member: &mut Member,
        accounts: &mut CardAccounts,
        look: u64,
        burst: u64,
        now: u64,
    ) -> bool {
        let Limits { in_flight_max, in_flight_per_card_max, .. } = member.limits;
        if in_flight_per_card_max != 0 && member.in_flight >= in_flight_per_card_max {
            return false;
        }
        if in_flight_max != 0 {
            let yields = now < member.yields_until
                && member.in_flight >= accounts.share(member.account, in_flight_max);
            if yields || !accounts.enter(member.account, in_flight_max) {
                accounts.set_waiting(member.account, true);
                (member.is_held, member.until_answer) = (true, true);
                if yields {
                    member.not_before = member.yields_until;
                } else {
                    member.not_before = now.saturating_add(look << member.in_vain);
                    member.in_vain = (member.in_vain + 1).min(IN_VAIN_MAX);
                }
                return false;
            }
        }
        if member.interval != 0
            && let Err(later) = accounts.draw(member.account, now, member.interval, burst)
        {
            if in_flight_max != 0 {
                accounts.leave(member.account, 1);
            }
            (member.not_before, member.until_answer) = (later, false);
            return false;
        }
        (member.in_vain, member.is_held) = (0, false);
        true
    }

    /// Counts an answer to a request of the tenant. `now` is called only if it matters.
    #[inline]
    pub fn leave(&mut self, index: usize, now: impl FnOnce() -> u64) {
        let Some(member) = self.members.get_mut(index) else { return };
        member.in_flight = member.in_flight.saturating_sub(1);
        self.has_freed |= member.is_limited;
        if member.limits.in_flight_max == 0 {
            return;
        }
        self.accounts.leave(member.account, 1);
        if member.until_answer {
            (member.not_before, member.until_answer) = (0, false);
        }
        if member.in_flight == 0 && !member.is_held {
            self.accounts.set_waiting(member.account, false);
        }
        if self.accounts.others_wait(member.account) {
            let now = now();
            // Not prolonged by every answer, so that places which the other cards leave are taken in the end.
            if now >= member.yields_until {
                member.yields_until = now.saturating_add((self.look << IN_VAIN_MAX) + self.look);
            }
        }
    }

    /// Sets how long the last pass took, in nanoseconds: the time between looks depends on it.
    pub fn set_pass(&mut self, ns: u64) {
        self.look = ns_to_tsc(ns / LOOK_SHARE).clamp(self.look_min, self.look_max);
    }

    /// Number of requests of the tenant at this index that are in flight on this card.
    pub fn in_flight(&self, index: usize) -> u32 {
        self.members.get(index).map_or(0, |member| member.in_flight)
    }
}

impl Member {
    /// Begins a sweep: sets how many requests the limits let through, as far as this card can say. A larger number
    /// would make the card take a pass for full that is not.
    fn begin(&mut self, sweep: u64, accounts: &CardAccounts, burst: u64, now: impl FnOnce() -> u64) {
        let Limits { in_flight_max, in_flight_per_card_max, .. } = self.limits;
        let left = |most: u32| if most == 0 { u32::MAX } else { most.saturating_sub(self.in_flight) };
        (self.sweep, self.pushes) = (sweep, false);
        self.room = left(in_flight_per_card_max).min(left(in_flight_max));
        if self.not_before == 0 && self.interval == 0 {
            return;
        }
        let now = now();
        if now < self.not_before {
            self.room = 0;
            return;
        }
        (self.not_before, self.until_answer) = (0, false);
        if self.interval != 0 {
            match accounts.drawable(self.account, now, self.interval, burst) {
                Ok(count) => self.room = self.room.min(u32::try_from(count).unwrap_or(u32::MAX)),
                Err(later) => (self.room, self.not_before) = (0, later),
            }
        }
    }

    /// How many of `waiting` requests may be taken, and when to look again if time decides that.
    fn room(&mut self, waiting: u32) -> (u32, u64) {
        let room = waiting.min(self.room);
        self.room -= room;
        self.pushes |= room < waiting;
        (room, if self.not_before == 0 { u64::MAX } else { self.not_before })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::Accounts;
    use std::os::fd::AsFd;

    const ACCOUNT: u32 = 9;

    struct House {
        _folder: tempfile::TempDir,
        accounts: Accounts,
    }

    impl House {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let accounts = Accounts::open(&folder.path().join("accounts")).unwrap();
            Self { _folder: folder, accounts }
        }

        fn card(&self, index: u32, limits: Limits) -> Limiter {
            let shared = self.accounts.for_card().unwrap();
            let mut limiter = Limiter::new(CardAccounts::join(shared.as_fd(), index).unwrap());
            limiter.set(0, ACCOUNT, limits);
            limiter
        }
    }

    fn limits(in_flight_max: u32, in_flight_per_card_max: u32, per_second_max: u32) -> Limits {
        Limits { weight: 1, in_flight_max, in_flight_per_card_max, per_second_max }
    }

    fn room(card: &mut Limiter, waiting: &[u32], now: u64) -> Vec<u32> {
        card.begin_sweep();
        waiting.iter().map(|waiting| card.room(0, *waiting, || now)).collect()
    }

    #[test]
    fn without_limits_nothing_is_touched() {
        let house = House::new();
        let mut card = house.card(0, limits(0, 0, 0));
        card.begin_sweep();
        for index in [0, 1, usize::MAX] {
            assert_eq!(card.room(index, 64, || panic!("the time does not matter")), 64);
            assert!(card.enter(index, 5));
        }
        assert_eq!((house.accounts.in_flight(ACCOUNT), card.in_flight(0), card.wake_at()), (0, 1, u64::MAX));
        card.leave(0, || panic!("the time does not matter"));
        assert_eq!(card.in_flight(0), 0);
    }

    #[test]
    fn a_limit_of_the_card_holds_over_all_queues() {
        let house = House::new();
        let mut card = house.card(0, limits(0, 3, 0));
        assert_eq!(room(&mut card, &[2, 2, 2], 0), [2, 1, 0]);
        assert!((0..3).all(|_| card.enter(0, 0)) && !card.enter(0, 0));
        assert_eq!(room(&mut card, &[2, 2], 0), [0, 0]);
        card.leave(0, || 0);
        assert_eq!(room(&mut card, &[2, 2], 0), [1, 0]);
        assert_eq!(house.accounts.in_flight(ACCOUNT), 0, "no other card need know");
    }

    #[test]
    fn a_card_at_the_limit_of_all_looks_again_after_its_own_answer_or_a_while() {
        let house = House::new();
        let (mut first, mut second) = (house.card(0, limits(3, 0, 0)), house.card(1, limits(3, 0, 0)));
        assert!(first.enter(0, 0) && first.enter(0, 0) && second.enter(0, 0));
        assert!(!first.enter(0, 100) && !second.enter(0, 100));
        assert_eq!(room(&mut first, &[4], 100), [0]);
        assert!(first.wake_at() > 100 && first.wake_at() <= 100 + ns_to_tsc(LOOK_NS_MAX));
        first.leave(0, || 200);
        assert_eq!(room(&mut first, &[4], 200), [2]);
        assert!(first.enter(0, 200) && !second.enter(0, 200));
        // In vain it looks less and less often, but never gives up.
        let mut now = 200;
        for _ in 0..20 {
            assert_eq!(room(&mut second, &[1], now), [0]);
            let wake_at = second.wake_at();
            assert!(wake_at > now && wake_at - now <= ns_to_tsc(LOOK_NS_MAX), "{}", wake_at - now);
            now = wake_at;
            assert_eq!(room(&mut second, &[1], now), [1]);
            assert!(!second.enter(0, now));
        }
    }

    #[test]
    fn a_card_that_has_answered_leaves_the_first_move_to_those_that_wait() {
        let house = House::new();
        let (mut busy, mut waiting) = (house.card(0, limits(2, 0, 0)), house.card(1, limits(2, 0, 0)));
        assert!(busy.enter(0, 0) && busy.enter(0, 0) && !waiting.enter(0, 0));
        busy.leave(0, || 1000);
        busy.leave(0, || 1000);
        assert_eq!(room(&mut busy, &[2], 1000), [2]);
        assert!(busy.enter(0, 1000) && !busy.enter(0, 1000), "its share");
        assert_eq!(room(&mut busy, &[1], 1000), [0]);
        let wake_at = busy.wake_at();
        assert!(wake_at > 1000 && wake_at <= 1000 + 2 * ns_to_tsc(LOOK_NS_MAX));
        assert!(waiting.enter(0, 1000));
        waiting.leave(0, || wake_at);
        // Nobody waits any more.
        assert_eq!(room(&mut busy, &[1], wake_at), [1]);
        assert!(busy.enter(0, wake_at));
        busy.leave(0, || wake_at);
        assert_eq!(room(&mut busy, &[1], wake_at), [1]);
    }

    #[test]
    fn cards_that_answer_together_share_the_places() {
        let house = House::new();
        let mut cards = [0, 1].map(|index| house.card(index, limits(8, 0, 0)));
        let take = |card: &mut Limiter, now| (0..12).filter(|_| card.enter(0, now)).count();
        assert_eq!([take(&mut cards[0], 0), take(&mut cards[1], 0)], [8, 0]);
        let second = ns_to_tsc(1_000_000_000);
        for (round, taken) in [[8, 0], [4, 4], [4, 4], [4, 4]].windows(2).enumerate() {
            let now = second * (round as u64 + 1);
            for (card, taken) in cards.iter_mut().zip(taken[0]) {
                (0..taken).for_each(|_| card.leave(0, || now));
            }
            assert_eq!(cards.each_mut().map(|card| take(card, now)), taken[1]);
        }
        // What the other one leaves is taken after a while.
        let now = second * 10;
        (0..4).for_each(|_| cards.iter_mut().for_each(|card| card.leave(0, || now)));
        assert_eq!(take(&mut cards[0], now), 4);
        assert_eq!(room(&mut cards[0], &[8], now), [0]);
        let wake_at = cards[0].wake_at();
        assert_eq!((room(&mut cards[0], &[4], wake_at), take(&mut cards[0], wake_at)), (vec![4], 4));
        // One that got all that it wanted says no more that it waits.
        cards.iter_mut().for_each(|card| (0..8).for_each(|_| card.leave(0, || now)));
        assert!(cards[1].enter(0, now));
        cards[1].leave(0, || now);
        assert_eq!(take(&mut cards[0], now), 8);
    }

    #[test]
    fn no_more_is_said_to_be_there_than_limits_let_through() {
        let house = House::new();
        let mut card = house.card(0, limits(4, 0, 0));
        assert_eq!(room(&mut card, &[3, 32], 5), [3, 1]);
        assert!(card.pushes(0));
        assert_eq!(room(&mut card, &[4], 5), [4]);
        assert!(!card.pushes(0) && !card.pushes(77));
        // A rate that allows five at once, beside the first.
        let mut card = house.card(0, limits(0, 0, 500));
        let now = 1_000_000_000;
        assert_eq!(room(&mut card, &[32, 32], now), [6, 0]);
        assert!((0..6).all(|_| card.enter(0, now)) && card.pushes(0));
        assert_eq!(room(&mut card, &[32], now), [0]);
        let next = card.wake_at();
        assert!(next > now && next < u64::MAX);
        assert_eq!(room(&mut card, &[32], next), [1]);
        assert!(card.enter(0, next) && !card.enter(0, next));
    }

    #[test]
    fn a_rate_is_kept_over_cards_and_says_when_to_go_on() {
        const PER_SECOND: u32 = 1000;
        let house = House::new();
        let mut cards = [0, 1].map(|index| house.card(index, limits(5, 0, PER_SECOND)));
        let second = ns_to_tsc(1_000_000_000);
        let (begin, mut taken, mut turn) = (1_000_000_000, 0, 0);
        let mut now = begin;
        while now < begin + second {
            turn += 1;
            let card = &mut cards[turn % 2];
            if room(card, &[1], now) == [0] {
                assert!(card.wake_at() > now && card.wake_at() <= now + second / u64::from(PER_SECOND));
                now = card.wake_at();
            } else if card.enter(0, now) {
                taken += 1;
                card.leave(0, || now);
                assert_eq!(house.accounts.in_flight(ACCOUNT), 0);
            }
        }
        let burst = PER_SECOND * u32::try_from(BURST_NS / 1_000_000).unwrap() / 1000;
        assert!((PER_SECOND..=PER_SECOND + burst + 2).contains(&taken), "{taken}");
    }

    #[test]
    fn limits_may_change_while_requests_are_in_flight() {
        let house = House::new();
        let mut card = house.card(0, limits(0, 0, 0));
        assert!((0..4).all(|_| card.enter(0, 0)));
        card.set(0, ACCOUNT, limits(4, 0, 0));
        assert_eq!(house.accounts.in_flight(ACCOUNT), 4);
        assert!(!card.enter(0, 0));
        card.leave(0, || 0);
        card.set(0, ACCOUNT, limits(2, 0, 1));
        assert_eq!(house.accounts.in_flight(ACCOUNT), 3);
        card.set(0, ACCOUNT, limits(0, 0, 0));
        assert_eq!((house.accounts.in_flight(ACCOUNT), card.in_flight(0)), (0, 3));
        card.set(0, ACCOUNT, limits(4, 0, 0));
        card.forget(0);
        card.forget(77);
        assert_eq!(house.accounts.in_flight(ACCOUNT), 0);
        card.set(0, u32::MAX, limits(1, 1, 1));
        assert!(card.enter(0, 0));
        card.leave(0, || 0);
    }
}
