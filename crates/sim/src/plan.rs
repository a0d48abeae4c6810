//! The content of a seed: how many processes of each kind, how they wait, and which faults may happen.

use wire::control::PollMode;

/// Kind of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The daemon: the control plane.
    Daemon,
    /// A card.
    Card,
    /// The keeper of the master keys.
    Keeper,
    /// A client program, which sends requests.
    Client,
    /// A program of the home's owner that changes settings.
    Operator,
    /// A program of an officer, who changes master keys.
    Officer,
    /// A hostile tenant's program, whose requests kill cards.
    Hostile,
    /// The actor that kills, stops and starts the others; no fault strikes it.
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

/// Upper bound of the threads of a client, and about that of all clients where nothing goes wrong.
const THREADS_MAX: u32 = 8;
const THREADS_CALM_MAX: u32 = 8;

/// A fault of the code itself, put in to show that the oracle sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// Cards do not wake clients that wait for an answer.
    LosesWakes,
    /// Clients do not ring sleeping cards.
    LosesRings,
    /// A client does not see that a dead card had taken its request.
    ForgetsTaken,
    /// A card runs a request that it has run already.
    RunsTwice,
    /// A request gets the answer of another request.
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
    /// No tenant is quarantined, however many cards die.
    ForgetsDeaths,
    /// Cards wrap under a new master key before all have it.
    SpreadsAtOnce,
    /// A request goes to any card, whether that holds its keys or not.
    IgnoresKeys,
    /// A client keeps its connection after its end.
    Stays,
    /// A thread that ends keeps its place among the threads of its process.
    KeepsPlaces,
    /// A card wakes one of the threads that wait for any of their requests.
    WakesOne,
    /// A client stops for ever.
    Hangs,
    /// A client repeats the same steps for ever.
    Circles,
    /// A client panics.
    Panics,
    /// A process writes after its death.
    WritesDead,
}

/// The content of a seed.
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
    /// Number of client programs.
    pub clients: u32,
    /// Number of tasks of each client.
    pub tasks: u32,
    /// Threads that each client has at a time.
    pub threads: u32,
    /// One step in this many gives up the turn.
    pub steps_a_turn: u32,
    /// Waits end for no reason now and then.
    pub spurious: bool,
    /// Longest delay from a wake-up until the woken actor runs, in nanoseconds.
    pub lag_ns: u64,
    /// One step in this many kills its process, for daemon, card, keeper and client; 0 for none.
    pub kill_in: [u32; 4],
    /// One step in this many stops its process, for daemon, card, keeper and client; 0 for none.
    pub stop_in: [u32; 4],
    /// Processors that a process may use: clients choose among cards by them.
    pub processors: u64,
    /// Number of faults that may still happen.
    pub faults: u32,
    /// Whether some cards answer nonsense.
    pub liars: bool,
    /// Whether memory and descriptors run out for a while.
    pub scarcity: bool,
    /// Whether time jumps.
    pub jumps: bool,
    /// Number of changes of the settings.
    pub reloads: u32,
    /// Whether tenants have limits.
    pub limited: bool,
    /// Number of changes of the master keys.
    pub master_keys: u32,
    /// Whether the home has no key of its own: an officer loads it, again whenever a keeper ended.
    pub loaded: bool,
    /// Number of changes of the tenants' rights, which differ; 0 if all tenants may do everything.
    pub rights: u32,
    /// Number of changes that another host makes to a shared key store; 0 for the home's own store.
    pub outside: u32,
    /// Whether answers of cards wait for records of a slow log.
    pub audits: bool,
    /// Number of times that a hostile tenant tries to kill cards; 0 for no such tenant.
    pub hostile: u32,
    /// The fault that is put into the code.
    pub sabotage: Option<Sabotage>,
}

impl Plan {
    /// The plan of this seed.
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
            threads: 1,
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
            // An operator sets tenants as well, and would undo what the officer of rights sets.
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
        // The hostile tenant waits for long, and cards that never sleep would take more steps than a run has.
        if plan.poll == PollMode::Spin {
            plan.hostile = 0;
        }
        // In every other seed with a hostile tenant nothing else goes wrong: no other client may notice the tenant.
        if plan.hostile > 0 && seed.is_multiple_of(2) {
            (plan.kill_in, plan.stop_in) = ([0; 4], [0; 4]);
            (plan.liars, plan.scarcity, plan.jumps, plan.audits) = (false, false, false, false);
            (plan.reloads, plan.master_keys, plan.rights, plan.outside) = (0, 0, 0, 0);
        }
        // The other host makes its keys once, and does not wrap them under a new master key.
        if plan.outside > 0 {
            (plan.master_keys, plan.rights) = (0, 0);
        }
        // Drawn apart, like the hostile tenant: nothing else may replace keys or cards in such a seed.
        let is_alone = plan.hostile == 0 && plan.outside == 0 && plan.reloads == 0;
        let mut random = fastrand::Rng::with_seed(seed ^ 0x10AD_ED00);
        if is_alone && random.u32(0..4) == 0 {
            (plan.loaded, plan.master_keys) = (true, 0);
            // In most of these seeds keeper and cards are killed, both so often that cards start without a master key.
            if !calm && random.u32(0..4) != 0 {
                (plan.kill_in[1], plan.kill_in[2]) = (random.u32(100..600), random.u32(60..400));
                plan.faults += random.u32(2..8);
                // With more tasks the clients still run when that happens.
                plan.tasks += random.u32(20..50);
            }
        }
        // Drawn apart as well. All threads have one clock, on which the steps of each take time: where each answer has
        // a time limit, they are few.
        let mut random = fastrand::Rng::with_seed(seed ^ 0x7112_EAD5);
        if random.u32(0..3) == 0 {
            let most = if calm { THREADS_CALM_MAX / plan.clients } else { THREADS_MAX };
            plan.threads = random.u32(2..=THREADS_MAX).min(most.max(2));
        }
        plan
    }

    /// Whether nothing goes wrong except that a hostile tenant kills cards.
    pub fn is_only_hostile(&self) -> bool {
        let spared = [Role::Daemon, Role::Card, Role::Keeper, Role::Client].map(|role| self.odds(role));
        self.hostile > 0
            && spared == [(0, 0); 4]
            // If an answer waits for a record, a card may die with another tenant's request.
            && !(self.liars || self.scarcity || self.jumps || self.audits)
            && (self.reloads, self.master_keys, self.rights, self.outside) == (0, 0, 0, 0)
    }

    /// Whether no request of a client may fail: other cards serve the requests of a card that a hostile tenant kills.
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

    /// Takes one of the faults that are left; false if none is left.
    pub fn spend(&mut self, _role: Role) -> bool {
        let may = self.faults > 0;
        self.faults = self.faults.saturating_sub(1);
        may
    }

    /// Whether this process answers nonsense.
    pub fn lies(&self, role: Role, index: usize) -> bool {
        self.liars && role == Role::Card && fastrand::Rng::with_seed(self.seed ^ index as u64).u32(0..3) == 0
    }

    /// How much later a woken actor runs, in nanoseconds.
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
