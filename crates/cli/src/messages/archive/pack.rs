//! Makes a tar stream of files and folders.

use super::DEPTH_MAX;
use super::blocks::channel;
use super::left_out::{LeftOut, leads_out};
use crate::failure::Failure;
use std::collections::HashSet;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use tar::{Builder, Header, HeaderMode};

/// Entries to report after a stream was read: those left out, and links that are not extracted by default.
#[derive(Clone, Default)]
pub struct Noted(Arc<Mutex<LeftOut>>);

impl Noted {
    /// The entries noted so far.
    pub fn left_out(&self) -> LeftOut {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, path: &Path, why: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).note(path, why);
    }
}

/// A tar stream that is made while it is read; an error of a file ends the stream with that error. Sockets, FIFOs and
/// devices are left out and noted.
pub fn pack(inputs: &[PathBuf]) -> Result<(Box<dyn Read + Send>, Noted), Failure> {
    let mut roots = Vec::with_capacity(inputs.len());
    let mut names = HashSet::new();
    for input in inputs {
        let name = entry_name(input)?;
        if !names.insert(name.clone()) {
            let said = format!("{}: two inputs would be {} in the archive", input.display(), name.display());
            return Err(Failure::Usage(said));
        }
        fs::symlink_metadata(input).map_err(Failure::io(format!("read {}", input.display())))?;
        roots.push((input.clone(), name));
    }
    let (writer, reader) = channel();
    let noted = Noted::default();
    let for_worker = noted.clone();
    let packing = move || {
        let mut builder = Builder::new(writer);
        builder.follow_symlinks(false);
        builder.mode(HeaderMode::Complete);
        for (path, name) in &roots {
            append(&mut builder, path, name, 0, &for_worker)?;
        }
        builder.into_inner()?.flush()
    };
    let worker = thread::Builder::new().spawn(packing).map_err(Failure::thread)?;
    Ok((Box::new(reader.of(worker)), noted))
}

/// The name of an input in the archive: relative, without `..`.
fn entry_name(input: &Path) -> Result<PathBuf, Failure> {
    let mut name = PathBuf::new();
    for component in input.components() {
        match component {
            Component::Normal(part) => name.push(part),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                name.clear();
            }
        }
    }
    if name.as_os_str().is_empty() {
        let said =
            format!("{}: no name for the archive; name the folder from outside of it", input.display());
        return Err(Failure::Usage(said));
    }
    Ok(name)
}

fn append(
    builder: &mut Builder<impl Write>,
    path: &Path,
    name: &Path,
    depth: usize,
    noted: &Noted,
) -> io::Result<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if depth > DEPTH_MAX {
        return Err(named(io::Error::other(format!("more than {DEPTH_MAX} folders within one another"))));
    }
    let metadata = fs::symlink_metadata(path).map_err(named)?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        builder.append_dir(name, path).map_err(named)?;
        let mut entries: Vec<_> = fs::read_dir(path).and_then(Iterator::collect).map_err(named)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            append(builder, &entry.path(), &name.join(entry.file_name()), depth + 1, noted)?;
        }
        return Ok(());
    }
    if kind.is_file() {
        let mut file = fs::File::open(path).map_err(named)?;
        return builder.append_file(name, &mut file).map_err(named);
    }
    if kind.is_symlink() {
        let target = fs::read_link(path).map_err(named)?;
        if leads_out(name, &target) {
            let why = format!(
                "a link to {}, out of the folder: decrypt --archive makes it with --outside-links alone",
                target.display()
            );
            noted.note(path, &why);
        }
        let mut header = Header::new_gnu();
        header.set_metadata_in_mode(&metadata, HeaderMode::Complete);
        header.set_size(0);
        return builder.append_link(&mut header, name, target).map_err(named);
    }
    noted.note(path, &format!("{}, left out", special(kind)));
    Ok(())
}

/// Kind of an entry that is neither file nor folder nor symbolic link.
fn special(kind: fs::FileType) -> &'static str {
    match () {
        () if kind.is_socket() => "a socket",
        () if kind.is_fifo() => "a FIFO",
        () => "a device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_packed_is_named() {
        assert!(pack(&["/nonexistent/file".into()]).is_err());
        assert!(pack(&["..".into()]).is_err());
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("a"), "x").unwrap();
        let path = base.path().join("a");
        assert!(pack(&[path.clone(), path]).is_err());
        assert_eq!(entry_name(Path::new("../../x/y")).unwrap(), Path::new("x/y"));
        assert_eq!(entry_name(Path::new("/abs/y")).unwrap(), Path::new("abs/y"));
    }
}
