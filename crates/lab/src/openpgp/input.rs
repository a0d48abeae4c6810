//! The text that the measures encrypt: a batch of payments made from a seed, of the length that the published
//! tables have, and compressing to what theirs did: about 23 % at ZIP level 1.
//!
//! The text is made in blocks, each from the seed and its own number alone. So threads make it side by side, and a part
//! of it is the beginning of the whole. A block is lines of fields, as in batches and exports: a running number, a day,
//! an account, an amount, words. Digits are random; words and separators repeat. Their proportion was chosen so that
//! zlib is as fast on the text as on ordinary tables and logs.

use seeded::Random;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Length of the published input, in bytes.
pub const PUBLISHED_BYTES: u64 = 1_506_431_796;
/// Length of a block, in bytes.
pub const BLOCK_BYTES: usize = 1 << 20;

/// Writes the first `bytes` bytes of the text with `threads` threads.
///
/// # Errors
/// Of the file.
pub fn write(path: &Path, bytes: u64, threads: usize) -> io::Result<()> {
    let file = File::create(path)?;
    for_each_block(bytes, threads, |at, block, _| file.write_all_at(block, at))
}

/// Whether a file is the first `bytes` bytes of the text.
///
/// # Errors
/// Of the file.
pub fn is_text(path: &Path, bytes: u64, threads: usize) -> io::Result<bool> {
    let file = File::open(path)?;
    let same = AtomicBool::new(file.metadata()?.len() == bytes);
    for_each_block(bytes, threads, |at, block, read| {
        if same.load(Ordering::Relaxed) {
            read.resize(block.len(), 0);
            file.read_exact_at(read, at)?;
            same.fetch_and(read == block, Ordering::Relaxed);
        }
        Ok(())
    })?;
    Ok(same.into_inner())
}

/// Makes the blocks of the text by several threads, the last block cut to length; calls a closure with each block, its
/// offset and a buffer.
fn for_each_block(
    bytes: u64,
    threads: usize,
    then: impl Fn(u64, &[u8], &mut Vec<u8>) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let next = AtomicU64::new(0);
    let work = || -> io::Result<()> {
        let (mut block, mut buffer) = (Vec::with_capacity(BLOCK_BYTES), Vec::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let at = number * BLOCK_BYTES as u64;
            if at >= bytes {
                return Ok(());
            }
            make(number, &mut block);
            let wanted = (bytes - at).min(BLOCK_BYTES as u64) as usize;
            then(at, &block[..wanted], &mut buffer)?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        // If a thread fails, the others run to their end.
        let join = |thread: std::thread::ScopedJoinHandle<'_, io::Result<()>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect::<Vec<_>>().into_iter().collect()
    })
}

/// Makes a block: exactly [`BLOCK_BYTES`] bytes.
pub fn make(number: u64, block: &mut Vec<u8>) {
    let mut random = Random(SEED ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93));
    let mut running = number * RECORDS_PER_BLOCK_MAX;
    block.clear();
    while block.len() < BLOCK_BYTES {
        running += 1;
        record(running, &mut random, block);
    }
    block.truncate(BLOCK_BYTES);
}

/// Appends a line of fields, as in batches and exports.
fn record(running: u64, random: &mut Random, out: &mut Vec<u8>) {
    digits(running, 10, out);
    out.extend_from_slice(b";2007-07-");
    digits(1 + random.below(28) as u64, 2, out);
    out.push(b';');
    digits(random.below(ACCOUNTS) as u64, 12, out);
    out.push(b';');
    let amount_max = [10_000, 100_000, 1_000_000][random.below(3)];
    digits(random.below(amount_max) as u64, 9, out);
    out.extend_from_slice(if random.below(16) == 0 { b";USD;" } else { b";EUR;" });
    let words = &*WORDS;
    for _ in 0..WORDS_PER_RECORD {
        // The lesser of two random indexes: words at the front come more often.
        let [a, b] = [(); 2].map(|()| random.below(words.len()));
        out.extend_from_slice(words[a.min(b)].as_bytes());
        out.push(b' ');
    }
    out.extend_from_slice(b";BOOKED;BRANCH 0417\n");
}

/// Appends the last `count` decimal digits of a number.
fn digits(mut value: u64, count: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + count, b'0');
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

const SEED: u64 = 0x1506_4317_9600_2007;
/// Upper bound of the lines of a block.
const RECORDS_PER_BLOCK_MAX: u64 = 10_000;
/// Number of different accounts.
const ACCOUNTS: usize = 1_000_000;
const WORDS_PER_RECORD: usize = 8;
/// Words for the purposes of payments.
static WORDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("../../data/words.txt").split_whitespace().collect());

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Engine, HashAlgorithm, Options};

    #[test]
    fn the_text_is_the_same_everywhere() {
        let engine = Engine::new(Options::default()).unwrap();
        let mut block = Vec::new();
        make(0, &mut block);
        let digest = engine.hash(HashAlgorithm::Sha256, &block).unwrap();
        assert_eq!(digest[..8], 0xafbc_36f6_7a5e_19fe_u64.to_be_bytes());
        assert_eq!(block.len(), BLOCK_BYTES);
        assert!(block.split(|byte| *byte == b'\n').count() < RECORDS_PER_BLOCK_MAX as usize);
    }

    #[test]
    fn a_part_is_the_beginning_of_the_whole_however_many_threads_write_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        write(&path, 3 * BLOCK_BYTES as u64 + 7, 3).unwrap();
        let three = std::fs::read(&path).unwrap();
        write(&path, BLOCK_BYTES as u64 + 9, 1).unwrap();
        let one = std::fs::read(&path).unwrap();
        assert_eq!((three.len(), one.len()), (3 * BLOCK_BYTES + 7, BLOCK_BYTES + 9));
        assert_eq!(three[..one.len()], one);
        assert!(three[..1000] != three[BLOCK_BYTES..][..1000]);
        let bytes = one.len() as u64;
        assert!(is_text(&path, bytes, 2).unwrap());
        assert!(!is_text(&path, bytes - 1, 2).unwrap() && !is_text(&path, bytes + 1, 2).unwrap());
        let mut changed = one;
        changed[BLOCK_BYTES + 3] ^= 1;
        std::fs::write(&path, changed).unwrap();
        assert!(!is_text(&path, bytes, 2).unwrap());
    }
}
