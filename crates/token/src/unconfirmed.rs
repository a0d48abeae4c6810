//! Values that follow from the rules but stand in no source read for this project, and values of
//! this system's own. Each is used as it stands, named here alone, and listed in docs/reference/unconfirmed.md.

/// Left half of the control vector of a double-length KEYGENKY that may only encipher under
/// CLR8-ENC; it obeys parity and the anti-variant bits.
pub const KEYGENKY_CLR8_ENC: u64 = 0x0053_5000_0341_0000;
/// Left half of the control vector of a double-length KEYGENKY of the UKPT kind; it obeys parity
/// and the anti-variant bits.
pub const KEYGENKY_UKPT: u64 = 0x0053_6000_0341_0000;
/// Last two bytes of the default control vectors of triple-length keys. The printed defaults end in
/// X'0081', which permits only the enhanced wrapping; keys wrapped by the original method have
/// X'0000'.
pub const TRIPLE_TAIL_ORIGINAL_WRAPPING: u64 = 0x0000;
/// Bit 57 of a control vector: the key may not be exported in TR-31 blocks.
pub const CONTROL_VECTOR_BIT_NO_TR31: u32 = 57;
/// Keyword of an EXPORTER or IMPORTER key that protects key blocks and wraps no token (K1 of
/// X9.143): no bit of its usage is set, and CCA has no use for such a key.
pub const BLOCKS_KEYWORD: &str = "KBPK";
/// Flag byte of a clear AES token of version X'04': no key under a master key, no pattern.
pub const AES_CLEAR_FLAGS: u8 = 0x20;
/// Byte 7 of an internal DES or AES token whose key is wrapped by the checked method of this
/// system: the wide-block cipher over the whole key field and zeros behind it, with the rest of the
/// token as its tweak. The number is the last but one of the wrapping methods that bits 0-2 of a
/// DES token can encode; CCA's own count up from 0. In an AES token CCA leaves the byte zero unless
/// the key is clear.
pub const CHECKED_METHOD: u8 = 0b110 << 5;
/// Byte 7 of an internal token that is wrapped by the unchecked method of this system, whose wide
/// block ends with the key field: a key that fills the field has no zeros behind it. Such tokens
/// are opened and not made.
pub const UNCHECKED_METHOD: u8 = 0b111 << 5;
/// Flag in byte 6 of an internal DES token: the key came in a key block with exportability E
/// (X9.143), and may be exported only in such blocks. CCA leaves the bit zero, and has no such
/// attribute of a key.
pub const FLAG_BLOCKS_ALONE: u8 = 0x02;
/// The same attribute in a token of variable length: a bit of the first management field that CCA
/// leaves zero.
pub const MANAGEMENT_BLOCKS_ALONE: u16 = 0x0001;
/// First management field of a variable-length token if no keyword of export is given: XPRT-SYM,
/// XPRTUASY and XPRTAASY. A remark about XPRT-RAW says that a key without it cannot be exported raw
/// once that is defined, so XPRT-RAW is no default.
pub const VARIABLE_MANAGEMENT: u16 = 0xE000;
/// Defaults of the usage fields of AES transport keys if no keyword is given: index of the field,
/// and the bits that are set. In each group all keywords are defaults, except those for TR-31
/// blocks (WR-TR31) and raw wrapping (KEK-RAW), which stand apart.
pub const TRANSPORT_USAGE: [(usize, u16); 3] = [(0, 0xFC00), (2, 0xFC00), (3, 0xFC00)];
/// Length in bytes of the pattern of the transport key in an external token of variable length. The
/// pattern is the first 8 bytes of SHA-256 of X'01' and the key, as of an AES master key; zeros
/// fill its field of 16 bytes.
pub const TRANSPORT_PATTERN_BYTES: usize = 8;
/// An HMAC key counts as at most this many bits long when its strength is compared with that of its
/// transport key: no transport key is longer.
pub const HMAC_STRENGTH_BITS_MAX: usize = 256;
/// Label by which the key of the enhanced wrapping is derived: SP 800-108 in counter mode with
/// HMAC-SHA-256, according to the page of z/OS ICSF; the page of Linux on Z says HMAC-SHA-1. Each
/// part of a key is enciphered under the derived key xor its half of the control vector, as in the
/// original wrapping. For a key of single length nothing is hashed; the first part of a key of
/// triple length is changed by the hash of the other two. No test vector is published.
pub const ENHANCED_WRAPPING_LABEL: &[u8; 16] = b"ENHANCEDWRAP2010";
