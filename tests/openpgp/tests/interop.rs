//! Messages, signatures and keys exchanged between Cryptand and other people's programs, both ways.

mod bodies;
mod keys;
mod kinds;
mod others;
mod peers;
mod signed;
mod stateless;
