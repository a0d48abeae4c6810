//! The card program with a flaw in it that no production program has: a request of one verb ends the card. It stands in
//! the place of `cryptand-card` in a test's settings; the name of its program file says when it dies ([`Poison`]).
//!
//! All else is the real program: sandbox, batches, turns, what it writes down of its passes.
#![forbid(unsafe_code)]

use card::held::{Until, Waits};
use std::path::PathBuf;
use std::process::ExitCode;
use system_tests::poison::{POISON, Poison};
use wire::verb::Verb;

#[global_allocator]
static HEAP: confine::arena::SecretHeap = confine::arena::SecretHeap::new();

/// What the pass that is about to run holds, as far as it was told.
struct Flaw {
    poison: Poison,
    pass_tsc: u64,
    has_poison: bool,
    has_other: bool,
}

impl Waits for Flaw {
    fn until(&mut self, now_tsc: u64, slot: usize) -> Until {
        if std::mem::replace(&mut self.pass_tsc, now_tsc) != now_tsc {
            (self.has_poison, self.has_other) = (false, false);
        }
        self.has_poison |= slot == POISON.slot();
        self.has_other |= slot == Verb::MacGenerate.slot();
        let dies = match self.poison {
            Poison::Always => self.has_poison,
            Poison::InCompany => self.has_poison && self.has_other,
        };
        if dies {
            std::process::abort();
        }
        Until::Now
    }
}

fn main() -> ExitCode {
    let path = PathBuf::from(std::env::args_os().next().unwrap_or_default());
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|text| text.to_string_lossy().into()).collect();
    card::program::main_with(&arguments, |_start| {
        let named = |poison: &Poison| poison.name() == name;
        let poison = Poison::ALL.into_iter().find(named).ok_or(format!("{name}: no such flaw"))?;
        Ok(Some(Box::new(Flaw { poison, pass_tsc: 0, has_poison: false, has_other: false })))
    })
}
