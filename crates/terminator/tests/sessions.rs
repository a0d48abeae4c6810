//! Session IDs: clients of TLS 1.2 without tickets go on in every loop and over reloads, under their own name and
//! policy alone.

use crate::support::{Folder, ask, close, output, rsa};
use openssl::ssl::{
    SslConnector, SslMethod, SslOptions, SslSession, SslSessionCacheMode, SslStream, SslVerifyMode,
    SslVersion,
};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

const SETTINGS: &str = "
[sessions]
cache = 1000
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
[[certificate]]
chain = \"two.pem\"
key = \"two.key\"
[[listener]]
address = \"127.0.0.1:0\"
answer = \"served\\n\"
[[listener]]
address = \"127.0.0.2:0\"
policy = \"compatible\"
answer = \"served\\n\"
";

/// Connects without tickets, going on with a session if one is given; whether the server did, and the session to go on
/// with.
fn connect(
    address: SocketAddr,
    name: &str,
    session: Option<&[u8]>,
    takes_tickets: bool,
) -> Result<(bool, Option<Vec<u8>>), String> {
    let mut builder = SslConnector::builder(SslMethod::tls_client()).unwrap();
    builder.set_verify(SslVerifyMode::NONE);
    builder.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
    if !takes_tickets {
        builder.set_options(SslOptions::NO_TICKET);
    }
    builder.set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL);
    let given = Arc::new(Mutex::new(None));
    let taken = Arc::clone(&given);
    builder
        .set_new_session_callback(move |_, session| *taken.lock().unwrap() = Some(session.to_der().unwrap()));
    let mut configuration = builder.build().configure().unwrap();
    configuration.set_verify_hostname(false);
    let mut ssl = configuration.into_ssl(name).unwrap();
    if let Some(session) = session {
        let session = SslSession::from_der(session).unwrap();
        // SAFETY: the session is of the same method, and of a context with the same settings.
        unsafe { ssl.set_session(&session).unwrap() };
    }
    let stream = TcpStream::connect(address).unwrap();
    let mut stream = SslStream::new(ssl, stream).unwrap();
    stream.connect().map_err(|error| error.to_string())?;
    assert_eq!(ask(&mut stream), "served\n");
    let is_resumed = stream.ssl().session_reused();
    close(stream);
    let session = given.lock().unwrap().take();
    Ok((is_resumed, session))
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    folder.certify("two", &rsa(), &["two.test"]);
    folder
}

#[test]
fn sessions_go_on_in_every_loop_and_over_reloads_under_their_name_and_policy_alone() {
    let folder = folder();
    let server = folder.serve(SETTINGS);
    let [address, compatible] = server.addresses()[..] else { panic!("{}", server.said()) };
    let (is_resumed, session) = connect(address, "one.test", None, false).unwrap();
    assert!(!is_resumed);
    let session = session.unwrap();
    let is_resumed = |address, name| connect(address, name, Some(&session), false).unwrap().0;
    for _ in 0..10 {
        assert!(is_resumed(address, "one.test"));
    }
    assert!(is_resumed(address, "ONE.test"));
    assert!(!is_resumed(address, "two.test"), "another name");
    assert!(!is_resumed(compatible, "one.test"), "another policy");
    server.reload();
    assert!(is_resumed(address, "one.test"), "after a reload");
    // Numbers that nobody was given.
    for number in 0..20_u32 {
        let mut made_up = session.clone();
        let at = position(&session);
        made_up[at..at + 4].copy_from_slice(&number.to_be_bytes());
        assert!(!connect(address, "one.test", Some(&made_up), false).unwrap().0);
    }
    // Other settings, another cache; then none.
    folder.settings(&SETTINGS.replace("1000", "1001"));
    server.reload();
    while is_resumed(address, "one.test") {}
    let (_, session) = connect(address, "one.test", None, false).unwrap();
    folder.settings(&SETTINGS.replace("cache = 1000", "cache = 0"));
    server.reload();
    while connect(address, "one.test", session.as_deref(), false).unwrap().0 {}
    assert!(server.stop().iter().all(|entry| entry["end"] == "done"));
}

/// Where the 32 bytes of a session's number stand in its DER.
fn position(session: &[u8]) -> usize {
    session.windows(2).position(|two| two == [4, 32]).unwrap() + 2
}

#[test]
fn without_tickets_clients_that_take_them_go_on_by_number() {
    let folder = folder();
    let server = folder.serve(&format!("[tickets]\nrotate_hours = 0\n{SETTINGS}"));
    let address = server.address();
    let (_, session) = connect(address, "one.test", None, true).unwrap();
    assert!(connect(address, "one.test", session.as_deref(), true).unwrap().0);
    drop(server);
    let folder = self::folder();
    let server = folder.serve(&SETTINGS.replace("cache = 1000", "cache = 0"));
    let (_, session) = connect(server.address(), "one.test", None, false).unwrap();
    assert!(!connect(server.address(), "one.test", session.as_deref(), false).unwrap().0, "it keeps none");
}

#[test]
fn a_name_that_asks_for_certificates_goes_on_with_none() {
    let folder = folder();
    let server = folder.serve(SETTINGS);
    let address = server.address();
    let (_, session) = connect(address, "two.test", None, false).unwrap();
    let (is_done, said) = output(
        Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-subj",
                "/CN=ca",
                "-keyout",
                "/dev/null",
                "-out",
            ])
            .arg(folder.path("ca.pem")),
        b"",
    );
    assert!(is_done, "{said}");
    let asking = SETTINGS.replace(
        "key = \"two.key\"\n",
        "key = \"two.key\"\n[certificate.clients]\nca = \"ca.pem\"\nrequired = false\n",
    );
    folder.settings(&asking);
    server.reload();
    // Until every loop has heard of it.
    let mut in_a_row = 0;
    while in_a_row < 50 {
        let is_resumed = connect(address, "two.test", session.as_deref(), false).unwrap().0;
        in_a_row = if is_resumed { 0 } else { in_a_row + 1 };
    }
    let (_, other) = connect(address, "one.test", None, false).unwrap();
    let (_, own) = connect(address, "two.test", None, false).unwrap();
    for session in [other, own].iter().flatten() {
        assert!(!connect(address, "two.test", Some(session), false).unwrap().0);
    }
    drop(server);
}

#[test]
fn openssl_reconnects_without_tickets() {
    let folder = folder();
    let server = folder.serve(SETTINGS);
    let (_, said) = output(
        Command::new("openssl")
            .args(["s_client", "-tls1_2", "-no_ticket", "-reconnect", "-servername", "one.test", "-connect"])
            .arg(server.address().to_string()),
        b"",
    );
    assert_eq!((said.matches("New, TLS").count(), said.matches("Reused, TLS").count()), (1, 5), "{said}");
    drop(server);
}
