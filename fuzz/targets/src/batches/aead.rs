//! OCB and EAX; CFB with SHA-1 of the plain text.

use super::ENGINES;
use super::choices::Choices;
use super::peer::{cfb, eax, ocb};
use engine::{CipherDirection, CipherError, EaxItem, OcbItem};

/// Requests of one batch.
const COUNT_MAX: usize = 40;
/// Bytes of one text.
const TEXT_BYTES_MAX: usize = 1200;

/// Enciphers as OpenSSL does, deciphers back, and refuses where one bit of anything was changed.
pub fn engine_aead(data: &[u8]) {
    let mut choices = Choices::new(data);
    let is_ocb = choices.below(2) == 0;
    let count = choices.below(COUNT_MAX) + 1;
    let requests: Vec<_> = (0..count)
        .map(|_| {
            let key_bytes = [16, 24, 32][choices.below(3)];
            let nonce_bytes = choices.below(if is_ocb { 15 } else { 40 }) + 1;
            let (aad_bytes, text_bytes) = (choices.below(100), choices.below(TEXT_BYTES_MAX));
            let tag_bytes = choices.below(9) + 8;
            let [key, nonce, aad, text] =
                [key_bytes, nonce_bytes, aad_bytes, text_bytes].map(|bytes| choices.bytes(bytes));
            (key, nonce, aad, text, tag_bytes, choices.below(1 << 16))
        })
        .collect();
    for engine in &*ENGINES {
        for (key, nonce, aad, text, tag_bytes, flip) in &requests {
            let mut out = text.clone();
            let (mut tag, expected);
            if is_ocb {
                let key_ours = engine.ocb_key(key).expect("an AES key");
                let mut item = OcbItem::encipher(&key_ours, nonce, aad, &mut out);
                item.tag_bytes = *tag_bytes;
                engine.ocb_batch(CipherDirection::Encipher, std::slice::from_mut(&mut item));
                assert!(item.result.is_ok());
                tag = item.tag[..*tag_bytes].to_vec();
                expected = ocb(key, nonce, aad, text, *tag_bytes);
            } else {
                let key_ours = engine.eax_key(key).expect("an AES key");
                let mut item = EaxItem::encipher(&key_ours, nonce, aad, &mut out);
                item.tag_bytes = *tag_bytes;
                engine.eax_batch(CipherDirection::Encipher, std::slice::from_mut(&mut item));
                assert!(item.result.is_ok());
                tag = item.tag[..*tag_bytes].to_vec();
                expected = eax(key, nonce, aad, text)[..text.len() + tag_bytes].to_vec();
            }
            assert_eq!([out.clone(), tag.clone()].concat(), expected, "at {}", engine.level());
            let (mut nonce, mut aad, mut changed) = (nonce.clone(), aad.clone(), out.clone());
            let is_changed = flip % 2 == 1;
            if is_changed {
                let parts = [&mut nonce, &mut aad, &mut changed, &mut tag];
                let mut parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                let chosen = flip % parts.len();
                let at = flip / 8 % parts[chosen].len();
                parts[chosen][at] ^= 1 << (flip % 8);
            }
            let result = if is_ocb {
                let key = engine.ocb_key(key).expect("an AES key");
                let mut item = OcbItem::decipher(&key, &nonce, &aad, &mut changed, &tag);
                engine.ocb_batch(CipherDirection::Decipher, std::slice::from_mut(&mut item));
                item.result
            } else {
                let key = engine.eax_key(key).expect("an AES key");
                let mut item = EaxItem::decipher(&key, &nonce, &aad, &mut changed, &tag);
                engine.eax_batch(CipherDirection::Decipher, std::slice::from_mut(&mut item));
                item.result
            };
            if is_changed {
                assert_eq!(result, Err(CipherError::Authentication));
                assert!(changed.iter().all(|byte| *byte == 0), "nothing of the text is released");
            } else {
                assert!(result.is_ok() && changed == *text);
            }
        }
    }
}

/// A text in pieces, both ways, beside OpenSSL's CFB and SHA-1 of the whole.
pub fn engine_cfb(data: &[u8]) {
    let mut choices = Choices::new(data);
    let key_bytes = [16, 24, 32][choices.below(3)];
    let text_bytes = choices.below(4 * TEXT_BYTES_MAX);
    let cuts: Vec<usize> = (0..choices.below(8)).map(|_| choices.below(300)).collect();
    let [key, text] = [key_bytes, text_bytes].map(|bytes| choices.bytes(bytes));
    let iv = [choices.byte(); 16];
    let expected = cfb(true, &key, &iv, &text);
    let digest = openssl::sha::sha1(&text);
    for engine in &*ENGINES {
        for (direction, from, to) in
            [(CipherDirection::Encipher, &text, &expected), (CipherDirection::Decipher, &expected, &text)]
        {
            let mut state = engine.cfb_sha1(direction, &key, &iv).expect("an AES key");
            let mut out = from.clone();
            let mut rest = &mut out[..];
            for cut in &cuts {
                let (piece, after) = rest.split_at_mut((*cut).min(rest.len()));
                state.update(piece);
                rest = after;
            }
            state.update(rest);
            assert_eq!(&out, to, "{direction:?} at {}", engine.level());
            assert_eq!(state.digest(), digest, "{direction:?} at {}", engine.level());
        }
    }
}
