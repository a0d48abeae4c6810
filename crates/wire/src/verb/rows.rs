//! The rows of the verb table, a file a family, and how they are handed to others.
//!
//! ```text
//! /// What it does.
//! Name name = number slot N "ENTRY_POINT" Place {
//!     class: Pure; audited: false;
//!     keywords: RuleArray::of(least, most, &[Group::GROUP, ...], RULES);
//!     parameters { NAME: Direction Kind, mark, ...; ... }
//! }
//! ```
//! A kind of a key is `uses`, `renews`, `makes` or `skeleton` of its length. Marks are `secret` and `reserved`.
//! A slot is stated, dense, and never used again: see [`Entry::slot`](super::Entry::slot).

mod cipher;
mod clear;
mod hash;
mod key;
mod mac;
mod pka;
mod random;
mod record;
mod signature;
mod token;
mod transport;

/// Hands all rows of the verb table to a macro, in one call: `for_each_verb! { callback }` becomes
/// `callback! { row row ... }`, which stands where items do. A row is as `crates/wire/src/verb/rows.rs` shows it; who wants its head only
/// takes the rest as `$($rest:tt)*`:
///
/// ```
/// macro_rules! count {
///     ($(
///         $(#[$doc:meta])*
///         $verb:ident $module:ident = $number:literal slot $slot:literal $entry_point:literal $place:ident {
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
            hash_verbs
            random_verbs
            pka_verbs
            signature_verbs
            transport_verbs
            record_verbs
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
