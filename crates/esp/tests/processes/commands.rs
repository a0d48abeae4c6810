//! The commands: what they print, how they fail, and what they leave behind.

use crate::net::{Net, Space, wait_until, with_rights};
use crate::plane::{Plane, program};
use crate::xfrm;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn place(folder: &Path) -> Value {
    json!({ "folder": folder })
}

fn how(device: &str) -> Value {
    json!({ "device": device, "mtu": null, "threads": 1, "weak_suites": false, "no_egress_filter": false })
}

fn up(plane: &Plane<'_>, device: &str) -> Output {
    let up = json!({ "plane": place(&plane.folder), "how": how(device), "foreground": false, "keep": false });
    plane.ipsec(&json!({ "up": up }), &[])
}

#[test]
fn from_up_to_down_and_nothing_is_left() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::none(&net.near);
        let started = up(&plane, "cryptand0");
        assert!(started.status.success(), "{}", said(&started));
        plane.protect(true);
        plane.key(0x1001);
        let status = plane.status();
        let counted = ["sas", "policies", "restarts"].map(|name| status[name].as_u64().unwrap());
        assert_eq!(counted, [2, 6, 0]);
        assert_eq!((&status["device"], &status["weak_suites"]), (&json!("cryptand0"), &json!(false)));
        let text = plane.shows("status", false);
        assert!(text.contains("SAs       2") && text.contains("policies  6"), "{text}");
        let sas: Value = serde_json::from_str(&plane.shows("sa", true)).unwrap();
        let sas = sas.as_array().unwrap();
        assert_eq!(sas.len(), 2);
        let spis: Vec<_> =
            sas.iter().map(|sa| (sa["spi"].as_u64().unwrap(), sa["direction"].as_str().unwrap())).collect();
        assert_eq!(spis, [(0x1002, "in"), (0x1001, "out")]);
        assert!(plane.shows("sa", false).contains("00001001"));
        let policies: Value = serde_json::from_str(&plane.shows("policy", true)).unwrap();
        assert_eq!(policies.as_array().unwrap().len(), 6);
        assert!(plane.shows("policy", false).contains("10.1.0.0/16 to 10.2.0.0/16"));
        let top = json!({ "top": { "plane": place(&plane.folder), "every": 1, "count": 1, "json": true } });
        let top = plane.ipsec(&top, &[]);
        let lines: Vec<Value> = String::from_utf8(top.stdout)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0]["sas"].as_array().unwrap().len(), 2);
        let traces = net.near.traces();
        for trace in
            ["not from all fwmark 0xe500 lookup 58624", "10.2.0.0/16 dev cryptand0", "blackhole 10.2.0.0/16"]
        {
            assert!(traces.contains(trace), "{trace} in {traces}");
        }
        let down = plane.down();
        assert!(down.status.success(), "{}", said(&down));
        assert_eq!(net.near.traces(), "");
        let left: Vec<_> =
            fs::read_dir(&plane.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| name == "log" || name == "lock"), "{left:?}");
    });
}

#[test]
fn metrics_are_what_prometheus_reads() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        plane.protect(true);
        plane.key(0x1001);
        let text = ask(&plane, "metrics\n");
        let mut families = std::collections::BTreeSet::new();
        let mut series = std::collections::BTreeSet::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(families.insert(name.to_owned()), "{name} stands twice");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            } else if !line.starts_with("# HELP ") {
                let (name, value) = line.rsplit_once(' ').unwrap();
                let family = name.split('{').next().unwrap();
                assert!(families.contains(family), "{line}: of no family");
                assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
                assert!(series.insert(name.to_owned()), "{name} stands twice");
            }
        }
        assert!(series.contains("cryptand_ipsec_sas") && text.ends_with('\n'));
        // Whatever alert rules and the dashboard speak of is there, but for what the exporter adds.
        for file in ["prometheus/cryptand.rules.yml", "grafana/cryptand-ipsec.json"] {
            let path = format!("{}/../../packaging/{file}", env!("CARGO_MANIFEST_DIR"));
            let packaged = fs::read_to_string(path).unwrap();
            let words = packaged.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            let spoken: Vec<_> = words.filter(|word| word.starts_with("cryptand_ipsec_")).collect();
            assert!(spoken.len() > 5, "{file}");
            for name in spoken.iter().filter(|name| **name != "cryptand_ipsec_up") {
                assert!(families.contains(*name), "{file}: {name} is not served");
            }
        }
        assert!(series.iter().any(|name| name.contains("spi=\"00001001\"")), "{text}");
        let mut promtool = Command::new("promtool");
        promtool
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let found = promtool.spawn().ok();
        if needs::did_without(needs::Need::Prometheus, found.is_none()) {
            return;
        }
        let mut promtool = found.unwrap();
        std::io::Write::write_all(&mut promtool.stdin.take().unwrap(), text.as_bytes()).unwrap();
        let output = promtool.wait_with_output().unwrap();
        assert!(output.status.success(), "{}{}", said(&output), String::from_utf8_lossy(&output.stdout));
    });
}

/// The answer to a line on the socket of observers.
pub fn ask(plane: &Plane<'_>, line: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::os::unix::net::UnixStream::connect(plane.folder.join("observe.sock")).unwrap();
    stream.set_read_timeout(Some(crate::net::PATIENCE)).unwrap();
    stream.write_all(line.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_second_one_is_refused_and_the_first_goes_on() {
    with_rights(|| {
        let net = Net::new();
        let first = Plane::start(&net.near, &[]);
        first.protect(true);
        let worker = first.worker();
        let traces = net.near.traces();
        // In the same folder.
        let again = up(&first, "cryptand0");
        assert!(!again.status.success());
        assert!(
            said(&again).contains("another data plane serves")
                && said(&again).contains("cryptand ipsec down"),
            "{}",
            said(&again)
        );
        // In another one, with the same device, and with another.
        for device in ["cryptand0", "cryptand1"] {
            let second = Plane::none(&net.near);
            let refused = up(&second, device);
            assert!(!refused.status.success(), "{device}");
            let said = said(&refused);
            assert!(said.contains("another data plane serves this network namespace"), "{device}: {said}");
            assert_eq!(net.near.traces(), traces, "{device}");
        }
        assert_eq!(first.worker(), worker);
        // In another namespace it is no second one.
        let elsewhere = Plane::start(&net.far, &[]);
        assert!(elsewhere.down().status.success());
    });
}

#[test]
fn names_and_folders_that_cannot_be_had() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::none(&net.near);
        let refused = up(&plane, "outer");
        assert!(!refused.status.success());
        assert!(
            said(&refused).contains("outer") && said(&refused).contains("another name"),
            "{}",
            said(&refused)
        );
        let refused = up(&plane, "a-name-that-is-too-long");
        assert!(!refused.status.success());
        assert!(said(&refused).contains("a-name-that-is-too-long"), "{}", said(&refused));
        assert_eq!(net.near.traces(), "");
        let file = plane.folder.with_extension("file");
        fs::write(&file, "").unwrap();
        let below = place(&file.join("below"));
        let up = json!({ "plane": below, "how": how("cryptand0"), "foreground": false, "keep": false });
        let refused = plane.ipsec(&json!({ "up": up }), &[]);
        assert!(!refused.status.success() && said(&refused).contains("file/below"), "{}", said(&refused));
        assert_eq!(net.near.traces(), "");
    });
}

#[test]
fn without_a_data_plane_commands_say_how_to_get_one() {
    let space_less = tempfile::tempdir().unwrap();
    let run = |asked: Value, words: &[&str]| {
        let mut command = Command::new(program());
        command.arg("ipsec").arg(asked.to_string());
        if !words.is_empty() {
            command.arg("--").args(words);
        }
        command.output().unwrap()
    };
    let place = place(space_less.path());
    let show = json!({ "plane": place, "json": false });
    for asked in [
        json!({ "status": show }),
        json!({ "sa": { "list": show } }),
        json!({ "policy": { "list": show } }),
        json!({ "top": { "plane": place, "every": 1, "count": 1, "json": false } }),
        json!({ "down": place }),
    ] {
        let output = run(asked.clone(), &[]);
        assert_eq!(output.status.code(), Some(1), "{asked}");
        let said = said(&output);
        assert!(
            said.contains("no data plane serves") && said.contains(space_less.path().to_str().unwrap()),
            "{asked}: {said}"
        );
    }
    // Not what is passed on, and not what the program takes.
    for other in [json!({ "status": 1 }), json!({ "down": { "folder": null, "more": 1 } })] {
        assert_eq!(run(other, &[]).status.code(), Some(2));
    }
    for words in [&["serve", "--threads", "many"][..], &["serve", "--folder"], &["sing"], &[]] {
        let output = Command::new(program()).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(said(&output).contains("Usage"), "{words:?}");
    }
}

#[test]
fn run_is_the_program_and_ends_as_it_does() {
    with_rights(|| {
        let net = Net::new();
        let programs = tempfile::tempdir().unwrap();
        // The programs that these do not ask anything of it: a library that has nothing in it does.
        let made = Command::new("cc")
            .args(["-shared", "-x", "c", "/dev/null", "-o"])
            .arg(programs.path().join("libcryptand-xfrm.so"))
            .status();
        assert!(made.is_ok_and(|status| status.success()), "cc makes a library");
        let plane = Plane::start_from(programs.path(), &net.near, &[]);
        let asked = |folder: &Path, up: bool| json!({ "run": { "plane": place(folder), "how": how("cryptand0"), "up": up } });
        let run = |space: &Space, asked: &Value, words: &[&str]| {
            let mut command = Command::new(programs.path().join("cryptand-esp"));
            space.output(command.arg("ipsec").arg(asked.to_string()).arg("--").args(words))
        };
        let asks = asked(&plane.folder, false);
        assert_eq!(run(&net.near, &asks, &["sh", "-c", "exit 42"]).status.code(), Some(42));
        let shown = run(&net.near, &asks, &["sh", "-c", "echo $CRYPTAND_ESP; echo $LD_PRELOAD"]);
        let shown = String::from_utf8(shown.stdout).unwrap();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], plane.folder.to_str().unwrap());
        assert!(lines[1].ends_with("libcryptand-xfrm.so"), "{shown}");
        let missing = run(&net.near, &asks, &["no-such-program"]);
        assert_eq!(missing.status.code(), Some(127));
        assert!(said(&missing).contains("no-such-program"), "{}", said(&missing));
        let none = run(&net.near, &asked(&plane.folder.join("none"), false), &["true"]);
        assert_eq!(none.status.code(), Some(1));
        assert!(said(&none).contains("--up starts one"), "{}", said(&none));
        // With one of its own, which ends with it.
        let own = tempfile::tempdir().unwrap();
        let asks = asked(&own.path().join("own"), true);
        for (words, code) in [
            (&["sh", "-c", "test -S $CRYPTAND_ESP/xfrm.sock || exit 9; exit 7"][..], 7),
            (&["sh", "-c", "kill -KILL $$"], 137),
            (&["no-such-program"], 127),
        ] {
            let output = run(&net.far, &asks, words);
            assert_eq!(output.status.code(), Some(code), "{words:?}: {}", said(&output));
            assert_eq!(net.far.traces(), "", "{words:?}");
        }
    });
}

#[test]
fn what_a_killed_supervisor_left_is_taken_up_or_taken_away() {
    with_rights(|| {
        let net = Net::new();
        let mut plane = Plane::start(&net.near, &[]);
        plane.protect(true);
        plane.stop(Signal::SIGKILL);
        wait_until("its worker is gone", || plane.xfrm_is_gone());
        assert!(net.near.traces().contains("blackhole 10.2.0.0/16"));
        // Nothing serves, and yet what is left can be taken away.
        let down = plane.down();
        assert!(down.status.success(), "{}", said(&down));
        assert_eq!(net.near.traces(), "");
        let again = plane.down();
        assert!(!again.status.success() && said(&again).contains("no data plane serves"), "{}", said(&again));
        plane.restart(&[]);
        assert_eq!(plane.status()["policies"], 0);
    });
}

/// Without IPv6 there is nothing of it to protect, and IPv4 is as ever.
#[test]
fn many_prefixes_are_all_routed_and_all_taken_away() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        let mut xfrm = plane.xfrm();
        for number in 0..1100_u32 {
            let (high, low) = (number / 250, number % 250);
            let destination = format!("fd02:0:{high:x}:{low:x}::");
            let policy = xfrm::policy(1, ("fd01::", &destination), 64, (crate::net::NEAR, crate::net::FAR));
            xfrm.ok(policy);
        }
        let routes = || {
            let listed = net.near.ip("-6 route show table 58624");
            // A listing of the kernel may show a route twice that changes meanwhile.
            let routes: std::collections::BTreeSet<_> =
                listed.lines().filter(|line| line.contains("fd02:")).collect();
            routes.len()
        };
        assert_eq!(routes(), 2200);
        // The next worker tells all of them at once, in more than one message.
        plane.kill_worker();
        assert_eq!(plane.status()["policies"], 1100);
        assert_eq!(routes(), 2200);
        let mut xfrm = plane.xfrm();
        xfrm.ok(netlink_packet_xfrm::XfrmMessage::FlushPolicy(Default::default()));
        assert_eq!(net.near.traces().lines().filter(|line| line.contains("fd02")).count(), 0);
    });
}

/// A user of the machine who is nobody in it has all of it in a user namespace of his own.
#[test]
fn for_a_user_without_rights() {
    if needs::lacks(needs::Need::Root) {
        return;
    }
    let programs = tempfile::tempdir().unwrap();
    fs::set_permissions(programs.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["cryptand-esp", "cryptand-esp-worker"] {
        let copy = programs.path().join(name);
        needs::copy_program(&program().with_file_name(name), &copy);
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let user = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65533", "--regid=65533", "--clear-groups", "--"]).args(words);
        command.current_dir("/").output().unwrap()
    };
    let possible = user(&["unshare", "-Urn", "ip", "tuntap", "add", "t0", "mode", "tun"]);
    if needs::did_without(needs::Need::Tun, !possible.status.success()) {
        return;
    }
    let esp = programs.path().join("cryptand-esp");
    let script = format!(
        "set -e; F=$(mktemp -d); ip link set lo up
         {esp} ipsec '{{\"up\":{{\"folder\":\"'$F'\",\"device\":\"cryptand0\",\"mtu\":null,\"threads\":1,\"weak_suites\":false,\"foreground\":false,\"keep\":false}}}}'
         {esp} ipsec '{{\"status\":{{\"folder\":\"'$F'\",\"json\":true}}}}'
         {esp} ipsec '{{\"down\":{{\"folder\":\"'$F'\"}}}}'
         ip rule | grep 58624 >&2 || true; ip link show cryptand0 >&2 2>/dev/null || true; rm -r $F",
        esp = esp.display()
    );
    let output = user(&["unshare", "-Urn", "sh", "-c", &script]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(said(&output), "");
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(status["device"], "cryptand0");
    // Outside of one he is told what is lacking.
    let folder = programs.path().join("none");
    let refused = user(&[esp.to_str().unwrap(), "serve", "--folder", folder.to_str().unwrap()]);
    assert!(!refused.status.success() && said(&refused).contains("making the folder"), "{}", said(&refused));
    let folder = "/dev/shm/esp-test-of-nobody";
    let refused = user(&[esp.to_str().unwrap(), "serve", "--folder", folder]);
    let _ = fs::remove_dir_all(folder);
    assert!(!refused.status.success() && said(&refused).contains("unshare -Urn"), "{}", said(&refused));
}
