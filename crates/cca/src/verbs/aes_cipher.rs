//! Symmetric_Algorithm_Encipher and _Decipher (CSNBSAE, CSNBSAD): AES, both directions.
//!
//! | keyword | text | vector | chaining |
//! |---|---|---|---|
//! | CBC (default) | whole blocks | 16 bytes | INITIAL (default), CONTINUE, FINAL, ONLY |
//! | ECB | whole blocks | none | the keywords have no effect |
//! | PKCS-PAD | any; 1 to 16 bytes of padding | 16 bytes | as CBC |
//! | GCM | any, whole | nonce of 1 byte or more | ONLY |
//!
//! INITIAL and ONLY take the initialization vector, CONTINUE and FINAL the chaining data; INITIAL and CONTINUE leave
//! chaining data of 32 bytes: the last block of ciphertext, then zeros. With GCM the key parameters are the tag (4, 8,
//! 12 to 16 bytes) and the optional data are authenticated. A key is 16, 24 or 32 clear bytes (KEY-CLR, the default) or
//! an AES token (KEYIDENT): of a DATA key, or of a CIPHER key of variable length, whose usage fields must allow
//! direction and mode (8/39).

use crate::call::{AnswerBuffer, Call, Reply, Verdict};
use crate::ground::{Algorithm, Refusal};
use crate::key::Key;
use crate::pass::{Cipher, Gcm, KeyRule};
use crate::wipe::Text;
use engine::{CipherDirection, Mode};
use std::future::Future;
use token::Format;
use token::variable::{CipherMode, VariableUse};
use wire::verb::{AesKeyRule, AesMethod, AesPosition, Buffer};
use wire::{Codes, code};

/// The parameters that Symmetric_Algorithm_Encipher and _Decipher share.
pub(super) struct Request<'a> {
    pub(super) direction: CipherDirection,
    pub(super) method: AesMethod,
    pub(super) key_rule: AesKeyRule,
    pub(super) part: Option<AesPosition>,
    pub(super) key_identifier: &'a [u8],
    pub(super) key_parms: Buffer<'a>,
    pub(super) block_size: i64,
    pub(super) initialization_vector: &'a [u8],
    pub(super) chain_data: Buffer<'a>,
    pub(super) text: &'a [u8],
    pub(super) output: Buffer<'a>,
    pub(super) optional_data: &'a [u8],
}

/// The outputs that Symmetric_Algorithm_Encipher and _Decipher share.
pub(super) struct Done<'a> {
    /// The renewed token of the key; `None` if the token needs no renewal.
    pub(super) key_identifier: Option<&'a [u8]>,
    /// The tag of GCM; `None` if no text is enciphered by GCM.
    pub(super) tag: Option<&'a [u8]>,
    /// The chaining data for the next part of the text; `None` after the last part.
    pub(super) chain_data: Option<&'a [u8]>,
    pub(super) text: &'a [u8],
}

/// How one of the two verbs writes its answer.
#[derive(Clone, Copy)]
pub(super) struct End {
    /// Length of the answer before its text in bytes if all other outputs are empty.
    pub(super) head_bytes: fn() -> usize,
    /// Writes the outputs into the reply.
    pub(super) write: fn(&Done<'_>, AnswerBuffer<'_>) -> Result<bool, Refusal>,
}

/// Enciphers or deciphers the text of a request, and writes the answer by `end`.
#[expect(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
pub(super) fn run<'f, 'r, 'w>(
    call: Call<'f, 'f>,
    reply: &'f mut Reply<'r, 'w>,
    read: fn(&Call<'f, 'f>) -> Result<Request<'f>, Refusal>,
    end: End,
) -> impl Future<Output = Verdict> + use<'f, 'r, 'w> {
    async move {
        let task = read(&call)?.check()?;
        let key = task.key(call).await?;
        let renewal = key.renew(call, task.key_identifier)?;
        let age = key.age;
        // A renewed token precedes the text in the answer, and its length is not known yet: the text may have to move.
        let head = (end.head_bytes)() + task.extra_bytes();
        let text = reply.lend(head, task.text, BLOCK_BYTES);
        let (text, extra) = match task.method {
            AesMethod::Gcm => task.gcm(call, key, text).await?,
            _ => task.blocks(call, key, text).await?,
        };
        // The length of a padded text is known only after deciphering.
        task.output.holds(text.len())?;
        let token = renewal.token().await?;
        reply.write_text(text, |text, buffer| {
            let done = Done {
                key_identifier: token.as_deref(),
                tag: task.makes_tag().then(|| &extra[..task.tag_bytes]),
                chain_data: task.is_chained.then_some(&extra[..]),
                text,
            };
            (end.write)(&done, buffer)
        })?;
        Ok(age.codes())
    }
}

/// Chaining data, or the tag in its first 16 bytes.
type Extra = [u8; CHAIN_BYTES];

impl<'a> Request<'a> {
    /// The task of this request, after its block size and the lengths of its fields are checked.
    fn check(self) -> Result<Task<'a>, Refusal> {
        if self.block_size != BLOCK_BYTES as i64 {
            return Err(code::INVALID_PARAMETER.into());
        }
        let vector = self.vector()?;
        self.check_lengths()?;
        let checks_tag = self.method == AesMethod::Gcm && self.direction == CipherDirection::Decipher;
        Ok(Task {
            direction: self.direction,
            method: self.method,
            key_rule: self.key_rule,
            is_chained: self.is_chained(),
            key_identifier: self.key_identifier,
            vector,
            text: self.text,
            output: self.output,
            tag: if checks_tag { self.key_parms.given()? } else { &[] },
            tag_bytes: self.key_parms.capacity(),
            optional_data: self.optional_data,
        })
    }

    /// Whether the answer has chaining data: CBC and PKCS-PAD with INITIAL and CONTINUE.
    fn is_chained(&self) -> bool {
        matches!(self.method, AesMethod::Cbc | AesMethod::Pkcs)
            && matches!(self.part, None | Some(AesPosition::Initial | AesPosition::Continue))
    }

    /// The initialization vector or, for a later part of a text, the chaining value.
    fn vector(&self) -> Result<&'a [u8], Refusal> {
        let given = self.initialization_vector;
        let is_right = match (self.method, self.part) {
            (AesMethod::Ecb, _) => return Ok(&[]),
            (AesMethod::Gcm, _) => !given.is_empty(),
            (_, Some(AesPosition::Continue | AesPosition::Final)) => {
                let chain = self.chain_data.given()?.get(..BLOCK_BYTES);
                return Ok(chain.ok_or(code::INVALID_PARAMETER)?);
            }
            (_, None | Some(AesPosition::Initial | AesPosition::Only)) => given.len() == BLOCK_BYTES,
        };
        if is_right { Ok(given) } else { Err(code::INVALID_PARAMETER.into()) }
    }

    fn check_lengths(&self) -> Result<(), Refusal> {
        let enciphers = self.direction == CipherDirection::Encipher;
        let blocks = !self.text.is_empty() && self.text.len().is_multiple_of(BLOCK_BYTES);
        let any = self.method == AesMethod::Gcm || (self.method == AesMethod::Pkcs && enciphers);
        if !any && !blocks {
            return Err(code::TEXT_LENGTH.into());
        }
        if self.is_chained() {
            self.chain_data.holds(CHAIN_BYTES)?;
        }
        if self.method == AesMethod::Gcm && !matches!(self.key_parms.capacity(), 4 | 8 | 12..=16) {
            return Err(code::INVALID_PARAMETER.into());
        }
        let least = match self.method {
            AesMethod::Pkcs if enciphers => (self.text.len() / BLOCK_BYTES + 1) * BLOCK_BYTES,
            AesMethod::Pkcs => 0,
            _ => self.text.len(),
        };
        Ok(self.output.holds(least)?)
    }
}

/// A checked request, as it is kept from pass to pass.
struct Task<'a> {
    direction: CipherDirection,
    method: AesMethod,
    key_rule: AesKeyRule,
    is_chained: bool,
    key_identifier: &'a [u8],
    /// Initialization vector, nonce or chaining value; none with ECB.
    vector: &'a [u8],
    text: &'a [u8],
    output: Buffer<'a>,
    /// The tag to compare with; empty if none is verified. `tag_bytes` is the length of a tag in bytes.
    tag: &'a [u8],
    tag_bytes: usize,
    optional_data: &'a [u8],
}

impl<'a> Task<'a> {
    async fn key(&self, call: Call<'_, 'a>) -> Result<Key, Refusal> {
        match self.key_rule {
            AesKeyRule::Clear => clear_key(self.key_identifier),
            AesKeyRule::Identifier => {
                let field = call.key(self.key_identifier)?;
                let opening = match Format::of(self.key_identifier) {
                    Format::VariableInternal => field.variable()?.for_variable_use(self.usage())?,
                    _ => field.of(Algorithm::Aes)?.open()?,
                };
                Ok(opening.await?)
            }
        }
    }

    /// The use that a key of variable length must permit: the direction and the mode of this request.
    fn usage(&self) -> VariableUse {
        let mode = match self.method {
            AesMethod::Cbc | AesMethod::Pkcs => CipherMode::Cbc,
            AesMethod::Ecb => CipherMode::Ecb,
            AesMethod::Gcm => CipherMode::Gcm,
        };
        match self.direction {
            CipherDirection::Encipher => VariableUse::Encipher(mode),
            CipherDirection::Decipher => VariableUse::Decipher(mode),
        }
    }

    fn makes_tag(&self) -> bool {
        self.method == AesMethod::Gcm && self.direction == CipherDirection::Encipher
    }

    /// Length of the tag or the chaining data that go out in front of the text.
    fn extra_bytes(&self) -> usize {
        match (self.makes_tag(), self.is_chained) {
            (true, _) => self.tag_bytes,
            (false, true) => CHAIN_BYTES,
            (false, false) => 0,
        }
    }

    async fn blocks(&self, call: Call<'_, '_>, key: Key, mut data: Text) -> Result<(Text, Extra), Refusal> {
        let (mode, padded) = match self.method {
            AesMethod::Ecb => (Mode::Ecb, false),
            AesMethod::Pkcs => (Mode::Cbc, true),
            _ => (Mode::Cbc, false),
        };
        let mut chain = [0; BLOCK_BYTES];
        chain[..self.vector.len()].copy_from_slice(self.vector);
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

    async fn gcm(&self, call: Call<'_, 'a>, key: Key, data: Text) -> Result<(Text, Extra), Refusal> {
        let done = call.ask(Gcm {
            direction: self.direction,
            key: key.secret,
            nonce: self.vector,
            associated: self.optional_data,
            data,
            tag: self.tag,
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

/// Length of the text before its padding. Every byte of the last block is read whatever its value, so only the codes
/// reveal a wrong padding.
pub(super) fn unpadded(text: &[u8]) -> Result<usize, Codes> {
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
