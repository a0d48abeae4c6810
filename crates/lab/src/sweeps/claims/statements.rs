//! Which statements are tested, and how: the rows of `data/tests.csv`.
//!
//! | column | holds |
//! |---|---|
//! | `test` | what is compared, see [`What`] |
//! | `operations` | their names, or that of a group in `data/groups.csv` |
//! | `lengths` | of the text, in bytes; `any` is the six published ones |
//! | `over`, `under` | the two sides: an interface with jobs, or cards with jobs |
//! | `needs` | processors; of cards, how many are busy, each of which needs one beside the caller |
//! | `expect` | what the ratio must be: `>=`, `<=` or about (`~`); of scaling, of as many times as processors |
//! | `unit` | how the ratio is reported: as it is, per cent of loss or gain, or as a share in per cent |

use crate::experiment::judged::Expect;
use crate::kit::records;
use crate::load::Interface;
use crate::load::operation::Operation;
use clap::ValueEnum;
use serde::Deserialize;
use std::sync::LazyLock;

const ROWS: &str = include_str!("../../../data/tests.csv");
const GROUPS: &str = include_str!("../../../data/groups.csv");
/// The lengths of the published tables.
pub(super) const LENGTHS: [usize; 6] = [64, 256, 1024, 4096, 65_536, 1_048_576];

/// The kind of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum What {
    /// As many jobs as processors, over one job.
    Scaling,
    /// One operation over another.
    Operations,
    /// One interface over another, for the same operation.
    Interfaces,
    /// Some cards and jobs over others.
    Cards,
    /// A coprocessor over an accelerator, for clear-key RSA.
    Personalities,
    /// One job waits for each answer: rate times latency is one.
    OneJobWaits,
    /// The time of one native job is all processor time.
    Synchronous,
    /// The times of a length sweep lie on a line: a start cost and a cost per byte.
    Line,
    /// The start cost is higher through one interface than through another.
    StartCost,
}

/// The unit of a reported ratio.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Unit {
    #[serde(rename = "")]
    Ratio,
    Loss,
    Gain,
    Share,
}

impl Unit {
    pub fn of(self, ratio: f64) -> f64 {
        match self {
            Self::Ratio => ratio,
            Self::Loss => (1.0 - ratio) * 100.0,
            Self::Gain => (ratio - 1.0) * 100.0,
            Self::Share => ratio * 100.0,
        }
    }
}

/// A side: how an operation is reached, and by how many jobs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub interface: Interface,
    pub cards: usize,
    pub jobs: usize,
}

/// A row of `data/tests.csv`.
#[derive(Debug)]
pub(super) struct Test {
    pub id: String,
    pub what: What,
    pub operations: Vec<Operation>,
    pub lengths: Vec<usize>,
    pub over: Side,
    pub under: Side,
    /// Number of processors or busy cards needed; none for all processors of the machine.
    pub needs: Option<usize>,
    pub expect: Expect,
    pub unit: Unit,
}

/// The fields of a row, as text.
#[derive(Deserialize)]
struct Fields {
    id: String,
    test: What,
    operations: String,
    lengths: String,
    over: String,
    under: String,
    needs: String,
    expect: String,
    unit: Unit,
}

/// All rows. They are part of the program, and a test reads them.
pub(super) static TESTS: LazyLock<Vec<Test>> = LazyLock::new(|| {
    let rows = records::<Fields>(ROWS).map(|row| {
        let id = row.id.clone();
        Test::read(row).unwrap_or_else(|| panic!("the test of {id} is well formed"))
    });
    rows.collect()
});

impl Test {
    fn read(row: Fields) -> Option<Self> {
        let group = records::<(String, String)>(GROUPS).find(|(name, _)| *name == row.operations);
        let operations = group.map_or(row.operations, |(_, operations)| operations);
        let mut lengths = row.lengths.split_whitespace().map(str::parse).collect::<Result<Vec<_>, _>>();
        if row.lengths == "any" {
            lengths = Ok(LENGTHS.to_vec());
        }
        Some(Self {
            id: row.id,
            what: row.test,
            operations: operations.split_whitespace().map(|name| name.parse().ok()).collect::<Option<_>>()?,
            lengths: lengths.ok()?,
            over: Side::read(&row.over)?,
            under: Side::read(&row.under)?,
            needs: row.needs.parse().ok(),
            expect: Expect::read(&row.expect)?,
            unit: row.unit,
        })
    }
}

impl Side {
    /// Reads `card 7` (an interface and jobs) or `2 14` (cards and jobs); empty text is one native job. None for any
    /// other text.
    fn read(text: &str) -> Option<Self> {
        let (first, jobs) = text.split_once(' ').unwrap_or((text, "1"));
        let jobs = jobs.parse().ok()?;
        Some(match (first, first.parse()) {
            ("", _) => Self { interface: Interface::Native, cards: 1, jobs },
            (_, Ok(cards)) => Self { interface: Interface::Card, cards, jobs },
            (name, Err(_)) => Self { interface: Interface::from_str(name, false).ok()?, cards: 1, jobs },
        })
    }
}
