//! Hashes, HMACs and modification detection codes, whole or in segments.

use super::cipher::key_refusal;
use super::{Kernel, Pass, Queue, Work};
use engine::{
    HASH_STATE_BYTES, HashAlgorithm, HashError, HashItem, HmacItem, HmacKey, MDC_BYTES, MdcAlgorithm,
    MdcItem, SHA3_STATE_BYTES, SecretBytes,
};
use std::borrow::Cow;
use wire::{Codes, code};

/// A text, or a segment of one.
pub(crate) enum Hash<'a> {
    /// A text to be hashed, under a key or none.
    Text(HashText<'a>),
    /// A text whose modification detection code is computed.
    Mdc(MdcText<'a>),
}

/// A text, or a segment, for a modification detection code.
pub(crate) struct MdcText<'a> {
    pub(crate) algorithm: MdcAlgorithm,
    /// The code of the text before this segment; for the first one, the initial value.
    pub(crate) state: [u8; MDC_BYTES],
    /// The text in whole blocks.
    pub(crate) text: Cow<'a, [u8]>,
}

/// A text, or a segment, to be hashed, with a key or none.
pub(crate) struct HashText<'a> {
    pub(crate) algorithm: HashAlgorithm,
    /// The key of an HMAC; `None` for a hash.
    pub(crate) key: Option<SecretBytes>,
    /// The state that the previous segment left; `None` for the first one.
    pub(crate) state: Option<Cow<'a, [u8]>>,
    pub(crate) text: &'a [u8],
    /// Whether the text ends here; otherwise it is whole blocks.
    pub(crate) last: bool,
}

/// After the last segment the digest or the MAC, otherwise the state for the next one.
pub(crate) enum HashOutput {
    /// The digest, as long as the algorithm's, then zeros. For a modification detection code it is the code of the text
    /// so far, from which the next segment begins.
    Digest([u8; 64]),
    /// The state for the next segment.
    State([u8; HASH_STATE_BYTES]),
    /// The state for the next segment of SHA-3.
    LongState(Box<[u8; SHA3_STATE_BYTES]>),
}

/// The value, or why there is none: 8/783 for a weak algorithm that is not enabled, 8/21 for a state that is not valid,
/// 8/25 for a segment that is not whole blocks.
pub(crate) type Answer = Result<HashOutput, Codes>;

impl<'a> Work<'a> for Hash<'a> {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.hash
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        for (work, answer) in asked.iter().zip(&mut *answers) {
            if let Hash::Text(work) = work
                && !work.is_whole()
            {
                *answer = Some(segment(kernel, work));
            }
        }
        whole_hmacs(kernel, asked, answers);
        detection_codes(kernel, asked, answers);
        for algorithm in HashAlgorithm::ALL {
            let mut at = Vec::new();
            let mut items = Vec::new();
            for (index, work) in asked.iter().enumerate() {
                if let Hash::Text(work) = work
                    && answers[index].is_none()
                    && work.algorithm == algorithm
                {
                    at.push(index);
                    items.push(HashItem::new(work.text));
                }
            }
            if items.is_empty() {
                continue;
            }
            kernel.engine.hash_batch(algorithm, &mut items);
            for (index, item) in at.into_iter().zip(items) {
                answers[index] = Some(item.result.map(|()| HashOutput::Digest(item.digest)).map_err(refusal));
            }
        }
    }
}

impl HashText<'_> {
    fn is_whole(&self) -> bool {
        self.state.is_none() && self.last
    }
}

fn detection_codes(kernel: &Kernel<'_>, asked: &[Hash<'_>], answers: &mut [Option<Answer>]) {
    let mut at = Vec::new();
    let mut items = Vec::new();
    for (index, work) in asked.iter().enumerate() {
        if let Hash::Mdc(work) = work {
            at.push(index);
            items.push(MdcItem { state: work.state, ..MdcItem::new(work.algorithm, &work.text) });
        }
    }
    kernel.engine.mdc_batch(&mut items);
    for (index, item) in at.into_iter().zip(items) {
        let mut code = [0; 64];
        code[..MDC_BYTES].copy_from_slice(&item.state);
        answers[index] = Some(item.result.map(|()| HashOutput::Digest(code)).map_err(refusal));
    }
}

/// The HMACs of texts that came whole, of all keys and hashes in one call.
fn whole_hmacs(kernel: &Kernel<'_>, asked: &[Hash<'_>], answers: &mut [Option<Answer>]) {
    let mut keys: Vec<(usize, HmacKey, &[u8])> = Vec::new();
    for (index, work) in asked.iter().enumerate() {
        let Hash::Text(work) = work else { continue };
        let Some(secret) = work.key.as_ref().filter(|_| work.is_whole()) else { continue };
        match kernel.engine.hmac_key(work.algorithm, secret) {
            Ok(key) => keys.push((index, key, work.text)),
            Err(error) => answers[index] = Some(Err(key_refusal(error))),
        }
    }
    if keys.is_empty() {
        return;
    }
    let mut items: Vec<_> = keys.iter().map(|(_, key, text)| HmacItem::new(key, text)).collect();
    kernel.engine.hmac_batch(&mut items);
    let ended: Vec<_> = items.into_iter().map(|item| item.result.map(|()| item.mac)).collect();
    for ((index, ..), mac) in keys.iter().zip(ended) {
        answers[*index] = Some(mac.map(HashOutput::Digest).map_err(refusal));
    }
}

fn segment(kernel: &Kernel<'_>, work: &HashText<'_>) -> Answer {
    let key = work.key.as_ref().map(|key| kernel.engine.hmac_key(work.algorithm, key));
    let key = key.transpose().map_err(key_refusal)?;
    let mut state = match (&work.state, &key) {
        (Some(state), _) => kernel.engine.hash_state_import(work.algorithm, state).map_err(refusal)?,
        (None, Some(key)) => key.begin(),
        (None, None) => kernel.engine.hash_state_in_segments(work.algorithm).map_err(refusal)?,
    };
    state.update(work.text);
    match key {
        _ if !work.last && work.algorithm.is_sha3() => {
            state.export_sha3().map(|state| HashOutput::LongState(Box::new(state))).map_err(refusal)
        }
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
