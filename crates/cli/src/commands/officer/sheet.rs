//! `cryptand master-key sheet`: the paper record of a ceremony, with patterns, places and lines to sign. It has no
//! secrets.

use super::{Keeper, cells, rows};
use crate::args::time;
use crate::failure::Failure;
use crate::output::{page, print};
use crate::session;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use wire::control::{Register, RegisterRow};

/// Registers on one page. With all else on it a page is no longer than A4 holds in 10 points, 66 lines of 80
/// characters.
const ROWS_OF_PAGE: usize = 16;
/// Title of the page for a browser.
const TITLE: &str = "Cryptand: master keys of a home";
/// Signature lines on the sheet.
const SIGNATURES: usize = 4;

/// The facts above the table.
struct Facts {
    home: String,
    machine: String,
    date: String,
    keeper: &'static str,
}

/// Prints the sheet of a home.
pub fn run(asked: Option<&Path>, keeper: &Keeper, html: bool) -> Result<(), Failure> {
    let (home, kept) = match keeper {
        Keeper::OfHome(_) => {
            let folder = session::home_folder(asked)?;
            let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
            (folder.display().to_string(), "a home of one user, who gave and unsealed them")
        }
        Keeper::OfService { home, .. } => {
            let home = home.as_ref().map_or("-".to_owned(), |home| home.display().to_string());
            (home, "a system service: first and last part came from two users")
        }
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let facts = Facts {
        home,
        machine: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        date: time::to_text(u32::try_from(now).unwrap_or(u32::MAX)),
        keeper: kept,
    };
    let text = text(&facts, &rows(keeper)?);
    if html { print(&page(TITLE, &text)) } else { print(&text) }
}

fn text(facts: &Facts, rows: &[RegisterRow]) -> String {
    let pages: Vec<&[RegisterRow]> = match rows {
        [] => vec![&[]],
        rows => rows.chunks(ROWS_OF_PAGE).collect(),
    };
    let mut text = String::new();
    for (index, rows) in pages.iter().enumerate() {
        if index > 0 {
            text.push('\x0C');
        }
        let number = format!("page {} of {}", index + 1, pages.len());
        let _ = writeln!(text, "{:<60}{number:>20}\n", "CRYPTAND: MASTER KEYS OF A HOME");
        for (name, value) in [
            ("home", facts.home.as_str()),
            ("machine", &facts.machine),
            ("date", &facts.date),
            ("program", concat!("cryptand ", env!("CARGO_PKG_VERSION"))),
            ("kept by", facts.keeper),
        ] {
            let _ = writeln!(text, "{name:<9}{value}");
        }
        text.push_str("\nVerification patterns; they reveal nothing of the keys. No part and no\npassphrase belongs on this sheet.\n\n");
        table(&mut text, rows);
    }
    signatures(&mut text);
    text
}

fn table(text: &mut String, rows: &[RegisterRow]) {
    let mut line = |cells: [&str; 7]| {
        let [domain, register, new, new_pattern, current, old, sealed] = cells;
        let line = format!("{domain:<4}{register:<6}{new:<8}{new_pattern:<17}{current:<17}{old:<17}{sealed}");
        text.push_str(line.trim_end());
        text.push('\n');
    };
    line(["dom", "reg", "new", "new key", "current key", "old key", "sealed"]);
    for cells in rows.iter().flat_map(cells) {
        line(cells.each_ref().map(String::as_str));
    }
    if rows.is_empty() {
        text.push_str("no master keys are loaded\n");
    }
}

fn signatures(text: &mut String) {
    text.push_str("\nPatterns of the parts, as each officer was shown them (domain ____):\n\n");
    for part in ["first part", "last part"] {
        let blank = |register| "_".repeat(if register == Register::Asym { 32 } else { 16 });
        let registers = Register::ALL.map(|register| format!("{} {}", register.name(), blank(register)));
        let _ = writeln!(
            text,
            "{part:<12}{}\n{:<12}{}\n",
            registers[..2].join("   "),
            "",
            registers[2..].join("   ")
        );
    }
    text.push_str("Where each part and the passphrase are kept, and who has access:\n\n");
    for _ in 0..2 {
        let _ = writeln!(text, "{}\n", "_".repeat(78));
    }
    let _ = writeln!(text, "{:<26}{:<18}{:<14}signature\n", "name", "role", "date");
    for _ in 0..SIGNATURES {
        let line = |length| "_".repeat(length);
        let _ = writeln!(text, "{:<26}{:<18}{:<14}{}\n", line(24), line(16), line(12), line(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::{MasterKeyPattern, NewState};

    #[test]
    fn every_page_fits_a4_and_every_register_is_on_one() {
        let facts = Facts {
            home: "/var/lib/cryptand/<home>".into(),
            machine: "vault".into(),
            date: time::to_text(0),
            keeper: "a system service: first and last part came from two users",
        };
        let row = |domain, register| RegisterRow {
            domain,
            register,
            new_state: NewState::Partial,
            new_pattern: None,
            current_pattern: Some(MasterKeyPattern::new(register, [domain as u8; 16])),
            old_pattern: Some(MasterKeyPattern::new(register, [0xAB; 16])),
            is_sealed: domain > 0,
        };
        for domains in [0, 1, 16] {
            let rows: Vec<_> =
                (0..domains).flat_map(|domain| Register::ALL.map(|register| row(domain, register))).collect();
            let text = text(&facts, &rows);
            for page in text.split('\x0C') {
                assert!(page.lines().count() <= 66, "{} lines", page.lines().count());
                assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
            }
            // The ASYM register's pattern takes two lines.
            assert_eq!(text.matches("ABABABABABABABAB").count(), rows.len() + domains as usize);
            assert_eq!(text.matches("signature").count(), 1);
            assert_eq!(text.contains("no master keys are loaded"), rows.is_empty());
        }
        let page = page(TITLE, &text(&facts, &[row(1, Register::Aes)]));
        assert!(page.contains("/&lt;home&gt;") && page.contains("size: A4"), "{}", *page);
    }
}
