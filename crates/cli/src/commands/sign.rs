//! `cryptand sign`: signs files.

use crate::args::Sign;
use crate::failure::Failure;
use crate::messages::batch::Done;
use crate::messages::desk::{Desk, takes_stdout};
use crate::messages::names::{self, Pair};
use crate::messages::{self, Layout, choose};
use openpgp::Timestamp;
use pipeline::{Literal, LiteralMode, SignatureKind};
use std::path::Path;

/// Signs every input.
pub fn run(home: Option<&Path>, typed: &Sign) -> Result<(), Failure> {
    let work = &typed.work;
    let layout = Layout::new(&work.run, typed.output.sync)?;
    let kind = match (typed.detach, typed.clear) {
        (true, _) => SignatureKind::Detached,
        (_, true) => SignatureKind::Cleartext,
        _ => SignatureKind::Inline,
    };
    let is_text = typed.text || typed.clear;
    let pairs = pairs(typed)?;
    let desk = Desk::new(&work.show, &work.keys.store, &pairs)?;
    let keys = desk.keys(&work.keys, Vec::new())?.on(layout.accelerators(home)?);
    let signers = keys.signers(&typed.signers, true)?;
    let mode = if is_text { LiteralMode::Utf8 } else { LiteralMode::Binary };
    let what = pipeline::Sign {
        signers: &signers,
        kind,
        is_text,
        compression: choose::compression(typed.compress, typed.compress_level),
        literal: Literal { name: Vec::new(), mode, modified: Timestamp::from_secs(0) },
        armor: typed.armor,
        now: messages::now(),
    };
    desk.each(&layout, &pairs, &work.show, takes_stdout(&pairs), |pair, run| {
        let input = messages::input(pair.input.as_ref())?;
        let output = messages::output(&pair.target, typed.output.force);
        let signed = pipeline::sign(input, output, &what, run);
        signed.map(Done::from).map_err(messages::failed(&pair.name()))
    })
}

fn pairs(typed: &Sign) -> Result<Vec<Pair>, Failure> {
    let ending = match (typed.detach, typed.armor || typed.clear) {
        (_, true) => "asc",
        (true, false) => "sig",
        (false, false) => "pgp",
    };
    let asked = typed.output.output.as_deref();
    let pairs = names::pairs(&typed.inputs, asked, |path| Ok(names::with_ending(path, ending)))?;
    if ending != "asc" {
        pairs.iter().try_for_each(|pair| messages::refuse_terminal(&pair.target))?;
    }
    Ok(pairs)
}
