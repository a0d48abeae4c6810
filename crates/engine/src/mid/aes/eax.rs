//! AES in EAX (Bellare, Rogaway and Wagner, "The EAX Mode of Operation", 2004; in OpenPGP RFC 9580, 5.13.1):
//! many independent requests in one call.
//!
//! OMAC_t(M) is the CMAC (SP 800-38B) of a block that holds the number t, followed by M. N' = OMAC_0(nonce), H' =
//! OMAC_1(associated data), C = CTR starting with N', C' = OMAC_2(C). The tag is N' XOR H' XOR C'.

use crate::algorithm::CipherDirection;
use crate::error::{CipherError, KeyError};
use crate::low::aes::eax::EaxKernel;
use crate::low::aes::ocb::{double, xor};
use crate::low::aes::streams::Kernel;
use crate::low::aes::{self, Block, Rounds};
use crate::low::aws_lc::aes::AesSchedule;
use crate::low::cpu::Cpu;
use crate::low::{wipe_block, wipe_bytes};
use crate::mid::aes::aead::AeadItem;
use crate::mid::aes::streams::{self, Stream};
use std::fmt;

/// One request to EAX. The nonce may have any length; 16 bytes are recommended.
pub type EaxItem<'a> = AeadItem<'a, EaxKey>;

/// An AES key prepared for EAX, in one allocation that does not move; wiped when dropped.
pub struct EaxKey {
    context: Box<Context>,
    key_bytes: usize,
}

struct Context {
    schedule: AesSchedule,
    /// K1 and K2 of CMAC, for a whole and for a partial last block.
    subkeys: [Block; 2],
    /// The chaining values after the blocks that hold 0, 1 and 2.
    starts: [Block; 3],
}

impl EaxKey {
    pub(crate) fn new(key: &[u8]) -> Result<EaxKey, KeyError> {
        let mut context = Box::new(Context {
            schedule: AesSchedule::empty(),
            subkeys: [[0; 16]; 2],
            starts: [number(0), number(1), number(2)],
        });
        let Context { schedule, subkeys: [whole, partial], starts } = &mut *context;
        if !schedule.set_encipher(key) {
            return Err(KeyError::EaxKeyLength { bytes: key.len() });
        }
        schedule.ecb(true, starts.as_flattened_mut());
        // The chaining value after the block 0 is the L of SP 800-38B, 6.1.
        *whole = double(&starts[0]);
        *partial = double(whole);
        Ok(EaxKey { context, key_bytes: key.len() })
    }

    /// Length of the key in bytes.
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        wipe_bytes(self.subkeys.as_flattened_mut());
        wipe_bytes(self.starts.as_flattened_mut());
    }
}

impl fmt::Debug for EaxKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "EaxKey(AES-{})", 8 * self.key_bytes)
    }
}

/// Runs every request; each gets its own result.
pub(crate) fn batch(cpu: Cpu, direction: CipherDirection, items: &mut [EaxItem<'_>]) {
    let bytes = items.iter().map(|item| item.data.len() + item.aad.len()).fold(0, usize::saturating_add);
    if let Some(lanes) = streams::choose(cpu, items.len(), bytes) {
        for items in items.chunks_mut(WAVE) {
            run_in_lanes(cpu, lanes, direction, items);
        }
        return;
    }
    let kernel = EaxKernel::choose(cpu);
    for item in items {
        item.result = run(kernel, direction, item);
    }
}

/// At most this many requests at a time, whose MACs are kept.
const WAVE: usize = 32;

/// Runs many requests: the MACs side by side in lanes, and CTR for each text by itself. A text is deciphered only after
/// its tag was verified.
fn run_in_lanes(cpu: Cpu, lanes: Kernel, direction: CipherDirection, items: &mut [EaxItem<'_>]) {
    // N', H' and C' of each request, in turn.
    let mut macs = [[[0; 16]; 3]; WAVE];
    for item in items.iter_mut() {
        item.result = item.check_tag_length();
    }
    let encipher = direction == CipherDirection::Encipher;
    if encipher {
        omacs(lanes, items, &mut macs, &[0, 1]);
        ctr_of_all(cpu, items, &macs);
        omacs(lanes, items, &mut macs, &[2]);
    } else {
        omacs(lanes, items, &mut macs, &[0, 1, 2]);
    }
    for (item, [first, header, text]) in items.iter_mut().zip(&macs).filter(|(item, _)| item.result.is_ok()) {
        let mut tag = xor(&xor(first, header), text);
        if encipher {
            item.put_tag(&tag);
        } else if !item.has_tag(&tag) {
            wipe_bytes(item.data);
            item.result = Err(CipherError::Authentication);
        }
        wipe_block(&mut tag);
    }
    if !encipher {
        ctr_of_all(cpu, items, &macs);
    }
    wipe_bytes(macs.as_flattened_mut().as_flattened_mut());
}

/// Computes the OMACs with these numbers, of all requests without an error.
fn omacs(lanes: Kernel, items: &[EaxItem<'_>], macs: &mut [[Block; 3]], numbers: &[usize]) {
    let macs = &mut macs.as_flattened_mut()[..3 * items.len()];
    for rounds in Rounds::ALL {
        let streams = macs.iter_mut().enumerate().filter_map(|(at, chain)| {
            let (item, t) = (&items[at / 3], at % 3);
            let context = &*item.key.context;
            let keys = context.schedule.round_keys()?;
            if keys.rounds() != rounds || item.result.is_err() || !numbers.contains(&t) {
                return None;
            }
            let (start, text, last) = context.split(t, [item.nonce, item.aad, item.data][t]);
            *chain = start;
            Some(Stream { keys, chain, text, last: Some(last) })
        });
        streams::run(lanes, rounds, streams);
    }
}

/// Runs CTR from N' on over the texts of all requests without an error.
fn ctr_of_all(cpu: Cpu, items: &mut [EaxItem<'_>], macs: &[[Block; 3]]) {
    for (item, [first, ..]) in items.iter_mut().zip(macs).filter(|(item, _)| item.result.is_ok()) {
        let mut counter = *first;
        aes::ctr(cpu, &item.key.context.schedule, &mut counter, item.data);
        wipe_block(&mut counter);
    }
}

fn run(kernel: EaxKernel, direction: CipherDirection, item: &mut EaxItem<'_>) -> Result<(), CipherError> {
    item.check_tag_length()?;
    let context = &*item.key.context;
    let mut first = context.omac(0, item.nonce);
    let header = context.omac(1, item.aad);
    let encipher = direction == CipherDirection::Encipher;
    let mut tag = xor(&xor(&first, &header), &context.text(kernel, encipher, &mut first, item.data));
    wipe_block(&mut first);
    if encipher {
        item.put_tag(&tag);
        return Ok(());
    }
    let is_authentic = item.has_tag(&tag);
    wipe_block(&mut tag);
    if !is_authentic {
        wipe_bytes(item.data);
        return Err(CipherError::Authentication);
    }
    Ok(())
}

impl Context {
    /// OMAC_t of a text.
    fn omac(&self, t: usize, text: &[u8]) -> Block {
        let (mut chain, whole, mut last) = self.split(t, text);
        self.schedule.cbc_mac(&mut chain, whole);
        chain = xor(&chain, &last);
        self.schedule.ecb(true, &mut chain);
        wipe_block(&mut last);
        chain
    }

    /// Splits OMAC_t of a text into the first chaining value, the whole blocks before the last one, and the last block,
    /// padded and XORed with its subkey.
    fn split<'a>(&self, t: usize, text: &'a [u8]) -> (Block, &'a [u8], Block) {
        if text.is_empty() {
            // The block that holds t is itself the last block.
            return ([0; 16], text, xor(&number(t as u8), &self.subkeys[0]));
        }
        let (whole, rest) = text.split_at(before_last(text.len()));
        (self.starts[t], whole, self.last(rest))
    }

    /// Runs CTR over the text from `counter` on; returns OMAC_2 of the ciphertext.
    fn text(&self, kernel: EaxKernel, encipher: bool, counter: &mut Block, data: &mut [u8]) -> Block {
        if data.is_empty() {
            return self.omac(2, data);
        }
        let (whole, rest) = data.split_at_mut(before_last(data.len()));
        let mut chain = self.starts[2];
        kernel.run(encipher, &self.schedule, counter, &mut chain, whole);
        let mut keystream = *counter;
        self.schedule.ecb(true, &mut keystream);
        let received = self.last(rest);
        for (byte, key_byte) in rest.iter_mut().zip(&keystream) {
            *byte ^= key_byte;
        }
        let mut last = if encipher { self.last(rest) } else { received };
        chain = xor(&chain, &last);
        self.schedule.ecb(true, &mut chain);
        wipe_block(&mut keystream);
        wipe_block(&mut last);
        chain
    }

    /// The last block of a text, of 1 to 16 bytes, padded and XORed with its subkey.
    fn last(&self, rest: &[u8]) -> Block {
        let mut block = [0; 16];
        block[..rest.len()].copy_from_slice(rest);
        let subkey = match block.get_mut(rest.len()) {
            None => &self.subkeys[0],
            Some(end) => {
                *end = 0x80;
                &self.subkeys[1]
            }
        };
        xor(&block, subkey)
    }
}

/// A number as a block.
const fn number(t: u8) -> Block {
    let mut block = [0; 16];
    block[15] = t;
    block
}

/// Length of a text, which must not be empty, without its last block, in bytes.
fn before_last(bytes: usize) -> usize {
    (bytes - 1) / 16 * 16
}
