//! Every limit of queues, tables, messages and waits, by name.

/// Slots of a queue if the client asks for no other number; a power of two.
pub const QUEUE_SLOTS_DEFAULT: usize = 64;
/// At most this many slots in a queue: one bit each in one 64-bit submission word.
pub const QUEUE_SLOTS_MAX: usize = 64;
/// Unit of a frame: one cache line.
pub const FRAME_BYTES: usize = 64;
/// Length of a request or reply header.
pub const HEADER_BYTES: usize = FRAME_BYTES;
/// Longest payload that travels inside its slot: a text of 4 KiB with a symmetric key's token, rules and vectors
/// beside it.
pub const INLINE_BYTES_MAX: usize = 4096 + 448;
/// Longest text of one verb that travels through a bulk block: 1 MiB.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Length of one bulk block: the longest text, [`KEYS_MAX`] tokens of the greatest length, and 16
/// KiB for rules and vectors.
pub const BULK_BYTES_MAX: usize = TEXT_BYTES_MAX + KEYS_MAX * TOKEN_BYTES_MAX + 16 * 1024;
/// Bulk blocks of one queue in each direction.
pub const BULK_BLOCKS: usize = 16;

/// Slots of the verb table, and so the rows of every table that is kept by verb: costs, samples,
/// status pages.
pub const VERB_SLOTS: usize = 256;
/// Verb numbers are below this.
pub const VERB_NUMBERS: usize = 0x1000;
/// At most this many parameters of one verb: one bit each in one 64-bit word.
pub const PARAMETERS_MAX: usize = 64;
/// Key parameters of one verb, at the most.
pub const KEYS_MAX: usize = 8;
/// Keywords of one rule array, at the most.
pub const KEYWORDS_MAX: usize = 32;
/// Length of one rule-array keyword.
pub const KEYWORD_BYTES: usize = 8;
/// Length of a key label.
pub const LABEL_BYTES: usize = 64;
/// Longest key token or key block, of any format.
pub const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// Longest PKA key token.
pub const PKA_TOKEN_BYTES_MAX: usize = 3500;
/// Longest result of Random_Number_Generate_Long.
pub const RANDOM_BYTES_MAX: usize = 8192;

/// Domains of one card.
pub const DOMAINS_MAX: usize = 16;
/// Roles of one home, with those that every home has.
pub const ROLES_MAX: usize = 64;
/// Roles that a card knows at once: all of a home before a change of its settings, and all after it.
pub const CARD_ROLES_MAX: usize = 2 * ROLES_MAX;
/// Items in each list of points of a role, and label patterns of a role or a tenant, at the most.
pub const ROLE_ITEMS_MAX: usize = 256;
/// Decimalisation tables of one home, without the table that every card has.
pub const PIN_TABLES_MAX: usize = 32;
/// Digests under which failures of PINs are counted in one home.
pub const PIN_FAILURE_ROWS_MAX: usize = 1 << 18;
/// Failed PIN verifications that a card reports in one message, at the most.
pub const GUESSES_PER_NOTICE_MAX: usize = 512;
/// Kinds of refusals for want of a right that a card reports in one message, at the most.
pub const DENIALS_PER_NOTICE_MAX: usize = 64;
/// Cards of one home.
pub const CARDS_MAX: usize = 64;
/// Tenants of one home, and their rows in the accounts and samples.
pub const TENANTS_MAX: usize = 1024;
/// At most this many tenants that cards died with are listed in [`crate::control::Status`].
pub const CONFINED_LISTED_MAX: usize = 64;
/// At most this many processes with queues are listed in [`crate::control::Status`], and as many counts of queues that
/// one tenant was refused.
pub const HOLDERS_LISTED_MAX: usize = 64;
/// Largest number of deaths that the settings may require before a tenant is put into quarantine.
pub const QUARANTINE_DEATHS_MAX: u32 = 16;
/// Longest window in which deaths are counted, and longest quarantine, that a home may have, in
/// seconds: 30 days.
pub const QUARANTINE_SPAN_MAX_S: u64 = 30 * 24 * 3600;
/// Length of a tenant's name.
pub const TENANT_NAME_BYTES_MAX: usize = 32;
/// User names, and group names, of one tenant.
pub const TENANT_MEMBERS_MAX: usize = 128;
/// Longest name of a user or group in the settings.
pub const MEMBER_NAME_BYTES_MAX: usize = 64;
/// Greatest weight of a tenant when tenants take turns on a shared card.
pub const TENANT_WEIGHT_MAX: u32 = 1000;
/// At most this many dedicated cards and shares of cards in one home: listings of cards name all of
/// them.
pub const DEDICATED_MAX: usize = 512;
/// At most this many processor numbers in the lists of all cards of a home together: listings of
/// cards hold all of them.
pub const PROCESSORS_LISTED_MAX: usize = 8192;
/// Queues attached to one card.
pub const QUEUES_PER_CARD_MAX: usize = 4096;
/// Client connections of one daemon.
pub const CONNECTIONS_MAX: usize = 2048;
/// Labels that a home's key table has room for, if its settings name no other number and their keys are at most as long
/// as private RSA keys of 2,048 bits: four units each.
pub const LABELS_DEFAULT: u32 = 16_384;
/// Numbers of labels that the settings may name.
pub const LABELS: std::ops::RangeInclusive<u32> = 1024..=131_072;
/// Units of a key table for each label that it has room for.
pub const KEY_TABLE_UNITS_PER_LABEL: usize = 4;
/// Length of one unit of a key table. An entry takes as many units as its token needs: one up to 384 bytes.
pub const KEY_TABLE_UNIT_BYTES: usize = 512;
/// Longest control-plane message.
pub const CONTROL_BYTES_MAX: usize = 64 * 1024;
/// Longest payload of a call to the daemon, and of its answer: a message less its other fields.
pub const CALL_BYTES_MAX: usize = CONTROL_BYTES_MAX - 32;
/// Descriptors passed with one control-plane message.
pub const CONTROL_DESCRIPTORS_MAX: usize = 8;
/// Rows of a listing in one control message; longer listings are requested page by page.
pub const LIST_ROWS_MAX: usize = 256;
/// Longest certificate chain of a key record, in bytes of DER. A certificate of a hundred names with an RSA key of
/// 4,096 bits takes 5,000.
pub const CHAIN_BYTES_MAX: usize = 48 * 1024;
/// At most this many certificates in the chain of a key record.
pub const CHAIN_CERTIFICATES_MAX: usize = 16;
/// At most this many tokens are replaced by one request.
pub const REPLACEMENTS_MAX: usize = 256;
/// Bytes that a card keeps prepared RSA and elliptic-curve keys in, of all its domains together, where the settings say
/// nothing else: some 6,000 private RSA keys of 2,048 bits.
pub const PREPARED_KEYS_BYTES: usize = 64 << 20;

/// At most this many requests in one batch: the widest kernel has this many lanes.
pub const BATCH_MAX: usize = 512;
/// Payload bytes of one batch after which it takes no further request.
pub const BATCH_BYTES_MAX: usize = 8 << 20;
/// How often one request is sent to a card before it fails: once, and once more if a card died with
/// it.
pub const TAKEN_MAX: u32 = 2;
/// How long a waiter sleeps before it checks again that its card lives, in nanoseconds.
pub const LIVENESS_WAIT_NS: u64 = 20_000_000;

const _: () = assert!(QUEUE_SLOTS_DEFAULT.is_power_of_two() && QUEUE_SLOTS_DEFAULT <= QUEUE_SLOTS_MAX);
const _: () = assert!(INLINE_BYTES_MAX.is_multiple_of(FRAME_BYTES));
const _: () = assert!(
    BULK_BYTES_MAX.is_multiple_of(4096) && BULK_BYTES_MAX > TEXT_BYTES_MAX + KEYS_MAX * TOKEN_BYTES_MAX
);
const _: () = assert!(PARAMETERS_MAX <= u64::BITS as usize && KEYWORDS_MAX <= u32::BITS as usize);
const _: () =
    assert!(PKA_TOKEN_BYTES_MAX <= TOKEN_BYTES_MAX && KEY_TABLE_UNIT_BYTES.is_multiple_of(FRAME_BYTES));
const _: () = assert!(CHAIN_BYTES_MAX + LABEL_BYTES + 64 <= CONTROL_BYTES_MAX);
const _: () = assert!(2 * (LABEL_BYTES + TOKEN_BYTES_MAX + 64) <= CALL_BYTES_MAX);
const _: () = assert!(LABEL_BYTES <= TOKEN_BYTES_MAX && RANDOM_BYTES_MAX < BULK_BYTES_MAX);
