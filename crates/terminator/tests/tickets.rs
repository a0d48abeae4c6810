//! Tickets: sessions go on in every loop and over reloads, not where there are none and not under another policy.

use crate::support::{Folder, VERSIONS, ask, close, output, program, rsa};
use openssl::ssl::{
    SslConnector, SslMethod, SslSession, SslSessionCacheMode, SslStream, SslVerifyMode, SslVersion,
};
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::{Arc, Mutex};

const SETTINGS: &str = "
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
[[listener]]
address = \"127.0.0.1:0\"
answer = \"served\\n\"
[[listener]]
address = \"127.0.0.2:0\"
policy = \"compatible\"
answer = \"served\\n\"
";

/// Connects, going on with a session if one is given; whether the server did, and the session to go on with.
fn connect(address: SocketAddr, version: SslVersion, session: Option<&[u8]>) -> (bool, Option<Vec<u8>>) {
    connect_to("one.test", address, version, session)
}

/// The same under a name; with none where that is empty.
fn connect_to(
    name: &str,
    address: SocketAddr,
    version: SslVersion,
    session: Option<&[u8]>,
) -> (bool, Option<Vec<u8>>) {
    let mut builder = SslConnector::builder(SslMethod::tls_client()).unwrap();
    builder.set_verify(SslVerifyMode::NONE);
    builder.set_min_proto_version(Some(version)).unwrap();
    builder.set_max_proto_version(Some(version)).unwrap();
    builder.set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL);
    let given = Arc::new(Mutex::new(None));
    let taken = Arc::clone(&given);
    builder
        .set_new_session_callback(move |_, session| *taken.lock().unwrap() = Some(session.to_der().unwrap()));
    let mut configuration = builder.build().configure().unwrap();
    configuration.set_verify_hostname(false);
    configuration.set_use_server_name_indication(!name.is_empty());
    let mut ssl = configuration.into_ssl(name).unwrap();
    if let Some(session) = session {
        // Read anew: OpenSSL marks one that it used.
        let session = SslSession::from_der(session).unwrap();
        // SAFETY: the session is of the same method, and of a context with the same settings.
        unsafe { ssl.set_session(&session).unwrap() };
    }
    let stream = TcpStream::connect(address).unwrap();
    let mut stream = SslStream::new(ssl, stream).unwrap();
    stream.connect().unwrap();
    assert_eq!(ask(&mut stream), "served\n");
    let is_resumed = stream.ssl().session_reused();
    close(stream);
    let session = given.lock().unwrap().take();
    (is_resumed, session)
}

#[test]
fn sessions_go_on_in_every_loop_and_over_reloads() {
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    let server = folder.serve(SETTINGS);
    let [address, compatible] = server.addresses()[..] else { panic!("{}", server.said()) };
    let mut resumed = 0;
    for version in VERSIONS {
        let (is_resumed, session) = connect(address, version, None);
        assert!(!is_resumed);
        let session = session.expect("a ticket");
        for _ in 0..10 {
            assert!(connect(address, version, Some(&session)).0, "{version:?}");
        }
        // Of the same kind: suites of TLS 1.2 name it.
        folder.certify("one", &rsa(), &["one.test"]);
        server.reload();
        assert!(connect(address, version, Some(&session)).0, "{version:?}, after a reload");
        resumed += 11;
        assert!(!connect(compatible, version, Some(&session)).0, "{version:?}, another policy");
    }
    let without = format!("[tickets]\nrotate_hours = 0\n{SETTINGS}");
    let (_, session) = connect(address, SslVersion::TLS1_2, None);
    folder.settings(&without);
    server.reload();
    // A loop may take one more before it has heard of the reload.
    while connect(address, SslVersion::TLS1_2, session.as_deref()).0 {
        resumed += 1;
    }
    let log = server.stop();
    let of_log = |key: &str| log.iter().filter(|entry| entry[key] == true).count();
    assert_eq!(of_log("resumed"), resumed, "{log:?}");
    let is_without_key = |entry: &&serde_json::Value| entry["resumed"] == true && entry["key_us"].is_null();
    assert!(
        log.iter().filter(is_without_key).count() == resumed
            && log.iter().all(|entry| entry["end"] == "done")
    );
}

/// RFC 6066, section 3: a server goes on with no session under another name than it began under, though one certificate
/// is both names', or both come by a wildcard or as the default.
#[test]
fn a_session_goes_on_under_no_other_name() {
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test", "two.test", "*.wild.test"]);
    let server = folder.serve(&SETTINGS.replace("key = \"one.key\"", "key = \"one.key\"\ndefault = true"));
    let address = server.addresses()[0];
    let names = ["one.test", "two.test", "a.wild.test", "b.wild.test", "unknown.test", "other.test", ""];
    for version in VERSIONS {
        for begun in names {
            let (is_resumed, session) = connect_to(begun, address, version, None);
            assert!(!is_resumed);
            let session = session.expect("a ticket");
            for name in names {
                let is_resumed = connect_to(name, address, version, Some(&session)).0;
                assert_eq!(is_resumed, name == begun, "{version:?}: begun under {begun:?}, then {name:?}");
            }
        }
        // A name is the same in other letters, and with its final dot.
        let (_, session) = connect_to("one.test", address, version, None);
        for name in ["ONE.test", "one.test."] {
            assert!(connect_to(name, address, version, session.as_deref()).0, "{version:?} {name}");
        }
    }
}

/// A file of keys that was rotated so many times, keeping so many.
fn rotated(folder: &Folder, kept: &str) {
    let file = folder.path("ticket.keys");
    let (is_done, said) = output(Command::new(program()).arg("ticket-key").arg(file).arg(kept), b"");
    assert!(is_done, "{said}");
}

#[test]
fn a_file_of_another_user_is_refused() {
    // Files are given away by root alone.
    if needs::lacks(needs::Need::Root) {
        return;
    }
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    rotated(&folder, "1");
    let settings = format!("[tickets]\nfile = \"ticket.keys\"\n{SETTINGS}");
    let server = folder.serve(&settings);
    let line = fs::read_to_string(folder.path("tls.toml")).unwrap();
    let line = 1 + line.lines().position(|line| line.starts_with("file")).unwrap();
    std::os::unix::fs::chown(folder.path("ticket.keys"), Some(65_534), None).unwrap();
    server.reload();
    let said = server.said();
    let expected = format!("tls.toml, line {line}, file: ");
    assert!(
        said.contains(&expected) && said.contains("ticket.keys: it is of another user (65534)"),
        "{said}"
    );
    // The user that the settings name may have it.
    let check = |user: &str| {
        let file = folder.write("other.toml", format!("{user}{settings}"));
        output(Command::new(program()).args(["serve", "--check-config"]).arg(file), b"")
    };
    let (is_good, said) = check("user = \"nobody\"\n");
    assert!(is_good, "{said}");
    let (is_good, said) = check("user = \"daemon\"\n");
    assert!(!is_good && said.contains("other.toml, line 3, file: "), "{said}");
    // A new key leaves it to the user that has it.
    let path = folder.path("ticket.keys");
    let (is_done, said) = output(Command::new(program()).arg("ticket-key").arg(&path), b"");
    assert!(is_done, "{said}");
    let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(&path).unwrap());
    assert_eq!((owner, check("user = \"nobody\"\n").0), (65_534, true));
    server.stop();
}

#[test]
fn a_session_of_a_weak_policy_opens_no_name_with_a_strong_one() {
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    // Both listeners serve the name under one policy: one's session is the other's.
    let own = SETTINGS.replace("key = \"one.key\"", "key = \"one.key\"\npolicy = \"compatible\"");
    let server = folder.serve(&own);
    let [modern, compatible] = server.addresses()[..] else { panic!("{}", server.said()) };
    let sessions = VERSIONS.map(|version| connect(compatible, version, None).1.expect("a ticket"));
    for (version, session) in VERSIONS.into_iter().zip(&sessions) {
        assert!(connect(modern, version, Some(session)).0, "{version:?}");
    }
    // It has another one now, and the old session is worth nothing.
    folder.settings(&own.replacen("compatible", "modern", 1));
    server.reload();
    for (version, session) in VERSIONS.into_iter().zip(&sessions) {
        while connect(compatible, version, Some(session)).0 {}
        let (_, session) = connect(compatible, version, None);
        assert!(connect(modern, version, session.as_deref()).0, "{version:?}");
    }
}

#[test]
fn machines_with_one_file_of_keys_go_on_with_each_others_sessions() {
    let [one, other] = [Folder::new(), Folder::new()];
    let share = || fs::copy(one.path("ticket.keys"), other.path("ticket.keys")).unwrap();
    rotated(&one, "2");
    share();
    let settings = format!("[tickets]\nfile = \"ticket.keys\"\n{SETTINGS}");
    for folder in [&one, &other] {
        folder.certify("one", &rsa(), &["one.test"]);
    }
    let (here, there) = (one.serve(&settings), other.serve(&settings));
    let [address, compatible] = there.addresses()[..] else { panic!("{}", there.said()) };
    let sessions = VERSIONS.map(|version| connect(here.address(), version, None).1.unwrap());
    for (version, session) in VERSIONS.into_iter().zip(&sessions) {
        for _ in 0..5 {
            assert!(connect(address, version, Some(session)).0, "{version:?}");
        }
        assert!(!connect(compatible, version, Some(session)).0, "{version:?}, another policy");
    }
    // A key more: the old one is still taken, and the new one made with.
    rotated(&one, "2");
    share();
    here.reload();
    there.reload();
    for (version, session) in VERSIONS.into_iter().zip(&sessions) {
        assert!(connect(address, version, Some(session)).0, "{version:?}, after a rotation");
    }
    // The old one is gone.
    rotated(&one, "1");
    share();
    there.reload();
    for (version, session) in VERSIONS.into_iter().zip(&sessions) {
        while connect(address, version, Some(session)).0 {}
    }
    // What is wrong changes nothing.
    let new = VERSIONS.map(|version| connect(address, version, None).1.unwrap());
    for text in ["", "aa bb\n"] {
        other.write("ticket.keys", text);
        there.reload();
    }
    share();
    fs::set_permissions(other.path("ticket.keys"), fs::Permissions::from_mode(0o640)).unwrap();
    there.reload();
    let said = there.said();
    for cause in ["ticket.keys: there is no key in it", "ticket.keys: line 1: a name of 32", "(mode 640)"] {
        assert!(
            said.contains("tls.toml, line ") && said.contains(", file: ") && said.contains(cause),
            "{cause}: {said}"
        );
    }
    for (version, session) in VERSIONS.into_iter().zip(&new) {
        assert!(connect(address, version, Some(session)).0);
    }
    let key = fs::read_to_string(one.path("ticket.keys")).unwrap();
    assert!(key.split_whitespace().all(|word| !said.contains(word)), "no key is said");
    assert_eq!(fs::metadata(one.path("ticket.keys")).unwrap().permissions().mode() & 0o777, 0o600);
    drop((here, there));
}
