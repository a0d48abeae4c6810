//! The revision of a source tree, and whether what was measured is older than the code that it measures.

use super::data::{MeasuredPart, ProcessorKind};
use std::path::Path;
use std::process::Command;

/// The output of git in a folder; none if git fails or the folder is in no repository.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // A hook that starts tests names its own repository.
    for name in
        ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX"]
    {
        command.env_remove(name);
    }
    let output = command.arg("-C").arg(folder).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The revision of the tree at a folder, with `+` where a tracked file differs from it; none outside of git. What is
/// measured itself does not count: the parts of one bench would else differ in their revision.
pub(super) fn revision(folder: &Path) -> Option<String> {
    let head = git(folder, &["rev-parse", "HEAD"])?;
    let changed = git(
        folder,
        &["status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/measured", ":!README.md"],
    )?;
    Some(if changed.is_empty() { head } else { head + "+" })
}

/// How many commits have touched the rooms of a part since it was measured; none if the repository does not know.
pub(super) fn commits_since(folder: &Path, part: &MeasuredPart) -> Option<usize> {
    let revision = part.revision.as_deref()?.trim_end_matches('+');
    let rooms: Vec<String> = part.rooms.iter().map(|room| format!("crates/{room}")).collect();
    let range = format!("{revision}..HEAD");
    let mut arguments = vec!["rev-list", "--count", &range, "--"];
    arguments.extend(rooms.iter().map(String::as_str));
    git(folder, &arguments)?.parse().ok()
}

/// A line for each part that is older than the code that it measures. Pages do not have these lines: every commit
/// would change them.
pub fn older(folder: &Path, kinds: &[ProcessorKind]) -> Vec<String> {
    let parts = kinds.iter().flat_map(|kind| kind.parts.iter().map(move |part| (kind, part)));
    let line = |(kind, part): (&ProcessorKind, &MeasuredPart)| {
        let rooms = part.rooms.join(", ");
        let name = part.name();
        let measured = format!("{}: {name}, measured at {}", kind.kind, part.short_revision());
        match commits_since(folder, part) {
            Some(0) => None,
            Some(count) => {
                Some(format!("{measured}, is older than its code: {count} commits to {rooms} since"))
            }
            None => Some(format!("{measured}: this tree does not know that revision")),
        }
    };
    parts.filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn commit(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        git(folder, &["add", "-A"]).unwrap();
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
        let arguments: Vec<&str> = who.into_iter().chain(["commit", "-q", "-m", "a"]).collect();
        git(folder, &arguments).unwrap();
    }

    #[test]
    fn a_part_is_older_once_its_rooms_change() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert_eq!(revision(folder), None);
        git(folder, &["init", "-q"]).unwrap();
        commit(folder, "crates/engine/a", "1");
        let revision = revision(folder).unwrap();
        assert_eq!(revision.len(), 40);
        let part = MeasuredPart {
            revision: Some(revision.clone()),
            rooms: vec!["engine".to_owned()],
            ..MeasuredPart::default()
        };
        let kind = ProcessorKind {
            kind: "a-avx2".to_owned(),
            parts: vec![part.clone()],
            ..ProcessorKind::default()
        };
        assert_eq!(older(folder, std::slice::from_ref(&kind)), Vec::<String>::new());
        commit(folder, "crates/other/a", "1");
        assert_eq!(commits_since(folder, &part), Some(0));
        commit(folder, "crates/engine/a", "2");
        let said = older(folder, std::slice::from_ref(&kind));
        assert_eq!(said.len(), 1);
        assert!(said[0].ends_with("is older than its code: 1 commits to engine since"), "{said:?}");
        fs::write(folder.join("crates/engine/a"), "3").unwrap();
        assert!(super::revision(folder).unwrap().ends_with('+'));
        let unknown = MeasuredPart { revision: Some("0".repeat(40)), ..part };
        assert_eq!(commits_since(folder, &unknown), None);
    }
}
