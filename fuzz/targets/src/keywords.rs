//! Keywords as the interface has them.

/// A keyword in its 8 bytes.
pub fn padded(keyword: &str) -> [u8; 8] {
    let mut field = [b' '; 8];
    field[..keyword.len()].copy_from_slice(keyword.as_bytes());
    field
}
