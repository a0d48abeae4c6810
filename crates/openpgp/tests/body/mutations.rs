//! Messages changed at random: none makes a reader panic, gives another text, or takes more than bounded memory.

use super::memory;
use super::message::{engine, forms, literal, open, packet, sealed, session_key, text};
use openpgp::packet::Tag;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const MESSAGES: u64 = 10_000;
/// Far above what a message of 4 kB needs, far below what one could claim.
const MEMORY_BYTES_MAX: usize = 512 << 10;

#[test]
fn ten_thousand() {
    let text = text(900);
    let (mut originals, mut changed_texts) = (Vec::new(), 0);
    for form in forms() {
        // A session key for nobody, and padding, so that their places are changed too.
        let around = packet(Tag::PublicKeyEncryptedSessionKey, &[3, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 1, 1], 9);
        let padding = packet(Tag::Padding, &[7; 20], 9);
        let message = [around, sealed(&engine(), form, &literal(&text, 9), 9), padding].concat();
        originals.push((message, session_key(&form)));
    }
    for seed in 0..MESSAGES {
        let mut random = StdRng::seed_from_u64(seed);
        let (message, key) = &originals[random.gen_range(0..originals.len())];
        let (other, _) = &originals[random.gen_range(0..originals.len())];
        let mut changed = message.clone();
        for _ in 0..random.gen_range(1..4) {
            change(&mut random, &mut changed, other);
        }
        let piece_bytes = random.gen_range(1..2000);
        let (opened, peak_bytes) = memory::peak(|| open(&engine(), &changed, key, piece_bytes));
        assert!(peak_bytes < MEMORY_BYTES_MAX, "seed {seed}: {peak_bytes} bytes");
        match opened {
            Ok(opened) => assert_eq!(opened, text, "seed {seed}"),
            Err(_) => changed_texts += 1,
        }
    }
    assert!(changed_texts > MESSAGES / 2, "most changes hit what is protected");
}

fn change(random: &mut StdRng, message: &mut Vec<u8>, other: &[u8]) {
    if message.is_empty() {
        return;
    }
    let at = random.gen_range(0..message.len());
    let bytes = random.gen_range(0..=(message.len() - at).min(200));
    let range = at..at + bytes;
    match random.gen_range(0..9) {
        0 => message[at] ^= 1 << random.gen_range(0..8),
        1 => message[at] = random.r#gen(),
        // Where lengths and headers are.
        2 => {
            let near = random.gen_range(0..message.len().min(40));
            message[near] = random.r#gen();
        }
        3 => message.truncate(at),
        4 => drop(message.drain(range)),
        5 => {
            let copy = message[range].to_vec();
            message.splice(at..at, copy);
        }
        6 => message[range].fill(random.r#gen()),
        7 => {
            let from = random.gen_range(0..other.len());
            let part = &other[from..other.len().min(from + bytes)];
            message.splice(range, part.iter().copied());
        }
        _ => message.extend((0..bytes).map(|_| random.r#gen::<u8>())),
    }
}
