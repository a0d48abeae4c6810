//! `cryptand pgp`: the key store of OpenPGP.

mod card;
mod change;
mod show;
mod transfer;

use crate::args::pgp::{Delete, SetDefault};
use crate::args::{Pgp, PgpKey};
use crate::failure::{Failure, PgpFailure};
use crate::messages;
use crate::messages::keys::of_file;
use crate::output::{print, print_json};
use crate::prompt;
use clap::Subcommand;
use keyring::store::{first_user_id, hexadecimal};
use keyring::{FindError, Keyring, Who};
use openpgp::certificate::Certificate;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// Runs the subcommands of `cryptand pgp`.
pub fn run(home: Option<&Path>, typed: &Pgp) -> Result<(), Failure> {
    let typed = match typed {
        Pgp::Key(typed) => typed,
        Pgp::Other(words) => return Err(Failure::Usage(not_a_command(words))),
    };
    match typed {
        PgpKey::Import(typed) => transfer::import(home, typed),
        PgpKey::Export(typed) => transfer::export(typed),
        PgpKey::List(typed) => show::run(typed),
        PgpKey::Delete(typed) => delete(typed),
        PgpKey::Default(typed) => default(typed),
        PgpKey::Generate(typed) if typed.label.is_some() => card::generate(home, typed),
        PgpKey::Generate(typed) => change::generate(typed),
        PgpKey::Expire(typed) => change::expire(typed),
        PgpKey::Revoke(typed) => change::revoke(typed),
        PgpKey::Passphrase(typed) => change::passphrase(typed),
    }
}

/// The message for an unknown `cryptand pgp WORD`: the right command if it is known, else where commands are listed.
fn not_a_command(words: &[OsString]) -> String {
    let word = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    match words.get(1).map(|next| next.to_string_lossy()) {
        Some(next) if word == "key" && PgpKey::has_subcommand(&next) => {
            let rest: String = words[1..].iter().map(|word| format!(" {}", word.display())).collect();
            format!("pgp key: the command is `cryptand pgp{rest}`")
        }
        _ => format!("pgp {word}: no such command; `cryptand pgp --help` lists them"),
    }
}

/// The only certificate of the store that matches a name, in any state; for commands that change it.
fn only(store: &Keyring, who: &str) -> Result<Arc<Certificate>, Failure> {
    let mut found = candidates(store, who)?;
    if found.len() > 1 {
        let name = |certificate: &Arc<Certificate>| {
            (format!("{:X}", certificate.fingerprint()), first_user_id(certificate))
        };
        let candidates = found.iter().map(name).collect();
        return Err(FindError::Ambiguous { who: who.to_owned(), candidates }.into());
    }
    found.pop().ok_or_else(|| FindError::nobody(who).into())
}

/// Certificates of the store that match a name; for a file's name, those with the fingerprints of the file's
/// certificates.
fn candidates(store: &Keyring, who: &str) -> Result<Vec<Arc<Certificate>>, Failure> {
    let found = match Who::parse(who) {
        Who::File(path) => {
            let mut found = Vec::new();
            for certificate in of_file(&path)? {
                found.extend(store.certificate(&certificate.fingerprint())?.map(Arc::new));
            }
            found
        }
        other => store.candidates(&other)?,
    };
    if found.is_empty() {
        return Err(FindError::nobody(who).into());
    }
    Ok(found)
}

/// Certificates of the store that match any of these names; without names, all of them.
fn all_of(store: &Keyring, names: &[String]) -> Result<Vec<Arc<Certificate>>, Failure> {
    if names.is_empty() {
        return Ok(store.certificates()?.to_vec());
    }
    let found = names.iter().map(|who| candidates(store, who)).collect::<Result<Vec<_>, _>>()?;
    let mut known = HashSet::new();
    // A certificate that is named twice counts once.
    Ok(found.concat().into_iter().filter(|certificate| known.insert(certificate.fingerprint())).collect())
}

fn delete(typed: &Delete) -> Result<(), Failure> {
    let mut store = messages::store(&typed.store)?;
    // All names are looked up before anything is deleted.
    let found = typed.who.iter().map(|who| only(&store, who)).collect::<Result<Vec<_>, _>>()?;
    for certificate in found {
        let name = format!("{:X} {}", certificate.fingerprint(), first_user_id(&certificate));
        let has_private = store.private(&certificate.fingerprint())?.is_some();
        if has_private && !typed.private {
            return Err(Failure::Usage(format!(
                "{name}: its private key is here; --private deletes that too, and what is encrypted to it alone is lost then"
            )));
        }
        let what = if has_private { "with its PRIVATE key" } else { "its certificate" };
        prompt::confirm(&format!("Delete {name}, {what}?"), typed.yes)?;
        store.delete(&certificate, typed.private, true)?;
        eprintln!("{name}: deleted");
    }
    Ok(())
}

fn default(typed: &SetDefault) -> Result<(), Failure> {
    let mut store = messages::store(&typed.store)?;
    let mut settings = store.settings()?;
    if let Some(who) = &typed.who {
        let certificate = only(&store, who)?;
        let is_on_card = certificate.keys().iter().any(|key| {
            use pgp::types::KeyDetails;
            store.cards().is_ok_and(|cards| cards.contains_key(&hexadecimal(&key.fingerprint())))
        });
        if !is_on_card && store.private(&certificate.fingerprint())?.is_none() {
            let fingerprint = format!("{:X}", certificate.fingerprint());
            return Err(PgpFailure::NoPrivateKey { who: who.clone(), fingerprint }.into());
        }
        settings.default_key = Some(hexadecimal(&certificate.fingerprint()));
    }
    settings.encrypt_to_self = typed.to_self.unwrap_or(settings.encrypt_to_self);
    if typed.who.is_some() || typed.to_self.is_some() {
        store.put_settings(&settings)?;
    }
    let fingerprint = settings.default_key.as_ref().map(|digits| digits.to_uppercase());
    if typed.json {
        return print_json(
            &serde_json::json!({ "default_key": fingerprint, "encrypt_to_self": settings.encrypt_to_self }),
        );
    }
    let named =
        fingerprint.unwrap_or_else(|| "none settled: the only private key, if there is one".to_owned());
    let to_self = if settings.encrypt_to_self { "also encrypts to it" } else { "does not encrypt to it" };
    print(&format!("default key  {named}\nencrypt      {to_self}\n"))
}
