//! Key_Test (CSNBKYT): makes or checks a value by which two parties see that they hold the same key.
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

use engine::{CipherDirection, Mode, SecretBytes};
use subtle::ConstantTimeEq;
use token::pattern::ENC_ZERO_BYTES;
use wire::control::Register;
use wire::verb::key_test::{KEY_IDENTIFIER, RULE_ARRAY, RULE_ARRAY_COUNT, VALUE_1, VALUE_2};
use wire::{Codes, code};

use crate::call::{Call, Refusal, Reply, Verdict};
use crate::key::Algorithm;
use crate::parity;
use crate::pass::{Cipher, Derive, KeyRule};
use crate::rules::{Rules, Word, word};
use crate::wipe::Text;

/// GENERATE answers with both values; VERIFY with 4/1 where they are others.
pub(crate) async fn key_test(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let mut rules = Rules::read(&call, RULE_ARRAY_COUNT, RULE_ARRAY, 1, 5)?;
    let verify = rules.optional(&[(word("GENERATE"), false), (word("VERIFY"), true)])?;
    let source = rules.one_or(SOURCES, Source::Token(None))?;
    let register = rules.optional(REGISTERS)?;
    let process = rules.optional(PROCESSES)?;
    let adjust = rules.one_or(&[(word("ADJUST"), true), (word("NOADJUST"), false)], false)?;
    rules.finish()?;
    let verify = verify.ok_or(code::KEYWORD_COMBINATION)?;
    let master = matches!(source, Source::Master(_));
    if register.is_some() && !master {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    let zero = process == Some(Process::EncZero);
    let given: ([u8; 8], [u8; 8]) =
        if verify { (call.array(VALUE_1)?, call.array(VALUE_2)?) } else { Default::default() };

    let (mut key, codes) = match source {
        Source::Master(old) => {
            let register = register.unwrap_or(Register::Sym);
            let own = match register {
                Register::Sym | Register::Asym => Process::Sha1,
                Register::Aes | Register::Apka => Process::Sha256,
            };
            if process.is_some_and(|process| process != own) {
                return Err(code::KEYWORD_COMBINATION.into());
            }
            let values = master_key(&call, register, old)?;
            return answer(reply, verify, given, values, 8, code::OK);
        }
        Source::Clear(algorithm, length) => (clear_key(&call, algorithm, length)?, code::OK),
        Source::Token(algorithm) => token_key(call, algorithm).await?,
    };
    if adjust && key.0 == Algorithm::Des {
        parity::make_odd(&mut key.1);
    }
    if zero {
        let mut values = ([0; 8], [0; 8]);
        values.1[..ENC_ZERO_BYTES].copy_from_slice(&enc_zero(call, key).await?);
        return answer(reply, verify, (given.0, given.1), values, ENC_ZERO_BYTES, codes);
    }
    let (algorithm, key) = key;
    let default = match algorithm {
        Algorithm::Des => process.is_none() && key.len() <= 16,
        Algorithm::Aes => process != Some(Process::Sha1),
    };
    if !default {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    let mut random = given.0;
    if !verify && algorithm == Algorithm::Des {
        call.random(&mut random);
    }
    let value = match algorithm {
        Algorithm::Des => call.ask(Derive::KeyTest { key, random }).await,
        Algorithm::Aes => call.ask(Derive::Sha256 { key }).await,
    };
    answer(reply, verify, given, (random, value), 8, codes)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// An internal token; of this algorithm where the keyword says it.
    Token(Option<Algorithm>),
    /// A clear key of this length at the start of the key-identifier field.
    Clear(Algorithm, usize),
    /// The old or the current master key.
    Master(bool),
}

/// How the value is made, where a keyword says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Process {
    EncZero,
    Sha1,
    Sha256,
}

/// An algorithm and its key.
type Key = (Algorithm, SecretBytes);

/// Compares or writes. Of value 2 the first `bytes` count; value 1 is compared for master keys only,
/// where it is no input.
fn answer(
    reply: &mut Reply<'_, '_>,
    verify: bool,
    given: ([u8; 8], [u8; 8]),
    values: ([u8; 8], [u8; 8]),
    bytes: usize,
    codes: Codes,
) -> Verdict {
    if !verify {
        reply.bytes(VALUE_1, &values.0);
        reply.bytes(VALUE_2, &values.1);
        return Ok(codes);
    }
    let same = given.1[..bytes].ct_eq(&values.1[..bytes]) & (given.0.ct_eq(&values.0) | ct_bool(bytes < 8));
    if bool::from(same) { Ok(codes) } else { Ok(code::VERIFICATION_FAILED) }
}

fn ct_bool(value: bool) -> subtle::Choice {
    subtle::Choice::from(u8::from(value))
}

fn master_key(call: &Call<'_, '_>, register: Register, old: bool) -> Result<([u8; 8], [u8; 8]), Codes> {
    let patterns = call.patterns.register(register);
    let (pattern, rest) =
        if old { (patterns.old, patterns.old_rest) } else { (patterns.current, patterns.current_rest) };
    Ok((pattern.ok_or(code::MASTER_KEY_NOT_LOADED)?, rest))
}

fn clear_key(call: &Call<'_, '_>, algorithm: Algorithm, length: usize) -> Result<Key, Refusal> {
    let field = call.key_field(KEY_IDENTIFIER)?;
    let key = field.get(..length).ok_or(code::TOKEN_INVALID)?;
    Ok((algorithm, SecretBytes::from_slice(key)))
}

async fn token_key(call: Call<'_, '_>, algorithm: Option<Algorithm>) -> Result<(Key, Codes), Refusal> {
    let found = call.key(KEY_IDENTIFIER)?.any()?;
    if found.algorithm() == Algorithm::Aes && algorithm == Some(Algorithm::Des) {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    let key = found.open()?.await?;
    Ok(((key.algorithm(), key.secret), key.age.codes()))
}

async fn enc_zero(call: Call<'_, '_>, (algorithm, key): Key) -> Result<[u8; ENC_ZERO_BYTES], Codes> {
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

const PROCESSES: &[(Word, Process)] = &[
    (word("ENC-ZERO"), Process::EncZero),
    (word("SHA-1"), Process::Sha1),
    (word("SHA-256"), Process::Sha256),
];
const SOURCES: &[(Word, Source)] = &[
    (word("TOKEN"), Source::Token(None)),
    (word("KEY-ENC"), Source::Token(Some(Algorithm::Des))),
    (word("KEY-ENCD"), Source::Token(Some(Algorithm::Des))),
    (word("KEY-ENCT"), Source::Token(Some(Algorithm::Des))),
    (word("KEY-CLR"), Source::Clear(Algorithm::Des, 8)),
    (word("KEY-CLRD"), Source::Clear(Algorithm::Des, 16)),
    (word("KEY-CLRT"), Source::Clear(Algorithm::Des, 24)),
    (word("CLR-A128"), Source::Clear(Algorithm::Aes, 16)),
    (word("CLR-A192"), Source::Clear(Algorithm::Aes, 24)),
    (word("CLR-A256"), Source::Clear(Algorithm::Aes, 32)),
    (word("KEY-KM"), Source::Master(false)),
    (word("KEY-OKM"), Source::Master(true)),
];
const REGISTERS: &[(Word, Register)] = &[
    (word("SYM-MK"), Register::Sym),
    (word("ASYM-MK"), Register::Asym),
    (word("AES-MK"), Register::Aes),
    (word("APKA-MK"), Register::Apka),
];
