//! Values that follow from the rules but that no source read for this project prints, or that are this system's own.
//! Each is used as it stands, named here alone, and listed in docs/status.md.

/// Control vector of a double-length KEYGENKY that may only encipher under CLR8-ENC, left half:
/// obeys parity and the anti-variant bits.
pub const KEYGENKY_CLR8_ENC: u64 = 0x0053_5000_0341_0000;
/// Control vector of a double-length KEYGENKY of the UKPT kind, left half: as above.
pub const KEYGENKY_UKPT: u64 = 0x0053_6000_0341_0000;
/// Last two bytes of the default control vectors of triple-length keys. The printed defaults end
/// in X'0081', which says that only the enhanced wrapping may be used; keys wrapped by the original
/// method carry X'0000'.
pub const TRIPLE_TAIL_ORIGINAL_WRAPPING: u64 = 0x0000;
/// Bit 57 of a control vector: no TR-31 export.
pub const CONTROL_VECTOR_BIT_NO_TR31: u32 = 57;
/// Flag byte of a clear AES token of version X'04': no key under a master key, no pattern.
pub const AES_CLEAR_FLAGS: u8 = 0x20;
/// Byte 7 of an internal DES or AES token whose key is wrapped by the method of this system, the wide-block cipher over
/// the whole key field and zeros behind it, with the rest of the token as its tweak: the last but one of the wrapping
/// methods that bits 0-2 of a DES token can say, of which CCA's own count up from 0. In an AES token CCA leaves the
/// byte zero unless the key is clear.
pub const CHECKED_METHOD: u8 = 0b110 << 5;
/// The same where the wide block ends with the key field: a key that fills it has no zeros behind it. Such tokens are
/// opened and not made.
pub const UNCHECKED_METHOD: u8 = 0b111 << 5;
/// Flag of an internal DES token, in byte 6: the key came in a key block with exportability E (X9.143), and leaves in
/// such alone. CCA leaves the bit zero, and says no such thing of a key.
pub const FLAG_BLOCKS_ALONE: u8 = 0x02;
/// The same of a token of variable length: a bit of the first management field that CCA leaves zero.
pub const MANAGEMENT_BLOCKS_ALONE: u16 = 0x0001;
/// First management field of a variable-length token for which no keyword of export is given: XPRT-SYM, XPRTUASY and
/// XPRTAASY. A remark about XPRT-RAW says that a key without it cannot be exported raw once that is defined, so it is
/// no default.
pub const VARIABLE_MANAGEMENT: u16 = 0xE000;
/// Which transport keys of variable length may do what where no keyword says it: usage field, and the bits that are
/// set. Of the keywords of each group all are defaults; those for TR-31 blocks (WR-TR31) and raw wrapping (KEK-RAW)
/// stand apart and are not.
pub const TRANSPORT_USAGE: [(usize, u16); 3] = [(0, 0xFC00), (2, 0xFC00), (3, 0xFC00)];
/// Pattern of the transport key in an external token of variable length, whose field has 16 bytes: the first 8 bytes of
/// SHA-256 of X'01' and the key, as of an AES master key, and zeros.
pub const TRANSPORT_PATTERN_BYTES: usize = 8;
/// The longest key in bits that a key of HMAC counts as, where the strength of a transport key is compared with that of
/// what it wraps: no transport key is longer.
pub const HMAC_STRENGTH_BITS_MAX: usize = 256;
/// What the key of the enhanced wrapping is derived by: SP 800-108 in counter mode with HMAC-SHA-256, as z/OS ICSF's
/// page of the derivation says; the page of Linux on Z says HMAC-SHA-1. Each part of a key is enciphered under the
/// derived key xor its half of the control vector, as in the original wrapping; of a key of single length nothing is
/// hashed, and of one of triple length the first part is changed by the hash of the other two. No vector is published.
pub const ENHANCED_WRAPPING_LABEL: &[u8; 16] = b"ENHANCEDWRAP2010";
