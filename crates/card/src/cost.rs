//! What a request costs, learned from passes: per verb and length of the payload.
//!
//! Two estimates are kept of each kind: its part of the passes that it rides in, and how long one filling of its
//! kernel's lanes takes. A request of a kernel with 64 lanes may cost little and yet hold up for long whoever
//! shares its pass.
//!
//! Used for turns and for the size of a batch, never for an answer: an estimate that is off by a
//! factor makes a turn unfair for a moment. A pass tells one duration for all of its requests; it
//! is split by the estimates that stood before.

use crate::lanes::Lanes;
use wire::bounds::VERB_SLOTS;

/// Length classes: payloads of up to 2^n bytes.
const LENGTHS: usize = 22;
/// A guess before anything is known, in nanoseconds.
const FIRST_NS: u32 = 3_000;
/// Bounds of an estimate, in nanoseconds.
const LEAST_NS: u64 = 100;
const MOST_NS: u64 = 4_000_000_000;
/// A pass multiplies what it was estimated at by no more than this, so that one which was interrupted
/// does not make its requests dear for long.
const FACTOR_MAX: u64 = 16;
/// A request is dear where one filling of its lanes takes so long, in nanoseconds: eight of RSA-1024 do, and 64
/// texts of TDES from a kibibyte on; no request under a DES or AES key with a short text does.
const DEAR_FILLING_NS: u32 = 60_000;
/// The least that the generation of an RSA key costs, in nanoseconds, whatever it was seen to: who asks for keys that
/// cannot be made would make one seem cheap, and then have a pass of very many.
const GENERATION_LEAST_NS: u32 = 1_000_000;
/// Weight of the newest pass: one part in this many; and of the first one.
const MEMORY: i64 = 8;
const FIRST_MEMORY: i64 = 2;

/// Which estimate a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(usize);

/// What is known of a kind, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    /// Of one request.
    request: u32,
    /// Of one filling of the lanes.
    filling: u32,
    /// Whether a pass told anything of it.
    is_known: bool,
}

/// The estimates of a card.
pub struct Costs {
    lanes: Lanes,
    of: Vec<Estimate>,
    /// Kinds that were found to be dear.
    dear: usize,
    /// The kinds of a pass, each once, with how many requests were of it.
    counts: Vec<(Kind, usize)>,
}

impl Costs {
    /// Nothing known, of kernels with these lanes.
    pub fn new(lanes: Lanes) -> Self {
        let first = |kind| {
            let ns = FIRST_NS.max(least_ns(kind));
            Estimate { request: ns, filling: ns, is_known: false }
        };
        let kinds = 0..VERB_SLOTS * LENGTHS;
        Self { lanes, of: kinds.map(|kind| first(Kind(kind))).collect(), dear: 0, counts: Vec::new() }
    }

    /// The kind of a request: the verb's slot in the verb table and the length of its payload.
    ///
    /// # Panics
    /// If `slot` is not below [`VERB_SLOTS`].
    pub fn kind(&self, slot: usize, payload_bytes: usize) -> Kind {
        assert!(slot < VERB_SLOTS, "a slot of the verb table");
        let length = (usize::BITS - payload_bytes.leading_zeros()) as usize;
        Kind(slot * LENGTHS + length.min(LENGTHS - 1))
    }

    /// The estimate for one request, in nanoseconds.
    pub fn ns(&self, kind: Kind) -> u64 {
        u64::from(self.of[kind.0].request)
    }

    /// Lanes of the kernel that runs requests of this kind.
    pub fn lanes(&self, kind: Kind) -> usize {
        self.lanes.of(kind.0 / LENGTHS)
    }

    /// As [`Costs::lanes`], of the kernel's form for the most requests.
    pub fn lanes_wide(&self, kind: Kind) -> usize {
        self.lanes.wide(kind.0 / LENGTHS)
    }

    /// Whether requests of this kind are dear: they share a pass with others of their like only, so that
    /// cheap ones do not wait for them.
    pub fn is_dear(&self, kind: Kind) -> bool {
        self.of[kind.0].filling >= DEAR_FILLING_NS
    }

    /// Whether requests of any kind were found to be dear.
    pub fn any_is_dear(&self) -> bool {
        self.dear != 0
    }

    /// A pass over requests of these kinds took this long.
    pub fn learn(&mut self, kinds: &[Kind], pass_ns: u64) {
        self.count(kinds);
        let (mut requests, mut fillings) = (0, 0);
        for (kind, count) in &self.counts {
            let estimate = self.of[kind.0];
            requests += u64::from(estimate.request) * *count as u64;
            fillings += u64::from(estimate.filling) * count.div_ceil(self.lanes(*kind)) as u64;
        }
        if requests == 0 {
            return;
        }
        let pass_ns = pass_ns.min(MOST_NS);
        // What every estimate of this pass would have had to be multiplied by, in 1/1024.
        let factor = |estimated: u64| (pass_ns * 1024 / estimated.max(1)).min(FACTOR_MAX * 1024) as i64;
        let (of_request, of_filling) = (factor(requests), factor(fillings));
        let learned = |before: u32, factor: i64, memory: i64| {
            let before = i64::from(before);
            let after = before + (before * factor / 1024 - before) / memory;
            after.clamp(LEAST_NS as i64, MOST_NS as i64) as u32
        };
        for at in 0..self.counts.len() {
            let kind = self.counts[at].0;
            let estimate = &mut self.of[kind.0];
            let was_dear = estimate.is_known && estimate.filling >= DEAR_FILLING_NS;
            let memory = if estimate.is_known { MEMORY } else { FIRST_MEMORY };
            estimate.request = learned(estimate.request, of_request, memory).max(least_ns(kind));
            estimate.filling = learned(estimate.filling, of_filling, memory).max(least_ns(kind));
            estimate.is_known = true;
            let is_dear = estimate.filling >= DEAR_FILLING_NS;
            self.dear = self.dear + usize::from(is_dear) - usize::from(was_dear);
        }
    }

    /// Counts the kinds of a pass: a few, which stand together mostly.
    fn count(&mut self, kinds: &[Kind]) {
        self.counts.clear();
        for run in kinds.chunk_by(|a, b| a == b) {
            match self.counts.iter_mut().find(|(kind, _)| *kind == run[0]) {
                Some((_, count)) => *count += run.len(),
                None => self.counts.push((run[0], run.len())),
            }
        }
    }
}

fn least_ns(kind: Kind) -> u32 {
    let is_generation = kind.0 / LENGTHS == wire::Verb::PkaKeyGenerate.slot();
    if is_generation { GENERATION_LEAST_NS } else { LEAST_NS as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels of eight lanes.
    fn costs() -> Costs {
        Costs::new(Lanes::new(|_| [8, 8]))
    }

    #[test]
    fn estimates_come_near_to_what_passes_take() {
        let mut costs = costs();
        let (cheap, dear) = (costs.kind(0, 64), costs.kind(1, 1200));
        for _ in 0..100 {
            costs.learn(&[cheap; 8], 8 * 2_000);
            costs.learn(&[dear], 700_000);
        }
        assert!(costs.ns(cheap).abs_diff(2_000) < 100, "{}", costs.ns(cheap));
        assert!(costs.ns(dear).abs_diff(700_000) < 35_000, "{}", costs.ns(dear));
        let mut mixed = vec![cheap; 7];
        mixed.push(dear);
        for _ in 0..100 {
            costs.learn(&mixed, 714_000);
        }
        assert!(costs.ns(dear) > 100 * costs.ns(cheap));
    }

    #[test]
    fn dear_kinds_are_known_and_an_interrupted_pass_is_soon_forgotten() {
        let mut costs = costs();
        let (cheap, dear) = (costs.kind(0, 64), costs.kind(1, 1200));
        assert!(!costs.any_is_dear());
        for _ in 0..50 {
            costs.learn(&[cheap], 1_000);
            costs.learn(&[dear], 80_000);
        }
        assert!(costs.any_is_dear() && costs.is_dear(dear) && !costs.is_dear(cheap));
        costs.learn(&[cheap], 10_000_000);
        assert!(!costs.is_dear(cheap), "{}", costs.ns(cheap));
        for _ in 0..100 {
            costs.learn(&[dear], 100);
        }
        assert!(!costs.any_is_dear());
    }

    #[test]
    fn a_kernel_that_takes_long_is_dear_however_many_share_it() {
        let mut costs = Costs::new(Lanes::new(|_| [64, 512]));
        let (text, mac) = (costs.kind(0, 4_200), costs.kind(0, 200));
        for _ in 0..100 {
            costs.learn(&[text; 64], 200_000);
            costs.learn(&[mac; 64], 20_000);
        }
        assert!(costs.is_dear(text) && !costs.is_dear(mac));
        assert!(costs.ns(text).abs_diff(200_000 / 64) < 200, "{}", costs.ns(text));
        assert_eq!((costs.lanes(text), costs.lanes_wide(text)), (64, 512));
        // Two fillings of lanes take twice as long, and are no dearer.
        for _ in 0..100 {
            costs.learn(&[mac; 128], 40_000);
        }
        assert!(!costs.is_dear(mac));
    }

    #[test]
    fn generation_is_dear_whatever_it_was_seen_to_cost() {
        let mut costs = costs();
        let generation = costs.kind(wire::Verb::PkaKeyGenerate.slot(), 400);
        for _ in 0..100 {
            assert!(costs.is_dear(generation) && costs.ns(generation) >= 1_000_000);
            costs.learn(&[generation; 8], 1_000);
        }
        assert!(costs.any_is_dear());
    }

    #[test]
    fn extremes_stay_in_bounds() {
        let mut costs = costs();
        let kind = costs.kind(VERB_SLOTS - 1, usize::MAX);
        for _ in 0..300 {
            costs.learn(&[kind], u64::MAX);
        }
        assert!(costs.ns(kind) <= MOST_NS);
        for _ in 0..300 {
            costs.learn(&[kind], 0);
        }
        assert!(costs.ns(kind) >= LEAST_NS);
        costs.learn(&[], 5);
    }
}
