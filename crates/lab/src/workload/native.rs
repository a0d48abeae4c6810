//! Jobs given to the engine in the caller's thread.
//!
//! A thread's jobs are one batch. Each job has its own key, chaining value and data; ciphers work on
//! their data in place, so that the output of one call is the input of the next, as in the published
//! loops. Before the first call the engine's answers are held against published vectors, and what
//! each job must give is worked out another way than the one that is measured (singly instead of in a batch,
//! by the definition, by the inverse).

use super::pacing::{Caller, Context, Outcome, in_threads, run, shares};
use super::{LabError, Workload, keys, known};
use crate::operation::{Cipher, Direction, Hash, Mac, Mode, Operation, RsaForm};
use engine::{
    CipherAlgorithm, CipherDirection, CipherItem, CipherKey, Curve, EcPrivateKey, EcPublicKey, EcdsaSignItem,
    EcdsaVerifyItem, Engine, GcmItem, GcmKey, HashAlgorithm, HashItem, HmacItem, HmacKey, MacAlgorithm,
    MacItem, MacKey, RsaCrt, RsaPrivateItem, RsaPrivateKey, RsaPublicItem, RsaPublicKey,
};
use num_bigint::BigUint;

/// Runs a workload of the native interface.
pub(super) fn measure(
    workload: &Workload,
    engine: &Engine,
    context: Context<'_>,
) -> Result<Outcome, LabError> {
    known::check(engine, workload.operation)?;
    let shares = shares(workload);
    let (bytes, prepared) = (workload.bytes, workload.prepared);
    let refused = refused(workload.operation);
    match workload.operation {
        Operation::Cipher { cipher, mode: Mode::Gcm, direction } => {
            let jobs =
                make(shares, |job| GcmJob::new(engine, cipher, direction, job, bytes).map_err(refused))?;
            in_threads(context, jobs, |pass, mut jobs| {
                run(pass, workload, GcmCaller { workload, engine, direction, jobs: &mut jobs }, context)
            })
        }
        Operation::Cipher { cipher, mode, direction } => {
            let jobs = make(shares, |job| {
                CipherJob::new(engine, (cipher, mode, direction), job, bytes).map_err(refused)
            })?;
            in_threads(context, jobs, |pass, mut jobs| {
                let how = (algorithm(cipher), engine_mode(mode), engine_direction(direction));
                if prepared {
                    run(pass, workload, CipherBatch::new(workload, engine, how, &mut jobs), context)
                } else {
                    run(pass, workload, CipherRaw { workload, engine, how, jobs: &mut jobs }, context)
                }
            })
        }
        Operation::Mac(mac) => {
            let jobs = make(shares, |job| MacJob::new(engine, mac, job, bytes).map_err(refused))?;
            in_threads(context, jobs, |pass, jobs| {
                let items = jobs.iter().map(|job| MacItem::new(&job.prepared, &job.data)).collect();
                run(
                    pass,
                    workload,
                    MacCaller { workload, engine, mac, jobs: &jobs, items, prepared },
                    context,
                )
            })
        }
        Operation::Hash(hash) => {
            let jobs = make(shares, |job| TextJob::hash(engine, hash, job, bytes).map_err(refused))?;
            in_threads(context, jobs, |pass, jobs| {
                let items = jobs.iter().map(|job| HashItem::new(&job.data)).collect();
                run(pass, workload, HashCaller { workload, engine, hash, jobs: &jobs, items }, context)
            })
        }
        Operation::Hmac(hash) => {
            let jobs = make(shares, |job| HmacJob::new(engine, hash, job, bytes).map_err(refused))?;
            in_threads(context, jobs, |pass, jobs| {
                let items = jobs.iter().map(|job| HmacItem::new(&job.prepared, &job.text.data)).collect();
                run(pass, workload, HmacCaller { workload, engine, jobs: &jobs, items, prepared }, context)
            })
        }
        Operation::Rsa { bits, form: RsaForm::Public } => {
            let jobs = make(shares, |job| RsaJob::new(bits, RsaForm::Public, job).map_err(refused))?;
            in_threads(context, jobs, |pass, mut jobs| {
                run(pass, workload, RsaPublicCaller::new(workload, engine, &mut jobs), context)
            })
        }
        Operation::Rsa { bits, form } => {
            let jobs = make(shares, |job| RsaJob::new(bits, form, job).map_err(refused))?;
            in_threads(context, jobs, |pass, mut jobs| {
                run(pass, workload, RsaPrivateCaller::new(workload, engine, &mut jobs), context)
            })
        }
        Operation::EcdsaP256Sign => {
            let jobs = make(shares, |job| EcdsaJob::new(job).map_err(refused))?;
            in_threads(context, jobs, |pass, jobs| {
                let items = jobs.iter().map(|job| EcdsaSignItem::new(&job.private, &job.digest)).collect();
                run(pass, workload, EcdsaCaller { workload, engine, jobs: &jobs, items }, context)
            })
        }
        Operation::Verb { .. } => Err(super::Refusal::NeedsCard(workload.operation).into()),
    }
}

/// What the engine said, as an error of the lab.
pub(super) fn refused(operation: Operation) -> impl Fn(String) -> LabError + Copy {
    move |cause| LabError::Engine { operation, cause }
}

fn make<J>(
    shares: Vec<std::ops::Range<usize>>,
    job: impl Fn(usize) -> Result<J, LabError>,
) -> Result<Vec<Vec<J>>, LabError> {
    shares.into_iter().map(|share| share.map(&job).collect()).collect()
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Makes an error of an item's result.
fn went<E: std::fmt::Display>(workload: &Workload, result: Result<(), E>) -> Result<(), LabError> {
    result.map_err(|error| LabError::Engine { operation: workload.operation, cause: error.to_string() })
}

/// Compares an answer with what it must be.
pub(super) fn expect(workload: &Workload, job: usize, got: &[u8], expected: &[u8]) -> Result<(), LabError> {
    if got == expected {
        Ok(())
    } else {
        let what = "the answer is not what it must be";
        Err(LabError::WrongAnswer { operation: workload.operation, job, what })
    }
}

pub(super) const fn algorithm(cipher: Cipher) -> CipherAlgorithm {
    match cipher {
        Cipher::Des => CipherAlgorithm::Des,
        Cipher::Tdes => CipherAlgorithm::Tdes3,
        Cipher::Aes128 => CipherAlgorithm::Aes128,
        Cipher::Aes192 => CipherAlgorithm::Aes192,
        Cipher::Aes256 => CipherAlgorithm::Aes256,
    }
}

pub(super) const fn engine_mode(mode: Mode) -> engine::Mode {
    match mode {
        Mode::Ecb => engine::Mode::Ecb,
        Mode::Cbc => engine::Mode::Cbc,
        Mode::Ctr | Mode::Gcm => engine::Mode::Ctr,
    }
}

pub(super) const fn engine_direction(direction: Direction) -> CipherDirection {
    match direction {
        Direction::Encipher => CipherDirection::Encipher,
        Direction::Decipher => CipherDirection::Decipher,
    }
}

pub(super) const fn hash_algorithm(hash: Hash) -> HashAlgorithm {
    match hash {
        Hash::Sha1 => HashAlgorithm::Sha1,
        Hash::Sha224 => HashAlgorithm::Sha224,
        Hash::Sha256 => HashAlgorithm::Sha256,
        Hash::Sha384 => HashAlgorithm::Sha384,
        Hash::Sha512 => HashAlgorithm::Sha512,
        Hash::Sha3_224 => HashAlgorithm::Sha3_224,
        Hash::Sha3_256 => HashAlgorithm::Sha3_256,
        Hash::Sha3_384 => HashAlgorithm::Sha3_384,
        Hash::Sha3_512 => HashAlgorithm::Sha3_512,
    }
}

pub(super) const fn mac_algorithm(mac: Mac) -> MacAlgorithm {
    match mac {
        Mac::Des => MacAlgorithm::X99,
        Mac::Tdes => MacAlgorithm::X919,
        Mac::Aes128Cmac => MacAlgorithm::CmacAes128,
    }
}

type How = (CipherAlgorithm, engine::Mode, CipherDirection);

/// A cipher's job: what it starts from and what one call must make of it.
pub(super) struct CipherJob {
    pub key: Vec<u8>,
    pub iv: Vec<u8>,
    pub input: Vec<u8>,
    pub expected: Vec<u8>,
    prepared: CipherKey,
    chain: Vec<u8>,
    data: Vec<u8>,
}

impl CipherJob {
    /// The expected answer is worked out singly, and the inverse must lead back.
    pub fn new(
        engine: &Engine,
        (cipher, mode, direction): (Cipher, Mode, Direction),
        job: usize,
        bytes: usize,
    ) -> Result<Self, String> {
        let key = keys::cipher_key(cipher, job);
        let iv = keys::test_bytes(0x1F, job, cipher.block_bytes());
        let input = keys::test_bytes(0xDA7A, job, bytes);
        let mut expected = input.clone();
        let mode = engine_mode(mode);
        let there = engine_direction(direction);
        let back = match there {
            CipherDirection::Encipher => CipherDirection::Decipher,
            CipherDirection::Decipher => CipherDirection::Encipher,
        };
        engine.cipher(algorithm(cipher), mode, there, &key, &mut iv.clone(), &mut expected).map_err(text)?;
        let prepared = engine.cipher_key(algorithm(cipher), &key).map_err(text)?;
        let mut inverse = expected.clone();
        let mut item = [CipherItem::new(&prepared, &iv, &mut inverse)];
        engine.cipher_batch(mode, back, &mut item);
        if item[0].result.is_err() || inverse != input {
            return Err("deciphering does not lead back".to_owned());
        }
        Ok(Self { data: input.clone(), chain: iv.clone(), key, iv, input, expected, prepared })
    }
}

impl CipherJob {
    /// A text enciphered in ECB mode.
    pub fn over(engine: &Engine, cipher: Cipher, key: &[u8], text_in: &[u8]) -> Result<Vec<u8>, String> {
        let mut data = text_in.to_vec();
        let mut chain = vec![0; cipher.block_bytes()];
        engine
            .cipher(
                algorithm(cipher),
                engine::Mode::Ecb,
                CipherDirection::Encipher,
                key,
                &mut chain,
                &mut data,
            )
            .map_err(text)?;
        Ok(data)
    }
}

struct CipherBatch<'a> {
    workload: &'a Workload,
    engine: &'a Engine,
    how: How,
    known: Vec<(&'a [u8], &'a [u8], &'a [u8])>,
    items: Vec<CipherItem<'a>>,
}

impl<'a> CipherBatch<'a> {
    fn new(workload: &'a Workload, engine: &'a Engine, how: How, jobs: &'a mut [CipherJob]) -> Self {
        let (mut known, mut items) = (Vec::new(), Vec::new());
        for CipherJob { iv, input, expected, prepared, data, .. } in jobs {
            known.push((&iv[..], &input[..], &expected[..]));
            items.push(CipherItem::new(prepared, iv, data));
        }
        Self { workload, engine, how, known, items }
    }
}

impl Caller for CipherBatch<'_> {
    fn jobs(&self) -> usize {
        self.items.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        self.engine.cipher_batch(self.how.1, self.how.2, &mut self.items[..jobs]);
        went(self.workload, self.items[..jobs].iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for (item, (iv, input, _)) in self.items.iter_mut().zip(&self.known) {
            item.chain[..iv.len()].copy_from_slice(iv);
            item.data.copy_from_slice(input);
        }
        self.call(self.items.len())?;
        for (job, (item, (_, _, expected))) in self.items.iter().zip(&self.known).enumerate() {
            expect(self.workload, job, item.data, expected)?;
        }
        Ok(self.items.len() as u64)
    }
}

/// Keys come with each call: a single job through the call for that, several prepared and run as a
/// batch.
struct CipherRaw<'a> {
    workload: &'a Workload,
    engine: &'a Engine,
    how: How,
    jobs: &'a mut [CipherJob],
}

impl Caller for CipherRaw<'_> {
    fn jobs(&self) -> usize {
        self.jobs.len()
    }

    #[inline]
    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        let (algorithm, mode, direction) = self.how;
        if let [job] = &mut self.jobs[..jobs] {
            return went(
                self.workload,
                self.engine.cipher(algorithm, mode, direction, &job.key, &mut job.chain, &mut job.data),
            );
        }
        let jobs = &mut self.jobs[..jobs];
        let keys = jobs.iter().map(|job| self.engine.cipher_key(algorithm, &job.key));
        let keys: Vec<CipherKey> =
            keys.collect::<Result<_, _>>().map_err(|error| refused(self.workload.operation)(text(error)))?;
        let mut items: Vec<CipherItem<'_>> =
            keys.iter().zip(jobs).map(|(key, job)| CipherItem::new(key, &job.chain, &mut job.data)).collect();
        self.engine.cipher_batch(mode, direction, &mut items);
        went(self.workload, items.iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for job in self.jobs.iter_mut() {
            job.data.copy_from_slice(&job.input);
            job.chain.copy_from_slice(&job.iv);
        }
        self.call(self.jobs.len())?;
        for (index, job) in self.jobs.iter().enumerate() {
            expect(self.workload, index, &job.data, &job.expected)?;
        }
        Ok(self.jobs.len() as u64)
    }
}

/// A GCM job.
pub(super) struct GcmJob {
    pub nonce: Vec<u8>,
    pub aad: Vec<u8>,
    pub key: Vec<u8>,
    pub input: Vec<u8>,
    pub expected: Vec<u8>,
    pub tag: [u8; 16],
    prepared: GcmKey,
    data: Vec<u8>,
}

impl GcmJob {
    pub fn new(
        engine: &Engine,
        cipher: Cipher,
        direction: Direction,
        job: usize,
        bytes: usize,
    ) -> Result<Self, String> {
        let key = keys::cipher_key(cipher, job);
        let prepared = engine.gcm_key(&key).map_err(text)?;
        let (nonce, aad) = (keys::test_bytes(0x60, job, 12), keys::test_bytes(0xAAD, job, 13));
        let clear = keys::test_bytes(0xDA7A, job, bytes);
        let mut sealed = clear.clone();
        let mut item = [GcmItem::encipher(&prepared, &nonce, &aad, &mut sealed)];
        engine.gcm_batch(CipherDirection::Encipher, &mut item);
        let tag = item[0].tag;
        item[0].result.map_err(text)?;
        let mut opened = sealed.clone();
        let mut item = [GcmItem::decipher(&prepared, &nonce, &aad, &mut opened, &tag)];
        engine.gcm_batch(CipherDirection::Decipher, &mut item);
        if item[0].result.is_err() || opened != clear {
            return Err("deciphering does not lead back".to_owned());
        }
        let (input, expected) = match direction {
            Direction::Encipher => (clear, sealed),
            Direction::Decipher => (sealed, clear),
        };
        Ok(Self { nonce, aad, key, prepared, data: input.clone(), input, expected, tag })
    }
}

/// Deciphering needs text that authenticates: its input is copied in before each call, and that copy
/// is part of the figure.
struct GcmCaller<'a> {
    workload: &'a Workload,
    engine: &'a Engine,
    direction: Direction,
    jobs: &'a mut [GcmJob],
}

impl Caller for GcmCaller<'_> {
    fn jobs(&self) -> usize {
        self.jobs.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        let decipher = self.direction == Direction::Decipher;
        let jobs = &mut self.jobs[..jobs];
        let mut keys = Vec::new();
        if !self.workload.prepared {
            for job in jobs.iter() {
                let key = self.engine.gcm_key(&job.key);
                keys.push(key.map_err(|error| refused(self.workload.operation)(text(error)))?);
            }
        }
        let mut items: Vec<GcmItem<'_>> = Vec::with_capacity(jobs.len());
        for (index, GcmJob { nonce, aad, prepared, input, tag, data, .. }) in jobs.iter_mut().enumerate() {
            let key = keys.get(index).unwrap_or(prepared);
            items.push(if decipher {
                data.copy_from_slice(input);
                GcmItem::decipher(key, nonce, aad, data, tag)
            } else {
                GcmItem::encipher(key, nonce, aad, data)
            });
        }
        self.engine.gcm_batch(engine_direction(self.direction), &mut items);
        went(self.workload, items.iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for job in self.jobs.iter_mut() {
            job.data.copy_from_slice(&job.input);
        }
        self.call(self.jobs.len())?;
        for (index, job) in self.jobs.iter().enumerate() {
            expect(self.workload, index, &job.data, &job.expected)?;
        }
        Ok(self.jobs.len() as u64)
    }
}

/// A MAC's job.
pub(super) struct MacJob {
    pub key: Vec<u8>,
    pub data: Vec<u8>,
    /// As long as a block.
    pub expected: Vec<u8>,
    prepared: MacKey,
}

impl MacJob {
    /// The expected MACs of X9.9 and X9.19 follow their definition in single-DES steps.
    pub fn new(engine: &Engine, mac: Mac, job: usize, bytes: usize) -> Result<Self, String> {
        let key = match mac {
            Mac::Aes128Cmac => keys::test_bytes(0xAE5, job, mac.key_bytes()),
            Mac::Des | Mac::Tdes => keys::des_key(job, mac.key_bytes()),
        };
        let data = keys::test_bytes(0xDA7A, job, bytes);
        let prepared = engine.mac_key(mac_algorithm(mac), &key).map_err(text)?;
        let expected = match mac {
            Mac::Aes128Cmac => {
                // In two segments rather than one, where there are two blocks.
                let split = if bytes > 16 { (bytes - 1) / 16 * 16 } else { 0 };
                let mut first = MacItem::new(&prepared, &data[..split]);
                first.last = false;
                let mut items = [first];
                engine.mac_batch(&mut items);
                let mut last = MacItem::new(&prepared, &data[split..]);
                last.chain = items[0].chain;
                let mut items = [last];
                engine.mac_batch(&mut items);
                items[0].result.map_err(text)?;
                items[0].mac.to_vec()
            }
            Mac::Des | Mac::Tdes => {
                let des = |mode, direction, key: &[u8], data: &mut [u8]| {
                    engine.cipher(CipherAlgorithm::Des, mode, direction, key, &mut [0; 8], data).map_err(text)
                };
                let mut padded = data.clone();
                padded.resize(bytes.div_ceil(8) * 8, 0);
                des(engine::Mode::Cbc, CipherDirection::Encipher, &key[..8], &mut padded)?;
                let mut block = padded[padded.len() - 8..].to_vec();
                if mac == Mac::Tdes {
                    des(engine::Mode::Ecb, CipherDirection::Decipher, &key[8..], &mut block)?;
                    des(engine::Mode::Ecb, CipherDirection::Encipher, &key[..8], &mut block)?;
                }
                block
            }
        };
        Ok(Self { key, data, expected, prepared })
    }
}

struct MacCaller<'a> {
    workload: &'a Workload,
    engine: &'a Engine,
    mac: Mac,
    jobs: &'a [MacJob],
    items: Vec<MacItem<'a>>,
    prepared: bool,
}

impl Caller for MacCaller<'_> {
    fn jobs(&self) -> usize {
        self.items.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        if self.prepared {
            for item in &mut self.items[..jobs] {
                item.chain = [0; 16];
            }
            self.engine.mac_batch(&mut self.items[..jobs]);
            return went(self.workload, self.items[..jobs].iter().try_for_each(|item| item.result));
        }
        let algorithm = mac_algorithm(self.mac);
        let refused = |error| refused(self.workload.operation)(text(error));
        if let [job] = &self.jobs[..jobs] {
            let key = self.engine.mac_key(algorithm, &job.key).map_err(refused)?;
            let mut item = [MacItem::new(&key, &job.data)];
            self.engine.mac_batch(&mut item);
            self.items[0].mac = item[0].mac;
            return went(self.workload, item[0].result);
        }
        let keys = self.jobs[..jobs].iter().map(|job| self.engine.mac_key(algorithm, &job.key));
        let keys: Vec<MacKey> = keys.collect::<Result<_, _>>().map_err(refused)?;
        let mut items: Vec<MacItem<'_>> =
            keys.iter().zip(self.jobs).map(|(key, job)| MacItem::new(key, &job.data)).collect();
        self.engine.mac_batch(&mut items);
        for (ours, item) in self.items.iter_mut().zip(&items) {
            ours.mac = item.mac;
        }
        went(self.workload, items.iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for item in &mut self.items {
            item.mac = [0; 16];
        }
        self.call(self.items.len())?;
        for (index, (item, job)) in self.items.iter().zip(self.jobs).enumerate() {
            expect(self.workload, index, &item.mac[..job.expected.len()], &job.expected)?;
        }
        Ok(self.items.len() as u64)
    }
}

/// A job over a text without a key.
pub(super) struct TextJob {
    pub data: Vec<u8>,
    pub expected: Vec<u8>,
}

impl TextJob {
    /// The expected digest is worked out in two pieces.
    pub fn hash(engine: &Engine, hash: Hash, job: usize, bytes: usize) -> Result<Self, String> {
        let data = keys::test_bytes(0xDA7A, job, bytes);
        let algorithm = hash_algorithm(hash);
        let mut state = engine.hash_state(algorithm).map_err(text)?;
        let (first, second) = data.split_at(bytes / 3);
        state.update(first);
        state.update(second);
        let expected = state.finish()[..algorithm.digest_bytes()].to_vec();
        Ok(Self { data, expected })
    }

    /// The expected MAC follows RFC 2104: hash of the outer pad and the hash of the inner one. The key is
    /// no longer than a block.
    pub fn hmac(engine: &Engine, hash: Hash, key: &[u8], job: usize, bytes: usize) -> Result<Self, String> {
        let algorithm = hash_algorithm(hash);
        let data = keys::test_bytes(0xDA7A, job, bytes);
        let padded = |byte: u8| {
            let mut block = vec![byte; algorithm.block_bytes()];
            block.iter_mut().zip(key).for_each(|(pad, key)| *pad ^= key);
            block
        };
        let digest = |parts: [&[u8]; 2]| {
            let digest = engine.hash(algorithm, &parts.concat()).map_err(text)?;
            Ok::<_, String>(digest[..algorithm.digest_bytes()].to_vec())
        };
        let inner = digest([&padded(0x36), &data])?;
        let expected = digest([&padded(0x5C), &inner])?;
        Ok(Self { data, expected })
    }
}

struct HashCaller<'a> {
    workload: &'a Workload,
    engine: &'a Engine,
    hash: Hash,
    jobs: &'a [TextJob],
    items: Vec<HashItem<'a>>,
}

impl Caller for HashCaller<'_> {
    fn jobs(&self) -> usize {
        self.items.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        self.engine.hash_batch(hash_algorithm(self.hash), &mut self.items[..jobs]);
        went(self.workload, self.items[..jobs].iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for item in &mut self.items {
            item.digest = [0; 64];
        }
        self.call(self.items.len())?;
        for (index, (item, job)) in self.items.iter().zip(self.jobs).enumerate() {
            expect(self.workload, index, &item.digest[..job.expected.len()], &job.expected)?;
        }
        Ok(self.items.len() as u64)
    }
}

struct HmacJob {
    key: Vec<u8>,
    prepared: HmacKey,
    text: TextJob,
}

impl HmacJob {
    fn new(engine: &Engine, hash: Hash, job: usize, bytes: usize) -> Result<Self, String> {
        let key = keys::test_bytes(0x43AC, job, 20);
        let prepared = engine.hmac_key(hash_algorithm(hash), &key).map_err(text)?;
        let text = TextJob::hmac(engine, hash, &key, job, bytes)?;
        Ok(Self { key, prepared, text })
    }
}

struct HmacCaller<'a> {
    workload: &'a Workload,
    engine: &'a Engine,
    jobs: &'a [HmacJob],
    items: Vec<HmacItem<'a>>,
    prepared: bool,
}

impl Caller for HmacCaller<'_> {
    fn jobs(&self) -> usize {
        self.items.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        if self.prepared {
            self.engine.hmac_batch(&mut self.items[..jobs]);
            return went(self.workload, self.items[..jobs].iter().try_for_each(|item| item.result));
        }
        let keys =
            self.jobs[..jobs].iter().map(|job| self.engine.hmac_key(job.prepared.algorithm(), &job.key));
        let keys: Vec<HmacKey> =
            keys.collect::<Result<_, _>>().map_err(|error| refused(self.workload.operation)(text(error)))?;
        let mut items: Vec<HmacItem<'_>> =
            keys.iter().zip(self.jobs).map(|(key, job)| HmacItem::new(key, &job.text.data)).collect();
        self.engine.hmac_batch(&mut items);
        for (ours, item) in self.items.iter_mut().zip(&items) {
            ours.mac = item.mac;
        }
        went(self.workload, items.iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for item in &mut self.items {
            item.mac = [0; 64];
        }
        self.call(self.items.len())?;
        for (index, (item, job)) in self.items.iter().zip(self.jobs).enumerate() {
            expect(self.workload, index, &item.mac[..job.text.expected.len()], &job.text.expected)?;
        }
        Ok(self.items.len() as u64)
    }
}

/// An RSA job: the engine's key and one operation with a known answer. Keys are always prepared: making one costs as much as
/// using it.
pub(super) struct RsaJob {
    pub public: RsaPublicKey,
    pub private: RsaPrivateKey,
    pub input: Vec<u8>,
    pub expected: Vec<u8>,
    output: Vec<u8>,
}

impl RsaJob {
    /// The known answer is worked out with another arithmetic: `x^e mod n` for a public operation, and
    /// a private one undoes it.
    pub fn new(bits: u32, form: RsaForm, job: usize) -> Result<Self, String> {
        let private = rsa_private_key(bits, form, job)?;
        let (n, e) = (private.n(), private.e());
        let public = RsaPublicKey::new(&n, &e).map_err(text)?;
        let mut message = keys::test_bytes(0x45A, job, n.len());
        message[0] = 0;
        let number =
            BigUint::from_bytes_be(&message).modpow(&BigUint::from_bytes_be(&e), &BigUint::from_bytes_be(&n));
        let bytes = number.to_bytes_be();
        let mut raised = vec![0; n.len() - bytes.len()];
        raised.extend_from_slice(&bytes);
        let (input, expected) = if form == RsaForm::Public { (message, raised) } else { (raised, message) };
        Ok(Self { public, private, output: vec![0; n.len()], input, expected })
    }
}

/// The private key of a job: a test key where there is one of this size, else one made for it.
pub(super) fn rsa_private_key(bits: u32, form: RsaForm, job: usize) -> Result<RsaPrivateKey, String> {
    let made = match keys::rsa_test_key(bits, job) {
        Some(key) if form == RsaForm::Me => RsaPrivateKey::from_me(&key.n, &key.e, &key.d),
        Some(key) => RsaPrivateKey::from_crt(&RsaCrt {
            n: &key.n,
            e: &key.e,
            p: &key.p,
            q: &key.q,
            dp: &key.dp,
            dq: &key.dq,
            qinv: &key.qinv,
        }),
        None => {
            let key = RsaPrivateKey::generate(bits as usize, &[1, 0, 1]).map_err(text)?;
            if form == RsaForm::Me { RsaPrivateKey::from_me(&key.n(), &key.e(), &key.d()) } else { Ok(key) }
        }
    };
    made.map_err(text)
}

struct RsaPrivateCaller<'a> {
    workload: &'a Workload,
    engine: &'a Engine,
    expected: Vec<&'a [u8]>,
    items: Vec<RsaPrivateItem<'a>>,
}

impl<'a> RsaPrivateCaller<'a> {
    fn new(workload: &'a Workload, engine: &'a Engine, jobs: &'a mut [RsaJob]) -> Self {
        let (mut expected, mut items) = (Vec::new(), Vec::new());
        for job in jobs {
            expected.push(&job.expected[..]);
            items.push(RsaPrivateItem::new(&job.private, &job.input, &mut job.output));
        }
        Self { workload, engine, expected, items }
    }
}

impl Caller for RsaPrivateCaller<'_> {
    fn jobs(&self) -> usize {
        self.items.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        self.engine.rsa_private_batch(&mut self.items[..jobs]);
        went(self.workload, self.items[..jobs].iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for item in &mut self.items {
            item.output.fill(0);
        }
        self.call(self.items.len())?;
        for (index, (item, expected)) in self.items.iter().zip(&self.expected).enumerate() {
            expect(self.workload, index, item.output, expected)?;
        }
        Ok(self.items.len() as u64)
    }
}

struct RsaPublicCaller<'a> {
    workload: &'a Workload,
    engine: &'a Engine,
    expected: Vec<&'a [u8]>,
    items: Vec<RsaPublicItem<'a>>,
}

impl<'a> RsaPublicCaller<'a> {
    fn new(workload: &'a Workload, engine: &'a Engine, jobs: &'a mut [RsaJob]) -> Self {
        let (mut expected, mut items) = (Vec::new(), Vec::new());
        for job in jobs {
            expected.push(&job.expected[..]);
            items.push(RsaPublicItem::new(&job.public, &job.input, &mut job.output));
        }
        Self { workload, engine, expected, items }
    }
}

impl Caller for RsaPublicCaller<'_> {
    fn jobs(&self) -> usize {
        self.items.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        self.engine.rsa_public_batch(&mut self.items[..jobs]);
        went(self.workload, self.items[..jobs].iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for item in &mut self.items {
            item.output.fill(0);
        }
        self.call(self.items.len())?;
        for (index, (item, expected)) in self.items.iter().zip(&self.expected).enumerate() {
            expect(self.workload, index, item.output, expected)?;
        }
        Ok(self.items.len() as u64)
    }
}

struct EcdsaJob {
    private: EcPrivateKey,
    public: EcPublicKey,
    digest: Vec<u8>,
}

impl EcdsaJob {
    fn new(job: usize) -> Result<Self, String> {
        let private = EcPrivateKey::generate(Curve::P256).map_err(text)?;
        let public = private.public_key().map_err(text)?;
        Ok(Self { private, public, digest: keys::test_bytes(0xD16E57, job, 32) })
    }
}

/// Signatures differ from call to call: an answer is right where it verifies.
struct EcdsaCaller<'a> {
    workload: &'a Workload,
    engine: &'a Engine,
    jobs: &'a [EcdsaJob],
    items: Vec<EcdsaSignItem<'a>>,
}

impl Caller for EcdsaCaller<'_> {
    fn jobs(&self) -> usize {
        self.items.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        self.engine.ecdsa_sign_batch(&mut self.items[..jobs]);
        went(self.workload, self.items[..jobs].iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        self.call(self.items.len())?;
        for (index, (item, job)) in self.items.iter().zip(self.jobs).enumerate() {
            let mut verify = [EcdsaVerifyItem::new(&job.public, &job.digest, item.signature())];
            self.engine.ecdsa_verify_batch(&mut verify);
            if verify[0].result.is_err() {
                let what = "the signature does not verify";
                return Err(LabError::WrongAnswer { operation: self.workload.operation, job: index, what });
            }
        }
        Ok(self.items.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn engine() -> Engine {
        Engine::new(engine::Options { weak_algorithms: true, ..Default::default() }).unwrap()
    }

    fn workload(operation: Operation) -> Workload {
        let bytes = if operation.takes_bytes() { 48 } else { 0 };
        Workload { bytes, seconds: 0.002, ..Workload::of(operation) }
    }

    fn alone(
        workload: &Workload,
        caller: impl Caller + Send,
        context: Context<'_>,
    ) -> Result<Outcome, LabError> {
        in_threads(context, vec![caller], |pass, caller| run(pass, workload, caller, context))
    }

    #[test]
    fn every_operation_runs_and_its_answers_are_compared() {
        let (engine, stop) = (engine(), AtomicBool::new(false));
        let context = Context { stop: &stop, others: &|| (0.0, 0.0) };
        for operation in Operation::all() {
            if matches!(operation, Operation::Verb { .. }) {
                continue;
            }
            // Keys of 4096 bits are slow to work with: one thread of one job is enough for them.
            let large = matches!(operation, Operation::Rsa { bits: 4096, .. });
            for (jobs, processors, prepared) in [(1, 1, false), (3, 2, false), (3, 1, true)] {
                let workload = Workload { jobs, processors, prepared, ..workload(operation) };
                if large && jobs > 1 {
                    continue;
                }
                workload.check().unwrap();
                let outcome = measure(&workload, &engine, context)
                    .unwrap_or_else(|error| panic!("{} {jobs}: {error}", workload.case()));
                assert!(outcome.operations >= jobs as u64, "{operation}");
                assert!(outcome.answers_compared >= jobs as u64, "{operation}");
                assert!(outcome.ops_per_s > 0.0 && !outcome.latency_ns.is_empty(), "{operation}");
            }
        }
    }

    #[test]
    fn an_open_loop_runs_natively() {
        let operation = "aes128-cbc-encipher".parse().unwrap();
        let workload = Workload { rate: Some(5000.0), seconds: 0.01, jobs: 2, ..workload(operation) };
        let outcome = {
            let context = Context { stop: &AtomicBool::new(false), others: &|| (0.0, 0.0) };
            measure(&workload, &engine(), context)
        }
        .unwrap();
        assert_eq!(outcome.operations, 50);
    }

    #[test]
    fn a_wrong_answer_is_found() {
        let (engine, stop) = (engine(), AtomicBool::new(false));
        let context = Context { stop: &stop, others: &|| (0.0, 0.0) };
        let wrong = |result: Result<Outcome, LabError>| {
            assert!(matches!(result, Err(LabError::WrongAnswer { .. })), "{:?}", result.err());
        };
        let cipher = (Cipher::Aes128, Mode::Cbc, Direction::Encipher);
        let job = || CipherJob::new(&engine, cipher, 0, 48).unwrap();
        let spoiled = || {
            let mut job = job();
            job.expected[47] ^= 1;
            vec![job]
        };
        let load = workload("aes128-cbc-encipher".parse().unwrap());
        let how = (CipherAlgorithm::Aes128, engine::Mode::Cbc, CipherDirection::Encipher);
        wrong(alone(
            &load,
            CipherRaw { workload: &load, engine: &engine, how, jobs: &mut spoiled() },
            context,
        ));
        wrong(alone(&load, CipherBatch::new(&load, &engine, how, &mut spoiled()), context));
        alone(&load, CipherRaw { workload: &load, engine: &engine, how, jobs: &mut [job()] }, context)
            .unwrap();

        let mut job = RsaJob::new(512, RsaForm::Crt, 0).unwrap();
        job.expected[0] ^= 1;
        wrong(alone(&load, RsaPrivateCaller::new(&load, &engine, &mut [job]), context));

        let mut job = TextJob::hash(&engine, Hash::Sha256, 0, 48).unwrap();
        job.expected[0] ^= 1;
        let jobs = [job];
        let items = vec![HashItem::new(&jobs[0].data)];
        let hash = Hash::Sha256;
        wrong(alone(
            &load,
            HashCaller { workload: &load, engine: &engine, hash, jobs: &jobs, items },
            context,
        ));

        let mut job = MacJob::new(&engine, Mac::Tdes, 0, 48).unwrap();
        job.expected[7] ^= 1;
        let jobs = [job];
        for prepared in [false, true] {
            let items = vec![MacItem::new(&jobs[0].prepared, &jobs[0].data)];
            let mac = Mac::Tdes;
            let caller = MacCaller { workload: &load, engine: &engine, mac, jobs: &jobs, items, prepared };
            wrong(alone(&load, caller, context));
        }

        let mut job = EcdsaJob::new(0).unwrap();
        job.public = EcPrivateKey::generate(Curve::P256).unwrap().public_key().unwrap();
        let jobs = [job];
        let items = vec![EcdsaSignItem::new(&jobs[0].private, &jobs[0].digest)];
        wrong(alone(&load, EcdsaCaller { workload: &load, engine: &engine, jobs: &jobs, items }, context));
    }
}
