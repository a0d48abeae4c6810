//! Encrypts or decrypts one file under a passphrase, and prints what each stage cost.
//!
//! `rate encrypt|decrypt IN OUT [cfb|gcm|ocb|eax] [none|zip|zlib] [level] [threads] [io,compress,cipher]`

use engine::{Engine, Options};
use openpgp::form::CHUNK_BITS_WRITTEN;
use openpgp::{
    AeadAlgorithm, CompressionAlgorithm, Form, Passphrase, Protection, SymmetricKeyAlgorithm, Timestamp,
};
use pipeline::{Async, ByPassphrase, Compression, Decrypt, Encrypt, Input, Output, Run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize| arguments.get(index).map_or("", String::as_str);
    let aead = |aead| Protection::SeipdV2 { aead, chunk_bits: CHUNK_BITS_WRITTEN };
    let protection = match argument(3) {
        "gcm" => aead(AeadAlgorithm::Gcm),
        "ocb" => aead(AeadAlgorithm::Ocb),
        "eax" => aead(AeadAlgorithm::Eax),
        _ => Protection::SeipdV1,
    };
    let algorithm = match argument(4) {
        "zip" => CompressionAlgorithm::ZIP,
        "zlib" => CompressionAlgorithm::ZLIB,
        _ => CompressionAlgorithm::Uncompressed,
    };
    let stages = (!argument(7).is_empty()).then(|| Async {
        io: argument(7).contains("io"),
        compress: argument(7).contains("compress"),
        cipher: argument(7).contains("cipher"),
    });
    let engine = Engine::new(Options { limit: None, weak_algorithms: false })?;
    let run = Run { stages, threads: argument(6).parse().ok(), ..Run::new(&engine) };
    let passphrases = [Passphrase::new(b"test".to_vec())];
    let input = Input::Path(argument(1).into());
    let output = Output::Path { path: argument(2).into(), overwrite: true };
    let summary = if argument(0) == "encrypt" {
        let form = Form { cipher: SymmetricKeyAlgorithm::AES128, protection };
        let compression = Compression { algorithm, level: argument(5).parse().unwrap_or(1) };
        let what = Encrypt { passphrases: &passphrases, compression, ..Encrypt::new(form, Timestamp::now()) };
        pipeline::encrypt(input, output, &what, &run)?
    } else {
        let opener = ByPassphrase::new(&passphrases);
        let what = Decrypt::new(&opener, Timestamp::now());
        pipeline::decrypt(input, output, &what, &run)?
    };
    let megabytes = summary.input_bytes.max(summary.output_bytes) as f64 / 1e6;
    eprintln!(
        "{:.3} s, {:.3} CPU s, {:.0} MB/s, {:.0} MB per CPU s",
        summary.elapsed.as_secs_f64(),
        summary.cpu_all.as_secs_f64(),
        megabytes / summary.elapsed.as_secs_f64(),
        megabytes / summary.cpu_all.as_secs_f64(),
    );
    for time in summary.stages {
        eprintln!("  {:?}: {:.3} s", time.stage, (time.caller + time.offloaded).as_secs_f64());
    }
    Ok(())
}
