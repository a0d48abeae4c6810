//! Shared code of the OpenPGP commands.
//!
//! | need | module |
//! |---|---|
//! | key store, screen, signals and files together | [`desk`] |
//! | finding keys, and unlocking them | [`keys`], [`cards`] |
//! | passphrases, and prompts on the terminal | [`passphrases`], [`terminal`] |
//! | how a message is protected | [`choose`] |
//! | names of outputs | [`names`] |
//! | detached signatures | [`detached`] |
//! | many files | [`batch`] |
//! | one tar stream | [`archive`] |
//! | messages and summaries | [`screen`], [`summary`] |

pub mod archive;
pub mod batch;
pub mod cards;
pub mod choose;
pub mod desk;
pub mod detached;
pub mod keys;
pub mod names;
mod narrow;
pub mod passphrases;
pub mod screen;
pub mod summary;
pub mod terminal;

use crate::args::openpgp::{ProviderName, RunOptions, StoreOptions};
use crate::failure::{Failure, PgpFailure};
use crate::session;
use cardkeys::Accelerators;
use engine::Engine;
use keyring::Keyring;
use names::Target;
use openpgp::Timestamp;
use pipeline::{Async, Input, Output, Progress, Provider, Run};
use std::env;
use std::io::{IsTerminal, stdout};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use wire::control::LevelLimit;

/// The key store that was asked for: `--keyring` or `CRYPTAND_KEYRING`, else the user's own.
pub fn store(options: &StoreOptions) -> Result<Keyring, Failure> {
    if let Some(folder) = &options.keyring {
        return Ok(Keyring::open(folder));
    }
    let data = data_folder().ok_or_else(|| {
        Failure::Usage("no key store: give --keyring DIR, or set XDG_DATA_HOME or HOME".to_owned())
    })?;
    Ok(Keyring::open(&data.join("pgp")))
}

/// The socket of the user's agent; none if no agent is to be used.
pub fn agent_socket() -> Option<agent::AgentSocket> {
    agent::AgentSocket::of_user(data_folder().as_deref())
}

/// This program's folder in the user's data folder; none without `XDG_DATA_HOME` and `HOME`.
fn data_folder() -> Option<PathBuf> {
    let data = env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share")));
    data.map(|data| data.join("cryptand"))
}

/// Resources of the work: engine, threads, processors, durability.
pub struct Layout {
    engine: Engine,
    provider: Provider,
    stages: Option<Async>,
    threads: Option<usize>,
    offload_processors: Vec<usize>,
    is_durable: bool,
}

impl Layout {
    /// The layout that the command line asks for; `is_durable` makes outputs reach the disk. For portable code the
    /// program first executes itself again, held to that level.
    pub fn new(options: &RunOptions, is_durable: bool) -> Result<Self, Failure> {
        let provider = match options.provider {
            ProviderName::Software => Provider::Software,
            ProviderName::Engine => Provider::Engine,
            ProviderName::Card => Provider::Card,
        };
        if provider == Provider::Software {
            level::hold_to(LevelLimit::Portable)?;
        }
        let stages = options.stages.map(|stages| Async {
            io: stages.io,
            compress: stages.compress,
            cipher: stages.cipher,
        });
        let offload_processors = options.offload_cpus.clone().unwrap_or_default().0;
        if let Some(number) = offload_processors.iter().find(|number| !is_processor(**number)) {
            let said = format!("--offload-cpus: this machine has no processor {number}");
            return Err(Failure::Usage(said));
        }
        Ok(Self {
            engine: session::engine()?,
            provider,
            stages,
            threads: options.threads.map(usize::from),
            offload_processors,
            is_durable,
        })
    }

    /// The home's cards that compute with clear RSA keys; none unless they were asked for.
    pub fn accelerators(&self, home: Option<&Path>) -> Result<Option<Accelerators>, Failure> {
        if self.provider != Provider::Card {
            return Ok(None);
        }
        let facility = session::connect_or_start(&session::home_folder(home)?)?;
        Ok(Some(Accelerators { facility, domain: 0 }))
    }

    /// Number of threads for small files that are worked on side by side.
    pub fn threads(&self) -> usize {
        let found = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.threads.unwrap_or_else(found)
    }

    /// The pipeline's settings. With `is_beside`, other files are worked on too, so all work stays in the caller's
    /// thread.
    pub fn run<'a>(
        &'a self,
        progress: &'a dyn Progress,
        interrupted: &'a AtomicBool,
        is_beside: bool,
    ) -> Run<'a> {
        let none = Async { io: false, compress: false, cipher: false };
        Run {
            engine: &self.engine,
            provider: self.provider,
            stages: if is_beside { Some(none) } else { self.stages },
            threads: if is_beside { Some(1) } else { self.threads },
            offload_processors: &self.offload_processors,
            progress,
            is_durable: self.is_durable,
            interrupted: Some(interrupted),
        }
    }
}

/// Whether the machine has a processor of this number; true for any number if the system does not tell.
fn is_processor(number: usize) -> bool {
    let all = Path::new("/sys/devices/system/cpu");
    !all.join("possible").exists() || all.join(format!("cpu{number}")).exists()
}

/// The time that keys and signatures are judged at.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// An input of a pair.
pub fn input(path: Option<&PathBuf>) -> Result<Input, Failure> {
    match path {
        None => Ok(Input::Stdin),
        Some(path) if path.is_dir() => {
            Err(Failure::Usage(format!("{}: is a folder; --archive takes folders", path.display())))
        }
        Some(path) => Ok(Input::Path(path.clone())),
    }
}

/// An output of a pair.
pub fn output(target: &Target, overwrite: bool) -> Output {
    match target {
        Target::Stdout => Output::Stdout,
        Target::File(path) => Output::Path { path: path.clone(), overwrite },
    }
}

/// Refuses binary output on a terminal.
pub fn refuse_terminal(target: &Target) -> Result<(), Failure> {
    if *target == Target::Stdout && stdout().is_terminal() {
        return Err(Failure::Usage(
            "bytes would go to the terminal: name a file with -o, or write text with --armor".to_owned(),
        ));
    }
    Ok(())
}

/// For `map_err`: the failure for the pipeline's error on an input.
pub fn failed(name: &str) -> impl FnOnce(pipeline::Error) -> Failure {
    move |error| PgpFailure::pipeline(name, error).into()
}
