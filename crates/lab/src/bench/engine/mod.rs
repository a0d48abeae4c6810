//! The engine beside OpenSSL, AWS-LC and ipsec-mb, row by row, in one process.
//!
//! Before a row is timed, and again after it, every side does the row's work from the same keys and texts and
//! all answers are compared. In between the sides run in turn, round by round, in an order that changes; what
//! is timed is the thread's own processor time. A ratio is the median over the rounds.

mod limits;
mod rows;
mod sides;

use super::{Limit, Measure, Options, Other, Part, Promise};
use crate::statistics::{Summary, median};
use crate::workload::{LabError, keys};
use engine::{
    CipherAlgorithm, CipherDirection, CipherKey, Engine, HashAlgorithm, Level, MacAlgorithm, MacItem, MacKey,
    Mode, RsaCrt, RsaPrivateKey, RsaPublicKey,
};
use keys::RsaTestKey;
use limits::Ports;
use peers::ipsec_mb_ffi::{IpsecMb, JOB_BYTES_MAX, Job, Reach, Work as Kind};
use peers::openssl_ffi::{self, OpenSsl, openssl};
use peers::{RsaNumbers, aws_lc_ffi as aws};
use rows::{Against, ROWS, Row, Work};
use rustix::time::{ClockId, clock_gettime};
use sides::{
    EngineAead, EngineCipher, EngineGcm, EngineHash, EngineHmac, EngineMac, EnginePrivate, EnginePublic,
    EngineRetail, InTurn, Jobs, Reading, Sealing, Side, TagJobs, Texts, first, raw_keys,
};
use std::sync::atomic::{AtomicBool, Ordering};

const OPENSSL: &str = "OpenSSL";
const AWS_LC: &str = "AWS-LC";
const IPSEC_MB: &str = "ipsec-mb";
const AAD: &[u8; 13] = b"authenticated";
/// Shortest time that counts as a measurement of how long one call takes, in seconds.
const LOOK: f64 = 0.002;

/// What all rows share.
struct Stage<'a> {
    engine: Engine,
    level: Level,
    ports: Ports,
    options: &'a Options,
    missing: Vec<String>,
}

/// Measures every row whose name holds the filter; each goes to `done` as soon as it stands.
///
/// # Errors
/// [`LabError::Engine`] where sides differ in their answers; [`LabError::Interrupted`].
pub fn run(
    options: &Options,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&str),
    done: &mut dyn FnMut(Measure),
) -> Result<(), LabError> {
    let engine = Engine::new(engine::Options { limit: None, weak_algorithms: true })
        .map_err(|error| LabError::Facility { what: "make an engine", cause: error.to_string() })?;
    let level = engine.level();
    let rows: Vec<&Row> = ROWS.iter().filter(|row| options.wants(row.case)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    progress(&format!("what the ports of this core do, level {level}"));
    let mut stage = Stage { engine, level, ports: Ports::measure(seconds), options, missing: Vec::new() };
    done(Measure::note(&format!("ports, 10^9 a second: {}", stage.ports.text()), level.name()));
    for row in rows {
        progress(&format!("{}, level {level}", row.case));
        done(stage.row(row)?);
        if stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
    }
    for what in stage.missing {
        done(Measure::note(&what, level.name()));
    }
    Ok(())
}

/// The thread's own processor time so far, in seconds.
pub(super) fn seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

impl Stage<'_> {
    fn row(&mut self, row: &Row) -> Result<Measure, LabError> {
        match row.work {
            Work::Cipher { algorithm, mode, direction, streams, bytes } => {
                self.cipher(row, (algorithm, mode, direction), streams, bytes)
            }
            Work::Retail { requests } => self.retail(row, requests),
            Work::RsaPrivate { bits, crt, requests } => self.rsa(row, bits, crt, false, requests),
            Work::RsaPublic { bits, requests } => self.rsa(row, bits, true, true, requests),
            Work::RsaGenerate { bits } => self.generate(row, bits as usize),
            Work::Hash { algorithm, messages, bytes } => self.hash(row, algorithm, messages, bytes),
            Work::Hmac { algorithm, messages, bytes } => self.hmac(row, algorithm, messages, bytes),
            Work::Cmac { messages, bytes } => self.cmac(row, messages, bytes),
            Work::Gcm { messages, bytes } => self.gcm(row, messages, bytes),
            Work::Ocb { messages, bytes } => self.ocb(row, messages, bytes),
            Work::Eax { messages, bytes } => self.eax(row, messages, bytes),
            Work::CfbSha1 { bytes } => self.cfb_sha1(row, bytes),
        }
    }

    /// OpenSSL, or none: then the table says what to install.
    fn openssl(&mut self) -> Option<&'static OpenSsl> {
        openssl().map_err(|missing| self.lacks(missing.to_string())).ok()
    }

    /// A manager of ipsec-mb that goes as far as the engine does. Its build without the AES instructions is
    /// not Debian's, so that AES has no such peer at the portable level.
    fn ipsec_mb(&mut self, aes: bool) -> Option<IpsecMb> {
        let reach = match self.level {
            Level::Portable if aes => return None,
            Level::Portable => Reach::Sse,
            Level::Avx2 => Reach::Avx2,
            Level::Avx512 => Reach::Avx512,
        };
        IpsecMb::new(reach).map_err(|missing| self.lacks(missing.to_string())).ok()
    }

    fn lacks(&mut self, what: String) {
        if !self.missing.contains(&what) {
            self.missing.push(what);
        }
    }

    fn cipher(
        &mut self,
        row: &Row,
        (algorithm, mode, direction): (CipherAlgorithm, Mode, CipherDirection),
        streams: usize,
        bytes: usize,
    ) -> Result<Measure, LabError> {
        let encipher = direction == CipherDirection::Encipher;
        let raw = raw_keys(algorithm, streams);
        let texts = Texts::new(streams, bytes);
        let keys: Result<Vec<CipherKey>, _> =
            raw.iter().map(|key| self.engine.cipher_key(algorithm, key)).collect();
        let keys = keys.map_err(|error| failed(row, &error))?;
        let (engine, mut data) = (self.engine, texts.clone());
        let (mut job_data, mut ipsec_keys) = (texts.clone(), IpsecKeys::default());
        let mut ours = EngineCipher::new(&engine, (mode, direction), &keys, &texts, &mut data);
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            peers.push((OPENSSL, openssl_cipher(library, algorithm, mode, encipher, &raw, &texts)));
        }
        peers.push((AWS_LC, aws_cipher(algorithm, mode, encipher, &raw, &texts)));
        let is_aes = algorithm.block_bytes() == 16;
        // Its DES without AVX-512 is plain code of 0.6 MB/s: 512 streams would take seconds a call.
        if (is_aes || self.level == Level::Avx512)
            && let Some(manager) = self.ipsec_mb(is_aes)
            && let Some(jobs) = ipsec_cipher(
                &manager,
                (algorithm, mode, encipher),
                (&raw, &texts),
                &mut job_data,
                &mut ipsec_keys,
            )
        {
            let start = texts.start().iter().map(Vec::as_slice).collect();
            peers.push((IPSEC_MB, Box::new(Jobs { manager, jobs, start })));
        }
        self.compare(row, (streams * bytes) as f64, &mut ours, &mut peers)
    }

    fn retail(&mut self, row: &Row, requests: usize) -> Result<Measure, LabError> {
        let raw: Vec<[u8; 16]> = (0..requests).map(|job| first(&keys::des_key(job, 16))).collect();
        let texts = Texts::new(requests, 64);
        let engine = self.engine;
        let mut ours =
            EngineRetail { engine: &engine, keys: &raw, texts: &texts, macs: vec![[0; 8]; requests] };
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        let each = || raw.iter().zip(texts.start());
        if let Some(library) = self.openssl() {
            let mut room = vec![0; 64];
            let run = move |out: &mut Vec<u8>| {
                for (key, text) in each() {
                    out.extend_from_slice(&library.x919(key, text, &mut room));
                }
            };
            peers.push((OPENSSL, Box::new(Reading::new(run))));
        }
        let mut room = vec![0; 64];
        let run = move |out: &mut Vec<u8>| {
            for (key, text) in each() {
                out.extend_from_slice(&aws_x919(key, text, &mut room));
            }
        };
        peers.push((AWS_LC, Box::new(Reading::new(run))));
        self.compare(row, requests as f64, &mut ours, &mut peers)
    }

    fn rsa(
        &mut self,
        row: &Row,
        bits: u32,
        crt: bool,
        public: bool,
        requests: usize,
    ) -> Result<Measure, LabError> {
        let numbers: Vec<RsaTestKey> =
            (0..requests).filter_map(|job| keys::rsa_test_key(bits, job)).collect();
        let length = bits as usize / 8;
        let input = |job| {
            let mut input = keys::test_bytes(0x45A, job, length);
            input[0] = 0;
            input
        };
        let inputs: Vec<Vec<u8>> = (0..requests).map(input).collect();
        let mut outputs = vec![vec![0; length]; requests];
        let privates: Result<Vec<_>, _> = numbers.iter().map(|key| private_key(key, crt)).collect();
        let publics: Result<Vec<_>, _> =
            numbers.iter().map(|key| RsaPublicKey::new(&key.n, &key.e)).collect();
        let privates = privates.map_err(|error| failed(row, &error))?;
        let publics = publics.map_err(|error| failed(row, &error))?;
        let engine = self.engine;
        let mut private_side;
        let mut public_side;
        let ours: &mut dyn Side = if public {
            public_side = EnginePublic::new(&engine, &publics, &inputs, &mut outputs);
            &mut public_side
        } else {
            private_side = EnginePrivate::new(&engine, &privates, &inputs, &mut outputs);
            &mut private_side
        };
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        let plain: Vec<RsaNumbers<'_>> = numbers.iter().map(|key| plain(key, crt)).collect();
        let inputs = &inputs;
        if let Some(library) = self.openssl() {
            let keys = plain.iter().filter_map(|key| openssl_ffi::Rsa::new(library, key));
            let (mut keys, mut output) = (keys.collect::<Vec<_>>(), vec![0; length]);
            let run = move |out: &mut Vec<u8>| {
                for (key, input) in keys.iter_mut().zip(inputs) {
                    if public {
                        key.public(input, &mut output)
                    } else {
                        key.private(input, &mut output)
                    }
                    out.extend_from_slice(&output);
                }
            };
            peers.push((OPENSSL, Box::new(Reading::new(run))));
        }
        let keys = plain.iter().filter_map(aws::Rsa::new);
        let (mut keys, mut output) = (keys.collect::<Vec<_>>(), vec![0; length]);
        let run = move |out: &mut Vec<u8>| {
            for (key, input) in keys.iter_mut().zip(inputs) {
                if public {
                    key.public(input, &mut output)
                } else {
                    key.private(input, &mut output)
                }
                out.extend_from_slice(&output);
            }
        };
        peers.push((AWS_LC, Box::new(Reading::new(run))));
        self.compare(row, requests as f64, ours, &mut peers)
    }

    /// Keys are random: there is nothing to compare, each library proves its own.
    fn generate(&mut self, row: &Row, bits: usize) -> Result<Measure, LabError> {
        let engine = self.engine;
        let run = move |_: &mut Vec<u8>| {
            let _ = engine.rsa_generate(bits, &[1, 0, 1]);
        };
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            let run = move |_: &mut Vec<u8>| library.rsa_generate(bits);
            peers.push((OPENSSL, Box::new(Reading::new(run))));
        }
        self.compare(row, 1.0, &mut Reading::new(run), &mut peers)
    }

    fn hash(
        &mut self,
        row: &Row,
        algorithm: HashAlgorithm,
        messages: usize,
        bytes: usize,
    ) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let items = texts.start().iter().map(|text| engine::HashItem::new(text)).collect();
        let mut ours = EngineHash { engine: &engine, algorithm, items };
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        let (sha256, start) = (algorithm == HashAlgorithm::Sha256, texts.start());
        if let Some(library) = self.openssl() {
            let run = move |out: &mut Vec<u8>| {
                for text in start {
                    if sha256 {
                        out.extend_from_slice(&library.sha256(text));
                    } else {
                        out.extend_from_slice(&library.sha1(text));
                    }
                }
            };
            peers.push((OPENSSL, Box::new(Reading::new(run))));
        }
        let run = move |out: &mut Vec<u8>| {
            for text in start {
                if sha256 {
                    out.extend_from_slice(&aws::sha256(text));
                } else {
                    out.extend_from_slice(&aws::sha1(text));
                }
            }
        };
        peers.push((AWS_LC, Box::new(Reading::new(run))));
        if let Some(manager) = self.ipsec_mb(false) {
            let run = move |manager: &mut IpsecMb, tags: &mut [[u8; 32]]| {
                let ends = start.iter().zip(tags);
                let mut jobs: Vec<_> = ends.map(|(data, tag)| Job::Hash { sha256, data, tag }).collect();
                manager.run(&mut jobs);
            };
            let (tags, tag_bytes) = (vec![[0; 32]; messages], algorithm.digest_bytes());
            peers.push((IPSEC_MB, Box::new(TagJobs { manager, tags, tag_bytes, run })));
        }
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }

    fn hmac(
        &mut self,
        row: &Row,
        algorithm: HashAlgorithm,
        messages: usize,
        bytes: usize,
    ) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let raw: Vec<Vec<u8>> = (0..messages).map(|job| keys::test_bytes(0x43AC, job, 20)).collect();
        let prepared: Result<Vec<_>, _> = raw.iter().map(|key| engine.hmac_key(algorithm, key)).collect();
        let prepared = prepared.map_err(|error| failed(row, &error))?;
        let mut ours = EngineHmac::new(&engine, algorithm, &prepared, &texts);
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        let (sha256, start) = (algorithm == HashAlgorithm::Sha256, texts.start());
        let tag_bytes = algorithm.digest_bytes();
        if let Some(library) = self.openssl() {
            let keys = raw.iter().map(|key| openssl_ffi::Hmac::new(library, sha256, key));
            let (mut keys, mut mac) = (keys.collect::<Vec<_>>(), [0; 32]);
            let run = move |out: &mut Vec<u8>| {
                for (key, text) in keys.iter_mut().zip(start) {
                    key.mac(text, &mut mac);
                    out.extend_from_slice(&mac[..tag_bytes]);
                }
            };
            peers.push((OPENSSL, Box::new(Reading::new(run))));
        }
        let keys = raw.iter().map(|key| aws::Hmac::new(sha256, key));
        let (mut keys, mut mac) = (keys.collect::<Vec<_>>(), [0; 32]);
        let run = move |out: &mut Vec<u8>| {
            for (key, text) in keys.iter_mut().zip(start) {
                key.mac(text, &mut mac);
                out.extend_from_slice(&mac[..tag_bytes]);
            }
        };
        peers.push((AWS_LC, Box::new(Reading::new(run))));
        if let Some(manager) = self.ipsec_mb(false) {
            let keys: Vec<_> = raw.iter().map(|key| manager.hmac(sha256, key)).collect();
            let run = move |manager: &mut IpsecMb, tags: &mut [[u8; 32]]| {
                let ends = keys.iter().zip(start).zip(tags);
                let mut jobs: Vec<_> = ends.map(|((key, data), tag)| Job::Hmac { key, data, tag }).collect();
                manager.run(&mut jobs);
            };
            let tags = vec![[0; 32]; messages];
            peers.push((IPSEC_MB, Box::new(TagJobs { manager, tags, tag_bytes, run })));
        }
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }

    fn cmac(&mut self, row: &Row, messages: usize, bytes: usize) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let raw: Vec<[u8; 16]> = (0..messages).map(|job| first(&keys::test_bytes(0xAE5, job, 16))).collect();
        let prepared: Result<Vec<MacKey>, _> =
            raw.iter().map(|key| engine.mac_key(MacAlgorithm::CmacAes128, key)).collect();
        let prepared = prepared.map_err(|error| failed(row, &error))?;
        let start = texts.start();
        let items = prepared.iter().zip(start).map(|(key, text)| MacItem::new(key, text)).collect();
        let mut ours = EngineMac { engine: &engine, items };
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            let keys = raw.iter().map(|key| openssl_ffi::Cmac::new(library, key));
            let (mut keys, mut mac) = (keys.collect::<Vec<_>>(), [0; 16]);
            let run = move |out: &mut Vec<u8>| {
                for (key, text) in keys.iter_mut().zip(start) {
                    key.mac(text, &mut mac);
                    out.extend_from_slice(&mac);
                }
            };
            peers.push((OPENSSL, Box::new(Reading::new(run))));
        }
        let keys = raw.iter().map(aws::Cmac::new);
        let (mut keys, mut mac) = (keys.collect::<Vec<_>>(), [0; 16]);
        let run = move |out: &mut Vec<u8>| {
            for (key, text) in keys.iter_mut().zip(start) {
                key.mac(text, &mut mac);
                out.extend_from_slice(&mac);
            }
        };
        peers.push((AWS_LC, Box::new(Reading::new(run))));
        if let Some(manager) = self.ipsec_mb(true) {
            let keys: Vec<_> = raw.iter().map(|key| manager.cmac(key)).collect();
            let run = move |manager: &mut IpsecMb, tags: &mut [[u8; 32]]| {
                let ends = keys.iter().zip(start).zip(tags);
                let mut jobs: Vec<_> = ends.map(|((key, data), tag)| Job::Cmac { key, data, tag }).collect();
                manager.run(&mut jobs);
            };
            let tags = vec![[0; 32]; messages];
            peers.push((IPSEC_MB, Box::new(TagJobs { manager, tags, tag_bytes: 16, run })));
        }
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }

    fn gcm(&mut self, row: &Row, messages: usize, bytes: usize) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let raw = raw_keys(CipherAlgorithm::Aes128, messages);
        let prepared: Result<Vec<_>, _> = raw.iter().map(|key| engine.gcm_key(key)).collect();
        let prepared = prepared.map_err(|error| failed(row, &error))?;
        let mut data = texts.clone();
        let mut ours = EngineGcm::new(&engine, &prepared, AAD, &texts, &mut data);
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            let keys =
                raw.iter().filter_map(|key| openssl_ffi::Cipher::new(library, "AES-128-GCM", true, key));
            let seal = |key: &mut openssl_ffi::Cipher, iv: &[u8; 16], text: &mut [u8]| {
                key.seal(&first(iv), AAD, text)
            };
            peers.push((OPENSSL, Box::new(Sealing::new(keys.collect(), &texts, seal))));
        }
        let keys = raw.iter().filter_map(|key| aws::Gcm::new(key)).collect();
        let seal = |key: &mut aws::Gcm, iv: &[u8; 16], text: &mut [u8]| key.seal(&first(iv), AAD, text);
        peers.push((AWS_LC, Box::new(Sealing::new(keys, &texts, seal))));
        if let Some(mut manager) = self.ipsec_mb(true) {
            let keys = raw.iter().map(|key| manager.gcm(&first(key))).collect();
            let seal = move |key: &mut peers::ipsec_mb_ffi::GcmKey, iv: &[u8; 16], text: &mut [u8]| {
                manager.gcm_seal(key, &first(iv), AAD, text)
            };
            peers.push((IPSEC_MB, Box::new(Sealing::new(keys, &texts, seal))));
        }
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }

    fn ocb(&mut self, row: &Row, messages: usize, bytes: usize) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let raw = raw_keys(CipherAlgorithm::Aes128, messages);
        let prepared: Result<Vec<_>, _> = raw.iter().map(|key| engine.ocb_key(key)).collect();
        let prepared = prepared.map_err(|error| failed(row, &error))?;
        let mut data = texts.clone();
        let batch = |items: &mut [engine::OcbItem<'_>]| engine.ocb_batch(CipherDirection::Encipher, items);
        let mut ours = EngineAead::new(&batch, &prepared, AAD, &texts, &mut data);
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            let open = |key| openssl_ffi::Cipher::new(library, "AES-128-OCB", true, key);
            let keys = raw.iter().filter_map(|key| open(key)).collect();
            let seal = |key: &mut openssl_ffi::Cipher, iv: &[u8; 16], text: &mut [u8]| {
                key.seal(&first(iv), AAD, text)
            };
            peers.push((OPENSSL, Box::new(Sealing::new(keys, &texts, seal))));
        }
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }

    /// No library here has EAX: the engine stands alone, held by its tests.
    fn eax(&mut self, row: &Row, messages: usize, bytes: usize) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let raw = raw_keys(CipherAlgorithm::Aes128, messages);
        let prepared: Result<Vec<_>, _> = raw.iter().map(|key| engine.eax_key(key)).collect();
        let prepared = prepared.map_err(|error| failed(row, &error))?;
        let mut data = texts.clone();
        let batch = |items: &mut [engine::EaxItem<'_>]| engine.eax_batch(CipherDirection::Encipher, items);
        let mut ours = EngineAead::new(&batch, &prepared, AAD, &texts, &mut data);
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut [])
    }

    /// Key set-up counts on both sides: a message has a key of its own.
    fn cfb_sha1(&mut self, row: &Row, bytes: usize) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(1, bytes));
        let raw = raw_keys(CipherAlgorithm::Aes128, 1);
        engine.cfb_sha1(CipherDirection::Encipher, &raw[0], &[0; 16]).map_err(|error| failed(row, &error))?;
        let ours = move |key: &mut Vec<u8>, iv: &[u8; 16], text: &mut [u8]| {
            let begun = engine.cfb_sha1(CipherDirection::Encipher, key, iv);
            begun.map_or([0; 20], |mut cfb| {
                cfb.update(text);
                cfb.digest()
            })
        };
        let mut ours = Sealing::new(raw.clone(), &texts, ours);
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            let step = move |key: &mut Vec<u8>, iv: &[u8; 16], text: &mut [u8]| {
                let digest = library.sha1(text);
                if let Some(mut cipher) = openssl_ffi::Cipher::new(library, "AES-128-CFB", true, key) {
                    cipher.start(iv);
                    cipher.update(text);
                }
                digest
            };
            peers.push((OPENSSL, Box::new(Sealing::new(raw.clone(), &texts, step))));
        }
        let step = move |key: &mut Vec<u8>, iv: &[u8; 16], text: &mut [u8]| {
            let digest = aws::sha1(text);
            if let Some(schedule) = aws::Aes::new(key, true) {
                schedule.cfb_encipher(&mut iv.clone(), text);
            }
            digest
        };
        peers.push((AWS_LC, Box::new(Sealing::new(raw, &texts, step))));
        self.compare(row, bytes as f64, &mut ours, &mut peers)
    }

    /// Compares the answers of all sides, times them in turn, compares again, and sums up.
    fn compare(
        &self,
        row: &Row,
        units: f64,
        ours: &mut dyn Side,
        peers: &mut [(&str, Box<dyn Side + '_>)],
    ) -> Result<Measure, LabError> {
        agree(row, ours, peers)?;
        let (rounds, length) = (self.options.rounds.max(1), self.options.seconds);
        let calls: Vec<usize> = std::iter::once(calls(ours, length))
            .chain(peers.iter_mut().map(|(_, side)| calls(side.as_mut(), length)))
            .collect();
        let mut rates = vec![Vec::with_capacity(rounds); calls.len()];
        for round in 0..rounds {
            for turn in 0..calls.len() {
                let at = (round + turn) % calls.len();
                let side: &mut dyn Side = if at == 0 { ours } else { peers[at - 1].1.as_mut() };
                rates[at].push(units * calls[at] as f64 / timed(side, calls[at]));
            }
        }
        agree(row, ours, peers)?;
        let names: Vec<&str> = peers.iter().map(|(name, _)| *name).collect();
        Ok(self.sum_up(row, &names, &rates))
    }

    fn sum_up(&self, row: &Row, names: &[&str], rates: &[Vec<f64>]) -> Measure {
        let ours = &rates[0];
        let in_bytes = !matches!(
            row.work,
            Work::Retail { .. } | Work::RsaPrivate { .. } | Work::RsaPublic { .. } | Work::RsaGenerate { .. }
        );
        let (scale, unit) = if in_bytes { (1e-6, "MB/s") } else { (1.0, "ops/s") };
        let scaled = |rates: &[f64]| rates.iter().map(|rate| rate * scale).collect::<Vec<f64>>();
        let (promise, stretch) = row.promise_at(self.level);
        let mut measure = Measure::alone(row.case, unit, &scaled(ours), promise.map(Promise::RatioAtLeast));
        let ratio = |peer: &[f64]| median(&ours.iter().zip(peer).map(|(a, b)| a / b).collect::<Vec<_>>());
        for (name, peer) in names.iter().zip(&rates[1..]) {
            let spread = Summary::of(&scaled(peer)).map(|summary| (summary.min, summary.max));
            let value = median(&scaled(peer));
            measure.others.push(Other { name: (*name).to_owned(), value, ratio: ratio(peer), spread });
        }
        // The best of the single-stream libraries is the one that leaves the smallest ratio.
        let eligible = measure.others.iter().filter(|other| match row.against {
            Against::OpenSsl => other.name == OPENSSL,
            Against::AwsLc => other.name == AWS_LC,
            Against::BestSingle => other.name != IPSEC_MB,
        });
        let judge = eligible.min_by(|a, b| a.ratio.total_cmp(&b.ratio)).cloned();
        match judge {
            Some(judge) => {
                (measure.peer, measure.peer_value, measure.ratio) =
                    (judge.name, Some(judge.value), Some(judge.ratio));
            }
            // Named all the same: the tables say that it is missing.
            None if promise.is_some() => measure.peer = OPENSSL.to_owned(),
            None => {}
        }
        measure.stretch = stretch;
        (measure.part, measure.level) = (Part::Engine, self.level.name().to_owned());
        measure.limit = self.ports.limit(row.work, self.level).map(|limit| {
            let value = limit * scale;
            Limit { value, share: measure.ours / value }
        });
        measure
    }
}

fn failed(row: &Row, cause: &dyn std::fmt::Display) -> LabError {
    LabError::Facility { what: row.case, cause: cause.to_string() }
}

/// Every side must give the same answers from the same start.
fn agree(row: &Row, ours: &mut dyn Side, peers: &mut [(&str, Box<dyn Side + '_>)]) -> Result<(), LabError> {
    let expected = ours.answers();
    for (name, side) in peers {
        if side.answers() != expected {
            return Err(failed(row, &format!("the answers of the engine and of {name} differ")));
        }
    }
    Ok(())
}

/// How many calls take about so many seconds; at least one.
fn calls(side: &mut dyn Side, length: f64) -> usize {
    let mut calls = 1;
    loop {
        let took = timed(side, calls);
        if took >= LOOK.min(length) {
            return ((length / took * calls as f64).round() as usize).max(1);
        }
        calls *= 2;
    }
}

fn timed(side: &mut dyn Side, calls: usize) -> f64 {
    let start = seconds();
    for _ in 0..calls {
        side.call();
    }
    (seconds() - start).max(1e-9)
}

fn private_key(key: &RsaTestKey, crt: bool) -> Result<RsaPrivateKey, engine::RsaKeyError> {
    let RsaTestKey { n, e, d, p, q, dp, dq, qinv, .. } = key;
    if crt {
        RsaPrivateKey::from_crt(&RsaCrt { n, e, p, q, dp, dq, qinv })
    } else {
        RsaPrivateKey::from_me(n, e, d)
    }
}

pub(super) fn plain(key: &RsaTestKey, crt: bool) -> RsaNumbers<'_> {
    let RsaTestKey { n, e, d, p, q, dp, dq, qinv, .. } = key;
    RsaNumbers { n, e, d, crt: crt.then_some([p, q, dp, dq, qinv]) }
}

fn head(chain: &mut [u8; 16]) -> &mut [u8; 8] {
    let (head, _) = chain.split_first_chunk_mut().unwrap_or_else(|| unreachable!("8 <= 16"));
    head
}

/// Whom a library that works in turn does not have to tell that a text begins.
fn nothing<K>(_: &mut K, _: &[u8; 16]) {}

fn openssl_cipher<'a>(
    library: &'static OpenSsl,
    algorithm: CipherAlgorithm,
    mode: Mode,
    encipher: bool,
    raw: &[Vec<u8>],
    texts: &Texts,
) -> Box<dyn Side + 'a> {
    use openssl_ffi::{Cipher, Des};
    let texts = texts.clone();
    let open = |name: &str| raw.iter().filter_map(|key| Cipher::new(library, name, encipher, key)).collect();
    let begin = |key: &mut Cipher, iv: &[u8; 16]| key.start(iv);
    let step = |key: &mut Cipher, _: &mut [u8; 16], text: &mut [u8]| key.update(text);
    match (algorithm, mode) {
        (CipherAlgorithm::Des, mode) => {
            let keys = raw.iter().map(|key| Des::new(library, &first(key))).collect();
            let step = move |key: &mut Des, chain: &mut [u8; 16], text: &mut [u8]| match mode {
                Mode::Cbc => key.cbc(encipher, head(chain), text),
                Mode::Ecb => key.ecb(encipher, text),
                Mode::Ctr => by_blocks(chain, text, |blocks| key.ecb(true, blocks)),
            };
            Box::new(InTurn { keys, texts, begin: nothing, step })
        }
        // It has no triple DES in CTR: counters are enciphered in ECB.
        (CipherAlgorithm::Tdes3, Mode::Ctr) => {
            let keys: Vec<Cipher> = open("DES-EDE3-ECB");
            let step = |key: &mut Cipher, chain: &mut [u8; 16], text: &mut [u8]| {
                by_blocks(chain, text, |blocks| key.update(blocks));
            };
            Box::new(InTurn { keys, texts, begin: nothing, step })
        }
        (CipherAlgorithm::Tdes3, Mode::Ecb) => {
            Box::new(InTurn { keys: open("DES-EDE3-ECB"), texts, begin: nothing, step })
        }
        (CipherAlgorithm::Tdes3, Mode::Cbc) => {
            Box::new(InTurn { keys: open("DES-EDE3-CBC"), texts, begin, step })
        }
        (_, Mode::Ecb) => Box::new(InTurn { keys: open("AES-128-ECB"), texts, begin: nothing, step }),
        (_, Mode::Cbc) => Box::new(InTurn { keys: open("AES-128-CBC"), texts, begin, step }),
        (_, Mode::Ctr) => Box::new(InTurn { keys: open("AES-128-CTR"), texts, begin, step }),
    }
}

fn aws_cipher<'a>(
    algorithm: CipherAlgorithm,
    mode: Mode,
    encipher: bool,
    raw: &[Vec<u8>],
    texts: &Texts,
) -> Box<dyn Side + 'a> {
    let texts = texts.clone();
    match algorithm {
        CipherAlgorithm::Des => {
            let keys = raw.iter().map(|key| aws::Des::new(&first(key))).collect();
            let step = move |key: &mut aws::Des, chain: &mut [u8; 16], text: &mut [u8]| match mode {
                Mode::Cbc => key.cbc(encipher, head(chain), text),
                Mode::Ecb => key.ecb(encipher, text),
                Mode::Ctr => by_blocks(chain, text, |blocks| key.ecb(true, blocks)),
            };
            Box::new(InTurn { keys, texts, begin: nothing, step })
        }
        CipherAlgorithm::Tdes2 | CipherAlgorithm::Tdes3 => {
            let keys = raw.iter().map(|key| aws::Tdes::new(&first(key))).collect();
            let step = move |key: &mut aws::Tdes, chain: &mut [u8; 16], text: &mut [u8]| match mode {
                Mode::Cbc => key.cbc(encipher, head(chain), text),
                Mode::Ecb => key.ecb(encipher, text),
                Mode::Ctr => by_blocks(chain, text, |blocks| key.ecb(true, blocks)),
            };
            Box::new(InTurn { keys, texts, begin: nothing, step })
        }
        _ if mode == Mode::Ecb => {
            let keys = raw.iter().map(|key| aws::AesEcb::new(&first(key), encipher)).collect();
            let step = |key: &mut aws::AesEcb, _: &mut [u8; 16], text: &mut [u8]| key.update(text);
            Box::new(InTurn { keys, texts, begin: nothing, step })
        }
        _ => {
            let forward = encipher || mode == Mode::Ctr;
            let keys = raw.iter().filter_map(|key| aws::Aes::new(key, forward)).collect();
            let step = move |key: &mut aws::Aes, chain: &mut [u8; 16], text: &mut [u8]| match mode {
                Mode::Cbc => key.cbc(encipher, chain, text),
                Mode::Ecb | Mode::Ctr => key.ctr(chain, text),
            };
            Box::new(InTurn { keys, texts, begin: nothing, step })
        }
    }
}

/// CTR put together from ECB over eight-byte counters, some hundred at a time.
fn by_blocks(chain: &mut [u8; 16], text: &mut [u8], mut ecb: impl FnMut(&mut [u8])) {
    let mut stream = [0; 1024];
    let mut counter = u64::from_be_bytes(*head(chain));
    for part in text.chunks_mut(stream.len()) {
        let stream = &mut stream[..part.len().next_multiple_of(8)];
        for block in stream.as_chunks_mut::<8>().0 {
            *block = counter.to_be_bytes();
            counter = counter.wrapping_add(1);
        }
        ecb(stream);
        part.iter_mut().zip(stream).for_each(|(byte, key_byte)| *byte ^= *key_byte);
    }
    *head(chain) = counter.to_be_bytes();
}

fn aws_x919(key: &[u8; 16], text: &[u8], room: &mut [u8]) -> [u8; 8] {
    let (left, right) = (aws::Des::new(&first(key)), aws::Des::new(&first(&key[8..])));
    let mut chain = [0; 8];
    room.copy_from_slice(text);
    left.cbc(true, &mut chain, room);
    right.ecb(false, &mut chain);
    left.ecb(true, &mut chain);
    chain
}

/// Keys of the multi-buffer library: the jobs refer to them.
#[derive(Default)]
struct IpsecKeys {
    des: Vec<peers::ipsec_mb_ffi::DesKey>,
    aes: Vec<peers::ipsec_mb_ffi::AesKey>,
    ivs: Vec<[u8; 16]>,
}

/// The jobs of a row; none where the library has no such operation, or its jobs are too short.
fn ipsec_cipher<'a>(
    manager: &IpsecMb,
    (algorithm, mode, encipher): (CipherAlgorithm, Mode, bool),
    (raw, texts): (&[Vec<u8>], &'a Texts),
    data: &'a mut Texts,
    made: &'a mut IpsecKeys,
) -> Option<Vec<Job<'a>>> {
    let is_aes = algorithm.block_bytes() == 16;
    if texts.start()[0].len() > JOB_BYTES_MAX || mode == Mode::Ecb || (mode == Mode::Ctr && !is_aes) {
        return None;
    }
    if is_aes {
        made.aes = raw.iter().map(|key| manager.aes128(&first(key))).collect();
    } else {
        made.des = raw.iter().map(|key| manager.des(key)).collect();
    }
    made.ivs = texts.ivs().to_vec();
    let made = &*made;
    let job = |(index, text): (usize, &'a mut Vec<u8>)| {
        let work = match (algorithm, mode) {
            (CipherAlgorithm::Des, _) => Kind::DesCbc(&made.des[index]),
            (_, _) if !is_aes => Kind::TdesCbc(&made.des[index]),
            (_, Mode::Ctr) => Kind::AesCtr(&made.aes[index]),
            _ => Kind::AesCbc(&made.aes[index]),
        };
        Job::Cipher { work, encipher, iv: &made.ivs[index], data: text }
    };
    Some(data.now_mut().iter_mut().enumerate().map(job).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row runs, its sides agree, and it is judged by whom it names.
    #[test]
    fn every_row_runs_and_its_answers_agree() {
        let options = Options { rounds: 1, seconds: 1e-6, ..Options::default() };
        let (stop, mut rows) = (AtomicBool::new(false), Vec::new());
        // Generating keys and long exponents cost seconds, and are the same code.
        let few = |case: &str| !case.contains("4096") && !case.contains("generation");
        for row in ROWS.iter().filter(|row| few(row.case)) {
            let options = Options { filter: Some(row.case.to_owned()), ..options.clone() };
            run(&options, &stop, &mut |_| (), &mut |measure| rows.push(measure)).unwrap();
        }
        let rows: Vec<_> = rows.iter().filter(|row| !row.is_note()).collect();
        assert!(rows.len() >= ROWS.len() - 5);
        for row in rows {
            assert!(row.ours > 0.0, "{}", row.case);
            let judges = ROWS.iter().find(|known| known.case == row.case).map(|known| known.against);
            let alone = row.case.contains("EAX") || (judges == Some(Against::OpenSsl) && openssl().is_err());
            assert_eq!(row.ratio.is_some(), !alone, "{}", row.case);
        }
    }

    #[test]
    fn sides_that_differ_are_found() {
        let mut ours = Reading::new(|out: &mut Vec<u8>| out.push(1));
        let theirs = Reading::new(|out: &mut Vec<u8>| out.push(2));
        let mut peers: Vec<(&str, Box<dyn Side>)> = vec![("another", Box::new(theirs))];
        let error = agree(&ROWS[0], &mut ours, &mut peers).unwrap_err();
        assert!(error.to_string().contains("another differ"), "{error}");
    }

    #[test]
    fn case_names_are_unique() {
        let names: std::collections::HashSet<_> = ROWS.iter().map(|row| row.case).collect();
        assert_eq!(names.len(), ROWS.len());
    }
}
