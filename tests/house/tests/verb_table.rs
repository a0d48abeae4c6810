//! docs/verbs.md is made from the verb table; this holds them together.
//! `CRYPTAND_BLESS=1 cargo test --release -p house-tests` writes it anew.

use house_tests::root;
use std::fmt::Write as _;
use std::fs;
use wire::verb::{Class, Direction, Kind, Length, Place, TABLE};

#[test]
fn the_page_of_verbs_is_that_of_the_table() {
    let path = root().join("docs/verbs.md");
    let expected = page();
    if std::env::var_os("CRYPTAND_BLESS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/verbs.md is not what the verb table says; CRYPTAND_BLESS=1 writes it anew"
    );
}

fn page() -> String {
    let mut text = String::from(
        "# Verbs\n\nMade from the verb table (`crates/wire/src/verb.rs`). Parameters stand after `return_code`, `reason_code`,\n\
         `exit_data_length` and `exit_data`; `in`, `out` and `in/out` are seen from the verb. A *pure* verb may be sent again\n\
         when the card that took it died; a *once* verb never is. *Audited* marks what belongs into an audit log.\n\n",
    );
    for entry in TABLE {
        let class = if entry.class == Class::Pure { "pure" } else { "once" };
        let place = match entry.place {
            Place::Coprocessor => "coprocessor",
            Place::AnyCard => "any card",
            Place::Daemon => "daemon",
        };
        let audited = if entry.audited { ", audited" } else { "" };
        let entry_point = if entry.entry_point.is_empty() { "no CCA entry point" } else { entry.entry_point };
        let _ = writeln!(text, "## {}\n\n{entry_point}; {class}; served by: {place}{audited}.\n", entry.name);
        if entry.parameters.is_empty() {
            text.push_str("No parameters.\n\n");
            continue;
        }
        text.push_str("| parameter | | what |\n|---|---|---|\n");
        for parameter in entry.parameters {
            let direction = match parameter.direction {
                Direction::In => "in",
                Direction::InOut => "in/out",
                Direction::Out => "out",
            };
            let name_at = |position: usize| entry.parameters[position].name;
            let length = |length: Length| match length {
                Length::Fixed(bytes) => format!("{bytes} bytes"),
                Length::By(position) => format!("`{}` bytes", name_at(position)),
                Length::UpTo(bytes) => format!("up to {bytes} bytes"),
            };
            let what = match parameter.kind {
                Kind::Integer => "integer".to_owned(),
                Kind::Bytes(of) => length(of),
                Kind::Key(of) => format!("key token or label, {}", length(of)),
                Kind::Keywords(count) => format!("`{}` keywords of 8 bytes", name_at(count)),
            };
            let _ = writeln!(text, "| {} | {direction} | {what} |", parameter.name);
        }
        text.push('\n');
    }
    text
}
