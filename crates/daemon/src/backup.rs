//! Copying the files of a home, while it serves or is stopped.

use crate::store::StoreError;
use home::{Home, HomeError};
use link::world;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use wire::control::Refusal;

/// Copies a store to a new file, and calls the last argument now and then meanwhile. Only a store that is a file of the
/// home has such a function; other stores are backed up by means of their own.
pub type CopyStore<S> = fn(&S, &Path, &mut dyn FnMut()) -> Result<(), StoreError>;

/// Copies a home into an existing, empty folder, and records the time; the version file comes last, so that a partial
/// copy is not a home. `meanwhile` is called between two parts of the key store.
///
/// # Errors
/// [`Refusal::Storage`] and [`Refusal::Invalid`] with what was tried; nothing is left in the folder then.
pub fn write<S>(
    home: &Home,
    store: &S,
    copy: CopyStore<S>,
    folder: &Path,
    meanwhile: &mut dyn FnMut(),
) -> Result<(), Refusal> {
    let refused = |operation: &str, cause: String| Refusal::Storage {
        operation: format!("{operation} {}", folder.display()),
        cause,
    };
    if !folder.is_absolute() {
        let why = format!("{}: the path of a backup must be absolute", folder.display());
        return Err(Refusal::Invalid(why));
    }
    let mut entries = fs::read_dir(folder).map_err(|e| refused("read the folder", e.to_string()))?;
    if entries.next().is_some() {
        return Err(refused("write a backup to", "the folder is not empty".into()));
    }
    if let Err(refusal) = copy_into(home, store, copy, folder, meanwhile) {
        for name in [
            "keys.sqlite",
            "keys.sqlite-journal",
            "settings.toml",
            "master-keys.sealed",
            "pin-failures",
            "version",
        ] {
            let _ = fs::remove_file(folder.join(name));
        }
        return Err(refusal);
    }
    if let Err(error) = home.note_backup(world::unix_ms() / 1000) {
        tracing::warn!("the time of the backup is not noted: {error}");
    }
    Ok(())
}

fn copy_into<S>(
    home: &Home,
    store: &S,
    copy: CopyStore<S>,
    folder: &Path,
    meanwhile: &mut dyn FnMut(),
) -> Result<(), Refusal> {
    copy(store, &folder.join("keys.sqlite"), meanwhile).map_err(|error| error.refusal())?;
    let failures = crate::pin_failures::log::path(home);
    for from in [home.sealed_registers(), failures, home.settings_path(), home.version_path()] {
        let read = home::trust::open_regular(&from).and_then(|mut file| {
            let mut content = Vec::new();
            file.read_to_end(&mut content).map(|_| content)
        });
        let content = match read {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                let operation = format!("read {}", from.display());
                return Err(Refusal::Storage { operation, cause: error.to_string() });
            }
        };
        let name = from.file_name().unwrap_or_default();
        home::write_durably(&folder.join(name), &content).map_err(|error| storage(&error))?;
    }
    Ok(())
}

/// The refusal that tells a client of a failed file operation of a home.
pub(crate) fn storage(error: &HomeError) -> Refusal {
    match error {
        HomeError::Io { operation, path, cause } => Refusal::Storage {
            operation: format!("{operation} {}", path.display()),
            cause: crate::store::sqlite::system_cause(cause).to_string(),
        },
        other => Refusal::Storage { operation: "use the home".into(), cause: other.to_string() },
    }
}
