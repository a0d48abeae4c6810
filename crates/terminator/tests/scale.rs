//! Many certificates, and many connections that do nothing.

use crate::support::{Client, Folder, PATIENCE, Server, ask, certificate, close, ecdsa, public, shown};
use openssl::ssl::{SslConnector, SslMethod, SslVerifyMode, SslVersion};
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::time::{Duration, Instant};

const CERTIFICATES: usize = 10_000;
const IDLE: usize = 1_000;
/// Memory of an idle connection, at most, in KiB.
const IDLE_KIB_MAX: usize = 32;
/// Memory of a server with all these certificates, in KiB.
const CERTIFICATES_KIB_MAX: usize = 200 << 10;

/// Resident memory of the program in KiB.
fn memory(server: &Server<'_>) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid().as_raw_nonzero())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn of_ten_thousand_certificates_only_changed_ones_are_read() {
    let folder = Folder::new();
    fs::create_dir(folder.path("chains")).unwrap();
    let key = ecdsa();
    let public = public(&key);
    folder.write("one.key", key.private_key_to_pem_pkcs8().unwrap());
    let issue = |number: usize| {
        let made = certificate(&public, &key, &[&format!("n{number}.test")], [-1, 30]);
        folder.write(&format!("chains/{number}.pem"), made.to_pem().unwrap());
        made.to_der().unwrap()
    };
    let mut text = String::new();
    let mut last = Vec::new();
    for number in 0..CERTIFICATES {
        last = issue(number);
        let _ = writeln!(text, "[[certificate]]\nchain = \"chains/{number}.pem\"\nkey = \"one.key\"");
    }
    text += "[[listener]]\naddress = \"127.0.0.1:0\"\nanswer = \"served\\n\"\n";
    let server = folder.serve(&text);
    let shows = |number: usize| {
        let name = format!("n{number}.test");
        let stream = Client::new(SslVersion::TLS1_3).connect(server.address(), &name).unwrap();
        let shown = shown(&stream);
        close(stream);
        shown
    };
    assert_eq!(shows(CERTIFICATES - 1), last);
    let opened = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
    let before = memory(&server);
    for round in 0..10 {
        let changed = round * 997;
        let made = issue(changed);
        let watch = inotify::add_watch(&opened, folder.path("chains"), WatchFlags::OPEN).unwrap();
        server.reload();
        inotify::remove_watch(&opened, watch).unwrap();
        let (mut names, mut buffer) = (BTreeSet::new(), [MaybeUninit::uninit(); 4096]);
        let mut reader = Reader::new(&opened, &mut buffer);
        while let Ok(event) = reader.next() {
            names.extend(event.file_name().map(|name| name.to_str().unwrap().to_owned()));
        }
        assert_eq!(names, BTreeSet::from([format!("{changed}.pem")]));
        assert_eq!(shows(changed), made);
    }
    assert!(!server.said().contains("not reloaded"), "{}", server.said());
    let memory = memory(&server);
    println!("{before} KiB at the start, {memory} KiB after ten reloads");
    assert!(memory <= CERTIFICATES_KIB_MAX, "{memory} KiB");
    server.stop();
}

#[test]
fn idle_connections_take_little_memory_and_go_on() {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    let server = folder.serve(
        "[[certificate]]\nchain = \"one.pem\"\nkey = \"one.key\"\n\
         [[listener]]\naddress = \"127.0.0.1:0\"\nanswer = \"served\\n\"\n",
    );
    let open = |count: usize| -> Vec<_> {
        // One for all: making it reads every certificate of the system.
        let mut builder = SslConnector::builder(SslMethod::tls_client()).unwrap();
        builder.set_verify(SslVerifyMode::NONE);
        let connector = builder.build();
        let connect = |_| {
            let configuration = connector.configure().unwrap().verify_hostname(false);
            configuration.connect("one.test", TcpStream::connect(server.address()).unwrap()).unwrap()
        };
        let mut streams: Vec<_> = (0..count).map(connect).collect();
        for stream in &mut streams {
            assert_eq!(ask(stream), "served\n");
        }
        streams
    };
    // What the program needs at all.
    let first = open(100);
    let before = memory(&server);
    let mut streams = open(IDLE);
    // Buffers are given up once a connection was idle for a second, of which nothing tells.
    let (begun, each) = (Instant::now(), || memory(&server).saturating_sub(before) / IDLE);
    while each() > IDLE_KIB_MAX {
        assert!(begun.elapsed() < PATIENCE, "{} KiB a connection", each());
        std::thread::sleep(Duration::from_millis(50));
    }
    for stream in streams.iter_mut().step_by(97) {
        assert_eq!(ask(stream), "served\n");
    }
    drop((first, streams));
    server.stop();
}
