//! Chains that lie in the key store beside their labels: installed, shown, served, and in place or not at all whatever
//! happens.

use crate::support::{Client, Folder, ask, certificate, close, ecdsa, output, program, public, shown};
use facility::Label;
use openssl::ssl::SslVersion;
use openssl::x509::X509;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use system_tests::Installation;

const LABEL: &str = "WEB.P256";

struct Place {
    installation: Installation,
    folder: Folder,
}

impl Place {
    fn new() -> Self {
        let place = Self { installation: Installation::new(1, 0), folder: Folder::new() };
        place.done(&["key", "generate", LABEL, "--type", "p256-sign"]);
        place
    }

    /// Runs `cryptand` in the folder of the test.
    fn cryptand(&self, arguments: &[&str]) -> (bool, String) {
        let mut command = Command::new(system_tests::program("cryptand"));
        command.current_dir(self.folder.path("")).arg("--home").arg(self.installation.home.folder());
        output(command.args(arguments), b"")
    }

    fn done(&self, arguments: &[&str]) -> String {
        let (is_done, said) = self.cryptand(arguments);
        assert!(is_done, "{arguments:?}: {said}");
        said
    }

    fn refused(&self, arguments: &[&str], expected: &str) {
        let (is_done, said) = self.cryptand(arguments);
        assert!(!is_done && said.contains(expected), "{arguments:?}: {expected}: {said}");
    }

    /// A file with a certificate that the label's key signs, for a name; what it is in DER.
    fn self_signed(&self, file: &str, name: &str) -> Vec<u8> {
        self.done(&["cert", "self-signed", LABEL, name, "--output", file]);
        X509::from_pem(&std::fs::read(self.folder.path(file)).unwrap()).unwrap().to_der().unwrap()
    }

    fn settings(&self) -> String {
        format!(
            "[home]\nfolder = \"{}\"\n[[certificate]]\nlabel = \"{LABEL}\"\ndefault = true\n\
             [[listener]]\naddress = \"127.0.0.1:0\"\nanswer = \"served\\n\"\n",
            self.installation.home.folder().display()
        )
    }
}

#[test]
fn a_server_shows_what_is_installed_beside_its_label() {
    let place = Place::new();
    let text = place.settings();
    let check = || {
        let file = place.folder.write("tls.toml", &text);
        output(Command::new(program()).args(["serve", "--check-config"]).arg(file), b"")
    };
    let (is_good, said) = check();
    let expected = format!(
        "tls.toml, line 4, label: no certificate is installed beside {LABEL}: cryptand cert install {LABEL} CHAIN.pem"
    );
    assert!(!is_good && said.contains(&expected), "{said}");
    for asked in ["show", "check"] {
        place.refused(&["cert", asked, LABEL], "cryptand cert install WEB.P256 CHAIN.pem");
    }
    let first = place.self_signed("first.pem", "one.test");
    let said = place.done(&["cert", "install", LABEL, "first.pem", "--name", "one.test"]);
    assert!(said.contains("WEB.P256: 1 certificate installed, for one.test, until 20"), "{said}");
    let (is_good, said) = check();
    assert!(is_good && said.contains("one.test: P-256, label WEB.P256"), "{said}");
    assert!(place.done(&["cert", "show", LABEL]).contains("one.test"));
    let pem = place.done(&["cert", "show", LABEL, "--pem"]);
    assert_eq!(X509::from_pem(pem.as_bytes()).unwrap().to_der().unwrap(), first);
    assert!(place.done(&["cert", "check", LABEL, "--name", "one.test"]).contains("nothing is wrong"));
    place.refused(&["cert", "check", LABEL, "--name", "two.test"], "not for two.test");
    let bytes = format!("{} bytes", first.len());
    assert!(place.done(&["key", "show", LABEL]).contains(&bytes));
    assert!(place.done(&["key", "list", LABEL]).contains(&bytes));

    let server = place.folder.serve(&text);
    let client = Client::new(SslVersion::TLS1_3);
    let mut kept = client.connect(server.address(), "one.test").unwrap();
    assert_eq!(shown(&kept), first);
    let second = place.self_signed("second.pem", "one.test");
    place.done(&["cert", "install", LABEL, "second.pem"]);
    server.reload();
    let mut stream = client.connect(server.address(), "one.test").unwrap();
    assert_eq!((shown(&stream), ask(&mut stream)), (second.clone(), "served\n".to_owned()));
    close(stream);
    assert_eq!(ask(&mut kept), "served\n");
    close(kept);
    // A record that goes takes its chain along, and the server goes on with what it has.
    place.done(&["key", "delete", LABEL, "--yes"]);
    place.done(&["key", "generate", LABEL, "--type", "p256-sign"]);
    server.reload();
    assert!(server.said().contains("no certificate is installed beside WEB.P256"), "{}", server.said());
    server.stop();
}

#[test]
fn what_clients_would_refuse_is_not_installed() {
    let place = Place::new();
    let der = place.self_signed("good.pem", "one.test");
    place.done(&["cert", "install", LABEL, "good.pem"]);
    let pem = X509::from_der(&der).unwrap().to_pem().unwrap();
    place.folder.write("garbage.pem", [0xFF; 64]);
    place.folder.write("empty.pem", "");
    place.folder.write("many.pem", pem.repeat(17));
    // Three of 17 KB each.
    let key = ecdsa();
    let names: Vec<String> = (0..600).map(|number| format!("name-{number:020}.test")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let long = certificate(&public(&key), &key, &names, [-1, 30]).to_pem().unwrap();
    place.folder.write("long.pem", long.repeat(3));
    place.folder.certify("foreign", &key, &["one.test"]);
    let expired = certificate(&public(&key), &key, &["one.test"], [-9, -1]).to_pem().unwrap();
    place.folder.write("expired.pem", expired);
    place.folder.write("unordered.pem", [pem.clone(), long].concat());
    for (file, expected) in [
        ("missing.pem", "cannot read missing.pem"),
        ("garbage.pem", "garbage.pem: not PEM"),
        ("empty.pem", "empty.pem: no certificate in it"),
        ("good.key", "cannot read good.key"),
        ("foreign.key", "foreign.key: no certificate in it"),
        ("many.pem", "many.pem: more than 16 certificates"),
        ("long.pem", "a key store takes 49152"),
        ("foreign.pem", "its key is not the one under WEB.P256"),
        ("expired.pem", "expired on"),
        ("unordered.pem", "the next certificate is"),
    ] {
        place.refused(&["cert", "install", LABEL, file], expected);
    }
    place.refused(&["cert", "install", LABEL, "good.pem", "--name", "two.test"], "not for two.test");
    place.refused(&["cert", "install", LABEL, "foreign.pem"], "nothing was installed");
    place.refused(&["cert", "install", "WEB.NONE", "good.pem"], "WEB.NONE");
    place.refused(&["cert", "install", "no label", "good.pem"], "no label");
    place.refused(&["cert", "show", "WEB.NONE"], "WEB.NONE");
    let now = place.done(&["cert", "show", LABEL, "--pem"]);
    assert_eq!(now.as_bytes(), pem, "what was there before stays");
    // A file that is called as a label is one.
    place.folder.write(LABEL, "");
    place.refused(&["cert", "show", LABEL], "no certificate in it");
}

/// What a caller was told is installed is there after the daemon died, and nothing is there in part.
#[test]
fn a_chain_is_installed_as_a_whole_though_the_daemon_dies() {
    let mut place = Place::new();
    let label = Label::new(LABEL).unwrap();
    let one = place.self_signed("one.pem", "one.test");
    let two = [&place.self_signed("two.pem", "two.test")[..], &one].concat();
    for _ in 0..4 {
        let facility = place.installation.facility();
        let (is_over, done) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Acquire) {
                    for chain in [&one, &two] {
                        if facility.chain_write(&label, chain).is_ok() {
                            done.lock().unwrap().push(chain);
                        }
                    }
                }
            });
            // It dies in the midst of it.
            while done.lock().unwrap().len() < 3 {
                std::thread::yield_now();
            }
            place.installation.kill_daemon();
            is_over.store(true, Ordering::Release);
            place.installation.start();
        });
        let found = place.installation.facility().chain_read(&label).unwrap();
        assert!(found == one || found == two, "{} bytes", found.len());
    }
    // A backup has it, and what is changed behind it is not in there.
    let facility = place.installation.facility();
    facility.chain_write(&label, &two).unwrap();
    place.done(&["backup", "copy"]);
    facility.chain_write(&label, &one).unwrap();
    place.done(&["backup", "--verify", "copy"]);
    drop(facility);
    let home = place.folder.path("restored");
    let restored = |arguments: &[&str]| {
        let mut command = Command::new(system_tests::program("cryptand"));
        command.current_dir(place.folder.path("")).arg("--home").arg(&home);
        let (is_done, said) = output(command.args(arguments), b"");
        assert!(is_done, "{arguments:?}: {said}");
        said
    };
    restored(&["restore", "copy", "--yes"]);
    restored(&["serve", "--background"]);
    let shown = restored(&["cert", "show", LABEL]);
    assert!(shown.contains("two.test") && shown.contains("certificate    2"), "{shown}");
    restored(&["stop"]);
}
