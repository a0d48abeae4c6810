//! Entries that are left out of an archive or of the extracted folder: people are told, and the rest continues.

use std::path::{Component, Path};

/// Upper bound of the entries that are named; the others are counted.
const NAMED_MAX: usize = 20;

/// Names of the entries that were left out, each with the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    named: Vec<String>,
    more: u64,
}

impl LeftOut {
    /// Adds an entry.
    pub(super) fn note(&mut self, path: &Path, why: &str) {
        if self.named.len() < NAMED_MAX {
            self.named.push(format!("{}: {why}", path.display()));
        } else {
            self.more += 1;
        }
    }

    /// A line for each named entry, and one with the number of the others.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let more = (self.more > 0).then(|| format!("{} more like these", self.more));
        self.named.iter().cloned().chain(more)
    }
}

/// Whether a symbolic link of this name leads out of the folder. A link stays inside if its target climbs no higher
/// than the folder, and climbs only before the target's first name. After a name, `..` could start from another link's
/// target.
pub(super) fn leads_out(name: &Path, target: &Path) -> bool {
    let Some(mut depth) = name.components().count().checked_sub(1) else { return true };
    let mut is_down = false;
    for component in target.components() {
        match component {
            Component::Normal(_) => is_down = true,
            Component::CurDir => {}
            Component::ParentDir if !is_down && depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_inside_are_told_from_those_that_lead_out() {
        for (name, target, is_out) in [
            ("a/b", "c", false),
            ("a/b", "../c", false),
            ("a/b", "../../c", true),
            ("a", "../c", true),
            ("a/b", "c/../d", true),
            ("a/b", "/c", true),
            ("", "c", true),
        ] {
            assert_eq!(leads_out(Path::new(name), Path::new(target)), is_out, "{name} -> {target}");
        }
    }

    #[test]
    fn many_are_counted() {
        let mut left_out = LeftOut::default();
        (0..25).for_each(|number| left_out.note(Path::new(&number.to_string()), "a socket"));
        let lines: Vec<String> = left_out.lines().collect();
        assert_eq!(
            (lines.len(), lines[0].as_str(), lines[20].as_str()),
            (21, "0: a socket", "5 more like these")
        );
    }
}
