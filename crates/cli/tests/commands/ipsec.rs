//! `cryptand ipsec`: how it fails, and what it says to do.

use super::Bench;
use needs::Need;
use std::process::Command;

#[test]
fn without_a_data_plane_commands_say_how_to_get_one() {
    let bench = Bench::new();
    let folder = bench.base.path().join("none");
    let folder = folder.to_str().unwrap();
    let starts = "`cryptand ipsec up` starts one";
    let cases: [(&[&str], i32, &str); 9] = [
        (&["sa", "list", "--folder", folder], 1, starts),
        (&["policy", "list", "--folder", folder], 1, starts),
        (&["status", "--folder", folder], 1, starts),
        (&["status", "--json", "--folder", folder], 1, starts),
        (&["top", "--count", "1", "--folder", folder], 1, starts),
        (&["metrics", "--folder", folder], 7, starts),
        (&["down", "--folder", folder], 1, "--folder names another"),
        (&["run", "--folder", folder, "--", "true"], 1, "--up starts one"),
        (&["run", "--folder", folder], 2, "PROGRAM"),
    ];
    for (words, code, part) in cases {
        let arguments = [&["ipsec"], words].concat();
        let output = bench.run(&arguments, "");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(code), &[][..]),
            "{words:?}: {said}"
        );
        assert!(said.contains(part), "{words:?}: {said}");
        assert!(code == 2 || said.contains(folder), "{words:?}: {said}");
    }
}

#[test]
fn folders_that_cannot_be_had() {
    let bench = Bench::new();
    for (words, part) in [
        (&["up", "--folder", "/dev/null/below"][..], "/dev/null/below"),
        (&["sa", "list", "--folder", "/dev/null"], "no data plane serves /dev/null"),
        (&["down", "--folder", "/dev/null"], "no data plane serves /dev/null"),
        (&["run", "--folder", "/dev/null", "--", "true"], "no data plane serves /dev/null"),
    ] {
        let said = bench.fails(&[&["ipsec"], words].concat(), "", 1);
        assert!(said.contains(part), "{words:?}: {said}");
    }
}

/// In a network of its own, which ends with the script.
#[test]
fn a_second_one_is_refused_and_says_what_ends_the_first() {
    let is_root = rustix::process::geteuid().is_root();
    let inside = |script: &str, folder: &str| {
        let mut command = Command::new("unshare");
        command.args(if is_root { &["--net"][..] } else { &["--user", "--map-root-user", "--net"] });
        command.args(["sh", "-c", script, env!("CARGO_BIN_EXE_cryptand"), folder]).output().unwrap()
    };
    let has_tun = inside("ip tuntap add t0 mode tun", "").status.success();
    if needs::did_without(Need::Tun, !has_tun) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "
        does() { \"$cryptand\" ipsec \"$@\" --folder \"$folder\" 2>&1; echo \"= $?\"; }
        cryptand=$0 folder=$1
        does up; does up; does sa list; does down; does down";
    let output = inside(script, folder.path().to_str().unwrap());
    let said = String::from_utf8(output.stdout).unwrap();
    let codes: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("= ")).collect();
    assert_eq!(codes, ["0", "1", "0", "0", "1"], "{said}");
    for part in
        ["another data plane serves", "`cryptand ipsec down` ends it", "no SAs", "no data plane serves"]
    {
        assert!(said.contains(part), "{part} is not in {said}");
    }
}
