//! Keys of every kind: made, entered in parts by people at terminals, and shown. Real homes, real daemons and cards.
//! Needs `cryptand-daemon` and `cryptand-card` beside the command, as `make test` builds them.

mod bench;
mod cert;
pub mod check_value;
mod development;
mod generate;
mod import;
mod keyblock;
mod part;
mod payment;
mod reencipher;
mod token;
