//! The processor's features as tokens: only code that holds a feature's token may call the kernels that need it.
//!
//! All kernels are for x86-64. On other processors a token cannot be made. The compiler knows that and omits all code
//! that needs a token; `absent` replaces the kernels there.

/// The content of a token that can be made.
#[cfg(target_arch = "x86_64")]
type Proof = ();
/// The content of a token that cannot be made: a type without values.
#[cfg(not(target_arch = "x86_64"))]
type Proof = std::convert::Infallible;

/// Proof that the processor has AVX2, BMI1 and BMI2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(Proof);

/// Proof that the processor has the AES instructions and carry-less multiplication on 128-bit vectors, with
/// SSSE3 and SSE4.1, and AVX2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aes(Proof);

/// Proof that the processor has the SHA instructions, with SSSE3 and SSE4.1, and AVX2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sha(Proof);

/// Proof that the processor has AVX-512 F, BW, DQ, VL, IFMA, VBMI, VBMI2 and BITALG, with GFNI, VAES and VPCLMULQDQ, in
/// addition to all that [`Avx2`] and [`Aes`] prove.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(Proof);

/// The kernels that may be used: those of this processor, up to a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    pub(crate) avx2: Option<Avx2>,
    pub(crate) aes: Option<Aes>,
    pub(crate) sha: Option<Sha>,
    pub(crate) avx512: Option<Avx512>,
}

impl Cpu {
    /// Only the instructions of every processor of the architecture.
    pub(crate) const PORTABLE: Cpu = Cpu { avx2: None, aes: None, sha: None, avx512: None };

    /// The instructions of this processor, up to AVX2.
    pub(crate) fn up_to_avx2() -> Cpu {
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            let vectors = is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("sse4.1");
            let aes = is_x86_feature_detected!("aes") && is_x86_feature_detected!("pclmulqdq");
            let sha = is_x86_feature_detected!("sha");
            return Cpu {
                avx2: Some(Avx2(())),
                aes: (vectors && aes).then_some(Aes(())),
                sha: (vectors && sha).then_some(Sha(())),
                avx512: None,
            };
        }
        Cpu::PORTABLE
    }

    /// All instructions of this processor.
    pub(crate) fn up_to_avx512() -> Cpu {
        let cpu = Cpu::up_to_avx2();
        #[cfg(target_arch = "x86_64")]
        if cpu.aes.is_some() && has_avx512() {
            return Cpu { avx512: Some(Avx512(())), ..cpu };
        }
        cpu
    }
}

/// A token that cannot be made on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub(super) trait NeverMade: Copy {
    /// Returns any type: never called, since no token exists.
    fn never(self) -> !;
}

#[cfg(not(target_arch = "x86_64"))]
macro_rules! never_made {
    ($($token:ident)*) => {
        $(impl NeverMade for $token {
            fn never(self) -> ! {
                match self.0 {}
            }
        })*
    };
}

#[cfg(not(target_arch = "x86_64"))]
never_made!(Avx2 Aes Sha Avx512);

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512ifma")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512bitalg")
        && is_x86_feature_detected!("gfni")
        && is_x86_feature_detected!("vaes")
        && is_x86_feature_detected!("vpclmulqdq")
}
