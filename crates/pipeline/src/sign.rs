//! Signing without encryption: inline, detached and cleartext.

use crate::crew::{Crew, Work};
use crate::encrypt::{BLOCK_BYTES, Message, check_compression};
use crate::error::Error;
use crate::exit::Exit;
use crate::flow::{Flow, Step};
use crate::request::{Input, LiteralMode, Output, Sign, SignatureKind};
use crate::run::Run;
use crate::signing::Signing;
use crate::sink::Sink;
use crate::source::{Reader, Source};
use crate::summary::{Stage, Summary};
use crate::text::Text;
use crate::times::Account;
use crate::unnamed::Content;
use openpgp::packet::armor::{ArmorKind, Armorer};
use openpgp::packet::cleartext;
use openpgp::signature::Signer;
use pgp::types::KeyVersion;
use std::io::IoSlice;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) fn sign(input: Input, output: Output, what: &Sign<'_>, run: &Run<'_>) -> Result<Summary, Error> {
    let account = Account::open();
    if what.signers.is_empty() {
        return Err(Error::request("nobody signs: name a key"));
    }
    let source = Source::open(input, run.interrupted)?;
    let sink =
        Sink::open(output, Content::Public, source.identity(), run.interrupted)?.durable(run.is_durable);
    run.progress.begin(source.bytes());
    let mode = if what.kind == SignatureKind::Inline { what.literal.mode } else { LiteralMode::Binary };
    let is_text = what.is_text || what.kind == SignatureKind::Cleartext;
    let reader = source.read_as(mode).text_only(is_text).into_reader();
    let signing = Signing::new(what.signers, &[], what.now, is_text)?;
    let (input_bytes, output_bytes) = match what.kind {
        SignatureKind::Inline => inline(reader, sink, signing, what, run, &account)?,
        SignatureKind::Detached => detached(reader, sink, signing, what, run, &account)?,
        SignatureKind::Cleartext => in_cleartext(reader, sink, signing, what, run, &account)?,
    };
    Ok(account.close(input_bytes, output_bytes))
}

/// Whether armor has a checksum. GnuPG 2.2 does not see the end of a block without one; a block with only version 6
/// signatures must not have one (RFC 9580, 6.1).
fn has_checksum(signers: &[Signer]) -> bool {
    signers.iter().any(|signer| signer.key.public().version() != KeyVersion::V6)
}

fn inline(
    reader: Reader<'_>,
    sink: Sink<'_>,
    signing: Signing,
    what: &Sign<'_>,
    run: &Run<'_>,
    account: &Account,
) -> Result<(u64, u64), Error> {
    check_compression(what.compression)?;
    let text = Text::new(reader, run.progress, signing.one_pass_packets(), &what.literal)?;
    let mut exit =
        Exit::new(sink, what.armor.then(|| Armorer::new(ArmorKind::Message, has_checksum(what.signers))))?;
    let message = Message { text, signing, compression: what.compression, sealing: None };
    let read = message.write(&mut exit, run, account)?;
    Ok((read, exit.finish()?))
}

fn detached(
    reader: Reader<'_>,
    sink: Sink<'_>,
    mut signing: Signing,
    what: &Sign<'_>,
    run: &Run<'_>,
    account: &Account,
) -> Result<(u64, u64), Error> {
    let read = AtomicU64::new(0);
    let hash = Step::in_order(Stage::Cipher, |block| {
        signing.update(block.piece());
        Ok(())
    });
    read_all(reader, run, account, &read, vec![hash])?;
    let mut exit =
        Exit::new(sink, what.armor.then(|| Armorer::new(ArmorKind::Signature, has_checksum(what.signers))))?;
    exit.write(&[&signing.finish()?], true)?;
    Ok((read.into_inner(), exit.finish()?))
}

fn in_cleartext(
    reader: Reader<'_>,
    mut sink: Sink<'_>,
    mut signing: Signing,
    what: &Sign<'_>,
    run: &Run<'_>,
    account: &Account,
) -> Result<(u64, u64), Error> {
    let mut writer = cleartext::Writer::new();
    let mut begin = Vec::new();
    writer.begin(&signing.hashes(), &mut begin);
    sink.write(&mut [IoSlice::new(&begin)])?;
    let name = reader.source().name().to_owned();
    let mut signed = Vec::new();
    let escape = Step::in_order(Stage::Cipher, |block| {
        signed.clear();
        let escaped = block.replace(|_, text, out| writer.update(text, out, &mut signed));
        escaped.map_err(|cause| Error::malformed(&name, cause))?;
        signing.update(&signed);
        Ok(())
    });
    let write = Step::in_order(Stage::Write, |block| sink.write(&mut [IoSlice::new(block.piece())]));
    let read = AtomicU64::new(0);
    read_all(reader, run, account, &read, vec![escape, write])?;
    let mut end = Vec::new();
    writer.finish(&mut end);
    sink.write(&mut [IoSlice::new(&end)])?;
    let mut exit = Exit::new(sink, Some(Armorer::new(ArmorKind::Signature, has_checksum(what.signers))))?;
    exit.write(&[&signing.finish()?], true)?;
    Ok((read.into_inner(), exit.finish()?))
}

/// Passes all of an input through these stages; adds the number of its bytes to `read`.
pub(crate) fn read_all<'a>(
    mut reader: Reader<'a>,
    run: &'a Run<'_>,
    account: &Account,
    read: &'a AtomicU64,
    after: Vec<Step<'a>>,
) -> Result<(), Error> {
    let is_small = reader.source().bytes().is_some_and(|bytes| bytes <= BLOCK_BYTES as u64);
    let mut steps = vec![Step::in_order(Stage::Read, move |block| {
        let filled = reader.fill(block.memory(BLOCK_BYTES))?;
        block.keep(0..filled);
        block.is_last = filled < BLOCK_BYTES;
        read.fetch_add(filled as u64, Ordering::Relaxed);
        run.progress.advance(filled as u64);
        Ok(())
    })];
    steps.extend(after);
    let work =
        Work { compresses: false, compresses_in_parallel: false, enciphers_in_parallel: false, is_small };
    let flow = Flow { steps, block_bytes: BLOCK_BYTES, second_block_bytes: 0 };
    flow.run(&Crew::new(run, work), &account.times, run.interrupted)
}
