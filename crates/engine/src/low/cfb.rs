//! AES in CFB with whole blocks of feedback (SP 800-38A, 6.3, s = 128), alone, or in one loop with SHA-1 of the
//! plaintext, as the integrity-protected packets of OpenPGP need it (RFC 4880, 5.13).

#[cfg(target_arch = "x86_64")]
mod ni;

#[cfg(not(target_arch = "x86_64"))]
use super::absent::cfb::ni;
use super::aes::cfb_vaes;
use super::aws_lc::aes::AesSchedule;
use super::cpu::{Aes, Avx512, Cpu, Sha};
use super::wipe_bytes;

/// A block of AES.
pub(crate) type Block = [u8; 16];

/// The number of round keys of the longest key.
const ROUND_KEYS_MAX: usize = 15;

/// A key prepared for both directions, in one allocation that does not move; wiped when dropped.
pub(crate) struct CfbKey {
    kernel: Option<Kernel>,
    key_bytes: usize,
    schedules: Box<Schedules>,
}

struct Schedules {
    /// For partial blocks, and for processors without AES instructions.
    library: AesSchedule,
    /// Zeros if there is no kernel.
    round_keys: [Block; ROUND_KEYS_MAX],
}

#[derive(Clone, Copy)]
struct Kernel {
    aes: Aes,
    sha: Option<Sha>,
    avx512: Option<Avx512>,
}

/// The state of a text. On a block boundary, `chain` is the last ciphertext block. `used` bytes into a block, it is
/// that many bytes of ciphertext and the rest of the key stream.
pub(crate) struct CfbChain {
    pub(crate) chain: Block,
    pub(crate) used: usize,
}

impl CfbKey {
    /// Prepares a key. None unless it is 16, 24 or 32 bytes long.
    pub(crate) fn new(cpu: Cpu, key: &[u8]) -> Option<CfbKey> {
        let mut schedules =
            Box::new(Schedules { library: AesSchedule::empty(), round_keys: [[0; 16]; ROUND_KEYS_MAX] });
        if !schedules.library.set_encipher(key) {
            return None;
        }
        if let Some(token) = cpu.aes {
            // SAFETY: the token says that the processor has these instructions.
            unsafe { ni::expand(token, key, &mut schedules.round_keys) };
        }
        let kernel = cpu.aes.map(|aes| Kernel { aes, sha: cpu.sha, avx512: cpu.avx512 });
        Some(CfbKey { kernel, key_bytes: key.len(), schedules })
    }

    /// Enciphers or deciphers text of any length in place.
    pub(crate) fn apply(&self, encipher: bool, at: &mut CfbChain, data: &mut [u8]) {
        let head = data.len().min((16 - at.used) % 16);
        let (head, rest) = data.split_at_mut(head);
        self.schedules.library.cfb(encipher, &mut at.chain, &mut at.used, head);
        let rest = match self.kernel {
            Some(kernel) if at.used == 0 => {
                let (whole, tail) = rest.as_chunks_mut::<16>();
                let (keys, chain) = (&self.schedules.round_keys, &mut at.chain);
                let whole = match (encipher, kernel.avx512, self.schedules.library.round_keys()) {
                    (false, Some(token), Some(keys)) => cfb_vaes::decipher(token, keys, chain, whole),
                    _ => whole,
                };
                // SAFETY: the token says that the processor has these instructions.
                unsafe {
                    match (encipher, self.key_bytes) {
                        (true, 16) => ni::encipher::<10>(kernel.aes, keys, chain, whole),
                        (true, 24) => ni::encipher::<12>(kernel.aes, keys, chain, whole),
                        (true, _) => ni::encipher::<14>(kernel.aes, keys, chain, whole),
                        (false, 16) => ni::decipher::<10>(kernel.aes, keys, chain, whole),
                        (false, 24) => ni::decipher::<12>(kernel.aes, keys, chain, whole),
                        (false, _) => ni::decipher::<14>(kernel.aes, keys, chain, whole),
                    }
                }
                tail
            }
            _ => rest,
        };
        self.schedules.library.cfb(encipher, &mut at.chain, &mut at.used, rest);
    }

    /// Whether [`CfbKey::apply_sha1`] works and is faster than cipher and hash one after the other. The wide form of
    /// deciphering takes a twentieth of the hash's time, so one loop would gain nothing.
    pub(crate) fn has_sha1(&self, encipher: bool) -> bool {
        self.kernel.is_some_and(|kernel| kernel.sha.is_some() && (encipher || kernel.avx512.is_none()))
    }

    /// Enciphers or deciphers whole SHA-1 blocks in place, and hashes their plaintext into `sums`. Does nothing unless
    /// [`CfbKey::has_sha1`].
    pub(crate) fn apply_sha1(
        &self,
        encipher: bool,
        chain: &mut Block,
        sums: &mut [u32; 5],
        data: &mut [[Block; 4]],
    ) {
        if let Some(Kernel { aes, sha: Some(sha), .. }) = self.kernel
            && self.has_sha1(encipher)
        {
            let (tokens, keys) = ((aes, sha), &self.schedules.round_keys);
            // SAFETY: the tokens say that the processor has these instructions.
            unsafe {
                match (encipher, self.key_bytes) {
                    (true, 16) => ni::encipher_sha1::<10>(tokens, keys, chain, sums, data),
                    (true, 24) => ni::encipher_sha1::<12>(tokens, keys, chain, sums, data),
                    (true, _) => ni::encipher_sha1::<14>(tokens, keys, chain, sums, data),
                    (false, 16) => ni::decipher_sha1::<10>(tokens, keys, chain, sums, data),
                    (false, 24) => ni::decipher_sha1::<12>(tokens, keys, chain, sums, data),
                    (false, _) => ni::decipher_sha1::<14>(tokens, keys, chain, sums, data),
                }
            }
        }
    }
}

impl Drop for Schedules {
    fn drop(&mut self) {
        wipe_bytes(self.round_keys.as_flattened_mut());
    }
}

impl Drop for CfbChain {
    fn drop(&mut self) {
        wipe_bytes(&mut self.chain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, A.1 to A.3: the last round key of each length.
    #[test]
    fn keys_expand_as_published() {
        let cpu = Cpu::up_to_avx2();
        for (key, last) in [
            (
                &0x2b7e1516_28aed2a6_abf71588_09cf4f3c_u128.to_be_bytes()[..],
                0xd014f9a8_c9ee2589_e13f0cc8_b6630ca6,
            ),
            (
                &[0x8e73b0f7_da0e6452_u64, 0xc810f32b_809079e5, 0x62f8ead2_522c6b7b]
                    .map(u64::to_be_bytes)
                    .concat(),
                0xe98ba06f_448c773c_8ecc7204_01002202,
            ),
            (
                &[0x603deb10_15ca71be_2b73aef0_857d7781_u128, 0x1f352c07_3b6108d7_2d9810a3_0914dff4]
                    .map(u128::to_be_bytes)
                    .concat(),
                0xfe4890d1_e6188d0b_046df344_706c631e_u128,
            ),
        ] {
            let prepared = CfbKey::new(cpu, key).unwrap();
            if cpu.aes.is_some() {
                assert_eq!(prepared.schedules.round_keys[key.len() / 4 + 6], last.to_be_bytes());
                assert_eq!(prepared.schedules.round_keys[0], key[..16]);
            }
        }
    }
}
