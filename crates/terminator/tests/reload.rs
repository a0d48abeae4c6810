//! Reloads: nothing is dropped, and what is wrong changes nothing.

use crate::support::{Client, Folder, VERSIONS, ask, close, ecdsa, program, rsa, shown};
use command_fds::{CommandFdExt, FdMapping};
use openssl::ssl::SslVersion;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

const SETTINGS: &str = "
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
[[listener]]
address = \"127.0.0.1:0\"
answer = \"before\\n\"
";

#[test]
fn under_load_no_connection_is_lost_and_new_certificates_are_shown() {
    let folder = Folder::new();
    let first = folder.certify("one", &ecdsa(), &["one.test"]).to_der().unwrap();
    let server = folder.serve(SETTINGS);
    let address = server.address();
    let mut kept = Client::new(SslVersion::TLS1_3).connect(address, "one.test").unwrap();
    assert_eq!(shown(&kept), first);
    let (is_over, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for worker in 0..4 {
            let (is_over, served) = (&is_over, &served);
            scope.spawn(move || {
                let client = Client::new(VERSIONS[worker % 2]);
                while !is_over.load(Ordering::Relaxed) {
                    let mut stream = client.connect(address, "one.test").unwrap();
                    assert!(["before\n", "after\n"].contains(&ask(&mut stream).as_str()));
                    close(stream);
                    served.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..20 {
            let answer = if round % 2 == 0 { "after" } else { "before" };
            folder.settings(&SETTINGS.replace("before", answer));
            folder.certify("one", &if round % 3 == 0 { rsa() } else { ecdsa() }, &["one.test"]);
            server.reload();
        }
        // Each of the clients went on after the last one.
        let before = served.load(Ordering::Relaxed);
        while served.load(Ordering::Relaxed) < before + 8 {
            thread::yield_now();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(!server.said().contains("not reloaded"), "{}", server.said());
    // It goes on as it began.
    assert_eq!(ask(&mut kept), "before\n");
    close(kept);
    let log = server.stop();
    assert_eq!(log.len(), served.load(Ordering::Relaxed) + 1);
    assert!(log.iter().all(|entry| entry["end"] == "done"), "{log:?}");
}

#[test]
fn a_bad_file_changes_nothing() {
    let folder = Folder::new();
    let first = folder.certify("one", &ecdsa(), &["one.test"]).to_der().unwrap();
    let server = folder.serve(SETTINGS);
    let address = server.address();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = format!("[[listener]]\naddress = \"{}\"\nanswer = \"\"\n", taken.local_addr().unwrap());
    folder.write("garbage.pem", "garbage");
    let cases = [
        (SETTINGS.replace("one.pem", "garbage.pem"), "garbage.pem: no certificate chain"),
        (SETTINGS.replace("answer", "reply"), "reply: unknown field"),
        (format!("{SETTINGS}{other}"), "cannot listen at"),
        (format!("[home]\nfolder = \"x\"\n{SETTINGS}"), "the home is read at the start only"),
    ];
    for (at, (text, said)) in cases.iter().enumerate() {
        folder.settings(text);
        server.reload();
        let all = server.said();
        assert_eq!(all.matches("not reloaded, all goes on as before: ").count(), at + 1, "{all}");
        assert!(all.lines().last().unwrap().contains(said), "{said}\n{all}");
        let mut stream = Client::new(SslVersion::TLS1_3).connect(address, "one.test").unwrap();
        assert_eq!((shown(&stream), ask(&mut stream)), (first.clone(), "before\n".to_owned()));
    }
    drop(server);
}

#[test]
fn listeners_come_and_go() {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    let server = folder.serve(SETTINGS);
    let first = server.address();
    let other = "[[listener]]\naddress = \"127.0.0.2:0\"\nanswer = \"other\\n\"\n";
    folder.settings(&format!("{SETTINGS}{other}"));
    server.reload();
    let [same, second] = server.addresses()[..] else { panic!("{}", server.said()) };
    assert_eq!(same, first);
    let client = Client::new(SslVersion::TLS1_3);
    assert_eq!(ask(&mut client.connect(first, "one.test").unwrap()), "before\n");
    let mut kept = client.connect(second, "one.test").unwrap();
    folder.settings(SETTINGS);
    server.reload();
    // Closed, once every loop has let go of it.
    while TcpStream::connect(second).is_ok() {}
    assert_eq!(ask(&mut kept), "other\n");
    assert_eq!(ask(&mut client.connect(first, "one.test").unwrap()), "before\n");
    drop(server);
}

#[test]
fn sockets_of_the_service_manager_are_served_and_stay() {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    let settings = SETTINGS.replace("address = \"127.0.0.1:0\"", "socket = \"https\"");
    folder.settings(&settings);
    let listeners = ["127.0.0.1:0", "127.0.0.2:0"].map(|address| TcpListener::bind(address).unwrap());
    let [_, address] = [0, 1].map(|at: usize| listeners[at].local_addr().unwrap());
    let mut command = Command::new("/bin/sh");
    // The number of the process is known once it is there.
    command.args(["-c", "LISTEN_PID=$$ exec \"$0\" \"$@\""]).arg(program());
    command.env("LISTEN_FDS", "2").env("LISTEN_FDNAMES", "other:https");
    let mappings = listeners
        .into_iter()
        .zip(3..)
        .map(|(listener, child_fd)| FdMapping { parent_fd: OwnedFd::from(listener), child_fd });
    command.fd_mappings(mappings.collect()).unwrap();
    let server = folder.serve_as(command);
    assert_eq!(server.addresses(), [address]);
    let client = Client::new(SslVersion::TLS1_2);
    assert_eq!(ask(&mut client.connect(address, "one.test").unwrap()), "before\n");
    folder.settings(&settings.replace("before", "after"));
    server.reload();
    // A loop may take one that came before it heard of the reload.
    while ask(&mut client.connect(address, "one.test").unwrap()) != "after\n" {}
    drop(server);
}
