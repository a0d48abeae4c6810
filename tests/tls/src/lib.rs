//! A home with keys on cards and a server of TLS that serves by their labels, for other people's clients.
#![forbid(unsafe_code)]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use system_tests::Installation;
use tempfile::TempDir;

/// Longer than anything that must happen takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A home, and a folder with what a server and its clients need.
pub struct Place {
    installation: Installation,
    folder: TempDir,
    labels: Vec<String>,
}

impl Place {
    /// A home with keys of these labels and kinds, each with a self-signed certificate installed beside it, for a name
    /// or several with spaces between them.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn new(keys: &[(&str, &str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let labels = keys.iter().map(|(label, ..)| (*label).to_owned()).collect();
        let place = Self { installation: Installation::new(2, 0), folder, labels };
        let mut trusted = String::new();
        for (label, kind, name) in keys {
            place.cryptand(&["key", "generate", label, "--type", kind]);
            let file = format!("{label}.pem");
            let mut arguments = vec!["cert", "self-signed", label];
            arguments.extend(name.split(' '));
            arguments.extend(["--output", &file]);
            place.cryptand(&arguments);
            place.cryptand(&["cert", "install", label, &file]);
            trusted += &fs::read_to_string(place.path(&file)).expect("a certificate was made");
        }
        fs::write(place.trusted(), trusted).expect("the folder takes files");
        place
    }

    /// Does what `cryptand` does, in the folder, and gives what it says.
    ///
    /// # Panics
    /// If that fails.
    pub fn cryptand(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(system_tests::program("cryptand"));
        command.current_dir(self.folder.path()).arg("--home").arg(self.home());
        said(command.args(arguments))
    }

    /// The folder of its home.
    pub fn home(&self) -> &Path {
        self.installation.home.folder()
    }

    /// A file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The file of all certificates.
    pub fn trusted(&self) -> PathBuf {
        self.path("trusted.pem")
    }

    /// A server of all labels with a listener of this policy that answers `served`; it serves when this returns.
    ///
    /// # Panics
    /// If it does not start.
    pub fn serve(&self, policy: &str) -> Server<'_> {
        let certificates = self.certificates();
        self.serve_with(&format!(
            "{certificates}[[listener]]\naddress = \"127.0.0.1:0\"\npolicy = \"{policy}\"\nanswer = \"served\\n\"\n"
        ))
    }

    /// The tables of the settings that name all labels.
    pub fn certificates(&self) -> String {
        self.labels.iter().map(|label| format!("[[certificate]]\nlabel = \"{label}\"\n")).collect()
    }

    /// A server of the home with these tables of settings; it serves when this returns.
    ///
    /// # Panics
    /// If it does not start.
    pub fn serve_with(&self, tables: &str) -> Server<'_> {
        self.settings(tables);
        let notify = UnixDatagram::bind(self.path("notify")).expect("a socket can be bound");
        notify.set_read_timeout(Some(PATIENCE)).expect("a socket has a time-out");
        let errors = fs::File::create(self.path("said")).expect("the folder takes files");
        let child = Command::new(system_tests::program("cryptand-tls"))
            .arg("serve")
            .arg(self.path("tls.toml"))
            .env("NOTIFY_SOCKET", self.path("notify"))
            .stdin(Stdio::null())
            .stderr(errors)
            .spawn()
            .expect("the server can be executed");
        let server = Server { place: self, child, notify };
        server.wait_for("READY=1");
        server
    }

    /// Makes an authority, and a client's certificate that it signed: `NAME.pem` with `NAME.key`, and `NAME-ca.pem`.
    ///
    /// # Panics
    /// If OpenSSL does not make them.
    pub fn client_certificate(&self, name: &str) {
        let path = |end: &str| self.path(&format!("{name}{end}")).display().to_string();
        let openssl = |arguments: &str| said(Command::new("openssl").args(arguments.split_whitespace()));
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        openssl(&format!(
            "req -x509 {key} -subj /CN={name}-ca -keyout {} -out {}",
            path("-ca.key"),
            path("-ca.pem")
        ));
        openssl(&format!("req {key} -subj /CN={name} -keyout {} -out {}", path(".key"), path(".csr")));
        let (csr, ca, signer) = (path(".csr"), path("-ca.pem"), path("-ca.key"));
        // Without an extension OpenSSL makes certificates of version 1, which are no clients'.
        let (extensions, own) = (path(".ext"), path(".pem"));
        fs::write(&extensions, "extendedKeyUsage = clientAuth\n").expect("the folder takes files");
        openssl(&format!(
            "x509 -req -in {csr} -CA {ca} -CAkey {signer} -CAcreateserial -extfile {extensions} -out {own}"
        ));
    }

    /// Writes the settings: these tables, the home and a log.
    ///
    /// # Panics
    /// If the folder does not take files.
    pub fn settings(&self, tables: &str) {
        let home = self.home().display();
        let before =
            format!("[log]\naccess = \"access.log\"\nformat = \"json\"\n[home]\nfolder = \"{home}\"\n");
        fs::write(self.path("tls.toml"), before + tables).expect("the folder takes files");
    }
}

/// A running server; it is killed when it is dropped.
pub struct Server<'a> {
    place: &'a Place,
    child: Child,
    notify: UnixDatagram,
}

impl Server<'_> {
    fn wait_for(&self, state: &str) {
        let mut buffer = [0; 256];
        loop {
            let count = needs::uninterrupted(|| self.notify.recv(&mut buffer));
            let count = count.unwrap_or_else(|error| panic!("until {state}: {error}: {}", self.said()));
            if &buffer[..count] == state.as_bytes() {
                return;
            }
        }
    }

    fn said(&self) -> String {
        fs::read_to_string(self.place.path("said")).unwrap_or_default()
    }

    /// The port of its first listener.
    ///
    /// # Panics
    /// If it did not say one.
    pub fn port(&self) -> String {
        let first = self.addresses().remove(0);
        first.rsplit(':').next().expect("a port stands behind a colon").to_owned()
    }

    /// The addresses of its listeners with their ports, in the order of the settings, as it said them at its start.
    ///
    /// # Panics
    /// If it did not say them.
    pub fn addresses(&self) -> Vec<String> {
        let said = self.said();
        let first = said.split("reloaded ").next().unwrap_or_default();
        let lines = first.lines().filter_map(|line| line.strip_prefix("cryptand-tls: listening at "));
        lines
            .map(|line| line.split(',').next().expect("an address stands before a comma").to_owned())
            .collect()
    }

    /// Has it read everything again, and waits until it has.
    ///
    /// # Panics
    /// If it does not.
    pub fn reload(&self) {
        kill_process(Pid::from_child(&self.child), Signal::HUP).expect("the server is ours");
        self.has_reloaded();
    }

    /// Waits until it has read everything again, whoever told it to.
    ///
    /// # Panics
    /// If it does not.
    pub fn has_reloaded(&self) {
        self.wait_for("RELOADING=1");
        self.wait_for("READY=1");
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it, and gives the access log.
    ///
    /// # Panics
    /// If it does not end in good order.
    pub fn stop(mut self) -> Vec<Value> {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("the server is ours");
        let status = self.child.wait().expect("a child can be waited for");
        assert!(status.success(), "{status}: {}", self.said());
        let log = fs::read_to_string(self.place.path("access.log")).expect("there is a log");
        log.lines().map(|line| serde_json::from_str(line).expect("lines are JSON")).collect()
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a program that succeeds writes to standard output.
///
/// # Panics
/// If it fails.
pub fn said(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the program can be executed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Whether a program ended well, and all that it wrote, errors among it. Its input is `input`, which ends once it wrote
/// `until`: many clients go away, without a look at the answer, when their input ends.
///
/// # Panics
/// If it cannot be executed.
pub fn talk(command: &mut Command, input: &[u8], until: &str) -> (bool, String) {
    let (mut read, write) = std::io::pipe().expect("a pipe can be made");
    let both = write.try_clone().expect("a descriptor can be copied");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(write)
        .stderr(both)
        .spawn()
        .expect("the program can be executed");
    // The pipe ends when the child does: the command would keep its other end open.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut stdin = child.stdin.take();
    // Shorter than what a pipe holds: nobody waits for anybody. A program that ended already takes nothing.
    assert!(input.len() <= 4096, "input is short");
    if let Some(stdin) = &mut stdin {
        let _ = stdin.write_all(input);
    }
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let bytes = read.read(&mut part).expect("a pipe can be read");
        if bytes == 0 {
            break;
        }
        text.extend_from_slice(&part[..bytes]);
        if text.windows(until.len()).any(|window| window == until.as_bytes()) {
            drop(stdin.take());
        }
    }
    let status = child.wait().expect("a child can be waited for");
    (status.success(), String::from_utf8_lossy(&text).into_owned())
}
