//! The library as C programs have it: what it exports, where it writes, and whole hosts.

mod guards;
mod hosts;
mod interface;
