//! Types for the declaration of a parameter in a row of the verb table.

use crate::uses::Uses;

/// The direction in which a parameter travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the caller to the verb.
    In,
    /// From the caller to the verb, and back.
    InOut,
    /// From the verb to the caller.
    Out,
}

/// The length of a byte parameter. A caller's field is read and filled no further than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always this many bytes.
    Fixed(usize),
    /// The integer parameter at this position gives the length in bytes; for output, its value on entry does.
    By(usize),
    /// The integer parameter at position `by` gives the bytes; with a keyword that pads texts, the
    /// next higher multiple of `block`.
    Padded {
        /// Position of the integer parameter.
        by: usize,
        /// Length of a block in bytes.
        block: usize,
        /// The keyword that pads texts.
        with: &'static str,
    },
    /// The bytes that hold the bits which the integer parameter at this position gives.
    Bits(usize),
    /// Keywords of eight bytes: the integer parameter at this position gives their number.
    Words(usize),
    /// By the keywords that are given: the first row applies whose keywords are all given; the last
    /// row has none.
    Keyed(&'static [(&'static [&'static str], usize)]),
    /// The token's own header gives the bytes: see [`Length::own`].
    Own,
}

/// The role of a key in a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The verb uses the key.
    Uses,
    /// The verb uses the key, and returns it wrapped anew if it was wrapped under an older master
    /// key.
    Renews,
    /// The verb makes the key. On entry the parameter holds the form that the key is to have, or
    /// nothing.
    Makes,
    /// The parameter gives the form of a key that the verb makes.
    Skeleton,
}

/// The kind of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer (C `long`).
    Integer,
    /// Bytes, of this length.
    Bytes(Length),
    /// A key token, or the 64-byte field of a label.
    Key {
        /// Length of the token or label.
        length: Length,
        /// The role of the key in the verb.
        role: Role,
    },
    /// A rule array: 8-byte keywords, as many as the integer parameter at this position says. An
    /// outgoing rule array has room for the number of elements on entry; 4/16 if it needs more. One
    /// that travels both ways has room for as many as
    /// [`RuleArray::answers`](crate::verb::RuleArray::answers) says.
    Keywords(usize),
}

/// Whether a parameter may be a null pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Null {
    /// Never: the parameter must have an address.
    Refused,
    /// If its length is 0, or the verb can do without it. An integer that counts a field which must
    /// be empty is then 0.
    Empty,
    /// Always: the parameter is reserved, and not read.
    Ignored,
}

/// One parameter of a verb.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name of the parameter in the interface.
    pub name: &'static str,
    /// The direction in which the parameter travels.
    pub direction: Direction,
    /// The kind of the parameter.
    pub kind: Kind,
    /// Whether the parameter can hold a clear key, or a value that is kept like one: memory that
    /// held it is wiped.
    pub secret: bool,
    /// Whether the parameter may be a null pointer.
    pub null: Null,
    /// What the verb does with the key in the parameter, or with the record of the label in it: the rules of labels
    /// must allow it. None of other parameters.
    pub uses: Uses,
}
