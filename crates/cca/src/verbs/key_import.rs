//! Key_Import (CSNBKIM): a DES key under a key-encrypting key comes under the master key.
//!
//! The key-encrypting key is an IMPORTER key with the usage IMPORT. The control vector of the key is that of its token;
//! the key type must cover it, or be TOKEN. A source token that begins with X'00' has a key of single length at offset
//! 16, whose control vector is the default of its type. The target is a null token, or one of a key with the same
//! control vector. A key whose control vector requires the enhanced wrapping is refused from a token with the original
//! wrapping (8/2111).

use crate::call::{Call, Reply, Verdict};
use crate::chip::issuer;
use crate::ground::Refusal;
use crate::key::exchange::AskedType;
use crate::key::field::KeyField;
use crate::key::target::des_target;
use crate::pass::{Skeleton, Token};
use token::control_vector::KeyForm;
use token::des::Origin;
use token::usage::{Side, Wrapping};
use token::{ControlVector, DesToken, Format, KeyType};
use wire::point::Point;
use wire::verb::key_import::{Answer, Request};
use wire::{Codes, code};

pub(crate) async fn key_import(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let source = source(request.source_key_token, AskedType::read(request.key_type)?)?;
    let imported =
        import(call, source, request.importer_key_identifier, request.target_key_identifier).await?;
    reply.write(Answer {
        importer_key_identifier: imported.importer.as_deref(),
        target_key_identifier: Some(&imported.token),
    })?;
    Ok(imported.codes)
}

/// The external token in a field, or the one that a null token with a key at offset 16 represents.
///
/// # Errors
/// 8/47 for another token, 8/183 for one of another type, 8/175 for a null token with TOKEN.
pub(super) fn source(field: &[u8], asked: AskedType) -> Result<DesToken, Refusal> {
    let token = match (Format::of(field), asked) {
        (Format::DesExternal, _) => DesToken::parse(field)?,
        (Format::Null, AskedType::Token) => return Err(code::NO_CONTROL_VECTOR.into()),
        (Format::Null, AskedType::Named(key_type)) => {
            let vector = default_of(key_type)?;
            let wrapped = field.get(KEY_AT..KEY_AT + 8).ok_or(code::TOKEN_INVALID)?;
            DesToken::skeleton(Origin::External, KeyForm::Single, vector)?.with_key([0; 8], wrapped)?
        }
        _ => return Err(code::TOKEN_INVALID.into()),
    };
    asked.check(token.control_vector())?;
    Ok(token)
}

/// The default control vector of a type; zero for DATA keys, which are older than control vectors.
fn default_of(key_type: KeyType) -> Result<ControlVector, Codes> {
    if key_type == KeyType::Data {
        return Ok(ControlVector::ZERO);
    }
    key_type.default_vector(KeyForm::Single).ok_or(code::KEY_LENGTH_KEYWORD)
}

/// The outputs of an import.
pub(super) struct Imported {
    pub(super) token: Token,
    /// The renewed token of the key-encrypting key; `None` without renewal.
    pub(super) importer: Option<Token>,
    pub(super) codes: Codes,
}

/// Imports the key of an external token.
///
/// # Errors
/// 8/39 for a part of a key, 8/43 for a length that its type does not have, 8/90 for a key of single length that the
/// role does not permit, 8/442 for a key-encrypting key, or one that derives others, with equal halves; as
/// [`Call::key_encrypting_key`] and [`des_target`].
pub(super) async fn import<'p, 'a>(
    call: Call<'p, 'a>,
    source: DesToken,
    importer: &'a [u8],
    target: &[u8],
) -> Result<Imported, Refusal> {
    let vector = source.control_vector();
    if vector.is_key_part() {
        return Err(code::KEY_USAGE.into());
    }
    if !KeyType::has_length(vector) {
        return Err(code::KEY_LENGTH_KEYWORD.into());
    }
    let there = des_target(target)?;
    if there.is_some_and(|target| target.control_vector() != vector) {
        return Err(code::TYPE_AND_VECTOR.into());
    }
    if source.form() == KeyForm::Single {
        call.permit(Point::SingleLengthDes)?;
    }
    let kek = call.key_encrypting_key(importer, Side::Receiving, Wrapping::Keys).await?;
    let renewal = kek.renew(call, importer)?;
    let key = KeyField::of_token(call, source).under(&kek)?.await?;
    let is_enhanced = source.is_enhanced() || there.is_some_and(|target| target.is_enhanced());
    let skeleton = source.moved_to(Origin::Internal)?.with_enhanced(is_enhanced);
    issuer::check_coming(&call, vector, &key.secret)?;
    let token = call.make(Skeleton::Des(skeleton), key.secret).await?;
    Ok(Imported { token, importer: renewal.token().await?, codes: kek.age.codes() })
}

/// Offset of the key in a token, in bytes.
const KEY_AT: usize = 16;
