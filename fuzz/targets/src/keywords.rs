//! The words of the interface that a structured request chooses among: rule-array keywords, key forms,
//! lengths and types. Dictionaries hold the same for the targets that take bytes.

/// 8-byte keywords without their padding. Kept scripts name them by their place: new ones come last.
pub const KEYWORDS: &[&str] = &[
    "ADJUST", "AES", "AES-MK", "AESDATA", "AESTOKEN", "APKA-MK", "ASYM-MK", "CBC", "CIPHER", "CLEAR",
    "CLR-A128", "CLR-A192", "CLR-A256", "CONTINUE", "CUSP", "CV", "DATA", "DATAM", "DECIPHER", "DES",
    "DOUBLE", "DOUBLE-O", "ECB", "EMVMAC", "EMVMACD", "ENC-ZERO", "ENCIPHER", "EVEN", "EXMATCH", "EXPORTER",
    "EXTERNAL", "FINAL", "FIRST", "GCM", "GENERATE", "HASH", "HEX-8", "HEX-9", "IMPORTER", "INITIAL",
    "INTERNAL", "IPS", "ISO-9796", "KEY", "KEY-CLR", "KEY-CLRD", "KEY-ENC", "KEY-ENCD", "KEY-KM", "KEY-MGMT",
    "KEY-OKM", "KEYGENKY", "KEYIDENT", "KEYLN16", "KEYLN24", "KEYLN32", "KEYLN8", "KM-ONLY", "LAST", "MAC",
    "MACLEN4", "MACLEN6", "MACLEN8", "MACVER", "MASTER", "MD5", "MIDDLE", "MRP", "NO-CV", "NO-KEY",
    "NO-XLATE", "NOADJUST", "ODD", "OKEYXLAT", "ONLY", "OP", "OPOP", "PINGEN", "PINVER", "PKCS-1.0",
    "PKCS-1.1", "PKCS-1.2", "PKCS-PAD", "PKCS-PSS", "PKCSOAEP", "PKOAEP2", "RANDOM", "RSA", "RSA-AESC",
    "RSA-AESM", "RSA-CRT", "RSA-PRIV", "RSA-PUBL", "SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512",
    "SHA3-224", "SHA3-256", "SHA3-384", "SHA3-512", "SIG-ONLY", "SINGLE", "SINGLE-R", "SYM-MK", "TDES-MAC",
    "TOKEN", "TRIPLE-O", "VERIFY", "WRAP-ECB", "X9.19OPT", "X9.23", "X9.31", "X9.9-1", "XLATE-OK",
    "ZERO-PAD", "KEY-ENCT", "KEY-CLRT", "TOKEN-DL", "LABEL-DL", "CREATE", "REPLACE", "RTCMK", "ADD-PART",
    "COMPLETE", "V0PYLD", "V1PYLD", "HMAC", "PINPROT", "PINCALC", "PINPRW", "DKYGENKY", "SECMSG", "KDKGENKY",
    "ANY-MODE", "ENCRYPT", "DECRYPT", "GENONLY", "CMAC", "IMPORT", "WR-AES", "D-ALL", "NOEX-SYM", "XPRT-SYM",
    "C-XLATE", "UDX-ONLY", "EPINVER", "DKPINOP", "ISO-4", "EX", "IM", "OPEX", "OPIM", "IMEX", "IMIM", "EXEX",
    "ECC-PUBL", "ECC-PAIR", "ECC-VER1", "ECC", "ECDSA", "EDDSA", "ED-HASH", "MESSAGE", "MIN1PART",
    "MIN2PART", "MIN3PART", "DERIV02", "PASSTHRU", "KEY-AES", "KEY-DES", "ECDH", "USECONFG", "OKEK-DES",
    "DERIV01", "QSA-ECDH", "OKEK-AES", "WRAP-ENH", "WRAPENH2", "WRAPENH3", "ENH-ONLY", "AESKW", "AESKWCV",
    "CKM-RAKW", "MDC-2", "MDC-4", "PADMDC-2", "PADMDC-4", "IKEY-AES", "IKEY-DES", "OKEY-AES", "OKEY-DES",
    "I-CBC", "I-ECB", "IPKCSPAD", "I-X923", "I-CUSP", "I-IPS", "O-CBC", "O-ECB", "OPKCSPAD", "O-X923",
    "O-CUSP", "O-IPS", "TOASCII", "TOEBCDIC", "USETABLE", "CBCTOECB", "ECBTOCBC", "STATCCA", "STATCCAE",
    "STATAES", "STATAPKA", "STATCRD2", "STATICSA", "STATICSB", "DOM-NUMS", "DOM-USAG", "ADAPTER1",
    "LSTROLES", "GET-ROLE", "DOM-CONT", "STATCARD", "STATDIAG", "STATEID", "STATEXPT", "STATICSC",
    "STATICSE", "STATICSF", "STATICSX", "STATKPR", "STATKPRL", "STATMOFN", "STATDECT", "NUM-DECT",
    "STATWPIN", "SIZEWPIN", "TIMEDATE", "WRAPMTHD", "TKESTATE", "GETCOMPD", "QPENDING", "LSTPROFS",
    "GET-PROF", "CHGEXPDT", "CHG-AD", "RESET-FC", "DEL-PROF", "DEL-ROLE", "Q-NUM-RP", "Q-NUM-UR", "MIXED",
    "CMACZERO", "COMP-CHK", "COMP-TAG", "IKEK-AES", "IKEK-DES", "IKEK-PKA", "KEY-LEN", "KEY-NKM", "NL-EPP-5",
    "NOEXPORT", "PKA92", "REFORMAT", "RETAIN", "RTNMK", "SHA2VP1", "TRANSLAT", "TRIPLE", "XPORT", "RPMD-160",
    "QSA-PUBL", "QSA-PAIR", "RSAMEVAR", "RSA-OPT", "CRDLHASH", "EC-SDSA", "CRDL-DSA", "NEXMATCH", "TPK-ONLY",
    "EXTDWAKW", "INTDWAKW", "SCVISA", "SCCOMME", "SCCOMCRT", "TLS-ONLY",
];

/// A keyword as the interface has it.
pub fn padded(keyword: &str) -> [u8; 8] {
    let mut field = [b' '; 8];
    field[..keyword.len()].copy_from_slice(keyword.as_bytes());
    field
}
