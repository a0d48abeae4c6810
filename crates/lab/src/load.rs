//! The workloads of `cryptand speed`: one operation, kept running, every answer checked.
//!
//! A *job* is one request always in flight, with a key of its own. A thread carries its share of the
//! jobs: [`Interface::Native`] gives them to the engine as one batch, [`Interface::Facility`] calls
//! them in turn, [`Interface::Card`] keeps each in a slot of a card's queue.
//!
//! A closed loop (no rate) sends the next request when the last is answered. An open loop sends at the
//! given rate whatever the answers do, and counts latency from the *intended* start of each request,
//! so that a stall is seen by every request that it delayed.

mod card;
pub(crate) mod child;
mod clear;
mod error;
pub mod helper;
pub mod keys;
mod knee;
mod known;
mod looped;
#[cfg(test)]
pub(crate) mod made_up;
mod measurement;
mod native;
pub mod operation;
mod pacing;
pub mod peer;
pub(crate) mod requests;
pub mod target;
pub(crate) mod tenants;
mod usage;

pub(crate) use card::{Load, Together};
pub use error::{LabError, Refusal};
pub use knee::find_knee;
pub use measurement::{Measurement, ProcessorSeconds};
pub use measuring::InterfaceName as Interface;
pub(crate) use usage::thread_seconds;
pub use usage::{process_seconds, resident_bytes};

use crate::load::operation::{Mode, Operation, RsaForm, is_aes};
use engine::Engine;
use facility::{Facility, Selection};
pub(crate) use pacing::{Context, LoadOutcome, Window};
pub(crate) use requests::Tokens;
use serde::{Deserialize, Serialize};
use wire::control::{CardRow, LevelLimit, Personality};
use wire::verb::Verb;

/// A runner of workloads.
pub trait Bench {
    /// Runs one workload.
    ///
    /// # Errors
    /// [`LabError`]; a refusal leaves the case out.
    fn run(&mut self, workload: &Workload) -> Result<Measurement, LabError>;
    /// Name of the engine's level.
    fn level(&self) -> String;
}

/// Maximum number of jobs of one workload.
pub const JOBS_MAX: usize = 4096;
/// Longest data of one operation in bytes: the longest text that one verb takes.
pub const BYTES_MAX: usize = wire::bounds::TEXT_BYTES_MAX;

/// One measurement to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The operation.
    pub operation: Operation,
    /// Length of the data of one operation in bytes; 0 for operations that take none.
    pub bytes: usize,
    /// Requests in flight.
    pub jobs: usize,
    /// Threads that carry the jobs.
    pub processors: usize,
    /// How the operation is reached.
    pub interface: Interface,
    /// Cards that share the jobs; ignored by other interfaces.
    pub cards: usize,
    /// Personality of the cards; none for the operation's default.
    pub personality: Option<Personality>,
    /// Level that the engine is held to; none for the machine's best.
    pub level: Option<LevelLimit>,
    /// How long is measured, in seconds.
    pub seconds: f64,
    /// Requests per second over all jobs; none for the closed loop.
    pub rate: Option<f64>,
    /// Whether a clear key is prepared once instead of being brought with each call.
    pub prepared: bool,
    /// Whether another library runs the operation, for comparison; see [`crate::load::peer`].
    #[serde(default)]
    pub peer: bool,
}

impl Workload {
    /// One job of an operation through the engine for a second.
    pub fn of(operation: Operation) -> Self {
        Self {
            operation,
            bytes: 0,
            jobs: 1,
            processors: 1,
            interface: Interface::Native,
            cards: 1,
            personality: None,
            level: None,
            seconds: 1.0,
            rate: None,
            prepared: false,
            peer: false,
        }
    }

    /// The personality of the cards: as asked for, else accelerators for clear-key RSA and
    /// coprocessors for the rest.
    pub fn personality(&self) -> Personality {
        self.personality.unwrap_or(match self.operation {
            Operation::Rsa { .. } => Personality::Accelerator,
            _ => Personality::Coprocessor,
        })
    }

    /// A name that tells the case apart from every other one: all that decides its result except how
    /// long it runs.
    pub fn case(&self) -> String {
        let mut name = format!("{}/{}", self.operation, self.interface);
        if self.interface == Interface::Card {
            let personality = match self.personality() {
                Personality::Accelerator => "accelerator",
                Personality::Coprocessor => "coprocessor",
            };
            name += &format!("/{}x{personality}", self.cards);
        }
        name += &format!("/{}B/{}j/{}p", self.bytes, self.jobs, self.processors);
        if self.prepared {
            name += "/prepared";
        }
        if self.peer {
            name += "/peer";
        }
        if let Some(rate) = self.rate {
            name += &format!("/{rate}");
        }
        if let Some(level) = self.level {
            name += &format!("/{}", level_name(level));
        }
        name
    }

    /// Whether the workload makes sense and its interface serves it.
    ///
    /// # Errors
    /// [`Refusal`] names what is not served, and by what.
    pub fn check(&self) -> Result<(), Refusal> {
        let Self { operation, bytes, jobs, processors, seconds, .. } = *self;
        let range = |is_within: bool, why: String| if is_within { Ok(()) } else { Err(Refusal::Range(why)) };
        range((1..=JOBS_MAX).contains(&jobs), format!("{jobs} jobs: 1 to {JOBS_MAX} can be run"))?;
        range(
            (1..=jobs).contains(&processors),
            format!("{processors} threads for {jobs} jobs: a thread carries at least one job"),
        )?;
        range(
            self.interface != Interface::Card || self.cards > 0,
            format!("{} cards: at least one is needed", self.cards),
        )?;
        let is_above = |value: f64| value.is_finite() && value > 0.0;
        range(is_above(seconds), format!("{seconds} seconds: a time above 0 is needed"))?;
        let rate = self.rate.unwrap_or(1.0);
        range(is_above(rate), format!("{rate} requests per second: a rate above 0 is needed"))?;
        if operation.takes_bytes() {
            let block_bytes = operation.block_bytes();
            if bytes == 0 || bytes > BYTES_MAX || bytes % block_bytes != 0 {
                return Err(Refusal::Bytes { operation, bytes, block_bytes });
            }
        }
        if matches!(operation, Operation::Verb { verb: Verb::RandomNumberGenerateLong, .. })
            && bytes > wire::bounds::RANDOM_BYTES_MAX
        {
            return Err(Refusal::Bytes { operation, bytes, block_bytes: 1 });
        }
        self.check_interface()
    }

    fn check_interface(&self) -> Result<(), Refusal> {
        let operation = self.operation;
        match self.interface {
            Interface::Native if operation.needs_card() => Err(Refusal::NeedsCard(operation)),
            Interface::Native | Interface::Facility => Ok(()),
            Interface::Card => {
                let personality = self.personality();
                let on_any =
                    matches!(operation, Operation::Rsa { .. } | Operation::Verb { verb: Verb::Null, .. });
                let on_coprocessor = match operation {
                    Operation::Cipher { cipher, mode, .. } => match mode {
                        Mode::Cbc => true,
                        Mode::Ecb | Mode::Gcm => is_aes(cipher),
                        Mode::Ctr => false,
                    },
                    Operation::Mac(mac) => mac != crate::load::operation::Mac::CmacAes128,
                    Operation::Hash(_) | Operation::EcdsaP256Sign | Operation::EcdhP256 => true,
                    _ if operation.needs_card() => true,
                    _ => false,
                };
                if on_any || (on_coprocessor && personality == Personality::Coprocessor) {
                    Ok(())
                } else {
                    Err(Refusal::Personality { operation, personality })
                }
            }
        }
    }

    /// Bits and form of the operation's RSA key; none without one.
    pub fn rsa(&self) -> Option<(u32, RsaForm)> {
        match self.operation {
            Operation::Rsa { bits, form } => Some((bits, form)),
            Operation::Verb { key: Some(key), .. } => Some((key.bits, key.form)),
            _ => None,
        }
    }
}

/// Runs a workload that was checked, on these cards where its interface needs them.
pub(crate) fn measure(
    workload: &Workload,
    engine: &Engine,
    facility: Option<&Facility>,
    cards: &[CardRow],
    tokens: &mut Tokens,
    context: Context<'_>,
) -> Result<LoadOutcome, LabError> {
    let home = || facility.ok_or(LabError::Refused(Refusal::NoHome));
    let by_card = workload.operation.needs_card() || matches!(workload.operation, Operation::Rsa { .. });
    match workload.interface {
        Interface::Native => native::measure(workload, engine, context),
        Interface::Facility if by_card => {
            card::measure_alone(Load::of(home()?, workload), engine, home()?, tokens, context)
        }
        Interface::Facility => clear::measure(workload, engine, context),
        Interface::Card => {
            let chosen = cards.iter().fold(0u64, |bits, card| bits | 1 << card.index);
            let selection = Selection { personality: Some(workload.personality()), cards: Some(chosen) };
            let on_cards = home()?.with_selection(selection);
            card::measure_alone(Load::of(&on_cards, workload), engine, home()?, tokens, context)
        }
    }
}

/// Requests that the engine prefers in one batch of this operation.
pub(crate) fn lanes(engine: &Engine, workload: &Workload) -> usize {
    use engine::Operation as Batch;
    engine.lanes(match workload.operation {
        Operation::Cipher { mode: Mode::Gcm, direction: way, .. } => Batch::Gcm(way),
        Operation::Cipher { cipher, mode, direction: way } => {
            Batch::Cipher(cipher, native::engine_mode(mode), way)
        }
        Operation::Mac(mac) => Batch::Mac(mac),
        Operation::Hash(hash) => Batch::Hash(hash),
        Operation::Hmac(hash) => Batch::Hmac(hash),
        Operation::Rsa { bits, form: RsaForm::Public } => Batch::RsaPublic { bits: bits as usize },
        Operation::Rsa { bits, .. } => Batch::RsaPrivate { bits: bits as usize },
        Operation::EcdsaP256Sign => Batch::EcdsaSign,
        Operation::EcdhP256
        | Operation::Verb { .. }
        | Operation::Payment(_)
        | Operation::KeyGenerate2Opex => {
            return 1;
        }
    })
}

/// The name of a level on the command line.
pub const fn level_name(level: LevelLimit) -> &'static str {
    level.name()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(operation: &str, personality: Option<Personality>) -> Workload {
        Workload {
            bytes: 64,
            interface: Interface::Card,
            personality,
            ..Workload::of(operation.parse().unwrap())
        }
    }

    #[test]
    fn what_is_not_served_is_refused_by_name() {
        let accelerator = Some(Personality::Accelerator);
        for (operation, personality) in [
            ("des-mac", accelerator),
            ("key-generate", accelerator),
            ("des-ecb-encipher", None),
            ("tdes-ctr-encipher", None),
            ("ecdsa-p256-sign", accelerator),
            ("hmac-sha1", None),
            ("hmac-sha256", None),
            ("aes128-cmac", None),
        ] {
            let refusal = card(operation, personality).check().unwrap_err();
            assert!(matches!(refusal, Refusal::Personality { .. }), "{operation}: {refusal:?}");
            assert!(refusal.to_string().contains(operation), "{refusal}");
        }
        for operation in [
            "des-mac",
            "rsa2048-crt",
            "null",
            "key-generate",
            "tdes-cbc-encipher",
            "sha1",
            "aes128-gcm-encipher",
            "ecdsa-p256-sign",
            "ecdh-p256",
            "key-generate2-opex",
        ] {
            card(operation, None).check().unwrap();
        }
        card("rsa2048-crt", Some(Personality::Coprocessor)).check().unwrap();
        for operation in ["key-generate", "key-generate2-opex", "pin-translate"] {
            let native = Workload::of(operation.parse().unwrap());
            assert!(matches!(native.check().unwrap_err(), Refusal::NeedsCard(_)));
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let good = Workload { bytes: 64, ..Workload::of("des-cbc-encipher".parse().unwrap()) };
        good.check().unwrap();
        let bad = [
            Workload { bytes: 0, ..good.clone() },
            Workload { bytes: 63, ..good.clone() },
            Workload { bytes: BYTES_MAX + 8, ..good.clone() },
            Workload { jobs: 0, ..good.clone() },
            Workload { jobs: JOBS_MAX + 1, ..good.clone() },
            Workload { processors: 0, ..good.clone() },
            Workload { processors: 2, ..good.clone() },
            Workload { seconds: 0.0, ..good.clone() },
            Workload { seconds: f64::NAN, ..good.clone() },
            Workload { rate: Some(-1.0), ..good.clone() },
            Workload { cards: 0, interface: Interface::Card, ..good.clone() },
        ];
        for workload in bad {
            assert!(workload.check().is_err(), "{workload:?}");
        }
    }

    #[test]
    fn a_case_names_what_decides_its_result() {
        let workload = card("des-mac", None);
        assert_eq!(workload.case(), "des-mac/card/1xcoprocessor/64B/1j/1p");
        let level = Workload { level: Some(LevelLimit::Portable), ..Workload::of(workload.operation) };
        assert_eq!(level.case(), "des-mac/native/0B/1j/1p/portable");
        let again: Workload = serde_json::from_str(&serde_json::to_string(&workload).unwrap()).unwrap();
        assert_eq!(again, workload);
    }
}
