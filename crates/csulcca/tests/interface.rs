//! What the library exports is what its header declares, and what the rows of the verb table take.

use csulcca::{PROTOTYPES, REFUSED};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use wire::verb::{Entry, Executor, Kind, TABLE};

/// The tests here, for who runs them alone.
const BLESSED_BY: &str = "-p csulcca --test all interface";
/// Longest line of the header.
const COLUMNS: usize = 118;
/// What the library asks of whoever loads it, and does without: nothing but what the C library and the start of every
/// program have.
const WEAK: [&str; 4] =
    ["_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__cxa_finalize", "__gmon_start__"];

fn library() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().join("libcsulcca.so")
}

/// Name and kind of a parameter: whether it is a `long`.
type Declared = (&'static str, bool);

fn parameters(entry: &Entry) -> Vec<Declared> {
    entry.parameters.iter().map(|parameter| (parameter.name, parameter.kind == Kind::Integer)).collect()
}

#[test]
fn names_have_the_parameters_of_their_rows() {
    for entry in TABLE.iter().filter(|entry| !entry.entry_point.is_empty()) {
        let named = PROTOTYPES.iter().find(|prototype| prototype.name == entry.entry_point);
        let named = named.unwrap_or_else(|| panic!("src/names.rs lacks {}", entry.entry_point));
        let kinds =
            |parameters: &[Declared]| parameters.iter().map(|(_, is_long)| *is_long).collect::<Vec<_>>();
        assert_eq!(kinds(&parameters(entry)), kinds(named.parameters), "{}", entry.entry_point);
    }
}

#[test]
fn the_header_declares_what_is_exported() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/csulincl.h");
    let made = header();
    needs::assert_committed(&path, &made, BLESSED_BY);
    let flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x", "c"];
    let output = Command::new("cc").args(flags).arg(&path).output().expect("cc can be executed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Whether a function is refused.
fn is_refused(name: &str) -> bool {
    let prototype = PROTOTYPES.iter().find(|prototype| prototype.name == name);
    prototype.is_some_and(|prototype| !prototype.is_local && Entry::of_entry_point(name).is_none())
}

#[test]
fn every_function_that_is_refused_has_a_reason() {
    let reasons: Vec<&str> = REFUSED.iter().flat_map(|(_, names)| *names).copied().collect();
    for prototype in PROTOTYPES.iter().filter(|prototype| is_refused(prototype.name)) {
        let stated = reasons.iter().filter(|name| **name == prototype.name).count();
        assert_eq!(stated, 1, "src/refused.rs states for {} no reason, or two", prototype.name);
    }
    for name in reasons {
        assert!(is_refused(name), "src/refused.rs: {name} is not refused");
    }
}

/// What the list of functions in the guide begins with; it ends with the page.
const FUNCTIONS: &str = "## The functions\n";

#[test]
fn the_guide_lists_every_function() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/c-library.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let before = page.split_once(FUNCTIONS).map_or(page.as_str(), |(before, _)| before);
    needs::assert_committed(&path, &format!("{before}{}", functions()), BLESSED_BY);
}

fn functions() -> String {
    let executor = |name: &str| Entry::of_entry_point(name).map(|entry| entry.executor);
    let list = |is_one: &dyn Fn(&str) -> bool| {
        let names = PROTOTYPES.iter().map(|prototype| prototype.name).filter(|name| is_one(name));
        names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
    };
    let own: Vec<&str> =
        PROTOTYPES.iter().filter(|prototype| prototype.is_local).map(|prototype| prototype.name).collect();
    let mut text = format!(
        "{FUNCTIONS}\nGenerated from the list of names and from the verb table (`CRYPTAND_BLESS=1 cargo test --release -p csulcca`). [verbs.md](verbs.md) has\n\
         parameters and keywords of those that are served.\n\n| | functions |\n|---|---|\n"
    );
    let rows = [
        (
            "served by a card",
            list(&|name| matches!(executor(name), Some(Executor::Coprocessor | Executor::AnyCard))),
        ),
        ("served by the daemon", list(&|name| executor(name) == Some(Executor::Daemon))),
        ("answered by the library itself", list(&|name| own.contains(&name))),
    ];
    for (what, names) in rows {
        let _ = writeln!(text, "| {what} | {names} |");
    }
    for (why, names) in REFUSED {
        let _ = writeln!(text, "| 8/713: {why} | {} |", list(&|name| names.contains(&name)));
    }
    text
}

fn header() -> String {
    let mut text = "\
/* csulincl.h: what libcsulcca.so exports.
 *
 * Every parameter is a pointer. A long has 64 bits. A null pointer is refused with return code 8, reason code 184, unless
 * docs/reference/verbs.md says that it may be null; exit_data_length and exit_data are not looked at.
 */
#ifndef CSULINCL_H
#define CSULINCL_H

#ifdef __cplusplus
extern \"C\" {
#endif

/* Served: docs/reference/verbs.md has directions, lengths and keywords under the name that stands above each. */
"
    .to_owned();
    let row = |name: &str| Entry::of_entry_point(name);
    for prototype in PROTOTYPES {
        if let Some(entry) = row(prototype.name) {
            let _ =
                write!(text, "\n/* {} */\n{}", entry.name, declaration(prototype.name, &parameters(entry)));
        }
    }
    text.push_str("\n/* Answered by the library itself. */\n");
    for prototype in PROTOTYPES.iter().filter(|prototype| prototype.is_local) {
        text.push_str(&declaration(prototype.name, prototype.parameters));
    }
    text.push_str("\n/* Not served: return code 8, reason code 713, and nothing else is looked at. */\n");
    for prototype in PROTOTYPES {
        if row(prototype.name).is_none() && !prototype.is_local {
            text.push_str(&declaration(prototype.name, prototype.parameters));
        }
    }
    text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
}

fn declaration(name: &str, parameters: &[Declared]) -> String {
    let common =
        [("return_code", true), ("reason_code", true), ("exit_data_length", true), ("exit_data", false)];
    let mut text = format!("void {name}(");
    let mut line = text.len();
    let all = common.iter().chain(parameters);
    let count = common.len() + parameters.len();
    for (position, (name, is_long)) in all.enumerate() {
        let kind = if *is_long { "long" } else { "unsigned char" };
        let end = if position + 1 == count { ");\n" } else { "," };
        let parameter = format!("{kind} *{name}{end}");
        if line + 1 + parameter.len() > COLUMNS {
            text.push_str("\n    ");
            line = 4;
        } else if position > 0 {
            text.push(' ');
            line += 1;
        }
        line += parameter.len();
        text.push_str(&parameter);
    }
    text
}

/// Names of dynamic symbols of the library, as `nm` lists them.
fn symbols(option: &str, kinds: &[&str]) -> BTreeSet<String> {
    let output = Command::new("nm").args(["-D", option]).arg(library()).output().expect("nm can be executed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().map(|line| line.split_whitespace().rev().take(2).collect::<Vec<_>>());
    let wanted = rows.filter(|row| kinds.is_empty() || kinds.contains(&row[1]));
    wanted.map(|row| row[0].to_owned()).collect()
}

#[test]
fn these_names_are_exported_and_no_other() {
    let names: BTreeSet<String> = PROTOTYPES.iter().map(|prototype| prototype.name.to_owned()).collect();
    assert_eq!(names.len(), 151);
    assert_eq!(symbols("--defined-only", &[]), names);
}

#[test]
fn it_stays_in_memory_once_it_is_loaded() {
    let output = Command::new("readelf").arg("-dW").arg(library()).output().expect("readelf can be executed");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("NODELETE") && text.contains("[libcsulcca.so]"), "{text}");
}

// A weak symbol that is not defined is whatever the host has under that name.
#[test]
fn no_weak_symbol_is_left_to_the_host() {
    let weak = symbols("--undefined-only", &["w", "v"]);
    // Those of the C library have its version.
    let left: Vec<_> = weak.iter().filter(|name| !name.contains("@GLIBC")).collect();
    assert!(left.iter().all(|name| WEAK.contains(&name.as_str())), "{left:?}");
}
