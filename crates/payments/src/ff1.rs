//! Format-preserving encryption FF1 (NIST SP 800-38G revision 1): a text of digits in a radix from 2 to 255 becomes
//! another text of the same length.
//!
//! The caller enciphers AES blocks one at a time, so that blocks of many requests can share a pass: as long as
//! [`Ff1::block`] returns a block, it is enciphered and given to [`Ff1::take`]. Requests of the same radix, text length
//! and tweak length need equally many blocks. [`Ff1::run`] serves a single request.
//!
//! ```text
//! P = 01 02 01 radix (3) 0A u (1) n (4) t (4)          of n digits the left half has u, the tweak has t bytes
//! Q = tweak, zeros, round, number of the right half
//! R = CBC-MAC of P and Q; as many bytes of R, AES(R xor 1), AES(R xor 2) ... are added to the left half, which becomes the right
//! ```
//!
//! No branch and no address depends on a digit; on radix and lengths they do. FF2 and FF3 are not here: their
//! definitions were withdrawn.

mod alphabet;
mod number;
#[cfg(test)]
mod tests;

pub use alphabet::{Alphabet, AlphabetFault};
pub use number::Radix;

use zeroize::{Zeroize, Zeroizing};

/// At most this many digits in a text: time grows with the square of their number.
pub const DIGITS_MAX: usize = 512;
/// At most this many bytes in a tweak.
pub const TWEAK_BYTES_MAX: usize = 512;
/// Texts of a given length must number at least this, or all could be tried (revision 1, section 5.2).
const TEXTS_MIN: u32 = 1_000_000;
const ROUNDS: u8 = 10;
/// Length of a block of AES in bytes.
const BLOCK: usize = 16;

/// Encipher or decipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Text to ciphertext.
    Encipher,
    /// Ciphertext to text.
    Decipher,
}

/// Why a text cannot be enciphered or deciphered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Fewer than a million texts have this length.
    TooShort,
    /// The text has more than [`DIGITS_MAX`] digits.
    TooLong,
    /// The tweak has more than [`TWEAK_BYTES_MAX`] bytes.
    Tweak,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooShort => "the text is so short that fewer than a million texts are as long",
            Self::TooLong => "the text has more than 512 digits",
            Self::Tweak => "the tweak has more than 512 bytes",
        })
    }
}

impl std::error::Error for Fault {}

/// A text on its way through the rounds. The text, the tweak and all values computed from them are wiped.
pub struct Ff1 {
    radix: Radix,
    direction: Direction,
    /// The left half, then the right half, after the rounds so far. Each round swaps them.
    halves: [Vec<u8>; 2],
    /// Block P: the radix, the number of rounds, and the lengths of text and tweak.
    parameters: [u8; BLOCK],
    /// Block P enciphered, with which the CBC-MAC of every round starts.
    begun: [u8; BLOCK],
    /// Q of the current round.
    message: Vec<u8>,
    /// Length in bytes of the number at the end of Q.
    number_bytes: usize,
    /// R of the current round, and the blocks that follow from it.
    stream: Vec<u8>,
    chain: [u8; BLOCK],
    /// The number of completed rounds.
    round: u8,
    /// The number of enciphered blocks in the current round.
    block: usize,
    is_begun: bool,
}

impl Ff1 {
    /// Starts with digits below the radix, as [`Alphabet::digits`] returns them. A digit that is not below the radix
    /// counts as zero.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn new(radix: Radix, digits: &[u8], tweak: &[u8], direction: Direction) -> Result<Self, Fault> {
        if digits.len() > DIGITS_MAX {
            return Err(Fault::TooLong);
        }
        if tweak.len() > TWEAK_BYTES_MAX {
            return Err(Fault::Tweak);
        }
        if !radix.has_texts(digits.len(), TEXTS_MIN) {
            return Err(Fault::TooShort);
        }
        let digits = Zeroizing::new(digits.iter().map(|digit| radix.kept(*digit)).collect::<Vec<_>>());
        let left = digits.len() / 2;
        let number_bytes = radix.number_bytes(digits.len() - left);
        let message_bytes = (tweak.len() + 1 + number_bytes).next_multiple_of(BLOCK);
        let mut message = vec![0; message_bytes];
        message[..tweak.len()].copy_from_slice(tweak);
        let mut parameters = [0; BLOCK];
        parameters[..3].copy_from_slice(&[1, 2, 1]);
        parameters[5] = radix.value();
        (parameters[6], parameters[7]) = (ROUNDS, left as u8);
        parameters[8..12].copy_from_slice(&(digits.len() as u32).to_be_bytes());
        parameters[12..].copy_from_slice(&(tweak.len() as u32).to_be_bytes());
        // The number's length rounded up to whole words of four bytes, plus one word.
        let stream_bytes = number_bytes.next_multiple_of(4) + 4;
        let mut new = Self {
            radix,
            direction,
            halves: [digits[..left].to_vec(), digits[left..].to_vec()],
            parameters,
            begun: [0; BLOCK],
            message,
            number_bytes,
            stream: vec![0; stream_bytes],
            chain: [0; BLOCK],
            round: 0,
            block: 0,
            is_begun: false,
        };
        new.begin_round();
        Ok(new)
    }

    /// The block to encipher next; `None` after the last round.
    pub fn block(&self) -> Option<[u8; BLOCK]> {
        if self.round == ROUNDS {
            return None;
        }
        if !self.is_begun {
            return Some(self.parameters);
        }
        let messages = self.message.len() / BLOCK;
        let mut block = self.chain;
        if self.block < messages {
            let part = &self.message[self.block * BLOCK..][..BLOCK];
            block.iter_mut().zip(part).for_each(|(byte, other)| *byte ^= other);
        } else {
            // The chain remains R here. The block's number fits a byte, since no stream is long enough for more.
            block[BLOCK - 1] ^= (self.block - messages + 1) as u8;
        }
        Some(block)
    }

    /// Takes the enciphered block. Does nothing after the last round.
    pub fn take(&mut self, enciphered: &[u8; BLOCK]) {
        if self.round == ROUNDS {
            return;
        }
        if !self.is_begun {
            (self.begun, self.chain, self.is_begun) = (*enciphered, *enciphered, true);
            return;
        }
        let messages = self.message.len() / BLOCK;
        if self.block < messages {
            self.chain = *enciphered;
        }
        self.block += 1;
        if let Some(place) = self.block.checked_sub(messages)
            && let Some(part) = self.stream.get_mut(place * BLOCK..)
        {
            let length = part.len().min(BLOCK);
            part[..length].copy_from_slice(&enciphered[..length]);
        }
        let blocks = messages + self.stream.len().div_ceil(BLOCK) - 1;
        if self.block == blocks {
            self.end_round();
        }
    }

    /// The current digits; the result only after the last round.
    pub fn digits(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.halves.concat())
    }

    /// Runs all rounds with `encipher` for the blocks, and returns the result.
    pub fn run(mut self, mut encipher: impl FnMut([u8; BLOCK]) -> [u8; BLOCK]) -> Zeroizing<Vec<u8>> {
        while let Some(block) = self.block() {
            self.take(&encipher(block));
        }
        self.digits()
    }

    /// Writes the round's number and the number of the unchanged half into Q.
    fn begin_round(&mut self) {
        if self.round == ROUNDS {
            return;
        }
        let (number, stays) = match self.direction {
            Direction::Encipher => (self.round, 1),
            Direction::Decipher => (ROUNDS - 1 - self.round, 0),
        };
        let at = self.message.len() - self.number_bytes;
        self.message[at - 1] = number;
        self.radix.write_number(&self.halves[stays], &mut self.message[at..]);
        (self.chain, self.block) = (self.begun, 0);
    }

    fn end_round(&mut self) {
        let changes = match self.direction {
            Direction::Encipher => 0,
            Direction::Decipher => 1,
        };
        let digits = &mut self.halves[changes];
        let mut added = Zeroizing::new(vec![0; digits.len()]);
        self.radix.read_number(&self.stream, &mut added);
        match self.direction {
            Direction::Encipher => self.radix.add(digits, &added),
            Direction::Decipher => self.radix.subtract(digits, &added),
        }
        self.halves.swap(0, 1);
        self.round += 1;
        self.begin_round();
    }
}

impl Drop for Ff1 {
    fn drop(&mut self) {
        self.halves.zeroize();
        self.message.zeroize();
        self.stream.zeroize();
        self.chain.zeroize();
        self.begun.zeroize();
    }
}

/// Shows no field: they are secret.
impl std::fmt::Debug for Ff1 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ff1")
    }
}
