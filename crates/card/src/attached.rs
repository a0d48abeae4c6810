//! A queue of the card and its rights; which of its slots wait, and which is taken next.

use crate::cost::RequestKind;
use link::CardQueue;
use wire::grant::Grant;

/// The tier of a request: cheap or expensive (dear), by the measured cost of such requests. A pass has requests of one
/// tier only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Cheap requests: passes are short, and take many of them.
    Cheap = 0,
    /// Dear requests: passes are as long as they must be for the lanes of their kernels.
    Dear = 1,
}

impl Tier {
    /// The other tier.
    pub fn other(self) -> Self {
        match self {
            Self::Cheap => Self::Dear,
            Self::Dear => Self::Cheap,
        }
    }
}

/// A queue that is served: its link, its rights, and its slots that wait.
pub struct Attached {
    /// The card's end of the link.
    pub queue: CardQueue,
    /// The rights of the queue, as decided by the daemon.
    pub grant: Grant,
    /// Index of the tenant in [`crate::turns::Turns`] and [`crate::limits::Limiter`].
    pub tenant: usize,
    /// Length of the grant in the message that tells a later daemon of it, in bytes.
    pub grant_bytes: usize,
    /// Slots that the last sweep found and that were not taken since, one bit each.
    waiting: u64,
    /// Slots that the last sweep found and left to a later one because of a limit of the tenant's.
    held_back: u64,
    /// Slots whose requests [`Attached::park`] has put back to wait for other requests: no sweep finds them.
    parked: u64,
    /// Waiting slots that were looked into, and (`dear`) those of them that were found dear.
    known: u64,
    dear: u64,
    /// Waiting slots that were looked into for a verb, and (`asks`) those of them that ask for the verb.
    seen: u64,
    asks: u64,
    /// The kinds of dear requests, by slot.
    kinds: [Option<RequestKind>; u64::BITS as usize],
    /// The slot after the one taken last: every slot has its turn.
    next_slot: u32,
    /// Number of the last pass that took a request of the queue.
    pass: u64,
}

impl Attached {
    /// A queue of the tenant at this index; `grant_bytes` is the length of the encoded grant.
    pub fn new(queue: CardQueue, grant: Grant, grant_bytes: usize, tenant: usize) -> Self {
        let kinds = [None; u64::BITS as usize];
        Self {
            queue,
            grant,
            tenant,
            grant_bytes,
            waiting: 0,
            held_back: 0,
            parked: 0,
            known: 0,
            dear: 0,
            seen: 0,
            asks: 0,
            kinds,
            next_slot: 0,
            pass: 0,
        }
    }

    /// Notes that a pass is about to take a request of the queue, and returns whether it is the pass's first one.
    #[inline]
    pub fn joins(&mut self, pass: u64) -> bool {
        std::mem::replace(&mut self.pass, pass) != pass
    }

    /// Finds the slots that wait, and returns their number. Wipes replies that clients have collected.
    #[inline]
    pub fn sweep(&mut self) -> u32 {
        self.queue.wipe_released();
        let before = self.waiting;
        self.waiting = self.queue.pending() & !self.parked;
        self.queue.will_take(self.waiting & !before);
        self.held_back = 0;
        self.known &= self.waiting;
        self.seen &= self.waiting;
        self.waiting.count_ones()
    }

    /// Leaves the waiting slots to a later sweep: they do not keep the card awake.
    pub fn hold_back(&mut self) {
        self.held_back |= std::mem::take(&mut self.waiting);
    }

    /// Leaves requests for a verb to a later sweep, and returns how many other slots wait. Each slot is looked into
    /// once, so the verb must be the same in every call.
    pub fn hold_back_verb(&mut self, verb: u16) -> u32 {
        let mut fresh = self.waiting & !self.seen;
        while fresh != 0 {
            let slot = fresh.trailing_zeros();
            let bit = 1 << slot;
            let asks = self.queue.peek(slot).0 == verb;
            self.asks = if asks { self.asks | bit } else { self.asks & !bit };
            fresh &= fresh - 1;
        }
        self.seen |= self.waiting;
        let held_back = self.waiting & self.asks;
        self.held_back |= held_back;
        self.waiting &= !held_back;
        self.known &= self.waiting;
        self.waiting.count_ones()
    }

    /// Whether a request waits that was not held back, or a collected reply is to be wiped.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.queue.pending() & !(self.held_back | self.parked) != 0 || self.queue.has_released()
    }

    /// Whether a request waits that the last sweep did not find.
    #[inline]
    pub fn has_newer(&self) -> bool {
        self.queue.pending() & !(self.held_back | self.parked | self.waiting) != 0
    }

    /// Whether any waiting slot was held back.
    pub fn holds_back(&self) -> bool {
        self.held_back != 0
    }

    /// Looks into waiting slots that were not looked into yet, and returns how many of all waiting slots are dear.
    /// `dear_kind` gives the kind of a request of this verb and length if it is dear.
    pub fn classify(&mut self, mut dear_kind: impl FnMut(u16, u32) -> Option<RequestKind>) -> u32 {
        let mut fresh = self.waiting & !self.known;
        while fresh != 0 {
            let slot = fresh.trailing_zeros();
            let (verb, payload_bytes) = self.queue.peek(slot);
            let bit = 1 << slot;
            let kind = dear_kind(verb, payload_bytes);
            self.dear = if kind.is_some() { self.dear | bit } else { self.dear & !bit };
            self.kinds[slot as usize] = kind;
            fresh &= fresh - 1;
        }
        self.known |= self.waiting;
        (self.waiting & self.dear).count_ones()
    }

    /// Counts all waiting requests as cheap.
    pub fn declassify(&mut self) {
        (self.known, self.dear) = (0, 0);
    }

    /// The next waiting slot of a tier, and of `kind` if one is given. The slot waits until [`Attached::took`] is
    /// called for it.
    #[inline]
    pub fn next(&self, tier: Tier, kind: Option<RequestKind>) -> Option<u32> {
        let of_tier = match tier {
            Tier::Cheap => self.waiting & !self.dear,
            Tier::Dear => self.waiting & self.dear,
        };
        let mut left = of_tier.rotate_right(self.next_slot);
        while left != 0 {
            let slot = (left.trailing_zeros() + self.next_slot) % u64::BITS;
            if kind.is_none() || self.kinds[slot as usize] == kind {
                return Some(slot);
            }
            left &= left - 1;
        }
        None
    }

    /// Number of waiting slots of a dear kind.
    pub fn count(&self, kind: RequestKind) -> usize {
        let mut left = self.waiting & self.dear;
        let mut count = 0;
        while left != 0 {
            count += usize::from(self.kinds[left.trailing_zeros() as usize] == Some(kind));
            left &= left - 1;
        }
        count
    }

    /// The kind of the request in a slot, if the request was found to be dear.
    pub fn dear_kind(&self, slot: u32) -> Option<RequestKind> {
        let bit = 1_u64 << (slot % u64::BITS);
        self.kinds[(slot % u64::BITS) as usize].filter(|_| self.dear & bit != 0)
    }

    /// Notes that the request in a slot is taken.
    #[inline]
    pub fn took(&mut self, slot: u32) {
        let bit = 1_u64 << (slot % u64::BITS);
        self.waiting &= !bit;
        self.known &= !bit;
        self.seen &= !bit;
        self.dear &= !bit;
        self.next_slot = (slot + 1) % u64::BITS;
    }

    /// Puts a taken request back into its slot, where no sweep finds it before [`Attached::unpark`].
    pub fn park(&mut self, slot: u32) {
        self.queue.put_back(slot);
        self.parked |= 1_u64 << (slot % u64::BITS);
    }

    /// Lets the next sweep find the request in a slot again.
    pub fn unpark(&mut self, slot: u32) {
        self.parked &= !(1_u64 << (slot % u64::BITS));
    }

    /// Forgets the waiting slots that the last sweep found.
    pub fn abandon(&mut self) {
        self.waiting = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Costs;
    use crate::lanes::Lanes;
    use link::{CardParts, ClientParts, ClientQueue, Doorbell, PidFd, QueueMemory, StatusPage};
    use std::os::fd::AsFd;

    const SLOTS: u32 = 8;

    fn costs() -> Costs {
        Costs::new(Lanes::new(|_| [8; 2]))
    }

    fn queue() -> (tempfile::TempDir, ClientQueue, Attached) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("doorbell");
        let _card_end = Doorbell::bind(&path).unwrap();
        let memory = QueueMemory::create(SLOTS, 1).unwrap();
        let status = StatusPage::create(1).unwrap();
        let ([request, reply], [seen, written]) = (memory.for_client().unwrap(), memory.for_card().unwrap());
        let client = ClientQueue::join(ClientParts {
            request,
            reply,
            doorbell: Doorbell::connect(&path).unwrap(),
            status: StatusPage::read_only(status.as_fd()).unwrap(),
            pidfd: PidFd::open(std::process::id()).unwrap().into_fd(),
            slots: SLOTS,
            queue: 1,
            generation: 1,
        });
        let parts = CardParts { request: seen, reply: written, completion: None, slots: SLOTS, queue: 1 };
        let grant = Grant {
            queue: 1,
            user: 0,
            tenant: 0,
            domain: 0,
            role: 0,
            account: 0,
            share_percent: 0,
            confinement: wire::tenant::Confinement::None,
            limits: wire::tenant::Limits::default(),
        };
        (folder, client.unwrap(), Attached::new(CardQueue::join(parts).unwrap(), grant, 0, 0))
    }

    /// Hands over requests of these lengths.
    fn submit(client: &ClientQueue, lengths: &[usize]) {
        for bytes in lengths {
            let slot = client.claim().unwrap();
            // Nobody answers here.
            let _ = client.submit(slot, 1, &vec![0; *bytes]).unwrap();
        }
    }

    /// The slots of a tier in the order in which they are taken.
    fn taken(attached: &mut Attached, tier: Tier) -> usize {
        std::iter::from_fn(|| attached.next(tier, None).inspect(|slot| attached.took(*slot))).count()
    }

    #[test]
    fn requests_are_told_apart_once_and_forgotten_when_they_are_taken() {
        let (_folder, client, mut attached) = queue();
        submit(&client, &[10, 1000, 10, 1000, 1000]);
        assert_eq!(attached.sweep(), 5);
        let is_long = |_: u16, bytes: u32| (bytes > 100).then(|| costs().kind(0, bytes as usize));
        assert_eq!(attached.classify(is_long), 3);
        assert_eq!(attached.classify(|_, _| panic!("known already")), 3);
        assert_eq!(
            (attached.next(Tier::Cheap, None).is_some(), attached.next(Tier::Dear, None).is_some()),
            (true, true)
        );
        assert_eq!(taken(&mut attached, Tier::Dear), 3);
        assert_eq!((attached.next(Tier::Dear, None), taken(&mut attached, Tier::Cheap)), (None, 2));
    }

    #[test]
    fn dear_requests_are_told_apart_by_kind() {
        let (_folder, client, mut attached) = queue();
        submit(&client, &[500, 2000, 500, 2000]);
        attached.sweep();
        let costs = costs();
        assert_eq!(attached.classify(|_, bytes| Some(costs.kind(0, bytes as usize))), 4);
        let long = Some(costs.kind(0, 2000));
        assert_eq!((attached.count(costs.kind(0, 2000)), attached.count(costs.kind(0, 9000))), (2, 0));
        for _ in 0..2 {
            let slot = attached.next(Tier::Dear, long).unwrap();
            assert_eq!(attached.dear_kind(slot), long);
            attached.took(slot);
            assert_eq!(attached.dear_kind(slot), None);
        }
        assert_eq!(attached.next(Tier::Dear, long), None);
        assert_eq!(taken(&mut attached, Tier::Dear), 2);
    }

    #[test]
    fn what_was_dear_is_taken_too_when_nothing_is_dear_any_more() {
        let (_folder, client, mut attached) = queue();
        submit(&client, &[1000; 4]);
        attached.sweep();
        assert_eq!(attached.classify(|_, bytes| Some(costs().kind(0, bytes as usize))), 4);
        assert_eq!(attached.sweep(), 4);
        attached.declassify();
        assert_eq!(taken(&mut attached, Tier::Cheap), 4);
    }

    #[test]
    fn what_is_held_back_is_no_news_until_the_next_sweep() {
        let (_folder, client, mut attached) = queue();
        submit(&client, &[10; 2]);
        assert!(attached.has_news() && attached.sweep() == 2);
        attached.hold_back();
        assert!(attached.holds_back() && !attached.has_news());
        assert_eq!(attached.next(Tier::Cheap, None), None);
        submit(&client, &[10]);
        assert!(attached.has_news());
        assert_eq!((attached.sweep(), attached.holds_back()), (3, false));
    }

    #[test]
    fn what_is_parked_is_found_again_when_it_is_not_any_more() {
        let (_folder, client, mut attached) = queue();
        submit(&client, &[10, 20]);
        assert_eq!(attached.sweep(), 2);
        let mut payload = Vec::new();
        for slot in [0, 1] {
            attached.took(slot);
            attached.queue.take(slot, &mut payload).unwrap();
        }
        attached.park(1);
        assert!(!attached.has_news() && attached.sweep() == 0 && attached.queue.busy() == 1);
        submit(&client, &[30]);
        assert_eq!((attached.sweep(), attached.next(Tier::Cheap, None)), (1, Some(2)));
        attached.unpark(1);
        assert!(attached.has_news() && attached.sweep() == 2);
        attached.took(1);
        attached.queue.take(1, &mut payload).unwrap();
        assert_eq!(payload.len(), 20);
        // What is not taken is not put back.
        attached.queue.put_back(5);
        assert_eq!(attached.queue.busy(), 0b11);
    }

    #[test]
    fn every_slot_has_its_turn() {
        let (_folder, client, mut attached) = queue();
        submit(&client, &[10; SLOTS as usize]);
        attached.sweep();
        let mut order = Vec::new();
        while let Some(slot) = attached.next(Tier::Cheap, None) {
            attached.took(slot);
            order.push(slot);
        }
        assert_eq!(order, (0..SLOTS).collect::<Vec<_>>());
    }
}
