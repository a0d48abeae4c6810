//! What OCB, EAX and GCM refuse: each changed byte of each input, and lengths out of bounds.

use super::*;

/// The inputs of one request to decipher.
#[derive(Clone)]
struct Inputs {
    nonce: Vec<u8>,
    aad: Vec<u8>,
    data: Vec<u8>,
    tag: Vec<u8>,
}

/// A mode under a fixed key: deciphers and gives the result and what became of the data.
type Open<'a> = &'a dyn Fn(&Inputs) -> (Result<(), CipherError>, Vec<u8>);

/// One of the inputs.
type Field = fn(&mut Inputs) -> &mut Vec<u8>;

fn every_changed_byte_is_found(open: Open<'_>, good: &Inputs, text: &[u8]) {
    assert_eq!(open(good), (Ok(()), text.to_vec()));
    let refused = |what: &str, bad: &Inputs| {
        let (result, data) = open(bad);
        assert_eq!(result, Err(CipherError::Authentication), "{what}");
        assert_eq!(data, vec![0; bad.data.len()], "{what}: text is released");
    };
    let fields: [(&str, Field); 4] = [
        ("nonce", |inputs| &mut inputs.nonce),
        ("associated data", |inputs| &mut inputs.aad),
        ("ciphertext", |inputs| &mut inputs.data),
        ("tag", |inputs| &mut inputs.tag),
    ];
    for (name, field) in fields {
        let bytes = field(&mut good.clone()).len();
        for at in 0..bytes {
            let mut bad = good.clone();
            field(&mut bad)[at] ^= 1 << (at % 8);
            refused(&format!("{name}, byte {at} of {bytes}"), &bad);
        }
        if name != "tag" {
            let mut longer = good.clone();
            field(&mut longer).push(0);
            if longer.nonce.len() <= 15 {
                refused(&format!("{name}, a byte more"), &longer);
            }
            let mut shorter = good.clone();
            if field(&mut shorter).pop().is_some() {
                refused(&format!("{name}, a byte less"), &shorter);
            }
        }
    }
}

const LENGTHS: [(usize, usize); 6] = [(0, 0), (3, 1), (16, 16), (33, 48), (20, 65), (600, 530)];

#[test]
fn ocb() {
    for engine in engines() {
        for (aad, text) in LENGTHS {
            for tag_bytes in [8, 12, 16] {
                let key = engine.ocb_key(&[0x31; 16]).unwrap();
                let (nonce, aad, text) = (vec![9; 14], vec![1; aad], vec![2; text]);
                let mut data = text.clone();
                let mut items = [OcbItem { tag_bytes, ..OcbItem::encipher(&key, &nonce, &aad, &mut data) }];
                engine.ocb_batch(CipherDirection::Encipher, &mut items);
                let tag = items[0].tag[..tag_bytes].to_vec();
                let open = |inputs: &Inputs| {
                    let Inputs { nonce, aad, mut data, tag } = inputs.clone();
                    let mut items = [OcbItem::decipher(&key, &nonce, &aad, &mut data, &tag)];
                    engine.ocb_batch(CipherDirection::Decipher, &mut items);
                    (items[0].result, data)
                };
                let good = Inputs { nonce, aad, data, tag };
                every_changed_byte_is_found(&open, &good, &text);
                // The tag's length is part of what is enciphered.
                if tag_bytes > 8 {
                    let mut cut = good.clone();
                    cut.tag.truncate(8);
                    assert_eq!(open(&cut).0, Err(CipherError::Authentication));
                }
                let with_tag = |bytes| open(&Inputs { tag: vec![0; bytes], ..good.clone() });
                for bytes in (0..8).chain([17, 64]) {
                    assert_eq!(
                        with_tag(bytes),
                        (Err(CipherError::AeadTagLength { bytes }), good.data.clone())
                    );
                }
                for bytes in [0, 16, 17, 300] {
                    let wrong = open(&Inputs { nonce: vec![0; bytes], ..good.clone() });
                    assert_eq!(wrong, (Err(CipherError::OcbNonceLength { bytes }), good.data.clone()));
                }
            }
        }
    }
}

#[test]
fn eax() {
    for engine in engines() {
        for (aad, text) in LENGTHS {
            for tag_bytes in [8, 16] {
                let key = engine.eax_key(&[0x32; 32]).unwrap();
                let (nonce, aad, text) = (vec![9; 14], vec![1; aad], vec![2; text]);
                let mut data = text.clone();
                let mut items = [EaxItem { tag_bytes, ..EaxItem::encipher(&key, &nonce, &aad, &mut data) }];
                engine.eax_batch(CipherDirection::Encipher, &mut items);
                let tag = items[0].tag[..tag_bytes].to_vec();
                let open = |inputs: &Inputs| {
                    let Inputs { nonce, aad, mut data, tag } = inputs.clone();
                    let mut items = [EaxItem::decipher(&key, &nonce, &aad, &mut data, &tag)];
                    engine.eax_batch(CipherDirection::Decipher, &mut items);
                    (items[0].result, data)
                };
                let good = Inputs { nonce, aad, data, tag };
                every_changed_byte_is_found(&open, &good, &text);
                for bytes in (0..8).chain([17, 64]) {
                    let wrong = open(&Inputs { tag: vec![0; bytes], ..good.clone() });
                    assert_eq!(wrong, (Err(CipherError::AeadTagLength { bytes }), good.data.clone()));
                }
            }
        }
    }
}

#[test]
fn gcm() {
    for engine in engines() {
        for (aad, text) in LENGTHS {
            let key = engine.gcm_key(&[0x33; 24]).unwrap();
            let (nonce, aad, text) = (vec![9; 12], vec![1; aad], vec![2; text]);
            let mut data = text.clone();
            let mut items = [GcmItem::encipher(&key, &nonce, &aad, &mut data)];
            engine.gcm_batch(CipherDirection::Encipher, &mut items);
            let tag = items[0].tag.to_vec();
            let open = |inputs: &Inputs| {
                let Inputs { nonce, aad, mut data, tag } = inputs.clone();
                let mut items = [GcmItem::decipher(&key, &nonce, &aad, &mut data, &tag)];
                engine.gcm_batch(CipherDirection::Decipher, &mut items);
                (items[0].result, data)
            };
            let good = Inputs { nonce, aad, data, tag };
            every_changed_byte_is_found(&open, &good, &text);
            for bytes in (0..4).chain([17, 64]) {
                let wrong = open(&Inputs { tag: vec![0; bytes], ..good.clone() });
                assert_eq!(wrong, (Err(CipherError::TagLength { bytes }), good.data.clone()));
            }
        }
    }
}

/// Enciphering refuses what deciphering refuses, and touches nothing.
#[test]
fn lengths_when_enciphering() {
    for engine in engines() {
        let direction = CipherDirection::Encipher;
        let key = engine.ocb_key(&[1; 16]).unwrap();
        let mut data = [5; 20];
        for (nonce_bytes, tag_bytes, expected) in [
            (0, 16, CipherError::OcbNonceLength { bytes: 0 }),
            (16, 16, CipherError::OcbNonceLength { bytes: 16 }),
            (12, 7, CipherError::AeadTagLength { bytes: 7 }),
            (12, 17, CipherError::AeadTagLength { bytes: 17 }),
        ] {
            let nonce = vec![0; nonce_bytes];
            let mut items = [OcbItem { tag_bytes, ..OcbItem::encipher(&key, &nonce, &[], &mut data) }];
            engine.ocb_batch(direction, &mut items);
            assert_eq!((items[0].result, items[0].tag), (Err(expected), [0; 16]));
        }
        let key = engine.eax_key(&[1; 16]).unwrap();
        for tag_bytes in [0, 7, 17] {
            let mut items = [EaxItem { tag_bytes, ..EaxItem::encipher(&key, &[0; 16], &[], &mut data) }];
            engine.eax_batch(direction, &mut items);
            let expected = Err(CipherError::AeadTagLength { bytes: tag_bytes });
            assert_eq!((items[0].result, items[0].tag), (expected, [0; 16]));
        }
        assert_eq!(data, [5; 20]);
        for bytes in (0..40).filter(|bytes| !KEY_BYTES.contains(bytes)) {
            let [ocb, eax] = [KeyError::OcbKeyLength { bytes }, KeyError::EaxKeyLength { bytes }];
            assert_eq!(engine.ocb_key(&vec![1; bytes]).unwrap_err(), ocb);
            assert_eq!(engine.eax_key(&vec![1; bytes]).unwrap_err(), eax);
            assert_eq!(ocb.to_string(), format!("a key of AES-OCB has 16, 24 or 32 bytes, not {bytes}"));
            assert_eq!(eax.to_string(), format!("a key of AES-EAX has 16, 24 or 32 bytes, not {bytes}"));
        }
    }
}
