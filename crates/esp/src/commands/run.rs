//! `cryptand ipsec run`: runs a program whose XFRM requests go to the data plane, by a library that is loaded before
//! the program's own.

use super::{Failure, down, served, up};
use crate::folder::PlaneFolder;
use options::ipsec::{FOLDER_VARIABLE, Run};
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// File names of the library, as installed and as built.
const LIBRARIES: [&str; 2] = ["libcryptand-xfrm.so", "libcryptand_xfrm.so"];
/// The variable of the dynamic loader that names libraries to be loaded first (ld.so(8)).
const PRELOAD_VARIABLE: &str = "LD_PRELOAD";
/// Exit codes of shells: for a program that could not be started, and the offset of a signal's number.
const NOT_STARTED: u8 = 127;
const SIGNALLED: i32 = 128;

/// Becomes the program. With a data plane of its own, starts that first, and ends it with the program.
pub fn run(asked: Run, program: &[OsString]) -> Result<ExitCode, Failure> {
    let plane = PlaneFolder::of(asked.plane.folder.as_deref());
    let [program, arguments @ ..] = program else {
        return Err("no program is named: cryptand ipsec run -- PROGRAM".to_owned());
    };
    let library = library()?;
    let serves = serves(&plane);
    if !serves && !asked.up {
        return Err(format!(
            "no data plane serves {}: `cryptand ipsec up` starts one, --up starts one for the program",
            plane.folder().display()
        ));
    }
    let mut command = Command::new(program);
    command.args(arguments).env(PRELOAD_VARIABLE, preload(&library, env::var_os(PRELOAD_VARIABLE)));
    let folder = std::path::absolute(plane.folder());
    command.env(FOLDER_VARIABLE, folder.map_err(|cause| format!("{}: {cause}", plane.folder().display()))?);
    let not_started = |cause: std::io::Error| {
        tell!("{}: {cause}", program.display());
        Ok(ExitCode::from(NOT_STARTED))
    };
    if serves {
        return not_started(command.exec());
    }
    let mut supervisor = up::start(&served(asked.how, asked.plane.folder, false))?;
    let status = command.status();
    let ended = down::run(&plane);
    let _ = supervisor.wait();
    ended?;
    match status {
        Err(cause) => not_started(cause),
        Ok(status) => {
            let code = status.code().or(status.signal().map(|signal| SIGNALLED + signal));
            Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)))
        }
    }
}

fn serves(plane: &PlaneFolder) -> bool {
    std::os::unix::net::UnixStream::connect(plane.observe_socket()).is_ok()
}

/// The library of this installation: beside its programs, in the folder of libraries, or where it was built.
fn library() -> Result<PathBuf, Failure> {
    let own = env::current_exe().and_then(|own| own.canonicalize());
    let own = own.map_err(|cause| format!("finding this program's own path: {cause}"))?;
    let folder = own.parent().unwrap_or(Path::new("/"));
    // libexec/cryptand is two folders below the prefix.
    let near = [folder.to_owned(), folder.join("../../lib"), folder.join("../../lib/x86_64-linux-gnu")];
    let found =
        near.iter().flat_map(|folder| LIBRARIES.map(|name| folder.join(name))).find(|path| path.is_file());
    found.and_then(|path| path.canonicalize().ok()).ok_or_else(|| {
        format!("the library {} is not beside {}: reinstall, or build it", LIBRARIES[0], own.display())
    })
}

/// The value of the variable: this library before those already named in it.
fn preload(library: &Path, others: Option<OsString>) -> OsString {
    let mut preload = library.as_os_str().to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        preload.push(OsStr::new(":"));
        preload.push(others);
    }
    preload
}
