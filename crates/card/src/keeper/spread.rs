//! Which card has which registers, and how a new master key reaches all of them.
//!
//! ```text
//! Settled --set, unsealed--> Known --every card has it--> InUse --every card has it--> Settled
//! ```
//! While a domain is *known*, cards have its new keys and open tokens under them, but wrap none. Only when the last
//! card has answered are they told to wrap under them, so no card gets a token under a key that it does not have. The
//! next change waits until all of them wrap under the new key, since a card that still wrapped under the previous key
//! would soon be the only one that has it.
//!
//! A card counts from the moment at which it has the current registers of every domain. Before that it must not serve,
//! which the daemon ensures, and nobody waits for it; it is sent everything in order. A card that has ended closed its
//! socket, and no longer counts. A card that does not answer is reported, to be ended, whether it counts or not; until
//! then a change waits for it.

use super::registers::Registers;
use link::{Channel, ChannelError, world};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};
use wire::bounds::CARDS_MAX;
use wire::control::{Delivery, KeeperNotice, Received, Served};

/// How long a card may take to answer: far longer than it works without reading its channels.
const LAG_WAIT: Duration = Duration::from_secs(10);
/// How soon a card that had no room for its registers is tried again.
const RETRY: Duration = Duration::from_millis(20);
/// Upper bound of the answers read from one card before the others have their turn.
const ANSWERS_MAX: usize = 64;

/// How far a change of a domain's keys is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No change is under way.
    Settled,
    /// Cards are given keys that none of them wraps under yet: those of the new registers, or (`are_current`) the
    /// current ones.
    Known { are_current: bool },
    /// Cards are told to wrap under these keys.
    InUse,
}

struct Domain {
    stage: Stage,
    /// Serial number of the last delivery.
    serial: u64,
    /// When the stage began.
    since: Instant,
}

struct Card {
    served: Served,
    channel: Channel,
    /// By domain: the serial that was sent last, and (`received`) the one that was answered last.
    sent: Vec<u64>,
    received: Vec<u64>,
    counts: bool,
    /// When the keeper began to serve it.
    since: Instant,
}

/// Cards and domains of a keeper, and how far changes of keys have come.
pub struct Spread {
    domains: Vec<Domain>,
    cards: Vec<Card>,
    told: Instant,
}

impl Spread {
    /// No cards, and this many domains without a change under way.
    pub fn new(domains: u16, now: Instant) -> Self {
        let domain = || Domain { stage: Stage::Settled, serial: 1, since: now };
        Self { domains: (0..domains).map(|_| domain()).collect(), cards: Vec::new(), told: now }
    }

    /// Whether no change of this domain is under way.
    pub fn is_settled(&self, domain: u16) -> bool {
        self.domains.get(usize::from(domain)).is_none_or(|domain| domain.stage == Stage::Settled)
    }

    /// Whether no change is under way.
    pub fn all_settled(&self) -> bool {
        self.domains.iter().all(|domain| domain.stage == Stage::Settled)
    }

    /// Adds a card that starts; it replaces the card's previous process.
    pub fn serve(&mut self, served: Served, channel: Channel, now: Instant) {
        self.cards.retain(|card| card.served.card != served.card);
        if self.cards.len() < CARDS_MAX {
            let none = vec![0; self.domains.len()];
            let (sent, received) = (none.clone(), none);
            self.cards.push(Card { served, channel, sent, received, counts: false, since: now });
        }
    }

    /// The cards, and whether each has the current registers of every domain.
    pub fn cards(&self) -> Vec<(Served, bool)> {
        self.cards.iter().map(|card| (card.served, card.counts)).collect()
    }

    /// Begins to give cards the full new keys of a domain, or (`are_current`) its current keys if cards had none.
    pub fn begin(&mut self, domain: u16, are_current: bool, now: Instant) {
        if let Some(domain) = self.domains.get_mut(usize::from(domain)) {
            domain.turn(Stage::Known { are_current }, now);
        }
    }

    /// The cards' channels: an answer on any of them wakes the keeper.
    pub fn channels(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.cards.iter().map(|card| card.channel.as_fd())
    }

    /// How long the keeper may sleep if no card answers; `None` if for ever.
    pub fn pause(&self, now: Instant) -> Option<Duration> {
        let is_owed = |card: &Card| self.domains.iter().zip(&card.sent).any(|(of, sent)| of.serial != *sent);
        if self.cards.iter().any(is_owed) {
            return Some(RETRY);
        }
        self.lagging_at().map(|at| at.saturating_duration_since(now))
    }

    /// Reads cards' answers, goes on with changes, and hands out what cards have not got yet. Returns the notices for
    /// the daemon.
    pub fn step(&mut self, registers: &mut Registers, now: Instant) -> Vec<KeeperNotice> {
        let mut notices = Vec::new();
        self.hear();
        self.hand_out(registers);
        // Without a card to wait for, both stages end at once.
        while self.advance(registers, now, &mut notices) {
            self.hand_out(registers);
        }
        if self.lagging_at().is_some_and(|at| now >= at) {
            self.told = now;
            let lagging = self.lagging(now);
            if !lagging.is_empty() {
                notices.push(KeeperNotice::Lagging(lagging));
            }
        }
        notices
    }

    fn hear(&mut self) {
        let domains = &self.domains;
        self.cards.retain_mut(|card| {
            for _ in 0..ANSWERS_MAX {
                match card.channel.try_recv::<Received>() {
                    Ok((Received { domain, serial }, _)) => {
                        let place = card.received.get_mut(usize::from(domain));
                        // Only what was sent can have been received.
                        let is_known = domains.get(usize::from(domain)).is_some_and(|of| of.serial >= serial);
                        if let Some(place) = place.filter(|place| is_known && serial > **place) {
                            *place = serial;
                        }
                    }
                    Err(ChannelError::Closed) => return false,
                    Err(_) => return true,
                }
            }
            true
        });
    }

    fn hand_out(&mut self, registers: &Registers) {
        for card in &mut self.cards {
            for (index, of) in self.domains.iter().enumerate() {
                if card.sent[index] == of.serial {
                    continue;
                }
                let Some(delivery) = of.delivery(registers, index as u16) else { continue };
                // An error other than lack of room shows when the channel is read.
                match card.channel.try_send(&delivery, &[]) {
                    Ok(()) => card.sent[index] = of.serial,
                    Err(_) => break,
                }
            }
        }
    }

    /// Advances domains by one stage if every card that counts has what was handed out; returns whether any domain
    /// advanced.
    fn advance(&mut self, registers: &mut Registers, now: Instant, notices: &mut Vec<KeeperNotice>) -> bool {
        for card in self.cards.iter_mut().filter(|card| !card.counts) {
            let has_all =
                self.domains.iter().zip(&card.received).all(|(of, received)| of.serial == *received);
            if has_all {
                card.counts = true;
                notices.push(KeeperNotice::Holds(card.served));
            }
        }
        let mut advanced = false;
        for (index, of) in self.domains.iter_mut().enumerate() {
            let lacks = |card: &Card| world::lacks(card.counts && card.received[index] != of.serial);
            if of.stage == Stage::Settled || self.cards.iter().any(lacks) {
                continue;
            }
            advanced = true;
            match of.stage {
                Stage::Known { are_current } => {
                    if !are_current {
                        // The new registers were checked when the change began, and have not changed since.
                        let _ = registers.set(index as u16);
                    }
                    of.turn(Stage::InUse, now);
                }
                Stage::InUse | Stage::Settled => {
                    of.stage = Stage::Settled;
                    notices.push(KeeperNotice::Spread { domain: index as u16 });
                }
            }
        }
        advanced
    }

    /// When to look for cards that do not answer; `None` if no card owes an answer.
    fn lagging_at(&self) -> Option<Instant> {
        let changing = self.domains.iter().filter(|domain| domain.stage != Stage::Settled);
        let starting = self.cards.iter().filter(|card| !card.counts);
        let first = changing.map(|domain| domain.since).chain(starting.map(|card| card.since)).min()?;
        Some(first.max(self.told) + LAG_WAIT)
    }

    fn lagging(&self, now: Instant) -> Vec<Served> {
        let is_long_ago = |since| now.saturating_duration_since(since) >= LAG_WAIT;
        let lags = |card: &&Card| {
            let lacks = |(of, received): (&Domain, &u64)| {
                of.stage != Stage::Settled && of.serial != *received && is_long_ago(of.since)
            };
            match card.counts {
                true => self.domains.iter().zip(&card.received).any(lacks),
                false => is_long_ago(card.since),
            }
        };
        self.cards.iter().filter(lags).map(|card| card.served).collect()
    }
}

impl Domain {
    fn turn(&mut self, stage: Stage, now: Instant) {
        (self.stage, self.since) = (stage, now);
        self.serial += 1;
    }

    /// The delivery that tells a card of the domain at this stage; `None` if the domain does not exist.
    fn delivery(&self, registers: &Registers, domain: u16) -> Option<Delivery> {
        let mut handout = registers.handout(domain)?;
        let next = match self.stage {
            Stage::Known { are_current: false } => registers.full_new(domain)?,
            Stage::Known { are_current: true } => {
                std::array::from_fn(|index| std::mem::take(&mut handout.keys[index].current))
            }
            Stage::Settled | Stage::InUse => Default::default(),
        };
        Some(Delivery { serial: self.serial, handout, next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::{MasterKeyPattern, Part, Register};

    const CARDS: [Served; 2] = [Served { card: 0, generation: 3 }, Served { card: 1, generation: 7 }];

    fn served(spread: &mut Spread, card: Served) -> Channel {
        let (ours, theirs) = Channel::pair().unwrap();
        spread.serve(card, ours, Instant::now());
        theirs
    }

    /// Takes the last of what was delivered, and answers it.
    fn take(card: &Channel) -> Option<Delivery> {
        let mut last = None;
        while let Ok((delivery, _)) = card.try_recv::<Delivery>() {
            last = Some(delivery);
        }
        let delivery = last?;
        let received = Received { domain: delivery.handout.domain, serial: delivery.serial };
        card.try_send(&received, &[]).unwrap();
        Some(delivery)
    }

    fn load(registers: &mut Registers, first: u8, last: u8) {
        let pattern = |register: Register, key: &[u8]| MasterKeyPattern::new(register, [key[0]; 16]);
        for (part, byte) in [(Part::First, first), (Part::Last, last)] {
            registers.load_part(0, Register::Sym, part, &[byte; 24], &pattern).unwrap();
        }
    }

    fn keys(delivery: &Delivery) -> [u8; 3] {
        let sym = &delivery.handout.keys[0];
        [&delivery.next[0], &sym.current, &sym.old].map(|key| key.first().copied().unwrap_or(0))
    }

    #[test]
    fn no_card_is_told_to_wrap_before_every_card_has_the_key() {
        let now = Instant::now();
        let (mut registers, mut spread) = (Registers::new(1), Spread::new(1, now));
        registers.put_current(0, Register::Sym, &[1; 24]).unwrap();
        let cards = CARDS.map(|card| served(&mut spread, card));
        assert!(spread.step(&mut registers, now).is_empty());
        cards.iter().for_each(|card| assert_eq!(keys(&take(card).unwrap()), [0, 1, 0]));
        assert_eq!(spread.step(&mut registers, now), CARDS.map(KeeperNotice::Holds));

        load(&mut registers, 2, 4);
        spread.begin(0, false, now);
        assert!(spread.step(&mut registers, now).is_empty() && !spread.is_settled(0));
        assert_eq!(keys(&take(&cards[0]).unwrap()), [6, 1, 0]);
        assert!(spread.step(&mut registers, now).is_empty());
        assert!(take(&cards[0]).is_none(), "the other card has not got it");
        // One that starts meanwhile gets what is known by now, and is not waited for before it has that.
        let late = served(&mut spread, Served { card: 2, generation: 1 });
        assert_eq!(keys(&take(&cards[1]).unwrap()), [6, 1, 0]);
        assert!(spread.step(&mut registers, now).is_empty());
        for card in &cards {
            assert_eq!(keys(&take(card).unwrap()), [0, 6, 1]);
        }
        assert_eq!(spread.step(&mut registers, now), [KeeperNotice::Spread { domain: 0 }]);
        assert_eq!(keys(&take(&late).unwrap()), [0, 6, 1]);
        let holds = KeeperNotice::Holds(Served { card: 2, generation: 1 });
        assert_eq!(spread.step(&mut registers, now), [holds]);
        assert!(spread.all_settled() && spread.pause(now).is_none());
    }

    #[test]
    fn what_was_sealed_is_known_to_all_before_it_is_used() {
        let now = Instant::now();
        let (mut registers, mut spread) = (Registers::new(1), Spread::new(1, now));
        let card = served(&mut spread, CARDS[0]);
        spread.step(&mut registers, now);
        assert_eq!(keys(&take(&card).unwrap()), [0, 0, 0]);
        spread.step(&mut registers, now);
        registers.put_current(0, Register::Sym, &[9; 24]).unwrap();
        spread.begin(0, true, now);
        spread.step(&mut registers, now);
        assert_eq!(keys(&take(&card).unwrap()), [9, 0, 0]);
        spread.step(&mut registers, now);
        assert_eq!(keys(&take(&card).unwrap()), [0, 9, 0]);
    }

    #[test]
    fn a_card_that_ends_is_not_waited_for_and_one_that_hangs_is_told_of() {
        for ends_at in 0..3 {
            let now = Instant::now();
            let (mut registers, mut spread) = (Registers::new(1), Spread::new(1, now));
            let cards = CARDS.map(|card| served(&mut spread, card));
            spread.step(&mut registers, now);
            cards.iter().for_each(|card| assert!(take(card).is_some()));
            spread.step(&mut registers, now);
            load(&mut registers, 2, 4);
            spread.begin(0, false, now);
            spread.step(&mut registers, now);
            let [hangs, well] = cards;
            for _ in 0..ends_at {
                take(&hangs);
                take(&well);
                spread.step(&mut registers, now);
            }
            let late = now + LAG_WAIT;
            take(&well);
            let told = spread.step(&mut registers, late);
            if ends_at < 2 {
                assert_eq!(told, [KeeperNotice::Lagging(vec![CARDS[0]])], "{ends_at}");
                assert!(spread.step(&mut registers, late).is_empty(), "not told again at once");
                assert_eq!(spread.step(&mut registers, late + LAG_WAIT), told);
            }
            drop(hangs);
            let mut notices = spread.step(&mut registers, late);
            take(&well);
            notices.extend(spread.step(&mut registers, late));
            assert!(spread.all_settled(), "{ends_at}: {notices:?}");
            assert_eq!(registers.handout(0).unwrap().keys[0].current, [6; 24]);
        }
    }

    #[test]
    fn a_card_that_never_takes_its_registers_is_told_of() {
        let now = Instant::now();
        let (mut registers, mut spread) = (Registers::new(1), Spread::new(1, now));
        let silent = served(&mut spread, CARDS[0]);
        assert!(spread.step(&mut registers, now).is_empty());
        assert!(spread.pause(now).is_some_and(|pause| pause >= LAG_WAIT));
        let late = Instant::now() + LAG_WAIT;
        assert_eq!(spread.step(&mut registers, late), [KeeperNotice::Lagging(vec![CARDS[0]])]);
        drop(silent);
        assert!(spread.step(&mut registers, late).is_empty() && spread.pause(late).is_none());
    }

    #[test]
    fn what_a_card_claims_to_have_is_no_more_than_was_sent() {
        let now = Instant::now();
        let (mut registers, mut spread) = (Registers::new(1), Spread::new(1, now));
        let card = served(&mut spread, CARDS[0]);
        spread.step(&mut registers, now);
        for claim in [Received { domain: 0, serial: 2 }, Received { domain: 9, serial: 1 }] {
            card.try_send(&claim, &[]).unwrap();
        }
        card.try_send(&"noise", &[]).unwrap();
        assert!(spread.step(&mut registers, now).is_empty());
        take(&card);
        assert_eq!(spread.step(&mut registers, now), [KeeperNotice::Holds(CARDS[0])]);
    }
}
