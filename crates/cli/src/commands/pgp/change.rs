//! `cryptand pgp generate`, `expire`, `revoke` and `passphrase`.

use super::{only, transfer};
use crate::args::Expiry;
use crate::args::openpgp::KeyOptions;
use crate::args::pgp::{ChangePassphrase, Expire, Generate, KeyAlgorithm, ReasonName, Revoke};
use crate::args::time;
use crate::failure::{Failure, PgpFailure};
use crate::messages;
use crate::messages::desk::Desk;
use crate::messages::passphrases::{self, Asker};
use crate::output::{print, print_json};
use crate::prompt;
use keyring::Keyring;
use keyring::store::{first_user_id, printable};
use openpgp::certificate::Certificate;
use openpgp::generate::{self, CertificateAlgorithms, GenerateError, NewKey, Reason};
use openpgp::{Passphrase, PrivateKey, Timestamp};
use std::sync::Arc;

/// `cryptand pgp generate`, with private keys in a file.
pub fn generate(typed: &Generate) -> Result<(), Failure> {
    let mut desk = Desk::bare(&typed.keys.store)?;
    let what = new_key(typed)?;
    let passphrase = new_passphrase(typed, &desk.asker(typed.keys.batch))?;
    let private =
        generate::generate(&what, passphrase.as_ref()).map_err(|error| failed(&what.user_ids[0], error))?;
    warn_of_twins(&desk.store, &what)?;
    desk.store.put_private(&private)?;
    tell(private.certificate(), &desk.store, typed.json)
}

/// Warns if another key of the store has the same name: the name then identifies neither of them.
pub fn warn_of_twins(store: &Keyring, what: &NewKey) -> Result<(), Failure> {
    for certificate in store.certificates()? {
        let Ok(valid) = certificate.check(what.created) else { continue };
        if let Some(user_id) = valid.user_ids().iter().find(|user_id| what.user_ids.contains(user_id)) {
            eprintln!(
                "cryptand: warning: the key store has a key of {} already, {:X}: name the two by their fingerprints, or \
                 revoke one",
                printable(user_id),
                certificate.fingerprint()
            );
        }
    }
    Ok(())
}

/// The new key that the command line describes, without the place of its private keys.
pub fn new_key(typed: &Generate) -> Result<NewKey, Failure> {
    let kind = match typed.algorithm {
        KeyAlgorithm::Curve25519 => CertificateAlgorithms::Curve25519,
        KeyAlgorithm::Rsa2048 => CertificateAlgorithms::Rsa { bits: 2048 },
        KeyAlgorithm::Rsa3072 => CertificateAlgorithms::Rsa { bits: 3072 },
        KeyAlgorithm::Rsa4096 => CertificateAlgorithms::Rsa { bits: 4096 },
        KeyAlgorithm::P256 => CertificateAlgorithms::P256,
        KeyAlgorithm::P384 => CertificateAlgorithms::P384,
        KeyAlgorithm::P521 => CertificateAlgorithms::P521,
        KeyAlgorithm::Curve448 => CertificateAlgorithms::Curve448,
        KeyAlgorithm::PostQuantum => CertificateAlgorithms::MlDsa65MlKem768,
    };
    let needs_v6 = matches!(kind, CertificateAlgorithms::MlDsa65MlKem768 | CertificateAlgorithms::Curve448);
    let is_v6 = typed.version.map_or(needs_v6, |version| version == 6);
    if is_v6 && typed.for_gnupg {
        return Err(Failure::Usage(
            "GnuPG does not read keys of version 6: leave out --for-gnupg, or use an algorithm of version 4"
                .to_owned(),
        ));
    }
    let created = messages::now();
    Ok(NewKey {
        kind,
        is_v6,
        user_ids: typed.user_ids.clone(),
        created,
        expires: moment(typed.expires, created)?,
        announces_seipd_v2: !typed.for_gnupg,
        is_signing_only: false,
    })
}

fn new_passphrase(typed: &Generate, asker: &Asker<'_>) -> Result<Option<Passphrase>, Failure> {
    if typed.no_passphrase {
        return Ok(None);
    }
    let given = passphrases::given(&typed.keys.key_passphrase_file, &typed.keys.key_passphrase_fd)?;
    let instead = "--key-passphrase-file names a file with it, --no-passphrase leaves the key without one";
    match given.into_iter().next() {
        Some(passphrase) => Ok(Some(passphrase)),
        None => asker.ask_new("Passphrase of the new key: ", instead).map(Some),
    }
}

/// Prints which key was made, and the commands that come next.
pub fn tell(certificate: &Certificate, store: &Keyring, json: bool) -> Result<(), Failure> {
    let fingerprint = format!("{:X}", certificate.fingerprint());
    if json {
        let user_ids = certificate.user_ids();
        return print_json(&serde_json::json!({ "fingerprint": fingerprint, "user_ids": user_ids }));
    }
    print(&format!("{fingerprint}\n"))?;
    eprintln!("{}: in {}", first_user_id(certificate), store.folder().display());
    eprintln!("`cryptand pgp export {fingerprint}` prints what to give to others");
    Ok(())
}

fn moment(expires: Expiry, now: Timestamp) -> Result<Option<Timestamp>, Failure> {
    let seconds = match expires {
        Expiry::Never => return Ok(None),
        Expiry::At(seconds) => seconds,
        Expiry::After(seconds) => now.as_secs().checked_add(seconds).ok_or_else(|| {
            Failure::Usage(
                "that is after the year 2106, which OpenPGP's times do not reach: say never".to_owned(),
            )
        })?,
    };
    if seconds <= now.as_secs() {
        return Err(Failure::Usage(
            "that is in the past: to end a key for ever, use `cryptand pgp revoke`".to_owned(),
        ));
    }
    Ok(Some(Timestamp::from_secs(seconds)))
}

/// `cryptand pgp expire`: changes when a certificate expires.
pub fn expire(typed: &Expire) -> Result<(), Failure> {
    let expires = moment(typed.expires, messages::now())?;
    let (mut store, certificate, signer) = owner(&typed.who, &typed.keys)?;
    let changed = generate::expire(&certificate, signer.as_ref(), expires, messages::now())
        .map_err(|error| failed(&typed.who, error))?;
    store.put(&changed)?;
    let when = expires.map_or_else(|| "never".to_owned(), |at| time::to_text(at.as_secs()));
    eprintln!(
        "{:X} {}: expires {when}; export it to those who have it",
        changed.fingerprint(),
        first_user_id(&changed)
    );
    Ok(())
}

/// `cryptand pgp revoke`: revokes a certificate or one of its user ids, in the store or only in a file.
pub fn revoke(typed: &Revoke) -> Result<(), Failure> {
    let (mut store, certificate, signer) = owner(&typed.who, &typed.keys)?;
    let name = format!("{:X} {}", certificate.fingerprint(), first_user_id(&certificate));
    let what = typed
        .user_id
        .as_ref()
        .map_or_else(|| name.clone(), |user_id| format!("the user ID {user_id} of {name}"));
    let is_kept = typed.output.is_some();
    prompt::confirm(&format!("Revoke {what}, for ever?"), typed.yes || is_kept)?;
    let reason = match typed.reason {
        ReasonName::Unspecified => Reason::None,
        ReasonName::Superseded => Reason::Superseded,
        ReasonName::Compromised => Reason::Compromised,
        ReasonName::Retired => Reason::Retired,
    };
    let (signer, now, text) = (signer.as_ref(), messages::now(), typed.comment.as_str());
    let changed = match &typed.user_id {
        Some(user_id) => generate::revoke_user_id(&certificate, signer, user_id, text, now),
        None => generate::revoke(&certificate, signer, reason, text, now),
    };
    let changed = changed.map_err(|error| failed(&typed.who, error))?;
    if let Some(path) = &typed.output {
        transfer::write_file(path, changed.to_armor().as_bytes(), false, true)?;
        eprintln!("{what}: revoked in {} alone; import that file when the time comes", path.display());
        return Ok(());
    }
    store.put(&changed)?;
    eprintln!("{what}: revoked; export it to those who have it");
    Ok(())
}

/// `cryptand pgp passphrase`: changes or removes the passphrase of private keys in the store.
pub fn passphrase(typed: &ChangePassphrase) -> Result<(), Failure> {
    let mut desk = Desk::bare(&typed.keys.store)?;
    let certificate = only(&desk.store, &typed.who)?;
    let fingerprint = format!("{:X}", certificate.fingerprint());
    let none = || PgpFailure::NoPrivateKey { who: typed.who.clone(), fingerprint: fingerprint.clone() };
    let private = desk.store.private(&certificate.fingerprint())?.ok_or_else(none)?;
    let old = desk.keys(&typed.keys, Vec::new())?.passphrase_of(&typed.who, &private)?;
    let new = match (&typed.new_passphrase_file, typed.new_passphrase_fd) {
        _ if typed.no_passphrase => None,
        (None, None) => {
            let instead = "--new-passphrase-file names a file with the new one";
            Some(desk.asker(typed.keys.batch).ask_new("New passphrase: ", instead)?)
        }
        (file, fd) => {
            let files = file.iter().cloned().collect::<Vec<_>>();
            passphrases::given(&files, &fd.into_iter().collect::<Vec<_>>())?.pop()
        }
    };
    let changed = private
        .with_passphrase(old.as_ref(), new.as_ref())
        .map_err(|cause| PgpFailure::PrivateKey { who: typed.who.clone(), cause })?;
    desk.store.put_private_keys(&changed)?;
    let state = if new.is_some() { "a new passphrase" } else { "NO passphrase" };
    eprintln!("{fingerprint} {}: {state}", first_user_id(&certificate));
    Ok(())
}

/// A store, a certificate of it, and its primary key's private half.
type Owner = (Keyring, Arc<Certificate>, Arc<dyn PrivateKey>);

fn owner(who: &str, options: &KeyOptions) -> Result<Owner, Failure> {
    let desk = Desk::bare(&options.store)?;
    let certificate = only(&desk.store, who)?;
    let fingerprint = certificate.fingerprint();
    let signer = desk.keys(options, Vec::new())?.private_key(who, &fingerprint)?;
    let none = || PgpFailure::NoPrivateKey { who: who.to_owned(), fingerprint: format!("{fingerprint:X}") };
    Ok((desk.store, certificate, signer.ok_or_else(none)?))
}

/// For `map_err`: the failure for a key that was not made or not changed.
pub fn failed(who: &str, error: GenerateError) -> Failure {
    match error {
        GenerateError::Asked { cause } => Failure::Usage(cause),
        GenerateError::Key(cause) => PgpFailure::PrivateKey { who: who.to_owned(), cause }.into(),
        other => Failure::Usage(other.to_string()),
    }
}
