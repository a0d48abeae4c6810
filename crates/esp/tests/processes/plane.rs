//! A data plane in a namespace, as processes.

use crate::net::{Net, Space, wait_until};
use crate::xfrm::{self, Xfrm};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

pub fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_cryptand-esp"))
}

pub struct Plane<'s> {
    pub space: &'s Space,
    pub folder: PathBuf,
    program: PathBuf,
    child: Option<Child>,
    // Removed last.
    _around: TempDir,
}

impl<'s> Plane<'s> {
    /// Starts one, and waits until it serves.
    pub fn start(space: &'s Space, options: &[&str]) -> Plane<'s> {
        let mut plane = Plane::none(space);
        plane.restart(options);
        plane
    }

    /// The same, of copies of the programs in a folder.
    pub fn start_from(programs: &Path, space: &'s Space, options: &[&str]) -> Plane<'s> {
        let mut plane = Plane::none(space);
        for name in ["cryptand-esp", "cryptand-esp-worker"] {
            needs::copy_program(&program().with_file_name(name), &programs.join(name));
        }
        plane.program = programs.join("cryptand-esp");
        plane.restart(options);
        plane
    }

    /// One that does not serve yet.
    pub fn none(space: &'s Space) -> Plane<'s> {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("esp");
        Plane { space, folder, program: program().to_owned(), child: None, _around: around }
    }

    /// Starts it again.
    pub fn restart(&mut self, options: &[&str]) {
        assert!(self.try_start(options), "{}", self.log());
    }

    /// Whether it serves.
    pub fn try_start(&mut self, options: &[&str]) -> bool {
        fs::create_dir_all(&self.folder).unwrap();
        let log = File::options().create(true).append(true).open(self.log_file()).unwrap();
        let mut command = Command::new(&self.program);
        command.args(["serve", "--threads", "2", "--folder"]).arg(&self.folder).args(options);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = self.space.run(|| command.spawn().unwrap());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        self.child = Some(child);
        line == "ready\n"
    }

    fn log_file(&self) -> PathBuf {
        self.folder.with_extension("log")
    }

    /// What it said on standard error.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// Signals the supervisor, and waits for its end.
    pub fn stop(&mut self, signal: Signal) {
        let mut child = self.child.take().unwrap();
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        child.wait().unwrap();
    }

    /// How the supervisor ended.
    pub fn ended(&mut self) -> std::process::ExitStatus {
        self.child.take().unwrap().wait().unwrap()
    }

    /// Does what `cryptand ipsec` passes on.
    pub fn ipsec(&self, asked: &Value, program_line: &[&str]) -> Output {
        let mut command = Command::new(program());
        command.arg("ipsec").arg(asked.to_string());
        if !program_line.is_empty() {
            command.arg("--").args(program_line);
        }
        self.space.output(&mut command)
    }

    /// What a command prints that succeeds: its verb, and how it shows.
    pub fn shows(&self, verb: &str, json: bool) -> String {
        let shown = json!({ "plane": { "folder": self.folder }, "json": json });
        let asked = match verb {
            "sa" | "policy" => json!({ verb: { "list": shown } }),
            _ => json!({ verb: shown }),
        };
        let output = self.ipsec(&asked, &[]);
        assert!(output.status.success(), "{verb}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn status(&self) -> Value {
        serde_json::from_str(&self.shows("status", true)).unwrap()
    }

    pub fn down(&self) -> Output {
        self.ipsec(&json!({ "down": { "folder": self.folder } }), &[])
    }

    /// The supervisor's process.
    pub fn supervisor(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// The worker's process.
    pub fn worker(&self) -> u32 {
        self.status()["pid"].as_u64().unwrap() as u32
    }

    /// Kills the worker; the next one serves when this returns.
    pub fn kill_worker(&self) {
        let before = self.worker();
        kill(Pid::from_raw(before as i32), Signal::SIGKILL).unwrap();
        self.wait_for_another(before);
    }

    /// Waits until another worker serves than this one.
    pub fn wait_for_another(&self, before: u32) {
        self.wait_for_another_while(before, || {});
    }

    /// The same, and does something between looks.
    pub fn wait_for_another_while(&self, before: u32, mut meanwhile: impl FnMut()) {
        let asked = json!({ "status": { "plane": { "folder": self.folder }, "json": true } });
        wait_until("the next worker", || {
            meanwhile();
            let output = self.ipsec(&asked, &[]);
            serde_json::from_slice::<Value>(&output.stdout)
                .is_ok_and(|status| status["pid"] != u64::from(before))
        });
    }

    pub fn xfrm_socket(&self) -> PathBuf {
        self.folder.join("xfrm.sock")
    }

    pub fn xfrm(&self) -> Xfrm {
        Xfrm::connect(&self.xfrm_socket(), 0)
    }

    /// Whether nobody listens there.
    pub fn xfrm_is_gone(&self) -> bool {
        xfrm::connect(&self.xfrm_socket()).is_err()
    }

    /// Adds the policies of this end.
    pub fn protect(&self, is_near: bool) {
        let mut xfrm = self.xfrm();
        xfrm::policies(is_near).into_iter().for_each(|policy| xfrm.ok(policy));
    }

    /// Adds the SAs of a tunnel, those of this SPI and the next.
    pub fn key(&self, first: u32) {
        let mut xfrm = self.xfrm();
        xfrm::sas(first).into_iter().for_each(|sa| xfrm.ok(sa));
    }
}

/// One on each side, with its policies.
pub fn both(net: &Net) -> [Plane<'_>; 2] {
    [(&net.near, true), (&net.far, false)].map(|(space, is_near)| {
        let plane = Plane::start(space, &[]);
        plane.protect(is_near);
        plane
    })
}

/// Adds the SAs of the tunnel between both, as [`Plane::key`].
pub fn key(first: u32, planes: [&Plane<'_>; 2]) {
    planes.into_iter().for_each(|plane| plane.key(first));
}

impl Drop for Plane<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the data plane said:\n{}--- and left:\n{}", self.log(), self.space.traces());
            // One that `up` has started.
            if self.child.is_none() {
                self.down();
            }
        }
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
