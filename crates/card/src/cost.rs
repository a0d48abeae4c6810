//! What a request costs, learned from passes: per verb and length of the payload.
//!
//! Used for turns and for the size of a batch, never for an answer: an estimate that is off by a
//! factor makes a turn unfair for a moment. A pass tells one duration for all of its requests; it
//! is split by the estimates that stood before.

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
/// From this cost on a request is dear, in nanoseconds: eight of RSA-1024 in one pass are, and no request
/// under a DES or AES key with a short text is.
const DEAR_NS: u32 = 5_000;
/// Weight of the newest pass: one part in this many.
const MEMORY: i64 = 8;

/// Which estimate a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(usize);

/// The estimates of a card.
pub struct Costs {
    ns: Vec<u32>,
    /// Kinds that are dear.
    dear: usize,
}

impl Costs {
    /// Nothing known.
    pub fn new() -> Self {
        Self { ns: vec![FIRST_NS; wire::verb::TABLE.len() * LENGTHS], dear: 0 }
    }

    /// The kind of a request: the verb's row in the table and the length of its payload.
    ///
    /// # Panics
    /// If `row` is not below the length of the table.
    pub fn kind(&self, row: usize, payload_bytes: usize) -> Kind {
        assert!(row < wire::verb::TABLE.len(), "a row of the verb table");
        let length = (usize::BITS - payload_bytes.leading_zeros()) as usize;
        Kind(row * LENGTHS + length.min(LENGTHS - 1))
    }

    /// The estimate in nanoseconds.
    pub fn ns(&self, kind: Kind) -> u64 {
        u64::from(self.ns[kind.0])
    }

    /// Whether requests of this kind are dear: they share a pass with others of their like only, so that
    /// cheap ones do not wait for them.
    pub fn is_dear(&self, kind: Kind) -> bool {
        self.ns[kind.0] >= DEAR_NS
    }

    /// Whether requests of any kind are dear.
    pub fn any_is_dear(&self) -> bool {
        self.dear != 0
    }

    /// A pass over requests of these kinds took this long.
    pub fn learn(&mut self, kinds: &[Kind], pass_ns: u64) {
        let estimated: u64 = kinds.iter().map(|kind| self.ns(*kind)).sum();
        if estimated == 0 {
            return;
        }
        let pass_ns = pass_ns.min(MOST_NS);
        // What every estimate of this pass would have had to be multiplied by, in 1/1024.
        let factor = (pass_ns * 1024 / estimated).min(FACTOR_MAX * 1024) as i64;
        let mut last = None;
        for kind in kinds {
            // Requests of one kind stand together mostly: it learns once.
            if last == Some(*kind) {
                continue;
            }
            last = Some(*kind);
            let before = i64::from(self.ns[kind.0]);
            let after = before + (before * factor / 1024 - before) / MEMORY;
            let was_dear = self.is_dear(*kind);
            self.ns[kind.0] = after.clamp(LEAST_NS as i64, MOST_NS as i64) as u32;
            self.dear = self.dear + usize::from(self.is_dear(*kind)) - usize::from(was_dear);
        }
    }
}

impl Default for Costs {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_come_near_to_what_passes_take() {
        let mut costs = Costs::new();
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
        let mut costs = Costs::new();
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
    fn extremes_stay_in_bounds() {
        let mut costs = Costs::new();
        let kind = costs.kind(wire::verb::TABLE.len() - 1, usize::MAX);
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
