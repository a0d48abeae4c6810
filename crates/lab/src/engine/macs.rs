//! MACs: the retail MAC, HMAC and CMAC; and PIN translations, which are columns as the first.

use super::rows::Row;
use super::sides::{Batch, Reading, RowSide, Texts, first, reading, tag_jobs};
use super::{AWS_LC, IPSEC_MB, OPENSSL, Stage, made};
use crate::experiment::promise::Measure;
use crate::load::{LabError, keys};
use engine::{
    CipherAlgorithm, CipherDirection, Column, ColumnError, ColumnMut, DesColumns, Engine, HashAlgorithm,
    HmacItem, MacAlgorithm, MacItem, Mode, WrappedColumn,
};
use peers::aws_lc_ffi as aws;
use peers::ipsec_mb_ffi::Job;
use peers::openssl_ffi;

impl Stage<'_> {
    /// Retail MACs; setting up the keys, which come with each request, is part of the work.
    pub(super) fn retail(&mut self, row: &Row, requests: usize, bytes: usize) -> Result<Measure, LabError> {
        let raw: Vec<[u8; 16]> = (0..requests).map(|job| first(&keys::des_key(job, 16))).collect();
        let texts = Texts::new(requests, bytes);
        let (engine, start) = (self.engine, texts.start());
        let (keys, side_by_side) = (raw.concat(), start.concat());
        let mut ours = Reading::new(|out: &mut Vec<u8>| {
            out.resize(8 * requests, 0);
            let done = Column::contiguous(&keys, 16, requests).and_then(|keys| {
                let texts = Column::contiguous(&side_by_side, bytes, requests)?;
                engine.mac_columns(MacAlgorithm::X919, keys, texts, out)
            });
            assert_eq!(done, Ok(()));
        });
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            let mut room = vec![0; bytes];
            let one = move |key: &mut [u8; 16], text: &Vec<u8>, out: &mut Vec<u8>| {
                out.extend_from_slice(&library.x919(key, text, &mut room));
            };
            peers.push((OPENSSL, reading(raw.clone(), start, one)));
        }
        let mut room = vec![0; bytes];
        let one = move |key: &mut [u8; 16], text: &Vec<u8>, out: &mut Vec<u8>| {
            out.extend_from_slice(&aws_x919(key, text, &mut room));
        };
        peers.push((AWS_LC, reading(raw.clone(), start, one)));
        self.compare(row, requests as f64, &mut ours, &mut peers)
    }

    /// The DES work of a PIN translation: two keys of each request are unwrapped from their tokens, and a block is
    /// deciphered with one and enciphered with the other. OpenSSL gets the wrapping key prepared; the engine prepares
    /// it in each call.
    pub(super) fn pin(&mut self, row: &Row, requests: usize) -> Result<Measure, LabError> {
        let (engine, over) = (self.engine, first::<16>(&keys::des_key(0x914, 16)));
        let tokens: Vec<[u8; 32]> =
            (0..requests).map(|job| first(&keys::test_bytes(0x914, job, 32))).collect();
        let blocks: Vec<[u8; 8]> = (0..requests).map(|job| first(&keys::test_bytes(0x915, job, 8))).collect();
        let (side_by_side, mut kept) = (tokens.concat(), DesColumns::new());
        let mut ours = Reading::new(|out: &mut Vec<u8>| {
            out.extend_from_slice(blocks.as_flattened());
            assert_eq!(translated(&engine, &over, &side_by_side, &mut kept, out), Ok(()));
        });
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            let over = openssl_ffi::Tdes2::new(library, &over);
            let one = move |tokens: &mut [u8; 32], block: &[u8; 8], out: &mut Vec<u8>| {
                let mut clear = [0; 32];
                for (clear, token) in clear.as_chunks_mut().0.iter_mut().zip(tokens.as_chunks().0) {
                    *clear = over.block(false, token);
                }
                let [from, to] =
                    [0, 16].map(|at| openssl_ffi::Tdes2::new(library, &first(&clear[at..at + 16])));
                out.extend_from_slice(&to.block(true, &from.block(false, block)));
            };
            peers.push((OPENSSL, reading(tokens.clone(), &blocks, one)));
        }
        self.compare(row, requests as f64, &mut ours, &mut peers)
    }

    pub(super) fn hmac(
        &mut self,
        row: &Row,
        algorithm: HashAlgorithm,
        messages: usize,
        bytes: usize,
    ) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let raw: Vec<Vec<u8>> = (0..messages).map(|job| keys::test_bytes(0x43AC, job, 20)).collect();
        let prepared = made(row, raw.iter().map(|key| engine.hmac_key(algorithm, key)))?;
        let (sha256, start) = (algorithm == HashAlgorithm::Sha256, texts.start());
        let tag_bytes = algorithm.digest_bytes();
        let mut ours = Batch {
            items: prepared.iter().zip(start).map(|(key, text)| HmacItem::new(key, text)).collect(),
            run: |items: &mut [HmacItem<'_>]| engine.hmac_batch(items),
            begin: |_, _: &mut HmacItem<'_>| {},
            answer: |item: &HmacItem<'_>, out: &mut Vec<u8>| {
                assert!(item.result.is_ok());
                out.extend_from_slice(&item.mac[..tag_bytes]);
            },
        };
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = Vec::new();
        let mut mac = [0; 32];
        if let Some(library) = self.openssl() {
            let keys = raw.iter().map(|key| openssl_ffi::Hmac::new(library, sha256, key)).collect();
            let one = move |key: &mut openssl_ffi::Hmac, text: &Vec<u8>, out: &mut Vec<u8>| {
                key.mac(text, &mut mac);
                out.extend_from_slice(&mac[..tag_bytes]);
            };
            peers.push((OPENSSL, reading(keys, start, one)));
        }
        let keys = raw.iter().map(|key| aws::Hmac::new(sha256, key)).collect();
        let one = move |key: &mut aws::Hmac, text: &Vec<u8>, out: &mut Vec<u8>| {
            key.mac(text, &mut mac);
            out.extend_from_slice(&mac[..tag_bytes]);
        };
        peers.push((AWS_LC, reading(keys, start, one)));
        if let Some(manager) = self.ipsec_mb(false) {
            let keys: Vec<_> = raw.iter().map(|key| manager.hmac(sha256, key)).collect();
            let side =
                tag_jobs(manager, keys, start, tag_bytes, |key, data, tag| Job::Hmac { key, data, tag });
            peers.push((IPSEC_MB, side));
        }
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }

    /// HMACs whose keys come with each request; setting up the keys is part of the work.
    pub(super) fn hmac_of_raw_keys(
        &mut self,
        row: &Row,
        algorithm: HashAlgorithm,
        messages: usize,
        bytes: usize,
    ) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let raw: Vec<Vec<u8>> = (0..messages).map(|job| keys::test_bytes(0x43AC, job, 20)).collect();
        let (sha256, start) = (algorithm == HashAlgorithm::Sha256, texts.start());
        let tag_bytes = algorithm.digest_bytes();
        let (side_by_side, texts_side_by_side) = (raw.concat(), start.concat());
        let mut ours = Reading::new(|out: &mut Vec<u8>| {
            out.resize(messages * tag_bytes, 0);
            let done = Column::contiguous(&side_by_side, 20, messages).and_then(|keys| {
                let texts = Column::contiguous(&texts_side_by_side, bytes, messages)?;
                engine.hmac_columns(algorithm, keys, texts, out)
            });
            assert_eq!(done, Ok(()));
        });
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = Vec::new();
        let mut mac = [0; 32];
        if let Some(library) = self.openssl() {
            let one = move |key: &mut Vec<u8>, text: &Vec<u8>, out: &mut Vec<u8>| {
                openssl_ffi::Hmac::new(library, sha256, key).mac(text, &mut mac);
                out.extend_from_slice(&mac[..tag_bytes]);
            };
            peers.push((OPENSSL, reading(raw.clone(), start, one)));
        }
        let one = move |key: &mut Vec<u8>, text: &Vec<u8>, out: &mut Vec<u8>| {
            aws::Hmac::new(sha256, key).mac(text, &mut mac);
            out.extend_from_slice(&mac[..tag_bytes]);
        };
        peers.push((AWS_LC, reading(raw.clone(), start, one)));
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }

    pub(super) fn cmac(&mut self, row: &Row, messages: usize, bytes: usize) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let raw: Vec<[u8; 16]> = (0..messages).map(|job| first(&keys::test_bytes(0xAE5, job, 16))).collect();
        let prepared = made(row, raw.iter().map(|key| engine.mac_key(MacAlgorithm::CmacAes128, key)))?;
        let start = texts.start();
        let mut ours = Batch {
            items: prepared.iter().zip(start).map(|(key, text)| MacItem::new(key, text)).collect(),
            run: |items: &mut [MacItem<'_>]| {
                items.iter_mut().for_each(|item| item.chain = [0; 16]);
                engine.mac_batch(items);
            },
            begin: |_, _: &mut MacItem<'_>| {},
            answer: |item: &MacItem<'_>, out: &mut Vec<u8>| {
                assert!(item.result.is_ok());
                out.extend_from_slice(&item.mac);
            },
        };
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = Vec::new();
        let mut mac = [0; 16];
        if let Some(library) = self.openssl() {
            let keys = raw.iter().map(|key| openssl_ffi::Cmac::new(library, key)).collect();
            let one = move |key: &mut openssl_ffi::Cmac, text: &Vec<u8>, out: &mut Vec<u8>| {
                key.mac(text, &mut mac);
                out.extend_from_slice(&mac);
            };
            peers.push((OPENSSL, reading(keys, start, one)));
        }
        let keys = raw.iter().map(aws::Cmac::new).collect();
        let one = move |key: &mut aws::Cmac, text: &Vec<u8>, out: &mut Vec<u8>| {
            key.mac(text, &mut mac);
            out.extend_from_slice(&mac);
        };
        peers.push((AWS_LC, reading(keys, start, one)));
        if let Some(manager) = self.ipsec_mb(true) {
            let keys: Vec<_> = raw.iter().map(|key| manager.cmac(key)).collect();
            let side = tag_jobs(manager, keys, start, 16, |key, data, tag| Job::Cmac { key, data, tag });
            peers.push((IPSEC_MB, side));
        }
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }
}

/// Translates the blocks of all requests in place.
pub(super) fn translated(
    engine: &Engine,
    over: &[u8; 16],
    tokens: &[u8],
    kept: &mut DesColumns,
    blocks: &mut [u8],
) -> Result<(), ColumnError> {
    let (algorithm, requests) = (CipherAlgorithm::Tdes2, blocks.len() / 8);
    let column = |at: usize| Column::strided(&tokens[at..], 16, 32, requests);
    let under = [&over[..]];
    let wrapped = [column(0)?, column(16)?].map(|keys| WrappedColumn { algorithm, under: &under, keys });
    engine.unwrap_des_columns(kept, &wrapped)?;
    let mut blocks = ColumnMut::contiguous(blocks, 8, requests)?;
    for (index, direction) in [CipherDirection::Decipher, CipherDirection::Encipher].into_iter().enumerate() {
        let Some(keys) = kept.key(index) else { continue };
        engine.cipher_columns(algorithm, Mode::Ecb, direction, keys, &mut [], &mut blocks)?;
    }
    kept.clear();
    Ok(())
}

fn aws_x919(key: &[u8; 16], text: &[u8], room: &mut [u8]) -> [u8; 8] {
    let (left, right) = (aws::Des::new(&first(key)), aws::Des::new(&first(&key[8..])));
    let mut chain = [0; 8];
    room.copy_from_slice(text);
    left.cbc(true, &mut chain, room);
    right.ecb(false, &mut chain);
    left.ecb(true, &mut chain);
    chain
}
