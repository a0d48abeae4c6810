//! The unit of the system service: the program works under its list of system calls, with a label of a home, through a
//! reload.

#[path = "../../../tests/system/tests/unit.rs"]
mod packaged;

use crate::support::{Client, Folder, VERSIONS, ask, certificate, close, ecdsa, output};
use openssl::ssl::SslVersion;
use std::process::Command;
use system_tests::{Installation, program};

#[test]
fn the_program_works_under_the_calls_of_its_unit() {
    if !packaged::has_checker() {
        return;
    }
    let Some(filter) = packaged::filter("cryptand-tls.service") else { return };
    let installation = Installation::new(1, 0);
    let folder = Folder::new();
    let cryptand = |arguments: &[&str]| {
        let mut command = Command::new(program("cryptand"));
        let (is_done, said) =
            output(command.arg("--home").arg(installation.home.folder()).args(arguments), b"");
        assert!(is_done, "{said}");
        said
    };
    cryptand(&["key", "generate", "WEB.P256", "--type", "p256-sign"]);
    let pem = cryptand(&["key", "public-key", "WEB.P256", "--pem"]);
    let public = openssl::pkey::PKey::public_key_from_pem(pem.as_bytes()).unwrap();
    let made = certificate(&public, &ecdsa(), &["label.test"], [-1, 30]);
    folder.write("label.pem", made.to_pem().unwrap());
    folder.certify("file", &ecdsa(), &["file.test"]);
    let settings = format!(
        "
[home]
folder = \"{}\"
[[certificate]]
chain = \"label.pem\"
label = \"WEB.P256\"
[[certificate]]
chain = \"file.pem\"
key = \"file.key\"
[[listener]]
address = \"127.0.0.1:0\"
answer = \"served\\n\"
",
        installation.home.folder().display()
    );
    folder.settings(&settings);
    let mut command = packaged::under(&filter, &program("cryptand"));
    command.arg("tls");
    let server = folder.serve_as(command);
    for _ in 0..2 {
        for version in VERSIONS {
            for name in ["label.test", "file.test"] {
                let mut stream = Client::new(version).connect(server.address(), name).unwrap();
                assert_eq!(ask(&mut stream), "served\n");
                close(stream);
            }
        }
        server.reload();
    }
    let error = Client::new(SslVersion::TLS1_3).connect(server.address(), "other.test").unwrap_err();
    assert!(error.contains("unrecognized name"), "{error}");
    assert_eq!(server.stop().len(), 9);
}
