//! Every limit of queues, tables, messages and waits, by name.

/// Slots of a queue where nothing else is asked for; a power of two.
pub const QUEUE_SLOTS_DEFAULT: usize = 64;
/// Most slots of a queue: one bit each in one 64-bit submission word.
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
/// Length of one bulk block: a longest text with as many longest tokens as a request may have, rules and
/// vectors beside it.
pub const BULK_BYTES_MAX: usize = TEXT_BYTES_MAX + KEYS_MAX * TOKEN_BYTES_MAX + 16 * 1024;
/// Bulk blocks of one queue in each direction.
pub const BULK_BLOCKS: usize = 16;

/// Slots of the verb table: rows of status pages, costs and records that are kept for each verb.
pub const VERB_SLOTS: usize = 256;
/// Verb numbers are below this.
pub const VERB_NUMBERS: usize = 0x1000;
/// Most parameters of one verb: one bit each in one 64-bit word.
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
/// Items in a role's lists of points, and label patterns of a role or a tenant.
pub const ROLE_ITEMS_MAX: usize = 256;
/// Decimalisation tables of one home, beside the one that every card has.
pub const PIN_TABLES_MAX: usize = 32;
/// Digests under which failures of PINs are counted in one home.
pub const PIN_FAILURE_ROWS_MAX: usize = 1 << 18;
/// Verifications that a card tells of in one message.
pub const GUESSES_PER_NOTICE_MAX: usize = 512;
/// Kinds of refusals for want of a right that a card tells of in one message.
pub const DENIALS_PER_NOTICE_MAX: usize = 64;
/// Cards of one home.
pub const CARDS_MAX: usize = 64;
/// Tenants of one home, and their rows in the accounts and samples.
pub const TENANTS_MAX: usize = 1024;
/// Most tenants in [`crate::control::Status`] whose requests were in passes that cards died in.
pub const CONFINED_LISTED_MAX: usize = 64;
/// Largest number of deaths that the settings may require before a tenant is put into quarantine.
pub const QUARANTINE_DEATHS_MAX: u32 = 16;
/// Longest window and longest quarantine that a home may have, in seconds: 30 days.
pub const QUARANTINE_SPAN_MAX_S: u64 = 30 * 24 * 3600;
/// Length of a tenant's name.
pub const TENANT_NAME_BYTES_MAX: usize = 32;
/// User names, and group names, of one tenant.
pub const TENANT_MEMBERS_MAX: usize = 128;
/// Longest name of a user or group in the settings.
pub const MEMBER_NAME_BYTES_MAX: usize = 64;
/// Greatest weight of a tenant in turns.
pub const TENANT_WEIGHT_MAX: u32 = 1000;
/// Most dedicated cards and shares of cards in one home: listings of cards name them all.
pub const DEDICATED_MAX: usize = 512;
/// Most processor numbers in the lists of all cards of a home together: listings of cards hold them all.
pub const PROCESSORS_LISTED_MAX: usize = 8192;
/// Queues attached to one card.
pub const QUEUES_PER_CARD_MAX: usize = 4096;
/// Client connections of one daemon.
pub const CONNECTIONS_MAX: usize = 2048;
/// Units of a key table, and entries of it at the most: opened labels of one home.
pub const KEY_TABLE_ENTRIES: usize = 4096;
/// Length of one unit of a key table: an entry takes as many as its token needs, which is one up to 3,968 bytes.
pub const KEY_TABLE_UNIT_BYTES: usize = 4096;
/// Labels that one client keeps resolved.
pub const OPEN_LABELS_MAX: usize = 1024;
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
/// Most certificates in it.
pub const CHAIN_CERTIFICATES_MAX: usize = 16;
/// Tokens that one request replaces, at the most.
pub const REPLACEMENTS_MAX: usize = 256;
/// Cached RSA and EC contexts of one domain.
pub const CONTEXTS_PER_DOMAIN_MAX: usize = 1024;

/// Most requests in one batch: as many as the widest kernel has lanes.
pub const BATCH_MAX: usize = 512;
/// Payload bytes of one batch after which it takes no further request.
pub const BATCH_BYTES_MAX: usize = 8 << 20;
/// Times that one request is sent to a card before it fails: the first, and one more after a card died with it.
pub const TAKEN_MAX: u32 = 2;
/// How long a waiter sleeps before it checks again that its card lives, in nanoseconds.
pub const LIVENESS_WAIT_NS: u64 = 20_000_000;

const _: () = assert!(QUEUE_SLOTS_DEFAULT.is_power_of_two() && QUEUE_SLOTS_DEFAULT <= QUEUE_SLOTS_MAX);
const _: () = assert!(INLINE_BYTES_MAX.is_multiple_of(FRAME_BYTES));
const _: () = assert!(
    BULK_BYTES_MAX.is_multiple_of(4096) && BULK_BYTES_MAX > TEXT_BYTES_MAX + KEYS_MAX * TOKEN_BYTES_MAX
);
const _: () = assert!(PARAMETERS_MAX <= u64::BITS as usize && KEYWORDS_MAX <= u32::BITS as usize);
const _: () = assert!(PKA_TOKEN_BYTES_MAX <= TOKEN_BYTES_MAX && KEY_TABLE_UNIT_BYTES.is_multiple_of(4096));
const _: () = assert!(CHAIN_BYTES_MAX + LABEL_BYTES + 64 <= CONTROL_BYTES_MAX);
const _: () = assert!(2 * (LABEL_BYTES + TOKEN_BYTES_MAX + 64) <= CALL_BYTES_MAX);
const _: () = assert!(LABEL_BYTES <= TOKEN_BYTES_MAX && RANDOM_BYTES_MAX < BULK_BYTES_MAX);
