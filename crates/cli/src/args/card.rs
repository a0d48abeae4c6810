//! The command line of `cryptand card`.

use super::{Json, LevelName, PersonalityName};
use clap::{Args, Subcommand};
use wire::control::PollMode;

const EXAMPLES: &str = "\
Examples:
  cryptand card add --personality accelerator --processors 2-3
  cryptand card set 1 --poll every:10ms
  cryptand card set 0 --processors all
  cryptand card quiesce 1      it finishes what it took and takes nothing new
  cryptand card resume 1

A change takes effect at once, is written to settings.toml, and returns when it is carried out. It is
refused where it would leave a tenant without a card that it needs.";

/// `cryptand card`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Card {
    /// Show the cards
    List(Json),
    /// Start one more card, at the lowest free index
    #[command(after_help = EXAMPLES)]
    Add {
        /// The new card
        #[command(flatten)]
        options: CardOptions,
    },
    /// Quiesce a card, wipe it, and restart it with other options; its requests go to other cards
    #[command(after_help = EXAMPLES)]
    Set {
        /// Index of the card
        card: u32,
        /// What changes
        #[command(flatten)]
        options: CardOptions,
    },
    /// End a card for good
    ///
    /// The last one of its kind only after a question.
    Remove {
        /// Index of the card
        card: u32,
        /// Remove the last card of its kind without asking
        #[arg(long)]
        yes: bool,
    },
    /// Let a card finish the requests it took and take no new ones, until it is resumed
    Quiesce {
        /// Index of the card
        card: u32,
    },
    /// Let a quiesced card serve again
    Resume {
        /// Index of the card
        card: u32,
    },
}

/// Options of a card.
#[derive(Args, Debug, Default)]
pub struct CardOptions {
    /// Coprocessor or accelerator (a new card is an accelerator by default)
    #[arg(long)]
    pub personality: Option<PersonalityName>,
    /// How it waits: adaptive, spin, sleep, or every:TIME such as every:500us or every:10ms
    #[arg(long, value_name = "MODE", value_parser = poll)]
    pub poll: Option<PollMode>,
    /// Processors that it may run on: numbers and ranges such as 0,2-3, or all
    #[arg(long, value_name = "LIST", value_parser = processors)]
    pub processors: Option<Processors>,
    /// Highest instruction-set level of the card
    #[arg(long, value_name = "LEVEL")]
    pub level: Option<LevelName>,
}

/// Numbers of processors; none for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processors(pub Vec<u32>);

fn poll(text: &str) -> Result<PollMode, String> {
    let bad = || format!("{text:?}: use adaptive, spin, sleep, or every:TIME such as every:10ms");
    Ok(match text {
        "adaptive" => PollMode::Adaptive,
        "spin" => PollMode::Spin,
        "sleep" => PollMode::Sleep,
        _ => {
            let time = text.strip_prefix("every:").ok_or_else(bad)?;
            let digits = time.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
            let unit_us = match &time[digits.len()..] {
                "us" => 1,
                "ms" => 1000,
                "s" => 1_000_000,
                _ => return Err(bad()),
            };
            let count: u32 = digits.parse().map_err(|_| bad())?;
            let interval_us = count.checked_mul(unit_us).filter(|interval| *interval > 0).ok_or_else(bad)?;
            PollMode::Every { interval_us }
        }
    })
}

fn processors(text: &str) -> Result<Processors, String> {
    if text == "all" {
        return Ok(Processors(Vec::new()));
    }
    let bad = |part: &str| format!("{part:?}: give numbers and ranges such as 0,2-3, or all");
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first).ok_or_else(|| bad(part))?, number(last).ok_or_else(|| bad(part))?);
        if first > last {
            return Err(bad(part));
        }
        numbers.extend(first..=last);
    }
    Ok(Processors(numbers))
}

/// Number of a processor; kernels know at most this many.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number < 8192)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poll_modes_are_read_as_typed() {
        assert_eq!(poll("every:10ms"), Ok(PollMode::Every { interval_us: 10_000 }));
        assert_eq!(poll("every:1s"), Ok(PollMode::Every { interval_us: 1_000_000 }));
        assert_eq!(poll("spin"), Ok(PollMode::Spin));
        for bad in
            ["", "Spin", "every", "every:", "every:10", "every:0us", "every:-1us", "every:5000s", "every:ms"]
        {
            assert!(poll(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn processors_are_numbers_and_ranges() {
        assert_eq!(processors("0,2-4"), Ok(Processors(vec![0, 2, 3, 4])));
        assert_eq!(processors("all"), Ok(Processors(vec![])));
        for bad in ["", "a", "3-1", "1,", "0-99999", "-1"] {
            assert!(processors(bad).is_err(), "{bad}");
        }
    }
}
