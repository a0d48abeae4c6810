//! Ciphers: every library beside the engine.

use super::rows::Row;
use super::sides::{Batch, InTurn, Jobs, RowSide, Texts, first, raw_keys};
use super::{AWS_LC, IPSEC_MB, OPENSSL, Stage, made, nothing};
use crate::experiment::promise::Measure;
use crate::load::LabError;
use engine::{CipherAlgorithm, CipherDirection, CipherItem, Level, Mode};
use peers::aws_lc_ffi as aws;
use peers::ipsec_mb_ffi::{IpsecMb, JOB_BYTES_MAX, Job, JobCipher};
use peers::openssl_ffi::{self, OpenSsl};

impl Stage<'_> {
    pub(super) fn cipher(
        &mut self,
        row: &Row,
        (algorithm, mode, direction): (CipherAlgorithm, Mode, CipherDirection),
        streams: usize,
        bytes: usize,
    ) -> Result<Measure, LabError> {
        let encipher = direction == CipherDirection::Encipher;
        let raw = raw_keys(algorithm, streams);
        let texts = Texts::new(streams, bytes);
        let keys = made(row, raw.iter().map(|key| self.engine.cipher_key(algorithm, key)))?;
        let (engine, mut data) = (self.engine, texts.clone());
        let (mut job_data, mut ipsec_keys) = (texts.clone(), IpsecKeys::default());
        let items = keys.iter().zip(data.with_ivs());
        let mut ours = Batch {
            items: items.map(|(key, (text, iv))| CipherItem::new(key, iv, text)).collect(),
            run: |items: &mut [CipherItem<'_>]| engine.cipher_batch(mode, direction, items),
            begin: |index: usize, item: &mut CipherItem<'_>| {
                item.data.copy_from_slice(&texts.start()[index]);
                item.chain = texts.ivs()[index];
            },
            answer: |item: &CipherItem<'_>, out: &mut Vec<u8>| {
                assert!(item.result.is_ok());
                out.extend_from_slice(item.data);
            },
        };
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            peers.push((OPENSSL, openssl_cipher(library, algorithm, mode, encipher, &raw, &texts)));
        }
        peers.push((AWS_LC, aws_cipher(algorithm, mode, encipher, &raw, &texts)));
        let is_aes = algorithm.block_bytes() == 16;
        // Its DES without AVX-512 is plain code of 0.6 MB/s: 512 streams would take seconds a call.
        if (is_aes || self.level == Level::Avx512)
            && let Some(manager) = self.ipsec_mb(is_aes)
            && let Some(jobs) = ipsec_cipher(
                &manager,
                (algorithm, mode, encipher),
                (&raw, &texts),
                &mut job_data,
                &mut ipsec_keys,
            )
        {
            let start = texts.start().iter().map(Vec::as_slice).collect();
            peers.push((IPSEC_MB, Box::new(Jobs { manager, jobs, start })));
        }
        self.compare(row, (streams * bytes) as f64, &mut ours, &mut peers)
    }
}

fn openssl_cipher<'a>(
    library: &'static OpenSsl,
    algorithm: CipherAlgorithm,
    mode: Mode,
    encipher: bool,
    raw: &[Vec<u8>],
    texts: &Texts,
) -> Box<dyn RowSide + 'a> {
    use openssl_ffi::{Cipher, Des};
    let texts = texts.clone();
    let open = |name: &str| raw.iter().filter_map(|key| Cipher::new(library, name, encipher, key)).collect();
    let begin = |key: &mut Cipher, iv: &[u8; 16]| key.start(iv);
    let step = |key: &mut Cipher, _: &mut [u8; 16], text: &mut [u8]| key.update(text);
    match (algorithm, mode) {
        (CipherAlgorithm::Des, mode) => {
            let keys = raw.iter().map(|key| Des::new(library, &first(key))).collect();
            let step = move |key: &mut Des, chain: &mut [u8; 16], text: &mut [u8]| match mode {
                Mode::Cbc => key.cbc(encipher, head(chain), text),
                Mode::Ecb => key.ecb(encipher, text),
                Mode::Ctr => by_blocks(chain, text, |blocks| key.ecb(true, blocks)),
            };
            Box::new(InTurn { keys, texts, begin: nothing, step })
        }
        // It has no triple DES in CTR: counters are enciphered in ECB.
        (CipherAlgorithm::Tdes3, Mode::Ctr) => {
            let keys: Vec<Cipher> = open("DES-EDE3-ECB");
            let step = |key: &mut Cipher, chain: &mut [u8; 16], text: &mut [u8]| {
                by_blocks(chain, text, |blocks| key.update(blocks));
            };
            Box::new(InTurn { keys, texts, begin: nothing, step })
        }
        (CipherAlgorithm::Tdes3, Mode::Ecb) => {
            Box::new(InTurn { keys: open("DES-EDE3-ECB"), texts, begin: nothing, step })
        }
        (CipherAlgorithm::Tdes3, Mode::Cbc) => {
            Box::new(InTurn { keys: open("DES-EDE3-CBC"), texts, begin, step })
        }
        (_, Mode::Ecb) => Box::new(InTurn { keys: open("AES-128-ECB"), texts, begin: nothing, step }),
        (_, Mode::Cbc) => Box::new(InTurn { keys: open("AES-128-CBC"), texts, begin, step }),
        (_, Mode::Ctr) => Box::new(InTurn { keys: open("AES-128-CTR"), texts, begin, step }),
    }
}

fn aws_cipher<'a>(
    algorithm: CipherAlgorithm,
    mode: Mode,
    encipher: bool,
    raw: &[Vec<u8>],
    texts: &Texts,
) -> Box<dyn RowSide + 'a> {
    let texts = texts.clone();
    match algorithm {
        CipherAlgorithm::Des => {
            let keys = raw.iter().map(|key| aws::Des::new(&first(key))).collect();
            let step = move |key: &mut aws::Des, chain: &mut [u8; 16], text: &mut [u8]| match mode {
                Mode::Cbc => key.cbc(encipher, head(chain), text),
                Mode::Ecb => key.ecb(encipher, text),
                Mode::Ctr => by_blocks(chain, text, |blocks| key.ecb(true, blocks)),
            };
            Box::new(InTurn { keys, texts, begin: nothing, step })
        }
        CipherAlgorithm::Tdes2 | CipherAlgorithm::Tdes3 => {
            let keys = raw.iter().map(|key| aws::Tdes::new(&first(key))).collect();
            let step = move |key: &mut aws::Tdes, chain: &mut [u8; 16], text: &mut [u8]| match mode {
                Mode::Cbc => key.cbc(encipher, head(chain), text),
                Mode::Ecb => key.ecb(encipher, text),
                Mode::Ctr => by_blocks(chain, text, |blocks| key.ecb(true, blocks)),
            };
            Box::new(InTurn { keys, texts, begin: nothing, step })
        }
        _ if mode == Mode::Ecb => {
            let keys = raw.iter().map(|key| aws::AesEcb::new(&first(key), encipher)).collect();
            let step = |key: &mut aws::AesEcb, _: &mut [u8; 16], text: &mut [u8]| key.update(text);
            Box::new(InTurn { keys, texts, begin: nothing, step })
        }
        _ => {
            let forward = encipher || mode == Mode::Ctr;
            let keys = raw.iter().filter_map(|key| aws::Aes::new(key, forward)).collect();
            let step = move |key: &mut aws::Aes, chain: &mut [u8; 16], text: &mut [u8]| match mode {
                Mode::Cbc => key.cbc(encipher, chain, text),
                Mode::Ecb | Mode::Ctr => key.ctr(chain, text),
            };
            Box::new(InTurn { keys, texts, begin: nothing, step })
        }
    }
}

/// CTR put together from ECB over eight-byte counters, some hundred at a time.
fn by_blocks(chain: &mut [u8; 16], text: &mut [u8], mut ecb: impl FnMut(&mut [u8])) {
    let mut stream = [0; 1024];
    let mut counter = u64::from_be_bytes(*head(chain));
    for part in text.chunks_mut(stream.len()) {
        let stream = &mut stream[..part.len().next_multiple_of(8)];
        for block in stream.as_chunks_mut::<8>().0 {
            *block = counter.to_be_bytes();
            counter = counter.wrapping_add(1);
        }
        ecb(stream);
        part.iter_mut().zip(stream).for_each(|(byte, key_byte)| *byte ^= *key_byte);
    }
    *head(chain) = counter.to_be_bytes();
}

fn head(chain: &mut [u8; 16]) -> &mut [u8; 8] {
    let (head, _) = chain.split_first_chunk_mut().unwrap_or_else(|| unreachable!("8 <= 16"));
    head
}

/// Keys of the multi-buffer library: the jobs refer to them.
#[derive(Default)]
struct IpsecKeys {
    des: Vec<peers::ipsec_mb_ffi::DesKey>,
    aes: Vec<peers::ipsec_mb_ffi::AesKey>,
    ivs: Vec<[u8; 16]>,
}

/// The jobs of a row; none where the library has no such operation, or its jobs are too short.
fn ipsec_cipher<'a>(
    manager: &IpsecMb,
    (algorithm, mode, encipher): (CipherAlgorithm, Mode, bool),
    (raw, texts): (&[Vec<u8>], &'a Texts),
    data: &'a mut Texts,
    made: &'a mut IpsecKeys,
) -> Option<Vec<Job<'a>>> {
    let is_aes = algorithm.block_bytes() == 16;
    if texts.start()[0].len() > JOB_BYTES_MAX || mode == Mode::Ecb || (mode == Mode::Ctr && !is_aes) {
        return None;
    }
    if is_aes {
        made.aes = raw.iter().map(|key| manager.aes128(&first(key))).collect();
    } else {
        made.des = raw.iter().map(|key| manager.des(key)).collect();
    }
    made.ivs = texts.ivs().to_vec();
    let made = &*made;
    let job = |(index, text): (usize, &'a mut Vec<u8>)| {
        let work = match (algorithm, mode) {
            (CipherAlgorithm::Des, _) => JobCipher::DesCbc(&made.des[index]),
            (_, _) if !is_aes => JobCipher::TdesCbc(&made.des[index]),
            (_, Mode::Ctr) => JobCipher::AesCtr(&made.aes[index]),
            _ => JobCipher::AesCbc(&made.aes[index]),
        };
        Job::Cipher { work, encipher, iv: &made.ivs[index], data: text }
    };
    Some(data.now_mut().iter_mut().enumerate().map(job).collect())
}
