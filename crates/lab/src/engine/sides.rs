//! Who takes part in a row: the engine, and each other library in its best way, over the same keys and texts.
//!
//! A side does the work of a row with one call, again and again; texts are changed in place, so that each call
//! goes on with what the last one left. From the start of the texts all sides must give the same answers.

use crate::load::keys;
use engine::{
    AeadItem, CipherAlgorithm, CipherDirection, CipherItem, CipherKey, Engine, GcmItem, GcmKey,
    HashAlgorithm, HashItem, HmacItem, HmacKey, MacAlgorithm, MacItem, MacKey, Mode, RsaPrivateItem,
    RsaPrivateKey, RsaPublicItem, RsaPublicKey,
};
use peers::ipsec_mb_ffi::{self as ipsec, IpsecMb, Job};

/// One side of a row.
pub trait Side {
    /// Does the work once.
    fn call(&mut self);

    /// Sets every text to its start, does the work once and returns all that came out.
    fn answers(&mut self) -> Vec<u8>;
}

/// The texts of a row: as many as there are requests, all of one length.
#[derive(Clone)]
pub struct Texts {
    start: Vec<Vec<u8>>,
    ivs: Vec<[u8; 16]>,
    now: Vec<Vec<u8>>,
    chains: Vec<[u8; 16]>,
}

impl Texts {
    /// Reproducible texts.
    pub fn new(count: usize, bytes: usize) -> Texts {
        let start: Vec<_> = (0..count).map(|job| keys::test_bytes(0xDA7A, job, bytes)).collect();
        let ivs: Vec<_> = (0..count).map(|job| first(&keys::test_bytes(0x1F, job, 16))).collect();
        Texts { now: start.clone(), start, chains: ivs.clone(), ivs }
    }

    fn reset(&mut self) {
        self.now.clone_from(&self.start);
        self.chains.clone_from(&self.ivs);
    }
}

/// The first bytes of a longer slice.
pub fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[..N]);
    out
}

/// The engine's cipher batch.
pub struct EngineCipher<'a> {
    pub engine: &'a Engine,
    pub mode: Mode,
    pub direction: CipherDirection,
    pub items: Vec<CipherItem<'a>>,
    pub start: &'a Texts,
}

impl<'a> EngineCipher<'a> {
    pub fn new(
        engine: &'a Engine,
        how: (Mode, CipherDirection),
        keys: &'a [CipherKey],
        start: &'a Texts,
        data: &'a mut Texts,
    ) -> Self {
        let Texts { now, ivs, .. } = data;
        let texts = now.iter_mut().zip(&*ivs);
        let items = keys.iter().zip(texts).map(|(key, (text, iv))| CipherItem::new(key, iv, text)).collect();
        Self { engine, mode: how.0, direction: how.1, items, start }
    }
}

impl Side for EngineCipher<'_> {
    fn call(&mut self) {
        self.engine.cipher_batch(self.mode, self.direction, &mut self.items);
    }

    fn answers(&mut self) -> Vec<u8> {
        for (index, item) in self.items.iter_mut().enumerate() {
            item.data.copy_from_slice(&self.start.start[index]);
            item.chain = self.start.ivs[index];
        }
        self.call();
        assert!(self.items.iter().all(|item| item.result.is_ok()));
        self.items.iter().flat_map(|item| item.data.iter().copied()).collect()
    }
}

/// A library that works on one text after the other: how it begins a text, and how it goes on.
pub struct InTurn<K, B, S> {
    pub keys: Vec<K>,
    pub texts: Texts,
    pub begin: B,
    pub step: S,
}

impl<K, B, S> Side for InTurn<K, B, S>
where
    B: FnMut(&mut K, &[u8; 16]),
    S: FnMut(&mut K, &mut [u8; 16], &mut [u8]),
{
    fn call(&mut self) {
        let texts = self.texts.now.iter_mut().zip(&mut self.texts.chains);
        for (key, (text, chain)) in self.keys.iter_mut().zip(texts) {
            (self.step)(key, chain, text);
        }
    }

    fn answers(&mut self) -> Vec<u8> {
        self.texts.reset();
        for (key, iv) in self.keys.iter_mut().zip(&self.texts.ivs) {
            (self.begin)(key, iv);
        }
        self.call();
        self.texts.now.concat()
    }
}

/// Anything that reads texts and gives one answer for each.
pub struct Reading<F> {
    out: Vec<u8>,
    run: F,
}

impl<F: FnMut(&mut Vec<u8>)> Reading<F> {
    pub fn new(run: F) -> Self {
        Self { out: Vec::new(), run }
    }
}

impl<F: FnMut(&mut Vec<u8>)> Side for Reading<F> {
    fn call(&mut self) {
        self.out.clear();
        (self.run)(&mut self.out);
    }

    fn answers(&mut self) -> Vec<u8> {
        self.call();
        self.out.clone()
    }
}

/// Jobs of the multi-buffer library.
pub struct Jobs<'a> {
    pub manager: IpsecMb,
    pub jobs: Vec<Job<'a>>,
    pub start: Vec<&'a [u8]>,
}

impl Side for Jobs<'_> {
    fn call(&mut self) {
        self.manager.run(&mut self.jobs);
    }

    fn answers(&mut self) -> Vec<u8> {
        for (job, start) in self.jobs.iter_mut().zip(&self.start) {
            if let Job::Cipher { data, .. } = job {
                data.copy_from_slice(start);
            }
        }
        self.call();
        let texts = self.jobs.iter().filter_map(|job| match job {
            Job::Cipher { data, .. } => Some(&**data),
            _ => None,
        });
        texts.flatten().copied().collect()
    }
}

/// Hashes and MACs of the multi-buffer library: the answers lie in tags.
pub struct TagJobs<F> {
    pub manager: IpsecMb,
    pub tags: Vec<ipsec::Tag>,
    pub tag_bytes: usize,
    pub run: F,
}

impl<F: FnMut(&mut IpsecMb, &mut [ipsec::Tag])> Side for TagJobs<F> {
    fn call(&mut self) {
        (self.run)(&mut self.manager, &mut self.tags);
    }

    fn answers(&mut self) -> Vec<u8> {
        self.call();
        self.tags.iter().flat_map(|tag| tag[..self.tag_bytes].iter().copied()).collect()
    }
}

/// The engine's GCM batch.
pub struct EngineGcm<'a> {
    pub engine: &'a Engine,
    pub items: Vec<GcmItem<'a>>,
    pub start: &'a Texts,
}

impl<'a> EngineGcm<'a> {
    pub fn new(
        engine: &'a Engine,
        keys: &'a [GcmKey],
        aad: &'a [u8],
        start: &'a Texts,
        data: &'a mut Texts,
    ) -> Self {
        let Texts { now, ivs, .. } = data;
        let texts = now.iter_mut().zip(&*ivs);
        let item = |(key, (text, iv)): (&'a GcmKey, (&'a mut Vec<u8>, &'a [u8; 16]))| {
            GcmItem::encipher(key, &iv[..12], aad, text)
        };
        Self { engine, items: keys.iter().zip(texts).map(item).collect(), start }
    }
}

impl Side for EngineGcm<'_> {
    fn call(&mut self) {
        self.engine.gcm_batch(CipherDirection::Encipher, &mut self.items);
    }

    fn answers(&mut self) -> Vec<u8> {
        for (item, start) in self.items.iter_mut().zip(&self.start.start) {
            item.data.copy_from_slice(start);
        }
        self.call();
        assert!(self.items.iter().all(|item| item.result.is_ok()));
        self.items.iter().flat_map(|item| item.data.iter().copied().chain(item.tag)).collect()
    }
}

/// The engine's batches of OCB and EAX.
pub struct EngineAead<'a, K> {
    pub items: Vec<AeadItem<'a, K>>,
    pub start: &'a Texts,
    pub batch: &'a dyn Fn(&mut [AeadItem<'a, K>]),
}

impl<'a, K> EngineAead<'a, K> {
    pub fn new(
        batch: &'a dyn Fn(&mut [AeadItem<'a, K>]),
        keys: &'a [K],
        aad: &'a [u8],
        start: &'a Texts,
        data: &'a mut Texts,
    ) -> Self {
        let Texts { now, ivs, .. } = data;
        let texts = now.iter_mut().zip(&*ivs);
        let item = |(key, (text, iv)): (&'a K, (&'a mut Vec<u8>, &'a [u8; 16]))| {
            AeadItem::encipher(key, &iv[..12], aad, text)
        };
        Self { batch, items: keys.iter().zip(texts).map(item).collect(), start }
    }
}

impl<K> Side for EngineAead<'_, K> {
    fn call(&mut self) {
        (self.batch)(&mut self.items);
    }

    fn answers(&mut self) -> Vec<u8> {
        for (item, start) in self.items.iter_mut().zip(&self.start.start) {
            item.data.copy_from_slice(start);
        }
        self.call();
        assert!(self.items.iter().all(|item| item.result.is_ok()));
        self.items.iter().flat_map(|item| item.data.iter().copied().chain(item.tag)).collect()
    }
}

/// A library that changes one text after the other, each with an answer of its own beside it: a tag, a digest.
pub struct Sealing<K, S, const N: usize> {
    pub keys: Vec<K>,
    pub texts: Texts,
    pub tags: Vec<[u8; N]>,
    pub seal: S,
}

impl<K, S: FnMut(&mut K, &[u8; 16], &mut [u8]) -> [u8; N], const N: usize> Sealing<K, S, N> {
    pub fn new(keys: Vec<K>, texts: &Texts, seal: S) -> Self {
        Self { tags: vec![[0; N]; keys.len()], keys, texts: texts.clone(), seal }
    }
}

impl<K, S: FnMut(&mut K, &[u8; 16], &mut [u8]) -> [u8; N], const N: usize> Side for Sealing<K, S, N> {
    fn call(&mut self) {
        let texts = self.texts.now.iter_mut().zip(&self.texts.ivs).zip(&mut self.tags);
        for (key, ((text, iv), tag)) in self.keys.iter_mut().zip(texts) {
            *tag = (self.seal)(key, iv, text);
        }
    }

    fn answers(&mut self) -> Vec<u8> {
        self.texts.reset();
        self.call();
        let texts = self.texts.now.iter().zip(&self.tags);
        texts.flat_map(|(text, tag)| text.iter().chain(tag).copied()).collect()
    }
}

/// The engine's MAC batch under prepared keys.
pub struct EngineMac<'a> {
    pub engine: &'a Engine,
    pub items: Vec<MacItem<'a>>,
}

impl Side for EngineMac<'_> {
    fn call(&mut self) {
        for item in &mut self.items {
            item.chain = [0; 16];
        }
        self.engine.mac_batch(&mut self.items);
    }

    fn answers(&mut self) -> Vec<u8> {
        self.call();
        assert!(self.items.iter().all(|item| item.result.is_ok()));
        let bytes = |item: &MacItem<'_>| item.key.algorithm().block_bytes();
        self.items.iter().flat_map(|item| item.mac[..bytes(item)].to_vec()).collect()
    }
}

/// The engine's MAC batch under keys that come with each request: setting them up is part of the work.
pub struct EngineRetail<'a> {
    pub engine: &'a Engine,
    pub keys: &'a [[u8; 16]],
    pub texts: &'a Texts,
    pub macs: Vec<[u8; 8]>,
}

impl Side for EngineRetail<'_> {
    fn call(&mut self) {
        let keys: Vec<MacKey> =
            self.keys.iter().filter_map(|key| self.engine.mac_key(MacAlgorithm::X919, key).ok()).collect();
        let texts = &self.texts.start;
        let mut items: Vec<_> = keys.iter().zip(texts).map(|(key, text)| MacItem::new(key, text)).collect();
        self.engine.mac_batch(&mut items);
        for (mac, item) in self.macs.iter_mut().zip(&items) {
            *mac = first(&item.mac);
        }
    }

    fn answers(&mut self) -> Vec<u8> {
        self.call();
        self.macs.concat()
    }
}

/// The engine's hash batch.
pub struct EngineHash<'a> {
    pub engine: &'a Engine,
    pub algorithm: HashAlgorithm,
    pub items: Vec<HashItem<'a>>,
}

impl Side for EngineHash<'_> {
    fn call(&mut self) {
        self.engine.hash_batch(self.algorithm, &mut self.items);
    }

    fn answers(&mut self) -> Vec<u8> {
        self.call();
        assert!(self.items.iter().all(|item| item.result.is_ok()));
        let bytes = self.algorithm.digest_bytes();
        self.items.iter().flat_map(|item| item.digest[..bytes].to_vec()).collect()
    }
}

/// The engine's HMAC batch.
pub struct EngineHmac<'a> {
    pub engine: &'a Engine,
    pub algorithm: HashAlgorithm,
    pub items: Vec<HmacItem<'a>>,
}

impl<'a> EngineHmac<'a> {
    pub fn new(engine: &'a Engine, algorithm: HashAlgorithm, keys: &'a [HmacKey], texts: &'a Texts) -> Self {
        let texts = &texts.start;
        let items = keys.iter().zip(texts).map(|(key, text)| HmacItem::new(key, text)).collect();
        Self { engine, algorithm, items }
    }
}

impl Side for EngineHmac<'_> {
    fn call(&mut self) {
        self.engine.hmac_batch(&mut self.items);
    }

    fn answers(&mut self) -> Vec<u8> {
        self.call();
        assert!(self.items.iter().all(|item| item.result.is_ok()));
        let bytes = self.algorithm.digest_bytes();
        self.items.iter().flat_map(|item| item.mac[..bytes].to_vec()).collect()
    }
}

/// The engine's private RSA batch.
pub struct EnginePrivate<'a> {
    pub engine: &'a Engine,
    pub items: Vec<RsaPrivateItem<'a>>,
}

impl<'a> EnginePrivate<'a> {
    pub fn new(
        engine: &'a Engine,
        keys: &'a [RsaPrivateKey],
        inputs: &'a [Vec<u8>],
        outputs: &'a mut [Vec<u8>],
    ) -> Self {
        let ends = inputs.iter().zip(outputs);
        let items =
            keys.iter().zip(ends).map(|(key, (from, to))| RsaPrivateItem::new(key, from, to)).collect();
        Self { engine, items }
    }
}

impl Side for EnginePrivate<'_> {
    fn call(&mut self) {
        self.engine.rsa_private_batch(&mut self.items);
    }

    fn answers(&mut self) -> Vec<u8> {
        self.items.iter_mut().for_each(|item| item.output.fill(0));
        self.call();
        assert!(self.items.iter().all(|item| item.result.is_ok()));
        self.items.iter().flat_map(|item| item.output.iter().copied()).collect()
    }
}

/// The engine's public RSA batch.
pub struct EnginePublic<'a> {
    pub engine: &'a Engine,
    pub items: Vec<RsaPublicItem<'a>>,
}

impl<'a> EnginePublic<'a> {
    pub fn new(
        engine: &'a Engine,
        keys: &'a [RsaPublicKey],
        inputs: &'a [Vec<u8>],
        outputs: &'a mut [Vec<u8>],
    ) -> Self {
        let ends = inputs.iter().zip(outputs);
        let items =
            keys.iter().zip(ends).map(|(key, (from, to))| RsaPublicItem::new(key, from, to)).collect();
        Self { engine, items }
    }
}

impl Side for EnginePublic<'_> {
    fn call(&mut self) {
        self.engine.rsa_public_batch(&mut self.items);
    }

    fn answers(&mut self) -> Vec<u8> {
        self.items.iter_mut().for_each(|item| item.output.fill(0));
        self.call();
        assert!(self.items.iter().all(|item| item.result.is_ok()));
        self.items.iter().flat_map(|item| item.output.iter().copied()).collect()
    }
}

/// The engine's keys of a row, each stream with one of its own.
pub fn raw_keys(algorithm: CipherAlgorithm, count: usize) -> Vec<Vec<u8>> {
    let key = |job| match algorithm {
        CipherAlgorithm::Des | CipherAlgorithm::Tdes2 | CipherAlgorithm::Tdes3 => {
            keys::des_key(job, algorithm.key_bytes())
        }
        _ => keys::test_bytes(0xAE5, job, algorithm.key_bytes()),
    };
    (0..count).map(key).collect()
}

impl Texts {
    /// The texts as they start.
    pub fn start(&self) -> &[Vec<u8>] {
        &self.start
    }

    /// The chaining values as they start.
    pub fn ivs(&self) -> &[[u8; 16]] {
        &self.ivs
    }

    /// The texts as they are now.
    pub fn now_mut(&mut self) -> &mut [Vec<u8>] {
        &mut self.now
    }
}
