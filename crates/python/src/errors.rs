//! Exceptions: classes of `cryptand._errors`, which are written in Python.

use facility::wire::control::Refusal;
use facility::{Codes, FacilityError, Ran};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The exception for an error of the facility: by its codes where the request was refused with some, else one of the
/// home, which says whether the request may have run.
pub(crate) fn of(py: Python<'_>, error: &FacilityError) -> PyErr {
    let text = error.to_string();
    let Some((what, codes)) = refused(error) else {
        return home_error(py, &text, error.ran() == Ran::Maybe);
    };
    // The others say no more than their codes.
    let advises = matches!(
        error,
        FacilityError::TooLong { .. } | FacilityError::Forbidden { .. } | FacilityError::Denied { .. }
    );
    let advice = advises.then(|| text.strip_prefix(&format!("{what}: ")).unwrap_or(&text));
    raise(py, "_refused", (what, codes.return_code, codes.reason_code, codes.meaning(), advice))
}

/// What was refused by the caller's own request, its rights or its labels, and the codes for it.
fn refused(error: &FacilityError) -> Option<(&'static str, Codes)> {
    let what = match error {
        FacilityError::Verb { verb, .. }
        | FacilityError::TooLong { verb, .. }
        | FacilityError::Forbidden { verb }
        | FacilityError::StaleKey { verb } => verb.entry().name,
        FacilityError::Refused { operation, refusal: Refusal::Verb(_) | Refusal::Denied } => operation,
        FacilityError::Denied { what } => what,
        _ => return None,
    };
    Some((what, error.codes()))
}

/// The exception for a missing home: no folder is given, and `CRYPTAND_HOME` is not set.
pub(crate) fn no_home(py: Python<'_>) -> PyErr {
    home_error(py, "no home named: give its folder, or set CRYPTAND_HOME", false)
}

/// The exception for an argument that does not fit the table of verbs.
pub(crate) fn argument(text: String) -> PyErr {
    PyValueError::new_err(text)
}

fn home_error(py: Python<'_>, text: &str, may_have_run: bool) -> PyErr {
    raise(py, "HomeError", (text, may_have_run))
}

/// What a name of `cryptand._errors` makes of these values.
fn raise<'py>(py: Python<'py>, name: &str, values: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let made = move || py.import("cryptand._errors")?.getattr(name)?.call1(values);
    match made() {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
