//! Sequence numbers and replay windows as the kernel shows them and takes them back, in two forms.
//!
//! ```text
//! plain:     last out, highest in, bitmap of 32: bit k is the number k before the highest
//! extended:  words, halves of last out and highest in, window, a ring of bits: number n is bit (n - 1) mod window
//! ```

use crate::refusal::Refusal;
use crate::view::{Attributes, View};
use crate::wire::{REPLAY_BYTES, attribute, errno, flag, protocol, replay_esn, sa_info};

/// The extended form, which windows above 32 and extended sequence numbers have.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Extended {
    pub(crate) window: u32,
    pub(crate) words: Vec<u32>,
    out: u64,
    top: u64,
}

/// The sequence numbers and the replay window of one SA.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Replay {
    out: u32,
    top: u32,
    bitmap: u32,
    extended: Option<Extended>,
}

/// Bits of a word of the bitmap.
const WORD: u64 = 32;

impl Extended {
    /// Reads the extended form; `None` if some of its words are missing. If all are missing, they are zeros.
    fn read(value: View<'_>) -> Option<Extended> {
        let count = usize::try_from(value.u32(replay_esn::WORDS)).ok()?;
        let bits = value.from(replay_esn::BYTES);
        let mut words = vec![0; count.min(replay_esn::WORDS_MAX as usize)];
        if !bits.is_empty() {
            if bits.len() / 4 < count {
                return None;
            }
            for (word, bytes) in words.iter_mut().zip(bits.as_chunks::<4>().0) {
                *word = u32::from_ne_bytes(*bytes);
            }
        }
        let whole = |high, low| u64::from(value.u32(high)) << 32 | u64::from(value.u32(low));
        Some(Extended {
            window: value.u32(replay_esn::WINDOW),
            words,
            out: whole(replay_esn::OUT_HIGH, replay_esn::OUT),
            top: whole(replay_esn::IN_HIGH, replay_esn::IN),
        })
    }

    /// The fields before the words.
    pub(crate) fn head(&self) -> [u8; replay_esn::BYTES] {
        let mut head = [0; replay_esn::BYTES];
        let numbers = [
            self.words.len() as u32,
            self.out as u32,
            self.top as u32,
            (self.out >> 32) as u32,
            (self.top >> 32) as u32,
            self.window,
        ];
        for (to, number) in head.chunks_exact_mut(4).zip(numbers) {
            to.copy_from_slice(&number.to_ne_bytes());
        }
        head
    }

    /// The word and bit of a number; `None` for number 0, and for a window of 0.
    fn place(&self, number: u64) -> Option<(usize, u32)> {
        let at = (number.checked_sub(1)?).checked_rem(u64::from(self.window))?;
        Some(((at / WORD) as usize, 1 << (at % WORD)))
    }
}

impl Replay {
    /// Reads the numbers and window that a request states, and refuses them if they contradict the rest of the request
    /// (verify_replay and xfrm_init_replay of the kernel).
    pub(crate) fn read(info: View<'_>, attributes: &Attributes<'_>) -> Result<Replay, Refusal> {
        let wants_extended = info.u8(sa_info::FLAGS) & flag::ESN != 0;
        let mut replay = Replay::default();
        if let Some(value) = attributes.get(attribute::REPLAY_VAL) {
            (replay.out, replay.top, replay.bitmap) = (value.u32(0), value.u32(4), value.u32(8));
        }
        let Some(value) = attributes.get(attribute::REPLAY_ESN_VAL) else {
            return match wants_extended {
                true => Err(Refusal::invalid("Missing required attribute for ESN")),
                false => Ok(replay),
            };
        };
        if value.u32(replay_esn::WORDS) > replay_esn::WORDS_MAX {
            return Err(Refusal::invalid("ESN bitmap length must be <= 128"));
        }
        let Some(extended) = Extended::read(value) else {
            return Err(Refusal::invalid("ESN attribute is too short to fit the full bitmap length"));
        };
        let kind = info.u8(sa_info::PROTOCOL);
        if kind != protocol::ESP && kind != protocol::AH {
            return Err(Refusal::invalid("ESN only supported for ESP and AH"));
        }
        if info.u8(sa_info::WINDOW) != 0 {
            return Err(Refusal::invalid("ESN not compatible with legacy replay_window"));
        }
        if u64::from(extended.window) > extended.words.len() as u64 * WORD {
            return Err(Refusal::invalid("ESN replay window is too large for the chosen bitmap size"));
        }
        replay.extended = Some(extended);
        Ok(replay)
    }

    /// As [`Replay::read`], for an existing SA: the request must have the SA's form (xfrm_replay_verify_len of the
    /// kernel).
    pub(crate) fn read_change(&self, attributes: &Attributes<'_>) -> Result<Option<Replay>, Refusal> {
        let plain = attributes.get(attribute::REPLAY_VAL);
        let Some((held, value)) = self.extended.as_ref().zip(attributes.get(attribute::REPLAY_ESN_VAL))
        else {
            let plain = plain.filter(|_| self.extended.is_none());
            return Ok(plain.map(|value| Replay {
                out: value.u32(0),
                top: value.u32(4),
                bitmap: value.u32(8),
                extended: None,
            }));
        };
        let words = value.u32(replay_esn::WORDS);
        if words as usize != held.words.len() {
            return Err(Refusal::invalid("New ESN size doesn't match the existing SA's ESN size"));
        }
        if value.from(replay_esn::BYTES).len() / 4 < held.words.len() {
            return Err(Refusal::invalid("ESN attribute is too short"));
        }
        if u64::from(value.u32(replay_esn::WINDOW)) > u64::from(words) * WORD {
            return Err(Refusal::invalid("ESN replay window is longer than the bitmap"));
        }
        let changed = Extended::read(value).ok_or_else(|| Refusal::bare(errno::EINVAL))?;
        Ok(Some(Replay { extended: Some(changed), ..Replay::default() }))
    }

    /// The extended form, if the SA has it.
    pub(crate) fn extended_form(&self) -> Option<&Extended> {
        self.extended.as_ref()
    }

    /// The plain form: last number out, highest number in, bitmap.
    pub(crate) fn plain_form(&self) -> [u8; REPLAY_BYTES] {
        let mut field = [0; REPLAY_BYTES];
        for (to, number) in field.chunks_exact_mut(4).zip([self.out, self.top, self.bitmap]) {
            to.copy_from_slice(&number.to_ne_bytes());
        }
        field
    }

    /// The last number that was handed out.
    pub(crate) fn out_number(&self) -> u64 {
        self.extended.as_ref().map_or(u64::from(self.out), |extended| extended.out)
    }

    /// The highest number that was taken.
    pub(crate) fn in_number(&self) -> u64 {
        self.extended.as_ref().map_or(u64::from(self.top), |extended| extended.top)
    }

    /// The numbers up to the highest that were taken, as far as the bitmap shows.
    pub(crate) fn taken(&self) -> impl Iterator<Item = u64> {
        let (top, window) = (self.in_number(), self.extended.as_ref().map_or(32, |extended| extended.window));
        (0..u64::from(window).min(top)).map(move |back| top - back).filter(|number| self.is_taken(*number))
    }

    fn is_taken(&self, number: u64) -> bool {
        match &self.extended {
            None => {
                u32::try_from(u64::from(self.top) - number).is_ok_and(|back| self.bitmap >> back & 1 == 1)
            }
            Some(extended) => extended
                .place(number)
                .is_some_and(|(word, bit)| extended.words.get(word).is_some_and(|word| word & bit != 0)),
        }
    }

    pub(crate) fn with_out_number(&self, number: u64) -> Replay {
        let mut changed = self.clone();
        match &mut changed.extended {
            Some(extended) => extended.out = number,
            None => changed.out = number as u32,
        }
        changed
    }

    /// With another highest number, and with the numbers before it that were taken.
    pub(crate) fn with_window(&self, top: u64, is_taken: impl Fn(u64) -> bool) -> Replay {
        let mut changed = self.clone();
        match &mut changed.extended {
            None => {
                changed.top = top as u32;
                let back = 0..32.min(top);
                changed.bitmap =
                    back.filter(|back| is_taken(top - back)).fold(0, |map, back| map | 1 << back);
            }
            Some(extended) => {
                extended.top = top;
                extended.words.fill(0);
                for number in (0..u64::from(extended.window).min(top)).map(|back| top - back) {
                    if is_taken(number)
                        && let Some((word, bit)) = extended.place(number)
                        && let Some(word) = extended.words.get_mut(word)
                    {
                        *word |= bit;
                    }
                }
            }
        }
        changed
    }
}
