//! `cryptand key list`: records with the kinds of their keys, when they were written and, if asked for, check values.

use super::check;
use crate::args::time;
use crate::describe;
use crate::failure::Failure;
use crate::output::{print, print_json, table};
use facility::Facility;
use serde_json::{Value, json};
use wire::code;
use wire::control::{RecordRow, Store};

/// Prints the records whose labels match; with check values in this domain.
pub fn run(
    facility: &Facility,
    pattern: &str,
    store: Option<Store>,
    check_values: Option<u16>,
    json: bool,
) -> Result<(), Failure> {
    let rows = facility.records(store, pattern)?;
    let mut listed = Vec::with_capacity(rows.len());
    for row in rows {
        listed.extend(Listed::of(facility, row, check_values)?);
    }
    if json {
        return print_json(&listed.iter().map(Listed::json).collect::<Vec<_>>());
    }
    let bytes = |bytes: u32| if bytes == 0 { "none".to_owned() } else { format!("{bytes} bytes") };
    let shown = |listed: &Listed| {
        let row = &listed.row;
        let written = time::to_text(u32::try_from(row.written_unix_s).unwrap_or(u32::MAX));
        let kind = listed.kind.as_deref().unwrap_or("not readable");
        let parts = if listed.is_incomplete { ", parts missing" } else { "" };
        let mut cells = vec![
            row.label.to_string(),
            super::store_name(row.store).to_owned(),
            format!("{kind}{parts}"),
            written,
        ];
        if check_values.is_some() {
            cells.push(listed.check_value.as_ref().map_or("-".to_owned(), |(_, value)| value.clone()));
        }
        cells.extend([bytes(row.token_bytes), bytes(row.chain_bytes)]);
        cells
    };
    let mut heads = vec!["label", "store", "kind", "written"];
    heads.extend(check_values.map(|_| "check value"));
    heads.extend(["token", "certificates"]);
    print(&table(&heads, listed.iter().map(shown)))
}

/// A record and what its token says.
struct Listed {
    row: RecordRow,
    /// None where the caller may list the record and not read it.
    kind: Option<String>,
    is_incomplete: bool,
    /// Method and value; none where there is none, and where the caller may not have it.
    check_value: Option<(&'static str, String)>,
}

impl Listed {
    /// None for a record that was deleted meanwhile.
    fn of(facility: &Facility, row: RecordRow, check_values: Option<u16>) -> Result<Option<Self>, Failure> {
        let token = match facility.record_read(row.store, &row.label) {
            Ok(token) => Some(token),
            Err(error) if error.codes() == code::ACCESS_DENIED => None,
            Err(error) if error.codes() == code::LABEL_NOT_FOUND => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let is_incomplete = token.as_deref().is_some_and(describe::is_incomplete);
        let check_value = match (check_values, &token) {
            (Some(domain), Some(token)) if !token.is_empty() => {
                check::customary(facility, domain, (row.store, &row.label), token)?
            }
            _ => None,
        };
        Ok(Some(Self { row, kind: token.as_deref().map(describe::kind_of), is_incomplete, check_value }))
    }

    fn json(&self) -> Value {
        let mut all = json!(self.row);
        all["kind"] = json!(self.kind);
        all["is_incomplete"] = self.is_incomplete.into();
        if let Some((method, value)) = &self.check_value {
            all["check_value"] = json!(value);
            all["check_value_method"] = json!(method);
        }
        all
    }
}
