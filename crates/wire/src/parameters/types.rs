//! What a row of the verb table says of a parameter.

/// Which way a parameter travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the caller to the verb.
    In,
    /// Both ways.
    InOut,
    /// From the verb to the caller.
    Out,
}

/// How long a byte parameter is. A caller's field is read, and filled, no further than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always this many bytes.
    Fixed(usize),
    /// As many bytes as the integer parameter at this position says; for output its value on entry.
    By(usize),
    /// As many bytes as the integer parameter at position `by` says, or, with a keyword that pads texts, as the next
    /// multiple of `block` above that.
    Padded {
        /// Position of the integer.
        by: usize,
        /// Length of a block in bytes.
        block: usize,
        /// The keyword.
        with: &'static str,
    },
    /// As many bytes as hold the bits that the integer parameter at this position says.
    Bits(usize),
    /// As many keywords, of eight bytes each, as the integer parameter at this position says.
    Words(usize),
    /// By the keywords that are given: the first row all of whose keywords are there; the last row has none.
    Keyed(&'static [(&'static [&'static str], usize)]),
    /// As the token's own header says: see [`Length::own`].
    Own,
}

/// What a verb does with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Uses it.
    Uses,
    /// Uses it, and gives it back where it was wrapped under an older master key.
    Renews,
    /// Makes it. What comes in is the form that it is to have, or nothing.
    Makes,
    /// Takes from it the form of a key to be made.
    Skeleton,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer (C `long`).
    Integer,
    /// Bytes.
    Bytes(Length),
    /// A key token, or the 64-byte field of a label.
    Key {
        /// How long.
        length: Length,
        /// What for.
        role: Role,
    },
    /// A rule array: 8-byte keywords, as many as the integer parameter at this position says. One that goes out has
    /// room for as many elements as that says on entry: 4/16 where it needs more. One that travels both ways has room
    /// for as many as [`RuleArray::answers`](crate::verb::RuleArray::answers) says.
    Keywords(usize),
}

/// Whether a parameter may be a null pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Null {
    /// Never.
    Refused,
    /// Where its length is 0, and where the verb can do without it. Of an integer that counts a field which must be
    /// empty: it is 0.
    Empty,
    /// Always: it is reserved, and not looked at.
    Ignored,
}

/// One parameter of a verb.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in the interface.
    pub name: &'static str,
    /// Which way it travels.
    pub direction: Direction,
    /// What it is.
    pub kind: Kind,
    /// Whether it can hold a clear key, or a value that is kept like one: memory that held it is wiped.
    pub secret: bool,
    /// Whether it may be a null pointer.
    pub null: Null,
}
