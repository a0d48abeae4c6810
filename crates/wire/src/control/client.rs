//! Requests of clients to the daemon, and its answers.

use super::{
    CardRow, Finding, Isolation, MasterKeyName, OfficerOrder, OfficerReply, QueueHolders, Record,
    RecordsUnder, Refusal, RegisterRow, Replacement, Unsealing,
};
use crate::code::Codes;
use crate::key::{KeyReference, Label};
use crate::pin::{DecimalisationTable, Digest, FailureCount, FailureRow};
use crate::tenant::{Change, ConfinedRow, Credential, TenantRow};
use serde::{Deserialize, Serialize};

/// A key store, by the kind of tokens in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Store {
    /// DES tokens.
    Des,
    /// AES and HMAC tokens.
    Aes,
    /// PKA tokens.
    Pka,
}

/// One key record of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordRow {
    /// Label of the record.
    pub label: Label,
    /// Key store that the record is in.
    pub store: Store,
    /// Length of the record's token in bytes; 0 for a record without a key.
    pub token_bytes: u32,
    /// When the record was last written, in seconds since 1970.
    pub written_unix_s: u64,
    /// Length of the record's certificate chain in bytes of DER; 0 for none.
    pub chain_bytes: u32,
}

/// From a client to the daemon. The first message is [`ClientRequest::Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientRequest {
    /// Opens the connection, with the client's version and credential; answered by
    /// [`ClientReply::Welcome`].
    Hello {
        /// [`CONTROL_VERSION`](super::CONTROL_VERSION) of the client.
        version: u16,
        /// The credential with which the client authenticates as a tenant; none to authenticate by its user.
        credential: Option<Credential>,
        /// Whether this is the connection of an event loop, whose queues announce answers on one socket.
        completions: bool,
    },
    /// Asks for a queue; answered by [`ClientReply::Attached`].
    Attach {
        /// Index of the card within its home.
        card: u32,
        /// Domain of the queue.
        domain: u16,
        /// Slots of the queue, a power of two up to [`crate::bounds::QUEUE_SLOTS_MAX`].
        slots: u32,
        /// Bulk blocks of the queue in each direction, up to [`crate::bounds::BULK_BLOCKS`]; 0 if
        /// no payload longer than a slot's is to be sent yet.
        blocks: u32,
    },
    /// Asks for the state of the cards that the client's tenant may use; answered by [`ClientReply::Cards`].
    /// [`ClientRequest::Status`] shows administrators all.
    Cards,
    /// Opens a label; answered by [`ClientReply::Opened`].
    OpenLabel {
        /// Label of the key record.
        label: Label,
    },
    /// Calls a verb of the daemon; answered by [`ClientReply::Called`].
    Call {
        /// Domain of the call; verbs of key records do the same in every domain.
        domain: u16,
        /// Index of the card that the client has chosen, which queries tell of; none if it has
        /// chosen none.
        card: Option<u32>,
        /// Number of the verb.
        verb: u16,
        /// Payload of the request, as the verb table gives it, at most [`crate::bounds::CALL_BYTES_MAX`] bytes.
        payload: Vec<u8>,
    },
    /// Lists records by label, in order; answered by [`ClientReply::Records`].
    RecordList {
        /// Key store to list; none for all stores.
        store: Option<Store>,
        /// Pattern of labels, where `*` stands for any characters.
        pattern: String,
        /// Only labels after this one: the last of the page before.
        after: Option<Label>,
    },
    /// Lists the records whose keys are not under any of the master keys in `but`, in order of
    /// label: for administrators. Answered by [`ClientReply::Tokens`].
    TokenList {
        /// Pattern of labels, where `*` stands for any characters.
        pattern: String,
        /// Only labels after this one: the last of the page before.
        after: Option<Label>,
        /// Master keys whose records are left out of the list.
        but: Vec<MasterKeyName>,
    },
    /// Replaces tokens of records, each only if the record still holds the given old token: for administrators.
    /// Answered by [`ClientReply::Replaced`] once they are durable, or by [`Refusal::NotSealed`].
    TokenReplace {
        /// The records with their old and new tokens, at most [`crate::bounds::REPLACEMENTS_MAX`].
        replacements: Vec<Replacement>,
        /// Whether records may come under master keys that are in no sealed copy.
        lose_keys: bool,
    },
    /// Asks about the installation; answered by [`ClientReply::Status`].
    Status,
    /// Reads the settings file again and starts, stops or changes cards; answered by [`ClientReply::Done`].
    Reload,
    /// Stops the daemon, its cards and its keeper; answered by [`ClientReply::Done`], or by [`Refusal::NotSealed`].
    Shutdown {
        /// Whether master keys that are in no sealed copy may end with the keeper.
        lose_keys: bool,
    },
    /// Writes a consistent copy of the home's stores into this folder; answered by [`ClientReply::Done`].
    Backup {
        /// Path of an existing, empty folder.
        folder: String,
    },
    /// An officer's order for the keeper, passed on unread; answered by [`ClientReply::Officer`].
    Officer(OfficerOrder),
    /// Asks for the tenants, in the order of their ids; answered by [`ClientReply::Tenants`].
    Tenants {
        /// Only tenants after this id: the last of the page before.
        after: Option<u32>,
    },
    /// Changes cards, tenants or decimalisation tables; answered by [`ClientReply::Done`] once it is carried out.
    Change(Change),
    /// Requests a card's status page and samples, for all tenants: for administrators and observers. Answered by
    /// [`ClientReply::Observed`].
    Observe {
        /// Index of the card.
        card: u32,
    },
    /// Ends the quarantine of a tenant, and forgets the deaths of cards that led to it; answered by
    /// [`ClientReply::Done`].
    Lift {
        /// Name of the tenant; for a user who is a tenant alone, the name of the user.
        tenant: String,
    },
    /// Replaces a process that runs an older program than the installed one: for administrators.
    /// Answered by [`ClientReply::Done`] once the new process serves; when the daemon is replaced,
    /// as the old daemon ends.
    Upgrade(Upgrade),
    /// Reads the certificate chain of a PKA key record; answered by [`ClientReply::Chain`]. For
    /// clients that may open the label.
    ChainRead {
        /// Label of the key record.
        label: Label,
    },
    /// Puts a certificate chain beside a PKA key record, in place of the chain that the record has;
    /// answered by [`ClientReply::Done`], durable. For clients that may write the record. Deleting
    /// the record deletes its chain.
    ChainWrite {
        /// Label of the key record.
        label: Label,
        /// The chain, in the form that [`crate::chain::certificates`] takes; empty to remove the
        /// record's chain.
        chain: Vec<u8>,
    },
    /// Asks for the stored decimalisation tables: for administrators. Answered by [`ClientReply::Tables`].
    Tables,
    /// Asks for the counted failures of PINs, in the order of the digests: for administrators.
    /// Answered by [`ClientReply::Failures`].
    Failures {
        /// Only digests after this one: the last of the page before.
        after: Option<Digest>,
        /// Whether to list only digests whose verifications are refused.
        refused: bool,
    },
    /// Forgets the failures that are counted under a digest, or all: for administrators. Answered by
    /// [`ClientReply::Done`], durable.
    ClearFailures {
        /// The digest to forget; none for all.
        digest: Option<Digest>,
    },
}

/// What [`ClientRequest::Upgrade`] replaces by the installed program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Upgrade {
    /// Replaces nothing: checks that the installed programs are those of the manifest.
    Check,
    /// The keeper; its successor gets its master keys. Refused by [`Refusal::NotSealed`] if a
    /// master key in use is in no sealed copy, unless `lose_keys`.
    Keeper {
        /// Whether master keys that are in no sealed copy may be lost if the replacement fails.
        lose_keys: bool,
    },
    /// A card. Its requests go to other cards, or wait for its successor.
    Card {
        /// Index of the card within its home.
        card: u32,
    },
    /// The daemon, in its own process. Cards and keeper run on.
    Daemon,
}

/// From the daemon to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientReply {
    /// The daemon's version, and the tenant and role that the client has. Descriptor, for an event
    /// loop: its end of the completion socket of all queues of the connection (datagram).
    Welcome {
        /// [`CONTROL_VERSION`](super::CONTROL_VERSION) of the daemon.
        version: u16,
        /// Tenant that the client's queues belong to.
        tenant: u32,
        /// The tenant's name; for a user who is a tenant alone, the name or number of the user.
        tenant_name: String,
        /// Name of the tenant's role.
        role: String,
        /// Whether the home is for development, with keys that anyone can compute.
        insecure_dev: bool,
        /// Counts of the processors' time-stamp counter in a second.
        tsc_hz: u64,
    },
    /// A queue. Descriptors: request memory (read-write), reply memory (read-only), doorbell
    /// socket (connected datagram), the card's status page (read-only), pidfd of the card.
    Attached {
        /// Number of the queue.
        queue: u64,
        /// The card's row at this moment.
        card: CardRow,
        /// Slots of the queue.
        slots: u32,
    },
    /// Rows of the cards that the client's tenant may use.
    Cards(Vec<CardRow>),
    /// The label was opened.
    Opened {
        /// The reference that names the opened label in requests.
        reference: KeyReference,
        /// Store that the label was found in.
        store: Store,
        /// Length of the token in bytes.
        token_bytes: u32,
    },
    /// The answer of a verb of the daemon; whatever the verb changed is durable.
    Called {
        /// Return and reason code of the verb.
        codes: Codes,
        /// Payload of the reply, as the verb table gives it; empty for a verb that returns no data.
        payload: Vec<u8>,
    },
    /// A page of records; a page of [`crate::bounds::LIST_ROWS_MAX`] rows may be followed by another.
    Records(Vec<RecordRow>),
    /// The state of the installation.
    Status(Status),
    /// The keeper's answer to the officer.
    Officer(OfficerReply),
    /// A page of tenants; an empty one is the last. A client that neither administers nor observes the home gets only
    /// its own.
    Tenants(Vec<TenantRow>),
    /// The measurements of a card. Descriptors: its status page and its samples, both read-only.
    Observed {
        /// Generation of the card's process.
        generation: u64,
    },
    /// The request was carried out, and whatever it stored is durable.
    Done,
    /// The request was refused.
    Refused(Refusal),
    /// A page of records with their tokens; an empty page is the last.
    Tokens(Vec<Record>),
    /// For each replacement, in order, whether it was made.
    Replaced(Vec<bool>),
    /// The certificate chain of a record, as [`crate::chain::certificates`] takes it; empty for none.
    Chain(Vec<u8>),
    /// The stored decimalisation tables, without the table that every card has.
    Tables(Vec<DecimalisationTable>),
    /// A page of failures of PINs; an empty page is the last.
    Failures(Vec<FailureRow>),
}

/// Memory of queues with all their pages touched, and the bounds of that memory, in bytes. For
/// administrators only the number of queues is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueMemoryUse {
    /// Memory of the tenant that asks.
    pub own: u64,
    /// Bound for one tenant of guests.
    pub tenant_max: u64,
    /// Bound for one user of guests, whatever credentials the user shows.
    pub user_max: u64,
    /// Memory of all guests together; 0 for a client that does not administer the home.
    pub guests: u64,
    /// Bound for all guests together.
    pub guests_max: u64,
}

/// The state of an installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Process id of the daemon.
    pub daemon_pid: u32,
    /// Process id of the keeper; none if no keeper runs.
    pub keeper_pid: Option<u32>,
    /// How the keeper's process is confined.
    pub keeper_isolation: Box<Isolation>,
    /// Whether the home is for development.
    pub insecure_dev: bool,
    /// Whether weak algorithms are enabled.
    pub weak_algorithms: bool,
    /// Resident memory of the daemon in bytes.
    pub daemon_resident_bytes: u64,
    /// Rows of the cards that the asker may see.
    pub cards: Vec<CardRow>,
    /// The master-key registers of each domain that has any key.
    pub registers: Vec<RegisterRow>,
    /// Number of key records in the store.
    pub records: u64,
    /// How many records are under which master keys; for clients that administer or observe the
    /// home.
    pub records_under: RecordsUnder,
    /// Number of client connections.
    pub connections: u32,
    /// Memory of queues, and its bounds.
    pub queue_memory: QueueMemoryUse,
    /// Processes with queues, and the bounds that kept tenants from more of them. A client that neither administers nor
    /// observes the home is shown its own user's processes of its own tenant, and that tenant's refusals.
    pub holders: Box<QueueHolders>,
    /// Tenants that cards have died with, those in quarantine first, at most
    /// [`crate::bounds::CONFINED_LISTED_MAX`]. A client that neither administers nor observes the
    /// home is shown only its own tenant.
    pub confined: Vec<ConfinedRow>,
    /// Counts of failures of PINs; empty for a client that neither administers nor observes the
    /// home.
    pub pin_failures: FailureCount,
    /// Whether the card program was compared with an installed manifest.
    pub program_verified: bool,
    /// How the keeper was to be unsealed when it started, and the result.
    pub unsealing: Unsealing,
    /// Processes that run programs other than the installed ones; only for administrators and observers of the home.
    pub outdated: Outdated,
    /// User ids of keeper and cards that run as users of their own; none if all run as the daemon's
    /// user.
    pub apart: Option<Apart>,
    /// What is wrong with the home, as far as the asker may know: a guest sees only cards and
    /// domains that it may use.
    pub findings: Vec<Finding>,
    /// When the home was last backed up, in seconds since 1970; none if never, or if the asker may
    /// not know.
    pub backup_unix_s: Option<u64>,
    /// Space on the home's file system; none if it cannot be determined, or the asker may not know.
    pub space: Option<Space>,
}

/// Room of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// Bytes that the daemon's user may still take.
    pub free: u64,
    /// Size of the file system in bytes.
    pub total: u64,
}

/// Processes that run a program other than the installed one, most likely an older one. `cryptand upgrade`
/// replaces them. In a system service with separate users only the daemon is listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outdated {
    /// Whether the daemon runs another program than the installed one.
    pub daemon: bool,
    /// Whether the keeper runs another program than the installed one.
    pub keeper: bool,
    /// Indices of cards that run another program than the installed one.
    pub cards: Vec<u32>,
}

/// User ids of the parts of a system service, as the daemon found them at their sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Apart {
    /// User id of the daemon.
    pub daemon: u32,
    /// User id of the keeper.
    pub keeper: u32,
    /// User id of the cards.
    pub cards: u32,
}
