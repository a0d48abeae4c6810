//! Finds the line of a settings file that an error is about.

use super::SettingsError;
use std::ops::Range;
use toml_edit::{Document, Item, TableLike};

/// The error, with its line if the text has a line for it.
pub(super) fn with_line(error: SettingsError, text: &str) -> SettingsError {
    match find(&error, text) {
        Some(line) => SettingsError::AtLine { line, error: Box::new(error) },
        None => error,
    }
}

fn find(error: &SettingsError, text: &str) -> Option<usize> {
    let document = Document::parse(text).ok()?;
    let root: &dyn TableLike = document.as_table();
    let at = match error {
        SettingsError::Role { name, key, .. } => of_table(root, "role", "name", name, key),
        SettingsError::Tenant { name, key, .. } => of_table(root, "tenant", "name", name, key),
        SettingsError::Access { key, .. } => of_plain(root, "access", key),
        SettingsError::PreparedKeys(_) => of_plain(root, "cards", "prepared_keys_mib"),
        SettingsError::Labels(_) => of_plain(root, "daemon", "labels"),
        SettingsError::Quarantine { key, .. } => of_plain(root, "quarantine", key),
        SettingsError::Pin { key, .. } => of_plain(root, "pin", key),
        _ => None,
    }?;
    Some(text.get(..at.start)?.matches('\n').count() + 1)
}

/// The place of a key in the table of this name, or of the table if it lacks the key.
fn of_plain(root: &dyn TableLike, name: &str, key: &str) -> Option<Range<usize>> {
    let table = root.get(name)?;
    span_of(table.as_table_like()?, key).or_else(|| table.span())
}

/// The place of a key in the table of an array that has this name. If several tables have the name,
/// the last one counts: an error in the name is an error of the last one.
fn of_table(root: &dyn TableLike, array: &str, by: &str, name: &str, key: &str) -> Option<Range<usize>> {
    let tables: Vec<&dyn TableLike> = match root.get(array)? {
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table as &dyn TableLike).collect(),
        item => item.as_array()?.iter().filter_map(|value| Some(value.as_inline_table()? as _)).collect(),
    };
    let has_name = |table: &&dyn TableLike| table.get(by).and_then(Item::as_str) == Some(name);
    let table = tables.into_iter().rev().find(has_name)?;
    span_of(table, key).or_else(|| span_of(table, by))
}

fn span_of(table: &dyn TableLike, key: &str) -> Option<Range<usize>> {
    let (first, _) = key.split_once('.').unwrap_or((key, ""));
    table.key(first).and_then(toml_edit::Key::span).or_else(|| table.get(first)?.span())
}
