//! Decipher (CSNBDEC): the inverse of Encipher, in one of the methods of [`super::des_cipher`].

use super::des_cipher::{
    self, BLOCK_BYTES, Chained, NO_CHAINING, chaining_vector, short_block, whole_blocks, work,
};
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use crate::key::Key;
use crate::wipe::Text;
use engine::{CipherDirection, Mode};
use token::usage::Use;
use wire::verb::decipher::{Answer, Request};
use wire::verb::{DesMethod, TypedAnswer};
use wire::{Codes, code};

/// Answers with the plaintext, its length and the chaining vector for the next call.
pub(crate) async fn decipher(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    // The request is taken apart, so that fields that no pass needs are dropped before the first pass.
    let Request {
        method,
        chaining,
        key_identifier,
        initialization_vector,
        chaining_vector: vector,
        ciphertext,
        ..
    } = call.read()?;
    let text = Chained::new(method, chaining, initialization_vector, vector, ciphertext)?;
    match method {
        DesMethod::Cbc | DesMethod::X923 => whole_blocks(ciphertext)?,
        DesMethod::Cusp | DesMethod::Ips if ciphertext.is_empty() => return Err(code::TEXT_LENGTH.into()),
        _ => {}
    }
    let key = des_cipher::key(call, key_identifier, text.method, Use::Decipher)?.await?;
    let renewal = key.renew(call, key_identifier)?;
    // A renewed token precedes the text in the answer, and its length is not known yet: the text may have to move.
    let head = Answer { chaining_vector: Some(NO_CHAINING), ..Answer::default() }.head_bytes();
    let (whole, short) = text.split();
    let (mut plaintext, chain) = match text.method {
        DesMethod::Cbc | DesMethod::X923 => {
            let data = reply.lend(head, text.text, 0);
            let done = call.ask(work(&key, Mode::Cbc, CipherDirection::Decipher, &text.chain, data)).await?;
            (done.data, text.ips_chain(text.text))
        }
        DesMethod::Cusp | DesMethod::Ips => {
            any_length(call, &key, &text, reply.lend(head, whole, short.len())).await?
        }
    };
    if text.method == DesMethod::X923 {
        let kept = unpadded(&plaintext)?;
        plaintext.truncate(kept);
    }
    let (token, chain) = (renewal.token().await?, chaining_vector(&chain));
    reply.write_text(plaintext, |plaintext, buffer| {
        buffer.write(Answer {
            key_identifier: token.as_deref(),
            chaining_vector: Some(&chain),
            plaintext: Some(plaintext),
        })
    })?;
    Ok(key.age.codes())
}

/// Deciphers a text of any length by CUSP or IPS. The block before the short one is known ciphertext, so both steps run
/// in one pass. `data` is the text up to its last whole block.
pub(super) async fn any_length(
    call: Call<'_, '_>,
    key: &Key,
    text: &Chained<'_>,
    data: Text,
) -> Result<(Text, [u8; BLOCK_BYTES]), Refusal> {
    let (whole, short) = text.split();
    let before = Text::from(text.ips_chain(whole).as_slice());
    let again = call.ask(work(key, Mode::Ecb, CipherDirection::Encipher, &[0; BLOCK_BYTES], before));
    let blocks = call.ask(work(key, Mode::Cbc, CipherDirection::Decipher, &text.chain, data));
    let again = again.await?.data;
    let mut plaintext = blocks.await?.data;
    plaintext.extend_from_slice(&short_block(short, &again));
    let mut chain = [0; BLOCK_BYTES];
    match text.method {
        DesMethod::Cusp => chain.copy_from_slice(&again),
        _ => chain = text.ips_chain(text.text),
    }
    Ok((plaintext, chain))
}

/// Length of the text without its X9.23 padding, in bytes; only the last added byte is checked.
pub(super) fn unpadded(text: &[u8]) -> Result<usize, Codes> {
    let added = usize::from(text.last().copied().unwrap_or(0));
    if (1..=BLOCK_BYTES).contains(&added) && added <= text.len() {
        Ok(text.len() - added)
    } else {
        Err(code::RSA_BLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_cannot_be_is_refused() {
        let count = |count: u8| unpadded(&[1, 2, 3, 4, 5, 6, 7, count]);
        assert_eq!(count(0), Err(code::RSA_BLOCK));
        assert_eq!(count(9), Err(code::RSA_BLOCK));
        assert_eq!((count(1), count(8)), (Ok(7), Ok(0)));
    }
}
