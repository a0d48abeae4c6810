//! `cryptand dukpt`: key serial numbers, base keys, and the keys that are derived of them.
//!
//! | need | module |
//! |---|---|
//! | what a key serial number says, and which come next | [`serial`] |
//! | initial keys of terminals, and keys of transactions | [`derived`] |

mod derived;
mod serial;

use super::key;
use crate::args::dukpt::{BaseKind, Dukpt};
use crate::failure::Failure;
use crate::labels;
use crate::session;
use facility::keys::{NamedKind, Usage, Wanted};
pub use serial::following;
use std::path::Path;
use token::KeyType;
use token::control_vector::KeyForm;
use token::variable::VariableType;

/// Runs the subcommands of `cryptand dukpt`.
pub fn run(asked: Option<&Path>, order: &Dukpt) -> Result<(), Failure> {
    match order {
        Dukpt::Show { ksn, next, json } => serial::show(ksn, *next, *json),
        Dukpt::Base { label, kind, domain } => base(asked, label, *kind, *domain),
        Dukpt::Initial(typed) => derived::initial(asked, typed),
        Dukpt::Derive(typed) => derived::derive(asked, typed),
    }
}

/// The kind and the usage keywords of a base key.
fn kind_of(kind: BaseKind) -> (NamedKind, &'static [&'static str]) {
    let aes = |bits| (NamedKind::Aes(bits, VariableType::DkyGenKy), &["A-DUKPT", "D-ALL", "DKYL0"][..]);
    match kind {
        BaseKind::Tdes => (NamedKind::Des(KeyForm::Double, KeyType::KeyGenKy), &["UKPT"]),
        BaseKind::Aes128 => aes(128),
        BaseKind::Aes192 => aes(192),
        BaseKind::Aes256 => aes(256),
    }
}

fn base(asked: Option<&Path>, label: &str, kind: BaseKind, domain: u16) -> Result<(), Failure> {
    let label = labels::typed("", label)?;
    let (kind, usage) = kind_of(kind);
    let usage = Usage::new(usage, &[]);
    let facility = session::connect(asked)?;
    let token = facility.generate(domain, &Wanted { usage: Some(&usage), ..Wanted::from(kind) })?;
    key::record(&facility, kind.store(), &label, &token)?;
    eprintln!("{label}: generated and recorded");
    Ok(())
}
