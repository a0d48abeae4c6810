//! The namespaces between a container's process and the rest of the machine.
//!
//! The namespaces are made by `unshare` of util-linux: after the call that makes a PID namespace only a child is
//! within it, which takes a process between that passes on signals and ends with it.

use serde::{Deserialize, Serialize};
use std::process::{Command, Stdio};

/// Each namespace with the options of `unshare` that ask for it. The user namespace comes first: within it the others
/// need no privilege.
const KINDS: [(&str, &[&str]); 3] = [
    ("user", &["--user", "--map-current-user"]),
    ("PID", &["--pid", "--fork", "--kill-child"]),
    ("network", &["--net"]),
];

/// Which namespaces this machine gives to a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespaces {
    /// Names of the namespaces that a container gets.
    pub granted: Vec<String>,
    /// Names of the namespaces that the kernel refuses, each with the error.
    pub refused: Vec<(String, String)>,
}

impl Namespaces {
    /// Tries each namespace in turn, within those already granted.
    pub fn of_this_machine() -> Self {
        let mut found = Self::default();
        for (name, _) in KINDS {
            let with = Self { granted: [&found.granted[..], &[name.to_owned()]].concat(), ..Self::default() };
            match refusal(with.command().arg("true")) {
                None => found.granted = with.granted,
                Some(why) => found.refused.push((name.to_owned(), why)),
            }
        }
        found
    }

    /// A command that runs the program and arguments added to it within the granted namespaces.
    pub fn command(&self) -> Command {
        let mut command = Command::new("unshare");
        let granted = KINDS.iter().filter(|(name, _)| self.granted.iter().any(|granted| granted == name));
        command.args(granted.flat_map(|(_, arguments)| *arguments)).arg("--");
        command
    }
}

/// The error text of a command that fails; none if it succeeds.
fn refusal(command: &mut Command) -> Option<String> {
    let output = match command.stdin(Stdio::null()).output() {
        Err(error) => return Some(format!("unshare, of util-linux, is not run: {error}")),
        Ok(output) if output.status.success() => return None,
        Ok(output) => output,
    };
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Some(if said.is_empty() { output.status.to_string() } else { said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_granted_is_what_a_process_gets() {
        let namespaces = Namespaces::of_this_machine();
        assert_eq!(namespaces.granted.len() + namespaces.refused.len(), KINDS.len());
        for (kind, file) in [("user", "user"), ("PID", "pid"), ("network", "net")] {
            let own = std::fs::read_link(format!("/proc/self/ns/{file}")).unwrap();
            let output = namespaces.command().args(["readlink", &format!("/proc/self/ns/{file}")]).output();
            // /proc is that of the machine: a process in a PID namespace of its own is not `self` there.
            if let (Ok(output), true) = (output, kind != "PID") {
                let granted = namespaces.granted.iter().any(|name| name == kind);
                let there = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                assert_eq!(!there.is_empty() && there != own.to_string_lossy(), granted, "{kind}: {there}");
            }
        }
    }

    #[test]
    fn a_refusal_says_why() {
        assert_eq!(refusal(&mut Command::new("true")), None);
        assert!(refusal(Command::new("sh").args(["-c", "echo no room >&2; exit 1"])).unwrap() == "no room");
        assert!(refusal(&mut Command::new("false")).unwrap().contains("exit status: 1"));
        assert!(refusal(&mut Command::new("/no/such/program")).unwrap().contains("is not run"));
    }
}
