//! The confinement of a process that holds keys, before it gets one: a sandbox, and memory that
//! nobody else can read.
//!
//! | need | module |
//! |---|---|
//! | heap and stack that are not swapped, not dumped, and wiped when freed | [`arena`] |
//! | giving up files, networks, other processes, and most system calls | [`sandbox`] |
//! | threads that serve many requests at a time | [`scheduling`] |
//!
//! Cards, the keeper of a home's master keys and the agent of OpenPGP's private keys are such processes.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
pub mod arena;
#[allow(unsafe_code)]
pub mod sandbox;
#[allow(unsafe_code)]
pub mod scheduling;

/// The parts of the sandbox and of secret memory that this machine lacks, by name.
pub fn lacks(entered: &sandbox::Entered) -> Vec<&'static str> {
    let memory = match arena::report().region {
        Some(arena::PageKind::Secret) => None,
        Some(arena::PageKind::Locked) => Some("secret memory"),
        Some(arena::PageKind::Plain) | None => Some("locked memory"),
    };
    memory.into_iter().chain(entered.missing.iter().copied()).collect()
}
