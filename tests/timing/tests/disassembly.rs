//! The kernels on 512-bit vectors, as the compiler left them: valgrind does not know these instructions, so
//! the machine code is read instead.
//!
//! In every function of the engine's lowest layer that uses 512-bit registers there is
//! - no gather and no scatter;
//! - no jump or call through a register;
//! - no conditional jump, conditional move of an address, or memory address that depends on a general
//!   register whose content came out of a vector or a mask: what is left are loops counted by lengths.
//!
//! Registers are followed in the order of the code, over the stack as well; a secret that is loaded from
//! other memory into a general register is not seen here. The kernels load texts and keys into vectors only; the
//! timing statistics of `make bench` look at what this cannot.

mod follow;
mod listing;

use engine::{
    CipherAlgorithm, CipherDirection, CipherItem, Column, ColumnError, ColumnMut, DesColumns, EaxItem,
    EcdsaSignItem, Engine, GcmItem, HashAlgorithm, HashItem, HmacItem, KeyColumn, KeyWrapItem, MacAlgorithm,
    MacItem, Mode, OcbItem, RsaPrivateItem, RsaPublicItem, WrappedColumn, X25519Item, X25519PublicItem,
};
use follow::breaches;
use listing::{Function, functions};
use std::hint::black_box;
use std::process::Command;

/// Functions that may move a vector or a mask into a general register and then steer by it: a part of the
/// name, and why what moves is no secret.
const PUBLIC: &[(&str, &str)] = &[];

#[test]
fn wide_kernels_are_steered_by_lengths_only() {
    keep_kernels();
    let program = std::env::current_exe().expect("a test has a program");
    let output = Command::new("objdump")
        .args(["--disassemble", "--demangle", "--no-show-raw-insn", "--wide"])
        .arg(program)
        .output()
        .expect("objdump starts (apt-get install binutils)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listing = String::from_utf8_lossy(&output.stdout);
    let kernels: Vec<Function<'_>> = functions(&listing)
        .into_iter()
        .filter(|function| function.name.contains("engine::low::") && function.uses("zmm"))
        .collect();
    for room in ROOMS {
        assert!(kernels.iter().any(|kernel| kernel.name.contains(room)), "no wide kernel of {room} is left");
    }
    let mut found = Vec::new();
    for kernel in &kernels {
        if PUBLIC.iter().any(|(part, _)| kernel.name.contains(part)) {
            continue;
        }
        found.extend(breaches(kernel).into_iter().map(|breach| format!("{}: {breach}", kernel.name)));
    }
    assert!(found.is_empty(), "{} kernels, {} breaches:\n{}", kernels.len(), found.len(), found.join("\n"));
}

/// Rooms that have kernels on 512-bit vectors, or forms of one.
const ROOMS: &[&str] = &[
    "low::des::bit_sliced",
    "low::des::byte_sliced",
    "low::des::byte_sliced_avx512::macs::",
    "low::des::rows_avx512::",
    "low::des::rows_avx512::macs::",
    "low::des::rows_keys::",
    "low::rsa::",
    "low::curves::ifma::",
    "low::sha::",
    "low::aes::blocks_vaes::",
    "low::aes::ctr_vaes::",
    "low::aes::gcm_vaes::",
    "low::aes::ghash_wide::",
    "low::aes::streams_vaes::",
    "low::aes::wrap_vaes::",
];

/// What is named here is linked into this program, with everything below it.
fn keep_kernels() {
    let batches = (
        Engine::cipher_batch as fn(&Engine, Mode, CipherDirection, &mut [CipherItem<'_>]),
        Engine::mac_batch as fn(&Engine, &mut [MacItem<'_>]),
        mac_columns as fn(&Engine, KeyColumn<'_>, Column<'_>, &mut [u8]) -> Result<_, _>,
        cipher_columns as fn(&Engine, KeyColumn<'_>, &mut [u8], &mut ColumnMut<'_>) -> Result<_, _>,
        Engine::unwrap_des_columns as fn(&Engine, &mut DesColumns, &[WrappedColumn<'_>]) -> Result<_, _>,
        Engine::hmac_columns as fn(&Engine, HashAlgorithm, Column<'_>, Column<'_>, &mut [u8]) -> Result<_, _>,
        Engine::hash_batch as fn(&Engine, HashAlgorithm, &mut [HashItem<'_>]),
        Engine::hmac_batch as fn(&Engine, &mut [HmacItem<'_>]),
        Engine::gcm_key as fn(&Engine, &[u8]) -> Result<_, _>,
        Engine::gcm_batch as fn(&Engine, CipherDirection, &mut [GcmItem<'_>]),
        Engine::ocb_batch as fn(&Engine, CipherDirection, &mut [OcbItem<'_>]),
        Engine::key_wrap_batch as fn(&Engine, CipherDirection, &mut [KeyWrapItem<'_>]),
        Engine::eax_batch as fn(&Engine, CipherDirection, &mut [EaxItem<'_>]),
        Engine::cfb_sha1 as fn(&Engine, CipherDirection, &[u8], &[u8; 16]) -> Result<_, _>,
        Engine::rsa_private_batch as fn(&Engine, &mut [RsaPrivateItem<'_>]),
        Engine::rsa_public_batch as fn(&Engine, &mut [RsaPublicItem<'_>]),
        Engine::ecdsa_sign_batch as fn(&Engine, &mut [EcdsaSignItem<'_>]),
        Engine::ecdsa_sign_verified_batch as fn(&Engine, &mut [EcdsaSignItem<'_>]),
        Engine::x25519_batch as fn(&Engine, &mut [X25519Item<'_>]),
        Engine::x25519_public_batch as fn(&Engine, &mut [X25519PublicItem<'_>]),
        Engine::rsa_generate as fn(&Engine, usize, &[u8]) -> Result<_, _>,
    );
    black_box(batches);
}

fn mac_columns(
    engine: &Engine,
    keys: KeyColumn<'_>,
    texts: Column<'_>,
    macs: &mut [u8],
) -> Result<(), ColumnError> {
    engine.mac_columns(MacAlgorithm::X919, keys, texts, macs)
}

fn cipher_columns(
    engine: &Engine,
    keys: KeyColumn<'_>,
    chains: &mut [u8],
    texts: &mut ColumnMut<'_>,
) -> Result<(), ColumnError> {
    engine.cipher_columns(CipherAlgorithm::Tdes2, Mode::Cbc, CipherDirection::Encipher, keys, chains, texts)
}

fn found_in(body: &str) -> Vec<String> {
    let listing = format!("0000000000001000 <engine::low::kernel>:\n{body}");
    breaches(&functions(&listing)[0])
}

fn code(lines: &[&str]) -> String {
    lines.iter().enumerate().map(|(at, line)| format!("    10{at:02x}:\t{line}\n")).collect()
}

#[test]
fn counted_loops_pass() {
    let body = code(&[
        "mov    $0x10,%ecx",
        "vpxorq (%rdi,%rcx,1),%zmm1,%zmm2",
        "vmovdqu64 %zmm2,(%rdi,%rcx,1)",
        "dec    %rcx",
        "jne    1001 <engine::low::kernel+0x1>",
        "ret",
    ]);
    assert_eq!(found_in(&body), Vec::<String>::new());
}

#[test]
fn gathers_scatters_and_indirect_jumps_are_found() {
    for line in
        ["vpgatherqq (%rdi,%zmm1,8),%zmm2{%k1}", "vpscatterdd %zmm1,(%rdi,%zmm2,4){%k1}", "jmp    *%rax"]
    {
        assert_eq!(found_in(&code(&["vpxorq %zmm0,%zmm0,%zmm0", line])).len(), 1, "{line}");
    }
}

#[test]
fn a_branch_on_a_mask_is_found() {
    let body = code(&["vpcmpeqq %zmm1,%zmm2,%k1", "kmovq  %k1,%rax", "test   %eax,%eax", "je     1001 <x>"]);
    assert_eq!(found_in(&body).len(), 1);
    let body = code(&["kortestq %k1,%k1", "je     1001 <x>"]);
    assert_eq!(found_in(&body).len(), 1);
}

#[test]
fn an_address_out_of_a_vector_is_found_also_through_the_stack() {
    let body = code(&[
        "vmovq  %xmm1,%rax",
        "shr    $0x3,%rax",
        "mov    %rax,0x18(%rsp)",
        "xor    %eax,%eax",
        "mov    0x18(%rsp),%r8",
        "and    $0x3f,%r8d",
        "movzbl (%rdi,%r8,1),%ecx",
    ]);
    assert_eq!(found_in(&body).len(), 1);
    let body = code(&["vmovq  %xmm1,%rax", "mov    %rdi,%rax", "movzbl (%rax),%ecx"]);
    assert_eq!(found_in(&body), Vec::<String>::new(), "overwritten before its use");
}

#[test]
fn a_vector_that_was_computed_is_followed_over_the_stack_and_a_copy_is_not() {
    let tail = ["vmovdqu64 %zmm1,0x40(%rsp)", "mov    0x50(%rsp),%rax", "movzbl (%rdi,%rax,1),%ecx"];
    let computed = [&["vpxorq %zmm2,%zmm3,%zmm1"], &tail[..]].concat();
    assert_eq!(found_in(&code(&computed)).len(), 1);
    let copied = [&["vmovdqu64 (%rsi),%zmm1"], &tail[..]].concat();
    assert_eq!(found_in(&code(&copied)), Vec::<String>::new());
}

#[test]
fn a_call_through_a_constant_passes() {
    let body = code(&["mov    0x2780df(%rip),%rax", "mov    %rax,%r15", "call   *%r15", "call   *%r14"]);
    assert_eq!(found_in(&body).len(), 1);
}
