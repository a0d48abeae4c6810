//! The measured throughput of one core for one kind of instruction, and its time-stamp counter.
//!
//! A port limit is an instruction count divided by such a rate. Each loop holds only independent instructions of one
//! kind on ten or twelve registers, and its counter. It is in assembly, so that no compiler shortens it. The ports are
//! the limit, not the latency of a dependency chain: twelve chains cover two ports at six cycles.

#[cfg(target_arch = "x86_64")]
use std::arch::asm;

/// Instructions in one turn of a loop.
const TURN: u64 = 12;
/// Instructions in one turn of the loop for [`Port::Logic64`].
const LOGIC64_TURN: u64 = 60;

/// One kind of instruction that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Port {
    /// Three-input logic on 512 bits (`vpternlogd`).
    Logic512,
    /// 52-bit multiply and add on 512 bits (`vpmadd52luq`).
    Madd512,
    /// A round of AES on 512 bits (`vaesenc`).
    Aes512,
    /// Four carry-less products of 64 bits on 512 bits (`vpclmulqdq`).
    Clmul512,
    /// 64-entry byte permutation (`vpermb`).
    Permute512,
    /// Two-input logic on 256 bits (`vpxor`).
    Logic256,
    /// A round of AES on 128 bits (`aesenc`).
    Aes128,
    /// Two-input logic on 64 bits (`xor`).
    Logic64,
    /// 64-bit multiplication with a 128-bit product (`mulx`).
    Mul64,
}

impl Port {
    /// All kinds of instructions.
    pub const ALL: [Port; 9] = [
        Port::Logic512,
        Port::Madd512,
        Port::Aes512,
        Port::Clmul512,
        Port::Permute512,
        Port::Logic256,
        Port::Aes128,
        Port::Logic64,
        Port::Mul64,
    ];

    /// The instruction's name.
    pub const fn instruction(self) -> &'static str {
        match self {
            Port::Logic512 => "vpternlogd zmm",
            Port::Madd512 => "vpmadd52luq zmm",
            Port::Aes512 => "vaesenc zmm",
            Port::Clmul512 => "vpclmulqdq zmm",
            Port::Permute512 => "vpermb zmm",
            Port::Logic256 => "vpxor ymm",
            Port::Aes128 => "aesenc xmm",
            Port::Logic64 => "xor r64",
            Port::Mul64 => "mulx r64",
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn is_here(self) -> bool {
        match self {
            Port::Logic512 => is_x86_feature_detected!("avx512f"),
            Port::Madd512 => is_x86_feature_detected!("avx512ifma"),
            Port::Aes512 => is_x86_feature_detected!("vaes") && is_x86_feature_detected!("avx512f"),
            Port::Clmul512 => is_x86_feature_detected!("vpclmulqdq") && is_x86_feature_detected!("avx512f"),
            Port::Permute512 => is_x86_feature_detected!("avx512vbmi"),
            Port::Logic256 => is_x86_feature_detected!("avx2"),
            Port::Aes128 => is_x86_feature_detected!("aes") && is_x86_feature_detected!("avx"),
            Port::Logic64 => true,
            Port::Mul64 => is_x86_feature_detected!("bmi2"),
        }
    }

    /// Runs the instruction at least `instructions` times. Returns how often it ran, or `None` if the processor lacks
    /// it.
    #[cfg(target_arch = "x86_64")]
    pub fn run(self, instructions: u64) -> Option<u64> {
        if !self.is_here() {
            return None;
        }
        let a_turn = if self == Port::Logic64 { LOGIC64_TURN } else { TURN };
        let turns = instructions.div_ceil(a_turn).max(1);
        // SAFETY: the processor has the instruction (checked above). Each loop counts `turns` down to zero
        // from one or more and touches registers only.
        unsafe {
            match self {
                Port::Logic512 => logic512(turns),
                Port::Madd512 => madd512(turns),
                Port::Aes512 => aes512(turns),
                Port::Clmul512 => clmul512(turns),
                Port::Permute512 => permute512(turns),
                Port::Logic256 => logic256(turns),
                Port::Aes128 => aes128(turns),
                Port::Logic64 => logic64(turns),
                Port::Mul64 => mul64(turns),
            }
        }
        Some(turns * a_turn)
    }

    /// Returns `None`: these instructions exist only on x86-64.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn run(self, _instructions: u64) -> Option<u64> {
        None
    }
}

/// A counted loop over twelve vector registers: each is the result and the first source of its instruction.
#[cfg(target_arch = "x86_64")]
macro_rules! vector_loop {
    ($name:ident, $feature:literal, $operation:literal, $class:literal, $tail:literal) => {
        #[target_feature(enable = $feature)]
        unsafe fn $name(turns: u64) {
            // SAFETY: registers only, all of those that change are named; the caller has checked the processor.
            unsafe {
                asm!(
                    "2:",
                    concat!($operation, " ", $class, "0, ", $class, "0, ", $class, "15", $tail),
                    concat!($operation, " ", $class, "1, ", $class, "1, ", $class, "15", $tail),
                    concat!($operation, " ", $class, "2, ", $class, "2, ", $class, "15", $tail),
                    concat!($operation, " ", $class, "3, ", $class, "3, ", $class, "15", $tail),
                    concat!($operation, " ", $class, "4, ", $class, "4, ", $class, "15", $tail),
                    concat!($operation, " ", $class, "5, ", $class, "5, ", $class, "15", $tail),
                    concat!($operation, " ", $class, "6, ", $class, "6, ", $class, "15", $tail),
                    concat!($operation, " ", $class, "7, ", $class, "7, ", $class, "15", $tail),
                    concat!($operation, " ", $class, "8, ", $class, "8, ", $class, "15", $tail),
                    concat!($operation, " ", $class, "9, ", $class, "9, ", $class, "15", $tail),
                    concat!($operation, " ", $class, "10, ", $class, "10, ", $class, "15", $tail),
                    concat!($operation, " ", $class, "11, ", $class, "11, ", $class, "15", $tail),
                    "dec {turns}",
                    "jnz 2b",
                    "vzeroupper",
                    turns = inout(reg) turns => _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nomem, nostack),
                );
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
vector_loop!(logic512, "avx512f", "vpternlogd", "zmm", ", 0x96");
#[cfg(target_arch = "x86_64")]
vector_loop!(madd512, "avx512f,avx512ifma", "vpmadd52luq", "zmm", "");
#[cfg(target_arch = "x86_64")]
vector_loop!(aes512, "avx512f,vaes", "vaesenc", "zmm", "");
#[cfg(target_arch = "x86_64")]
vector_loop!(clmul512, "avx512f,vpclmulqdq", "vpclmulqdq", "zmm", ", 0");
#[cfg(target_arch = "x86_64")]
vector_loop!(permute512, "avx512f,avx512vbmi", "vpermb", "zmm", "");
#[cfg(target_arch = "x86_64")]
vector_loop!(logic256, "avx2", "vpxor", "ymm", "");
#[cfg(target_arch = "x86_64")]
vector_loop!(aes128, "avx,aes", "vaesenc", "xmm", "");

/// Sixty instructions on ten registers, since no more are free. Processors run up to six of these a cycle; a loop of
/// twelve runs four a cycle, because its counter would be the limit.
#[cfg(target_arch = "x86_64")]
unsafe fn logic64(turns: u64) {
    // SAFETY: registers only, all of them named as changed.
    unsafe {
        asm!(
            "2:",
            "xor {a}, {z}", "xor {b}, {z}", "xor {c}, {z}", "xor {d}, {z}", "xor {e}, {z}",
            "xor {f}, {z}", "xor {g}, {z}", "xor {h}, {z}", "xor {i}, {z}", "xor {j}, {z}",
            "xor {a}, {z}", "xor {b}, {z}", "xor {c}, {z}", "xor {d}, {z}", "xor {e}, {z}",
            "xor {f}, {z}", "xor {g}, {z}", "xor {h}, {z}", "xor {i}, {z}", "xor {j}, {z}",
            "xor {a}, {z}", "xor {b}, {z}", "xor {c}, {z}", "xor {d}, {z}", "xor {e}, {z}",
            "xor {f}, {z}", "xor {g}, {z}", "xor {h}, {z}", "xor {i}, {z}", "xor {j}, {z}",
            "xor {a}, {z}", "xor {b}, {z}", "xor {c}, {z}", "xor {d}, {z}", "xor {e}, {z}",
            "xor {f}, {z}", "xor {g}, {z}", "xor {h}, {z}", "xor {i}, {z}", "xor {j}, {z}",
            "xor {a}, {z}", "xor {b}, {z}", "xor {c}, {z}", "xor {d}, {z}", "xor {e}, {z}",
            "xor {f}, {z}", "xor {g}, {z}", "xor {h}, {z}", "xor {i}, {z}", "xor {j}, {z}",
            "xor {a}, {z}", "xor {b}, {z}", "xor {c}, {z}", "xor {d}, {z}", "xor {e}, {z}",
            "xor {f}, {z}", "xor {g}, {z}", "xor {h}, {z}", "xor {i}, {z}", "xor {j}, {z}",
            "dec {turns}",
            "jnz 2b",
            turns = inout(reg) turns => _,
            z = in(reg) turns,
            a = out(reg) _, b = out(reg) _, c = out(reg) _, d = out(reg) _, e = out(reg) _, f = out(reg) _,
            g = out(reg) _, h = out(reg) _, i = out(reg) _, j = out(reg) _,
            options(nomem, nostack),
        );
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi2")]
unsafe fn mul64(turns: u64) {
    // SAFETY: registers only, all of them named as changed; the caller has checked the processor.
    unsafe {
        asm!(
            "2:",
            "mulx {a}, {b}, {z}", "mulx {c}, {d}, {z}", "mulx {a}, {b}, {z}", "mulx {c}, {d}, {z}",
            "mulx {a}, {b}, {z}", "mulx {c}, {d}, {z}", "mulx {a}, {b}, {z}", "mulx {c}, {d}, {z}",
            "mulx {a}, {b}, {z}", "mulx {c}, {d}, {z}", "mulx {a}, {b}, {z}", "mulx {c}, {d}, {z}",
            "dec {turns}",
            "jnz 2b",
            turns = inout(reg) turns => _,
            z = in(reg) turns,
            a = out(reg) _, b = out(reg) _, c = out(reg) _, d = out(reg) _,
            in("rdx") turns,
            options(nomem, nostack),
        );
    }
}

/// The time-stamp counter, read after all earlier instructions have executed; 0 on other architectures than x86-64.
#[inline(always)]
pub fn cycles() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut processor = 0;
        // SAFETY: every x86-64 processor that Linux runs programs of this kind on has RDTSCP and LFENCE, and
        // Linux does not forbid them; what is written is ours.
        unsafe {
            let now = std::arch::x86_64::__rdtscp(&mut processor);
            std::arch::x86_64::_mm_lfence();
            now
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_that_this_processor_has_ends() {
        for port in Port::ALL {
            if let Some(ran) = port.run(1000) {
                assert!((1000..1000 + LOGIC64_TURN).contains(&ran), "{port:?}");
            }
        }
        #[cfg(target_arch = "x86_64")]
        {
            assert!(Port::Logic64.run(1).is_some());
            let before = cycles();
            Port::Logic64.run(100_000);
            assert!(cycles() > before);
        }
    }
}
