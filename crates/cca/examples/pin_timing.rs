//! Whether the time of a verb tells what is in a PIN block: the statistic of dudect (Reparaz, Balasch and Verbauwhede,
//! "Dude, is my code constant time?", 2017) over whole requests.
//!
//! ```text
//! cargo run --release -p cca --example pin_timing -- [REQUESTS]
//! ```
//! Requests of each verb (200,000), with right blocks and with each kind of wrong ones in an order by chance, are
//! computed one after the other in a role with every control. Printed is Welch's t of each kind against the one that it
//! must not be told from: of a PIN with one wrong digit any other, of a wrong block one with another fault. Whether a
//! PIN is right the answer itself tells. Times are cut at several quantiles, which takes out what the system did in
//! between, and the largest |t| counts. It fails where one is beyond 10, or where an answer is not the one that its
//! kind has.

use cca::{Batch, Incoming, Processor};
use engine::{CipherAlgorithm, CipherDirection, CipherItem, CipherKey, Engine, Mode, Options};
use seeded::Random;
use std::process::ExitCode;
use std::time::Instant;
use wire::control::{Handout, MasterKeyPair};
use wire::frame::Arguments;
use wire::point::{Point, PointSet};
use wire::verb::{
    Filled, KeyPart, PinTranslation, PinVerifyMethod, TokenOrigin, TypedAsk, TypedGot, Verb,
    encrypted_pin_translate as ptr, encrypted_pin_verify as pvr, key_part_import as kpi,
    key_token_build as ktb,
};
use wire::{Codes, code};

type Failure = Box<dyn std::error::Error>;

/// Beyond it two sets of times differ.
const BOUND: f64 = 10.0;
/// Quantiles of all times at which they are cut.
const CUTS: [f64; 5] = [0.3, 0.5, 0.7, 0.9, 1.0];
/// The value of every key here.
const KEY: [u8; 16] = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210_u128.to_be_bytes();
const PAN: &[u8; 12] = b"401234567890";
const PROFILE: &[u8; 24] = b"ISO-0   NONE            ";

/// What is in a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Right,
    WrongPin,
    NearPin,
    Length,
    Control,
    Digit,
    Pad,
    Pan,
}

impl Kind {
    const ALL: [(Self, &str); 8] = [
        (Self::Right, "right"),
        (Self::WrongPin, "another PIN"),
        (Self::NearPin, "the last digit wrong"),
        (Self::Length, "PIN of 2 digits"),
        (Self::Control, "control digit of ISO-1"),
        (Self::Digit, "PIN with a digit A"),
        (Self::Pad, "pad digit E"),
        (Self::Pan, "block of another PAN"),
    ];

    /// What it must not be told from.
    fn beside(self) -> Option<Self> {
        match self {
            Self::Right | Self::WrongPin | Self::Length => None,
            // In the owner's role digits above nine are digits of a wrong PIN.
            Self::NearPin | Self::Digit => Some(Self::WrongPin),
            _ => Some(Self::Length),
        }
    }

    /// A clear block, where the right PIN is this one.
    fn block(self, right: u64, random: &mut Random) -> [u8; 8] {
        let other = (right + 1 + random.number() % 9_999) % 10_000;
        let pin = match self {
            Self::WrongPin => other,
            Self::NearPin => right / 10 * 10 + (right % 10 + 1) % 10,
            _ => right,
        };
        let mut field = u64::from_str_radix(&format!("04{pin:04}FFFFFFFFFF"), 16).unwrap_or_default();
        match self {
            Self::Length => field ^= 0x04 << 56 ^ 0x02 << 56,
            Self::Control => field |= 0x10 << 56,
            Self::Digit => field = field & !(0xF << 52) | 0xA << 52,
            Self::Pad => field ^= 1,
            Self::Right | Self::WrongPin | Self::NearPin | Self::Pan => {}
        }
        let pan = if self == Self::Pan { 0x1122_3344_5566 } else { 0x4012_3456_7890_u64 };
        (field ^ pan).to_be_bytes()
    }
}

fn main() -> Result<ExitCode, Failure> {
    let count = std::env::args().nth(1).map_or(Ok(200_000), |text| text.parse())?;
    let mut bench = Bench::new()?;
    let (verifying, inbound, outbound) =
        (bench.key(b"PINVER  ")?, bench.key(b"IPINENC ")?, bench.key(b"OPINENC ")?);
    let right = bench.pin()?;
    let mut is_told = bench.watch(Verb::EncryptedPinVerify, count, right, |kind, block| {
        let request = pvr::Ask {
            input_pin_encrypting_key_identifier: (&inbound).into(),
            pin_verifying_key_identifier: (&verifying).into(),
            input_pin_profile: PROFILE,
            pan_data: Some(PAN),
            encrypted_pin_block: block,
            pin_check_length: 4,
            data_array: b"01234567890123451122334455667788                ",
            ..pvr::Ask::new(PinVerifyMethod::Ibm)
        };
        let codes = match kind {
            Kind::Right => code::OK,
            Kind::WrongPin | Kind::NearPin | Kind::Digit => code::PIN_NOT_VERIFIED,
            _ => code::PIN_BLOCK,
        };
        written(&request).map(|payload| (payload, codes))
    })?;
    is_told |= bench.watch(Verb::EncryptedPinTranslate, count, right, |kind, block| {
        let request = ptr::Ask {
            input_pin_encrypting_key_identifier: (&inbound).into(),
            output_pin_encrypting_key_identifier: (&outbound).into(),
            input_pin_profile: PROFILE,
            pan_data_in: Some(PAN),
            pin_block_in: block,
            output_pin_profile: b"ISO-3   NONE            ",
            pan_data_out: Some(PAN),
            ..ptr::Ask::new(PinTranslation::Reformat)
        };
        let is_right = matches!(kind, Kind::Right | Kind::WrongPin | Kind::NearPin | Kind::Digit);
        let codes = if is_right { code::OK } else { code::PIN_BLOCK };
        written(&request).map(|payload| (payload, codes))
    })?;
    Ok(if is_told { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn written(ask: &impl TypedAsk) -> Result<Vec<u8>, Failure> {
    let mut payload = Vec::new();
    ask.arguments(&mut Filled::default()).write_request(&mut payload)?;
    Ok(payload)
}

/// A processor, and the role that asks it.
struct Bench {
    engine: Engine,
    processor: Processor,
    batch: Batch,
    role: PointSet,
}

impl Bench {
    fn new() -> Result<Self, Failure> {
        let mut processor = Processor::new(Engine::new(Options::default())?, 1);
        let mut keys: [MasterKeyPair; 4] = Default::default();
        keys[0].current = (1..25).collect();
        processor.load(&Handout { domain: 0, keys })?;
        let mut role = wire::role::BUILT_IN[0].points;
        role.allow(Point::PinUncounted);
        Ok(Self { engine: Engine::new(Options::default())?, processor, batch: Batch::new(), role })
    }

    /// The answer to a request, and how long it took in nanoseconds.
    fn timed(&mut self, verb: Verb, payload: &[u8]) -> Result<(Codes, f64), Failure> {
        self.batch.clear();
        self.batch.push(&Incoming { verb, domain: 0, points: &self.role, payload })?;
        let begun = Instant::now();
        self.processor.run(&mut self.batch);
        let time = begun.elapsed().as_nanos() as f64;
        Ok((self.batch.answers()[0].codes, time))
    }

    fn output<A: TypedAsk>(
        &mut self,
        ask: &A,
        output: impl for<'g> FnOnce(&'g A::Got<'_>) -> &'g [u8],
    ) -> Result<Vec<u8>, Failure> {
        let (codes, _) = self.timed(A::VERB, &written(ask)?)?;
        if !codes.has_output() {
            return Err(format!("{}: {codes}", A::VERB.entry().name).into());
        }
        let reply = Arguments::read_reply(A::VERB, &self.batch.answers()[0].payload)?;
        Ok(output(&A::Got::of(&reply)).to_vec())
    }

    /// A key of this type and of [`KEY`], entered in parts.
    fn key(&mut self, key_type: &[u8; 8]) -> Result<Vec<u8>, Failure> {
        let request = ktb::Ask { key_type: Some(key_type), ..ktb::Ask::new(TokenOrigin::Internal) };
        let mut token = self.output(&request, |got| got.key_token)?;
        for (step, part) in [(KeyPart::First, &KEY), (KeyPart::Last, &[0; 16])] {
            let request = kpi::Ask { key_part: part, key_identifier: (&token).into(), ..kpi::Ask::new(step) };
            token = self.output(&request, |got| got.key_identifier)?;
        }
        Ok(token)
    }

    /// The PIN that IBM 3624 makes of the validation data: the first digits of what the key enciphers, as decimal ones.
    fn pin(&self) -> Result<u64, Failure> {
        let mut block = 0x1122_3344_5566_7788_u64.to_be_bytes();
        self.encipher(&mut block)?;
        let digits = block[..2].iter().flat_map(|byte| [byte >> 4, byte & 0x0F]);
        Ok(digits.fold(0, |pin, digit| 10 * pin + u64::from(digit % 10)))
    }

    fn encipher(&self, block: &mut [u8; 8]) -> Result<(), Failure> {
        let key: CipherKey = self.engine.cipher_key(CipherAlgorithm::Tdes2, &KEY)?;
        let mut item = [CipherItem::new(&key, &[], block)];
        self.engine.cipher_batch(Mode::Ecb, CipherDirection::Encipher, &mut item);
        Ok(item[0].result?)
    }

    /// Times a verb over blocks of every kind; whether two are told apart that must not be.
    fn watch(
        &mut self,
        verb: Verb,
        count: usize,
        right: u64,
        request: impl Fn(Kind, &[u8; 8]) -> Result<(Vec<u8>, Codes), Failure>,
    ) -> Result<bool, Failure> {
        let name = verb.entry().name;
        println!("{name}");
        let mut random = Random(0x0DDC_0FFE);
        let mut times: Vec<(Kind, f64)> = Vec::with_capacity(count);
        for _ in 0..count {
            let (kind, label) = Kind::ALL[random.number() as usize % Kind::ALL.len()];
            let mut block = kind.block(right, &mut random);
            self.encipher(&mut block)?;
            let (payload, expected) = request(kind, &block)?;
            let (codes, time) = self.timed(verb, &payload)?;
            if codes != expected {
                return Err(format!("{name}, {label}: {codes} in place of {expected}").into());
            }
            times.push((kind, time));
        }
        // The first ones warmed up.
        times.drain(..count / 10);
        let mut sorted: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
        sorted.sort_by(f64::total_cmp);
        let of = |kind: Kind, cut: f64| -> Vec<f64> {
            let longest = sorted[(cut * (sorted.len() - 1) as f64) as usize];
            let own = times.iter().filter(|(of, time)| *of == kind && *time <= longest);
            own.map(|(_, time)| *time).collect()
        };
        let mut is_told = false;
        for (kind, label) in Kind::ALL {
            let [mean, _] = moments(&of(kind, 0.9));
            let Some(other) = kind.beside() else {
                println!("  {label:24} mean {mean:8.1} ns");
                continue;
            };
            let t = |cut: &f64| {
                let ([one, variance], [two, other]) = (moments(&of(kind, *cut)), moments(&of(other, *cut)));
                ((one - two) / (variance + other).sqrt()).abs()
            };
            let largest = CUTS.iter().map(t).filter(|t| t.is_finite()).fold(0.0, f64::max);
            println!("  {label:24} mean {mean:8.1} ns, t {largest:6.2}");
            is_told |= largest > BOUND;
        }
        Ok(is_told)
    }
}

/// The mean, and the variance of the mean.
fn moments(times: &[f64]) -> [f64; 2] {
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|time| (time - mean) * (time - mean)).sum::<f64>() / (count - 1.0);
    [mean, variance / count]
}
