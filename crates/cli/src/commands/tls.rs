//! `cryptand tls`: started as the program `cryptand-tls`, so that this one does not contain a TLS library.

use crate::args::Tls;
use crate::failure::Failure;
use serde_json::json;
use std::env;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that terminates TLS.
const PROGRAM: &str = "cryptand-tls";

/// Becomes the program that terminates TLS. Returns only where that fails.
pub fn run(typed: &Tls) -> Result<(), Failure> {
    let passed = match typed {
        Tls::Status(status) => {
            // JSON has no other names of files.
            let text = |path: &Option<PathBuf>| match path.as_deref().map(Path::to_str) {
                Some(None) => Err(Failure::Usage(format!("{path:?}: a file whose name is no UTF-8"))),
                named => Ok(named.flatten().map(str::to_owned)),
            };
            let (file, socket) = (text(&status.file)?, text(&status.socket)?);
            json!({"file": file, "socket": socket, "json": status.json, "seconds": status.over})
        }
        Tls::Drive(drive) => serde_json::to_value(drive)
            .map_err(|_| Failure::Usage("a file whose name is no UTF-8".to_owned()))?,
        _ => json!(null),
    };
    become_program(|command| match typed {
        Tls::Drive(_) => command.arg("drive").arg(passed.to_string()),
        Tls::Settings => command.arg("settings"),
        Tls::Status(_) => command.arg("status").arg(passed.to_string()),
        Tls::TicketKey(key) => command.arg("ticket-key").arg(&key.file).arg(key.keep.to_string()),
        Tls::Serve(serve) => {
            command.arg("serve").args(serve.check_config.then_some("--check-config")).arg(&serve.file)
        }
    })
}

/// The same with other arguments.
pub fn become_program(arguments: impl FnOnce(&mut Command) -> &mut Command) -> Result<(), Failure> {
    let own = env::current_exe().map_err(Failure::io("find this program's own path"))?;
    let program = home::program_beside(&own, PROGRAM).ok_or(Failure::ProgramMissing {
        name: PROGRAM,
        does: "terminates TLS and reads certificates",
        own,
    })?;
    let mut command = Command::new(&program);
    let cause = arguments(&mut command).exec();
    Err(Failure::io(format!("run {}", program.display()))(cause))
}
