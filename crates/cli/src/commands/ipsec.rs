//! `cryptand ipsec`: started as the program `cryptand-esp`, so that this one does not contain a data plane. Metrics are
//! read and served here.

use crate::args::{Ipsec, IpsecMetrics};
use crate::commands::metrics::{Site, listen};
use crate::failure::Failure;
use crate::output::print;
use options::ipsec::{Asked, FOLDER};
use std::env;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The program that serves data planes.
const PROGRAM: &str = "cryptand-esp";
/// Longest wait for a data plane's metrics.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Executes `cryptand-esp` in place of this process. Returns only if that fails, or after metrics.
pub fn run(typed: &Ipsec) -> Result<(), Failure> {
    let (word, passed) = match typed {
        Ipsec::Metrics(asked) => return metrics(asked),
        Ipsec::Drive(drive) => drive.passed(),
        Ipsec::Asked(asked) => ("ipsec", serde_json::to_value(asked)),
    };
    let own = env::current_exe().map_err(Failure::io("find this program's own path"))?;
    let program = home::program_beside(&own, PROGRAM).ok_or(Failure::ProgramMissing {
        name: PROGRAM,
        does: "serves IPsec's data plane",
        own,
    })?;
    let mut command = Command::new(&program);
    let passed = passed.map_err(|_| Failure::Usage("a file whose name is no UTF-8".to_owned()))?;
    command.arg(word).arg(passed.to_string());
    if let Ipsec::Asked(Asked::Run(run)) = typed {
        command.arg("--").args(&run.program);
    }
    let cause = command.exec();
    Err(Failure::io(format!("run {}", program.display()))(cause))
}

fn metrics(asked: &IpsecMetrics) -> Result<(), Failure> {
    let folder = asked.plane.folder.clone().unwrap_or_else(|| PathBuf::from(FOLDER));
    let plane = Plane { socket: folder.join("observe.sock") };
    match asked.listen {
        Some(address) => listen(address, &plane),
        None => print(&plane.ask("metrics\n").map_err(plane.failure())?),
    }
}

/// A data plane, connected to anew for each scrape because it may stop and start meanwhile.
struct Plane {
    socket: PathBuf,
}

impl Plane {
    fn ask(&self, line: &str) -> io::Result<String> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        stream.write_all(line.as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }

    fn failure(&self) -> impl FnOnce(io::Error) -> Failure + '_ {
        Failure::io(format!(
            "ask the data plane at {} (`cryptand ipsec up` starts one, --folder names another)",
            self.socket.display()
        ))
    }
}

impl Site for Plane {
    fn metrics(&self) -> String {
        match self.ask("metrics\n") {
            Ok(text) => format!("{text}# HELP cryptand_ipsec_up Whether the data plane answers.\n# TYPE cryptand_ipsec_up gauge\ncryptand_ipsec_up 1\n"),
            Err(_) => "# HELP cryptand_ipsec_up Whether the data plane answers.\n# TYPE cryptand_ipsec_up gauge\ncryptand_ipsec_up 0\n".to_owned(),
        }
    }

    fn health(&self) -> (bool, String) {
        let answer = self.ask("status\n");
        let serves = answer.is_ok();
        (
            serves,
            answer.unwrap_or_else(|cause| serde_json::json!({ "error": cause.to_string() }).to_string())
                + "\n",
        )
    }
}
