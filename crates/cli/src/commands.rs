//! The commands, one file each.

mod agent;
mod backup;
mod card;
mod carried;
mod cert;
mod cvv;
mod decrypt;
mod described;
mod development;
mod dukpt;
mod emv;
mod encrypt;
mod fpe;
mod health;
mod help;
mod init;
mod ipsec;
mod key;
mod keyblock;
mod mac;
mod measure;
mod metrics;
mod officer;
mod pages;
mod payment;
mod pgp;
mod pin;
mod reencipher;
mod renew;
mod role;
mod samples;
mod serve;
mod sign;
mod status;
mod tenant;
mod terminal;
mod tls;
mod token;
mod top;
mod unsealed;
mod upgrade;
mod verb;
mod verify;

pub use measure::run as measure;

use crate::args::{Arguments, Command};
use crate::failure::Failure;

/// Runs the command that the command line names.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let home = arguments.home.as_deref();
    match &arguments.command {
        Command::Encrypt(typed) => encrypt::run(home, typed),
        Command::Decrypt(typed) => decrypt::run(home, typed),
        Command::Sign(typed) => sign::run(home, typed),
        Command::Verify(typed) => verify::run(typed),
        Command::Pgp(typed) => pgp::run(home, typed),
        Command::Agent(typed) => agent::run(typed),
        Command::Init(init) => init::run(home, init),
        Command::Unseal => officer::unseal(home),
        Command::Serve(serve) => serve::run(home, serve),
        Command::Stop(typed) => serve::stop(home, typed.lose_keys),
        Command::Reload => serve::reload(home),
        Command::Upgrade(typed) => upgrade::run(home, typed),
        Command::Status(output) => status::run(home, output.json),
        Command::Health(output) => health::run(home, output.json),
        Command::Top(top) => top::run(home, top),
        Command::Metrics(metrics) => metrics::run(home, metrics),
        Command::Card(order) => card::run(home, order),
        Command::Tenant(order) => tenant::run(home, order),
        Command::Role(order) => role::run(home, order),
        Command::Key(key) => key::run(home, key),
        Command::Keyblock(order) => keyblock::run(home, order),
        Command::Token(order) => token::run(order),
        Command::MasterKey(order) => officer::run(home, order),
        Command::Pin(order) => pin::run(home, order),
        Command::Verb(verb) => verb::run(home, verb),
        Command::Dukpt(order) => dukpt::run(home, order),
        Command::Terminal(order) => terminal::run(home, order),
        Command::Cvv(order) => cvv::run(home, order),
        Command::Emv(order) => emv::run(home, order),
        Command::Mac(order) => mac::run(home, order),
        Command::Fpe(order) => fpe::run(home, order),
        Command::Cert(typed) => cert::run(home, typed),
        Command::Tls(typed) => tls::run(typed),
        Command::Ipsec(typed) => ipsec::run(typed),
        Command::Measure(_) => measure::run(),
        Command::Backup(typed) => backup::run(home, typed),
        Command::Restore(folder) => backup::restore(home, folder),
        Command::Help { topic } => help::run(topic),
        Command::Completions { shell } => pages::completions(*shell),
        Command::Man { folder } => pages::manual(folder),
    }
}
