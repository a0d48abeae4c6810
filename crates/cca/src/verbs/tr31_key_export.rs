//! TR31_Key_Export (CSNBT31X): an internal DES or AES key leaves in a key block.
//!
//! | keyword | block | protection key |
//! |---|---|---|
//! | VARXOR-A, VARDRV-B, VARXOR-C | versions A, B, C | a DES EXPORTER key with the usage EXPORT |
//! | VARDRV-D | version D, as long as for the longest key of its algorithm | an AES EXPORTER key with the kind of the key, and EXPORT and WR-TR31, or EXPTT31D and VARDRV-D |
//!
//! The key must permit export: of DES bit 17 of its control vector, and not the one that keeps it out of key blocks.
//! The key leaves under a usage and a mode only if no key that this block can be imported as may do more than the key
//! itself ([`token::tr31::uses`]). INCL-CV adds its control vector to usage and mode, ATTR-CV replaces them; with
//! INCL-CV and its point any usage is permitted. A key that derives others at two steps (DKYL1), and one of DMPIN,
//! leaves only with its control vector. A key that is stronger than the protection key is refused with 8/170,
//! unless the role permits it: every AES key under a DES key is such a key. A key that came in with exportability E
//! leaves with EXP-TRST or EXP-NONE alone, in versions B and D alone (8/39), and under no weaker key whatever the role.
//! The key field has the given length, or if that is 0, the least that the key needs. External source tokens are
//! refused: their unwrapping key must be left out (8/47).

use super::key_block::{VECTOR_USAGE, refusal, vector_block, vector_data};
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use crate::key::exchange::exportable_in_blocks;
use crate::key::protection::Carried;
use crate::key::target::is_null;
use crate::key::variable_exchange;
use crate::pass::{KeyBlock, KeyBlockTask};
use engine::SecretBytes;
use payments::key_block::{
    Attributes, Exportability, OptionalBlock, Padding, Version, assemble, header, optional_blocks, payload,
    payload_bytes,
};
use token::tr31::uses::{may_leave, may_leave_variable};
use token::usage::Side;
use wire::point::Point;
use wire::verb::tr31_key_export::{Answer, Request};
use wire::verb::{
    KeyBlockExport, KeyBlockMethod, KeyBlockMode, KeyBlockSource, KeyBlockUsage, KeyBlockVector,
};
use wire::{Codes, code};
use zeroize::Zeroizing;

/// Answers with the block.
pub(crate) async fn tr31_key_export(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    if !is_null(request.unwrap_kek_identifier) {
        return Err(code::TOKEN_INVALID.into());
    }
    let version = version_of(request.method);
    let (usage, mode) = meaning(&request)?;
    let given = optional_blocks(request.opt_blks).map_err(|_| code::INVALID_PARAMETER)?;
    let field = call.key(request.source_key_identifier)?;
    let (found, is_aes) = match token::Format::of(field.bytes()) {
        token::Format::VariableInternal => (field.variable()?, true),
        _ => (field.of(crate::ground::Algorithm::Des)?, false),
    };
    check_source(request.source, is_aes)?;
    let (vector, in_blocks_alone) = if is_aes {
        let token = variable_exchange::may_leave_in_blocks(&found)?;
        if request.vector.is_some() {
            return Err(code::KEYWORD_COMBINATION.into());
        }
        may_leave_variable(token.attributes(), usage, mode).map_err(|refused| refusal(refused, true))?;
        (None, token.attributes().leaves_in_blocks_alone())
    } else {
        let token = exportable_in_blocks(&found)?;
        let vector = des_may_leave(&call, &request, token.control_vector(), (usage, mode))?;
        (Some(vector), token.leaves_in_blocks_alone())
    };
    // Exportability E stays E, under a key that is as strong and bound to the header by more than four bytes; otherwise
    // it becomes N.
    let is_narrow = request.export != KeyBlockExport::Any && matches!(version, Version::B | Version::D);
    if in_blocks_alone && !is_narrow {
        return Err(code::KEY_USAGE.into());
    }
    let carried = match vector {
        Some(vector) => Carried::Des(vector),
        None => Carried::Aes(found.variable()?.attributes()),
    };
    let kek = call.protection_key(request.wrap_kek_identifier, Side::Sending, version, &carried)?;
    let opening = found.open()?;
    let (kek, key) = (kek.await, opening.await);
    let (kek, key) = (kek?, key?);
    if !kek.protects(version) {
        return Err(code::KEY_USAGE.into());
    }
    let algorithm = match key.secret.len() {
        _ if is_aes => b'A',
        8 => b'D',
        _ => b'T',
    };
    if kek.is_weaker_in_blocks(version, algorithm, key.secret.len()) {
        if in_blocks_alone {
            return Err(code::STRENGTH.into());
        }
        call.permit(Point::WeakTransport).map_err(|_| code::STRENGTH)?;
    }
    let attributes = Attributes {
        version,
        usage,
        algorithm,
        mode,
        key_version: *request.key_version_number,
        exportability: match request.export {
            KeyBlockExport::Any => Exportability::Sensitive,
            KeyBlockExport::Trusted => Exportability::Trusted,
            KeyBlockExport::None => Exportability::No,
        },
        context: b'0',
    };
    let carries_vector = vector.filter(|_| request.vector.is_some());
    let data = carries_vector.map(|vector| vector_data(vector, key.secret.len()));
    let mut optional: Vec<OptionalBlock<'_>> = given;
    optional.extend(data.as_deref().map(vector_block));
    let field_bytes = field_bytes(&attributes, request.key_field_length, key.secret.len())?;
    let header = header(&attributes, &optional, field_bytes).map_err(|_| code::INVALID_PARAMETER)?;
    let room = header.len() + 2 * (field_bytes + version.mac_bytes());
    request.tr31_key_block.holds(room)?;
    let asked = KeyBlock {
        task: KeyBlockTask::Seal,
        version,
        key: kek.secret.clone(),
        payload: filled(&call, version, &key.secret, field_bytes)?,
        mac: vec![0; version.mac_bytes()],
        header: header.clone(),
    };
    let done = call.ask(asked).await?;
    let block = assemble(&header, &done.payload, &done.mac);
    reply.write(Answer { tr31_key_block: Some(&block) })?;
    Ok(kek.age.max(key.age).codes())
}

fn version_of(method: KeyBlockMethod) -> Version {
    match method {
        KeyBlockMethod::A => Version::A,
        KeyBlockMethod::B => Version::B,
        KeyBlockMethod::C => Version::C,
        KeyBlockMethod::D => Version::D,
    }
}

/// Usage and mode of the keywords.
///
/// # Errors
/// 8/129 if usage or mode is missing.
fn meaning(request: &Request<'_>) -> Result<([u8; 2], u8), Codes> {
    use KeyBlockUsage as U;
    if request.vector == Some(KeyBlockVector::Alone) {
        return Ok(VECTOR_USAGE);
    }
    let usage = match request.usage.ok_or(code::KEYWORD_REQUIRED)? {
        U::B0 => b"B0",
        U::C0 => b"C0",
        U::D0 => b"D0",
        U::E0 => b"E0",
        U::E1 => b"E1",
        U::E2 => b"E2",
        U::E3 => b"E3",
        U::E4 => b"E4",
        U::E5 => b"E5",
        U::K0 => b"K0",
        U::K1 => b"K1",
        U::M0 => b"M0",
        U::M1 => b"M1",
        U::M3 => b"M3",
        U::M6 => b"M6",
        U::P0 => b"P0",
        U::V0 => b"V0",
        U::V1 => b"V1",
        U::V2 => b"V2",
    };
    let mode = match request.mode.ok_or(code::KEYWORD_REQUIRED)? {
        KeyBlockMode::Both => b'B',
        KeyBlockMode::Decipher => b'D',
        KeyBlockMode::Encipher => b'E',
        KeyBlockMode::Mac => b'C',
        KeyBlockMode::Generate => b'G',
        KeyBlockMode::Verify => b'V',
        KeyBlockMode::Derive => b'X',
        KeyBlockMode::Any => b'N',
    };
    Ok((*usage, mode))
}

/// Refuses a key of another algorithm than the keyword's.
fn check_source(keyword: Option<KeyBlockSource>, is_aes: bool) -> Result<(), Codes> {
    match keyword {
        Some(KeyBlockSource::Des) if is_aes => Err(code::TOKEN_INVALID),
        Some(KeyBlockSource::Aes) if !is_aes => Err(code::TOKEN_INVALID),
        Some(KeyBlockSource::Hmac) => Err(code::KEYWORD),
        _ => Ok(()),
    }
}

/// The control vector of a DES key that may leave, if it may leave under these codes.
///
/// # Errors
/// 8/39 for a key that may not leave under this usage and mode.
fn des_may_leave(
    call: &Call<'_, '_>,
    request: &Request<'_>,
    vector: token::ControlVector,
    (usage, mode): ([u8; 2], u8),
) -> Result<token::ControlVector, Refusal> {
    let is_alone = request.vector == Some(KeyBlockVector::Alone);
    let is_beside = request.vector == Some(KeyBlockVector::Included);
    let is_any = is_beside && call.permit(Point::Tr31AnyWithVector).is_ok();
    if is_alone || is_any {
        token::tr31::uses::may_leave_at_all(vector).map_err(|refused| refusal(refused, true))?;
    } else {
        may_leave(vector, usage, mode, is_beside).map_err(|refused| refusal(refused, true))?;
    }
    Ok(vector)
}

/// Length of the payload in bytes.
///
/// # Errors
/// 8/21 for a length that has no room for the key and its length, or is not whole blocks of the cipher; in version D,
/// for a length that reveals the key's.
fn field_bytes(attributes: &Attributes, asked: i64, key_bytes: usize) -> Result<usize, Codes> {
    let padding = if attributes.version == Version::D { Padding::Longest } else { Padding::Least };
    let least = payload_bytes(attributes.version, attributes.algorithm, key_bytes, padding);
    match usize::try_from(asked) {
        Ok(0) => Ok(least),
        Ok(bytes)
            if bytes >= least
                && bytes <= FIELD_BYTES_MAX
                && bytes.is_multiple_of(attributes.version.cipher_bytes()) =>
        {
            Ok(bytes)
        }
        _ => Err(code::INVALID_PARAMETER),
    }
}

/// Upper bound of the payload's length in bytes.
const FIELD_BYTES_MAX: usize = 1024;

/// The payload: the key, padded with random bytes to this length.
fn filled(
    call: &Call<'_, '_>,
    version: Version,
    key: &SecretBytes,
    bytes: usize,
) -> Result<Zeroizing<Vec<u8>>, Codes> {
    let mut random = vec![0; bytes.checked_sub(key.len() + 2).ok_or(code::SELF_CHECK)?];
    call.random(&mut random);
    payload(version, key, &random).ok_or(code::SELF_CHECK)
}
