//! The published statements about scaling, held against what was measured.
//!
//! Each statement that this house can test is a row of [`TESTS`]: what is compared, at which lengths,
//! and what the figure must be. Every other statement (about parts, limits and set-up of the
//! originals, about services that no code serves yet) has no row. A statement about more processors
//! than this machine has, or about cards that would share processors, is *not testable* and says so; so is
//! one whose runs spread over the figure that decides.

use crate::operation::{Cipher, Direction, Hash, Mac, Operation, RsaForm, RsaKey};
use crate::published::Claim;
use crate::results::Results;
use crate::statistics::fit;
use crate::workload::{Interface, Workload};
use serde::{Deserialize, Serialize};
use wire::control::Personality;
use wire::verb::Verb;

/// Two figures count as equal within this share.
const EQUAL_WITHIN: f64 = 0.05;
/// "Close to N times" is at least this share of N.
const CLOSE_TO_LINEAR: f64 = 0.9;
/// A length sweep is a line where no point lies further off.
const LINE_WITHIN: f64 = 0.15;

/// Lengths that stand for the statements' words.
const SHORT: &[usize] = &[64];
const LONG: &[usize] = &[65_536, 1_048_576];
const NOT_VERY_SHORT: &[usize] = &[1024, 4096, 65_536];
const ANY: &[usize] = &[64, 256, 1024, 4096, 65_536, 1_048_576];
const SOME: &[usize] = &[4096];

/// What became of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The figures bear it out.
    Confirmed,
    /// The figures speak against it.
    Refuted,
    /// This machine, or the spread of its runs, cannot show it; the text says why.
    NotTestable(String),
}

/// A statement held against what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Name of the statement.
    pub id: String,
    /// Where in the published report it stands.
    pub section: String,
    /// What it says.
    pub text: String,
    /// The published figure, where there is one.
    pub published: Option<f64>,
    /// The figure measured here, in the same unit.
    pub measured: Option<f64>,
    /// What is compared, for people.
    pub compared: String,
    /// What became of it.
    pub verdict: Verdict,
}

/// What a figure must be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expect {
    AtLeast(f64),
    AtMost(f64),
    About(f64),
}

impl Expect {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
            Self::About(wanted) => (value / wanted - 1.0).abs() <= EQUAL_WITHIN,
        }
    }

    /// The figure that speaks most against the expectation.
    fn worst(self, figures: Vec<Figure>) -> Option<Figure> {
        let against = |figure: &Figure| match self {
            Self::AtLeast(_) => -figure.value,
            Self::AtMost(_) => figure.value,
            Self::About(wanted) => (figure.value - wanted).abs(),
        };
        figures.into_iter().max_by(|a, b| against(a).total_cmp(&against(b)))
    }

    /// Whether the worst of the figures is what it must be.
    pub fn weigh(self, figures: Vec<Figure>) -> Option<Weighed> {
        let worst = self.worst(figures)?;
        let ends = [worst.value - worst.mad, worst.value, worst.value + worst.mad];
        let holding = ends.into_iter().filter(|end| self.holds(*end)).count();
        Some(Weighed { value: worst.value, holds: [Some(false), None, None, Some(true)][holding], ends })
    }
}

/// A figure with the median distance of its runs from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    pub value: f64,
    pub mad: f64,
}

impl Figure {
    fn exact(value: f64) -> Self {
        Self { value, mad: 0.0 }
    }
}

/// A figure held against an expectation; undecided where its runs spread over the bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighed {
    pub value: f64,
    pub holds: Option<bool>,
    pub ends: [f64; 3],
}

impl Weighed {
    fn in_unit(self, unit: Unit) -> Self {
        Self { value: in_unit(self.value, unit), ends: self.ends.map(|end| in_unit(end, unit)), ..self }
    }
}

/// How a figure is reported: as a ratio, or as per cent of loss or gain.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Ratio,
    LossPct,
    GainPct,
}

/// Processors that a statement is about.
#[derive(Clone, Copy, Debug)]
enum Processors {
    Exactly(usize),
    All,
}

#[derive(Clone, Copy, Debug)]
enum Test {
    /// As many jobs as processors, against one: the loss against linear scaling.
    Scaling {
        operation: Operation,
        interface: Interface,
        lengths: &'static [usize],
        on: Processors,
        loss_pct: Option<f64>,
    },
    /// One operation against another, both with one job in the caller's thread.
    Directions {
        over: Operation,
        under: Operation,
        interface: Interface,
        lengths: &'static [usize],
        expect: Expect,
        unit: Unit,
    },
    /// One interface against another for the same operation.
    Interfaces {
        operations: &'static [Operation],
        lengths: &'static [usize],
        over: (Interface, usize),
        under: (Interface, usize),
        expect: Expect,
    },
    /// Cards and jobs against others; the busy cards need a processor each, and the caller one.
    Cards {
        operations: &'static [Operation],
        lengths: &'static [usize],
        over: (usize, usize),
        under: (usize, usize),
        busy: usize,
        expect: Expect,
        unit: Unit,
    },
    /// One RSA operation against another on one full accelerator.
    Rsa { over: Operation, under: Operation, expect: Expect },
    /// A coprocessor against an accelerator for clear-key RSA.
    Personalities { operation: Operation, expect: Expect },
    /// With one job, rate times latency is one.
    OneJobWaits { operation: Operation },
    /// The processor time of one native job is all of its time.
    Synchronous { operation: Operation, lengths: &'static [usize] },
    /// A length sweep is a start cost and a cost per byte.
    Line { operations: &'static [Operation], interface: Interface },
    /// The start cost is higher through one interface than through another.
    StartCost { operations: &'static [Operation] },
}

const fn enc(cipher: Cipher) -> Operation {
    Operation::cbc(cipher, Direction::Encipher)
}
const fn dec(cipher: Cipher) -> Operation {
    Operation::cbc(cipher, Direction::Decipher)
}
const fn ecb(cipher: Cipher) -> Operation {
    Operation::Cipher { cipher, mode: crate::operation::Mode::Ecb, direction: Direction::Encipher }
}
const fn rsa(bits: u32, form: RsaForm) -> Operation {
    Operation::Rsa { bits, form }
}

const DES: Operation = enc(Cipher::Des);
const TDES: Operation = enc(Cipher::Tdes);
const DES_MAC: Operation = Operation::Mac(Mac::Des);
const SHA1: Operation = Operation::Hash(Hash::Sha1);
const KEY_GENERATE: Operation = Operation::Verb { verb: Verb::KeyGenerate, key: None };
const BULK: &[Operation] = &[DES, TDES, DES_MAC];
const ICSF: &[Operation] = &[DES, TDES, SHA1];
const NATIVE: &[Operation] = &[DES, TDES, DES_MAC, SHA1];
const NONE: &[usize] = &[0];

const fn service(verb: Verb, bits: u32, form: RsaForm) -> Operation {
    Operation::Verb { verb, key: Some(RsaKey { bits, form }) }
}
const SERVICES: &[Operation] = &[
    service(Verb::PkaDecrypt, 512, RsaForm::Crt),
    service(Verb::PkaDecrypt, 1024, RsaForm::Crt),
    service(Verb::PkaDecrypt, 2048, RsaForm::Crt),
    service(Verb::PkaDecrypt, 512, RsaForm::Me),
    service(Verb::PkaDecrypt, 1024, RsaForm::Me),
    service(Verb::PkaEncrypt, 512, RsaForm::Me),
    service(Verb::PkaEncrypt, 1024, RsaForm::Me),
    service(Verb::PkaEncrypt, 2048, RsaForm::Me),
    service(Verb::DigitalSignatureGenerate, 512, RsaForm::Crt),
    service(Verb::DigitalSignatureGenerate, 1024, RsaForm::Crt),
    service(Verb::DigitalSignatureGenerate, 2048, RsaForm::Crt),
    service(Verb::DigitalSignatureVerify, 512, RsaForm::Me),
    service(Verb::DigitalSignatureVerify, 1024, RsaForm::Me),
    service(Verb::SymmetricKeyImport, 512, RsaForm::Crt),
    service(Verb::SymmetricKeyImport, 1024, RsaForm::Crt),
];
const KEYGEN: &[Operation] = &[
    service(Verb::PkaKeyGenerate, 512, RsaForm::Crt),
    service(Verb::PkaKeyGenerate, 1024, RsaForm::Crt),
    service(Verb::PkaKeyGenerate, 2048, RsaForm::Crt),
    service(Verb::PkaKeyGenerate, 512, RsaForm::Me),
    service(Verb::PkaKeyGenerate, 1024, RsaForm::Me),
];

const fn scaling(
    operation: Operation,
    interface: Interface,
    lengths: &'static [usize],
    on: Processors,
    loss_pct: Option<f64>,
) -> Test {
    Test::Scaling { operation, interface, lengths, on, loss_pct }
}
const fn native16(operation: Operation, lengths: &'static [usize]) -> Test {
    scaling(operation, Interface::Native, lengths, Processors::Exactly(16), Some(3.0))
}
const fn facility8(operation: Operation, lengths: &'static [usize], loss_pct: f64) -> Test {
    scaling(operation, Interface::Facility, lengths, Processors::Exactly(8), Some(loss_pct))
}
const fn every(operation: Operation, interface: Interface) -> Test {
    scaling(operation, interface, SOME, Processors::All, None)
}
const fn directions(
    over: Operation,
    under: Operation,
    interface: Interface,
    lengths: &'static [usize],
    expect: Expect,
    unit: Unit,
) -> Test {
    Test::Directions { over, under, interface, lengths, expect, unit }
}
/// Two full cards against one, `busy` cards at work.
const fn cards(
    operations: &'static [Operation],
    lengths: &'static [usize],
    over: (usize, usize),
    under: (usize, usize),
    busy: usize,
    expect: Expect,
) -> Test {
    Test::Cards { operations, lengths, over, under, busy, expect, unit: Unit::Ratio }
}

use Expect::{About, AtLeast, AtMost};
use Interface::{Card, Facility, Native};

const TESTS: &[(&str, Test)] = &[
    ("z990.c.cpacf-every-cp", every(DES, Native)),
    ("z990.c.cpacf-synchronous", Test::Synchronous { operation: DES, lengths: SOME }),
    ("z990.c.cpacf-setup-plus-unit", Test::Line { operations: NATIVE, interface: Native }),
    ("z990.c.icsf-adds-path", Test::StartCost { operations: ICSF }),
    ("z990.c.native-n-cps", every(TDES, Native)),
    ("z990.c.kmc-dea-16cp-loss", native16(DES, NOT_VERY_SHORT)),
    ("z990.c.kmc-dea-decipher", directions(dec(Cipher::Des), DES, Native, ANY, AtLeast(0.98), Unit::LossPct)),
    (
        "z990.c.km-dea-ecb-short",
        directions(ecb(Cipher::Des), DES, Native, SHORT, AtMost(1.08), Unit::GainPct),
    ),
    ("z990.c.km-dea-ecb-long", directions(ecb(Cipher::Des), DES, Native, LONG, About(1.005), Unit::GainPct)),
    ("z990.c.kmc-tdea-16cp-loss", native16(TDES, ANY)),
    (
        "z990.c.kmc-tdea-decipher",
        directions(dec(Cipher::Tdes), TDES, Native, ANY, AtLeast(0.99), Unit::LossPct),
    ),
    ("z990.c.kmac-dea-16cp-loss", native16(DES_MAC, NOT_VERY_SHORT)),
    ("z990.c.klmd-sha1-16cp-loss", native16(SHA1, NOT_VERY_SHORT)),
    (
        "z990.c.icsf-below-native",
        Test::Interfaces {
            operations: ICSF,
            lengths: ANY,
            over: (Facility, 1),
            under: (Native, 1),
            expect: AtMost(1.0),
        },
    ),
    (
        "z990.c.icsf-near-native-long",
        Test::Interfaces {
            operations: ICSF,
            lengths: LONG,
            over: (Facility, 1),
            under: (Native, 1),
            expect: About(1.0),
        },
    ),
    ("z990.c.icsf-des-8cp-loss-short", facility8(DES, SHORT, 15.0)),
    ("z990.c.icsf-des-loss-long", facility8(DES, LONG, 1.0)),
    ("z990.c.icsf-tdes-8cp-loss-short", facility8(TDES, SHORT, 15.0)),
    ("z990.c.icsf-tdes-loss-long", facility8(TDES, LONG, 1.0)),
    ("z990.c.icsf-sha1-8cp-loss-short", facility8(SHA1, SHORT, 15.0)),
    ("z990.c.icsf-sha1-loss-long", facility8(SHA1, LONG, 1.0)),
    ("z990.c.icsf-des-decipher", directions(dec(Cipher::Des), DES, Facility, ANY, About(1.0), Unit::Ratio)),
    (
        "z990.c.icsf-tdes-decipher",
        directions(dec(Cipher::Tdes), TDES, Facility, ANY, About(1.0), Unit::Ratio),
    ),
    ("z990.c.aes-n-cps", every(enc(Cipher::Aes128), Facility)),
    ("z990.c.aes128-encipher-loss-short", facility8(enc(Cipher::Aes128), SHORT, 10.0)),
    ("z990.c.aes128-encipher-loss-long", facility8(enc(Cipher::Aes128), LONG, 1.0)),
    ("z990.c.aes128-decipher-loss-short", facility8(dec(Cipher::Aes128), SHORT, 10.0)),
    ("z990.c.aes128-decipher-loss-long", facility8(dec(Cipher::Aes128), LONG, 1.0)),
    ("z990.c.aes256-encipher-loss-short", facility8(enc(Cipher::Aes256), SHORT, 10.0)),
    ("z990.c.aes256-encipher-loss-long", facility8(enc(Cipher::Aes256), LONG, 1.0)),
    ("z990.c.aes256-decipher-loss-short", facility8(dec(Cipher::Aes256), SHORT, 10.0)),
    ("z990.c.aes256-decipher-loss-long", facility8(dec(Cipher::Aes256), LONG, 1.0)),
    ("z990.c.pcica-one-job-waits", Test::OneJobWaits { operation: rsa(1024, RsaForm::Crt) }),
    (
        "z990.c.pcica-8-jobs-fill",
        Test::Cards {
            operations: &[rsa(1024, RsaForm::Crt)],
            lengths: NONE,
            over: (1, 16),
            under: (1, 8),
            busy: 1,
            expect: AtMost(1.0 + EQUAL_WITHIN),
            unit: Unit::Ratio,
        },
    ),
    (
        "z990.c.pcixcc-below-cpacf",
        Test::Interfaces {
            operations: BULK,
            lengths: ANY,
            over: (Card, 7),
            under: (Native, 1),
            expect: AtMost(1.0),
        },
    ),
    ("z990.c.pcixcc-one-job-idle", cards(&[DES], ANY, (1, 7), (1, 1), 1, AtLeast(1.0))),
    ("z990.c.pcixcc-n-cards", cards(BULK, SOME, (2, 14), (1, 7), 2, AtLeast(2.0 * CLOSE_TO_LINEAR))),
    ("z990.c.pcixcc-tdes-7job-gain-min", cards(&[TDES], &[1_048_576], (1, 7), (1, 1), 1, About(1.3))),
    ("z990.c.pcixcc-tdes-7job-gain-max", cards(&[TDES], SHORT, (1, 7), (1, 1), 1, About(1.5))),
    ("z990.c.pcixcc-mac-7job-gain-min", cards(&[DES_MAC], &[1_048_576], (1, 7), (1, 1), 1, About(1.2))),
    ("z990.c.pcixcc-mac-7job-gain-max", cards(&[DES_MAC], SHORT, (1, 7), (1, 1), 1, About(1.7))),
    (
        "z990.c.pcixcc-sym-n-cards",
        cards(&[KEY_GENERATE], NONE, (2, 14), (1, 7), 2, AtLeast(2.0 * CLOSE_TO_LINEAR)),
    ),
    ("z990.c.pcixcc-pka-n-cards", cards(SERVICES, NONE, (4, 28), (1, 7), 4, AtLeast(4.0 * CLOSE_TO_LINEAR))),
    ("z990.c.cex2c-des-gain-min", cards(&[DES], ANY, (2, 14), (1, 7), 2, AtLeast(1.8))),
    ("z990.c.cex2c-des-gain-max", cards(&[DES], ANY, (2, 14), (1, 7), 2, AtMost(2.0 * (1.0 + EQUAL_WITHIN)))),
    ("z990.c.coprocessor-n-scaling", cards(BULK, SOME, (2, 14), (1, 7), 2, AtLeast(2.0 * CLOSE_TO_LINEAR))),
    (
        "z990.c.cex2c-tdes-1job",
        cards(&[TDES], &[64, 4096, 65_536, 1_048_576], (2, 1), (1, 1), 1, About(0.99)),
    ),
    ("z990.c.cex2c-tdes-1job-256", cards(&[TDES], &[256], (2, 1), (1, 1), 1, About(1.4))),
    ("z990.c.cex2c-tdes-1job-1024", cards(&[TDES], &[1024], (2, 1), (1, 1), 1, About(1.4))),
    ("z990.c.cex2c-tdes-gain-min", cards(&[TDES], ANY, (2, 14), (1, 7), 2, AtLeast(1.86))),
    (
        "z990.c.cex2c-tdes-gain-max",
        cards(&[TDES], ANY, (2, 14), (1, 7), 2, AtMost(1.97 * (1.0 + EQUAL_WITHIN))),
    ),
    ("z990.c.cex2c-mac-1job", cards(&[DES_MAC], ANY, (2, 1), (1, 1), 1, About(0.98))),
    ("z990.c.cex2c-mac-gain", cards(&[DES_MAC], ANY, (2, 14), (1, 7), 2, About(1.8))),
    (
        "z990.c.cex2c-sym-n-features",
        cards(&[KEY_GENERATE], NONE, (2, 14), (1, 7), 2, AtLeast(2.0 * CLOSE_TO_LINEAR)),
    ),
    ("z990.c.cex2c-pka-1job", cards(SERVICES, NONE, (2, 1), (1, 1), 1, About(0.99))),
    ("z990.c.cex2c-pka-gain-min", cards(SERVICES, NONE, (2, 14), (1, 7), 2, AtLeast(1.83))),
    (
        "z990.c.cex2c-pka-gain-max",
        cards(SERVICES, NONE, (2, 14), (1, 7), 2, AtMost(2.0 * (1.0 + EQUAL_WITHIN))),
    ),
    ("z990.c.cex2c-pka-2features", cards(SERVICES, NONE, (4, 28), (2, 14), 4, About(2.0))),
    ("z990.c.cex2c-pka-n-cards", cards(SERVICES, NONE, (4, 28), (1, 7), 4, AtLeast(4.0 * CLOSE_TO_LINEAR))),
    (
        "z990.c.cex2c-keygen-1job-min",
        Test::Cards {
            operations: KEYGEN,
            lengths: NONE,
            over: (2, 1),
            under: (1, 1),
            busy: 1,
            expect: AtMost(0.95),
            unit: Unit::LossPct,
        },
    ),
    (
        "z990.c.cex2c-keygen-1job-max",
        Test::Cards {
            operations: KEYGEN,
            lengths: NONE,
            over: (2, 1),
            under: (1, 1),
            busy: 1,
            expect: AtLeast(0.92),
            unit: Unit::LossPct,
        },
    ),
    (
        "z990.c.cex2c-keygen-2job-min",
        Test::Cards {
            operations: KEYGEN,
            lengths: NONE,
            over: (2, 2),
            under: (1, 1),
            busy: 2,
            expect: AtLeast(1.59),
            unit: Unit::GainPct,
        },
    ),
    (
        "z990.c.cex2c-keygen-2job-max",
        Test::Cards {
            operations: KEYGEN,
            lengths: NONE,
            over: (2, 2),
            under: (1, 1),
            busy: 2,
            expect: AtMost(1.69),
            unit: Unit::GainPct,
        },
    ),
    (
        "ztpf.c.crt-cheaper",
        Test::Rsa { over: rsa(1024, RsaForm::Crt), under: rsa(1024, RsaForm::Me), expect: AtLeast(1.0) },
    ),
    (
        "ztpf.c.cex2c-equals-pcica",
        Test::Personalities { operation: rsa(1024, RsaForm::Crt), expect: About(1.0) },
    ),
    ("lnx.c.cpacf-scales", every(enc(Cipher::Aes128), Native)),
];

fn workload(operation: Operation, interface: Interface, bytes: usize) -> Workload {
    Workload { bytes, interface, ..Workload::of(operation) }
}

fn on_cards(operation: Operation, bytes: usize, (cards, jobs): (usize, usize)) -> Workload {
    // As the published tables have it: secure keys on coprocessors, clear RSA on accelerators.
    let plain = Workload { cards, jobs, ..workload(operation, Card, bytes) };
    Workload { personality: Some(plain.personality()), ..plain }
}

/// Processors that a test runs on, where this machine has them.
fn processors(on: Processors, online: usize) -> Option<usize> {
    match on {
        Processors::Exactly(needed) => (needed <= online).then_some(needed),
        Processors::All => (online >= 2).then_some(online),
    }
}

impl Test {
    /// Pairs of workloads whose rates are compared: over, under. Empty where this machine cannot run
    /// the test, or the test compares no rates.
    fn pairs(&self, online: usize) -> Vec<(Workload, Workload)> {
        let each = |lengths: &[usize], pair: &dyn Fn(usize) -> (Workload, Workload)| {
            lengths.iter().map(|&bytes| pair(bytes)).collect::<Vec<_>>()
        };
        match *self {
            Self::Scaling { operation, interface, lengths, on, .. } => {
                let Some(count) = processors(on, online) else { return Vec::new() };
                each(lengths, &|bytes| {
                    let one = workload(operation, interface, bytes);
                    (Workload { processors: count, jobs: count, ..one.clone() }, one)
                })
            }
            Self::Directions { over, under, interface, lengths, .. } => {
                each(lengths, &|bytes| (workload(over, interface, bytes), workload(under, interface, bytes)))
            }
            Self::Interfaces { operations, lengths, over, under, .. } => {
                let through = |operation, (interface, jobs), bytes| match interface {
                    Card => on_cards(operation, bytes, (1, jobs)),
                    _ => workload(operation, interface, bytes),
                };
                let pairs = operations.iter().flat_map(|&operation| {
                    each(lengths, &|bytes| {
                        (through(operation, over, bytes), through(operation, under, bytes))
                    })
                });
                pairs.collect()
            }
            Self::Cards { operations, lengths, over, under, busy, .. } => {
                if busy >= online {
                    return Vec::new();
                }
                let pairs = operations.iter().flat_map(|&operation| {
                    each(lengths, &|bytes| {
                        (on_cards(operation, bytes, over), on_cards(operation, bytes, under))
                    })
                });
                pairs.collect()
            }
            Self::Rsa { over, under, .. } => vec![(on_cards(over, 0, (1, 8)), on_cards(under, 0, (1, 8)))],
            Self::Personalities { operation, .. } => {
                let accelerator = on_cards(operation, 0, (1, 8));
                let personality = Some(Personality::Coprocessor);
                vec![(Workload { personality, ..accelerator.clone() }, accelerator)]
            }
            Self::OneJobWaits { .. }
            | Self::Synchronous { .. }
            | Self::Line { .. }
            | Self::StartCost { .. } => Vec::new(),
        }
    }

    /// Workloads that the test needs besides its pairs.
    fn singles(&self) -> Vec<Workload> {
        match *self {
            Self::OneJobWaits { operation } => vec![on_cards(operation, 0, (1, 1))],
            Self::Synchronous { operation, lengths } => {
                lengths.iter().map(|&bytes| workload(operation, Native, bytes)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Why this machine cannot show it; none where it can.
    fn not_testable(&self, online: usize) -> Option<String> {
        match *self {
            Self::Scaling { on: Processors::Exactly(needed), .. } if needed > online => {
                Some(format!("needs {needed} processors, this machine has {online}"))
            }
            Self::Scaling { .. } if online < 2 => {
                Some("needs two processors, this machine has one".to_owned())
            }
            Self::Cards { busy, .. } if busy >= online => Some(format!(
                "{busy} busy card{} and a caller need {} processors, this machine has {online}",
                if busy == 1 { "" } else { "s" },
                busy + 1
            )),
            _ => None,
        }
    }

    fn judge(&self, results: &Results, online: usize) -> Option<(Weighed, String)> {
        let ratios = || -> Option<Vec<Figure>> {
            let pairs = self.pairs(online);
            let ratio = |(over, under): &(Workload, Workload)| {
                let ratios = results.ratios(over, under)?;
                Some(Figure { value: ratios.median, mad: ratios.mad })
            };
            pairs.iter().map(ratio).collect::<Option<Vec<_>>>().filter(|ratios| !ratios.is_empty())
        };
        Some(match *self {
            Self::Scaling { lengths, on, loss_pct, .. } => {
                let count = processors(on, online)? as f64;
                let least = loss_pct.map_or(CLOSE_TO_LINEAR, |loss| 1.0 - loss / 100.0) * count;
                let weighed = AtLeast(least).weigh(ratios()?)?;
                let compared = format!("{count} threads against one, {}", lengths_text(lengths));
                let loss = |ratio: f64| (1.0 - ratio / count) * 100.0;
                match loss_pct {
                    None => (weighed, compared),
                    Some(_) => (
                        Weighed { value: loss(weighed.value), ends: weighed.ends.map(loss), ..weighed },
                        compared,
                    ),
                }
            }
            Self::Directions { over, under, lengths, expect, unit, .. } => (
                expect.weigh(ratios()?)?.in_unit(unit),
                format!("{over} against {under}, {}", lengths_text(lengths)),
            ),
            Self::Interfaces { lengths, over, under, expect, .. } => (
                expect.weigh(ratios()?)?,
                format!("{} against {}, {}", over.0, under.0, lengths_text(lengths)),
            ),
            Self::Cards { lengths, over, under, expect, unit, .. } => {
                let side = |(cards, jobs): (usize, usize)| {
                    let plural = |count: usize| if count == 1 { "" } else { "s" };
                    format!("{cards} card{} with {jobs} job{}", plural(cards), plural(jobs))
                };
                let lengths =
                    if lengths == NONE { String::new() } else { format!(", {}", lengths_text(lengths)) };
                let compared = format!("{} against {}{lengths}", side(over), side(under));
                (expect.weigh(ratios()?)?.in_unit(unit), compared)
            }
            Self::Rsa { over, under, expect } => {
                (expect.weigh(ratios()?)?, format!("{over} against {under}, one full card"))
            }
            Self::Personalities { operation, expect } => {
                (expect.weigh(ratios()?)?, format!("{operation} on a coprocessor against an accelerator"))
            }
            Self::OneJobWaits { .. } => {
                let case = results.of(&self.singles()[0])?;
                let product = case.ops_per_s.median * case.p50_ns.median * 1e-9;
                let mad = case.ops_per_s.mad * case.p50_ns.median * 1e-9;
                let weighed = About(1.0).weigh(vec![Figure { value: product, mad }])?;
                (weighed, "rate times median latency of one job".to_owned())
            }
            Self::Synchronous { .. } => {
                let singles = self.singles();
                let shares: Option<Vec<Figure>> = singles
                    .iter()
                    .map(|single| {
                        let case = results.of(single)?;
                        let share = |rate: f64| case.caller_ns * rate * 1e-9 * 100.0;
                        Some(Figure {
                            value: share(case.ops_per_s.median).min(100.0),
                            mad: share(case.ops_per_s.mad),
                        })
                    })
                    .collect();
                let weighed = AtLeast(100.0 * (1.0 - EQUAL_WITHIN)).weigh(shares?)?;
                (weighed, "processor time of one native job as % of its time".to_owned())
            }
            Self::Line { operations, interface } => {
                let errors: Option<Vec<Figure>> = operations
                    .iter()
                    .map(|&operation| {
                        Some(Figure::exact(sweep_fit(results, operation, interface)?.error_max))
                    })
                    .collect();
                let weighed = AtMost(LINE_WITHIN).weigh(errors?)?;
                (weighed, "largest distance of a length from the line, as a share".to_owned())
            }
            Self::StartCost { operations } => {
                let ratios: Option<Vec<Figure>> = operations
                    .iter()
                    .map(|&operation| {
                        let over = sweep_fit(results, operation, Facility)?.start;
                        Some(Figure::exact(over / sweep_fit(results, operation, Native)?.start))
                    })
                    .collect();
                (AtLeast(1.0).weigh(ratios?)?, "start cost of the facility against native".to_owned())
            }
        })
    }
}

fn in_unit(ratio: f64, unit: Unit) -> f64 {
    match unit {
        Unit::Ratio => ratio,
        Unit::LossPct => (1.0 - ratio) * 100.0,
        Unit::GainPct => (ratio - 1.0) * 100.0,
    }
}

fn lengths_text(lengths: &[usize]) -> String {
    match lengths {
        [one] => format!("{one} bytes"),
        [first, .., last] => format!("{first} to {last} bytes"),
        [] => String::new(),
    }
}

/// The line through the six published lengths of an operation with one job.
pub fn sweep_fit(
    results: &Results,
    operation: Operation,
    interface: Interface,
) -> Option<crate::statistics::Fit> {
    let points: Option<Vec<(f64, f64)>> = ANY
        .iter()
        .map(|&bytes| {
            let case = results.of(&workload(operation, interface, bytes))?;
            Some((bytes as f64, 1.0 / case.ops_per_s.median))
        })
        .collect();
    fit(&points?)
}

/// Every workload that the tests of this machine need.
pub fn cases(online: usize) -> Vec<Workload> {
    let pairs = TESTS.iter().flat_map(|(_, test)| test.pairs(online)).flat_map(|(over, under)| [over, under]);
    pairs.chain(TESTS.iter().flat_map(|(_, test)| test.singles())).collect()
}

/// Holds the statements against the results of a machine with this many processors. Statements
/// without a test are left out.
pub fn judge(claims: &[Claim], results: &Results, online: usize) -> Vec<Judged> {
    let judged = claims.iter().filter_map(|claim| {
        let (_, test) = TESTS.iter().find(|(id, _)| *id == claim.id)?;
        let none = (None, String::new());
        let (verdict, (measured, compared)) = match (test.not_testable(online), test.judge(results, online)) {
            (Some(why), _) => (Verdict::NotTestable(why), none),
            (None, None) => (Verdict::NotTestable("its cases were not measured".to_owned()), none),
            (None, Some((weighed, compared))) => {
                let verdict = match weighed.holds {
                    Some(true) => Verdict::Confirmed,
                    Some(false) => Verdict::Refuted,
                    None => {
                        let [low, _, high] = weighed.ends;
                        Verdict::NotTestable(format!("runs spread from {low:.3} to {high:.3}; {compared}"))
                    }
                };
                (verdict, (Some(weighed.value), compared))
            }
        };
        Some(Judged {
            id: claim.id.clone(),
            section: claim.section.clone(),
            text: claim.text.clone(),
            published: claim.value,
            measured,
            compared,
            verdict,
        })
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::claims;
    use crate::report::tests::measurement;
    use crate::results::CaseResult;

    fn results(online: usize, rate: impl Fn(&Workload) -> f64) -> Results {
        let results = cases(online).into_iter().map(|case| {
            let mut run = measurement(rate(&case));
            run.p50_ns = (1e9 / run.ops_per_s) as u64;
            run.processor_s.caller = run.operations as f64 / run.ops_per_s;
            (case.case(), CaseResult::new(&case, &[run]).unwrap())
        });
        Results(results.collect())
    }

    fn verdict(judged: &[Judged], id: &str) -> Verdict {
        judged.iter().find(|judged| judged.id == id).unwrap().verdict.clone()
    }

    /// A machine on which everything scales and the facility costs a start.
    fn ideal(case: &Workload) -> f64 {
        let start = if case.interface == Facility { 2e-6 } else { 1e-7 };
        let one = 1.0 / (start + case.bytes as f64 * 1e-9);
        match case.interface {
            Card => {
                1000.0 / (1.0 + case.bytes as f64 * 1e-6)
                    * if case.jobs > 1 { 1.5 } else { 1.0 }
                    * case.cards.min(case.jobs) as f64
            }
            _ => one * case.processors as f64,
        }
    }

    #[test]
    fn every_test_belongs_to_a_published_statement() {
        let claims = claims();
        for (id, _) in TESTS {
            assert!(claims.iter().any(|claim| claim.id == *id), "{id}");
        }
        // Every statement with a scaling metric is tested, or not testable for a stated reason.
        for claim in claims.iter().filter(|claim| claim.metric.starts_with("scaling")) {
            assert!(TESTS.iter().any(|(id, _)| *id == claim.id), "{}", claim.id);
        }
    }

    #[test]
    fn the_number_of_processors_decides_what_is_testable() {
        let judged = judge(&claims(), &results(2, ideal), 2);
        assert_eq!(verdict(&judged, "z990.c.native-n-cps"), Verdict::Confirmed);
        for id in ["z990.c.kmc-dea-16cp-loss", "z990.c.icsf-des-loss-long", "z990.c.cex2c-des-gain-min"] {
            assert!(
                matches!(verdict(&judged, id), Verdict::NotTestable(why) if why.contains("has 2")),
                "{id}"
            );
        }
        let judged = judge(&claims(), &results(16, ideal), 16);
        for id in [
            "z990.c.kmc-dea-16cp-loss",
            "z990.c.icsf-des-loss-long",
            "z990.c.cex2c-des-gain-min",
            "z990.c.pcixcc-pka-n-cards",
            "z990.c.cex2c-pka-2features",
            "z990.c.cpacf-setup-plus-unit",
            "z990.c.cpacf-synchronous",
            "z990.c.icsf-adds-path",
            "z990.c.icsf-below-native",
            "z990.c.pcica-one-job-waits",
            "z990.c.pcixcc-below-cpacf",
        ] {
            assert_eq!(verdict(&judged, id), Verdict::Confirmed, "{id}");
        }
        assert!(judge(&claims(), &Results::default(), 16).iter().all(|judged| {
            matches!(&judged.verdict, Verdict::NotTestable(why) if why.contains("not measured"))
        }));
    }

    #[test]
    fn runs_that_spread_over_the_bound_decide_nothing() {
        let figures = |value, mad| vec![Figure { value, mad }];
        assert_eq!(AtLeast(1.8).weigh(figures(1.85, 0.1)).unwrap().holds, None);
        assert_eq!(AtLeast(1.8).weigh(figures(1.95, 0.1)).unwrap().holds, Some(true));
        assert_eq!(AtMost(1.0).weigh(figures(1.3, 0.1)).unwrap().holds, Some(false));
        assert_eq!(About(2.0).weigh(figures(2.05, 0.1)).unwrap().holds, None);
        let worst =
            About(1.0).weigh(vec![Figure::exact(1.01), Figure::exact(0.7), Figure::exact(1.2)]).unwrap();
        assert_eq!((worst.value, worst.holds), (0.7, Some(false)));
        assert_eq!(AtLeast(1.0).weigh(Vec::new()).map(|weighed| weighed.value), None);
    }

    #[test]
    fn figures_that_speak_against_a_statement_refute_it() {
        let poor = |case: &Workload| ideal(case) / (case.processors as f64).sqrt();
        let judged = judge(&claims(), &results(2, poor), 2);
        let native = judged.iter().find(|judged| judged.id == "z990.c.native-n-cps").unwrap();
        assert_eq!(native.verdict, Verdict::Refuted);
        assert!((native.measured.unwrap() - 2f64.sqrt()).abs() < 1e-9);
        // Cards that gain nothing from a second job, and are slow with one.
        let judged = judge(&claims(), &results(2, |_| 1000.0), 2);
        assert_eq!(verdict(&judged, "z990.c.pcixcc-tdes-7job-gain-max"), Verdict::Refuted);
    }
}
