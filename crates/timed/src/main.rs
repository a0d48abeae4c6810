//! The program `cryptand-card-timed`.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;
use timed::{Lanes, Settings};

#[global_allocator]
static HEAP: confine::arena::SecretHeap = confine::arena::SecretHeap::new();

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|text| text.to_string_lossy().into()).collect();
    card::program::main_with(&arguments, |start| {
        let own = std::env::current_exe().map_err(|cause| format!("where this program lies: {cause}"))?;
        let settings = Settings::read(&beside(&own)).map_err(|cause| cause.to_string())?;
        Ok(Some(Box::new(Lanes::new(settings.card(start.index)))))
    })
}

/// The settings lie beside the program, under its name: a lab home has a link to it of its own.
fn beside(own: &Path) -> std::path::PathBuf {
    let mut path = own.as_os_str().to_owned();
    path.push(".toml");
    path.into()
}
