//! `cryptand pgp list`: the certificates of the key store, and what can be done with them.

use super::all_of;
use crate::args::pgp::List;
use crate::args::time;
use crate::failure::{Failure, PgpFailure};
use crate::messages;
use crate::messages::cards::place_name;
use crate::messages::desk::Desk;
use crate::messages::keys::{Keys, warn_of};
use crate::output::{print, print_json};
use keyring::store::{hexadecimal, printable};
use keyring::{Cards, Keyring};
use openpgp::certificate::{Announced, Certificate, KeyPacket, Unusable, Valid, strongest_form};
use openpgp::private_key::Locking;
use openpgp::{Fingerprint, Timestamp};
use pgp::ser::Serialize as _;
use pgp::types::KeyDetails;
use serde::Serialize;
use std::fmt::Write as _;

/// A certificate, as `--json` prints it.
#[derive(Serialize)]
struct Row {
    fingerprint: String,
    user_ids: Vec<String>,
    created: u32,
    expires: Option<u32>,
    /// `"valid"`, or why it is not to be used.
    state: String,
    is_valid: bool,
    /// Whether this certificate signs if no signer is named.
    is_default: bool,
    /// Kinds of messages that the owner's certificate announces support for.
    announces: Vec<&'static str>,
    /// Form of messages to this certificate alone; none if messages cannot be encrypted to it.
    form: Option<String>,
    keys: Vec<KeyRow>,
}

#[derive(Serialize)]
struct KeyRow {
    fingerprint: String,
    key_id: String,
    algorithm: String,
    /// Whether the algorithm is experimental: it does not run in constant time.
    is_experimental: bool,
    /// Curve of the key; none for algorithms without a choice of curves.
    curve: Option<String>,
    version: u8,
    created: u32,
    can_encrypt: bool,
    can_sign: bool,
    /// Place of the private key: `"file"`, `"file, locked"`, `"card: ..."`, `"elsewhere"` or none.
    private: Option<String>,
}

/// Prints the matching certificates, as text or as JSON.
pub fn run(typed: &List) -> Result<(), Failure> {
    let desk = Desk::bare(&typed.store)?;
    let store = &desk.store;
    let found = all_of(store, &typed.who)?;
    let (cards, now) = (store.cards()?, messages::now());
    let default = default(&desk)?;
    let mut rows = Vec::with_capacity(found.len());
    for certificate in &found {
        let mut row = row(store, &cards, certificate, now)?;
        row.is_default = default == Some(certificate.fingerprint());
        if !typed.private || row.keys.iter().any(|key| key.private.is_some()) {
            rows.push(row);
        }
    }
    store.problems()?.iter().for_each(warn_of);
    if typed.json {
        return print_json(&rows);
    }
    if rows.is_empty() {
        eprintln!(
            "no keys; `cryptand pgp generate 'NAME <ADDRESS>'` makes one, \
             `gpg --export | cryptand pgp import` takes over those of GnuPG"
        );
    }
    print(&rows.iter().map(text).collect::<Vec<_>>().join("\n"))
}

fn row(store: &Keyring, cards: &Cards, certificate: &Certificate, now: Timestamp) -> Result<Row, Failure> {
    let checked = certificate.check(now);
    let keys_of = |keys: Result<Vec<KeyPacket>, Unusable>| -> Vec<_> {
        keys.unwrap_or_default().iter().map(KeyDetails::fingerprint).collect()
    };
    let (encrypting, signing, user_ids, expires) = match &checked {
        Ok(valid) => (
            keys_of(valid.encryption_keys().map(|keys| keys.into_iter().map(|key| key.key).collect())),
            keys_of(valid.signing_keys()),
            valid.user_ids(),
            valid.expiration(),
        ),
        Err(_) => (Vec::new(), Vec::new(), certificate.user_ids(), None),
    };
    let locking =
        store.private(&certificate.fingerprint())?.map(|private| private.locking()).unwrap_or_default();
    let keys = certificate.keys().into_iter().map(|key| {
        let fingerprint = key.fingerprint();
        let held = locking.iter().find(|(held, _)| *held == fingerprint).map(|(_, locking)| locking);
        let on_card =
            cards.get(&hexadecimal(&fingerprint)).map(|place| format!("card: {}", place_name(place)));
        KeyRow {
            key_id: key.legacy_key_id().to_string().to_uppercase(),
            algorithm: algorithm(&key),
            is_experimental: key.is_experimental(),
            curve: key.curve().map(|name| name.trim_end_matches("Legacy").to_owned()),
            version: u8::from(key.version()),
            created: key.created_at().as_secs(),
            can_encrypt: encrypting.contains(&fingerprint),
            can_sign: signing.contains(&fingerprint),
            private: on_card.or_else(|| held.map(|locking| private(locking).to_owned())),
            fingerprint: format!("{fingerprint:X}"),
        }
    });
    let announced = checked.as_ref().map(Valid::announces).unwrap_or_default();
    let form = (!encrypting.is_empty()).then(|| strongest_form(std::slice::from_ref(&announced)).to_string());
    Ok(Row {
        fingerprint: format!("{:X}", certificate.fingerprint()),
        user_ids,
        created: certificate.created().as_secs(),
        expires: expires.map(|expires| expires.as_secs()),
        is_valid: checked.is_ok(),
        state: checked.err().map_or_else(|| "valid".to_owned(), |unusable| unusable.to_string()),
        is_default: false,
        announces: announces(&announced),
        form,
        keys: keys.collect(),
    })
}

/// The certificate that signs if no signer is named: the one set as default, or else the only candidate.
fn default(desk: &Desk) -> Result<Option<Fingerprint>, Failure> {
    match Keys::new(&desk.store, desk.asker(true))?.default_certificate() {
        Ok(certificate) => Ok(Some(certificate.fingerprint())),
        Err(Failure::OpenPgp(PgpFailure::NoDefaultKey { .. } | PgpFailure::Find(_))) => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn announces(announced: &Announced) -> Vec<&'static str> {
    let features = [
        (announced.seipd_v1, "SEIPDv1"),
        (announced.seipd_v2, "SEIPDv2"),
        (announced.gnupg_aead, "GnuPG AEAD"),
    ];
    features.into_iter().filter(|(is_announced, _)| *is_announced).map(|(_, name)| name).collect()
}

fn private(locking: &Locking) -> &'static str {
    match locking {
        Locking::Open => "file, without a passphrase",
        Locking::Passphrase => "file, locked",
        Locking::Elsewhere { .. } => "elsewhere",
    }
}

/// Algorithm and size as people name them.
fn algorithm(key: &KeyPacket) -> String {
    use pgp::types::PublicParams;
    match key.public_params() {
        params @ (PublicParams::RSA(_) | PublicParams::DSA(_) | PublicParams::Elgamal(_)) => {
            // The first field is the modulus: its length in bits, then its bytes (RFC 9580, 3.2).
            let fields = params.to_bytes().unwrap_or_default();
            let bits = fields.first_chunk().map_or(0, |bits| u16::from_be_bytes(*bits));
            let name = match params {
                PublicParams::RSA(_) => "RSA",
                PublicParams::DSA(_) => "DSA",
                _ => "ElGamal",
            };
            format!("{name}-{bits}")
        }
        PublicParams::MlDsa65Ed25519(_) => "ML-DSA-65+Ed25519".to_owned(),
        PublicParams::MlDsa87Ed448(_) => "ML-DSA-87+Ed448".to_owned(),
        PublicParams::MlKem768X25519(_) => "ML-KEM-768+X25519".to_owned(),
        PublicParams::MlKem1024X448(_) => "ML-KEM-1024+X448".to_owned(),
        _ => format!("{:?}", key.algorithm()),
    }
}

fn text(row: &Row) -> String {
    let mut text = format!("{}{}\n", row.fingerprint, if row.is_default { "  (default)" } else { "" });
    for user_id in &row.user_ids {
        let _ = writeln!(text, "  {}", printable(user_id));
    }
    let expires = row
        .expires
        .map_or_else(|| "does not expire".to_owned(), |at| format!("expires {}", time::to_text(at)));
    let _ = match row.is_valid {
        true => writeln!(text, "  {expires}"),
        false => writeln!(text, "  NOT USABLE: {}", row.state),
    };
    if let Some(form) = &row.form {
        let announces =
            if row.announces.is_empty() { "nothing".to_owned() } else { row.announces.join(", ") };
        let _ = writeln!(text, "  messages to it: {form}; announces {announces}");
    }
    for key in &row.keys {
        let uses = match (key.can_sign, key.can_encrypt) {
            (true, true) => "signs, encrypts",
            (true, false) => "signs",
            (false, true) => "encrypts",
            (false, false) => "-",
        };
        let private =
            key.private.as_ref().map_or_else(String::new, |private| format!("; private: {private}"));
        let curve = key.curve.as_ref().map_or_else(String::new, |curve| format!(" {curve}"));
        let experimental = if key.is_experimental { " (experimental: not constant time)" } else { "" };
        let _ = writeln!(
            text,
            "  {}  v{} {}{curve}{experimental}  {uses}{private}",
            key.key_id, key.version, key.algorithm
        );
    }
    text
}
