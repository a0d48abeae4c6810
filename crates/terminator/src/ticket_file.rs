//! Ticket keys in a file, for machines that resume each other's sessions. Each line has a name (32 hexadecimal digits),
//! a space and a key (64 digits); the newest key is first. Empty lines and lines that begin with `#` are ignored.

use rustix::rand::{GetRandomFlags, getrandom};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tls::{Policy, TicketKey};
use zeroize::{Zeroize, Zeroizing};

/// At most this many keys in a file; and longest file in bytes.
pub const KEYS_MAX: usize = options::tls::TICKET_KEYS_MAX as usize;
const FILE_BYTES_MAX: u64 = 16 << 10;
/// Bits of a file's mode with which others could reach it.
const OTHERS: u32 = 0o077;

/// A key in a file. Each policy uses its own key, derived from this one.
#[derive(Clone, PartialEq, Eq)]
pub struct FileKey {
    name: [u8; 16],
    key: Zeroizing<[u8; 32]>,
}

impl FileKey {
    /// The policy's own ticket key, derived from this one and used from `since` on. So no session of a weak policy can
    /// be resumed at a listener with a strong one.
    pub(crate) fn of(&self, policy: Policy, since: u64) -> Option<TicketKey> {
        let mut out = Zeroizing::new([0; 48]);
        let info = [b"cryptand ticket ", policy.name().as_bytes()].concat();
        engine::hkdf_sha256(&self.name, &self.key[..], &info, &mut out[..]).ok()?;
        let (name, key) = out.split_at(16);
        let mut made = TicketKey { name: [0; 16], key: Zeroizing::new([0; 32]), since };
        made.name.copy_from_slice(name);
        made.key.copy_from_slice(key);
        Some(made)
    }
}

/// The keys in a file's text, the newest first.
///
/// # Errors
/// A text that says what is wrong, with the line, but without the key in it.
pub fn parse(text: &[u8]) -> Result<Vec<FileKey>, String> {
    let mut keys: Vec<FileKey> = Vec::new();
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let wrong = |cause: &str| format!("line {}: {cause}", at + 1);
        let mut key = FileKey { name: [0; 16], key: Zeroizing::new([0; 32]) };
        let at = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
        let (name, rest) = line.split_at(at);
        if !digits(name, &mut key.name) || !digits(rest.trim_ascii(), &mut key.key[..]) {
            return Err(wrong("a name of 32 hexadecimal digits and a key of 64 are needed"));
        }
        if keys.iter().any(|other| other.name == key.name) {
            return Err(wrong("two keys have this name"));
        }
        if keys.len() == KEYS_MAX {
            return Err(wrong(&format!("more than {KEYS_MAX} keys")));
        }
        keys.push(key);
    }
    if keys.is_empty() { Err("there is no key in it".to_owned()) } else { Ok(keys) }
}

fn digits(text: &[u8], into: &mut [u8]) -> bool {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    text.len() == 2 * into.len()
        && text.chunks_exact(2).zip(into).all(|(two, byte)| match (digit(two[0]), digit(two[1])) {
            (Some(high), Some(low)) => {
                *byte = high << 4 | low;
                true
            }
            _ => false,
        })
}

/// The keys in a file that nobody but its owner can reach. With `user`, the owner must be root or this user.
///
/// # Errors
/// A text that says what is wrong with the file.
pub fn read(path: &Path, user: Option<u32>) -> Result<Vec<FileKey>, String> {
    let file = File::open(path).map_err(|cause| format!("cannot be opened: {cause}"))?;
    let of = file.metadata().map_err(|cause| format!("cannot be looked at: {cause}"))?;
    if let Some(user) = user {
        check_owner(of.uid(), user)?;
    }
    if of.mode() & OTHERS != 0 {
        return Err(format!("others can reach it (mode {:o}): chmod 600", of.mode() & 0o777));
    }
    let mut text = Zeroizing::new(Vec::with_capacity(FILE_BYTES_MAX as usize + 1));
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(|cause| format!("cannot be read: {cause}"))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("is longer than {FILE_BYTES_MAX} bytes"));
    }
    parse(&text)
}

/// Checks that the file is owned by root or the server's user, since the owner can read the keys.
fn check_owner(owner: u32, user: u32) -> Result<(), String> {
    if owner == 0 || owner == user {
        return Ok(());
    }
    Err(format!("it is of another user ({owner}), who has its keys: chown it to root or to user {user}"))
}

/// Puts a new key before those of a file, and keeps at most `kept` keys in all; makes the file if there is none.
/// Another process that reads meanwhile gets the old file or the new one whole. Returns the number of keys.
///
/// # Errors
/// A text that says what is wrong with the existing file, or the system's error.
pub fn rotate(path: &Path, kept: usize) -> Result<usize, String> {
    let (old, owner) = match fs::metadata(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => (Vec::new(), None),
        found => (read(path, None)?, found.ok().map(|of| (of.uid(), of.gid()))),
    };
    let mut new = FileKey { name: [0; 16], key: Zeroizing::new([0; 32]) };
    fill(&mut new.name).and_then(|()| fill(&mut new.key[..])).map_err(|cause| cause.to_string())?;
    let keys: Vec<&FileKey> = std::iter::once(&new).chain(&old).take(kept.clamp(1, KEYS_MAX)).collect();
    let mut text = Zeroizing::new(Vec::with_capacity(FILE_BYTES_MAX as usize));
    for key in &keys {
        push(&mut text, &key.name, b' ');
        push(&mut text, &key.key[..], b'\n');
    }
    replace(path, &text, owner).map_err(|cause| format!("cannot be written: {cause}"))?;
    Ok(keys.len())
}

fn push(text: &mut Vec<u8>, bytes: &[u8], end: u8) {
    for byte in bytes {
        let mut two =
            [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0') as u8);
        text.extend_from_slice(&two);
        two.zeroize();
    }
    text.push(end);
}

/// Replaces the file. The new file gets the owner of the old one, since root may do this for a server of another user.
fn replace(path: &Path, text: &[u8], owner: Option<(u32, u32)>) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let _ = fs::remove_file(&new);
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).and_then(|mut file| {
            file.write_all(text)?;
            let made = file.metadata()?;
            if let Some((user, group)) = owner.filter(|owner| *owner != (made.uid(), made.gid())) {
                std::os::unix::fs::fchown(&file, Some(user), Some(group))?;
            }
            file.sync_all()
        });
    written.and_then(|()| fs::rename(&new, path)).inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}

/// Fills `bytes` with random numbers of the system.
pub(crate) fn fill(mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = getrandom(&mut *bytes, GetRandomFlags::empty())?;
        bytes = &mut bytes[count..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_roots_or_the_programs_users() {
        assert_eq!(
            [(0, 0), (0, 7), (7, 7)].map(|(owner, user)| check_owner(owner, user)),
            [const { Ok(()) }; 3]
        );
        for (owner, user) in [(7, 0), (8, 7)] {
            let said = check_owner(owner, user).unwrap_err();
            assert!(said.contains(&format!("another user ({owner})")), "{said}");
        }
    }

    #[test]
    fn lines_are_names_and_keys_and_what_is_wrong_is_named() {
        let line = |name: char, key: char| {
            format!("{} {}\n", name.to_string().repeat(32), key.to_string().repeat(64))
        };
        let keys = parse(format!("# newest\n{}\n{}", line('a', '1'), line('B', '2')).as_bytes()).unwrap();
        assert!(keys.len() == 2 && keys[0].name == [0xaa; 16] && *keys[1].key == [0x22; 32]);
        let policies = Policy::ALL.map(|policy| keys[0].of(policy, 7).unwrap());
        assert!(
            policies[0] != policies[1] && policies[1] != policies[2] && policies[0].name != policies[2].name
        );
        for (text, cause) in [
            (String::new(), "there is no key in it"),
            ("# nothing\n".to_owned(), "there is no key in it"),
            (format!("\n{}", &line('a', '1')[1..]), "line 2: a name of 32"),
            (line('a', '1').replace('1', "x"), "line 1: a name of 32"),
            (line('a', '1').trim_end().to_owned() + "11", "line 1: a name of 32"),
            (line('a', '1') + &line('A', '2'), "line 2: two keys have this name"),
        ] {
            let said = parse(text.as_bytes()).err().unwrap();
            assert!(said.contains(cause) && !said.contains("1111"), "{said}");
        }
        let many: String = (0..17).map(|number| format!("{number:032x} {}\n", "1".repeat(64))).collect();
        assert!(parse(many.as_bytes()).err().unwrap().contains("line 17: more than 16 keys"));
    }
}
