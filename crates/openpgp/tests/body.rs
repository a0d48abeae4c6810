//! Bodies and framing against published samples, against rPGP, and against what must be refused.

mod against_rpgp;
mod armor;
mod cleartext;
mod framing;
mod grammar;
mod memory;
mod message;
mod mutations;
mod samples;
mod whole;

/// Lengths of pieces to try: those around the borders of what is inside, and all at once.
fn pieces(whole: &[u8]) -> impl Iterator<Item = usize> + use<> {
    [1, 2, 3, 7, 64, 65, whole.len().max(1)].into_iter()
}
