//! Exit codes: one for each kind of failure, the same in all commands. docs/reference/exit-codes.md has this table.

use facility::FacilityError;
use home::HomeError;
use std::io::{self, ErrorKind};
use wire::control::{OfficerRefusal, Refusal};
use wire::{Codes, code};

/// The kind of a failure, whose number is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// None of the others.
    Failed = 1,
    /// The command line, or an input that a person typed, is wrong.
    Usage = 2,
    /// A verb, a role, the daemon, the keeper or the system refused.
    Refused = 3,
    /// A value, a PIN or a passphrase is not the right one.
    NotVerified = 4,
    /// A file, a token or a message is damaged, or not of its kind.
    Damaged = 5,
    /// No signature is valid.
    NoSignature = 6,
    /// There is no such label, key, card, tenant, home, file or page.
    Missing = 7,
    /// There is such a label, tenant, home or file already.
    Exists = 8,
    /// A signal interrupted the command.
    Interrupted = 130,
}

impl Exit {
    /// All of them, with the words of the page.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Failed, "failed for a reason that no other code says: the message on standard error has it"),
        (Self::Usage, "the command line or what was typed is wrong; nothing was done"),
        (
            Self::Refused,
            "refused: by a verb (return code 8 or more), a role, the daemon, or the rights of a file",
        ),
        (
            Self::NotVerified,
            "**not the right one**: a value, a PIN, a check value or a passphrase does not verify",
        ),
        (Self::Damaged, "damaged or not of its kind: a file, a key token, a key block, a message"),
        (Self::NoSignature, "no signature is valid"),
        (Self::Missing, "there is no such thing: label, key, certificate, card, tenant, home, file, page"),
        (Self::Exists, "it exists already: label, tenant, home, file; nothing was replaced"),
        (Self::Interrupted, "interrupted; nothing was left behind"),
    ];

    /// Of an error of the system.
    pub fn of_io(cause: &io::Error) -> Self {
        match cause.kind() {
            ErrorKind::NotFound => Self::Missing,
            ErrorKind::AlreadyExists => Self::Exists,
            ErrorKind::PermissionDenied => Self::Refused,
            _ => Self::Failed,
        }
    }

    /// Of a verb that did not succeed.
    pub fn of_codes(codes: Codes) -> Self {
        match codes {
            Codes { return_code: 4, .. } => Self::NotVerified,
            code::LABEL_NOT_FOUND => Self::Missing,
            code::LABEL_EXISTS => Self::Exists,
            _ => Self::Refused,
        }
    }

    /// Of a home that cannot be used.
    pub fn of_home(error: &HomeError) -> Self {
        match error {
            HomeError::Missing { .. } | HomeError::NotAHome { .. } => Self::Missing,
            HomeError::Occupied { .. } => Self::Exists,
            HomeError::Io { cause, .. } => Self::of_io(cause),
            _ => Self::Failed,
        }
    }

    /// Of an error of the facility.
    pub fn of_facility(error: &FacilityError) -> Self {
        match error {
            FacilityError::Home(error) => Self::of_home(error),
            FacilityError::Verb { codes, .. } => Self::of_codes(*codes),
            FacilityError::Denied { .. }
            | FacilityError::Forbidden { .. }
            | FacilityError::Quarantined { .. } => Self::Refused,
            FacilityError::Domain(_) | FacilityError::StaleKey { .. } => Self::Missing,
            FacilityError::Refused { refusal, .. } => Self::of_refusal(refusal),
            FacilityError::Io { cause, .. } => Self::of_io(cause),
            _ => Self::Failed,
        }
    }

    fn of_refusal(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Verb(codes) => Self::of_codes(*codes),
            Refusal::NoSuchCard | Refusal::NoSuchTenant(_) => Self::Missing,
            Refusal::Denied
            | Refusal::Full { .. }
            | Refusal::Invalid(_)
            | Refusal::Quarantined { .. }
            | Refusal::Strands { .. }
            | Refusal::NotSealed { .. } => Self::Refused,
            _ => Self::Failed,
        }
    }

    /// Of an officer's order that the keeper refused.
    pub const fn of_officer(refusal: &OfficerRefusal) -> Self {
        match refusal {
            OfficerRefusal::Passphrase => Self::NotVerified,
            OfficerRefusal::NothingSealed | OfficerRefusal::Domain | OfficerRefusal::NothingPending => {
                Self::Missing
            }
            OfficerRefusal::NotStored | OfficerRefusal::Memory => Self::Failed,
            _ => Self::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_codes_of_the_table() {
        let page = include_str!("../../../../docs/reference/exit-codes.md");
        let rows: Vec<&str> = page
            .lines()
            .filter(|line| line.starts_with("| "))
            .skip_while(|line| !line.starts_with("| 0 "))
            .collect();
        let mut expected = vec!["| 0 | done |".to_owned()];
        expected.extend(Exit::ALL.map(|(exit, meaning)| format!("| {} | {meaning} |", exit as u8)));
        assert_eq!(rows[..expected.len()], expected);
    }

    #[test]
    fn each_of_three_kinds_has_one_code_however_it_is_met() {
        let io = |kind: ErrorKind| FacilityError::Io { operation: "x", cause: kind.into() };
        let refused = |refusal| FacilityError::Refused { operation: "x", refusal };
        let folder = || std::path::PathBuf::new();
        for (error, exit) in [
            (io(ErrorKind::NotFound), Exit::Missing),
            (refused(Refusal::NoSuchCard), Exit::Missing),
            (refused(Refusal::NoSuchTenant("a".into())), Exit::Missing),
            (refused(Refusal::Verb(code::LABEL_NOT_FOUND)), Exit::Missing),
            (FacilityError::Home(HomeError::Missing { folder: folder() }), Exit::Missing),
            (FacilityError::Domain(3), Exit::Missing),
            (io(ErrorKind::AlreadyExists), Exit::Exists),
            (refused(Refusal::Verb(code::LABEL_EXISTS)), Exit::Exists),
            (FacilityError::Home(HomeError::Occupied { folder: folder() }), Exit::Exists),
            (io(ErrorKind::PermissionDenied), Exit::Refused),
            (refused(Refusal::Denied), Exit::Refused),
            (refused(Refusal::Verb(code::ACCESS_DENIED)), Exit::Refused),
            (FacilityError::Denied { what: "the home" }, Exit::Refused),
            (refused(Refusal::Verb(code::VERIFICATION_FAILED)), Exit::NotVerified),
            (refused(Refusal::NoKeeper), Exit::Failed),
        ] {
            assert_eq!(Exit::of_facility(&error), exit, "{error}");
        }
    }
}
