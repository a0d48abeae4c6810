//! The card of each thread and the domain of the process, as they have chosen.

use facility::Selection;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use wire::bounds::CARDS_MAX;

/// The prefix of a card's name, in front of its number.
const CARD: &str = "CRP";

/// The card of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// The card that the environment names.
    Default,
    /// Any card, whatever the environment says.
    Any,
    /// The card of this index.
    Card(u32),
}

thread_local! {
    static CHOSEN: Cell<Chosen> = const { Cell::new(Chosen::Default) };
}

/// The domain of the process.
static ALLOCATED: AtomicU32 = AtomicU32::new(NO_DOMAIN);
const NO_DOMAIN: u32 = u32::MAX;

/// The cards that this thread has allocated, if any.
pub(crate) fn selection() -> Option<Selection> {
    match CHOSEN.try_with(Cell::get) {
        Ok(Chosen::Any) => Some(Selection::default()),
        Ok(Chosen::Card(index)) => Some(Selection::card(index)),
        Ok(Chosen::Default) | Err(_) => None,
    }
}

/// The domain that is allocated, if any.
pub(crate) fn domain() -> Option<u16> {
    u16::try_from(ALLOCATED.load(Ordering::Relaxed)).ok()
}

/// The index of the card of a name, `CRP01` and so on.
pub(crate) fn card_of(name: &str) -> Option<u32> {
    let number: usize = name.strip_prefix(CARD).filter(|digits| digits.len() == 2)?.parse().ok()?;
    (1..=CARDS_MAX).contains(&number).then(|| number as u32 - 1)
}

/// The card that this thread has chosen.
pub(crate) fn own() -> Chosen {
    CHOSEN.try_with(Cell::get).unwrap_or(Chosen::Default)
}

/// Sets the card that this thread uses from now on.
pub(crate) fn choose(chosen: Chosen) {
    // A thread whose variables have ended calls no more.
    let _ = CHOSEN.try_with(|own| own.set(chosen));
}

/// Sets the domain that the process uses from now on; `None` for the domain of the environment.
pub(crate) fn allocate(domain: Option<u16>) {
    ALLOCATED.store(domain.map_or(NO_DOMAIN, u32::from), Ordering::Relaxed);
}
