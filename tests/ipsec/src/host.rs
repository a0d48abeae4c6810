//! A host: a network and mounts of its own in a site, and daemons that run there.

use crate::site::{Site, done};
use crate::{until, within};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Folders of its own, and a process that keeps them.
const MAKE: &str = "
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
ip link set lo up
for setting in all default; do
    echo 0 >/proc/sys/net/ipv4/conf/$setting/rp_filter
    echo 0 >/proc/sys/net/ipv6/conf/$setting/accept_dad
done
echo $$
exec sleep infinity
";
/// Notes its number, and becomes the program.
const DAEMON: &str = "echo $$ >/run/\"$0\".pid; exec \"$@\"";

/// A host.
#[derive(Debug)]
pub struct Host {
    name: String,
    site: u32,
    pid: u32,
    keeper: Child,
    folder: PathBuf,
    daemons: RefCell<HashMap<String, Child>>,
}

impl Host {
    pub(crate) fn new(site: &Site, name: &str) -> Self {
        let mut keeper = site
            .command("unshare")
            .args(["--net", "--mount", "sh", "-c", MAKE])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a host is made");
        let mut said = String::new();
        BufReader::new(keeper.stdout.take().expect("it is a pipe"))
            .read_line(&mut said)
            .expect("a host says its number");
        let pid = said.trim().parse().unwrap_or_else(|_| panic!("a host said {said:?}"));
        let folder = site.folder().join(name);
        fs::create_dir(&folder).expect("a host's folder is made");
        Self { name: name.to_owned(), site: site.pid(), pid, keeper, folder, daemons: RefCell::default() }
    }

    /// Its number in the site.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A file of its own.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A command on it.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.site.to_string(), "--net", "--mount", "--pid", "--", "nsenter"]);
        command.args(["-t", &self.pid.to_string(), "--net", "--mount", "--", program]);
        command
    }

    /// Runs a script on it.
    ///
    /// # Panics
    /// If it fails.
    pub fn run(&self, script: &str) -> String {
        done(self.command("sh").args(["-ec", script]), &format!("{}: {script}", self.name))
    }

    /// Packets that its kernel dropped since nobody read them in time: at devices, and at sockets of UDP. So it does
    /// where programs do not get a processor.
    pub fn overflowed(&self) -> u64 {
        let said = self.run("cat /proc/net/dev /proc/net/snmp");
        // Received come eight numbers, sent bytes, packets, errors, drops and others (proc_net(5)).
        let devices = said.lines().filter_map(|line| line.split_once(':')).filter_map(|(_, numbers)| {
            let numbers: Vec<_> = numbers.split_whitespace().collect();
            (numbers.len() == 16).then(|| numbers[11].parse::<u64>().ok())?
        });
        let mut udp = said.lines().filter_map(|line| line.strip_prefix("Udp: "));
        let (names, numbers) = (udp.next().unwrap_or_default(), udp.next().unwrap_or_default());
        let of_udp = names.split(' ').zip(numbers.split(' '));
        let at_sockets = of_udp.filter(|(name, _)| *name == "RcvbufErrors");
        devices.chain(at_sockets.filter_map(|(_, number)| number.parse().ok())).sum()
    }

    /// Whether a script succeeds.
    pub fn tries(&self, script: &str) -> bool {
        let mut command = self.command("sh");
        command.args(["-ec", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Starts a program that stays, under a name. What it says is in the file of that name and `.log`, which grows.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(&self, name: &str, environment: &[(&str, String)], words: &[&str]) {
        let log =
            File::options().append(true).create(true).open(self.log_file(name)).expect("a log is opened");
        let mut command = self.command("env");
        command.args(environment.iter().map(|(name, value)| format!("{name}={value}")));
        command.args(["sh", "-c", DAEMON, name]).args(words).stdin(Stdio::null());
        let errors = log.try_clone().expect("a log is opened twice");
        let child = command.stdout(log).stderr(errors).spawn().expect("a program is started");
        if let Some(mut before) = self.daemons.borrow_mut().insert(name.to_owned(), child) {
            let _ = before.wait();
        }
    }

    fn log_file(&self, name: &str) -> PathBuf {
        self.file(&format!("{name}.log"))
    }

    /// What a program has said.
    pub fn log(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.log_file(name)).unwrap_or_default()).into_owned()
    }

    /// Waits until a program has said a text so many times.
    ///
    /// # Panics
    /// If it does not, or ends.
    pub fn until_log(&self, name: &str, text: &str, times: usize) {
        let said = || self.log(name).matches(text).count() >= times;
        let shown = || {
            let log = self.log(name);
            let from = log.len().saturating_sub(6000);
            log.get(from..).unwrap_or(&log).to_owned()
        };
        assert!(within(crate::PATIENCE, said), "{}: {name} does not say {text:?}:\n{}", self.name, shown());
    }

    /// Sends a signal to a program that stays; one that ends it is waited for.
    ///
    /// # Panics
    /// If it does not end.
    pub fn signal(&self, name: &str, signal: &str) {
        self.run(&format!("kill -{signal} $(cat /run/{name}.pid)"));
        let Some(mut child) = self.daemons.borrow_mut().remove(name) else { return };
        until(&format!("{name} ends"), || child.try_wait().is_ok_and(|ended| ended.is_some()));
    }

    /// Forgets what programs have said.
    pub fn forget(&self) {
        for name in ["charon", "esp", "pings"] {
            let _ = fs::remove_file(self.log_file(name));
        }
    }

    /// Whether a program still runs.
    pub fn runs(&self, name: &str) -> bool {
        let mut daemons = self.daemons.borrow_mut();
        daemons.get_mut(name).is_some_and(|child| child.try_wait().is_ok_and(|ended| ended.is_none()))
    }

    /// Waits for a program that ends by itself; whether it succeeded.
    pub fn wait(&self, name: &str, time: Duration) -> Option<bool> {
        let mut child = self.daemons.borrow_mut().remove(name)?;
        let mut status = None;
        within(time, || {
            status = child.try_wait().ok().flatten();
            status.is_some()
        });
        status.map(|status| status.success())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The site's end ends what runs here; a test that fails shows what was said.
        if std::thread::panicking() {
            for name in self.daemons.borrow().keys() {
                let log = self.log(name);
                let from = log.len().saturating_sub(4000);
                eprintln!("--- {} of {}:\n{}", name, self.name, log.get(from..).unwrap_or(&log));
            }
        }
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
        for child in self.daemons.borrow_mut().values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
