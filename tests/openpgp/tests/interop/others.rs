//! Libraries of other languages, in the long runs: OpenPGP.js 6 and gopenpgp 3. `scripts/test-all` installs them, and
//! names what it lacks.

use super::keys::{of_ours_v4, of_ours_v6};
use openpgp::{AeadAlgorithm, Form, Protection, SymmetricKeyAlgorithm};
use openpgp_tests::helper::{Helper, place};
use openpgp_tests::ours::Ours;
use openpgp_tests::peer::{KINDS, Opening, Peer, Sealing};
use std::ffi::OsStr;

const TEXT: &[u8] = b"From far away:\n- one\n- two\n";

/// Both ways with keys that we made, and with theirs.
fn exchange(peer: &Helper, generated: &[(&str, &str)], is_with_v6: &dyn Fn(&str) -> bool) {
    let ours = Ours { armor: true, ..Ours::default() };
    let theirs: Vec<_> = generated
        .iter()
        .map(|(profile, suite)| peer.generate(&format!("{profile} {suite}"), profile, suite).expect("a key"))
        .collect();
    let made = of_ours_v4().iter().chain(of_ours_v6()).filter(|key| key.passphrase.is_none());
    let made: Vec<_> = made.filter(|key| is_with_v6(&key.name)).cloned().collect();
    let mut failures = Vec::new();
    for key in theirs.iter().chain(&made) {
        let sealing = Sealing { recipients: &[key], signer: Some(key), ..Sealing::default() };
        let opening = Opening { key: Some(key), signer: Some(key), passphrase: None };
        let pairs: [(&dyn Peer, &dyn Peer); 2] = [(&ours, peer), (peer, &ours)];
        for (writer, reader) in pairs {
            let pair = format!("{}, from {} to {}", key.name, writer.name(), reader.name());
            let read = writer.encrypt(TEXT, &sealing).and_then(|message| reader.decrypt(&message, &opening));
            if read.as_deref() != Ok(TEXT) {
                failures.push(format!("{pair}: {read:?}"));
            }
            for kind in KINDS {
                let signed = writer.sign(TEXT, kind, key);
                let read = signed.and_then(|signed| reader.verify(&signed, TEXT, kind, key));
                if !read.as_ref().is_ok_and(|read| kind.is_same(read, TEXT)) {
                    failures.push(format!("{pair}, {kind:?}: {read:?}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Every mode, by passphrase and across chunks, both ways where the peer chooses to.
fn bodies(peer: &Helper, has_gnupg_aead: bool) {
    let cipher = SymmetricKeyAlgorithm::AES256;
    let text: Vec<u8> = (0..70_000_u32).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
    let modes = [AeadAlgorithm::Eax, AeadAlgorithm::Ocb, AeadAlgorithm::Gcm];
    let mut protections: Vec<Protection> =
        modes.map(|aead| Protection::SeipdV2 { aead, chunk_bits: 6 }).to_vec();
    protections.push(Protection::SeipdV1);
    if has_gnupg_aead {
        protections.push(Protection::GnupgAead { aead: AeadAlgorithm::Ocb, chunk_bits: 6 });
    }
    let sealing = Sealing { passphrases: &["passphrase"], ..Sealing::default() };
    let opening = Opening { passphrase: Some("passphrase"), ..Opening::default() };
    for protection in protections {
        let ours = Ours { form: Some(Form { cipher, protection }), ..Ours::default() };
        for bytes in [0, 1, 4095, 4096, 4097, text.len()] {
            let message = ours.encrypt(&text[..bytes], &sealing).expect("a message");
            let read = peer.decrypt(&message, &opening);
            assert!(read.as_deref() == Ok(&text[..bytes]), "{protection:?}, {bytes} bytes: {:?}", read.err());
        }
    }
    let message = peer.encrypt(&text, &sealing).expect("a message");
    assert!(Ours::default().decrypt(&message, &opening).expect("it reads") == text);
}

fn helper(name: &'static str, program: &str, arguments: &[&str]) -> Option<Helper> {
    // Long runs alone.
    std::env::var_os("CRYPTAND_TEST_ALL")?;
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    Helper::start(name, program, &arguments)
}

#[test]
fn openpgpjs_reads_and_writes_the_same() {
    let script = place("target/openpgpjs/openpgpjs_peer.mjs");
    let Some(peer) = helper("OpenPGP.js", "node", &[&script.to_string_lossy()]) else { return };
    // Post-quantum keys are not in its version 6.
    let is_known = |name: &str| !name.contains("MlDsa");
    exchange(&peer, &[("v4", "curve25519"), ("v4", "rsa"), ("v6", "curve25519")], &is_known);
    bodies(&peer, true);
}

#[test]
fn gopenpgp_reads_and_writes_the_same() {
    let program = place("target/gopenpgp/gopenpgp-peer");
    let Some(peer) = helper("gopenpgp", &program.to_string_lossy(), &[]) else { return };
    let is_known = |name: &str| !name.contains("MlDsa");
    exchange(&peer, &[("v4", "curve25519"), ("v6", "curve25519")], &is_known);
    bodies(&peer, false);
}
