//! The published cards as timed cards: the time of a request alone, and the number of requests that run side by side.
//!
//! A card is known by two published rates of an operation: with one job, which is the reciprocal of what a
//! request takes, and with as many jobs as fill it. Their ratio is the parallelism. For RSA with 1024 bits:
//!
//! | card | operation | one job | full | rows |
//! |---|---|---|---|---|
//! | PCICA | private, CRT | 205 | 1093 | `z990.4.4.pka.pkd-crt-1024.1c1j`, `.1c8j` |
//! | PCICA | public | 457 | 3526 | `z990.4.4.pka.pke-1024.1c1j`, `.1c8j` |
//! | PCIXCC | private, CRT | 600 | 1084 | `z990.4.5.3.pka.pkd-crt-1024.1c1j`, `.1c7j` |
//! | PCIXCC | public | 847 | 1076 | `z990.4.5.3.pka.pke-1024.1c1j`, `.1c7j` |
//! | PCIXCC under z/VM | private, CRT | 600 | 1188 | as above; full: one card at 99.9 % gives the 1186.46 handshakes of `zvm.t3.pcixcc1` |
//! | PCIXCC under z/VM | public | 847 | 1179 | full: no row, PCIXCC's in the proportion of the private operation |
//! | CEX2C | private, CRT | 590 | 1035 | `z990.5.2.3.pka.pkd-crt-1024.cex2c`; full: four cards at 97.45 % give the 4035 handshakes of `z990.5.3.2.ssl-304.cex2c4-rc4-md5` |
//! | CEX2A | private, CRT | 610 | 3250 | full: `lnx.ssl.cex2a.etr`, first reached with 16 connections; one job: no row, PCICA's parallelism |
//! | CEX2C | public | 864 | 1027 | `z990.5.2.3.pka.pke-1024.cex2c`; full: no row, PCIXCC's in the proportion of the private operation |
//!
//! The same paces hold for a clear key and for one under a label: the originals' servers had clear keys.
//!
//! Every one of them queues up to 8 requests, "finished but uncollected ones included"
//! (`z990.c.pcica-queue-depth`, `-pcixcc-`, `-cex2c-`).

use crate::load::operation::{Operation, RsaForm};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Requests that a published card holds.
pub const DEPTH: usize = 8;
/// The private operation of the experiments.
pub const PRIVATE: Operation = Operation::Rsa { bits: 1024, form: RsaForm::Crt };
/// The public operation of the experiments.
pub const PUBLIC: Operation = Operation::Rsa { bits: 1024, form: RsaForm::Public };
/// Verbs that timed cards have a pace for, with their operations.
const VERBS: [(&str, Operation); 5] = [
    ("clear-rsa-private", PRIVATE),
    ("clear-rsa-public", PUBLIC),
    ("tls-premaster", PRIVATE),
    ("digital-signature-generate", PRIVATE),
    ("pka-encrypt", PUBLIC),
];

/// A published card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Accelerator of the z990, two on a feature.
    Pcica,
    /// Coprocessor of the z990.
    Pcixcc,
    /// PCIXCC as guests of z/VM used it, for clear keys past the secure-key services.
    PcixccZvm,
    /// The coprocessor after PCIXCC, two on a feature.
    Cex2c,
    /// The cards of CEX2C's feature as accelerators.
    Cex2a,
}

/// Operations a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// With one job.
    pub one_job: f64,
    /// Of a full card.
    pub full: f64,
}

impl Model {
    /// Every model.
    pub const ALL: [Self; 5] = [Self::Pcica, Self::Pcixcc, Self::PcixccZvm, Self::Cex2c, Self::Cex2a];

    /// The name in cases.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pcica => "pcica",
            Self::Pcixcc => "pcixcc",
            Self::PcixccZvm => "pcixcc-zvm",
            Self::Cex2c => "cex2c",
            Self::Cex2a => "cex2a",
        }
    }

    /// The name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Pcica => "PCICA",
            Self::Pcixcc | Self::PcixccZvm => "PCIXCC",
            Self::Cex2c => "CEX2C",
            Self::Cex2a => "CEX2A",
        }
    }

    /// The published rates of one card; none for operations other than [`PRIVATE`] and, but for CEX2A, [`PUBLIC`].
    pub fn rates(self, operation: Operation) -> Option<Rates> {
        let (one_job, full) = match (self, operation) {
            (Self::Pcica, PRIVATE) => (205.0, 1093.0),
            (Self::Pcica, PUBLIC) => (457.0, 3526.0),
            (Self::Pcixcc, PRIVATE) => (600.0, 1084.0),
            (Self::Pcixcc, PUBLIC) => (847.0, 1076.0),
            (Self::PcixccZvm, PRIVATE) => (600.0, 1188.0),
            (Self::PcixccZvm, PUBLIC) => (847.0, 1179.0),
            (Self::Cex2c, PRIVATE) => (590.0, 1035.0),
            (Self::Cex2c, PUBLIC) => (864.0, 1027.0),
            (Self::Cex2a, PRIVATE) => (610.0, 3250.0),
            _ => return None,
        };
        Some(Rates { one_job, full })
    }
}

/// A timed card of a rig.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimedCard {
    /// The card whose rates it has.
    pub model: Model,
    /// Divisor of the model's speed, so that more cards fit on two processors.
    pub slower: u32,
    /// Answers become visible at multiples of this interval, in microseconds; 0 for as soon as they are due.
    pub poll_us: u32,
}

impl TimedCard {
    /// A card as published.
    pub const fn of(model: Model) -> Self {
        Self { model, slower: 1, poll_us: 0 }
    }

    /// The rates of the card: those of its model over `slower`.
    pub fn rates(self, operation: Operation) -> Option<Rates> {
        let rates = self.model.rates(operation)?;
        let by = f64::from(self.slower.max(1));
        Some(Rates { one_job: rates.one_job / by, full: rates.full / by })
    }
}

/// The text of timings for the program of timed cards: the first of `cards` has the index `first`. A card without a
/// timing answers at once.
pub fn timing_text(first: u32, cards: &[Option<TimedCard>]) -> String {
    let mut text = String::from("# Timings of the cards of a throw-away home.\n");
    for (index, card) in (first..).zip(cards) {
        let Some(card) = card else { continue };
        let paces = VERBS.iter().filter_map(|(verb, operation)| Some((*verb, card.rates(*operation)?)));
        write_card(&mut text, index, card.poll_us, paces);
    }
    text
}

/// The text of timings for one card, the first, whose private operations have these rates: for forms and lengths of
/// keys that were published separately.
pub fn timing_text_of(rates: Rates) -> String {
    let mut text = String::from("# Timing of the card of a throw-away home.\n");
    let private = VERBS.iter().filter(|(_, operation)| *operation == PRIVATE);
    write_card(&mut text, 0, 0, private.map(|(verb, _)| (*verb, rates)));
    text
}

fn write_card<'a>(
    text: &mut String,
    index: u32,
    poll_us: u32,
    paces: impl Iterator<Item = (&'a str, Rates)>,
) {
    let _ =
        write!(text, "\n[[card]]\nindex = {index}\ndepth = {DEPTH}\npoll_us = {poll_us}.0\n[card.verbs]\n");
    for (verb, rates) in paces {
        let (service_us, parallelism) = (1e6 / rates.one_job, rates.full / rates.one_job);
        let _ = writeln!(text, "{verb} = {{ service_us = {service_us:?}, parallelism = {parallelism:?} }}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::measurements;

    fn row(id: &str) -> f64 {
        measurements().iter().find(|row| row.id() == id).unwrap().value.unwrap()
    }

    #[test]
    fn the_rates_are_those_of_the_published_rows() {
        for (model, operation, table, name, jobs) in [
            (Model::Pcica, PRIVATE, "z990.4.4.pka", "pkd-crt-1024", 8),
            (Model::Pcica, PUBLIC, "z990.4.4.pka", "pke-1024", 8),
            (Model::Pcixcc, PRIVATE, "z990.4.5.3.pka", "pkd-crt-1024", 7),
            (Model::Pcixcc, PUBLIC, "z990.4.5.3.pka", "pke-1024", 7),
        ] {
            let rates = model.rates(operation).unwrap();
            assert_eq!(rates.one_job, row(&format!("{table}.{name}.1c1j.ops")));
            assert_eq!(rates.full, row(&format!("{table}.{name}.1c{jobs}j.ops")));
        }
        let (private, public) = (Model::Cex2c.rates(PRIVATE).unwrap(), Model::Cex2c.rates(PUBLIC).unwrap());
        assert_eq!(private.one_job, row("z990.5.2.3.pka.pkd-crt-1024.cex2c.ops"));
        assert_eq!(public.one_job, row("z990.5.2.3.pka.pke-1024.cex2c.ops"));
        let handshakes = row("z990.5.3.2.ssl-304.cex2c4-rc4-md5.etr") / 4.0;
        let full = handshakes / row("z990.5.3.2.ssl-304.cex2c4-rc4-md5.card") * 100.0;
        assert_eq!(private.full, full.round());
        let accelerator = Model::Cex2a.rates(PRIVATE).unwrap();
        assert_eq!(accelerator.full, row("lnx.ssl.cex2a.etr"));
        let pcica = Model::Pcica.rates(PRIVATE).unwrap();
        assert_eq!(accelerator.one_job, (accelerator.full * pcica.one_job / pcica.full).round());
        let older = (Model::Pcixcc.rates(PRIVATE).unwrap(), Model::Pcixcc.rates(PUBLIC).unwrap());
        assert_eq!(public.full, (older.1.full * private.full / older.0.full).round());
        let guests = (Model::PcixccZvm.rates(PRIVATE).unwrap(), Model::PcixccZvm.rates(PUBLIC).unwrap());
        assert_eq!(guests.0.full, (row("zvm.t3.pcixcc1.tx") / row("zvm.t3.pcixcc1.card") * 100.0).round());
        assert_eq!(guests.1.full, (older.1.full * guests.0.full / older.0.full).round());
        assert_eq!((guests.0.one_job, guests.1.one_job), (older.0.one_job, older.1.one_job));
        assert_eq!(Model::Pcica.rates("sha1".parse().unwrap()), None);
    }

    #[test]
    fn a_full_card_runs_no_more_than_it_holds() {
        for model in Model::ALL {
            for rates in [PRIVATE, PUBLIC].into_iter().filter_map(|operation| model.rates(operation)) {
                let parallelism = rates.full / rates.one_job;
                assert!((1.0..=DEPTH as f64).contains(&parallelism), "{model:?} {parallelism}");
            }
        }
    }

    #[test]
    fn timings_are_written_for_timed_cards_alone() {
        let slow = TimedCard { slower: 4, poll_us: 1500, ..TimedCard::of(Model::Pcica) };
        let text = timing_text(1, &[Some(slow), None, Some(TimedCard::of(Model::Pcixcc))]);
        assert_eq!(text.matches("[[card]]").count(), 2);
        assert!(text.contains("index = 1\ndepth = 8\npoll_us = 1500.0\n") && text.contains("index = 3\n"));
        assert!(text.contains(&format!("service_us = {:?}", 1e6 / 51.25)), "{text}");
        assert_eq!(slow.rates(PRIVATE).unwrap().full, 1093.0 / 4.0);
    }
}
