//! The kernel pass: all the work that the computations of a batch requested, grouped by kind, with one
//! engine call per kind and method.
//!
//! | kind | what it does |
//! |---|---|
//! | [`open`] | unwraps keys from tokens, under a master key or a key that an earlier pass opened |
//! | [`close`] | wraps keys into tokens |
//! | [`cipher`], [`mac`], [`gcm`], [`hash`] | process texts |
//! | [`block`] | processes single blocks |
//! | [`pin_field`] | PIN blocks of ISO-4 |
//! | [`key_block`] | opens and seals key blocks |
//! | [`format`] | texts that keep their format |
//! | [`derive`] | derives values and keys from keys |
//! | [`asymmetric`] | public and private operations, key pairs of elliptic curves |
//! | [`generate`] | RSA key pairs |
//!
//! A kind is a type that implements [`Work`], in a file of its own here, with a queue in [`Pass`]. Order of
//! the kinds within a pass does not matter: the work items of one pass are independent.

mod aes_dukpt;
mod asymmetric;
mod block;
mod cipher;
mod close;
mod derive;
mod dukpt;
pub(crate) mod emv;
mod format;
mod gcm;
mod generate;
mod hash;
mod key_block;
mod mac;
mod open;
mod pin_field;
mod queue;

use crate::ground::BatchStep;
use crate::kernel::Kernel;

pub(crate) use asymmetric::Asymmetric;
pub(crate) use block::{BLOCK_BYTES, Block, OneBlock};
pub(crate) use cipher::{Cipher, Ciphered, KeyRule};
pub(crate) use close::{Close, Skeleton, Token};
pub(crate) use derive::{Derive, Derived};
pub(crate) use format::Format;
pub(crate) use gcm::Gcm;
pub(crate) use generate::Generate;
pub(crate) use hash::{Hash, HashOutput, HashText, MdcText};
pub(crate) use key_block::{KeyBlock, KeyBlockTask};
pub(crate) use mac::{Mac, MacOutput};
pub(crate) use open::{Open, Opened};
pub(crate) use pin_field::{ClearField, PinField};
pub(crate) use queue::{Ask, Queue};

/// A kind of kernel work. `'a` is how long the requests of the batch live.
pub(crate) trait Work<'a>: Sized {
    /// What the computation gets back.
    type Answer;

    /// The queue of this kind in the pass.
    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Self::Answer>;

    /// Does all the work of this kind, and writes the result of each piece of work at its index in `answers`.
    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Self::Answer>]);
}

macro_rules! kinds {
    ($($field:ident: $kind:ty => $answer:ty,)*) => {
        /// The queues of one batch: a field for each kind.
        pub(crate) struct Pass<'a> {
            $(pub(crate) $field: Queue<$kind, $answer>,)*
        }

        impl Pass<'_> {
            /// Queues for a batch of this number of requests.
            pub(crate) fn new(requests: usize) -> Self {
                Self { $($field: Queue::new(requests),)* }
            }

            /// Whether no work is requested.
            pub(crate) fn is_idle(&self) -> bool {
                true $(&& self.$field.is_idle())*
            }

            /// Does all requested work; `watch` is told of each kind of which some was requested.
            pub(crate) fn run(&self, kernel: &mut Kernel<'_>, watch: &mut impl FnMut(BatchStep)) {
                $(if !self.$field.is_idle() {
                    self.$field.run(kernel);
                    watch(BatchStep::Kernel(stringify!($field)));
                })*
            }
        }
    };
}

kinds! {
    open: Open<'a> => open::Answer,
    close: Close => close::Answer,
    cipher: Cipher => cipher::Answer,
    block: OneBlock => block::Answer,
    mac: Mac<'a> => mac::Answer,
    gcm: Gcm<'a> => gcm::Answer,
    hash: Hash<'a> => hash::Answer,
    pin_field: PinField => pin_field::Answer,
    key_block: KeyBlock => key_block::Answer,
    format: Format => format::Answer,
    derive: Derive => derive::Answer,
    asymmetric: Asymmetric<'a> => asymmetric::Answer,
    generate: Generate<'a> => generate::Answer,
}
