//! The form of a PIN block, as the arguments of a verb say it.

use super::Block;
use crate::call::Call;
use crate::counting;
use crate::ground::Refusal;
use payments::block::{self, PanDigits};
use payments::{Extraction, Format, Layout, Mask, Pin, Profile, ProfileFault};
use wire::point::Point;
use wire::verb::PinExtraction;
use wire::{Codes, code};
use zeroize::Zeroizing;

/// How a PIN lies in a block, with what the block holds beside it.
pub(crate) struct Form {
    pub(crate) layout: Layout,
    /// Digits of the PAN; zeros if the format has no PAN.
    pub(crate) pan: PanDigits,
    sequence: u16,
}

impl Form {
    /// The form of a block that comes in.
    ///
    /// # Errors
    /// 8/106, 8/107 or 8/108 for a profile that says no format, control or pad digit, 8/109 for a method that does not
    /// go with the format, 8/110 for a PAN that is needed and not twelve digits, 8/90 for a format that the role does
    /// not permit.
    pub(crate) fn read(
        call: &Call<'_, '_>,
        profile: &[u8],
        pan: Option<&[u8; 12]>,
        extraction: Option<PinExtraction>,
    ) -> Result<Self, Refusal> {
        let profile = Profile::read(first_fields(profile)?).map_err(codes)?;
        check_format(call, profile.format)?;
        let extraction = extraction.map_or(Extraction::of(profile.format), method);
        if !extraction.fits(profile.format) {
            return Err(code::PIN_EXTRACTION.into());
        }
        let pad = profile.pad_read().map_err(codes)?;
        let checks_digits = !profile.format.has_pan() || call.points.permits(Point::PinCheckDigits);
        let layout = Layout { format: profile.format, extraction, pad, least: least(call), checks_digits };
        Ok(Self { layout, pan: pan_digits(profile.format, pan)?, sequence: 0 })
    }

    /// The form of a block that goes out.
    ///
    /// # Errors
    /// As [`Form::read`], and 8/111 for a sequence number that is needed and has more than four digits.
    pub(crate) fn made(
        call: &Call<'_, '_>,
        profile: &[u8],
        pan: Option<&[u8; 12]>,
        sequence: i64,
    ) -> Result<Self, Refusal> {
        let profile = Profile::read(first_fields(profile)?).map_err(codes)?;
        check_format(call, profile.format)?;
        let pad = profile.pad_made().map_err(codes)?;
        // A decimal digit as padding would be read as a digit of the PIN.
        if profile.format.has_pad() && pad < 10 && !call.points.permits(Point::PinAnyDigits) {
            return Err(code::PAD_DIGIT.into());
        }
        let sequence = match u16::try_from(sequence) {
            Ok(sequence @ 0..=9999) => sequence,
            _ if profile.format.has_sequence() => return Err(code::SEQUENCE_NUMBER.into()),
            _ => 0,
        };
        let extraction = Extraction::of(profile.format);
        let layout =
            Layout { format: profile.format, extraction, pad, least: least(call), checks_digits: true };
        Ok(Self { layout, pan: pan_digits(profile.format, pan)?, sequence })
    }

    /// The same form with decimal digits alone: for values that are made of a PIN and leave the card clear.
    pub(crate) fn of_decimals(mut self) -> Self {
        self.layout.checks_digits = true;
        self
    }

    /// The PIN of a clear block, and whether the block is valid.
    pub(crate) fn pin(&self, block: &Block) -> (Pin, Mask) {
        block::read(&self.layout, &self.pan, block)
    }

    /// What identifies a clear block, whatever it is compared with, and whichever key it was under.
    ///
    /// A block of ISO-0 or VISA-4 is bound to its PAN: with another PAN its filling is wrong. That does not hold for
    /// the digits of the PAN that lie over digits of the PIN, behind its second one. A change to them turns the PIN
    /// into another PIN that is known from the first. So the first four digits are left out, as many as lie over a PIN
    /// of six. A block of ISO-3 is bound to no PAN: its filling is six random digits, and a digit of the PAN that is
    /// changed by one turns one of these into another. Such a block is identified by its own filling.
    pub(crate) fn bound(&self, block: &Block) -> counting::Subject {
        match (self.layout.format, &self.pan) {
            (Format::Iso0 | Format::Visa4, [_, _, _, _, bound @ ..]) => counting::of_bound_pan(bound),
            _ => counting::of_clear_block(block),
        }
    }

    /// The clear block of a PIN, and whether the format takes a PIN of that length.
    pub(crate) fn block(&self, call: &Call<'_, '_>, pin: &Pin) -> (Block, Mask) {
        let mut random = Zeroizing::new([0; 16]);
        call.random(&mut random[..]);
        self.filled(pin, &random)
    }

    /// The clear block of a PIN that comes from a clear block of that form, or from a block of another size with this
    /// content. A block of ISO-3 is identified by its filling ([`Form::bound`]): from ISO-3 the block keeps that
    /// filling, from other formats it gets one that follows from their content. With random fillings, anybody could
    /// make any number of blocks of one card, each counted by itself.
    ///
    /// # Errors
    /// 8/90 where the domain has no master key.
    pub(crate) fn block_of(
        &self,
        call: &Call<'_, '_>,
        pin: &Pin,
        from: Option<(&Self, &Block)>,
        said: &counting::Subject,
    ) -> Result<(Block, Mask), Codes> {
        match from {
            _ if self.layout.format != Format::Iso3 => Ok(self.block(call, pin)),
            Some((from, clear)) if from.layout.format == Format::Iso3 => {
                Ok(self.filled(pin, &block::filling(&from.pan, clear)))
            }
            _ => {
                let filling = call.counting.borrow().filling(call.domain, said);
                Ok(self.filled(pin, &*filling.ok_or(code::ACCESS_DENIED)?))
            }
        }
    }

    fn filled(&self, pin: &Pin, random: &[u8; 16]) -> (Block, Mask) {
        let made = Block::new(block::make(&self.layout, &self.pan, pin, self.sequence, random));
        (made, pin.has_at_least(self.layout.format.digits().0))
    }
}

/// The three fields at the start of a profile.
fn first_fields(profile: &[u8]) -> Result<&[u8; 24], Refusal> {
    profile.first_chunk().ok_or(code::INVALID_PARAMETER.into())
}

pub(super) fn codes(fault: ProfileFault) -> Codes {
    match fault {
        ProfileFault::Format => code::PIN_FORMAT,
        ProfileFault::Control => code::FORMAT_CONTROL,
        ProfileFault::Pad => code::PAD_DIGIT,
    }
}

/// Refuses ISO-4, whose blocks have 16 bytes, and formats that the role does not permit anywhere.
fn check_format(call: &Call<'_, '_>, format: Format) -> Result<(), Codes> {
    match format {
        Format::Iso4 => Err(code::PIN_FORMAT),
        Format::Iso1 => call.permit(Point::PinIso1),
        Format::Iso2 => call.permit(Point::PinUnrestricted),
        _ => Ok(()),
    }
}

fn least(call: &Call<'_, '_>) -> u8 {
    if call.points.permits(Point::PinAnyDigits) { 1 } else { 4 }
}

fn pan_digits(format: Format, pan: Option<&[u8; 12]>) -> Result<PanDigits, Codes> {
    match pan {
        _ if !format.has_pan() => Ok([0; 12]),
        Some(pan) => payments::digits(pan).map_err(|_| code::PAN),
        None => Err(code::PAN),
    }
}

fn method(keyword: PinExtraction) -> Extraction {
    let length = |first: PinExtraction| 4 + (keyword as u8 - first as u8);
    match keyword {
        PinExtraction::PinBlock => Extraction::PinBlock,
        PinExtraction::PadDigit => Extraction::PadDigit,
        PinExtraction::HexDigit => Extraction::HexDigit,
        PinExtraction::PadExist => Extraction::PadExist,
        _ => Extraction::Length(length(PinExtraction::Length4)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_of_lengths_say_their_number() {
        for (_, keyword) in PinExtraction::ALL {
            if let Some(number) = keyword.keyword().text.strip_prefix("PINLEN") {
                assert_eq!(method(*keyword), Extraction::Length(number.parse().unwrap()));
            }
        }
        assert_eq!(method(PinExtraction::PadExist), Extraction::PadExist);
    }
}
