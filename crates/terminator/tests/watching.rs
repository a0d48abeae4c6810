//! Files that change are read again, however they come: written, renamed, behind links.

use crate::support::{self, Client, Folder, Server, ecdsa, program, shown};
use openssl::ssl::SslVersion;
use openssl::x509::X509;
use std::fs;
use std::os::unix::fs::symlink;

const SETTINGS: &str = "
[reload]
watch = true
quiet_milliseconds = 50
[[certificate]]
chain = \"live/one.pem\"
key = \"live/one.key\"
[[listener]]
address = \"127.0.0.1:0\"
answer = \"served\\n\"
";

/// A new key and certificate below archive/, as NAME.pem and NAME.key.
fn issue(folder: &Folder, name: &str) -> X509 {
    folder.certify(&format!("archive/{name}"), &ecdsa(), &["one.test"])
}

/// Puts a link in place of what is there, at once.
fn link(folder: &Folder, target: &str, name: &str) {
    symlink(target, folder.path("live/new")).unwrap();
    fs::rename(folder.path("live/new"), folder.path(name)).unwrap();
}

fn folder() -> Folder {
    let folder = Folder::new();
    for name in ["archive", "live"] {
        fs::create_dir(folder.path(name)).unwrap();
    }
    folder
}

fn shows(server: &Server<'_>) -> X509 {
    let stream = Client::new(SslVersion::TLS1_3).connect(server.address(), "one.test").unwrap();
    X509::from_der(&shown(&stream)).unwrap()
}

/// Reloads until this certificate is shown: two files that change may be read between them, which is refused.
fn until_shown(server: &Server<'_>, certificate: &X509) {
    loop {
        server.reloaded();
        if server.said().lines().rfind(|line| line.contains("reloaded")).unwrap().contains(": reloaded ") {
            break;
        }
    }
    assert_eq!(&shows(server), certificate, "{}", server.said());
}

#[test]
fn links_that_lead_to_renewed_files_are_seen() {
    let folder = folder();
    let first = issue(&folder, "one1");
    for ending in ["pem", "key"] {
        symlink(format!("../archive/one1.{ending}"), folder.path(&format!("live/one.{ending}"))).unwrap();
    }
    let server = folder.serve(SETTINGS);
    assert_eq!(shows(&server), first);
    let second = issue(&folder, "one2");
    for ending in ["key", "pem"] {
        link(&folder, &format!("../archive/one2.{ending}"), &format!("live/one.{ending}"));
    }
    until_shown(&server, &second);
    // What the link leads to is written anew.
    let third = issue(&folder, "one2");
    until_shown(&server, &third);
    server.stop();
}

/// A user's inotify instances may all be taken.
#[test]
fn files_are_looked_at_where_the_system_tells_of_no_changes() {
    let Some(mut command) = needs::without_inotify() else { return };
    let folder = folder();
    let first = folder.certify("live/one", &ecdsa(), &["one.test"]);
    folder.settings(SETTINGS);
    command.arg(program());
    let server = folder.serve_as(command);
    assert!(server.said().contains("raise fs.inotify.max_user_instances"), "{}", server.said());
    assert_eq!(shows(&server), first);
    let second = folder.certify("live/one", &ecdsa(), &["one.test"]);
    until_shown(&server, &second);
    server.stop();
}

#[test]
fn what_is_half_there_changes_nothing_until_the_rest_has_come() {
    let folder = folder();
    let first = folder.certify("live/one", &ecdsa(), &["one.test"]);
    let server = folder.serve(SETTINGS);
    let key = ecdsa();
    let made = support::certificate(&support::public(&key), &key, &["one.test"], [-1, 30]);
    let pem = made.to_pem().unwrap();
    folder.write("live/one.pem", &pem[..pem.len() / 2]);
    server.reloaded();
    let said = server.said();
    assert!(
        said.contains("not reloaded, all goes on as before: ") && said.contains("live/one.pem: "),
        "{said}"
    );
    assert_eq!(shows(&server), first);
    // The chain is there, and its key not yet.
    folder.write("live/one.pem", &pem);
    server.reloaded();
    assert_eq!(shows(&server), first);
    folder.write("live/key.new", key.private_key_to_pem_pkcs8().unwrap());
    fs::rename(folder.path("live/key.new"), folder.path("live/one.key")).unwrap();
    until_shown(&server, &made);
    server.stop();
}

#[test]
fn the_settings_file_is_watched_and_other_files_are_not() {
    let folder = folder();
    folder.certify("live/one", &ecdsa(), &["one.test"]);
    let server = folder.serve(SETTINGS);
    folder.write("live/other", "x");
    folder.write("other", "x");
    fs::remove_file(folder.path("other")).unwrap();
    folder.settings(&SETTINGS.replace("served", "changed"));
    server.reloaded();
    assert_eq!(server.said().matches("files changed").count(), 1, "{}", server.said());
    let mut stream = Client::new(SslVersion::TLS1_3).connect(server.address(), "one.test").unwrap();
    while support::ask(&mut stream) != "changed\n" {
        // A loop may not have heard of it.
        stream = Client::new(SslVersion::TLS1_3).connect(server.address(), "one.test").unwrap();
    }
    support::close(stream);
    // It is taken away, and comes back; then nothing is watched any more.
    fs::rename(folder.path("tls.toml"), folder.path("tls.away")).unwrap();
    server.reloaded();
    assert!(server.said().contains("tls.toml: cannot be opened"), "{}", server.said());
    folder.settings(&SETTINGS.replace("watch = true", "watch = false"));
    server.reloaded();
    assert!(server.said().lines().any(|line| line.contains(": reloaded ")), "{}", server.said());
    server.stop();
}

#[test]
fn a_settings_file_behind_a_link_is_followed_past_one_that_cannot_be_read() {
    let folder = folder();
    let good = issue(&folder, "one1");
    fs::rename(folder.path("archive/one1.pem"), folder.path("live/one.pem")).unwrap();
    fs::rename(folder.path("archive/one1.key"), folder.path("live/one.key")).unwrap();
    folder.settings(SETTINGS);
    let text = fs::read_to_string(folder.path("tls.toml")).unwrap();
    for (name, text) in [("archive/first", text.as_str()), ("archive/broken", "no settings")] {
        // Paths in settings are those of the folder of the link.
        folder.write(name, text);
    }
    fs::remove_file(folder.path("tls.toml")).unwrap();
    symlink("archive/first", folder.path("tls.toml")).unwrap();
    let server = folder.serve_as(std::process::Command::new(program()));
    link(&folder, "archive/broken", "tls.toml");
    server.reloaded();
    assert!(server.said().contains("not reloaded"), "{}", server.said());
    // What the link leads to now is mended where it is.
    folder.write("archive/broken", &text);
    until_shown(&server, &good);
}
