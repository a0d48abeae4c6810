//! The engine gives the published answers: NIST CAVP files and vectors of the same shape (see
//! `vectors/README.md`).

mod ciphers;
mod curves;
mod hashes;
mod macs;
mod reader;
mod rsa;

use engine::{Engine, Options};

fn engine() -> Engine {
    Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap()
}
