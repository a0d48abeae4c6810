//! `cryptand init`: makes a home, and its master keys. After an interruption, the same command continues.

use super::officer::part::{RegisterPart, Source};
use super::{officer, samples};
use crate::args::Init;
use crate::failure::Failure;
use crate::prompt;
use crate::session;
use clap::{Args, FromArgMatches};
use facility::Facility;
use home::{Cards, Development, Home, Service, Settings};
use std::path::Path;
use wire::control::{NewState, Part, Personality, Register, RegisterRow, Unseal};

/// Makes the home that was asked for, or continues an interrupted `init`.
pub fn run(asked: Option<&Path>, init: &Init) -> Result<(), Failure> {
    let folder = session::home_folder(asked)?;
    let source = Source::of(init.random, init.from_stdin);
    if let Ok(home) = Home::open(&folder) {
        return go_on(&home, init, source);
    }
    if !(init.insecure_dev || init.no_master_keys || init.coprocessors == 0 || init.service.is_some()) {
        // Before anything is made.
        source.check()?;
    }
    let mut settings = settings(init)?;
    settings.unseal = who_unseals(init, &settings, source)?;
    let home = Home::create(&folder, &settings)?;
    let shown = home.folder().display();

    if init.service.is_some() {
        eprintln!(
            "{shown}: made. Next: start the service; its officers load master keys (`cryptand help officers`)"
        );
        return Ok(());
    }
    if init.no_master_keys {
        eprintln!("{shown}: made, without master keys. Next: cryptand serve, cryptand master-key load");
        return Ok(());
    }
    if init.coprocessors == 0 {
        eprintln!("{shown}: made; without coprocessors it needs no master keys. Next: cryptand serve");
        return Ok(());
    }
    let served = Served::or_start(&home)?;
    if init.insecure_dev {
        development(&home, served, init.seed)
    } else {
        ceremony(&home, served, init.domains, source)
    }
}

/// Makes a development home as `init --insecure-dev` does, where there is no home.
///
/// # Errors
/// A usage error for a home with master keys of its own.
pub fn development_home(asked: Option<&Path>) -> Result<(), Failure> {
    let folder = session::home_folder(asked)?;
    let Ok(home) = Home::open(&folder) else {
        let typed =
            Init::augment_args(clap::Command::new("init")).get_matches_from(["init", "--insecure-dev"]);
        let init = Init::from_arg_matches(&typed).map_err(|error| Failure::Usage(error.to_string()))?;
        return run(asked, &init);
    };
    match home.settings()?.development {
        Some(_) => Ok(()),
        None => Err(Failure::Usage(format!(
            "--insecure-dev: {} is no development home; serve it without",
            home.folder().display()
        ))),
    }
}

fn settings(init: &Init) -> Result<Settings, Failure> {
    let mut settings = Settings::new(session::programs()?);
    settings.cards = Cards {
        coprocessors: init.coprocessors,
        accelerators: init.accelerators,
        domains: init.domains,
        ..Cards::default()
    };
    settings.weak_algorithms = init.weak_algorithms || init.insecure_dev;
    settings.seal_memory_mib = init.seal_memory;
    settings.development = init.insecure_dev.then_some(Development { insecure_seed: init.seed });
    if let Some(file) = &init.service {
        let file = std::path::absolute(file).map_err(Failure::io("find the file of the service"))?;
        settings.cards.domains = Service::read(&file)?.domains;
        settings.service = Some(file);
    }
    Ok(settings)
}

/// How the master keys are unsealed, from the command line or a prompt.
fn who_unseals(init: &Init, settings: &Settings, source: Source) -> Result<Unseal, Failure> {
    let has_keys = !(init.insecure_dev || init.coprocessors == 0 || settings.service.is_some());
    if init.unattended {
        return Ok(Unseal::Unattended);
    }
    if init.attended || init.no_master_keys || !has_keys || source == Source::Lines {
        return Ok(Unseal::Attended);
    }
    eprintln!(
        "After each start of the keeper, so after each reboot, the master keys are unsealed\n  \
         a  attended: by an officer who types the passphrase. Until then no secure key can be used\n  \
         u  unattended: by a credential of the daemon's unit. Whoever has the machine has the keys\n\
         `cryptand help officers` says what each is worth; `unseal` in the settings changes it."
    );
    prompt::until_valid(|| match prompt::shown("Which? [a/u] ")?.trim() {
        "a" => Ok(Unseal::Attended),
        "u" => Ok(Unseal::Unattended),
        _ => Err(Failure::Usage("a or u".to_owned())),
    })
}

/// Continues an interrupted `init` of this home; completed parts are not changed.
fn go_on(home: &Home, init: &Init, source: Source) -> Result<(), Failure> {
    home.check_trust()?;
    let settings = home.settings()?;
    let shown = home.folder().display();
    let made = |next: String| Err(Failure::Made { folder: home.folder().to_owned(), next });
    if let Some(file) = &settings.service {
        return made(format!(
            "it belongs to the service of {}: start that, and its officers load master keys (`cryptand help officers`)",
            file.display()
        ));
    }
    match (&settings.development, init.insecure_dev) {
        (Some(development), true) if development.insecure_seed == init.seed => {
            let served = Served::or_start(home)?;
            if samples::missing(&served.facility)? == 0 {
                served.leave(false)?;
                return made(format!(
                    "a development home, INSECURE: `cryptand --home {shown} serve` starts it"
                ));
            }
            eprintln!("{shown}: a development home without its sample keys: making them");
            return self::development(home, served, init.seed);
        }
        (Some(_), _) => {
            return made(
                "a development home, INSECURE, of another seed or kind than was asked for: make another one in an empty folder"
                    .to_owned(),
            );
        }
        (None, true) => {
            return made("it is no development home: make one in an empty folder".to_owned());
        }
        (None, false) => {}
    }
    if home.sealed_registers().exists() {
        return made(format!(
            "its master keys are sealed: `cryptand --home {shown} serve`, then `cryptand --home {shown} unseal`"
        ));
    }
    let needs_keys =
        settings.wanted_cards().values().any(|card| card.personality == Personality::Coprocessor);
    if !needs_keys || init.no_master_keys {
        return made(format!(
            "`cryptand --home {shown} serve` starts it, `cryptand --home {shown} master-key load` gives it master keys"
        ));
    }
    source.check()?;
    eprintln!(
        "{shown}: a home that lacks master keys. Its settings stand, whatever this command line says of them ({})",
        home.settings_path().display()
    );
    let served = Served::or_start(home)?;
    let status = served.facility.status()?;
    let in_use = status.registers.iter().any(|row| row.current_pattern.is_some());
    if status.records > 0 && !in_use {
        served.leave(false)?;
        // New master keys would leave these records under no master key.
        return made(format!(
            "it has {} key record(s) and no sealed master keys. Give it back the keys that they are under: put \
             master-keys.sealed back and `cryptand --home {shown} unseal`; or load the same parts with `cryptand --home {shown} \
             master-key load`, then `set` and `seal`",
            status.records
        ));
    }
    ceremony(home, served, settings.cards.domains, source)
}

/// The home's daemon, and whether this command has started it.
struct Served {
    home: Home,
    facility: Facility,
    is_ours: bool,
}

impl Served {
    fn or_start(home: &Home) -> Result<Self, Failure> {
        let (facility, is_ours) = session::start(home)?;
        Ok(Self { home: home.clone(), facility, is_ours })
    }

    /// Stops the daemon if this command has started it.
    fn leave(&self, lose_keys: bool) -> Result<(), Failure> {
        if self.is_ours {
            self.facility.shutdown(lose_keys)?;
            // Nobody has stopped the home: it was never in use.
            self.home.forget_stopped()?;
        }
        Ok(())
    }

    /// The commands that come next.
    fn next(&self, of_started: &'static str, of_running: &'static str) -> &'static str {
        if self.is_ours { of_started } else { of_running }
    }
}

/// Makes the sample keys of a development home.
fn development(home: &Home, served: Served, seed: u64) -> Result<(), Failure> {
    let shown = home.folder().display();
    let outcome = samples::record(&served.facility, seed);
    let stopped = served.leave(false);
    if let Err(failure) = outcome {
        eprintln!("{shown}: made, but it lacks sample keys; run the same command again to make them");
        return Err(failure);
    }
    stopped?;
    let next = served.next("Next: cryptand serve", "Its daemon goes on");
    eprintln!("{shown}: a development home, INSECURE: anyone can compute its master keys. {next}");
    Ok(())
}

/// Asks officers for the parts of master keys that are missing.
fn ceremony(home: &Home, served: Served, domains: u16, source: Source) -> Result<(), Failure> {
    let shown = home.folder().display();
    if let Err(failure) = officers(&served.facility, domains, source) {
        if source == Source::Lines && served.is_ours {
            // A home that is being made has no records under these keys, and the next attempt makes other keys.
            served.leave(true)?;
            eprintln!(
                "{shown}: the home is made, but lacks master keys; `cryptand --home {shown} init` begins them anew"
            );
        } else {
            // Stopped, the keeper would forget what officers typed.
            eprintln!(
                "{shown}: the home is made, and its keeper holds the parts that were given so far: `cryptand --home {shown} init` \
                 goes on with them, `cryptand --home {shown} stop` forgets them"
            );
        }
        return Err(failure);
    }
    served.leave(false)?;
    let next =
        served.next("Next: cryptand serve, cryptand unseal", "Its daemon goes on, with the keys in use");
    eprintln!("{shown}: made, its master keys sealed. {next}");
    Ok(())
}

/// Asks two officers, one after the other, for their parts of every register of every domain.
fn officers(facility: &Facility, domains: u16, source: Source) -> Result<(), Failure> {
    eprintln!(
        "Master keys of {domains} domain(s): two officers, one after the other, each give one part of every register."
    );
    for (officer, part) in [(1, Part::First), (2, Part::Last)] {
        // Read again for each officer: a register that has its first part by now lacks its last.
        let rows = officer::rows(facility)?;
        let parts: Vec<RegisterPart> = (0..domains)
            .flat_map(|domain| Register::ALL.map(|register| RegisterPart { domain, register, part }))
            .filter(|wanted| lacks(&rows, *wanted))
            .collect();
        let all = usize::from(domains) * Register::ALL.len();
        if parts.is_empty() {
            eprintln!("\nOfficer {officer}: every part was given before.");
            continue;
        }
        let how = match source {
            Source::Drawn => "each part is drawn and shown; note it, and type it back as hexadecimal",
            Source::Terminal => {
                "type each part as hexadecimal, twice (`cryptand init --random` draws them; Ctrl-C ends this, and nothing \
                 that was given is lost)"
            }
            Source::Lines => "each part is a line of hexadecimal",
        };
        eprintln!("\nOfficer {officer}: {how}.");
        if parts.len() < all {
            eprintln!("{} of {all} parts were given before.", all - parts.len());
        }
        for wanted in parts {
            officer::part::load(facility, wanted, source, "cryptand init --random")?;
        }
        prompt::hand_over("Keep your parts, then press Enter: the screen is cleared for the next person. ")?;
    }
    let rows = officer::rows(facility)?;
    let is_full = |domain| rows.iter().any(|row| row.domain == domain && row.new_state == NewState::Full);
    for domain in (0..domains).filter(|domain| is_full(*domain)) {
        officer::set(facility, domain)?;
    }
    eprintln!();
    officer::seal(facility)
}

/// Whether the register still lacks this part.
fn lacks(rows: &[RegisterRow], wanted: RegisterPart) -> bool {
    let row = rows.iter().find(|row| row.domain == wanted.domain && row.register == wanted.register);
    let (state, in_use) =
        row.map_or((NewState::Empty, false), |row| (row.new_state, row.current_pattern.is_some()));
    match wanted.part {
        Part::First => state == NewState::Empty && !in_use,
        _ => state == NewState::Partial,
    }
}
