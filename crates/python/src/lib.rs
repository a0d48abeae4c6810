//! The native half of the Python package `cryptand`: verbs of the table, called by name with Python's values.
//!
//! | file | what it has |
//! |---|---|
//! | [`values`] | the arguments of a verb from a dictionary, and a dictionary of its answer |
//! | [`calls`] | one call, or many in flight, without the interpreter's lock |
//! | [`keys`] | kinds of keys, key records, public keys in PEM |
//! | [`errors`] | the exceptions of `cryptand._errors` |
//!
//! What the functions of the package mean is in `cryptand/*.py`: here is nothing but the way into the facility.
#![forbid(unsafe_code)]

mod calls;
mod errors;
mod keys;
mod values;

use calls::Answered;
use facility::wire::verb::{Kind, TABLE, Verb};
use facility::{Codes, Facility, Options};
use keys::{Listed, Named};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
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

    /// The token of a new key of a kind.
    fn generate<'py>(&self, py: Python<'py>, named: Named) -> PyResult<Bound<'py, PyBytes>> {
        keys::generate(py, &self.facility, self.domain, &named)
    }

    /// Key records whose labels match a pattern: label, store, length of the token in bytes, seconds since 1970 of the
    /// last change, length of the certificate chain in bytes.
    #[pyo3(signature = (pattern, store))]
    fn records(&self, py: Python<'_>, pattern: &str, store: Option<&str>) -> PyResult<Vec<Listed>> {
        keys::records(py, &self.facility, pattern, store)
    }

    /// The token of a key record; empty where it has none.
    fn read<'py>(&self, py: Python<'py>, store: &str, label: &str) -> PyResult<Bound<'py, PyBytes>> {
        keys::read(py, &self.facility, store, label)
    }

    /// Records a token: under a new label, or in the place of the record's own.
    fn write(&self, py: Python<'_>, label: &str, token: &[u8], replace: bool) -> PyResult<()> {
        keys::write(py, &self.facility, label, token, replace)
    }

    /// Deletes a key record, or its token alone.
    fn delete(&self, py: Python<'_>, store: &str, label: &str, token_only: bool) -> PyResult<()> {
        keys::delete(py, &self.facility, store, label, token_only)
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

/// Names of the parameters of a verb that a label may be in.
#[pyfunction]
fn key_parameters(verb: &str) -> Vec<&'static str> {
    let Some(verb) = Verb::from_name(verb) else { return Vec::new() };
    let keys = verb.entry().parameters.iter().filter(|parameter| matches!(parameter.kind, Kind::Key { .. }));
    keys.map(|parameter| parameter.name).collect()
}

/// Names of all kinds of keys.
#[pyfunction]
fn kinds() -> Vec<String> {
    keys::kinds()
}

/// The store of tokens of a kind.
#[pyfunction]
fn store_of(named: Named) -> PyResult<&'static str> {
    keys::store_of(&named)
}

/// A token of a kind without a key.
#[pyfunction]
fn skeleton(py: Python<'_>, named: Named) -> PyResult<Bound<'_, PyBytes>> {
    keys::skeleton(py, &named)
}

/// Of what a token's key is: DES, AES, AES-VARIABLE, HMAC, PKA, KEY-BLOCK; none for what is no token.
#[pyfunction]
fn family(token: &[u8]) -> Option<&'static str> {
    keys::family(token)
}

/// The public key of a token as PEM.
#[pyfunction]
fn public_pem(token: &[u8]) -> PyResult<String> {
    keys::public_pem(token)
}

/// The token of a public key in PEM.
#[pyfunction]
fn public_token<'py>(py: Python<'py>, pem: &str) -> PyResult<Bound<'py, PyBytes>> {
    keys::public_token(py, pem)
}

/// An ECDSA signature of a card, two numbers of equal length, in DER.
#[pyfunction]
fn ecdsa_der<'py>(py: Python<'py>, numbers: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    keys::ecdsa_der(py, numbers)
}

/// An ECDSA signature in DER as two numbers, as long as those of the curve of a public key's token; none for what is no
/// signature of the curve.
#[pyfunction]
fn ecdsa_numbers<'py>(py: Python<'py>, der: &[u8], token: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
    keys::ecdsa_numbers(py, der, token)
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        Connection, ecdsa_der, ecdsa_numbers, family, key_parameters, kinds, meaning, public_pem,
        public_token, skeleton, store_of, verbs,
    };
}
