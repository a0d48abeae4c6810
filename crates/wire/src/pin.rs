//! Settings of a home about PINs: stored decimalisation tables, and the counting of failures.

use crate::parameters::Verb;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A decimalisation table that may be stored: the decimal digit for each hexadecimal digit, as 16
/// characters. It has at least [`DIGITS_MIN`](Self::DIGITS_MIN) different digits, each at most
/// [`REPEATS_MAX`](Self::REPEATS_MAX) times. With fewer digits, or one of them often, PINs are easy
/// to guess (Bond and Zielinski, UCAM-CL-TR-560).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DecimalisationTable([u8; 16]);

/// Why a text is refused as a decimalisation table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableError {
    /// The text is not 16 decimal digits.
    Digits,
    /// Too few different digits: their number.
    Few(usize),
    /// This digit occurs too often.
    Repeated(char),
}

impl std::fmt::Display for TableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (least, most) = (DecimalisationTable::DIGITS_MIN, DecimalisationTable::REPEATS_MAX);
        match self {
            Self::Digits => {
                f.write_str("a decimalisation table is 16 decimal digits, such as 0123456789012345")
            }
            Self::Few(digits) => write!(
                f,
                "the decimalisation table has {digits} different digits; one with fewer than {least} makes PINs easy to guess"
            ),
            Self::Repeated(digit) => write!(
                f,
                "the decimalisation table has {digit} more than {most} times, which makes PINs easy to guess"
            ),
        }
    }
}

impl std::error::Error for TableError {}

impl DecimalisationTable {
    /// The table that every card has from the start.
    pub const DEFAULT: Self = Self(*b"0123456789012345");
    /// At least this many different digits in a table.
    pub const DIGITS_MIN: usize = 8;
    /// At most this often each digit in a table.
    pub const REPEATS_MAX: usize = 4;

    /// Reads a table.
    ///
    /// # Errors
    /// [`TableError`] says which rule the text breaks.
    pub fn new(text: &str) -> Result<Self, TableError> {
        let digits: [u8; 16] = text.as_bytes().try_into().map_err(|_| TableError::Digits)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(TableError::Digits);
        }
        let times = |digit: &u8| digits.iter().filter(|own| *own == digit).count();
        let different = (b'0'..=b'9').filter(|digit| times(digit) > 0).count();
        if different < Self::DIGITS_MIN {
            return Err(TableError::Few(different));
        }
        match (b'0'..=b'9').find(|digit| times(digit) > Self::REPEATS_MAX) {
            Some(digit) => Err(TableError::Repeated(digit.into())),
            None => Ok(Self(digits)),
        }
    }

    /// The 16 digits as characters, for the hexadecimal digits in ascending order.
    pub fn characters(&self) -> &[u8; 16] {
        &self.0
    }
}

impl std::fmt::Display for DecimalisationTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|digit| write!(f, "{}", char::from(*digit)))
    }
}

impl std::fmt::Debug for DecimalisationTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl TryFrom<String> for DecimalisationTable {
    type Error = TableError;

    fn try_from(text: String) -> Result<Self, TableError> {
        Self::new(&text)
    }
}

impl From<DecimalisationTable> for String {
    fn from(table: DecimalisationTable) -> Self {
        table.to_string()
    }
}

impl std::str::FromStr for DecimalisationTable {
    type Err = TableError;

    fn from_str(text: &str) -> Result<Self, TableError> {
        Self::new(text)
    }
}

/// The row under which failures are counted: a keyed hash that reveals neither a key nor a PAN. The
/// hash is of a verification key, of such a key with the PAN, validation data or block of a value,
/// or of a tenant with a PAN or block ([`Guess`]). As text, 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 16]);

/// Error: a text is not 32 hexadecimal digits, and so no [`Digest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotDigest;

impl std::fmt::Display for NotDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("what failures are counted under has 32 hexadecimal digits, as `cryptand pin failures list` shows them")
    }
}

impl std::error::Error for NotDigest {}

impl Digest {
    /// The digest under which the rows of a tenant are counted. If they are more than its share,
    /// its verifications are refused.
    pub fn of_tenant(tenant: u32) -> Self {
        // Either half tells tenants apart: a card finds an entry by the low bits of the last, and knows it by the
        // first. An odd factor, of the golden ratio, keeps tenants with numbers in a row out of one row of places.
        const SCATTER: u32 = 0x9E37_79B1;
        let mut bytes = *b"cryp\0\0\0\0\0\0\0\0tand";
        bytes[4..8].copy_from_slice(&tenant.to_le_bytes());
        bytes[8..12].copy_from_slice(&tenant.wrapping_mul(SCATTER).to_le_bytes());
        Self(bytes)
    }

    /// From the digest of a key: the digest under which one tenant's failures of this key are
    /// counted.
    #[must_use]
    pub fn by_tenant(mut self, tenant: u32) -> Self {
        let mut share = Self::of_tenant(tenant).0;
        share[..4].copy_from_slice(b"shr\0");
        share[12..].copy_from_slice(b"shr\0");
        self.0.iter_mut().zip(share).for_each(|(byte, own)| *byte ^= own);
        self
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl std::str::FromStr for Digest {
    type Err = NotDigest;

    fn from_str(text: &str) -> Result<Self, NotDigest> {
        let is_digit =
            |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit.to_ascii_lowercase());
        if text.len() != 32 || !text.bytes().all(is_digit) {
            return Err(NotDigest);
        }
        u128::from_str_radix(text, 16).map(|number| Self(number.to_be_bytes())).map_err(|_| NotDigest)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() { to.collect_str(self) } else { self.0.serialize(to) }
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if !from.is_human_readable() {
            return <[u8; 16]>::deserialize(from).map(Self);
        }
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Whether failures are counted under a digest, and whether they are too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Standing {
    /// No failures are counted.
    Clean = 0,
    /// Failures are counted.
    Counted = 1,
    /// Too many failures are counted: verifications are refused.
    Refused = 2,
}

/// The key of a home's digests: the same for all its cards, over restarts and changes of master keys.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct CountingKey(pub [u8; 32]);

impl std::fmt::Debug for CountingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CountingKey")
    }
}

/// The digests under which a verification is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Guess {
    /// Digest of the verification key.
    pub key: Digest,
    /// Digest of the key with the data that the caller gives the right value for: validation data,
    /// or a PAN.
    pub subject: Digest,
    /// Digests of the block that holds the value; none for a value outside a block.
    pub block: Option<BlockGuess>,
}

/// The further digests under which a verification of a block is counted: whatever the block is
/// compared with, each verification is a guess of the PIN in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlockGuess {
    /// Digest of the key with the PAN that the block is bound to, or with the block itself.
    pub block: Digest,
    /// Digest of the tenant with that PAN or block, whichever the key.
    pub caller: Digest,
}

impl Guess {
    /// The digests that allow few failures a day, and one verification at a time: all but the
    /// digest of the key.
    pub fn rows(&self) -> impl Iterator<Item = Digest> + use<> {
        let block = self.block.map(|of| [of.block, of.caller]);
        std::iter::once(self.subject).chain(block.into_iter().flatten())
    }
}

/// A failed verification, as a card tells the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Number of the failure: the first of this card's process has 1.
    pub number: u64,
    /// The digests that the failure is counted under.
    pub guess: Guess,
    /// Tenant whose request failed.
    pub tenant: u32,
}

/// The kinds of digests under which failures are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureOf {
    /// A key, with the data that the caller gives the right value for.
    Subject,
    /// A key, with the PAN that a block is bound to, or the block.
    Block,
    /// A tenant, with the PAN that a block is bound to, or the block.
    Caller,
    /// A key, for the requests of all tenants.
    Key,
    /// A key, for the requests of one tenant.
    TenantKey,
}

/// The failures under one digest, as listings show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRow {
    /// Digest that the failures are counted under.
    pub digest: Digest,
    /// Kind of the digest.
    pub of: FailureOf,
    /// Digest of the key of the last failure; none if the row is of a key itself.
    pub key: Option<Digest>,
    /// Number of failures that count now: of a key those of the last hour, else those of the last
    /// day.
    pub failures: u32,
    /// When the last failure was, in seconds since 1970.
    pub last_unix_s: u64,
    /// Until when verifications are refused, in seconds since 1970; none if they are not refused.
    pub refused_until_unix_s: Option<u64>,
}

/// How many digests have failures, and how many of these are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureCount {
    /// Digests with failures.
    pub counted: u64,
    /// Digests and tenants whose verifications are refused.
    pub refused: u64,
    /// Keys that have a tenth or more of the failures at which verifications are refused.
    pub near: u64,
    /// Whether everybody's verifications are refused: the table is full, or cannot be read.
    pub is_closed: bool,
}

/// Whether a verb only tells whether a PIN or a card verification value is right: its failures are
/// counted.
pub fn verifies(verb: Verb) -> bool {
    matches!(verb, Verb::EncryptedPinVerify | Verb::EncryptedPinVerify2 | Verb::CvvVerify)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_make_guesses_easy_are_none() {
        for good in ["0123456789012345", "9876543210123456", "0000123456778888"] {
            assert_eq!(DecimalisationTable::new(good).unwrap().to_string(), good);
        }
        for bad in [
            "",
            "012345678901234",
            "01234567890123456",
            "012345678901234A",
            "0123456789 12345",
            "٠123456789012",
        ] {
            assert_eq!(DecimalisationTable::new(bad), Err(TableError::Digits), "{bad}");
        }
        assert_eq!(DecimalisationTable::new("0000000000000001"), Err(TableError::Few(2)));
        assert_eq!(DecimalisationTable::new("0123456012345601"), Err(TableError::Few(7)));
        assert_eq!(DecimalisationTable::new("0123456700000888"), Err(TableError::Repeated('0')));
    }

    #[test]
    fn digests_are_texts_for_people_and_bytes_for_cards() {
        let digest = Digest(*b"0123456789abcdef");
        let text = digest.to_string();
        assert_eq!((text.len(), text.parse()), (32, Ok(digest)));
        assert_eq!(text.to_uppercase().parse(), Ok(digest));
        for bad in
            ["", "0", &text[1..], "+0000000000000000000000000000000", "0000000000000000000000000000000g"]
        {
            assert_eq!(bad.parse::<Digest>(), Err(NotDigest), "{bad}");
        }
        for (block, length) in [(None, 1), (Some(BlockGuess { block: digest, caller: digest }), 33)] {
            let told = Told { number: 7, guess: Guess { key: digest, subject: digest, block }, tenant: 3 };
            let bytes = crate::control::encode(&told).unwrap();
            assert_eq!(bytes.len(), 1 + 32 + length + 1);
            assert_eq!(crate::control::decode::<Told>(&bytes).unwrap(), told);
        }
        let shares = [digest, digest.by_tenant(0), digest.by_tenant(1), digest.by_tenant(1 << 24)];
        for (at, one) in shares.iter().enumerate() {
            assert!(
                shares[..at].iter().all(|other| other.0[..8] != one.0[..8] && other.0[8..] != one.0[8..])
            );
        }
        assert_eq!(format!("{:?}", CountingKey([7; 32])), "CountingKey");
    }
}
