//! Determines what is wrong with a home from the state of its parts. docs/reference/operations.md explains each
//! finding.

use crate::supervise::card::{Card, Phase};
use wire::control::{
    CardState, Finding, FindingKind, HealthState, Outdated, Personality, RegisterRow, Space, health_of,
};
use wire::registers::{HeldRegisters, RegisterSet};

/// With less free space than this, in bytes, logs and key records are about to be refused.
pub const SPACE_LOW: u64 = 64 << 20;
/// Upper bound of findings of one kind that are reported one by one; of the others only the number is told.
const SHOWN_MAX: usize = 8;

/// The state of the parts of a home, as far as the asker may know.
pub struct View<'a> {
    /// The home's cards, as far as the asker may know them.
    pub cards: Vec<CardView>,
    /// Whether the keeper serves.
    pub keeper_serves: bool,
    /// The keeper's registers.
    pub registers: &'a [RegisterRow],
    /// Number of key records; `None` if they were not counted.
    pub records: Option<u64>,
    /// Number of key records that no master key opens; `None` if they were not counted.
    pub records_without_key: Option<u64>,
    /// Processes that run other programs than the installed ones.
    pub outdated: Outdated,
    /// Space on the home's file system; `None` if the asker may not know it.
    pub space: Option<Space>,
    /// Whether the home has sealed master keys, as far as that can be seen.
    pub has_sealed: bool,
    /// Whether the home has a coprocessor that the asker may not use.
    pub hidden_coprocessor: bool,
    /// Why lines for an auditor are not written; `None` if they are, or if the asker may not know it.
    pub audit_trouble: Option<String>,
    /// Whether the daemon is about to end.
    pub stopping: bool,
}

/// The state of one card, from which findings are drawn.
#[derive(Clone, Copy, Debug)]
pub struct CardView {
    /// Index within the home.
    pub index: u32,
    /// Coprocessor or accelerator.
    pub personality: Personality,
    /// State as clients are shown it; a coprocessor that serves never counts as sealed here.
    pub state: CardState,
    /// Whether an administrator told the card to take no requests.
    pub quiesced: bool,
    /// Whether requests go to the card.
    pub serves: bool,
    /// Master keys that the card holds, of the domains that the asker may know.
    pub held: HeldRegisters,
}

impl CardView {
    /// The view of a card to which requests go (`serves`) or not; `None` if the settings have no such card.
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

/// Everything that is wrong with a home, the worst first.
pub fn findings(view: &View<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |finding, text: String| found.push(Finding { finding, text });
    of_what_is_there(view, &mut add);
    missing_kinds(view, &mut add);
    in_order(found)
}

/// Sorts findings, the worst first, and shortens the list ([`shortened`]).
fn in_order(mut found: Vec<Finding>) -> Vec<Finding> {
    found.sort_by_key(|found| (std::cmp::Reverse(found.finding.state()), found.finding));
    shortened(found)
}

/// Findings about the parts that the settings ask for.
fn of_what_is_there(view: &View<'_>, add: &mut impl FnMut(FindingKind, String)) {
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
    keys(view, add);
    if let Some(records) = view.records_without_key.filter(|records| *records != 0) {
        add(
            FindingKind::RecordsWithoutKey,
            format!(
                "{records} key record(s) are under master keys that no register holds (`cryptand status`)"
            ),
        );
    }
    outdated(&view.outdated, add);
    if let Some(space) = view.space.filter(|space| space.free < SPACE_LOW) {
        let mib = space.free >> 20;
        add(
            FindingKind::SpaceLow,
            format!(
                "{mib} MiB are free on the home's file system: records cannot be written once it is full"
            ),
        );
    }
    if let Some(trouble) = &view.audit_trouble {
        add(FindingKind::AuditNotWritten, format!("lines for an auditor are not written: {trouble}"));
    }
}

/// Findings about kinds of cards that the home needs and the settings lack.
fn missing_kinds(view: &View<'_>, add: &mut impl FnMut(FindingKind, String)) {
    let has = |personality| view.cards.iter().any(|card| card.personality == personality);
    let has_keys =
        view.has_sealed || !view.registers.is_empty() || view.records.is_some_and(|records| records != 0);
    if view.cards.is_empty() {
        add(FindingKind::NoCard, format!("there is no card, and nothing is served: {ADD_CARD}"));
    } else if has_keys && !has(Personality::Coprocessor) && !view.hidden_coprocessor {
        let text = "there is no coprocessor, and the home's secure keys cannot be used";
        add(FindingKind::NoCard, format!("{text}: {ADD_CARD}"));
    }
}

/// The command that a finding about missing cards names.
const ADD_CARD: &str = "`cryptand card add --personality coprocessor`";

/// Findings about the master keys.
fn keys(view: &View<'_>, add: &mut impl FnMut(FindingKind, String)) {
    let is_coprocessor = |card: &&CardView| card.personality == Personality::Coprocessor;
    let coprocessors: Vec<&CardView> = view.cards.iter().filter(is_coprocessor).collect();
    if !view.registers.iter().all(|row| row.is_sealed) {
        let text = "master keys in use are in no sealed copy, and lost if the keeper ends: run `cryptand master-key seal` now";
        add(FindingKind::KeysNotSealed, text.into());
    }
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
}

/// The finding about processes that do not run the installed program.
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

/// Replaces the findings of one kind beyond [`SHOWN_MAX`] by one finding that tells their number.
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

/// The findings on one line, for a service manager: the state, the first finding, and how many more there are.
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

/// Why a home that has just been started does not serve; `None` if it does, sealed or not. A kind of card that the
/// settings lack is no reason: such a card can be added later.
pub fn why_not_started(view: &View<'_>) -> Option<String> {
    let mut found = Vec::new();
    of_what_is_there(view, &mut |finding, text| found.push(Finding { finding, text }));
    fatal(&in_order(found))
}

/// The texts of the findings for which a start fails; `None` if there are none.
fn fatal(findings: &[Finding]) -> Option<String> {
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

    /// State and findings of a home with two coprocessors and an accelerator, after this change of its view.
    fn kinds(change: impl FnOnce(&mut View<'_>)) -> (HealthState, Vec<FindingKind>) {
        kinds_with(row(true), change)
    }

    /// As [`kinds`], with a keeper that holds a key of this register.
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
            has_sealed: true,
            hidden_coprocessor: false,
            audit_trouble: None,
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
            (view.has_sealed, view.records) = (false, Some(0));
        });
        assert_eq!(alone, (H::Healthy, vec![]));
        // A tenant that has accelerators alone is not told to add what the home has.
        let of_tenant = kinds(|view| {
            view.cards.retain(|card| card.personality == Personality::Accelerator);
            (view.has_sealed, view.records, view.hidden_coprocessor) = (false, None, true);
        });
        assert_eq!(of_tenant, (H::Healthy, vec![]));
        let unwritten = kinds(|view| view.audit_trouble = Some("audit.log: no space".into()));
        assert_eq!(unwritten, (H::Degraded, vec![K::AuditNotWritten]));
    }

    /// Where a card stands, in the words of the operators' page.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Stands {
        WithKeys,
        WithoutKeys,
        Quiesced,
        Failed,
        Down,
    }

    const STANDS: [Stands; 5] =
        [Stands::WithKeys, Stands::WithoutKeys, Stands::Quiesced, Stands::Failed, Stands::Down];

    fn standing(index: u32, personality: Personality, stands: Stands) -> CardView {
        let held = if stands == Stands::WithKeys { ALL } else { HeldRegisters::NONE };
        let (state, serves) = match stands {
            Stands::WithKeys | Stands::WithoutKeys => (CardState::Ready, true),
            Stands::Quiesced => (CardState::Quiescing, false),
            Stands::Failed => (CardState::Failed, false),
            Stands::Down => (CardState::Created, false),
        };
        CardView { index, personality, state, quiesced: stands == Stands::Quiesced, serves, held }
    }

    /// Compares every combination that settings, processes and officers can bring about with the operators' page. A row
    /// of its table is found exactly when it applies, and a home is healthy only if it does what it is for.
    #[test]
    fn every_combination_of_states_is_told_as_the_operators_page_says() {
        use FindingKind as K;
        let page = include_str!("../../../docs/reference/operations.md");
        let mut coprocessors = vec![vec![]];
        coprocessors.extend(STANDS.map(|one| vec![one]));
        coprocessors.extend(STANDS.iter().flat_map(|one| STANDS.map(|other| vec![*one, other])));
        let accelerators: Vec<Option<Stands>> = [None, Some(Stands::WithoutKeys)]
            .into_iter()
            .chain([Stands::Quiesced, Stands::Failed, Stands::Down].map(Some))
            .collect();
        let registers = [vec![], vec![row(true)], vec![row(false)]];
        let mut told = std::collections::BTreeSet::new();
        for cards in &coprocessors {
            for accelerator in &accelerators {
                for (keeper_serves, rows) in [true, false]
                    .into_iter()
                    .flat_map(|serves| registers.iter().map(move |rows| (serves, rows)))
                {
                    for (records, without_key) in
                        [(None, None), (Some(0), Some(0)), (Some(5), Some(0)), (Some(5), Some(5))]
                    {
                        for has_sealed in [true, false] {
                            let of_cards = cards.iter().map(|stands| (Personality::Coprocessor, *stands));
                            let of_accelerators =
                                accelerator.iter().map(|stands| (Personality::Accelerator, *stands));
                            let all: Vec<(Personality, Stands)> = of_cards.chain(of_accelerators).collect();
                            let view = View {
                                cards: (0..)
                                    .zip(&all)
                                    .map(|(index, (of, stands))| standing(index, *of, *stands))
                                    .collect(),
                                keeper_serves,
                                registers: rows,
                                records,
                                records_without_key: without_key,
                                outdated: Outdated::default(),
                                space: None,
                                has_sealed,
                                hidden_coprocessor: false,
                                audit_trouble: None,
                                stopping: false,
                            };
                            let found = findings(&view);
                            let mut kinds: Vec<K> = found.iter().map(|found| found.finding).collect();
                            kinds.sort_unstable();

                            let count =
                                |which: &[Stands]| cards.iter().filter(|card| which.contains(card)).count();
                            let (keyed, bare) = (count(&[Stands::WithKeys]), count(&[Stands::WithoutKeys]));
                            let has_keys = has_sealed || !rows.is_empty() || records == Some(5);
                            let mut expected = Vec::new();
                            let mut when =
                                |kind, times: usize| expected.extend(std::iter::repeat_n(kind, times));
                            when(K::NoCard, usize::from(!cards.is_empty() && keyed + bare == 0));
                            when(
                                K::NoCard,
                                usize::from(accelerator.is_some_and(|stands| stands != Stands::WithoutKeys)),
                            );
                            when(
                                K::NoCard,
                                usize::from(cards.is_empty() && (accelerator.is_none() || has_keys)),
                            );
                            let of_all = |stands| all.iter().filter(|(_, of)| *of == stands).count();
                            when(K::CardQuiesced, of_all(Stands::Quiesced));
                            when(K::CardFailed, of_all(Stands::Failed));
                            when(K::CardDown, of_all(Stands::Down));
                            when(K::NoKeys, usize::from(keyed == 0 && bare > 0));
                            when(K::CardSealed, if keyed > 0 { bare } else { 0 });
                            when(K::KeeperDown, usize::from(!cards.is_empty() && !keeper_serves));
                            when(K::KeeperSealed, usize::from(keyed > 0 && keeper_serves && rows.is_empty()));
                            when(K::KeysNotSealed, usize::from(rows.iter().any(|row| !row.is_sealed)));
                            when(K::RecordsWithoutKey, usize::from(without_key == Some(5)));
                            expected.sort_unstable();
                            let case = format!(
                                "{all:?} keeper {keeper_serves} {rows:?} {records:?} sealed {has_sealed}"
                            );
                            assert_eq!(kinds, expected, "{case}");

                            let state = health_of(&found);
                            if state == HealthState::Healthy {
                                let is_used = !has_keys || keyed > 0;
                                assert!(
                                    !all.is_empty()
                                        && is_used
                                        && all.len() == keyed + usize::from(accelerator.is_some()),
                                    "{case}"
                                );
                            }
                            // A start fails for what should have come up, not for what the settings do not have.
                            let came_up = all
                                .iter()
                                .all(|(_, stands)| matches!(stands, Stands::WithKeys | Stands::WithoutKeys));
                            if came_up && (keeper_serves || cards.is_empty()) {
                                assert_eq!(why_not_started(&view), None, "{case}");
                            }
                            told.extend(kinds);
                        }
                    }
                }
            }
        }
        for kind in told {
            let row = format!("| `{}` | {} |", kind.name(), kind.state().name());
            assert!(page.contains(&row), "{row}");
        }
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
                has_sealed: records != Some(0),
                hidden_coprocessor: false,
                audit_trouble: None,
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
            records: Some(1),
            has_sealed: true,
            hidden_coprocessor: false,
            audit_trouble: None,
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
            (fatal(&found), line(&found))
        };
        assert_eq!(of(&[]), (None, "healthy".into()));
        let (why, line) = of(&[FindingKind::NoKeys, FindingKind::CardFailed]);
        assert_eq!((why, line.as_str()), (None, "sealed: no-keys (and 1 more: cryptand health)"));
        let (why, line) = of(&[FindingKind::NoCard, FindingKind::KeeperDown]);
        assert_eq!(why.as_deref(), Some("no-card; keeper-down"));
        assert!(line.starts_with("down: no-card"));
    }
}
