//! The client's end of a verb, made from its row: the request that it sends, and the answer that it
//! gets.
//!
//! | parameter | field of `Ask` |
//! |---|---|
//! | `Length`, `Keywords` in, `reserved`, `empty` | none: filled in |
//! | keywords | each group as its enumeration: one that must be given is an argument of `new`, the others are `Option` |
//! | `Integer` | `i64` |
//! | bytes, in | `&[u8]`; `&[u8; N]` of a fixed length, `Option` where they are optional or travel both ways |
//! | bytes, out, by a length | `usize`: room for as many bytes; none where an input has that length too |
//! | keywords, out | `usize`: room for as many elements |
//! | bytes both ways, and keys to be made, by a length | [`Room`] |
//! | a key | [`Key`] |
//!
//! `Got` has a field for each output: `i64`, `&[[u8; 8]]` for keywords, else `&[u8]`, which is
//! empty if the verb left the output out.

use super::keywords::Keyword;
use super::{Kind, Parameter, Verb};
use crate::bounds::{KEYS_MAX, KEYWORD_BYTES, KEYWORDS_MAX, LABEL_BYTES};
use crate::frame::{Argument, Arguments};
use crate::key::{KeyReference, Label};

/// The request of a client for one verb.
pub trait TypedAsk {
    /// The verb that is asked.
    const VERB: Verb;
    /// The outputs that come back.
    type Got<'r>: TypedGot<'r>;
    /// The request type without borrowed data, by which an answer is known after that data is gone.
    type Of: TypedAsk + 'static;

    /// The arguments, with lengths, counts and the rule array filled in; `filled` holds what they
    /// refer to beyond the request.
    fn arguments<'b>(&'b self, filled: &'b mut Filled) -> Arguments<'b>;
}

/// The outputs of one verb.
pub trait TypedGot<'r> {
    /// The verb that the outputs are of.
    const VERB: Verb;

    /// Takes the outputs from the arguments of a reply to this verb.
    fn of(arguments: &Arguments<'r>) -> Self;
}

/// A key of a request.
#[derive(Clone, Copy, Default)]
pub enum Key<'a> {
    /// No key: an empty field, or the null token in a field of fixed length.
    #[default]
    Null,
    /// A token, the skeleton of one, or the field of a label.
    Bytes(&'a [u8]),
    /// The label of a key record.
    Label(&'a Label),
    /// The reference of a label that was opened.
    Reference(KeyReference),
}

impl<'a> From<&'a [u8]> for Key<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Key<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Key<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a Label> for Key<'a> {
    fn from(label: &'a Label) -> Self {
        Self::Label(label)
    }
}

/// A field that the answer fills: its content in the request, and its length in bytes.
#[derive(Clone, Copy, Default)]
pub struct Room<'a> {
    /// Content of the field in the request.
    pub given: &'a [u8],
    /// Length of the field in bytes.
    pub bytes: usize,
}

impl Room<'_> {
    /// An empty field of this many bytes.
    pub const fn of(bytes: usize) -> Self {
        Self { given: &[], bytes }
    }
}

impl<'a> From<&'a [u8]> for Room<'a> {
    /// A field that is as long as its content.
    fn from(given: &'a [u8]) -> Self {
        Self { given, bytes: given.len() }
    }
}

/// Memory for argument bytes that the caller does not have: the rule array, and the fields of
/// labels.
pub struct Filled {
    words: [[u8; KEYWORD_BYTES]; KEYWORDS_MAX],
    count: usize,
    labels: [[u8; LABEL_BYTES]; KEYS_MAX],
}

impl Default for Filled {
    fn default() -> Self {
        Self { words: [[0; KEYWORD_BYTES]; KEYWORDS_MAX], count: 0, labels: [[0; LABEL_BYTES]; KEYS_MAX] }
    }
}

impl Filled {
    pub(super) fn begin(&mut self) {
        self.count = 0;
    }

    /// Appends a keyword; beyond [`KEYWORDS_MAX`] keywords are only counted, and no verb takes so
    /// many.
    pub(super) fn keyword(&mut self, keyword: Option<Keyword>) {
        if let Some(keyword) = keyword {
            self.word(keyword.word.to_be_bytes());
        }
    }

    pub(super) fn word(&mut self, word: [u8; KEYWORD_BYTES]) {
        if let Some(place) = self.words.get_mut(self.count) {
            *place = word;
        }
        self.count += 1;
    }

    /// Fills the field of the `index`th key, if the key is a label.
    pub(super) fn label(&mut self, index: usize, key: Key<'_>) {
        if let (Key::Label(label), Some(field)) = (key, self.labels.get_mut(index)) {
            *field = label.to_field();
        }
    }

    pub(super) fn count(&self) -> i64 {
        integer(self.count)
    }

    pub(super) fn rule_array(&self) -> &[u8] {
        self.words[..self.count.min(KEYWORDS_MAX)].as_flattened()
    }

    /// The `index`th key as an argument; a null key is `zeros`.
    pub(super) fn key<'b>(&'b self, index: usize, key: Key<'b>, zeros: &'b [u8]) -> Argument<'b> {
        match key {
            Key::Null => Argument::Bytes(zeros),
            Key::Bytes(bytes) => Argument::Bytes(bytes),
            Key::Label(_) => Argument::Bytes(self.labels.get(index).map_or(&[], |field| &field[..])),
            Key::Reference(reference) => Argument::Reference(reference),
        }
    }
}

/// A length as an integer of the interface; `i64::MAX` if it is greater.
pub(super) fn integer(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// The length of a key argument in bytes; a reference counts as the label that it stands for.
pub(super) fn length(argument: Argument<'_>) -> i64 {
    match argument {
        Argument::Bytes(bytes) => integer(bytes.len()),
        _ => LABEL_BYTES as i64,
    }
}

/// Null tokens of all lengths.
pub(super) static ZEROS: [u8; LABEL_BYTES] = [0; LABEL_BYTES];

/// The keywords of a reply; bytes beyond the last whole keyword are left out.
pub(super) fn words(bytes: &[u8]) -> &[[u8; KEYWORD_BYTES]] {
    bytes.as_chunks().0
}

/// Number of key parameters of a verb before this parameter.
pub(super) const fn keys_before(parameters: &[Parameter], position: usize) -> usize {
    let (mut before, mut keys) = (0, 0);
    while before < position {
        keys += matches!(parameters[before].kind, Kind::Key { .. }) as usize;
        before += 1;
    }
    keys
}

/// Makes the type of a client's request from a row. Its choices come first: those that must be made
/// become arguments of `new`. Then each parameter adds its field, the default of that field, and
/// the code that sets the argument.
macro_rules! ask {
    // choices
    ({$($fields:tt)*} {$($given:tt)*} {$($new:tt)*} {$($said:tt)*} $labels:tt $sets:tt $names:tt $head:tt
        { $choice:ident: $group:ident required, $($choices:tt)* } $parameters:tt) => {
        ask! {
            { $($fields)* pub $choice: $group, } { $($given)* $choice: $group, } { $($new)* $choice, }
            { $($said)* [Some $choice] } $labels $sets $names $head { $($choices)* } $parameters
        }
    };
    ({$($fields:tt)*} $given:tt {$($new:tt)*} {$($said:tt)*} $labels:tt $sets:tt $names:tt $head:tt
        { $choice:ident: $group:ident, $($choices:tt)* } $parameters:tt) => {
        ask! {
            { $($fields)* pub $choice: Option<$group>, } $given { $($new)* $choice: None, }
            { $($said)* [Option::from $choice] } $labels $sets $names $head { $($choices)* } $parameters
        }
    };
    // reserved parameters, lengths, and outputs without a length of their own: no field
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt $sets:tt $names:tt $head:tt {}
        { $name:ident: $direction:ident $kind:ident $(($($of:tt)*))? [reserved]; $($rest:tt)* }) => {
        ask! { $fields $given $new $said $labels $sets $names $head {} { $($rest)* } }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt $sets:tt $names:tt $head:tt {}
        { $name:ident: $direction:ident Length $(($codes:ident))? [$(optional)?]; $($rest:tt)* }) => {
        ask! { $fields $given $new $said $labels $sets $names $head {} { $($rest)* } }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt $sets:tt $names:tt $head:tt {}
        { $name:ident: Out Integer []; $($rest:tt)* }) => {
        ask! { $fields $given $new $said $labels $sets $names $head {} { $($rest)* } }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt {$($sets:tt)*} $names:tt $head:tt {}
        { $name:ident: Out Bytes(By(TEXT_LENGTH)) []; $($rest:tt)* }) => {
        ask! { $fields $given $new $said $labels {
            $($sets)* const { assert!(is_of_input(PARAMETERS, TEXT_LENGTH)) };
        } $names $head {} { $($rest)* } }
    };
    // the rule array
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident} $head:tt {}
        { $name:ident: Out Keywords($count:ident) []; $($rest:tt)* }) => {
        ask! { @room $fields $given $new $said $labels {
            $($sets)* $to.set_integer($count, ask::integer($of.[<$name:lower>]));
        } {$of $place $to} $head $name { $($rest)* } }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident} $head:tt {}
        { $name:ident: $direction:ident Keywords($count:ident) []; $($rest:tt)* }) => {
        ask! { $fields $given $new $said $labels {
            $($sets)* $to.set_integer($count, $place.count()).set_bytes($name, $place.rule_array());
        } {$of $place $to} $head {} { $($rest)* } }
    };
    // room for outputs
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident} $head:tt {}
        { $name:ident: Out Bytes(By($length:ident)) [$(secret)?]; $($rest:tt)* }) => {
        ask! { @room $fields $given $new $said $labels {
            $($sets)*
            const { assert!(!is_of_input(PARAMETERS, $length), "its room is an input's length") };
            $to.set_integer($length, ask::integer($of.[<$name:lower>]));
        } {$of $place $to} $head $name { $($rest)* } }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident} $head:tt {}
        { $name:ident: Out Bytes(Bits($length:ident)) [$(secret)?]; $($rest:tt)* }) => {
        ask! { @room $fields $given $new $said $labels {
            $($sets)*
            const { assert!(!is_of_input(PARAMETERS, $length), "its room is an input's length") };
            $to.set_integer($length, ask::integer($of.[<$name:lower>].saturating_mul(8)));
        } {$of $place $to} $head $name { $($rest)* } }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt $sets:tt $names:tt $head:tt {}
        { $name:ident: Out Bytes($($of:tt)*) [$(secret)?]; $($rest:tt)* }) => {
        ask! { $fields $given $new $said $labels $sets $names $head {} { $($rest)* } }
    };
    (@room {$($fields:tt)*} $given:tt {$($new:tt)*} $said:tt $labels:tt $sets:tt $names:tt $head:tt $name:ident $rest:tt) => {
        ask! {
            { $($fields)* pub [<$name:lower>]: usize, } $given { $($new)* [<$name:lower>]: 0, } $said $labels $sets $names
            $head {} $rest
        }
    };
    // bytes
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt $sets:tt $names:tt $head:tt {}
        { $name:ident: In Bytes(By($length:ident)) [empty]; $($rest:tt)* }) => {
        ask! { $fields $given $new $said $labels $sets $names $head {} { $($rest)* } }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident} $head:tt {}
        { $name:ident: In Bytes(By($length:ident)) [$(secret)?]; $($rest:tt)* }) => {
        ask! { @bytes $fields $given $new $said $labels {
            $($sets)* $to.set_integer($length, ask::integer($of.[<$name:lower>].len()));
        } {$of $place $to} $head $name { $($rest)* } }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident} $head:tt {}
        { $name:ident: In Bytes(Bits($length:ident)) [$(secret)?]; $($rest:tt)* }) => {
        ask! { @bytes $fields $given $new $said $labels {
            $($sets)* $to.set_integer($length, ask::integer($of.[<$name:lower>].len().saturating_mul(8)));
        } {$of $place $to} $head $name { $($rest)* } }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident} $head:tt {}
        { $name:ident: In Bytes(Words($length:ident)) []; $($rest:tt)* }) => {
        ask! { @bytes $fields $given $new $said $labels {
            $($sets)* $to.set_integer($length, ask::integer($of.[<$name:lower>].len() / KEYWORD_BYTES));
        } {$of $place $to} $head $name { $($rest)* } }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt $sets:tt $names:tt $head:tt {}
        { $name:ident: In Bytes(Keyed($rows:ident)) [$(secret)?]; $($rest:tt)* }) => {
        ask! { @bytes $fields $given $new $said $labels $sets $names $head $name { $($rest)* } }
    };
    (@bytes {$($fields:tt)*} $given:tt {$($new:tt)*} $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident}
        {$a:lifetime $($head:tt)*} $name:ident $rest:tt) => {
        ask! {
            { $($fields)* pub [<$name:lower>]: &$a [u8], } $given { $($new)* [<$name:lower>]: &[], } $said $labels
            { $($sets)* $to.set_bytes($name, $of.[<$name:lower>]); } {$of $place $to} {$a $($head)*} {} $rest
        }
    };
    ({$($fields:tt)*} $given:tt {$($new:tt)*} $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident}
        {$a:lifetime $($head:tt)*} {} { $name:ident: In Bytes(Fixed($bytes:tt)) [$(secret)?]; $($rest:tt)* }) => {
        ask! {
            { $($fields)* pub [<$name:lower>]: &$a [u8; $bytes], } $given { $($new)* [<$name:lower>]: &[0; $bytes], } $said
            $labels { $($sets)* $to.set_bytes($name, $of.[<$name:lower>]); } {$of $place $to} {$a $($head)*} {} { $($rest)* }
        }
    };
    ({$($fields:tt)*} $given:tt {$($new:tt)*} $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident}
        {$a:lifetime $($head:tt)*} {}
        { $name:ident: $direction:ident Bytes(Fixed($bytes:tt)) [$(optional)? $(secret)?]; $($rest:tt)* }) => {
        ask! {
            { $($fields)* pub [<$name:lower>]: Option<&$a [u8; $bytes]>, } $given { $($new)* [<$name:lower>]: None, } $said
            $labels { $($sets)* $to.set_bytes($name, $of.[<$name:lower>].map_or(&[], |field| &field[..])); }
            {$of $place $to} {$a $($head)*} {} { $($rest)* }
        }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt $sets:tt $names:tt $head:tt {}
        { $name:ident: InOut Bytes(By($length:ident)) [$(secret)?]; $($rest:tt)* }) => {
        ask! { @both $fields $given $new $said $labels $sets $names $head $name $length { $($rest)* } }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt $sets:tt $names:tt $head:tt {}
        { $name:ident: InOut makes(By($length:ident)) [$(secret)?]; $($rest:tt)* }) => {
        ask! { @both $fields $given $new $said $labels $sets $names $head $name $length { $($rest)* } }
    };
    (@both {$($fields:tt)*} $given:tt {$($new:tt)*} $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident}
        {$a:lifetime $($head:tt)*} $name:ident $length:ident $rest:tt) => {
        ask! {
            { $($fields)* pub [<$name:lower>]: Room<$a>, } $given { $($new)* [<$name:lower>]: Room::of(0), } $said $labels
            { $($sets)*
                $to.set_integer($length, ask::integer($of.[<$name:lower>].bytes))
                    .set_bytes($name, $of.[<$name:lower>].given);
            }
            {$of $place $to} {$a $($head)*} {} $rest
        }
    };
    // integers
    ({$($fields:tt)*} $given:tt {$($new:tt)*} $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident} $head:tt
        {} { $name:ident: $direction:ident Integer []; $($rest:tt)* }) => {
        ask! {
            { $($fields)* pub [<$name:lower>]: i64, } $given { $($new)* [<$name:lower>]: 0, } $said $labels
            { $($sets)* $to.set_integer($name, $of.[<$name:lower>]); } {$of $place $to} $head {} { $($rest)* }
        }
    };
    // keys
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident} $head:tt {}
        { $name:ident: $direction:ident $role:ident(By($length:ident)) [$(secret)?]; $($rest:tt)* }) => {
        ask! { @key $fields $given $new $said $labels {
            $($sets)*
            let key = $place.key(const { ask::keys_before(PARAMETERS, $name) }, $of.[<$name:lower>], &[]);
            $to.set_integer($length, ask::length(key)).set($name, key);
        } {$of $place $to} $head $name { $($rest)* } }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident} $head:tt {}
        { $name:ident: $direction:ident $role:ident(Fixed($bytes:literal)) [$(secret)?]; $($rest:tt)* }) => {
        ask! { @key $fields $given $new $said $labels {
            $($sets)*
            let index = const { ask::keys_before(PARAMETERS, $name) };
            $to.set($name, $place.key(index, $of.[<$name:lower>], &ask::ZEROS[..$bytes]));
        } {$of $place $to} $head $name { $($rest)* } }
    };
    ($fields:tt $given:tt $new:tt $said:tt $labels:tt {$($sets:tt)*} {$of:ident $place:ident $to:ident} $head:tt {}
        { $name:ident: $direction:ident $role:ident(Own) [$(secret)?]; $($rest:tt)* }) => {
        ask! { @key $fields $given $new $said $labels {
            $($sets)*
            let index = const { ask::keys_before(PARAMETERS, $name) };
            $to.set($name, $place.key(index, $of.[<$name:lower>], &[]));
        } {$of $place $to} $head $name { $($rest)* } }
    };
    (@key {$($fields:tt)*} $given:tt {$($new:tt)*} $said:tt {$($labels:tt)*} $sets:tt $names:tt {$a:lifetime $($head:tt)*}
        $name:ident $rest:tt) => {
        ask! {
            { $($fields)* pub [<$name:lower>]: Key<$a>, } $given { $($new)* [<$name:lower>]: Key::Null, } $said
            { $($labels)* $name } $sets $names {$a $($head)*} {} $rest
        }
    };
    // all of them
    ({$($fields:tt)*} {$($given:tt)*} {$($new:tt)*} {$([$($some:tt)*])*} {$($label:ident)*} {$($sets:tt)*}
        {$of:ident $place:ident $to:ident} {$a:lifetime $verb:ident $($others:ident)?} {} {}) => {
        pastey::paste! {
            #[doc = concat!("What a client asks of [`Verb::", stringify!($verb), "`].")]
            #[derive(Clone, Copy)]
            pub struct Ask<$a> {
                $($fields)*
                $(pub $others: &$a [[u8; KEYWORD_BYTES]],)?
                #[doc(hidden)]
                pub borrowed: std::marker::PhantomData<&$a ()>,
            }

            impl<$a> Ask<$a> {
                /// A request with these keywords, and every other field at its default.
                #[allow(clippy::too_many_arguments, clippy::new_without_default)]
                pub const fn new($($given)*) -> Self {
                    Self { $($new)* $($others: &[],)? borrowed: std::marker::PhantomData }
                }
            }

            impl TypedAsk for Ask<'_> {
                const VERB: Verb = Verb::$verb;
                type Got<'r> = Got<'r>;
                type Of = Ask<'static>;

                #[allow(unused_variables, unused_mut)]
                fn arguments<'b>(&'b self, $place: &'b mut Filled) -> Arguments<'b> {
                    let $of = self;
                    $place.begin();
                    $(ask::say!($of $place $($some)*);)*
                    $($of.$others.iter().for_each(|word| $place.word(*word));)?
                    $($place.label(const { ask::keys_before(PARAMETERS, $label) }, $of.[<$label:lower>]);)*
                    let $place = &*$place;
                    let mut $to = Arguments::new(Verb::$verb);
                    $($sets)*
                    $to
                }
            }
        }
    };
}

/// Puts the keyword of a choice into the rule array.
macro_rules! say {
    ($of:ident $place:ident Some $choice:ident) => {
        $place.keyword(Some($of.$choice.keyword()))
    };
    ($of:ident $place:ident Option::from $choice:ident) => {
        $place.keyword($of.$choice.map(|choice| choice.keyword()))
    };
}

/// Makes the type of a client's answer from a row: walks over the parameters and gathers the
/// outputs.
macro_rules! got {
    ($r:lifetime $from:ident $fields:tt $reads:tt $head:tt
        $name:ident: $direction:ident $kind:ident $(($($of:tt)*))? [reserved]; $($rest:tt)*) => {
        got! { $r $from $fields $reads $head $($rest)* }
    };
    ($r:lifetime $from:ident $fields:tt $reads:tt $head:tt
        $name:ident: In $kind:ident $(($($of:tt)*))? [$($mark:ident)*]; $($rest:tt)*) => {
        got! { $r $from $fields $reads $head $($rest)* }
    };
    ($r:lifetime $from:ident $fields:tt $reads:tt $head:tt
        $name:ident: $direction:ident Length $(($codes:ident))? []; $($rest:tt)*) => {
        got! { $r $from $fields $reads $head $($rest)* }
    };
    ($r:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $head:tt
        $name:ident: $direction:ident Integer []; $($rest:tt)*) => {
        got! { $r $from
            { $($fields)* pub [<$name:lower>]: i64, } { $($reads)* [<$name:lower>]: $from.integer($name), }
            $head $($rest)* }
    };
    ($r:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $head:tt
        $name:ident: $direction:ident Keywords($count:ident) []; $($rest:tt)*) => {
        got! { $r $from
            { $($fields)* pub [<$name:lower>]: &$r [[u8; KEYWORD_BYTES]], }
            { $($reads)* [<$name:lower>]: ask::words($from.bytes($name)), }
            $head $($rest)* }
    };
    ($r:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $head:tt
        $name:ident: $direction:ident $kind:ident($($of:tt)*) [$(secret)?]; $($rest:tt)*) => {
        got! { $r $from
            { $($fields)* pub [<$name:lower>]: &$r [u8], } { $($reads)* [<$name:lower>]: $from.bytes($name), }
            $head $($rest)* }
    };
    ($r:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} { $verb:ident }) => {
        pastey::paste! {
            #[doc = concat!("What a client got of [`Verb::", stringify!($verb), "`].")]
            #[derive(Clone, Copy)]
            pub struct Got<$r> {
                $($fields)*
                borrowed: std::marker::PhantomData<&$r ()>,
            }

            impl<$r> TypedGot<$r> for Got<$r> {
                const VERB: Verb = Verb::$verb;

                #[allow(unused_variables)]
                fn of($from: &Arguments<$r>) -> Self {
                    Self { $($reads)* borrowed: std::marker::PhantomData }
                }
            }
        }
    };
}

pub(super) use {ask, got, say};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::{Direction, Fault, Length, TypedRequest, Verb, groups::*, mac_generate2, mac_verify};

    /// Calls a function with the arguments of each row's smallest request: the first keyword of
    /// each required group, all else at its default.
    macro_rules! bare {
        ($(
            $(#[$doc:meta])*
            $verb:ident $module:ident = $number:literal slot $slot:literal $entry_point:literal $executor:ident {
                class: $class:ident; audited: $audited:ident; needs: $needs:tt; lanes: $kernel:ident;
                asks: $asks:tt;
                keywords: $least:tt to $most:tt { $($choice:ident: $group:ident $($required:ident)?),* $(,)? }
                $($rest:tt)*
            }
        )*) => {
            fn each_bare(mut check: impl FnMut(&Arguments<'_>, Result<(), Fault>)) {
                $({
                    use crate::verb::$module::{Ask, Request};
                    let ask = Ask::new($($({ let $required = $group::ALL[0].1; $required },)?)*);
                    let mut filled = Filled::default();
                    let arguments = ask.arguments(&mut filled);
                    check(&arguments, Request::read(&arguments).map(drop));
                })*
            }
        };
    }

    crate::for_each_verb! { bare }

    #[test]
    fn every_row_reads_what_it_asks() {
        let mut verbs = 0;
        each_bare(|arguments, read| {
            verbs += 1;
            let verb = arguments.verb();
            let parameters = verb.entry().parameters;
            let mut payload = Vec::new();
            arguments.write_request(&mut payload).unwrap();
            let sent = Arguments::read_request(verb, &payload).unwrap();
            for (position, parameter) in parameters.iter().enumerate() {
                let length = match parameter.kind {
                    _ if parameter.direction == Direction::Out => continue,
                    Kind::Keywords(count) => (count, sent.bytes(position).len() / KEYWORD_BYTES),
                    Kind::Bytes(Length::By(length)) | Kind::Key { length: Length::By(length), .. } => {
                        (length, sent.bytes(position).len())
                    }
                    _ => continue,
                };
                assert_eq!(sent.integer(length.0), length.1 as i64, "{verb:?}.{}", parameter.name);
            }
            // The first keywords of different groups need not go together.
            let is_of_keywords = |fault: &Fault| {
                matches!(fault, Fault::Refused { position, .. } if matches!(parameters[*position].kind, Kind::Keywords(_))
                    || matches!(parameters[*position].kind, Kind::Integer))
            };
            assert!(read.as_ref().is_ok() || read.as_ref().is_err_and(is_of_keywords), "{verb:?}: {read:?}");
        });
        assert_eq!(verbs, crate::verb::TABLE.len());
    }

    #[test]
    fn labels_lengths_and_room_are_filled_in() {
        use mac_generate2::*;
        let label = Label::new("A.KEY").unwrap();
        let mut ask = Ask { method: Some(KeyedHash::Sha256), ..Ask::new(VariableAlgorithm::Hmac) };
        (ask.key_identifier, ask.message_text, ask.mac_text) = ((&label).into(), b"a text", 16);
        ask.chaining_vector = Room { given: b"0123456789", bytes: 128 };
        let mut filled = Filled::default();
        let arguments = ask.arguments(&mut filled);
        assert_eq!(arguments.integer(RULE_ARRAY_COUNT), 2);
        assert_eq!(arguments.bytes(RULE_ARRAY), b"HMAC    SHA-256 ");
        assert_eq!(
            (arguments.integer(KEY_IDENTIFIER_LENGTH), arguments.bytes(KEY_IDENTIFIER)),
            (64, &label.to_field()[..])
        );
        assert_eq!(
            (arguments.integer(MESSAGE_TEXT_LENGTH), arguments.bytes(MESSAGE_TEXT)),
            (6, &b"a text"[..])
        );
        assert_eq!(
            (arguments.integer(CHAINING_VECTOR_LENGTH), arguments.bytes(CHAINING_VECTOR)),
            (128, &b"0123456789"[..])
        );
        assert_eq!(arguments.integer(MAC_LENGTH), 16);
        let request = Request::read(&arguments).unwrap();
        assert!(request.algorithm == VariableAlgorithm::Hmac && request.message_text == b"a text");
        let mut payload = Vec::new();
        let answer = Answer { mac_text: Some(&[7; 16]), ..Answer::default() };
        crate::verb::TypedAnswer::write(&answer, &arguments, &mut payload).unwrap();
        let got = Got::of(&Arguments::read_reply(Verb::MacGenerate2, &payload).unwrap());
        assert_eq!((got.mac_text, got.chaining_vector), (&[7; 16][..], &[][..]));
    }

    #[test]
    fn keys_are_null_tokens_bytes_or_references() {
        use mac_verify::*;
        let reference = KeyReference { slot: 3, generation: 9 };
        for (key, expected) in [
            (Key::Null, Argument::Bytes(&[0; 64])),
            (Key::from(b"bytes"), Argument::Bytes(b"bytes")),
            (Key::Reference(reference), Argument::Reference(reference)),
        ] {
            let mut filled = Filled::default();
            let ask = Ask { key_identifier: key, method: Some(MacMethod::X99), ..Ask::new() };
            let arguments = ask.arguments(&mut filled);
            assert_eq!(arguments.at(KEY_IDENTIFIER), expected);
            assert_eq!(arguments.bytes(RULE_ARRAY), MacMethod::X99.keyword().word.to_be_bytes());
        }
    }

    #[test]
    fn keywords_beyond_all_that_fit_are_counted() {
        let mut filled = Filled::default();
        (0..KEYWORDS_MAX + 3).for_each(|_| filled.word(*b"KEYWORD "));
        assert_eq!(
            (filled.count(), filled.rule_array().len()),
            (KEYWORDS_MAX as i64 + 3, KEYWORDS_MAX * KEYWORD_BYTES)
        );
    }
}
