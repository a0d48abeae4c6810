//! Why the daemon refused a client.

use crate::code::Codes;
use serde::{Deserialize, Serialize};

/// Why the daemon refused; nothing was changed, unless the variant's documentation says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Refusal {
    /// The client's version is not served.
    Version {
        /// Version that the daemon speaks.
        daemon: u16,
        /// Version that the client speaks.
        client: u16,
    },
    /// The client has no right to this request.
    Denied,
    /// No card of this kind exists.
    NoSuchCard,
    /// Cards of this kind exist, none is ready now.
    NoCardReady,
    /// There may be no more of something.
    Full {
        /// What there may be no more of, in words for people.
        what: String,
        /// The greatest number allowed.
        limit: u64,
    },
    /// Refused with the codes of a key-record verb.
    Verb(Codes),
    /// The settings file is not valid; the running settings stay.
    Settings(String),
    /// A file or the key store could not be used.
    Storage {
        /// The operation that failed, and the file or store it was for.
        operation: String,
        /// The cause of the failure, in words for people.
        cause: String,
    },
    /// The request makes no sense at this point, for the reason given.
    Invalid(String),
    /// The keeper does not answer.
    NoKeeper,
    /// No tenant of this name, or with this credential.
    NoSuchTenant(String),
    /// The client's tenant is in quarantine, because its requests ended cards: it gets no queue for a while.
    Quarantined {
        /// Number of cards that died while they ran requests of this tenant alone.
        deaths: u32,
        /// Seconds until the tenant may ask again.
        left_s: u64,
    },
    /// The change would leave a tenant without a card that it needs.
    Strands {
        /// Name of the tenant.
        tenant: String,
        /// What the tenant would lack, in words for people.
        lacks: String,
    },
    /// The daemon is stopping, and has not begun with the request: send it to the next daemon.
    Stopping,
    /// Master keys in use are in no sealed copy, and the request would end these keys, or put
    /// records under them.
    NotSealed {
        /// Domains and registers of these keys, in words for people.
        keys: String,
        /// What would become of these keys, in words for people.
        risk: String,
    },
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Version { daemon, client } => {
                write!(
                    f,
                    "the daemon speaks version {daemon} of the control protocol, this program {client}; use programs of \
                     one release: end the daemon (its process id is in the file `lock` of the home) and start the \
                     installed one, or use the command of its release"
                )
            }
            Self::Denied => f.write_str("not permitted for this user"),
            Self::NoSuchCard => f.write_str("the home has no such card"),
            Self::NoCardReady => f.write_str("no card of this kind is ready; `cryptand status` shows why"),
            Self::Full { what, limit } => write!(f, "no more {what}: the limit is {limit}"),
            Self::Verb(codes) => write!(f, "{codes}"),
            Self::Settings(cause) => write!(f, "the settings are not valid: {cause}"),
            Self::Storage { operation, cause } => write!(f, "{operation}: {cause}"),
            Self::Invalid(cause) => f.write_str(cause),
            Self::NoKeeper => f.write_str("the keeper of the master keys does not answer"),
            Self::NoSuchTenant(which) => write!(f, "the home has no tenant {which}"),
            Self::Quarantined { deaths, left_s } => write!(
                f,
                "this tenant is in quarantine for another {left_s} s: {deaths} cards ended while they ran its requests \
                 alone; an administrator can lift it with `cryptand tenant lift NAME`"
            ),
            Self::Stopping => f.write_str("the daemon is stopping; ask again once the next one serves"),
            Self::NotSealed { keys, risk } => write!(
                f,
                "master keys in use are in no sealed copy ({keys}): {risk}. `cryptand master-key seal` first; --lose-keys does it \
                 without"
            ),
            Self::Strands { tenant, lacks } => write!(f, "tenant {tenant} would be left without {lacks}"),
        }
    }
}

impl std::error::Error for Refusal {}
