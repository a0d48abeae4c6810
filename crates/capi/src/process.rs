//! The one home and facility of the process: opened at the first call that needs a card, and kept.
//!
//! No lock is held while a home is opened: a child of fork would find it held by a thread that it does not have.
//! Several threads that come first at the same time may each open a home, and one of these stays. What a facility does
//! in a child is its own matter ([`facility`]).

use crate::chosen;
use facility::{Facility, FacilityError, Options, Reply, Selection};
use home::place;
use rustix::fs::{MemfdFlags, fstat, memfd_create};
use std::env;
use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use wire::Codes;
use wire::bounds::DOMAINS_MAX;
use wire::code;
use wire::frame::Arguments;

/// The environment variable that names the card to be used, `CRP01` and so on.
const ADAPTER: &str = "CSU_DEFAULT_ADAPTER";
/// The environment variable that names the domain to be used, by its number.
const DOMAIN: &str = "CSU_DEFAULT_DOMAIN";
/// Values of these variables that leave the choice to the system.
const ANY: [&str; 3] = ["", "DEV-ANY", "DOM-ANY"];

/// An opened home.
struct Open {
    witness: Witness,
    facility: Facility,
    domain: u16,
}

/// The home that was opened last. It stays allocated, since other threads may be using it.
static OPEN: AtomicPtr<Open> = AtomicPtr::new(ptr::null_mut());

/// Calls a verb.
///
/// # Errors
/// Codes for what goes wrong on the way to it.
pub(crate) fn call(arguments: &Arguments<'_>, reply: &mut Reply) -> Result<(), Codes> {
    let open = open()?;
    let domain = chosen::domain().unwrap_or(open.domain);
    let called = match chosen::selection() {
        None => open.facility.call_into(domain, arguments, reply),
        Some(selection) => open.facility.call_on(selection, domain, arguments, reply),
    };
    called.map_err(codes)
}

/// The facility of the process, and the domain that is in use.
///
/// # Errors
/// As [`call`].
pub(crate) fn facility() -> Result<(&'static Facility, u16), Codes> {
    let open = open()?;
    Ok((&open.facility, chosen::domain().unwrap_or(open.domain)))
}

fn codes(error: FacilityError) -> Codes {
    match error {
        FacilityError::TooLong { .. } => code::BUFFER_TOO_SMALL,
        error => error.codes(),
    }
}

fn open() -> Result<&'static Open, Codes> {
    let found = OPEN.load(Ordering::Acquire);
    // SAFETY: what was put there is never freed.
    if let Some(open) = unsafe { found.as_ref() }
        && open.witness.stands()
    {
        return Ok(open);
    }
    let new = Box::into_raw(Box::new(Open::new()?));
    // The earlier home is not closed: the host may have given its descriptors' numbers to files of its own.
    match OPEN.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: it is there, and stays.
        Ok(_) => Ok(unsafe { &*new }),
        Err(other) => {
            // SAFETY: nobody has seen the new one; the other one is there, and stays.
            unsafe {
                drop(Box::from_raw(new));
                Ok(&*other)
            }
        }
    }
}

impl Open {
    fn new() -> Result<Self, Codes> {
        // The witness comes first, so that its number is the lowest: a host that closes all descriptors from some
        // number on closes it too.
        let witness = Witness::new().ok_or(code::NO_CARD)?;
        let folder = place::of_program().ok().flatten().ok_or(code::NO_CARD)?;
        let variable = |name| if place::is_set_id() { None } else { env::var_os(name) };
        let chosen = |name| {
            variable(name)
                .map_or(Ok(String::new()), |value| value.into_string().map_err(|_| code::DEFAULT_RESOURCE))
        };
        let selection = selection(&chosen(ADAPTER)?).ok_or(code::DEFAULT_RESOURCE)?;
        let domain = domain(&chosen(DOMAIN)?).ok_or(code::DEFAULT_RESOURCE)?;
        let credential = facility::credential::from_environment().map_err(codes)?;
        let options = Options { credential, selection, in_caller: false, ..Options::default() };
        let facility = Facility::open(&folder, options).map_err(codes)?;
        Ok(Self { witness, facility, domain })
    }
}

/// The cards that a value of the variable stands for; `None` if it is no card's name.
fn selection(name: &str) -> Option<Selection> {
    if ANY.contains(&name) {
        return Some(Selection::default());
    }
    chosen::card_of(name).map(Selection::card)
}

/// The domain of a number; the first domain if none is named.
fn domain(name: &str) -> Option<u16> {
    if ANY.contains(&name) {
        return Some(0);
    }
    name.parse().ok().filter(|domain| usize::from(*domain) < DOMAINS_MAX)
}

/// A file that nobody else knows of. If its descriptor names another file, or none, the host has closed descriptors
/// that it did not open. It may have given their numbers to files of its own, so none of them is used or closed any
/// more.
#[derive(Debug)]
pub struct Witness {
    descriptor: OwnedFd,
    identity: (u64, u64),
}

impl Witness {
    /// Makes a witness; `None` if no descriptor is left.
    pub fn new() -> Option<Self> {
        let descriptor = memfd_create("cryptand", MemfdFlags::CLOEXEC).ok()?;
        let identity = identity(&descriptor)?;
        Some(Self { descriptor, identity })
    }

    /// Whether the witness's descriptor still names its own file.
    pub fn stands(&self) -> bool {
        identity(&self.descriptor) == Some(self.identity)
    }
}

fn identity(descriptor: &OwnedFd) -> Option<(u64, u64)> {
    fstat(descriptor).ok().map(|found| (found.st_dev, found.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_names_a_card_or_leaves_the_choice() {
        for any in ANY {
            assert_eq!((selection(any), domain(any)), (Some(Selection::default()), Some(0)));
        }
        assert_eq!(selection("CRP01"), Some(Selection::card(0)));
        assert_eq!(selection("CRP64"), Some(Selection::card(63)));
        assert_eq!((domain("0"), domain("15")), (Some(0), Some(15)));
        for wrong in ["CRP00", "CRP65", "CRP1", "CRP001", "crp01", "CRP", "CRP-1", "1"] {
            assert_eq!(selection(wrong), None, "{wrong}");
        }
        for wrong in ["16", "-1", "DOMAIN", "65536", "0x1"] {
            assert_eq!(domain(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_descriptor_that_names_another_file_is_noticed() {
        let (mut witness, other) = (Witness::new().unwrap(), Witness::new().unwrap());
        assert!(witness.stands() && other.stands());
        rustix::io::dup2(&other.descriptor, &mut witness.descriptor).unwrap();
        assert!(!witness.stands() && other.stands());
    }
}
