//! The rate of each step of a message, from memory to memory on one processor, in processor time, on the text of the
//! measures.

use super::input;
use crate::kit::statistics::Summary;
use crate::load::LabError;
use crate::load::thread_seconds;
use deflate::{Backend, DICTIONARY_BYTES_MAX, Deflater, Format, Inflater};
use engine::{CipherDirection, Engine, GcmItem, GcmKey, HashAlgorithm, OcbItem, OcbKey};

/// A step of making or reading a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// AES-128-CFB with SHA-1 of the text: each block waits for the one before.
    CfbSha1Encipher,
    /// AES-128-CFB, deciphering: blocks do not wait for each other.
    CfbDecipher,
    /// SHA-1 of the deciphered text.
    Sha1,
    /// AES-128-GCM, sealing.
    GcmSeal,
    /// AES-128-GCM, opening.
    GcmOpen,
    /// AES-128-OCB, sealing.
    OcbSeal,
    /// Deflate at level 1 in blocks.
    Deflate,
    /// Inflate: one stream, in order.
    Inflate,
}

impl Step {
    /// Every step.
    pub const ALL: [Self; 8] = [
        Self::CfbSha1Encipher,
        Self::CfbDecipher,
        Self::Sha1,
        Self::GcmSeal,
        Self::GcmOpen,
        Self::OcbSeal,
        Self::Deflate,
        Self::Inflate,
    ];

    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CfbSha1Encipher => "CFB and SHA-1",
            Self::CfbDecipher => "CFB",
            Self::Sha1 => "SHA-1",
            Self::GcmSeal | Self::GcmOpen => "GCM",
            Self::OcbSeal => "OCB",
            Self::Deflate => "deflate",
            Self::Inflate => "inflate",
        }
    }
}

/// Bytes of text per second of processor time, step by step.
pub struct Rates {
    rates: Vec<(Step, Summary)>,
    /// Length of deflated text over that of the text.
    pub deflated: f64,
}

impl Rates {
    /// Measures every step in `rounds` rounds of `seconds` seconds each.
    ///
    /// # Errors
    /// [`LabError::Facility`] where the engine refuses.
    pub fn measure(rounds: usize, seconds: f64) -> Result<Self, LabError> {
        let failed =
            |cause: String| LabError::Facility { what: "measure the steps of OpenPGP messages", cause };
        let mut bench = Bench::new().map_err(failed)?;
        let mut runs: Vec<Vec<f64>> = vec![Vec::new(); Step::ALL.len()];
        for _ in 0..rounds.max(1) {
            for (step, runs) in Step::ALL.into_iter().zip(&mut runs) {
                bench.pass(step).map_err(failed)?;
                let (begin, mut bytes) = (thread_seconds(), 0);
                while bytes == 0 || thread_seconds() - begin < seconds {
                    bytes += bench.pass(step).map_err(failed)?;
                }
                runs.push(bytes as f64 / (thread_seconds() - begin).max(1e-9));
            }
        }
        let rates = Step::ALL.into_iter().zip(&runs);
        let rates = rates.filter_map(|(step, runs)| Some((step, Summary::of(runs)?))).collect();
        Ok(Self { rates, deflated: bench.deflated.len() as f64 / bench.text.len() as f64 })
    }

    /// Bytes of text per second of processor time of a step.
    pub fn of(&self, step: Step) -> Option<&Summary> {
        self.rates.iter().find(|(known, _)| *known == step).map(|(_, rate)| rate)
    }
}

struct Bench {
    engine: Engine,
    text: Vec<u8>,
    work: Vec<u8>,
    gcm: GcmKey,
    ocb: OcbKey,
    deflater: Deflater,
    deflated: Vec<u8>,
}

impl Bench {
    fn new() -> Result<Self, String> {
        let engine = Engine::new(engine::Options::default()).map_err(|error| error.to_string())?;
        let (mut text, mut block) = (Vec::new(), Vec::new());
        for number in 0..BLOCKS {
            input::make(number, &mut block);
            text.extend_from_slice(&block);
        }
        let gcm = engine.gcm_key(&KEY).map_err(|error| error.to_string())?;
        let ocb = engine.ocb_key(&KEY).map_err(|error| error.to_string())?;
        let work = text[..CHUNK_BYTES].to_vec();
        let deflater = Deflater::new(1, Backend::best(1));
        let mut bench = Self { engine, text, work, gcm, ocb, deflater, deflated: Vec::new() };
        bench.deflate();
        Ok(bench)
    }

    /// Does the step once on a piece of the text; gives the length of that piece in bytes. Chunks stay in the nearer
    /// caches.
    fn pass(&mut self, step: Step) -> Result<usize, String> {
        match step {
            Step::CfbSha1Encipher => self.cfb_sha1(),
            Step::CfbDecipher => self.cfb_decipher(),
            Step::Sha1 => self.sha1(),
            Step::GcmSeal => {
                for number in 0..CHUNKS {
                    let nonce = nonce(number);
                    let mut item = [GcmItem::encipher(&self.gcm, &nonce[..12], &AAD, &mut self.work)];
                    self.engine.gcm_batch(CipherDirection::Encipher, &mut item);
                    item[0].result.map_err(|error| error.to_string())?;
                }
                Ok(CHUNKS * CHUNK_BYTES)
            }
            Step::GcmOpen => self.gcm_open(),
            Step::OcbSeal => {
                for number in 0..CHUNKS {
                    let nonce = nonce(number);
                    let mut item = [OcbItem::encipher(&self.ocb, &nonce[..15], &AAD, &mut self.work)];
                    self.engine.ocb_batch(CipherDirection::Encipher, &mut item);
                    item[0].result.map_err(|error| error.to_string())?;
                }
                Ok(CHUNKS * CHUNK_BYTES)
            }
            Step::Deflate => {
                self.deflate();
                Ok(self.text.len())
            }
            Step::Inflate => self.inflate(),
        }
    }

    fn cfb_sha1(&mut self) -> Result<usize, String> {
        let cfb = self.engine.cfb_sha1(CipherDirection::Encipher, &KEY, &[0; 16]);
        let mut cfb = cfb.map_err(|error| error.to_string())?;
        for _ in 0..CHUNKS {
            cfb.update(&mut self.work);
        }
        std::hint::black_box(cfb.digest());
        Ok(CHUNKS * CHUNK_BYTES)
    }

    fn cfb_decipher(&mut self) -> Result<usize, String> {
        let cfb = self.engine.cfb(CipherDirection::Decipher, &KEY, &[0; 16]);
        let mut cfb = cfb.map_err(|error| error.to_string())?;
        for _ in 0..CHUNKS {
            cfb.update(&mut self.work);
        }
        Ok(CHUNKS * CHUNK_BYTES)
    }

    fn sha1(&mut self) -> Result<usize, String> {
        let hash = self.engine.hash_state(HashAlgorithm::Sha1);
        let mut hash = hash.map_err(|error| error.to_string())?;
        for _ in 0..CHUNKS {
            hash.update(&self.work);
        }
        std::hint::black_box(hash.finish());
        Ok(CHUNKS * CHUNK_BYTES)
    }

    /// Opens one chunk again and again: copying it costs little in comparison.
    fn gcm_open(&mut self) -> Result<usize, String> {
        let nonce = nonce(0);
        let mut sealed = self.work.clone();
        let mut item = [GcmItem::encipher(&self.gcm, &nonce[..12], &AAD, &mut sealed)];
        self.engine.gcm_batch(CipherDirection::Encipher, &mut item);
        let tag = item[0].tag;
        for _ in 0..CHUNKS {
            self.work.copy_from_slice(&sealed);
            let mut item = [GcmItem::decipher(&self.gcm, &nonce[..12], &AAD, &mut self.work, &tag)];
            self.engine.gcm_batch(CipherDirection::Decipher, &mut item);
            item[0].result.map_err(|error| error.to_string())?;
        }
        Ok(CHUNKS * CHUNK_BYTES)
    }

    fn deflate(&mut self) {
        self.deflated.clear();
        for start in (0..self.text.len()).step_by(DEFLATE_BYTES) {
            let end = (start + DEFLATE_BYTES).min(self.text.len());
            let dictionary = &self.text[start.saturating_sub(DICTIONARY_BYTES_MAX)..start];
            let is_last = end == self.text.len();
            self.deflater.block(dictionary, &self.text[start..end], is_last, &mut self.deflated);
        }
    }

    fn inflate(&mut self) -> Result<usize, String> {
        let mut inflater = Inflater::new(Format::Zip, Backend::best_inflate());
        let (mut consumed, mut produced) = (0, 0);
        loop {
            let step = inflater.inflate(&self.deflated[consumed..], &mut self.work);
            let step = step.map_err(|error| error.to_string())?;
            consumed += step.consumed;
            produced += step.produced;
            if step.is_end {
                return Ok(produced);
            }
            if step.consumed == 0 && step.produced == 0 {
                return Err("a deflated text does not end".to_owned());
            }
        }
    }
}

/// The nonce of a chunk; each chunk has its own.
fn nonce(number: usize) -> [u8; 16] {
    let mut nonce = [0; 16];
    nonce[..8].copy_from_slice(&(number as u64).to_le_bytes());
    nonce
}

const KEY: [u8; 16] = [0x5A; 16];
/// Associated data as long as that of SEIPDv2.
const AAD: [u8; 5] = [0xD2, 2, 7, 3, 16];
/// Blocks of the text to deflate: one with a dictionary would do, but several show how blocks differ.
const BLOCKS: u64 = 8;
/// A chunk of SEIPDv2 that fits into the second cache.
const CHUNK_BYTES: usize = 256 << 10;
const CHUNKS: usize = 16;
const DEFLATE_BYTES: usize = 512 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_rate() {
        let rates = Rates::measure(1, 0.0).unwrap();
        for step in Step::ALL {
            assert!(rates.of(step).unwrap().median > 1e5, "{}", step.name());
        }
        assert!((0.15..0.3).contains(&rates.deflated), "{}", rates.deflated);
    }

    #[test]
    fn what_is_deflated_is_the_text_again() {
        let mut bench = Bench::new().unwrap();
        assert_eq!(bench.inflate().unwrap(), bench.text.len());
    }
}
