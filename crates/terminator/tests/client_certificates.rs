//! Certificates of clients: who is let in and who is refused, with which alert and what the log says; no session of
//! another name, or from before, takes the place of a certificate.

use crate::support::{self, Folder, VERSIONS, close, ecdsa, output, program, rsa};
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{
    SslConnector, SslMethod, SslSession, SslSessionCacheMode, SslStream, SslVerifyMode, SslVersion,
};
use openssl::x509::extension::{BasicConstraints, ExtendedKeyUsage, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// `open.test` asks nobody, `closed.test` everybody, `maybe.test` takes what it gets.
const SETTINGS: &str = "
[[certificate]]
chain = \"open.pem\"
key = \"open.key\"
[[certificate]]
chain = \"closed.pem\"
key = \"closed.key\"
[certificate.clients]
ca = \"ca.pem\"
crl = [\"ca.crl\", \"sub.crl\"]
[[certificate]]
chain = \"maybe.pem\"
key = \"maybe.key\"
[certificate.clients]
ca = \"ca.pem\"
crl = [\"ca.crl\", \"sub.crl\"]
required = false
[[listener]]
address = \"127.0.0.1:0\"
answer = \"served\\n\"
";

#[derive(Clone, Copy, PartialEq)]
enum Use {
    Authority,
    Client,
    Server,
}

/// A certificate with its key.
#[derive(Clone)]
struct Pair {
    certificate: X509,
    key: PKey<Private>,
}

impl Pair {
    fn new(name: &str, issuer: Option<&Pair>, purpose: Use, days: [i64; 2], key: PKey<Private>) -> Self {
        let mut builder = X509::builder().unwrap();
        builder.set_version(2).unwrap();
        let mut serial = [0; 8];
        openssl::rand::rand_bytes(&mut serial).unwrap();
        serial[0] = serial[0] & 0x7f | 0x40;
        builder.set_serial_number(&BigNum::from_slice(&serial).unwrap().to_asn1_integer().unwrap()).unwrap();
        let mut subject = X509NameBuilder::new().unwrap();
        subject.append_entry_by_text("CN", name).unwrap();
        let subject = subject.build();
        builder.set_subject_name(&subject).unwrap();
        builder
            .set_issuer_name(issuer.map_or(&*subject, |issuer| issuer.certificate.subject_name()))
            .unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let at = |days: i64| Asn1Time::from_unix(now + days * 86_400).unwrap();
        builder.set_not_before(&at(days[0])).unwrap();
        builder.set_not_after(&at(days[1])).unwrap();
        builder.set_pubkey(&key).unwrap();
        let mut basic = BasicConstraints::new();
        if purpose == Use::Authority {
            basic.critical().ca();
        }
        builder.append_extension(basic.build().unwrap()).unwrap();
        let mut extended = ExtendedKeyUsage::new();
        match purpose {
            Use::Authority => {}
            Use::Client => drop(builder.append_extension(extended.client_auth().build().unwrap())),
            Use::Server => drop(builder.append_extension(extended.server_auth().build().unwrap())),
        }
        let names = SubjectAlternativeName::new()
            .dns("device.test")
            .email("a@b.test")
            .build(&builder.x509v3_context(None, None));
        builder.append_extension(names.unwrap()).unwrap();
        builder.sign(issuer.map_or(&key, |issuer| &issuer.key), MessageDigest::sha256()).unwrap();
        Self { certificate: builder.build(), key }
    }

    /// Has it sign a list of what it revoked, whose next one is due in so many days.
    fn list(&self, folder: &Folder, file: &str, revoked: &[&Pair], due_days: i64) {
        self.list_with(folder, file, revoked, due_days, true);
    }

    /// The same with a number, or without: then it is of version 1.
    fn list_with(&self, folder: &Folder, file: &str, revoked: &[&Pair], due_days: i64, has_number: bool) {
        let row = |pair: &&Pair| {
            let serial = pair.certificate.serial_number().to_bn().unwrap().to_hex_str().unwrap().to_string();
            format!("R\t491231235959Z\t250101000000Z\t{serial}\tunknown\t/CN=x\n")
        };
        folder.write("index", revoked.iter().map(row).collect::<String>());
        folder.write("number", "01");
        folder.write("signer.pem", self.certificate.to_pem().unwrap());
        folder.write("signer.key", self.key.private_key_to_pem_pkcs8().unwrap());
        let file = folder.path(file);
        let number = format!("crlnumber={}\n", folder.path("number").display());
        let configuration = format!(
            "[ca]\ndefault_ca=all\n[all]\ndatabase={}\ndefault_md=sha256\n{}",
            folder.path("index").display(),
            if has_number { &number } else { "" }
        );
        let configuration = folder.write("ca.cnf", configuration);
        let time = |days: i64| {
            let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64 + days * 86_400;
            let text =
                output(Command::new("date").args(["-u", "+%Y%m%d%H%M%SZ", "-d", &format!("@{at}")]), b"");
            text.1.trim().to_owned()
        };
        let (is_done, said) = output(
            Command::new("openssl")
                .args(["ca", "-gencrl", "-config"])
                .arg(configuration)
                .arg("-cert")
                .arg(folder.path("signer.pem"))
                .arg("-keyfile")
                .arg(folder.path("signer.key"))
                .args(["-crl_lastupdate", &time(due_days - 30), "-crl_nextupdate", &time(due_days)])
                .arg("-out")
                .arg(file),
            b"",
        );
        assert!(is_done, "{said}");
    }
}

struct World {
    folder: Folder,
    ca: Pair,
    sub: Pair,
    good: Pair,
}

impl World {
    fn new() -> Self {
        let folder = Folder::new();
        for name in ["open", "closed", "maybe"] {
            folder.certify(name, &ecdsa(), &[&format!("{name}.test")]);
        }
        let ca = Pair::new("ca", None, Use::Authority, [-30, 30], rsa());
        let sub = Pair::new("sub", Some(&ca), Use::Authority, [-9, 9], ecdsa());
        let good = Pair::new("good", Some(&ca), Use::Client, [-1, 1], ecdsa());
        folder.write("ca.pem", ca.certificate.to_pem().unwrap());
        ca.list(&folder, "ca.crl", &[], 3);
        sub.list(&folder, "sub.crl", &[], 3);
        Self { folder, ca, sub, good }
    }

    fn client(&self, name: &str, issuer: &Pair, purpose: Use, days: [i64; 2]) -> Pair {
        Pair::new(name, Some(issuer), purpose, days, ecdsa())
    }
}

/// A client: whom it asks for, what it shows, and what it goes on with.
#[derive(Default)]
struct Try<'a> {
    name: &'a str,
    own: Option<&'a Pair>,
    others: Vec<&'a Pair>,
    session: Option<Vec<u8>>,
}

/// What came of it: whether it went on with a session, and one to go on with.
type Came = Result<(bool, Option<Vec<u8>>), String>;

impl Try<'_> {
    fn connect(&self, address: SocketAddr, version: SslVersion) -> Came {
        let mut builder = SslConnector::builder(SslMethod::tls_client()).unwrap();
        builder.set_verify(SslVerifyMode::NONE);
        builder.set_min_proto_version(Some(version)).unwrap();
        builder.set_max_proto_version(Some(version)).unwrap();
        if let Some(own) = self.own {
            builder.set_certificate(&own.certificate).unwrap();
            builder.set_private_key(&own.key).unwrap();
            for other in &self.others {
                builder.add_extra_chain_cert(other.certificate.clone()).unwrap();
            }
        }
        builder.set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL);
        let given = Arc::new(Mutex::new(None));
        let taken = Arc::clone(&given);
        builder.set_new_session_callback(move |_, session| {
            *taken.lock().unwrap() = Some(session.to_der().unwrap());
        });
        let mut configuration = builder.build().configure().unwrap();
        configuration.set_verify_hostname(false);
        configuration.set_use_server_name_indication(!self.name.is_empty());
        let mut ssl = configuration.into_ssl(if self.name.is_empty() { "none" } else { self.name }).unwrap();
        if let Some(session) = &self.session {
            let session = SslSession::from_der(session).unwrap();
            // SAFETY: the session is of the same method, and of a context with the same settings.
            unsafe { ssl.set_session(&session).unwrap() };
        }
        let stream = TcpStream::connect(address).unwrap();
        let mut stream = SslStream::new(ssl, stream).unwrap();
        stream.connect().map_err(|error| error.to_string())?;
        // With TLS 1.3 the client learns of the refusal only now.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
        let mut first = [0; 4096];
        let count = stream.read(&mut first).map_err(|error| error.to_string())?;
        if count == 0 {
            return Err("an end without a word".to_owned());
        }
        assert!(String::from_utf8_lossy(&first[..count]).ends_with("served\n"));
        let is_resumed = stream.ssl().session_reused();
        close(stream);
        let session = given.lock().unwrap().take();
        Ok((is_resumed, session))
    }
}

#[test]
fn certificates_that_are_right_open_and_all_others_are_refused_with_alert_and_reason() {
    let world = World::new();
    let World { folder, ca, sub, good } = &world;
    let other_ca = Pair::new("ca", None, Use::Authority, [-9, 9], ecdsa());
    let deep = Pair::new("deep", Some(sub), Use::Authority, [-9, 9], ecdsa());
    let late_sub = Pair::new("late", Some(ca), Use::Authority, [-9, -1], ecdsa());
    let no_list = Pair::new("unlisted", Some(ca), Use::Authority, [-9, 9], ecdsa());
    let revoked = world.client("revoked", ca, Use::Client, [-1, 1]);
    let of_revoked = world.client("below", sub, Use::Client, [-1, 1]);
    ca.list(folder, "ca.crl", &[&revoked], 3);
    let client = |name: &str, issuer: &Pair, days| world.client(name, issuer, Use::Client, days);
    let cases = [
        ("good", good.clone(), vec![], None),
        ("through one", client("one", sub, [-1, 1]), vec![sub], None),
        ("over", client("over", ca, [-9, -1]), vec![], Some(("expired", "expired"))),
        ("early", client("early", ca, [1, 9]), vec![], Some(("expired", "not yet valid"))),
        ("over above", client("x", &late_sub, [-1, 1]), vec![&late_sub], Some(("expired", "expired"))),
        // The same name with another key: it is that the signature is not right.
        ("same name", client("x", &other_ca, [-1, 1]), vec![], Some(("bad certificate", "signature"))),
        ("unknown", client("x", &no_list, [-1, 1]), vec![], Some(("unknown ca", "unknown authority"))),
        (
            "self-signed",
            Pair::new("x", None, Use::Client, [-1, 1], ecdsa()),
            vec![],
            Some(("unknown ca", "unknown authority")),
        ),
        (
            "a server's",
            world.client("server", ca, Use::Server, [-1, 1]),
            vec![],
            Some(("unsupported certificate", "wrong use")),
        ),
        ("an authority's", sub.clone(), vec![], Some(("unsupported certificate", "wrong use"))),
        ("revoked", revoked.clone(), vec![], Some(("certificate revoked", "revoked"))),
        ("no list", client("x", &no_list, [-1, 1]), vec![&no_list], Some(("certificate unknown", "no list"))),
        ("deep", client("x", &deep, [-1, 1]), vec![&deep, sub], Some(("bad certificate", "too deep"))),
    ];
    deep.list(folder, "deep.crl", &[], 3);
    let settings = SETTINGS.replace("\"sub.crl\"]", "\"sub.crl\", \"deep.crl\"]");
    let server = folder.serve(&settings);
    let address = server.address();
    let mut expected = Vec::new();
    for name in ["closed.test", "maybe.test"] {
        for version in VERSIONS {
            for (what, own, others, refused) in &cases {
                let came = Try { name, own: Some(own), others: others.clone(), session: None }
                    .connect(address, version);
                match (came, refused) {
                    (Ok((false, _)), None) => expected.push("done".to_owned()),
                    (Err(said), Some((alert, why))) => {
                        assert!(said.contains(alert), "{what}, {version:?}: {said}");
                        expected.push(format!("client-certificate ({why})"));
                    }
                    (came, refused) => panic!("{what}, {name}, {version:?}: {came:?}, and not {refused:?}"),
                }
            }
        }
    }
    // Who has none.
    for version in VERSIONS {
        for name in ["open.test", "maybe.test"] {
            assert!(!Try { name, ..Try::default() }.connect(address, version).unwrap().0);
            expected.push("done".to_owned());
        }
        let said = Try { name: "closed.test", ..Try::default() }.connect(address, version).unwrap_err();
        let alert = if version == SslVersion::TLS1_3 { "certificate required" } else { "handshake failure" };
        assert!(said.contains(alert), "{said}");
        expected.push("client-certificate (none)".to_owned());
    }
    // A certificate that comes through what was revoked.
    ca.list(folder, "ca.crl", &[sub], 3);
    server.reload();
    let below = Try { name: "closed.test", own: Some(&of_revoked), others: vec![sub], session: None };
    loop {
        match below.connect(address, SslVersion::TLS1_3) {
            // A loop that has not heard of the reload.
            Ok(_) => expected.push("done".to_owned()),
            Err(said) => {
                assert!(said.contains("certificate revoked"), "{said}");
                expected.push("client-certificate (revoked)".to_owned());
                break;
            }
        }
    }
    let log = server.stop();
    let mut ends: Vec<String> = log.iter().map(|entry| entry["end"].as_str().unwrap().to_owned()).collect();
    // They end in another order than they began: a client that is refused has a moment to read why.
    ends.sort();
    expected.sort();
    assert_eq!(ends, expected);
    let of = |key: &str, subject: &str| log.iter().filter(|entry| entry[key] == subject).count();
    assert_eq!((of("client_certificate", "CN=good"), of("refused_certificate", "CN=revoked")), (4, 4));
    assert_eq!((of("client_certificate", "CN=revoked"), of("refused_certificate", "CN=good")), (0, 0));
    assert!(log.iter().all(|entry| entry["resumed"] == false));
}

#[test]
fn no_session_of_another_name_or_from_before_opens_a_name_that_asks() {
    let world = World::new();
    let folder = &world.folder;
    let without =
        SETTINGS.replace("[certificate.clients]\nca = \"ca.pem\"\ncrl = [\"ca.crl\", \"sub.crl\"]\n", "");
    let without = without.replace("required = false\n", "");
    let server = folder.serve(&without);
    let address = server.address();
    let session = |name: &'static str, version| {
        let (_, session) = Try { name, ..Try::default() }.connect(address, version).unwrap();
        session.expect("a ticket")
    };
    let before: Vec<_> = VERSIONS.iter().map(|version| session("closed.test", *version)).collect();
    // They do open it as long as it asks nobody.
    for (version, session) in VERSIONS.iter().zip(&before) {
        let again = Try { name: "closed.test", session: Some(session.clone()), ..Try::default() };
        assert!(again.connect(address, *version).unwrap().0);
    }
    folder.settings(SETTINGS);
    server.reload();
    // Once every loop has heard of it.
    for version in VERSIONS {
        let mut refused = 0;
        while refused < 50 {
            refused +=
                usize::from(Try { name: "closed.test", ..Try::default() }.connect(address, version).is_err());
        }
    }
    for (version, before) in VERSIONS.into_iter().zip(before) {
        for (begun, session) in [("closed.test", before), ("open.test", session("open.test", version))] {
            let mounted = Try { name: "closed.test", session: Some(session.clone()), ..Try::default() };
            let said = mounted.connect(address, version).unwrap_err();
            assert!(said.contains("certificate required") || said.contains("handshake failure"), "{said}");
            let honest = Try { own: Some(&world.good), ..mounted };
            let (is_resumed, own) = honest.connect(address, version).unwrap();
            assert!(!is_resumed, "a full handshake");
            if let Some(own) = own {
                // With TLS 1.2 it has a number, which nobody knows.
                let again = Try { session: Some(own), ..honest };
                assert!(!again.connect(address, version).unwrap().0);
            }
            let maybe = Try { name: "maybe.test", session: Some(session.clone()), ..Try::default() };
            assert!(!maybe.connect(address, version).unwrap().0);
            // The session is good where it came from, and nowhere else.
            let open = Try { name: "open.test", session: Some(session), ..Try::default() };
            assert_eq!(open.connect(address, version).unwrap().0, begun == "open.test");
        }
    }
    assert!(server.stop().iter().all(|entry| entry["sni"] == "open.test"
        || entry["resumed"] == false
        || entry["client_certificate"].is_null()));
}

#[test]
fn a_default_that_asks_asks_clients_without_a_known_name() {
    let world = World::new();
    let settings = SETTINGS.replace("key = \"closed.key\"", "key = \"closed.key\"\ndefault = true");
    let server = world.folder.serve(&settings);
    for version in VERSIONS {
        for name in ["", "other.test"] {
            let asked = Try { name, ..Try::default() };
            assert!(asked.connect(server.address(), version).is_err());
            asked_with(&world, name).connect(server.address(), version).unwrap();
        }
    }
    fn asked_with<'a>(world: &'a World, name: &'a str) -> Try<'a> {
        Try { name, own: Some(&world.good), ..Try::default() }
    }
}

#[test]
fn a_list_that_is_over_refuses_and_a_new_one_lets_in_after_a_reload() {
    let world = World::new();
    let World { folder, ca, good, .. } = &world;
    ca.list(folder, "ca.crl", &[], -2);
    let server = folder.serve(SETTINGS);
    assert!(server.said().contains("CN=ca has revoked 0, STALE for "), "{}", server.said());
    let attempt = Try { name: "closed.test", own: Some(good), ..Try::default() };
    for version in VERSIONS {
        let said = attempt.connect(server.address(), version).unwrap_err();
        assert!(said.contains("certificate unknown"), "{said}");
    }
    ca.list(folder, "ca.crl", &[], 2);
    server.reload();
    while attempt.connect(server.address(), SslVersion::TLS1_3).is_err() {}
    // As DER, and the old list goes on where the new one is none.
    let pem = std::fs::read(folder.path("ca.crl")).unwrap();
    folder.write("ca.crl", openssl::x509::X509Crl::from_pem(&pem).unwrap().to_der().unwrap());
    server.reload();
    folder.write("ca.crl", "nothing");
    server.reload();
    let said = server.said();
    assert!(
        said.contains("not reloaded, all goes on as before: ") && said.contains("ca.crl: no revocation list")
    );
    attempt.connect(server.address(), SslVersion::TLS1_2).unwrap();
    let log = server.stop();
    assert!(log.iter().any(|entry| entry["end"] == "client-certificate (stale list)"), "{log:?}");
}

#[test]
fn lists_of_version_1_count_as_others_do() {
    let world = World::new();
    let World { folder, ca, sub, good } = &world;
    let revoked = world.client("revoked", ca, Use::Client, [-1, 1]);
    let below = world.client("below", sub, Use::Client, [-1, 1]);
    let revoked_below = world.client("x", sub, Use::Client, [-1, 1]);
    let unlisted = Pair::new("unlisted", Some(ca), Use::Authority, [-9, 9], ecdsa());
    let of_unlisted = world.client("x", &unlisted, Use::Client, [-1, 1]);
    let other_sub = Pair::new("sub", None, Use::Authority, [-9, 9], ecdsa());
    // What a client gets, and the log's word for it.
    const IN: &str = "";
    let mut seen = 0;
    let alert_of = |why: &str| match why {
        "revoked" => "certificate revoked",
        "signature" => "bad certificate",
        _ => "certificate unknown",
    };
    // Of whom each list is, whether it has a number, and when the next one is due; then what the clients get who are
    // good and revoked of the authority, the same below, and below of one without a list.
    for (what, of_ca, of_sub, expected) in [
        ("both", (ca, false, 3), (sub, false, 3), [IN, "revoked", IN, "revoked", "no list"]),
        ("the upper one", (ca, false, 3), (sub, true, 3), [IN, "revoked", IN, "revoked", "no list"]),
        ("the lower one", (ca, true, 3), (sub, false, 3), [IN, "revoked", IN, "revoked", "no list"]),
        (
            "over",
            (ca, false, -2),
            (sub, true, 3),
            ["stale list", "revoked", "stale list", "revoked", "no list"],
        ),
        ("over below", (ca, false, 3), (sub, false, -2), [IN, "revoked", "stale list", "revoked", "no list"]),
        ("early", (ca, false, 40), (sub, false, 3), ["no list", "no list", "no list", "revoked", "no list"]),
        (
            "forged",
            (ca, false, 3),
            (&other_sub, false, 3),
            [IN, "revoked", "signature", "signature", "no list"],
        ),
    ] {
        of_ca.0.list_with(folder, "ca.crl", &[&revoked], of_ca.2, of_ca.1);
        of_sub.0.list_with(folder, "sub.crl", &[&revoked_below], of_sub.2, of_sub.1);
        for (file, has_number) in [("ca.crl", of_ca.1), ("sub.crl", of_sub.1)] {
            let text =
                output(Command::new("openssl").args(["crl", "-text", "-in"]).arg(folder.path(file)), b"");
            let version = if has_number { "Version 2 " } else { "Version 1 " };
            assert!(text.1.contains(version), "{}", text.1);
        }
        let server = folder.serve(SETTINGS);
        let clients = [
            (good, vec![]),
            (&revoked, vec![]),
            (&below, vec![sub]),
            (&revoked_below, vec![sub]),
            (&of_unlisted, vec![&unlisted]),
        ];
        let mut ends = Vec::new();
        for (at, ((own, others), why)) in clients.into_iter().zip(expected).enumerate() {
            let attempt = Try { name: "closed.test", own: Some(own), others, session: None };
            match attempt.connect(server.address(), VERSIONS[at % 2]) {
                Ok(_) => assert_eq!(why, IN, "{what}, {at}"),
                Err(said) => assert!(why != IN && said.contains(alert_of(why)), "{what}, {at}: {said}"),
            }
            ends.push(if why == IN { "done".to_owned() } else { format!("client-certificate ({why})") });
        }
        // Servers before this one have written into the same file.
        let log = server.stop().split_off(seen);
        seen += log.len();
        let mut logged: Vec<String> =
            log.iter().map(|entry| entry["end"].as_str().unwrap().to_owned()).collect();
        logged.sort();
        ends.sort();
        assert_eq!(logged, ends, "{what}");
    }
}

#[test]
fn clients_are_told_whose_certificates_will_do() {
    let world = World::new();
    let folder = &world.folder;
    let second = Pair::new("second", None, Use::Authority, [-9, 9], ecdsa());
    let pem = |pair: &Pair| String::from_utf8(pair.certificate.to_pem().unwrap()).unwrap();
    folder.write("ca.pem", format!("Two of them.\n{}and\n{}", pem(&world.ca), pem(&second)));
    let told = |server: &support::Server, name: &str, version: &str| {
        let address = server.address().to_string();
        let arguments = ["s_client", "-connect", &address, "-servername", name, version];
        output(Command::new("openssl").args(arguments), b"").1
    };
    let server = folder.serve(SETTINGS);
    for version in ["-tls1_2", "-tls1_3"] {
        for name in ["closed.test", "maybe.test"] {
            let said = told(&server, name, version);
            let names = said.split_once("Acceptable client certificate CA names\n").expect(&said).1;
            assert!(
                names.starts_with("CN = ca\nCN = second\n") || names.starts_with("CN = second\nCN = ca\n"),
                "{said}"
            );
        }
        let said = told(&server, "open.test", version);
        assert!(said.contains("No client certificate CA names sent"), "{said}");
    }
    assert!(!server.said().contains("too many"), "{}", server.said());
    drop(server);
    // More than the library takes: clients are not told, and served as before.
    let key = ecdsa();
    let many = (0..300).map(|number| {
        let name = format!("{number:060}");
        pem(&Pair::new(&name, None, Use::Authority, [-9, 9], key.clone()))
    });
    folder.write("ca.pem", many.chain([pem(&world.ca)]).collect::<String>());
    let server = folder.serve(SETTINGS);
    assert!(server.said().contains("authorities 301, whose names are too many"), "{}", server.said());
    assert!(told(&server, "closed.test", "-tls1_3").contains("No client certificate CA names sent"));
    let own = Try { name: "closed.test", own: Some(&world.good), ..Try::default() };
    own.connect(server.address(), SslVersion::TLS1_3).unwrap();
    drop(server);
}

#[test]
fn authorities_that_are_over_let_nobody_in() {
    let world = World::new();
    let ca = Pair::new("ca", None, Use::Authority, [-30, -1], rsa());
    world.folder.write("ca.pem", ca.certificate.to_pem().unwrap());
    let settings = SETTINGS.replace("crl = [\"ca.crl\", \"sub.crl\"]\n", "");
    let server = world.folder.serve(&settings);
    let own = Pair::new("x", Some(&ca), Use::Client, [-1, 1], ecdsa());
    let attempt = Try { name: "closed.test", own: Some(&own), ..Try::default() };
    assert!(attempt.connect(server.address(), SslVersion::TLS1_3).unwrap_err().contains("expired"));
    drop(server);
}

#[test]
fn other_peoples_clients_show_certificates() {
    let world = World::new();
    let World { folder, good, .. } = &world;
    folder.write("own.pem", good.certificate.to_pem().unwrap());
    folder.write("own.key", good.key.private_key_to_pem_pkcs8().unwrap());
    let server = folder.serve(SETTINGS);
    let port = server.address().port();
    let [own, key] = ["own.pem", "own.key"].map(|name| folder.path(name).display().to_string());
    for version in ["1.2", "1.3"] {
        let url = format!("https://closed.test:{port}/");
        let resolve = format!("closed.test:{port}:127.0.0.1");
        let curl = ["--silent", "--show-error", "--insecure", "--tls-max", version, "--resolve", &resolve];
        let (is_done, said) =
            output(Command::new("curl").args(curl).args(["--cert", &own, "--key", &key, &url]), b"");
        assert!(is_done && said == "served\n", "curl, {version}: {said}");
        let (is_done, said) = output(Command::new("curl").args(curl).arg(&url), b"");
        assert!(!is_done && said.contains("alert"), "curl, {version}: {said}");

        let priority = format!("NORMAL:-VERS-ALL:+VERS-TLS{version}");
        let (is_done, said) = output(
            Command::new("gnutls-cli")
                .args(["--priority", &priority, "--sni-hostname", "closed.test", "--insecure"])
                .args(["--x509certfile", &own, "--x509keyfile", &key])
                .args(["--port", &port.to_string(), "127.0.0.1"]),
            b"GET / HTTP/1.0\r\n\r\n",
        );
        assert!(is_done && said.contains("Handshake was completed"), "gnutls, {version}: {said}");

        let script = "
import socket, ssl, sys
port, version, own, key = sys.argv[1:]
context = ssl._create_unverified_context()
context.maximum_version = {'1.2': ssl.TLSVersion.TLSv1_2, '1.3': ssl.TLSVersion.TLSv1_3}[version]
context.load_cert_chain(own, key)
with context.wrap_socket(socket.create_connection(('127.0.0.1', int(port))), server_hostname='closed.test') as stream:
    stream.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
    print(stream.recv(4096).endswith(b'served\\n'))
";
        let arguments = ["-c", script, &port.to_string(), version, &own, &key];
        let (is_done, said) = output(Command::new("python3").args(arguments), b"");
        assert!(is_done && said == "True\n", "python, {version}: {said}");
    }
    drop(server);
}

#[test]
fn what_is_wrong_with_settings_and_files_is_named() {
    let world = World::new();
    let folder = &world.folder;
    folder.write("leaf.pem", world.good.certificate.to_pem().unwrap());
    folder.write("empty.pem", "");
    let half = std::fs::read_to_string(folder.path("ca.crl")).unwrap();
    folder.write("half.crl", half.split("-----END").next().unwrap());
    folder.write("broken.crl", [&b"\x30\x03\x02\x01"[..], &[0; 40]].concat());
    let other = Pair::new("ca", None, Use::Authority, [-9, 9], ecdsa());
    other.list_with(folder, "forged.crl", &[], 3, false);
    let both = |second: &str| format!("{SETTINGS}{second}");
    folder.certify("twin", &rsa(), &["closed.test"]);
    let with = |from: &str, to: &str| {
        assert!(SETTINGS.contains(from));
        SETTINGS.replacen(from, to, 1)
    };
    for (text, line, key, cause) in [
        (with("ca = \"ca.pem\"", "ca = \"none.pem\""), 9, "ca", "none.pem: cannot be opened"),
        (with("ca = \"ca.pem\"", "ca = \"empty.pem\""), 9, "ca", "empty.pem: no certificate in it"),
        (
            with("ca = \"ca.pem\"", "ca = \"leaf.pem\""),
            9,
            "ca",
            "leaf.pem: certificate 1: CN=good is no authority",
        ),
        (with("\"ca.crl\"", "\"none.crl\""), 10, "crl", "none.crl: cannot be opened"),
        (with("\"ca.crl\"", "\"empty.pem\""), 10, "crl", "empty.pem: no revocation list in it"),
        (with("\"ca.crl\"", "\"half.crl\""), 10, "crl", "half.crl: revocation list 1 has no end"),
        (with("\"ca.crl\"", "\"broken.crl\""), 10, "crl", "broken.crl: revocation list 1: "),
        (
            with("\"ca.crl\"", "\"forged.crl\""),
            10,
            "crl",
            "forged.crl: revocation list 1: of CN=ca: its signature is not the authority's",
        ),
        (with("ca = \"ca.pem\"\n", ""), 8, "[certificate.clients]", "missing field `ca`"),
        (with("ca = \"ca.pem\"", "ca = \"ca.pem\"\ndepth = 7"), 10, "depth", "7 is not from 0 to 6"),
        (with("ca = \"ca.pem\"", "ca = \"ca.pem\"\nrequire = true"), 10, "require", "unknown field"),
        (
            both("[[certificate]]\nchain = \"twin.pem\"\nkey = \"twin.key\"\n"),
            22,
            "chain",
            "two certificates for closed.test ask their clients for different",
        ),
    ] {
        let file = folder.write("tls.toml", text.clone());
        let (is_good, said) =
            output(Command::new(program()).args(["serve", "--check-config"]).arg(file), b"");
        let expected = format!("tls.toml, line {line}, {key}: ");
        assert!(
            !is_good && said.contains(&expected) && said.contains(cause),
            "{text}\n{expected}{cause}\n{said}"
        );
    }
    let file = folder.write("tls.toml", SETTINGS);
    let (is_good, said) = output(Command::new(program()).args(["serve", "--check-config"]).arg(file), b"");
    assert!(is_good && said.contains("authorities 1; CN=ca has revoked 0, next one due in "), "{said}");
}
