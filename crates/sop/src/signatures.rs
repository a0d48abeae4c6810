//! The subcommands `sign`, `verify`, `inline-sign` and `inline-verify`.

use crate::Tool;
use crate::data;
use crate::failure::{of_pipeline, told};
use crate::holders::{Known, signers, variants};
use crate::keys::now;
use crate::objects::{Certs, Keys, Packets, Sigs};
use openpgp::private_key::PrivateCertificate;
use openpgp::signature::Signer;
use openpgp::{CompressionAlgorithm, Passphrase, Timestamp};
use pipeline::{
    Compression, Limits, Literal, LiteralMode, NoProgress, Provider, Run, SignatureKind, Summary, Verdict,
};
use sop::errors::Error;
use sop::ops::{self, InlineSignAs, Micalg, Ready, SignAs, SignatureMode, Verification, VerifySignatures};
use sop::{Password, Result};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Options for the pipeline: the engine as provider, and as many threads as the machine allows.
pub(crate) fn run_options() -> Run<'static> {
    Run {
        engine: openpgp::engine(),
        provider: Provider::Engine,
        stages: None,
        threads: None,
        offload_processors: &[],
        progress: &NoProgress,
        is_durable: false,
        interrupted: None,
    }
}

/// Neither encrypted nor signed text is compressed: the draft leaves it open, and uncompressed lengths reveal less.
pub(crate) fn uncompressed() -> Compression {
    Compression { algorithm: CompressionAlgorithm::Uncompressed, level: 1 }
}

/// A literal packet without a name and a time, so that it tells nothing about where the text is from.
pub(crate) fn literal(is_text: bool) -> Literal {
    let mode = if is_text { LiteralMode::Utf8 } else { LiteralMode::Binary };
    Literal { name: Vec::new(), mode, modified: Timestamp::from_secs(0) }
}

/// Bounds on the time at which a signature was made; a signature outside counts for nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    pub(crate) not_before: Option<SystemTime>,
    pub(crate) not_after: Option<SystemTime>,
}

impl Window {
    fn bounds(self) -> (Option<Timestamp>, Option<Timestamp>) {
        (self.not_before.map(timestamp), self.not_after.map(timestamp))
    }

    fn holds(self, made: SystemTime) -> bool {
        self.not_before.is_none_or(|bound| made >= bound) && self.not_after.is_none_or(|bound| made <= bound)
    }
}

/// A time as OpenPGP represents it; a time out of range becomes the nearest one.
fn timestamp(time: SystemTime) -> Timestamp {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Timestamp::from_secs(u32::try_from(seconds).unwrap_or(u32::MAX))
}

/// The good signatures of a summary that were made within the window.
///
/// # Errors
/// None arise here; the crate `sop` provides for them.
pub(crate) fn verifications(summary: &Summary, window: Window) -> Result<Vec<Verification>> {
    let mut all = Vec::new();
    for signature in &summary.signatures {
        let (Verdict::Good { certificate, key, is_text }, Some(made)) = (&signature.verdict, signature.made)
        else {
            continue;
        };
        let made = UNIX_EPOCH + Duration::from_secs(u64::from(made.as_secs()));
        if window.holds(made) {
            let mode = if *is_text { SignatureMode::Text } else { SignatureMode::Binary };
            let (key, certificate) = (format!("{key:X}"), format!("{certificate:X}"));
            all.push(Verification::new(made, key, certificate, mode, None)?);
        }
    }
    Ok(all)
}

/// The good signatures within the window, at least one.
///
/// # Errors
/// [`Error::NoSignature`] if there is none.
fn demanded(summary: &Summary, window: Window) -> Result<Vec<Verification>> {
    let all = verifications(summary, window)?;
    if all.is_empty() { Err(told("no valid signature", Error::NoSignature)) } else { Ok(all) }
}

/// Keys that sign, and passphrases that may unlock them.
#[derive(Default)]
struct Hands {
    keys: Vec<PrivateCertificate>,
    passphrases: Vec<Passphrase>,
}

impl Hands {
    /// One signer for each key.
    ///
    /// # Errors
    /// [`Error::MissingArg`] without a key; else as [`signers`].
    fn signers(&self, now: Timestamp) -> Result<Vec<Signer>> {
        if self.keys.is_empty() {
            return Err(told("name a key that signs", Error::MissingArg));
        }
        signers(&self.keys, &self.passphrases, now)
    }
}

/// The subcommand `sign`.
pub struct Sign<'s> {
    tool: &'s Tool,
    is_text: bool,
    hands: Hands,
}

impl<'s> Sign<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        Self { tool, is_text: false, hands: Hands::default() }
    }
}

impl<'s> ops::Sign<'s, Tool, Keys<'s>, Sigs<'s>> for Sign<'s> {
    fn mode(mut self: Box<Self>, mode: SignAs) -> Box<dyn ops::Sign<'s, Tool, Keys<'s>, Sigs<'s>> + 's> {
        self.is_text = mode == SignAs::Text;
        self
    }

    fn keys(
        mut self: Box<Self>,
        keys: &Keys<'s>,
    ) -> Result<Box<dyn ops::Sign<'s, Tool, Keys<'s>, Sigs<'s>> + 's>> {
        self.hands.keys.extend(keys.content.iter().cloned());
        Ok(self)
    }

    fn with_key_password(
        mut self: Box<Self>,
        password: Password,
    ) -> Result<Box<dyn ops::Sign<'s, Tool, Keys<'s>, Sigs<'s>> + 's>> {
        self.hands.passphrases.extend(variants(&password));
        Ok(self)
    }

    fn data(self: Box<Self>, data: &mut (dyn Read + Send + Sync)) -> Result<(Micalg, Sigs<'s>)> {
        let now = now();
        let signers = self.hands.signers(now)?;
        let input = data::input(self.tool.streams, data)?;
        let mut packets = Vec::new();
        let what = request(&signers, SignatureKind::Detached, self.is_text, false, now);
        let run = run_options();
        data::run_waiting(&mut packets, |output| pipeline::sign(input, output, &what, &run))?;
        Ok((micalg(&signers), Sigs::new(self.tool, Packets(packets))))
    }
}

/// The pipeline's request for signing.
fn request(
    signers: &[Signer],
    kind: SignatureKind,
    is_text: bool,
    armor: bool,
    now: Timestamp,
) -> pipeline::Sign<'_> {
    let (compression, literal) = (uncompressed(), literal(is_text));
    pipeline::Sign { signers, kind, is_text, compression, literal, armor, now }
}

/// The hash that all signers use, for the parameter `micalg` of `multipart/signed`; unknown if their hashes differ.
fn micalg(signers: &[Signer]) -> Micalg {
    match signers {
        [first, others @ ..] if others.iter().all(|other| other.hash == first.hash) => {
            Micalg::from(u8::from(first.hash))
        }
        _ => Micalg::Unknown(String::new()),
    }
}

/// The subcommand `verify`.
pub struct Verify<'s> {
    tool: &'s Tool,
    window: Window,
    known: Known,
}

impl<'s> Verify<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        Self { tool, window: Window::default(), known: Known::default() }
    }
}

impl<'s> ops::Verify<'s, Tool, Certs<'s>, Sigs<'s>> for Verify<'s> {
    fn not_before(
        mut self: Box<Self>,
        time: SystemTime,
    ) -> Box<dyn ops::Verify<'s, Tool, Certs<'s>, Sigs<'s>> + 's> {
        self.window.not_before = Some(time);
        self
    }

    fn not_after(
        mut self: Box<Self>,
        time: SystemTime,
    ) -> Box<dyn ops::Verify<'s, Tool, Certs<'s>, Sigs<'s>> + 's> {
        self.window.not_after = Some(time);
        self
    }

    fn certs(
        mut self: Box<Self>,
        certs: &Certs<'s>,
    ) -> Result<Box<dyn ops::Verify<'s, Tool, Certs<'s>, Sigs<'s>> + 's>> {
        self.known.0.extend(certs.content.iter().cloned().map(Arc::new));
        Ok(self)
    }

    fn signatures<'sigs>(
        self: Box<Self>,
        signatures: &'sigs Sigs<'s>,
    ) -> Result<Box<dyn VerifySignatures<'sigs> + 'sigs>>
    where
        's: 'sigs,
    {
        demand_certificates(&self.known)?;
        Ok(Box::new(ReadyToVerify { verify: *self, signatures }))
    }
}

struct ReadyToVerify<'s, 'sigs> {
    verify: Verify<'s>,
    signatures: &'sigs Sigs<'s>,
}

impl<'sigs> VerifySignatures<'sigs> for ReadyToVerify<'_, 'sigs> {
    fn data(self: Box<Self>, data: &mut (dyn Read + Send + Sync)) -> Result<Vec<Verification>> {
        let Verify { tool, window, known } = &self.verify;
        let input = data::input(tool.streams, data)?;
        let what = check(known, Some(&self.signatures.content.0), *window);
        let summary = pipeline::verify(input, None, &what, &run_options()).map_err(of_pipeline)?;
        demanded(&summary, *window)
    }
}

/// The pipeline's request for verifying; `detached` holds the signatures, `None` if they are in the message.
fn check<'a>(known: &'a Known, detached: Option<&'a [u8]>, window: Window) -> pipeline::Verify<'a> {
    let (not_before, not_after) = window.bounds();
    pipeline::Verify {
        verifiers: known,
        detached,
        has_local_lines: false,
        limits: Limits::default(),
        now: now(),
        not_before,
        not_after,
    }
}

fn demand_certificates(known: &Known) -> Result<()> {
    if known.0.is_empty() { Err(told("name a certificate", Error::MissingArg)) } else { Ok(()) }
}

/// The subcommand `inline-sign`.
pub struct InlineSign<'s> {
    tool: &'s Tool,
    armor: bool,
    mode: InlineSignAs,
    hands: Hands,
}

impl<'s> InlineSign<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        Self { tool, armor: true, mode: InlineSignAs::Binary, hands: Hands::default() }
    }
}

impl<'s> ops::InlineSign<'s, Tool, Keys<'s>> for InlineSign<'s> {
    fn no_armor(mut self: Box<Self>) -> Box<dyn ops::InlineSign<'s, Tool, Keys<'s>> + 's> {
        self.armor = false;
        self
    }

    fn mode(mut self: Box<Self>, mode: InlineSignAs) -> Box<dyn ops::InlineSign<'s, Tool, Keys<'s>> + 's> {
        self.mode = mode;
        self
    }

    fn keys(
        mut self: Box<Self>,
        keys: &Keys<'s>,
    ) -> Result<Box<dyn ops::InlineSign<'s, Tool, Keys<'s>> + 's>> {
        self.hands.keys.extend(keys.content.iter().cloned());
        Ok(self)
    }

    fn with_key_password(
        mut self: Box<Self>,
        password: Password,
    ) -> Result<Box<dyn ops::InlineSign<'s, Tool, Keys<'s>> + 's>> {
        self.hands.passphrases.extend(variants(&password));
        Ok(self)
    }

    fn data<'d>(self: Box<Self>, data: &'d mut (dyn Read + Send + Sync)) -> Result<Box<dyn Ready + 'd>>
    where
        's: 'd,
    {
        if self.mode == InlineSignAs::ClearSigned && !self.armor {
            return Err(told("a cleartext signature is always armored", Error::IncompatibleOptions));
        }
        Ok(Box::new(ReadyToSign { sign: *self, data }))
    }
}

struct ReadyToSign<'s, 'd> {
    sign: InlineSign<'s>,
    data: &'d mut (dyn Read + Send + Sync),
}

impl Ready for ReadyToSign<'_, '_> {
    fn to_writer(self: Box<Self>, sink: &mut (dyn Write + Send + Sync)) -> Result<()> {
        let InlineSign { tool, armor, mode, hands } = self.sign;
        let now = now();
        let signers = hands.signers(now)?;
        let is_text = mode != InlineSignAs::Binary;
        let kind = match mode {
            InlineSignAs::ClearSigned => SignatureKind::Cleartext,
            InlineSignAs::Binary | InlineSignAs::Text => SignatureKind::Inline,
        };
        let input = data::input(tool.streams, self.data)?;
        let what = request(&signers, kind, is_text, armor, now);
        let run = run_options();
        data::run(tool.streams, sink, |output| pipeline::sign(input, output, &what, &run))?;
        Ok(())
    }
}

/// The subcommand `inline-verify`.
pub struct InlineVerify<'s> {
    tool: &'s Tool,
    window: Window,
    known: Known,
}

impl<'s> InlineVerify<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        Self { tool, window: Window::default(), known: Known::default() }
    }
}

impl<'s> ops::InlineVerify<'s, Tool, Certs<'s>> for InlineVerify<'s> {
    fn not_before(
        mut self: Box<Self>,
        time: SystemTime,
    ) -> Box<dyn ops::InlineVerify<'s, Tool, Certs<'s>> + 's> {
        self.window.not_before = Some(time);
        self
    }

    fn not_after(
        mut self: Box<Self>,
        time: SystemTime,
    ) -> Box<dyn ops::InlineVerify<'s, Tool, Certs<'s>> + 's> {
        self.window.not_after = Some(time);
        self
    }

    fn certs(
        mut self: Box<Self>,
        certs: &Certs<'s>,
    ) -> Result<Box<dyn ops::InlineVerify<'s, Tool, Certs<'s>> + 's>> {
        self.known.0.extend(certs.content.iter().cloned().map(Arc::new));
        Ok(self)
    }

    fn message<'d>(
        self: Box<Self>,
        data: &'d mut (dyn Read + Send + Sync),
    ) -> Result<Box<dyn Ready<Vec<Verification>> + 'd>>
    where
        's: 'd,
    {
        demand_certificates(&self.known)?;
        Ok(Box::new(ReadyToVerifyInline { verify: *self, data }))
    }
}

struct ReadyToVerifyInline<'s, 'd> {
    verify: InlineVerify<'s>,
    data: &'d mut (dyn Read + Send + Sync),
}

impl Ready<Vec<Verification>> for ReadyToVerifyInline<'_, '_> {
    fn to_writer(self: Box<Self>, sink: &mut (dyn Write + Send + Sync)) -> Result<Vec<Verification>> {
        let InlineVerify { tool, window, known } = self.verify;
        let input = data::input(tool.streams, self.data)?;
        let what = check(&known, None, window);
        let run = run_options();
        let summary = data::run_waiting(sink, |output| pipeline::verify(input, Some(output), &what, &run))?;
        demanded(&summary, window)
    }
}
