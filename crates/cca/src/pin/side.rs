//! One side of a verb that takes PIN blocks of both sizes: how its block lies, and which key it is under.

use super::derivation::{Derivation, Method};
use super::form::Form;
use super::{BLOCK_BYTES, rules};
use crate::call::Call;
use crate::counting;
use crate::ground::Refusal;
use crate::key::opening::Opening;
use crate::pass::PinField;
use engine::{CipherDirection, SecretBytes};
use payments::block::PanDigits;
use payments::{Format, Mask, Pin, Profile, iso4};
use token::usage::{PinBlockIn, PinBlockOut, Use};
use token::variable::PinField as Field;
use wire::verb::PinExtraction;
use wire::{Codes, code};
use zeroize::{Zeroize, Zeroizing};

/// The fewest digits of a PAN that is given whole.
const PAN_DIGITS_MIN: usize = 8;
/// The most digits of a PAN that is given whole.
const PAN_DIGITS_MAX: usize = 19;

/// A PAN that is given whole, with its check digit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pan {
    digits: [u8; PAN_DIGITS_MAX],
    length: usize,
    field: [u8; iso4::FIELD_BYTES],
}

impl Pan {
    /// # Errors
    /// 8/110 for other than 8 to 19 digits.
    fn read(characters: &[u8]) -> Result<Self, Codes> {
        if !(PAN_DIGITS_MIN..=PAN_DIGITS_MAX).contains(&characters.len()) {
            return Err(code::PAN);
        }
        let digits: [u8; PAN_DIGITS_MAX] = payments::digits(characters).map_err(|_| code::PAN)?;
        let length = characters.len();
        let field = iso4::pan_field(&digits[..length]).ok_or(code::PAN)?;
        Ok(Self { digits, length, field })
    }

    /// Number of digits of the PAN.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The PAN as a field of ISO-4.
    pub(crate) fn field(&self) -> &[u8; iso4::FIELD_BYTES] {
        &self.field
    }

    /// The twelve digits that ISO-0 and ISO-3 take, without the check digit.
    fn twelve(&self) -> PanDigits {
        let mut twelve = [0; 12];
        let without = &self.digits[..self.length - 1];
        for (place, digit) in twelve.iter_mut().rev().zip(without.iter().rev()) {
            *place = *digit;
        }
        twelve
    }
}

/// The form of a side's block, by its size.
pub(crate) enum Shape {
    /// A block of 8 bytes.
    Short(Form),
    /// A block of 16 bytes, in ISO-4.
    Iso4(Pan),
}

/// One side: the form of its block, and the derivation of its key.
pub(crate) struct Side {
    pub(crate) shape: Shape,
    pub(crate) derivation: Derivation,
}

/// A block of either size, enciphered or clear.
pub(crate) enum BlockOf<Short, Long> {
    Short(Short),
    Long(Long),
}

/// A clear block; wiped on drop.
pub(crate) type Clear = BlockOf<super::Block, crate::pass::ClearField>;

impl Side {
    /// The side that a block comes from.
    ///
    /// # Errors
    /// As [`Form::read`] and [`Derivation::read`]; 8/106 for formats that such verbs do not take, 8/110 for a PAN that
    /// is needed and not as many digits as the format takes.
    pub(crate) fn read(
        call: &Call<'_, '_>,
        profile: &[u8],
        pan: &[u8],
        extraction: Option<PinExtraction>,
        method: Method,
    ) -> Result<Self, Refusal> {
        let shape = match format(profile)? {
            Format::Iso4 if extraction.is_none_or(|keyword| keyword == PinExtraction::PinBlock) => {
                Shape::Iso4(Pan::read(pan)?)
            }
            Format::Iso4 => return Err(code::PIN_EXTRACTION.into()),
            _ => Shape::Short(Form::read(call, profile, twelve(pan)?, extraction)?),
        };
        Self::new(shape, profile, method)
    }

    /// The side that a block goes to.
    ///
    /// # Errors
    /// As [`Side::read`].
    pub(crate) fn made(
        call: &Call<'_, '_>,
        profile: &[u8],
        pan: &[u8],
        method: Method,
    ) -> Result<Self, Refusal> {
        let shape = match format(profile)? {
            Format::Iso4 => Shape::Iso4(Pan::read(pan)?),
            _ => Shape::Short(Form::made(call, profile, twelve(pan)?, 0)?),
        };
        Self::new(shape, profile, method)
    }

    fn new(shape: Shape, profile: &[u8], method: Method) -> Result<Self, Refusal> {
        let derivation = Derivation::read(profile, method, matches!(shape, Shape::Iso4(_)))?;
        Ok(Self { shape, derivation })
    }

    /// The format.
    pub(crate) fn format(&self) -> Format {
        match &self.shape {
            Shape::Short(form) => form.layout.format,
            Shape::Iso4(_) => Format::Iso4,
        }
    }

    /// Whether the side's key is an AES key: that of ISO-4, or a base key.
    pub(crate) fn is_of_aes(&self) -> bool {
        matches!(self.shape, Shape::Iso4(_)) || matches!(self.derivation, Derivation::Aes(_))
    }

    /// The PAN, if the side has ISO-4.
    pub(crate) fn pan(&self) -> Option<&Pan> {
        match &self.shape {
            Shape::Short(_) => None,
            Shape::Iso4(pan) => Some(pan),
        }
    }

    /// Whether both sides have one PAN, as far as their digits tell.
    pub(crate) fn is_of_same_pan(&self, other: &Self) -> bool {
        let digits = |side: &Self| match &side.shape {
            Shape::Short(form) => (form.layout.format, form.pan),
            Shape::Iso4(pan) => (Format::Iso4, pan.twelve()),
        };
        match (self.pan(), other.pan()) {
            (Some(own), Some(others)) => own == others,
            _ => rules::is_same_pan(&digits(self), &digits(other)),
        }
    }

    /// Starts opening the key of an input block. The right that the key needs depends on the use that is made of the
    /// PIN.
    ///
    /// # Errors
    /// 8/39 for a key that does not permit this.
    pub(crate) fn open_in<'p, 'a>(
        &self,
        call: Call<'p, 'a>,
        field: &'a [u8],
        step: PinBlockIn,
        usage: Field,
    ) -> Result<Opening<'p, 'a>, Refusal> {
        match self.shape {
            Shape::Short(_) => self.derivation.open(call, field, Use::PinBlockIn(step)),
            Shape::Iso4(_) => self.derivation.open_field(call, field, usage),
        }
    }

    /// Starts opening the key of an output block.
    ///
    /// # Errors
    /// 8/39 for a key that does not permit this.
    pub(crate) fn open_out<'p, 'a>(
        &self,
        call: Call<'p, 'a>,
        field: &'a [u8],
        from: PinBlockOut,
        usage: Field,
    ) -> Result<Opening<'p, 'a>, Refusal> {
        match self.shape {
            Shape::Short(_) => self.derivation.open(call, field, Use::PinBlockOut(from)),
            Shape::Iso4(_) => self.derivation.open_field(call, field, usage),
        }
    }

    /// The enciphered block of this side, as the caller gave it.
    ///
    /// # Errors
    /// 8/21 for a block of another size.
    pub(crate) fn given<'a>(
        &self,
        block: &'a [u8],
    ) -> Result<BlockOf<&'a [u8; BLOCK_BYTES], &'a [u8; iso4::FIELD_BYTES]>, Codes> {
        match self.shape {
            Shape::Short(_) => block.try_into().map(BlockOf::Short).map_err(|_| code::INVALID_PARAMETER),
            Shape::Iso4(_) => block.try_into().map(BlockOf::Long).map_err(|_| code::INVALID_PARAMETER),
        }
    }

    /// Deciphers a block of this side.
    ///
    /// # Errors
    /// As [`super::cipher`].
    pub(crate) async fn decipher(
        &self,
        call: Call<'_, '_>,
        key: &SecretBytes,
        block: BlockOf<&[u8; BLOCK_BYTES], &[u8; iso4::FIELD_BYTES]>,
    ) -> Result<Clear, Refusal> {
        let direction = CipherDirection::Decipher;
        match (&self.shape, block) {
            (_, BlockOf::Short(block)) => {
                Ok(BlockOf::Short(super::cipher(call, key, direction, block).await?))
            }
            (Shape::Iso4(pan), BlockOf::Long(block)) => {
                let (key, field, pan) = (key.clone(), Zeroizing::new(*block), pan.field);
                Ok(BlockOf::Long(call.ask(PinField { direction, key, field, pan }).await?))
            }
            (Shape::Short(_), BlockOf::Long(_)) => Err(code::SELF_CHECK.into()),
        }
    }

    /// Enciphers a clear block of this side.
    ///
    /// # Errors
    /// As [`super::cipher`].
    pub(crate) async fn encipher(
        &self,
        call: Call<'_, '_>,
        key: &SecretBytes,
        clear: Clear,
    ) -> Result<Clear, Refusal> {
        let direction = CipherDirection::Encipher;
        match (&self.shape, clear) {
            (_, BlockOf::Short(block)) => {
                Ok(BlockOf::Short(super::cipher(call, key, direction, &block).await?))
            }
            (Shape::Iso4(pan), BlockOf::Long(field)) => {
                let (key, pan) = (key.clone(), pan.field);
                Ok(BlockOf::Long(call.ask(PinField { direction, key, field, pan }).await?))
            }
            (Shape::Short(_), BlockOf::Long(_)) => Err(code::SELF_CHECK.into()),
        }
    }

    /// The PIN of a clear block of this side, and whether the block is valid.
    pub(crate) fn pin(&self, clear: &Clear) -> (Pin, Mask) {
        match (&self.shape, clear) {
            (Shape::Short(form), BlockOf::Short(block)) => form.pin(block),
            (_, BlockOf::Long(field)) => iso4::read(field),
            (Shape::Iso4(_), BlockOf::Short(_)) => (Pin::new(&[0; 16], 0), Mask::NO),
        }
    }

    /// What identifies a clear block ([`Form::bound`]); of ISO-4, the last digits of its PAN but the check digit.
    pub(crate) fn bound(&self, clear: &Clear) -> counting::Subject {
        match (&self.shape, clear) {
            (Shape::Short(form), BlockOf::Short(block)) => form.bound(block),
            (Shape::Iso4(pan), _) => {
                let [_, _, _, _, bound @ ..] = pan.twelve();
                counting::of_bound_pan(&bound)
            }
            (Shape::Short(_), BlockOf::Long(_)) => counting::of_clear_block(&[0; BLOCK_BYTES]),
        }
    }

    /// The clear block of a PIN that comes from a clear block of that side ([`Form::block_of`]).
    ///
    /// # Errors
    /// As [`Form::block_of`].
    pub(crate) fn block_of(
        &self,
        call: &Call<'_, '_>,
        pin: &Pin,
        (from, clear): (&Self, &Clear),
    ) -> Result<(Clear, Mask), Codes> {
        let Shape::Short(form) = &self.shape else { return Ok(self.block(call, pin)) };
        let short = match (&from.shape, clear) {
            (Shape::Short(from), BlockOf::Short(clear)) => Some((from, clear)),
            _ => None,
        };
        let (block, fits) = form.block_of(call, pin, short, &from.bound(clear))?;
        Ok((BlockOf::Short(block), fits))
    }

    /// The clear block of a PIN, and whether the format takes a PIN of that length.
    pub(crate) fn block(&self, call: &Call<'_, '_>, pin: &Pin) -> (Clear, Mask) {
        match &self.shape {
            Shape::Short(form) => {
                let (block, fits) = form.block(call, pin);
                (BlockOf::Short(block), fits)
            }
            Shape::Iso4(_) => {
                let mut random = [0; 8];
                call.random(&mut random);
                let field = Zeroizing::new(iso4::pin_field(pin, &random));
                random.zeroize();
                (BlockOf::Long(field), pin.has_at_least(Format::Iso4.digits().0))
            }
        }
    }
}

impl Clear {
    /// Bytes of the block.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Short(block) => &block[..],
            Self::Long(field) => &field[..],
        }
    }
}

/// The format of a profile.
///
/// # Errors
/// 8/21 for a profile that is too short; 8/106, 8/107 or 8/108 for a format, control or pad digit that is not valid,
/// and for formats that the verbs of both sizes do not take.
fn format(profile: &[u8]) -> Result<Format, Refusal> {
    let fields = profile.first_chunk().ok_or(code::INVALID_PARAMETER)?;
    let profile = Profile::read(fields).map_err(super::form::codes)?;
    match profile.format {
        Format::Iso4 if profile.pad.is_some() => Err(code::PAD_DIGIT.into()),
        Format::Iso0 | Format::Iso1 | Format::Iso2 | Format::Iso3 | Format::Iso4 | Format::Ibm3624 => {
            Ok(profile.format)
        }
        _ => Err(code::PIN_FORMAT.into()),
    }
}

/// The twelve digits of a PAN as blocks of 8 bytes have it, or none.
fn twelve(pan: &[u8]) -> Result<Option<&[u8; 12]>, Codes> {
    if pan.is_empty() { Ok(None) } else { pan.try_into().map(Some).map_err(|_| code::PAN) }
}
