//! Lists of key records, each in a file that the process writes itself.
//!
//! The daemon lists what its caller may see, and no more: it never writes where a client says. The file is the calling
//! user's own, in a folder of his choice.

mod file;
mod layout;

use crate::memory::Pointer;
use crate::process;
use file::Folder;
use std::ffi::c_void;
use std::time::{SystemTime, UNIX_EPOCH};
use wire::bounds::LABEL_BYTES;
use wire::control::Store;
use wire::pattern::LabelPattern;
use wire::{Codes, code};

/// Room for the name of the file.
const NAME_BYTES: usize = 64;

/// Lists the records of a store whose labels match a pattern. Stores other than that of DES keys have two pointers in
/// front: to the number of keywords, which is 0, and to a rule array, which is not read. Then come the pattern,
/// blank-padded; a `long` that is set to the length of the file's name; 64 bytes for that name, of which no more than
/// the length are written; the name of a server, which is not read.
///
/// # Errors
/// 8/184 for a null pointer; 8/35 for a keyword; 8/32 for a pattern that no label matches; 8/72 for a folder whose name
/// leaves no room; 8/90 in a role without the right to list; 8/161 where no file can be made in the folder; 8/185 where
/// the disk is full; 12/97 and 12/338 as of a verb.
///
/// # Safety
/// There are as many pointers as [`Own::pointers`](crate::Own) says, each null or as above.
pub(crate) unsafe fn run(store: Store, pointers: &[*mut c_void]) -> Result<Codes, Codes> {
    let (count, pointers) = match (store, pointers) {
        (Store::Des, all) => (None, all),
        (_, [count, _, rest @ ..]) => (Some(Pointer::of(*count)), rest),
        _ => return Err(code::NULL_POINTER),
    };
    let [label, length, name, _] = pointers else { return Err(code::NULL_POINTER) };
    let [label, length, name] = [label, length, name].map(|pointer| Pointer::of(*pointer));
    if count.is_some_and(Pointer::is_null) || [label, length, name].into_iter().any(Pointer::is_null) {
        return Err(code::NULL_POINTER);
    }
    // SAFETY: the caller's promise.
    if count.is_some_and(|count| unsafe { count.integer() } != 0) {
        return Err(code::KEYWORD_COUNT);
    }
    // SAFETY: the caller's promise.
    let label = unsafe { label.first::<LABEL_BYTES>() };
    let pattern = pattern(&label)?;
    let folder = Folder::of(store)?;
    let (facility, _) = process::facility()?;
    let rows = facility.records(Some(store), pattern.as_str()).map_err(|error| error.codes())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let made = folder.write(&layout::list(store, &pattern, now, &rows))?;
    // SAFETY: the caller's promise; the folder's name leaves room.
    unsafe {
        name.write(&made);
        length.set_integer(made.len() as i64);
    }
    Ok(code::OK)
}

fn pattern(field: &[u8]) -> Result<LabelPattern, Codes> {
    let text = std::str::from_utf8(field).map_err(|_| code::LABEL_FORMAT)?;
    LabelPattern::new(text.trim_end_matches(' ')).map_err(|_| code::LABEL_FORMAT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_one_that_some_label_matches() {
        let field = |text: &str| format!("{text:64}");
        for good in ["*", "*.*.*.*.*.*.*", "PAY.*", "TEST.MAC"] {
            assert_eq!(
                pattern(field(good).as_bytes()).map(|found| found.as_str().to_owned()),
                Ok(good.to_owned())
            );
        }
        for wrong in ["", "pay.*", "PAY *", "9*", "A..B", "ABCDEFGHI", "PAY\0", "../KEYS"] {
            assert_eq!(pattern(field(wrong).as_bytes()).err(), Some(code::LABEL_FORMAT), "{wrong}");
        }
        assert_eq!(pattern(&[0xFF; 64]).err(), Some(code::LABEL_FORMAT));
    }
}
