//! Sequoia's `sq` 0.27.

use crate::gpg::user_id;
use crate::peer::{Key, Kind, Opening, Peer, Sealing};
use crate::run::{Files, Run};

/// The program `sq`.
pub struct Sq;

impl Sq {
    /// Generates a key of this cipher suite (`sq key generate --cipher-suite`).
    ///
    /// # Errors
    /// What the program said.
    pub fn generate(&self, name: &str, suite: &str) -> Result<Key, String> {
        let files = Files::new();
        let export = files.path("key");
        let run =
            Run::new("sq").args(["key", "generate", "--cipher-suite", suite, "--userid", &user_id(name)]);
        run.arg("--export").arg(&export).finish().output()?;
        let certificate = Run::new("sq").args(["key", "extract-cert"]).arg(&export).finish().output()?;
        Ok(Key {
            name: format!("sq {name}"),
            user_id: user_id(name),
            secret: files.read("key")?,
            certificate,
            passphrase: None,
        })
    }
}

impl Peer for Sq {
    fn name(&self) -> &str {
        "sq"
    }

    fn encrypt(&self, text: &[u8], what: &Sealing<'_>) -> Result<Vec<u8>, String> {
        assert!(what.passphrases.is_empty(), "sq 0.27 asks on the terminal");
        let files = Files::new();
        let mut run = Run::new("sq").arg("encrypt").args(what.options);
        for (index, key) in what.recipients.iter().enumerate() {
            run = run.arg("--recipient-cert").arg(files.add(&index.to_string(), &key.certificate));
        }
        if let Some(key) = what.signer {
            run = run.arg("--signer-key").arg(files.add("signer", &key.secret));
        }
        run.arg(files.add("text", text)).finish().output()
    }

    fn decrypt(&self, message: &[u8], with: &Opening<'_>) -> Result<Vec<u8>, String> {
        assert!(with.passphrase.is_none(), "sq 0.27 asks on the terminal");
        let files = Files::new();
        let mut run = Run::new("sq").arg("decrypt");
        if let Some(key) = with.key {
            run = run.arg("--recipient-key").arg(files.add("key", &key.secret));
        }
        if let Some(key) = with.signer {
            run = run.arg("--signer-cert").arg(files.add("signer", &key.certificate));
            run = run.args(["--signatures", "1"]);
        }
        run.arg(files.add("message", message)).finish().output()
    }

    fn sign(&self, text: &[u8], kind: Kind, signer: &Key) -> Result<Vec<u8>, String> {
        let files = Files::new();
        let run = Run::new("sq").arg("sign").arg("--signer-key").arg(files.add("signer", &signer.secret));
        let run = match kind {
            Kind::Inline => run,
            Kind::Detached => run.arg("--detached"),
            Kind::Cleartext => run.arg("--cleartext-signature"),
        };
        run.arg(files.add("text", text)).finish().output()
    }

    fn verify(&self, signed: &[u8], text: &[u8], kind: Kind, signer: &Key) -> Result<Vec<u8>, String> {
        let files = Files::new();
        let run =
            Run::new("sq").arg("verify").arg("--signer-cert").arg(files.add("signer", &signer.certificate));
        let signed = files.add("signed", signed);
        if kind == Kind::Detached {
            run.arg("--detached").arg(signed).arg(files.add("text", text)).finish().output()?;
            return Ok(text.to_vec());
        }
        run.arg(signed).finish().output()
    }
}
