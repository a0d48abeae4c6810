//! docs/reference/settings.md shows each settings file as the programs write or install it.

use home::{Programs, Settings};
use std::fs;
use std::path::{Path, PathBuf};

const BEGINNING: &str = "\
# Settings

Generated from the files themselves. Each is its own manual: it has every option with its unit, its default and its danger.

| file | whose | read |
|---|---|---|
| [`settings.toml`](#settingstoml-of-a-home) in a home | the home's; `cryptand init` writes it | at the start, and by `cryptand reload` |
| [`/etc/cryptand/service.toml`](#servicetoml-of-a-system-service) | root's; the package installs it | when a program of the service starts |
| [`/etc/cryptand/tls.toml`](#tlstoml-of-cryptand-tls-serve), or another name | of who runs `cryptand tls serve FILE` | at the start, at SIGHUP and, where it says so, when it changes |

IPsec has no file of settings: a data plane has the options of `cryptand ipsec up`, and its policies are those of the IKE daemon ([ipsec-guide.md](../start/ipsec-guide.md)).
Which home a command means, and which level it runs at, is said by options and by the environment ([operations.md](operations.md)).

";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let programs = Programs {
        daemon: "/usr/libexec/cryptand/cryptand-daemon".into(),
        card: "/usr/libexec/cryptand/cryptand-card".into(),
        manifest: Some("/usr/libexec/cryptand/manifest.sha256".into()),
    };
    let home = Settings::new(programs).to_text().unwrap();
    let service = read("packaging/service.toml").replace("@PREFIX@", "/usr");
    let tls = read("crates/terminator/src/settings/manual.toml");
    let mut page = BEGINNING.to_owned();
    for (heading, file) in [
        ("settings.toml of a home", home),
        ("service.toml of a system service", service),
        ("tls.toml of cryptand tls serve", tls),
    ] {
        page += &format!("## {heading}\n\n```toml\n{}\n```\n\n", file.trim_end());
    }
    page.truncate(page.trim_end().len());
    page + "\n"
}

#[test]
fn the_page_of_settings_is_that_of_the_files() {
    needs::assert_committed(
        &root().join("docs/reference/settings.md"),
        &page(),
        "-p cryptand-home --test all",
    );
}
