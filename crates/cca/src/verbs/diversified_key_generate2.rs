//! Diversified_Key_Generate2 (CSNBDKG2): an AES key is derived from data, under a DKYGENKY key.
//!
//! | keyword | how the key comes of 16 bytes of data |
//! |---|---|
//! | MK-OPTC | they are enciphered, and for keys of more than 128 bits their complement behind them (EMV 4.3, book 2, option C) |
//! | SESS-ENC | they are enciphered; for longer keys twice, with X'F0' and X'0F' in the place of the third byte (annex A1.3.1) |
//!
//! The key is as long as the generating key. The token in the field of the generated key gives its use. Which keys a
//! generating key may make is in [`token::variable::Attributes::derives`] (8/39).

use super::key_generate2::internal;
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use crate::pass::{Cipher, KeyRule, Skeleton};
use crate::wipe::Text;
use engine::{CipherDirection, Mode, SecretBytes};
use token::VariableToken;
use token::variable::{Completeness, Pedigree};
use wire::code;
use wire::point::Point;
use wire::verb::Diversification2;
use wire::verb::diversified_key_generate2::{Answer, Request};
use zeroize::Zeroizing;

const BLOCK_BYTES: usize = 16;

/// Answers with the token of the derived key.
pub(crate) async fn diversified_key_generate2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let data: &[u8; BLOCK_BYTES] = request.derivation_data.try_into().map_err(|_| code::TEXT_LENGTH)?;
    let field = request.generating_key_id;
    let target = VariableToken::parse(internal(request.generated_key_id1.start())?)?.without_key();
    let made = target.attributes().clone().made(Pedigree::Unknown, Completeness::Complete);
    let found = call.key(field)?.variable()?;
    let generating = found.variable()?.attributes();
    if !generating.derives(&made) {
        return Err(code::KEY_USAGE.into());
    }
    if generating.derives_any() {
        call.permit(Point::DiversifyAny2)?;
    }
    let skeleton = target.with_attributes(made)?;
    let key = found.open()?.await?;
    let renewed = key.renew(call, field)?;
    let key_bytes = key.secret.len();
    let payload_bytes = skeleton.wrapped_bytes(key_bytes).map_err(|_| code::KEY_BITS)?;
    request.generated_key_id1.holds(skeleton.head().len() + payload_bytes)?;
    let blocks = blocks(request.process, data, key_bytes)?;
    let asked = Cipher {
        algorithm: key.cipher(),
        rule: KeyRule::Internal,
        mode: Mode::Ecb,
        direction: CipherDirection::Encipher,
        key: key.secret.clone(),
        chain: [0; 16],
        data: Text::from(&blocks[..]),
    };
    let done = call.ask(asked).await?;
    let secret = SecretBytes::from_slice(done.data.get(..key_bytes).ok_or(code::SELF_CHECK)?);
    let made = call.make(Skeleton::Variable(Box::new(skeleton)), secret);
    let (token, renewed) = (made.await?, renewed.token().await?);
    reply.write(Answer { generating_key_id: renewed.as_deref(), generated_key_id1: Some(&token) })?;
    Ok(key.age.codes())
}

/// The blocks that are enciphered to the key: one for a key of 128 bits, two for a longer one.
///
/// # Errors
/// 8/33 for the method that is not served.
fn blocks(
    process: Diversification2,
    data: &[u8; BLOCK_BYTES],
    key_bytes: usize,
) -> Result<Zeroizing<Vec<u8>>, Refusal> {
    let (mut one, mut two) = (*data, *data);
    match process {
        Diversification2::OptionC => two.iter_mut().for_each(|byte| *byte = !*byte),
        Diversification2::Session if key_bytes > BLOCK_BYTES => (one[2], two[2]) = (0xF0, 0x0F),
        Diversification2::Session => {}
        Diversification2::Feedback => return Err(code::KEYWORD.into()),
    }
    let mut all = Zeroizing::new([one, two].concat());
    if key_bytes == BLOCK_BYTES {
        all.truncate(BLOCK_BYTES);
    }
    Ok(all)
}
