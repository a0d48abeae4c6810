//! What `make install` puts down is a whole installation, and `make uninstall` takes all of it away.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// An installation in a folder of its own, and a home beside it.
struct Installation {
    base: tempfile::TempDir,
}

impl Installation {
    fn prefix(&self) -> PathBuf {
        self.base.path().join("prefix")
    }

    fn script(&self, what: &str) {
        let bin = Path::new(env!("CARGO_BIN_EXE_cryptand")).parent().unwrap();
        let output = Command::new("scripts/install")
            .args(["", self.prefix().to_str().unwrap(), what])
            .env("BIN", bin)
            .env("USERS", "no")
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn cryptand(&self, arguments: &[&str]) -> Output {
        Command::new(self.prefix().join("bin/cryptand"))
            .arg("--home")
            .arg(self.base.path().join("home"))
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.cryptand(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        // Where the test ended early: what it left running ends.
        if self.prefix().join("bin/cryptand").exists() {
            let _ = self.cryptand(&["stop"]);
        }
    }
}

/// Bytes of all files below a folder.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let sizes = entries.map(|entry| match entry.file_type().unwrap().is_dir() {
        true => size_of(&entry.path()),
        false => entry.metadata().unwrap().len(),
    });
    sizes.sum()
}

#[test]
fn what_is_installed_serves_and_goes_without_a_trace() {
    let installation = Installation { base: tempfile::tempdir().unwrap() };
    installation.script("install");
    installation.succeeds(&["init", "--insecure-dev"]);
    installation.succeeds(&["serve", "--background"]);
    let status = installation.succeeds(&["status"]);
    assert!(status.contains("matches the installed manifest"), "{status}");
    // What measures is a program of its own.
    let measured = installation.succeeds(&["speed", "sha256", "--seconds", "0.002"]);
    assert_eq!(measured.lines().count(), 7, "{measured}");
    installation.succeeds(&["stop"]);
    // So is what terminates TLS.
    let manual = installation.succeeds(&["tls", "settings"]);
    assert!(manual.contains("[[listener]]"), "{manual}");

    for unit in [
        "cryptand",
        "cryptand-keeper",
        "cryptand-launcher",
        "cryptand-metrics",
        "cryptand-tls",
        "cryptand-esp",
    ] {
        let path = installation.prefix().join("lib/systemd/system").join(unit).with_extension("service");
        let unit = fs::read_to_string(path).unwrap();
        assert!(unit.contains(&format!("ExecStart={}/", installation.prefix().display())), "{unit}");
    }

    // And what seals packets.
    let checked = installation.succeeds(&["ipsec", "check"]);
    assert!(checked.contains("a data plane      does not serve"), "{checked}");
    let drop_in = installation.prefix().join("share/doc/cryptand/ipsec/ike.conf");
    let library = installation.prefix().join("lib/libcryptand-xfrm.so");
    assert!(fs::read_to_string(drop_in).unwrap().contains(&format!("LD_PRELOAD={}\n", library.display())));

    for file in [
        "share/cryptand/acme/renew",
        "share/cryptand/prometheus/cryptand.rules.yml",
        "share/cryptand/grafana/cryptand.json",
        "share/cryptand/grafana/cryptand-ipsec.json",
        "share/man/man1/cryptand-health.1",
        "share/man/man1/cryptand-sop.1",
        "share/man/man5/cryptand-settings.5",
        "share/man/man5/cryptand-tls-settings.5",
        "share/man/man5/cryptand-service-settings.5",
        "share/doc/cryptand/README.md",
        "share/doc/cryptand/SECURITY.md",
        "share/doc/cryptand/reference/exit-codes.md",
        "share/doc/cryptand/tls.toml",
        "lib/systemd/system/cryptand-tls.socket",
        "share/man/man8/cryptand-daemon.8",
        "share/man/man3/libcsulcca.3",
        "lib/libcsulcca.so",
        "lib/pkgconfig/csulcca.pc",
        "include/cryptand/csulincl.h",
        "lib/libcryptand-offload.so.1",
        "lib/libcryptand-offload.so",
        "lib/pkgconfig/cryptand-offload.pc",
        "include/cryptand/cryptand-offload.h",
        "lib/tmpfiles.d/cryptand.conf",
        "lib/libcryptand-xfrm.so",
        "libexec/cryptand/cryptand-esp-worker",
        "share/doc/cryptand/ipsec/apparmor.charon",
        "share/man/man1/cryptand-ipsec.1",
    ] {
        assert!(installation.prefix().join(file).is_file(), "{file}");
    }
    let page = installation.succeeds(&["help", "exit-codes"]);
    assert!(page.starts_with("# Exit codes\n"), "{page}");
    // Programs, pages and all: without debugging information.
    let bytes = size_of(&installation.prefix());
    assert!(bytes < 94_000_000, "{bytes} bytes are installed");

    let command = fs::metadata(installation.prefix().join("bin/cryptand")).unwrap().len();
    assert!(command < 15_000_000, "cryptand takes {command} bytes");

    let notices = fs::read_to_string(installation.prefix().join("share/doc/cryptand/NOTICES")).unwrap();
    for library in ["aws-lc-sys", "libsqlite3-sys", "pgp"] {
        assert!(notices.contains(&format!("\n{library} ")), "{library} is not among the notices");
    }

    let card = installation.prefix().join("libexec/cryptand/cryptand-card");
    let mut changed = fs::read(&card).unwrap();
    changed.push(0);
    fs::remove_file(&card).unwrap();
    fs::write(&card, changed).unwrap();
    let refused = installation.cryptand(&["serve", "--background"]);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && error.contains("not the program that was installed"), "{error}");

    installation.script("uninstall");
    assert!(!installation.prefix().exists() || fs::read_dir(installation.prefix()).unwrap().next().is_none());
}
