//! The package by its own tests in Python, and beside the packages of other people.

use python_tests::{Package, cases, root};
use std::process::Output;
use system_tests::program;

fn check(output: &Output) {
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{error}");
}

#[test]
fn the_package_does_what_it_says() {
    check(&Package::new().run("package.py", &[]));
}

#[test]
fn keys_are_derived_and_blocks_of_iso_4_are_served() {
    check(&Package::new().run("derived.py", &[]));
}

#[test]
fn keys_come_and_go_in_key_blocks() {
    check(&Package::new().run("blocks.py", &[]));
}

#[test]
fn chip_cards_are_served() {
    check(&Package::new().run("chips.py", &[]));
}

#[test]
fn texts_keep_their_format() {
    check(&Package::new().run("texts.py", &[]));
}

#[test]
fn keys_macs_texts_and_signatures_are_those_of_cryptography() {
    check(&Package::new().run("data.py", &[]));
}

#[test]
fn the_page_of_a_day_does_what_it_says() {
    check(&Package::new().run("page.py", &[&root().join("docs/start/python-day.md").display().to_string()]));
}

#[test]
fn its_types_are_complete() {
    check(&Package::new().types());
}

#[test]
fn pins_and_card_values_are_those_of_psec() {
    check(&Package::new().run("psec_pins.py", &[&cases().to_string()]));
}

/// As many in `make test-all`: there the verbs are compared with the same programs, in `crates/cca`, in 100,000 cases.
#[test]
fn blocks_under_derived_keys_are_those_of_pydukpt_and_of_a_program_of_its_own() {
    check(&Package::new().run("derived_pins.py", &["10000"]));
}

/// As many in `make test-all`, for the same reason.
#[test]
fn key_blocks_are_those_of_psec() {
    check(&Package::new().run("psec_blocks.py", &["10000"]));
}

/// As many in `make test-all`: `tests/twins` compares the verbs in 100,000 cases of each kind.
#[test]
fn chip_cards_are_answered_as_by_pyemv() {
    check(&Package::new().run("pyemv_cards.py", &["10000"]));
}

/// As many in `make test-all`: the verbs are compared with the crate `fpe` in `crates/cca`, and the program here is
/// slow.
#[test]
fn ff1_is_that_of_a_program_of_its_own() {
    check(&Package::new().run("ff1.py", &["10000"]));
}

#[test]
fn c_python_and_the_command_answer_alike() {
    let header = root().join("crates/csulcca/include/csulincl.h");
    let files =
        [program("libcsulcca.so"), header, program("cryptand")].map(|path| path.display().to_string());
    check(&Package::new().run_uncounted("agreement.py", &files.each_ref().map(String::as_str)));
}

/// In long runs alone: `scripts/test-all` writes where Maven has jPOS, or names what it lacks.
#[test]
fn cards_pins_and_texts_are_those_of_jpos() {
    let classes = std::fs::read_to_string(root().join("target/jpos/classpath"));
    let (Some(_), Ok(classes)) = (std::env::var_os("CRYPTAND_TEST_ALL"), classes) else { return };
    let package = Package::new();
    let folder = package.folder().display().to_string();
    check(&package.run("jpos_cards.py", &[&cases().to_string(), classes.trim(), &folder]));
}
