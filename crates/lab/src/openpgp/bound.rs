//! The lower bound of a row: the processor time that its steps take at the least, by rates measured in the same run,
//! beside the measured time.

use super::cases::Act;
use super::memory::{Rates, Step};
use std::fmt::Write;

/// The cost of moving bytes, in seconds of processor time for a byte.
#[derive(Clone, Copy, Debug)]
pub struct Moving {
    /// Reading a file, in seconds a byte.
    pub read: f64,
    /// Writing a new file, in seconds a byte.
    pub write: f64,
}

/// Lengths in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    /// Length of the text.
    pub text: u64,
    /// Length of the message.
    pub message: u64,
}

/// The least possible cost of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    /// Each part with its seconds of processor time, and whether it is a chain that one processor must walk.
    parts: Vec<(&'static str, f64, bool)>,
}

impl Floor {
    /// The cost of the steps and of moving bytes; none if a step has no rate.
    pub fn new(act: Act, steps: &[Step], lengths: Lengths, moving: Moving, rates: &Rates) -> Option<Self> {
        if steps.is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        for step in steps {
            let bytes = if step.is_before_cipher() { lengths.text } else { lengths.message };
            parts.push((step.name(), bytes as f64 / rates.of(*step)?.median, step.is_serial()));
        }
        let (read, written) = match act {
            Act::Encrypt(_) => (lengths.text, lengths.message),
            Act::Decrypt(..) => (lengths.message, lengths.text),
            Act::EncryptToNull(_) | Act::Read => (lengths.text, 0),
        };
        parts.push(("moving bytes", read as f64 * moving.read + written as f64 * moving.write, false));
        Some(Self { parts })
    }

    /// Seconds of processor time.
    pub fn cpu_s(&self) -> f64 {
        self.parts.iter().map(|(_, seconds, _)| seconds).sum()
    }

    /// Seconds on `processors` processors: the whole divided among them, or the longest chain if that is longer.
    pub fn elapsed_s(&self, processors: usize) -> f64 {
        (self.cpu_s() / processors.max(1) as f64).max(self.chain().map_or(0.0, |(_, seconds)| seconds))
    }

    fn chain(&self) -> Option<(&'static str, f64)> {
        let chains = self.parts.iter().filter(|(_, _, is_serial)| *is_serial);
        chains.map(|(name, seconds, _)| (*name, *seconds)).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// For people: the parts, largest first, and their share of the measured processor time.
    pub fn cpu_text(&self, taken_s: f64) -> String {
        let mut parts = self.parts.clone();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut text = String::new();
        for (name, seconds, _) in parts {
            let _ = write!(text, "{name} {seconds:.2} s, ");
        }
        let _ = write!(text, "together {:.0} % of {taken_s:.2} s", 100.0 * self.cpu_s() / taken_s);
        text
    }

    /// For people: the bound of the elapsed time, and its share of the measured time.
    pub fn elapsed_text(&self, processors: usize, taken_s: f64) -> String {
        let least = self.elapsed_s(processors);
        let share = 100.0 * least / taken_s;
        match self.chain() {
            Some((name, seconds)) if seconds >= least => {
                format!("the chain of {name}: {least:.2} s, {share:.0} % of {taken_s:.2} s")
            }
            _ => format!("the work on {processors} processors: {least:.2} s, {share:.0} % of {taken_s:.2} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_bounds_elapsed_time_where_it_is_longer_than_a_share() {
        let floor = |chain| Floor { parts: vec![("chain", chain, true), ("moving bytes", 0.5, false)] };
        assert_eq!((floor(1.0).cpu_s(), floor(1.0).elapsed_s(2), floor(1.0).elapsed_s(1)), (1.5, 1.0, 1.5));
        assert_eq!(floor(0.1).elapsed_s(2), 0.3);
        assert_eq!(floor(1.0).cpu_text(3.0), "chain 1.00 s, moving bytes 0.50 s, together 50 % of 3.00 s");
        assert_eq!(floor(1.0).elapsed_text(2, 2.0), "the chain of chain: 1.00 s, 50 % of 2.00 s");
        assert_eq!(floor(0.1).elapsed_text(2, 0.6), "the work on 2 processors: 0.30 s, 50 % of 0.60 s");
    }
}
