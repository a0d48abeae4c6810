//! The native half of the Python package `cryptand`: verbs of the table, called by name with Python's values.
//!
//! | file | what it has |
//! |---|---|
//! | [`values`] | the arguments of a verb from a dictionary, and a dictionary of its answer |
//! | [`calls`] | one call, or many in flight, without the interpreter's lock |
//! | [`errors`] | the exceptions of `cryptand._errors` |
//!
//! What the functions of the package mean is in `cryptand/*.py`: here is nothing but the way into the facility.
#![forbid(unsafe_code)]

mod calls;
mod errors;
mod values;

use calls::Answered;
use facility::wire::verb::TABLE;
use facility::{Codes, Facility, Options};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// A home, opened: the daemon was reached.
#[pyclass(frozen, module = "cryptand._native")]
struct Connection {
    facility: Facility,
    domain: u16,
}

#[pymethods]
impl Connection {
    /// Opens the home in a folder; without a folder, the home of `CRYPTAND_HOME` or the user's own.
    #[new]
    #[pyo3(signature = (folder, credential_file, domain))]
    fn new(
        py: Python<'_>,
        folder: Option<PathBuf>,
        credential_file: Option<PathBuf>,
        domain: u16,
    ) -> PyResult<Self> {
        let folder = match folder {
            Some(folder) => folder,
            None => home::place::of_program()
                .map_err(|error| errors::of(py, &error.into()))?
                .ok_or_else(|| errors::no_home(py))?,
        };
        let opened = py.detach(|| {
            let credential = match &credential_file {
                Some(path) => Some(facility::credential::read(path)?),
                None => facility::credential::from_environment()?,
            };
            Facility::open(&folder, Options { credential, ..Options::default() })
        });
        Ok(Self { facility: opened.map_err(|error| errors::of(py, &error))?, domain })
    }

    /// The folder of the home.
    fn folder(&self) -> PathBuf {
        self.facility.home().folder().to_owned()
    }

    /// Calls a verb: return code, reason code, and a dictionary of what it answers.
    fn call<'py>(
        &self,
        py: Python<'py>,
        verb: &str,
        parameters: &Bound<'py, PyDict>,
    ) -> PyResult<Answered<'py>> {
        calls::one(py, &self.facility, self.domain, verb, parameters)
    }

    /// Calls a verb for each dictionary, with many requests in flight: for each what `call` gives, or the exception
    /// that it raises.
    fn call_many<'py>(
        &self,
        py: Python<'py>,
        verb: &str,
        requests: Vec<Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        calls::many(py, &self.facility, self.domain, verb, &requests)
    }
}

/// What a return and reason code mean, where that is known.
#[pyfunction]
fn meaning(return_code: i32, reason_code: i32) -> Option<&'static str> {
    Codes { return_code, reason_code }.meaning()
}

/// Every verb: its name and the names of its parameters, in order.
#[pyfunction]
fn verbs() -> Vec<(&'static str, Vec<&'static str>)> {
    let names = |entry: &'static facility::wire::verb::Entry| {
        (entry.name, entry.parameters.iter().map(|parameter| parameter.name).collect())
    };
    TABLE.iter().map(names).collect()
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{Connection, meaning, verbs};
}
