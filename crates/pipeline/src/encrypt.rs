//! Encryption: the stages of a message on its way into a file.
//!
//! ```text
//! read -> [hash for signatures] -> [deflate, parallel] -> [gather] -> CFB with hash, or AEAD chunks, parallel -> write
//! ```

use crate::block::Block;
use crate::crew::{Crew, Work};
use crate::error::Error;
use crate::exit::Exit;
use crate::flow::{Flow, Step};
use crate::gather::{Gather, Packed};
use crate::request::{Compression, Encrypt, Input, Output};
use crate::run::{Provider, Run};
use crate::sealing::Sealing;
use crate::signing::Signing;
use crate::sink::Sink;
use crate::source::Source;
use crate::summary::{Stage, Summary};
use crate::text::Text;
use crate::times::Account;
use crate::unnamed::Content;
use deflate::{Adler32, Backend, DICTIONARY_BYTES_MAX, Deflater};
use openpgp::body::chunked::TAG_BYTES;
use openpgp::certificate::EncryptionKey;
use openpgp::packet::armor::{ArmorKind, Armorer};
use openpgp::session_key::{self, S2k};
use openpgp::{CompressionAlgorithm, Fingerprint, PlainSessionKey, Protection};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) fn encrypt(
    input: Input,
    output: Output,
    what: &Encrypt<'_>,
    run: &Run<'_>,
) -> Result<Summary, Error> {
    let account = Account::open();
    check(what)?;
    let source = Source::open(input, run.interrupted)?;
    let sink =
        Sink::open(output, Content::Public, source.identity(), run.interrupted)?.durable(run.is_durable);
    run.progress.begin(source.bytes());
    let reader = source.read_as(what.literal.mode).into_reader();
    let session_key = what.session_key.map_or_else(|| session_key::generate(what.form), Clone::clone);
    let sealing = Sealing::new(run.engine, what.form, &session_key)?;
    let signing = Signing::new(what.signers, &intended(what.recipients), what.now, false)?;
    let text = Text::new(reader, run.progress, signing.one_pass_packets(), &what.literal)?;

    // Readers of SEIPDv2 ignore a checksum; old readers may need it.
    let has_checksum = !matches!(what.form.protection, Protection::SeipdV2 { .. });
    let armorer = what.armor.then(|| Armorer::new(ArmorKind::Message, has_checksum));
    let mut exit = Exit::new(sink, armorer)?;
    exit.write(&[&session_key_packets(what, &session_key)?], false)?;
    let is_compressed = what.compression.algorithm != CompressionAlgorithm::Uncompressed;
    let stream_bytes = text.stream_bytes().filter(|_| !is_compressed && signing.is_empty());
    exit.begin_packet(sealing.tag(), stream_bytes.and_then(|bytes| sealing.body_bytes(bytes)));
    exit.write(&[sealing.header()], false)?;

    let message = Message { text, signing, compression: what.compression, sealing: Some(sealing) };
    let input_bytes = message.write(&mut exit, run, &account)?;
    let output_bytes = exit.finish()?;
    let mut summary = account.close(input_bytes, output_bytes);
    summary.form = Some(what.form);
    summary.session_key = Some(session_key);
    Ok(summary)
}

/// A message to write, with its layers from the outermost inwards.
pub(crate) struct Message<'a> {
    pub(crate) text: Text<'a>,
    pub(crate) signing: Signing,
    pub(crate) compression: Compression,
    pub(crate) sealing: Option<Sealing>,
}

impl Message<'_> {
    /// Writes the body of the message; returns how many bytes of text were read.
    pub(crate) fn write(self, exit: &mut Exit<'_>, run: &Run<'_>, account: &Account) -> Result<u64, Error> {
        let Self { text, signing, compression, sealing } = self;
        let is_compressed = compression.algorithm != CompressionAlgorithm::Uncompressed;
        let chunk_bytes = sealing.as_ref().and_then(Sealing::chunk_bytes);
        let is_direct = !is_compressed && signing.is_empty() && text.is_known();
        let gathers = is_compressed || (chunk_bytes.is_some() && !is_direct);
        let block_bytes = block_bytes(&text, is_compressed.then_some(compression.level));
        let work = Work {
            compresses: is_compressed,
            compresses_in_parallel: true,
            enciphers_in_parallel: chunk_bytes.is_some(),
            is_small: text.stream_bytes().is_some_and(|bytes| bytes <= block_bytes as u64),
        };
        let (layout, memory_bytes) = match chunk_bytes {
            Some(chunk_bytes) if !gathers => {
                let chunks = (block_bytes / chunk_bytes).max(1);
                // A stream that does not fill a chunk needs no memory for a whole one.
                let stream_bytes = text.stream_bytes().and_then(|bytes| usize::try_from(bytes).ok());
                let chunk_bytes = stream_bytes.map_or(chunk_bytes, |bytes| chunk_bytes.min(bytes.max(1)));
                (Layout::Chunks { chunks, chunk_bytes }, chunks * (chunk_bytes + TAG_BYTES))
            }
            _ => (Layout::Piece { bytes: block_bytes }, block_bytes),
        };
        let read = AtomicU64::new(0);
        let exit = Mutex::new(exit);
        let keeps_before = is_compressed && compression.level > APART_LEVEL_MAX;
        let mut text = text;
        let places = if keeps_before { None } else { text.plan() };
        let lay = reading(text, layout, keeps_before, &read);
        let mut steps = vec![match places {
            None => Step::in_order(Stage::Read, lay),
            Some(places) => Step::planned(Stage::Read, lay, move |block: &mut Block| {
                block.fill_texts(|memory, at| {
                    run.progress.advance(memory.len() as u64);
                    places.read(memory, at)
                })
            }),
        }];
        signing.add_steps(&mut steps);
        if is_compressed {
            steps.push(compressing(compression, run.provider));
        }
        if gathers {
            let packed = is_compressed.then(|| Packed::new(compression.algorithm, compression.level));
            let mut gather = Gather::new(packed, chunk_bytes);
            let stage = if is_compressed { Stage::Compress } else { Stage::Cipher };
            steps.push(Step::in_order(stage, move |block| {
                gather.gather(block);
                Ok(())
            }));
        }
        if let Some(sealing) = sealing {
            steps.push(sealing.step());
        }
        steps.push(Step::in_order(Stage::Write, |block| {
            let mut exit = exit.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            exit.write(&[block.piece(), &block.end], block.is_last)
        }));
        let flow = Flow { steps, block_bytes: memory_bytes, second_block_bytes: 0 };
        flow.run(&Crew::new(run, work), &account.times, run.interrupted)?;
        Ok(read.into_inner())
    }
}

/// Layout of the stream in the blocks' memory.
#[derive(Clone, Copy)]
enum Layout {
    Piece {
        bytes: usize,
    },
    /// Chunks, each followed by room for a tag.
    Chunks {
        chunks: usize,
        chunk_bytes: usize,
    },
}

/// The function that lays the stream out in blocks. It also reads the text, unless other threads do.
fn reading<'a>(
    mut text: Text<'a>,
    layout: Layout,
    keeps_before: bool,
    read: &'a AtomicU64,
) -> impl FnMut(&mut Block) -> Result<(), Error> + Send + 'a {
    let mut before = Vec::new();
    let mut chunk = 0;
    let mut at = 0;
    move |block: &mut Block| {
        match layout {
            Layout::Piece { bytes } => {
                let (filled, is_last) = text.fill(block, 0, bytes)?;
                if text.is_known() {
                    block.keep(0..filled);
                }
                block.is_last = is_last;
            }
            Layout::Chunks { chunks, chunk_bytes } => {
                (block.at, block.chunk) = (at, chunk);
                let mut end = 0;
                for _ in 0..chunks {
                    let (filled, is_last) = text.fill(block, end, end + chunk_bytes)?;
                    end += filled + TAG_BYTES;
                    at += filled as u64;
                    chunk += 1;
                    block.is_last = is_last;
                    if is_last {
                        break;
                    }
                }
                block.memory(end);
                block.keep(0..end);
            }
        }
        if keeps_before {
            block.before.extend_from_slice(&before);
            remember(&mut before, block.piece());
        }
        let bytes: usize = block.texts().map(<[u8]>::len).sum();
        read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// Keeps the text that a deflater of the next piece can look back to.
fn remember(before: &mut Vec<u8>, piece: &[u8]) {
    let tail = &piece[piece.len().saturating_sub(DICTIONARY_BYTES_MAX)..];
    let kept = before.len().min(DICTIONARY_BYTES_MAX - tail.len());
    before.drain(..before.len() - kept);
    before.extend_from_slice(tail);
}

fn compressing<'a>(compression: Compression, provider: Provider) -> Step<'a> {
    let Compression { algorithm, level } = compression;
    let backend = match provider {
        Provider::Software => Backend::ZlibRs,
        Provider::Engine | Provider::Card => Backend::best(level),
    };
    let is_zlib = algorithm == CompressionAlgorithm::ZLIB;
    let idle: Mutex<Vec<Deflater>> = Mutex::new(Vec::new());
    Step::any_order(Stage::Compress, move |block: &mut Block| {
        let taken = idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
        let mut deflater = taken.unwrap_or_else(|| Deflater::new(level, backend));
        if is_zlib {
            let mut sum = Adler32::new();
            sum.update(block.piece());
            block.sum = (sum, block.len() as u64);
        }
        let is_last = block.is_last;
        block.replace(|before, piece, out| deflater.block(before, piece, is_last, out));
        idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(deflater);
        Ok(())
    })
}

/// Length of a block in bytes: as short as the stream, if that is short.
fn block_bytes(text: &Text<'_>, level: Option<u8>) -> usize {
    let most = match level {
        None => BLOCK_BYTES,
        Some(..=APART_LEVEL_MAX) => deflate::PIECE_BYTES,
        Some(_) => BOUND_BLOCK_BYTES,
    };
    match text.stream_bytes().and_then(|bytes| usize::try_from(bytes).ok()) {
        Some(bytes) if bytes < most => bytes.max(1),
        _ => most.max(text.pending_bytes() + BLOCK_BYTES_MIN),
    }
}

fn check(what: &Encrypt<'_>) -> Result<(), Error> {
    if what.recipients.is_empty() && what.passphrases.is_empty() && what.session_key.is_none() {
        return Err(Error::request("nobody could open the message: name a recipient, or give a passphrase"));
    }
    check_compression(what.compression)
}

pub(crate) fn check_compression(compression: Compression) -> Result<(), Error> {
    let Compression { algorithm, level } = compression;
    match algorithm {
        CompressionAlgorithm::Uncompressed => Ok(()),
        CompressionAlgorithm::ZIP | CompressionAlgorithm::ZLIB if (1..=9).contains(&level) => Ok(()),
        CompressionAlgorithm::ZIP | CompressionAlgorithm::ZLIB => {
            Err(Error::request(format!("the compression level {level} is not one of 1 to 9")))
        }
        other => Err(Error::Unsupported { what: format!("writing with the compression {other:?}") }),
    }
}

/// The recipients that signatures name. There are none if a recipient is hidden, since the others could read its name.
fn intended(recipients: &[EncryptionKey]) -> Vec<Fingerprint> {
    let mut intended = Vec::new();
    if recipients.iter().all(|recipient| !recipient.is_hidden) {
        for recipient in recipients {
            if !intended.contains(&recipient.certificate) {
                intended.push(recipient.certificate.clone());
            }
        }
    }
    intended
}

fn session_key_packets(what: &Encrypt<'_>, session_key: &PlainSessionKey) -> Result<Vec<u8>, Error> {
    let failed = |cause: session_key::SealError| Error::Unsupported { what: cause.to_string() };
    let mut packets = Vec::new();
    for recipient in what.recipients {
        packets.extend(session_key::for_recipient(recipient, session_key, what.form).map_err(failed)?);
    }
    for passphrase in what.passphrases {
        let s2k = S2k::for_form(what.form);
        packets.extend(session_key::for_passphrase(passphrase, session_key, what.form, s2k).map_err(failed)?);
    }
    Ok(packets)
}

/// Up to this level, pieces are compressed without the preceding text as a dictionary. The output is a few bytes in a
/// thousand longer, but can be inflated piece by piece in parallel.
const APART_LEVEL_MAX: u8 = 3;
/// Block length in bytes: a block fits a processor's second-level cache beside other data.
pub(crate) const BLOCK_BYTES: usize = 256 * 1024;
/// Length in bytes of pieces that are compressed with the preceding text as dictionary, which costs as much as 32 KiB
/// of text.
const BOUND_BLOCK_BYTES: usize = 2 << 20;
/// Least room for text in a block that also holds the bytes before the text, in bytes.
const BLOCK_BYTES_MIN: usize = 4096;
