//! Encipher (CSNBENC): a text under a DES key, in one of the methods of [`super::des_cipher`].

use engine::{CipherDirection, Mode};
use token::usage::Use;
use wire::code;
use wire::verb::encipher::{CHAINING_VECTOR, CIPHERTEXT, KEY_IDENTIFIER, PAD_CHARACTER, TEXT_LENGTH};

use super::des_cipher::{BLOCK_BYTES, Method, Request, chaining_vector, short_block, whole_blocks, work};
use crate::call::{Call, Refusal, Reply, Verdict};
use crate::key::{Algorithm, Key};
use crate::wipe::Text;

/// Answers with the ciphertext, its length and the chaining vector for the next call.
pub(crate) async fn encipher(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request = Request::read(&call, CHAINING_VECTOR)?;
    match request.method {
        Method::Cbc => whole_blocks(request.text)?,
        Method::Cusp | Method::Ips if request.text.is_empty() => return Err(code::TEXT_LENGTH.into()),
        _ => {}
    }
    if !(0..=255).contains(&call.integer(PAD_CHARACTER)) {
        return Err(code::INVALID_PARAMETER.into());
    }
    let key = call.key(KEY_IDENTIFIER)?.of(Algorithm::Des)?.for_use(Use::Encipher)?.await?;
    let renewal = key.renew(call, KEY_IDENTIFIER)?;
    let (ciphertext, chain) = match request.method {
        Method::Cbc => blocks(call, &key, &request, Text::from(request.text)).await?,
        Method::X923 => blocks(call, &key, &request, padded(request.text)).await?,
        Method::Cusp | Method::Ips => any_length(call, &key, &request).await?,
    };
    renewal.write(reply, KEY_IDENTIFIER).await?;
    reply.integer(TEXT_LENGTH, ciphertext.len() as i64);
    reply.bytes(CHAINING_VECTOR, &chaining_vector(&chain));
    reply.bytes(CIPHERTEXT, &ciphertext);
    Ok(key.age.codes())
}

async fn blocks(
    call: Call<'_, '_>,
    key: &Key,
    request: &Request<'_>,
    data: Text,
) -> Result<(Text, [u8; 16]), Refusal> {
    let done = call.ask(work(key, Mode::Cbc, CipherDirection::Encipher, &request.chain, data)).await?;
    Ok((done.data, done.chain))
}

async fn any_length(
    call: Call<'_, '_>,
    key: &Key,
    request: &Request<'_>,
) -> Result<(Text, [u8; 16]), Refusal> {
    let (whole, short) = request.split();
    let (mut ciphertext, mut chain) = (Text::default(), [0; 16]);
    chain[..BLOCK_BYTES].copy_from_slice(&request.chain);
    if !whole.is_empty() {
        (ciphertext, chain) = blocks(call, key, request, Text::from(whole)).await?;
    }
    if request.method == Method::Cusp || !short.is_empty() {
        let last = Text::from(&chain[..BLOCK_BYTES]);
        let again =
            call.ask(work(key, Mode::Ecb, CipherDirection::Encipher, &[0; BLOCK_BYTES], last)).await?;
        ciphertext.extend_from_slice(&short_block(short, &again.data));
        chain[..BLOCK_BYTES].copy_from_slice(&again.data);
    }
    if request.method == Method::Ips {
        chain[..BLOCK_BYTES].copy_from_slice(&request.ips_chain(&ciphertext));
    }
    Ok((ciphertext, chain))
}

/// ANSI X9.23 as CCA writes it: zeros, and the count of added bytes in the last one.
fn padded(text: &[u8]) -> Text {
    let added = BLOCK_BYTES - text.len() % BLOCK_BYTES;
    let mut data = Text::from(text);
    data.pad(text.len() + added - 1, 0);
    data.pad(text.len() + added, added as u8);
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_ends_in_its_count() {
        for length in 0..20 {
            let data = padded(&vec![9; length]);
            let added = data.len() - length;
            assert!((1..=8).contains(&added) && data.len().is_multiple_of(8));
            assert_eq!(usize::from(data[data.len() - 1]), added);
            assert!(data[length..data.len() - 1].iter().all(|byte| *byte == 0));
        }
    }
}
