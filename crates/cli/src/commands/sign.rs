//! `cryptand sign`.

use super::encrypt::name_of;
use crate::args::Sign;
use crate::failure::Failure;
use crate::messages::batch::{self, Reporter};
use crate::messages::keys::Keys;
use crate::messages::names::{self, Pair, Target};
use crate::messages::passphrases::{self, Asker};
use crate::messages::screen::Screen;
use crate::messages::{self, Layout, choose};
use openpgp::{Fingerprint, Timestamp};
use pipeline::{Literal, LiteralMode, SignatureKind};
use std::path::Path;

/// Signs every input.
pub fn run(home: Option<&Path>, typed: &Sign) -> Result<(), Failure> {
    let layout = Layout::new(&typed.run)?;
    let interrupted = super::interrupt()?;
    let kind = match (typed.detach, typed.clear) {
        (true, _) => SignatureKind::Detached,
        (_, true) => SignatureKind::Cleartext,
        _ => SignatureKind::Inline,
    };
    let is_text = typed.text || typed.clear;
    let pairs = pairs(typed)?;
    let total = (pairs.len() > 1).then(|| batch::bytes_of(&pairs));
    let screen = Screen::new(typed.show.quiet || typed.show.json, total);
    let asker = Asker::new(typed.keys.batch, &screen, &interrupted);
    let store = messages::store(&typed.keys.store)?;
    let for_keys = passphrases::given(&typed.keys.key_passphrase_file, &typed.keys.key_passphrase_fd)?;
    let keys =
        Keys::new(&store, &asker)?.with_passphrases(for_keys, Vec::new()).on(layout.accelerators(home)?);
    let signers = keys.signers(&typed.signers, true)?;
    let mode = if is_text { LiteralMode::Utf8 } else { LiteralMode::Binary };
    let what = pipeline::Sign {
        signers: &signers,
        kind,
        is_text,
        compression: choose::compression(typed.compress, typed.level),
        literal: Literal { name: Vec::new(), mode, modified: Timestamp::from_secs(0) },
        armor: typed.armor,
        now: messages::now(),
    };
    let is_stdout_taken = pairs.iter().any(|pair| pair.target == Target::Stdout);
    let name = |fingerprint: &Fingerprint| name_of(&keys, fingerprint);
    let reporter = Reporter::new(&typed.show, &screen, is_stdout_taken, &name);
    batch::run(&pairs, layout.threads(), &reporter, &interrupted, |pair, is_beside| {
        let input = messages::input(pair.input.as_ref())?;
        let output = messages::output(&pair.target, typed.output.force);
        let run = layout.run(&screen, &interrupted, is_beside);
        pipeline::sign(input, output, &what, &run).map_err(messages::failed(&pair.name()))
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
