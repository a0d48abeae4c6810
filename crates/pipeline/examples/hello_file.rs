//! Encrypts a file under a passphrase, and decrypts it again beside it: `hello_file FILE PASSPHRASE` writes FILE.pgp
//! and FILE.again.

use openpgp::{Form, Passphrase, Protection, SymmetricKeyAlgorithm, Timestamp};
use pipeline::{ByPassphrase, Decrypt, Encrypt, Input, Output, Run, decrypt, encrypt};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1);
    let (Some(file), Some(passphrase)) = (given.next(), given.next()) else {
        return Err("usage: hello_file FILE PASSPHRASE".into());
    };
    let engine = engine::Engine::new(engine::Options::default())?;
    let (run, now) = (Run::new(&engine), Timestamp::now());
    let passphrases = [Passphrase::new(passphrase.into_bytes())];
    let (sealed, again) = (format!("{file}.pgp"), format!("{file}.again"));
    let output = |path: &str| Output::Path { path: path.into(), overwrite: false };

    let form = Form { cipher: SymmetricKeyAlgorithm::AES256, protection: Protection::SeipdV1 };
    let what = Encrypt { passphrases: &passphrases, ..Encrypt::new(form, now) };
    let summary = encrypt(Input::Path(file.into()), output(&sealed), &what, &run)?;
    println!("{sealed}: {} bytes of text in {} bytes", summary.text_bytes, summary.output_bytes);

    let opener = ByPassphrase::new(&passphrases);
    let summary = decrypt(Input::Path(sealed.into()), output(&again), &Decrypt::new(&opener, now), &run)?;
    println!("{again}: {} bytes", summary.output_bytes);
    Ok(())
}
