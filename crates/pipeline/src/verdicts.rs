//! The verdicts on the signatures of a message.

use crate::request::Verifiers;
use crate::summary::{SignatureReport, Verdict};
use crate::unwrap::Found;
use openpgp::Timestamp;
use openpgp::signature::{self, Context, Issuer};

/// Bounds on the time at which signatures that count were made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) not_after: Option<Timestamp>,
}

impl Window {
    pub(crate) const ALWAYS: Self = Self { not_before: None, not_after: None };

    fn admits(&self, made: Option<Timestamp>) -> bool {
        let Some(made) = made else { return false };
        self.not_before.is_none_or(|bound| made >= bound) && self.not_after.is_none_or(|bound| made <= bound)
    }
}

/// Judges all signatures that were found; without a source of certificates they are reported as not checked.
pub(crate) fn of(
    found: Found,
    verifiers: Option<&dyn Verifiers>,
    context: &Context,
    now: Timestamp,
    window: Window,
) -> Vec<SignatureReport> {
    let certificates = |issuer: &Issuer| verifiers.map_or_else(Vec::new, |known| known.certificates(issuer));
    let checked = found.checker.finish(&certificates, context, now);
    let mut reports: Vec<_> =
        checked.into_iter().map(|checked| report(checked, verifiers.is_some(), window)).collect();
    reports.extend((0..found.unknown_signatures).map(|_| SignatureReport {
        issuer: Issuer::Unnamed.to_string(),
        made: None,
        verdict: Verdict::Bad { why: "it is of a version that is not known, or malformed".to_owned() },
    }));
    reports
}

fn report(checked: signature::Checked, is_asked: bool, window: Window) -> SignatureReport {
    let verdict = match checked.verdict {
        _ if !is_asked => Verdict::Unchecked,
        signature::Verdict::Unknown => Verdict::Unchecked,
        signature::Verdict::Bad { why } => Verdict::Bad { why },
        signature::Verdict::Good { key, .. } if !window.admits(checked.made) => {
            Verdict::Bad { why: format!("the signature of {key:X} was made outside of the time that counts") }
        }
        signature::Verdict::Good { certificate, key } => {
            Verdict::Good { certificate, key, is_text: checked.is_text }
        }
    };
    SignatureReport { issuer: checked.issuer.to_string(), made: checked.made, verdict }
}

/// Whether one of the signatures is valid.
pub(crate) fn has_good(signatures: &[SignatureReport]) -> bool {
    signatures.iter().any(|signature| matches!(signature.verdict, Verdict::Good { .. }))
}
