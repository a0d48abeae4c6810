//! `cryptand cert`: done by the program `cryptand-tls`, so that this program contains no code for certificates.

use super::tls;
use crate::args::Cert;
use crate::failure::Failure;
use crate::session;
use options::cert::Passed;
use std::path::Path;

/// Executes the program `cryptand-tls` in place of this process. Returns only if that fails.
pub fn run(asked: Option<&Path>, typed: &Cert) -> Result<(), Failure> {
    let home = if typed.needs_home() { Some(session::home_folder(asked)?) } else { None };
    // JSON cannot hold a path that is not UTF-8.
    let other = home.as_deref().into_iter().chain(typed.files()).find(|path| path.to_str().is_none());
    if let Some(path) = other {
        return Err(Failure::Usage(format!("{}: a file whose name is no UTF-8", path.display())));
    }
    let passed = serde_json::to_string(&Passed { home, command: typed.clone() });
    let passed = passed.map_err(|error| Failure::Usage(error.to_string()))?;
    tls::become_program(|command| command.arg("cert").arg(passed))
}
