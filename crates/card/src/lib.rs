//! A card: a process that owns keys and serves requests from queues.
//!
//! | need | module |
//! |---|---|
//! | the way from the start of the program to its first request | [`program`], [`start`] |
//! | what the program gives up before that | [`sandbox`] |
//! | where its secrets lie | [`arena`] |
//! | the request loop | [`serve`] |
//! | which request may run | [`admit`] |
//! | a queue, and what of it is taken next | [`attached`] |
//! | when a pass begins, whose turn it is, who must wait, what a request costs | [`pace`], [`turns`], [`limits`], [`cost`] |
//! | when answers may be seen: at once, or as a laboratory times them | [`timing`] |
//! | orders of the daemon, adoption by a later one | [`control`], [`life`] |
//! | the keeper of the master keys | [`keeper`] |
//!
//! Only the arena and the sandbox hold `unsafe` code.
#![deny(unsafe_code)]

pub mod admit;
#[allow(unsafe_code)]
pub mod arena;
pub mod attached;
pub mod control;
pub mod cost;
pub mod keeper;
pub mod life;
pub mod limits;
pub mod pace;
pub mod program;
#[allow(unsafe_code)]
pub mod sandbox;
pub mod serve;
pub mod start;
pub mod timing;
pub mod turns;
