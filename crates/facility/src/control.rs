//! The control plane as typed functions: status, cards, settings, backups, officers, key records.

pub(crate) mod connection;
pub mod credential;
pub mod officer;
pub(crate) mod records;
pub(crate) mod start;

use crate::Facility;
use crate::control::connection::{ANSWER_WAIT, Patience, Repeat};
use crate::error::{FacilityError, ProtocolError};
use std::path::Path;
use wire::bounds::LIST_ROWS_MAX;
use wire::control::{
    CardRow, ClientReply, ClientRequest, MasterKeyName, OfficerOrder, OfficerReply, Record, RecordRow,
    Refusal, Replacement, Status, Store, Upgrade,
};
use wire::pin::{DecimalisationTable, Digest, FailureRow};
use wire::tenant::{Change, TenantRow};
use wire::{KeyReference, Label};

/// An opened label: its reference, its store and the length of its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The reference that stands for the label's token in requests.
    pub reference: KeyReference,
    /// Store that the label was found in.
    pub store: Store,
    /// Length of its token in bytes.
    pub token_bytes: u32,
}

impl Facility {
    /// The state of the installation.
    ///
    /// # Errors
    /// [`FacilityError`] of the control connection.
    pub fn status(&self) -> Result<Status, FacilityError> {
        match self.asked("ask for the status", &ClientRequest::Status, Repeat::Safe)? {
            ClientReply::Status(status) => Ok(status),
            _ => Err(unexpected("ask for the status")),
        }
    }

    /// The cards that the caller's tenant may use, each with its state; [`Facility::status`] shows all.
    ///
    /// # Errors
    /// [`FacilityError`] of the control connection.
    pub fn cards(&self) -> Result<Vec<CardRow>, FacilityError> {
        match self.asked("ask for the cards", &ClientRequest::Cards, Repeat::Safe)? {
            ClientReply::Cards(cards) => Ok(cards),
            _ => Err(unexpected("ask for the cards")),
        }
    }

    /// The tenants, in the order of their ids; a caller that does not administer the home gets only its own.
    ///
    /// # Errors
    /// [`FacilityError`] of the control connection.
    pub fn tenants(&self) -> Result<Vec<TenantRow>, FacilityError> {
        let operation = "ask for the tenants";
        let mut all: Vec<TenantRow> = Vec::new();
        loop {
            let after = all.last().map(|row| row.id);
            let ClientReply::Tenants(page) =
                self.asked(operation, &ClientRequest::Tenants { after }, Repeat::Safe)?
            else {
                return Err(unexpected(operation));
            };
            // Pages go forward; one that does not would go on for ever.
            match page.first() {
                None => return Ok(all),
                Some(first) if after.is_some_and(|after| first.id <= after) => {
                    return Err(unexpected(operation));
                }
                Some(_) => all.extend(page),
            }
        }
    }

    /// Changes tenants, cards or decimalisation tables while they run, and returns when that is carried out.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with the reason, such as [`Refusal::Strands`]; unless that says otherwise
    /// nothing was changed. [`FacilityError::Denied`] if the caller does not administer the home.
    pub fn change(&self, change: Change) -> Result<(), FacilityError> {
        self.done("change tenants or cards", &ClientRequest::Change(change), Repeat::Never)
    }

    /// The stored decimalisation tables, beside the one that every card has.
    ///
    /// # Errors
    /// [`FacilityError::Denied`] if the caller does not administer the home.
    pub fn tables(&self) -> Result<Vec<DecimalisationTable>, FacilityError> {
        let operation = "ask for the decimalisation tables";
        match self.asked(operation, &ClientRequest::Tables, Repeat::Safe)? {
            ClientReply::Tables(tables) => Ok(tables),
            _ => Err(unexpected(operation)),
        }
    }

    /// The counted failures of PINs, in the order of their digests; with `refused`, only those whose verifications are
    /// refused.
    ///
    /// # Errors
    /// [`FacilityError::Denied`] if the caller does not administer the home.
    pub fn failures(&self, refused: bool) -> Result<Vec<FailureRow>, FacilityError> {
        let operation = "ask for the failures of PINs";
        let mut all: Vec<FailureRow> = Vec::new();
        loop {
            let after = all.last().map(|row| row.digest);
            let request = ClientRequest::Failures { after, refused };
            let ClientReply::Failures(page) = self.asked(operation, &request, Repeat::Safe)? else {
                return Err(unexpected(operation));
            };
            // Pages go forward; one that does not would go on for ever.
            match page.first() {
                None => return Ok(all),
                Some(first) if after.is_some_and(|after| first.digest <= after) => {
                    return Err(unexpected(operation));
                }
                Some(_) => all.extend(page),
            }
        }
    }

    /// Forgets the failures that are counted under a digest, or all; returns when that is durable.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] if nothing is counted under it. [`FacilityError::Denied`] if the caller does not
    /// administer the home.
    pub fn clear_failures(&self, digest: Option<Digest>) -> Result<(), FacilityError> {
        self.done("forget failures of PINs", &ClientRequest::ClearFailures { digest }, Repeat::Safe)
    }

    /// Ends the quarantine of a tenant, or of a user without a named tenant, and forgets the deaths of cards that led
    /// to it.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] if there is nothing to end. [`FacilityError::Denied`] if the caller does not
    /// administer the home.
    pub fn lift(&self, tenant: &str) -> Result<(), FacilityError> {
        self.done("lift a quarantine", &ClientRequest::Lift { tenant: tenant.to_owned() }, Repeat::Never)
    }

    /// Replaces a process that runs an older program by one that runs the installed program, and returns when the new
    /// process serves. For the daemon it returns as the old process ends, and the next call finds the new one.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] if the installed programs are not those of the manifest, or with the reason why the
    /// process is not replaced, such as [`Refusal::NotSealed`]. [`FacilityError::Denied`] if the caller does not
    /// administer the home.
    pub fn upgrade(&self, step: Upgrade) -> Result<(), FacilityError> {
        self.done("replace a program that runs", &ClientRequest::Upgrade(step), Repeat::Never)
    }

    /// Has the daemon read the settings file again, and start, stop or change cards accordingly.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] if the settings are not valid: the running ones then stay in force.
    pub fn reload(&self) -> Result<(), FacilityError> {
        self.done("reload the settings", &ClientRequest::Reload, Repeat::Safe)
    }

    /// Stops the daemon, its cards and the keeper; with `lose_keys` also if that loses master keys.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with [`Refusal::NotSealed`] if master keys in use are in no sealed copy.
    pub fn shutdown(&self, lose_keys: bool) -> Result<(), FacilityError> {
        self.done("stop the daemon", &ClientRequest::Shutdown { lose_keys }, Repeat::Never)
    }

    /// Writes a consistent copy of the home's stores into an existing, empty folder, given by its
    /// absolute path. The daemon writes it, with the daemon's rights.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with path and cause.
    pub fn backup(&self, folder: &Path) -> Result<(), FacilityError> {
        let folder = std::path::absolute(folder)
            .map_err(|cause| FacilityError::Io { operation: "resolve the folder of the backup", cause })?;
        let Some(folder) = folder.to_str() else {
            let cause = std::io::Error::new(std::io::ErrorKind::InvalidInput, "the path is not UTF-8");
            return Err(FacilityError::Io { operation: "name the folder of the backup", cause });
        };
        let request = ClientRequest::Backup { folder: folder.to_owned() };
        self.done("write a backup", &request, Repeat::Never)
    }

    /// A page of the records whose keys are under master keys other than these, with their tokens, in the order of
    /// their labels; an empty page is the last. For administrators.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with 8/1032 for a pattern that is not well formed.
    pub fn token_list(
        &self,
        pattern: &str,
        after: Option<&Label>,
        but: &[MasterKeyName],
    ) -> Result<Vec<Record>, FacilityError> {
        let (pattern, after, but) = (pattern.to_owned(), after.cloned(), but.to_vec());
        match self.asked(
            "read key records",
            &ClientRequest::TokenList { pattern, after, but },
            Repeat::Safe,
        )? {
            ClientReply::Tokens(records) => Ok(records),
            _ => Err(unexpected("read key records")),
        }
    }

    /// Replaces tokens of records, each only if the record still holds the given old token, and returns which were
    /// replaced; durable when it returns. At most [`wire::bounds::REPLACEMENTS_MAX`], in a message of
    /// [`wire::bounds::CONTROL_BYTES_MAX`]. For administrators; with `lose_keys` also while master keys in use are in
    /// no sealed copy.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] if a token may not be stored, the store fails, or with [`Refusal::NotSealed`]: then
    /// nothing was replaced.
    pub fn token_replace(
        &self,
        replacements: Vec<Replacement>,
        lose_keys: bool,
    ) -> Result<Vec<bool>, FacilityError> {
        // Safe to repeat: a record that was replaced already no longer holds the old token.
        let request = ClientRequest::TokenReplace { replacements, lose_keys };
        match self.asked("replace key records", &request, Repeat::Safe)? {
            ClientReply::Replaced(replaced) => Ok(replaced),
            _ => Err(unexpected("replace key records")),
        }
    }

    /// Passes an officer's order to the keeper. What the keeper refuses is an answer, not an error.
    ///
    /// # Errors
    /// [`FacilityError`] of the control connection.
    pub fn officer(&self, order: OfficerOrder) -> Result<OfficerReply, FacilityError> {
        let operation = "pass an officer's order to the keeper";
        let repeat = match order {
            OfficerOrder::StartupKey | OfficerOrder::Registers | OfficerOrder::MayLoad { .. } => Repeat::Safe,
            // Not repeated: a key part combined twice cancels itself.
            _ => Repeat::Never,
        };
        match self.asked(operation, &ClientRequest::Officer(order), repeat)? {
            ClientReply::Officer(reply) => Ok(reply),
            _ => Err(unexpected(operation)),
        }
    }

    /// Key records whose labels match a pattern, where `*` stands for any characters, in the order
    /// of their labels.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] if the pattern is not well formed.
    pub fn records(&self, store: Option<Store>, pattern: &str) -> Result<Vec<RecordRow>, FacilityError> {
        let mut all: Vec<RecordRow> = Vec::new();
        loop {
            let after = all.last().map(|row| row.label.clone());
            let request = ClientRequest::RecordList { store, pattern: pattern.to_owned(), after };
            let ClientReply::Records(page) = self.asked("list key records", &request, Repeat::Safe)? else {
                return Err(unexpected("list key records"));
            };
            // Pages go forward; one that does not would go on for ever.
            let advances = match (all.last(), page.first()) {
                (Some(last), Some(first)) => first.label > last.label,
                _ => true,
            };
            if !advances {
                return Err(unexpected("list key records"));
            }
            let is_last = page.len() < LIST_ROWS_MAX;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Opens a label now rather than at its first use in a request. A request that names the key by the reference that
    /// this returns fails with [`FacilityError::StaleKey`] once the record is written, deleted, or gives way to other
    /// labels of the tenant; one that names the label opens it again.
    ///
    /// # Errors
    /// [`FacilityError::Refused`] with the codes of the verb, such as 8/30 for an unknown label.
    pub fn open_label(&self, label: &Label) -> Result<Opened, FacilityError> {
        let request = ClientRequest::OpenLabel { label: label.clone() };
        match self.asked("open a key label", &request, Repeat::Safe)? {
            ClientReply::Opened { reference, store, token_bytes } => {
                Ok(Opened { reference, store, token_bytes })
            }
            _ => Err(unexpected("open a key label")),
        }
    }

    fn done(
        &self,
        operation: &'static str,
        request: &ClientRequest,
        repeat: Repeat,
    ) -> Result<(), FacilityError> {
        match self.asked(operation, request, repeat)? {
            ClientReply::Done => Ok(()),
            _ => Err(unexpected(operation)),
        }
    }

    fn asked(
        &self,
        operation: &'static str,
        request: &ClientRequest,
        repeat: Repeat,
    ) -> Result<ClientReply, FacilityError> {
        let connection = &self.state().connection;
        let (answer, _) = connection.ask(operation, request, repeat, Patience::Reconnect, ANSWER_WAIT)?;
        refusals(operation, answer)
    }
}

/// The answer, unless it is a refusal.
pub(crate) fn refusals(operation: &'static str, answer: ClientReply) -> Result<ClientReply, FacilityError> {
    match answer {
        ClientReply::Refused(Refusal::Denied) => Err(FacilityError::Denied { what: operation }),
        ClientReply::Refused(refusal) => Err(FacilityError::Refused { operation, refusal }),
        answer => Ok(answer),
    }
}

pub(crate) fn unexpected(operation: &'static str) -> FacilityError {
    FacilityError::Protocol { operation, cause: ProtocolError::UnexpectedAnswer }
}
