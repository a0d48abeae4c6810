//! `cryptand speed`, `report` and `bench`: started as the program `cryptand-lab`, as git starts its subcommands.

use crate::failure::Failure;
use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The laboratory's program.
const LAB: &str = "cryptand-lab";

/// Executes the laboratory's program with this command line in place of this process. Returns only if that fails.
pub fn run() -> Result<(), Failure> {
    let own = env::current_exe().map_err(Failure::io("find this program's own path"))?;
    let lab = home::program_beside(&own, LAB).ok_or(Failure::ProgramMissing {
        name: LAB,
        does: "measures",
        own,
    })?;
    let cause = Command::new(&lab).args(env::args_os().skip(1)).exec();
    Err(Failure::io(format!("run {}", lab.display()))(cause))
}
