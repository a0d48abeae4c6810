//! Whether the time of a card's answer tells which premaster secrets are well formed.
//!
//! ```text
//! cargo build --release && cargo run --release -p terminator --example premasters -- [CIPHERTEXTS]
//! ```
//! Ciphertexts (100,000), right ones and each of Bleichenbacher's wrong ones in an order by chance, go one after the
//! other through the queue of a throw-away home's card. Printed is Welch's t of each wrong form's times and the right
//! one's, without the slowest tenth: beyond 4.5 either way a form can be told. It fails where an answer is not 48
//! bytes, or where a form of the length and the size of right ones can be told.

use facility::private_keys;
use openssl::pkey::PKey;
use openssl::rand::rand_bytes;
use openssl::rsa::{Padding, Rsa};
use std::process::{Command, ExitCode};
use std::time::Instant;
use system_tests::Installation;
use wire::Label;

const BYTES: usize = 256;
const SECRET: usize = 48;
/// Beyond it two sets of times differ.
const BOUND: f64 = 4.5;

/// A form of a ciphertext, and whether anybody sees that it is none.
const FORMS: [(&str, bool); 11] = [
    ("right", false),
    ("first byte 01", false),
    ("type 01", false),
    ("zero in the padding", false),
    ("no zero", false),
    ("secret of 47 bytes", false),
    ("secret of 49 bytes", false),
    ("version 03 01", false),
    ("not below the modulus", true),
    ("ciphertext of 128 bytes", true),
    ("ciphertext of 257 bytes", true),
];

fn random(bytes: usize) -> Vec<u8> {
    let mut random = vec![0; bytes];
    rand_bytes(&mut random).expect("random bytes");
    random
}

fn ciphertext(key: &Rsa<openssl::pkey::Private>, form: usize) -> Vec<u8> {
    let mut block = random(BYTES);
    block.iter_mut().for_each(|byte| *byte |= 1);
    let end = BYTES - SECRET - 1;
    block[..2].copy_from_slice(&[0, 2]);
    block[end..end + 3].copy_from_slice(&[0, 3, 3]);
    match form {
        1 => block[0] = 1,
        2 => block[1] = 1,
        3 => block[4] = 0,
        4 => block[end] = 1,
        5 => block[end..end + 2].copy_from_slice(&[1, 0]),
        6 => block[end - 1..end + 1].copy_from_slice(&[0, 3]),
        7 => block[end + 2] = 1,
        8 => return [vec![0xFF; 16], random(BYTES - 16)].concat(),
        9 => return random(128),
        10 => return random(BYTES + 1),
        _ => {}
    }
    let mut out = vec![0; BYTES];
    key.public_encrypt(&block, &mut out, Padding::NONE).expect("the block is below the modulus");
    out
}

fn main() -> ExitCode {
    let count = std::env::args().nth(1).map_or(100_000, |text| text.parse().expect("a number"));
    let installation = Installation::new(1, 0);
    let key = loop {
        let key = Rsa::generate(2048).expect("a key");
        // A block that begins with 01 is to be below the modulus, and one of FF is not.
        if key.n().to_vec()[..8] != [0xFF; 8] {
            break key;
        }
    };
    let pem = PKey::from_rsa(key.clone()).and_then(|key| key.private_key_to_pem_pkcs8()).expect("PEM");
    let file = installation.beside("premasters.key");
    std::fs::write(&file, pem).expect("a file beside the home");
    let mut command = Command::new(system_tests::program("cryptand"));
    command.arg("--home").arg(installation.home.folder()).args(["key", "import", "WEB.ONE"]).arg(&file);
    assert!(command.args(["--use", "tls"]).status().expect("the command runs").success());
    let (facility, label) = (installation.facility(), Label::new("WEB.ONE").expect("a label").to_field());

    let requests: Vec<(usize, Vec<u8>)> = (0..count)
        .map(|_| {
            let form =
                random(2).iter().fold(0, |number, byte| number << 8 | usize::from(*byte)) % FORMS.len();
            (form, ciphertext(&key, form))
        })
        .collect();
    let (mut times, mut wrong) = (vec![Vec::new(); FORMS.len()], 0u32);
    for (form, ciphertext) in &requests {
        let ask = private_keys::premaster(&label, ciphertext);
        let begun = Instant::now();
        let answered = facility.ask(0, &ask).expect("the card answers");
        times[*form].push(begun.elapsed().as_nanos() as f64 / 1e3);
        let is_whole = answered.got().premaster_secret.len() == SECRET;
        wrong += u32::from(!answered.codes().is_ok() || !is_whole);
    }
    let mut all: Vec<f64> = times.iter().flatten().copied().collect();
    all.sort_by(f64::total_cmp);
    let slowest = all[all.len() * 9 / 10];
    times.iter_mut().for_each(|times| times.retain(|time| *time <= slowest));
    let of: Vec<_> = times.iter().map(|times| moments(times)).collect();
    let mut is_told = false;
    for ((name, is_public), [mean, variance]) in FORMS.iter().zip(&of) {
        let t = (mean - of[0][0]) / (variance + of[0][1]).sqrt();
        println!("{name:24} mean {mean:8.2} us, t {t:6.2}");
        is_told |= !is_public && t.abs() > BOUND;
    }
    println!("{count} ciphertexts; answers that are not 48 bytes: {wrong}");
    if is_told || wrong > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The mean, and the variance of the mean.
fn moments(times: &[f64]) -> [f64; 2] {
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|time| (time - mean) * (time - mean)).sum::<f64>() / (count - 1.0);
    [mean, variance / count]
}
