//! Settings as the commented file that is their manual.

use super::{Settings, SettingsError};
use serde::Serialize;
use std::fmt::Write as _;
use toml_edit::DocumentMut;

impl Settings {
    /// The settings as the commented file.
    ///
    /// # Errors
    /// [`SettingsError`] where they are not valid.
    pub fn to_text(&self) -> Result<String, SettingsError> {
        self.check()?;
        let mut text = String::new();
        let cards = &self.cards;
        let lines: &[(&str, Option<String>)] = &[
            (
                "# Settings of a Cryptand home. Change them and run `cryptand reload`; unknown keys are errors.\n",
                None,
            ),
            (
                "# Serve single DES, RSA below 1024 bits, MD5 and RC4, which are breakable. Default: false.",
                None,
            ),
            ("weak_algorithms", Some(value(&self.weak_algorithms))),
            (
                "# Memory in MiB that deriving the key of the sealed master keys from their passphrase may take, 64 to 2048: the more,\n\
                 # the dearer a guess. It is taken where twice as much is free and can be locked, else 64; files say what they took.",
                None,
            ),
            ("seal_memory_mib", Some(value(&self.seal_memory_mib))),
            (
                "# Who unseals the master keys after each start of the keeper: \"attended\" (an officer who types the passphrase; the\n\
                 # default) or \"unattended\" (the credential `cryptand-passphrase` of the daemon's unit, read as the keeper starts; a\n\
                 # typed passphrase unseals it as well). DANGER of the second: whoever has the machine, or its disk and what opens the\n\
                 # credential, has the keys (docs/officers.md). Unused in a home of a system service, whose file says so.",
                None,
            ),
            ("unseal", Some(value(&self.unseal))),
            (
                "# The number that the next new tenant gets. Never lower it: what an earlier tenant left would be taken for\n\
              # a later one's.",
                None,
            ),
            ("tenant_number_next", Some(value(&self.tenant_number_next))),
            (
                "# The file of the system service that this home belongs to: keeper and cards then run as users of their own, and\n\
                 # officers give their orders to the keeper. Read at the daemon's start. Unset: a home of one's own, whose keeper\n\
                 # and cards run as the daemon does.",
                None,
            ),
            ("service", self.service.as_ref().map(value)),
            (
                "\n[tokens]\n# How cards wrap the keys of new DES and AES tokens: \"authenticated\" (nothing of a token can be changed, and no\n\
                 # parts of tokens put together; the default), or \"compatible\" (CCA's ECB and CBC, for other programs that open\n\
                 # tokens under the same master keys). DANGER of the second: parts of two tokens make keys that are single DES.",
                None,
            ),
            ("form", Some(value(&self.tokens.form))),
            (
                "# Whether compatible tokens still open, those of key records too. Unset: true, for homes that have some; a use of\n\
                 # one by its bytes gives it back authenticated. DANGER: whoever sends token bytes can put parts of these together.",
                None,
            ),
            ("open_compatible", Some(value(&self.tokens.open_compatible))),
            ("\n[cards]\n# Secure-key cards (0 to 64 cards in all). Default: 1.", None),
            ("coprocessors", Some(value(&cards.coprocessors))),
            (
                "# Clear-key RSA cards; their indexes follow those of the coprocessors, so that another number of\n\
                 # coprocessors moves them. Where indexes are named below, add cards as [[card]]. Default: 1.",
                None,
            ),
            ("accelerators", Some(value(&cards.accelerators))),
            ("# Domains of each coprocessor, 1 to 16, each with master keys of its own. Default: 1.", None),
            ("domains", Some(value(&cards.domains))),
            (
                "# How cards wait: \"adaptive\" (spin a few microseconds, then sleep; the default), \"spin\" (a whole\n\
                 # processor per card), \"sleep\", or { every = { interval_us = N } } (a timer; up to N us of delay).",
                None,
            ),
            ("poll", Some(value(&cards.poll))),
            (
                "# Keep tenants out of each other's batches: batching is a timing channel between them. Costs\n\
                 # throughput where tenants share a card. Default: false.",
                None,
            ),
            ("separate_tenants", Some(value(&cards.separate_tenants))),
            ("# Processors that cards may run on, by number. Unset: all.", None),
            ("processors", cards.processors.as_ref().map(value)),
            (
                "# Highest instruction set of cards: \"portable\", \"avx2\" or \"avx512\". Where CRYPTAND_LEVEL in the daemon's\n\
                 # environment names one too, the lower counts. Unset: the machine's best.",
                None,
            ),
            ("level", cards.level.as_ref().map(value)),
            (
                "\n[quarantine]\n# How many cards may end with a tenant's requests alone within the window before none of its requests is taken\n\
                 # for a while; 0 for no end, which is DANGEROUS where tenants do not trust each other: each request that ends\n\
                 # cards takes two from everybody. `cryptand tenant lift` ends a quarantine. Default: 3.",
                None,
            ),
            ("deaths", Some(value(&self.quarantine.deaths))),
            (
                "# The window in seconds; as long run a tenant's requests in passes of their own after a card ended with them\n\
                 # and others'. Default: 600.",
                None,
            ),
            ("window_s", Some(value(&self.quarantine.window_s))),
            (
                "# The first quarantine in seconds; each one after it is twice as long, up to the longest, and takes one death.\n\
                 # After as long as the longest without a death all is forgotten. Defaults: 60, and 86400 (a day).",
                None,
            ),
            ("first_s", Some(value(&self.quarantine.first_s))),
            ("longest_s", Some(value(&self.quarantine.longest_s))),
            (
                "\n[daemon]\n# Whether a program that needs the daemon (`cryptand speed`, `encrypt` with a key on cards, a client library that was\n\
                 # told to) starts it where none runs: as its child, without a unit's limits. After `cryptand stop`, or a signal\n\
                 # that stopped the daemon, none does before `cryptand serve` or a unit started it. Unset: true, but false where a\n\
                 # service manager started the last one, and for a home of a system service.",
                None,
            ),
            ("autostart", self.daemon.autostart.as_ref().map(value)),
            (MANUAL, None),
            ("[programs]\n# Absolute paths; PATH is never searched.", None),
            ("daemon", Some(value(&self.programs.daemon))),
            ("card", Some(value(&self.programs.card))),
            (
                "# Manifest with the SHA-256 of the card program, checked before each start. Unset: not checked.",
                None,
            ),
            ("manifest", self.programs.manifest.as_ref().map(value)),
            (
                "\n[access]\n# Users and groups, besides the owner, who may attach queues and use keys in the role below; they cannot\n\
                 # stop the daemon or change its settings. Default: nobody.",
                None,
            ),
            ("users", Some(value(&self.access.users))),
            ("groups", Some(value(&self.access.groups))),
            (
                "# Users who may watch what cards and tenants do (`cryptand top`, `cryptand metrics`), all tenants together, and\n\
                 # do nothing else. Default: nobody but the owner and root.",
                None,
            ),
            ("observers", Some(value(&self.access.observers))),
            (
                "# The role of those who belong to no tenant. Default: \"guest\", who uses keys by their labels: no wrapped\n\
                 # tokens, no import or export, no deciphering with RSA keys, no changes of key records. `cryptand role list`\n\
                 # shows all roles. DANGER: \"owner\" and any role with \"token-bytes\" or \"export\" let its users take keys\n\
                 # out, or use keys whose labels are not theirs.",
                None,
            ),
            ("role", self.access.role.as_ref().map(value)),
        ];
        put(&mut text, lines);
        if let Some(development) = self.development {
            let _ = write!(
                text,
                "\n# INSECURE: a development home. Its master keys are derived from this number, so anyone can know\n\
                 # them. Never put a real key into it.\n[development]\ninsecure_seed = {}\n",
                development.insecure_seed
            );
        }
        for card in &self.card {
            put_table(&mut text, "card", &toml_edit::ser::to_document(card).unwrap_or_default());
        }
        for role in &self.roles {
            put_table(&mut text, "role", &toml_edit::ser::to_document(role).unwrap_or_default());
        }
        for tenant in &self.tenants {
            put_table(&mut text, "tenant", &super::file::tenant_document(tenant));
        }
        Self::bounded(text)
    }
}

fn put(text: &mut String, lines: &[(&str, Option<String>)]) {
    for (line, set) in lines {
        let _ = match (line.contains('#'), set) {
            (true, _) => writeln!(text, "{line}"),
            (false, Some(set)) => writeln!(text, "{line} = {set}"),
            (false, None) => writeln!(text, "# {line} ="),
        };
    }
}

fn put_table(text: &mut String, name: &str, document: &DocumentMut) {
    let _ = write!(text, "\n[[{name}]]\n{document}");
}

/// A value as TOML on one line. What comes here serializes: integers, booleans, lists, inline
/// tables, and paths, which are UTF-8 as they were read from TOML or checked by the caller.
fn value<T: Serialize>(value: &T) -> String {
    toml::Value::try_from(value).map(|value| value.to_string()).unwrap_or_default()
}

/// What is written about tables that a new home has none of; they follow at the end of the file.
const MANUAL: &str = "
# One table for each card that differs from [cards]; `cryptand card` writes them too, keeping comments. A card beyond
# those that [cards] counts needs a personality; an index may be left out between them.
#
#   [[card]]
#   index = 2                      # 0 to 63; what it is never changes by itself
#   personality = \"accelerator\"    # or \"coprocessor\"
#   poll = \"sleep\"                 # as above
#   processors = [2, 3]            # an empty list: all
#   level = \"avx2\"                 # instead of [cards] level
#   quiesced = true                # takes no requests, also after a restart
#   removed = true                 # there is no such card, though [cards] counts it

# Roles: what may be done, by access-control points. Every home has owner (everything), guest, trusted (a guest that
# also sends and reads wrapped tokens and deciphers with RSA keys) and nobody; they cannot be changed.
# `cryptand role show ROLE` lists points and groups, `cryptand role check WHO LABEL VERB` says what follows from all of it.
#
#   [[role]]
#   name = \"shop\"                  # letters, digits, - and _, at most 32
#   base = \"guest\"                 # the role that it begins with; unset: nobody
#   allow = [\"token-bytes\"]        # points, groups of points, or \"all\" (but legacy), that it permits beyond that.
#                                  # DANGER: token-bytes: wrapped keys in requests, so that labels no longer say which
#                                  # keys are used, and parts of compatible tokens spliced; export, import, clear-import: keys
#                                  # leave or enter; rsa-decipher: shows what RSA keys decipher; legacy: a key
#                                  # serves two purposes, of which one breaks the other
#   deny = [\"mac-x9.9\", \"hash\"]    # what it then refuses
#
#   [[role.labels]]                # labels that may be opened, instead of those of its base
#   pattern = \"SHOP.*\"             # * stands for any characters, dots among them
#   uses = [\"use\"]                 # use (all but the last three), or some of: encipher, decipher, mac-generate,
#                                  # mac-verify, sign, verify, rsa-encipher, rsa-decipher, export, import, generate,
#                                  # test; write, delete, read (the token of the record); all

# Tenants: who shares the cards, and how much of them each may use. `cryptand tenant` writes these tables too. Who
# belongs to none is a tenant of its own, without limits, on the cards that are nobody's own.
#
#   [[tenant]]
#   name = \"web\"                   # letters, digits, - and _, at most 32
#   number = 1                     # 1 or above, never used twice, below tenant_number_next
#   users = [\"www-data\"]           # whose processes belong to it; they may use the home like those of [access]
#   groups = []                    # the same for members; who is in groups of two tenants must show a credential
#   credential_sha256 = \"...\"      # 64 hexadecimal digits: SHA-256 of the 32 bytes that its processes show. Lets in
#                                  # every process that can reach the home's socket: with nobody but the owner in
#                                  # [access] and tenants, the owner's only; otherwise all of this machine
#   former_credential_sha256 = \"...\"   # the one before, which lets in as well, while processes are given the new one
#   domains = [1]                  # that it may use; empty or unset: all. Each has master keys of its own
#   role = \"shop\"                  # what it may do; unset: guest. DANGER: as for the role of [access]
#   also_shared = false            # with cards of its own: whether it uses the shared ones as well
#
#   [tenant.limits]                # 0 or unset is no limit
#   weight = 1                     # its turns against other tenants of a shared card, 1 to 1000
#   in_flight_max = 0              # requests in flight over all cards; more wait in their slots
#   in_flight_per_card_max = 0     # and on one card
#   per_second_max = 0             # requests a second over all cards
#
#   [[tenant.labels]]              # labels that it may open, instead of those of its role
#   pattern = \"WEB.*\"
#   uses = [\"use\"]
#
#   [[tenant.dedicated]]           # cards of its own, or shares of them
#   card = 2                       # index
#   share_percent = 100            # 100: nobody else uses it. Less: that much of its time whenever the tenant has
#                                  # work; what it leaves, others use. All shares of a card: at most 100
";
