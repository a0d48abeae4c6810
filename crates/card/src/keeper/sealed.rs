//! The registers of a home at rest: sealed under a passphrase.
//!
//! ```text
//!  0  "cryptand sealed\n"          16 bytes
//! 16  version                      u16, little-endian as all numbers here
//! 18  zero                         u16
//! 20  memory in KiB, passes, lanes u32 each: the parameters of Argon2id
//! 32  salt                         16 bytes, new at each sealing
//! 48  the registers, encoded, under AES-256-GCM; then its 16-byte tag
//! ```
//! The key is Argon2id (RFC 9106) over passphrase and salt. Its parameters are the first recommended option of section
//! 4 (2 GiB, 1 pass, 4 lanes) if the machine has twice that free, lets it be locked, and the settings allow it.
//! Otherwise they are the second option (64 MiB, 3 passes, 4 lanes). If the machine does not give even that, they are a
//! quarter of its memory and four times its passes. The parameters are in the file, and opening a file never takes more
//! than the first option. Every key seals once, so the nonce is zero. Everything before the ciphertext is associated
//! data. A wrong passphrase and a changed blob give the same error.

use super::registers::Registers;
use argon2::{Algorithm, Argon2, Params, Version};
use confine::arena::WorkPages;
use engine::Engine;
use wire::control::OfficerRefusal;
use zeroize::Zeroizing;

const MAGIC: &[u8; 16] = b"cryptand sealed\n";
const VERSION: u16 = 1;
const SALT_AT: usize = 32;
const SALT_BYTES: usize = 16;
const HEADER_BYTES: usize = SALT_AT + SALT_BYTES;
const KEY_BYTES: usize = 32;

/// Parameters of Argon2id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

/// The parameters for a new blob, tried in this order.
const COSTS: [Cost; 3] = [
    Cost { memory_kib: 2 << 20, passes: 1, lanes: 4 },
    Cost { memory_kib: SECOND_KIB, passes: 3, lanes: 4 },
    Cost { memory_kib: 16 << 10, passes: 12, lanes: 4 },
];
/// Memory of the second option, in KiB: the least that is used if it can be allocated, whatever is free or set.
const SECOND_KIB: u32 = 64 << 10;
/// Limits of parameters that are accepted: a forged blob must not take all memory, or run for ever.
const COST_MAX: Cost = Cost { memory_kib: 2 << 20, passes: 64, lanes: 16 };
/// Limit of memory times passes, for the same reason.
const WORK_KIB_MAX: u64 = 16 << 20;

/// The memory that a computation may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Free memory, in KiB.
    pub available_kib: u64,
    /// Upper bound that the settings set for a new blob, in KiB.
    pub seal_kib_max: u32,
}

impl Memory {
    /// Whether a new blob may take the memory of this cost. Beyond the second option twice as much must be free: the
    /// kernel ends a process that cannot have its memory, and must not end the keeper.
    fn allows(&self, cost: &Cost) -> bool {
        let is_free =
            u64::from(cost.memory_kib) * 2 <= self.available_kib && cost.memory_kib <= self.seal_kib_max;
        cost.memory_kib <= SECOND_KIB || is_free
    }
}

/// Seals the registers under a passphrase.
///
/// # Errors
/// [`OfficerRefusal::Passphrase`] if the passphrase is empty, or if the machine does not have the memory to derive a
/// key.
pub fn seal(
    engine: &Engine,
    registers: &Registers,
    passphrase: &[u8],
    memory: Memory,
) -> Result<Vec<u8>, OfficerRefusal> {
    let costs: Vec<Cost> = COSTS.into_iter().filter(|cost| memory.allows(cost)).collect();
    seal_at(engine, registers, passphrase, &costs)
}

fn seal_at(
    engine: &Engine,
    registers: &Registers,
    passphrase: &[u8],
    costs: &[Cost],
) -> Result<Vec<u8>, OfficerRefusal> {
    if passphrase.is_empty() {
        return Err(OfficerRefusal::Passphrase);
    }
    let mut salt = [0; SALT_BYTES];
    engine.random(&mut salt);
    // The first option is for memory that is never swapped.
    let derived = costs
        .iter()
        .find_map(|cost| Some((cost, derive(*cost, passphrase, &salt, cost.memory_kib > SECOND_KIB)?)));
    let (cost, key) = derived.ok_or(OfficerRefusal::Passphrase)?;
    let plain = postcard::to_stdvec(registers).map(Zeroizing::new);
    let plain = plain.map_err(|_| OfficerRefusal::RegisterState)?;
    let mut blob = Vec::with_capacity(HEADER_BYTES + plain.len() + 16);
    blob.extend_from_slice(MAGIC);
    blob.extend_from_slice(&VERSION.to_le_bytes());
    blob.extend_from_slice(&[0; 2]);
    for number in [cost.memory_kib, cost.passes, cost.lanes] {
        blob.extend_from_slice(&number.to_le_bytes());
    }
    blob.extend_from_slice(&salt);
    let ciphertext = engine::lock(&key, &blob, &plain);
    blob.extend_from_slice(&ciphertext);
    Ok(blob)
}

/// Opens sealed registers.
///
/// # Errors
/// [`OfficerRefusal::NewerVersion`]; [`OfficerRefusal::Memory`] if the derivation takes more memory than is free; or
/// [`OfficerRefusal::Passphrase`] for everything else: a wrong passphrase, a changed or foreign blob.
pub fn open(blob: &[u8], passphrase: &[u8], available_kib: u64) -> Result<Registers, OfficerRefusal> {
    let (header, ciphertext) = blob.split_at_checked(HEADER_BYTES).ok_or(OfficerRefusal::Passphrase)?;
    if header[..MAGIC.len()] != MAGIC[..] {
        return Err(OfficerRefusal::Passphrase);
    }
    if u16::from_le_bytes([header[16], header[17]]) > VERSION {
        return Err(OfficerRefusal::NewerVersion);
    }
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let cost = Cost { memory_kib: number(20), passes: number(24), lanes: number(28) };
    let bounded = cost.memory_kib <= COST_MAX.memory_kib
        && cost.passes <= COST_MAX.passes
        && cost.lanes <= COST_MAX.lanes
        && u64::from(cost.memory_kib) * u64::from(cost.passes) <= WORK_KIB_MAX;
    if !bounded {
        return Err(OfficerRefusal::Passphrase);
    }
    if cost.memory_kib > SECOND_KIB && u64::from(cost.memory_kib) > available_kib {
        return Err(OfficerRefusal::Memory);
    }
    let key = derive(cost, passphrase, &header[SALT_AT..], false).ok_or(OfficerRefusal::Passphrase)?;
    let plain = engine::unlock(&key, header, ciphertext).ok_or(OfficerRefusal::Passphrase)?;
    match postcard::take_from_bytes::<Registers>(plain.as_slice()) {
        Ok((registers, [])) => Ok(registers),
        _ => Err(OfficerRefusal::Passphrase),
    }
}

/// The key of a passphrase; `None` if the parameters are not valid, or if the memory cannot be had.
fn derive(
    cost: Cost,
    passphrase: &[u8],
    salt: &[u8],
    must_be_locked: bool,
) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
    let params = Params::new(cost.memory_kib, cost.passes, cost.lanes, Some(KEY_BYTES)).ok()?;
    // The arena never grows, so the computation has pages of its own, which are wiped and given back at the end.
    let mut memory = WorkPages::new(params.block_count(), must_be_locked)?;
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let derived = argon.hash_password_into_with_memory(passphrase, salt, key.as_mut_slice(), memory.blocks());
    derived.ok().map(|()| key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::Register;

    const CHEAP: [Cost; 1] = [Cost { memory_kib: 64, passes: 1, lanes: 4 }];

    fn engine() -> Engine {
        Engine::new(engine::Options::default()).unwrap()
    }

    fn registers() -> Registers {
        let mut registers = Registers::new(2);
        registers.put_current(1, Register::Apka, &[0x5A; 32]).unwrap();
        registers
    }

    #[test]
    fn sealed_registers_open_with_their_passphrase_only() {
        let engine = engine();
        let memory = Memory { available_kib: 0, seal_kib_max: 0 };
        let blob = seal(&engine, &registers(), b"correct horse", memory).unwrap();
        assert!(open(&blob, b"correct horse", 0).unwrap() == registers());
        assert!(open(&blob, b"correct horsf", 0).err() == Some(OfficerRefusal::Passphrase));
        assert!(seal(&engine, &registers(), b"", memory).err() == Some(OfficerRefusal::Passphrase));
        let again = seal_at(&engine, &registers(), b"x", &CHEAP).unwrap();
        assert_ne!(again[SALT_AT..], seal_at(&engine, &registers(), b"x", &CHEAP).unwrap()[SALT_AT..]);
        assert!(!again.windows(8).any(|window| window == [0x5A; 8]));
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_refused() {
        let engine = engine();
        let blob = seal_at(&engine, &registers(), b"x", &CHEAP).unwrap();
        for at in 0..blob.len() {
            // Of the parameters only the low bytes, which do not make it a long computation.
            if (20..SALT_AT).contains(&at) && at % 4 > 0 {
                continue;
            }
            let mut changed = blob.clone();
            changed[at] ^= 1;
            let refusal = open(&changed, b"x", u64::MAX).err().expect("refused");
            let newer = (16..18).contains(&at) && u16::from_le_bytes([changed[16], changed[17]]) > VERSION;
            let expected = if newer { OfficerRefusal::NewerVersion } else { OfficerRefusal::Passphrase };
            assert_eq!(refusal, expected, "byte {at}");
        }
        for length in 0..blob.len() {
            assert!(open(&blob[..length], b"x", u64::MAX).is_err(), "cut to {length}");
        }
    }

    #[test]
    fn costs_beyond_the_bound_are_not_paid() {
        let engine = engine();
        let mut blob = seal_at(&engine, &registers(), b"x", &CHEAP).unwrap();
        // 4 TiB; 2 GiB and one; 2 GiB nine times over; a pass too many; a lane too many.
        let (gib2, one) = (2_u32 << 20, 1_u32);
        for [memory, passes, lanes] in
            [[u32::MAX, one, 4], [gib2 + 1, one, 4], [gib2, 9, 4], [64, 65, 4], [512, one, 17]]
        {
            for (at, number) in [(20, memory), (24, passes), (28, lanes)] {
                blob[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
            assert!(open(&blob, b"x", u64::MAX).err() == Some(OfficerRefusal::Passphrase));
        }
        // What is allowed, and is not there.
        for (at, number) in [(20, gib2), (24, one), (28, 4)] {
            blob[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        assert!(open(&blob, b"x", u64::from(gib2) - 1).err() == Some(OfficerRefusal::Memory));
    }

    #[test]
    fn the_first_option_is_for_machines_with_the_memory() {
        let all = |memory: Memory| COSTS.iter().filter(|cost| memory.allows(cost)).count();
        assert_eq!(all(Memory { available_kib: 4 << 20, seal_kib_max: 2 << 20 }), 3);
        assert_eq!(all(Memory { available_kib: (4 << 20) - 1, seal_kib_max: 2 << 20 }), 2);
        assert_eq!(all(Memory { available_kib: u64::MAX / 4, seal_kib_max: 64 << 10 }), 2);
        assert_eq!(all(Memory { available_kib: 0, seal_kib_max: 0 }), 2);
        assert_eq!((COSTS[0].memory_kib, COSTS[0].passes, COSTS[0].lanes), (2 << 20, 1, 4));
    }

    #[test]
    fn the_derivation_is_argon2id_of_rfc_9106() {
        // The reference implementation: argon2 -id -t 2 -k 256 -p 1 over "password" and "somesalt".
        let cost = Cost { memory_kib: 256, passes: 2, lanes: 1 };
        let key = derive(cost, b"password", b"somesalt", false).unwrap();
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe");
    }
}
