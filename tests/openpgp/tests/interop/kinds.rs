//! Keys of every kind, ours and theirs: whoever has one reads what the other makes for it, and believes what the
//! other signs with it.

use super::keys::{
    gpg_key, of_gpg, of_ours_v4, of_ours_v6, of_pysequoia_v6, of_sequoia_and_pgpainless, pgpainless,
    pysequoia,
};
use openpgp_tests::gpg::Gpg;
use openpgp_tests::ours::Ours;
use openpgp_tests::peer::{KINDS, Key, Kind, Opening, Peer, Sealing};
use openpgp_tests::sq::Sq;

const TEXT: &[u8] = b"To whom it may concern:\n- one line,\n- and another.\n";

/// A message for a key, made by one and opened by the other.
fn message(writer: &dyn Peer, reader: &dyn Peer, key: &Key) -> Result<(), String> {
    let pair = format!("{}, from {} to {}", key.name, writer.name(), reader.name());
    let sealing = Sealing { recipients: &[key], ..Sealing::default() };
    let message = writer.encrypt(TEXT, &sealing).map_err(|error| format!("{pair}: not written: {error}"))?;
    let opening = Opening { key: Some(key), ..Opening::default() };
    let text = reader.decrypt(&message, &opening).map_err(|error| format!("{pair}: not opened: {error}"))?;
    if text == TEXT { Ok(()) } else { Err(format!("{pair}: another text")) }
}

/// A signature of a key, made by one and verified by the other.
fn signature(writer: &dyn Peer, reader: &dyn Peer, kind: Kind, key: &Key) -> Result<(), String> {
    let pair = format!("{}, {kind:?}, from {} to {}", key.name, writer.name(), reader.name());
    let signed = writer.sign(TEXT, kind, key).map_err(|error| format!("{pair}: not signed: {error}"))?;
    let text =
        reader.verify(&signed, TEXT, kind, key).map_err(|error| format!("{pair}: not verified: {error}"))?;
    if kind.is_same(&text, TEXT) { Ok(()) } else { Err(format!("{pair}: another text")) }
}

/// Messages and signatures both ways, with the private key in both hands.
fn both_ways(theirs: &dyn Peer, key: &Key, kinds: &[Kind], failures: &mut Vec<String>) {
    let ours = Ours { armor: true, ..Ours::default() };
    let mut note = |result: Result<(), String>| failures.extend(result.err());
    note(message(&ours, theirs, key));
    note(message(theirs, &ours, key));
    for kind in kinds {
        note(signature(theirs, &ours, *kind, key));
        note(signature(&ours, theirs, *kind, key));
    }
}

fn none(failures: &[String]) {
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn keys_of_gpg() {
    let gpg = Gpg::new();
    let mut failures = Vec::new();
    for key in of_gpg() {
        both_ways(&gpg, key, &[Kind::Detached], &mut failures);
    }
    both_ways(&gpg, gpg_key("curve25519"), &KINDS, &mut failures);
    none(&failures);
}

#[test]
fn keys_of_sequoia_and_pgpainless() {
    let mut failures = Vec::new();
    let [by_sq, rsa, by_sqop, by_pgpainless, by_pysequoia] = of_sequoia_and_pgpainless() else {
        panic!("the list has five")
    };
    both_ways(&Sq, by_sq, &KINDS, &mut failures);
    both_ways(&Sq, rsa, &[Kind::Detached], &mut failures);
    both_ways(&Sq, by_sqop, &[Kind::Inline], &mut failures);
    both_ways(&pgpainless(), by_pgpainless, &KINDS, &mut failures);
    both_ways(pysequoia(), by_pysequoia, &KINDS, &mut failures);
    none(&failures);
}

#[test]
fn keys_of_pysequoia_of_version_6() {
    let mut failures = Vec::new();
    for key in of_pysequoia_v6() {
        both_ways(pysequoia(), key, &KINDS, &mut failures);
    }
    none(&failures);
}

#[test]
fn our_keys_of_version_4() {
    let gpg = Gpg::new();
    let mut failures = Vec::new();
    for key in of_ours_v4() {
        both_ways(&gpg, key, &[Kind::Detached], &mut failures);
        both_ways(pysequoia(), key, &[Kind::Inline], &mut failures);
        if key.passphrase.is_none() {
            both_ways(&Sq, key, &[Kind::Inline], &mut failures);
        }
    }
    both_ways(&pgpainless(), &of_ours_v4()[0], &[Kind::Detached], &mut failures);
    none(&failures);
}

#[test]
fn our_keys_of_version_6() {
    let mut failures = Vec::new();
    for key in of_ours_v6() {
        both_ways(pysequoia(), key, &KINDS, &mut failures);
    }
    none(&failures);
}

#[test]
fn curves_that_are_not_served_are_refused() {
    let gpg = Gpg::new();
    let lines =
        "Key-Type: ECDSA\nKey-Curve: brainpoolP512r1\nSubkey-Type: ECDH\nSubkey-Curve: brainpoolP512r1";
    let key = gpg.generate("brainpool", lines, None);
    let sealing = Sealing { recipients: &[&key], ..Sealing::default() };
    assert!(Ours::default().encrypt(TEXT, &sealing).is_err());
    assert!(Ours::default().sign(TEXT, Kind::Detached, &key).is_err());
    let message = gpg.encrypt(TEXT, &sealing).expect("gpg writes it");
    assert!(Ours::default().decrypt(&message, &Opening { key: Some(&key), ..Opening::default() }).is_err());
}
