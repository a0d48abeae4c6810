//! Decryption: the stages of a message on its way out of a file.
//!
//! ```text
//! read, unframe -> AEAD chunks, parallel | CFB, parallel -> SHA-1 -> unpack, inflate -> [hash for signatures] -> write
//! ```

use crate::crew::{Crew, Work};
use crate::entry::{Begin, Bytes, Entry, grammar_limits};
use crate::error::Error;
use crate::flow::{Flow, Step};
use crate::lines::LocalLines;
use crate::opening::Opening;
use crate::request::{Decrypt, Input, Output, Unauthenticated};
use crate::run::{Provider, Run};
use crate::sink::Sink;
use crate::source::Source;
use crate::summary::{Stage, Summary};
use crate::times::Account;
use crate::unnamed::Content;
use crate::unwrap::{Found, Unwrap};
use crate::verdicts::{self, Window};
use deflate::Backend;
use openpgp::body::grammar::{DataMode, Inner, Protected};
use openpgp::packet::armor::{ArmorKind, Look};
use openpgp::session_key::SessionKeyPacket;
use openpgp::signature::Context;
use std::io::IoSlice;
use std::sync::{Mutex, PoisonError};

pub(crate) fn decrypt(
    input: Input,
    output: Output,
    what: &Decrypt<'_>,
    run: &Run<'_>,
) -> Result<Summary, Error> {
    let account = Account::open();
    let source = Source::open(input, run.interrupted)?;
    let sink =
        Sink::open(output, Content::Secret, source.identity(), run.interrupted)?.durable(run.is_durable);
    run.progress.begin(source.bytes());
    let input_bytes = source.bytes();
    let reader = source.into_reader();
    let (bytes, look) = Bytes::new(reader, run.progress)?;
    if look == Look::Armor(ArmorKind::SignedMessage) {
        return Err(Error::malformed(bytes.name(), "it is signed and not encrypted: verify it"));
    }
    let (mut entry, begin) = Entry::new(bytes, &what.limits)?;
    let Begin::Encrypted { mut packets, unknown_count, protected } = begin else {
        return Err(Error::malformed(entry.name(), "it is not encrypted; if it is signed, verify it"));
    };
    let had_packets = !packets.is_empty();
    let are_too_many = !keep_what_counts(&mut packets, &protected);
    let candidates = what.session_keys.open(&packets, &protected).map_err(|not_opened| {
        if had_packets && packets.is_empty() {
            Error::malformed(entry.name(), "its session keys are of versions that do not go with its body")
        } else if packets.is_empty() && unknown_count > 0 {
            Error::Unsupported { what: "the kind of packet that holds its session key".to_owned() }
        } else if are_too_many {
            Error::Limit { what: "passphrase packets", limit: PASSPHRASE_PACKETS_MAX as u64 }
        } else {
            Error::NotOpened(not_opened)
        }
    })?;
    let is_guess_of_some = are_too_many && candidates.are_guesses();
    let candidates = candidates.in_order();
    let (opening, chosen, first) = Opening::choose(run.engine, &protected, &candidates, &mut entry)?;
    let form = opening.form();
    let is_late = !opening.is_authentic_in_pieces();
    let mut sink = guard(sink, is_late || what.must_be_signed, what.unauthenticated, run)?;

    let found = Mutex::new(Found::default());
    let inner = Inner::new(grammar_limits(&what.limits));
    let backend = inflate_backend(run.provider);
    let name = entry.name().to_owned();
    let block_bytes = opening.block_bytes();
    let is_small = input_bytes.is_some_and(|bytes| bytes <= block_bytes as u64);
    let text_block_bytes = if is_small { SMALL_TEXT_BLOCK_BYTES } else { TEXT_BLOCK_BYTES };
    let unwrap = Unwrap::new(inner, &found, what.limits, &name, backend, is_late, text_block_bytes);
    let work =
        Work { compresses: true, compresses_in_parallel: false, enciphers_in_parallel: true, is_small };
    let mut steps = vec![opening.reading(&mut entry, first)];
    opening.add_steps(&mut steps);
    let text = TextSteps { is_checked: what.verifiers.is_some(), has_local_lines: what.has_local_lines };
    add_text_steps(&mut steps, unwrap, &found, text, &mut sink);
    let flow = Flow { steps, block_bytes, second_block_bytes: text_block_bytes };
    flow.run(&Crew::new(run, work), &account.times, run.interrupted).map_err(|error| match error {
        // The right key may be among the packets that were not tried.
        Error::Unauthentic { .. } if is_guess_of_some => {
            Error::Limit { what: "passphrase packets", limit: PASSPHRASE_PACKETS_MAX as u64 }
        }
        error => error,
    })?;

    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let literal = found.literal.clone();
    let context = Context::Encrypted { opened_by: candidates[chosen].certificate.clone() };
    let signatures = verdicts::of(found, what.verifiers, &context, what.now, Window::ALWAYS);
    if what.must_be_signed && !verdicts::has_good(&signatures) {
        return Err(Error::NoValidSignature { signatures });
    }
    let output_bytes = sink.finish()?;
    let mut summary = account.close(entry.read(), output_bytes);
    summary.form = Some(form);
    summary.text_bytes = output_bytes;
    summary.signatures = signatures;
    let chosen = &candidates[chosen];
    summary.opened_by = Some(chosen.by.clone());
    summary.session_key = Some(chosen.session_key.clone());
    if let Some(literal) = literal {
        summary.literal_modified = Some(literal.modified).filter(|time| time.as_secs() != 0);
        summary.literal_name = literal.name;
    }
    Ok(summary)
}

/// Drops session key packets that do not go with this kind of body, and passphrase packets beyond the bound. Returns
/// false if the bound was passed.
fn keep_what_counts(packets: &mut Vec<SessionKeyPacket>, protected: &Protected) -> bool {
    let mut passphrases = 0;
    packets.retain(|packet| {
        if !protected.goes_with(packet) {
            return false;
        }
        passphrases += usize::from(matches!(packet, SessionKeyPacket::Passphrase(_)));
        !matches!(packet, SessionKeyPacket::Passphrase(_)) || passphrases <= PASSPHRASE_PACKETS_MAX
    });
    passphrases <= PASSPHRASE_PACKETS_MAX
}

/// Guards an output that cannot be taken back, if its text is not authenticated before the end: refuses the text, holds
/// it back, or warns.
fn guard<'a>(
    sink: Sink<'a>,
    is_unauthenticated: bool,
    asked: Unauthenticated,
    run: &Run<'_>,
) -> Result<Sink<'a>, Error> {
    if !is_unauthenticated || sink.can_be_taken_back() {
        return Ok(sink);
    }
    match asked {
        Unauthenticated::Refuse => Err(Error::WouldLeaveUnauthenticated),
        Unauthenticated::Buffer { bytes_max } => Ok(sink.hold(bytes_max)),
        Unauthenticated::WriteWithWarning => {
            run.progress.warn(
                "the text is written before it is authenticated: use none of it unless this command succeeds",
            );
            Ok(sink)
        }
    }
}

/// The deflate library that inflates for this provider.
pub(crate) fn inflate_backend(provider: Provider) -> Backend {
    match provider {
        Provider::Software => Backend::ZlibRs,
        Provider::Engine | Provider::Card => Backend::best_inflate(),
    }
}

/// The optional steps that the text passes on its way to the sink.
#[derive(Clone, Copy)]
pub(crate) struct TextSteps {
    /// Whether the text's signatures are checked.
    pub(crate) is_checked: bool,
    /// Whether text gets this system's line ends, after its signatures are checked.
    pub(crate) has_local_lines: bool,
}

/// Adds the steps from the body to the text, through the check of signatures, into the sink.
pub(crate) fn add_text_steps<'a>(
    steps: &mut Vec<Step<'a>>,
    mut unwrap: Unwrap<'a>,
    found: &'a Mutex<Found>,
    text: TextSteps,
    sink: &'a mut Sink<'_>,
) {
    steps.push(Step::between(Stage::Compress, move |input, out| unwrap.pass(input, out)));
    if text.is_checked {
        steps.push(Step::in_order(Stage::Cipher, move |block| {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.checker.update(block.piece());
            Ok(())
        }));
    }
    if text.has_local_lines {
        let mut lines = LocalLines::default();
        steps.push(Step::in_order(Stage::Write, move |block| {
            let is_text = {
                let found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.literal.as_ref().is_some_and(|literal| is_text(literal.mode))
            };
            if is_text {
                let is_last = block.is_last;
                block.replace(|_, text, out| lines.take(text, is_last, out));
            }
            Ok(())
        }));
    }
    steps.push(Step::in_order(Stage::Write, move |block| sink.write(&mut [IoSlice::new(block.piece())])));
}

/// Whether a literal packet declares its contents as text (RFC 9580, 5.9).
fn is_text(mode: DataMode) -> bool {
    matches!(mode, DataMode::Text | DataMode::Utf8)
}

/// At most this many packets under passphrases are tried: each may take seconds and gigabytes to open.
const PASSPHRASE_PACKETS_MAX: usize = 32;
/// Length of text blocks in bytes if the text was compressed: a block of most texts inflates into one of these.
/// Inflating begins each piece in memory of its own and copies that, so that pieces of 256 KiB took 6 % more processor
/// time.
pub(crate) const TEXT_BLOCK_BYTES: usize = 1536 * 1024;
/// Length of text blocks in bytes if the input is at most one block.
const SMALL_TEXT_BLOCK_BYTES: usize = 256 * 1024;
