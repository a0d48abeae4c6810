//! `cryptand pgp` for private keys that are labels in a home.

use super::change::{failed, new_key, tell, warn_of_twins};
use crate::args::pgp::{Generate, Import};
use crate::commands::key;
use crate::failure::Failure;
use crate::messages::cards::{self, connect, label};
use crate::messages::keys::of_file;
use crate::{messages, session};
use cardkeys::{LabelKey, Role};
use facility::Facility;
use facility::keys::NamedKind;
use keyring::CardPlace;
use keyring::store::first_user_id;
use openpgp::certificate::Certificate;
use openpgp::generate::{KeysOf, certify};
use pgp::types::KeyDetails;
use std::path::Path;
use token::pka::{Form, Usage};

/// `cryptand pgp generate --label`: the key of an existing label, else a new one.
pub fn generate(home: Option<&Path>, typed: &Generate) -> Result<(), Failure> {
    let primary_place = place(home, typed.label.as_deref().unwrap_or_default(), typed.domain)?;
    let facility = connect(&primary_place)?;
    let what = new_key(typed)?;
    let mut store = messages::store(&typed.keys.store)?;
    // Each key has one purpose, unless one label serves both.
    let has_two = typed.encryption_label.as_ref().is_some_and(|label| *label != primary_place.label);
    let fresh = |text: &str, role: Role| -> Result<LabelKey, Failure> {
        let label = label(text)?;
        let signs = role == Role::Primary && has_two;
        let usage = if signs { Usage::SignatureOnly } else { Usage::KeyManagement };
        let kind = NamedKind::Rsa(2048, usage, Form::CrtAes);
        key::generate_where_missing(&facility, &label, kind, typed.domain)?;
        LabelKey::fresh(facility.clone(), typed.domain, label, role, what.is_v6, what.created)
            .map_err(|cause| cards::failed(text, cause))
    };
    let primary = fresh(&primary_place.label, Role::Primary)?;
    let subkey = typed.encryption_label.as_ref().map(|text| fresh(text, Role::Subkey)).transpose()?;
    let keys = KeysOf { primary: &primary, encryption: subkey.as_ref().map(|key| key as _) };
    let certificate = certify(&what, primary.packet(), subkey.as_ref().map(LabelKey::packet), &keys)
        .map_err(|error| failed(&primary_place.label, error))?;
    for key in std::iter::once(&primary).chain(&subkey) {
        let place = CardPlace { label: key.label().to_string(), ..primary_place.clone() };
        store.put_card(&key.packet().fingerprint(), place)?;
    }
    warn_of_twins(&store, &what)?;
    store.put(&certificate)?;
    tell(&certificate, &store, typed.json)
}

/// `cryptand pgp import --card`: a certificate whose private keys are under labels already.
pub fn import(home: Option<&Path>, typed: &Import) -> Result<(), Failure> {
    let [path] = typed.files.as_slice() else {
        return Err(Failure::Usage("--card takes one file, with the certificate of the key".to_owned()));
    };
    let [certificate] = of_file(path)?.try_into().map_err(|found: Vec<_>| {
        Failure::Usage(format!("{}: {} certificates; --card takes one", path.display(), found.len()))
    })?;
    let mut store = messages::store(&typed.store)?;
    let mut places = Vec::new();
    for text in &typed.label {
        let place = place(home, text, typed.domain)?;
        let facility = connect(&place)?;
        let matched = matches(&facility, &place, &certificate)?;
        places.extend(matched.into_iter().map(|fingerprint| (fingerprint, place.clone())));
    }
    store.import(&path.display().to_string(), &certificate.to_bytes())?;
    for (fingerprint, place) in places {
        store.put_card(&fingerprint, place.clone())?;
        eprintln!("{fingerprint:X} {}: {}", first_user_id(&certificate), cards::place_name(&place));
    }
    Ok(())
}

/// Fingerprints of the certificate's keys whose private half is under the label of `place`; an error if there are none.
fn matches(
    facility: &Facility,
    place: &CardPlace,
    certificate: &Certificate,
) -> Result<Vec<openpgp::Fingerprint>, Failure> {
    let mut matched = Vec::new();
    let mut why = None;
    for key in certificate.keys() {
        let fingerprint = key.fingerprint();
        match LabelKey::new(facility.clone(), place.domain, label(&place.label)?, key) {
            Ok(_) => matched.push(fingerprint),
            Err(cause) => why = Some(cause),
        }
    }
    match why {
        Some(cause) if matched.is_empty() => Err(cards::failed(&first_user_id(certificate), cause)),
        _ => Ok(matched),
    }
}

fn place(home: Option<&Path>, label: &str, domain: u16) -> Result<CardPlace, Failure> {
    let folder = session::home_folder(home)?;
    let folder = folder.canonicalize().map_err(Failure::io(format!("find the home {}", folder.display())))?;
    Ok(CardPlace { home: folder, domain, label: label.to_owned() })
}
