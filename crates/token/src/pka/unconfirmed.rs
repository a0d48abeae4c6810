//! Choices that the published layouts leave open, and that this crate makes: in one place, so that
//! a correction is one edit.
//!
//! Everything here is **unconfirmed** against an original token; tokens made here are consistent
//! with themselves. The following is published and not decided here: the section lengths
//! `122 + nnn + ppp` and `134 + nnn + ppp`, the hash at 15, the usage at 50, the 48-byte
//! object-protection-key field at 56 of X'30', the pattern and the modulus after it.
//!
//! | decided | value | reason |
//! |---|---|---|
//! | lengths of p, q, dp, dq, U, n in X'31' | 52, 54, 56, 58, 60, 62 | n is published at 62; six halfwords without a gap |
//! | object protection key of X'31' | 68 | its pattern is published at 116, and the field has 48 bytes |
//! | associated data of X'31' | 10 to 67, length X'3A' | X'30' publishes 10 to 55, length X'2E': up to the key field |
//! | content of the key field | AESKW under the APKA master key of the 32-byte key, no associated data | gives exactly 48 bytes: 12 of header, 32 of key, 4 of padding |
//! | payload of a wrapped key | AESKW under the object protection key: 12 of header, a hash, the private values, padding to 8 | the layout published for X'20' and for version X'05' tokens; the published example lengths (553 and 1065 for 4096 bits) are no multiple of 8 and fit no AESKW result |
//! | hash in the payload | SHA-256 of the associated data, modulus and public exponent | whoever may pass tokens could put another modulus and exponent beside a wrapped d, and learn d modulo the order of a group of their choice from which of them are accepted |
//! | verification pattern | 8 bytes, left-justified, zero-padded to 16 | openCryptoki compares the first 8; what follows is not said |
//! | hash type of a clear section | X'00' without following sections, else X'02' | a hash that is there names its algorithm |
//! | skeleton | external header, clear format, all private lengths and the modulus length zero; the length to generate is the modulus length in bits of X'04' | |
//! | X'20': payload of a wrapped key | as of X'30': the hash covers the associated data, then the key source at 11, then all sections that follow | documents say the associated data alone: what follows could then be exchanged, the public key and what may be derived |
//! | X'20': key source at 11 | in internal tokens of both versions; under a transport key of AES zero, or X'24' of a key that was generated for it; zero in clear tokens | older pages say reserved |
//! | X'20': clear tokens | wrapping, hash, pattern and key field zero; the associated data as of internal tokens | |
//! | X'20': skeleton | clear, without a private value; the public section without a public key | |
//! | X'20': usage X'01' and X'04' | refused | rights that no verb served here grants |
//! | X'20': Ed25519 | the private value is the 32 bytes of RFC 8032, Q the 32 bytes of its public key | |
//! | X'23' | last, 8 bytes, beside a section of version X'01' only; bits 64 to 192 of DES, 128 to 256 of AES | its fields are published, its place is not |
//! | X'23': types X'02' EXPORTER and X'03' IMPORTER | between DATA (X'01') and CIPHER (X'04') | of the four numbers two are published; a client derives IMPORTER keys |
//! | X'02' and X'08' under a transport key: variant | none: the transport key as it is | documents name the process (EDE2; outer CBC) and no control vector |
//! | X'02' and X'08' under a transport key: hash at 4 | over the section as it stands in the token, its format byte X'82' or X'42' with it | "the cleartext from 28 to the end" |
//! | X'08' under the ASYM master key: hash at 4 | over the section as it stands in the token, but with the values from 124 on deciphered | "the cleartext from 28 to the end of the modulus"; the key field is none of what it protects |
//! | X'30' and X'31' under a transport key of AES: key field | eight bytes of check value, eight random ones, the 32-byte key, by AESKW under the transport key, whatever its length | what is published of the key field of X'20' |
//! | X'30' and X'31' under a transport key of AES: payload, hash | as of internal tokens | |
//! | X'20' under a transport key of AES: payload | AESKW under the transport key itself; the hash as of internal tokens | the key field is published as zero in external tokens |
//! | X'20', X'30', X'31' under a transport key of AES: pattern | 8 bytes of SHA-256 of X'01' and the key, as in tokens of version X'05' | |
//! | format restriction at 51 | only 0 is served | a restriction that is not enforced must not be accepted |

/// Offset of the private-exponent length in X'30'.
pub const ME_EXPONENT_LENGTH: usize = 54;
/// Offset of the lengths of p, q, dp, dq, U and n in X'31'.
pub const CRT_LENGTHS: usize = 52;
/// Offset of the object protection key in X'31'.
pub const CRT_OPK: usize = 68;
/// Length of the associated data of X'31' in bytes.
pub const CRT_ASSOCIATED_BYTES: usize = CRT_OPK - super::aes::ASSOCIATED_AT;

/// Length of a wrapped object protection key in bytes.
pub const OPK_FIELD_BYTES: usize = 48;
/// Length of a clear object protection key in bytes: AES-256.
pub const OPK_BYTES: usize = 32;
/// Length in bytes of the AESKW header before the hash of the associated data: X'A6' six times,
/// padding length in bits, hash length in bytes, four zero bytes.
pub const AESKW_HEADER_BYTES: usize = 12;
/// Length in bytes of the random bytes before a clear object protection key of X'20'. With the
/// eight bytes of a check value before them they fill the key field.
pub const OPK_CONFOUNDER_BYTES: usize = 8;
/// Type of a derived EXPORTER key in X'23'.
pub const EXPORTER_TYPE: u8 = 0x02;
/// Type of a derived IMPORTER key in X'23'.
pub const IMPORTER_TYPE: u8 = 0x03;
/// Length in bytes of the hash of the associated data in the payload of a wrapped private key.
pub const AESKW_HASH_BYTES: usize = 32;

/// Length in bytes of the payload that wraps `key_bytes` bytes of private values.
pub const fn wrapped_payload_bytes(key_bytes: usize) -> usize {
    (AESKW_HEADER_BYTES + AESKW_HASH_BYTES + key_bytes).next_multiple_of(8)
}

const _: () = assert!((AESKW_HEADER_BYTES + OPK_BYTES).next_multiple_of(8) == OPK_FIELD_BYTES);
const _: () = assert!(8 + OPK_CONFOUNDER_BYTES + OPK_BYTES == OPK_FIELD_BYTES);
