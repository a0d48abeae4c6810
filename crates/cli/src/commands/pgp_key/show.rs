//! `cryptand pgp key list`.

use super::candidates;
use crate::args::pgp_key::List;
use crate::args::time;
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::messages;
use crate::messages::cards::place_name;
use keyring::store::hexadecimal;
use keyring::{Cards, Keyring};
use openpgp::Timestamp;
use openpgp::certificate::{Certificate, KeyPacket, Unusable};
use openpgp::private_key::Locking;
use pgp::ser::Serialize as _;
use pgp::types::KeyDetails;
use serde::Serialize;
use std::fmt::Write as _;
use std::sync::Arc;

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
    is_default: bool,
    keys: Vec<KeyRow>,
}

#[derive(Serialize)]
struct KeyRow {
    fingerprint: String,
    key_id: String,
    algorithm: String,
    version: u8,
    created: u32,
    can_encrypt: bool,
    can_sign: bool,
    /// `"file"`, `"file, locked"`, `"card: ..."`, `"elsewhere"` or none.
    private: Option<String>,
}

/// `cryptand pgp key list`.
pub fn run(typed: &List) -> Result<(), Failure> {
    let store = messages::store(&typed.store)?;
    let mut found: Vec<Arc<Certificate>> = Vec::new();
    for who in &typed.who {
        found.extend(candidates(&store, who)?);
    }
    if typed.who.is_empty() {
        found = store.certificates()?.to_vec();
    }
    let (cards, now) = (store.cards()?, messages::now());
    let default = store.settings()?.default_key;
    let mut rows = Vec::with_capacity(found.len());
    for certificate in &found {
        let mut row = row(&store, &cards, certificate, now)?;
        row.is_default = default.as_deref() == Some(hexadecimal(&certificate.fingerprint()).as_str());
        if !typed.private || row.keys.iter().any(|key| key.private.is_some()) {
            rows.push(row);
        }
    }
    for problem in store.problems()? {
        eprintln!("cryptand: warning: passed over: {}", problem.cause);
    }
    if typed.json {
        return print_json(&rows);
    }
    if rows.is_empty() {
        eprintln!(
            "no keys; `cryptand pgp key generate 'NAME <ADDRESS>'` makes one, \
             `gpg --export | cryptand pgp key import` takes over those of GnuPG"
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
            version: u8::from(key.version()),
            created: key.created_at().as_secs(),
            can_encrypt: encrypting.contains(&fingerprint),
            can_sign: signing.contains(&fingerprint),
            private: on_card.or_else(|| held.map(|locking| private(locking).to_owned())),
            fingerprint: format!("{fingerprint:X}"),
        }
    });
    Ok(Row {
        fingerprint: format!("{:X}", certificate.fingerprint()),
        user_ids,
        created: certificate.created().as_secs(),
        expires: expires.map(|expires| expires.as_secs()),
        is_valid: checked.is_ok(),
        state: checked.err().map_or_else(|| "valid".to_owned(), |unusable| unusable.to_string()),
        is_default: false,
        keys: keys.collect(),
    })
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
        PublicParams::RSA(params) => {
            // The first field is the modulus: its length in bits, then its bytes (RFC 9580, 3.2).
            let fields = params.to_bytes().unwrap_or_default();
            let bits = fields.first_chunk().map_or(0, |bits| u16::from_be_bytes(*bits));
            format!("RSA-{bits}")
        }
        _ => format!("{:?}", key.algorithm()),
    }
}

fn text(row: &Row) -> String {
    let mut text = format!("{}{}\n", row.fingerprint, if row.is_default { "  (default)" } else { "" });
    for user_id in &row.user_ids {
        let _ = writeln!(text, "  {user_id}");
    }
    let expires = row
        .expires
        .map_or_else(|| "does not expire".to_owned(), |at| format!("expires {}", time::to_text(at)));
    let _ = match row.is_valid {
        true => writeln!(text, "  {expires}"),
        false => writeln!(text, "  NOT USABLE: {}", row.state),
    };
    for key in &row.keys {
        let uses = match (key.can_sign, key.can_encrypt) {
            (true, true) => "signs, encrypts",
            (true, false) => "signs",
            (false, true) => "encrypts",
            (false, false) => "-",
        };
        let private =
            key.private.as_ref().map_or_else(String::new, |private| format!("; private: {private}"));
        let _ = writeln!(text, "  {}  v{} {}  {uses}{private}", key.key_id, key.version, key.algorithm);
    }
    text
}
