//! The commands, one file each.

mod agent;
mod backup;
mod card;
mod carried;
mod cert;
mod cvv;
mod decrypt;
mod described;
mod dukpt;
mod emv;
mod encrypt;
mod health;
mod init;
mod ipsec;
mod key;
mod keyblock;
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
mod tls;
mod token;
mod top;
mod unsealed;
mod upgrade;
mod verb;
mod verify;

pub use measure::run as measure;
pub use officer::register_name;
pub use status::{personality, state};

use crate::args::{Arguments, Command};
use crate::encoded::shown;
use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs what was typed.
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
        Command::Cvv(order) => cvv::run(home, order),
        Command::Emv(order) => emv::run(home, order),
        Command::Cert(typed) => cert::run(home, typed),
        Command::Tls(typed) => tls::run(typed),
        Command::Ipsec(typed) => ipsec::run(typed),
        Command::Measure(_) => measure::run(),
        Command::Backup(typed) => backup::run(home, typed),
        Command::Restore(folder) => backup::restore(home, folder),
        Command::Completions { shell } => pages::completions(*shell),
        Command::Man { folder } => pages::manual(folder),
    }
}

/// A flag that an interrupt or SIGTERM raises; a second one ends the process at once.
pub fn interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(Failure::io("watch for interrupts"))?;
    }
    // A write beyond the limit of file sizes then fails, instead of killing the process silently (SIGXFSZ).
    flag::register(SIGXFSZ, Arc::default()).map_err(Failure::io("watch for signals"))?;
    Ok(stop)
}

/// Writes to standard output; a closed reader becomes a [`Failure`] rather than a panic.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(Failure::io("write to standard output"))
}

/// Writes a file that is for its owner alone, and must not be there yet: what is there may be the only copy of something.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = || Failure::io(format!("write {}", shown(path)));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.map_err(|cause| {
        let there = "it is there already, and is not written over; remove it, or name another file";
        let is_there = cause.kind() == ErrorKind::AlreadyExists;
        failed()(if is_there { io::Error::new(cause.kind(), there) } else { cause })
    })?;
    file.write_all(bytes).map_err(|cause| {
        let _ = std::fs::remove_file(path);
        failed()(cause)
    })
}

/// Writes a value as JSON lines.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = json(value)?;
    text.push('\n');
    print(&text)
}

/// A value as JSON that cannot control a terminal or reverse the direction of text: control characters beyond those
/// of ASCII, which JSON escapes, are escaped too.
pub fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::io("write JSON")(error.into()))?;
    // They stand within strings only: everything else is ASCII.
    if !text.chars().any(keyring::store::steers) {
        return Ok(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if keyring::store::steers(letter) {
            // All of them are below U+10000.
            escaped.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            escaped.push(letter);
        }
    }
    Ok(escaped)
}

/// A table for people: a header and rows, without borders.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING).set_header(header.iter().copied());
    for row in rows {
        table.add_row(row);
    }
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}
