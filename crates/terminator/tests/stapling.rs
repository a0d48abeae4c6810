//! OCSP responses: made by OpenSSL's responder, shown to clients that ask.

use crate::support::{Folder, PATIENCE, ecdsa, output, path_text, program, rsa};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

const SETTINGS: &str = "\
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
ocsp = \"one.ocsp\"
[[listener]]
address = \"127.0.0.1:0\"
answer = \"served\\n\"
";

/// An authority in a folder, and what it certified.
struct Authority {
    folder: Folder,
}

impl Authority {
    fn new() -> Self {
        let folder = Folder::new();
        folder.write("ca.key", ecdsa().private_key_to_pem_pkcs8().unwrap());
        let this = Self { folder };
        this.openssl(&[
            "req",
            "-x509",
            "-new",
            "-key",
            "ca.key",
            "-subj",
            "/CN=authority",
            "-days",
            "30",
            "-out",
            "ca.pem",
        ]);
        this
    }

    fn openssl(&self, arguments: &[&str]) -> String {
        let (is_done, said) =
            output(Command::new("openssl").args(arguments).current_dir(self.folder.path("")), b"");
        assert!(is_done, "{arguments:?}: {said}");
        said
    }

    /// Certifies a key: NAME.pem is the chain, with the authority's certificate behind it where that is wanted.
    fn certify(&self, name: &str, serial: &str, more: &[&str], is_with_issuer: bool) {
        let key = if name == "rsa" { rsa() } else { ecdsa() };
        let file = |end: &str| format!("{name}.{end}");
        self.folder.write(&file("key"), key.private_key_to_pem_pkcs8().unwrap());
        let (key, request, leaf) = (file("key"), file("csr"), file("leaf"));
        let names = "subjectAltName=DNS:one.test";
        let request_words =
            ["req", "-new", "-key", &key, "-subj", "/CN=one.test", "-addext", names, "-out", &request];
        self.openssl(&[&request_words[..], more].concat());
        self.openssl(&[
            "x509",
            "-req",
            "-in",
            &request,
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-set_serial",
            serial,
            "-copy_extensions",
            "copy",
            "-days",
            "30",
            "-out",
            &leaf,
        ]);
        let mut chain = std::fs::read(self.folder.path(&leaf)).unwrap();
        if is_with_issuer {
            chain.extend(std::fs::read(self.folder.path("ca.pem")).unwrap());
        }
        self.folder.write(&file("pem"), chain);
    }

    /// The responder's word on a certificate, by its list of all.
    fn respond(&self, name: &str, list: &str, to: &str, hash: &str) {
        self.folder.write("index.txt", list);
        let leaf = format!("{name}.leaf");
        self.openssl(&["ocsp", hash, "-issuer", "ca.pem", "-cert", &leaf, "-reqout", "request", "-no_nonce"]);
        self.openssl(&[
            "ocsp",
            "-index",
            "index.txt",
            "-CA",
            "ca.pem",
            "-rsigner",
            "ca.pem",
            "-rkey",
            "ca.key",
            "-reqin",
            "request",
            "-respout",
            to,
            "-ndays",
            "5",
        ]);
    }

    /// Replaces the end of a response's time, which is the last of its three; nobody but clients looks at its
    /// signature.
    fn ends(&self, name: &str, time: &str) {
        let path = self.folder.path(name);
        let mut der = std::fs::read(&path).unwrap();
        let times: Vec<usize> =
            (0..der.len() - 17).filter(|at| der[*at..].starts_with(&[0x18, 15, b'2', b'0'])).collect();
        let at = times[2] + 2;
        der[at..at + 15].copy_from_slice(time.as_bytes());
        std::fs::write(path, der).unwrap();
    }

    fn check(&self) -> (bool, String) {
        let file: PathBuf = self.folder.path("tls.toml");
        output(Command::new(program()).args(["serve", "--check-config"]).arg(file), b"")
    }
}

const GOOD: &str = "V\t401231235959Z\t\t1234\tunknown\t/CN=one.test\n";

/// What OpenSSL's client sees of a response.
fn seen(port: u16, version: &str, more: &[&str]) -> String {
    let connect = format!("127.0.0.1:{port}");
    let words = ["s_client", "-connect", &connect, "-servername", "one.test", version];
    output(Command::new("openssl").args(words).args(more), b"").1
}

#[test]
fn clients_that_ask_get_the_response_and_others_do_not() {
    let authority = Authority::new();
    authority.certify("one", "0x1234", &[], false);
    authority.certify("rsa", "0x1235", &[], true);
    // The one that curl reads is SHA-1.
    authority.respond("one", GOOD, "one.ocsp", "-sha256");
    authority.respond("rsa", &GOOD.replace("1234", "1235"), "rsa.ocsp", "-sha1");
    let both = SETTINGS.replace(
        "[[listener]]",
        "[[certificate]]\nchain = \"rsa.pem\"\nkey = \"rsa.key\"\nocsp = \"rsa.ocsp\"\n[[listener]]",
    );
    let server = authority.folder.serve(&both);
    let port = server.address().port();
    let trusted = authority.folder.path("ca.pem");
    for version in ["-tls1_2", "-tls1_3"] {
        for (kind, serial) in [("ECDSA+SHA256", "1234"), ("RSA-PSS+SHA256:RSA+SHA256", "1235")] {
            let more = ["-status", "-sigalgs", kind, "-CAfile", path_text(&trusted), "-verify_return_error"];
            let said = seen(port, version, &more);
            assert!(said.contains("OCSP Response Status: successful"), "{version} {kind}: {said}");
            assert!(
                said.contains("Cert Status: good") && said.contains(&format!("Serial Number: {serial}")),
                "{said}"
            );
        }
        assert!(!seen(port, version, &[]).contains("OCSP Response Status"));
    }
    // Curl verifies the response, too, for the certificate of the RSA key.
    let (is_done, said) = output(
        Command::new("curl")
            .args(["--tls-max", "1.2", "--ciphers", "ECDHE-RSA-AES128-GCM-SHA256"])
            .args(["--cert-status", "--silent", "--show-error", "--resolve"])
            .arg(format!("one.test:{port}:127.0.0.1"))
            .arg("--cacert")
            .arg(&trusted)
            .arg(format!("https://one.test:{port}/")),
        b"",
    );
    assert!(is_done && said == "served\n", "{said}");
    // Another response is read at a reload.
    authority.respond("one", GOOD, "one.ocsp", "-sha256");
    authority.ends("one.ocsp", "20391231235959Z");
    server.reload();
    let said = seen(port, "-tls1_3", &["-status", "-sigalgs", "ECDSA+SHA256"]);
    assert!(said.contains("Next Update: Dec 31 23:59:59 2039"), "{said}");
    assert!(!server.said().contains("warning"), "{}", server.said());
    drop(server);
}

#[test]
fn a_response_whose_time_ends_is_shown_no_more() {
    let authority = Authority::new();
    authority.certify("one", "0x1234", &["-addext", "tlsfeature=status_request"], true);
    authority.respond("one", GOOD, "one.ocsp", "-sha1");
    let soon =
        Command::new("date").args(["-u", "-d", "2 seconds", "+%Y%m%d%H%M%SZ"]).output().unwrap().stdout;
    authority.ends("one.ocsp", String::from_utf8(soon).unwrap().trim());
    let server = authority.folder.serve(SETTINGS);
    let began = Instant::now();
    while !server.said().contains("one.ocsp: not shown: its time is over") {
        assert!(began.elapsed() < PATIENCE, "{}", server.said());
        std::thread::sleep(Duration::from_millis(50));
    }
    // Every loop has taken it on when the reload that follows is over.
    server.reload();
    let said = seen(server.address().port(), "-tls1_3", &["-status"]);
    assert!(said.contains("OCSP response: no response sent"), "{said}");
    drop(server);
}

#[test]
fn responses_that_help_no_client_are_left_out_with_a_warning() {
    let authority = Authority::new();
    authority.certify("one", "0x1234", &["-addext", "tlsfeature=status_request"], true);
    authority.folder.settings(SETTINGS);
    let warned = |cause: &str| {
        let (is_good, said) = authority.check();
        let expected = format!("one.ocsp: not shown: {cause}, and clients want one (must-staple)");
        assert!(is_good && said.contains("warning: ") && said.contains(&expected), "{expected}\n{said}");
    };
    authority.respond(
        "one",
        "R\t401231235959Z\t250101000000Z\t1234\tunknown\t/CN=one.test\n",
        "one.ocsp",
        "-sha1",
    );
    warned("it says that the certificate is revoked");
    authority.respond("one", &GOOD.replace("1234", "77"), "one.ocsp", "-sha1");
    warned("the responder does not know the certificate");
    authority.respond("one", GOOD, "one.ocsp", "-sha1");
    authority.ends("one.ocsp", "20200101000000Z");
    warned("its time is over");
    authority.folder.write("one.ocsp", [0x30, 3, 0x0a, 1, 3]);
    warned("the responder had no answer (try later)");
    authority.folder.settings(&SETTINGS.replace("ocsp = \"one.ocsp\"\n", ""));
    let (is_good, said) = authority.check();
    assert!(
        is_good && said.contains("warning: ") && said.contains("one.pem: clients want an OCSP response"),
        "{said}"
    );
}

#[test]
fn responses_that_are_none_or_of_others_are_refused_with_file_line_and_key() {
    let authority = Authority::new();
    authority.certify("one", "0x1234", &[], true);
    authority.certify("two", "0x1234", &[], false);
    let other = Authority::new();
    other.certify("one", "0x1234", &[], true);
    other.respond("one", GOOD, "one.ocsp", "-sha1");
    authority.folder.settings(SETTINGS);
    let line = std::fs::read_to_string(authority.folder.path("tls.toml")).unwrap();
    let line = line.lines().position(|line| line.starts_with("ocsp")).unwrap() + 1;
    let refused = |cause: &str| {
        let (is_good, said) = authority.check();
        let expected = format!("tls.toml, line {line}, ocsp: ");
        assert!(!is_good && said.contains(&expected) && said.contains(cause), "{expected}{cause}\n{said}");
    };
    refused("one.ocsp: cannot be opened");
    // Of an authority of the same name with another key.
    std::fs::copy(other.folder.path("one.ocsp"), authority.folder.path("one.ocsp")).unwrap();
    refused("one.ocsp: it is of another certificate");
    authority.certify("one", "0x1235", &[], true);
    authority.respond("two", GOOD, "one.ocsp", "-sha1");
    refused("one.ocsp: it is of another certificate");
    let good = std::fs::read(authority.folder.path("one.ocsp")).unwrap();
    for end in [0, 1, 10, good.len() / 2, good.len() - 1] {
        authority.folder.write("one.ocsp", &good[..end]);
        refused("one.ocsp: it is no OCSP response");
    }
    authority.folder.write("one.ocsp", vec![0; 70_000]);
    refused("one.ocsp: is longer than 65536 bytes");
    // At a reload all goes on as before.
    authority.folder.write("one.ocsp", &good);
    authority.certify("one", "0x1234", &[], true);
    let server = authority.folder.serve(SETTINGS);
    authority.folder.write("one.ocsp", "text");
    server.reload();
    assert!(server.said().contains("not reloaded, all goes on as before"), "{}", server.said());
    let said = seen(server.address().port(), "-tls1_3", &["-status"]);
    assert!(said.contains("Cert Status: good"), "{said}");
    drop(server);
}
