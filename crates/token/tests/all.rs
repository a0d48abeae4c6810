//! Tokens as they are read and written.

mod describe;
mod ecc;
mod pka;
mod variable;
