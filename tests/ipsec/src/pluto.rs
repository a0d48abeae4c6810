//! Libreswan's IKE daemon on a host, over the data plane.

use crate::host::Host;
use crate::plane::Plane;
use crate::until;
use std::fs;

/// Its name among a host's programs.
const NAME: &str = "pluto";
/// A database of keys, in which there is none, and folders that it wants.
const PREPARE: &str =
    "mkdir -p /run/pluto /run/nss; test -e /run/nss/cert9.db || certutil -N -d sql:/run/nss --empty-password";

/// The daemon.
#[derive(Debug)]
pub struct Pluto<'h> {
    host: &'h Host,
}

impl<'h> Pluto<'h> {
    /// Starts it with a connection of the name `net`, from host number `from` to number `to`, and settings of it.
    pub fn start(host: &'h Host, from: u8, to: u8, settings: &[&str]) -> Self {
        let settings: Vec<_> = settings.iter().map(|line| format!("    {line}\n")).collect();
        let text = format!(
            "config setup\n    logfile={}\n    plutodebug=none\n    nssdir=/run/nss\n    virtual-private=\n\n\
             conn net\n    left=192.0.2.{from}\n    right=192.0.2.{to}\n    leftsubnet=10.{from}.0.0/16\n    rightsubnet=10.{to}.0.0/16\n\
             \n    leftid=192.0.2.{from}\n    rightid=192.0.2.{to}\n    authby=secret\n    ikev2=yes\n    encapsulation=yes\n    pfs=no\n\
             \n    ike=aes128-sha256;modp2048\n    leftupdown=%disabled\n    auto=add\n{}",
            host.file("pluto.said").display(),
            settings.concat()
        )
        .replace("\n\n    ", "\n    ");
        fs::write(host.file("ipsec.conf"), text).expect("settings are written");
        fs::write(host.file("ipsec.secrets"), ": PSK \"a secret of a test\"\n").expect("a secret is written");
        host.run(PREPARE);
        let pluto = Self { host };
        pluto.restart();
        pluto
    }

    /// Starts it again, and waits until it serves.
    pub fn restart(&self) {
        self.begin();
        self.serves();
    }

    /// Starts it again, as far as that goes: it may wait for the data plane.
    pub fn begin(&self) {
        let path = |name: &str| self.host.file(name).to_str().expect("a path is text").to_owned();
        let (settings, secrets) = (path("ipsec.conf"), path("ipsec.secrets"));
        self.host.run("rm -f /run/pluto/pluto.pid /run/pluto/pluto.ctl");
        let words =
            ["/usr/libexec/ipsec/pluto", "--nofork", "--config", &settings, "--secretsfile", &secrets];
        self.host.start(NAME, &Plane::environment(), &words);
    }

    /// Waits until it serves, and adds its connection.
    pub fn serves(&self) {
        until("pluto listens", || {
            assert!(self.host.runs(NAME), "pluto ended:\n{}{}", self.host.log(NAME), self.log());
            self.host.tries("timeout 5 ipsec whack --status")
        });
        let settings = self.host.file("ipsec.conf");
        self.host.run(&format!("ipsec auto --config {} --add net; ipsec whack --listen", settings.display()));
    }

    /// Establishes the connection.
    pub fn initiate(&self) {
        self.whack("--initiate --name net");
    }

    /// Asks it for something.
    pub fn whack(&self, arguments: &str) -> String {
        self.host.run(&format!("timeout 20 ipsec whack {arguments}"))
    }

    /// What it has said.
    pub fn log(&self) -> String {
        fs::read_to_string(self.host.file("pluto.said")).unwrap_or_default()
    }

    /// Waits until it has said a text so many times.
    pub fn until_log(&self, text: &str, times: usize) {
        until(&format!("pluto says {text}"), || self.log().matches(text).count() >= times);
    }

    /// Ends it; it says goodbye to its peers.
    pub fn stop(&self) {
        self.host.signal(NAME, "TERM");
    }

    /// Kills it.
    pub fn kill(&self) {
        self.host.signal(NAME, "KILL");
    }
}

impl Drop for Pluto<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let from = log.len().saturating_sub(6000);
            eprintln!("--- pluto of {}:\n{}", self.host.name(), log.get(from..).unwrap_or(&log));
        }
    }
}
