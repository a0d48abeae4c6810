//! Keys that are labels of a home: a real daemon and its cards sign, and the server has no private number.

use crate::support::{Client, Folder, VERSIONS, ask, certificate, close, ecdsa, output, program, shown};
use openssl::pkey::PKey;
use openssl::ssl::SslVersion;
use std::fs;
use std::path::Path;
use std::process::Command;
use system_tests::Installation;

/// Makes a key under a label, and a certificate of it for a name.
fn certify(folder: &Folder, installation: &Installation, label: &str, kind: &str, name: &str) -> Vec<u8> {
    let cryptand = || {
        let mut command = Command::new(system_tests::program("cryptand"));
        command.arg("--home").arg(installation.home.folder());
        command
    };
    let (is_done, said) = output(cryptand().args(["key", "generate", label, "--type", kind]), b"");
    assert!(is_done, "{said}");
    let (is_done, pem) = output(cryptand().args(["key", "public-key", label, "--pem"]), b"");
    assert!(is_done, "{pem}");
    let public = PKey::public_key_from_pem(pem.as_bytes()).unwrap();
    let made = certificate(&public, &ecdsa(), &[name], [-1, 30]);
    folder.write(&format!("{label}.pem"), made.to_pem().unwrap());
    made.to_der().unwrap()
}

fn settings(home: &Path, labels: &[&str]) -> String {
    let mut text = format!("[home]\nfolder = \"{}\"\n", home.display());
    for label in labels {
        text += &format!("[[certificate]]\nchain = \"{label}.pem\"\nlabel = \"{label}\"\n");
    }
    text + "[[listener]]\naddress = \"127.0.0.1:0\"\nanswer = \"served\\n\"\n"
}

#[test]
fn cards_sign_for_both_versions_and_kinds_of_keys() {
    let installation = Installation::new(2, 0);
    let folder = Folder::new();
    let mut shown_by = Vec::new();
    for (label, kind, name) in [
        ("WEB.RSA", "rsa2048-sign", "rsa.test"),
        ("WEB.P256", "p256-sign", "p256.test"),
        ("WEB.P384", "p384-sign", "p384.test"),
    ] {
        shown_by.push((name, label, certify(&folder, &installation, label, kind, name)));
    }
    let file_key = folder.certify("file", &ecdsa(), &["file.test"]).to_der().unwrap();
    let file = "[[certificate]]\nchain = \"file.pem\"\nkey = \"file.key\"\n";
    let labels = ["WEB.RSA", "WEB.P256", "WEB.P384"];
    let server = folder.serve(&format!("{}{file}", settings(installation.home.folder(), &labels)));
    let address = server.address();
    // Many at a time, over both loops and cards.
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (shown_by, file_key) = (&shown_by, &file_key);
            scope.spawn(move || {
                let client = Client::new(VERSIONS[worker % 2]);
                for _ in 0..5 {
                    for (name, _, der) in shown_by {
                        let mut stream = client.connect(address, name).unwrap();
                        assert_eq!(&shown(&stream), der, "{name}");
                        assert_eq!(ask(&mut stream), "served\n");
                        close(stream);
                    }
                    let mut stream = client.connect(address, "file.test").unwrap();
                    assert_eq!((&shown(&stream), ask(&mut stream)), (file_key, "served\n".to_owned()));
                    close(stream);
                }
            });
        }
    });
    let log = server.stop();
    assert_eq!(log.len(), 8 * 5 * 4);
    for (name, label, _) in shown_by {
        let of_name: Vec<_> = log.iter().filter(|entry| entry["sni"] == name).collect();
        assert_eq!(of_name.len(), 40);
        let is_of_label =
            |entry: &&serde_json::Value| entry["key"] == format!("label {label}") && entry["key_us"].is_u64();
        assert!(of_name.iter().all(is_of_label), "{of_name:?}");
    }
    assert!(log.iter().all(|entry| entry["end"] == "done"), "{log:?}");
}

#[test]
fn a_card_opens_what_clients_without_key_agreement_send() {
    let installation = Installation::new(2, 0);
    let folder = Folder::new();
    let der = certify(&folder, &installation, "WEB.RSA", "rsa2048-tls", "rsa.test");
    let text = settings(installation.home.folder(), &["WEB.RSA"]);
    let server = folder.serve(&text.replace("answer", "policy = \"compatible\"\nanswer"));
    let address = server.address();
    let old = Client { ciphers: Some("AES128-GCM-SHA256:AES128-SHA"), ..Client::new(SslVersion::TLS1_2) };
    for _ in 0..5 {
        let mut stream = old.connect(address, "rsa.test").unwrap();
        assert_eq!((shown(&stream), ask(&mut stream)), (der.clone(), "served\n".to_owned()));
        assert!(stream.ssl().tmp_key().is_err(), "no key was agreed on");
        close(stream);
    }
    // The same key signs for the others.
    for version in VERSIONS {
        let mut stream = Client::new(version).connect(address, "rsa.test").unwrap();
        assert_eq!(ask(&mut stream), "served\n");
        close(stream);
    }
    let log = server.stop();
    let without: Vec<_> = log.iter().filter(|entry| entry["group"].is_null()).collect();
    assert_eq!(without.len(), 5, "{log:?}");
    assert!(without.iter().all(|entry| entry["key"] == "label WEB.RSA" && entry["end"] == "done"), "{log:?}");
}

#[test]
fn cards_that_die_cost_no_handshake_and_what_is_gone_fails_alone() {
    let installation = Installation::new(2, 0);
    let folder = Folder::new();
    certify(&folder, &installation, "WEB.RSA", "rsa2048-sign", "rsa.test");
    let server = folder.serve(&settings(installation.home.folder(), &["WEB.RSA"]));
    let address = server.address();
    let client = Client::new(SslVersion::TLS1_3);
    for _ in 0..3 {
        let card = installation.until_ready().remove(0);
        system_tests::kill(card.pid);
        for _ in 0..10 {
            let mut stream = client.connect(address, "rsa.test").unwrap();
            assert_eq!(ask(&mut stream), "served\n");
            close(stream);
        }
    }
    // The label is deleted: handshakes fail, and what is open goes on.
    let mut kept = client.connect(address, "rsa.test").unwrap();
    let mut delete = Command::new(system_tests::program("cryptand"));
    delete.arg("--home").arg(installation.home.folder()).args(["key", "delete", "WEB.RSA", "--yes"]);
    let (is_done, said) = output(&mut delete, b"");
    assert!(is_done, "{said}");
    let why = client.connect(address, "rsa.test").expect_err("its key is gone");
    assert!(why.contains("alert internal error"), "{why}");
    assert_eq!(ask(&mut kept), "served\n");
    close(kept);
    server.reload();
    assert!(server.said().contains("not reloaded"), "{}", server.said());
    let log = server.stop();
    assert_eq!(log.iter().filter(|entry| entry["end"] == "key").count(), 1, "{log:?}");
}

#[test]
fn labels_that_do_not_fit_their_certificates_are_named() {
    let installation = Installation::new(1, 0);
    let folder = Folder::new();
    certify(&folder, &installation, "WEB.RSA", "rsa2048-sign", "one.test");
    certify(&folder, &installation, "WEB.P256", "p256-sign", "two.test");
    let home = installation.home.folder();
    let check = |text: &str| {
        let file = folder.write("tls.toml", text);
        output(Command::new(program()).args(["serve", "--check-config"]).arg(file), b"")
    };
    let good = settings(home, &["WEB.RSA", "WEB.P256"]);
    let (is_good, said) = check(&good);
    assert!(is_good && said.contains("one.test: RSA-2048, label WEB.RSA"), "{said}");
    let swapped = good.replace("label = \"WEB.RSA\"", "label = \"WEB.P256\"");
    let missing = good.replace("label = \"WEB.RSA\"", "label = \"WEB.NONE\"");
    let exchange = good.replace("answer", "policy = \"compatible\"\nanswer");
    folder.certify("file", &ecdsa(), &["one.test"]);
    let mixed = format!("{good}[[certificate]]\nchain = \"file.pem\"\nkey = \"file.key\"\n");
    for (text, line, key, cause) in [
        (swapped, 5, "label", "it is another key than the certificate's"),
        (missing, 5, "label", "WEB.NONE"),
        (exchange, 5, "label", "offers RSA key exchange, but WEB.RSA is not made for RSA key exchange"),
        (mixed, 13, "chain", "one of two certificates for one.test has its key in a file"),
    ] {
        let (is_good, said) = check(&text);
        let expected = format!("tls.toml, line {line}, {key}: ");
        assert!(
            !is_good && said.contains(&expected) && said.contains(cause),
            "{text}\n{expected}{cause}\n{said}"
        );
    }
    drop(installation);
    let (is_good, said) = check(&good);
    assert!(!is_good && said.contains("tls.toml, line 2, folder: "), "{said}");
}

#[test]
fn no_part_of_a_cards_key_or_of_a_session_is_in_the_log() {
    let installation = Installation::new(1, 0);
    let folder = Folder::new();
    certify(&folder, &installation, "WEB.P256", "p256-sign", "one.test");
    let text = settings(installation.home.folder(), &["WEB.P256"]);
    let server = folder.serve(&text.replace("[home]", "[log]\naccess = \"access.log\"\n[home]"));
    let mut stream = Client::new(SslVersion::TLS1_2).connect(server.address(), "one.test").unwrap();
    let mut secret = [0; 48];
    let count = stream.ssl().session().unwrap().master_key(&mut secret);
    assert_eq!(ask(&mut stream), "served\n");
    close(stream);
    let said = server.said();
    server.signal(rustix::process::Signal::TERM);
    let mut server = server;
    assert!(server.wait().success());
    let log = fs::read_to_string(folder.path("access.log")).unwrap() + &said;
    assert!(log.contains(" key=\"label WEB.P256\" key_us="), "{log}");
    let hex: String = secret[..count].iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(count >= 32 && !log.to_lowercase().contains(&hex));
}
