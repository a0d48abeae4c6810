//! The rows of the verb table, one file for each family, and the macro that hands them out.
//!
//! ```text
//! /// What it does.
//! Name name = number slot N "ENTRY_POINT" Executor {
//!     class: Pure; audited: Nothing; needs: [Register ...]; lanes: Kernel;
//!     asks: [Point ...];
//!     keywords: least to most { field: Group required, ... }, rules RULES, others field, answers ELEMENTS;
//!     parameters { NAME: Direction Kind for USE, mark, ...; ... }
//! }
//! ```
//! `Words` of a count are keywords that the verb reads itself. The kind of a key is `uses`,
//! `renews`, `makes` or `skeleton` of its length; a key, and the label of a record, says `for`
//! which of [`Uses`](crate::uses::Uses), without which the rules of the label refuse it. An integer
//! that gives the length of another parameter is a `Length`; brackets hold the codes that refuse a
//! field of another length, if not 8/21. Rules, and a field for keywords of no group, are left out
//! if there are none. `required` marks a group of which one keyword must be given. Elements are
//! those of a rule array that travels both ways:
//! [`RuleArray::answers`](super::RuleArray::answers). Marks:
//!
//! | mark | |
//! |---|---|
//! | `secret` | can hold a clear key, or a value that is kept like one |
//! | `reserved` | not looked at |
//! | `empty` | must be empty; the integer that counts it may be a null pointer |
//! | `optional` | of a fixed length, and may be empty: the verb needs it with some keywords only; of an integer: a null pointer stands for 0 |
//!
//! From the rows are made the positions of the parameters, request and answer of each verb, and the
//! client's request and answer: see `request`, `answer` and `ask` beside `rows`. A slot is stated,
//! dense, and never used again: see [`Entry::slot`](super::Entry::slot).

mod administration;
mod agreement;
mod attribute;
mod chip;
mod cipher;
mod clear;
mod derived;
mod exchange;
mod format_preserving;
mod hash;
mod key;
mod key_block;
mod mac;
mod pin;
mod pin2;
mod pka;
mod random;
mod record;
mod signature;
mod token;
mod transport;
mod variable;

/// Hands all rows of the verb table to a macro, in one call: `for_each_verb! { callback }` becomes
/// `callback! { row row ... }` and stands where items do. A row has the form in
/// `crates/wire/src/verb/rows.rs`. A callback that needs only the head takes the rest as
/// `$($rest:tt)*`:
///
/// ```
/// macro_rules! count {
///     ($(
///         $(#[$doc:meta])*
///         $verb:ident $module:ident = $number:literal slot $slot:literal $entry_point:literal $executor:ident {
///             $($rest:tt)*
///         }
///     )*) => { const VERBS: &[wire::Verb] = &[$(wire::Verb::$verb),*]; };
/// }
/// wire::for_each_verb! { count }
/// assert_eq!(VERBS.len(), wire::verb::TABLE.len());
/// ```
#[macro_export]
macro_rules! for_each_verb {
    ($callback:path) => {
        $crate::next_verbs! { $callback, [
            clear_verbs
            token_verbs
            key_verbs
            cipher_verbs
            mac_verbs
            pin_verbs
            pin2_verbs
            chip_verbs
            key_block_verbs
            format_preserving_verbs
            derived_verbs
            hash_verbs
            random_verbs
            pka_verbs
            signature_verbs
            transport_verbs
            exchange_verbs
            record_verbs
            variable_verbs
            agreement_verbs
            attribute_verbs
            administration_verbs
        ] {} }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! next_verbs {
    ($callback:path, [] { $($rows:tt)* }) => { $callback! { $($rows)* } };
    ($callback:path, [$family:ident $($families:ident)*] $rows:tt) => {
        $crate::$family! { $callback, [$($families)*] $rows }
    };
}
