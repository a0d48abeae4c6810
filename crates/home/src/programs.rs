//! Finds the programs of an installation from another program of it.

use crate::Programs;
use std::path::{Path, PathBuf};

impl Programs {
    /// The daemon and the card program that belong to the program `own`. They are looked for in its
    /// folder (as built), and one folder up from a build's `deps` or `examples`. From a `bin`
    /// folder they are looked for in `../libexec/cryptand` (as installed, with the manifest). The
    /// paths are absolute and free of links, so that a home's settings name the same files later.
    /// `None` if no folder holds both programs.
    pub fn beside(own: &Path) -> Option<Self> {
        let own = own.canonicalize().ok()?;
        folders(&own)?.find_map(|folder| {
            let (daemon, card) = (file(&folder, "cryptand-daemon")?, file(&folder, "cryptand-card")?);
            Some(Self { daemon, card, manifest: file(&folder, "manifest.sha256") })
        })
    }
}

/// The program of this name in the installation of the program `own`. It is looked for in its
/// folder, one folder up from a build's `deps` or `examples`, in `../libexec/cryptand` from a `bin`
/// folder, and in `../../bin` from there. The path is absolute and free of links. `None` if no
/// folder holds the program.
pub fn program_beside(own: &Path, name: &str) -> Option<PathBuf> {
    let own = own.canonicalize().ok()?;
    folders(&own)?.find_map(|folder| file(&folder, name))
}

/// The folders in which a program looks for the other programs of its installation: its own, and at
/// most one more, by the name of its own. Around a program in any other place, such as a folder of
/// `/tmp`, anybody's files may lie.
fn folders(own: &Path) -> Option<impl Iterator<Item = PathBuf>> {
    let folder = own.parent()?;
    let other = match folder.file_name().and_then(|name| name.to_str()) {
        Some("deps" | "examples") => Some(".."),
        Some("bin") => Some("../libexec/cryptand"),
        Some("cryptand") if folder.parent().is_some_and(|above| above.ends_with("libexec")) => {
            Some("../../bin")
        }
        _ => None,
    };
    Some([folder.to_owned()].into_iter().chain(other.map(|other| folder.join(other))))
}

fn file(folder: &Path, name: &str) -> Option<PathBuf> {
    folder.join(name).canonicalize().ok().filter(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(folder: &Path, names: &[&str]) {
        fs::create_dir_all(folder).unwrap();
        for name in names {
            fs::write(folder.join(name), "").unwrap();
        }
    }

    #[test]
    fn a_build_and_its_tests_find_the_programs_beside_them() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().canonicalize().unwrap();
        put(&folder, &["cryptand", "cryptand-daemon", "cryptand-card"]);
        put(&folder.join("deps"), &["test"]);
        for own in ["cryptand", "deps/test"] {
            let found = Programs::beside(&folder.join(own)).unwrap();
            let expected = (folder.join("cryptand-daemon"), folder.join("cryptand-card"), None);
            assert_eq!((found.daemon, found.card, found.manifest), expected, "{own}");
        }
    }

    #[test]
    fn an_installation_has_its_manifest() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        put(&root.join("bin"), &["cryptand"]);
        let libexec = root.join("libexec/cryptand");
        put(&libexec, &["cryptand-daemon", "cryptand-card", "manifest.sha256"]);
        let found = Programs::beside(&root.join("bin/cryptand")).unwrap();
        assert_eq!(found.card, libexec.join("cryptand-card"));
        assert_eq!(found.manifest, Some(libexec.join("manifest.sha256")));
    }

    #[test]
    fn what_lies_around_a_program_belongs_to_it_only_in_an_installation() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        let folder = root.join("some/where");
        for around in ["", "..", "../bin", "../libexec/cryptand", "../../bin"] {
            put(&folder.join(around), &["cryptand-daemon", "cryptand-card"]);
        }
        put(&folder.join("own"), &["cryptand"]);
        assert_eq!(Programs::beside(&folder.join("own/cryptand")), None);
        assert_eq!(program_beside(&folder.join("own/cryptand"), "cryptand-card"), None);
        // A program in the root folder has the root folder.
        let at_root: Vec<_> = folders(Path::new("/cryptand")).unwrap().collect();
        assert_eq!(at_root, [Path::new("/")]);
    }

    #[test]
    fn what_lies_above_a_program_belongs_to_it_only_in_a_build() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().canonicalize().unwrap();
        put(&folder, &["cryptand-daemon", "cryptand-card"]);
        put(&folder.join("bin"), &["cryptand"]);
        put(&folder.join("examples"), &["example"]);
        assert_eq!(Programs::beside(&folder.join("bin/cryptand")), None);
        assert_eq!(program_beside(&folder.join("bin/cryptand"), "cryptand-card"), None);
        assert_eq!(
            Programs::beside(&folder.join("examples/example")).unwrap().card,
            folder.join("cryptand-card")
        );
    }

    #[test]
    fn one_program_alone_is_no_installation() {
        let base = tempfile::tempdir().unwrap();
        put(base.path(), &["cryptand", "cryptand-daemon"]);
        assert_eq!(Programs::beside(&base.path().join("cryptand")), None);
        assert_eq!(Programs::beside(&base.path().join("absent")), None);
    }

    #[test]
    fn programs_of_an_installation_find_each_other() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        let (bin, libexec) = (root.join("bin"), root.join("libexec/cryptand"));
        put(&bin, &["cryptand"]);
        put(&libexec, &["cryptand-lab", "cryptand-daemon", "cryptand-card"]);
        let (command, lab) = (bin.join("cryptand"), libexec.join("cryptand-lab"));
        assert_eq!(program_beside(&command, "cryptand-lab"), Some(lab.clone()));
        assert_eq!(program_beside(&lab, "cryptand"), Some(command));
        assert_eq!(Programs::beside(&lab).unwrap().card, libexec.join("cryptand-card"));
        assert_eq!(program_beside(&lab, "cryptand-absent"), None);
    }
}
