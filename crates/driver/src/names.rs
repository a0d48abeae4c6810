//! The server names that connections ask for.

/// Upper bound of names.
pub(crate) const NAMES_MAX: usize = 1 << 20;
/// Longest name, in bytes (RFC 1035, 2.3.4).
const NAME_BYTES_MAX: usize = 253;

/// Whether a text may be a server name. Only texts are refused that do not fit the extension (RFC 6066, 3); the rest is
/// the server's business.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Reads names separated by commas, or from a file one a line, with remarks after `#`.
pub(crate) fn read(text: &str, is_file: bool) -> Result<Vec<String>, String> {
    let separator = if is_file { '\n' } else { ',' };
    let mut names = Vec::new();
    for (at, part) in text.split(separator).enumerate() {
        let place = || if is_file { format!("line {}: ", at + 1) } else { String::new() };
        let name = if is_file { part.split('#').next().unwrap_or_default() } else { part }.trim();
        if name.is_empty() && is_file {
            continue;
        }
        if !is_name(name) {
            let shown: String = name.chars().take(80).collect();
            return Err(format!("{}{shown:?} is no name of a host", place()));
        }
        if names.len() == NAMES_MAX {
            return Err(format!("{}more than {NAMES_MAX} names", place()));
        }
        names.push(name.to_owned());
    }
    if names.is_empty() { Err("no names".to_owned()) } else { Ok(names) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read() {
        assert_eq!(read("a.test,b.test", false).unwrap(), ["a.test", "b.test"]);
        assert_eq!(read("# all\na.test\n\n b.test # second\r\n", true).unwrap(), ["a.test", "b.test"]);
        for wrong in ["", "a,,b", "a b", "ä.test"] {
            assert!(read(wrong, false).is_err(), "{wrong}");
        }
        assert!(read(&"a".repeat(254), false).is_err());
        assert_eq!(read("a\nb c\n", true).unwrap_err(), "line 2: \"b c\" is no name of a host");
        assert_eq!(read("#\n", true).unwrap_err(), "no names");
    }
}
