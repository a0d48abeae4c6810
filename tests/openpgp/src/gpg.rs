//! GnuPG 2.2, in a home of its own.

use crate::peer::{Key, Kind, Opening, Peer, Sealing};
use crate::run::{Files, Run, folder};
use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use tempfile::TempDir;

/// A GnuPG home; its agent ends with it.
pub struct Gpg {
    home: TempDir,
    /// Names of keys that are in it: importing takes longer than most of what is tested.
    imported: Mutex<BTreeSet<Vec<u8>>>,
}

impl Default for Gpg {
    fn default() -> Self {
        Self::new()
    }
}

impl Gpg {
    /// An empty home.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn new() -> Self {
        let home = folder();
        fs::write(home.path().join("gpg-agent.conf"), "allow-loopback-pinentry\n").expect("a new folder");
        Self { home, imported: Mutex::default() }
    }

    /// A command line in this home that asks nothing.
    pub fn run(&self) -> Run {
        Run::new("gpg").env("GNUPGHOME", self.home.path()).args([
            "--batch",
            "--yes",
            "--no-tty",
            "--quiet",
            "--trust-model=always",
            "--pinentry-mode=loopback",
        ])
    }

    /// Generates a key from the lines of a parameter file (GnuPG manual, unattended key generation).
    ///
    /// # Panics
    /// If gpg does not.
    pub fn generate(&self, name: &str, parameters: &str, passphrase: Option<&str>) -> Key {
        let user_id = user_id(name);
        let address = address(name);
        let name_lines = format!("Name-Real: {name}\nName-Email: {address}\n%commit\n");
        let file = match passphrase {
            None => format!("%no-protection\n{parameters}\n{name_lines}"),
            Some(passphrase) => format!("{parameters}\nPassphrase: {passphrase}\n{name_lines}"),
        };
        self.run().args(["--gen-key", "-"]).input(file.as_bytes()).finish().output().expect("gpg generates");
        let export = |what: &str| {
            let run = self.run().args(["--passphrase", passphrase.unwrap_or("")]);
            run.args(["--armor", what, &address]).finish().output().expect("gpg exports")
        };
        let key = Key {
            name: format!("gpg {name}"),
            user_id,
            secret: export("--export-secret-keys"),
            certificate: export("--export"),
            passphrase: passphrase.map(str::to_owned),
        };
        let mut imported = self.imported.lock().expect("no test panics with it");
        imported.extend([key.secret.clone(), key.certificate.clone()]);
        drop(imported);
        key
    }

    /// Imports a private key, or a certificate.
    ///
    /// # Errors
    /// What gpg said.
    pub fn import(&self, bytes: &[u8], passphrase: Option<&str>) -> Result<(), String> {
        let mut imported = self.imported.lock().expect("no test panics with it");
        if !imported.contains(bytes) {
            let run = self.run().args(["--passphrase", passphrase.unwrap_or("")]);
            run.arg("--import").input(bytes).finish().output()?;
            imported.insert(bytes.to_vec());
        }
        Ok(())
    }
}

impl Drop for Gpg {
    fn drop(&mut self) {
        // Of this home alone; an agent whose home is gone would end too, but some seconds later.
        Run::new("gpgconf").env("GNUPGHOME", self.home.path()).args(["--kill", "all"]).finish();
    }
}

impl Peer for Gpg {
    fn name(&self) -> &str {
        "gpg"
    }

    fn encrypt(&self, text: &[u8], what: &Sealing<'_>) -> Result<Vec<u8>, String> {
        let files = Files::new();
        let mut run = self.run().args(what.options);
        for (index, key) in what.recipients.iter().enumerate() {
            run = run.arg("--recipient-file").arg(files.add(&index.to_string(), &key.certificate));
        }
        if !what.recipients.is_empty() {
            run = run.arg("--encrypt");
        }
        assert!(what.passphrases.len() <= 1, "gpg asks once");
        if let Some(passphrase) = what.passphrases.first() {
            run = run.args(["--passphrase", passphrase, "--symmetric"]);
        }
        if let Some(key) = what.signer {
            self.import(&key.secret, key.passphrase.as_deref())?;
            if what.passphrases.is_empty() {
                run = run.args(["--passphrase", key.passphrase.as_deref().unwrap_or("")]);
            }
            run = run.args(["--local-user", &key.user_id, "--sign"]);
        }
        run.input(text).finish().output()
    }

    fn decrypt(&self, message: &[u8], with: &Opening<'_>) -> Result<Vec<u8>, String> {
        let key_passphrase = with.key.and_then(|key| key.passphrase.as_deref());
        if let Some(key) = with.key {
            self.import(&key.secret, key_passphrase)?;
        }
        let passphrase = with.passphrase.or(key_passphrase).unwrap_or("");
        let run = self.run().args(["--passphrase", passphrase, "--status-fd=2", "--decrypt"]);
        if let Some(signer) = with.signer {
            self.import(&signer.certificate, None)?;
        }
        let done = run.input(message).finish();
        if with.signer.is_some_and(|signer| !is_good(&done.errors, signer)) {
            return Err(format!("no good signature: {done}"));
        }
        done.output()
    }

    fn sign(&self, text: &[u8], kind: Kind, signer: &Key) -> Result<Vec<u8>, String> {
        self.import(&signer.secret, signer.passphrase.as_deref())?;
        let run = self.run().args(["--passphrase", signer.passphrase.as_deref().unwrap_or("")]);
        let how = match kind {
            Kind::Inline => "--sign",
            Kind::Detached => "--detach-sign",
            Kind::Cleartext => "--clear-sign",
        };
        run.args(["--local-user", &signer.user_id, how]).input(text).finish().output()
    }

    fn verify(&self, signed: &[u8], text: &[u8], kind: Kind, signer: &Key) -> Result<Vec<u8>, String> {
        self.import(&signer.certificate, None)?;
        let files = Files::new();
        let path = files.add("signed", signed);
        let run = self.run().arg("--status-fd=2");
        let done = match kind {
            Kind::Detached => run.arg("--verify").arg(&path).arg("-").input(text).finish(),
            Kind::Inline | Kind::Cleartext => run.arg("--decrypt").arg(&path).finish(),
        };
        if !is_good(&done.errors, signer) {
            return Err(format!("no good signature: {done}"));
        }
        let output = done.output()?;
        Ok(if kind == Kind::Detached { text.to_vec() } else { output })
    }
}

/// Whether gpg's status lines name a good signature with this user id.
fn is_good(status: &str, signer: &Key) -> bool {
    status.lines().any(|line| line.starts_with("[GNUPG:] GOODSIG ") && line.ends_with(&signer.user_id))
}

/// The address of a key of this name.
pub fn address(name: &str) -> String {
    format!("{}@example.org", name.replace(' ', "-"))
}

/// The user id of a key of this name.
pub fn user_id(name: &str) -> String {
    format!("{name} <{}>", address(name))
}
