//! The table `[pin]`: the stored decimalisation tables, and the number of wrong PINs that is too
//! many.

use super::{Settings, SettingsError};
use serde::{Deserialize, Serialize};
use wire::bounds::PIN_TABLES_MAX;
use wire::pin::DecimalisationTable;

/// Settings of a home about PINs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PinSettings {
    /// Decimalisation tables that PIN verbs accept from every role, beside
    /// [`DecimalisationTable::DEFAULT`].
    pub tables: Vec<DecimalisationTable>,
    /// After this many wrong PINs of one key within an hour, verifications with the key are
    /// refused; 0 for never.
    pub key_failures_per_hour: u32,
    /// After this many wrong PINs of one key within an hour from one tenant, that tenant alone is
    /// refused; 0 for never.
    pub tenant_key_failures_per_hour: u32,
}

impl Default for PinSettings {
    fn default() -> Self {
        Self { tables: Vec::new(), key_failures_per_hour: 500, tenant_key_failures_per_hour: 250 }
    }
}

impl Settings {
    pub(super) fn check_pin(&self) -> Result<(), SettingsError> {
        let wrong = |key, cause| Err(SettingsError::Pin { key, cause });
        let tables = &self.pin.tables;
        if tables.len() > PIN_TABLES_MAX {
            return wrong("tables", format!("{} tables; at most {PIN_TABLES_MAX}", tables.len()));
        }
        if tables.contains(&DecimalisationTable::DEFAULT) {
            return wrong("tables", format!("{} is stored in every card", DecimalisationTable::DEFAULT));
        }
        let is_twice = |(at, table): &(usize, &DecimalisationTable)| tables[..*at].contains(table);
        match tables.iter().enumerate().find(is_twice) {
            Some((_, table)) => wrong("tables", format!("{table} stands there twice")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Programs;

    fn with(tables: &[&str]) -> Result<Settings, SettingsError> {
        let (daemon, card) = ("/opt/cryptand-daemon".into(), "/opt/cryptand-card".into());
        let text = Settings::new(Programs { daemon, card, manifest: None }).to_text()?;
        Settings::from_text(&text.replace("\ntables = []", &format!("\ntables = {tables:?}")))
    }

    #[test]
    fn tables_are_stored_once_and_not_too_many() {
        assert_eq!(with(&[]).unwrap().pin, PinSettings::default());
        let two = with(&["9876543210123456", "0000123456778888"]).unwrap();
        assert_eq!(two.pin.tables.len(), 2);
        assert_eq!(Settings::from_text(&two.to_text().unwrap()).unwrap(), two);
        let error = |tables: &[&str]| with(tables).unwrap_err().to_string();
        assert!(error(&["9876543210123456", "9876543210123456"]).contains("twice"));
        assert!(error(&["0123456789012345"]).contains("in every card"));
        assert!(error(&["0000000000000000"]).contains("1 different digits"));
        assert!(error(&["012345678901234"]).contains("16 decimal digits"));
        // Each of the tables has ten different digits, some of them more than once.
        let many = (0..=PIN_TABLES_MAX).map(|at| {
            let (a, b) = (at % 10, (at / 10 + at + 1) % 10);
            format!("9876543210{a}{b}{a}{b}01")
        });
        let many: Vec<String> = many.collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(with(&many[1..]).unwrap().pin.tables.len(), PIN_TABLES_MAX);
        assert!(error(&many).contains("at most 32"));
    }
}
