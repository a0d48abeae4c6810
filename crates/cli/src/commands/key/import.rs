//! `cryptand key import`: a private key out of a PEM file (RFC 5958, RFC 8017, RFC 5915) comes under the master key.
//!
//! The numbers go to a card in one request and are wiped here. The file stays: whoever has it has the key.

use super::{EMPTY_TOKEN, complete};
use crate::args::ImportedUse;
use crate::encoded::shown;
use crate::failure::Failure;
use facility::Facility;
use keyfiles::{PrivateKey, PrivateUse};
use std::io::Read;
use std::path::Path;
use wire::Label;
use wire::bounds::PKA_TOKEN_BYTES_MAX;
use wire::control::Store;
use wire::verb::{ChangedPkaAlgorithm, Room, pka_key_import as pki};
use zeroize::Zeroizing;

/// Longest PEM file that is read, in bytes: a key of 4,096 bits takes about 3.3 KiB, and a chain may stand beside it.
const PEM_BYTES_MAX: usize = 256 << 10;

/// Imports the private key in a file and records it under a label.
pub fn run(
    facility: &Facility,
    label: &Label,
    path: &Path,
    use_of: ImportedUse,
    domain: u16,
) -> Result<(), Failure> {
    let text = read(path)?;
    let unfit = |cause: String| Failure::Damaged(format!("{}: {cause}", shown(path)));
    let clear = PrivateKey::from_pem(&text, use_of.into()).map_err(unfit)?;
    let algorithm = clear.is_curve.then_some(ChangedPkaAlgorithm::Ecc);
    let token = imported(facility, domain, algorithm, &clear.token)?;
    facility.record_create(Store::Pka, label, &token)?;
    eprintln!("{label}: imported and recorded: {}", clear.named);
    if path != Path::new("-") {
        eprintln!("The key is still in {}: destroy the file and its copies.", path.display());
    }
    Ok(())
}

fn read(path: &Path) -> Result<Zeroizing<String>, Failure> {
    // Space for the whole file, so that growing the buffer leaves no copy of the key.
    let mut bytes = Zeroizing::new(Vec::with_capacity(PEM_BYTES_MAX + 2));
    let limit = PEM_BYTES_MAX as u64 + 1;
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    read.map_err(Failure::io(format!("read {}", shown(path))))?;
    if bytes.len() > PEM_BYTES_MAX {
        return Err(Failure::Damaged(format!("{}: longer than {PEM_BYTES_MAX} bytes", shown(path))));
    }
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Failure::Damaged(format!("{}: not PEM: it is no text", shown(path))))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// The key's token under the master key, made by PKA_Key_Import.
pub fn imported(
    facility: &Facility,
    domain: u16,
    algorithm: Option<ChangedPkaAlgorithm>,
    clear: &[u8],
) -> Result<Vec<u8>, Failure> {
    let ask = pki::Ask {
        algorithm,
        source_key_token: clear.into(),
        importer_key_identifier: (&EMPTY_TOKEN).into(),
        target_key_identifier: Room::of(PKA_TOKEN_BYTES_MAX),
        ..pki::Ask::new()
    };
    let answered = facility.ask(domain, &ask)?;
    complete("pka-key-import", answered.codes())?;
    Ok(answered.got().target_key_identifier.to_vec())
}

impl From<ImportedUse> for PrivateUse {
    fn from(use_of: ImportedUse) -> Self {
        match use_of {
            ImportedUse::Sign => Self::Sign,
            ImportedUse::Tls => Self::Tls,
            ImportedUse::Keymgmt => Self::KeyManagement,
            ImportedUse::Transport => Self::Transport,
            ImportedUse::Agree => Self::Agree,
        }
    }
}
