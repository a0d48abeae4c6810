//! What the tests of keys share: other programs in folders of their own, and messages put together by hand.
#![allow(dead_code)] // each test program uses its part

use openpgp::certificate::Certificate;
use openpgp::private_key::PrivateCertificate;
use openpgp::session_key::{self, SessionKeyPacket};
use openpgp::{Form, Passphrase, Protection, SymmetricKeyAlgorithm, Timestamp};
use pgp::packet::{PacketHeader, PublicKeyEncryptedSessionKey, Signature, SymKeyEncryptedSessionKey};
use pgp::types::{PacketLength, Tag};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// SEIPDv1 with AES-256.
pub const FORM: Form = Form { cipher: SymmetricKeyAlgorithm::AES256, protection: Protection::SeipdV1 };

pub fn now() -> Timestamp {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    Timestamp::from_secs(u32::try_from(seconds).unwrap())
}

pub fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text.as_bytes().to_vec())
}

/// A program's own folder; removed, with the agent that gpg started in it, when dropped.
pub struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self { folder: needs::short_folder() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// Runs gpg; gives what it wrote.
    pub fn gpg(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
        let quiet = [
            "--batch",
            "--yes",
            "--quiet",
            "--no-tty",
            "--pinentry-mode",
            "loopback",
            "--trust-model",
            "always",
        ];
        self.run("gpg", &[&quiet[..], arguments].concat(), input)
    }

    pub fn run(&self, program: &str, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
        let mut child = Command::new(program)
            .args(arguments)
            .env("GNUPGHOME", self.folder.path())
            .env("HOME", self.folder.path())
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{program} does not start (see scripts/need test): {error}"));
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A program that fails early closes its input: what it says counts then.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(output.stdout) } else { Err(said) }
    }

    /// As `run`, for what the program says rather than gives.
    pub fn said(&self, program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program)
            .args(arguments)
            .env("GNUPGHOME", self.folder.path())
            .env("HOME", self.folder.path())
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // The agent of this folder alone, if one was started.
        let _ = Command::new("gpgconf")
            .args(["--kill", "gpg-agent"])
            .env("GNUPGHOME", self.folder.path())
            .stderr(Stdio::null())
            .status();
    }
}

pub fn one(bytes: &[u8]) -> Certificate {
    let mut all = Certificate::parse_all(bytes).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

pub fn one_private(bytes: &[u8]) -> PrivateCertificate {
    let mut all = PrivateCertificate::parse_all(bytes).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// The packets of a message or signature: header and body of each.
pub fn packets(bytes: &[u8]) -> Vec<(PacketHeader, Vec<u8>)> {
    let mut rest = bytes;
    let mut packets = Vec::new();
    while !rest.is_empty() {
        let header = PacketHeader::try_from_reader(&mut rest).unwrap();
        let bytes = match header.packet_length() {
            PacketLength::Fixed(bytes) => bytes as usize,
            _ => rest.len(),
        };
        packets.push((header, rest[..bytes].to_vec()));
        rest = &rest[bytes..];
    }
    packets
}

/// The same without the form of the headers, which a program may choose.
pub fn bodies(bytes: &[u8]) -> Vec<(Tag, Vec<u8>)> {
    packets(bytes).into_iter().map(|(header, body)| (header.tag(), body)).collect()
}

/// The packets before a message's body.
pub fn session_key_packets(message: &[u8]) -> Vec<SessionKeyPacket> {
    packets(message)
        .into_iter()
        .filter_map(|(header, body)| match header.tag() {
            Tag::PublicKeyEncryptedSessionKey => Some(SessionKeyPacket::Public(
                PublicKeyEncryptedSessionKey::try_from_reader(header, &body[..]).unwrap(),
            )),
            Tag::SymKeyEncryptedSessionKey => Some(SessionKeyPacket::Passphrase(
                SymKeyEncryptedSessionKey::try_from_reader(header, &body[..]).unwrap(),
            )),
            _ => None,
        })
        .collect()
}

pub fn public_packet(bytes: &[u8]) -> PublicKeyEncryptedSessionKey {
    match session_key_packets(bytes).remove(0) {
        SessionKeyPacket::Public(packet) => packet,
        SessionKeyPacket::Passphrase(_) => panic!("a packet for a passphrase"),
    }
}

pub fn passphrase_packet(bytes: &[u8]) -> SymKeyEncryptedSessionKey {
    match session_key_packets(bytes).remove(0) {
        SessionKeyPacket::Passphrase(packet) => packet,
        SessionKeyPacket::Public(_) => panic!("a packet for a key"),
    }
}

pub fn signatures(bytes: &[u8]) -> Vec<Signature> {
    packets(bytes)
        .into_iter()
        .filter(|(header, _)| header.tag() == Tag::Signature)
        .map(|(header, body)| Signature::try_from_reader(header, &body[..]).unwrap())
        .collect()
}

fn packet(tag: Tag, body: &[u8]) -> Vec<u8> {
    use pgp::ser::Serialize;
    let header = PacketHeader::new_fixed(tag, u32::try_from(body.len()).unwrap());
    [header.to_bytes().unwrap(), body.to_vec()].concat()
}

/// A whole message of SEIPD version 1: the packets that hold its session key, and its body.
pub fn message(session_key_packets: &[u8], key: &openpgp::PlainSessionKey, text: &[u8]) -> Vec<u8> {
    let cipher = key.sym_algorithm().unwrap();
    let literal = packet(Tag::LiteralData, &[&[b'b', 0, 0, 0, 0, 0][..], text].concat());
    let sealed = cipher.encrypt_protected(rand::thread_rng(), session_key::bytes(key), &literal).unwrap();
    let body = packet(Tag::SymEncryptedProtectedData, &[&[1][..], &sealed].concat());
    [session_key_packets, &body].concat()
}
