//! Encipher (CSNBENC): a text under a DES key, in one of the methods of [`super::des_cipher`].

use engine::{CipherDirection, Mode};
use token::usage::Use;
use wire::code;
use wire::verb::DesMethod;
use wire::verb::encipher::{Answer, Request};

use super::des_cipher::{BLOCK_BYTES, Chained, chaining_vector, short_block, whole_blocks, work};
use crate::call::{Call, Refusal, Reply, Verdict};
use crate::key::{Algorithm, Key};
use crate::wipe::Text;

/// Answers with the ciphertext, its length and the chaining vector for the next call.
pub(crate) async fn encipher(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    // Taken apart: what no pass needs is gone before the first.
    let Request {
        method,
        chaining,
        key_identifier,
        initialization_vector,
        chaining_vector: vector,
        plaintext,
        pad_character,
        ..
    } = call.read()?;
    let text = Chained::new(method, chaining, initialization_vector, vector, plaintext)?;
    match method {
        DesMethod::Cbc => whole_blocks(plaintext)?,
        DesMethod::Cusp | DesMethod::Ips if plaintext.is_empty() => return Err(code::TEXT_LENGTH.into()),
        _ => {}
    }
    if !(0..=255).contains(&pad_character) {
        return Err(code::INVALID_PARAMETER.into());
    }
    let key = call.key(key_identifier)?.of(Algorithm::Des)?.for_use(Use::Encipher)?.await?;
    let renewal = key.renew(call, key_identifier)?;
    let (ciphertext, chain) = match text.method {
        DesMethod::Cbc => blocks(call, &key, &text, Text::from(text.text)).await?,
        DesMethod::X923 => blocks(call, &key, &text, padded(text.text)).await?,
        DesMethod::Cusp | DesMethod::Ips => any_length(call, &key, &text).await?,
    };
    reply.write(Answer {
        key_identifier: renewal.token().await?.as_deref(),
        chaining_vector: Some(&chaining_vector(&chain)),
        ciphertext: Some(&ciphertext),
    })?;
    Ok(key.age.codes())
}

async fn blocks(
    call: Call<'_, '_>,
    key: &Key,
    text: &Chained<'_>,
    data: Text,
) -> Result<(Text, [u8; 16]), Refusal> {
    let done = call.ask(work(key, Mode::Cbc, CipherDirection::Encipher, &text.chain, data)).await?;
    Ok((done.data, done.chain))
}

async fn any_length(call: Call<'_, '_>, key: &Key, text: &Chained<'_>) -> Result<(Text, [u8; 16]), Refusal> {
    let (whole, short) = text.split();
    let (mut ciphertext, mut chain) = (Text::default(), [0; 16]);
    chain[..BLOCK_BYTES].copy_from_slice(&text.chain);
    if !whole.is_empty() {
        (ciphertext, chain) = blocks(call, key, text, Text::from(whole)).await?;
    }
    if text.method == DesMethod::Cusp || !short.is_empty() {
        let last = Text::from(&chain[..BLOCK_BYTES]);
        let again =
            call.ask(work(key, Mode::Ecb, CipherDirection::Encipher, &[0; BLOCK_BYTES], last)).await?;
        ciphertext.extend_from_slice(&short_block(short, &again.data));
        chain[..BLOCK_BYTES].copy_from_slice(&again.data);
    }
    if text.method == DesMethod::Ips {
        chain[..BLOCK_BYTES].copy_from_slice(&text.ips_chain(&ciphertext));
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
