//! The keywords that describe the attributes of a variable-length key: the inverse of
//! [`Attributes::new`].

use super::attributes::Attributes;
use super::types::{AttributeField, DERIVED, MANAGEMENT, VariableType, Word};

/// The keywords of Key_Token_Build2 that describe attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keywords {
    /// Keywords of the key's own usage fields, in the order of the fields.
    pub usage: Vec<&'static str>,
    /// Keywords of the first management field: for each way of export, whether it is permitted.
    pub management: Vec<&'static str>,
    /// Type and usage keywords of the keys that a DKYGENKY key derives; none if these are of more
    /// than one type.
    pub derived: Option<(VariableType, Vec<&'static str>)>,
    /// Whether the fields hold more than the keywords describe: for a KDKGENKY key all fields but
    /// the first.
    pub is_partial: bool,
}

impl Attributes {
    /// The keywords that make these attributes.
    pub fn keywords(&self) -> Keywords {
        let own = if self.key_type == VariableType::DkyGenKy { 2 } else { self.usage.len() };
        let (own, rest) = self.usage.split_at(own.min(self.usage.len()));
        let derived = self.derived_type().map(|derived| (derived, said(derived.row().words, rest)));
        Keywords {
            usage: said(self.key_type.row().words, own),
            management: {
                let is_said = |word: &&Word| match word.field {
                    AttributeField::Management(field) => self.management[field] & word.mask == word.value,
                    AttributeField::Usage(_) => false,
                };
                MANAGEMENT.iter().filter(is_said).map(|word| word.text).collect()
            },
            derived,
            is_partial: self.key_type == VariableType::KdkGenKy,
        }
    }
}

/// The keywords of a type that describe usage fields. The keyword of a single bit applies if the
/// bit is set; of several values the keyword of the present value applies.
fn said(words: &'static [Word], usage: &[u16]) -> Vec<&'static str> {
    let is_said = |word: &&Word| {
        let AttributeField::Usage(field) = word.field else { return false };
        let goes = word
            .with
            .is_none_or(|(at, mask, value)| usage.get(at).is_some_and(|field| field & mask == value));
        goes && usage.get(field).is_some_and(|field| field & word.mask == word.value)
    };
    words.iter().filter(is_said).map(|word| word.text).collect()
}

impl VariableType {
    /// Every keyword for keys of the type: first those of usage, then those of export.
    pub fn keywords(self) -> impl Iterator<Item = &'static str> {
        self.row().words.iter().chain(MANAGEMENT).map(|word| word.text)
    }

    /// The type of the keys that a DKYGENKY key with this keyword derives; none if there is no such
    /// single type.
    pub fn derived_by(keyword: &str) -> Option<Self> {
        let words = Self::DkyGenKy.row().words;
        let word = words.iter().find(|word| word.text == keyword && keyword.starts_with("D-"))?;
        DERIVED.iter().find(|(byte, _)| u16::from(*byte) == word.value >> 8).and_then(|(_, derived)| *derived)
    }
}
