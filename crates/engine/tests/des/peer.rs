//! OpenSSL's DES by its oldest functions, which need no provider and cost no context for each request.

use engine::Mode;
use std::ffi::{c_int, c_long};
// Links the library that the functions below are of.
use openssl as _;

/// A key of one to three parts.
pub struct Peer([Schedule; 3]);

#[repr(C)]
#[derive(Clone, Copy)]
struct Schedule([u64; 16]);

unsafe extern "C" {
    fn DES_set_key_unchecked(key: *const [u8; 8], schedule: *mut Schedule);
    fn DES_ecb3_encrypt(
        input: *const [u8; 8],
        output: *mut [u8; 8],
        first: *const Schedule,
        second: *const Schedule,
        third: *const Schedule,
        encipher: c_int,
    );
    fn DES_ede3_cbc_encrypt(
        input: *const u8,
        output: *mut u8,
        bytes: c_long,
        first: *const Schedule,
        second: *const Schedule,
        third: *const Schedule,
        chain: *mut [u8; 8],
        encipher: c_int,
    );
}

impl Peer {
    /// Single DES is triple DES with one key three times.
    pub fn new(key: &[u8]) -> Peer {
        let parts: Vec<[u8; 8]> = key.chunks(8).map(|part| part.try_into().unwrap()).collect();
        let order = match parts.len() {
            1 => [0, 0, 0],
            2 => [0, 1, 0],
            _ => [0, 1, 2],
        };
        Peer(order.map(|index| {
            let part = &parts[index];
            let mut schedule = Schedule([0; 16]);
            // SAFETY: eight bytes in, a schedule of sixteen round keys of eight bytes out.
            unsafe { DES_set_key_unchecked(part, &mut schedule) };
            schedule
        }))
    }

    /// A whole text in place; CTR is built from single blocks.
    pub fn run(&self, mode: Mode, encipher: bool, chain: &mut [u8; 8], text: &mut [u8]) {
        match mode {
            Mode::Ecb => text.as_chunks_mut().0.iter_mut().for_each(|block| self.block(encipher, block)),
            Mode::Cbc => {
                let [first, second, third] = &self.0;
                let bytes = c_long::try_from(text.len()).unwrap();
                // SAFETY: whole blocks of one exclusive slice in place, which the function allows; the
                // chaining value is one block.
                unsafe {
                    DES_ede3_cbc_encrypt(
                        text.as_ptr(),
                        text.as_mut_ptr(),
                        bytes,
                        first,
                        second,
                        third,
                        chain,
                        c_int::from(encipher),
                    );
                }
            }
            Mode::Ctr => {
                for part in text.chunks_mut(8) {
                    let mut keystream = *chain;
                    self.block(true, &mut keystream);
                    part.iter_mut().zip(keystream).for_each(|(byte, key_byte)| *byte ^= key_byte);
                    *chain = u64::from_be_bytes(*chain).wrapping_add(1).to_be_bytes();
                }
            }
        }
    }

    fn block(&self, encipher: bool, block: &mut [u8; 8]) {
        let block: *mut [u8; 8] = block;
        let [first, second, third] = &self.0;
        // SAFETY: one block in and out at the same place; the function reads it before it writes.
        unsafe { DES_ecb3_encrypt(block, block, first, second, third, c_int::from(encipher)) }
    }
}
