//! Key_Token_Parse2 (CSNBKTP2): parses a token of variable length into the keywords of Key_Token_Build2 and its fields.
//! No key is opened, and no card needs a master key for it.
//!
//! | group | keywords that are returned |
//! |---|---|
//! | origin | INTERNAL, EXTERNAL |
//! | key | NO-KEY, KEY-CLR; of a wrapped key none, since no keyword makes one |
//! | payload | V0PYLD, V1PYLD |
//! | algorithm | AES, HMAC |
//! | usage, management | those that make the attributes |
//!
//! The payload is returned as the token holds it: for a clear key, the key itself. If keywords cannot express some
//! fields, such as those for keys that a DKYGENKY key derives, the answer has the rest and 4/2039. A rule array without
//! room is answered with 4/16 and the number of elements; another field without room with 8/72. Labels and other tokens
//! are refused with 8/47, malformed ones with the code of their fault.

use super::key_token_parse::padded;
use crate::call::{Call, Reply, Verdict};
use token::VariableToken;
use token::des::Origin;
use token::variable::{PayloadVersion, VariableKey, Wrapper};
use wire::code;
use wire::verb::key_token_parse2::{Answer, Request};

/// Answers with type, keywords and fields.
pub(crate) async fn key_token_parse2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let token = VariableToken::parse(request.key_token)?;
    let (attributes, key_type) = (token.attributes(), token.key_type());
    let mut words = vec![if token.origin() == Origin::Internal { "INTERNAL" } else { "EXTERNAL" }];
    let (none, mut pattern): (&[u8], &[u8]) = (&[], &[]);
    let payload = match token.key() {
        VariableKey::Absent => {
            words.push("NO-KEY");
            none
        }
        VariableKey::Clear(key) => {
            words.push("KEY-CLR");
            key
        }
        VariableKey::Wrapped { under, payload } => {
            pattern = match under {
                Wrapper::Master(pattern) => pattern,
                Wrapper::Key(pattern) => pattern,
                Wrapper::Rsa(_) => none,
            };
            payload
        }
    };
    words.push(if token.payload_version() == PayloadVersion::Variable { "V0PYLD" } else { "V1PYLD" });
    words.push(if key_type.is_aes() { "AES" } else { "HMAC" });
    let said = attributes.keywords();
    words.extend(said.usage);
    words.extend(said.management);
    let rule_array: Vec<u8> = words.iter().flat_map(|word| padded(word)).collect();
    let numbers = token.wrapping_numbers().map(i64::from);
    reply.write(Answer {
        key_type: Some(&padded(key_type.name())),
        rule_array: Some(&rule_array),
        key_material_state: Some(numbers[0]),
        payload: Some(payload),
        key_verification_type: Some(numbers[1]),
        key_verification_pattern: Some(pattern),
        key_wrapping_method: Some(numbers[2]),
        key_hash_method: Some(numbers[3]),
        key_name: Some(attributes.name().map_or(none, |name| name)),
        tlvdata: Some(none),
        user_assoc_data: Some(attributes.user_data()),
    })?;
    Ok(if said.is_partial || said.derived.is_some() { code::VECTOR_NOT_PARSED } else { code::OK })
}
