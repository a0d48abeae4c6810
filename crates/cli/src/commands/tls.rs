//! `cryptand tls`: started as the program `cryptand-tls`, so that this one does not contain a TLS library.

use crate::args::Tls;
use crate::failure::Failure;
use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The program that terminates TLS.
const PROGRAM: &str = "cryptand-tls";

/// Becomes the program that terminates TLS. Returns only where that fails.
pub fn run(typed: &Tls) -> Result<(), Failure> {
    become_program(|command| match typed {
        Tls::Settings => command.arg("settings"),
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
