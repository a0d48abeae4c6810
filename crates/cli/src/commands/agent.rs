//! `cryptand agent`: private keys that a process of the user's holds unlocked for a time.

use crate::args::Agent as Typed;
use crate::args::agent::{Forget, ListHeld, Unlock};
use crate::failure::{Failure, PgpFailure};
use crate::messages::desk::Desk;
use crate::messages::keys::Keys;
use crate::messages::{self, agent_socket};
use crate::output::{print, print_json, table};
use agent::message::HeldKey;
use agent::{Agent, AgentSocket};
use keyring::Keyring;
use keyring::store::{first_user_id, printable};
use openpgp::Fingerprint;
use openpgp::certificate::Certificate;
use openpgp::private_key::Locking;
use pgp::types::KeyDetails;
use serde::Serialize;
use std::env;
use std::sync::Arc;

/// The agent's program.
const PROGRAM: &str = "cryptand-agent";
const NO_AGENT: &str = "no agent runs, and no key is held; `cryptand agent unlock` has one hold a key";

/// Runs the subcommands of `cryptand agent`.
pub fn run(typed: &Typed) -> Result<(), Failure> {
    match typed {
        Typed::Unlock(typed) => unlock(typed),
        Typed::List(typed) => list(typed),
        Typed::Forget(typed) => forget(typed),
    }
}

fn unlock(typed: &Unlock) -> Result<(), Failure> {
    let socket = socket()?;
    let desk = Desk::bare(&typed.keys.store)?;
    let keys = desk.keys(&typed.keys, Vec::new())?;
    // All names are resolved and all passphrases are asked for before the agent gets a key.
    let mut unlocked = Vec::new();
    for (who, certificate) in certificates(&keys, &typed.who)? {
        unlocked.push(clear_keys(&desk.store, &keys, &who, &certificate)?);
    }
    let own = env::current_exe().map_err(Failure::io("find this program's own path"))?;
    let program = home::program_beside(&own, PROGRAM).ok_or(Failure::ProgramMissing {
        name: PROGRAM,
        does: "holds keys",
        own,
    })?;
    let agent = Agent::connect_or_start(&socket, &program)?;
    for (name, clear) in unlocked {
        for key in &clear {
            agent.add(key, typed.seconds)?;
        }
        let count = clear.len();
        eprintln!("{name}: {count} private key(s) held for {}", span(typed.seconds));
    }
    Ok(())
}

/// The certificates of these names; without names, the default one.
fn certificates(keys: &Keys<'_>, names: &[String]) -> Result<Vec<(String, Arc<Certificate>)>, Failure> {
    if names.is_empty() {
        let certificate = keys.default_certificate()?;
        return Ok(vec![(first_user_id(&certificate), certificate)]);
    }
    let mut found = Vec::new();
    for name in names {
        found.extend(keys.find(name)?.into_iter().map(|certificate| (name.clone(), certificate)));
    }
    Ok(found)
}

/// The unlocked private keys of a certificate, with the owner's name. Only keys that a passphrase locks are returned;
/// an error if there are none.
fn clear_keys(
    store: &Keyring,
    keys: &Keys<'_>,
    who: &str,
    certificate: &Certificate,
) -> Result<(String, Vec<openpgp::private_key::ClearKey>), Failure> {
    let fingerprint = certificate.fingerprint();
    let name = format!("{fingerprint:X} {}", first_user_id(certificate));
    let missing =
        || PgpFailure::NoPrivateKey { who: who.to_owned(), fingerprint: format!("{fingerprint:X}") };
    let private = store.private(&fingerprint)?.ok_or_else(missing)?;
    let locked = private.locking().into_iter().filter(|(_, locking)| *locking == Locking::Passphrase);
    let locked: Vec<_> = locked.map(|(key, _)| key).collect();
    if locked.is_empty() {
        return Err(Failure::Usage(format!(
            "{name}: no passphrase locks its private keys, and there is nothing to hold"
        )));
    }
    let passphrase = keys.passphrase_of(who, &private)?;
    let failed = |cause| PgpFailure::PrivateKey { who: who.to_owned(), cause };
    let clear = locked.iter().map(|key| private.clear_key(key, passphrase.as_ref()));
    Ok((name, clear.collect::<Result<_, _>>().map_err(failed)?))
}

/// A private key that the agent holds, as `--json` prints it.
#[derive(Serialize)]
struct Held {
    fingerprint: String,
    /// Fingerprint of the certificate's primary key, where the certificate is in the key store.
    certificate: Option<String>,
    user_id: Option<String>,
    /// Seconds until the agent forgets the key.
    seconds: u32,
}

/// The output of `cryptand agent list --json`.
#[derive(Serialize)]
struct Listed {
    /// Process number of the agent; none if no agent runs.
    pid: Option<u32>,
    /// Protections of the agent's sandbox that this machine lacks.
    lacks: Vec<String>,
    keys: Vec<Held>,
}

fn list(typed: &ListHeld) -> Result<(), Failure> {
    let store = messages::store(&typed.store)?;
    let Some(agent) = Agent::connect(&socket()?)? else {
        if typed.json {
            return print_json(&Listed { pid: None, lacks: Vec::new(), keys: Vec::new() });
        }
        eprintln!("{NO_AGENT}");
        return Ok(());
    };
    let held: Vec<_> = agent.held()?.iter().map(|row| of_store(&store, row)).collect::<Result<_, _>>()?;
    if typed.json {
        return print_json(&Listed { pid: Some(agent.pid()), lacks: agent.lacks().to_vec(), keys: held });
    }
    if !agent.lacks().is_empty() {
        eprintln!("cryptand: warning: this machine does not give the agent: {}", agent.lacks().join(", "));
    }
    let rows = held
        .into_iter()
        .map(|key| vec![key.fingerprint, printable(&key.user_id.unwrap_or_default()), span(key.seconds)]);
    print(&table(&["Key", "Owner", "Held for"], rows))
}

fn of_store(store: &Keyring, row: &HeldKey) -> Result<Held, Failure> {
    let fingerprint: String = row.fingerprint.iter().map(|byte| format!("{byte:02X}")).collect();
    let mut certificates = store.certificates()?.iter();
    let owner = certificates
        .find(|owner| owner.keys().iter().any(|key| key.fingerprint().as_bytes() == row.fingerprint));
    Ok(Held {
        fingerprint,
        certificate: owner.map(|owner| format!("{:X}", owner.fingerprint())),
        user_id: owner.map(|owner| first_user_id(owner)),
        seconds: row.seconds,
    })
}

fn forget(typed: &Forget) -> Result<(), Failure> {
    let socket = socket()?;
    let desk = Desk::bare(&typed.store)?;
    let keys = Keys::new(&desk.store, desk.asker(true))?;
    let mut fingerprints: Vec<Fingerprint> = Vec::new();
    for name in &typed.who {
        for certificate in keys.find(name)? {
            fingerprints.extend(certificate.keys().iter().map(KeyDetails::fingerprint));
        }
    }
    let Some(agent) = Agent::connect(&socket)? else {
        eprintln!("{NO_AGENT}");
        return Ok(());
    };
    let count = agent.forget(&fingerprints)?;
    eprintln!("{count} private key(s) forgotten");
    Ok(())
}

fn socket() -> Result<AgentSocket, Failure> {
    agent_socket().ok_or_else(|| {
        Failure::Usage(
            "no agent is used, since CRYPTAND_AGENT is set and empty, or neither XDG_RUNTIME_DIR, XDG_DATA_HOME nor HOME is set"
                .to_owned(),
        )
    })
}

/// A time in its two largest units.
fn span(seconds: u32) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn a_time_is_shown_in_its_two_largest_units() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3599, "59 min 59 s"),
            (3600, "1 h"),
            (28_799, "7 h 59 min"),
            (86_400, "24 h"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }
}
