//! One tar stream of many files, packed and unpacked while the message is encrypted or decrypted.

mod blocks;
mod folder;
mod left_out;
mod pack;
mod unpack;

pub use pack::{Noted, pack};
pub use unpack::{Listed, Unpacking};

/// Upper bound of folders within one another.
const DEPTH_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::blocks::BLOCK_BYTES;
    use super::unpack::Unpacked;
    use super::*;
    use crate::failure::Failure;
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::Command;
    use tar::{Builder, EntryType, Header};

    fn extracted(stream: &[u8], target: &Path, is_authentic: bool) -> Result<Unpacked, Failure> {
        let (unpacking, mut writer) = Unpacking::begin("x".to_owned(), Some(target), false).unwrap();
        let _ = writer.write_all(stream);
        drop(writer);
        if is_authentic {
            unpacking.finish()
        } else {
            Err(unpacking.give_up(pipeline::Error::WouldLeaveUnauthenticated))
        }
    }

    /// An archive with one entry of any name, as a stranger would make it.
    fn stream(name: &str, kind: EntryType, link: Option<&str>) -> Vec<u8> {
        let mut header = Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        let text: &[u8] = if link.is_none() && kind == EntryType::Regular { b"text" } else { b"" };
        header.set_size(text.len() as u64);
        if let Some(link) = link {
            header.as_gnu_mut().unwrap().linkname[..link.len()].copy_from_slice(link.as_bytes());
        }
        header.set_cksum();
        let mut builder = Builder::new(Vec::new());
        builder.append(&header, text).unwrap();
        builder.into_inner().unwrap()
    }

    #[test]
    fn a_folder_goes_through_and_comes_back() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("data");
        fs::create_dir_all(folder.join("deep/er")).unwrap();
        fs::write(folder.join("deep/er/file"), vec![7; 3 * BLOCK_BYTES + 1]).unwrap();
        fs::write(folder.join("empty"), "").unwrap();
        symlink("deep/er/file", folder.join("link")).unwrap();
        let mut stream = Vec::new();
        pack(std::slice::from_ref(&folder)).unwrap().0.read_to_end(&mut stream).unwrap();

        let target = base.path().join("out");
        extracted(&stream, &target, true).unwrap();
        let inside = target.join(folder.strip_prefix("/").unwrap());
        assert_eq!(fs::read(inside.join("link")).unwrap(), vec![7; 3 * BLOCK_BYTES + 1]);
        assert_eq!(fs::read(inside.join("empty")).unwrap(), b"");

        let (unpacking, mut writer) = Unpacking::begin("x".to_owned(), None, false).unwrap();
        writer.write_all(&stream).unwrap();
        drop(writer);
        let listed = unpacking.finish().unwrap().listed;
        assert!(
            listed.iter().any(|entry| entry.kind == "file" && entry.bytes as usize == 3 * BLOCK_BYTES + 1)
        );
    }

    #[test]
    fn nothing_is_left_of_what_is_not_authentic_or_damaged() {
        let base = tempfile::tempdir().unwrap();
        let target = base.path().join("out");
        let good = stream("file", EntryType::Regular, None);
        assert!(extracted(&good, &target, false).is_err());
        assert!(extracted(b"no tar stream at all", &target, true).is_err());
        assert!(extracted(&good[..514], &target, true).is_err());
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
        extracted(&good, &target, true).unwrap();
        assert_eq!(fs::read(target.join("file")).unwrap(), b"text");
        assert!(Unpacking::begin("x".to_owned(), Some(&target), false).is_err(), "it is there already");
    }

    /// One stream of several entries.
    fn joined(entries: &[Vec<u8>]) -> Vec<u8> {
        let mut all: Vec<u8> = Vec::new();
        for entry in entries {
            all.extend(&entry[..entry.len() - 2 * 512]);
        }
        all.extend([0; 2 * 512]);
        all
    }

    /// An archive with a folder of this mode.
    fn folder(name: &str, mode: u32) -> Vec<u8> {
        let mut stream = stream(name, EntryType::Directory, None);
        let mut header = Header::from_byte_slice(&stream[..512]).clone();
        header.set_mode(mode);
        header.set_cksum();
        stream[..512].copy_from_slice(header.as_bytes());
        stream
    }

    /// `tar c .` names the folder itself first, as `./`.
    #[test]
    fn an_archive_of_the_folder_itself_is_extracted() {
        let base = tempfile::tempdir().unwrap();
        let source = base.path().join("source");
        fs::create_dir_all(source.join("inner")).unwrap();
        fs::write(source.join("inner/file"), "text").unwrap();
        fs::set_permissions(&source, fs::Permissions::from_mode(0o750)).unwrap();
        let made = Command::new("tar").args(["c", "."]).current_dir(&source).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        assert!(made.stdout.starts_with(b"./\0"), "the folder itself comes first");
        let target = base.path().join("out");
        extracted(&made.stdout, &target, true).unwrap();
        assert_eq!(fs::read(target.join("inner/file")).unwrap(), b"text");
        let mode = fs::metadata(&target).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "made for its owner alone, and not widened");
    }

    /// Root may enter and empty every folder: this is for users, so root has another user run it.
    #[test]
    fn nothing_is_left_of_closed_folders_of_what_is_not_authentic() {
        if !rustix::process::geteuid().is_root() {
            return closed_folders_are_removed();
        }
        let base = tempfile::tempdir().unwrap();
        let program = base.path().join("program");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        chown(base.path(), Some(65533), Some(65533)).unwrap();
        let mut part = Command::new(&program);
        part.args(["--exact", "messages::archive::tests::closed_folders_are_removed", "--ignored"]);
        part.env("TMPDIR", base.path()).current_dir("/").uid(65533).gid(65533);
        let output = part.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
    }

    #[test]
    #[ignore = "a part of another test, for a user without rights"]
    fn closed_folders_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let target = base.path().join("out");
        let file = EntryType::Regular;
        let closed = joined(&[
            folder("./", 0o500),
            folder("a", 0),
            folder("a/b", 0o500),
            stream("a/b/file", file, None),
            folder("c/d", 0o100),
            folder("c", 0o400),
            folder("c", 0o500),
            stream("c/d/file", file, None),
        ]);
        assert!(extracted(&closed, &target, false).is_err());
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
        // The modes are the archive's if all is authentic.
        extracted(&closed, &target, true).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&target), mode(&target.join("a")), mode(&target.join("c"))), (0o500, 0, 0o400));
        let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
        ["", "a", "a/b", "c", "c/d"].iter().for_each(|name| open(&target.join(name)));
        assert_eq!(fs::read(target.join("c/d/file")).unwrap(), b"text");
    }

    /// The owner of the parent folder can rename entries at any time: no file lands outside the extracted folder.
    #[test]
    fn a_folder_that_is_moved_away_takes_what_is_extracted_along() {
        let base = tempfile::tempdir().unwrap();
        let (target, moved) = (base.path().join("out"), base.path().join("moved"));
        let elsewhere = base.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        for is_authentic in [true, false] {
            let (unpacking, mut writer) = Unpacking::begin("x".to_owned(), Some(&target), false).unwrap();
            let is_hidden = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".out.");
            let hidden = fs::read_dir(base.path()).unwrap().flatten().find(is_hidden).unwrap().path();
            fs::rename(&hidden, &moved).unwrap();
            symlink(&elsewhere, &hidden).unwrap();
            writer.write_all(&stream("file", EntryType::Regular, None)).unwrap();
            drop(writer);
            let outcome = if is_authentic {
                unpacking.finish()
            } else {
                Err(unpacking.give_up(pipeline::Error::WouldLeaveUnauthenticated))
            };
            assert!(outcome.is_err());
            assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
            assert_eq!(fs::read_dir(&moved).unwrap().count(), 0, "what was extracted is gone");
            fs::remove_dir(&moved).unwrap();
            let _ = fs::remove_file(&hidden);
            let _ = fs::remove_file(&target);
        }
    }

    #[test]
    fn names_never_leave_the_folder() {
        let base = tempfile::tempdir().unwrap();
        let target = base.path().join("in/out");
        fs::create_dir(base.path().join("in")).unwrap();
        let link = EntryType::Symlink;
        let bad = [
            stream("../evil", EntryType::Regular, None),
            stream("/tmp/evil", EntryType::Regular, None),
            stream("a/../../evil", EntryType::Regular, None),
            stream("hard", EntryType::Link, Some("/etc/passwd")),
            stream("hard", EntryType::Link, Some("../evil")),
            stream("hard", EntryType::Link, Some("nothing")),
        ];
        for stream in bad {
            assert!(extracted(&stream, &target, true).is_err());
            assert_eq!(fs::read_dir(base.path().join("in")).unwrap().count(), 0);
            assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
        }
        // A link inside, and a file that would be written through it.
        let mut through = stream("link", link, Some("inside"));
        through.truncate(512);
        through.extend(stream("link/file", EntryType::Regular, None));
        assert!(extracted(&through, &target, true).is_err());
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
        // Links that stay inside are links, hard ones too.
        let mut hard = stream("file", EntryType::Regular, None);
        hard.truncate(1024);
        hard.extend(stream("d/hard", EntryType::Link, Some("file")));
        let other = base.path().join("in/hard");
        extracted(&hard, &other, true).unwrap();
        assert_eq!(fs::read(other.join("d/hard")).unwrap(), b"text");
        fs::remove_dir_all(other).unwrap();
        let mut good = stream("a/b/link", link, Some("../../c"));
        good.truncate(512);
        good.extend(stream("c", EntryType::Regular, None));
        extracted(&good, &target, true).unwrap();
        assert_eq!(fs::read(target.join("a/b/link")).unwrap(), b"text");
    }

    /// A symbolic link that leads out could be followed by whatever the user does with the folder later.
    #[test]
    fn links_that_lead_out_devices_and_fifos_are_left_out_and_the_rest_comes() {
        let base = tempfile::tempdir().unwrap();
        let link = EntryType::Symlink;
        let stream = joined(&[
            stream("absolute", link, Some("/etc/passwd")),
            stream("above", link, Some("../evil")),
            stream("a/above", link, Some("../../evil")),
            stream("a/around", link, Some("b/../c")),
            stream("device", EntryType::Char, None),
            stream("pipe", EntryType::Fifo, None),
            stream("file", EntryType::Regular, None),
        ]);
        let target = base.path().join("out");
        let unpacked = extracted(&stream, &target, true).unwrap();
        let lines: Vec<String> = unpacked.left_out.lines().collect();
        assert_eq!(lines.len(), 6, "{lines:?}");
        assert!(lines[0].starts_with("absolute: a link to /etc/passwd, out of the folder"), "{lines:?}");
        let names: Vec<_> = fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["file"]);
        // With `outside_links` the links exist, and no file was written through them.
        let asked = base.path().join("asked");
        let (unpacking, mut writer) = Unpacking::begin("x".to_owned(), Some(&asked), true).unwrap();
        writer.write_all(&stream).unwrap();
        drop(writer);
        assert_eq!(unpacking.finish().unwrap().left_out.lines().count(), 2);
        assert_eq!(fs::read_link(asked.join("absolute")).unwrap(), Path::new("/etc/passwd"));
        assert_eq!(fs::read_link(asked.join("a/above")).unwrap(), Path::new("../../evil"));
        // A list distinguishes them.
        let (unpacking, mut writer) = Unpacking::begin("x".to_owned(), None, false).unwrap();
        writer.write_all(&stream).unwrap();
        drop(writer);
        let kinds: Vec<_> = unpacking.finish().unwrap().listed.iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds.iter().filter(|kind| **kind == "outside link").count(), 4, "{kinds:?}");
    }
}
