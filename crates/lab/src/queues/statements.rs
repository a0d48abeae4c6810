//! The published statements about queues and tenants, held against what the experiments gave.
//!
//! Statements whose figure hangs on the originals' processors being full - six PCICA or four PCIXCC cards
//! kept four processors busy - have no row: timed cards take the processors' part out.

use super::models::{Model, PRIVATE};
use super::shared::{self, Queue, gain};
use super::{Experiment, Outcomes, QueueOutcome, balance, jobs, tenants, waiting};
use crate::experiment::judged::{Expect, Figure, Judged};
use crate::published::Claim;
use Expect::{About, AtLeast, AtMost};
use Model::{Pcica, PcixccZvm as Pcixcc};

/// Utilisation from which a card counts as full.
const FULL: f64 = 0.95;
/// A load is spread over all of n cards where each did at least this share of an n-th.
const SPREAD: f64 = 0.5;
/// A measured rate is not above a limit that it exceeds by no more than this share.
const ABOVE: f64 = 1.02;

/// The test of a statement.
struct Test {
    figures: Vec<Figure>,
    expect: Expect,
    /// Factor of the reported figure: 100 for per cent.
    unit: f64,
    compared: String,
}

type Make = fn(&Outcomes) -> Option<Test>;

const TESTS: &[(&str, Make)] = &[
    ("zvm.c.shared-all-cards", |all| spread(all, Queue::Limited)),
    ("zvm.c.shared-1guest-limit", one_guest_limit),
    ("zvm.c.shared-pcixcc1-over-pcica1", |all| models(all, Queue::Window)),
    ("zvm.c.shared-pcica-flat", |all| {
        let ratio = cards_over_one(all, Pcica, 6, Queue::Window)?;
        test(vec![ratio], About(1.0), "6 PCICA over 1 PCICA, 8 in flight, z/VM's interval")
    }),
    ("zvm.c.shared-pcixcc-grows", |all| {
        let ratios = [2, 4].into_iter().filter_map(|cards| cards_over_one(all, Pcixcc, cards, Queue::Window));
        test(ratios.collect(), AtLeast(1.0), "2 and 4 PCIXCC over 1, 8 in flight, z/VM's interval")
    }),
    ("zvm.c.shared-pcixcc-not-full", |all| {
        let figures = utilisations(all, Pcixcc, &[2, 4, 6], Queue::Window);
        percent(figures, AtMost(FULL), "card utilisation, 2 PCIXCC and more, 8 in flight, z/VM's interval")
    }),
    ("zvm.c.shared-many-guests-full", |all| {
        let many = tenants::PUBLISHED.into_iter().filter_map(|(model, cards)| {
            all.of(Experiment::Tenants, &tenants::name(model, cards, 30))
                .map(|one| Figure::of(&one.utilisation))
        });
        percent(many.collect(), AtLeast(FULL), "card utilisation, 30 tenants on 6 PCICA and on 2 PCIXCC")
    }),
    ("zvm.c.dedicated-all-cards", |all| spread(all, Queue::Own)),
    ("zvm.c.dedicated-max-rate", |all| {
        let cards = &shared::CARDS;
        let figures = utilisations(all, Pcica, cards, Queue::Own).into_iter();
        let figures = figures.chain(utilisations(all, Pcixcc, cards, Queue::Own)).collect();
        percent(figures, AtLeast(FULL), "utilisation of cards of its own, 1 to 6")
    }),
    ("zvm.c.dedicated-pcixcc1-over-pcica1", |all| models(all, Queue::Own)),
    ("zvm.c.dedicated-pcixcc2-scaling", |all| {
        test(vec![cards_over_one(all, Pcixcc, 2, Queue::Own)?], About(2.0), "2 PCIXCC of its own over 1")
    }),
    ("zvm.c.dedicated-over-shared", |all| {
        let each = shared::MODELS.into_iter().flat_map(|model| shared::CARDS.map(|cards| (model, cards)));
        let gains = each.filter_map(|(model, cards)| gain(all, model, cards, Queue::Window));
        let figures = gains.map(|gain| Figure::of(&gain)).collect();
        test(figures, AtLeast(1.0), "own over shared (8 in flight, z/VM's interval), every configuration")
    }),
    ("zvm.c.dedicated-ratio-min", |all| {
        let gain = Figure::of(&gain(all, Pcixcc, 1, Queue::Window)?);
        test(vec![gain], About(1.036), "1 PCIXCC, own over shared (8 in flight, z/VM's interval)")
    }),
    ("zvm.c.dedicated-ratio-min-util", |all| {
        let figures = utilisations(all, Pcixcc, &[1], Queue::Window);
        percent(figures, About(0.978), "card utilisation, 1 PCIXCC, 8 in flight, z/VM's interval")
    }),
    ("zvm.c.dedicated-ratio-max-util", |all| {
        let figures = utilisations(all, Pcica, &[6], Queue::Window);
        percent(figures, About(0.13), "card utilisation, 6 PCICA, 8 in flight, z/VM's interval")
    }),
    ("zvm.c.30g-over-1g", |all| {
        let ratios = tenants::PUBLISHED.into_iter().filter_map(|(model, cards)| {
            let of = |guests| all.of(Experiment::Tenants, &tenants::name(model, cards, guests));
            Some(Figure::of(&of(30)?.over(of(1)?)?))
        });
        test(ratios.collect(), AtLeast(1.0), "30 tenants over 1, 8 in flight each")
    }),
    ("zvm.c.pcixcc2-30g-card-bound", |all| {
        let outcome = all.of(Experiment::Tenants, &tenants::name(Pcixcc, 2, 30))?;
        percent(
            vec![Figure::of(&outcome.utilisation)],
            AtLeast(FULL),
            "card utilisation, 30 tenants on 2 PCIXCC",
        )
    }),
    ("ztpf.c.balance-50-50", |all| {
        let outcome = all.of(Experiment::Balance, balance::BOTH_SHARED)?;
        let shares = outcome.each.iter().flat_map(|each| each.shares.values()).map(Figure::of);
        percent(shares.collect(), About(0.5), "each system's share on each of two shared cards")
    }),
    ("ztpf.c.prefers-dedicated", |all| {
        let outcome = all.of(Experiment::Balance, balance::ONE_SHARED)?;
        let on_shared = outcome.each.get(balance::SERVER)?.shares.get(&balance::SHARED_CARD)?;
        let ratio = |share: f64| (1.0 - share) / share.max(1e-3);
        let value = ratio(on_shared.median);
        let mad = value - ratio(on_shared.median + on_shared.mad);
        test(
            vec![Figure { value, mad }],
            AtLeast(1.0),
            "the server's operations on its own card over the shared one",
        )
    }),
    ("z990.c.pcica-48-96", |all| {
        let outcome = all.of(Experiment::Jobs, &jobs::name(jobs::On::Twelve, 96))?;
        let figures = vec![Figure::of(&outcome.utilisation)];
        Some(Test {
            unit: 8.0,
            ..test(figures, AtLeast(FULL), "8 jobs for each of 12 cards, times their utilisation")?
        })
    }),
    ("lnx.c.poll-off-limit", |all| {
        let rates = ticking(all, 1).map(|one| Figure::of(&one.ops_per_s)).collect();
        test(rates, AtMost(100.0 * ABOVE), "one connection, answers looked for every 10 ms")
    }),
    ("lnx.c.poll-off-tick", |all| {
        let seconds =
            |one: &QueueOutcome| Figure { value: one.p50_ns.median * 1e-9, mad: one.p50_ns.mad * 1e-9 };
        test(
            ticking(all, 1).map(seconds).collect(),
            About(0.01),
            "median latency of one connection, in seconds",
        )
    }),
    ("lnx.c.poll-gain-low-load", |all| {
        // The gain of adaptive waiting over ticks with one connection, over the gain with eight.
        let ratios = waiting::CARDS.into_iter().filter_map(|card| {
            let of = |mode, count| all.of(Experiment::Waiting, &waiting::name(card, mode, count));
            let gain = |count| of("adaptive", count)?.over(of("every 10 ms", count)?);
            let (one, eight) = (gain(1)?, gain(8)?);
            let mad = (one.mad / one.median + eight.mad / eight.median) * one.median / eight.median;
            Some(Figure { value: one.median / eight.median, mad })
        });
        test(ratios.collect(), AtLeast(1.0), "gain of adaptive waiting over ticks, 1 connection against 8")
    }),
];

/// Judges the statements by the outcomes. Statements without a test, or whose cases did not run, are left out.
pub(crate) fn judge(claims: &[Claim], outcomes: &Outcomes) -> Vec<Judged> {
    let judged = claims.iter().filter_map(|claim| {
        let (_, make) = TESTS.iter().find(|(id, _)| *id == claim.id)?;
        let Test { figures, expect, unit, compared } = make(outcomes)?;
        let weighed = expect.weigh(figures)?.map(|value| value * unit);
        Some(Judged::weighed(claim, &weighed, compared))
    });
    judged.collect()
}

fn test(figures: Vec<Figure>, expect: Expect, compared: &str) -> Option<Test> {
    let compared = format!("{compared} (timed cards)");
    (!figures.is_empty()).then_some(Test { figures, expect, unit: 1.0, compared })
}

fn percent(figures: Vec<Figure>, expect: Expect, compared: &str) -> Option<Test> {
    Some(Test { unit: 100.0, ..test(figures, expect, compared)? })
}

fn of(all: &Outcomes, model: Model, cards: usize, queue: Queue) -> Option<&QueueOutcome> {
    all.of(Experiment::Shared, &shared::name(model, cards, queue))
}

fn utilisations(all: &Outcomes, model: Model, cards: &[usize], queue: Queue) -> Vec<Figure> {
    cards.iter().filter_map(|&cards| Some(Figure::of(&of(all, model, cards, queue)?.utilisation))).collect()
}

fn cards_over_one(all: &Outcomes, model: Model, cards: usize, queue: Queue) -> Option<Figure> {
    Some(Figure::of(&of(all, model, cards, queue)?.over(of(all, model, 1, queue)?)?))
}

/// One PCIXCC card against one PCICA card.
fn models(all: &Outcomes, queue: Queue) -> Option<Test> {
    let ratio = of(all, Pcixcc, 1, queue)?.over(of(all, Pcica, 1, queue)?)?;
    let compared = match queue {
        Queue::Own => "1 PCIXCC of its own over 1 PCICA of its own",
        _ => "1 PCIXCC over 1 PCICA, 8 in flight, z/VM's interval",
    };
    test(vec![Figure::of(&ratio)], AtLeast(1.0), compared)
}

/// The smallest work of a card, as a share of an equal part for each.
fn spread(all: &Outcomes, queue: Queue) -> Option<Test> {
    let each = shared::MODELS.into_iter().flat_map(|model| [2, 4, 6].map(|cards| (model, cards)));
    let least = each.filter_map(|(model, cards)| {
        let shares = &of(all, model, cards, queue)?.each.first()?.shares;
        let least = shares.values().min_by(|a, b| a.median.total_cmp(&b.median))?;
        let least = if shares.len() < cards { Figure { value: 0.0, mad: 0.0 } } else { Figure::of(least) };
        Some(Figure { value: least.value * cards as f64, mad: least.mad * cards as f64 })
    });
    test(least.collect(), AtLeast(SPREAD), "share of the least used of several cards over an equal share")
}

/// The rate of a tenant with eight requests in flight over the rate that eight queues, or the cards, permit.
fn one_guest_limit(all: &Outcomes) -> Option<Test> {
    let each = shared::MODELS.into_iter().flat_map(|model| shared::CARDS.map(|cards| (model, cards)));
    let ratios = each.filter_map(|(model, cards)| {
        let rate = &of(all, model, cards, Queue::Limited)?.ops_per_s;
        let rates = model.rates(PRIVATE)?;
        let by_queues = f64::from(shared::VIRTUAL_QUEUES) * rates.one_job;
        let allowed = by_queues.min(cards as f64 * rates.full);
        Some(Figure { value: rate.median / allowed, mad: rate.mad / allowed })
    });
    let compared = "rate over the lower of 8 / service time and the cards' full rate, 8 in flight";
    Some(Test { expect: AtMost(ABOVE), ..test(ratios.collect(), About(1.0), compared)? })
}

/// Outcomes of ticks with this many connections.
fn ticking(all: &Outcomes, connections: usize) -> impl Iterator<Item = &QueueOutcome> {
    let name = move |card| waiting::name(card, "every 10 ms", connections);
    waiting::CARDS.into_iter().filter_map(move |card| all.of(Experiment::Waiting, &name(card)))
}
