//! Hashes, whole or in segments.

use engine::{HASH_STATE_BYTES, HashAlgorithm, HashError, HashItem};
use wire::{Codes, code};

use super::{Kernel, Pass, Queue, Work};

/// A text, or a segment of one.
pub(crate) struct Hash<'a> {
    pub(crate) algorithm: HashAlgorithm,
    /// What the segment before gave; `None` for the first one.
    pub(crate) state: Option<&'a [u8]>,
    pub(crate) text: &'a [u8],
    /// Whether the text ends here; otherwise it is whole blocks.
    pub(crate) last: bool,
}

/// After the last segment the digest, otherwise the state for the next one.
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
        for algorithm in HashAlgorithm::ALL {
            let at: Vec<usize> = (0..asked.len())
                .filter(|index| asked[*index].is_whole() && asked[*index].algorithm == algorithm)
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

fn segment(kernel: &Kernel<'_>, work: &Hash<'_>) -> Answer {
    let mut state = match work.state {
        None => kernel.engine.hash_state(work.algorithm),
        Some(state) => kernel.engine.hash_state_import(work.algorithm, state),
    }
    .map_err(refusal)?;
    state.update(work.text);
    if work.last {
        Ok(HashOutput::Digest(state.finish()))
    } else {
        state.export().map(HashOutput::State).map_err(refusal)
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
