//! `cryptand encrypt`: encrypts files, or packs several into one archive.

use crate::args::Encrypt;
use crate::failure::Failure;
use crate::messages::batch::Done;
use crate::messages::desk::{Desk, takes_stdout};
use crate::messages::keys::{self, Keys};
use crate::messages::names::{self, Pair, Target};
use crate::messages::passphrases::{self, Asker};
use crate::messages::{self, Layout, archive, choose};
use keyring::store::first_user_id;
use openpgp::certificate::{Announced, Certificate, EncryptionKey};
use openpgp::{Fingerprint, Passphrase, Timestamp};
use pipeline::{Input, Literal, LiteralMode, Progress};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Encrypts every input.
pub fn run(home: Option<&Path>, typed: &Encrypt) -> Result<(), Failure> {
    let work = &typed.work;
    let layout = Layout::new(&work.run, typed.output.sync)?;
    let pairs = pairs(typed)?;
    let desk = Desk::new(&work.show, &work.keys.store, &pairs)?;
    let keys = desk.keys(&work.keys, Vec::new())?.on(layout.accelerators(home)?);
    let (recipients, announced) = recipients(typed, &keys)?;
    let signers = keys.signers(&typed.signers, typed.sign)?;
    let passphrases = message_passphrases(typed, keys.asker())?;
    if recipients.is_empty() && passphrases.is_empty() {
        return Err(Failure::Usage(
            "who is to open it? Name recipients with -r, yourself with --to-self, or a passphrase with -c or --passphrase-file"
                .to_owned(),
        ));
    }
    let announcements: Vec<_> = announced.iter().map(|(_, announced)| announced.clone()).collect();
    let form = choose::form(typed, &announcements)?;
    for warning in choose::warnings(form, &announced) {
        desk.screen.say(&format!("cryptand: warning: {warning}"));
    }

    let now = messages::now();
    let mode = if typed.text { LiteralMode::Utf8 } else { LiteralMode::Binary };
    let what = pipeline::Encrypt {
        form,
        recipients: &recipients,
        passphrases: &passphrases,
        session_key: None,
        signers: &signers,
        compression: choose::compression(typed.compress, typed.compress_level),
        // Neither name nor time: a signature does not cover them, and the output's own name is more reliable.
        literal: Literal { name: Vec::new(), mode, modified: Timestamp::from_secs(0) },
        armor: typed.armor,
        now,
    };
    desk.each(&layout, &pairs, &work.show, takes_stdout(&pairs), |pair, run| {
        let mut noted = archive::Noted::default();
        let input = if typed.archive {
            let (reader, packed) = archive::pack(&typed.inputs)?;
            noted = packed;
            Input::Reader { reader, bytes: None, name: pair.name() }
        } else {
            messages::input(pair.input.as_ref())?
        };
        let output = messages::output(&pair.target, typed.output.force);
        let encrypted = pipeline::encrypt(input, output, &what, run);
        noted.left_out().lines().for_each(|line| desk.screen.warn(&line));
        encrypted.map(Done::from).map_err(messages::failed(&pair.name()))
    })
}

/// Inputs and outputs. An archive is one pair.
fn pairs(typed: &Encrypt) -> Result<Vec<Pair>, Failure> {
    let ending = if typed.armor { "asc" } else { "pgp" };
    let asked = typed.output.output.as_deref();
    let pairs = if typed.archive {
        vec![archive_pair(&typed.inputs, asked, ending)?]
    } else {
        names::pairs(&typed.inputs, asked, |path| Ok(names::with_ending(path, ending)))?
    };
    if !typed.armor {
        pairs.iter().try_for_each(|pair| messages::refuse_terminal(&pair.target))?;
    }
    Ok(pairs)
}

/// `DIR` becomes `DIR.tar.pgp`.
fn archive_pair(inputs: &[PathBuf], asked: Option<&Path>, ending: &str) -> Result<Pair, Failure> {
    let target = match (asked, inputs) {
        (_, []) => return Err(Failure::Usage("--archive takes files and folders: name some".to_owned())),
        (Some(path), _) if path == Path::new("-") => Target::Stdout,
        (Some(path), _) => Target::File(path.to_owned()),
        (None, [one]) => {
            // `DIR/` is `DIR` here.
            let plain: PathBuf = one.components().collect();
            Target::File(names::with_ending(&plain, &format!("tar.{ending}")))
        }
        (None, _) => {
            return Err(Failure::Usage("--archive of several inputs: name the output with -o".to_owned()));
        }
    };
    Ok(Pair { input: inputs.first().cloned(), target })
}

type Recipients = (Vec<EncryptionKey>, Vec<(Fingerprint, Announced)>);

fn recipients(typed: &Encrypt, keys: &Keys<'_>) -> Result<Recipients, Failure> {
    let mut found: Vec<(String, Arc<Certificate>, bool)> = Vec::new();
    for (names, is_hidden) in [(&typed.recipients, false), (&typed.hidden_recipient, true)] {
        for who in names {
            found
                .extend(keys.find(who)?.into_iter().map(|certificate| (who.clone(), certificate, is_hidden)));
        }
    }
    for path in &typed.recipient_files {
        let who = path.display().to_string();
        found.extend(keys::of_file(path)?.into_iter().map(|certificate| (who.clone(), certificate, false)));
    }
    let is_to_self = typed.to_self || (!typed.no_to_self && keys.store().settings()?.encrypt_to_self);
    if is_to_self {
        let own = keys.default_certificate()?;
        found.push((first_user_id(&own), own, false));
    }
    let (mut all, mut announced): Recipients = Default::default();
    for (who, certificate, is_hidden) in found {
        let fingerprint = certificate.fingerprint();
        // A recipient that is named twice counts once.
        if announced.iter().any(|(known, _)| *known == fingerprint) {
            continue;
        }
        let valid = keys.check(&who, &certificate)?;
        let mut own = valid.encryption_keys().map_err(|cause| keys::unusable(&who, cause))?;
        own.iter_mut().for_each(|key| key.is_hidden = is_hidden);
        announced.push((fingerprint, valid.announces()));
        all.extend(own);
    }
    Ok((all, announced))
}

fn message_passphrases(typed: &Encrypt, asker: &Asker<'_>) -> Result<Vec<Passphrase>, Failure> {
    let mut given = passphrases::given(&typed.passphrase_file, &typed.passphrase_fd)?;
    if typed.passphrase && given.is_empty() {
        given.push(asker.ask_new("Passphrase of the message: ", "--passphrase-file names a file with it")?);
    }
    Ok(given)
}
