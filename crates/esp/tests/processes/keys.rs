//! Keys are in the worker's memory, and nowhere else.

use crate::commands::ask;
use crate::net::{Net, is_in_user_namespace, with_rights};
use crate::plane::Plane;
use crate::xfrm::KEY;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::process::Command;

fn holds_key(bytes: &[u8]) -> bool {
    let hex: String = KEY.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.windows(KEY.len()).any(|part| part == KEY)
        || bytes.windows(hex.len()).any(|part| part == hex.as_bytes())
}

#[test]
fn nothing_that_is_written_or_shown_has_a_key() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        plane.protect(true);
        plane.key(0x1001);
        for question in ["status\n", "sas\n", "policies\n", "metrics\n"] {
            let answer = ask(&plane, question);
            assert!(!answer.is_empty() && !holds_key(answer.as_bytes()), "{question}");
        }
        plane.kill_worker();
        plane.key(0x2001);
        for entry in fs::read_dir(&plane.folder).unwrap() {
            let path = entry.unwrap().path();
            if path.metadata().unwrap().is_file() {
                assert!(!holds_key(&fs::read(&path).unwrap()), "{}", path.display());
            }
        }
        assert!(!holds_key(plane.log().as_bytes()));
        // That this would find one.
        assert!(holds_key(&[&[1, 2][..], &KEY].concat()) && holds_key(b"0x746865206b6579206f6620616e205341"));
    });
}

#[test]
fn the_workers_memory_is_closed_and_leaves_no_dump() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        plane.key(0x1001);
        let process = format!("/proc/{}", plane.worker());
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        let field = |name: &str| {
            let line =
                status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}"));
            line.trim().to_owned()
        };
        for name in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
            assert_eq!(u64::from_str_radix(&field(name), 16), Ok(0), "{name}");
        }
        assert_eq!((field("NoNewPrivs:"), field("Seccomp:")), ("1".to_owned(), "2".to_owned()));
        assert!(field("Threads:").parse::<u32>().unwrap() >= 3);
        // All threads alike.
        for task in fs::read_dir(format!("{process}/task")).unwrap() {
            let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
            assert!(
                status.contains("Seccomp:\t2") && status.contains("CapEff:\t0000000000000000"),
                "{status}"
            );
        }
        let limits = fs::read_to_string(format!("{process}/limits")).unwrap();
        let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        assert_eq!(core.split_whitespace().rev().nth(1), Some("0"), "{core}");
        if !rustix::process::geteuid().is_root() || is_in_user_namespace() {
            return;
        }
        // The same user without the right to trace everybody: of root that is root without CAP_SYS_PTRACE.
        let peeked = Command::new("setpriv")
            .args(["--bounding-set=-all", "--inh-caps=-all", "--", "head", "-c1"])
            .arg(format!("{process}/mem"))
            .output()
            .unwrap();
        assert!(!peeked.status.success() && peeked.stdout.is_empty());
        let said = String::from_utf8_lossy(&peeked.stderr).into_owned();
        assert!(said.contains("Permission denied"), "{said}");
        // Not dumpable: what is of it in /proc is root's of the machine, and the memory of secrets is not there even
        // for that one.
        let maps = fs::read_to_string(format!("{process}/maps")).unwrap();
        let memory = File::open(format!("{process}/mem")).unwrap();
        let mut found = 0;
        for line in
            maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.starts_with("rw")))
        {
            let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).unwrap());
            for place in (start..end).step_by(1 << 20) {
                let mut bytes = vec![0; (end - place).min(1 << 20) as usize + KEY.len()];
                if let Ok(read) = memory.read_at(&mut bytes, place) {
                    found += usize::from(bytes[..read].windows(KEY.len()).any(|part| part == KEY));
                }
            }
        }
        let lacks = plane.status()["lacks"].to_string();
        if !needs::did_without(needs::Need::LockedMemory, lacks.contains("secret memory")) {
            assert_eq!(found, 0, "root finds keys in memory that is not the arena's");
        }
    });
}

#[test]
fn other_users_cannot_ask_for_anything_that_changes_or_shows_keys() {
    with_rights(|| {
        if needs::did_without(needs::Need::Root, is_in_user_namespace()) {
            return;
        }
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        // The folders around would keep others out already.
        for folder in [plane.folder.parent().unwrap(), &plane.folder] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let as_another_user = |code: &str| {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65533", "--regid=65533", "--clear-groups", "--"]);
            command.args(["/usr/bin/python3", "-c", code]);
            command
        };
        let tries = |name: &str| {
            let code = "import socket,sys; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])";
            let output = as_another_user(code).arg(plane.folder.join(name)).output().unwrap();
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        for name in ["xfrm.sock", "plane.sock"] {
            assert!(tries(name).contains("PermissionError"), "{name}: {}", tries(name));
        }
        // Where the modes of files were changed, the sockets know who connects.
        for name in ["xfrm.sock", "plane.sock"] {
            fs::set_permissions(plane.folder.join(name), fs::Permissions::from_mode(0o666)).unwrap();
        }
        let answers = |name: &str, text: &str| {
            let code = "import socket,sys
s=socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(10); s.connect(sys.argv[1])
try:
    s.send(bytes.fromhex(sys.argv[2])); print(s.recv(1000))
except (BrokenPipeError, ConnectionResetError): print(b'')";
            let output = as_another_user(code).arg(plane.folder.join(name)).arg(text).output().unwrap();
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        assert_eq!(answers("xfrm.sock", "1400000012000103010000000000000000000000"), "b''");
        assert_eq!(answers("plane.sock", "646f776e"), "b''");
        assert_eq!(plane.status()["restarts"], 0);
        for (name, mode) in [("journal", 0o600), ("observe.sock", 0o660)] {
            assert_eq!(
                fs::metadata(plane.folder.join(name)).unwrap().permissions().mode() & 0o777,
                mode,
                "{name}"
            );
        }
    });
}
