//! Where the time of a PIN verb goes: each step of a batch by itself, from its requests to its answers, in nanoseconds
//! a request.
//!
//! ```text
//! cargo run --release -p cca --example pin_passes -- [ROUNDS [SECONDS]]
//! ```
//! The verbs run in process, with keys of their own in each request and as many requests side by side as a card with 64
//! outstanding may have, and alone: what queues, grants and the counting of a card take is not in it. Rounds (3) of the
//! verbs and batches alternate, each for so many seconds (0.2). A line of output is
//! `ROUND,OPERATION,REQUESTS,STEP,NANOSECONDS`; `cryptand bench --only payments` reads them. Each step has one reading
//! of the clock in it, some 25 ns for a whole batch.

use cca::{Batch, BatchStep, Incoming, Processor};
use engine::{Engine, Options};
use seeded::Random;
use std::time::{Duration, Instant};
use wire::code;
use wire::control::{Handout, MasterKeyPair};
use wire::frame::Arguments;
use wire::point::PointSet;
use wire::verb::{
    Filled, KeyPart, PinDerivations, PinTranslation, TokenOrigin, TypedAsk, TypedGot, Verb,
    encrypted_pin_translate as ptr, key_part_import as kpi, key_token_build as ktb,
};

type Failure = Box<dyn std::error::Error>;

/// Requests side by side.
const BATCHES: [usize; 2] = [64, 1];
const ROLE: &PointSet = &wire::role::BUILT_IN[0].points;
const PROFILE: &[u8; 24] = b"ISO-0   NONE            ";
/// A key serial number whose counter has five bits set.
const SERIAL: [u8; 10] = [0xFF, 0xFF, 0x98, 0x76, 0x54, 0x32, 0x10, 0xE0, 0x00, 0x1F];

/// Steps in their order, each with its name.
type Names = &'static [(BatchStep, &'static str)];

const COPIED: &str = "requests copied, those before wiped";
const READ: (BatchStep, &str) = (BatchStep::Read, "arguments read, computations begun");
const PARSED: (BatchStep, &str) = (BatchStep::Computed, "keywords, rights, profiles and tokens");
const UNWRAPPED: (BatchStep, &str) = (BatchStep::Kernel("open"), "keys unwrapped");
const DECIPHERED: (BatchStep, &str) = (BatchStep::Kernel("block"), "deciphered");
const ENCIPHERED: (BatchStep, &str) = (BatchStep::Kernel("block"), "enciphered");
const REBUILT: (BatchStep, &str) = (BatchStep::Computed, "blocks handed on");
const WRITTEN: (BatchStep, &str) = (BatchStep::Computed, "answers written");
const CHECKED: (BatchStep, &str) = (BatchStep::Computed, "what the keys are for");
const ANSWERED: (BatchStep, &str) = (BatchStep::Answered, "verdicts collected");

const FIXED: Names = &[READ, PARSED, UNWRAPPED, CHECKED, DECIPHERED, REBUILT, ENCIPHERED, WRITTEN, ANSWERED];
const DERIVED: Names = &[
    READ,
    PARSED,
    UNWRAPPED,
    CHECKED,
    (BatchStep::Kernel("derive"), "keys of transactions derived"),
    (BatchStep::Computed, "derived keys handed on"),
    DECIPHERED,
    REBUILT,
    ENCIPHERED,
    WRITTEN,
    ANSWERED,
];

fn main() -> Result<(), Failure> {
    let mut given = std::env::args().skip(1);
    let rounds: usize = given.next().map_or(Ok(3), |text| text.parse())?;
    let seconds: f64 = given.next().map_or(Ok(0.2), |text| text.parse())?;
    let mut bench = Bench::new()?;
    let most = BATCHES[0];
    let fixed: Vec<Vec<u8>> = (0..most).map(|_| bench.fixed()).collect::<Result<_, _>>()?;
    let derived: Vec<Vec<u8>> = (0..most).map(|_| bench.derived()).collect::<Result<_, _>>()?;
    let operations: [(&str, &[Vec<u8>], Names); 2] =
        [("pin-translate", &fixed, FIXED), ("pin-translate-dukpt", &derived, DERIVED)];
    for round in 0..rounds {
        for (name, payloads, steps) in operations {
            for count in BATCHES {
                let times = bench.timed(&payloads[..count], steps, Duration::from_secs_f64(seconds))?;
                let names = std::iter::once(COPIED).chain(steps.iter().map(|(_, name)| *name));
                for (step, nanoseconds) in names.zip(times) {
                    println!("{round},{name},{count},{step:?},{nanoseconds:.2}");
                }
            }
        }
    }
    Ok(())
}

struct Bench {
    processor: Processor,
    batch: Batch,
    random: Random,
}

impl Bench {
    fn new() -> Result<Self, Failure> {
        let mut processor = Processor::new(Engine::new(Options::default())?, 1);
        let mut keys: [MasterKeyPair; 4] = Default::default();
        keys[0].current = (1..25).collect();
        processor.load(&Handout { domain: 0, keys })?;
        Ok(Self { processor, batch: Batch::new(), random: Random(0x0070_6173_7365_7321) })
    }

    /// Runs batches of these requests for a time: what each step took, in nanoseconds a request, in the median of the
    /// batches, so that what the system did in between counts little.
    fn timed(&mut self, payloads: &[Vec<u8>], steps: Names, time: Duration) -> Result<Vec<f64>, Failure> {
        let mut laps: Vec<Vec<Duration>> = vec![Vec::new(); 1 + steps.len()];
        let begun = Instant::now();
        while laps[0].is_empty() || begun.elapsed() < time {
            let mut before = Instant::now();
            let mut lap = |laps: &mut Vec<Duration>| {
                let now = Instant::now();
                laps.push(now - std::mem::replace(&mut before, now));
            };
            self.batch.clear();
            for payload in payloads {
                let verb = Verb::EncryptedPinTranslate;
                self.batch.push(&Incoming { verb, domain: 0, points: ROLE, payload })?;
            }
            lap(&mut laps[0]);
            let (mut place, mut is_known) = (0, true);
            self.processor.run_watched(&mut self.batch, |step| {
                is_known &= steps.get(place).is_some_and(|(expected, _)| *expected == step);
                place += 1;
                if is_known {
                    lap(&mut laps[place]);
                }
            });
            if !is_known || place != steps.len() {
                return Err("the verb takes other steps than those that have names here".into());
            }
            if self.batch.answers().iter().any(|answer| answer.codes != code::OK) {
                return Err("a request was refused".into());
            }
        }
        let median = |mut laps: Vec<Duration>| {
            laps.sort_unstable();
            laps[laps.len() / 2].as_nanos() as f64 / payloads.len() as f64
        };
        Ok(laps.into_iter().map(median).collect())
    }

    /// A block from under a fixed key under another.
    fn fixed(&mut self) -> Result<Vec<u8>, Failure> {
        let (from, to) = (self.key(b"IPINENC ", &[])?, self.key(b"OPINENC ", &[])?);
        self.translation(&from, &to, PROFILE, None)
    }

    /// A block from under the key of a transaction under that of another.
    fn derived(&mut self) -> Result<Vec<u8>, Failure> {
        let mut base = || self.key(b"KEYGENKY", &[*b"UKPT    "]);
        let (from, to) = (base()?, base()?);
        let mut profile = [&PROFILE[..], &SERIAL].concat();
        profile.resize(48, b' ');
        self.translation(&from, &to, &profile, Some(PinDerivations::Both))
    }

    fn translation(
        &mut self,
        from: &[u8],
        to: &[u8],
        profile: &[u8],
        derivations: Option<PinDerivations>,
    ) -> Result<Vec<u8>, Failure> {
        let block = self.random.number().to_le_bytes();
        written(&ptr::Ask {
            input_pin_encrypting_key_identifier: from.into(),
            output_pin_encrypting_key_identifier: to.into(),
            input_pin_profile: profile,
            pan_data_in: Some(b"401234567890"),
            pin_block_in: &block,
            derivations,
            output_pin_profile: profile,
            pan_data_out: Some(b"401234567890"),
            ..ptr::Ask::new(PinTranslation::Translate)
        })
    }

    /// A key of this type that nobody else has, entered in parts.
    fn key(&mut self, key_type: &[u8; 8], usage: &[[u8; 8]]) -> Result<Vec<u8>, Failure> {
        let request = ktb::Ask { key_type: Some(key_type), usage, ..ktb::Ask::new(TokenOrigin::Internal) };
        let mut token = self.output(&request, |got| got.key_token)?;
        let odd = |byte: u8| byte ^ u8::from(byte.count_ones().is_multiple_of(2));
        let value: Vec<u8> = self.random.bytes(16).into_iter().map(odd).collect();
        for (step, part) in [(KeyPart::First, &value[..]), (KeyPart::Last, &[0; 16])] {
            let request = kpi::Ask { key_part: part, key_identifier: (&token).into(), ..kpi::Ask::new(step) };
            token = self.output(&request, |got| got.key_identifier)?;
        }
        Ok(token)
    }

    fn output<A: TypedAsk>(
        &mut self,
        ask: &A,
        output: impl for<'g> FnOnce(&'g A::Got<'_>) -> &'g [u8],
    ) -> Result<Vec<u8>, Failure> {
        let payload = written(ask)?;
        self.batch.clear();
        self.batch.push(&Incoming { verb: A::VERB, domain: 0, points: ROLE, payload: &payload })?;
        self.processor.run(&mut self.batch);
        let answer = &self.batch.answers()[0];
        if !answer.codes.has_output() {
            return Err(format!("{}: {}", A::VERB.entry().name, answer.codes).into());
        }
        Ok(output(&A::Got::of(&Arguments::read_reply(A::VERB, &answer.payload)?)).to_vec())
    }
}

fn written(ask: &impl TypedAsk) -> Result<Vec<u8>, Failure> {
    let mut payload = Vec::new();
    ask.arguments(&mut Filled::default()).write_request(&mut payload)?;
    Ok(payload)
}
