//! The sides of a row: the engine, and each other library in its best way, over the same keys and texts.
//!
//! A side does the work of a row with one call, again and again; texts are changed in place, so that each call
//! goes on with what the last one left. From the start of the texts all sides must give the same answers.

use crate::load::keys;
use engine::CipherAlgorithm;
use peers::ipsec_mb_ffi::{self as ipsec, IpsecMb, Job};

/// One side of a row.
pub trait RowSide {
    /// Does the row's work once, on the texts as the last call left them.
    fn call(&mut self);

    /// Sets every text to its start, does the work once and returns all that came out.
    fn answers(&mut self) -> Vec<u8>;
}

/// The texts of a row: one for each request, all of one length.
#[derive(Clone)]
pub struct Texts {
    start: Vec<Vec<u8>>,
    ivs: Vec<[u8; 16]>,
    now: Vec<Vec<u8>>,
    chains: Vec<[u8; 16]>,
}

impl Texts {
    /// Makes `count` reproducible texts of `bytes` bytes each.
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

/// A batch of the engine: its items, the call that runs them, the start of an item, and its answer.
pub struct Batch<I, R, B, A> {
    pub items: Vec<I>,
    pub run: R,
    pub begin: B,
    pub answer: A,
}

impl<I, R, B, A> RowSide for Batch<I, R, B, A>
where
    R: FnMut(&mut [I]),
    B: Fn(usize, &mut I),
    A: Fn(&I, &mut Vec<u8>),
{
    fn call(&mut self) {
        (self.run)(&mut self.items);
    }

    fn answers(&mut self) -> Vec<u8> {
        self.items.iter_mut().enumerate().for_each(|(index, item)| (self.begin)(index, item));
        self.call();
        let mut out = Vec::new();
        self.items.iter().for_each(|item| (self.answer)(item, &mut out));
        out
    }
}

/// A library that works on one text after the other: how it begins a text, and how it goes on.
pub struct InTurn<K, B, S> {
    pub keys: Vec<K>,
    pub texts: Texts,
    pub begin: B,
    pub step: S,
}

impl<K, B, S> RowSide for InTurn<K, B, S>
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

/// A side that reads texts and gives one answer for each.
pub struct Reading<F> {
    out: Vec<u8>,
    run: F,
}

impl<F: FnMut(&mut Vec<u8>)> Reading<F> {
    pub fn new(run: F) -> Self {
        Self { out: Vec::new(), run }
    }
}

impl<F: FnMut(&mut Vec<u8>)> RowSide for Reading<F> {
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

impl RowSide for Jobs<'_> {
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
struct TagJobs<F> {
    manager: IpsecMb,
    tags: Vec<ipsec::Tag>,
    tag_bytes: usize,
    run: F,
}

impl<F: FnMut(&mut IpsecMb, &mut [ipsec::Tag])> RowSide for TagJobs<F> {
    fn call(&mut self) {
        (self.run)(&mut self.manager, &mut self.tags);
    }

    fn answers(&mut self) -> Vec<u8> {
        self.call();
        self.tags.iter().flat_map(|tag| tag[..self.tag_bytes].iter().copied()).collect()
    }
}

/// A library that reads one text after the other, each with its key, and adds an answer.
pub fn reading<'a, K: 'a, T>(
    mut keys: Vec<K>,
    texts: &'a [T],
    mut one: impl FnMut(&mut K, &'a T, &mut Vec<u8>) + 'a,
) -> Box<dyn RowSide + 'a> {
    Box::new(Reading::new(move |out: &mut Vec<u8>| {
        keys.iter_mut().zip(texts).for_each(|(key, text)| one(key, text, out));
    }))
}

/// Jobs of the multi-buffer library that read texts and give a tag each, as [`reading`] does for other libraries.
pub fn tag_jobs<'a, K: 'a>(
    manager: IpsecMb,
    keys: Vec<K>,
    texts: &'a [Vec<u8>],
    tag_bytes: usize,
    job: impl for<'j> Fn(&'j K, &'j [u8], &'j mut ipsec::Tag) -> Job<'j> + 'a,
) -> Box<dyn RowSide + 'a> {
    let run = move |manager: &mut IpsecMb, tags: &mut [ipsec::Tag]| {
        let ends = keys.iter().zip(texts).zip(tags);
        let mut jobs: Vec<_> = ends.map(|((key, text), tag)| job(key, text, tag)).collect();
        manager.run(&mut jobs);
    };
    Box::new(TagJobs { manager, tags: vec![[0; 32]; texts.len()], tag_bytes, run })
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

impl<K, S: FnMut(&mut K, &[u8; 16], &mut [u8]) -> [u8; N], const N: usize> RowSide for Sealing<K, S, N> {
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

    /// The texts as they are now, each with the chaining value that it starts with.
    pub fn with_ivs(&mut self) -> impl Iterator<Item = (&mut Vec<u8>, &[u8; 16])> {
        self.now.iter_mut().zip(&self.ivs)
    }
}
