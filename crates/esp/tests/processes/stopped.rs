//! Processes that neither end nor go on (SIGSTOP): what policies protect stays dropped, and `cryptand ipsec down` comes
//! to an end.

use crate::clear_text::nothing_leaves;
use crate::net::{Net, wait_until, with_rights};
use crate::plane::{Plane, program};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::process::{Command, Output, Stdio};

/// Exit code of timeout(1) where the command had to be ended.
const LATE: i32 = 124;

/// Does what `cryptand ipsec` passes on, and ends it where it does not end.
fn bounded(plane: &Plane<'_>, asked: &Value) -> Output {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "60"]).arg(program()).arg("ipsec").arg(asked.to_string());
    let output = plane.space.output(&mut command);
    assert_ne!(output.status.code(), Some(LATE), "{asked} does not end");
    output
}

fn down(plane: &Plane<'_>) -> Output {
    bounded(plane, &json!({ "down": { "folder": plane.folder } }))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stop(process: u32) {
    kill(Pid::from_raw(process as i32), Signal::SIGSTOP).unwrap();
    let stat = format!("/proc/{process}/stat");
    wait_until("it is stopped", || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T ")));
}

fn go_on(process: u32) {
    kill(Pid::from_raw(process as i32), Signal::SIGCONT).unwrap();
}

/// Whether a process waits in recv(2).
fn receives(process: u32) -> bool {
    let call = std::fs::read_to_string(format!("/proc/{process}/syscall")).unwrap_or_default();
    call.starts_with(&format!("{} ", nix::libc::SYS_recvfrom))
}

#[test]
fn a_worker_that_is_stopped() {
    with_rights(|| {
        let net = Net::new();
        let mut plane = Plane::start(&net.near, &[]);
        plane.protect(true);
        plane.key(0x1001);
        stop(plane.worker());
        nothing_leaves(&net, "while the worker is stopped");
        // Who asks for what it knows is told that it does not answer, and what helps.
        let asked =
            bounded(&plane, &json!({ "status": { "plane": { "folder": plane.folder }, "json": false } }));
        assert_eq!(asked.status.code(), Some(1));
        assert!(
            said(&asked).contains("no answer within 10 seconds")
                && said(&asked).contains("cryptand ipsec down"),
            "{}",
            said(&asked)
        );
        let down = down(&plane);
        assert!(down.status.success(), "{}", said(&down));
        assert!(plane.ended().success());
        assert_eq!(net.near.traces(), "");
    });
}

#[test]
fn a_worker_that_is_stopped_ends_with_its_supervisor() {
    with_rights(|| {
        let net = Net::new();
        let mut plane = Plane::start(&net.near, &[]);
        plane.protect(true);
        stop(plane.worker());
        plane.stop(Signal::SIGKILL);
        nothing_leaves(&net, "after the supervisor of a stopped worker was killed");
        // Nobody holds the folder any more.
        plane.restart(&[]);
        assert_eq!(plane.status()["policies"], 6);
        stop(plane.worker());
        plane.stop(Signal::SIGKILL);
        let down = down(&plane);
        assert!(down.status.success(), "{}", said(&down));
        assert_eq!(net.near.traces(), "");
    });
}

#[test]
fn a_supervisor_that_is_stopped() {
    with_rights(|| {
        let net = Net::new();
        let mut plane = Plane::start(&net.near, &[]);
        plane.protect(true);
        let supervisor = plane.supervisor();
        stop(supervisor);
        let late = down(&plane);
        assert_eq!(late.status.code(), Some(1));
        assert!(said(&late).contains(&format!("`kill -KILL {supervisor}`")), "{}", said(&late));
        nothing_leaves(&net, "while the supervisor is stopped");
        // What is said to help, helps.
        plane.stop(Signal::SIGKILL);
        let again = down(&plane);
        assert!(again.status.success(), "{}", said(&again));
        assert_eq!(net.near.traces(), "");
    });
}

/// `cryptand ipsec down` itself, as by Ctrl-Z and `fg`.
#[test]
fn down_that_is_stopped_goes_on() {
    with_rights(|| {
        let net = Net::new();
        let mut plane = Plane::start(&net.near, &[]);
        plane.protect(true);
        let (supervisor, worker) = (plane.supervisor(), plane.worker());
        stop(supervisor);
        let mut command = Command::new(program());
        command.arg("ipsec").arg(json!({ "down": { "folder": plane.folder } }).to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let down = net.near.run(|| command.spawn().unwrap());
        wait_until("it waits for an answer", || receives(down.id()));
        stop(down.id());
        go_on(down.id());
        wait_until("it still waits", || receives(down.id()));
        go_on(supervisor);
        let down = down.wait_with_output().unwrap();
        assert!(down.status.success(), "{}", said(&down));
        assert!(plane.ended().success());
        assert_eq!(net.near.traces(), "");
        assert!(!std::path::Path::new(&format!("/proc/{worker}")).exists());
    });
}
