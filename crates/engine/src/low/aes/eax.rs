//! The bulk of EAX (Bellare, Rogaway and Wagner, 2004): CTR over whole blocks, and the CMAC chain over the ciphertext,
//! in one pass.
//!
//! The chain is serial: each block takes the latency of a whole encipherment, in which an AES unit could process eight
//! others. That time enciphers the counters of the next blocks, so CTR costs almost nothing, and a message runs as fast
//! as its MAC alone.
//!
//! Limit: the latency of an AES instruction times the rounds, for 16 bytes. Wider counters would change nothing, so
//! there is no form on 512-bit vectors; many messages are faster in lanes (`streams`).

use super::Block;
use crate::low::aws_lc::aes::AesSchedule;
use crate::low::cpu::{Aes, Cpu};

/// Bytes per step if CTR and MAC are two passes: the second finds the text in the cache.
const PART_BYTES: usize = 1024;

/// The kernel for a processor.
#[derive(Clone, Copy)]
pub(crate) enum EaxKernel {
    /// CTR and chain in flight together.
    Ni(Aes),
    /// CTR and chain one after the other, by the library.
    Portable,
}

impl EaxKernel {
    /// The best kernel for this processor.
    #[inline]
    pub(crate) fn choose(cpu: Cpu) -> EaxKernel {
        if let Some(token) = cpu.aes {
            return EaxKernel::Ni(token);
        }
        EaxKernel::Portable
    }

    /// Runs CTR and the chain over whole blocks of text, in place; the chain takes the ciphertext in both directions.
    /// The schedule must be for enciphering. Bytes after the last whole block are unchanged.
    pub(crate) fn run(
        self,
        encipher: bool,
        key: &AesSchedule,
        counter: &mut Block,
        chain: &mut Block,
        data: &mut [u8],
    ) {
        let (blocks, _) = data.as_chunks_mut::<16>();
        match (self, key.round_keys()) {
            (EaxKernel::Ni(token), Some(keys)) => {
                super::eax_ni::run(token, encipher, keys, counter, chain, blocks);
            }
            _ => {
                for part in blocks.as_flattened_mut().chunks_mut(PART_BYTES) {
                    if !encipher {
                        key.cbc_mac(chain, part);
                    }
                    key.ctr(counter, part);
                    if encipher {
                        key.cbc_mac(chain, part);
                    }
                }
            }
        }
    }
}
