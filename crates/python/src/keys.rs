//! Keys by the names of their kinds, and key records: tokens and labels, as Python's values.

use crate::errors;
use facility::keys::{GenerateError, NamedKind, Usage, Wanted};
use facility::wire::control::Store;
use facility::{Facility, Label};
use keyfiles::PublicKey;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use token::VariableToken;

/// A kind as it is typed: its name, keywords of the key and of the keys that it derives, and the kind of the keys
/// that it agrees on.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Named {
    kind: String,
    usage: Vec<String>,
    derived_usage: Vec<String>,
    derives: Option<String>,
}

impl Named {
    fn read(&self) -> PyResult<(NamedKind, Usage, Option<NamedKind>)> {
        let kind = |name: &String| {
            NamedKind::parse(name).map_err(|error| errors::argument(format!("kind {name:?}: {error}")))
        };
        let derives = self.derives.as_ref().map(kind).transpose()?;
        Ok((kind(&self.kind)?, Usage::new(&self.usage, &self.derived_usage), derives))
    }
}

/// Label, store, length of the token in bytes, seconds since 1970 of the last change, length of the chain in bytes.
pub(crate) type Listed = (String, &'static str, u32, u64, u32);

/// Names of all kinds.
pub(crate) fn kinds() -> Vec<String> {
    NamedKind::all().map(NamedKind::name).collect()
}

/// The store of tokens of a kind.
pub(crate) fn store_of(named: &Named) -> PyResult<&'static str> {
    Ok(store_name(named.read()?.0.store()))
}

/// A token of a kind without a key.
pub(crate) fn skeleton<'py>(py: Python<'py>, named: &Named) -> PyResult<Bound<'py, PyBytes>> {
    let (kind, usage, derives) = named.read()?;
    let token = kind.skeleton(&usage, derives).map_err(|error| errors::argument(error.to_string()))?;
    Ok(PyBytes::new(py, &token))
}

/// The token of a new key of a kind.
pub(crate) fn generate<'py>(
    py: Python<'py>,
    facility: &Facility,
    domain: u16,
    named: &Named,
) -> PyResult<Bound<'py, PyBytes>> {
    let (kind, usage, derives) = named.read()?;
    let wanted = Wanted { kind, usage: Some(&usage), derives };
    let token = py.detach(|| facility.generate(domain, &wanted)).map_err(|error| match error {
        GenerateError::Skeleton(error) => errors::argument(error.to_string()),
        GenerateError::Facility(error) => errors::of(py, &error),
    })?;
    Ok(PyBytes::new(py, &token))
}

/// Key records whose labels match a pattern.
pub(crate) fn records(
    py: Python<'_>,
    facility: &Facility,
    pattern: &str,
    store: Option<&str>,
) -> PyResult<Vec<Listed>> {
    let store = store.map(store_named).transpose()?;
    let rows = py.detach(|| facility.records(store, pattern)).map_err(|error| errors::of(py, &error))?;
    let listed = rows.into_iter().map(|row| {
        let label = row.label.to_string();
        (label, store_name(row.store), row.token_bytes, row.written_unix_s, row.chain_bytes)
    });
    Ok(listed.collect())
}

/// The token of a key record.
pub(crate) fn read<'py>(
    py: Python<'py>,
    facility: &Facility,
    store: &str,
    label: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let (store, label) = (store_named(store)?, label_of(label)?);
    let token = py.detach(|| facility.record_read(store, &label)).map_err(|error| errors::of(py, &error))?;
    Ok(PyBytes::new(py, &token))
}

/// Records a token: under a new label, or in the place of the record's own.
pub(crate) fn write(
    py: Python<'_>,
    facility: &Facility,
    label: &str,
    token: &[u8],
    replace: bool,
) -> PyResult<()> {
    let label = label_of(label)?;
    let store = token::Format::of(token)
        .store()
        .ok_or_else(|| errors::argument("token: neither a key token nor a key block".to_owned()))?;
    let written = py.detach(|| match replace {
        true => facility.record_write(store, &label, token),
        false => facility.record_create(store, &label, token),
    });
    written.map_err(|error| errors::of(py, &error))
}

/// Deletes a key record, or its token.
pub(crate) fn delete(
    py: Python<'_>,
    facility: &Facility,
    store: &str,
    label: &str,
    token_only: bool,
) -> PyResult<()> {
    let (store, label) = (store_named(store)?, label_of(label)?);
    py.detach(|| facility.record_delete(store, &label, token_only)).map_err(|error| errors::of(py, &error))
}

/// Of what a token's key is, as verbs that test and use it have to know: `DES`, `AES` in tokens of fixed or of variable
/// length, `HMAC`; `PKA` for key pairs, `KEY-BLOCK` for a block that is recorded as one. None for what is no token.
pub(crate) fn family(bytes: &[u8]) -> Option<&'static str> {
    let format = token::Format::of(bytes);
    Some(match (format.store()?, VariableToken::parse(bytes)) {
        _ if format == token::Format::KeyBlock => "KEY-BLOCK",
        (Store::Pka, _) => "PKA",
        (Store::Des, _) => "DES",
        (Store::Aes, Ok(token)) if token.key_type().is_aes() => "AES-VARIABLE",
        (Store::Aes, Ok(_)) => "HMAC",
        (Store::Aes, Err(_)) => "AES",
    })
}

/// The public key of a token as PEM.
pub(crate) fn public_pem(token: &[u8]) -> PyResult<String> {
    let public = PublicKey::of_token(token).map_err(errors::argument)?;
    public.to_pem().map_err(|error| errors::argument(error.to_string()))
}

/// The token of a public key in PEM.
pub(crate) fn public_token<'py>(py: Python<'py>, pem: &str) -> PyResult<Bound<'py, PyBytes>> {
    let token = PublicKey::from_pem(pem).and_then(|public| public.to_token());
    Ok(PyBytes::new(py, &token.map_err(errors::argument)?))
}

/// An ECDSA signature of a card in DER.
pub(crate) fn ecdsa_der<'py>(py: Python<'py>, numbers: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let der = keyfiles::ecdsa_sig_value(numbers)
        .ok_or_else(|| errors::argument("signature: no two numbers of equal length".to_owned()))?;
    Ok(PyBytes::new(py, &der))
}

/// An ECDSA signature in DER as a card verifies it: two numbers, as long as those of the curve of the public key's
/// token. None for what is no signature of this curve.
pub(crate) fn ecdsa_numbers<'py>(
    py: Python<'py>,
    der: &[u8],
    token: &[u8],
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let PublicKey::Curve(curve, _) = PublicKey::of_token(token).map_err(errors::argument)? else {
        return Err(errors::argument("key: an RSA key, and ECDSA takes one of a curve".to_owned()));
    };
    Ok(keyfiles::ecdsa_numbers(der, curve.bytes()).map(|numbers| PyBytes::new(py, &numbers)))
}

fn label_of(text: &str) -> PyResult<Label> {
    Label::new(text).map_err(|error| errors::argument(format!("label {text:?}: {error}")))
}

fn store_named(name: &str) -> PyResult<Store> {
    STORES
        .iter()
        .find(|(_, own)| *own == name)
        .map(|(store, _)| *store)
        .ok_or_else(|| errors::argument(format!("store: expected one of des, aes, pka, not {name:?}")))
}

fn store_name(store: Store) -> &'static str {
    STORES.iter().find(|(own, _)| *own == store).map_or("", |(_, name)| *name)
}

/// Stores by the names that `cryptand key list` gives them.
const STORES: [(Store, &str); 3] = [(Store::Des, "des"), (Store::Aes, "aes"), (Store::Pka, "pka")];
