//! Public keys of RSA and of elliptic curves as tokens and as PEM.

use super::complete;
use crate::failure::Failure;
use crate::output::print;
use crate::prompt;
use facility::{Facility, private_keys};
use keyfiles::PublicKey;
use std::io::Read;
use std::path::Path;
use wire::Label;
use wire::control::Store;

/// Longest PEM file that is read, in bytes: a key of 4,096 bits takes about 1 KiB.
const PEM_BYTES_MAX: u64 = 64 << 10;

/// Prints the public key of a record.
pub fn show(facility: &Facility, label: &Label, domain: u16, pem: bool) -> Result<(), Failure> {
    let answered = facility.ask(domain, &private_keys::public_key(&label.to_field()))?;
    complete("pka-public-key-extract", answered.codes())?;
    let token = answered.got().target_key_token;
    if !pem {
        return print(&(prompt::to_hexadecimal(token) + "\n"));
    }
    let public = PublicKey::of_token(token)
        .and_then(|public| public.to_pem().map_err(|error| error.to_string()))
        .map_err(|cause| {
            Failure::Usage(format!("{label}: its public key cannot be written as PEM: {cause}"))
        })?;
    print(&public)
}

/// Records a public key under a label.
pub fn import(facility: &Facility, label: &Label, path: &Path) -> Result<(), Failure> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(PEM_BYTES_MAX).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(PEM_BYTES_MAX).read_to_string(&mut text))
    };
    read.map_err(Failure::io(format!("read {}", path.display())))?;
    let unfit = |cause: String| Failure::Damaged(format!("{}: {cause}", path.display()));
    let public = PublicKey::from_pem(&text).map_err(unfit)?;
    let token = public.to_token().map_err(unfit)?;
    facility.record_create(Store::Pka, label, &token)?;
    eprintln!("{label}: recorded, a public key: {}", public.named());
    Ok(())
}
