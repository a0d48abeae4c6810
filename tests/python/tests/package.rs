//! The package by its own tests in Python, and beside psec.

use std::process::Output;

use python_tests::{Package, cases};

fn check(output: &Output) {
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{error}");
}

#[test]
fn the_package_does_what_it_says() {
    check(&Package::new().run("package.py", &[]));
}

#[test]
fn its_types_are_complete() {
    check(&Package::new().types());
}

#[test]
fn pins_and_card_values_are_those_of_psec() {
    check(&Package::new().run("psec_pins.py", &[&cases().to_string()]));
}
