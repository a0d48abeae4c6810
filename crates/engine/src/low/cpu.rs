//! The processor's features as tokens: only code that holds a feature's token may call the kernels that need it.
//!
//! All kernels are for x86-64. On other processors a token cannot be made, the compiler knows that, and leaves out all
//! that a token leads to; `absent` stands there in the place of the kernels.

/// What a token is made of where it can be had.
#[cfg(target_arch = "x86_64")]
type Proof = ();
/// What a token is made of where it cannot: something that does not exist.
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

/// Proof that the processor has AVX-512 F, BW, DQ, VL, IFMA, VBMI, VBMI2 and BITALG, with GFNI, VAES and
/// VPCLMULQDQ, beside all that [`Avx2`] and [`Aes`] prove.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(Proof);

/// The kernels that may be used: all that the processor has, up to a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    pub(crate) avx2: Option<Avx2>,
    pub(crate) aes: Option<Aes>,
    pub(crate) sha: Option<Sha>,
    pub(crate) avx512: Option<Avx512>,
}

impl Cpu {
    /// Nothing but what every processor of its architecture has.
    pub(crate) const PORTABLE: Cpu = Cpu { avx2: None, aes: None, sha: None, avx512: None };

    /// What this processor has of the instructions up to and with AVX2.
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

    /// All that this processor has.
    pub(crate) fn up_to_avx512() -> Cpu {
        let cpu = Cpu::up_to_avx2();
        #[cfg(target_arch = "x86_64")]
        if cpu.aes.is_some() && has_avx512() {
            return Cpu { avx512: Some(Avx512(())), ..cpu };
        }
        cpu
    }
}

/// A token, as one that was not made.
#[cfg(not(target_arch = "x86_64"))]
pub(super) trait NeverMade: Copy {
    /// What follows from having one: anything, since none is had.
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
