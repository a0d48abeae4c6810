//! Programs with the stateless OpenPGP command line (draft-dkg-openpgp-stateless-cli).

use crate::peer::{Key, Kind, Opening, Peer, Sealing};
use crate::run::{Files, Run};
use std::fs;
use std::path::{Path, PathBuf};

/// Exit codes that the draft names.
pub mod exit {
    /// No acceptable signatures found.
    pub const NO_SIGNATURE: i32 = 3;
    /// The certificate cannot be encrypted to.
    pub const CERT_CANNOT_ENCRYPT: i32 = 17;
    /// A required argument is missing.
    pub const MISSING_ARG: i32 = 19;
    /// Verifying was asked by halves.
    pub const INCOMPLETE_VERIFICATION: i32 = 23;
    /// Nothing given opens the message.
    pub const CANNOT_DECRYPT: i32 = 29;
    /// A passphrase that a person could not type.
    pub const PASSWORD_NOT_HUMAN_READABLE: i32 = 31;
    /// The option is not served.
    pub const UNSUPPORTED_OPTION: i32 = 37;
    /// The input is not of the kind that it should be.
    pub const BAD_DATA: i32 = 41;
    /// Text was expected.
    pub const EXPECTED_TEXT: i32 = 53;
    /// An output is there.
    pub const OUTPUT_EXISTS: i32 = 59;
    /// An input is not there.
    pub const MISSING_INPUT: i32 = 61;
    /// A private key is locked, and nothing given unlocks it.
    pub const KEY_IS_PROTECTED: i32 = 67;
    /// The subcommand is not served.
    pub const UNSUPPORTED_SUBCOMMAND: i32 = 69;
    /// The key cannot sign.
    pub const KEY_CANNOT_SIGN: i32 = 79;
    /// The profile is not served.
    pub const UNSUPPORTED_PROFILE: i32 = 89;
}

/// A program with the stateless command line.
pub struct Sop {
    name: String,
    program: PathBuf,
}

impl Sop {
    /// The program of this name or path.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, program }
    }

    /// A command line of this subcommand.
    pub fn run(&self, subcommand: &str) -> Run {
        Run::new(&self.program).arg(subcommand)
    }

    /// Generates a key; `options` are more arguments, such as a profile.
    ///
    /// # Errors
    /// What the program said.
    pub fn generate(&self, name: &str, options: &[&str], passphrase: Option<&str>) -> Result<Key, String> {
        let user_id = crate::gpg::user_id(name);
        let files = Files::new();
        let mut run = self.run("generate-key").args(options);
        if let Some(passphrase) = passphrase {
            run = run.arg(option("--with-key-password", &files.add("passphrase", passphrase.as_bytes())));
        }
        let secret = run.arg(&user_id).finish().output()?;
        let certificate = self.run("extract-cert").input(&secret).finish().output()?;
        let passphrase = passphrase.map(str::to_owned);
        Ok(Key { name: format!("{} {name}", self.name), user_id, secret, certificate, passphrase })
    }
}

/// An option with a path.
fn option(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

/// Passes what unlocks a private key, where something does.
fn unlocking(run: Run, files: &Files, key: &Key) -> Run {
    match &key.passphrase {
        Some(passphrase) => {
            run.arg(option("--with-key-password", &files.add("key-passphrase", passphrase.as_bytes())))
        }
        None => run,
    }
}

/// Whether a file of verifications names one.
fn is_verified(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| !text.trim().is_empty())
}

impl Peer for Sop {
    fn name(&self) -> &str {
        &self.name
    }

    fn encrypt(&self, text: &[u8], what: &Sealing<'_>) -> Result<Vec<u8>, String> {
        let files = Files::new();
        let mut run = self.run("encrypt").args(what.options);
        for (index, passphrase) in what.passphrases.iter().enumerate() {
            let path = files.add(&format!("passphrase{index}"), passphrase.as_bytes());
            run = run.arg(option("--with-password", &path));
        }
        if let Some(key) = what.signer {
            run = unlocking(run, &files, key);
            run = run.arg(option("--sign-with", &files.add("signer", &key.secret)));
        }
        for (index, key) in what.recipients.iter().enumerate() {
            run = run.arg(files.add(&format!("recipient{index}"), &key.certificate));
        }
        run.input(text).finish().output()
    }

    fn decrypt(&self, message: &[u8], with: &Opening<'_>) -> Result<Vec<u8>, String> {
        let files = Files::new();
        let mut run = self.run("decrypt");
        if let Some(passphrase) = with.passphrase {
            run = run.arg(option("--with-password", &files.add("passphrase", passphrase.as_bytes())));
        }
        let verifications = files.path("verifications");
        if let Some(signer) = with.signer {
            run = run.arg(option("--verifications-out", &verifications));
            run = run.arg(option("--verify-with", &files.add("signer", &signer.certificate)));
        }
        if let Some(key) = with.key {
            run = unlocking(run, &files, key).arg(files.add("key", &key.secret));
        }
        let output = run.input(message).finish().output()?;
        if with.signer.is_some() && !is_verified(&verifications) {
            return Err("no verification was written".to_owned());
        }
        Ok(output)
    }

    fn sign(&self, text: &[u8], kind: Kind, signer: &Key) -> Result<Vec<u8>, String> {
        let files = Files::new();
        let run = match kind {
            Kind::Detached => self.run("sign"),
            Kind::Inline => self.run("inline-sign"),
            Kind::Cleartext => self.run("inline-sign").arg("--as=clearsigned"),
        };
        unlocking(run, &files, signer).arg(files.add("key", &signer.secret)).input(text).finish().output()
    }

    fn verify(&self, signed: &[u8], text: &[u8], kind: Kind, signer: &Key) -> Result<Vec<u8>, String> {
        let files = Files::new();
        let certificate = files.add("signer", &signer.certificate);
        if kind == Kind::Detached {
            let signature = files.add("signature", signed);
            let said = self.run("verify").arg(signature).arg(certificate).input(text).finish().output()?;
            return if said.is_empty() {
                Err("no verification was written".to_owned())
            } else {
                Ok(text.to_vec())
            };
        }
        let verifications = files.path("verifications");
        let run = self.run("inline-verify").arg(option("--verifications-out", &verifications));
        let output = run.arg(certificate).input(signed).finish().output()?;
        if is_verified(&verifications) { Ok(output) } else { Err("no verification was written".to_owned()) }
    }
}
