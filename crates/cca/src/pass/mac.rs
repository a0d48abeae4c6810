//! Message authentication codes over texts under unwrapped keys.

use super::cipher::key_refusal;
use super::{Kernel, Pass, Queue, Work};
use engine::{Column, ColumnError, MacAlgorithm, MacItem, MacKey, SecretBytes};
use std::borrow::Cow;
use wire::{Codes, code};

/// A segment of a text.
pub(crate) struct Mac<'a> {
    pub(crate) algorithm: MacAlgorithm,
    pub(crate) key: SecretBytes,
    /// Zero for the first segment, then the chaining value that the previous segment left.
    pub(crate) chain: [u8; 16],
    /// Whole blocks unless it is the last segment.
    pub(crate) text: Cow<'a, [u8]>,
    pub(crate) last: bool,
}

/// After the last segment the code, otherwise the chaining value for the next one.
pub(crate) struct MacOutput {
    pub(crate) chain: [u8; 16],
    pub(crate) mac: [u8; 16],
}

/// The value, or why there is none: 8/783 for a weak algorithm that is not enabled.
pub(crate) type Answer = Result<MacOutput, Codes>;

impl<'a> Work<'a> for Mac<'a> {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.mac
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        if run_equal(kernel, asked, answers) {
            return;
        }
        let keys: Vec<Result<MacKey, Codes>> = asked
            .iter()
            .map(|work| kernel.engine.mac_key(work.algorithm, &work.key).map_err(key_refusal))
            .collect();
        let mut items: Vec<MacItem<'_>> = asked
            .iter()
            .zip(&keys)
            .filter_map(|(work, key)| {
                let key = key.as_ref().ok()?;
                let last = work.last;
                Some(MacItem { key, chain: work.chain, data: &work.text, last, mac: [0; 16], result: Ok(()) })
            })
            .collect();
        kernel.engine.mac_batch(&mut items);
        let mut done = items.iter();
        for (key, answer) in keys.iter().zip(answers) {
            *answer = Some(match (key, key.is_ok().then(|| done.next()).flatten()) {
                (Ok(_), Some(item)) if item.result.is_ok() => {
                    Ok(MacOutput { chain: item.chain, mac: item.mac })
                }
                (Ok(_), _) => Err(code::TEXT_LENGTH),
                (Err(codes), _) => Err(*codes),
            });
        }
    }
}

/// MACs of whole texts of one length under keys of one algorithm, as most batches have them: only the lists of their
/// places have to be made. False, with nothing done, if requests differ.
fn run_equal(kernel: &Kernel<'_>, asked: &[Mac<'_>], answers: &mut [Option<Answer>]) -> bool {
    let Some(Mac { algorithm, .. }) = asked.first() else { return true };
    let is_whole = |work: &Mac<'_>| work.last && work.chain == [0; 16];
    if !asked.iter().all(|work| work.algorithm == *algorithm && is_whole(work)) {
        return false;
    }
    let keys: Vec<&[u8]> = asked.iter().map(|work| &work.key[..]).collect();
    let texts: Vec<&[u8]> = asked.iter().map(|work| &*work.text).collect();
    let (Ok(keys), Ok(texts)) = (Column::scattered(&keys), Column::scattered(&texts)) else { return false };
    let block_bytes = algorithm.block_bytes();
    let mut macs = vec![0; asked.len() * block_bytes];
    match kernel.engine.mac_columns(*algorithm, keys, texts, &mut macs) {
        Ok(()) => {
            for (answer, made) in answers.iter_mut().zip(macs.chunks(block_bytes)) {
                let mut mac = [0; 16];
                mac[..block_bytes].copy_from_slice(made);
                *answer = Some(Ok(MacOutput { chain: mac, mac }));
            }
        }
        Err(ColumnError::Key(refusal)) => {
            answers.iter_mut().for_each(|answer| *answer = Some(Err(key_refusal(refusal))));
        }
        Err(_) => return false,
    }
    true
}
