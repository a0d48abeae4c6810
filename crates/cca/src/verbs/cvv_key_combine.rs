//! CVV_Key_Combine (CSNBCKC): two keys of single length for card verification values become one key of double length,
//! CVVKEY-A.
//!
//! | key A | key B | |
//! |---|---|---|
//! | CVVKEY-A | CVVKEY-B | permitted |
//! | a MAC key for any purpose | the same | permitted |
//! | any two of these and DATA keys, but no CVVKEY-B as A and no CVVKEY-A as B | | with the point of mixed types |
//!
//! Both keys make values, or both only verify them. Both may be exported or neither, and the same holds for export in
//! key blocks (8/39). The new key may do what both keys may. Equal keys are refused (8/442): with equal halves triple
//! DES is single DES.

use crate::call::{Call, Reply, Verdict};
use crate::ground::{Algorithm, Refusal};
use crate::pass::Skeleton;
use engine::SecretBytes;
use token::control_vector::{KeyForm, bit};
use token::des::Origin;
use token::unconfirmed::CONTROL_VECTOR_BIT_NO_TR31;
use token::usage::{CardValueHalf, Use};
use token::{ControlVector, DesToken, KeyType, TOKEN_BYTES};
use wire::point::Point;
use wire::verb::cvv_key_combine::{Answer, Request};
use wire::verb::{Import2Translation, Import2Wrapping};
use wire::{Codes, code};
use zeroize::Zeroizing;

/// Answers with the token.
pub(crate) async fn cvv_key_combine(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    request.output_key_identifier.holds(TOKEN_BYTES)?;
    let found = [
        call.key(request.key_aidentifier)?.of(Algorithm::Des)?,
        call.key(request.key_bidentifier)?.of(Algorithm::Des)?,
    ];
    let tokens = [found[0].des(), found[1].des()].map(|token| token.copied().ok_or(code::TOKEN_INVALID));
    let tokens = [tokens[0]?, tokens[1]?];
    if tokens.iter().any(|token| token.form() != KeyForm::Single) {
        return Err(code::KEY_USAGE.into());
    }
    let skeleton = combined(&call, &request, &tokens)?;
    let [one, other] = found.map(|found| found.open());
    let (one, other) = (one?, other?);
    let (one, other) = (one.await, other.await);
    let (one, other) = (one?, other?);
    let mut both = Zeroizing::new([0; 16]);
    both[..8].copy_from_slice(&one.secret);
    both[8..].copy_from_slice(&other.secret);
    let codes = one.age.max(other.age).codes();
    let token = call.make(Skeleton::Des(skeleton), SecretBytes::from_slice(&both[..])).await?;
    reply.write(Answer { output_key_identifier: Some(&token) })?;
    Ok(codes)
}

/// The token of the combined key, without the key.
///
/// # Errors
/// 8/39 for keys that do not go together, 8/90 for mixed types without their point, 8/2111 for the original wrapping of
/// a key that asks for the enhanced one.
fn combined(call: &Call<'_, '_>, request: &Request<'_>, tokens: &[DesToken; 2]) -> Result<DesToken, Refusal> {
    let vectors = tokens.map(|token| token.control_vector());
    let kinds = [Kind::of(vectors[0])?, Kind::of(vectors[1])?];
    match kinds {
        [Kind::B, _] | [_, Kind::A] => return Err(code::KEY_USAGE.into()),
        [Kind::A, Kind::B] | [Kind::Any, Kind::Any] => {}
        _ => call.permit(Point::CombinedMixed)?,
    }
    let may_make = vectors.map(|vector| may(vector, true));
    let may_verify = vectors.map(|vector| may(vector, false));
    let may_leave = vectors.map(|vector| vector.is_zero() || vector.bit(EXPORT));
    let may_leave_in_blocks =
        vectors.map(|vector| vector.is_zero() || !vector.bit(CONTROL_VECTOR_BIT_NO_TR31));
    let in_blocks_alone = tokens.map(|token| token.leaves_in_blocks_alone());
    let agree = |pair: [bool; 2]| pair[0] == pair[1];
    let is_kept = tokens.iter().any(|token| token.export_prohibited());
    if !(agree(may_make) && agree(may_leave) && agree(may_leave_in_blocks) && may_verify == [true; 2])
        || is_kept
    {
        return Err(code::KEY_USAGE.into());
    }
    let key_type = if may_make[0] { KeyType::Mac } else { KeyType::MacVer };
    let export = if may_leave[0] { "XPORT-OK" } else { "NO-XPORT" };
    let vector = key_type.vector_with(KeyForm::DoubleUnique, ["CVVKEY-A", export]);
    let vector = vector.map_err(|_| code::SELF_CHECK)?;
    let is_only = request.translation == Some(Import2Translation::Enhanced)
        || vectors.iter().any(|vector| vector.is_enhanced_only());
    let vector = with(vector, bit(CONTROL_VECTOR_BIT_NO_TR31), !may_leave_in_blocks[0])?;
    let vector = with(vector, bit(ENHANCED_ONLY), is_only)?;
    if vector.is_enhanced_only() && request.wrapping == Some(Import2Wrapping::Ecb) {
        return Err(code::WRAPPING_BIT.into());
    }
    let is_enhanced = request.wrapping == Some(Import2Wrapping::Enhanced);
    let token =
        DesToken::skeleton(Origin::Internal, KeyForm::DoubleUnique, vector)?.with_enhanced(is_enhanced);
    Ok(if in_blocks_alone.contains(&true) { token.with_blocks_alone()? } else { token })
}

fn with(vector: ControlVector, bits: u64, is_set: bool) -> Result<ControlVector, Codes> {
    if is_set == (vector.left() & bits != 0) {
        return Ok(vector);
    }
    vector.with_bits(bits, is_set).map_err(|_| code::SELF_CHECK)
}

/// The kind of a key, which decides its place in the pair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    A,
    B,
    /// A MAC key for any purpose.
    Any,
    /// A DATA key.
    Data,
}

impl Kind {
    /// # Errors
    /// 8/39 for another key.
    fn of(vector: ControlVector) -> Result<Self, Codes> {
        match (vector.type_bits(), vector.method_bits()) {
            _ if vector.is_key_part() => Err(code::KEY_USAGE),
            ((0, 0), _) => Ok(Self::Data),
            ((0, 2), 0) => Ok(Self::Any),
            ((0, 2), 2) => Ok(Self::A),
            ((0, 2), 3) => Ok(Self::B),
            _ => Err(code::KEY_USAGE),
        }
    }
}

/// Whether a key may make card verification values, or if `is_making` is false, verify them.
fn may(vector: ControlVector, is_making: bool) -> bool {
    let of = |half| {
        let usage = if is_making { Use::CardValueGenerate(half) } else { Use::CardValueVerify(half) };
        vector.may(usage)
    };
    let of_texts = vector.may(if is_making { Use::MacGenerate } else { Use::MacVerify });
    of(CardValueHalf::A) || of(CardValueHalf::B) || vector.type_bits() == (0, 0) && of_texts
}

const EXPORT: u32 = 17;
const ENHANCED_ONLY: u32 = 56;
