//! Key_Export (CSNBKEX): a DES key under the master key comes under a key-encrypting key.
//!
//! The key-encrypting key is an EXPORTER key with the usage EXPORT. The key goes out with its control vector, which
//! must permit export; the key type must cover it, or be TOKEN. It is wrapped by the original method, unless its
//! control vector requires the enhanced one or its own token has it.

use crate::call::{Call, Reply, Verdict};
use crate::ground::{Algorithm, Refusal};
use crate::key::exchange::{AskedType, exportable};
use crate::pass::Token;
use token::DesToken;
use token::des::Origin;
use token::usage::{Side, Wrapping};
use wire::Codes;
use wire::verb::key_export::{Answer, Request};

pub(crate) async fn key_export(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let asked = AskedType::read(request.key_type)?;
    let exported = export(call, request.source_key_identifier, request.exporter_key_identifier, |token| {
        asked.check(token.control_vector())
    })
    .await?;
    reply.write(Answer {
        source_key_identifier: exported.source.as_deref(),
        exporter_key_identifier: exported.exporter.as_deref(),
        target_key_token: Some(exported.token.fixed()?),
    })?;
    Ok(exported.codes)
}

/// The outputs of an export.
pub(super) struct Exported {
    pub(super) token: Token,
    /// The renewed tokens of source key and key-encrypting key; `None` without renewal.
    pub(super) source: Option<Token>,
    pub(super) exporter: Option<Token>,
    pub(super) codes: Codes,
}

/// Exports the key in a field, if its token passes `check`.
///
/// # Errors
/// As [`exportable`], [`Call::key_encrypting_key`] and [`crate::key::Key::wrap`].
pub(super) async fn export<'p, 'a>(
    call: Call<'p, 'a>,
    source: &'a [u8],
    exporter: &'a [u8],
    check: impl FnOnce(&DesToken) -> Result<(), Refusal>,
) -> Result<Exported, Refusal> {
    let found = call.key(source)?.of(Algorithm::Des)?;
    let token = exportable(&found)?;
    check(&token)?;
    let opening = found.open()?;
    let kek = call.key_encrypting_key(exporter, Side::Sending, Wrapping::Keys).await?;
    let key = opening.await?;
    let (renewed_source, renewed_exporter) = (key.renew(call, source)?, kek.renew(call, exporter)?);
    let skeleton = token.moved_to(Origin::External)?;
    let codes = kek.age.max(key.age).codes();
    let made = kek.wrap(&call, skeleton, key.secret)?.await?;
    let (source, exporter) = (renewed_source.token().await?, renewed_exporter.token().await?);
    Ok(Exported { token: made, source, exporter, codes })
}
