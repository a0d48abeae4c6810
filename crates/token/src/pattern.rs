//! Verification patterns as layouts: the input of each, and its length. The values are computed
//! where keys are held.
//!
//! | pattern | input | value |
//! |---|---|---|
//! | AES, APKA master key | X'01', 32-byte key | first 8 bytes of SHA-256 |
//! | DES master key, three parts | X'01', 24-byte key | first 8 bytes of SHA-1; bytes 8-15 as the second value of Key_Test |
//! | DES master key whose third part equals the first | key | [`CONSTANT`] enciphered, see below |
//! | Key_Test of a DES key | key, 8 random bytes | 8 bytes, see below |
//! | ENC-ZERO | a block of zeros enciphered | first 4 bytes |
//!
//! With `C` the constant and `e_K` single DES:
//! ```text
//! two-part master key     IR = MK1 xor e_C(MK1);  pattern = MK2 xor e_IR(MK2)
//! Key_Test                KK = KL xor e_C(KL);    pattern = e_KK(KR xor RN) xor KR xor RN
//! ```
//! with KR = 0 for a single-length key.

/// Length of a master-key verification pattern in bytes.
pub const PATTERN_BYTES: usize = 8;
/// Byte before a master key in the input of a hash.
pub const MASTER_KEY_PREFIX: u8 = 0x01;
/// The DES key that begins the older patterns.
pub const CONSTANT: [u8; 8] = [0x45; 8];
/// Length of an ENC-ZERO value in bytes.
pub const ENC_ZERO_BYTES: usize = 4;
