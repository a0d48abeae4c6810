//! Kinds of keys as typed after `--type`, and the list of them for people.

use clap::builder::{PossibleValue, TypedValueParser};
use facility::keys::{NamedKind, NoKind, PaymentKind};
use std::ffi::OsStr;
use std::sync::OnceLock;

/// A kind of key as typed: of CCA, or of payments, which is one key or a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypedKind {
    Cca(NamedKind),
    Payment(PaymentKind),
}

impl TypedKind {
    /// The names of all kinds, CCA's first.
    fn names() -> impl Iterator<Item = String> {
        NamedKind::all().map(NamedKind::name).chain(PaymentKind::all().map(PaymentKind::name))
    }

    /// The kind with this name, in either case.
    ///
    /// # Errors
    /// As [`parse`].
    pub fn parse(name: &str) -> Result<Self, String> {
        if let Some(kind) = PaymentKind::parse(name) {
            return Ok(Self::Payment(kind));
        }
        NamedKind::parse(name).map(Self::Cca).map_err(|_| {
            let names: Vec<String> = Self::names().collect();
            told(&NoKind::near(&name.to_ascii_lowercase(), &names))
        })
    }
}

/// The list of kinds that people read, in lines that fit a manual page too.
pub const HELP: &str = "\
Kinds of keys (TYPE):
  des-TYPE, tdes-TYPE, tdes3-TYPE
      DES of 8 (weak), 16 and 24 bytes. TYPE: data datac datam datamv
      cipher encipher decipher mac macver ipinenc opinenc pingen pinver
      exporter okeyxlat importer ikeyxlat imp-pka; of 16 bytes alone:
      cipherxi cipherxo cipherxl dkygenky keygenky secmsg; of 8 bytes:
      data cipher encipher decipher mac macver cvarenc cvardec cvarpine
      cvarxcvl cvarxcvr
  aes128, aes192, aes256
      AES in a token of 64 bytes: enciphers and deciphers
  aes128-TYPE, aes192-TYPE, aes256-TYPE
      AES in a token of variable length. TYPE: cipher mac exporter
      importer pinprot pincalc pinprw dkygenky secmsg
  hmac-sha1, hmac-sha224, hmac-sha256, hmac-sha384, hmac-sha512
      HMAC, as long as its hash
  rsa1024-USE, rsa2048-USE, rsa3072-USE, rsa4096-USE
      RSA, the private key as primes (X'31'); USE-me: as an exponent
      (X'30'). USE: sign, keymgmt (signs digests, deciphers data),
      transport (imports keys), tls (signs digests, opens premaster
      secrets of TLS 1.2)
  CURVE-sign, CURVE-agree
      Elliptic curves. CURVE: p224 p256 p384 p521 secp256k1
      brainpool256 brainpool384; ed25519-sign. A key that agrees makes
      CIPHER keys as strong as its curve (AES, of p224 TDES); --derives
      says others

Keys of payments. A pair is two keys of CCA that have one value; their
labels are LABEL.OUT and LABEL.IN, or LABEL.GEN and LABEL.VER:
  zpk    zone PIN key, a pair: OUT enciphers PIN blocks, IN deciphers
         them; with AES blocks of ISO-4
  zmk    zone master key, a pair: OUT wraps keys for the partner as
         tokens and in key blocks, IN unwraps the partner's
  kbpk   protects key blocks and wraps no token, a pair: OUT for blocks
         that leave, IN for those that come; aes256-kbpk for version D
  tmk    terminal master key: wraps keys for terminals
  cvk    makes and verifies card verification values (TDES)
  pvk    PIN verification key, a pair of TDES: GEN makes PVVs and
         verifies, VER verifies alone; --usage names another method
Before each stands tdes-, tdes3- (three parts), aes128-, aes192- or
aes256-; alone it is of TDES with two parts. --only makes one key of a
pair. Of the pairs a card makes zpk whole; both keys of the others come
in parts (`key part`) or in a block (`keyblock import`).

Uses (--usage), by CCA's keywords, narrow a key; what they do not say
stays as the type has it. Types that need them: keygenky (UKPT or
CLR8-ENC), secmsg of DES (SMKEY or SMPIN), pingen and pinver (the
method of its PINs: IBM-PIN, VISA-PVV, INBK-PIN, GBP-PIN; NO-SPEC is
every method, which makes guesses easier), pinprot (ENCRYPT or
DECRYPT), pinprw (GENONLY or VERIFY). They also say which ways out a
key has: NO-XPORT (DES), NOEX-SYM and others (AES, HMAC). An error
names the keywords that a type has.

Examples:
  cryptand key generate PAY.MAC.KEY1 --type tdes-mac
  cryptand key generate A.K1 --type aes256-cipher --usage GCM,NOEX-SYM
  cryptand key generate LINK.KEK1 --type aes256-exporter
  cryptand key generate PAY.ZPK --type zpk
  cryptand key generate LINK.KEY1 --type p256-agree --derives aes128";

/// The kind with this name.
///
/// # Errors
/// The message lists the names that begin alike, or says where all names are listed.
pub fn parse(name: &str) -> Result<NamedKind, String> {
    NamedKind::parse(name).map_err(|error| told(&error))
}

fn told(error: &NoKind) -> String {
    match error {
        NoKind::Unknown { .. } => format!("{error}; `cryptand key generate --help` lists them"),
        _ => error.to_string(),
    }
}

/// Reads kinds from the command line, and gives a shell's completion all of them.
#[derive(Clone)]
pub struct Parser;

impl TypedValueParser for Parser {
    type Value = NamedKind;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<NamedKind, clap::Error> {
        TypedValueParser::parse_ref(&parse, command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        static NAMES: OnceLock<Vec<String>> = OnceLock::new();
        let names = NAMES.get_or_init(|| NamedKind::all().map(NamedKind::name).collect());
        Some(Box::new(names.iter().map(|name| PossibleValue::new(name.as_str()))))
    }
}

/// Reads kinds of CCA and of payments from the command line, and gives a shell's completion all of them.
#[derive(Clone)]
pub struct TypedParser;

impl TypedValueParser for TypedParser {
    type Value = TypedKind;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<TypedKind, clap::Error> {
        TypedValueParser::parse_ref(&TypedKind::parse, command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        static NAMES: OnceLock<Vec<String>> = OnceLock::new();
        let names = NAMES.get_or_init(|| TypedKind::names().collect());
        Some(Box::new(names.iter().map(|name| PossibleValue::new(name.as_str()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_covers_every_kind() {
        for name in TypedKind::names() {
            // Each part of a name stands in the help, by itself.
            let parts = HELP.split(|letter: char| letter.is_whitespace() || ",.:;()".contains(letter));
            let whole: Vec<&str> = parts.collect();
            let has = |text: &str| whole.contains(&text);
            let (first, rest) = name.split_once('-').unwrap_or((&name, ""));
            let is_named = has(&name)
                || has(&format!("{first}-TYPE")) && has(rest)
                || has(&format!("{first}-USE")) && has(rest.trim_end_matches("-me"))
                || has(&format!("CURVE-{rest}")) && has(first);
            assert!(is_named, "{name}");
        }
        // A manual page indents by seven columns, and ends two before the last.
        assert!(HELP.lines().all(|line| line.len() <= 80 - 7 - 2));
    }

    #[test]
    fn an_unknown_name_is_answered_with_where_the_names_stand() {
        for name in ["aes", "blowfish", ""] {
            assert!(parse(name).unwrap_err().ends_with("; `cryptand key generate --help` lists them"));
        }
        assert!(parse("importer").unwrap_err().starts_with("which of these: tdes-importer"));
        let none = |name: &str| TypedKind::parse(name).unwrap_err();
        assert_eq!(TypedKind::parse("KBPK"), TypedKind::parse("tdes-kbpk"));
        assert!(none("aes256-cvk").contains("after `aes256-` there are cipher"), "{}", none("aes256-cvk"));
        assert!(none("blowfish").ends_with("lists them"));
        assert_eq!(TypedKind::parse("ZPK"), TypedKind::parse("tdes-zpk"));
    }
}
