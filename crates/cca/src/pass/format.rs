//! Texts through FF1 (SP 800-38G): the next block of all texts of a pass side by side, until the last round of the
//! longest.

use super::cipher::key_refusal;
use super::{Kernel, Pass, Queue, Work};
use crate::ground::Algorithm;
use engine::{CipherDirection, CipherItem, CipherKey, Mode, SecretBytes};
use payments::ff1::Ff1;
use wire::{Codes, code};
use zeroize::Zeroizing;

/// Length of a block in bytes.
const BLOCK: usize = 16;

/// A text for FF1, with the rounds that it has still to go.
pub(crate) struct Format {
    /// An AES key.
    pub(crate) key: SecretBytes,
    pub(crate) text: Ff1,
}

/// The digits of the enciphered or deciphered text.
pub(crate) type Answer = Result<Zeroizing<Vec<u8>>, Codes>;

impl<'a> Work<'a> for Format {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.format
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        let prepare = |work: &Self| {
            let algorithm = Algorithm::Aes.cipher(work.key.len());
            kernel.engine.cipher_key(algorithm, &work.key).map_err(key_refusal)
        };
        let keys: Vec<Result<CipherKey, Codes>> = asked.iter().map(prepare).collect();
        let mut blocks = Zeroizing::new(vec![0; asked.len() * BLOCK]);
        let mut is_good = true;
        while is_good {
            let (mut at, mut items) = (Vec::with_capacity(asked.len()), Vec::with_capacity(asked.len()));
            let places = blocks.as_chunks_mut::<BLOCK>().0;
            for (number, ((work, key), place)) in asked.iter().zip(&keys).zip(places).enumerate() {
                if let (Ok(key), Some(block)) = (key, work.text.block()) {
                    *place = block;
                    at.push(number);
                    items.push(CipherItem { key, chain: [0; 16], data: place, result: Ok(()) });
                }
            }
            if items.is_empty() {
                break;
            }
            kernel.engine.cipher_batch(Mode::Ecb, CipherDirection::Encipher, &mut items);
            is_good = items.iter().all(|item| item.result.is_ok());
            drop(items);
            for number in at {
                asked[number].text.take(&blocks.as_chunks::<BLOCK>().0[number]);
            }
        }
        for ((work, key), answer) in asked.iter().zip(&keys).zip(answers) {
            *answer = Some(match key {
                Ok(_) if is_good => Ok(work.text.digits()),
                Ok(_) => Err(code::SELF_CHECK),
                Err(codes) => Err(*codes),
            });
        }
    }
}
