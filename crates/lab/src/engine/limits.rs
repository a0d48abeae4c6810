//! Port limits: the fastest that the instructions of an operation could leave the core, were nothing else in
//! the way. Counts of the instructions that the kernels say they take, over the rates at which this core was
//! seen to do that kind. Chains of instructions that wait for each other are what is between.

use super::rows::Work;
use crate::kit::statistics::median;
use engine::{CipherAlgorithm, CipherDirection, HashAlgorithm, Level, Mode};
use peers::core_ffi::Port;

/// Gates of a round of bit-sliced DES, of three inputs and of two: 48 sums with the key, and the circuits of the
/// S-boxes, which include the sums with the left half.
const ROUND_TERNARY: f64 = 48.0 + 206.0;
const ROUND_BINARY: f64 = 48.0 + 525.0;
/// Shuffles and affine maps that bring 512 blocks into slices and back, on the ports that permute bytes.
const SLICES: f64 = 768.0;
/// Lookups of a round of DES in rows, for a vector of eight lanes; and lookups that bring the vector's blocks into rows
/// and back.
const ROWS_ROUND: f64 = 8.0;
const ROWS_MOVED: f64 = 10.0;
const ROWS_LANES: usize = 8;
/// Upper bound of the streams that the row form takes.
const ROWS_STREAMS: usize = 24;
/// Instructions of a round of byte-sliced DES, and of bringing 64 blocks into planes and back.
const BYTE_SLICED_ROUND: f64 = 56.0;
const PLANES: f64 = 180.0;
/// Upper bound of the streams that the byte-sliced form takes.
const BYTE_SLICED_STREAMS: usize = 64;
/// Rounds of DES.
const ROUNDS: f64 = 16.0;
/// Instructions of one block of SHA-1 and of SHA-256 in each of 16 lanes, transposing included.
const SHA1_BLOCKS: f64 = 853.0;
const SHA256_BLOCKS: f64 = 1784.0;
/// Instructions that multiply four blocks by powers of the hash key.
const GHASH_PRODUCTS: f64 = 4.0;
/// Lanes of the RSA and hash kernels.
const RSA_LANES: f64 = 8.0;
const HASH_LANES: usize = 16;
/// Bits of an exponent that one multiplication serves, and the table for them.
const WINDOW: f64 = 5.0;
const TABLE: f64 = 30.0;

/// Multiplications of digits: in eight signatures (a multiple of the generator, two inverses, the checks), in eight
/// shared secrets (255 steps and an inverse), and in eight public values (36 additions and an inverse).
const SIGNATURE_PRODUCTS: f64 = 37.0 * 1000.0 + 47_000.0 + 2_000.0;
const LADDER_PRODUCTS: f64 = 255.0 * 533.0 + 254.0 * 46.0 + 11.0 * 66.0;
const PUBLIC_PRODUCTS: f64 = 36.0 * 7.0 * 67.0 + 254.0 * 46.0 + 15.0 * 66.0;

/// The rates of this core's ports, in instructions a second.
pub struct Ports(Vec<(Port, f64)>);

impl Ports {
    /// Measures the ports: the median of five runs of some milliseconds each, after one that warms up.
    pub fn measure(seconds: impl Fn() -> f64) -> Ports {
        const INSTRUCTIONS: u64 = 12_000_000;
        let rate = |port: Port| {
            port.run(INSTRUCTIONS)?;
            let runs = (0..5).map(|_| {
                let start = seconds();
                let ran = port.run(INSTRUCTIONS).unwrap_or(0);
                ran as f64 / (seconds() - start).max(1e-9)
            });
            Some((port, median(&runs.collect::<Vec<_>>())))
        };
        Ports(Port::ALL.into_iter().filter_map(rate).collect())
    }

    fn rate(&self, port: Port) -> Option<f64> {
        self.0.iter().find(|(known, _)| *known == port).map(|(_, rate)| *rate)
    }

    /// For people: each instruction with its rate.
    pub fn text(&self) -> String {
        let one = |(port, rate): &(Port, f64)| format!("{} {:.2}", port.instruction(), rate / 1e9);
        self.0.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// The limit of a row in operations or bytes a second; none if no limit is counted for this work at this level.
    pub fn limit(&self, work: Work, level: Level) -> Option<f64> {
        let mut seconds = 0.0;
        for (port, per_unit) in count(work, level)? {
            seconds += per_unit / self.rate(port)?;
        }
        // Beside the cipher, on ports of their own, run the products of GHASH: what takes longer is the limit.
        if let (Work::Gcm { .. }, Level::Avx512) = (work, level) {
            seconds = f64::max(seconds, GHASH_PRODUCTS / 64.0 / self.rate(Port::Clmul512)?);
        }
        Some(1.0 / seconds)
    }
}

/// Instructions of phases that follow each other, for one byte or one operation, on the ports that each phase
/// keeps busy.
type Phases = Vec<(Port, f64)>;

fn count(work: Work, level: Level) -> Option<Phases> {
    match (work, level) {
        (Work::Cipher { algorithm, mode, direction, streams, .. }, level) => {
            cipher(algorithm, mode == Mode::Cbc && direction == CipherDirection::Encipher, streams, level)
        }
        (Work::Cmac { messages, .. }, level) => cipher(CipherAlgorithm::Aes128, true, messages, level),
        (Work::Gcm { .. } | Work::Ocb { .. }, level) => cipher(CipherAlgorithm::Aes128, false, 1, level),
        // The blocks of the text and two more, all single DES; what brings them into slices is left out.
        (Work::Retail { requests, bytes }, level) if requests > 1 => {
            let mut phases = des(bytes.div_ceil(8) as f64 + 2.0, requests, level);
            phases.truncate(1);
            Some(phases)
        }
        // Alone, the library's own kernel works.
        (Work::RsaPrivate { requests: 1, .. } | Work::RsaPublic { requests: 1, .. }, Level::Avx512) => None,
        (Work::RsaPrivate { bits, crt, .. }, level) => {
            let (port, lanes) = multiplier(level);
            Some(vec![(port, private_products(f64::from(bits), crt, port) / lanes)])
        }
        (Work::RsaPublic { bits, .. }, level) => {
            let (port, lanes) = multiplier(level);
            Some(vec![(port, public_products(digits(f64::from(bits), port), port) / lanes)])
        }
        // As `low/curves` counts them.
        (Work::EcdsaSign { requests: 8, verified: false }, Level::Avx512) => {
            Some(vec![(Port::Madd512, SIGNATURE_PRODUCTS / RSA_LANES)])
        }
        (Work::X25519 { requests: 8 }, Level::Avx512) => {
            Some(vec![(Port::Madd512, LADDER_PRODUCTS / RSA_LANES)])
        }
        (Work::X25519Public { requests: 8 }, Level::Avx512) => {
            Some(vec![(Port::Madd512, PUBLIC_PRODUCTS / RSA_LANES)])
        }
        (Work::Hmac { raw: true, .. }, _) => None,
        (Work::Hash { algorithm, messages, .. } | Work::Hmac { algorithm, messages, .. }, Level::Avx512)
            if messages >= HASH_LANES =>
        {
            let blocks = if algorithm == HashAlgorithm::Sha1 { SHA1_BLOCKS } else { SHA256_BLOCKS };
            Some(vec![(Port::Logic512, blocks / (64.0 * HASH_LANES as f64))])
        }
        _ => None,
    }
}

fn cipher(algorithm: CipherAlgorithm, chained: bool, streams: usize, level: Level) -> Option<Phases> {
    let stages = match algorithm {
        CipherAlgorithm::Des => 1.0,
        CipherAlgorithm::Tdes2 | CipherAlgorithm::Tdes3 => 3.0,
        // One stream that is chained waits for itself: no port limits it.
        _ if chained && streams < 4 => return None,
        _ if level == Level::Avx512 => return Some(vec![(Port::Aes512, 10.0 / 64.0)]),
        _ if level == Level::Avx2 => return Some(vec![(Port::Aes128, 10.0 / 16.0)]),
        _ => return None,
    };
    if chained && streams == 1 {
        return None;
    }
    let blocks = if chained { streams } else { usize::MAX };
    Some(des(stages, blocks, level).into_iter().map(|(port, per_block)| (port, per_block / 8.0)).collect())
}

/// Instructions of one block that passes through `stages` stages of single DES, with `blocks` blocks at hand at a time.
fn des(stages: f64, blocks: usize, level: Level) -> Phases {
    let rounds = stages * ROUNDS;
    let lanes = |most: usize| blocks.min(most) as f64;
    match level {
        Level::Avx512 if blocks <= ROWS_STREAMS => {
            let vectors = blocks.div_ceil(ROWS_LANES) as f64;
            vec![
                (Port::Permute512, rounds * ROWS_ROUND * vectors / blocks as f64),
                (Port::Permute512, ROWS_MOVED * vectors / blocks as f64),
            ]
        }
        Level::Avx512 if blocks <= BYTE_SLICED_STREAMS => vec![
            (Port::Logic512, rounds * BYTE_SLICED_ROUND / blocks as f64),
            (Port::Permute512, PLANES / blocks as f64),
        ],
        Level::Avx512 => vec![
            (Port::Logic512, rounds * ROUND_TERNARY / lanes(512)),
            (Port::Permute512, SLICES / lanes(512)),
        ],
        Level::Avx2 => vec![(Port::Logic256, rounds * ROUND_BINARY / lanes(256))],
        Level::Portable => vec![(Port::Logic64, rounds * ROUND_BINARY / lanes(64))],
    }
}

/// The port that multiplies at a level, and the number of requests that one instruction serves.
fn multiplier(level: Level) -> (Port, f64) {
    if level == Level::Avx512 { (Port::Madd512, RSA_LANES) } else { (Port::Mul64, 1.0) }
}

fn digits(bits: f64, port: Port) -> f64 {
    // Two spare bits let products stay unreduced between multiplications in 52-bit digits.
    if port == Port::Madd512 { ((bits + 2.0) / 52.0).ceil() } else { (bits / 64.0).ceil() }
}

/// Instructions of one Montgomery product of `digits` digits: text book product, reduction, quotient digits. One
/// instruction gives half of a product of two 52-bit digits, but all of one of 64 bits.
fn product(digits: f64, port: Port) -> f64 {
    let halves = if port == Port::Madd512 { 2.0 } else { 1.0 };
    halves * 2.0 * digits * digits + digits
}

/// Instructions of one Montgomery square of `digits` digits: each product of two different digits is needed once.
fn square(digits: f64, port: Port) -> f64 {
    let halves = if port == Port::Madd512 { 2.0 } else { 1.0 };
    halves * (digits * (digits + 1.0) / 2.0 + digits * digits) + digits
}

fn power(bits: f64, port: Port) -> f64 {
    let digits = digits(bits, port);
    bits * square(digits, port) + (bits / WINDOW + TABLE) * product(digits, port)
}

/// Instructions of a public operation with exponent 65537, into and out of Montgomery form included.
fn public_products(digits: f64, port: Port) -> f64 {
    16.0 * square(digits, port) + 3.0 * product(digits, port)
}

fn private_products(bits: f64, crt: bool, port: Port) -> f64 {
    let whole = digits(bits, port);
    let powers = if crt { 2.0 * power(bits / 2.0, port) } else { power(bits, port) };
    powers + public_products(whole, port)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An AMD Zen 5 core at 4.3 GHz: four sums in logic a cycle, a product without carries every other, two of
    /// everything else.
    fn ports() -> Ports {
        let a_cycle = |port| match port {
            Port::Logic512 | Port::Logic256 | Port::Logic64 => 4.0,
            Port::Clmul512 => 0.5,
            _ => 2.0,
        };
        Ports(Port::ALL.into_iter().map(|port| (port, 4.3e9 * a_cycle(port))).collect())
    }

    #[test]
    fn limits_are_what_counting_by_hand_gives() {
        let ports = ports();
        let near = |work, low: f64, high: f64| {
            let limit = ports.limit(work, Level::Avx512).unwrap();
            assert!((low..high).contains(&limit), "{work:?}: {limit}");
        };
        let cipher = |algorithm, streams| Work::Cipher {
            algorithm,
            mode: Mode::Cbc,
            direction: CipherDirection::Encipher,
            streams,
            bytes: 4096,
        };
        near(cipher(CipherAlgorithm::Tdes3, 512), 5.1e9, 5.2e9);
        near(cipher(CipherAlgorithm::Tdes3, 64), 2.8e9, 2.95e9);
        near(cipher(CipherAlgorithm::Tdes3, 16), 1.39e9, 1.41e9);
        near(cipher(CipherAlgorithm::Aes128, 16), 55.0e9, 55.1e9);
        near(Work::Gcm { messages: 16, bytes: 1424 }, 34.3e9, 34.5e9);
        near(Work::RsaPrivate { bits: 2048, crt: true, requests: 8 }, 19_400.0, 22_200.0);
        near(Work::RsaPrivate { bits: 2048, crt: false, requests: 8 }, 5_130.0, 5_550.0);
        near(Work::RsaPublic { bits: 2048, requests: 8 }, 666_000.0, 749_000.0);
        let hash = |algorithm| Work::Hash { algorithm, messages: 16, bytes: 4096 };
        near(hash(HashAlgorithm::Sha1), 20.6e9, 20.7e9);
        near(hash(HashAlgorithm::Sha256), 9.8e9, 9.9e9);
        let sliced = ports.limit(cipher(CipherAlgorithm::Tdes3, 512), Level::Avx2).unwrap();
        assert!((1.27e9..1.29e9).contains(&sliced), "{sliced}");
        assert_eq!(ports.limit(cipher(CipherAlgorithm::Aes128, 1), Level::Avx512), None);
    }

    #[test]
    fn ports_are_measured() {
        let start = std::time::Instant::now();
        let ports = Ports::measure(|| start.elapsed().as_secs_f64());
        if cfg!(target_arch = "x86_64") {
            assert!(ports.rate(Port::Logic64).unwrap() > 1e8);
            assert!(ports.text().contains("xor r64"));
        }
    }
}
