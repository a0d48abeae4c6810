//! `cryptand tls`: started as the program `cryptand-tls`, so that this one does not contain a TLS library.

use crate::args::Tls;
use crate::failure::Failure;
use std::env;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The program that terminates TLS.
const PROGRAM: &str = "cryptand-tls";

/// Executes the program that terminates TLS in place of this process. Returns only if that fails.
pub fn run(typed: &Tls) -> Result<(), Failure> {
    let passed = match typed {
        Tls::Status(status) => {
            // JSON cannot hold a path that is not UTF-8.
            let is_text = |path: &Option<PathBuf>| path.as_ref().is_none_or(|path| path.to_str().is_some());
            if let Some(path) = [&status.file, &status.socket].into_iter().find(|path| !is_text(path)) {
                return Err(Failure::Usage(format!("{path:?}: a file whose name is no UTF-8")));
            }
            serde_json::to_string(status)
        }
        Tls::Drive(drive) => serde_json::to_string(drive),
        _ => Ok(String::new()),
    };
    let passed = passed.map_err(|_| Failure::Usage("a file whose name is no UTF-8".to_owned()))?;
    become_program(|command| match typed {
        Tls::Drive(_) => command.arg("drive").arg(passed),
        Tls::Settings => command.arg("settings"),
        Tls::Status(_) => command.arg("status").arg(passed),
        Tls::TicketKey(key) => command.arg("ticket-key").arg(&key.file).arg(key.keep.to_string()),
        Tls::Serve(serve) => {
            command.arg("serve").args(serve.check_config.then_some("--check-config")).arg(&serve.file)
        }
    })
}

/// Executes the TLS program with these arguments in place of this process. Returns only if that fails.
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
