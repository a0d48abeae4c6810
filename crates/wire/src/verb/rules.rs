//! Rules between keywords of a verb, and lengths that follow from keywords.

use super::keywords::Rule;
use crate::code;
use crate::parameters::Keyed;

pub(super) const BUILD_RULES: &[Rule] = &[
    Rule::Excludes(&["AES"], &["EXTERNAL", "KEY", "CV", "NO-CV", "DOUBLE-O", "TRIPLE-O"]),
    Rule::Needs(&["KEY-CLR"], &["AES"]),
    WRAPENH2,
    WRAPENH3,
];
/// How these methods derive their keys is not published.
const WRAPENH2: Rule = Rule::Unserved("WRAPENH2", code::WRAPPING_TYPE);
const WRAPENH3: Rule = Rule::Unserved("WRAPENH3", code::WRAPPING_TYPE);
pub(super) const WRAPPING_RULES: &[Rule] = &[WRAPENH2, WRAPENH3];
/// No card has the new master key before it is set.
const RTNMK: Rule = Rule::Unserved("RTNMK", code::REGISTER_STATE);
pub(super) const NEW_MASTER_KEY_RULES: &[Rule] = &[RTNMK];
pub(super) const CHANGE_RULES: &[Rule] =
    &[RTNMK, Rule::Needs(&["ENH-ONLY"], &["WRAP-ENH"]), WRAPENH2, WRAPENH3];
/// A control vector belongs to a DES key, which never has 32 bytes.
pub(super) const VECTOR_RULES: &[Rule] = &[Rule::Refused("KEYLN32")];
pub(super) const VARIABLE_BUILD_RULES: &[Rule] = &[
    // The meaning of its usage fields is not published.
    Rule::Refused("KDKGENKY"),
    Rule::Excludes(
        &["HMAC"],
        &["CIPHER", "EXPORTER", "IMPORTER", "PINPROT", "PINCALC", "PINPRW", "DKYGENKY", "SECMSG", "V1PYLD"],
    ),
    Rule::Excludes(&["AES", "MAC"], &["KEY-CLR", "V0PYLD"]),
    Rule::Excludes(
        &["KEY-CLR"],
        &["EXPORTER", "IMPORTER", "PINPROT", "PINCALC", "PINPRW", "DKYGENKY", "SECMSG", "V1PYLD"],
    ),
    Rule::Excludes(&["V0PYLD"], &["PINPROT", "PINCALC", "PINPRW", "DKYGENKY", "SECMSG"]),
];
pub(super) const VARIABLE_PART_RULES: &[Rule] =
    &[Rule::Excludes(&["ADD-PART"], LEAST_PARTS), Rule::Excludes(&["COMPLETE"], LEAST_PARTS)];
const LEAST_PARTS: &[&str] = &["MIN3PART", "MIN2PART", "MIN1PART"];
pub(super) const TEST_RULES: &[Rule] = &[
    Rule::Needs(&["SYM-MK"], MASTERS),
    Rule::Needs(&["ASYM-MK"], MASTERS),
    Rule::Needs(&["AES-MK"], MASTERS),
    Rule::Needs(&["APKA-MK"], MASTERS),
    Rule::Excludes(&["ENC-ZERO"], MASTERS),
    Rule::Needs(&["KEY-KM", "SHA-256"], SHA256_REGISTERS),
    Rule::Needs(&["KEY-OKM", "SHA-256"], SHA256_REGISTERS),
    Rule::Excludes(&["SHA-1"], SHA256_REGISTERS),
    Rule::Excludes(&["SHA-1"], DES_SOURCES),
    Rule::Excludes(&["SHA-256"], DES_SOURCES),
    Rule::Excludes(&["SHA-1"], &["CLR-A128", "CLR-A192", "CLR-A256"]),
    Rule::Needs(&["KEY-CLRT"], &["ENC-ZERO"]),
];
const MASTERS: &[&str] = &["KEY-KM", "KEY-OKM"];
const SHA256_REGISTERS: &[&str] = &["AES-MK", "APKA-MK"];
const DES_SOURCES: &[&str] = &["KEY-ENC", "KEY-ENCD", "KEY-ENCT", "KEY-CLR", "KEY-CLRD", "KEY-CLRT"];

pub(super) const TEST_2_RULES: &[Rule] = &[
    // How a pattern shows the length of a key is not published, and no card has a new master key
    // before it is set.
    Rule::Refused("KEY-LEN"),
    Rule::Refused("KEY-NKM"),
    Rule::Refused("IKEK-PKA"),
    Rule::Needs(&[], &["AES", "DES", "HMAC", "SYM-MK", "ASYM-MK", "AES-MK", "APKA-MK"]),
    Rule::Needs(&["SYM-MK"], MASTERS),
    Rule::Needs(&["ASYM-MK"], MASTERS),
    Rule::Needs(&["AES-MK"], MASTERS),
    Rule::Needs(&["APKA-MK"], MASTERS),
    Rule::Excludes(&["KEY-KM"], OF_TOKENS),
    Rule::Excludes(&["KEY-OKM"], OF_TOKENS),
    Rule::Needs(&["KEY-KM", "SHA-256"], SHA256_REGISTERS),
    Rule::Needs(&["KEY-OKM", "SHA-256"], SHA256_REGISTERS),
    Rule::Excludes(&["SHA-1"], SHA256_REGISTERS),
    Rule::Excludes(&["AES"], &["SHA-1", "SHA2VP1", "IKEK-DES"]),
    Rule::Excludes(&["DES"], &["SHA-1", "SHA-256", "SHA2VP1", "IKEK-AES"]),
    Rule::Excludes(&["HMAC"], &["ENC-ZERO", "CMACZERO", "SHA-1", "SHA-256", "IKEK-DES"]),
];
const OF_TOKENS: &[&str] = &["AES", "DES", "HMAC", "ENC-ZERO", "CMACZERO", "SHA2VP1", "IKEK-AES", "IKEK-DES"];
/// A key is wrapped by keys of its own algorithm, an HMAC key by AES keys.
pub(super) const RESTRICTION_RULES: &[Rule] = &[
    Rule::Refused("IKEK-PKA"),
    Rule::Excludes(&["AES"], &["IKEK-DES"]),
    Rule::Excludes(&["HMAC"], &["IKEK-DES"]),
    Rule::Excludes(&["DES"], &["IKEK-AES"]),
];
pub(super) const TRANSLATION_RULES: &[Rule] = &[
    // Tokens of HMAC keys have one form.
    Rule::Excludes(&["HMAC"], &["REFORMAT", "V0PYLD", "V1PYLD", "USECONFG", "WRAP-ECB"]),
    // There is no compliance mode.
    Rule::Refused("COMP-CHK"),
    Rule::Refused("COMP-TAG"),
    Rule::Excludes(&["V0PYLD"], &["DES", "USECONFG", "WRAP-ECB"]),
    Rule::Excludes(&["V1PYLD"], &["DES", "USECONFG", "WRAP-ECB"]),
    Rule::Excludes(&["AES"], &["USECONFG", "WRAP-ECB"]),
];

pub(super) const AES_RULES: &[Rule] = &[Rule::Excludes(&["GCM"], &["INITIAL", "CONTINUE", "FINAL"])];
pub(super) const KEYED_HASH_RULES: &[Rule] =
    &[Rule::Needs(&["HMAC"], HASHES), Rule::Excludes(&["AES"], HASHES)];
pub(super) const TRANSLATE_RULES: &[Rule] = &[
    Rule::Excludes(&["IKEY-AES"], &["I-X923", "I-CUSP", "I-IPS"]),
    Rule::Excludes(&["IKEY-DES"], &["I-ECB", "IPKCSPAD"]),
    Rule::Excludes(&["OKEY-AES"], &["O-X923", "O-CUSP", "O-IPS"]),
    Rule::Excludes(&["OKEY-DES"], &["O-ECB", "OPKCSPAD"]),
];
// NL-PIN-1 has no published definition.
pub(super) const PIN_METHOD_RULES: &[Rule] = &[Rule::Refused("NL-PIN-1")];
pub(super) const PIN_TRANSLATE_RULES: &[Rule] = &[
    // The keys that these derive have a single length.
    Rule::Refused("UKPTIPIN"),
    Rule::Refused("UKPTOPIN"),
    Rule::Refused("UKPTBOTH"),
];
pub(super) const PIN_TRANSLATE2_RULES: &[Rule] = &[
    Rule::Refused("UKPTIPIN"),
    Rule::Refused("UKPTOPIN"),
    Rule::Refused("UKPTBOTH"),
    Rule::Excludes(&["DUKPT-BH"], ONE_DERIVATION),
    Rule::Excludes(&["ADUKPTBH"], ONE_DERIVATION),
    Rule::Excludes(&["TRANSLAT"], &["PAN-CHG"]),
    Rule::Needs(&["PAN-CHG"], PAN_MESSAGES),
    Rule::Needs(&["PANAUTAS"], &["PAN-CHG"]),
    Rule::Needs(&["PANAUTI4"], &["PAN-CHG"]),
];
const ONE_DERIVATION: &[&str] = &["DUKPT-IP", "DUKPT-OP", "ADUKPTIP", "ADUKPTOP"];
const PAN_MESSAGES: &[&str] = &["PANAUTAS", "PANAUTI4"];
pub(super) const PIN_VERIFY2_RULES: &[Rule] = &[Rule::Refused("UKPT")];
// FF2 was proposed and not taken into SP 800-38G; FF2.1 has no public definition.
pub(super) const FORMAT_RULES: &[Rule] = &[Rule::Refused("FF2"), Rule::Refused("FF2.1")];
pub(super) const FORMAT_TRANSLATE_RULES: &[Rule] =
    &[Rule::Refused("ICFF2"), Rule::Refused("ICFF2.1"), Rule::Refused("OCFF2"), Rule::Refused("OCFF2.1")];
pub(super) const PIN_VERIFY_RULES: &[Rule] = &[Rule::Refused("NL-PIN-1"), Rule::Refused("UKPTIPIN")];
pub(super) const DIVERSIFICATION_RULES: &[Rule] = &[
    // AS 2805 is not public.
    Rule::Refused("A28OWFCL"),
    Rule::Refused("A28OWFEC"),
    Rule::Refused("A28XOREC"),
    Rule::Needs(&["ENH-ONLY"], &["WRAP-ENH"]),
    WRAPENH2,
    WRAPENH3,
];
pub(super) const DIVERSIFICATION_2_RULES: &[Rule] = &[
    // The method belongs to the German banking industry, and its definition is not public; the
    // lengths go with it alone.
    Rule::Refused("KDFFM-DK"),
    Rule::Refused("KLEN128"),
    Rule::Refused("KLEN192"),
    Rule::Refused("KLEN256"),
];
pub(super) const UNIQUE_KEY_RULES: &[Rule] = &[
    // The control vector of this token is not public.
    Rule::Refused("TDES-TOK"),
    WRAPENH2,
    WRAPENH3,
    Rule::Needs(&[], &["K1DATA", "K2MAC", "K3PIN", "K3IPEK"]),
    Rule::Needs(&["K3IPEK"], &["TR31-TOK"]),
    Rule::Needs(&["TR31-TOK"], &["K3IPEK"]),
    // The initial key belongs to no transaction, and has no token that could be wrapped.
    Rule::Excludes(&["K3IPEK"], &["K1DATA", "K2MAC", "USECONFG", "WRAP-ECB", "WRAP-ENH"]),
    Rule::Needs(&["PIN-DATA"], &["K3PIN"]),
    Rule::Excludes(&["A-DUKPT"], &["PIN-DATA"]),
    // The derivation data of AES name the purpose of one key.
    Rule::Excludes(&["A-DUKPT", "K1DATA"], &["K2MAC", "K3PIN"]),
    Rule::Excludes(&["A-DUKPT", "K2MAC"], &["K3PIN"]),
];
pub(super) const EMV_TRANSACTION_RULES: &[Rule] = &[
    Rule::Excludes(&["VISA"], EMV_ONLY),
    Rule::Excludes(&["MC"], EMV_ONLY),
    Rule::Excludes(&["VERARQC"], &["METHOD-1", "METHOD-2"]),
    Rule::Excludes(&["GENARPC"], &["PADZEROS", "PADBIT", "PADNONE"]),
];
const EMV_ONLY: &[&str] = &["TDESEMV2", "TDESEMV4", "EMVCSK", "METHOD-2"];
pub(super) const PIN_CHANGE_RULES: &[Rule] = &[
    // No description of these blocks is public.
    Rule::Refused("AMEXPCU1"),
    Rule::Refused("AMEXPCU2"),
    Rule::Refused("EMV-PCU1"),
    Rule::Refused("AES-EMV1"),
    Rule::Excludes(&["EMVCSK"], &["VISAPCU1", "VISAPCU2"]),
    Rule::Needs(&["ISO2-EMV"], &["EMVCSK", "TDESEMV2", "TDESEMV4"]),
    Rule::Needs(&["ISO2-MC"], &["EMVCSK"]),
];
pub(super) const PIN_MESSAGE_RULES: &[Rule] = &[
    Rule::Refused("AES-CBC"),
    Rule::Refused("AES-ECB"),
    // A block that is enciphered under itself can be compared with those of all PINs.
    Rule::Refused("SELFENC"),
];
pub(super) const KEY_BLOCK_EXPORT_RULES: &[Rule] = &[
    Rule::Refused("SKEYHMAC"),
    Rule::Needs(&["SKEY-AES"], &["VARDRV-D"]),
    Rule::Excludes(&["SKEY-AES"], &["INCL-CV", "ATTR-CV"]),
    Rule::Excludes(&["ATTR-CV"], KEY_BLOCK_USAGES),
    Rule::Excludes(
        &["ATTR-CV"],
        &["ENCDEC", "DEC-ONLY", "ENC-ONLY", "GENVER", "GEN-ONLY", "VER-ONLY", "DERIVE", "ANY"],
    ),
];
const KEY_BLOCK_USAGES: &[&str] = &[
    "BDK", "CVK", "ENC", "EMVACMK", "EMVSCMK", "EMVSIMK", "EMVDAMK", "EMVDNMK", "EMVCPMK", "KEK", "KEK-WRAP",
    "ISOMAC0", "ISOMAC1", "ISOMAC3", "ISOMAC6", "PINENC", "PINVO", "PINV3624", "VISAPVV",
];
pub(super) const KEY_BLOCK_IMPORT_RULES: &[Rule] = &[
    Rule::Refused("EXTERNAL"),
    Rule::Refused("WKEY-AES"),
    Rule::Refused("WKEY-DES"),
    Rule::Refused("OKEYXLAT"),
    Rule::Refused("IKEYXLAT"),
    // No row of usages has these.
    Rule::Refused("DMV"),
    Rule::Refused("DALL"),
    Rule::Needs(&["ENH-ONLY"], &["WRAP-ENH"]),
];
pub(super) const COMBINED_RULES: &[Rule] = &[Rule::Needs(&["ENH-ONLY"], &["WRAP-ENH"])];
pub(super) const PKA_BUILD_RULES: &[Rule] = &[
    // No key here resists quantum computers.
    Rule::Refused("QSA-PUBL"),
    Rule::Refused("QSA-PAIR"),
    // The sections X'09' and X'05', whose layouts are not published whole, or are no longer made.
    Rule::Refused("RSAMEVAR"),
    Rule::Refused("RSA-OPT"),
    Rule::Excludes(&["RSA-PUBL"], PRIVATE_ATTRIBUTES),
    Rule::Excludes(&["ECC-PUBL"], PRIVATE_ATTRIBUTES),
    Rule::Needs(&["ECC-VER1"], &["ECC-PAIR"]),
    // Elliptic-curve keys sign in TLS with SIG-ONLY.
    Rule::Excludes(&["ECC-PAIR"], &["TLS-ONLY"]),
];
const PRIVATE_ATTRIBUTES: &[&str] = &["SIG-ONLY", "KEY-MGMT", "KM-ONLY", "TLS-ONLY", "XLATE-OK", "NO-XLATE"];

pub(super) const PRIVATE_TRANSLATION_RULES: &[Rule] = &[
    // The formats of smart cards are not published where they were looked for.
    Rule::Refused("SCVISA"),
    Rule::Refused("SCCOMME"),
    Rule::Refused("SCCOMCRT"),
];
pub(super) const PKA_OUTPUT_RULES: &[Rule] = &[
    // A key that only one card has does not fit cards that come and go.
    Rule::Refused("RETAIN"),
    Rule::Needs(&["OKEK-DES"], &["XPORT"]),
    Rule::Needs(&["OKEK-AES"], &["XPORT"]),
];
pub(super) const PKA_IMPORT_RULES: &[Rule] = &[
    // The PKCS #11 object that such a key wraps has no token.
    Rule::Refused("IKEK-PKA"),
    Rule::Excludes(&["ECC"], &["IKEK-DES"]),
];

// The caller's side resolves the label of a clear key.
pub(super) const ENCRYPT_RULES: &[Rule] = &[
    Rule::Refused("KEYIDENT"),
    Rule::Excludes(&["ZERO-PAD"], HASHES),
    Rule::Excludes(&["MRP"], HASHES),
    Rule::Excludes(&["PKCS-1.2"], HASHES),
    Rule::Excludes(&["PKCSOAEP"], NO_OAEP_HASHES),
];
pub(super) const RSA_RULES: &[Rule] = &[
    Rule::Excludes(&["ZERO-PAD"], HASHES),
    Rule::Excludes(&["MRP"], HASHES),
    Rule::Excludes(&["PKCS-1.2"], HASHES),
    Rule::Excludes(&["PKCSOAEP"], NO_OAEP_HASHES),
];
pub(super) const EXPORT_RULES: &[Rule] = &[
    // How the token holds a control vector is not published.
    Rule::Refused("AESKWCV"),
    Rule::Excludes(&["PKOAEP2"], &["DES", "SHA-224"]),
    Rule::Needs(&["PKOAEP2"], HASHES),
    Rule::Excludes(&["CKM-RAKW"], HASHES),
    Rule::Excludes(&["CKM-RAKW"], &["DES", "HMAC"]),
    Rule::Excludes(&["ZERO-PAD"], HASHES),
    Rule::Excludes(&["PKCS-1.2"], HASHES),
    Rule::Excludes(&["PKCSOAEP"], NO_OAEP_HASHES),
    Rule::Excludes(&["AESKW"], HASHES),
    Rule::Excludes(&["AESKW"], &["DES"]),
    Rule::Excludes(&["HMAC"], &["ZERO-PAD", "PKCS-1.2", "PKCSOAEP"]),
];
pub(super) const IMPORT2_RULES: &[Rule] = &[
    // How the token holds a control vector is not published.
    Rule::Refused("DES"),
    Rule::Refused("AESKWCV"),
    Rule::Refused("USECONFG"),
    Rule::Refused("WRAP-ECB"),
    Rule::Refused("WRAP-ENH"),
    Rule::Refused("ENH-ONLY"),
    Rule::Excludes(&["CKM-RAKW"], &["HMAC"]),
];
pub(super) const IMPORT_RULES: &[Rule] = &[
    Rule::Excludes(&["ZERO-PAD"], HASHES),
    Rule::Excludes(&["PKCS-1.2"], HASHES),
    Rule::Excludes(&["PKCSOAEP"], NO_OAEP_HASHES),
    Rule::Excludes(&["PKCS-1.2"], KEY_LENGTHS),
    Rule::Excludes(&["PKCSOAEP"], KEY_LENGTHS),
    Rule::Excludes(&["AES"], &["KEYLN8"]),
    Rule::Needs(&["KEYLN32"], &["AES"]),
];
// PKA92 and NL-EPP-5 are formats of key-encrypting keys, which SINGLE-R makes with equal halves.
pub(super) const GENERATED_RULES: &[Rule] = &[
    Rule::Refused("PKA92"),
    Rule::Refused("NL-EPP-5"),
    Rule::Refused("SINGLE-R"),
    Rule::Excludes(&["ZERO-PAD"], HASHES),
    Rule::Excludes(&["PKCS-1.2"], HASHES),
    Rule::Excludes(&["PKCSOAEP"], NO_OAEP_HASHES),
    Rule::Excludes(&["AES"], &["KEYLN8", "SINGLE", "DOUBLE", "EX", "IM"]),
    Rule::Needs(&["KEYLN24"], &["AES"]),
    Rule::Needs(&["KEYLN32"], &["AES"]),
];
const HASHES: &[&str] = &["SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512"];
const NO_OAEP_HASHES: &[&str] = &["SHA-224", "SHA-384", "SHA-512"];
const KEY_LENGTHS: &[&str] = &["KEYLN8", "KEYLN16", "KEYLN24", "KEYLN32"];

// ISO 9796-1, which is assumed if no format is given, is withdrawn.
pub(super) const SIGN_RULES: &[Rule] = &[
    Rule::Refused("ISO-9796"),
    // Schnorr signatures and signatures that resist quantum computers are not computed.
    Rule::Refused("EC-SDSA"),
    Rule::Refused("CRDL-DSA"),
    Rule::Refused("CRDLHASH"),
    Rule::Needs(&[], SERVED_FORMATS),
    Rule::Needs(&["X9.31"], X931_HASHES),
    Rule::Needs(&["RPMD-160"], &["X9.31"]),
    Rule::Needs(&["PKCS-PSS"], HASHES),
    Rule::Excludes(&["ECDSA"], &["RSA"]),
    Rule::Excludes(&["EDDSA"], &["RSA"]),
    Rule::Excludes(&["EDDSA"], HASHES),
    Rule::Needs(&["EDDSA"], &["ED-HASH"]),
    Rule::Needs(&["EDDSA"], &["MESSAGE"]),
    Rule::Needs(&["ED-HASH"], &["EDDSA"]),
    Rule::Needs(&["MESSAGE"], &["EDDSA"]),
];
pub(super) const VERIFY_RULES: &[Rule] = &[
    Rule::Refused("ISO-9796"),
    // Schnorr signatures and signatures that resist quantum computers are not computed.
    Rule::Refused("EC-SDSA"),
    Rule::Refused("CRDL-DSA"),
    Rule::Refused("CRDLHASH"),
    // The caller does not expect a salt of another length than the given one.
    Rule::Refused("NEXMATCH"),
    // There are no trusted blocks.
    Rule::Refused("TPK-ONLY"),
    Rule::Needs(&[], SERVED_FORMATS),
    Rule::Needs(&["X9.31"], X931_HASHES),
    Rule::Needs(&["RPMD-160"], &["X9.31"]),
    Rule::Needs(&["PKCS-PSS"], HASHES),
    Rule::Excludes(&["ECDSA"], &["RSA"]),
    Rule::Excludes(&["EDDSA"], &["RSA"]),
    Rule::Excludes(&["EDDSA"], HASHES),
    Rule::Needs(&["EDDSA"], &["ED-HASH"]),
    Rule::Needs(&["EDDSA"], &["MESSAGE"]),
    Rule::Needs(&["ED-HASH"], &["EDDSA"]),
    Rule::Needs(&["MESSAGE"], &["EDDSA"]),
    Rule::Needs(&["EXMATCH"], &["PKCS-PSS"]),
];
const X931_HASHES: &[&str] = &["SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512", "RPMD-160"];
const SERVED_FORMATS: &[&str] = &["PKCS-1.0", "PKCS-1.1", "ZERO-PAD", "X9.31", "PKCS-PSS", "ECDSA", "EDDSA"];

pub(super) const AGREEMENT_RULES: &[Rule] = &[
    // The text that the first derivation hashes, beside the secret, has no published layout.
    Rule::Refused("DERIV01"),
    Rule::Refused("QSA-ECDH"),
    // Tokens have the form of the home.
    Rule::Refused("WRAP-ECB"),
    Rule::Refused("WRAP-ENH"),
    Rule::Refused("WRAPENH2"),
    Rule::Refused("WRAPENH3"),
    Rule::Refused("ENH-ONLY"),
    Rule::Needs(&["DERIV02"], AGREEMENT_HASHES),
    Rule::Excludes(&["PASSTHRU"], AGREEMENT_HASHES),
    Rule::Excludes(&["PASSTHRU"], &["KEY-DES", "KEY-AES", "OKEK-DES", "OKEK-AES", "USECONFG"]),
    Rule::Excludes(&["USECONFG"], &["KEY-AES"]),
    // A key is wrapped under a key of its own algorithm.
    Rule::Excludes(&["KEY-DES"], &["OKEK-AES"]),
    Rule::Excludes(&["KEY-AES"], &["OKEK-DES"]),
];
const AGREEMENT_HASHES: &[&str] = &["SHA-224", "SHA-256", "SHA-384", "SHA-512"];

pub(super) const FACILITY_RULES: &[Rule] = &[
    Rule::Refused("DOM-CONT"),
    Rule::Refused("STATCARD"),
    Rule::Refused("STATDIAG"),
    Rule::Refused("STATEID"),
    Rule::Refused("STATEXPT"),
    Rule::Refused("STATICSC"),
    Rule::Refused("STATICSE"),
    Rule::Refused("STATICSF"),
    Rule::Refused("STATICSX"),
    Rule::Refused("STATKPR"),
    Rule::Refused("STATKPRL"),
    Rule::Refused("STATMOFN"),
    Rule::Refused("STATDECT"),
    Rule::Refused("NUM-DECT"),
    Rule::Refused("STATWPIN"),
    Rule::Refused("SIZEWPIN"),
    Rule::Refused("TIMEDATE"),
    Rule::Refused("WRAPMTHD"),
    Rule::Refused("TKESTATE"),
    Rule::Refused("GETCOMPD"),
    Rule::Refused("QPENDING"),
];
// Roles are changed in the settings, and there are no profiles.
pub(super) const ACCESS_CONTROL_RULES: &[Rule] = &[
    Rule::Refused("LSTPROFS"),
    Rule::Refused("GET-PROF"),
    Rule::Refused("CHGEXPDT"),
    Rule::Refused("CHG-AD"),
    Rule::Refused("RESET-FC"),
    Rule::Refused("DEL-PROF"),
    Rule::Refused("DEL-ROLE"),
    Rule::Refused("Q-NUM-RP"),
    Rule::Refused("Q-NUM-UR"),
];
/// Number of elements that the facility answers with, by keyword.
pub(super) const FACILITY_ELEMENTS: Keyed = &[
    (&["STATCCA"], 6),
    (&["STATCCAE"], 9),
    (&["STATAES"], 4),
    (&["STATAPKA"], 4),
    (&["STATCRD2"], 15),
    (&["STATICSA"], 10),
    (&["STATICSB"], 13),
    (&[], 0),
];
