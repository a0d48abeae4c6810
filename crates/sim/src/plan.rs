//! The content of a seed: how many processes of each kind, how they wait, and which faults may happen.

use wire::control::PollMode;

/// What a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The control plane.
    Daemon,
    /// A card.
    Card,
    /// The keeper of the master keys.
    Keeper,
    /// A program that asks.
    Client,
    /// A program of the home's owner that changes settings.
    Operator,
    /// A program of an officer, who changes master keys.
    Officer,
    /// A program of a tenant of whose requests cards die.
    Hostile,
    /// What kills, stops and starts; it is beyond harm.
    Fate,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Daemon => "daemon",
            Self::Card => "card",
            Self::Keeper => "keeper",
            Self::Client => "client",
            Self::Operator => "operator",
            Self::Officer => "officer",
            Self::Hostile => "hostile",
            Self::Fate => "fate",
        })
    }
}

/// A fault of the code itself, put in to show that the oracle sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// Cards do not wake those who wait for an answer.
    LosesWakes,
    /// Clients do not ring sleeping cards.
    LosesRings,
    /// A client does not see that a dead card had taken its request.
    ForgetsTaken,
    /// A card runs a request that it has run already.
    RunsTwice,
    /// An answer is another request's.
    SwapsAnswers,
    /// A record is stored twice.
    StoresTwice,
    /// Cards know no limits of tenants.
    ForgetsLimits,
    /// Cards know no rights of tenants.
    ForgetsRights,
    /// A right that was withdrawn stays.
    KeepsRights,
    /// A key that another host changed stays.
    KeepsOldKey,
    /// A card shows answers whose records are not durable.
    ForgetsRecords,
    /// A card keeps a request of a tenant in flight for ever.
    KeepsInFlight,
    /// Nobody is refused, however many cards die.
    ForgetsDeaths,
    /// Cards wrap under a new master key before all have it.
    SpreadsAtOnce,
    /// A request goes to any card, whether that holds its keys or not.
    IgnoresKeys,
    /// A client keeps its connection when it leaves.
    Stays,
    /// A client stops for ever.
    Hangs,
    /// A client does the same for ever.
    Circles,
    /// A client panics.
    Panics,
    /// A process writes after its death.
    WritesDead,
}

/// What a seed is like.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// Nothing goes wrong: no request may fail, or take long.
    pub calm: bool,
    /// Cards of secure keys.
    pub coprocessors: u32,
    /// Cards of clear keys.
    pub accelerators: u32,
    /// How cards wait.
    pub poll: PollMode,
    /// Programs that ask.
    pub clients: u32,
    /// What each of them does, in number.
    pub tasks: u32,
    /// One step in so many gives up the turn.
    pub steps_a_turn: u32,
    /// Waits end for no reason now and then.
    pub spurious: bool,
    /// Who is woken may run so much later, in nanoseconds.
    pub lag_ns: u64,
    /// One step in so many kills its process; 0 for none.
    pub kill_in: [u32; 4],
    /// One step in so many stops its process; 0 for none.
    pub stop_in: [u32; 4],
    /// Processors that a process may use: clients choose among cards by them.
    pub processors: u64,
    /// Faults that are left.
    pub faults: u32,
    /// Whether some cards answer nonsense.
    pub liars: bool,
    /// Whether memory and descriptors run out for a while.
    pub scarcity: bool,
    /// Whether time jumps.
    pub jumps: bool,
    /// Settings are changed so often.
    pub reloads: u32,
    /// Whether tenants have limits.
    pub limited: bool,
    /// Master keys are changed so often.
    pub master_keys: u32,
    /// Whether the home has no key of its own: an officer loads it, and again each time that a keeper has gone with it.
    pub loaded: bool,
    /// What tenants may do differs, and is changed so often; 0 where all may do everything.
    pub rights: u32,
    /// The key store is one that another host changes, so often; 0 for the home's own.
    pub outside: u32,
    /// Whether answers of cards wait for records of a slow log.
    pub audits: bool,
    /// A tenant tries so often to end cards by its requests; 0 where there is none.
    pub hostile: u32,
    /// What is broken on purpose.
    pub sabotage: Option<Sabotage>,
}

impl Plan {
    /// What this seed is like.
    pub fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x5EED_05EE);
        let calm = random.u32(0..5) == 0;
        // Of each kind of fault, most seeds have none, so that each is also seen without the others.
        let mut odds = |of: u32, one_in: std::ops::Range<u32>| {
            if !calm && random.u32(0..of) == 0 { random.u32(one_in) } else { 0 }
        };
        // Daemon, card, keeper, client: the last two take far fewer steps, or are fewer.
        let kill_in = [odds(3, 100..900), odds(2, 60..900), odds(4, 10..60), odds(4, 200..2_000)];
        let stop_in = [odds(6, 200..900), odds(4, 100..1_200), odds(6, 10..60), odds(5, 100..900)];
        let (liars, scarcity) = (odds(8, 1..2) > 0, odds(5, 1..2) > 0);
        let limited = odds(3, 1..2) > 0;
        let (jumps, reloads) = (odds(5, 1..2) > 0, odds(4, 1..5));
        let poll = match random.u32(0..10) {
            0 => PollMode::Spin,
            1 | 2 => PollMode::Sleep,
            3 => PollMode::Every { interval_us: random.u32(20..3_000) },
            _ => PollMode::Adaptive,
        };
        let mut plan = Self {
            seed,
            calm,
            coprocessors: random.u32(1..5),
            accelerators: random.u32(0..2),
            // Ticks that are far apart are slow without anything going wrong.
            poll: match poll {
                PollMode::Every { interval_us } if calm => {
                    PollMode::Every { interval_us: interval_us.min(300) }
                }
                poll => poll,
            },
            clients: random.u32(1..5),
            tasks: random.u32(3..14),
            steps_a_turn: [1, 3, 8, 30][random.usize(0..4)],
            spurious: !calm && random.bool(),
            lag_ns: if calm { 4_000 } else { [0, 20_000, 2_000_000, 40_000_000][random.usize(0..4)] },
            kill_in,
            stop_in,
            processors: [1, 2, 4, 16][fastrand::Rng::with_seed(seed ^ 0x9120_CE55).usize(0..4)],
            faults: random.u32(1..9),
            liars,
            scarcity,
            jumps,
            reloads,
            limited,
            master_keys: if random.u32(0..3) == 0 { random.u32(1..9) } else { 0 },
            // An operator sets tenants too, and both would not know of each other.
            loaded: false,
            rights: match random.u32(0..3) {
                0 if reloads == 0 && is_tenant(seed) => random.u32(1..12),
                _ => 0,
            },
            outside: if random.u32(0..4) == 0 { random.u32(1..20) } else { 0 },
            audits: random.u32(0..4) == 0,
            hostile: if odds_of_hostile(seed, calm) { random.u32(4..20) } else { 0 },
            sabotage: None,
        };
        // It waits for long, and cards that never sleep would take more steps than a run has.
        if plan.poll == PollMode::Spin {
            plan.hostile = 0;
        }
        // In every other such seed nothing else goes wrong, so that nobody else may notice.
        if plan.hostile > 0 && seed.is_multiple_of(2) {
            (plan.kill_in, plan.stop_in) = ([0; 4], [0; 4]);
            (plan.liars, plan.scarcity, plan.jumps, plan.audits) = (false, false, false, false);
            (plan.reloads, plan.master_keys, plan.rights, plan.outside) = (0, 0, 0, 0);
        }
        // Who changes the key of all hosts makes it first, and wraps it no further.
        if plan.outside > 0 {
            (plan.master_keys, plan.rights) = (0, 0);
        }
        // Drawn apart, as the hostile tenant is: whoever replaces keys, or cards, must not be at it as well.
        let is_alone = plan.hostile == 0 && plan.outside == 0 && plan.reloads == 0;
        let mut random = fastrand::Rng::with_seed(seed ^ 0x10AD_ED00);
        if is_alone && random.u32(0..4) == 0 {
            (plan.loaded, plan.master_keys) = (true, 0);
            // In most of them keeper and cards go, and both often enough that cards come back without.
            if !calm && random.u32(0..4) != 0 {
                (plan.kill_in[1], plan.kill_in[2]) = (random.u32(100..600), random.u32(60..400));
                plan.faults += random.u32(2..8);
                // With more to do they are there when that happens.
                plan.tasks += random.u32(20..50);
            }
        }
        plan
    }

    /// Whether nothing goes wrong but that a tenant's requests end cards.
    pub fn is_only_hostile(&self) -> bool {
        let spared = [Role::Daemon, Role::Card, Role::Keeper, Role::Client].map(|role| self.odds(role));
        self.hostile > 0
            && spared == [(0, 0); 4]
            // With an answer that waits for a record a card dies of another's request.
            && !(self.liars || self.scarcity || self.jumps || self.audits)
            && (self.reloads, self.master_keys, self.rights, self.outside) == (0, 0, 0, 0)
    }

    /// Whether no request of a client may fail: what a hostile tenant ends is others' to serve.
    pub fn fails_nothing(&self) -> bool {
        self.calm || self.is_only_hostile()
    }

    /// The odds that a step kills, and that it stops, a process of this kind.
    pub fn odds(&self, role: Role) -> (u32, u32) {
        let at = match role {
            Role::Daemon => 0,
            Role::Card => 1,
            Role::Keeper => 2,
            Role::Client => 3,
            Role::Operator | Role::Officer | Role::Hostile | Role::Fate => return (0, 0),
        };
        (self.kill_in[at], self.stop_in[at])
    }

    /// Whether nothing holds up daemon and cards for longer than a moment.
    pub fn is_steady(&self) -> bool {
        let goes_on = |role| self.odds(role) == (0, 0);
        goes_on(Role::Daemon) && goes_on(Role::Card) && !self.scarcity && !self.jumps && self.master_keys == 0
    }

    /// Whether one more fault may happen.
    pub fn spend(&mut self, _role: Role) -> bool {
        let may = self.faults > 0;
        self.faults = self.faults.saturating_sub(1);
        may
    }

    /// Whether this process answers nonsense.
    pub fn lies(&self, role: Role, index: usize) -> bool {
        self.liars && role == Role::Card && fastrand::Rng::with_seed(self.seed ^ index as u64).u32(0..3) == 0
    }

    /// How much later somebody runs who is woken, in nanoseconds.
    pub fn delay_ns(&self, random: &mut fastrand::Rng) -> u64 {
        match random.u32(0..8) {
            0 if self.lag_ns > 0 => random.u64(1..=self.lag_ns),
            1..4 if self.lag_ns > 0 => random.u64(1..=self.lag_ns.min(30_000)),
            _ => 0,
        }
    }
}

/// Whether a tenant of this seed ends cards by its requests.
fn odds_of_hostile(seed: u64, calm: bool) -> bool {
    let is_drawn = fastrand::Rng::with_seed(seed ^ 0x4057_11E0).u32(0..3) == 0;
    !calm && is_tenant(seed) && is_drawn
}

/// Whether the clients of this seed show themselves to be tenants.
pub fn is_tenant(seed: u64) -> bool {
    !seed.is_multiple_of(3)
}
