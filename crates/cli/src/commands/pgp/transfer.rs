//! `cryptand pgp import` and `export`: certificates and private keys into and out of the key store.

use super::all_of;
use crate::args::pgp::{Export, Import};
use crate::failure::{Failure, PgpFailure};
use crate::messages;
use crate::messages::keys::read;
use crate::output::{print, print_json, table};
use keyring::{Change, Imported, Keyring, KeyringError};
use std::fs::OpenOptions;
use std::io::{IsTerminal, Write, stdout};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// `cryptand pgp import`: takes certificates and private keys of files into the key store.
pub fn import(home: Option<&Path>, typed: &Import) -> Result<(), Failure> {
    if typed.card {
        return super::card::import(home, typed);
    }
    let mut store = messages::store(&typed.store)?;
    let standard = [PathBuf::from("-")];
    let files = if typed.files.is_empty() { &standard[..] } else { &typed.files };
    let (mut imported, mut failed) = (Vec::new(), Vec::new());
    for path in files {
        let bytes = read(path)?;
        let name =
            if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
        if bytes.is_empty() {
            failed.push(KeyringError::Malformed { name, cause: "empty: nothing to import".to_owned() });
            continue;
        }
        match store.import(&name, &bytes) {
            Ok(outcomes) => outcomes.into_iter().for_each(|outcome| match outcome {
                Ok(one) => imported.push(one),
                Err(error) => failed.push(error),
            }),
            Err(error @ KeyringError::Malformed { .. }) => failed.push(error),
            Err(error) => return Err(error.into()),
        }
    }
    show(typed.json, &imported)?;
    warn_of_unserved_keys(&imported);
    warn_of_open_keys(&store, &imported)?;
    match (failed.len(), failed.pop()) {
        (_, None) => Ok(()),
        (1, Some(error)) => Err(error.into()),
        (failed_count, Some(last)) => {
            failed.iter().chain([&last]).for_each(|error| eprintln!("cryptand: {error}"));
            Err(PgpFailure::SomeKeys { failed_count, count: imported.len() + failed_count }.into())
        }
    }
}

fn show(json: bool, imported: &[Imported]) -> Result<(), Failure> {
    let word = |change: Change| match change {
        Change::New => "new",
        Change::Updated => "updated",
        Change::Unchanged => "unchanged",
    };
    if json {
        let rows: Vec<_> = imported
            .iter()
            .map(|one| {
                serde_json::json!({
                    "fingerprint": format!("{:X}", one.fingerprint), "user_id": one.user_id,
                    "certificate": word(one.certificate), "private": one.private.map(word),
                    "unserved": one.unserved,
                })
            })
            .collect();
        return print_json(&rows);
    }
    if imported.is_empty() {
        return Ok(());
    }
    let rows = imported.iter().map(|one| {
        let private = one.private.map_or("-", word).to_owned();
        vec![format!("{:X}", one.fingerprint), word(one.certificate).to_owned(), private, one.user_id.clone()]
    });
    print(&table(&["fingerprint", "certificate", "private key", "user ID"], rows))
}

/// Warns of subkeys that are kept but cannot be used, for users who would delete their other copy.
fn warn_of_unserved_keys(imported: &[Imported]) {
    for one in imported {
        let private = if one.private.is_some() { "private " } else { "" };
        for name in &one.unserved {
            eprintln!(
                "cryptand: warning: {:X}: its {private}subkey {name} is of a kind that is not served: it is kept, and \
                 exported again, and opens and signs nothing here",
                one.fingerprint
            );
        }
    }
}

/// Warns of private keys that no passphrase protects.
fn warn_of_open_keys(store: &Keyring, imported: &[Imported]) -> Result<(), Failure> {
    for one in imported.iter().filter(|one| one.private.is_some()) {
        let is_open = store.private(&one.fingerprint)?.is_some_and(|private| !private.is_locked());
        if is_open {
            let fingerprint = format!("{:X}", one.fingerprint);
            eprintln!(
                "cryptand: warning: the private key of {fingerprint} has no passphrase; \
                 `cryptand pgp passphrase {fingerprint}` gives it one"
            );
        }
    }
    Ok(())
}

/// `cryptand pgp export`: writes certificates, or private keys with `--private`, in armor or binary.
pub fn export(typed: &Export) -> Result<(), Failure> {
    let store = messages::store(&typed.store)?;
    let found = all_of(&store, &typed.who)?;
    let mut text = zeroize::Zeroizing::new(Vec::new());
    for certificate in found {
        if !typed.private {
            let armored = || certificate.to_armor().into_bytes();
            text.extend(if typed.binary { certificate.to_bytes() } else { armored() });
            continue;
        }
        match store.private(&certificate.fingerprint())? {
            Some(private) if typed.binary => text.extend_from_slice(&private.to_bytes()),
            Some(private) => text.extend_from_slice(private.to_armor().as_bytes()),
            // Without names, only keys with a private half are exported; a named key must have one.
            None if typed.who.is_empty() => {}
            None => {
                let fingerprint = format!("{:X}", certificate.fingerprint());
                return Err(PgpFailure::NoPrivateKey { who: fingerprint.clone(), fingerprint }.into());
            }
        }
    }
    write(typed, &text)
}

fn write(typed: &Export, text: &[u8]) -> Result<(), Failure> {
    let Some(path) = typed.output.as_ref().filter(|path| *path != Path::new("-")) else {
        if typed.binary && stdout().is_terminal() {
            return Err(Failure::Usage("bytes would go to the terminal: name a file with -o".to_owned()));
        }
        let mut output = stdout().lock();
        return output
            .write_all(text)
            .and_then(|()| output.flush())
            .map_err(Failure::io("write to standard output"));
    };
    write_file(path, text, typed.force, typed.private)
}

/// Writes a file completely or not at all; an existing one only with `--force`.
pub fn write_file(path: &Path, bytes: &[u8], overwrite: bool, is_private: bool) -> Result<(), Failure> {
    if path.exists() && !overwrite {
        return Err(Failure::Exists(format!("{}: is there already; --force replaces it", path.display())));
    }
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    let temporary = path.with_file_name(name);
    let mode = if is_private { 0o600 } else { 0o666 };
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        Failure::io(format!("write {}", path.display()))(error)
    })
}
