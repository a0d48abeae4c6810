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
use crate::kind::{Kind, Words};
use crate::session;
use std::path::Path;
use wire::Label;

/// `cryptand dukpt`.
pub fn run(asked: Option<&Path>, order: &Dukpt) -> Result<(), Failure> {
    match order {
        Dukpt::Show { ksn, next, json } => serial::show(ksn, *next, *json),
        Dukpt::Base { label, kind, domain } => base(asked, label, *kind, *domain),
        Dukpt::Initial(typed) => derived::initial(asked, typed),
        Dukpt::Derive(typed) => derived::derive(asked, typed),
    }
}

/// The kind of a base key, and what it says.
fn kind_of(kind: BaseKind) -> (&'static str, &'static [&'static str]) {
    let aes: &[&str] = &["A-DUKPT", "D-ALL", "DKYL0"];
    match kind {
        BaseKind::Tdes => ("tdes-keygenky", &["UKPT"]),
        BaseKind::Aes128 => ("aes128-dkygenky", aes),
        BaseKind::Aes192 => ("aes192-dkygenky", aes),
        BaseKind::Aes256 => ("aes256-dkygenky", aes),
    }
}

fn base(asked: Option<&Path>, label: &str, kind: BaseKind, domain: u16) -> Result<(), Failure> {
    let label = Label::new(label).map_err(|error| Failure::Usage(format!("{label}: {error}")))?;
    let (name, usage) = kind_of(kind);
    let kind = Kind::parse(name).map_err(Failure::Usage)?;
    let usage: Vec<String> = usage.iter().map(ToString::to_string).collect();
    let wanted = key::Wanted { kind, usage: &Words::new(&usage, &[]), derives: None };
    let facility = session::connect(asked)?;
    let token = key::generated(&facility, domain, &wanted)?;
    key::record(&facility, kind.store(), &label, &token)?;
    eprintln!("{label}: generated and recorded");
    Ok(())
}
