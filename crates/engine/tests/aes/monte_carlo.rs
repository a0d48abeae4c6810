//! The Monte Carlo procedure of AESAVS (6.4), run here and in OpenSSL: after every thousand blocks both agree.

use super::*;

type Block = [u8; 16];

/// A thousand blocks under one key by `step`, which keeps its own chain; the last two results.
fn thousand(is_cbc: bool, iv: &Block, text: &Block, mut step: impl FnMut(Block) -> Block) -> [Block; 2] {
    let (mut input, mut before, mut last) = (*text, *iv, [0; 16]);
    for round in 0..1000 {
        let result = step(input);
        // In CBC the next text is the result before this one, and at the start the initialization vector.
        input = if is_cbc { before } else { result };
        if round < 999 {
            before = result;
        }
        last = result;
    }
    [before, last]
}

fn procedure(engine: &Engine, mode: Mode, encipher: bool, key: &[u8], outer: usize) {
    let name = if mode == Mode::Cbc { "cbc" } else { "ecb" };
    let direction = if encipher { CipherDirection::Encipher } else { CipherDirection::Decipher };
    let (mut key, mut iv, mut text) = (key.to_vec(), [0x5a; 16], [0x3c; 16]);
    for round in 0..outer {
        let prepared = engine.cipher_key(algorithm(&key), &key).unwrap();
        let mut chain = iv;
        let ours = thousand(mode == Mode::Cbc, &iv, &text, |mut block| {
            let mut items = [CipherItem::new(&prepared, &chain, &mut block)];
            engine.cipher_batch(mode, direction, &mut items);
            chain = items[0].chain;
            block
        });
        let mut context = openssl_context(name, encipher, &key, &iv);
        let mut out = [0; 32];
        let theirs = thousand(mode == Mode::Cbc, &iv, &text, |block| {
            assert_eq!(context.cipher_update(&block, Some(&mut out)).unwrap(), 16);
            out[..16].try_into().unwrap()
        });
        assert_eq!(ours, theirs, "{name}, round {round}");
        // The key for the next round takes as many of the last bytes as it has (AESAVS, 6.4.1).
        let results = ours.concat();
        for (byte, result) in key.iter_mut().zip(&results[32 - prepared.algorithm().key_bytes()..]) {
            *byte ^= result;
        }
        (iv, text) = if mode == Mode::Cbc { (ours[1], ours[0]) } else { (iv, ours[1]) };
    }
}

#[test]
fn beside_openssl() {
    for engine in engines() {
        for key_bytes in KEY_BYTES {
            for mode in [Mode::Ecb, Mode::Cbc] {
                for encipher in [true, false] {
                    procedure(&engine, mode, encipher, &vec![0x77; key_bytes], cases(10_000).min(100));
                }
            }
        }
    }
}
