//! Unlocked OpenPGP private keys, held for a limited time in a process of their own: the program `cryptand-agent`, and
//! the client that reaches it.
//!
//! | need | item |
//! |---|---|
//! | where a user's agent listens | [`AgentSocket`] |
//! | hand it keys, ask what it holds, have it forget them | [`Agent`] |
//! | a private key that the agent computes with | [`AgentKey`] |
//! | messages between client and agent | [`message`] |
//! | the keys, and until when each is held | [`held`] |
//! | the agent's connections | [`serve`] |
//!
//! The agent is started for the first key that it is to hold, and ends when it holds no key and has no client. It gives
//! no key out: it opens session keys and signs. The agent is confined as a card is ([`confine`]): its keys are neither
//! swapped nor dumped, and no other process of its user can read them. It serves its own user alone (SO_PEERCRED), who
//! can use a key for as long as the key is held.
#![forbid(unsafe_code)]

mod client;
pub mod held;
pub mod message;
pub mod serve;
mod socket;

pub use client::{Agent, AgentError, AgentKey};
pub use socket::AgentSocket;
