//! The metrics, and the source of each.
//!
//! Families of cards have the labels `card` and `personality`; those of tenants also `tenant`, those of verbs
//! also `verb`. Everything is per card, so a restarted card is a counter that restarts. The number of
//! series is bounded: cards by the home, verbs by the verb table, tenants by `--tenants`.

use super::text::{MetricType, Page};
use crate::commands::health::Health;
use crate::watch::{CardLook, Look};
use crate::words::{personality, state};
use facility::observe::{Counts, RowSamples, Snapshot};
use std::collections::BTreeMap;
use std::time::Duration;
use wire::bounds::PIN_FAILURE_ROWS_MAX;
use wire::control::{CardState, FindingKind, HealthState, MasterKeyName, QueueBound, QueueHolders, Status};
use wire::pin::FailureCount;
use wire::tenant::Confinement;

/// Label of the tenants that are not shown by name: those whose account is `tenants` or above.
const OTHERS: &str = "(others)";

/// The page of a reading that took this long; tenants with an account below `tenants` appear by name.
pub fn page(look: &Look, took: Duration, tenants: u32) -> String {
    let mut page = Page::default();
    page.family("cryptand_build_info", MetricType::Gauge, "Version of the program that serves this page.");
    page.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    page.family(
        "cryptand_daemon_up",
        MetricType::Gauge,
        "Whether the daemon answered; cards work on without it.",
    );
    page.sample(&[], f64::from(u8::from(look.trouble.is_none())));
    health(&mut page, look);
    page.family(
        "cryptand_look_seconds",
        MetricType::Gauge,
        "Time that this reading of daemon and cards took.",
    );
    page.sample(&[], took.as_secs_f64());
    page.family(
        "cryptand_tenants_confined",
        MetricType::Gauge,
        "Tenants that cards died with, by what follows: refused (in quarantine), or apart (in passes of their own).",
    );
    for (requests, confinement) in [("refused", Confinement::Refused), ("apart", Confinement::Apart)] {
        let confined = look.status.iter().flat_map(|status| &status.confined);
        let count = confined.filter(|row| row.confinement == confinement).count();
        page.sample(&[("requests", requests)], count as f64);
    }
    if let Some(status) = &look.status {
        queues_refused(&mut page, &status.holders);
        master_keys(&mut page, status);
        pin_failures(&mut page, &status.pin_failures);
    }
    let cards: Vec<Card<'_>> = look.cards.iter().map(Card::of).collect();
    states(&mut page, &cards);
    for (name, kind, help, value) in CARD_FAMILIES {
        page.family(&format!("cryptand_card_{name}"), kind, help);
        for (card, seen) in cards.iter().filter_map(|card| Some((card, card.look.snapshot.as_ref()?))) {
            page.sample(&card.labels(None), value(card.look, seen));
        }
    }
    let all = gather(&cards, |seen| vec![(None, seen.total.clone())]);
    answers(&mut page, "card", &all);
    times(&mut page, "card", &all);
    let names = look.account_names();
    let of_tenants = gather(&cards, |seen| tenant_rows(seen, &names, tenants));
    for (of, all) in [("tenant", of_tenants), ("verb", gather(&cards, verb_rows))] {
        counts(&mut page, of, &all);
        answers(&mut page, of, &all);
        times(&mut page, of, &all);
    }
    page.finish()
}

/// The queues that bounds kept tenants from, of all tenants together: a tenant's name may be another's.
fn queues_refused(page: &mut Page, holders: &QueueHolders) {
    page.family(
        "cryptand_queues_refused_total",
        MetricType::Counter,
        "Queues that the daemon refused because a bound was reached, by bound; threads then share those that their process has.",
    );
    for bound in QueueBound::ALL {
        let of_bound = holders.refused.iter().filter(|refused| refused.bound == bound);
        let times = of_bound.fold(0_u64, |sum, refused| sum.saturating_add(refused.times));
        page.sample(&[("bound", bound.name())], times as f64);
    }
}

/// The counts of wrong PINs.
fn pin_failures(page: &mut Page, count: &FailureCount) {
    page.family(
        "cryptand_pin_failures",
        MetricType::Gauge,
        "Cards, blocks and keys with wrong PINs lately, those of them whose verifications are refused, and keys with a tenth and more of the wrong PINs that are too many.",
    );
    for (state, count) in [("counted", count.counted), ("refused", count.refused), ("near", count.near)] {
        page.sample(&[("state", state)], count as f64);
    }
    page.family(
        "cryptand_pin_failures_max",
        MetricType::Gauge,
        "Cards, blocks and keys that wrong PINs are counted of at most.",
    );
    page.sample(&[], PIN_FAILURE_ROWS_MAX as f64);
    page.family(
        "cryptand_pin_failures_closed",
        MetricType::Gauge,
        "Whether no PIN is verified for anybody: the table of failures is full, or cannot be read.",
    );
    page.sample(&[], f64::from(u8::from(count.is_closed)));
}

/// A card with its labels.
struct Card<'a> {
    look: &'a CardLook,
    index: String,
    personality: &'static str,
}

impl<'a> Card<'a> {
    fn of(look: &'a CardLook) -> Self {
        Self { look, index: look.row.index.to_string(), personality: personality(look.row.personality) }
    }

    fn labels<'b>(&'b self, of: Option<(&'b str, &'b str)>) -> Vec<(&'b str, &'b str)> {
        let own = [("card", self.index.as_str()), ("personality", self.personality)];
        own.into_iter().chain(of).collect()
    }
}

/// Samples of one tenant or verb of a card, with its label; none for the card as a whole.
type Rows = Vec<(Option<(&'static str, String)>, RowSamples)>;

fn tenant_rows(seen: &Snapshot, names: &BTreeMap<u32, String>, tenants: u32) -> Rows {
    let mut rows: Rows = Vec::new();
    let mut others: Option<RowSamples> = None;
    for (account, records) in &seen.accounts {
        match names.get(account) {
            Some(name) if *account < tenants => rows.push((Some(("tenant", name.clone())), records.clone())),
            _ => others.get_or_insert_default().merge(records),
        }
    }
    rows.extend(others.map(|records| (Some(("tenant", OTHERS.to_owned())), records)));
    rows
}

fn verb_rows(seen: &Snapshot) -> Rows {
    let name = |slot: usize| wire::verb::Entry::of_slot(slot).map(|entry| entry.name);
    let rows = seen
        .verbs
        .iter()
        .filter_map(|(slot, records)| Some((Some(("verb", name(*slot)?.to_owned())), records.clone())));
    rows.collect()
}

/// The health of the home, its findings, its last backup, and the space on its file system.
fn health(page: &mut Page, look: &Look) {
    let health = Health::of_look(look);
    page.family(
        "cryptand_health",
        MetricType::Gauge,
        "1 for how well the home serves: healthy, degraded, sealed or down; 0 for the others.",
    );
    for state in HealthState::ALL {
        page.sample(&[("state", state.name())], f64::from(u8::from(state == health.state)));
    }
    page.family(
        "cryptand_findings",
        MetricType::Gauge,
        "What is wrong, by kind: how many findings there are.",
    );
    for kind in FindingKind::ALL {
        let count = health.findings.iter().filter(|found| found.finding == kind).count();
        page.sample(&[("finding", kind.name())], count as f64);
    }
    let status = look.status.as_ref();
    if let Some(status) = status {
        page.family(
            "cryptand_last_backup_timestamp_seconds",
            MetricType::Gauge,
            "When the home was last backed up, in seconds since 1970; 0 for never.",
        );
        page.sample(&[], status.backup_unix_s.unwrap_or(0) as f64);
    }
    if let Some(space) = status.and_then(|status| status.space) {
        page.family("cryptand_home_free_bytes", MetricType::Gauge, "Free space on the home's file system.");
        page.sample(&[], space.free as f64);
        page.family("cryptand_home_size_bytes", MetricType::Gauge, "Size of the home's file system.");
        page.sample(&[], space.total as f64);
    }
}

/// The keeper, its registers, and the records under them, as the daemon reported last.
fn master_keys(page: &mut Page, status: &Status) {
    page.family("cryptand_keeper_up", MetricType::Gauge, "Whether the keeper of the master keys runs.");
    page.sample(&[], f64::from(u8::from(status.keeper_pid.is_some())));
    let rows: Vec<_> =
        status.registers.iter().map(|row| (row, row.domain.to_string(), row.register.name())).collect();
    page.family(
        "cryptand_master_key_loaded",
        MetricType::Gauge,
        "Whether the keeper holds a current master key; no sample for a domain without any: it is sealed.",
    );
    for (row, domain, register) in &rows {
        let loaded = f64::from(u8::from(row.current_pattern.is_some()));
        page.sample(&[("domain", domain), ("register", register)], loaded);
    }
    page.family(
        "cryptand_master_key_sealed",
        MetricType::Gauge,
        "Whether the sealed copy has the master keys in use; 0: they are lost if the keeper ends.",
    );
    for (row, domain, register) in &rows {
        page.sample(&[("domain", domain), ("register", register)], f64::from(u8::from(row.is_sealed)));
    }
    page.family(
        "cryptand_records",
        MetricType::Gauge,
        "Key records by the master key that they are under: current, old, elsewhere (no register holds it), none.",
    );
    for (under, records) in records_by_age(status) {
        page.sample(&[("under", under)], records as f64);
    }
}

/// Key records by the age of their master key.
fn records_by_age(status: &Status) -> [(&'static str, u64); 4] {
    let under = &status.records_under;
    let is_current = |key: &MasterKeyName| {
        let mut rows = status.registers.iter();
        rows.any(|row| {
            row.register == key.register && row.current_pattern.map(|now| now.name()) == Some(key.pattern)
        })
    };
    let sum = |current: bool| {
        under.held.iter().filter(|held| is_current(&held.key) == current).map(|held| held.records).sum()
    };
    [("current", sum(true)), ("old", sum(false)), ("elsewhere", under.elsewhere), ("none", under.keyless)]
}

fn states(page: &mut Page, cards: &[Card<'_>]) {
    page.family(
        "cryptand_card_state",
        MetricType::Gauge,
        "1 for the state that the card is in, 0 for the others.",
    );
    for card in cards {
        for number in 0.. {
            let Some(possible) = CardState::from_number(number) else { break };
            let is_in = f64::from(u8::from(possible == card.look.row.state));
            page.sample(&card.labels(Some(("state", state(possible)))), is_in);
        }
    }
    page.family(
        "cryptand_card_restarts_total",
        MetricType::Counter,
        "Times that the card had to be started again.",
    );
    for card in cards {
        page.sample(&card.labels(None), f64::from(card.look.row.restarts));
    }
}

type OfCard = fn(&CardLook, &Snapshot) -> f64;
type OfCounts = fn(&Counts) -> f64;

/// The families with one sample for each card: name behind `cryptand_card_`, kind, help and value.
const CARD_FAMILIES: [(&str, MetricType, &str, OfCard); 16] = [
    ("domains_with_keys", MetricType::Gauge, "Domains of which the card holds a master key.", |_, seen| {
        seen.registers.domains().count() as f64
    }),
    (
        "generation",
        MetricType::Gauge,
        "Counts the processes that have been this card: its counters begin anew with each.",
        |_, seen| seen.counters.generation as f64,
    ),
    ("queues", MetricType::Gauge, "Queues attached.", |look, _| look.row.queues.into()),
    ("waiting_requests", MetricType::Gauge, "Requests that wait or run.", |_, seen| {
        seen.counters.queue_length as f64
    }),
    ("requests_total", MetricType::Counter, "Requests answered.", |_, seen| seen.counters.requests as f64),
    ("refused_requests_total", MetricType::Counter, "Requests refused before they ran.", |_, seen| {
        seen.counters.refused as f64
    }),
    ("batches_total", MetricType::Counter, "Batches run.", |_, seen| seen.counters.batches as f64),
    (
        "batch_requests_total",
        MetricType::Counter,
        "Sum of the number of requests of each batch; divided by the batches, their fill.",
        |_, seen| seen.total.counts.requests as f64,
    ),
    ("busy_seconds_total", MetricType::Counter, "Time spent on batches.", |_, seen| {
        seen.counters.busy_ns as f64 / 1e9
    }),
    ("polls_total", MetricType::Counter, "Sweeps over the queues while idle.", |_, seen| {
        seen.counters.polls as f64
    }),
    ("sleeps_total", MetricType::Counter, "Times that it went to sleep.", |_, seen| {
        seen.counters.sleeps as f64
    }),
    ("wakeups_total", MetricType::Counter, "Times that its doorbell woke it.", |_, seen| {
        seen.counters.wakeups as f64
    }),
    (
        "offences_total",
        MetricType::Counter,
        "Queues ended because their client broke the rules of the link.",
        |_, seen| seen.counters.offences as f64,
    ),
    ("received_bytes_total", MetricType::Counter, "Payload taken in.", |_, seen| {
        seen.counters.bytes_in as f64
    }),
    ("sent_bytes_total", MetricType::Counter, "Payload given out.", |_, seen| seen.counters.bytes_out as f64),
    ("tenants", MetricType::Gauge, "Tenants that the card's process has served or refused.", |_, seen| {
        seen.accounts.len() as f64
    }),
];

/// The counters of each tenant of a card: name behind `cryptand_tenant_`, whether `cryptand_verb_` has it too, help and
/// value.
const COUNT_FAMILIES: [(&str, bool, &str, OfCounts); 7] = [
    ("requests_total", true, "Requests answered.", |counts| counts.requests as f64),
    ("refused_requests_total", false, "Requests refused before they ran.", |counts| counts.refused as f64),
    ("batches_total", false, "Batches that held at least one of its requests.", |counts| {
        counts.batches as f64
    }),
    (
        "batch_requests_total",
        false,
        "Sum of the number of requests of each of these batches, others' included.",
        |counts| counts.fill_sum as f64,
    ),
    ("busy_seconds_total", true, "Its share of the time spent on batches, by estimated cost.", |counts| {
        counts.busy_ns as f64 / 1e9
    }),
    ("received_bytes_total", true, "Payload taken in.", |counts| counts.bytes_in as f64),
    ("sent_bytes_total", true, "Payload given out.", |counts| counts.bytes_out as f64),
];

fn counts(page: &mut Page, of: &str, all: &Gathered<'_>) {
    for (name, _, help, value) in COUNT_FAMILIES.iter().filter(|family| family.1 || of == "tenant") {
        page.family(&format!("cryptand_{of}_{name}"), MetricType::Counter, help);
        for (card, label, records) in all {
            page.sample(&labels(card, label), value(&records.counts));
        }
    }
}

/// Answers by return code, of cards, tenants or verbs.
fn answers(page: &mut Page, of: &str, all: &Gathered<'_>) {
    const ANSWERED: &str = "Requests answered, by the return code of the answer.";
    page.family(&format!("cryptand_{of}_answers_total"), MetricType::Counter, ANSWERED);
    for (card, label, records) in all {
        for (code, count) in records.counts.answers() {
            let code = code.to_string();
            let mut labels = labels(card, label);
            labels.push(("return_code", &code));
            page.sample(&labels, count as f64);
        }
    }
}

/// Waiting and service times of cards, tenants or verbs: histograms, and the longest of each.
fn times(page: &mut Page, of: &str, all: &Gathered<'_>) {
    const QUEUE: &str = "From a request's submission, as its client says, to the start of the pass.";
    const SERVICE: &str = "From the start of the pass to its end; every request of a batch takes as long.";
    const QUEUE_LONGEST: &str = "The longest such time since the card's process began.";
    const SERVICE_LONGEST: &str = "The longest pass since the card's process began.";
    for (name, help, is_queue) in [("queue", QUEUE, true), ("service", SERVICE, false)] {
        page.family(&format!("cryptand_{of}_{name}_seconds"), MetricType::Histogram, help);
        for (card, label, records) in all {
            let times = if is_queue { &records.queue } else { &records.service };
            page.histogram(&labels(card, label), times);
        }
    }
    for (name, help, is_queue) in [("queue", QUEUE_LONGEST, true), ("service", SERVICE_LONGEST, false)] {
        page.family(&format!("cryptand_{of}_{name}_longest_seconds"), MetricType::Gauge, help);
        for (card, label, records) in all {
            let times = if is_queue { &records.queue } else { &records.service };
            page.sample(&labels(card, label), times.longest_ns().unwrap_or(0) as f64 / 1e9);
        }
    }
}

type Gathered<'a> = Vec<(&'a Card<'a>, Option<(&'static str, String)>, RowSamples)>;

fn gather<'a>(cards: &'a [Card<'a>], rows: impl Fn(&Snapshot) -> Rows) -> Gathered<'a> {
    let mut all = Vec::new();
    for card in cards {
        let Some(seen) = &card.look.snapshot else { continue };
        all.extend(rows(seen).into_iter().map(|(label, records)| (card, label, records)));
    }
    all
}

fn labels<'a>(card: &'a Card<'_>, label: &'a Option<(&'static str, String)>) -> Vec<(&'a str, &'a str)> {
    card.labels(label.as_ref().map(|(name, value)| (*name, value.as_str())))
}
