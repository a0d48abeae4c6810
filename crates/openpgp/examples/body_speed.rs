//! How fast bodies, armor and framing are, memory to memory, on one core, beside the engine's kernel alone, or a copy
//! of memory where there is none: `body_speed [part of a row's name]`. Both sides run in turns; rates are medians over
//! processor time, the spread that of the middle half.

use engine::{CipherAlgorithm, CipherDirection, CipherItem, Engine, Mode, Options};
use engine::{EaxItem, GcmItem, HashAlgorithm, OcbItem};
use openpgp::body::chunked::{ChunkCipher, Header, TAG_BYTES};
use openpgp::body::seipd1::{Check, Decipherer, Opener, Sealer};
use openpgp::form::CHUNK_BITS_WRITTEN;
use openpgp::packet::armor::{ArmorKind, Armorer, Dearmorer};
use openpgp::packet::{Event, PartialLengths, Splitter, Tag};
use openpgp::{AeadAlgorithm, Form, Protection, SymmetricKeyAlgorithm};
use rustix::time::{ClockId, clock_gettime};

fn main() {
    let chosen = std::env::args().nth(1).unwrap_or_default();
    let engine = Engine::new(Options::default()).expect("the known answers");
    println!("level {}, pieces of {} KiB", engine.level(), PIECE_BYTES >> 10);
    println!("{:<36} {:>8} {:>8} {:>6}  {:>11}", "", "MB/s", "beside", "ratio", "spread");
    let run = |name: &str, row: &mut dyn FnMut() -> (Work, Work)| {
        if name.contains(&chosen) {
            measure(name, row());
        }
    };
    for (aead, name) in
        [(AeadAlgorithm::Gcm, "GCM"), (AeadAlgorithm::Ocb, "OCB"), (AeadAlgorithm::Eax, "EAX")]
    {
        for cipher in [SymmetricKeyAlgorithm::AES128, SymmetricKeyAlgorithm::AES256] {
            let form =
                Form { cipher, protection: Protection::SeipdV2 { aead, chunk_bits: CHUNK_BITS_WRITTEN } };
            let name = format!("AES-{} {name}", 8 * cipher.key_size());
            run(&format!("{name} seal"), &mut || {
                (seal_chunks(engine, form), kernel_seals(engine, aead, cipher))
            });
            run(&format!("{name} copy and open"), &mut || {
                (open_chunks(engine, form), kernel_opens(engine, aead, cipher))
            });
        }
    }
    for cipher in [SymmetricKeyAlgorithm::AES128, SymmetricKeyAlgorithm::AES256] {
        let name = format!("AES-{} CFB", 8 * cipher.key_size());
        let kernel = |way| cfb_sha1(engine, cipher, way);
        run(&format!("{name} + SHA-1 seal"), &mut || {
            (seal_seipd1(engine, cipher), kernel(CipherDirection::Encipher))
        });
        run(&format!("{name} + SHA-1 open"), &mut || {
            (open_seipd1(engine, cipher), kernel(CipherDirection::Decipher))
        });
        run(&format!("{name} open, cipher apart"), &mut || (decipher(engine, cipher), cfb(engine, cipher)));
    }
    run("CFB open, hash apart", &mut || (check(engine), sha1(engine)));
    let tdes = SymmetricKeyAlgorithm::TripleDES;
    run("TDES CFB + SHA-1 seal", &mut || (seal_seipd1(engine, tdes), tdes_kernel(engine, Mode::Cbc)));
    run("TDES CFB open, cipher apart", &mut || (decipher(engine, tdes), tdes_kernel(engine, Mode::Ecb)));
    run("armor, written", &mut || (armor(false), copy()));
    run("armor with checksum, written", &mut || (armor(true), copy()));
    run("armor, read", &mut || (dearmor(b"\n"), copy()));
    run("armor with CR LF, read", &mut || (dearmor(b"\r\n"), copy()));
    run("packets, pieces of 64 KiB, split", &mut || (split(), copy()));
}

/// Something that works through so many bytes.
struct Work {
    bytes: usize,
    run: Box<dyn FnMut()>,
}

impl Work {
    fn new(bytes: usize, run: impl FnMut() + 'static) -> Self {
        Self { bytes, run: Box::new(run) }
    }

    /// Megabytes in a second of processor time.
    fn rate(&mut self, times: usize) -> f64 {
        let begin = processor_seconds();
        (0..times).for_each(|_| (self.run)());
        (times * self.bytes) as f64 / 1e6 / (processor_seconds() - begin)
    }
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn measure(name: &str, (mut ours, mut kernel): (Work, Work)) {
    let times = (ours.rate(1).max(1.0) * 1e6 * TURN_SECONDS / ours.bytes as f64) as usize + 1;
    let (mut rates, mut kernels, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        rates.push(ours.rate(times));
        kernels.push(kernel.rate(times));
        ratios.push(rates[rates.len() - 1] / kernels[kernels.len() - 1]);
    }
    let [_, rate, _] = quartiles(rates);
    let [_, kernel, _] = quartiles(kernels);
    let [low, ratio, high] = quartiles(ratios);
    println!("{name:<36} {rate:>8.0} {kernel:>8.0} {ratio:>6.2}  {low:>5.2}-{high:.2}");
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[values.len() * quarter / 4])
}

fn text(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 131 % 251) as u8).collect()
}

fn chunk_cipher(engine: Engine, form: Form) -> ChunkCipher {
    let header = Header::random(&engine, form).expect("a form that is served");
    ChunkCipher::new(&engine, header, &text(form.cipher.key_size())).expect("a key of its length")
}

fn seal_chunks(engine: Engine, form: Form) -> Work {
    let cipher = chunk_cipher(engine, form);
    let (mut data, mut index) = (text(CHUNKS * (CHUNK_BYTES + TAG_BYTES)), 0);
    Work::new(data.len(), move || {
        cipher.seal_run(index, &mut data);
        index += 1;
    })
}

/// Opens what was sealed; a copy of it is made each time.
fn open_chunks(engine: Engine, form: Form) -> Work {
    let cipher = chunk_cipher(engine, form);
    let mut data = text(CHUNKS * (CHUNK_BYTES + TAG_BYTES));
    let clear = data.clone();
    cipher.seal_run(0, &mut data);
    let mut place = data.clone();
    Work::new(data.len(), move || {
        place.copy_from_slice(&data);
        cipher.open_run(0, &mut place).expect("it was sealed so");
        assert_eq!(place[..16], clear[..16]);
    })
}

/// The same chunks by the engine's batch.
fn kernel_seals(engine: Engine, aead: AeadAlgorithm, cipher: SymmetricKeyAlgorithm) -> Work {
    let mut data = text(CHUNKS * CHUNK_BYTES);
    let bytes = data.len();
    let key = text(cipher.key_size());
    macro_rules! kernel {
        ($key:ident, $item:ident, $batch:ident) => {{
            let key = engine.$key(&key).expect("a key of its length");
            Work::new(bytes, move || {
                let chunks = data.chunks_mut(CHUNK_BYTES).zip(&NONCES);
                let mut items: Vec<_> =
                    chunks.map(|(chunk, nonce)| $item::encipher(&key, nonce, b"12345", chunk)).collect();
                engine.$batch(CipherDirection::Encipher, &mut items);
            })
        }};
    }
    match aead {
        AeadAlgorithm::Gcm => kernel!(gcm_key, GcmItem, gcm_batch),
        AeadAlgorithm::Ocb => kernel!(ocb_key, OcbItem, ocb_batch),
        _ => kernel!(eax_key, EaxItem, eax_batch),
    }
}

/// The same chunks by the engine's batch, copied before as [`open_chunks`] does.
fn kernel_opens(engine: Engine, aead: AeadAlgorithm, cipher: SymmetricKeyAlgorithm) -> Work {
    let mut data = text(CHUNKS * CHUNK_BYTES);
    let bytes = data.len();
    let key = text(cipher.key_size());
    macro_rules! kernel {
        ($key:ident, $item:ident, $batch:ident) => {{
            let key = engine.$key(&key).expect("a key of its length");
            let chunks = data.chunks_mut(CHUNK_BYTES).zip(&NONCES);
            let mut items: Vec<_> =
                chunks.map(|(chunk, nonce)| $item::encipher(&key, nonce, b"12345", chunk)).collect();
            engine.$batch(CipherDirection::Encipher, &mut items);
            let tags: Vec<_> = items.iter().map(|item| item.tag).collect();
            let mut place = data.clone();
            Work::new(bytes, move || {
                place.copy_from_slice(&data);
                let chunks = place.chunks_mut(CHUNK_BYTES).zip(&NONCES).zip(&tags);
                let mut items: Vec<_> = chunks
                    .map(|((chunk, nonce), tag)| $item::decipher(&key, nonce, b"12345", chunk, tag))
                    .collect();
                engine.$batch(CipherDirection::Decipher, &mut items);
                assert!(items.iter().all(|item| item.result.is_ok()));
            })
        }};
    }
    match aead {
        AeadAlgorithm::Gcm => kernel!(gcm_key, GcmItem, gcm_batch),
        AeadAlgorithm::Ocb => kernel!(ocb_key, OcbItem, ocb_batch),
        _ => kernel!(eax_key, EaxItem, eax_batch),
    }
}

fn seal_seipd1(engine: Engine, cipher: SymmetricKeyAlgorithm) -> Work {
    let mut sealer = Sealer::new(&engine, cipher, &text(cipher.key_size())).expect("a key of its length");
    sealer.begin();
    let mut data = text(PIECE_BYTES);
    Work::new(data.len(), move || sealer.update(&mut data))
}

fn open_seipd1(engine: Engine, cipher: SymmetricKeyAlgorithm) -> Work {
    let key = text(cipher.key_size());
    let mut sealer = Sealer::new(&engine, cipher, &key).expect("a key of its length");
    let begin = sealer.begin();
    let mut opener = Opener::new(&engine, cipher, &key, &begin[1..]).expect("a prefix of its length");
    assert!(opener.prefix_repeats());
    let mut data = text(PIECE_BYTES);
    Work::new(data.len(), move || assert!(opener.update(&mut data).before().len() <= 22))
}

fn cfb_sha1(engine: Engine, cipher: SymmetricKeyAlgorithm, way: CipherDirection) -> Work {
    let mut state = engine.cfb_sha1(way, &text(cipher.key_size()), &[0; 16]).expect("a key of its length");
    let mut data = text(PIECE_BYTES);
    Work::new(data.len(), move || state.update(&mut data))
}

fn decipher(engine: Engine, cipher: SymmetricKeyAlgorithm) -> Work {
    let decipherer = Decipherer::new(&engine, cipher, &text(cipher.key_size())).expect("a key of its length");
    let mut data = text(PIECE_BYTES);
    let before = text(decipherer.block_bytes());
    Work::new(data.len(), move || decipherer.decipher_at(&before, &mut data))
}

fn cfb(engine: Engine, cipher: SymmetricKeyAlgorithm) -> Work {
    let way = CipherDirection::Decipher;
    let mut state = engine.cfb(way, &text(cipher.key_size()), &[0; 16]).expect("a key of its length");
    let mut data = text(PIECE_BYTES);
    Work::new(data.len(), move || state.update(&mut data))
}

fn check(engine: Engine) -> Work {
    let mut check = Check::new(&engine);
    let data = text(PIECE_BYTES);
    Work::new(data.len(), move || check.update(&data))
}

fn sha1(engine: Engine) -> Work {
    let mut state = engine.hash_state(HashAlgorithm::Sha1).expect("SHA-1 is served");
    let data = text(PIECE_BYTES);
    Work::new(data.len(), move || state.update(&data))
}

fn tdes_kernel(engine: Engine, mode: Mode) -> Work {
    let key = engine.cipher_key(CipherAlgorithm::Tdes3, &text(24)).expect("a key of its length");
    let mut data = text(PIECE_BYTES);
    Work::new(data.len(), move || {
        let mut item = [CipherItem::new(&key, &[0; 8], &mut data)];
        engine.cipher_batch(mode, CipherDirection::Encipher, &mut item);
    })
}

fn armor(has_checksum: bool) -> Work {
    let data = text(PIECE_BYTES);
    let mut out = Vec::new();
    Work::new(data.len(), move || {
        out.clear();
        let mut armorer = Armorer::new(ArmorKind::Message, has_checksum);
        armorer.update(&data, &mut out);
    })
}

/// In bytes of what the armor holds.
fn dearmor(line_end: &[u8]) -> Work {
    let data = text(PIECE_BYTES);
    let (armorer, mut lines) = (Armorer::new(ArmorKind::Message, false), Vec::new());
    armorer.begin(&[], &mut lines);
    let mut armorer = armorer;
    armorer.update(&data, &mut lines);
    armorer.finish(&mut lines);
    let lines: Vec<_> = lines.split_inclusive(|byte| *byte == b'\n').collect();
    let lines =
        lines.iter().flat_map(|line| [&line[..line.len() - 1], line_end].concat()).collect::<Vec<_>>();
    let mut out = Vec::new();
    Work::new(data.len(), move || {
        out.clear();
        let mut dearmorer = Dearmorer::new();
        dearmorer.update(&lines, &mut out).expect("it was written so");
        assert!(dearmorer.is_done() && out.len() == data.len());
    })
}

fn split() -> Work {
    let data = text(PIECE_BYTES);
    let mut lengths = PartialLengths::new(Tag::LiteralData, 16);
    let (mut stream, mut at) = (Vec::new(), 0);
    while let Some(piece) =
        lengths.next((data.len() - at) as u64, false).or_else(|| lengths.next((data.len() - at) as u64, true))
    {
        stream.extend_from_slice(&piece.header);
        stream.extend_from_slice(&data[at..at + piece.bytes as usize]);
        at += piece.bytes as usize;
    }
    Work::new(data.len(), move || {
        let (mut splitter, mut at, mut taken) = (Splitter::new(), 0, 0);
        loop {
            let step = splitter.step(&stream[at..]).expect("it was written so");
            at += step.consumed;
            match step.event {
                Event::Body => taken += step.consumed,
                Event::More => break,
                _ => {}
            }
        }
        assert_eq!(taken, PIECE_BYTES);
    })
}

fn copy() -> Work {
    let data = text(PIECE_BYTES);
    let mut out = Vec::new();
    Work::new(data.len(), move || {
        out.clear();
        out.extend_from_slice(std::hint::black_box(&data));
    })
}

/// Chunks of a piece, for the kernels alone; of 12 bytes, as every mode takes them, their nonces.
const CHUNKS: usize = 4;
const CHUNK_BYTES: usize = 64 << CHUNK_BITS_WRITTEN;
const NONCES: [[u8; 12]; CHUNKS] = [[1; 12], [2; 12], [3; 12], [4; 12]];
/// A bit more than four chunks of 256 KiB with their tags: half of a large second-level cache.
const PIECE_BYTES: usize = (1 << 20) + 4096;
const TURNS: usize = 15;
const TURN_SECONDS: f64 = 0.03;
