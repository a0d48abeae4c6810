//! Verification of signed messages, and of data with detached signatures.

use crate::crew::{Crew, Work};
use crate::decrypt::{TEXT_BLOCK_BYTES, TextSteps, add_text_steps, inflate_backend};
use crate::encrypt::BLOCK_BYTES;
use crate::entry::{Begin, Bytes, Entry, packet_error};
use crate::error::Error;
use crate::flow::{Flow, Step};
use crate::request::{Input, Output, Verify};
use crate::run::Run;
use crate::sign::read_all;
use crate::sink::Sink;
use crate::source::Source;
use crate::summary::{SignatureReport, Stage, Summary};
use crate::times::Account;
use crate::unnamed::{Content, Unnamed};
use crate::unwrap::{Found, Unwrap};
use crate::verdicts::{self, Window};
use openpgp::body::grammar::Inner;
use openpgp::packet::armor::{ArmorKind, Dearmorer, Look, look};
use openpgp::packet::{Event, Splitter, Tag, cleartext};
use openpgp::signature::Context;
use pgp::packet::{Packet, PacketParser};
use std::fs::File;
use std::io::{self, IoSlice, Read, Seek, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

pub(crate) fn verify(
    input: Input,
    output: Option<Output>,
    what: &Verify<'_>,
    run: &Run<'_>,
) -> Result<Summary, Error> {
    let account = Account::open();
    let source = Source::open(input, run.interrupted)?;
    let sink = match output {
        Some(output) => guard(
            Sink::open(output, Content::Public, source.identity(), run.interrupted)?.durable(run.is_durable),
        )?,
        None => Sink::nothing(),
    };
    run.progress.begin(source.bytes());
    if let Some(signatures) = what.detached {
        return detached(source, signatures, what, run, &account);
    }
    let reader = source.into_reader();
    let (bytes, look) = Bytes::new(reader, run.progress)?;
    if look == Look::Armor(ArmorKind::SignedMessage) {
        return in_cleartext(bytes, sink, what, run, &account);
    }
    let (entry, begin) = Entry::new(bytes, &what.limits)?;
    match begin {
        Begin::Clear(inner) => inline(entry, *inner, sink, what, run, &account),
        Begin::Encrypted { .. } => Err(Error::malformed(
            entry.name(),
            "it is encrypted: decrypt it, its signatures are verified then",
        )),
    }
}

/// Holds text back until its signature is verified, if the output cannot be taken back.
fn guard(sink: Sink<'_>) -> Result<Sink<'_>, Error> {
    if sink.can_be_taken_back() { Ok(sink) } else { sink.spool() }
}

fn detached(
    source: Source<'_>,
    signatures: &[u8],
    what: &Verify<'_>,
    run: &Run<'_>,
    account: &Account,
) -> Result<Summary, Error> {
    let mut found = Found::default();
    add_signatures(signatures, "the detached signature", what, &mut found)?;
    let hash = Step::in_order(Stage::Cipher, |block| {
        found.checker.update(block.piece());
        Ok(())
    });
    let read = AtomicU64::new(0);
    read_all(source.into_reader(), run, account, &read, vec![hash])?;
    let mut summary = account.close(read.into_inner(), 0);
    summary.signatures = judge(found, what)?;
    Ok(summary)
}

fn inline(
    mut entry: Entry<'_>,
    inner: Inner,
    mut sink: Sink<'_>,
    what: &Verify<'_>,
    run: &Run<'_>,
    account: &Account,
) -> Result<Summary, Error> {
    let found = Mutex::new(Found::default());
    let name = entry.name().to_owned();
    let backend = inflate_backend(run.provider);
    let unwrap = Unwrap::new(inner, &found, what.limits, &name, backend, false, TEXT_BLOCK_BYTES);
    let work = Work {
        compresses: true,
        compresses_in_parallel: false,
        enciphers_in_parallel: false,
        is_small: false,
    };
    let mut steps = vec![Step::in_order(Stage::Read, |block| {
        let filled = entry.fill_clear(block.memory(BLOCK_BYTES))?;
        block.keep(0..filled);
        block.is_last = filled < BLOCK_BYTES;
        Ok(())
    })];
    let text = TextSteps { is_checked: true, has_local_lines: what.has_local_lines };
    add_text_steps(&mut steps, unwrap, &found, text, &mut sink);
    let flow = Flow { steps, block_bytes: BLOCK_BYTES, second_block_bytes: TEXT_BLOCK_BYTES };
    flow.run(&Crew::new(run, work), &account.times, run.interrupted)?;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let literal = found.literal.clone();
    let signatures = judge(found, what)?;
    let output_bytes = sink.finish()?;
    let mut summary = account.close(entry.read(), output_bytes);
    summary.text_bytes = output_bytes;
    summary.signatures = signatures;
    if let Some(literal) = literal {
        summary.literal_modified = Some(literal.modified).filter(|time| time.as_secs() != 0);
        summary.literal_name = literal.name;
    }
    Ok(summary)
}

/// Verifies a cleartext message. Only the signatures, which come after the text, say for certain how the text is
/// hashed. So the signed text is kept, and read again for them.
fn in_cleartext(
    mut bytes: Bytes<'_>,
    mut sink: Sink<'_>,
    what: &Verify<'_>,
    run: &Run<'_>,
    account: &Account,
) -> Result<Summary, Error> {
    let name = bytes.name().to_owned();
    let mut reader = cleartext::Reader::new();
    let mut text = cleartext::Text::default();
    let mut kept = Kept::default();
    let mut piece = vec![0; BLOCK_BYTES];
    loop {
        if run.interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Error::Interrupted);
        }
        let some = bytes.some(&mut piece)?;
        if some == 0 {
            break;
        }
        text.clear();
        reader.update(&piece[..some], &mut text).map_err(|cause| packet_error(cause, &name))?;
        sink.write(&mut [IoSlice::new(&text.text)])?;
        kept.push(&text.signed)?;
    }
    if reader.has_text_around() {
        run.progress.warn(&format!(
            "{name} holds more than the signed message: what stands before or behind it is not signed"
        ));
    }
    sink.write(&mut [IoSlice::new(reader.last_line_end())])?;
    let packets = reader.finish().map_err(|cause| packet_error(cause, &name))?;
    let mut found = Found::default();
    add_signatures(&packets, &name, what, &mut found)?;
    kept.read(&mut piece, |signed| found.checker.update(signed))?;
    let signatures = judge(found, what)?;
    let output_bytes = sink.finish()?;
    let mut summary = account.close(bytes.read(), output_bytes);
    summary.text_bytes = output_bytes;
    summary.signatures = signatures;
    Ok(summary)
}

/// Text that is read twice: a short text is in memory, a longer one in a file without a name.
#[derive(Default)]
struct Kept {
    memory: Vec<u8>,
    file: Option<File>,
}

impl Kept {
    fn push(&mut self, text: &[u8]) -> Result<(), Error> {
        self.memory.extend_from_slice(text);
        if self.memory.len() > KEPT_BYTES_MAX {
            self.spill().map_err(kept_failed)?;
        }
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => Unnamed::anonymous(&std::env::temp_dir())?,
        };
        file.write_all(&self.memory)?;
        self.memory.clear();
        self.file = Some(file);
        Ok(())
    }

    fn read(&mut self, piece: &mut [u8], mut take: impl FnMut(&[u8])) -> Result<(), Error> {
        if let Some(mut file) = self.file.take() {
            file.rewind().map_err(kept_failed)?;
            loop {
                match file.read(piece).map_err(kept_failed)? {
                    0 => break,
                    read => take(&piece[..read]),
                }
            }
        }
        take(&self.memory);
        Ok(())
    }
}

fn kept_failed(cause: io::Error) -> Error {
    Error::Output { name: "a temporary file".to_owned(), operation: "use", cause }
}

fn judge(found: Found, what: &Verify<'_>) -> Result<Vec<SignatureReport>, Error> {
    let window = Window { not_before: what.not_before, not_after: what.not_after };
    let signatures = verdicts::of(found, Some(what.verifiers), &Context::Clear, what.now, window);
    if verdicts::has_good(&signatures) { Ok(signatures) } else { Err(Error::NoValidSignature { signatures }) }
}

/// Adds signatures that are known before the text.
fn add_signatures(bytes: &[u8], name: &str, what: &Verify<'_>, found: &mut Found) -> Result<(), Error> {
    let packets = match look(bytes) {
        Look::Armor(_) => {
            let mut dearmorer = Dearmorer::new();
            let mut packets = Vec::new();
            dearmorer.update(bytes, &mut packets).map_err(|cause| packet_error(cause, name))?;
            dearmorer.finish().map_err(|cause| packet_error(cause, name))?;
            packets
        }
        _ => bytes.to_vec(),
    };
    refuse_critical(&packets, name)?;
    let mut count = 0;
    for packet in PacketParser::new(&packets[..]) {
        count += 1;
        if count > what.limits.packets_max {
            return Err(Error::Limit { what: "packets", limit: what.limits.packets_max.into() });
        }
        match packet {
            Ok(Packet::Signature(signature)) => found.checker.signature(signature),
            Ok(_) => {}
            Err(_) => found.unknown_signatures += 1,
        }
    }
    if count == 0 {
        return Err(Error::malformed(name, "it holds no signature"));
    }
    Ok(())
}

/// Refuses packets among which one has an unknown critical type: it makes all the others unreadable (RFC 9580, 4.3).
fn refuse_critical(mut packets: &[u8], name: &str) -> Result<(), Error> {
    let mut splitter = Splitter::new();
    // Malformed packets are reported when they are read.
    while let Ok(step) = splitter.step(packets) {
        match step.event {
            Event::Header(header) if matches!(header.tag, Tag::UnassignedCritical(_)) => {
                let cause =
                    format!("a packet of type {}, which is critical and not known", u8::from(header.tag));
                return Err(Error::malformed(name, cause));
            }
            Event::More => break,
            _ => {}
        }
        packets = &packets[step.consumed..];
    }
    Ok(())
}

/// Longest text that is kept in memory, in bytes.
const KEPT_BYTES_MAX: usize = 1 << 20;
