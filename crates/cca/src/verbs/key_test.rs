//! Key_Test (CSNBKYT): generates or verifies a value by which two parties see that they hold the same key.
//!
//! | key | default algorithm | ENC-ZERO |
//! |---|---|---|
//! | DES, single or double | value 1: random number, value 2: pattern of [`token::pattern`] | value 2: 4 bytes |
//! | DES, triple | none: needs ENC-ZERO | value 2: 4 bytes |
//! | AES | (SHA-256) value 2: first 8 bytes of SHA-256 of X'01' and the key | value 2: 4 bytes |
//! | master key | (SHA-1 or SHA-256, as the register has it) value 1 and 2: bytes 0-7 and 8-15 of the hash | - |
//!
//! KEY-ENC, KEY-ENCD and KEY-ENCT name a DES token; its length is what the token says. TOKEN, the
//! default, names any token. Parity of a DES key is taken as it is (NOADJUST, the default) or made odd first (ADJUST).

use crate::call::{Call, Reply, Verdict};
use crate::ground::{Algorithm, Refusal};
use crate::key::Renewal;
use crate::parity;
use crate::pass::{Cipher, Derive, KeyRule, Token};
use crate::wipe::Text;
use engine::{CipherDirection, Mode, SecretBytes};
use subtle::ConstantTimeEq;
use token::pattern::ENC_ZERO_BYTES;
use wire::control::Register;
use wire::verb::key_test::{Answer, Request};
use wire::verb::{TestAlgorithm, TestParity, TestProcess, TestRegister, TestSource};
use wire::{Codes, code};

/// A token under the old master key or in another form is returned renewed. GENERATE answers with both values; VERIFY
/// with 4/1 if they differ from the given ones.
pub(crate) async fn key_test(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let verify = request.process == TestProcess::Verify;
    let given = if verify {
        let value = |value: Option<&[u8; 8]>| value.copied().ok_or(code::INVALID_PARAMETER);
        (value(request.value_1)?, value(request.value_2)?)
    } else {
        Default::default()
    };
    let (field, process) = (request.key_identifier, request.algorithm);
    let (key, codes, renewal) = match Source::of(request.source) {
        Source::Master(old) => {
            let values = master_key(&call, request.register, process, old)?;
            return answer(reply, verify, given, Values { values, bytes: 8 }, code::OK, None);
        }
        Source::Clear(algorithm, length) => (clear_key(field, algorithm, length)?, code::OK, None),
        Source::Token(algorithm) => token_key(call, field, algorithm).await?,
    };
    let random = verify.then_some(given.0);
    let values = values(call, key, process, request.parity, random).await?;
    answer(reply, verify, given, values, codes, token_of(renewal).await?)
}

/// Values 1 and 2 of a key.
pub(super) struct Values {
    pub(super) values: ([u8; 8], [u8; 8]),
    /// Number of bytes of value 2 that are compared. Value 1 is compared as well if this is 8.
    pub(super) bytes: usize,
}

/// Computes both values of a key, with `random` as the random number if one is given.
///
/// # Errors
/// 8/34 for an algorithm that does not apply to the key.
pub(super) async fn values(
    call: Call<'_, '_>,
    mut key: Key,
    process: Option<TestAlgorithm>,
    parity: TestParity,
    random: Option<[u8; 8]>,
) -> Result<Values, Refusal> {
    if parity == TestParity::Adjusted && key.0 == Algorithm::Des {
        parity::make_odd(&mut key.1);
    }
    if process == Some(TestAlgorithm::EncZero) {
        let mut values = ([0; 8], [0; 8]);
        values.1[..ENC_ZERO_BYTES].copy_from_slice(&enc_zero(call, key).await?);
        return Ok(Values { values, bytes: ENC_ZERO_BYTES });
    }
    let (algorithm, key) = key;
    let default = match algorithm {
        Algorithm::Des => process.is_none() && key.len() <= 16,
        Algorithm::Aes => process != Some(TestAlgorithm::Sha1),
    };
    if !default {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    let mut number = random.unwrap_or_default();
    if random.is_none() && algorithm == Algorithm::Des {
        call.random(&mut number);
    }
    let value = match algorithm {
        Algorithm::Des => call.ask(Derive::KeyTest { key, random: number }).await.pattern()?,
        Algorithm::Aes => call.ask(Derive::Sha256 { key }).await.pattern()?,
    };
    Ok(Values { values: (number, value), bytes: 8 })
}

/// The renewed token of a key; `None` if there is nothing to renew.
async fn token_of(renewal: Option<Renewal<'_>>) -> Result<Option<Token>, Codes> {
    match renewal {
        Some(renewal) => renewal.token().await,
        None => Ok(None),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// An internal token, of this algorithm if the keyword names one.
    Token(Option<Algorithm>),
    /// A clear key of this length at the start of the key-identifier field.
    Clear(Algorithm, usize),
    /// A master key: the old one if true, else the current one.
    Master(bool),
}

impl Source {
    fn of(keyword: TestSource) -> Self {
        match keyword {
            TestSource::Token => Self::Token(None),
            TestSource::Enciphered | TestSource::EncipheredDouble | TestSource::EncipheredTriple => {
                Self::Token(Some(Algorithm::Des))
            }
            TestSource::Clear => Self::Clear(Algorithm::Des, 8),
            TestSource::ClearDouble => Self::Clear(Algorithm::Des, 16),
            TestSource::ClearTriple => Self::Clear(Algorithm::Des, 24),
            TestSource::ClearAes128 => Self::Clear(Algorithm::Aes, 16),
            TestSource::ClearAes192 => Self::Clear(Algorithm::Aes, 24),
            TestSource::ClearAes256 => Self::Clear(Algorithm::Aes, 32),
            TestSource::Master => Self::Master(false),
            TestSource::OldMaster => Self::Master(true),
        }
    }
}

/// An algorithm and its key.
pub(super) type Key = (Algorithm, SecretBytes);

/// Compares the given values with the found ones (VERIFY), or writes the found values (GENERATE).
fn answer(
    reply: &mut Reply<'_, '_>,
    verify: bool,
    given: ([u8; 8], [u8; 8]),
    found: Values,
    codes: Codes,
    token: Option<Token>,
) -> Verdict {
    let key_identifier = token.as_deref();
    if !verify {
        let (value_1, value_2) = &found.values;
        reply.write(Answer { key_identifier, value_1: Some(value_1), value_2: Some(value_2) })?;
        return Ok(codes);
    }
    if key_identifier.is_some() {
        reply.write(Answer { key_identifier, ..Answer::default() })?;
    }
    Ok(if is_same(given, &found) { codes } else { code::VERIFICATION_FAILED })
}

/// Whether the given values match those found, compared in constant time.
pub(super) fn is_same(given: ([u8; 8], [u8; 8]), found: &Values) -> bool {
    let (values, bytes) = (found.values, found.bytes);
    let is_short = subtle::Choice::from(u8::from(bytes < 8));
    (given.1[..bytes].ct_eq(&values.1[..bytes]) & (given.0.ct_eq(&values.0) | is_short)).into()
}

/// The values of a master key, by the hash of its register.
pub(super) fn master_key(
    call: &Call<'_, '_>,
    register: Option<TestRegister>,
    process: Option<TestAlgorithm>,
    old: bool,
) -> Result<([u8; 8], [u8; 8]), Codes> {
    let (register, own) = match register {
        None | Some(TestRegister::Sym) => (Register::Sym, TestAlgorithm::Sha1),
        Some(TestRegister::Asym) => (Register::Asym, TestAlgorithm::Sha1),
        Some(TestRegister::Aes) => (Register::Aes, TestAlgorithm::Sha256),
        Some(TestRegister::Apka) => (Register::Apka, TestAlgorithm::Sha256),
    };
    if process.is_some_and(|process| process != own) {
        return Err(code::KEYWORD_COMBINATION);
    }
    let patterns = call.patterns.register(register);
    let (pattern, test) =
        if old { (patterns.old, patterns.old_test) } else { (patterns.current, patterns.current_test) };
    pattern.ok_or(code::MASTER_KEY_NOT_LOADED)?;
    let [a, b, c, d, e, f, g, h, rest @ ..] = test;
    Ok(([a, b, c, d, e, f, g, h], rest))
}

fn clear_key(field: &[u8], algorithm: Algorithm, length: usize) -> Result<Key, Refusal> {
    let key = field.get(..length).ok_or(code::TOKEN_INVALID)?;
    Ok((algorithm, SecretBytes::from_slice(key)))
}

async fn token_key<'p, 'a>(
    call: Call<'p, 'a>,
    field: &'a [u8],
    algorithm: Option<Algorithm>,
) -> Result<(Key, Codes, Option<Renewal<'p>>), Refusal> {
    let found = call.key(field)?.any()?;
    if found.algorithm() == Algorithm::Aes && algorithm == Some(Algorithm::Des) {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    let key = found.open()?.await?;
    let renewal = key.renew(call, field)?;
    Ok(((key.algorithm(), key.secret), key.age.codes(), Some(renewal)))
}

/// The first 4 bytes of a block of zeros that the key enciphers.
pub(super) async fn enc_zero(
    call: Call<'_, '_>,
    (algorithm, key): Key,
) -> Result<[u8; ENC_ZERO_BYTES], Codes> {
    let block_bytes = if algorithm == Algorithm::Des { 8 } else { 16 };
    let algorithm = algorithm.cipher(key.len());
    let done = call.ask(Cipher {
        algorithm,
        rule: KeyRule::Internal,
        mode: Mode::Ecb,
        direction: CipherDirection::Encipher,
        key,
        chain: [0; 16],
        data: Text::from(&[0; 16][..block_bytes]),
    });
    let mut out = [0; ENC_ZERO_BYTES];
    out.copy_from_slice(&done.await?.data[..ENC_ZERO_BYTES]);
    Ok(out)
}
