//! The interface of every peer.

/// A key pair with its certificate.
#[derive(Clone, Debug)]
pub struct Key {
    /// What it is, for messages: `"gpg rsa3072"`.
    pub name: String,
    /// Its user id.
    pub user_id: String,
    /// The private key, armored.
    pub secret: Vec<u8>,
    /// The certificate, armored.
    pub certificate: Vec<u8>,
    /// What locks the private key.
    pub passphrase: Option<String>,
}

/// What a message is to be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sealing<'a> {
    /// Certificates of those who can open it.
    pub recipients: &'a [&'a Key],
    /// Passphrases that can open it.
    pub passphrases: &'a [&'a str],
    /// Who signs it.
    pub signer: Option<&'a Key>,
    /// More arguments of that program, such as gpg's `--cipher-algo`.
    pub options: &'a [&'a str],
}

/// What opens a message, and who may have signed it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opening<'a> {
    /// Whose private key.
    pub key: Option<&'a Key>,
    /// A passphrase of the message.
    pub passphrase: Option<&'a str>,
    /// Who may have signed; where given, a valid signature is demanded.
    pub signer: Option<&'a Key>,
}

/// How a signature goes with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text and signature in one message.
    Inline,
    /// The signature alone.
    Detached,
    /// The cleartext signature framework.
    Cleartext,
}

/// Every kind.
pub const KINDS: [Kind; 3] = [Kind::Inline, Kind::Detached, Kind::Cleartext];

impl Kind {
    /// Whether what was read is what was signed. The line end before the signature of a cleartext message is not
    /// part of its text (RFC 9580, 7.1): some write it out, some do
    /// not, some add one; nor do they agree about line ends.
    pub fn is_same(self, read: &[u8], signed: &[u8]) -> bool {
        let lines = |text: &[u8]| {
            let text = String::from_utf8_lossy(text).replace("\r\n", "\n");
            text.trim_end_matches('\n').to_owned()
        };
        if self == Self::Cleartext { lines(read) == lines(signed) } else { read == signed }
    }
}

/// A program that reads and writes OpenPGP. Errors are what it said, for people.
pub trait Peer: Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// Makes an encrypted message.
    ///
    /// # Errors
    /// What the program said.
    fn encrypt(&self, text: &[u8], what: &Sealing<'_>) -> Result<Vec<u8>, String>;

    /// Opens an encrypted message.
    ///
    /// # Errors
    /// What the program said.
    fn decrypt(&self, message: &[u8], with: &Opening<'_>) -> Result<Vec<u8>, String>;

    /// Signs; gives the message, or the detached signature.
    ///
    /// # Errors
    /// What the program said.
    fn sign(&self, text: &[u8], kind: Kind, signer: &Key) -> Result<Vec<u8>, String>;

    /// Verifies a signed message, or `text` with a detached signature; gives the text.
    ///
    /// # Errors
    /// What the program said; where no valid signature of `signer` is there.
    fn verify(&self, signed: &[u8], text: &[u8], kind: Kind, signer: &Key) -> Result<Vec<u8>, String>;
}
