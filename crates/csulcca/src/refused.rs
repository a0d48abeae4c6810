//! Why functions are refused (8/713), in a line for those that are refused for the same reason.

/// Each reason, with the functions of `PROTOTYPES` that it applies to: all that have no row in the verb table and are
/// not answered by the library itself.
pub const REFUSED: &[(&str, &[&str])] = &[
    (
        "a key part would lie clear in the memory of a queue and of the daemon; officers seal parts to the keeper (`cryptand master-key`)",
        &["CSNBMKP"],
    ),
    ("PIN verbs are missing", &["CSNBAPG", "CSNBPTRE"]),
    (
        "PIN verbs of the German banking industry are missing",
        &[
            "CSNBDDPG", "CSNBDMP", "CSNBDPC", "CSNBDPCG", "CSNBDPMT", "CSNBDPNU", "CSNBDPT", "CSNBDPV",
            "CSNBDRP", "CSNBDRPG",
        ],
    ),
    ("format-preserving encryption is missing", &["CSNBFPED", "CSNBFPEE", "CSNBFPET"]),
    ("it changes what a key is for", &["CSNBCVT"]),
    ("the key store is made with the home", &["CSNBKSI"]),
    (
        "no public key is registered in a card, and there are no trusted blocks",
        &["CSNDPKH", "CSNDPKR", "CSNDRKX", "CSNDTBC"],
    ),
    ("no key is retained in a card", &["CSNDRKD", "CSNDRKL"]),
    ("blocks of SET, which is no longer used", &["CSNDSBC", "CSNDSBD"]),
    ("it puts a key among data of the caller's choice", &["CSNDSXD"]),
    ("roles are in the settings, and nobody logs on to a card", &["CSUAACI", "CSUALCT"]),
    ("cards are administered by `cryptand`, by the home's owner and by officers", &["CSUACFC"]),
    ("cards keep no log", &["CSUALGQ"]),
    ("cards test their generator of random numbers themselves, when they start", &["CSUARNT"]),
    (
        "of workstations that administer cards, and of copies of master keys: officers enter parts, and backups are sealed",
        &["CSUACIE", "CSUADHK", "CSUADHQ", "CSUAKIX", "CSUAKTX", "CSUAMKD", "CSUAMKX", "CSUARNX", "CSUASKE"],
    ),
    ("no description of it was found", &["CSUAPCV", "CSUAPRB"]),
];
