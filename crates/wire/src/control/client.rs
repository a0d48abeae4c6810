//! What clients ask of the daemon, and what it answers.

use super::{
    CardRow, Finding, Isolation, MasterKeyName, OfficerOrder, OfficerReply, Record, RecordsUnder, Refusal,
    RegisterRow, Replacement, Unsealing,
};
use crate::code::Codes;
use crate::key::{KeyReference, Label};
use crate::pin::{DecimalisationTable, Digest, FailureCount, FailureRow};
use crate::tenant::{Change, ConfinedRow, Credential, TenantRow};
use serde::{Deserialize, Serialize};

/// Which key store.
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
    /// Its label.
    pub label: Label,
    /// Its store.
    pub store: Store,
    /// Length of its token; 0 for a record without a key.
    pub token_bytes: u32,
    /// Seconds since 1970 when it was last written.
    pub written_unix_s: u64,
    /// Length of its certificate chain, in DER; 0 for none.
    pub chain_bytes: u32,
}

/// From a client to the daemon. The first message is [`ClientRequest::Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientRequest {
    /// Says the version; answered by [`ClientReply::Welcome`].
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
        /// The card's index.
        card: u32,
        /// Domain of the queue.
        domain: u16,
        /// Slots of the queue, a power of two up to [`crate::bounds::QUEUE_SLOTS_MAX`].
        slots: u32,
        /// Bulk blocks of the queue in each direction, up to [`crate::bounds::BULK_BLOCKS`]: none where nothing longer
        /// than a slot's payload is to be sent yet.
        blocks: u32,
    },
    /// Asks for the state of the cards that the client's tenant may use; answered by [`ClientReply::Cards`].
    /// [`ClientRequest::Status`] shows administrators all.
    Cards,
    /// Opens a label; answered by [`ClientReply::Opened`].
    OpenLabel {
        /// The label.
        label: Label,
    },
    /// Calls a verb of the daemon; answered by [`ClientReply::Called`].
    Call {
        /// Domain of the call; verbs of key records do the same in every domain.
        domain: u16,
        /// The one card that the client has chosen; queries tell of it.
        card: Option<u32>,
        /// Number of the verb.
        verb: u16,
        /// Payload of the request, as the verb table gives it, at most [`crate::bounds::CALL_BYTES_MAX`] bytes.
        payload: Vec<u8>,
    },
    /// Lists records by label, in order; answered by [`ClientReply::Records`].
    RecordList {
        /// Of which store; none for all.
        store: Option<Store>,
        /// Pattern of labels, where `*` stands for any characters.
        pattern: String,
        /// Only labels after this one: the last of the page before.
        after: Option<Label>,
    },
    /// Lists the records whose keys are under master keys other than these, in order: for administrators. Answered by
    /// [`ClientReply::Tokens`].
    TokenList {
        /// Pattern of labels, where `*` stands for any characters.
        pattern: String,
        /// Only labels after this one: the last of the page before.
        after: Option<Label>,
        /// Master keys whose records are left out.
        but: Vec<MasterKeyName>,
    },
    /// Replaces tokens of records, each only if the record still holds the given old token: for administrators.
    /// Answered by [`ClientReply::Replaced`] once they are durable, or by [`Refusal::NotSealed`].
    TokenReplace {
        /// At most [`crate::bounds::REPLACEMENTS_MAX`].
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
        /// An existing, empty folder.
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
    /// Ends the quarantine of a tenant, and forgets the deaths that led to it; answered by [`ClientReply::Done`].
    Lift {
        /// The tenant's name, or that of the user that it is.
        tenant: String,
    },
    /// Replaces a process that runs an older program than the installed one: for administrators. Answered by
    /// [`ClientReply::Done`] once the new one serves; for the daemon, as the old one ends.
    Upgrade(Upgrade),
    /// Reads the certificate chain of a PKA key record; answered by [`ClientReply::Chain`]. For who may open the label.
    ChainRead {
        /// The record's label.
        label: Label,
    },
    /// Puts a certificate chain beside a PKA key record, in place of the one that it has; answered by
    /// [`ClientReply::Done`], durable. For who may write the record. The chain goes with the record when that is
    /// deleted.
    ChainWrite {
        /// The record's label.
        label: Label,
        /// The chain as [`crate::chain::certificates`] takes it; empty to take it away.
        chain: Vec<u8>,
    },
    /// Asks for the stored decimalisation tables: for administrators. Answered by [`ClientReply::Tables`].
    Tables,
    /// Asks what failures of PINs are counted, in the order of the digests: for administrators. Answered by
    /// [`ClientReply::Failures`].
    Failures {
        /// Only behind this digest: the last of the page before.
        after: Option<Digest>,
        /// Only those whose verifications are refused.
        refused: bool,
    },
    /// Forgets the failures that are counted under a digest, or all: for administrators. Answered by
    /// [`ClientReply::Done`], durable.
    ClearFailures {
        /// The digest; none for all.
        digest: Option<Digest>,
    },
}

/// What is replaced by the installed program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Upgrade {
    /// Nothing: whether the installed programs are those of the manifest.
    Check,
    /// The keeper; its successor has its master keys. Refused by [`Refusal::NotSealed`] where only they would have
    /// them.
    Keeper {
        /// Whether master keys that are in no sealed copy may be lost if it fails.
        lose_keys: bool,
    },
    /// A card. Its requests go to others, or wait for its successor.
    Card {
        /// Its index.
        card: u32,
    },
    /// The daemon, in its own process. Cards and keeper run on.
    Daemon,
}

/// From the daemon to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientReply {
    /// The daemon's version, and who the client is to it. Descriptor, for an event loop: its end of the
    /// completion socket of all queues of the connection (datagram).
    Welcome {
        /// [`CONTROL_VERSION`](super::CONTROL_VERSION) of the daemon.
        version: u16,
        /// Tenant that the client's queues belong to.
        tenant: u32,
        /// Its name; of a tenant that is only a user, the user's name or number.
        tenant_name: String,
        /// Name of its role.
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
    /// The cards.
    Cards(Vec<CardRow>),
    /// An opened label.
    Opened {
        /// What to put into requests.
        reference: KeyReference,
        /// Store that the label was found in.
        store: Store,
        /// Length of the token.
        token_bytes: u32,
    },
    /// What a verb of the daemon answered, durable where it changed something.
    Called {
        /// Its return and reason code.
        codes: Codes,
        /// Payload of the reply, as the verb table gives it; empty where there is nothing to say.
        payload: Vec<u8>,
    },
    /// A page of records; a page of [`crate::bounds::LIST_ROWS_MAX`] rows may be followed by another.
    Records(Vec<RecordRow>),
    /// The state of the installation.
    Status(Status),
    /// The keeper's answer.
    Officer(OfficerReply),
    /// A page of tenants; an empty one is the last. A client that neither administers nor observes the home gets only
    /// its own.
    Tenants(Vec<TenantRow>),
    /// What a card shows of its work. Descriptors: its status page and its samples, both read-only.
    Observed {
        /// Generation of the card's process.
        generation: u64,
    },
    /// It is done, and durable where that applies.
    Done,
    /// It was refused.
    Refused(Refusal),
    /// A page of records with their tokens; an empty one is the last.
    Tokens(Vec<Record>),
    /// Of each replacement whether it was made.
    Replaced(Vec<bool>),
    /// The certificate chain of a record, as [`crate::chain::certificates`] takes it; empty for none.
    Chain(Vec<u8>),
    /// The stored decimalisation tables, beside the one that every card has.
    Tables(Vec<DecimalisationTable>),
    /// A page of failures of PINs; an empty one is the last.
    Failures(Vec<FailureRow>),
}

/// What the memories of queues take with all their pages touched, and what they may take, in bytes. Administrators have
/// no bound but the number of queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueMemoryUse {
    /// Of the tenant that asks.
    pub own: u64,
    /// Of one tenant of guests, at the most.
    pub tenant_max: u64,
    /// Most for one user of guests, whatever credentials it shows.
    pub user_max: u64,
    /// Of all guests; 0 for who does not administer the home.
    pub guests: u64,
    /// Of all guests, at the most.
    pub guests_max: u64,
}

/// The state of an installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The daemon's process.
    pub daemon_pid: u32,
    /// The keeper's process; none where it is down.
    pub keeper_pid: Option<u32>,
    /// How the keeper is confined.
    pub keeper_isolation: Box<Isolation>,
    /// Whether the home is for development.
    pub insecure_dev: bool,
    /// Whether weak algorithms are enabled.
    pub weak_algorithms: bool,
    /// Resident memory of the daemon in bytes.
    pub daemon_resident_bytes: u64,
    /// The cards.
    pub cards: Vec<CardRow>,
    /// The master-key registers of each domain that has any key.
    pub registers: Vec<RegisterRow>,
    /// Key records in the store.
    pub records: u64,
    /// Under which master keys they are; for who administers or observes the home.
    pub records_under: RecordsUnder,
    /// Client connections.
    pub connections: u32,
    /// Memory of queues.
    pub queue_memory: QueueMemoryUse,
    /// Tenants that cards have died with, those in quarantine first, at most [`crate::bounds::CONFINED_LISTED_MAX`];
    /// who neither administers nor observes the home is shown its own.
    pub confined: Vec<ConfinedRow>,
    /// Failures of PINs; nothing for who neither administers nor observes the home.
    pub pin_failures: FailureCount,
    /// Whether the card program was compared with an installed manifest.
    pub program_verified: bool,
    /// How the keeper was to be unsealed when it started, and the result.
    pub unsealing: Unsealing,
    /// Processes that run programs other than the installed ones; only for administrators and observers of the home.
    pub outdated: Outdated,
    /// Users of keeper and cards where they have users of their own; none where all run as the daemon does.
    pub apart: Option<Apart>,
    /// What is wrong, as far as the asker may know: a guest sees only the cards and domains that it may use.
    pub findings: Vec<Finding>,
    /// When the home was last backed up, in seconds since 1970; none where it never was, or who asks may not know.
    pub backup_unix_s: Option<u64>,
    /// Space on the home's file system; none if it cannot be determined, or the asker may not know.
    pub space: Option<Space>,
}

/// Room of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// What the daemon's user may still take.
    pub free: u64,
    /// All of it.
    pub total: u64,
}

/// Processes that run a program other than the installed one, most likely an older one. `cryptand upgrade`
/// replaces them. In a system service with separate users only the daemon is listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outdated {
    /// The daemon.
    pub daemon: bool,
    /// The keeper.
    pub keeper: bool,
    /// Cards, by index.
    pub cards: Vec<u32>,
}

/// User ids of the parts of a system service, as the daemon found them at their sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Apart {
    /// The daemon's.
    pub daemon: u32,
    /// The keeper's.
    pub keeper: u32,
    /// The cards'.
    pub cards: u32,
}
