//! The instruction-set level that the kernels use: detected once, reported, and limited without a rebuild.

use crate::low::aws_lc::internal::feature_words;
use std::fmt;
use std::str::FromStr;

/// A set of instructions that the kernels may use; each level includes the lower ones.
///
/// Levels above the first exist only on x86-64. On other architectures this crate works at [`Level::Portable`], and the
/// bound library uses whatever instructions it finds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// On x86-64 no AES or SHA instructions, no vectors wider than 128 bits, no extended multiplication. All kernels
    /// are plain Rust.
    Portable,
    /// Vectors of 256 bits, and the AES, SHA and carry-less multiplication instructions that the processor has.
    Avx2,
    /// Vectors of 512 bits with 52-bit multiplication (IFMA), byte permutation (VBMI) and wide AES (VAES).
    Avx512,
}

impl Level {
    /// All levels, lowest first.
    pub const ALL: [Level; 3] = [Level::Portable, Level::Avx2, Level::Avx512];

    /// The name used on the command line, in settings and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The error for a word that names no level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownLevel;

impl fmt::Display for UnknownLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("unknown level: use portable, avx2 or avx512")
    }
}

impl std::error::Error for UnknownLevel {}

impl FromStr for Level {
    type Err = UnknownLevel;
    fn from_str(name: &str) -> Result<Level, UnknownLevel> {
        Level::ALL.into_iter().find(|level| level.name() == name).ok_or(UnknownLevel)
    }
}

/// The processor features that the bound library really uses in this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LibraryFeatures {
    /// AES instructions.
    pub aes: bool,
    /// Carry-less multiplication, for GCM.
    pub pclmul: bool,
    /// SHA-1 and SHA-256 instructions.
    pub sha: bool,
    /// 128-bit byte shuffles (SSSE3), which the constant-time AES without AES instructions uses.
    pub ssse3: bool,
    /// AVX: 256-bit vectors of floating-point numbers.
    pub avx: bool,
    /// AVX2: 256-bit vectors of integers.
    pub avx2: bool,
    /// 512-bit vectors (F, BW, DQ and VL).
    pub avx512: bool,
    /// 512-bit vectors with 52-bit multiplication.
    pub ifma: bool,
    /// 512-bit byte permutation.
    pub vbmi: bool,
    /// AES on wide vectors.
    pub vaes: bool,
    /// Carry-less multiplication on wide vectors.
    pub vpclmul: bool,
    /// Multiplication with two carry chains (ADX, BMI2).
    pub adx: bool,
}

impl LibraryFeatures {
    /// Reads the features that the library found, after `OPENSSL_ia32cap` was applied. All false on other architectures
    /// than x86-64.
    pub fn read() -> LibraryFeatures {
        let [_, ecx1, ebx7, ecx7] = feature_words();
        let has = |word: u32, bits: &[u32]| bits.iter().all(|bit| word & (1 << bit) != 0);
        let avx512 = has(ebx7, &[EBX7_AVX512F, EBX7_AVX512DQ, EBX7_AVX512BW, EBX7_AVX512VL]);
        LibraryFeatures {
            aes: has(ecx1, &[ECX1_AES]),
            pclmul: has(ecx1, &[ECX1_PCLMUL]),
            sha: has(ebx7, &[EBX7_SHA]),
            ssse3: has(ecx1, &[ECX1_SSSE3]),
            avx: has(ecx1, &[ECX1_AVX]),
            avx2: has(ebx7, &[EBX7_AVX2]),
            avx512,
            ifma: avx512 && has(ebx7, &[EBX7_AVX512IFMA]),
            vbmi: avx512 && has(ecx7, &[ECX7_VBMI]),
            vaes: has(ecx7, &[ECX7_VAES]),
            vpclmul: has(ecx7, &[ECX7_VPCLMUL]),
            adx: has(ebx7, &[EBX7_ADX, EBX7_BMI2]),
        }
    }

    /// The highest level all of whose instructions the library uses.
    pub fn level(self) -> Level {
        if self.avx2 && self.ifma && self.vbmi && self.vaes {
            Level::Avx512
        } else if self.avx2 {
            Level::Avx2
        } else {
            Level::Portable
        }
    }
}

/// The environment variable and value that limit the bound library to a level. `None` if no limit is needed, and on
/// other architectures than x86-64, where levels do not limit the library.
///
/// The library reads the variable once, when it is loaded: a program sets it and executes itself again before it first
/// uses the library. [`LibraryFeatures::read`] then shows the effect.
pub fn level_environment(level: Level) -> Option<(&'static str, &'static str)> {
    match level {
        Level::Portable if LIMITS_BIND => Some((VARIABLE, PORTABLE_MASK)),
        Level::Avx2 if LIMITS_BIND => Some((VARIABLE, AVX2_MASK)),
        _ => None,
    }
}

/// Whether the library reads [`VARIABLE`].
const LIMITS_BIND: bool = cfg!(target_arch = "x86_64");
const VARIABLE: &str = "OPENSSL_ia32cap";

const ECX1_PCLMUL: u32 = 1;
const ECX1_SSSE3: u32 = 9;
const ECX1_AES: u32 = 25;
const ECX1_AVX: u32 = 28;
const EBX7_AVX2: u32 = 5;
const EBX7_BMI2: u32 = 8;
const EBX7_AVX512F: u32 = 16;
const EBX7_AVX512DQ: u32 = 17;
const EBX7_ADX: u32 = 19;
const EBX7_AVX512IFMA: u32 = 21;
const EBX7_SHA: u32 = 29;
const EBX7_AVX512BW: u32 = 30;
const EBX7_AVX512VL: u32 = 31;
const ECX7_VBMI: u32 = 1;
const ECX7_VAES: u32 = 9;
const ECX7_VPCLMUL: u32 = 10;

// `~` clears bits. The high halves are ECX (leaf 1, leaf 7), the low halves EDX and EBX.
// `tests::masks_clear_the_named_bits` derives them independently. Portable clears PCLMUL, FMA, MOVBE, AES, F16C and AVX
// of leaf 1; BMI, AVX2, ADX, SHA and all of AVX-512 of leaf 7, with GFNI, VAES and VPCLMUL.
const PORTABLE_MASK: &str = "~0x3240100200000000:~0x5f42f02b0128";
// AVX2 clears everything of AVX-512, with GFNI, VAES and VPCLMUL.
const AVX2_MASK: &str = "~0x0:~0x5f42d0230000";

#[cfg(test)]
mod tests {
    /// The bits of each word, named as in the processor manuals and independent of the constants above.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn masks_clear_the_named_bits() {
        use super::*;

        let word = |bits: &[u32]| bits.iter().map(|bit| 1u64 << bit).sum::<u64>();
        // PCLMULQDQ, FMA, MOVBE, AES, AVX, F16C
        let ecx1 = word(&[1, 12, 22, 25, 28, 29]);
        // AVX512F, DQ, IFMA, CD, BW, VL
        let wide7 = word(&[16, 17, 21, 28, 30, 31]);
        // BMI1, AVX2, BMI2, ADX, SHA
        let narrow7 = word(&[3, 5, 8, 19, 29]);
        // VBMI, VBMI2, GFNI, VAES, VPCLMULQDQ, VNNI, BITALG, VPOPCNTDQ
        let ecx7 = word(&[1, 6, 8, 9, 10, 11, 12, 14]);
        let portable = format!("~{:#x}:~{:#x}", ecx1 << 32, ecx7 << 32 | wide7 | narrow7);
        assert_eq!(level_environment(Level::Portable), Some(("OPENSSL_ia32cap", portable.as_str())));
        let avx2 = format!("~0x0:~{:#x}", ecx7 << 32 | wide7);
        assert_eq!(level_environment(Level::Avx2), Some(("OPENSSL_ia32cap", avx2.as_str())));
        assert_eq!(level_environment(Level::Avx512), None);
    }
}
