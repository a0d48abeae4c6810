//! `cryptand key component`: a component of a key, drawn at random and printed with its check values on a sheet for the
//! one person who has it. Nothing of it is recorded: the person types it, by `cryptand key part`.

use super::sheet::{self, Algorithm};
use crate::args::{Component, time};
use crate::failure::Failure;
use crate::kind::TypedKind;
use crate::output::{page, print};
use crate::session;
use facility::keys::NamedKind;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};
use wire::Label;
use zeroize::Zeroizing;

/// Digits of a group, and groups of a line.
const GROUP_DIGITS: usize = 4;
const GROUPS: usize = 8;

/// Draws a component and prints its sheet.
pub fn run(typed: &Component) -> Result<(), Failure> {
    let label =
        Label::new(&typed.label).map_err(|error| Failure::Usage(format!("{}: {error}", typed.label)))?;
    let Component { part, of, .. } = *typed;
    if part > of {
        return Err(Failure::Usage(format!("--part {part}: the key has {of} components (--of)")));
    }
    let (name, bytes, algorithm) = of_kind(typed.kind)?;
    let component = drawn(algorithm, bytes)?;
    let text = text(&label, &name, typed, algorithm, &component)?;
    match typed.html {
        true => print(&page("Cryptand: component of a key", &text)),
        false => print(&text),
    }
}

/// Name, length in bytes and algorithm of a kind that is entered in parts.
fn of_kind(kind: TypedKind) -> Result<(String, usize, Algorithm), Failure> {
    let named = match kind {
        TypedKind::Payment(kind) => {
            let is_des = kind.name().starts_with("tdes");
            let algorithm = if is_des { Algorithm::Des } else { Algorithm::Aes };
            return Ok((format!("{}, {}", kind.name(), kind.means()), kind.key_bytes(), algorithm));
        }
        TypedKind::Cca(named) => named,
    };
    let algorithm = match named {
        NamedKind::Des(..) => Algorithm::Des,
        NamedKind::Aes(..) => Algorithm::Aes,
        NamedKind::Hmac(_) => Algorithm::Hmac,
        _ => return Err(Failure::Usage(format!("{}: such a key is not entered in parts", named.name()))),
    };
    Ok((named.name(), named.key_bytes().unwrap_or(0), algorithm))
}

/// Random bytes; of DES with odd parity, as sheets of partners have them.
fn drawn(algorithm: Algorithm, bytes: usize) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let mut component = Zeroizing::new(vec![0; bytes]);
    session::engine()?.random(&mut component);
    if algorithm == Algorithm::Des {
        for byte in component.iter_mut() {
            *byte = *byte & 0xFE | u8::from((*byte >> 1).count_ones().is_multiple_of(2));
        }
    }
    Ok(component)
}

fn text(
    label: &Label,
    kind: &str,
    typed: &Component,
    algorithm: Algorithm,
    component: &[u8],
) -> Result<Zeroizing<String>, Failure> {
    let Component { part, of, .. } = *typed;
    // Room for all, so that no copy of the component is left where a longer text was moved from.
    let mut text = Zeroizing::new(String::with_capacity(4096));
    let number = format!("component {part} of {of}");
    let _ = writeln!(text, "{:<60}{number:>20}\n", "CRYPTAND: COMPONENT OF A KEY");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    for (name, value) in [
        ("key", label.as_str()),
        ("kind", kind),
        ("date", &time::to_text(u32::try_from(now).unwrap_or(u32::MAX))),
        ("program", concat!("cryptand ", env!("CARGO_PKG_VERSION"))),
    ] {
        let _ = writeln!(text, "{name:<13}{value}");
    }
    text.push_str(
        "\nTHIS SHEET HOLDS A SECRET. One person alone reads it, types it, and keeps it\nin a sealed envelope. Nobody has two components of a key.\n\n",
    );
    for (at, byte) in component.iter().enumerate() {
        let digits = 2 * at;
        if digits.is_multiple_of(GROUP_DIGITS * GROUPS) {
            text.push_str(if at == 0 { "component   " } else { "\n            " });
        }
        if digits.is_multiple_of(GROUP_DIGITS) {
            text.push(' ');
        }
        let _ = write!(text, "{byte:02X}");
    }
    let (name, value) = sheet::named_value(algorithm, component)?;
    let _ = writeln!(text, "\n\n{name:<13}{value}\n");
    let step = if part == 1 {
        "first"
    } else if part == of {
        "last"
    } else {
        "add"
    };
    let _ = writeln!(
        text,
        "Type it at the question of:\n\n    cryptand key part {label} {step}{}\n",
        options(typed, algorithm, component)?
    );
    let line = |length| "_".repeat(length);
    let _ = writeln!(text, "{:<26}{:<18}{:<14}signature\n", "name", "kept in", "date");
    let _ = writeln!(text, "{:<26}{:<18}{:<14}{}", line(24), line(16), line(12), line(20));
    Ok(text)
}

/// Options of `key part` for this component.
fn options(typed: &Component, algorithm: Algorithm, component: &[u8]) -> Result<String, Failure> {
    let mut options = String::new();
    if typed.part == 1 {
        let name = match typed.kind {
            TypedKind::Cca(kind) => kind.name(),
            TypedKind::Payment(kind) => kind.name(),
        };
        let _ = write!(options, " --type {name}");
        // Tokens of DES do not count their parts.
        if typed.of == 3 && algorithm != Algorithm::Des {
            options.push_str(" --parts 3");
        }
    }
    if let Some(value) = sheet::customary(algorithm, component)? {
        let _ = write!(options, " --check-value {value}");
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_fits_a4_and_holds_what_is_typed() {
        for (kind, bytes) in [("zmk", 16), ("aes256-kbpk", 32), ("hmac-sha512", 64), ("tdes3-data", 24)] {
            let kind = TypedKind::parse(kind).unwrap();
            let typed =
                Component { label: "A234567.B234567.C234567".into(), kind, part: 1, of: 3, html: false };
            let (name, length, algorithm) = of_kind(kind).unwrap();
            assert_eq!(length, bytes);
            let component = drawn(algorithm, length).unwrap();
            let text =
                text(&Label::new(&typed.label).unwrap(), &name, &typed, algorithm, &component).unwrap();
            assert!(text.lines().count() <= 66 && text.capacity() == 4096, "{}", text.capacity());
            let is_long = |line: &&str| line.chars().count() > 80 && !line.contains("cryptand key part");
            let long = text.lines().find(is_long);
            assert_eq!(long, None);
            let digits = crate::prompt::to_hexadecimal(&component);
            assert!(text.replace([' ', '\n'], "").contains(&digits), "{}", *text);
        }
    }

    #[test]
    fn parts_of_des_have_odd_parity_and_no_two_are_alike() {
        let one = drawn(Algorithm::Des, 24).unwrap();
        assert!(one.iter().all(|byte| byte.count_ones() % 2 == 1), "{one:02X?}");
        assert_ne!(one, drawn(Algorithm::Des, 24).unwrap());
        assert!(of_kind(TypedKind::parse("rsa2048-sign").unwrap()).is_err());
        assert!(of_kind(TypedKind::parse("aes128").unwrap()).is_err());
    }
}
