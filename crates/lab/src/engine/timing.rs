//! Whether secrets show in the time of a call: the statistic of dudect (Reparaz, Balasch and Verbauwhede,
//! "Dude, is my code constant time?", 2017), over the public engine.
//!
//! Calls with a fixed secret and calls with random ones alternate at random. Their times are compared by
//! Welch's t: as they are, and cut at several quantiles of all times, which takes out what the system did in
//! between; the largest |t| counts. Everything but the secret is the same in both classes: what a call works
//! on is made anew for either, lies in the same places, and is made without a branch on the class. (With one, the
//! branch predictor remembered the class into the call, and kernels without any branch on data had t of 40.)
//!
//! The statistic is thirty lines, and stands here: `dudect-bencher` has a command line of its own, prints and
//! returns nothing, and could not give the figure to the table.

use super::macs::translated;
use super::seconds;
use crate::experiment::promise::{Measure, Options, Part, Promise};
use crate::load::{LabError, keys};
use engine::{
    CipherAlgorithm, CipherDirection, CipherItem, CipherKey, Column, Curve, DesColumns, EcPrivateKey,
    EcdsaSignItem, Engine, GcmItem, GcmKey, HashAlgorithm, KeyWrapItem, MacAlgorithm, Mode, RsaPrivateItem,
    RsaPrivateKey, X25519Item, X25519PublicItem, oaep_pad, oaep_unpad, pkcs1_v15_encrypt_unpad,
};
use peers::core_ffi::cycles;
use seeded::Random;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long each call is watched, in seconds.
const SECONDS: f64 = 4.0;
/// The smallest and the largest number of calls.
const CALLS: (usize, usize) = (500, 200_000);
/// Bound of |t|: a larger value counts as a secret that shows.
const BOUND: f64 = 10.0;
/// Quantiles of all times at which the times are cut off.
const CUTS: [f64; 6] = [0.3, 0.5, 0.7, 0.9, 0.97, 1.0];

/// Times every call whose name contains the filter.
///
/// # Errors
/// [`LabError::Facility`] where the engine refuses; [`LabError::Interrupted`].
pub fn run(
    options: &Options,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    let engine = Engine::new(engine::Options { limit: None, weak_algorithms: true })
        .map_err(LabError::facility("make an engine"))?;
    let level = engine.level().name();
    let share = (options.seconds / Options::default().seconds).clamp(0.01, 1.0);
    let mut rows = Vec::new();
    for (name, watch) in WATCHED {
        let case = format!("{name} [{level}]");
        if !options.wants(&case) {
            continue;
        }
        progress(&format!("the time of {name}"));
        let mut samples = Samples::new(SECONDS * share, stop);
        watch(&engine, &mut samples)
            .map_err(|cause| LabError::Facility { what: "watch the time of a call", cause })?;
        if stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        let calls = samples.times.len();
        let mut row = Measure::alone(&case, "t", &[samples.t()], Some(Promise::Below(BOUND)));
        (row.part, row.level, row.peer_value) = (Part::Timing, level.to_owned(), Some(calls as f64));
        rows.push(row);
    }
    Ok(rows)
}

type Watch = fn(&Engine, &mut Samples<'_>) -> Result<(), String>;

const WATCHED: [(&str, Watch); 24] = [
    ("TDES-CBC encrypt, 1 stream: key and text fixed or random", |engine, samples| {
        ciphers(engine, samples, CipherAlgorithm::Tdes3, CipherDirection::Encipher, 1, 128)
    }),
    ("TDES-CBC encrypt, 16 streams: key and text fixed or random", |engine, samples| {
        ciphers(engine, samples, CipherAlgorithm::Tdes3, CipherDirection::Encipher, 16, 64)
    }),
    ("TDES-CBC encrypt, 24 streams: key and text fixed or random", |engine, samples| {
        ciphers(engine, samples, CipherAlgorithm::Tdes3, CipherDirection::Encipher, 24, 64)
    }),
    ("TDES-CBC encrypt, 64 streams: key and text fixed or random", |engine, samples| {
        ciphers(engine, samples, CipherAlgorithm::Tdes3, CipherDirection::Encipher, 64, 64)
    }),
    ("TDES-CBC encrypt, 512 streams: key and text fixed or random", |engine, samples| {
        ciphers(engine, samples, CipherAlgorithm::Tdes3, CipherDirection::Encipher, 512, 16)
    }),
    ("TDES-CBC decrypt, 1 stream of 4 KiB: key and text fixed or random", |engine, samples| {
        ciphers(engine, samples, CipherAlgorithm::Tdes3, CipherDirection::Decipher, 1, 4096)
    }),
    ("X9.19, 1 request with a raw key: key and text fixed or random", |engine, samples| {
        retail(engine, samples, 1)
    }),
    ("X9.19, 64 requests with raw keys: key and text fixed or random", |engine, samples| {
        retail(engine, samples, 64)
    }),
    ("PIN translation, 1 request: wrapped keys and block fixed or random", |engine, samples| {
        pin(engine, samples, 1)
    }),
    ("PIN translation, 64 requests: wrapped keys and blocks fixed or random", |engine, samples| {
        pin(engine, samples, 64)
    }),
    ("AES-128-CBC encrypt, 16 streams: key and text fixed or random", |engine, samples| {
        ciphers(engine, samples, CipherAlgorithm::Aes128, CipherDirection::Encipher, 16, 256)
    }),
    ("AES-128-GCM seal, 16 texts of 256 bytes: keys and texts fixed or random", |engine, samples| {
        gcm(engine, samples, CipherDirection::Encipher, 16, 256)
    }),
    (
        "AES-128-GCM open of a wrong tag, 1 text of 1,424 bytes: key and text fixed or random",
        |engine, samples| gcm(engine, samples, CipherDirection::Decipher, 1, 1424),
    ),
    ("AES-128-GCM open of a wrong tag: first byte or another one differs", tags),
    ("AES-256 key wrap, 16 keys of 256 bits: keys and texts fixed or random", wrap),
    ("OAEP, a block of 2048 bits: its first byte wrong, or all but that", oaep_blocks),
    ("PKCS #1 v1.5, a block of 2048 bits: without an end of its padding, or random", pkcs1_blocks),
    ("RSA-1024 private CRT, 8 requests: input fixed or random", |engine, samples| {
        rsa_inputs(engine, samples, true)
    }),
    ("RSA-1024 private ME, 8 requests: input fixed or random", |engine, samples| {
        rsa_inputs(engine, samples, false)
    }),
    ("RSA-1024 private CRT, 8 requests: key fixed or random", rsa_keys),
    ("ECDSA P-256 sign, 8 requests: key fixed or random", |engine, samples| {
        sign(engine, samples, Engine::ecdsa_sign_batch)
    }),
    ("ECDSA P-256 sign and verify, 8 requests: key fixed or random", |engine, samples| {
        sign(engine, samples, Engine::ecdsa_sign_verified_batch)
    }),
    ("X25519 shared secret, 8 requests: private value fixed or random", agree),
    ("X25519 public value, 8 requests: private value fixed or random", publish),
];

/// Times of calls, each with its class.
struct Samples<'a> {
    times: Vec<(bool, u64)>,
    end: f64,
    stop: &'a AtomicBool,
    random: Classes,
}

impl<'a> Samples<'a> {
    fn new(length: f64, stop: &'a AtomicBool) -> Self {
        Self { times: Vec::new(), end: seconds() + length, stop, random: Classes(Random(0x0DDC_0FFE)) }
    }

    /// The class of the next call, true for the fixed secret; none when there are enough.
    fn next(&mut self) -> Option<bool> {
        let calls = self.times.len();
        let late = calls >= CALLS.0 && seconds() > self.end;
        if late || calls >= CALLS.1 || self.stop.load(Ordering::Relaxed) {
            return None;
        }
        Some(self.random.next() & 1 == 0)
    }

    fn time(&mut self, class: bool, call: impl FnOnce()) {
        let start = cycles();
        call();
        self.times.push((class, cycles().wrapping_sub(start)));
    }

    /// The largest |t| of all cuts. The first tenth warmed up and does not count.
    fn t(&self) -> f64 {
        let times = &self.times[self.times.len() / 10..];
        let mut sorted: Vec<u64> = times.iter().map(|(_, time)| *time).collect();
        sorted.sort_unstable();
        let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
        let at = |cut: f64| sorted[(cut * last as f64) as usize];
        CUTS.map(|cut| welch(times.iter().filter(|(_, time)| *time <= at(cut))))
            .into_iter()
            .fold(0.0, f64::max)
    }
}

/// |t| of Welch's test between the two classes; 0 where a class has fewer than two times or none differs.
fn welch<'a>(times: impl Iterator<Item = &'a (bool, u64)>) -> f64 {
    // Mean and sum of squared distances, one value after the other (Welford).
    let mut classes = [(0.0f64, 0.0f64, 0.0f64); 2];
    for (class, time) in times {
        let (count, mean, squares) = &mut classes[usize::from(*class)];
        *count += 1.0;
        let distance = *time as f64 - *mean;
        *mean += distance / *count;
        *squares += distance * (*time as f64 - *mean);
    }
    let [(n, mean, squares), (m, other, others)] = classes;
    if n < 2.0 || m < 2.0 {
        return 0.0;
    }
    let error = (squares / (n - 1.0) / n + others / (m - 1.0) / m).sqrt();
    if error == 0.0 { 0.0 } else { ((mean - other) / error).abs() }
}

/// Random source of the classes and of the random secrets, neither of which need be unpredictable.
struct Classes(Random);

impl Classes {
    fn next(&mut self) -> u64 {
        self.0.number()
    }

    /// Fills `out` with random bytes, or for the fixed class with the fixed pattern. Random bytes are drawn in either
    /// case, and no branch tells the classes apart: the branch predictor would remember the class.
    fn fill(&mut self, class: bool, out: &mut [u8]) {
        let keep = black_box(u64::from(class)).wrapping_sub(1);
        for part in out.chunks_mut(8) {
            let mixed = (self.next() & keep | FIXED_WORD & !keep).to_le_bytes();
            part.copy_from_slice(&mixed[..part.len()]);
        }
    }
}

/// The fixed secret: a regular pattern, as unlike random bytes as one without special cases (zero) can be.
const FIXED_WORD: u64 = 0x5A5A_5A5A_5A5A_5A5A;

fn ciphers(
    engine: &Engine,
    samples: &mut Samples<'_>,
    algorithm: CipherAlgorithm,
    direction: CipherDirection,
    streams: usize,
    bytes: usize,
) -> Result<(), String> {
    let mut random = Classes(Random(1));
    let mut texts = vec![vec![0; bytes]; streams];
    let mut raw = vec![0; algorithm.key_bytes()];
    while let Some(class) = samples.next() {
        let mut keys: Vec<CipherKey> = Vec::with_capacity(streams);
        for text in &mut texts {
            random.fill(class, &mut raw);
            random.fill(class, text);
            keys.push(engine.cipher_key(algorithm, &raw).map_err(|error| error.to_string())?);
        }
        let items = keys.iter().zip(&mut texts).map(|(key, text)| CipherItem::new(key, &[0; 16], text));
        let mut items: Vec<_> = items.collect();
        samples.time(class, || engine.cipher_batch(Mode::Cbc, direction, black_box(&mut items)));
    }
    Ok(())
}

fn retail(engine: &Engine, samples: &mut Samples<'_>, requests: usize) -> Result<(), String> {
    let mut random = Classes(Random(2));
    let (mut keys, mut texts, mut macs) =
        (vec![0; 16 * requests], vec![0; 64 * requests], vec![0; 8 * requests]);
    while let Some(class) = samples.next() {
        random.fill(class, &mut keys);
        random.fill(class, &mut texts);
        let mut done = Ok(());
        samples.time(class, || {
            done = Column::contiguous(&keys, 16, requests).and_then(|keys| {
                let texts = Column::contiguous(&texts, 64, requests)?;
                engine.mac_columns(MacAlgorithm::X919, keys, texts, black_box(&mut macs))
            });
        });
        done.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Tokens are random or fixed, and so are the keys in them.
fn pin(engine: &Engine, samples: &mut Samples<'_>, requests: usize) -> Result<(), String> {
    let mut random = Classes(Random(11));
    let (mut tokens, mut blocks) = (vec![0; 32 * requests], vec![0; 8 * requests]);
    let mut kept = DesColumns::new();
    while let Some(class) = samples.next() {
        random.fill(class, &mut tokens);
        random.fill(class, &mut blocks);
        let mut done = Ok(());
        samples.time(class, || {
            done = translated(engine, &[0x5b; 16], &tokens, &mut kept, black_box(&mut blocks));
        });
        done.map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn gcm(
    engine: &Engine,
    samples: &mut Samples<'_>,
    direction: CipherDirection,
    count: usize,
    bytes: usize,
) -> Result<(), String> {
    let mut random = Classes(Random(9));
    let mut texts = vec![vec![0; bytes]; count];
    let mut raw = vec![0; CipherAlgorithm::Aes128.key_bytes()];
    while let Some(class) = samples.next() {
        let mut keys: Vec<GcmKey> = Vec::with_capacity(count);
        for text in &mut texts {
            random.fill(class, &mut raw);
            random.fill(class, text);
            keys.push(engine.gcm_key(&raw).map_err(|error| error.to_string())?);
        }
        // A tag of zeros fits no text here.
        let items =
            keys.iter().zip(&mut texts).map(|(key, text)| GcmItem::encipher(key, &[0; 12], &[], text));
        let mut items: Vec<_> = items.collect();
        samples.time(class, || engine.gcm_batch(direction, black_box(&mut items)));
    }
    Ok(())
}

fn wrap(engine: &Engine, samples: &mut Samples<'_>) -> Result<(), String> {
    const KEYS: usize = 16;
    let mut random = Classes(Random(12));
    let mut texts = [[0; 40]; KEYS];
    while let Some(class) = samples.next() {
        let mut keys: Vec<CipherKey> = Vec::with_capacity(KEYS);
        for text in &mut texts {
            let mut raw = [0; 32];
            random.fill(class, &mut raw);
            random.fill(class, text);
            keys.push(engine.cipher_key(CipherAlgorithm::Aes256, &raw).map_err(|error| error.to_string())?);
        }
        let mut items: Vec<_> =
            keys.iter().zip(&mut texts).map(|(key, text)| KeyWrapItem::new(key, text)).collect();
        samples.time(class, || engine.key_wrap_batch(CipherDirection::Encipher, black_box(&mut items)));
        items.iter().try_for_each(|item| item.result).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn tags(engine: &Engine, samples: &mut Samples<'_>) -> Result<(), String> {
    let key = engine.gcm_key(&[0x5A; 16]).map_err(|error| error.to_string())?;
    let (mut sealed, mut random) = ([0x5A; 64], Classes(Random(3)));
    let mut item = [GcmItem::encipher(&key, &[0; 12], &[], &mut sealed)];
    engine.gcm_batch(CipherDirection::Encipher, &mut item);
    let tag = item[0].tag;
    let mut text = sealed;
    while let Some(class) = samples.next() {
        let place = random.next() % 16 * black_box(u64::from(!class));
        let mut wrong = tag;
        wrong[place as usize] ^= 0x80;
        text.copy_from_slice(&sealed);
        let mut item = [GcmItem::decipher(&key, &[0; 12], &[], &mut text, &wrong)];
        samples.time(class, || engine.gcm_batch(CipherDirection::Decipher, black_box(&mut item)));
        if item[0].result.is_ok() {
            return Err("a wrong tag was accepted".to_owned());
        }
    }
    Ok(())
}

/// Bytes of a deciphered block.
const BLOCK_BYTES: usize = 256;

/// OAEP blocks as in Manger's attack: the classes differ in whether the first byte of a refused block is zero.
fn oaep_blocks(_: &Engine, samples: &mut Samples<'_>) -> Result<(), String> {
    let padded = oaep_pad(HashAlgorithm::Sha256, &[], &[0x5A; 32], BLOCK_BYTES);
    let mut late = padded.map_err(|error| error.to_string())?.to_vec();
    late[0] = 1;
    refused(samples, &late, 0, |block| oaep_unpad(HashAlgorithm::Sha256, &[], block).is_err())
}

/// PKCS #1 v1.5 blocks as in Bleichenbacher's attack: the classes differ in whether a refused block begins like a
/// padded one.
fn pkcs1_blocks(_: &Engine, samples: &mut Samples<'_>) -> Result<(), String> {
    let mut late = vec![0x5A; BLOCK_BYTES];
    late[..2].copy_from_slice(&[0, 2]);
    refused(samples, &late, 1, |block| pkcs1_v15_encrypt_unpad(block).is_err())
}

/// Times the refusal of the block `fixed` and of random blocks that begin with the byte `first`.
fn refused(
    samples: &mut Samples<'_>,
    fixed: &[u8],
    first: u8,
    unpad: impl Fn(&[u8]) -> bool,
) -> Result<(), String> {
    let mut random = Classes(Random(8));
    let (mut other, mut block) = ([0; BLOCK_BYTES], [0; BLOCK_BYTES]);
    while let Some(class) = samples.next() {
        random.fill(false, &mut other);
        other[0] = first;
        let keep = black_box(u8::from(class)).wrapping_neg();
        for ((byte, fixed), other) in block.iter_mut().zip(fixed).zip(other) {
            *byte = fixed & keep | other & !keep;
        }
        let mut is_refused = false;
        samples.time(class, || is_refused = unpad(black_box(&block)));
        if !is_refused {
            return Err("a block without padding was accepted".to_owned());
        }
    }
    Ok(())
}

const RSA_BITS: u32 = 1024;
const LANES: usize = 8;

fn private_key(job: usize, crt: bool) -> Result<RsaPrivateKey, String> {
    let key = keys::rsa_test_key(RSA_BITS, job).ok_or("no test key")?;
    super::rsa::private_key(&key, crt).map_err(|error| error.to_string())
}

fn rsa_inputs(engine: &Engine, samples: &mut Samples<'_>, crt: bool) -> Result<(), String> {
    let keys: Vec<RsaPrivateKey> = (0..LANES).map(|job| private_key(job, crt)).collect::<Result<_, _>>()?;
    let mut random = Classes(Random(4));
    let mut inputs = vec![vec![0; RSA_BITS as usize / 8]; LANES];
    while let Some(class) = samples.next() {
        for input in &mut inputs {
            random.fill(class, input);
            input[0] = 0;
        }
        private(engine, samples, class, &mut keys.iter(), &inputs)?;
    }
    Ok(())
}

/// The fixed key lies in memory as often as there are random ones, so that caches tell nothing.
fn rsa_keys(engine: &Engine, samples: &mut Samples<'_>) -> Result<(), String> {
    const POOL: usize = 96;
    let pool = |fixed: bool| (0..POOL).map(|job| private_key(if fixed { 0 } else { job }, true)).collect();
    let pools: [Result<Vec<RsaPrivateKey>, String>; 2] = [pool(false), pool(true)];
    let [random_keys, fixed_keys] = pools;
    let (random_keys, fixed_keys) = (random_keys?, fixed_keys?);
    let mut random = Classes(Random(5));
    let mut inputs = vec![vec![0; RSA_BITS as usize / 8]; LANES];
    while let Some(class) = samples.next() {
        for input in &mut inputs {
            random.fill(false, input);
            input[0] = 0;
        }
        let keys = [&random_keys, &fixed_keys][black_box(usize::from(class))];
        let from = random.next() as usize % (POOL / LANES) * LANES;
        private(engine, samples, class, &mut keys[from..from + LANES].iter(), &inputs)?;
    }
    Ok(())
}

fn private(
    engine: &Engine,
    samples: &mut Samples<'_>,
    class: bool,
    keys: &mut dyn Iterator<Item = &RsaPrivateKey>,
    inputs: &[Vec<u8>],
) -> Result<(), String> {
    let mut outputs = vec![vec![0; RSA_BITS as usize / 8]; LANES];
    let ends = inputs.iter().zip(&mut outputs);
    let items = keys.zip(ends).map(|(key, (from, to))| RsaPrivateItem::new(key, from, to));
    let mut items: Vec<_> = items.collect();
    samples.time(class, || engine.rsa_private_batch(black_box(&mut items)));
    items.iter().try_for_each(|item| item.result).map_err(|error| error.to_string())
}

/// Keys are made anew for each call; nonces are random in both classes.
fn sign(
    engine: &Engine,
    samples: &mut Samples<'_>,
    batch: fn(&Engine, &mut [EcdsaSignItem<'_>]),
) -> Result<(), String> {
    let mut random = Classes(Random(9));
    while let Some(class) = samples.next() {
        let mut keys = Vec::with_capacity(LANES);
        for _ in 0..LANES {
            let mut scalar = [0; 32];
            random.fill(class, &mut scalar);
            scalar[0] &= 0x7f;
            keys.push(EcPrivateKey::from_bytes(Curve::P256, &scalar).map_err(|error| error.to_string())?);
        }
        let mut items: Vec<_> = keys.iter().map(|key| EcdsaSignItem::new(key, &[7; 32])).collect();
        samples.time(class, || batch(engine, black_box(&mut items)));
        items.iter().try_for_each(|item| item.result).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn agree(engine: &Engine, samples: &mut Samples<'_>) -> Result<(), String> {
    let mut random = Classes(Random(10));
    let (mut privates, mut shared) = ([[0; 32]; LANES], [[0; 32]; LANES]);
    let public = engine::x25519_public(&[0x33; 32]);
    while let Some(class) = samples.next() {
        privates.iter_mut().for_each(|private| random.fill(class, private));
        let ends = privates.iter().zip(&mut shared);
        let mut items: Vec<_> =
            ends.map(|(private, shared)| X25519Item::new(private, &public, shared)).collect();
        samples.time(class, || engine.x25519_batch(black_box(&mut items)));
        items.iter().try_for_each(|item| item.result).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn publish(engine: &Engine, samples: &mut Samples<'_>) -> Result<(), String> {
    let mut random = Classes(Random(11));
    let mut privates = [[0; 32]; LANES];
    while let Some(class) = samples.next() {
        privates.iter_mut().for_each(|private| random.fill(class, private));
        let mut items: Vec<_> = privates.iter().map(X25519PublicItem::new).collect();
        samples.time(class, || engine.x25519_public_batch(black_box(&mut items)));
        black_box(&items);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_shows_is_seen_and_one_that_does_not_is_not() {
        let stop = AtomicBool::new(false);
        let mut random = Classes(Random(7));
        let mut samples = Samples::new(1.0, &stop);
        let mut noise = |class: bool, leak: u64| (class, 1000 + random.next() % 64 + u64::from(class) * leak);
        samples.times = (0..20_000).map(|call| noise(call % 3 == 0, 0)).collect();
        assert!(samples.t() < 4.5, "{}", samples.t());
        samples.times = (0..20_000).map(|call| noise(call % 3 == 0, 4)).collect();
        assert!(samples.t() > BOUND, "{}", samples.t());
        samples.times.clear();
        assert_eq!(samples.t(), 0.0);
    }

    #[test]
    fn welch_gives_what_a_textbook_gives() {
        let classes = [(true, [20, 22, 19, 20, 22, 18, 24, 20]), (false, [28, 29, 29, 28, 27, 30, 26, 25])];
        let times: Vec<(bool, u64)> =
            classes.iter().flat_map(|(class, times)| times.map(|time| (*class, time))).collect();
        // Means 20.625 and 27.75; variances 3.6964 and 2.7857.
        assert!((welch(times.iter()) - 7.125 / ((3.696_428_6f64 + 2.785_714_3) / 8.0).sqrt()).abs() < 1e-6);
    }

    #[test]
    fn every_call_is_watched() {
        let options = Options { seconds: 0.0, ..Options::default() };
        let rows = run(&options, &AtomicBool::new(false), &mut |_| ()).unwrap();
        assert_eq!(rows.len(), WATCHED.len());
        for row in rows {
            assert!(row.ours.is_finite() && row.peer_value.unwrap() >= CALLS.0 as f64, "{}", row.case);
        }
    }
}
