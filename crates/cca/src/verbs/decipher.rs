//! Decipher (CSNBDEC): the inverse of Encipher, in one of the methods of [`super::des_cipher`].

use engine::{CipherDirection, Mode};
use token::usage::Use;
use wire::verb::decipher::{CHAINING_VECTOR, KEY_IDENTIFIER, PLAINTEXT, TEXT_LENGTH};
use wire::{Codes, code};

use super::des_cipher::{BLOCK_BYTES, Method, Request, chaining_vector, short_block, whole_blocks, work};
use crate::call::{Call, Refusal, Reply, Verdict};
use crate::key::{Algorithm, Key};
use crate::wipe::Text;

/// Answers with the plaintext, its length and the chaining vector for the next call.
pub(crate) async fn decipher(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request = Request::read(&call, CHAINING_VECTOR)?;
    match request.method {
        Method::Cbc | Method::X923 => whole_blocks(request.text)?,
        Method::Cusp | Method::Ips if request.text.is_empty() => return Err(code::TEXT_LENGTH.into()),
        _ => {}
    }
    let key = call.key(KEY_IDENTIFIER)?.of(Algorithm::Des)?.for_use(Use::Decipher)?.await?;
    let renewal = key.renew(call, KEY_IDENTIFIER)?;
    let (mut plaintext, chain) = match request.method {
        Method::Cbc | Method::X923 => {
            let data = Text::from(request.text);
            let done =
                call.ask(work(&key, Mode::Cbc, CipherDirection::Decipher, &request.chain, data)).await?;
            (done.data, request.ips_chain(request.text))
        }
        Method::Cusp | Method::Ips => any_length(call, &key, &request).await?,
    };
    if request.method == Method::X923 {
        let kept = unpadded(&plaintext)?;
        plaintext.truncate(kept);
    }
    renewal.write(reply, KEY_IDENTIFIER).await?;
    reply.integer(TEXT_LENGTH, plaintext.len() as i64);
    reply.bytes(CHAINING_VECTOR, &chaining_vector(&chain));
    reply.bytes(PLAINTEXT, &plaintext);
    Ok(key.age.codes())
}

/// The block that precedes the short one is ciphertext and known: both steps run in one pass.
async fn any_length(
    call: Call<'_, '_>,
    key: &Key,
    request: &Request<'_>,
) -> Result<(Text, [u8; BLOCK_BYTES]), Refusal> {
    let (whole, short) = request.split();
    let before = Text::from(request.ips_chain(whole).as_slice());
    let again = call.ask(work(key, Mode::Ecb, CipherDirection::Encipher, &[0; BLOCK_BYTES], before));
    let blocks = work(key, Mode::Cbc, CipherDirection::Decipher, &request.chain, Text::from(whole));
    let blocks = call.ask(blocks);
    let again = again.await?.data;
    let mut plaintext = blocks.await?.data;
    plaintext.extend_from_slice(&short_block(short, &again));
    let mut chain = [0; BLOCK_BYTES];
    match request.method {
        Method::Cusp => chain.copy_from_slice(&again),
        _ => chain = request.ips_chain(request.text),
    }
    Ok((plaintext, chain))
}

/// Length of the text before its X9.23 padding; what the other added bytes are is not looked at.
fn unpadded(text: &[u8]) -> Result<usize, Codes> {
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
