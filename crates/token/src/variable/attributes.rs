//! The attributes that are bound to a variable-length key: type, usage and management fields, name
//! and user data.

use super::types::{AttributeField, DERIVED, MANAGEMENT, Row, VariableType, Word};
use crate::TokenError;
use crate::unconfirmed::{MANAGEMENT_BLOCKS_ALONE, VARIABLE_MANAGEMENT};

/// Length of a key name in bytes.
pub const NAME_BYTES: usize = 64;
/// Greatest length of user data in bytes.
pub const USER_DATA_BYTES_MAX: usize = 255;
/// Number of management fields in every token.
pub(super) const MANAGEMENT_FIELDS: usize = 3;

/// The attributes of a key, consistent with its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub(super) key_type: VariableType,
    pub(super) usage: Vec<u16>,
    pub(super) management: [u16; MANAGEMENT_FIELDS],
    pub(super) name: Option<[u8; NAME_BYTES]>,
    pub(super) user_data: Vec<u8>,
}

/// Why keywords cannot make attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributesError {
    /// Keys of the type do not have this keyword.
    Keyword,
    /// Two keywords exclude each other, or one is given twice.
    Combination,
    /// One of several keywords must be given, and none is.
    Missing,
    /// The attributes of keys that a DKYGENKY key derives are missing, not wanted, or of another
    /// type.
    Derived,
    /// The user data are longer than [`USER_DATA_BYTES_MAX`].
    UserData,
}

impl std::fmt::Display for AttributesError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Keyword => "a keyword that keys of this type do not have",
            Self::Combination => "two keywords that exclude each other",
            Self::Missing => "a keyword that says what the key is for is missing",
            Self::Derived => "the attributes of derived keys are missing, not wanted, or of another type",
            Self::UserData => "the user's data are longer than 255 bytes",
        })
    }
}

impl std::error::Error for AttributesError {}

/// How complete a key in parts is: the high bits of the second management field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Completeness {
    /// The key is complete and may be used.
    Complete = 0x0000,
    /// The key has all parts that it needs, and waits to be declared complete.
    Sufficient = 0x4000,
    /// At least one more part is needed.
    OneMissing = 0x8000,
    /// At least two more parts are needed.
    TwoMissing = 0xC000,
}

/// The origin of a key: the third management field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Pedigree {
    /// The key came in a token that did not name its origin.
    Unknown = 0x00,
    /// The key was drawn at random.
    Random = 0x02,
    /// The key was agreed upon with another party.
    Agreement = 0x03,
    /// The key was entered in clear parts.
    ClearParts = 0x04,
    /// The key was imported as a clear value.
    ClearValue = 0x05,
}

impl Attributes {
    /// The attributes that these usage and management keywords make for a type. `derived` are the
    /// attributes of the keys that a DKYGENKY key derives; none if it derives keys of every type.
    ///
    /// # Errors
    /// [`AttributesError`] says what is wrong with the keywords.
    pub fn new<'w>(
        key_type: VariableType,
        keywords: impl IntoIterator<Item = &'w str>,
        derived: Option<&Attributes>,
    ) -> Result<Self, AttributesError> {
        let row = key_type.row();
        let mut usage = row.start.to_vec();
        let mut management = [VARIABLE_MANAGEMENT, 0, 0];
        let mut set: Vec<&Word> = Vec::new();
        for text in keywords {
            let word = row.words.iter().chain(MANAGEMENT).find(|word| word.text == text);
            set.push(word.ok_or(AttributesError::Keyword)?);
        }
        for (at, word) in set.iter().enumerate() {
            if set[..at].iter().any(|other| other.field == word.field && other.mask & word.mask != 0) {
                return Err(AttributesError::Combination);
            }
            match word.field {
                AttributeField::Usage(field) => {
                    if field >= usage.len() {
                        usage.resize(field + 1, 0);
                    }
                    usage[field] = (usage[field] & !word.mask) | word.value;
                }
                AttributeField::Management(field) => {
                    management[field] = (management[field] & !word.mask) | word.value;
                }
            }
        }
        for &(field, mask, value) in row.defaults {
            if usage[field] & mask == 0 {
                usage[field] |= value;
            }
            if usage[field] & mask == 0 {
                return Err(AttributesError::Missing);
            }
        }
        // If the third field is set (DKPINOP and the like), the fourth, the format of the block, is
        // left out.
        if key_type == VariableType::PinProt && usage[2] != 0 && usage[3] == 0 {
            usage.truncate(3);
        }
        let goes = |word: &&Word| word.with.is_none_or(|(field, mask, value)| usage[field] & mask == value);
        if !set.iter().all(goes) {
            return Err(AttributesError::Combination);
        }
        match (derived_type(key_type, &usage), derived) {
            (None, None) => {}
            (Some(wanted), Some(derived)) if wanted == derived.key_type => usage.extend(&derived.usage),
            _ => return Err(AttributesError::Derived),
        }
        let new = Self { key_type, usage, management, name: None, user_data: Vec::new() };
        if new.check().is_ok() { Ok(new) } else { Err(AttributesError::Combination) }
    }

    /// The same attributes with this name, a label in its field, or without one.
    pub fn named(self, name: Option<[u8; NAME_BYTES]>) -> Self {
        Self { name, ..self }
    }

    /// The same attributes with these user data.
    ///
    /// # Errors
    /// [`AttributesError::UserData`] if they are too long.
    pub fn with_user_data(self, data: &[u8]) -> Result<Self, AttributesError> {
        if data.len() > USER_DATA_BYTES_MAX {
            return Err(AttributesError::UserData);
        }
        Ok(Self { user_data: data.to_vec(), ..self })
    }

    /// The same attributes for a key of this origin that is this complete.
    pub fn made(mut self, pedigree: Pedigree, completeness: Completeness) -> Self {
        self.management[1] = (self.management[1] & !COMPLETENESS) | completeness as u16;
        self.management[2] = ((pedigree as u16) << 8) | pedigree as u16;
        self
    }

    /// Type of the key.
    pub fn key_type(&self) -> VariableType {
        self.key_type
    }

    /// Usage fields of the key.
    pub fn usage(&self) -> &[u16] {
        &self.usage
    }

    /// Management fields of the key.
    pub fn management(&self) -> [u16; 3] {
        self.management
    }

    /// Name of the key; none for a key without a name.
    pub fn name(&self) -> Option<&[u8; NAME_BYTES]> {
        self.name.as_ref()
    }

    /// User data that are bound to the key.
    pub fn user_data(&self) -> &[u8] {
        &self.user_data
    }

    /// How complete the key is.
    pub fn completeness(&self) -> Completeness {
        match self.management[1] & COMPLETENESS {
            0x0000 => Completeness::Complete,
            0x4000 => Completeness::Sufficient,
            0x8000 => Completeness::OneMissing,
            _ => Completeness::TwoMissing,
        }
    }

    /// The type of the keys that a DKYGENKY key derives; none if it derives every type, or is no
    /// such key.
    pub(super) fn derived_type(&self) -> Option<VariableType> {
        derived_type(self.key_type, &self.usage)
    }

    /// The same attributes without the ways of export that these management keywords forbid. No way
    /// of export is added.
    ///
    /// # Errors
    /// [`AttributesError::Keyword`] for a keyword that forbids nothing.
    pub fn restricted<'w>(
        mut self,
        keywords: impl IntoIterator<Item = &'w str>,
    ) -> Result<Self, AttributesError> {
        for text in keywords {
            let word = MANAGEMENT.iter().find(|word| word.text == text && word.text.starts_with("NOEX"));
            let word = word.ok_or(AttributesError::Keyword)?;
            self.management[0] = (self.management[0] & !word.mask) | word.value;
        }
        Ok(self)
    }

    /// Refuses fields that the type does not have, bits that no keyword sets, and values that no
    /// keyword has.
    ///
    /// # Errors
    /// [`TokenError::Field`] with the offset in a token.
    pub(super) fn check(&self) -> Result<(), TokenError> {
        let row = self.key_type.row();
        if !row.counts.contains(&self.usage.len()) {
            return Err(TokenError::Field(super::USAGE_COUNT_AT));
        }
        let own = if self.key_type == VariableType::DkyGenKy { 2 } else { self.usage.len() };
        let (own, derived) = self.usage.split_at(own);
        check_usage(row, own, super::USAGE_COUNT_AT + 1)?;
        match derived_type(self.key_type, own) {
            None if derived.is_empty() => {}
            Some(derived_type) if derived_type.row().counts.contains(&derived.len()) => {
                check_usage(derived_type.row(), derived, super::USAGE_COUNT_AT + 1 + 2 * own.len())?;
            }
            _ => return Err(TokenError::Field(super::USAGE_COUNT_AT)),
        }
        let management_at = super::USAGE_COUNT_AT + 2 + 2 * self.usage.len();
        let export = MANAGEMENT.iter().fold(MANAGEMENT_BLOCKS_ALONE, |mask, word| mask | word.mask);
        for (field, defined) in [export, COMPLETENESS | HISTORY, u16::MAX].into_iter().enumerate() {
            if self.management[field] & !defined != 0 {
                return Err(TokenError::Field(management_at + 2 * field));
            }
        }
        Ok(())
    }
}

/// The type of the keys that a DKYGENKY key with these usage fields derives; none if it derives
/// every type, or is no such key.
fn derived_type(key_type: VariableType, usage: &[u16]) -> Option<VariableType> {
    if key_type != VariableType::DkyGenKy {
        return None;
    }
    DERIVED.iter().find(|(byte, _)| u16::from(*byte) == usage[0] >> 8).and_then(|(_, derived)| *derived)
}

/// Refuses usage fields with a bit or value that no keyword sets, or without a required bit.
fn check_usage(row: &Row, usage: &[u16], at: usize) -> Result<(), TokenError> {
    let goes = |word: &&Word| word.with.is_none_or(|(field, mask, value)| usage[field] & mask == value);
    for (field, value) in usage.iter().enumerate() {
        let refused = TokenError::Field(at + 2 * field);
        let own = || row.words.iter().filter(|word| word.field == AttributeField::Usage(field)).filter(goes);
        if row.key_type == VariableType::KdkGenKy && field > 0 {
            continue;
        }
        let defined = own().fold(0, |mask, word| mask | word.mask);
        // A field that only other keys of the type need may be empty.
        let is_known =
            |word: &Word| own().any(|other| other.mask == word.mask && other.value == value & word.mask);
        let is_single = |word: &Word| word.mask.is_power_of_two();
        let is_optional = |word: &Word| field >= row.start.len() || *value & word.mask == 0 && field >= 2;
        // The cheap checks come first: every incoming token is checked.
        let goes_with = |word: &Word| is_single(word) || is_optional(word) || is_known(word);
        if value & !defined != 0 || !own().all(goes_with) {
            return Err(refused);
        }
        for (_, mask, _) in row.defaults.iter().filter(|(wanted, _, _)| *wanted == field) {
            if value & mask == 0 {
                return Err(refused);
            }
        }
    }
    if row.key_type == VariableType::PinProt && (usage[2] != 0) != (usage.len() == 3) {
        return Err(TokenError::Field(super::USAGE_COUNT_AT));
    }
    Ok(())
}

const COMPLETENESS: u16 = 0xC000;
/// The history of a key: the weaker keys and lesser forms that it was in.
const HISTORY: u16 = 0x001F;
