//! `cryptand ipsec check`: the kernel's support of IPsec, and what to do.
//!
//! The test for ESP does as a daemon would: it adds an SA, in a network namespace of a child process that ends with it.

use super::netlink::probe_request;
use super::{Failure, print};
use crate::folder::PlaneFolder;
use crate::supervisor::filter;
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_XFRM;
use nix::sched::CloneFlags;
use rustix::io::Errno;
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Findings about a machine.
#[derive(Serialize, Debug)]
struct Found {
    kernel: String,
    /// Whether the kernel answers XFRM requests.
    xfrm: bool,
    /// Whether the kernel has ESP; absent if that could not be tested.
    esp: Option<bool>,
    /// The kernel's error, if it has no ESP.
    esp_error: Option<String>,
    /// Files of modprobe that forbid the modules.
    forbidden_by: Vec<String>,
    tun: bool,
    /// Whether the kernel takes an egress filter (nf_tables); absent if that could not be tested.
    egress_filter: Option<bool>,
    /// The kernel's error, if it takes no filter.
    egress_filter_error: Option<String>,
    /// Whether a filter is in force in this network namespace: none is while no policy protects. Absent if that could
    /// not be tested.
    egress_filter_in_force: Option<bool>,
    /// Whether this user may make devices and routes here.
    rights: bool,
    /// Links whose reverse-path filter is strict.
    strict_filters: Vec<String>,
    daemons: Vec<String>,
    level: String,
    serves: bool,
    advice: Vec<String>,
}

/// Tests the machine, and prints the findings with advice.
pub fn run(plane: &PlaneFolder, json: bool) -> Result<ExitCode, Failure> {
    let found = find(plane);
    if json {
        let text = serde_json::to_string(&found).map_err(|cause| cause.to_string())?;
        return print(&(text + "\n"));
    }
    print(&shown(&found))
}

fn find(plane: &PlaneFolder) -> Found {
    let xfrm = Socket::new(NETLINK_XFRM).is_ok();
    let [(esp, esp_error), (egress_filter, egress_filter_error)] = probed();
    let mut found = Found {
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        xfrm,
        esp,
        esp_error,
        forbidden_by: forbidden_by(Path::new("/etc/modprobe.d")),
        tun: Path::new("/dev/net/tun").exists(),
        egress_filter,
        egress_filter_error,
        egress_filter_in_force: filter::is_there().ok(),
        rights: has_rights(),
        strict_filters: strict_filters(Path::new("/proc/sys/net/ipv4/conf")),
        daemons: daemons(),
        level: engine::LibraryFeatures::read().level().name().to_owned(),
        serves: std::os::unix::net::UnixStream::connect(plane.observe_socket()).is_ok(),
        advice: Vec::new(),
    };
    found.advice = advice(&found);
    found
}

fn advice(found: &Found) -> Vec<String> {
    let mut advice = Vec::new();
    match found.esp {
        Some(true) => {
            advice.push("this kernel has ESP: it is the better choice, use it as it is".to_owned());
            return advice;
        }
        Some(false) => advice.push(
            "this kernel has no ESP: IKE daemons would negotiate, and then fail; `cryptand ipsec up` serves them"
                .to_owned(),
        ),
        None => advice.push(
            "whether this kernel has ESP was not found out: try as root".to_owned(),
        ),
    }
    if !found.forbidden_by.is_empty() {
        advice.push(format!(
            "ESP is forbidden by {}: where the kernel has the fixes of CVE-2026-43284 and -46300, its ESP is the better choice again",
            found.forbidden_by.join(", ")
        ));
    }
    if !found.tun {
        advice.push(
            "/dev/net/tun is missing: load the module tun, or give the container the device".to_owned(),
        );
    }
    if found.egress_filter == Some(false) {
        advice.push(format!(
            "there can be no egress filter: {}; policies that protect are refused, or with --no-egress-filter programs that name a link send in clear",
            found.egress_filter_error.as_deref().unwrap_or("the kernel refuses it")
        ));
    }
    if !found.rights {
        advice.push(
            "devices and routes take root or CAP_NET_ADMIN; a user has both in `unshare -Urn`, a network of his own".to_owned(),
        );
    }
    if !found.strict_filters.is_empty() {
        advice.push(format!(
            "rp_filter is strict on {}: where a policy protects the address of the peer itself, packets from there are dropped; `sysctl -w net.ipv4.conf.LINK.rp_filter=2`",
            found.strict_filters.join(", ")
        ));
    }
    if found.daemons.is_empty() {
        advice.push("no IKE daemon was found: Debian has strongswan and libreswan".to_owned());
    }
    advice
}

fn shown(found: &Found) -> String {
    let yes = |is: bool| if is { "yes" } else { "no" };
    let answered = |is: Option<bool>, error: &Option<String>| match (is, error) {
        (Some(true), _) => "yes".to_owned(),
        (Some(false), Some(error)) => format!("no ({error})"),
        (Some(false), None) => "no".to_owned(),
        (None, error) => {
            format!("unknown{}", error.as_ref().map(|error| format!(" ({error})")).unwrap_or_default())
        }
    };
    let esp = answered(found.esp, &found.esp_error);
    let filter = answered(found.egress_filter, &found.egress_filter_error);
    let in_force = match found.egress_filter_in_force {
        Some(true) => ", in force",
        Some(false) => ", none in force",
        None => "",
    };
    let listed = |list: &[String]| if list.is_empty() { "none".to_owned() } else { list.join(", ") };
    let mut text = format!(
        "kernel            {}\nXFRM              {}\nESP               {esp}\nforbidden by      {}\nTUN               {}\negress filter     {filter}{in_force}\nrights            {}\nIKE daemons       {}\nengine            {}\na data plane      {}\n\n",
        found.kernel,
        yes(found.xfrm),
        listed(&found.forbidden_by),
        yes(found.tun),
        yes(found.rights),
        listed(&found.daemons),
        found.level,
        if found.serves { "serves" } else { "does not serve" },
    );
    for advice in &found.advice {
        text += &format!("* {advice}\n");
    }
    text
}

/// Runs the tests for ESP and the egress filter in a child process; returns both results, each with the child's error
/// text.
fn probed() -> [(Option<bool>, Option<String>); 2] {
    let output = std::env::current_exe().and_then(|own| Command::new(own).arg("probe").output());
    let text = match output {
        Err(cause) => return [(); 2].map(|()| (None, Some(cause.to_string()))),
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
    };
    let mut lines = text.lines();
    [(); 2].map(|()| read_probe(lines.next().unwrap_or_default().trim()))
}

fn read_probe(said: &str) -> (Option<bool>, Option<String>) {
    match said.split_once(' ') {
        None if said == "yes" => (Some(true), None),
        Some(("no", why)) => (Some(false), Some(why.to_owned())),
        _ => (None, Some(said.trim_start_matches("unknown ").to_owned()).filter(|said| !said.is_empty())),
    }
}

/// Adds an SA, and sets an egress filter, in a network namespace of this process alone. Prints a line for each result:
/// `yes`, `no WHY`, `unknown WHY`.
pub fn probe() -> ExitCode {
    let apart = nix::sched::unshare(CloneFlags::CLONE_NEWNET)
        .or_else(|_| nix::sched::unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET));
    let apart = apart.map_err(|errno| errno.desc().to_owned());
    let of_kernel = match apart.clone().and_then(|()| add_sa()) {
        Ok(None) => "yes".to_owned(),
        Ok(Some(errno)) => format!("no {errno}"),
        Err(why) => format!("unknown {why}"),
    };
    let of_filter = match apart.map(|()| filter::probe()) {
        Ok(Ok(())) => "yes".to_owned(),
        Ok(Err(refused)) => match refused_rights(refused.errno) {
            true => format!("unknown {}", refused.text),
            false => format!("no {}", refused.text),
        },
        Err(why) => format!("unknown {why}"),
    };
    saying::answer("cryptand-esp", format_args!("{of_kernel}\n{of_filter}\n"))
}

/// Whether a refusal tells nothing about the kernel's support.
fn refused_rights(errno: i32) -> bool {
    matches!(Errno::from_raw_os_error(errno), Errno::PERM | Errno::ACCESS)
}

/// The kernel's error for an SA of ESP with NULL and HMAC-SHA-256, which every kernel that has ESP can have; None if
/// the SA was added.
fn add_sa() -> Result<Option<Errno>, String> {
    let socket = match Socket::new(NETLINK_XFRM) {
        Ok(socket) => socket,
        Err(cause) => return refused(Errno::from_io_error(&cause).unwrap_or(Errno::PROTONOSUPPORT)),
    };
    let failed = |cause: std::io::Error| cause.to_string();
    socket.send(&probe_request(), 0).map_err(failed)?;
    let (answer, _) = socket.recv_from_full().map_err(failed)?;
    // An acknowledgement is a message of type NLMSG_ERROR, whose first word is the negative errno (netlink(7)).
    let code = answer.get(16..20).and_then(|word| word.try_into().ok()).map(i32::from_ne_bytes);
    match code {
        None => Err("the kernel's answer is too short".to_owned()),
        Some(0) => Ok(None),
        Some(code) => refused(Errno::from_raw_os_error(code.saturating_neg())),
    }
}

/// The result that a refusal means: unknown if only rights are missing.
fn refused(errno: Errno) -> Result<Option<Errno>, String> {
    match errno {
        Errno::PERM | Errno::ACCESS => Err(errno.to_string()),
        errno => Ok(Some(errno)),
    }
}

/// Files in which modprobe is told not to load the modules (modprobe.d(5)).
fn forbidden_by(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "conf"))
        .filter(|path| fs::read_to_string(path).is_ok_and(|text| text.lines().any(forbids)))
        .map(|path| path.display().to_string())
        .collect();
    found.sort();
    found
}

fn forbids(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["blacklist", module] => is_esp(module),
        ["install", module, program, ..] => {
            is_esp(module)
                && matches!(*program, "/bin/false" | "/bin/true" | "/usr/bin/false" | "/usr/bin/true")
        }
        _ => false,
    }
}

fn is_esp(module: &str) -> bool {
    matches!(module, "esp4" | "esp6")
}

fn has_rights() -> bool {
    use rustix::thread::CapabilitySet;
    rustix::thread::capabilities(None).is_ok_and(|sets| {
        sets.effective.contains(CapabilitySet::NET_ADMIN) && sets.effective.contains(CapabilitySet::NET_RAW)
    })
}

/// Links on which the kernel drops packets whose answer would leave by another link (ip-sysctl.rst, `rp_filter`). The
/// higher of a link's value and the value of `all` counts.
fn strict_filters(folder: &Path) -> Vec<String> {
    let value = |link: &str| -> u8 {
        let text = fs::read_to_string(folder.join(link).join("rp_filter")).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    };
    let all = value("all");
    let links = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<String> = links
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|link| !matches!(link.as_str(), "all" | "default" | "lo"))
        .filter(|link| all.max(value(link)) == 1)
        .collect();
    found.sort();
    found
}

fn daemons() -> Vec<String> {
    let places = [
        ("strongSwan", "/usr/lib/ipsec/charon"),
        ("strongSwan", "/usr/sbin/charon-systemd"),
        ("Libreswan", "/usr/libexec/ipsec/pluto"),
    ];
    let there = places.iter().filter(|(_, path)| Path::new(path).exists());
    there.map(|(name, path)| format!("{name} ({path})")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine that has what a data plane needs, and no ESP.
    fn machine() -> Found {
        Found {
            kernel: "6.1.0".to_owned(),
            xfrm: true,
            esp: Some(false),
            esp_error: Some("Protocol not supported".to_owned()),
            forbidden_by: Vec::new(),
            tun: true,
            egress_filter: Some(true),
            egress_filter_error: None,
            egress_filter_in_force: Some(false),
            rights: true,
            strict_filters: Vec::new(),
            daemons: vec!["strongSwan (/usr/lib/ipsec/charon)".to_owned()],
            level: "avx2".to_owned(),
            serves: false,
            advice: Vec::new(),
        }
    }

    #[test]
    fn advice_is_about_what_was_found() {
        let of = |change: fn(&mut Found)| {
            let mut found = machine();
            change(&mut found);
            advice(&found)
        };
        let plain = of(|_| {});
        assert!(plain.len() == 1 && plain[0].contains("`cryptand ipsec up`"), "{plain:?}");
        let has_esp = of(|found| {
            (found.esp, found.tun, found.daemons) = (Some(true), false, Vec::new());
        });
        assert!(has_esp.len() == 1 && has_esp[0].contains("the better choice"), "{has_esp:?}");
        let unknown = of(|found| found.esp = None);
        assert!(unknown.len() == 1 && unknown[0].contains("try as root"), "{unknown:?}");
        for (part, more) in [
            (
                "/etc/modprobe.d/a.conf",
                of(|found| found.forbidden_by = vec!["/etc/modprobe.d/a.conf".to_owned()]),
            ),
            ("load the module tun", of(|found| found.tun = false)),
            (
                "--no-egress-filter",
                of(|found| {
                    (found.egress_filter, found.egress_filter_error) =
                        (Some(false), Some("no nf_tables".to_owned()));
                }),
            ),
            ("unshare -Urn", of(|found| found.rights = false)),
            ("net.ipv4.conf.LINK.rp_filter=2", of(|found| found.strict_filters = vec!["eth0".to_owned()])),
            ("no IKE daemon", of(|found| found.daemons.clear())),
        ] {
            assert!(more.len() == 2 && more[0] == plain[0] && more[1].contains(part), "{part}: {more:?}");
        }
    }

    #[test]
    fn text_says_what_the_kernel_answered() {
        let mut found = machine();
        assert!(
            shown(&found).contains("\nESP               no (Protocol not supported)\n"),
            "{}",
            shown(&found)
        );
        (found.esp, found.esp_error) = (None, Some("Operation not permitted".to_owned()));
        assert!(shown(&found).contains("\nESP               unknown (Operation not permitted)\n"));
        (found.esp, found.esp_error) = (Some(true), None);
        assert!(shown(&found).contains("\nESP               yes\n"));
    }

    #[test]
    fn what_is_refused_for_want_of_rights_is_no_answer() {
        assert!(refused(Errno::PERM).is_err() && refused(Errno::ACCESS).is_err());
        assert_eq!(refused(Errno::PROTONOSUPPORT), Ok(Some(Errno::PROTONOSUPPORT)));
    }

    #[test]
    fn lines_that_forbid_esp_are_told_from_others() {
        for line in ["blacklist esp4", "install esp6 /bin/false", "  install   esp4  /usr/bin/false  # note"]
        {
            assert!(forbids(line), "{line}");
        }
        for line in [
            "# blacklist esp4",
            "blacklist esp4_offload",
            "install esp4 /sbin/modprobe -i esp4",
            "",
            "install",
        ] {
            assert!(!forbids(line), "{line}");
        }
    }

    #[test]
    fn strict_filters_are_those_whose_higher_value_is_one() {
        let folder = tempfile::tempdir().unwrap();
        for (link, value) in
            [("all", "0"), ("default", "1"), ("lo", "1"), ("eth0", "1"), ("eth1", "2"), ("eth2", "0")]
        {
            fs::create_dir(folder.path().join(link)).unwrap();
            fs::write(folder.path().join(link).join("rp_filter"), value).unwrap();
        }
        assert_eq!(strict_filters(folder.path()), ["eth0"]);
        fs::write(folder.path().join("all/rp_filter"), "1\n").unwrap();
        assert_eq!(strict_filters(folder.path()), ["eth0", "eth2"]);
    }
}
