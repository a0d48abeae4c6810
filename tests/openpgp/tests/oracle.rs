//! An attacker who sends modified messages and sees every answer learns nothing of the content of an RSA or ElGamal
//! packet: whatever is wrong, the real programs print the same message, with the same exit code.

use openpgp_tests::peer::Key;
use openpgp_tests::run::{Files, Finished, Run, program};
use openpgp_tests::samples;
use std::collections::BTreeSet;

/// Exit codes, as `cryptand decrypt --help` and the draft of the stateless command line have them.
const DAMAGED: i32 = 5;
const NOT_OPENED: i32 = 4;
const CANNOT_DECRYPT: i32 = 29;

/// More than one block of the pipeline's.
const TEXT_BYTES: usize = 600_000;

/// A folder with a key store.
struct Place(Files);

impl Place {
    fn new() -> Self {
        let place = Self(Files::new());
        place.0.add("text", &vec![b'x'; TEXT_BYTES]);
        place
    }

    fn run(&self, name: &str, arguments: &[&str]) -> Finished {
        let run = Run::new(program(name)).args(arguments).within(&self.0.path("."));
        run.env("CRYPTAND_KEYRING", self.0.path("keys")).env("HOME", self.0.path("home")).finish()
    }

    fn cryptand(&self, arguments: &[&str]) -> Vec<u8> {
        self.run("cryptand", arguments).output().unwrap()
    }

    /// A new key, in the store.
    fn generate(&self, arguments: &[&str], user_id: &str) {
        self.cryptand(&[&["pgp", "generate", "--no-passphrase"], arguments, &[user_id]].concat());
    }

    fn import(&self, key: &Key) {
        self.0.add("imported", &key.secret);
        self.cryptand(&["pgp", "import", "imported"]);
    }

    /// A message of the text.
    fn message(&self, arguments: &[&str]) -> Vec<u8> {
        self.cryptand(&[&["encrypt", "--quiet", "-o", "-"], arguments, &["text"]].concat())
    }

    /// All that comes of decrypting a message, to those who see the program from outside.
    fn answer(&self, program: &str, arguments: &[&str], message: &[u8]) -> (Option<i32>, Vec<u8>, String) {
        self.0.add("message.pgp", message);
        let done = match program {
            "cryptand" => self.run(program, &[&["decrypt", "--json", "--batch"], arguments].concat()),
            _ => Run::new(openpgp_tests::run::program(program)).args(arguments).input(message).finish(),
        };
        assert!(!self.0.path("out").exists(), "no file is made of it");
        (done.status.code(), done.output, done.errors)
    }
}

/// Length of the first packet, which has a definite length.
fn packet_bytes(message: &[u8]) -> usize {
    let at = |index: usize| usize::from(message[index]);
    assert_eq!(message[0] & 0xc0, 0xc0, "the new form of headers");
    match at(1) {
        short @ ..192 => 2 + short,
        long @ 192..224 => 3 + ((long - 192) << 8) + at(2) + 192,
        _ => panic!("a session key packet is short"),
    }
}

/// The message with the largest number of 256 octets at the end of its packet, where a number of that length is there.
fn with_largest_number(message: &[u8], packet: usize) -> Vec<u8> {
    let mut large = message.to_vec();
    let number = packet - 256;
    let bits = u16::from_be_bytes([message[number - 2], message[number - 1]]);
    let begin = if (2041..=2048).contains(&bits) { number } else { packet - 50 };
    if begin == number {
        large[number - 2..number].copy_from_slice(&2048_u16.to_be_bytes());
    }
    large[begin..packet].fill(0xff);
    large
}

/// Everything that may be wrong with one message to one key; `other` is another message to it.
fn wrong(message: &[u8], other: &[u8]) -> Vec<Vec<u8>> {
    let packet = packet_bytes(message);
    let changed = |at: usize| {
        let mut changed = message.to_vec();
        changed[at] ^= 1;
        changed
    };
    let mut wrong = vec![
        // Numbers that decipher to anything but a block, and one that is not below a modulus of 2048 bits.
        changed(packet - 1),
        changed(packet - 100),
        with_largest_number(message, packet),
        // A block that is well formed, of another message's session key.
        [&other[..packet_bytes(other)], &message[packet..]].concat(),
        // The right session key, and a body that was changed: in its middle, at its end.
        changed(message.len() / 2),
        changed(message.len() - 1),
    ];
    wrong.dedup();
    assert_eq!(wrong.len(), 6);
    wrong
}

fn same_answer(place: &Place, program: &str, arguments: &[&str], messages: &[Vec<u8>], code: i32) {
    let mut answers = BTreeSet::new();
    for message in messages {
        answers.insert(place.answer(program, arguments, message));
    }
    assert_eq!(answers.len(), 1, "{program} {arguments:?}: {answers:#?}");
    let (said, output, errors) = answers.pop_first().unwrap();
    assert_eq!(said, Some(code), "{errors}");
    assert!(errors.contains("does not authenticate"), "{errors}");
    assert!(!output.starts_with(b"x"), "no text");
}

/// All of the answers, of both programs, to what is wrong with messages of these forms to a recipient.
fn all_the_same(place: &Place, modes: &[&str], recipient: &str, secret: &str) {
    for mode in modes {
        for to in ["-r", "--hidden-recipient"] {
            let message = || place.message(&["--mode", mode, to, recipient]);
            let messages = wrong(&message(), &message());
            same_answer(place, "cryptand", &["-o", "out", "message.pgp"], &messages, DAMAGED);
            if *mode == "cfb" {
                // Nothing leaves before all of it is authentic; chunks leave one by one.
                same_answer(place, "cryptand", &["-o", "-", "message.pgp"], &messages, DAMAGED);
            }
            same_answer(place, "cryptand-sop", &["decrypt", secret], &messages, CANNOT_DECRYPT);
        }
    }
}

#[test]
fn rsa() {
    for version in ["4", "6"] {
        let place = Place::new();
        let algorithm = ["--algorithm", "rsa2048", "--key-version", version];
        place.generate(&algorithm, "Ron <ron@example.org>");
        let secret = place.cryptand(&["pgp", "export", "--private", "Ron"]);
        let secret = place.0.add("secret", &secret).display().to_string();
        all_the_same(&place, &["cfb", "gcm"], "Ron", &secret);
    }
}

#[test]
fn elgamal() {
    let place = Place::new();
    let key = samples::gpg_dsa_elgamal();
    place.import(&key);
    let secret = place.0.add("secret", &key.secret).display().to_string();
    // ElGamal does not go with the other forms (RFC 9580, 5.1.4).
    all_the_same(&place, &["cfb"], &key.user_id, &secret);
}

#[test]
fn the_right_one_of_several_keys_and_passphrases_is_found() {
    let place = Place::new();
    for name in ["Ron", "Roy", "Rex"] {
        place.generate(&["--algorithm", "rsa2048"], &format!("{name} <{name}@example.org>"));
    }
    place.generate(&[], "Eve <eve@example.org>");
    place.0.add("right", b"the right one\n");
    place.0.add("wrong", b"the wrong one\n");
    let text = vec![b'x'; TEXT_BYTES];
    let opened = |message: &[u8], arguments: &[&str]| {
        place.0.add("message.pgp", message);
        let typed = [&["decrypt", "-q", "--batch", "-o", "-"], arguments, &["message.pgp"]].concat();
        assert_eq!(place.run("cryptand", &typed).output().as_ref(), Ok(&text), "{arguments:?}");
    };
    for mode in ["cfb", "gcm"] {
        for name in ["Ron", "Roy", "Rex", "Eve"] {
            opened(&place.message(&["--mode", mode, "--hidden-recipient", name]), &[]);
        }
        // A packet of two that does not open, for nobody or for somebody, stands in nobody's way.
        for (to, other) in [("--hidden-recipient", "Roy"), ("-r", "Eve"), ("-r", "Rex")] {
            let mut message = place.message(&["--mode", mode, to, "Ron", "-r", other]);
            let packet = packet_bytes(&message);
            message[packet - 1] ^= 1;
            opened(&message, &[]);
        }
        for to in ["-r", "--hidden-recipient"] {
            let typed = ["--mode", mode, to, "Ron", "--passphrase-file", "right"];
            let mut message = place.message(&typed);
            opened(&message, &[]);
            opened(&message, &["--passphrase-file", "wrong"]);
            let packet = packet_bytes(&message);
            message[packet - 1] ^= 1;
            opened(&message, &["--passphrase-file", "wrong", "--passphrase-file", "right"]);
        }
    }
}

#[test]
fn where_there_is_no_oracle_the_cause_is_told() {
    let place = Place::new();
    place.generate(&["--algorithm", "rsa2048"], "Ron <ron@example.org>");
    place.generate(&[], "Eve <eve@example.org>");
    place.0.add("right", b"the right one\n");
    place.0.add("wrong", b"the wrong one\n");
    let failure = |arguments: &[&str], message: &[u8]| {
        let typed = [&["-o", "out"], arguments, &["message.pgp"]].concat();
        let (code, _, errors) = place.answer("cryptand", &typed, message);
        assert_eq!(code, Some(NOT_OPENED), "{errors}");
        errors
    };
    for mode in ["cfb", "gcm"] {
        let message = place.message(&["--mode", mode, "--passphrase-file", "right"]);
        let said = failure(&["--passphrase-file", "wrong"], &message);
        assert!(said.contains("passphrase"), "{said}");
        // Somebody else's key is named.
        let message = place.message(&["--mode", mode, "-r", "Ron"]);
        let said = failure(&["--keyring", "empty"], &message);
        let id: String = message[if mode == "cfb" { 4..12 } else { 6..26 }]
            .iter()
            .map(|octet| format!("{octet:02X}"))
            .collect();
        assert!(said.contains(&id) && said.contains("not in the key store"), "{id}: {said}");
        // Key wrap says by itself that a packet was changed.
        let mut message = place.message(&["--mode", mode, "-r", "Eve"]);
        let packet = packet_bytes(&message);
        message[packet - 1] ^= 1;
        let said = failure(&[], &message);
        assert!(said.contains("the session key was not opened"), "{said}");
    }
}
