//! Settings as the commented file that is their manual.

use super::{Settings, SettingsError};
use serde::Serialize;
use std::fmt::Write as _;
use toml_edit::DocumentMut;

impl Settings {
    /// Writes the settings as a commented file.
    ///
    /// # Errors
    /// [`SettingsError`] if the settings are not valid.
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
                "# Most memory in MiB, 64 to 2048, for deriving the key of the sealed master keys from their passphrase: the more,\n\
                 # the more a guess costs. It is used if twice as much is free and can be locked, else 64; files record it.",
                None,
            ),
            ("seal_memory_mib", Some(value(&self.seal_memory_mib))),
            (
                "# How the master keys are unsealed after each start of the keeper: \"attended\" (an officer types the passphrase; the\n\
                 # default) or \"unattended\" (by the credential `cryptand-passphrase` of the daemon's unit, read when the keeper starts;\n\
                 # a typed passphrase works as well). DANGER of the second: whoever has the machine, or its disk and what opens the\n\
                 # credential, has the keys (docs/howto/officers.md). Ignored in a home of a system service, whose own file says it.",
                None,
            ),
            ("unseal", Some(value(&self.unseal))),
            (
                "# The number that the next new tenant gets. Never lower it: a new tenant would get the labels and queues that an\n\
                 # earlier one left.",
                None,
            ),
            ("tenant_number_next", Some(value(&self.tenant_number_next))),
            (
                "# The file of the system service that this home belongs to: keeper and cards then run as users of their own, and\n\
                 # officers give their orders to the keeper. Read at the daemon's start. Unset: a home of one user, whose keeper\n\
                 # and cards run as the daemon's user.",
                None,
            ),
            ("service", self.service.as_ref().map(value)),
            (
                "\n[tokens]\n# How cards wrap the keys of new DES and AES tokens: \"authenticated\" (changes are detected, and parts of tokens\n\
                 # cannot be combined; the default), or \"compatible\" (CCA's ECB and CBC, for other programs that open\n\
                 # tokens under the same master keys). DANGER of the second: parts of two tokens make keys that are single DES.",
                None,
            ),
            ("form", Some(value(&self.tokens.form))),
            (
                "# Whether compatible tokens are accepted, also in key records. Unset: true, for homes that have some; a verb that is\n\
                 # given one as bytes returns it authenticated. DANGER: whoever sends token bytes can combine parts of such tokens.",
                None,
            ),
            ("open_compatible", Some(value(&self.tokens.open_compatible))),
            ("\n[cards]\n# Secure-key cards (0 to 64 cards in all). Default: 1.", None),
            ("coprocessors", Some(value(&cards.coprocessors))),
            (
                "# Clear-key RSA cards; their indexes follow those of the coprocessors, so that another number of\n\
                 # coprocessors renumbers them. If indexes are used below, add cards as [[card]] instead. Default: 1.",
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
                "# Highest instruction-set level of cards: \"portable\", \"avx2\" or \"avx512\". If CRYPTAND_LEVEL in the daemon's\n\
                 # environment names one too, the lower applies. Unset: the machine's best.",
                None,
            ),
            ("level", cards.level.as_ref().map(value)),
            (
                "# Memory of each card for RSA and elliptic-curve keys that it has opened, 4 to 4096 MiB: 64 hold some 6,000 private\n\
                 # RSA-2048 keys. A card locks 143 MiB, and what this has above 64. Default: 64.",
                None,
            ),
            ("prepared_keys_mib", Some(value(&cards.prepared_keys_mib))),
            (
                "\n[quarantine]\n# A tenant is put into quarantine, in which its requests are refused, after this many cards died within the window\n\
                 # while they ran only its requests; 0: never, which is DANGEROUS if tenants do not trust each other, since each\n\
                 # request that kills cards takes two from everybody. `cryptand tenant lift` ends a quarantine. Default: 3.",
                None,
            ),
            ("deaths", Some(value(&self.quarantine.deaths))),
            (
                "# The window in seconds. For as long, a tenant's requests run in passes of their own after a card died with them\n\
                 # and others'. Default: 600.",
                None,
            ),
            ("window_s", Some(value(&self.quarantine.window_s))),
            (
                "# The first quarantine in seconds; each further one takes only one death and is twice as long, up to the longest.\n\
                 # After the longest time without a death all is forgotten. Defaults: 60, and 86400 (a day).",
                None,
            ),
            ("first_s", Some(value(&self.quarantine.first_s))),
            ("longest_s", Some(value(&self.quarantine.longest_s))),
            (
                "\n[pin]\n# Decimalisation tables that PIN verbs take from every role, beside 0123456789012345: 16 decimal digits, of which at\n\
                 # least 8 are different and none stands there more than four times. At most 32; `cryptand pin table` changes them.",
                None,
            ),
            ("tables", Some(value(&self.pin.tables))),
            (
                "# Wrong PINs of one key within an hour after which its verifications are refused, until they are fewer; 0: never, which\n\
                 # is DANGEROUS: one guess of each card of an issuer finds the PIN of one in ten thousand. An issuer of many cards needs\n\
                 # more than the default: about one PIN in a hundred is typed wrong. Of one card ten within a day are too many.\n\
                 # `cryptand pin failures` shows and clears them. Default: 500.",
                None,
            ),
            ("key_failures_per_hour", Some(value(&self.pin.key_failures_per_hour))),
            (
                "# The same of one tenant: from so many on it is refused, and others go on; 0: never. Default: 250.",
                None,
            ),
            ("tenant_key_failures_per_hour", Some(value(&self.pin.tenant_key_failures_per_hour))),
            (
                "\n[daemon]\n# Labels that can be open at once, 1024 to 131072, of keys as long as private RSA keys of 2,048 bits; of AES and DES\n\
                 # keys four times as many. Each takes 2.3 KB in run/. A tenant of guests may have a quarter; its own\n\
                 # that no process holds give way, then those that it asked for longest ago. Takes effect at the next start after\n\
                 # `cryptand stop`. Default: 16384.",
                None,
            ),
            ("labels", Some(value(&self.daemon.labels))),
            (
                "# Whether a program that needs the daemon (`cryptand speed`, `encrypt` with a key on cards, a client library that was\n\
                 # told to) starts it if none runs: as its child, without a unit's limits. After `cryptand stop`, or a signal\n\
                 # that stopped the daemon, no program does until `cryptand serve` or a unit has started it. Unset: true, but false\n\
                 # if a service manager started the last one, and for a home of a system service.",
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
                "# Users who may observe cards and all tenants (`cryptand top`, `cryptand metrics`), and\n\
                 # do nothing else. Default: nobody but the owner and root.",
                None,
            ),
            ("observers", Some(value(&self.access.observers))),
            (
                "# The role of those who belong to no tenant. Default: \"guest\", who uses keys by their labels: no wrapped\n\
                 # tokens, no import or export, no deciphering with RSA keys, no changes of key records. `cryptand role list`\n\
                 # shows all roles. DANGER: \"owner\" and any role with \"token-bytes\" or \"export\" let its users take keys\n\
                 # out, or use keys under labels that they may not open.",
                None,
            ),
            ("role", self.access.role.as_ref().map(value)),
        ];
        put(&mut text, lines);
        if let Some(development) = self.development {
            let _ = write!(
                text,
                "\n# INSECURE: a development home. Its master keys are derived from this number, so anyone can compute\n\
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

/// A value as TOML on one line. All callers pass values that serialize: integers, booleans, lists, inline
/// tables, and paths, which are UTF-8 because they were read from TOML or checked by the caller.
fn value<T: Serialize>(value: &T) -> String {
    toml::Value::try_from(value).map(|value| value.to_string()).unwrap_or_default()
}

/// The manual of the tables that a new home does not have; they are added at the end of the file.
const MANUAL: &str = "
# One table for each card that differs from [cards]; `cryptand card` writes them too, keeping comments. A card beyond
# those that [cards] counts needs a personality; an index may be left out between them.
#
#   [[card]]
#   index = 2                      # 0 to 63; a card never changes its index
#   personality = \"accelerator\"    # or \"coprocessor\"
#   poll = \"sleep\"                 # as above
#   processors = [2, 3]            # an empty list: all
#   level = \"avx2\"                 # instead of [cards] level
#   quiesced = true                # takes no requests, also after a restart
#   removed = true                 # there is no such card, although [cards] counts it

# Roles: what may be done, by access-control points. Every home has owner (everything), guest, trusted (a guest that
# also sends and reads wrapped tokens and deciphers with RSA keys), tls-server (signs as TLS does and opens its premaster
# secrets, under labels that its tenant names) and nobody; they cannot be changed.
# `cryptand role show ROLE` lists points and groups, `cryptand role check WHO LABEL VERB` says what is allowed in the end.
#
#   [[role]]
#   name = \"shop\"                  # letters, digits, - and _, at most 32
#   base = \"guest\"                 # the role that it starts from; unset: nobody
#   allow = [\"token-bytes\"]        # points, groups of points, or \"all\" (except legacy and legacy-pin), that it permits beyond that.
#                                  # DANGER: token-bytes: wrapped keys in requests, so that rights on labels do not limit
#                                  # which keys are used, and parts of compatible tokens can be combined; export, import,
#                                  # clear-import: keys leave or enter; rsa-decipher: reveals what RSA keys decipher;
#                                  # legacy: a key serves two purposes, of which one breaks the other; legacy-pin: PINs are
#                                  # found in a few tries
#   deny = [\"mac-x9.9\", \"hash\"]    # what it then refuses
#
#   [[role.labels]]                # labels that it may open, instead of those of its base
#   pattern = \"SHOP.*\"             # * stands for any characters, dots among them
#   uses = [\"use\"]                 # use (all but the last three), or some of: encipher, decipher, mac-generate,
#                                  # mac-verify, sign, verify, rsa-encipher, rsa-decipher, export, import, generate,
#                                  # test; write, delete, read (the token of the record); all

# Tenants: who shares the cards, and how much of them each may use. `cryptand tenant` writes these tables too. A user
# who belongs to none is a separate tenant, without limits, on the cards that are not dedicated.
#
#   [[tenant]]
#   name = \"web\"                   # letters, digits, - and _, at most 32
#   number = 1                     # 1 or above, never used twice, below tenant_number_next
#   users = [\"www-data\"]           # whose processes belong to it; they may use the home like those of [access]
#   groups = []                    # the same for members; a user in groups of two tenants must show a credential
#   credential_sha256 = \"...\"      # 64 hexadecimal digits: SHA-256 of the 32 bytes that its processes show. Lets in
#                                  # every process that can reach the home's socket: with nobody but the owner in
#                                  # [access] and tenants, the owner's only; otherwise all of this machine
#   former_credential_sha256 = \"...\"   # the previous one, also valid while processes are given the new one
#   domains = [1]                  # that it may use; empty or unset: all. Each has master keys of its own
#   role = \"shop\"                  # what it may do; unset: guest. DANGER: as for the role of [access]
#   also_shared = false            # with dedicated cards: whether it uses the shared ones as well
#
#   [tenant.limits]                # 0 or unset is no limit
#   weight = 1                     # its weight against other tenants of a shared card, 1 to 1000
#   in_flight_max = 0              # requests in flight over all cards; more wait in their slots
#   in_flight_per_card_max = 0     # and on one card
#   per_second_max = 0             # requests a second over all cards
#
#   [[tenant.labels]]              # labels that it may open, instead of those of its role
#   pattern = \"WEB.*\"
#   uses = [\"use\"]
#
#   [[tenant.dedicated]]           # dedicated cards, or shares of them
#   card = 2                       # index
#   share_percent = 100            # 100: nobody else uses it. Less: that much of its time whenever the tenant has
#                                  # work; what it leaves, others use. All shares of a card: at most 100
";
