//! `cryptand agent`, as typed.

use super::openpgp::{KeyOptions, StoreOptions};
use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  cryptand agent unlock                           asks for the passphrase of the default key
  cryptand agent unlock alice@example.org --for 8h
  cryptand decrypt *.pgp                          asks for nothing meanwhile
  cryptand agent list
  cryptand agent forget

The agent is a process of its own, started by the first `unlock`; it ends when it holds no key.
It gives no key out: it decrypts session keys and signs, for programs of its user alone. Its
memory is locked, and no other process can read it. Whoever can run programs as its user can
have it use a key for as long as it is held.

Its socket is $CRYPTAND_AGENT, else cryptand/agent.sock in $XDG_RUNTIME_DIR, else in
$XDG_DATA_HOME/cryptand/agent. With CRYPTAND_AGENT= (empty) no agent is used.";

/// `cryptand agent`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Agent {
    /// Unlock private keys, and have the agent hold them for a time
    Unlock(Unlock),
    /// Show which keys are held, and for how long
    List(ListHeld),
    /// Forget keys before their time: those that are named, else all
    Forget(Forget),
}

/// `cryptand agent unlock`.
#[derive(Args, Debug)]
pub struct Unlock {
    /// Whose keys: address, fingerprint, key ID or part of a user ID; without, the default key
    #[arg(value_name = "WHO")]
    pub who: Vec<String>,
    /// For how long: 90s, 10m, 8h; a day at the most
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = super::time::span)]
    pub seconds: u32,
    /// The key store, and how its private keys are opened
    #[command(flatten)]
    pub keys: KeyOptions,
}

/// `cryptand agent list`.
#[derive(Args, Debug)]
pub struct ListHeld {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The key store
    #[command(flatten)]
    pub store: StoreOptions,
}

/// `cryptand agent forget`.
#[derive(Args, Debug)]
pub struct Forget {
    /// Whose keys; without, all
    #[arg(value_name = "WHO")]
    pub who: Vec<String>,
    /// The key store
    #[command(flatten)]
    pub store: StoreOptions,
}
