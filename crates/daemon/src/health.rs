//! Determines what is wrong with a home from the state of its parts. docs/operations.md explains each finding.

use crate::supervise::card::{Card, Phase};
use wire::control::{
    CardState, Finding, FindingKind, HealthState, Outdated, Personality, RegisterRow, Space, health_of,
};
use wire::registers::{HeldRegisters, RegisterSet};

/// With less free space than this, in bytes, logs and key records are about to be refused.
pub const SPACE_LOW: u64 = 64 << 20;
/// Most findings of one kind that are reported one by one; of the others, only the number.
const SHOWN_MAX: usize = 8;

/// The state of the parts of a home, as far as the asker may know.
pub struct View<'a> {
    /// The cards.
    pub cards: Vec<CardView>,
    /// Whether the keeper serves.
    pub keeper_serves: bool,
    /// The keeper's registers.
    pub registers: &'a [RegisterRow],
    /// Key records; none where they were not counted.
    pub records: Option<u64>,
    /// Those that no master key opens; none where they were not counted.
    pub records_without_key: Option<u64>,
    /// Processes that run other programs than the installed ones.
    pub outdated: Outdated,
    /// Room where the home lies; none where it is not to be told.
    pub space: Option<Space>,
    /// Whether the daemon is about to end.
    pub stopping: bool,
}

/// Where one card stands.
#[derive(Clone, Copy, Debug)]
pub struct CardView {
    /// Index within the home.
    pub index: u32,
    /// What it is for.
    pub personality: Personality,
    /// As clients are shown it; a coprocessor's that serves is never sealed here.
    pub state: CardState,
    /// Whether it may take no requests since a person said so.
    pub quiesced: bool,
    /// Whether requests go to it.
    pub serves: bool,
    /// Master keys that it holds, of the domains that may be known.
    pub held: HeldRegisters,
}

impl CardView {
    /// Of a card to which requests go, or do not.
    pub fn of(card: &Card, serves: bool, may_see: impl Fn(u16) -> bool) -> Option<Self> {
        let specification = card.wanted.as_ref()?;
        let state = match card.phase {
            Phase::Broken => CardState::Failed,
            Phase::Serving | Phase::Stopping(_) => card.state,
            Phase::Down(_) | Phase::Starting(_) | Phase::Adopting(_) => CardState::Created,
        };
        let held = card.held();
        let seen = held.domains().filter(|domain| may_see(*domain));
        let held = seen.fold(HeldRegisters::NONE, |seen, domain| seen.with(domain, held.of(domain)));
        let (index, personality, quiesced) = (card.index, specification.personality, card.quiesced);
        Some(Self { index, personality, state, quiesced, serves, held })
    }

    fn name(&self) -> String {
        match self.personality {
            Personality::Accelerator => format!("accelerator {}", self.index),
            Personality::Coprocessor => format!("coprocessor {}", self.index),
        }
    }
}

/// Everything that is wrong, the worst first.
pub fn findings(view: &View<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |finding, text: String| found.push(Finding { finding, text });
    if view.stopping {
        add(FindingKind::Stopping, "the daemon was told to stop, and waits for its cards to end".into());
    }
    for (personality, name) in
        [(Personality::Coprocessor, "coprocessor"), (Personality::Accelerator, "accelerator")]
    {
        let mut of_kind = view.cards.iter().filter(|card| card.personality == personality).peekable();
        if of_kind.peek().is_some() && !of_kind.any(|card| card.serves) {
            add(FindingKind::NoCard, format!("no {name} serves: requests for one wait, and then fail"));
        }
    }
    for card in view.cards.iter().filter(|card| !card.serves) {
        let name = card.name();
        match card.state {
            CardState::Failed => add(
                FindingKind::CardFailed,
                format!("{name} failed its self-check: look at its log, then `cryptand reload`"),
            ),
            CardState::Zeroized => {
                add(FindingKind::CardFailed, format!("{name} has lost its secrets: `cryptand reload`"));
            }
            _ if card.quiesced => add(
                FindingKind::CardQuiesced,
                format!("{name} takes no requests: `cryptand card resume {}` ends that", card.index),
            ),
            _ => add(FindingKind::CardDown, format!("{name} does not serve: it is being restarted")),
        }
    }
    keys(view, &mut add);
    if let Some(records) = view.records_without_key.filter(|records| *records != 0) {
        add(
            FindingKind::RecordsWithoutKey,
            format!(
                "{records} key record(s) are under master keys that no register holds (`cryptand status`)"
            ),
        );
    }
    outdated(&view.outdated, &mut add);
    if let Some(space) = view.space.filter(|space| space.free < SPACE_LOW) {
        let mib = space.free >> 20;
        add(
            FindingKind::SpaceLow,
            format!(
                "{mib} MiB are free on the home's file system: records cannot be written once it is full"
            ),
        );
    }
    found.sort_by_key(|found| (std::cmp::Reverse(found.finding.state()), found.finding));
    shortened(found)
}

/// What is wrong with the master keys.
fn keys(view: &View<'_>, add: &mut impl FnMut(FindingKind, String)) {
    let is_coprocessor = |card: &&CardView| card.personality == Personality::Coprocessor;
    let coprocessors: Vec<&CardView> = view.cards.iter().filter(is_coprocessor).collect();
    let Some(first) = coprocessors.first() else { return };
    let serving: Vec<&&CardView> = coprocessors.iter().filter(|card| card.serves).collect();
    let all = serving.iter().fold(0, |all, card| all | card.held.bits());
    let any = HeldRegisters::from_bits(all);
    if !view.keeper_serves {
        let text = format!("the keeper does not serve: {} gets no keys if it starts", first.name());
        add(FindingKind::KeeperDown, text);
    }
    if any.is_empty() {
        if !serving.is_empty() {
            // Where there are records, new keys would not open them.
            let or_new =
                if view.records == Some(0) { ", or `cryptand master-key load` for new ones" } else { "" };
            add(FindingKind::NoKeys, format!("no coprocessor holds a master key: `cryptand unseal`{or_new}"));
        }
    } else {
        let keeper_has_keys = view.registers.iter().any(|row| row.current_pattern.is_some());
        if view.keeper_serves && !keeper_has_keys {
            let text = "the keeper holds no master keys, but cards do: `cryptand unseal`, or a card that ends restarts without keys";
            add(FindingKind::KeeperSealed, text.into());
        }
        for card in serving {
            if card.held.is_empty() {
                let text = format!("{} holds no master key, others do: `cryptand unseal`", card.name());
                add(FindingKind::CardSealed, text);
            } else if any.domains().any(|domain| card.held.of(domain) != any.of(domain)) {
                let missing: Vec<String> = any
                    .domains()
                    .filter(|domain| card.held.of(*domain) != any.of(*domain))
                    .map(|domain| format!("{domain} ({})", missing(any.of(domain), card.held.of(domain))))
                    .collect();
                let text = format!(
                    "{} lacks master keys that others hold, of domain {}: `cryptand unseal`",
                    card.name(),
                    missing.join(", ")
                );
                add(FindingKind::CardLacksKeys, text);
            }
        }
    }
    if !view.registers.iter().all(|row| row.is_sealed) {
        let text = "master keys in use are in no sealed copy, and lost if the keeper ends: run `cryptand master-key seal` now";
        add(FindingKind::KeysNotSealed, text.into());
    }
}

/// What runs an older program than is installed.
fn outdated(outdated: &Outdated, add: &mut impl FnMut(FindingKind, String)) {
    let mut who: Vec<String> = outdated.cards.iter().map(|card| format!("card {card}")).collect();
    who.extend(outdated.keeper.then(|| "the keeper".to_owned()));
    who.extend(outdated.daemon.then(|| "the daemon".to_owned()));
    if !who.is_empty() {
        let text = format!("not the installed program: {}; `cryptand upgrade` replaces them", who.join(", "));
        add(FindingKind::OlderProgram, text);
    }
}

fn missing(any: RegisterSet, held: RegisterSet) -> String {
    let names = any.iter().filter(|register| !held.contains(*register)).map(|register| register.name());
    names.collect::<Vec<_>>().join(", ")
}

/// With those of one kind beyond [`SHOWN_MAX`] as their number.
fn shortened(found: Vec<Finding>) -> Vec<Finding> {
    let mut shown: Vec<Finding> = Vec::new();
    for of_kind in found.chunk_by(|a, b| a.finding == b.finding) {
        let (one_by_one, rest) = of_kind.split_at(of_kind.len().min(SHOWN_MAX));
        shown.extend_from_slice(one_by_one);
        if let Some(one) = rest.first() {
            shown.push(Finding { finding: one.finding, text: format!("and {} more like these", rest.len()) });
        }
    }
    shown
}

/// On one line, for a service manager.
pub fn line(findings: &[Finding]) -> String {
    let state = health_of(findings);
    match findings {
        [] => state.name().to_owned(),
        [one] => format!("{}: {}", state.name(), one.text),
        [one, rest @ ..] => {
            format!("{}: {} (and {} more: cryptand health)", state.name(), one.text, rest.len())
        }
    }
}

/// Why a home that has just been started does not serve; none if it does, sealed or not.
pub fn why_not_started(findings: &[Finding]) -> Option<String> {
    let is_fatal = |found: &&Finding| {
        found.finding.state() == HealthState::Down || found.finding == FindingKind::KeeperDown
    };
    let texts: Vec<&str> = findings.iter().filter(is_fatal).map(|found| found.text.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::{MasterKeyPattern, NewState, Register};

    const ALL: HeldRegisters = HeldRegisters::NONE.with(0, RegisterSet::ALL);

    fn card(index: u32, personality: Personality) -> CardView {
        let held = if personality == Personality::Coprocessor { ALL } else { HeldRegisters::NONE };
        CardView { index, personality, state: CardState::Ready, quiesced: false, serves: true, held }
    }

    fn row(is_sealed: bool) -> RegisterRow {
        RegisterRow {
            domain: 0,
            register: Register::Aes,
            new_state: NewState::Empty,
            new_pattern: None,
            current_pattern: Some(MasterKeyPattern::new(Register::Sym, [1; 16])),
            old_pattern: None,
            is_sealed,
        }
    }

    /// What is wrong with two coprocessors and an accelerator after this change.
    fn kinds(change: impl FnOnce(&mut View<'_>)) -> (HealthState, Vec<FindingKind>) {
        kinds_with(row(true), change)
    }

    /// The same where the keeper holds a key of this register.
    fn kinds_with(row: RegisterRow, change: impl FnOnce(&mut View<'_>)) -> (HealthState, Vec<FindingKind>) {
        let rows = [row];
        let cards = vec![
            card(0, Personality::Coprocessor),
            card(1, Personality::Coprocessor),
            card(2, Personality::Accelerator),
        ];
        let space = Some(Space { free: SPACE_LOW, total: 1 << 40 });
        let mut view = View {
            cards,
            keeper_serves: true,
            registers: &rows,
            records: Some(1),
            records_without_key: Some(0),
            outdated: Outdated::default(),
            space,
            stopping: false,
        };
        change(&mut view);
        let found = findings(&view);
        assert!(found.iter().all(|found| !found.text.contains('\n')), "{found:?}");
        (health_of(&found), found.iter().map(|found| found.finding).collect())
    }

    #[test]
    fn every_state_of_a_part_is_found_and_no_other() {
        use FindingKind as K;
        use HealthState as H;
        let down = |card: &mut CardView, state| (card.state, card.serves) = (state, false);
        assert_eq!(kinds(|_| ()), (H::Healthy, vec![]));
        assert_eq!(kinds(|view| view.stopping = true), (H::Down, vec![K::Stopping]));
        let failed = kinds(|view| down(&mut view.cards[0], CardState::Failed));
        assert_eq!(failed, (H::Degraded, vec![K::CardFailed]));
        assert_eq!(kinds(|view| down(&mut view.cards[0], CardState::Zeroized)), failed);
        let created = kinds(|view| down(&mut view.cards[1], CardState::Created));
        assert_eq!(created, (H::Degraded, vec![K::CardDown]));
        let quiesced = kinds(|view| {
            down(&mut view.cards[1], CardState::Quiescing);
            view.cards[1].quiesced = true;
        });
        assert_eq!(quiesced, (H::Degraded, vec![K::CardQuiesced]));
        let accelerator = kinds(|view| down(&mut view.cards[2], CardState::Failed));
        assert_eq!(accelerator, (H::Down, vec![K::NoCard, K::CardFailed]));
        let none = kinds(|view| view.cards.iter_mut().for_each(|card| down(card, CardState::Created)));
        assert_eq!(none, (H::Down, vec![K::NoCard, K::NoCard, K::CardDown, K::CardDown, K::CardDown]));
        let sealed = kinds(|view| {
            view.cards.iter_mut().for_each(|card| card.held = HeldRegisters::NONE);
            view.registers = &[];
        });
        assert_eq!(sealed, (H::Sealed, vec![K::NoKeys]));
        let one = kinds(|view| view.cards[0].held = HeldRegisters::NONE);
        assert_eq!(one, (H::Degraded, vec![K::CardSealed]));
        let some = kinds(|view| view.cards[0].held = ALL.with(0, RegisterSet::of(&[Register::Sym])));
        assert_eq!(some, (H::Degraded, vec![K::CardLacksKeys]));
        let gone = kinds(|view| (view.keeper_serves, view.registers) = (false, &[]));
        assert_eq!(gone, (H::Degraded, vec![K::KeeperDown]));
        assert_eq!(kinds(|view| view.registers = &[]), (H::Degraded, vec![K::KeeperSealed]));
        assert_eq!(kinds_with(row(false), |_| ()), (H::Degraded, vec![K::KeysNotSealed]));
        let lost = kinds(|view| view.records_without_key = Some(1));
        assert_eq!(lost, (H::Degraded, vec![K::RecordsWithoutKey]));
        let old = kinds(|view| view.outdated = Outdated { daemon: true, keeper: false, cards: vec![1] });
        assert_eq!(old, (H::Degraded, vec![K::OlderProgram]));
        let full = kinds(|view| view.space = Some(Space { free: SPACE_LOW - 1, total: 1 << 40 }));
        assert_eq!(full, (H::Degraded, vec![K::SpaceLow]));
        // A home without coprocessors needs no keeper and no keys.
        let alone = kinds(|view| {
            view.cards.retain(|card| card.personality == Personality::Accelerator);
            (view.keeper_serves, view.registers) = (false, &[]);
        });
        assert_eq!(alone, (H::Healthy, vec![]));
    }

    #[test]
    fn new_keys_are_offered_only_to_a_home_without_records() {
        for (records, offers) in [(None, false), (Some(0), true), (Some(1), false)] {
            let mut sealed = card(0, Personality::Coprocessor);
            sealed.held = HeldRegisters::NONE;
            let view = View {
                cards: vec![sealed],
                keeper_serves: true,
                registers: &[],
                records,
                records_without_key: None,
                outdated: Outdated::default(),
                space: None,
                stopping: false,
            };
            let found = findings(&view);
            assert_eq!(found[0].finding, FindingKind::NoKeys);
            assert!(found[0].text.contains("`cryptand unseal`"), "{found:?}");
            assert_eq!(found[0].text.contains("master-key load"), offers, "{found:?}");
        }
    }

    #[test]
    fn many_findings_of_a_kind_are_counted() {
        let cards: Vec<CardView> = (0..64)
            .map(|index| CardView {
                serves: index == 0,
                state: CardState::Created,
                ..card(index, Personality::Coprocessor)
            })
            .collect();
        let rows = [row(true)];
        let view = View {
            cards,
            keeper_serves: true,
            registers: &rows,
            records_without_key: None,
            outdated: Outdated::default(),
            space: None,
            stopping: false,
        };
        let found = findings(&view);
        assert_eq!(found.len(), SHOWN_MAX + 1);
        assert!(found[SHOWN_MAX].text.starts_with("and 55 more"), "{found:?}");
    }

    #[test]
    fn a_sealed_home_has_started_and_one_without_cards_or_keeper_has_not() {
        let of = |kinds: &[FindingKind]| {
            let found: Vec<_> =
                kinds.iter().map(|kind| Finding { finding: *kind, text: kind.name().into() }).collect();
            (why_not_started(&found), line(&found))
        };
        assert_eq!(of(&[]), (None, "healthy".into()));
        let (why, line) = of(&[FindingKind::NoKeys, FindingKind::CardFailed]);
        assert_eq!((why, line.as_str()), (None, "sealed: no-keys (and 1 more: cryptand health)"));
        let (why, line) = of(&[FindingKind::NoCard, FindingKind::KeeperDown]);
        assert_eq!(why.as_deref(), Some("no-card; keeper-down"));
        assert!(line.starts_with("down: no-card"));
    }
}
