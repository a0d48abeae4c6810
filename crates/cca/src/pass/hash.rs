//! Hashes and HMACs, whole or in segments.

use std::borrow::Cow;

use engine::{HASH_STATE_BYTES, HashAlgorithm, HashError, HashItem, HmacItem, HmacKey, SecretBytes};
use wire::{Codes, code};

use super::cipher::key_refusal;
use super::{Kernel, Pass, Queue, Work};

/// A text, or a segment of one.
pub(crate) struct Hash<'a> {
    pub(crate) algorithm: HashAlgorithm,
    /// The key of an HMAC; none of a hash.
    pub(crate) key: Option<SecretBytes>,
    /// What the segment before gave; `None` for the first one.
    pub(crate) state: Option<Cow<'a, [u8]>>,
    pub(crate) text: &'a [u8],
    /// Whether the text ends here; otherwise it is whole blocks.
    pub(crate) last: bool,
}

/// After the last segment the digest or the MAC, otherwise the state for the next one.
pub(crate) enum HashOutput {
    /// As many bytes as the algorithm's digest has, then zeros.
    Digest([u8; 64]),
    /// To be carried to the next segment.
    State([u8; HASH_STATE_BYTES]),
}

/// The value, or why there is none: 8/783 for a weak algorithm that is not enabled, 8/21 for a state
/// that is none, 8/25 for a segment that is not whole blocks.
pub(crate) type Answer = Result<HashOutput, Codes>;

impl<'a> Work<'a> for Hash<'a> {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.hash
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        for (work, answer) in asked.iter().zip(&mut *answers) {
            *answer = (!work.is_whole()).then(|| segment(kernel, work));
        }
        whole_hmacs(kernel, asked, answers);
        for algorithm in HashAlgorithm::ALL {
            let at: Vec<usize> = (0..asked.len())
                .filter(|index| answers[*index].is_none() && asked[*index].algorithm == algorithm)
                .collect();
            if at.is_empty() {
                continue;
            }
            let mut items: Vec<_> = at.iter().map(|index| HashItem::new(asked[*index].text)).collect();
            kernel.engine.hash_batch(algorithm, &mut items);
            for (index, item) in at.into_iter().zip(items) {
                answers[index] = Some(item.result.map(|()| HashOutput::Digest(item.digest)).map_err(refusal));
            }
        }
    }
}

impl Hash<'_> {
    fn is_whole(&self) -> bool {
        self.state.is_none() && self.last
    }
}

/// The HMACs of texts that came whole, of all keys and hashes in one call.
fn whole_hmacs(kernel: &Kernel<'_>, asked: &[Hash<'_>], answers: &mut [Option<Answer>]) {
    let mut keys: Vec<(usize, HmacKey)> = Vec::new();
    for (index, work) in asked.iter().enumerate() {
        let Some(secret) = work.key.as_ref().filter(|_| work.is_whole()) else { continue };
        match kernel.engine.hmac_key(work.algorithm, secret) {
            Ok(key) => keys.push((index, key)),
            Err(error) => answers[index] = Some(Err(key_refusal(error))),
        }
    }
    if keys.is_empty() {
        return;
    }
    let mut items: Vec<_> = keys.iter().map(|(index, key)| HmacItem::new(key, asked[*index].text)).collect();
    kernel.engine.hmac_batch(&mut items);
    let ended: Vec<_> = items.into_iter().map(|item| item.result.map(|()| item.mac)).collect();
    for ((index, _), mac) in keys.iter().zip(ended) {
        answers[*index] = Some(mac.map(HashOutput::Digest).map_err(refusal));
    }
}

fn segment(kernel: &Kernel<'_>, work: &Hash<'_>) -> Answer {
    let key = work.key.as_ref().map(|key| kernel.engine.hmac_key(work.algorithm, key));
    let key = key.transpose().map_err(key_refusal)?;
    let mut state = match (&work.state, &key) {
        (Some(state), _) => kernel.engine.hash_state_import(work.algorithm, state).map_err(refusal)?,
        (None, Some(key)) => key.begin(),
        (None, None) => kernel.engine.hash_state(work.algorithm).map_err(refusal)?,
    };
    state.update(work.text);
    match key {
        _ if !work.last => state.export().map(HashOutput::State).map_err(refusal),
        Some(key) => Ok(HashOutput::Digest(key.end(state))),
        None => Ok(HashOutput::Digest(state.finish())),
    }
}

fn refusal(error: HashError) -> Codes {
    match error {
        HashError::Weak(_) => code::WEAK_ALGORITHM,
        HashError::NotOnBlock { .. } => code::TEXT_LENGTH,
        HashError::NotExportable(_) => code::KEYWORD_COMBINATION,
        HashError::NotAState(_) => code::INVALID_PARAMETER,
        _ => code::SELF_CHECK,
    }
}
