//! Decides when the next pass begins.

use super::owed::Answered;
use super::stand_aside::Habit;
use super::{Server, There};
use crate::attached::Tier;
use crate::pace::Pace;
use link::{ns_to_tsc, tsc};

/// How often a card that could fill a long pass further yields its processor before the pass begins.
const YIELDS_MAX: u32 = 6;
/// Upper bound of the time that this takes, in durations of the last pass.
const YIELD_PASSES_MAX: u64 = 4;
/// A pass of tenants that push against a limit alone does not begin before this part of the last pass's duration has
/// gone by since that pass answered others. Those others may come back into the same pass, and would otherwise wait for
/// one more.
const LEAVES_WAY_SHARE: u64 = 4;
/// Upper bound of that wait, in nanoseconds.
const LEAVES_WAY_NS_MAX: u64 = 200_000;

/// Record of past passes, by which the next one is paced.
pub(super) struct Pacing {
    /// Tier of the last batch.
    pub tier: Tier,
    /// The learned wait of each tier.
    pub paces: [Pace; 2],
    /// Whether standing aside has paid.
    pub habit: Habit,
    /// Duration of the last pass in nanoseconds.
    pub pass_ns: u64,
    /// The tenants that the last pass answered.
    pub answered: Answered,
    /// Time-stamp count at which the last pass ended, if it answered a tenant that was not held to a limit; 0 if it did
    /// not.
    pub answered_free_tsc: u64,
}

impl Pacing {
    /// Pacing before the first pass, for cheap passes that gain from up to `cheap` requests.
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
    /// Lets others have this processor before a long pass that could be fuller. If there are more cards than
    /// processors, the clients that were just answered are among those others. They sleep while a long pass runs, and
    /// so do not use up their time here by polling, as clients of cheap requests do ([`Server::idle`]).
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

    /// The learned wait; returns which tiers may begin. It lasts until as many requests of a tier are there as may come
    /// back, or its time is over. There is no wait if the client needs this processor to send requests. If only tenants
    /// at their limits have requests, tenants that were just answered are waited for a little longer.
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
