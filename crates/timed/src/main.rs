//! The program `cryptand-card-timed`: a card with the timing that the settings file beside the program describes.
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

/// Path of the settings: the program's own path with `.toml` behind it. A lab home has its own link to the program, and
/// so its own settings.
fn beside(own: &Path) -> std::path::PathBuf {
    let mut path = own.as_os_str().to_owned();
    path.push(".toml");
    path.into()
}
