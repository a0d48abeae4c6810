//! PIN blocks of ISO-4 (ISO 9564-1:2017, format 4): a field goes through AES twice, with the PAN in between, in either
//! direction. All blocks of a pass under keys of one length go side by side.

use super::{Kernel, Pass, Queue, Work};
use engine::{CipherAlgorithm, CipherDirection, Column, ColumnMut, Engine, Mode, SecretBytes};
use wire::{Codes, code};
use zeroize::Zeroizing;

/// Length of a field, and of a block, in bytes.
const FIELD_BYTES: usize = 16;

/// A clear field; wiped on drop.
pub(crate) type ClearField = Zeroizing<[u8; FIELD_BYTES]>;

/// A field to encipher, or a block to decipher.
pub(crate) struct PinField {
    pub(crate) direction: CipherDirection,
    /// An AES key.
    pub(crate) key: SecretBytes,
    pub(crate) field: ClearField,
    /// The field of the PAN.
    pub(crate) pan: [u8; FIELD_BYTES],
}

/// The block, or the field; 8/39 for a key that is not an AES key.
pub(crate) type Answer = Result<ClearField, Codes>;

impl<'a> Work<'a> for PinField {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.pin_field
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        for direction in [CipherDirection::Decipher, CipherDirection::Encipher] {
            for (algorithm, key_bytes) in
                [(CipherAlgorithm::Aes128, 16), (CipherAlgorithm::Aes192, 24), (CipherAlgorithm::Aes256, 32)]
            {
                let is_of = |work: &PinField| work.direction == direction && work.key.len() == key_bytes;
                let at: Vec<usize> = (0..asked.len()).filter(|at| is_of(&asked[*at])).collect();
                if at.is_empty() {
                    continue;
                }
                let done = pass(kernel.engine, algorithm, direction, asked, &at);
                for (number, at) in at.into_iter().enumerate() {
                    answers[at] = Some(done.as_ref().map_err(|codes| *codes).map(|fields| {
                        let mut field = ClearField::default();
                        field.copy_from_slice(&fields[number * FIELD_BYTES..][..FIELD_BYTES]);
                        field
                    }));
                }
            }
        }
        for answer in answers.iter_mut().filter(|answer| answer.is_none()) {
            *answer = Some(Err(code::KEY_USAGE));
        }
    }
}

/// Enciphers or deciphers the fields at these indexes side by side.
fn pass(
    engine: &Engine,
    algorithm: CipherAlgorithm,
    direction: CipherDirection,
    asked: &[PinField],
    at: &[usize],
) -> Result<Zeroizing<Vec<u8>>, Codes> {
    let mut fields = Zeroizing::new(Vec::with_capacity(at.len() * FIELD_BYTES));
    for at in at {
        fields.extend_from_slice(&asked[*at].field[..]);
    }
    let keys: Vec<&[u8]> = at.iter().map(|at| &asked[*at].key[..]).collect();
    let keys = Column::scattered(&keys).map_err(|_| code::SELF_CHECK)?;
    for is_last in [false, true] {
        let mut column =
            ColumnMut::contiguous(&mut fields, FIELD_BYTES, at.len()).map_err(|_| code::SELF_CHECK)?;
        engine
            .cipher_columns(algorithm, Mode::Ecb, direction, keys, &mut [], &mut column)
            .map_err(|_| code::SELF_CHECK)?;
        if !is_last {
            for (field, at) in fields.chunks_exact_mut(FIELD_BYTES).zip(at) {
                field.iter_mut().zip(&asked[*at].pan).for_each(|(byte, other)| *byte ^= other);
            }
        }
    }
    Ok(fields)
}
