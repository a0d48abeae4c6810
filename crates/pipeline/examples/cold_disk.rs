//! What io_uring gains on a disk whose files are not in memory: encrypts and decrypts one file with each layout of the stages in turn,
//! the page cache emptied before each run and every output synced, and compares what comes out.
//!
//! `cold_disk FOLDER [MIB] [ROUNDS]`, as root, since it empties the page cache and turns io_uring off and on again
//! (`kernel.io_uring_disabled`) to measure the threads that read and write without it.

use engine::{Engine, Options};
use openpgp::form::CHUNK_BITS_WRITTEN;
use openpgp::{AeadAlgorithm, Form, Passphrase, Protection, SymmetricKeyAlgorithm, Timestamp};
use pipeline::{Async, ByPassphrase, Decrypt, Encrypt, Input, Output, Run, Summary};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

/// Turns io_uring off for all processes where it is 2 (Linux 6.6 and later).
const SWITCH: &str = "/proc/sys/kernel/io_uring_disabled";

/// A layout of the stages: its name, its stages, and whether io_uring is on.
const LAYOUTS: [(&str, Option<Async>, bool); 4] = [
    ("default: equal threads", None, true),
    ("io,cipher with io_uring", Some(Async { io: true, compress: false, cipher: true }), true),
    ("io,cipher with threads", Some(Async { io: true, compress: false, cipher: true }), false),
    ("cipher alone", Some(Async { io: false, compress: false, cipher: true }), true),
];

/// Puts the switch back as it was.
struct Switch(String);

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = fs::write(SWITCH, &self.0);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = arguments.first() else { return Err("usage: cold_disk FOLDER [MIB] [ROUNDS]".into()) };
    let number =
        |index: usize, default| arguments.get(index).map_or(Ok(default), |text| text.parse::<usize>());
    let (mebibytes, rounds) = (number(1, 1024)?, number(2, 5)?);
    let path = |name: &str| Path::new(folder).join(name);
    let engine = Engine::new(Options::default())?;
    let _switch = Switch(fs::read_to_string(SWITCH)?);

    let mut block = vec![0; 1 << 20];
    let mut plain = fs::File::create(path("cold.plain"))?;
    for _ in 0..mebibytes {
        engine.random(&mut block);
        plain.write_all(&block)?;
    }
    let digest = digest(&engine, &path("cold.plain"))?;

    let passphrases = [Passphrase::new(b"test".to_vec())];
    let protection = Protection::SeipdV2 { aead: AeadAlgorithm::Ocb, chunk_bits: CHUNK_BITS_WRITTEN };
    let form = Form { cipher: SymmetricKeyAlgorithm::AES128, protection };
    let encrypt = Encrypt { passphrases: &passphrases, ..Encrypt::new(form, Timestamp::now()) };
    let opener = ByPassphrase::new(&passphrases);
    let decrypt = Decrypt::new(&opener, Timestamp::now());

    // Elapsed and processor time in seconds, of each layout and round.
    let mut taken = vec![[Vec::new(), Vec::new(), Vec::new(), Vec::new()]; LAYOUTS.len()];
    for round in 0..rounds {
        for turn in 0..LAYOUTS.len() {
            let layout = (turn + round) % LAYOUTS.len();
            let (name, stages, has_ring) = LAYOUTS[layout];
            fs::write(SWITCH, if has_ring { "0" } else { "2" })?;
            let run = Run { stages, is_durable: true, ..Run::new(&engine) };
            let times = &mut taken[layout];
            for (index, from, to) in [(0, "cold.plain", "cold.pgp"), (2, "cold.pgp", "cold.again")] {
                let output = Output::Path { path: path(to), overwrite: true };
                empty_cache()?;
                let begun = Instant::now();
                let summary: Summary = match index {
                    0 => pipeline::encrypt(Input::Path(path(from)), output, &encrypt, &run)?,
                    _ => pipeline::decrypt(Input::Path(path(from)), output, &decrypt, &run)?,
                };
                times[index].push(begun.elapsed().as_secs_f64());
                times[index + 1].push(summary.cpu_all.as_secs_f64());
            }
            if self::digest(&engine, &path("cold.again"))? != digest {
                return Err(format!("{name}: what was decrypted is not what was encrypted").into());
            }
        }
    }
    println!("{mebibytes} MiB, {rounds} rounds, medians in seconds (smallest to largest), outputs synced");
    println!("{:26} {:>24} {:>8} {:>24} {:>8}", "", "encrypt", "of CPU", "decrypt", "of CPU");
    for ((name, ..), times) in LAYOUTS.iter().zip(&mut taken) {
        let [encrypted, encrypted_cpu, decrypted, decrypted_cpu] = times.each_mut().map(|times| shown(times));
        let first = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        println!(
            "{name:26} {encrypted:>24} {:>8} {decrypted:>24} {:>8}",
            first(&encrypted_cpu),
            first(&decrypted_cpu)
        );
    }
    for name in ["cold.plain", "cold.pgp", "cold.again"] {
        fs::remove_file(path(name))?;
    }
    Ok(())
}

/// The median, and the smallest and the largest.
fn shown(times: &mut [f64]) -> String {
    times.sort_by(f64::total_cmp);
    let (first, last) = (times.first().copied().unwrap_or(0.0), times.last().copied().unwrap_or(0.0));
    format!("{:.2} ({first:.2} to {last:.2})", times.get(times.len() / 2).copied().unwrap_or(0.0))
}

/// Has the kernel write out what is to be written, and forget what it has read.
fn empty_cache() -> std::io::Result<()> {
    rustix::fs::sync();
    fs::write("/proc/sys/vm/drop_caches", "3")
}

fn digest(engine: &Engine, path: &Path) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut state = engine.hash_state(engine::HashAlgorithm::Sha256)?;
    let (mut file, mut block) = (fs::File::open(path)?, vec![0; 1 << 20]);
    loop {
        match file.read(&mut block)? {
            0 => return Ok(state.finish()[..32].to_vec()),
            count => state.update(&block[..count]),
        }
    }
}
