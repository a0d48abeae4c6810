//! Variable-length symmetric tokens, version X'05', as far as it takes to say what they hold.
//!
//! z/OS ICSF Application Programmer's Guide, "Variable-length symmetric key token".
//!
//! ```text
//!  0 X'01' internal, X'02' external  2 length of all  4 X'05'
//!  8 state: X'00' no key, X'01' clear, X'02' under a key-encrypting key, X'03' under the master key
//! 10 pattern, left-justified (16)  26 wrapping method: X'02' AESKW, X'03' PKOAEP2  30 associated data
//! ```

use crate::describe::{DescribeError, Holds, Under};
use wire::control::Register;

/// Header, wrapping and the fixed part of the associated data.
const BYTES_MIN: usize = 46;
const STATE_AT: usize = 8;
const PATTERN_AT: usize = 10;
const METHOD_AT: usize = 26;
const INTERNAL: u8 = 0x01;
const METHOD_PKOAEP2: u8 = 0x03;

/// What a token that starts `field` holds, and its length in bytes.
pub(crate) fn holds(field: &[u8]) -> Result<(Holds, usize), DescribeError> {
    let length = DescribeError::Length { given: field.len() };
    let header = field.first_chunk::<BYTES_MIN>().ok_or(length)?;
    let bytes = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if bytes < BYTES_MIN || bytes > field.len() {
        return Err(length);
    }
    let holds = match (header[0], header[STATE_AT]) {
        (_, 0x00) => Holds::Nothing,
        (_, 0x01) => Holds::Clear,
        (INTERNAL, 0x03) => {
            let pattern = header[PATTERN_AT..].first_chunk().copied();
            Holds::Wrapped(Under::Master { register: Register::Aes, pattern })
        }
        (INTERNAL, _) => return Err(DescribeError::Form),
        (_, 0x02) if header[METHOD_AT] == METHOD_PKOAEP2 => Holds::Wrapped(Under::Rsa),
        (_, 0x02) => Holds::Wrapped(Under::Key),
        _ => return Err(DescribeError::Form),
    };
    Ok((holds, bytes))
}
