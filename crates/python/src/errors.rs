//! Exceptions: classes of `cryptand._errors`, which are written in Python.

use facility::{FacilityError, Ran};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The exception for an error of the facility; it says whether the request may have run.
pub(crate) fn of(py: Python<'_>, error: &FacilityError) -> PyErr {
    let may_have_run = error.ran() == Ran::Maybe;
    raise(py, &error.to_string(), may_have_run)
}

/// The exception for a missing home: no folder is given, and `CRYPTAND_HOME` is not set.
pub(crate) fn no_home(py: Python<'_>) -> PyErr {
    raise(py, "no home named: give its folder, or set CRYPTAND_HOME", false)
}

/// The exception for an argument that does not fit the table of verbs.
pub(crate) fn argument(text: String) -> PyErr {
    PyValueError::new_err(text)
}

fn raise(py: Python<'_>, text: &str, may_have_run: bool) -> PyErr {
    let made = || py.import("cryptand._errors")?.getattr("HomeError")?.call1((text, may_have_run));
    match made() {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
