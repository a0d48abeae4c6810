//! Secrets and registers under seal: what the keeper opens.

use card::keeper::registers::Registers;
use card::keeper::sealed;
use engine::{SealingKey, seal_to};
use std::sync::LazyLock;
use wire::control::{OfficerRefusal, PURPOSE_PART, PURPOSE_PASSPHRASE, Register, Sealed};

static KEY: LazyLock<SealingKey> = LazyLock::new(SealingKey::generate);
const SECRET: &[u8] = b"one part of a master key";

/// The first byte chooses: changes to a secret that was sealed, a secret that is anything, registers at
/// rest, registers as they are encoded under the seal.
pub fn sealed(data: &[u8]) {
    let Some((choice, rest)) = data.split_first() else { return };
    match choice % 4 {
        0 => changed(rest),
        1 => {
            if let Ok((sealed, _)) = postcard::take_from_bytes::<Sealed>(rest) {
                assert!(
                    KEY.open(PURPOSE_PART, &sealed.share, &sealed.ciphertext).is_none(),
                    "nobody sealed this"
                );
            }
        }
        2 => at_rest(rest),
        _ => encoded(rest),
    }
}

/// Pairs of a place and what is changed there.
fn changed(changes: &[u8]) {
    let whole = seal_to(&KEY.public(), PURPOSE_PART, SECRET).expect("a keeper's key");
    let mut sealed = whole.clone();
    for change in changes.chunks_exact(2) {
        let bytes = sealed.share.iter_mut().chain(&mut sealed.ciphertext);
        let (at, by) = (usize::from(change[0]) % (32 + whole.ciphertext.len()), change[1]);
        bytes.into_iter().nth(at).map(|byte| *byte ^= by).expect("a place within");
    }
    let opened = KEY.open(PURPOSE_PART, &sealed.share, &sealed.ciphertext);
    // X25519 ignores the highest bit of a share, but the key is derived from the share as it was sent.
    assert_eq!(opened.is_some(), sealed == whole, "what was changed does not open");
    assert!(
        KEY.open(PURPOSE_PASSPHRASE, &sealed.share, &sealed.ciphertext).is_none(),
        "nor for another purpose"
    );
}

/// Opening costs what the blob says, within bounds; here it says little.
fn at_rest(data: &[u8]) {
    let mut blob = data.to_vec();
    for (at, most) in [(20, 0x3F), (24, 1), (28, 3)] {
        if let Some(number) = blob.get_mut(at..at + 4) {
            number[0] &= most;
            number[1..].fill(0);
        }
    }
    match sealed::open(&blob, b"passphrase", 0) {
        Err(OfficerRefusal::Passphrase | OfficerRefusal::NewerVersion) => {}
        _ => panic!("nobody sealed this"),
    }
}

fn encoded(data: &[u8]) {
    let Ok((mut registers, _)) = postcard::take_from_bytes::<Registers>(data) else { return };
    let _ = registers.is_empty();
    for domain in 0..registers.domains().min(4) {
        let _ = registers.handout(domain);
        let _ = registers.set(domain);
        let _ = registers.clear_new(domain, Register::Aes);
    }
    let mut home = Registers::new(1);
    if home.adopt(registers).is_ok()
        && let Some(handout) = home.handout(0)
    {
        for (register, pair) in Register::ALL.into_iter().zip(&handout.keys) {
            for key in [&pair.current, &pair.old] {
                assert!(
                    key.is_empty() || key.len() == register.key_bytes(),
                    "adopted keys have their length"
                );
            }
        }
    }
}
