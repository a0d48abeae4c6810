//! The cost of a request, learned from passes: per verb and length of the payload.
//!
//! Two estimates are kept for each combination: the part of its passes that such a request takes, and how long its
//! kernel takes with full lanes. A request of a kernel with 64 lanes may cost little and yet long delay the other
//! requests of its pass.
//!
//! Estimates serve for turns and for the size of a batch, never for an answer: an estimate that is off by a factor
//! makes a turn unfair for a moment. A pass has one measured duration for all of its requests, which is split by their
//! previous estimates.
//!
//! A refused request does not update an estimate: it may have ended at its first check, or run to the end, and its
//! sender chooses which. Its pass still bounds the others: they took no longer than the whole pass, and no
//! less than what is left of it if the refused ones took as long as such requests do. An estimate within these bounds
//! stays. Operations that are always long also have a [floor](Costs::is_always_dear), whatever was measured.

use crate::lanes::Lanes;
use wire::Verb;
use wire::bounds::VERB_SLOTS;
use wire::verb::{Entry, Kernel};

/// Number of length classes: class n has payloads of less than 2^n bytes, the last class also all longer ones.
const LENGTHS: usize = 22;
/// First estimate of a kind of which nothing is known, in nanoseconds.
const FIRST_NS: u32 = 3_000;
/// Lower bound of an estimate, in nanoseconds; [`MOST_NS`] is the upper bound.
const LEAST_NS: u64 = 100;
const MOST_NS: u64 = 4_000_000_000;
/// Upper bound of the factor by which one pass may exceed its estimate, so that an interrupted pass does not make its
/// requests dear for long.
const FACTOR_MAX: u64 = 16;
/// A request is expensive (dear) if its kernel takes this long with full lanes, in nanoseconds: eight RSA-1024
/// operations do, and 64 texts of TDES from a kibibyte on; no request under a DES or AES key with a short text does.
const DEAR_FILLING_NS: u32 = 60_000;
/// Lower bound of the estimate for generating an RSA key, in nanoseconds. Only the verb tells such requests: the
/// skeleton token of a short modulus is as long as that of a long one.
const GENERATION_LEAST_NS: u32 = 1_000_000;
/// Lower bound of the estimate for one filling of the lanes with operations under private RSA keys, in nanoseconds. A
/// key reference has the same length whatever it refers to, so eight short keys say nothing of eight long ones.
const RSA_PRIVATE_LEAST_NS: u32 = DEAR_FILLING_NS;
/// An estimate moves towards the newest pass by one part in this many; [`FIRST_MEMORY`] is for the first pass.
const MEMORY: i64 = 8;
const FIRST_MEMORY: i64 = 2;

/// The kind of a request: its verb and length class, which have an estimate of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestKind(usize);

/// The estimate of a kind, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    /// Time of one request within its passes.
    request: u32,
    /// Time of one filling of the lanes.
    filling: u32,
    /// Whether a pass with an answered request of the kind was measured.
    is_known: bool,
    /// Whether the kind is counted among those found to be dear.
    is_counted: bool,
}

/// The lower bounds of an estimate, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Floor {
    request: u32,
    filling: u32,
}

/// The requests of a pass that are of one kind.
#[derive(Clone, Copy, Debug)]
struct Counted {
    kind: RequestKind,
    all: usize,
    answered: usize,
}

/// The estimate of a pass before it is measured, in nanoseconds: of its answered and of its refused requests.
#[derive(Clone, Copy, Debug, Default)]
struct Estimated {
    answered: u64,
    refused: u64,
}

impl Estimated {
    fn add(&mut self, ns: u32, answered: usize, all: usize) {
        self.answered += u64::from(ns) * answered as u64;
        self.refused += u64::from(ns) * (all - answered) as u64;
    }

    /// The factor, in 1/1024, by which the estimates of the answered requests are certainly off: as near to 1 as the
    /// measured pass allows, and at most [`FACTOR_MAX`].
    fn factor(self, pass_ns: u64) -> i64 {
        let of_answered = |ns: u64| ns * 1024 / self.answered.max(1);
        let (least, most) = (of_answered(pass_ns.saturating_sub(self.refused)), of_answered(pass_ns));
        1024_u64.clamp(least, most).min(FACTOR_MAX * 1024) as i64
    }
}

/// The estimates of a card.
pub struct Costs {
    lanes: Lanes,
    of: Vec<Estimate>,
    /// Lower bounds of estimates, by slot of the verb table.
    floors: Vec<Floor>,
    /// Number of kinds that were found to be dear.
    dear: usize,
    /// The kinds of the present pass, each once, with their counts.
    counts: Vec<Counted>,
}

impl Costs {
    /// The estimates of a card of which nothing was measured yet, with kernels of these lanes.
    pub fn new(lanes: Lanes) -> Self {
        let floors: Vec<_> = (0..VERB_SLOTS).map(|slot| floor(slot, lanes.of(slot))).collect();
        let first = |floor: &Floor| Estimate {
            request: floor.request.max(FIRST_NS),
            filling: floor.filling.max(FIRST_NS),
            is_known: false,
            is_counted: false,
        };
        let of = floors.iter().flat_map(|floor| [first(floor); LENGTHS]).collect();
        Self { lanes, of, floors, dear: 0, counts: Vec::new() }
    }

    /// The kind of a request: the verb's slot in the verb table and the length of its payload.
    ///
    /// # Panics
    /// If `slot` is not below [`VERB_SLOTS`].
    pub fn kind(&self, slot: usize, payload_bytes: usize) -> RequestKind {
        assert!(slot < VERB_SLOTS, "a slot of the verb table");
        let length = (usize::BITS - payload_bytes.leading_zeros()) as usize;
        RequestKind(slot * LENGTHS + length.min(LENGTHS - 1))
    }

    /// The estimate for one request, in nanoseconds.
    pub fn ns(&self, kind: RequestKind) -> u64 {
        u64::from(self.of[kind.0].request)
    }

    /// Number of lanes of the kernel that runs requests of this kind.
    pub fn lanes(&self, kind: RequestKind) -> usize {
        self.lanes.of(kind.0 / LENGTHS)
    }

    /// As [`Costs::lanes`], for the kernel's form that takes the most requests.
    pub fn lanes_wide(&self, kind: RequestKind) -> usize {
        self.lanes.wide(kind.0 / LENGTHS)
    }

    /// Whether requests of this kind are dear: they share a pass with others of their like only, so that
    /// cheap ones do not wait for them.
    pub fn is_dear(&self, kind: RequestKind) -> bool {
        self.of[kind.0].filling >= DEAR_FILLING_NS
    }

    /// Whether requests of any kind were found to be dear.
    pub fn any_is_dear(&self) -> bool {
        self.dear != 0
    }

    /// Whether requests of this kind are dear by their verb, whatever was seen of them.
    pub fn is_always_dear(&self, kind: RequestKind) -> bool {
        self.floors[kind.0 / LENGTHS].filling >= DEAR_FILLING_NS
    }

    /// Updates the estimates from a pass over requests of these kinds that took `pass_ns`. Requests at places for which
    /// `is_refused` holds were not carried out.
    pub fn learn(&mut self, kinds: &[RequestKind], is_refused: impl Fn(usize) -> bool, pass_ns: u64) {
        self.count(kinds, is_refused);
        let (mut requests, mut fillings) = (Estimated::default(), Estimated::default());
        for Counted { kind, all, answered } in &self.counts {
            let (estimate, lanes) = (self.of[kind.0], self.lanes(*kind));
            requests.add(estimate.request, *answered, *all);
            fillings.add(estimate.filling, answered.div_ceil(lanes), all.div_ceil(lanes));
        }
        let pass_ns = pass_ns.min(MOST_NS);
        let (of_request, of_filling) = (requests.factor(pass_ns), fillings.factor(pass_ns));
        let learned = |before: u32, factor: i64, memory: i64| {
            let before = i64::from(before);
            let after = before + (before * factor / 1024 - before) / memory;
            after.clamp(LEAST_NS as i64, MOST_NS as i64) as u32
        };
        for at in 0..self.counts.len() {
            let Counted { kind, answered, .. } = self.counts[at];
            let floor = self.floors[kind.0 / LENGTHS];
            let estimate = &mut self.of[kind.0];
            if answered != 0 {
                let memory = if estimate.is_known { MEMORY } else { FIRST_MEMORY };
                estimate.request = learned(estimate.request, of_request, memory).max(floor.request);
                estimate.filling = learned(estimate.filling, of_filling, memory).max(floor.filling);
                estimate.is_known = true;
            }
            // Kinds that were only refused so far count too: requests for a dear verb are worth looking into.
            let is_dear = estimate.filling >= DEAR_FILLING_NS;
            self.dear = self.dear + usize::from(is_dear) - usize::from(estimate.is_counted);
            estimate.is_counted = is_dear;
        }
    }

    /// Counts the kinds of a pass: there are few, mostly side by side.
    fn count(&mut self, kinds: &[RequestKind], is_refused: impl Fn(usize) -> bool) {
        self.counts.clear();
        let mut first = 0;
        for run in kinds.chunk_by(|a, b| a == b) {
            let (kind, all) = (run[0], run.len());
            let answered = (first..first + all).filter(|place| !is_refused(*place)).count();
            first += all;
            match self.counts.iter_mut().find(|counted| counted.kind == kind) {
                Some(counted) => {
                    counted.all += all;
                    counted.answered += answered;
                }
                None => self.counts.push(Counted { kind, all, answered }),
            }
        }
    }
}

impl RequestKind {
    /// Whether requests of this kind generate RSA keys.
    pub fn is_generation(self) -> bool {
        self.0 / LENGTHS == Verb::PkaKeyGenerate.slot()
    }
}

/// The lower bounds for the verb with this slot of the verb table, whose kernel has this many lanes.
fn floor(slot: usize, lanes: usize) -> Floor {
    let entry = Entry::of_slot(slot);
    let (request, filling) = match entry.map(|entry| (entry.verb, entry.kernel)) {
        // One key generation uses all lanes.
        Some((Verb::PkaKeyGenerate, _)) => (GENERATION_LEAST_NS, GENERATION_LEAST_NS),
        Some((_, Kernel::RsaPrivate)) => (RSA_PRIVATE_LEAST_NS / lanes as u32, RSA_PRIVATE_LEAST_NS),
        _ => (LEAST_NS as u32, LEAST_NS as u32),
    };
    Floor { request, filling }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: usize) -> bool {
        false
    }

    fn every(_: usize) -> bool {
        true
    }

    /// The costs of a card whose kernels have eight lanes.
    fn costs() -> Costs {
        Costs::new(Lanes::new(|_| [8, 8]))
    }

    #[test]
    fn estimates_come_near_to_what_passes_take() {
        let mut costs = costs();
        let mac = Verb::MacGenerate.slot();
        let (cheap, dear) = (costs.kind(mac, 64), costs.kind(mac, 1200));
        for _ in 0..100 {
            costs.learn(&[cheap; 8], none, 8 * 2_000);
            costs.learn(&[dear], none, 700_000);
        }
        assert!(costs.ns(cheap).abs_diff(2_000) < 100, "{}", costs.ns(cheap));
        assert!(costs.ns(dear).abs_diff(700_000) < 35_000, "{}", costs.ns(dear));
        let mut mixed = vec![cheap; 7];
        mixed.push(dear);
        for _ in 0..100 {
            costs.learn(&mixed, none, 714_000);
        }
        assert!(costs.ns(dear) > 100 * costs.ns(cheap));
    }

    #[test]
    fn dear_kinds_are_known_and_an_interrupted_pass_is_soon_forgotten() {
        let mut costs = costs();
        let mac = Verb::MacGenerate.slot();
        let (cheap, dear) = (costs.kind(mac, 64), costs.kind(mac, 1200));
        assert!(!costs.any_is_dear());
        for _ in 0..50 {
            costs.learn(&[cheap], none, 1_000);
            costs.learn(&[dear], none, 80_000);
        }
        assert!(costs.any_is_dear() && costs.is_dear(dear) && !costs.is_dear(cheap));
        costs.learn(&[cheap], none, 10_000_000);
        assert!(!costs.is_dear(cheap), "{}", costs.ns(cheap));
        for _ in 0..100 {
            costs.learn(&[dear], none, 100);
        }
        assert!(!costs.any_is_dear());
    }

    #[test]
    fn a_kernel_that_takes_long_is_dear_however_many_share_it() {
        let mut costs = Costs::new(Lanes::new(|_| [64, 512]));
        let (text, mac) = (costs.kind(0, 4_200), costs.kind(0, 200));
        for _ in 0..100 {
            costs.learn(&[text; 64], none, 200_000);
            costs.learn(&[mac; 64], none, 20_000);
        }
        assert!(costs.is_dear(text) && !costs.is_dear(mac));
        assert!(costs.ns(text).abs_diff(200_000 / 64) < 200, "{}", costs.ns(text));
        assert_eq!((costs.lanes(text), costs.lanes_wide(text)), (64, 512));
        // Two fillings of lanes take twice as long, and are no dearer.
        for _ in 0..100 {
            costs.learn(&[mac; 128], none, 40_000);
        }
        assert!(!costs.is_dear(mac));
    }

    #[test]
    fn refused_requests_teach_nothing() {
        let mut costs = costs();
        let (mac, other) = (costs.kind(Verb::MacGenerate.slot(), 64), costs.kind(Verb::MacVerify.slot(), 64));
        for _ in 0..100 {
            costs.learn(&[mac; 64], none, 64 * 2_000);
        }
        let known = (costs.ns(mac), costs.of[mac.0].filling, costs.ns(other));
        for pass_ns in [0, 100, 50_000, 10_000_000] {
            for _ in 0..100 {
                costs.learn(&[mac; 64], every, pass_ns);
                costs.learn(&[mac, other, mac], every, pass_ns);
            }
        }
        assert_eq!((costs.ns(mac), costs.of[mac.0].filling, costs.ns(other)), known);
        assert!(!costs.of[other.0].is_known && !costs.any_is_dear());
    }

    #[test]
    fn those_beside_refused_ones_are_learned_as_far_as_their_pass_bounds_them() {
        let mut costs = Costs::new(Lanes::new(|_| [1; 2]));
        let kind = costs.kind(Verb::MacGenerate.slot(), 64);
        for _ in 0..100 {
            costs.learn(&[kind; 8], none, 8 * 20_000);
        }
        let known = costs.ns(kind);
        assert!(known.abs_diff(20_000) < 500, "{known}");
        let all_but_first = |place: usize| place != 0;
        // That one took all of it and the others nothing, or all the same, is not told apart.
        for pass_ns in [known + 2, 3 * known, 8 * known - 2] {
            for _ in 0..100 {
                costs.learn(&[kind; 8], all_but_first, pass_ns);
            }
            assert_eq!(costs.ns(kind), known);
        }
        // It took no more than the pass, and no less than what the others leave.
        for _ in 0..100 {
            costs.learn(&[kind; 8], all_but_first, 10_000);
        }
        assert!(costs.ns(kind).abs_diff(10_000) < 500, "{}", costs.ns(kind));
        for _ in 0..200 {
            costs.learn(&[kind; 8], all_but_first, 8 * 30_000);
        }
        assert!(costs.ns(kind).abs_diff(30_000) < 500, "{}", costs.ns(kind));
    }

    #[test]
    fn what_is_under_private_keys_is_dear_whatever_it_was_seen_to_cost() {
        let mut costs = costs();
        let sign = costs.kind(Verb::DigitalSignatureGenerate.slot(), 200);
        assert!(costs.is_dear(sign) && costs.is_always_dear(sign) && !costs.any_is_dear());
        // One that is refused is enough to look for others.
        costs.learn(&[sign], every, 100);
        assert!(costs.any_is_dear());
        for _ in 0..100 {
            costs.learn(&[sign; 8], none, 10_000);
            assert!(costs.is_dear(sign) && costs.any_is_dear() && costs.ns(sign) >= 60_000 / 8);
        }
        let verify = costs.kind(Verb::DigitalSignatureVerify.slot(), 200);
        assert!(!costs.is_always_dear(verify) && !sign.is_generation());
    }

    #[test]
    fn generation_is_dear_whatever_it_was_seen_to_cost() {
        let mut costs = costs();
        let generation = costs.kind(Verb::PkaKeyGenerate.slot(), 400);
        assert!(generation.is_generation() && costs.is_always_dear(generation));
        for _ in 0..100 {
            assert!(costs.is_dear(generation) && costs.ns(generation) >= 1_000_000);
            costs.learn(&[generation; 8], none, 1_000);
        }
        assert!(costs.any_is_dear());
    }

    #[test]
    fn extremes_stay_in_bounds() {
        let mut costs = costs();
        let kind = costs.kind(VERB_SLOTS - 1, usize::MAX);
        for _ in 0..300 {
            costs.learn(&[kind], none, u64::MAX);
        }
        assert!(costs.ns(kind) <= MOST_NS);
        for _ in 0..300 {
            costs.learn(&[kind], none, 0);
        }
        assert!(costs.ns(kind) >= LEAST_NS);
        costs.learn(&[], none, 5);
    }
}
