//! What surrounds the program fails it: a full disk, a log that nobody reads, sockets that are none.

use crate::support::{Client, Folder, PATIENCE, Server, ask, close, ecdsa, output, program};
use command_fds::{CommandFdExt, FdMapping};
use openssl::ssl::SslVersion;
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use std::fs;
use std::io::Read;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Instant;

const SETTINGS: &str = "
[log]
access = \"access.log\"
format = \"json\"
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
[[listener]]
address = \"127.0.0.1:0\"
answer = \"served\\n\"
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    folder
}

fn visit(server: &Server<'_>, times: usize) {
    for _ in 0..times {
        let mut stream = Client::new(SslVersion::TLS1_3).connect(server.address(), "one.test").unwrap();
        assert_eq!(ask(&mut stream), "served\n");
        close(stream);
    }
}

/// What the program tells.
fn status(folder: &Folder) -> serde_json::Value {
    let mut text = String::new();
    UnixStream::connect(folder.path("tls.sock")).unwrap().read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Lines of the log that were lost.
fn lost(folder: &Folder) -> u64 {
    status(folder)["log_lines_lost"].as_u64().unwrap()
}

fn until(what: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !what() {
        assert!(Instant::now() < end);
        std::thread::yield_now();
    }
}

#[test]
fn a_full_disk_costs_lines_and_no_connection() {
    let folder = folder();
    folder.settings(SETTINGS);
    // No file becomes larger than a few blocks.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "ulimit -f 8; exec \"$0\" \"$@\""]).arg(program());
    let server = folder.serve_as(command);
    let log = || fs::read_to_string(folder.path("access.log")).unwrap();
    visit(&server, 60);
    until(|| lost(&folder) > 0);
    assert_eq!(server.said().matches("the access log cannot be written to ").count(), 1, "{}", server.said());
    // Rotated, as an operator would: the file is another one after a reload.
    fs::rename(folder.path("access.log"), folder.path("access.old")).unwrap();
    until(|| {
        let before = lost(&folder);
        visit(&server, 1);
        server.reload();
        before == lost(&folder) && folder.path("access.log").exists()
    });
    visit(&server, 1);
    until(|| log().contains("\"end\":\"done\""));
    assert!(server.said().contains("the access log lost "), "{}", server.said());
    assert!(log().lines().all(|line| line.starts_with('{') && line.ends_with('}')), "{}", log());
    server.stop();
}

#[test]
fn a_log_that_nobody_reads_keeps_nobody_waiting() {
    let folder = folder();
    let pipe = folder.path("access.log");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .unwrap();
    // Without a reader it is no log, at a start
    folder.settings(SETTINGS);
    let (is_served, said) = output(Command::new(program()).arg("serve").arg(folder.path("tls.toml")), b"");
    assert!(!is_served && said.contains("access: the log cannot be opened: "), "{said}");
    // and at a reload;
    folder.settings(&SETTINGS.replace("access.log", "other.log"));
    let mut server = folder.serve_as(Command::new(program()));
    folder.settings(SETTINGS);
    server.reload();
    assert!(server.said().contains("not reloaded"), "{}", server.said());
    // with one that does not read, lines are lost.
    let reader =
        rustix::fs::open(&pipe, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).unwrap();
    rustix::pipe::fcntl_setpipe_size(&reader, 4096).unwrap();
    server.reload();
    visit(&server, 40);
    until(|| lost(&folder) > 0);
    server.reload();
    visit(&server, 1);
    server.signal(Signal::TERM);
    assert!(server.wait().success(), "{}", server.said());
    drop(reader);
}

#[test]
fn it_serves_where_standard_error_takes_nothing() {
    let (reader, gone) = std::io::pipe().unwrap();
    drop(reader);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for parent_fd in [OwnedFd::from(gone), OwnedFd::from(full)] {
        let folder = folder();
        folder.settings(SETTINGS);
        let mut command = Command::new(program());
        command.fd_mappings(vec![FdMapping { parent_fd, child_fd: 2 }]).unwrap();
        let server = folder.serve_as(command);
        for _ in 0..2 {
            server.reload();
        }
        let address = status(&folder)["listeners"][0]["address"].as_str().unwrap().parse().unwrap();
        let mut stream = Client::new(SslVersion::TLS1_3).connect(address, "one.test").unwrap();
        assert_eq!(ask(&mut stream), "served\n");
        close(stream);
        assert_eq!(status(&folder)["log_lines_lost"], 0);
        assert_eq!(server.stop().len(), 1);
    }
}

#[test]
fn too_few_descriptors_for_backends_are_warned_of() {
    let folder = folder();
    let settings = |connections: u32| {
        let limits = format!("[limits]\nconnections = {connections}\n[[certificate]]");
        let settings = SETTINGS.replace("[[certificate]]", &limits);
        folder.settings(&settings.replace("answer = \"served\\n\"", "backends = [\"127.0.0.1:9\"]"));
    };
    settings(100);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "ulimit -n 512; exec \"$0\" \"$@\""]).arg(program());
    let server = folder.serve_as(command);
    assert!(!server.said().contains("LimitNOFILE"), "{}", server.said());
    settings(300);
    server.reload();
    let expected =
        "warning: this process may have 512 descriptors, and 300 connections that are forwarded need ";
    assert!(server.said().contains(expected), "{}", server.said());
}

#[test]
fn a_socket_of_the_service_manager_that_does_not_listen_is_refused() {
    let folder = folder();
    folder.settings(&SETTINGS.replace("address = \"127.0.0.1:0\"", "socket = \"https\""));
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "LISTEN_PID=$$ exec \"$0\" \"$@\""])
        .arg(program())
        .arg("serve")
        .arg(folder.path("tls.toml"));
    command.env("LISTEN_FDS", "1").env("LISTEN_FDNAMES", "https");
    let parent_fd = OwnedFd::from(UdpSocket::bind("127.0.0.1:0").unwrap());
    command.fd_mappings(vec![FdMapping { parent_fd, child_fd: 3 }]).unwrap();
    let (is_served, said) = output(&mut command, b"");
    assert!(
        !is_served
            && said.contains(
                "socket: what the service manager handed in as \"https\" is no socket that listens"
            ),
        "{said}"
    );
}
