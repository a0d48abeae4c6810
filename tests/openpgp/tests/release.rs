//! What comes with a release: sums that are signed by our own OpenPGP and verified as the page says, by other programs
//! and by ours, and a bill of materials that names what the programs are made of.

use openpgp_tests::run::{Files, Finished, Run, program};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const SIGNER: &str = "Cryptand releases <releases@example.org>";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The commands of the page's chapter on verifying: with GnuPG, and with ours.
fn commands() -> [String; 2] {
    let page = fs::read_to_string(root().join("docs/project/release.md")).unwrap();
    let (_, chapter) = page.split_once("\n## Verify what was downloaded\n").unwrap();
    let blocks = chapter.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    blocks.collect::<Vec<_>>().try_into().unwrap()
}

/// A release's folder, with a key store beside it.
struct Place(Files);

impl Place {
    fn new() -> Self {
        let place = Self(Files::new());
        fs::create_dir(place.0.path("release")).unwrap();
        fs::create_dir(place.0.path("home")).unwrap();
        place.0.add("release/cryptand.tar", b"programs");
        place.0.add("release/NOTES.md", b"notes");
        place
    }

    fn run(&self, program: impl AsRef<std::ffi::OsStr>, arguments: &[&str], keyring: &str) -> Finished {
        let home = self.0.path("home");
        let run = Run::new(program).args(arguments).within(&self.0.path("release"));
        run.env("CRYPTAND_KEYRING", self.0.path(keyring)).env("HOME", &home).env("GNUPGHOME", home).finish()
    }

    /// Makes sums of the folder, signed by this key.
    fn sums(&self, key: &[&str]) -> Finished {
        let script = root().join("scripts/release");
        let bin = program("cryptand").parent().unwrap().to_owned();
        let run = Run::new(script).args(["--sums"]).arg(self.0.path("release")).args(key);
        run.env("BIN", bin)
            .env("CRYPTAND_KEYRING", self.0.path("keys"))
            .env("HOME", self.0.path("home"))
            .finish()
    }

    /// Runs commands of the page, as somebody else, with our programs where a shell finds them.
    fn follow(&self, commands: &str) -> Finished {
        let bin = program("cryptand").parent().unwrap().display().to_string();
        let text = format!("set -e\nPATH={bin}:$PATH\n{commands}");
        self.run("bash", &["-c", &text], "others")
    }
}

#[test]
fn sums_that_we_sign_are_verified_as_the_page_says_and_changed_files_are_told() {
    let place = Place::new();
    let generate = ["pgp", "generate", "--no-passphrase", SIGNER];
    place.run(program("cryptand"), &generate, "keys").output().unwrap();
    place.sums(&["releases@example.org"]).output().unwrap();
    let sums = String::from_utf8(place.0.read("release/SHA256SUMS").unwrap()).unwrap();
    let named: Vec<_> = sums.lines().map(|line| line.split_once("  ").unwrap().1).collect();
    assert_eq!(named, ["NOTES.md", "cryptand.tar"]);
    for commands in commands() {
        place.follow(&commands).output().unwrap();
    }
    // A file that is another one, then sums that fit it.
    place.0.add("release/cryptand.tar", b"other programs");
    let [gnupg, ours] = commands();
    for commands in [&gnupg, &ours] {
        let told = place.follow(commands);
        assert!(!told.status.success(), "{commands}");
        assert!(String::from_utf8_lossy(&told.output).contains("cryptand.tar: FAILED"), "{commands}");
    }
    place.0.add("release/SHA256SUMS", sums.replace(&sums[..8], "00000000").as_bytes());
    for commands in [gnupg, ours] {
        assert!(!place.follow(&commands).status.success(), "{commands}");
    }
}

#[test]
fn without_a_key_there_are_sums_and_no_signature_of_before() {
    let place = Place::new();
    place.0.add("release/SHA256SUMS.asc", b"of before");
    place.sums(&[]).output().unwrap();
    assert!(place.0.path("release/SHA256SUMS").exists() && !place.0.path("release/SHA256SUMS.asc").exists());
    assert!(!place.sums(&["nobody@example.org"]).status.success(), "a key that is not there");
}

#[test]
fn the_bill_of_materials_has_what_its_form_asks_for_and_each_crate_once() {
    let place = Files::new();
    let path = place.path("bom.json");
    let script = root().join("scripts/notices");
    Run::new(script).arg("--bom").arg(&path).finish().output().unwrap();
    let bill: Value = serde_json::from_slice(&place.read("bom.json").unwrap()).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    assert_eq!(bill["version"], 1);
    let serial = bill["serialNumber"].as_str().unwrap().strip_prefix("urn:uuid:").unwrap();
    assert_eq!(serial.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    let whole = &bill["metadata"]["component"];
    assert_eq!((&whole["name"], &whole["version"]), (&"cryptand".into(), &env!("CARGO_PKG_VERSION").into()));
    assert!(bill["metadata"]["timestamp"].as_str().unwrap().ends_with('Z'));

    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let field = |package: &str, name: &str| {
        let (_, rest) = package.split_once(&format!("\n{name} = \""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let locked: BTreeMap<_, _> = lock
        .split("[[package]]")
        .skip(1)
        .map(|package| ((field(package, "name"), field(package, "version")), field(package, "checksum")))
        .collect();
    let mut references = BTreeSet::from(["cryptand".to_owned()]);
    let components = bill["components"].as_array().unwrap();
    for component in components {
        let text = |name: &str| component[name].as_str().map(str::to_owned);
        assert_eq!(component["type"], "library");
        let source = locked.get(&(text("name"), text("version")));
        let sum = component["hashes"][0]["content"].as_str().map(str::to_owned);
        assert_eq!(source, Some(&sum), "{component}");
        assert_eq!(text("purl").is_some(), sum.is_some(), "{component}");
        assert!(
            component["licenses"][0]["expression"].as_str().is_some_and(|text| !text.is_empty()),
            "{component}"
        );
        assert!(references.insert(text("bom-ref").unwrap()), "{component} stands there twice");
    }
    let depends = bill["dependencies"].as_array().unwrap();
    assert_eq!(depends.len(), components.len() + 1, "each says what it depends on");
    for row in depends {
        let on = row["dependsOn"].as_array().unwrap().iter().chain([&row["ref"]]);
        assert!(on.map(|name| name.as_str().unwrap()).all(|name| references.contains(name)), "{row}");
    }
    for name in ["aws-lc-sys", "libsqlite3-sys", "pgp", "cryptand-engine"] {
        assert!(components.iter().any(|component| component["name"] == name), "{name} is in the programs");
    }
    for name in ["openssl", "proptest", "needs"] {
        assert!(components.iter().all(|component| component["name"] != name), "{name} is in tests alone");
    }
}
