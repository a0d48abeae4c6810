//! README.md's first block, as a visitor types it: the page shows what it prints.
//! Needs `cryptand-daemon` and `cryptand-card` beside the command, as `make test` builds them.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_first_block_prints_what_it_shows() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let page = fs::read_to_string(page).unwrap();
    let block: Vec<&str> = page
        .lines()
        .skip_while(|line| !line.starts_with("    $ "))
        .map_while(|line| line.strip_prefix("    "))
        .collect();
    let folder = needs::short_folder();
    let programs = Path::new(env!("CARGO_BIN_EXE_cryptand")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let shell = |line: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(folder.path()).env("PATH", &path).env("HOME", folder.path());
        shell.env("CRYPTAND_HOME", folder.path().join("home")).output().unwrap()
    };
    let (mut shown, mut typed) = (Vec::new(), 0);
    for line in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
        let done = shell(line);
        shown.push(format!("$ {line}"));
        shown.extend(String::from_utf8_lossy(&done.stdout).lines().map(str::to_owned));
        typed += 1;
        if !done.status.success() {
            shell("cryptand stop");
            panic!("{line}: {}", String::from_utf8_lossy(&done.stderr));
        }
    }
    assert!(shell("cryptand stop").status.success());
    assert_eq!(shown, block);
    assert!((3..=4).contains(&typed) && block.len() > typed, "{block:?}");
}
