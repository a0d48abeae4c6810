//! The authorities and revocation lists that clients' certificates are checked against, read from files.

use crate::file_state::FileState;
use crate::settings::{At, ClientsSettings, Settings, Wrong, read_bounded};
use certificates::{Authorities, ListFacts};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use tls::{ClientChain, Refusal};

/// Longest file of authorities or of revocation lists, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The authorities and revocation lists for the clients of some names.
pub(crate) struct ClientRules {
    settings: ClientsSettings,
    /// State of the files when they were read.
    files: Vec<FileState>,
    authorities: Authorities,
    /// Authorities whose names clients are told; `None` if the names are too many.
    told: Option<tls::Authorities>,
    lists: Vec<ListFacts>,
}

/// Tells rules apart: the file of authorities, the files of revocation lists, and the depth.
pub(crate) type Key = (PathBuf, Vec<PathBuf>, u8);

impl ClientRules {
    /// Reads the files, unless they are as they were when `old` was read.
    ///
    /// # Errors
    /// [`Wrong`], with the file and the place in it.
    pub(crate) fn load(
        settings: &Settings,
        of: &ClientsSettings,
        old: Option<&Arc<Self>>,
    ) -> Result<Arc<Self>, Wrong> {
        // Taken before reading, so that a change made meanwhile is noticed the next time.
        let paths = std::iter::once(&of.ca).chain(&of.lists);
        let files: Vec<FileState> = paths.filter_map(|path| FileState::of(&path.value)).collect();
        if let Some(old) = old.filter(|old| old.files == files && old.key() == key(of)) {
            return Ok(Arc::clone(old));
        }
        let wrong = |path: &At<PathBuf>, key: &str, cause: &dyn Display| {
            settings.wrong(path.line, key, format!("{}: {cause}", path.value.display()))
        };
        let of_ca = |cause: &dyn Display| wrong(&of.ca, "ca", cause);
        let text = read_bounded(&of.ca.value, FILE_BYTES_MAX).map_err(|cause| of_ca(&cause))?;
        let text = String::from_utf8(text).map_err(|_| of_ca(&"not PEM: it is no text"))?;
        let mut authorities = Authorities::from_pem(&text, of.depth).map_err(|error| of_ca(&error))?;
        let told = tls::Authorities::from_pem(authorities.to_pem().as_bytes());
        let mut lists = Vec::new();
        for path in &of.lists {
            let of_list = |cause: &dyn Display| wrong(path, "crl", cause);
            let file = read_bounded(&path.value, FILE_BYTES_MAX).map_err(|cause| of_list(&cause))?;
            lists.extend(authorities.add_lists(&file).map_err(|error| of_list(&error))?);
        }
        Ok(Arc::new(Self { settings: of.clone(), files, authorities, told, lists }))
    }

    /// The key that tells these rules from others.
    pub(crate) fn key(&self) -> Key {
        key(&self.settings)
    }

    /// The authorities whose names clients are told; `None` if there are too many.
    pub(crate) fn told(&self) -> Option<&tls::Authorities> {
        self.told.as_ref()
    }

    /// Checks whether a client is let in by its certificates.
    ///
    /// # Errors
    /// The alert for the client, and the reason for the log.
    pub(crate) fn judge(&self, chain: &ClientChain) -> Result<(), Refusal> {
        self.authorities
            .check(&chain.certificates, SystemTime::now())
            .map_err(|why| Refusal { alert: why.alert(), name: why.name() })
    }

    /// A line for people about the authorities and each revocation list.
    pub(crate) fn line(&self, now: i64) -> String {
        let mut line = format!(
            "clients by {}: authorities {}",
            self.settings.ca.value.display(),
            self.authorities.count()
        );
        if self.told.is_none() {
            line += ", whose names are too many for clients to be told";
        }
        for list in &self.lists {
            let days = (list.next_update - now).div_euclid(86_400);
            let due = if days < 0 {
                format!("STALE for {} days: its clients are refused", -days)
            } else {
                format!("next one due in {days} days")
            };
            line += &format!("; {} has revoked {}, {due}", list.issuer, list.revoked);
        }
        line
    }
}

pub(crate) fn key(of: &ClientsSettings) -> Key {
    (of.ca.value.clone(), of.lists.iter().map(|list| list.value.clone()).collect(), of.depth)
}
