//! What development homes alone have: keys of known values, and terminals. In a home with real master keys nothing of
//! it is there, so that no known value is taken for a key of somebody.

use crate::failure::Failure;
use crate::session;
use facility::Facility;
use std::path::Path;

/// Refuses in a home whose master keys are real; `what` is the command.
///
/// # Errors
/// [`Failure::RealKeys`].
pub fn serves(facility: &Facility, what: &'static str) -> Result<(), Failure> {
    match facility.welcome()?.insecure_dev {
        true => Ok(()),
        false => Err(Failure::RealKeys { home: facility.home().folder().to_owned(), what }),
    }
}

/// As [`serves`], of a home that need not serve: its settings say what it is.
///
/// # Errors
/// [`Failure::RealKeys`], and those of a home that cannot be read.
pub fn is_home(asked: Option<&Path>, what: &'static str) -> Result<(), Failure> {
    let home = session::open_home(asked)?;
    match home.settings()?.development {
        Some(_) => Ok(()),
        None => Err(Failure::RealKeys { home: home.folder().to_owned(), what }),
    }
}
