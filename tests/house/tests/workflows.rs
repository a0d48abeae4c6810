//! What hosted runners do is what a person's commands do: every piece of `make test` has a job, and every piece of
//! `scripts/test-all`; a tag is built by `make release`.

use house_tests::{root, sources};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The recipe of a target of the Makefile.
fn recipe(makefile: &str, target: &str) -> String {
    let head = format!("\n{target}: ");
    let (_, rest) = makefile.split_once(&head).unwrap_or_else(|| panic!("no target {target}"));
    rest.lines().skip(1).take_while(|line| line.starts_with('\t')).collect::<Vec<_>>().join("\n")
}

/// The targets that the jobs of a workflow make.
fn made(workflow: &str) -> BTreeSet<&str> {
    let rows = workflow.lines().map(str::trim_start).filter_map(|line| line.strip_prefix("- "));
    rows.filter(|row| !row.contains(':')).flat_map(|row| row.split(' ')).collect()
}

#[test]
fn the_jobs_of_a_change_make_all_that_make_test_does() {
    let (makefile, workflow) = (text("Makefile"), text(".github/workflows/ci.yml"));
    let made = made(&workflow);
    let test = recipe(&makefile, "test");
    let further = test.lines().find_map(|line| line.split_once("--no-print-directory ")).unwrap().1;
    for target in further.split(' ').chain(["test-rooms", "test-processes"]) {
        assert!(made.contains(target), "ci.yml makes no {target}: {made:?}");
        assert!(!recipe(&makefile, target).is_empty());
    }
    // The two halves are the whole workspace: one leaves out what the other names.
    assert!(test.contains("test --release --locked --workspace --no-fail-fast"));
    assert!(
        recipe(&makefile, "test-rooms")
            .contains("--workspace --no-fail-fast $(addprefix --exclude ,$(PROCESSES))")
    );
    assert!(recipe(&makefile, "test-processes").contains("$(addprefix -p ,$(PROCESSES))"));
    let (_, named) = makefile.split_once("PROCESSES := ").unwrap();
    let named = named.split("\nPROGRAMS_BUILT").next().unwrap().replace("\\\n", " ");
    let packages: BTreeSet<_> = ["crates", "tests"]
        .into_iter()
        .flat_map(|folder| sources(folder, "toml"))
        .filter_map(|source| Some(source.text.split_once("\nname = \"")?.1.split('"').next()?.to_owned()))
        .collect();
    for package in named.split_whitespace() {
        assert!(packages.contains(package), "PROCESSES names no package: {package}");
    }
}

#[test]
fn each_piece_of_the_long_runs_has_a_job_at_night() {
    let listed = Command::new(root().join("scripts/test-all")).arg("--list").output().unwrap();
    assert!(listed.status.success());
    let pieces = String::from_utf8(listed.stdout).unwrap();
    let workflow = text(".github/workflows/nightly.yml");
    let (_, row) = workflow.split_once("piece: [").unwrap();
    let named: Vec<_> = row.split(']').next().unwrap().split(", ").collect();
    assert_eq!(named, pieces.lines().collect::<Vec<_>>());
    let nonsense = Command::new(root().join("scripts/test-all")).arg("nonsense").output().unwrap();
    assert_eq!(nonsense.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nonsense.stderr).contains("no piece is called nonsense"));
}

#[test]
fn a_tag_is_built_as_a_release_is_by_hand_if_it_has_the_versions_name() {
    let workflow = text(".github/workflows/release.yml");
    let order = [
        "tags: [\"v*\"]",
        "= \"$GITHUB_REF_NAME\"",
        "make release ${key",
        "gh release create \"$GITHUB_REF_NAME\" --draft",
    ];
    let places: Vec<_> =
        order.iter().map(|step| workflow.find(step).unwrap_or_else(|| panic!("{step}"))).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(recipe(&text("Makefile"), "release").contains("scripts/release"));
    // Each part that `make test` has says that it begins.
    let listed = text("scripts/progress");
    let (_, parts) = listed.split_once("\nparts=(").unwrap();
    let makefile = text("Makefile");
    for part in parts.split(')').next().unwrap().split(' ') {
        assert_eq!(makefile.matches(&format!("\t@scripts/progress {part}\n")).count(), 1, "{part}");
    }
}
