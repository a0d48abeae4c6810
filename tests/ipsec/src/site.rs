//! Namespaces that end with a test.

use crate::host::Host;
use crate::{fetched, until};
use needs::Need;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Processes, mounts and a network; what is started there ends when the first process does.
const NAMESPACES: [&str; 6] = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
/// The packages over `/usr`, and a bridge for a wire. The first process reads until the test ends.
const MAKE: &str = "
set -e
mount --make-rprivate /
mount -t overlay overlay -o lowerdir=\"$0\"/usr:\"$1\"/usr:/usr /usr
mount -t tmpfs tmpfs /run
# tcpdump becomes a user that its package makes.
{ cat /etc/passwd; echo tcpdump:x:4711:4711::/nonexistent:/usr/sbin/nologin; } >/run/passwd
mount --bind /run/passwd /etc/passwd
ip link set lo up
ip link add br0 type bridge
ip link set br0 up
echo ready
exec cat
";

/// A network with hosts.
#[derive(Debug)]
pub struct Site {
    keeper: Child,
    pid: u32,
    folder: tempfile::TempDir,
}

impl Site {
    /// One with the packages of strongSwan and Libreswan, if this machine can have it; else says what it lacks.
    pub fn new() -> Option<Self> {
        if needs::lacks(Need::Root) {
            return None;
        }
        let (strongswan, libreswan) = (fetched("strongswan"), fetched("libreswan"));
        needs::did_without(Need::StrongSwan, strongswan.is_none());
        needs::did_without(Need::Libreswan, libreswan.is_none());
        let mut command = Command::new("unshare");
        command.args(NAMESPACES).args(["sh", "-c", MAKE]).arg(strongswan?).arg(libreswan?);
        let mut keeper = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let mut said = String::new();
        let _ = BufReader::new(keeper.stdout.take()?).read_line(&mut said);
        if needs::did_without(Need::Namespaces, said != "ready\n") {
            let _ = keeper.wait();
            return None;
        }
        let children = format!("/proc/{0}/task/{0}/children", keeper.id());
        let pid = fs::read_to_string(children).ok()?.trim().parse().ok()?;
        let folder = tempfile::Builder::new().prefix("ipsec-tests-").tempdir().ok()?;
        Some(Self { keeper, pid, folder })
    }

    /// Where hosts have their files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) const fn pid(&self) -> u32 {
        self.pid
    }

    /// A command in the site's own network.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.pid.to_string(), "--net", "--mount", "--pid", "--", program]);
        command
    }

    /// Runs a script in the site's own network.
    ///
    /// # Panics
    /// If it fails.
    pub fn run(&self, script: &str) -> String {
        done(self.command("sh").args(["-ec", script]), script)
    }

    /// A host on the wire, with addresses and lengths of their prefixes, as `192.0.2.1/24`, and one of its own behind
    /// it.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn host(&self, name: &str, outside: &[&str], inside: &[&str]) -> Host {
        let host = Host::new(self, name);
        self.run(&format!(
            "ip link add to-{name} type veth peer name eth0 netns {0}; ip link set to-{name} master br0 up",
            host.pid()
        ));
        host.run("ip link set eth0 up");
        for (device, addresses) in [("eth0", outside), ("lo", inside)] {
            for address in addresses {
                let nodad = if address.contains(':') { "nodad" } else { "" };
                host.run(&format!("ip address add {address} dev {device} {nodad}"));
            }
        }
        host
    }

    /// Hosts `a` and `b`, numbers 1 and 2: number N has the address 192.0.2.N, and the network 10.N.0.0/16 behind it,
    /// in which it is 10.N.0.1.
    pub fn pair(&self) -> [Host; 2] {
        [("a", 1), ("b", 2)].map(|(name, number)| self.numbered(name, number))
    }

    /// A host with the addresses of a number.
    pub fn numbered(&self, name: &str, number: u8) -> Host {
        let outside = [format!("192.0.2.{number}/24"), format!("2001:db8::{number}/64")];
        let inside = [format!("10.{number}.0.1/32"), format!("fd00:{number}::1/128")];
        self.host(name, &outside.each_ref().map(String::as_str), &inside.each_ref().map(String::as_str))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
        // The last of the processes holds no file of the folder.
        let pid = self.pid;
        until("the site ends", || !Path::new(&format!("/proc/{pid}")).exists());
    }
}

/// Runs a command to its end; what it said.
///
/// # Panics
/// If it fails.
pub fn done(command: &mut Command, what: &str) -> String {
    let output = command.stdin(Stdio::null()).output().expect("a command is run");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what}\n{}\n{said}{errors}", output.status);
    said.into_owned()
}
