//! `cryptand init`: makes a home, and its master keys.

use super::{officer, samples};
use crate::args::Init;
use crate::failure::Failure;
use crate::prompt;
use crate::session;
use home::{Cards, Development, Home, Service, Settings};
use std::path::Path;
use wire::control::Register;

/// Makes the home that was asked for.
pub fn run(asked: Option<&Path>, init: &Init) -> Result<(), Failure> {
    let folder = session::home_folder(asked)?;
    let source = officer::Source::typed(init.from_stdin);
    if !(init.insecure_dev || init.no_master_keys || init.coprocessors == 0) {
        // Before anything is made.
        source.check()?;
    }
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
    let home = Home::create(&folder, &settings)?;
    let shown = home.folder().display();

    if init.service.is_some() {
        eprintln!("{shown}: made. Next: start the service; its officers load master keys (docs/officers.md)");
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
    let facility = session::connect_or_start(home.folder())?;
    let outcome = if init.insecure_dev {
        samples::record(&facility, init.seed)
    } else {
        officers(&facility, init.domains, source)
    };
    let stopped = facility.shutdown();
    if let Err(failure) = outcome {
        eprintln!(
            "{shown}: the home is made, but lacks keys; `cryptand serve`, then `cryptand master-key` completes it"
        );
        return Err(failure);
    }
    stopped?;
    if init.insecure_dev {
        eprintln!(
            "{shown}: a development home, INSECURE: anyone can know its master keys. Next: cryptand serve"
        );
    } else {
        eprintln!("{shown}: made, its master keys sealed. Next: cryptand serve, cryptand unseal");
    }
    Ok(())
}

/// Two officers, one after the other, give their parts of every register of every domain.
fn officers(facility: &facility::Facility, domains: u16, source: officer::Source) -> Result<(), Failure> {
    eprintln!(
        "Master keys of {domains} domain(s): two officers, one after the other, each give one part of every register."
    );
    for (officer, part) in [(1, wire::control::Part::First), (2, wire::control::Part::Last)] {
        eprintln!("\nOfficer {officer}: type each part as hexadecimal; an empty line draws one at random.");
        for domain in 0..domains {
            for register in Register::ALL {
                officer::load_part(facility, domain, register, part, source)?;
            }
        }
        prompt::hand_over("Keep your parts, then press Enter: the screen is cleared for the next person. ")?;
    }
    for domain in 0..domains {
        officer::set(facility, domain)?;
    }
    eprintln!();
    officer::seal(facility)
}
