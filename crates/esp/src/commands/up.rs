//! `cryptand ipsec up`: starts a data plane.

use super::{Failure, serve, served};
use crate::folder::PlaneFolder;
use crate::supervisor::Serve;
use options::ipsec::Up;
use std::fs::{self, DirBuilder, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};

/// Upper bound of the log text that explains a failed start, in bytes.
const SAID_BYTES_MAX: u64 = 16 << 10;

/// Serves in the foreground, or starts a supervisor and waits until it serves.
pub fn run(asked: Up) -> Result<ExitCode, Failure> {
    let foreground = asked.foreground;
    let settings = served(asked.how, asked.plane.folder, asked.keep);
    if foreground {
        return Ok(serve::run(&settings));
    }
    // The supervisor lives on: this process does not wait for its end.
    start(&settings).map(|_| ExitCode::SUCCESS)
}

/// Starts a supervisor that serves in the background.
pub fn start(settings: &Serve) -> Result<Child, Failure> {
    let own = std::env::current_exe().map_err(|cause| format!("finding this program's own path: {cause}"))?;
    let plane = PlaneFolder::of(settings.folder.as_deref());
    let folder = std::path::absolute(plane.folder());
    let folder = folder.map_err(|cause| format!("{}: {cause}", plane.folder().display()))?;
    let log = folder.join("log");
    let opened = DirBuilder::new().recursive(true).mode(0o755).create(&folder).and_then(|()| {
        let mut file = fs::OpenOptions::new().create(true).append(true).read(true).open(&log)?;
        let before = file.seek(SeekFrom::End(0))?;
        Ok((file, before))
    });
    let (mut file, before) = opened.map_err(|cause| format!("opening {}: {cause}", log.display()))?;
    let stderr = file.try_clone().map(Stdio::from).map_err(|cause| format!("{}: {cause}", log.display()))?;
    let mut command = Command::new(own);
    command.arg("serve").arg("--device").arg(&settings.device).arg("--folder").arg(&folder).current_dir("/");
    let numbers = [("--mtu", settings.mtu.map(u64::from)), ("--threads", settings.threads.map(|n| n as u64))];
    for (option, number) in numbers {
        if let Some(number) = number {
            command.arg(option).arg(number.to_string());
        }
    }
    command.args(settings.weak_suites.then_some("--weak-suites")).args(settings.keep.then_some("--keep"));
    command.args((!settings.egress_filter).then_some("--no-egress-filter"));
    // In a group of its own, so that an interrupt at the terminal does not end it.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
    let mut child = command.spawn().map_err(|cause| format!("starting the supervisor: {cause}"))?;
    let mut line = String::new();
    let told = child.stdout.take().map(|stdout| BufReader::new(stdout).read_line(&mut line));
    if matches!(told, Some(Ok(_))) && line == "ready\n" {
        return Ok(child);
    }
    let _ = child.kill();
    let status = child.wait().map_or_else(|cause| cause.to_string(), |status| status.to_string());
    let said = said(&mut file, before);
    let said = said.trim().trim_start_matches("cryptand-esp: ");
    Err(if said.is_empty() { format!("the supervisor ended: {status}") } else { said.to_owned() })
}

/// The log's text since the start of the supervisor.
fn said(file: &mut File, before: u64) -> String {
    let mut said = Vec::new();
    let read =
        file.seek(SeekFrom::Start(before)).and_then(|_| file.take(SAID_BYTES_MAX).read_to_end(&mut said));
    read.map_or_else(|cause| cause.to_string(), |_| String::from_utf8_lossy(&said).into_owned())
}
