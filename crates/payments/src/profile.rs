//! PIN profiles, by which callers name the format of a PIN block.

use crate::format::Format;

/// Length in bytes of the part of a profile that is read.
const PROFILE_BYTES: usize = 24;

/// A PIN profile of 24 characters: format, format control and pad digit, eight characters each (CCA Basic Services,
/// chapter 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The format of the PIN block.
    pub format: Format,
    /// The pad digit, 0 to 15; `None` for a blank.
    pub pad: Option<u8>,
}

/// The field of a profile that is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileFault {
    /// The format is unknown.
    Format,
    /// The format control is not NONE.
    Control,
    /// The pad digit is no hexadecimal digit, is missing, or is not allowed in the format.
    Pad,
}

impl std::fmt::Display for ProfileFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Format => "no PIN block format has that name",
            Self::Control => "the format control is not NONE",
            Self::Pad => "the pad digit is not one of the format",
        })
    }
}

impl std::error::Error for ProfileFault {}

impl Profile {
    /// Reads the first three fields of a profile.
    ///
    /// # Errors
    /// [`ProfileFault`] for the first invalid field.
    pub fn read(profile: &[u8; PROFILE_BYTES]) -> Result<Self, ProfileFault> {
        let (format, rest) = profile.split_at(8);
        let (control, pad) = rest.split_at(8);
        let format = Format::from_keyword(format).ok_or(ProfileFault::Format)?;
        if control != b"NONE    " {
            return Err(ProfileFault::Control);
        }
        let pad = match pad {
            [b' ', b' ', b' ', b' ', b' ', b' ', b' ', pad] => match pad {
                b' ' => None,
                b'0'..=b'9' => Some(pad - b'0'),
                b'A'..=b'F' => Some(pad - b'A' + 10),
                _ => return Err(ProfileFault::Pad),
            },
            _ => return Err(ProfileFault::Pad),
        };
        Ok(Self { format, pad })
    }

    /// The pad digit for reading a block: 3621 and 3624 need one, other formats ignore it.
    ///
    /// # Errors
    /// [`ProfileFault::Pad`] if 3621 or 3624 have none.
    pub fn pad_read(&self) -> Result<u8, ProfileFault> {
        match (self.format.has_pad(), self.pad) {
            (true, None) => Err(ProfileFault::Pad),
            (_, pad) => Ok(pad.unwrap_or(0)),
        }
    }

    /// The pad digit for making a block. A blank means F in the formats that take only F.
    ///
    /// # Errors
    /// [`ProfileFault::Pad`] if the format does not take this pad digit, or needs one and has none.
    pub fn pad_made(&self) -> Result<u8, ProfileFault> {
        let (least, most) = match self.format {
            Format::Iso0 | Format::Visa4 | Format::Epp4704 => return only_f(self.pad),
            Format::Visa2 => (0, 9),
            Format::Visa3 | Format::Ibm3621 | Format::Ibm3624 => (0, 15),
            _ => return Ok(0),
        };
        self.pad.filter(|pad| (least..=most).contains(pad)).ok_or(ProfileFault::Pad)
    }
}

fn only_f(pad: Option<u8>) -> Result<u8, ProfileFault> {
    match pad {
        None | Some(15) => Ok(15),
        Some(_) => Err(ProfileFault::Pad),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Profile, ProfileFault> {
        Profile::read(text.as_bytes().try_into().unwrap())
    }

    #[test]
    fn profiles_are_read_and_refused() {
        let profile = |format, pad| Ok(Profile { format, pad });
        assert_eq!(read("ISO-0   NONE            "), profile(Format::Iso0, None));
        assert_eq!(read("3624    NONE           E"), profile(Format::Ibm3624, Some(14)));
        assert_eq!(read("ISO-9   NONE            "), Err(ProfileFault::Format));
        assert_eq!(read("ISO-0   PBVC            "), Err(ProfileFault::Control));
        for pad in ["       e", "       G", "E       ", "      EE"] {
            assert_eq!(read(&format!("3624    NONE    {pad}")), Err(ProfileFault::Pad), "{pad}");
        }
    }

    #[test]
    fn pad_digits_are_those_of_the_format() {
        let made = |format, pad| Profile { format, pad }.pad_made();
        let read = |format, pad| Profile { format, pad }.pad_read();
        for pad in 0..16 {
            let ok = |good: bool| if good { Ok(pad) } else { Err(ProfileFault::Pad) };
            for format in [Format::Iso0, Format::Visa4, Format::Epp4704] {
                assert_eq!(made(format, Some(pad)), ok(pad == 15));
            }
            assert_eq!(made(Format::Visa2, Some(pad)), ok(pad < 10));
            for format in [Format::Visa3, Format::Ibm3621, Format::Ibm3624] {
                assert_eq!(made(format, Some(pad)), Ok(pad));
            }
            assert_eq!(read(Format::Ibm3624, Some(pad)), Ok(pad));
        }
        assert_eq!(made(Format::Iso0, None), Ok(15));
        assert_eq!(made(Format::Iso3, None), Ok(0));
        for format in [Format::Visa2, Format::Visa3, Format::Ibm3621, Format::Ibm3624] {
            assert_eq!(made(format, None), Err(ProfileFault::Pad));
        }
        assert_eq!(read(Format::Ibm3621, None), Err(ProfileFault::Pad));
        assert_eq!(read(Format::Iso0, None), Ok(0));
    }
}
