//! When the next pass begins.

use super::owed::Answered;
use super::stand_aside::Habit;
use super::{Server, There};
use crate::attached::Tier;
use crate::pace::Pace;
use link::{ns_to_tsc, tsc};

/// How often a card that could fill a long pass further lets others have its processor before it begins.
const YIELDS_MAX: u32 = 6;
/// It stops to do so once that has taken as long as this many passes.
const YIELD_PASSES_MAX: u64 = 4;
/// Tenants that push against a limit do not begin a pass alone before this part of the last one has gone
/// by since it answered others: those may come back into the same pass, and would else wait for one more.
const LEAVES_WAY_SHARE: u64 = 4;
/// Nor for longer than this, in nanoseconds.
const LEAVES_WAY_NS_MAX: u64 = 200_000;

/// What the passes so far say of the next one.
pub(super) struct Pacing {
    /// What the last batch was made of.
    pub tier: Tier,
    /// By tier.
    pub paces: [Pace; 2],
    /// Whether standing aside has paid.
    pub habit: Habit,
    /// Duration of the last pass.
    pub pass_ns: u64,
    /// Whom the last pass answered.
    pub answered: Answered,
    /// When the last pass ended, if it answered a tenant that was not held to a limit; 0 if it did not.
    pub answered_free_tsc: u64,
}

impl Pacing {
    /// Before the first pass, where cheap ones gain from so many requests.
    pub fn new(cheap: usize) -> Self {
        Self {
            tier: Tier::Cheap,
            paces: [Pace::growing(cheap), Pace::even(1)],
            habit: Habit::default(),
            pass_ns: 0,
            answered: Answered::default(),
            answered_free_tsc: 0,
        }
    }
}

impl Server {
    /// Lets others have this processor before a long pass that could be fuller: where there are more cards
    /// than processors, the clients that were just answered are among them. They sleep while a long pass
    /// runs, and so do not use up their time here by polling, as for cheap requests ([`Server::idle`]).
    fn let_others_run(&mut self, mut there: There) -> There {
        let pace = Tier::Dear as usize;
        if !self.pacing.paces[pace].could_gain(there.of(Tier::Dear)) {
            return there;
        }
        let until = tsc().saturating_add(ns_to_tsc(self.pacing.pass_ns.saturating_mul(YIELD_PASSES_MAX)));
        for _ in 0..YIELDS_MAX {
            rustix::thread::sched_yield();
            there = self.sweep();
            if !self.pacing.paces[pace].could_gain(there.of(Tier::Dear)) || tsc() >= until {
                break;
            }
        }
        there
    }

    /// The learned wait: until as many requests of a tier are there as may come back, or its time is
    /// over. Not where the client needs this processor to send them. Which tiers may begin.
    /// What only tenants at their limits brought waits for those that were just answered a little longer.
    pub(super) fn wait_for_more(&mut self, mut there: There) -> [bool; 2] {
        // A card with lanes of its own takes what there is into them.
        let shares_passes = !self.holding.has_own_lanes();
        let waits = shares_passes && self.client_is_elsewhere();
        if shares_passes {
            there = self.stand_aside(there);
            if self.pacing.pass_ns > link::PASS_SPIN_MAX_NS {
                there = self.let_others_run(there);
            }
            if self.turns.tenants() > 1 {
                there = self.wait_for_owed(there);
            }
        }
        let may_leave_way = waits && !self.start.separate_tenants;
        let leaves_way_ns = (self.pacing.pass_ns / LEAVES_WAY_SHARE).min(LEAVES_WAY_NS_MAX);
        let free_until = self.pacing.answered_free_tsc.saturating_add(ns_to_tsc(leaves_way_ns));
        loop {
            let is_ready = |tier: Tier| match there.of(tier) {
                0 => false,
                count if waits => self.pacing.paces[tier as usize].is_ready(count, tsc),
                _ => true,
            };
            let ready = [Tier::Cheap, Tier::Dear].map(is_ready);
            let leaves_way = may_leave_way && there.only_pushing && tsc() < free_until;
            if (ready != [false; 2] && !leaves_way) || there.all() == 0 {
                return ready;
            }
            std::hint::spin_loop();
            there = self.sweep();
        }
    }
}
