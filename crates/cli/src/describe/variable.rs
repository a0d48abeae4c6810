//! Symmetric tokens of variable length.

use super::{Field, absent, clear, listed, under_master, under_rsa, under_transport_key};
use crate::prompt::to_hexadecimal;
use token::VariableToken;
use token::des::Origin;
use token::variable::{Attributes, Completeness, PayloadVersion, VariableKey, Wrapper};
use wire::control::Register;

pub fn fields(token: &[u8]) -> Result<Vec<Field>, String> {
    let read = VariableToken::parse(token).map_err(|error| error.to_string())?;
    let (attributes, key_type) = (read.attributes(), read.key_type());
    let algorithm = if key_type.is_aes() { "AES" } else { "HMAC" };
    let origin = if read.origin() == Origin::Internal { "internal" } else { "external" };
    let keywords = attributes.keywords();
    let mut fields = vec![
        ("kind", format!("{algorithm}, {origin}")),
        ("version", "X'05'".to_owned()),
        ("type", key_type.name().to_owned()),
        ("usage", listed(&keywords.usage)),
    ];
    if let Some((derived, usage)) = &keywords.derived {
        fields.push(("derives", format!("{} {}", derived.name(), listed(usage))));
    }
    if keywords.is_partial {
        fields.push(("further usage", in_hexadecimal(&attributes.usage()[1..])));
    }
    fields.push(("usage fields", in_hexadecimal(attributes.usage())));
    fields.push(("export", listed(&keywords.management)));
    if attributes.leaves_in_blocks_alone() {
        let alone = "alone, and with exportability E, as the key came";
        fields.push(("export in key blocks", alone.to_owned()));
    }
    fields.push(("management fields", in_hexadecimal(&attributes.management())));
    fields.push(("complete", complete(attributes.completeness()).to_owned()));
    fields.push(("came from", came_from(attributes)));
    if let Some(name) = attributes.name() {
        fields.push(("name", String::from_utf8_lossy(name).trim_end().to_owned()));
    }
    if !attributes.user_data().is_empty() {
        fields.push(("owner's data", to_hexadecimal(attributes.user_data())));
    }
    let payload = match read.payload_version() {
        PayloadVersion::Variable => "X'00': as long as the key needs (V0PYLD)",
        PayloadVersion::Fixed => "X'01': 80 bytes, whatever the length of the key (V1PYLD)",
    };
    fields.push(("payload", payload.to_owned()));
    fields.extend(of_key(read.key(), read.payload_version(), key_type.is_aes()));
    Ok(fields)
}

fn of_key(key: &VariableKey, version: PayloadVersion, is_aes: bool) -> Vec<Field> {
    let (under, payload) = match key {
        VariableKey::Absent => return vec![absent()],
        VariableKey::Clear(key) => return vec![("length", format!("{} bytes", key.len())), clear()],
        VariableKey::Wrapped { under, payload } => (under, payload),
    };
    let mut fields = Vec::new();
    match under {
        Wrapper::Master(pattern) => {
            fields.extend(length(payload.len(), version, is_aes));
            fields.extend(under_master(Register::Aes, Some(&pattern[..])));
            fields.push(("wrapping", "AESKW".to_owned()));
        }
        Wrapper::Key(pattern) => {
            fields.extend(length(payload.len(), version, is_aes));
            fields.push(under_transport_key());
            fields.push(("transport-key pattern", to_hexadecimal(pattern)));
            fields.push(("wrapping", "AESKW".to_owned()));
        }
        Wrapper::Rsa(hash) => {
            let hash = match hash {
                0x01 => "SHA-1",
                0x02 => "SHA-256",
                0x04 => "SHA-384",
                _ => "SHA-512",
            };
            fields.push(under_rsa());
            fields
                .push(("wrapping", format!("PKOAEP2 with {hash}, a modulus of {} bits", 8 * payload.len())));
        }
    }
    fields
}

/// Length of the key, as far as the payload's length tells: 12 bytes of header, 32 of hash, the key, zeros to a
/// multiple of 8.
fn length(payload_bytes: usize, version: PayloadVersion, is_aes: bool) -> Option<Field> {
    if version == PayloadVersion::Fixed {
        return Some(("length", "hidden by the payload".to_owned()));
    }
    let most = payload_bytes.checked_sub(44)?;
    // In AES, each key length is followed by four zero bytes.
    let text = if is_aes {
        format!("{} bytes", most.saturating_sub(4))
    } else {
        format!("{} to {most} bytes", most.saturating_sub(7))
    };
    Some(("length", text))
}

fn complete(completeness: Completeness) -> &'static str {
    match completeness {
        Completeness::Complete => "yes",
        Completeness::Sufficient => "no: it has the parts that it needs, and was not called complete",
        Completeness::OneMissing => "no: at least one more part is needed",
        Completeness::TwoMissing => "no: at least two more parts are needed",
    }
}

/// The third management field: how the key came to be, first and last.
fn came_from(attributes: &Attributes) -> String {
    let [_, _, field] = attributes.management();
    let [first, last] = field.to_be_bytes().map(|byte| match byte {
        0x00 => "unknown".to_owned(),
        0x02 => "random numbers".to_owned(),
        0x03 => "an agreement of two parties".to_owned(),
        0x04 => "clear parts".to_owned(),
        0x05 => "a clear value".to_owned(),
        other => format!("X'{other:02X}'"),
    });
    if first == last { first } else { format!("{first}, then {last}") }
}

fn in_hexadecimal(fields: &[u16]) -> String {
    fields.iter().map(|field| format!("{field:04X}")).collect::<Vec<_>>().join(" ")
}
