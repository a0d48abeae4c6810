//! PKA_Key_Token_Build (CSNDPKB): an external token from the numbers of a key, or a skeleton to generate one from.
//!
//! | keyword | section | structure |
//! |---|---|---|
//! | RSA-PUBL | X'04' | n, e |
//! | RSA-PRIV | X'02', to 1024 bits | n, e, d, or bits and e |
//! | RSA-CRT | X'08' | n, e, p, q, dp, dq, U, or bits and e |
//! | RSA-AESM | X'30' | as RSA-PRIV |
//! | RSA-AESC | X'31' | as RSA-CRT |
//!
//! Usage: SIG-ONLY (default), KEY-MGMT, KM-ONLY; translation: XLATE-OK, NO-XLATE (default). A name
//! of 64 bytes is a label. The numbers are copied, not judged: a key that is none is refused where
//! it is used or imported. The other parameters belong to other keys and must be empty.

use token::pka::{Attributes, Form, KeyValues, NAME_BYTES, Usage, clear_token, public_token, skeleton_token};
use wire::verb::pka_key_token_build::{
    CUSTOMER_DATA_LENGTH, KEY_NAME, KEY_NAME_LN, KEY_VALUES_STRUCTURE, KEY_VALUES_STRUCTURE_LENGTH,
    RESERVED_2_LENGTH, RESERVED_3_LENGTH, RESERVED_4_LENGTH, RESERVED_5_LENGTH, RULE_ARRAY, RULE_ARRAY_COUNT,
    TOKEN, TOKEN_LENGTH,
};
use wire::{Codes, Label, code};
use zeroize::Zeroizing;

use crate::call::{Call, Reply, Verdict};
use crate::pka::Hashes;
use crate::rules::{Rules, Word, word};

/// Most keywords of the verb.
const KEYWORDS_MAX: usize = 7;

#[derive(Clone, Copy)]
enum Kind {
    Public,
    Private(Form),
}

const KINDS: &[(Word, Kind)] = &[
    (word("RSA-PUBL"), Kind::Public),
    (word("RSA-PRIV"), Kind::Private(Form::Me1024)),
    (word("RSA-CRT"), Kind::Private(Form::Crt)),
    (word("RSA-AESM"), Kind::Private(Form::MeAes)),
    (word("RSA-AESC"), Kind::Private(Form::CrtAes)),
];

const USAGES: &[(Word, Usage)] = &[
    (word("SIG-ONLY"), Usage::SignatureOnly),
    (word("KEY-MGMT"), Usage::KeyManagement),
    (word("KM-ONLY"), Usage::KeyManagementOnly),
];

const TRANSLATIONS: &[(Word, bool)] = &[(word("XLATE-OK"), true), (word("NO-XLATE"), false)];

pub(crate) async fn pka_key_token_build(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let mut rules = Rules::read(&call, RULE_ARRAY_COUNT, RULE_ARRAY, 1, KEYWORDS_MAX)?;
    let kind = rules.required(KINDS)?;
    let usage = rules.optional(USAGES)?;
    let translatable = rules.optional(TRANSLATIONS)?;
    rules.finish()?;
    let name = name(&call)?;
    if matches!(kind, Kind::Public) && (usage.is_some() || translatable.is_some() || name.is_some()) {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    for unused in
        [CUSTOMER_DATA_LENGTH, RESERVED_2_LENGTH, RESERVED_3_LENGTH, RESERVED_4_LENGTH, RESERVED_5_LENGTH]
    {
        if call.integer(unused) != 0 {
            return Err(code::INVALID_PARAMETER.into());
        }
    }
    let structure = call.counted(KEY_VALUES_STRUCTURE_LENGTH, KEY_VALUES_STRUCTURE)?;
    let attributes =
        Attributes { usage: usage.unwrap_or_default(), translatable: translatable.unwrap_or(false), name };
    let token = build(&call, kind, structure, &attributes)?;
    call.capacity(TOKEN_LENGTH, token.len())?;
    reply.counted(TOKEN_LENGTH, TOKEN, &token);
    Ok(code::OK)
}

fn build(
    call: &Call<'_, '_>,
    kind: Kind,
    structure: &[u8],
    attributes: &Attributes,
) -> Result<Zeroizing<Vec<u8>>, Codes> {
    let hashes = Hashes(call.engine);
    let values = match kind {
        Kind::Private(form) if form.is_crt() => KeyValues::crt(structure),
        _ => KeyValues::modulus_exponent(structure),
    }
    .map_err(|error| error.codes())?;
    match (kind, values) {
        (Kind::Public, KeyValues::Public { n, e }) => public_token(n, e).map(Zeroizing::new),
        (Kind::Private(form), KeyValues::Generate { modulus_bits, e }) => {
            skeleton_token(form, modulus_bits, e, attributes, &hashes).map(Zeroizing::new)
        }
        (Kind::Private(form), KeyValues::Private(key)) => clear_token(form, &key, attributes, &hashes),
        _ => return Err(code::PKA_FIELD),
    }
    .map_err(|error| error.codes())
}

/// The private-key name, where one is given.
fn name(call: &Call<'_, '_>) -> Result<Option<[u8; NAME_BYTES]>, Codes> {
    if call.integer(KEY_NAME_LN) == 0 {
        return Ok(None);
    }
    let name: [u8; NAME_BYTES] =
        call.counted(KEY_NAME_LN, KEY_NAME)?.try_into().map_err(|_| code::INVALID_PARAMETER)?;
    Label::from_field(&name).map_err(|_| code::LABEL_FORMAT)?;
    Ok(Some(name))
}
