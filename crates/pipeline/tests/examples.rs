//! The example that a newcomer starts from, as its user runs it.

use std::fs;
use std::process::Command;

#[test]
fn hello_file_encrypts_a_file_and_gives_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a");
    fs::write(&file, "what is said").unwrap();
    let own = std::env::current_exe().unwrap();
    let run = || {
        let mut example = Command::new(own.parent().unwrap().join("../examples/hello_file"));
        example.arg(&file).arg("correct horse").output().unwrap()
    };
    let output = run();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let sealed = fs::read(folder.path().join("a.pgp")).unwrap();
    assert!(!sealed.windows(4).any(|window| window == b"said"));
    assert_eq!(fs::read(folder.path().join("a.again")).unwrap(), b"what is said");
    // What is there is not replaced.
    let again = run();
    assert!(!again.status.success() && String::from_utf8_lossy(&again.stderr).contains("a.pgp"));
    assert_eq!(fs::read(folder.path().join("a.pgp")).unwrap(), sealed);
}
