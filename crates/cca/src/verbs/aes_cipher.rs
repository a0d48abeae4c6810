//! Symmetric_Algorithm_Encipher and _Decipher (CSNBSAE, CSNBSAD): AES, both directions.
//!
//! | keyword | text | vector | chaining |
//! |---|---|---|---|
//! | CBC (default) | whole blocks | 16 bytes | INITIAL (default), CONTINUE, FINAL, ONLY |
//! | ECB | whole blocks | none | the keywords have no effect |
//! | PKCS-PAD | any; 1 to 16 bytes of padding | 16 bytes | as CBC |
//! | GCM | any, whole | nonce of 1 byte or more | ONLY |
//!
//! INITIAL and ONLY take the initialization vector, CONTINUE and FINAL the chaining data; INITIAL and
//! CONTINUE leave chaining data of 32 bytes: the chaining value, then zeros. With GCM the key
//! parameters are the tag (4, 8, 12 to 16 bytes) and the optional data are authenticated. A key is
//! 16, 24 or 32 clear bytes (KEY-CLR, the default) or an AES token (KEYIDENT).

use engine::{CipherDirection, Mode};
use wire::verb::symmetric_algorithm_decipher as decipher;
use wire::verb::symmetric_algorithm_encipher as encipher;
use wire::{Codes, code};

use crate::call::{Call, Refusal, Reply, Verdict};
use crate::key::{Algorithm, Key};
use crate::pass::{Cipher, Gcm, KeyRule};
use crate::rules::{Rules, Word, word};
use crate::wipe::Text;

/// Answers with the text, its length, and chaining data or tag.
pub(crate) async fn aes_cipher(
    call: Call<'_, '_>,
    reply: &mut Reply<'_, '_>,
    direction: CipherDirection,
) -> Verdict {
    let request = Request::read(&call, direction)?;
    let key = request.key(call).await?;
    let renewal = key.renew(call, KEY_IDENTIFIER)?;
    let age = key.age;
    let (text, extra) = match request.method {
        Method::Gcm => request.gcm(call, key).await?,
        _ => request.blocks(call, key).await?,
    };
    // What came out of padding decides the length only now.
    call.capacity(OUTPUT_LENGTH, text.len())?;
    renewal.write(reply, KEY_IDENTIFIER).await?;
    match (request.method, direction) {
        (Method::Gcm, CipherDirection::Encipher) => {
            reply.bytes(KEY_PARMS, &extra[..call.integer(KEY_PARMS_LENGTH) as usize]);
        }
        (Method::Cbc | Method::Pkcs, _) if request.chained_out => {
            reply.counted(CHAIN_DATA_LENGTH, CHAIN_DATA, &extra);
        }
        _ => {}
    }
    reply.counted(OUTPUT_LENGTH, OUTPUT, &text);
    Ok(age.codes())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Cbc,
    Ecb,
    Pkcs,
    Gcm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Initial,
    Continue,
    Final,
    Only,
}

/// Chaining data, or the tag in its first 16 bytes.
type Extra = [u8; CHAIN_BYTES];

struct Request<'a> {
    direction: CipherDirection,
    method: Method,
    identified: bool,
    vector: &'a [u8],
    chained_out: bool,
    text: &'a [u8],
}

impl<'a> Request<'a> {
    fn read(call: &Call<'_, 'a>, direction: CipherDirection) -> Result<Self, Refusal> {
        let mut rules = Rules::read(call, RULE_ARRAY_COUNT, RULE_ARRAY, 1, 4)?;
        let aes = rules.flag(word("AES"))?;
        let method = rules.one_or(METHODS, Method::Cbc)?;
        let identified = rules.one_or(KEY_RULES, false)?;
        let position = rules.optional(POSITIONS)?;
        rules.finish()?;
        if !aes {
            return Err(code::KEYWORD_COMBINATION.into());
        }
        if call.integer(BLOCK_SIZE) != BLOCK_BYTES as i64 {
            return Err(code::INVALID_PARAMETER.into());
        }
        if method == Method::Gcm && !matches!(position, None | Some(Position::Only)) {
            return Err(code::KEYWORD_COMBINATION.into());
        }
        let position = position.unwrap_or(Position::Initial);
        let text = call.text(INPUT_LENGTH, INPUT)?;
        let request = Self {
            direction,
            method,
            identified,
            vector: Self::vector(call, method, position)?,
            chained_out: matches!(position, Position::Initial | Position::Continue),
            text,
        };
        request.check_lengths(call)?;
        Ok(request)
    }

    fn vector(call: &Call<'_, 'a>, method: Method, position: Position) -> Result<&'a [u8], Refusal> {
        let given = call.counted(INITIALIZATION_VECTOR_LENGTH, INITIALIZATION_VECTOR)?;
        match (method, position) {
            (Method::Ecb, _) => Ok(&[]),
            (Method::Gcm, _) if given.is_empty() => Err(code::INVALID_PARAMETER.into()),
            (Method::Gcm, _) => Ok(given),
            (_, Position::Initial | Position::Only) if given.len() == BLOCK_BYTES => Ok(given),
            (_, Position::Initial | Position::Only) => Err(code::INVALID_PARAMETER.into()),
            (_, Position::Continue | Position::Final) => {
                Ok(call.bytes(CHAIN_DATA).get(..BLOCK_BYTES).ok_or(code::INVALID_PARAMETER)?)
            }
        }
    }

    fn check_lengths(&self, call: &Call<'_, '_>) -> Result<(), Refusal> {
        let enciphers = self.direction == CipherDirection::Encipher;
        let blocks = !self.text.is_empty() && self.text.len().is_multiple_of(BLOCK_BYTES);
        let any = self.method == Method::Gcm || (self.method == Method::Pkcs && enciphers);
        if !any && !blocks {
            return Err(code::TEXT_LENGTH.into());
        }
        if matches!(self.method, Method::Cbc | Method::Pkcs) && self.chained_out {
            call.capacity(CHAIN_DATA_LENGTH, CHAIN_BYTES)?;
        }
        if self.method == Method::Gcm && !matches!(call.integer(KEY_PARMS_LENGTH), 4 | 8 | 12..=16) {
            return Err(code::INVALID_PARAMETER.into());
        }
        let least = match self.method {
            Method::Pkcs if enciphers => (self.text.len() / BLOCK_BYTES + 1) * BLOCK_BYTES,
            Method::Pkcs => 0,
            _ => self.text.len(),
        };
        call.capacity(OUTPUT_LENGTH, least)
    }

    async fn key(&self, call: Call<'_, '_>) -> Result<Key, Refusal> {
        let field = call.key_field(KEY_IDENTIFIER)?;
        if call.integer(KEY_LENGTH) != field.len() as i64 {
            return Err(code::KEY_LENGTH_KEYWORD.into());
        }
        if !self.identified {
            return clear_key(field);
        }
        Ok(call.key(KEY_IDENTIFIER)?.of(Algorithm::Aes)?.open()?.await?)
    }

    async fn blocks(&self, call: Call<'_, '_>, key: Key) -> Result<(Text, Extra), Refusal> {
        let (mode, padded) = match self.method {
            Method::Ecb => (Mode::Ecb, false),
            Method::Pkcs => (Mode::Cbc, true),
            _ => (Mode::Cbc, false),
        };
        let mut chain = [0; BLOCK_BYTES];
        chain[..self.vector.len()].copy_from_slice(self.vector);
        let mut data = Text::from(self.text);
        if padded && self.direction == CipherDirection::Encipher {
            let added = BLOCK_BYTES - data.len() % BLOCK_BYTES;
            data.pad(self.text.len() + added, added as u8);
        }
        let (algorithm, rule, direction) = (key.cipher(), KeyRule::Chosen, self.direction);
        let done =
            call.ask(Cipher { algorithm, rule, mode, direction, key: key.secret, chain, data }).await?;
        let mut text = done.data;
        let mut extra = [0; CHAIN_BYTES];
        extra[..BLOCK_BYTES].copy_from_slice(&done.chain);
        if padded && direction == CipherDirection::Decipher {
            let kept = unpadded(&text)?;
            text.truncate(kept);
        }
        Ok((text, extra))
    }

    async fn gcm(&self, call: Call<'_, 'a>, key: Key) -> Result<(Text, Extra), Refusal> {
        let tag: &[u8] = match self.direction {
            CipherDirection::Encipher => &[],
            CipherDirection::Decipher => call.counted(KEY_PARMS_LENGTH, KEY_PARMS)?,
        };
        let done = call.ask(Gcm {
            direction: self.direction,
            key: key.secret,
            nonce: self.vector,
            associated: call.counted(OPTIONAL_DATA_LENGTH, OPTIONAL_DATA)?,
            data: Text::from(self.text),
            tag,
        });
        let done = done.await?;
        let mut extra = [0; CHAIN_BYTES];
        extra[..16].copy_from_slice(&done.tag);
        Ok((done.data, extra))
    }
}

fn clear_key(key: &[u8]) -> Result<Key, Refusal> {
    if !matches!(key.len(), 16 | 24 | 32) {
        return Err(code::KEY_LENGTH_KEYWORD.into());
    }
    Ok(Key::clear_aes(key))
}

/// Length of the text before its padding. Every byte of the last block is looked at whatever it holds;
/// that the padding is wrong shows in the codes only.
fn unpadded(text: &[u8]) -> Result<usize, Codes> {
    let Some(block) = text.last_chunk::<BLOCK_BYTES>() else { return Err(code::TEXT_LENGTH) };
    let added = block[BLOCK_BYTES - 1];
    let mut wrong = u8::from(added == 0) | u8::from(usize::from(added) > BLOCK_BYTES);
    for (index, byte) in block.iter().rev().enumerate() {
        let inside = 0u8.wrapping_sub(u8::from(index < usize::from(added)));
        wrong |= inside & (byte ^ added);
    }
    if wrong == 0 { Ok(text.len() - usize::from(added)) } else { Err(code::RSA_BLOCK) }
}

const BLOCK_BYTES: usize = 16;
const CHAIN_BYTES: usize = 32;

const METHODS: &[(Word, Method)] = &[
    (word("CBC"), Method::Cbc),
    (word("ECB"), Method::Ecb),
    (word("PKCS-PAD"), Method::Pkcs),
    (word("GCM"), Method::Gcm),
];
const KEY_RULES: &[(Word, bool)] = &[(word("KEY-CLR"), false), (word("KEYIDENT"), true)];
const POSITIONS: &[(Word, Position)] = &[
    (word("INITIAL"), Position::Initial),
    (word("CONTINUE"), Position::Continue),
    (word("FINAL"), Position::Final),
    (word("ONLY"), Position::Only),
];

// Both verbs have these parameters in the same places.
const RULE_ARRAY_COUNT: usize = encipher::RULE_ARRAY_COUNT;
const RULE_ARRAY: usize = encipher::RULE_ARRAY;
const KEY_LENGTH: usize = encipher::KEY_LENGTH;
const KEY_IDENTIFIER: usize = encipher::KEY_IDENTIFIER;
const KEY_PARMS_LENGTH: usize = encipher::KEY_PARMS_LENGTH;
const KEY_PARMS: usize = encipher::KEY_PARMS;
const BLOCK_SIZE: usize = encipher::BLOCK_SIZE;
const INITIALIZATION_VECTOR_LENGTH: usize = encipher::INITIALIZATION_VECTOR_LENGTH;
const INITIALIZATION_VECTOR: usize = encipher::INITIALIZATION_VECTOR;
const CHAIN_DATA_LENGTH: usize = encipher::CHAIN_DATA_LENGTH;
const CHAIN_DATA: usize = encipher::CHAIN_DATA;
const INPUT_LENGTH: usize = encipher::CLEAR_TEXT_LENGTH;
const INPUT: usize = encipher::CLEAR_TEXT;
const OUTPUT_LENGTH: usize = encipher::CIPHER_TEXT_LENGTH;
const OUTPUT: usize = encipher::CIPHER_TEXT;
const OPTIONAL_DATA_LENGTH: usize = encipher::OPTIONAL_DATA_LENGTH;
const OPTIONAL_DATA: usize = encipher::OPTIONAL_DATA;
const _: () = assert!(
    KEY_IDENTIFIER == decipher::KEY_IDENTIFIER
        && KEY_PARMS == decipher::KEY_PARMS
        && INITIALIZATION_VECTOR == decipher::INITIALIZATION_VECTOR
        && CHAIN_DATA == decipher::CHAIN_DATA
        && INPUT == decipher::CIPHER_TEXT
        && OUTPUT == decipher::CLEAR_TEXT
        && OPTIONAL_DATA == decipher::OPTIONAL_DATA
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_checked_in_every_byte() {
        for added in 1..=16u8 {
            let mut text = vec![0xAA; 32];
            text[32 - usize::from(added)..].fill(added);
            assert_eq!(unpadded(&text), Ok(32 - usize::from(added)));
            for index in 32 - usize::from(added)..31 {
                text[index] ^= 0x40;
                assert_eq!(unpadded(&text), Err(code::RSA_BLOCK), "{added} {index}");
                text[index] ^= 0x40;
            }
        }
        let refused = |last: u8| {
            let mut text = [last; 16];
            text[0] = 0;
            unpadded(&text)
        };
        assert_eq!(refused(0), Err(code::RSA_BLOCK));
        assert_eq!(refused(16), Err(code::RSA_BLOCK));
        assert_eq!(unpadded(&[17; 16]), Err(code::RSA_BLOCK));
        assert_eq!(unpadded(&[]), Err(code::TEXT_LENGTH));
    }
}
