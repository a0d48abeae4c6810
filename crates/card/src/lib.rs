//! A card: a process that owns keys and serves requests from queues.
//!
//! | need | module |
//! |---|---|
//! | the way from the start of the program to its first request | [`program`], [`start`] |
//! | what the program gives up before that, and where its secrets lie | [`confine`] |
//! | the request loop | [`serve`] |
//! | which request may run | [`admit`], [`roles`] |
//! | a queue, and which of its requests is taken next | [`attached`] |
//! | when a pass begins, how many it takes, whose turn it is, who must wait, what a request costs | [`pace`], [`lanes`], [`turns`], [`limits`], [`cost`], [`work`] |
//! | answers that wait, for a time or until their record is durable | [`held`] |
//! | orders of the daemon, adoption by a later one | [`control`], [`life`] |
//! | the keeper of the master keys | [`keeper`] |
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

pub mod admit;
pub mod attached;
pub mod control;
pub mod cost;
pub mod denials;
pub mod held;
pub mod keeper;
pub mod lanes;
pub mod life;
pub mod limits;
pub mod pace;
pub mod program;
pub mod roles;
pub mod samples;
pub mod serve;
pub mod start;
pub mod turns;
pub mod work;
