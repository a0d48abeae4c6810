//! Certificates: their names, and what real cards sign.

mod cards;
mod name;
