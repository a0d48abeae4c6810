//! The bulk of EAX (Bellare, Rogaway and Wagner, 2004): CTR over whole blocks, and the chain of CMAC over the
//! ciphertext, in one pass.
//!
//! The chain is serial: a block a whole encipherment's latency, in which an AES unit could do eight others.
//! The counters of the next blocks are enciphered there, so that CTR costs next to nothing and a message runs
//! as fast as its MAC alone.
//!
//! Limit: the latency of an AES instruction times the rounds, for 16 bytes. Wider counters change nothing,
//! so there is no form on 512-bit vectors; many messages go faster in lanes (`streams`).

use super::Block;
use crate::low::aws_lc::aes::AesSchedule;
use crate::low::cpu::{Aes, Cpu};

/// Text that one of the two passes runs over before the other, where they are not one: it stays in the cache.
const PART_BYTES: usize = 1024;

/// The kernel for a key.
#[derive(Clone, Copy)]
pub(crate) enum EaxKernel {
    /// Both in flight.
    Ni(Aes),
    /// One after the other, by the library.
    Portable,
}

impl EaxKernel {
    /// The best there is.
    #[inline]
    pub(crate) fn choose(cpu: Cpu) -> EaxKernel {
        if let Some(token) = cpu.aes {
            return EaxKernel::Ni(token);
        }
        EaxKernel::Portable
    }

    /// Whole blocks of text, in place; the chain takes the ciphertext, whichever side of the pass that is.
    /// The schedule must be one for enciphering. Bytes behind the last whole block are left alone.
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
