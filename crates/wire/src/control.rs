//! Messages of the control plane, between client, daemon, card and keeper.
//!
//! Each message is one datagram of a `SOCK_SEQPACKET` socket: a [postcard](https://docs.rs/postcard)
//! encoding of at most [`CONTROL_BYTES_MAX`] bytes, with the
//! descriptors that its doc names, in that order, as `SCM_RIGHTS`.
//!
//! | from | to | request | answer |
//! |---|---|---|---|
//! | client | daemon | [`ClientRequest`] | [`ClientReply`], one each, in order |
//! | daemon | card | [`CardOrder`] | [`CardNotice`], also unasked |
//! | daemon | keeper | [`KeeperOrder`] | [`KeeperNotice`], one each, in order |
//! | keeper | card | [`Handout`] | none |

use crate::bounds::CONTROL_BYTES_MAX;
use crate::code::Codes;
use crate::grant::{Grant, Rights};
use crate::key::{KeyReference, Label};
use crate::tenant::{Change, Credential, TenantRow};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Version of every message below; peers of another version are refused by name.
pub const CONTROL_VERSION: u16 = 2;

/// What is wrong with a control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// Longer than [`CONTROL_BYTES_MAX`].
    TooLong(usize),
    /// Not the encoding of the message that was expected.
    Malformed,
}

impl std::fmt::Display for MessageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong(length) => {
                write!(f, "a control message of {length} bytes; at most {CONTROL_BYTES_MAX}")
            }
            Self::Malformed => f.write_str("a control message that is not of the expected form"),
        }
    }
}

impl std::error::Error for MessageError {}

/// The bytes of a message.
///
/// # Errors
/// [`MessageError::TooLong`].
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, MessageError> {
    let bytes = postcard::to_stdvec(message).map_err(|_| MessageError::Malformed)?;
    if bytes.len() > CONTROL_BYTES_MAX { Err(MessageError::TooLong(bytes.len())) } else { Ok(bytes) }
}

/// Reads a message; nothing may follow it.
///
/// # Errors
/// [`MessageError`].
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, MessageError> {
    if bytes.len() > CONTROL_BYTES_MAX {
        return Err(MessageError::TooLong(bytes.len()));
    }
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        _ => Err(MessageError::Malformed),
    }
}

/// What a card is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Personality {
    /// Clear-key RSA, batched.
    Accelerator,
    /// Secure keys under a master key, and clear-key RSA.
    Coprocessor,
}

/// How a card and its clients wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PollMode {
    /// Never sleep.
    Spin,
    /// Spin a few microseconds while the peer was active lately, then sleep.
    #[default]
    Adaptive,
    /// Sleep at once.
    Sleep,
    /// Look at fixed intervals, as the timer of the originals did.
    Every {
        /// The interval in microseconds.
        interval_us: u32,
    },
}

/// Highest instruction-set level that a program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevelLimit {
    /// No AES-NI, SHA-NI or wide vectors.
    Portable,
    /// Up to AVX2, AES-NI and SHA-NI.
    Avx2,
    /// Everything.
    Avx512,
}

/// The environment variable that limits every program of the project; the lower of it and a setting counts.
pub const LEVEL_VARIABLE: &str = "CRYPTAND_LEVEL";

impl LevelLimit {
    /// All of them, lowest first.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The name used on the command line, in settings and in the environment.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// What [`LEVEL_VARIABLE`] says; unset and empty say nothing.
    ///
    /// # Errors
    /// [`UnknownLevel`].
    pub fn from_variable(value: Option<&std::ffi::OsStr>) -> Result<Option<Self>, UnknownLevel> {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
        let known = Self::ALL.into_iter().find(|level| value == level.name());
        known.map(Some).ok_or_else(|| UnknownLevel(value.to_string_lossy().into_owned()))
    }
}

/// A value of [`LEVEL_VARIABLE`] that names no level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLevel(pub String);

impl std::fmt::Display for UnknownLevel {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{LEVEL_VARIABLE}={}: no such level; use portable, avx2 or avx512", self.0)
    }
}

impl std::error::Error for UnknownLevel {}

/// Where a card stands in its life.
///
/// ```text
/// Created --program started--> Sealed --self-tests passed--> Ready <--resume-- Quiescing
///                                                              |---quiesce------^   |
///    any --a self-check failed--> Failed         Ready, Quiescing --zeroize--> Zeroized
/// ```
/// The daemon orders quiesce, resume and zeroize; the card makes every other move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u32)]
#[serde(rename_all = "kebab-case")]
pub enum CardState {
    /// The process exists.
    Created = 0,
    /// Inside of its sandbox; self-tests run.
    Sealed = 1,
    /// Serves requests.
    Ready = 2,
    /// Finishes what it took and takes nothing new.
    Quiescing = 3,
    /// Its secrets are gone.
    Zeroized = 4,
    /// A self-check failed: it serves nothing, ever.
    Failed = 5,
}

impl CardState {
    /// The state of this number.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Created,
            1 => Self::Sealed,
            2 => Self::Ready,
            3 => Self::Quiescing,
            4 => Self::Zeroized,
            5 => Self::Failed,
            _ => return None,
        })
    }
}

/// One card, as the daemon shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardRow {
    /// Index of the card within its home.
    pub index: u32,
    /// Counts the processes that have been this card.
    pub generation: u64,
    /// What it is for.
    pub personality: Personality,
    /// Where it stands in its life.
    pub state: CardState,
    /// Its process.
    pub pid: u32,
    /// Name of the engine's level.
    pub level: String,
    /// Requests that it would like in one batch.
    pub lanes: u32,
    /// Queues attached.
    pub queues: u32,
    /// Sandbox measures that the machine lacks, by name.
    pub missing: Vec<String>,
    /// From its start to ready, in microseconds.
    pub start_us: u64,
    /// Times that the daemon had to start it again.
    pub restarts: u32,
    /// How it waits.
    pub poll: PollMode,
    /// Processors that it may run on; none for all.
    pub processors: Option<Vec<u32>>,
    /// Names of the tenants that have it, or a share of it, for their own, with the percentage.
    pub dedicated: Vec<(String, u8)>,
}

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
}

/// From a client to the daemon. The first message is [`ClientRequest::Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientRequest {
    /// Says the version; answered by [`ClientReply::Welcome`].
    Hello {
        /// [`CONTROL_VERSION`] of the client.
        version: u16,
        /// Shown to be taken for the tenant that has it; none to be taken for the process's user.
        credential: Option<Credential>,
    },
    /// Asks for a queue; answered by [`ClientReply::Attached`].
    Attach {
        /// The card's index; none lets the daemon choose the ready card with the fewest queues.
        card: Option<u32>,
        /// Only a card of this personality.
        personality: Option<Personality>,
        /// Domain of the queue.
        domain: u16,
        /// Slots of the queue, a power of two up to [`crate::bounds::QUEUE_SLOTS_MAX`].
        slots: u32,
    },
    /// Gives a queue back; answered by [`ClientReply::Done`].
    Detach {
        /// Number of the queue.
        queue: u64,
    },
    /// Asks for the state of the cards that the client's tenant may use; answered by [`ClientReply::Cards`].
    /// [`ClientRequest::Status`] shows administrators all.
    Cards,
    /// Opens a label; answered by [`ClientReply::Opened`].
    OpenLabel {
        /// The label.
        label: Label,
    },
    /// Creates a record, with a token or (DES only) empty; answered by [`ClientReply::Done`].
    RecordCreate {
        /// In which store.
        store: Store,
        /// Under which label.
        label: Label,
        /// The token; empty for none.
        token: Vec<u8>,
    },
    /// Reads a record; answered by [`ClientReply::Token`].
    RecordRead {
        /// From which store.
        store: Store,
        /// Under which label.
        label: Label,
    },
    /// Writes the token of an existing record; answered by [`ClientReply::Done`].
    RecordWrite {
        /// In which store.
        store: Store,
        /// Under which label.
        label: Label,
        /// The token.
        token: Vec<u8>,
    },
    /// Deletes a record or only its token; answered by [`ClientReply::Done`].
    RecordDelete {
        /// From which store.
        store: Store,
        /// Under which label.
        label: Label,
        /// Keep the record and delete only its token.
        token_only: bool,
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
    /// Asks about the installation; answered by [`ClientReply::Status`].
    Status,
    /// Reads the settings file again and starts, stops or changes cards; answered by [`ClientReply::Done`].
    Reload,
    /// Stops the daemon and its cards; answered by [`ClientReply::Done`].
    Shutdown,
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
    /// Changes cards or tenants; answered by [`ClientReply::Done`] once it is carried out.
    Change(Change),
    /// Asks for what a card shows of its work, all tenants' together: for administrators only. Answered by
    /// [`ClientReply::Observed`].
    Observe {
        /// Index of the card.
        card: u32,
    },
}

/// From the daemon to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientReply {
    /// The daemon's version, and who the client is to it.
    Welcome {
        /// [`CONTROL_VERSION`] of the daemon.
        version: u16,
        /// Tenant that the client's queues belong to.
        tenant: u32,
        /// Its name; of a tenant that is only a user, the user's name or number.
        tenant_name: String,
        /// What the client may do.
        rights: Rights,
        /// Whether the home is for development, with keys that anyone can know.
        insecure_dev: bool,
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
    /// A token.
    Token(Vec<u8>),
    /// A page of records; a page of [`crate::bounds::LIST_ROWS_MAX`] rows may be followed by another.
    Records(Vec<RecordRow>),
    /// The state of the installation.
    Status(Status),
    /// The keeper's answer.
    Officer(OfficerReply),
    /// A page of tenants; an empty one is the last. Who does not administer the home is shown its own only.
    Tenants(Vec<TenantRow>),
    /// What a card shows of its work. Descriptors: its status page and its records, both read-only.
    Observed {
        /// Generation of the card's process.
        generation: u64,
    },
    /// It is done, and durable where that applies.
    Done,
    /// It was refused.
    Refused(Refusal),
}

/// Why the daemon refused; nothing was changed unless its doc says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// The client's version is not served.
    Version {
        /// The daemon's.
        daemon: u16,
        /// The client's.
        client: u16,
    },
    /// The caller may not do this.
    Denied,
    /// No card of this kind exists.
    NoSuchCard,
    /// Cards of this kind exist, none is ready now.
    NoCardReady,
    /// A bound is reached.
    Full {
        /// Of what, for people.
        what: String,
        /// The bound.
        limit: u64,
    },
    /// Refused with the codes of a key-record verb.
    Verb(Codes),
    /// The settings file is not valid; the running settings stay.
    Settings(String),
    /// A file or the key store could not be used.
    Storage {
        /// What was tried, on what.
        operation: String,
        /// The cause.
        cause: String,
    },
    /// The request makes no sense at this point, for the reason given.
    Invalid(String),
    /// The keeper does not answer.
    NoKeeper,
    /// No tenant of this name, or with this credential.
    NoSuchTenant(String),
    /// The change would leave a tenant without a card that it needs.
    Strands {
        /// The tenant's name.
        tenant: String,
        /// What it would lack, for people.
        lacks: String,
    },
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Version { daemon, client } => {
                write!(f, "the daemon speaks version {daemon} of the control protocol, this program {client}")
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
            Self::Strands { tenant, lacks } => write!(f, "tenant {tenant} would be left without {lacks}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// The state of an installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The daemon's process.
    pub daemon_pid: u32,
    /// The keeper's process; none where it is down.
    pub keeper_pid: Option<u32>,
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
    /// Client connections.
    pub connections: u32,
    /// Whether the card program was compared with an installed manifest.
    pub program_verified: bool,
}

/// A master-key register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Register {
    /// DES keys: 24 bytes.
    Sym,
    /// RSA keys of the older tokens: 24 bytes.
    Asym,
    /// AES keys: 32 bytes.
    Aes,
    /// RSA and EC keys: 32 bytes.
    Apka,
}

impl Register {
    /// Every register.
    pub const ALL: [Self; 4] = [Self::Sym, Self::Asym, Self::Aes, Self::Apka];

    /// Length of the master key in bytes.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::Sym | Self::Asym => 24,
            Self::Aes | Self::Apka => 32,
        }
    }
}

/// How far a new-master-key register is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NewState {
    /// No part loaded.
    Empty,
    /// The first part is loaded, the last is not.
    Partial,
    /// Complete: may be set.
    Full,
}

/// What may be known of the registers of one kind in one domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterRow {
    /// The domain.
    pub domain: u16,
    /// The register.
    pub register: Register,
    /// How far the new register is filled.
    pub new_state: NewState,
    /// Verification pattern of the new key, once complete.
    pub new_pattern: Option<[u8; 8]>,
    /// Verification pattern of the current key.
    pub current_pattern: Option<[u8; 8]>,
    /// Verification pattern of the old key.
    pub old_pattern: Option<[u8; 8]>,
}

/// Which part of a master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Starts a new key; the register must be empty.
    First,
    /// Combined by exclusive or.
    Middle,
    /// Combined by exclusive or; completes the key.
    Last,
}

/// A secret on its way to the keeper, sealed to its start-up key: HPKE-like, an ephemeral X25519
/// share, HKDF-SHA256 (RFC 5869) over the shared secret with both public keys as salt and the
/// purpose as info, AES-256-GCM with a zero nonce (each key is used once) and the purpose as
/// associated data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// The sender's ephemeral public key.
    pub share: [u8; 32],
    /// Ciphertext and tag.
    pub ciphertext: Vec<u8>,
}

/// What a [`Sealed`] secret is for: bound into it, so that one cannot be passed off as another.
pub const PURPOSE_PART: &[u8] = b"cryptand master-key part";
/// See [`PURPOSE_PART`].
pub const PURPOSE_PASSPHRASE: &[u8] = b"cryptand unsealing passphrase";

/// What officers ask of the keeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OfficerOrder {
    /// Answered by [`OfficerReply::StartupKey`].
    StartupKey,
    /// Loads a part into the new register; answered by [`OfficerReply::PartLoaded`].
    LoadPart {
        /// The domain.
        domain: u16,
        /// The register.
        register: Register,
        /// Which part.
        part: Part,
        /// The part, sealed for [`PURPOSE_PART`].
        sealed: Sealed,
    },
    /// Clears the new register; answered by [`OfficerReply::Done`].
    ClearNew {
        /// The domain.
        domain: u16,
        /// The register.
        register: Register,
    },
    /// Moves, at once, current to old and new to current in all full registers of a domain;
    /// answered by [`OfficerReply::Done`].
    Set {
        /// The domain.
        domain: u16,
    },
    /// Seals all registers under a passphrase and has the daemon store them; answered by [`OfficerReply::Done`].
    /// Refused where nothing is loaded, and where sealed registers are there which the keeper has not opened.
    SealUnder {
        /// The passphrase, sealed for [`PURPOSE_PASSPHRASE`].
        sealed: Sealed,
    },
    /// Opens the sealed registers of the home; answered by [`OfficerReply::Done`].
    Unseal {
        /// The passphrase, sealed for [`PURPOSE_PASSPHRASE`].
        sealed: Sealed,
    },
    /// Answered by [`OfficerReply::Registers`].
    Registers,
}

/// The keeper's answer to an officer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OfficerReply {
    /// The X25519 public key that secrets are sealed to; made anew at each start of the keeper.
    StartupKey([u8; 32]),
    /// A part was combined; its own verification pattern, and the register's once complete.
    PartLoaded {
        /// Pattern of this part alone.
        part_pattern: [u8; 8],
        /// Pattern of the whole key, after the last part.
        key_pattern: Option<[u8; 8]>,
    },
    /// The registers.
    Registers(Vec<RegisterRow>),
    /// It is done.
    Done,
    /// It was refused, for this reason.
    Refused(OfficerRefusal),
}

/// Why the keeper refused an officer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OfficerRefusal {
    /// The sealed secret does not open: a stale start-up key, or a changed message.
    SealedSecret,
    /// A part of this length does not fit the register.
    PartLength,
    /// The register is not in the state that this needs.
    RegisterState,
    /// The key equals the current or the old one, by its verification pattern.
    SameKey,
    /// The passphrase does not open the sealed registers.
    Passphrase,
    /// The home holds no sealed registers.
    NothingSealed,
    /// Registers are already loaded.
    AlreadyUnsealed,
    /// The domain does not exist.
    Domain,
    /// The sealed registers are of a newer version.
    NewerVersion,
    /// There are sealed registers that this keeper has not opened: sealing its own would lose them.
    NotUnsealed,
}

impl std::fmt::Display for OfficerRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::SealedSecret => "the sealed secret does not open; ask for the keeper's key again",
            Self::PartLength => "the key part has not the length of the register",
            Self::RegisterState => "the register is not in the state that this needs",
            Self::SameKey => "the new master key has the pattern of the current or the old one",
            Self::Passphrase => "the passphrase does not open the sealed master keys",
            Self::NothingSealed => "this home holds no sealed master keys",
            Self::AlreadyUnsealed => "master keys are loaded already",
            Self::Domain => "there is no such domain",
            Self::NewerVersion => "the sealed master keys were written by a newer version",
            Self::NotUnsealed => {
                "the sealed master keys were not unsealed since the keeper's start and would be lost; \
                 unseal them first, or move the file master-keys.sealed away"
            }
        })
    }
}

impl std::error::Error for OfficerRefusal {}

/// From the daemon to a card, in order; the first is [`CardOrder::Start`] on descriptor 3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CardOrder {
    /// What the card is. Descriptors: doorbell socket (bound datagram), listener for a later daemon
    /// (seqpacket, listening), status page (read-write), key table (read-only), accounts (read-write),
    /// records (read-write), and for a coprocessor its end of the socket pair to the keeper.
    Start(CardStart),
    /// A new queue, answered by [`CardNotice::Attached`]. Descriptors: request memory (read-only), reply memory (read-write).
    Attach {
        /// What the queue may do.
        grant: Grant,
        /// Slots of the queue.
        slots: u32,
    },
    /// What a queue may do from now on: the tenant's limits or share changed. Number, tenant, account and
    /// domain of the grant stay; unanswered.
    Regrant {
        /// All of it.
        grant: Grant,
    },
    /// Ends a queue: its requests are finished, its memory is unmapped; answered by [`CardNotice::Detached`].
    Detach {
        /// Number of the queue.
        queue: u64,
    },
    /// Finish what was taken, take nothing new; answered by [`CardNotice::State`].
    Quiesce,
    /// Serve again; answered by [`CardNotice::State`].
    Resume,
    /// Wipe all secrets; answered by [`CardNotice::State`].
    Zeroize,
    /// Wipe all secrets and exit.
    Stop,
    /// A new daemon takes over, sent on a connection to the listener; answered by [`CardNotice::Adopted`].
    /// The connection replaces the one before.
    Adopt,
}

/// What a card is told at its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardStart {
    /// [`CONTROL_VERSION`] of the daemon.
    pub version: u16,
    /// Index within the home.
    pub index: u32,
    /// Generation of this process.
    pub generation: u64,
    /// What the card is for.
    pub personality: Personality,
    /// Domains, from 0.
    pub domains: u16,
    /// How the card waits.
    pub poll: PollMode,
    /// Keep requests of different tenants out of one batch.
    pub separate_tenants: bool,
    /// Serve weak algorithms.
    pub weak_algorithms: bool,
    /// Processors that the card may use; none for all.
    pub processors: Option<Vec<u32>>,
}

/// From a card to the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CardNotice {
    /// Self-tests passed; the card serves.
    Ready {
        /// Name of the engine's level.
        level: String,
        /// Requests that it would like in one batch.
        lanes: u32,
        /// Sandbox measures that the machine lacks, by name.
        missing: Vec<String>,
    },
    /// The card will never serve, for this reason.
    Failed {
        /// Which check, for people; never a secret.
        why: String,
    },
    /// The queue is served from now on.
    Attached {
        /// Number of the queue.
        queue: u64,
    },
    /// The order could not be carried out: the reason, for people.
    Rejected {
        /// Number of the queue.
        queue: u64,
        /// Which rule it broke.
        why: String,
    },
    /// The queue's memory is unmapped.
    Detached {
        /// Number of the queue.
        queue: u64,
    },
    /// The card's state after an order.
    State(CardState),
    /// Answer to [`CardOrder::Adopt`]. Descriptors: status page and records (read-only both).
    Adopted {
        /// What the card was started as.
        start: CardStart,
        /// Its state.
        state: CardState,
        /// Name of the engine's level.
        level: String,
        /// Requests that it would like in one batch.
        lanes: u32,
        /// Sandbox measures that the machine lacks.
        missing: Vec<String>,
        /// Its queues.
        queues: Vec<Grant>,
    },
    /// A client broke the rules of the link; its queue was ended.
    Offence {
        /// Number of the queue.
        queue: u64,
        /// Which rule.
        rule: String,
    },
}

/// From the daemon to the keeper; the first is [`KeeperOrder::Start`] on descriptor 3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperOrder {
    /// What the keeper is; answered by [`KeeperNotice::Ready`]. Descriptors: listener for a later daemon.
    Start {
        /// [`CONTROL_VERSION`] of the daemon.
        version: u16,
        /// Domains, from 0.
        domains: u16,
        /// For a development home: master keys of every domain are derived from this number.
        insecure_seed: Option<u64>,
    },
    /// A coprocessor starts: hand it the registers now and after each change. Answered by
    /// [`KeeperNotice::Done`]. Descriptors: the keeper's end of the socket pair to the card.
    Serve {
        /// Index of the card.
        card: u32,
    },
    /// An officer's order, with the sealed registers of the home where it is [`OfficerOrder::Unseal`];
    /// answered by [`KeeperNotice::Officer`].
    Officer {
        /// The order.
        order: OfficerOrder,
        /// The sealed registers, as stored.
        sealed_registers: Option<Vec<u8>>,
    },
    /// A new daemon takes over; answered by [`KeeperNotice::Ready`].
    Adopt,
    /// Wipe everything and exit.
    Stop,
}

/// From the keeper to the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperNotice {
    /// The keeper serves.
    Ready {
        /// Sandbox measures that the machine lacks, by name.
        missing: Vec<String>,
        /// Its registers.
        registers: Vec<RegisterRow>,
    },
    /// It is done.
    Done,
    /// Answer for an officer; for [`OfficerOrder::SealUnder`] with the blob to store.
    Officer {
        /// The answer.
        reply: OfficerReply,
        /// Sealed registers to be stored durably before the answer is passed on.
        store: Option<Vec<u8>>,
    },
}

/// From the keeper to a card: the master keys of one domain. Never passes the daemon.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Handout {
    /// The domain.
    pub domain: u16,
    /// One pair for each of [`Register::ALL`], in that order.
    pub keys: [MasterKeyPair; 4],
}

/// The current and the old master key of one register; empty where there is none.
#[derive(Default, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct MasterKeyPair {
    /// Wraps new tokens.
    pub current: Vec<u8>,
    /// Still opens tokens.
    pub old: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_read_back_and_refuse_trailing_bytes() {
        let request = ClientRequest::RecordWrite {
            store: Store::Des,
            label: Label::new("A.B").unwrap(),
            token: vec![1; 64],
        };
        let mut bytes = encode(&request).unwrap();
        assert_eq!(decode::<ClientRequest>(&bytes).unwrap(), request);
        bytes.push(0);
        assert_eq!(decode::<ClientRequest>(&bytes).unwrap_err(), MessageError::Malformed);
    }

    #[test]
    fn a_message_carries_only_valid_labels() {
        let good = ClientRequest::OpenLabel { label: Label::new("ABC").unwrap() };
        let mut bytes = encode(&good).unwrap();
        let at = bytes.iter().position(|byte| *byte == b'A').unwrap();
        bytes[at] = b'1';
        assert_eq!(decode::<ClientRequest>(&bytes).unwrap_err(), MessageError::Malformed);
    }

    #[test]
    fn too_long_is_refused_both_ways() {
        let long = ClientReply::Token(vec![0; CONTROL_BYTES_MAX + 1]);
        assert!(matches!(encode(&long).unwrap_err(), MessageError::TooLong(_)));
        assert!(matches!(
            decode::<ClientReply>(&vec![0; CONTROL_BYTES_MAX + 1]),
            Err(MessageError::TooLong(_))
        ));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode::<ClientRequest>(&bytes);
            let _ = decode::<ClientReply>(&bytes);
            let _ = decode::<CardOrder>(&bytes);
            let _ = decode::<CardNotice>(&bytes);
            let _ = decode::<KeeperOrder>(&bytes);
            let _ = decode::<KeeperNotice>(&bytes);
        }
    }
}
