//! The rows of files: sides, promises, and the steps that bound them.

use super::desk::{Form, Tool};
use super::file::Mode;
use super::memory::Step;

/// The work of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// The text becomes a message.
    Encrypt(Form),
    /// The text becomes a message, which is written to `/dev/null`.
    EncryptToNull(Form),
    /// A message of this form, made by the named tool (this program among them), becomes the text.
    Decrypt(Form, Tool),
    /// The text is read, without further work.
    Read,
}

/// Our side of a row, and the promised ratio to the peer.
#[derive(Clone, Copy, Debug)]
pub struct Ours {
    /// Name of the case in the tables; the measured quantity is appended.
    pub case: &'static str,
    /// The work.
    pub act: Act,
    /// Ratios of bytes per second of processor time, and of elapsed time; none where they are stated alone.
    pub promised: Option<(f64, f64)>,
    /// The steps that the work must include, besides moving bytes.
    pub steps: &'static [Step],
}

/// A peer, and our sides that run beside it.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The peer.
    pub peer: Tool,
    /// The work of the peer.
    pub act: Act,
    /// Our sides, each compared with the peer.
    pub ours: &'static [Ours],
    /// The part of the text that is worked on: 1 for all, n for an n-th of it.
    pub part: u64,
}

impl Act {
    /// The form of the message.
    pub const fn form(self) -> Option<Form> {
        match self {
            Self::Encrypt(form) | Self::EncryptToNull(form) | Self::Decrypt(form, _) => Some(form),
            Self::Read => None,
        }
    }
}

const fn form(aes256: bool, mode: Mode, zip: Option<u8>) -> Form {
    Form { aes256, mode, zip }
}

/// AES-128 in a mode.
pub const fn aes128(mode: Mode, zip: Option<u8>) -> Form {
    form(false, mode, zip)
}

const fn ours(case: &'static str, act: Act, promised: (f64, f64), steps: &'static [Step]) -> Ours {
    Ours { case, act, promised: Some(promised), steps }
}

const fn decrypt(form: Form) -> Act {
    Act::Decrypt(form, Tool::Cryptand)
}

const fn group(peer: Tool, act: Act, ours: &'static [Ours]) -> Group {
    Group { peer, act, ours, part: if matches!(peer, Tool::Rpgp | Tool::Sq) { PART } else { 1 } }
}

use Act::{Decrypt, Encrypt, EncryptToNull, Read};
use Mode::{Cfb, Gcm, Ocb};
use Step::{CfbDecipher, CfbSha1Encipher, Deflate, GcmOpen, GcmSeal, Inflate, OcbSeal, Sha1};

/// No worse than the peer.
const AS_GOOD: (f64, f64) = (1.0, 1.0);
/// Part of the text for slow peers: a quarter.
const PART: u64 = 4;
/// Part of the text for ZIP levels above 1, which take about a minute for the whole text.
const SMALL_PART: u64 = 16;
const AES256: Form = form(true, Cfb, None);
const AES256_ZIP: Form = form(true, Cfb, Some(6));

/// All groups. The first two run first: later rows name gpg's rate.
#[rustfmt::skip] // a table
pub const GROUPS: &[Group] = &[
    group(Tool::Gpg, Encrypt(aes128(Cfb, None)), &[
        ours("AES-128 CFB + MDC, encrypt", Encrypt(aes128(Cfb, None)), (1.3, 1.8), &[CfbSha1Encipher]),
        ours("AES-128 GCM, encrypt", Encrypt(aes128(Gcm, None)), (3.0, 4.5), &[GcmSeal]),
        ours("AES-128 OCB, encrypt", Encrypt(aes128(Ocb, None)), (2.6, 4.0), &[OcbSeal]),
    ]),
    group(Tool::Gpg, Encrypt(aes128(Cfb, Some(1))), &[
        ours("ZIP level 1 + AES-128 CFB, encrypt", Encrypt(aes128(Cfb, Some(1))), (4.0, 7.0), &[Deflate, CfbSha1Encipher]),
        ours("ZIP level 1 + AES-128 GCM, encrypt", Encrypt(aes128(Gcm, Some(1))), (4.4, 7.0), &[Deflate, GcmSeal]),
    ]),
    group(Tool::Cryptand, Read, &[
        ours("AES-128 GCM, encrypt to /dev/null", EncryptToNull(aes128(Gcm, None)), (0.5, 0.8), &[GcmSeal]),
    ]),
    group(Tool::Rpgp, Encrypt(aes128(Cfb, None)), &[
        ours("AES-128 CFB + MDC, encrypt, beside rPGP", Encrypt(aes128(Cfb, None)), AS_GOOD, &[CfbSha1Encipher]),
    ]),
    group(Tool::Rpgp, Encrypt(aes128(Gcm, None)), &[
        ours("AES-128 GCM, encrypt, beside rPGP", Encrypt(aes128(Gcm, None)), AS_GOOD, &[GcmSeal]),
    ]),
    group(Tool::Rpgp, Encrypt(aes128(Ocb, None)), &[
        ours("AES-128 OCB, encrypt, beside rPGP", Encrypt(aes128(Ocb, None)), AS_GOOD, &[OcbSeal]),
    ]),
    Group { part: SMALL_PART, ..group(Tool::Rpgp, Encrypt(aes128(Cfb, Some(6))), &[
        ours("ZIP level 6 + AES-128 CFB, encrypt, beside rPGP", Encrypt(aes128(Cfb, Some(6))), AS_GOOD, &[]),
    ]) },
    group(Tool::Sq, Encrypt(AES256), &[
        ours("AES-256 CFB + MDC, encrypt, beside sq", Encrypt(AES256), AS_GOOD, &[]),
    ]),
    Group { part: SMALL_PART, ..group(Tool::Sq, Encrypt(AES256_ZIP), &[
        ours("ZIP level 6 + AES-256 CFB, encrypt, beside sq", Encrypt(AES256_ZIP), AS_GOOD, &[]),
    ]) },
    group(Tool::Gpg, decrypt(aes128(Cfb, None)), &[
        ours("AES-128 CFB + MDC, decrypt", decrypt(aes128(Cfb, None)), (1.0, 1.4), &[CfbDecipher, Sha1]),
        ours("AES-128 GCM, decrypt", decrypt(aes128(Gcm, None)), (2.0, 3.0), &[GcmOpen]),
    ]),
    group(Tool::Gpg, decrypt(aes128(Cfb, Some(1))), &[
        ours("ZIP level 1 + AES-128 CFB, decrypt", decrypt(aes128(Cfb, Some(1))), (2.3, 3.2), &[CfbDecipher, Sha1, Inflate]),
    ]),
    group(Tool::Gpg, Decrypt(aes128(Cfb, Some(1)), Tool::Gpg), &[
        Ours { promised: None, ..ours("ZIP level 1 + AES-128 CFB made by gpg, decrypt", Decrypt(aes128(Cfb, Some(1)), Tool::Gpg), AS_GOOD, &[CfbDecipher, Sha1, Inflate]) },
    ]),
    group(Tool::Rpgp, decrypt(aes128(Gcm, None)), &[
        ours("AES-128 GCM, decrypt, beside rPGP", decrypt(aes128(Gcm, None)), AS_GOOD, &[GcmOpen]),
    ]),
    group(Tool::Rpgp, decrypt(aes128(Ocb, None)), &[
        ours("AES-128 OCB, decrypt, beside rPGP", decrypt(aes128(Ocb, None)), AS_GOOD, &[OcbSeal]),
    ]),
    group(Tool::Rpgp, decrypt(aes128(Cfb, Some(1))), &[
        ours("ZIP level 1 + AES-128 CFB, decrypt, beside rPGP", decrypt(aes128(Cfb, Some(1))), AS_GOOD, &[CfbDecipher, Sha1, Inflate]),
    ]),
    group(Tool::Sq, decrypt(AES256), &[
        ours("AES-256 CFB + MDC, decrypt, beside sq", decrypt(AES256), AS_GOOD, &[]),
    ]),
    group(Tool::Sq, decrypt(aes128(Cfb, Some(1))), &[
        ours("ZIP level 1 + AES-128 CFB, decrypt, beside sq", decrypt(aes128(Cfb, Some(1))), AS_GOOD, &[CfbDecipher, Sha1, Inflate]),
    ]),
];

impl Step {
    /// Whether the step cannot be divided among processors.
    pub const fn is_serial(self) -> bool {
        matches!(self, CfbSha1Encipher | Sha1 | Inflate)
    }

    /// Whether the step works on the text itself, not on the deflated text.
    pub const fn is_before_cipher(self) -> bool {
        matches!(self, Deflate | Inflate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn rows_have_names_of_their_own_and_like_is_compared_with_like() {
        let all = || GROUPS.iter().flat_map(|group| group.ours.iter().map(move |ours| (group, ours)));
        assert_eq!(all().map(|(_, ours)| ours.case).collect::<HashSet<_>>().len(), all().count());
        for (group, ours) in all() {
            let (Some(theirs), Some(own)) = (group.act.form(), ours.act.form()) else { continue };
            assert_eq!((theirs.zip, theirs.aes256), (own.zip, own.aes256), "{}", ours.case);
            assert!(group.peer == Tool::Gpg || theirs.mode == own.mode, "{}", ours.case);
            assert_eq!(own.zip.is_some(), ours.case.contains("ZIP"), "{}", ours.case);
        }
    }
}
