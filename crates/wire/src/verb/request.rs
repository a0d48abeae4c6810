//! The typed request of a verb, made from its row.
//!
//! | parameter | field |
//! |---|---|
//! | `Length`, `Keywords`, `reserved` | none |
//! | keywords | each group as its enumeration, with its default; as `Option` where there is none |
//! | `Integer` | `i64` |
//! | bytes, in, by a length | `&[u8]` of exactly that length, at most [`TEXT_BYTES_MAX`] bytes: else the codes of the length |
//! | the same, by a length in bits | `&[u8]`; only whole bytes are taken |
//! | the same, by a count of keywords | `&[u8]` of exactly so many |
//! | bytes, in, by a length, `empty` | none: 8/21 where it is not empty |
//! | bytes, in, fixed | `&[u8; N]`, else 8/21; `optional`, or both ways: `Option`, `None` where it is empty |
//! | bytes, in, by keywords | `&[u8]` as it came: a caller's field may be longer, and the verb takes what it needs |
//! | bytes, out or both ways, by a length | [`Buffer`] |
//! | a key | `&[u8]`, of exactly the length that goes with it where there is one |
//! | a key to be made, by a length | [`Buffer`] |
//!
//! Reading a request copies no argument and allocates no memory.

use super::Verb;
use super::fault::Fault;
use super::keywords::{Choices, RuleArray};
use crate::bounds::{KEYWORD_BYTES, TEXT_BYTES_MAX};
use crate::code::{self, Codes};
use crate::frame::{Argument, Arguments};

/// The request of one verb, its arguments checked as far as the verb table describes them.
pub trait TypedRequest<'a>: Sized {
    /// The verb that is requested.
    const VERB: Verb;

    /// The rule array of the request.
    ///
    /// # Errors
    /// 8/35 if its length does not match its count, or its count is not allowed for the verb.
    fn keywords(arguments: &Arguments<'a>) -> Result<&'a [[u8; KEYWORD_BYTES]], Fault>;

    /// The request with these keywords and the other arguments.
    ///
    /// # Errors
    /// As [`TypedRequest::read`], without the check of the number of keywords.
    fn of(arguments: &Arguments<'a>, keywords: &'a [[u8; KEYWORD_BYTES]]) -> Result<Self, Fault>;

    /// Reads the arguments: keywords first, then the others in the order of the table.
    ///
    /// # Errors
    /// For keywords as [`RuleArray::check`]. For a field of a wrong length 8/21, or the codes of
    /// its row, such as 8/25 for texts. [`Fault::Reference`] for a key that is still a reference.
    #[inline]
    fn read(arguments: &Arguments<'a>) -> Result<Self, Fault> {
        Self::of(arguments, Self::keywords(arguments)?)
    }
}

/// A field of the caller's that the answer fills: its content in the request, and its length.
#[derive(Clone, Copy)]
pub struct Buffer<'a> {
    bytes: &'a [u8],
    capacity: i64,
    length_at: u8,
    position: u8,
}

impl<'a> Buffer<'a> {
    /// The content of the field in the request.
    ///
    /// # Errors
    /// 8/21 if the content is not as long as the length parameter says.
    #[inline]
    pub fn given(self) -> Result<&'a [u8], Fault> {
        if self.capacity == self.bytes.len() as i64 {
            Ok(self.bytes)
        } else {
            Err(refused(self.position as usize, code::INVALID_PARAMETER))
        }
    }

    /// The content of the field in the request, which may be shorter than the field: a token says
    /// its own length.
    #[inline]
    pub fn start(self) -> &'a [u8] {
        self.bytes
    }

    /// Length of the field in bytes; 0 if its length parameter is negative.
    #[inline]
    pub fn capacity(self) -> usize {
        usize::try_from(self.capacity).unwrap_or(0)
    }

    /// Refuses with 8/72 if the field has fewer bytes than `needed`.
    #[inline]
    pub fn holds(self, needed: usize) -> Result<(), Fault> {
        if self.capacity >= needed as i64 {
            Ok(())
        } else {
            Err(Fault::TooSmall { position: self.length_at as usize, needed })
        }
    }
}

#[cold]
fn refused(position: usize, codes: Codes) -> Fault {
    Fault::Refused { position, codes }
}

/// The rule array, with its count and its keywords at these positions; empty for a verb without
/// one.
#[inline]
pub(super) fn keywords<'a>(
    arguments: &Arguments<'a>,
    array: &RuleArray,
    at: Option<(usize, usize)>,
) -> Result<&'a [[u8; KEYWORD_BYTES]], Fault> {
    let Some((count, position)) = at else { return Ok(&[]) };
    let (words, rest) = arguments.bytes(position).as_chunks();
    let is_whole = rest.is_empty() && arguments.integer(count) == words.len() as i64;
    if is_whole && (array.least..=array.most).contains(&words.len()) {
        Ok(words)
    } else {
        Err(refused(count, code::KEYWORD_COUNT))
    }
}

/// The choices that these keywords make.
#[inline]
pub(super) fn choose(
    words: &[[u8; KEYWORD_BYTES]],
    array: &RuleArray,
    at: Option<(usize, usize)>,
) -> Result<Choices, Fault> {
    let given = words.iter().map(|word| u64::from_be_bytes(*word));
    array.choose(given).map_err(|codes| refused(at.map_or(0, |(_, position)| position), codes))
}

/// Bytes of exactly the length that the integer at `length` says.
#[inline]
pub(super) fn counted<'a>(
    arguments: &Arguments<'a>,
    length: usize,
    position: usize,
    codes: Codes,
) -> Result<&'a [u8], Fault> {
    let bytes = arguments.bytes(position);
    if arguments.integer(length) == bytes.len() as i64 && bytes.len() <= TEXT_BYTES_MAX {
        Ok(bytes)
    } else {
        Err(refused(position, codes))
    }
}

/// Bytes of exactly as many bits as the integer at `length` says.
#[inline]
pub(super) fn counted_bits<'a>(
    arguments: &Arguments<'a>,
    length: usize,
    position: usize,
    codes: Codes,
) -> Result<&'a [u8], Fault> {
    let bytes = arguments.bytes(position);
    if arguments.integer(length) == 8 * bytes.len() as i64 {
        Ok(bytes)
    } else {
        Err(refused(position, codes))
    }
}

/// Bytes of exactly as many keywords as the integer at `count` says.
#[inline]
pub(super) fn counted_words<'a>(
    arguments: &Arguments<'a>,
    count: usize,
    position: usize,
    codes: Codes,
) -> Result<&'a [u8], Fault> {
    let bytes = arguments.bytes(position);
    if arguments.integer(count).checked_mul(KEYWORD_BYTES as i64) == Some(bytes.len() as i64) {
        Ok(bytes)
    } else {
        Err(refused(position, codes))
    }
}

/// Refuses a field that is not empty.
#[inline]
pub(super) fn empty(
    arguments: &Arguments<'_>,
    length: usize,
    position: usize,
    codes: Codes,
) -> Result<(), Fault> {
    if arguments.integer(length) == 0 && arguments.bytes(position).is_empty() {
        Ok(())
    } else {
        Err(refused(position, codes))
    }
}

/// Bytes of a fixed length.
#[inline]
pub(super) fn fixed<'a, const N: usize>(
    arguments: &Arguments<'a>,
    position: usize,
) -> Result<&'a [u8; N], Fault> {
    arguments.bytes(position).try_into().map_err(|_| refused(position, code::INVALID_PARAMETER))
}

/// Bytes of a fixed length; `None` for an empty field.
#[inline]
pub(super) fn optional<'a, const N: usize>(
    arguments: &Arguments<'a>,
    position: usize,
) -> Result<Option<&'a [u8; N]>, Fault> {
    if arguments.bytes(position).is_empty() { Ok(None) } else { fixed(arguments, position).map(Some) }
}

/// A field that the answer fills, with its length parameter at `length_at`.
#[inline]
pub(super) fn buffer<'a>(arguments: &Arguments<'a>, length_at: usize, position: usize) -> Buffer<'a> {
    let (bytes, capacity) = (arguments.bytes(position), arguments.integer(length_at));
    // A verb has at most 64 parameters.
    Buffer { bytes, capacity, length_at: length_at as u8, position: position as u8 }
}

/// A key, whose length its own header gives.
#[inline]
pub(super) fn key<'a>(arguments: &Arguments<'a>, position: usize) -> Result<&'a [u8], Fault> {
    match arguments.at(position) {
        Argument::Reference(_) => Err(Fault::Reference { position }),
        Argument::Bytes(bytes) => Ok(bytes),
        _ => Ok(&[]),
    }
}

/// A key of exactly the length that the integer at `length` says. If the caller gave a label, the
/// card has put the length of the label's token there.
#[inline]
pub(super) fn counted_key<'a>(
    arguments: &Arguments<'a>,
    length: usize,
    position: usize,
    codes: Codes,
) -> Result<&'a [u8], Fault> {
    let bytes = key(arguments, position)?;
    if arguments.integer(length) == bytes.len() as i64 { Ok(bytes) } else { Err(refused(position, codes)) }
}

/// A field that a new key is written into, with its length parameter at `length_at`; refused if it
/// holds a reference.
#[inline]
pub(super) fn key_buffer<'a>(
    arguments: &Arguments<'a>,
    length_at: usize,
    position: usize,
) -> Result<Buffer<'a>, Fault> {
    key(arguments, position)?;
    Ok(buffer(arguments, length_at, position))
}

/// Makes the request of a verb: walks over its parameters, gathers the fields and how each is read.
macro_rules! request {
    // reserved, lengths and keywords: no field
    ($a:lifetime $from:ident $fields:tt $reads:tt $checks:tt $head:tt
        $name:ident: $direction:ident $kind:ident $(($($of:tt)*))? [reserved]; $($rest:tt)*) => {
        request! { $a $from $fields $reads $checks $head $($rest)* }
    };
    ($a:lifetime $from:ident $fields:tt $reads:tt $checks:tt $head:tt
        $name:ident: $direction:ident Length $(($codes:ident))? [$(optional)?]; $($rest:tt)*) => {
        request! { $a $from $fields $reads $checks $head $($rest)* }
    };
    ($a:lifetime $from:ident $fields:tt $reads:tt $checks:tt $head:tt
        $name:ident: In Keywords($count:ident) []; $($rest:tt)*) => {
        request! { $a $from $fields $reads $checks $head $($rest)* }
    };
    ($a:lifetime $from:ident $fields:tt $reads:tt $checks:tt $head:tt
        $name:ident: InOut Keywords($count:ident) []; $($rest:tt)*) => {
        request! { $a $from $fields $reads $checks $head $($rest)* }
    };
    // fields that the answer fills
    ($a:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $checks:tt $head:tt
        $name:ident: Out Bytes(By($length:ident)) [$(secret)?]; $($rest:tt)*) => {
        request! { $a $from
            { $($fields)* pub [<$name:lower>]: Buffer<$a>, }
            { $($reads)* [<$name:lower>]: request::buffer($from, $length, $name), }
            $checks $head $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $checks:tt $head:tt
        $name:ident: InOut Bytes(By($length:ident)) [$(secret)?]; $($rest:tt)*) => {
        request! { $a $from
            { $($fields)* pub [<$name:lower>]: Buffer<$a>, }
            { $($reads)* [<$name:lower>]: request::buffer($from, $length, $name), }
            $checks $head $($rest)* }
    };
    ($a:lifetime $from:ident $fields:tt $reads:tt $checks:tt $head:tt
        $name:ident: Out $kind:ident $(($($of:tt)*))? [$(secret)?]; $($rest:tt)*) => {
        request! { $a $from $fields $reads $checks $head $($rest)* }
    };
    // bytes
    ($a:lifetime $from:ident $fields:tt $reads:tt {$($checks:tt)*} $head:tt
        $name:ident: In Bytes(By($length:ident)) [empty]; $($rest:tt)*) => {
        request! { $a $from $fields $reads
            { $($checks)* request::empty($from, $length, $name, CODES[$length])?; }
            $head $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $checks:tt $head:tt
        $name:ident: In Bytes(By($length:ident)) [$(secret)?]; $($rest:tt)*) => {
        request! { $a $from
            { $($fields)* pub [<$name:lower>]: &$a [u8], }
            { $($reads)* [<$name:lower>]: request::counted($from, $length, $name, CODES[$length])?, }
            $checks $head $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $checks:tt $head:tt
        $name:ident: In Bytes(Bits($length:ident)) [$(secret)?]; $($rest:tt)*) => {
        request! { $a $from
            { $($fields)* pub [<$name:lower>]: &$a [u8], }
            { $($reads)* [<$name:lower>]: request::counted_bits($from, $length, $name, CODES[$length])?, }
            $checks $head $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $checks:tt $head:tt
        $name:ident: In Bytes(Words($length:ident)) []; $($rest:tt)*) => {
        request! { $a $from
            { $($fields)* pub [<$name:lower>]: &$a [u8], }
            { $($reads)* [<$name:lower>]: request::counted_words($from, $length, $name, CODES[$length])?, }
            $checks $head $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $checks:tt $head:tt
        $name:ident: In Bytes(Fixed($bytes:tt)) [$(secret)?]; $($rest:tt)*) => {
        request! { $a $from
            { $($fields)* pub [<$name:lower>]: &$a [u8; $bytes], }
            { $($reads)* [<$name:lower>]: request::fixed($from, $name)?, }
            $checks $head $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $checks:tt $head:tt
        $name:ident: $direction:ident Bytes(Fixed($bytes:tt)) [$(optional)? $(secret)?]; $($rest:tt)*) => {
        request! { $a $from
            { $($fields)* pub [<$name:lower>]: Option<&$a [u8; $bytes]>, }
            { $($reads)* [<$name:lower>]: request::optional($from, $name)?, }
            $checks $head $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $checks:tt $head:tt
        $name:ident: In Bytes(Keyed($rows:ident)) [$(secret)?]; $($rest:tt)*) => {
        request! { $a $from
            { $($fields)* pub [<$name:lower>]: &$a [u8], }
            { $($reads)* [<$name:lower>]: $from.bytes($name), }
            $checks $head $($rest)* }
    };
    ($a:lifetime $from:ident $fields:tt $reads:tt $checks:tt $head:tt
        $name:ident: $direction:ident Bytes($($of:tt)*) [$($mark:ident)*]; $($rest:tt)*) => {
        compile_error!(concat!("no request reads ", stringify!($name: $direction Bytes($($of)*) $($mark)*)));
    };
    // integers
    ($a:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $checks:tt $head:tt
        $name:ident: $direction:ident Integer []; $($rest:tt)*) => {
        request! { $a $from
            { $($fields)* pub [<$name:lower>]: i64, }
            { $($reads)* [<$name:lower>]: $from.integer($name), }
            $checks $head $($rest)* }
    };
    // keys
    ($a:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $checks:tt $head:tt
        $name:ident: InOut makes(By($length:ident)) [$(secret)?]; $($rest:tt)*) => {
        request! { $a $from
            { $($fields)* pub [<$name:lower>]: Buffer<$a>, }
            { $($reads)* [<$name:lower>]: request::key_buffer($from, $length, $name)?, }
            $checks $head $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $checks:tt $head:tt
        $name:ident: $direction:ident $role:ident(By($length:ident)) [$(secret)?]; $($rest:tt)*) => {
        request! { $a $from
            { $($fields)* pub [<$name:lower>]: &$a [u8], }
            { $($reads)* [<$name:lower>]: request::counted_key($from, $length, $name, CODES[$length])?, }
            $checks $head $($rest)* }
    };
    ($a:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} $checks:tt $head:tt
        $name:ident: $direction:ident $role:ident($length:ident $(($bytes:literal))?) [$(secret)?]; $($rest:tt)*) => {
        request! { $a $from
            { $($fields)* pub [<$name:lower>]: &$a [u8], }
            { $($reads)* [<$name:lower>]: request::key($from, $name)?, }
            $checks $head $($rest)* }
    };
    // all of them
    ($a:lifetime $from:ident {$($fields:tt)*} {$($reads:tt)*} {$($checks:tt)*}
        { $verb:ident { $($choice:ident: $group:ident),* } $($others:ident)? }) => {
        pastey::paste! {
            #[doc = concat!("The request of [`Verb::", stringify!($verb), "`].")]
            #[derive(Clone, Copy)]
            pub struct Request<$a> {
                $(pub $choice: <$group as Choice>::Given,)*
                $(pub $others: Others<$a>,)?
                $($fields)*
                arguments: std::marker::PhantomData<&$a ()>,
            }

            impl<$a> TypedRequest<$a> for Request<$a> {
                const VERB: Verb = Verb::$verb;

                #[inline]
                fn keywords(arguments: &Arguments<$a>) -> Result<&$a [[u8; KEYWORD_BYTES]], Fault> {
                    request::keywords(arguments, &KEYWORDS, KEYWORDS_AT)
                }

                #[inline]
                #[allow(unused_variables)]
                fn of($from: &Arguments<$a>, words: &$a [[u8; KEYWORD_BYTES]]) -> Result<Self, Fault> {
                    let choices = request::choose(words, &KEYWORDS, KEYWORDS_AT)?;
                    $($checks)*
                    Ok(Self {
                        $($choice: choices.of::<$group>(const { first(GROUPS, Chosen::$choice as usize) }),)*
                        $($others: choices.others(words),)?
                        $($reads)*
                        arguments: std::marker::PhantomData,
                    })
                }
            }
        }
    };
}

pub(super) use request;
