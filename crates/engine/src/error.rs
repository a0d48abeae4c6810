//! Errors, grouped by their cause: the caller's key, the caller's text, the peer's data, or this library.

use crate::algorithm::{CipherAlgorithm, Curve, HashAlgorithm, MacAlgorithm, Mode};
use std::fmt;

/// The engine cannot be started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EngineError {
    /// The bound library gave a wrong answer in its known-answer test: none of its results can be trusted.
    KnownAnswer {
        /// The operation that was tested.
        operation: &'static str,
    },
}

/// A symmetric key cannot be prepared. The caller's fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum KeyError {
    /// The key has not the length that the cipher needs.
    CipherKeyLength {
        /// The cipher that the key was meant for.
        algorithm: CipherAlgorithm,
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The key has not the length that the MAC needs.
    MacKeyLength {
        /// The MAC that the key was meant for.
        algorithm: MacAlgorithm,
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The key of AES-GCM is not 16, 24 or 32 bytes long.
    GcmKeyLength {
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The key of ChaCha20-Poly1305 is not 32 bytes long.
    ChaChaKeyLength {
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The key of AES-OCB is not 16, 24 or 32 bytes long.
    OcbKeyLength {
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The key of AES-EAX is not 16, 24 or 32 bytes long.
    EaxKeyLength {
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The key of AES-HCTR2 is not 16, 24 or 32 bytes long.
    Hctr2KeyLength {
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The key of AES-CFB is not 16, 24 or 32 bytes long.
    CfbKeyLength {
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The cipher is weak, and the setting for weak algorithms does not enable it.
    WeakCipher(CipherAlgorithm),
    /// The MAC is weak, and the setting for weak algorithms does not enable it.
    WeakMac(MacAlgorithm),
    /// The hash is weak, and the setting for weak algorithms does not enable it.
    WeakHash(HashAlgorithm),
}

/// A text cannot be enciphered or deciphered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CipherError {
    /// The key cannot be prepared (only if the key comes with the call).
    Key(KeyError),
    /// The text is not whole blocks, which this mode needs. Nothing was changed.
    TextLength {
        /// The mode that was asked for.
        mode: Mode,
        /// Length given, in bytes.
        bytes: usize,
        /// Block length in bytes.
        block_bytes: usize,
    },
    /// The chaining value or counter is not one block long. Nothing was changed.
    ChainLength {
        /// Length given, in bytes.
        bytes: usize,
        /// Block length in bytes.
        block_bytes: usize,
    },
    /// The nonce is empty, or the text longer than 2^36 - 32 bytes (SP 800-38D, 5.2.1.1). Nothing was
    /// changed.
    GcmLength {
        /// Length of the nonce in bytes.
        nonce_bytes: usize,
        /// Length of the text in bytes.
        text_bytes: usize,
    },
    /// The tag of GCM has not 4 to 16 bytes. Nothing was changed.
    TagLength {
        /// Length given, in bytes.
        bytes: usize,
    },
    /// ChaCha20-Poly1305 was given a nonce of other than 12 bytes, or more than 2^38 - 64 bytes of text (RFC 8439,
    /// 2.8). Nothing was changed.
    ChaChaLength {
        /// Length of the nonce in bytes.
        nonce_bytes: usize,
        /// Length of the text in bytes.
        text_bytes: usize,
    },
    /// The tag of ChaCha20-Poly1305 has not 16 bytes. Nothing was changed.
    ChaChaTagLength {
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The tag of OCB or EAX has not 8 to 16 bytes. Nothing was changed.
    AeadTagLength {
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The text for AES key wrap is not whole semiblocks of 8 bytes, or fewer than three. Nothing was changed.
    KeyWrapLength {
        /// Length given, in bytes.
        bytes: usize,
    },
    /// AES key wrap was given a key of another cipher. Nothing was changed.
    KeyWrapKey {
        /// The algorithm for which the key was prepared.
        algorithm: CipherAlgorithm,
    },
    /// The nonce of OCB has not 1 to 15 bytes (RFC 7253, 4.2). Nothing was changed.
    OcbNonceLength {
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The message for HCTR2 has fewer than 16 bytes. Nothing was changed.
    MessageLength {
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The tag is wrong for the text: one answer for every cause. The text is wiped.
    Authentication,
}

/// A MAC cannot be computed. The caller's fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MacError {
    /// A segment other than the last is not whole blocks.
    SegmentLength {
        /// Length given, in bytes.
        bytes: usize,
        /// Block length in bytes.
        block_bytes: usize,
    },
    /// The last segment of a CMAC is empty though earlier ones were not. CMAC treats the last block differently, so the
    /// last segment must contain it.
    LastSegmentEmpty,
}

/// The columns of a batch of equal requests do not fit the operation, or each other. The caller's fault. Nothing was
/// changed, except that `DesColumns` to be filled are now empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ColumnError {
    /// The keys cannot be prepared.
    Key(KeyError),
    /// Pieces would overlap: the distance between their starts is less than their length.
    Stride {
        /// The distance from the start of one piece to the start of the next, in bytes.
        stride: usize,
        /// Length of a piece in bytes.
        bytes: usize,
    },
    /// The last piece would end beyond the memory.
    Memory {
        /// Length of the memory in bytes.
        bytes: usize,
        /// Length needed in bytes.
        needed: usize,
    },
    /// A piece has another length than the first.
    Unequal {
        /// The number of the piece, from 0.
        lane: usize,
        /// Length of the piece in bytes.
        bytes: usize,
        /// Length of the first piece in bytes.
        expected: usize,
    },
    /// A column has another number of requests than the column before.
    Lanes {
        /// The number of requests of this column.
        lanes: usize,
        /// The number of requests of the column before.
        expected: usize,
    },
    /// The memory for results or chaining values, which lie in a row, has another length than all of them together.
    Output {
        /// Length given, in bytes.
        bytes: usize,
        /// Length needed in bytes.
        needed: usize,
    },
    /// The texts are not whole blocks.
    TextLength {
        /// Length of each text in bytes.
        bytes: usize,
        /// Block length in bytes.
        block_bytes: usize,
    },
    /// The mode is not available for columns.
    Mode(Mode),
    /// The keys in `DesColumns` are DES keys, but the algorithm is not DES or TDES.
    NotDes,
    /// The number of wrapping keys is neither one nor one for each part of a key.
    WrappingKeys {
        /// The number of wrapping keys given.
        keys: usize,
        /// The number of eight-byte parts of a key.
        parts: usize,
    },
    /// A wrapping key has not 16 or 24 bytes, the lengths of TDES keys.
    WrappingKeyLength {
        /// Length given, in bytes.
        bytes: usize,
    },
}

/// A hash cannot be computed or continued. The caller's fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HashError {
    /// The hash is weak, and the setting for weak algorithms does not enable it.
    Weak(HashAlgorithm),
    /// The state can be exported only after whole blocks of text.
    NotOnBlock {
        /// Block length in bytes.
        block_bytes: usize,
    },
    /// The state of this hash has no exported form.
    NotExportable(HashAlgorithm),
    /// The bytes are not an exported state of this hash.
    NotAState(HashAlgorithm),
}

/// An RSA key cannot be made. The caller's fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RsaKeyError {
    /// The modulus is outside 512 to 4096 bits.
    Size {
        /// Length of the modulus in bits, without leading zeros.
        bits: usize,
    },
    /// The modulus length for a new key is not a multiple of 8 bits.
    SizeStep {
        /// Length asked for, in bits.
        bits: usize,
    },
    /// The modulus is even.
    EvenModulus,
    /// The public exponent is even, below 3, or not below the modulus.
    Exponent,
    /// The private parts do not belong to each other or to the public ones.
    Inconsistent,
    /// The modulus is below 1024 bits, and the setting for weak algorithms does not allow that.
    Weak {
        /// Length of the modulus in bits.
        bits: usize,
    },
    /// A new key failed its test and was discarded. A fault of this library or the machine.
    Generation {
        /// Length asked for, in bits.
        bits: usize,
    },
}

/// An RSA operation was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RsaError {
    /// Input or output is not as long as the modulus.
    Length {
        /// Length of the input in bytes.
        input_bytes: usize,
        /// Length of the output in bytes.
        output_bytes: usize,
        /// Length of the modulus in bytes.
        modulus_bytes: usize,
    },
    /// The input, as a number, is not below the modulus.
    InputRange,
    /// The modulus is below 1024 bits, and the setting for weak algorithms does not allow that.
    Weak {
        /// Length of the modulus in bits.
        bits: usize,
    },
    /// The result, raised to the public exponent, did not give the input, and was discarded: the key is wrong, or the
    /// machine is faulty.
    Verification,
}

/// Padding cannot be applied or removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PaddingError {
    /// The message is too long for the modulus. The caller's fault.
    MessageTooLong {
        /// Length of the message in bytes.
        bytes: usize,
        /// The longest message that this padding allows, in bytes.
        bytes_max: usize,
    },
    /// The digest has not the length of its hash. The caller's fault.
    DigestLength {
        /// The hash that the caller named.
        hash: HashAlgorithm,
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The hash has no identifier for this signature scheme.
    Hash(HashAlgorithm),
    /// The block is malformed: one answer for every cause.
    Invalid,
}

/// An elliptic-curve operation was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EcError {
    /// The private scalar is zero, not below the order, or not as long as the order.
    PrivateKey(Curve),
    /// The public key is not a point of the curve (or, for Edwards curves, no encoding of one).
    PublicKey(Curve),
    /// The signature is not two numbers as long as the order.
    SignatureLength {
        /// The curve of the key.
        curve: Curve,
        /// Length given, in bytes.
        bytes: usize,
    },
    /// The signature is not valid.
    Signature,
    /// The shared secret is zero: the peer's point has a small order.
    SmallOrder,
    /// The library failed, or a signature did not pass its check. A fault of this library or the machine.
    Internal(Curve),
}

/// HKDF was asked for more than 255 digests of output (RFC 5869, 2.3). The caller's fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HkdfLength {
    /// Length asked for, in bytes.
    pub bytes: usize,
}

const ENABLE: &str = "is weak: enable weak algorithms in the settings to use it";

impl fmt::Display for EngineError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EngineError::KnownAnswer { operation } = self;
        write!(
            out,
            "the cryptographic library fails the known-answer test of {operation}: do not use this machine for keys"
        )
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::CipherKeyLength { algorithm, bytes } => {
                write!(out, "a key of {algorithm} has {} bytes, not {bytes}", algorithm.key_bytes())
            }
            KeyError::MacKeyLength { algorithm, bytes } => {
                write!(out, "a key of {algorithm} has {} bytes, not {bytes}", algorithm.key_bytes())
            }
            KeyError::GcmKeyLength { bytes } => {
                write!(out, "a key of AES-GCM has 16, 24 or 32 bytes, not {bytes}")
            }
            KeyError::ChaChaKeyLength { bytes } => {
                write!(out, "a key of ChaCha20-Poly1305 has 32 bytes, not {bytes}")
            }
            KeyError::OcbKeyLength { bytes } => {
                write!(out, "a key of AES-OCB has 16, 24 or 32 bytes, not {bytes}")
            }
            KeyError::EaxKeyLength { bytes } => {
                write!(out, "a key of AES-EAX has 16, 24 or 32 bytes, not {bytes}")
            }
            KeyError::Hctr2KeyLength { bytes } => {
                write!(out, "a key of AES-HCTR2 has 16, 24 or 32 bytes, not {bytes}")
            }
            KeyError::CfbKeyLength { bytes } => {
                write!(out, "a key of AES-CFB has 16, 24 or 32 bytes, not {bytes}")
            }
            KeyError::WeakCipher(algorithm) => write!(out, "{algorithm} {ENABLE}"),
            KeyError::WeakMac(algorithm) => write!(out, "{algorithm} {ENABLE}"),
            KeyError::WeakHash(algorithm) => write!(out, "{algorithm} {ENABLE}"),
        }
    }
}

impl fmt::Display for CipherError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CipherError::Key(error) => error.fmt(out),
            CipherError::TextLength { mode, bytes, block_bytes } => {
                write!(
                    out,
                    "{mode} takes whole blocks of {block_bytes} bytes, not {bytes} bytes: pad the text"
                )
            }
            CipherError::ChainLength { bytes, block_bytes } => {
                write!(out, "the initialization vector has {block_bytes} bytes, not {bytes}")
            }
            CipherError::GcmLength { nonce_bytes, text_bytes } => write!(
                out,
                "GCM takes a nonce of at least one byte and at most 2^36 - 32 bytes of text, not {nonce_bytes} and {text_bytes}"
            ),
            CipherError::TagLength { bytes } => write!(out, "a tag of GCM has 4 to 16 bytes, not {bytes}"),
            CipherError::ChaChaLength { nonce_bytes, text_bytes } => write!(
                out,
                "ChaCha20-Poly1305 takes a nonce of 12 bytes and at most 2^38 - 64 bytes of text, not {nonce_bytes} and {text_bytes}"
            ),
            CipherError::ChaChaTagLength { bytes } => {
                write!(out, "a tag of ChaCha20-Poly1305 has 16 bytes, not {bytes}")
            }
            CipherError::AeadTagLength { bytes } => {
                write!(out, "a tag of OCB or EAX has 8 to 16 bytes, not {bytes}")
            }
            CipherError::KeyWrapLength { bytes } => write!(
                out,
                "a text of {bytes} bytes, where AES key wrap takes whole semiblocks of 8 bytes, three at least"
            ),
            CipherError::KeyWrapKey { algorithm } => {
                write!(out, "a key of {algorithm}, where AES key wrap takes one of AES")
            }
            CipherError::OcbNonceLength { bytes } => {
                write!(out, "a nonce of OCB has 1 to 15 bytes, not {bytes}")
            }
            CipherError::MessageLength { bytes } => {
                write!(out, "a message of HCTR2 has at least 16 bytes, not {bytes}")
            }
            CipherError::Authentication => out.write_str("authentication failed"),
        }
    }
}

impl fmt::Display for MacError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MacError::SegmentLength { bytes, block_bytes } => write!(
                out,
                "every segment of a MAC but the last is whole blocks of {block_bytes} bytes, not {bytes} bytes"
            ),
            MacError::LastSegmentEmpty => {
                out.write_str("the last segment of a CMAC is empty: hold the last block back for it")
            }
        }
    }
}

impl fmt::Display for ColumnError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnError::Key(error) => error.fmt(out),
            ColumnError::Stride { stride, bytes } => {
                write!(out, "pieces of {bytes} bytes overlap: one begins {stride} bytes behind the other")
            }
            ColumnError::Memory { bytes, needed } => {
                write!(out, "the pieces take {needed} bytes, there are {bytes}")
            }
            ColumnError::Unequal { lane, bytes, expected } => {
                write!(out, "piece {lane} has {bytes} bytes, the first {expected}: columns are of one length")
            }
            ColumnError::Lanes { lanes, expected } => {
                write!(out, "a column of {lanes} requests beside one of {expected}")
            }
            ColumnError::Output { bytes, needed } => {
                write!(out, "results or chaining values of all requests take {needed} bytes, not {bytes}")
            }
            ColumnError::TextLength { bytes, block_bytes } => {
                write!(out, "texts are whole blocks of {block_bytes} bytes, not {bytes} bytes: pad them")
            }
            ColumnError::Mode(mode) => write!(out, "columns have ECB and CBC, not {mode}"),
            ColumnError::NotDes => {
                out.write_str("keys that are unwrapped and kept are of DES, and so is what uses them")
            }
            ColumnError::WrappingKeys { keys, parts } => {
                write!(out, "{keys} wrapping keys, where there is one or one for each of {parts} parts")
            }
            ColumnError::WrappingKeyLength { bytes } => {
                write!(out, "a wrapping key of TDES has 16 or 24 bytes, not {bytes}")
            }
        }
    }
}

impl fmt::Display for HashError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HashError::Weak(algorithm) => write!(out, "{algorithm} {ENABLE}"),
            HashError::NotOnBlock { block_bytes } => {
                write!(out, "a hash is interrupted only after whole blocks of {block_bytes} bytes")
            }
            HashError::NotExportable(algorithm) => {
                write!(out, "{algorithm} cannot be interrupted: hash the text in one call")
            }
            HashError::NotAState(algorithm) => write!(out, "the chaining vector is not one of {algorithm}"),
        }
    }
}

impl fmt::Display for RsaKeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RsaKeyError::Size { bits } => write!(out, "an RSA modulus has 512 to 4096 bits, not {bits}"),
            RsaKeyError::SizeStep { bits } => {
                write!(out, "RSA keys are generated with a multiple of 8 bits, not {bits}")
            }
            RsaKeyError::EvenModulus => out.write_str("the RSA modulus is even"),
            RsaKeyError::Exponent => {
                out.write_str("the RSA public exponent is even, below 3 or not below the modulus")
            }
            RsaKeyError::Inconsistent => {
                out.write_str("the parts of the RSA private key do not fit each other")
            }
            RsaKeyError::Weak { bits } => write!(out, "RSA with {bits} bits {ENABLE}"),
            RsaKeyError::Generation { bits } => {
                write!(out, "a new RSA key of {bits} bits failed its test and was thrown away")
            }
        }
    }
}

impl fmt::Display for RsaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RsaError::Length { input_bytes, output_bytes, modulus_bytes } => write!(
                out,
                "RSA input and output are as long as the modulus, {modulus_bytes} bytes, not {input_bytes} and {output_bytes}"
            ),
            RsaError::InputRange => out.write_str("the RSA input is not below the modulus"),
            RsaError::Weak { bits } => write!(out, "RSA with {bits} bits {ENABLE}"),
            RsaError::Verification => out.write_str(
                "the RSA result failed its verification and was thrown away: the key does not fit",
            ),
        }
    }
}

impl fmt::Display for PaddingError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PaddingError::MessageTooLong { bytes, bytes_max } => {
                write!(out, "this modulus and padding take at most {bytes_max} bytes, not {bytes}")
            }
            PaddingError::DigestLength { hash, bytes } => {
                write!(out, "a digest of {hash} has {} bytes, not {bytes}", hash.digest_bytes())
            }
            PaddingError::Hash(hash) => write!(out, "{hash} has no identifier for this scheme"),
            PaddingError::Invalid => out.write_str("the padding is not valid"),
        }
    }
}

impl fmt::Display for EcError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EcError::PrivateKey(curve) => write!(out, "not a private key of {curve}"),
            EcError::PublicKey(curve) => write!(out, "not a public key of {curve}"),
            EcError::SignatureLength { curve, bytes } => {
                write!(out, "a signature of {curve} has {} bytes, not {bytes}", 2 * curve.scalar_bytes())
            }
            EcError::Signature => out.write_str("the signature does not fit"),
            EcError::SmallOrder => out.write_str("the peer's public value yields no secret"),
            EcError::Internal(curve) => write!(out, "the cryptographic library failed on {curve}"),
        }
    }
}

impl fmt::Display for HkdfLength {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HKDF gives at most 255 digests, not {} bytes", self.bytes)
    }
}

macro_rules! errors {
    ($($name:ident)*) => { $(impl std::error::Error for $name {})* };
}
errors!(
    EngineError KeyError CipherError MacError ColumnError HashError RsaKeyError RsaError PaddingError EcError HkdfLength
);

impl From<KeyError> for CipherError {
    fn from(error: KeyError) -> CipherError {
        CipherError::Key(error)
    }
}

impl From<KeyError> for ColumnError {
    fn from(error: KeyError) -> ColumnError {
        ColumnError::Key(error)
    }
}
