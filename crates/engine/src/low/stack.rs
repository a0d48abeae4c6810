//! Tests that calls leave no key, text, private number or nonce on the stack.
//!
//! A call runs in a thread of its own, on a stack that was overwritten first. Afterwards the stack below is searched
//! for the secrets, in each form that they take on the way.

#[cfg(test)]
mod tests {
    use crate::*;
    use openssl::bn::{BigNum, BigNumContext};
    use seeded::Random;
    use std::collections::HashMap;
    use std::hint::black_box;

    /// More stack than the calls below use.
    const DEPTH: usize = 384 << 10;
    const STACK_BYTES: usize = 2 << 20;

    /// Secrets, indexed by their first eight bytes.
    #[derive(Default)]
    struct Secrets(HashMap<[u8; 8], (&'static str, Vec<u8>)>);

    impl Secrets {
        /// Adds every `bytes` bytes of a secret, from each offset that is a multiple of eight.
        fn add(&mut self, name: &'static str, secret: &[u8], bytes: usize) {
            for piece in (0..secret.len()).step_by(8).filter_map(|from| secret.get(from..from + bytes)) {
                self.0.insert(*piece.first_chunk().unwrap(), (name, piece.to_vec()));
            }
        }

        /// Adds a big-endian number of 256 bits: its bytes and words in either order, and its digits of 51 and 52 bits.
        fn add_number(&mut self, name: &'static str, number: &[u8]) {
            self.add(name, number, 8);
            let reversed: Vec<u8> = number.iter().rev().copied().collect();
            self.add(name, &reversed, 8);
            for bits in [51, 52] {
                for digit in 0..5 {
                    let bit = |at: usize| reversed.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
                    let from = digit * bits;
                    let word = (0..bits).fold(0, |word, at| word | u64::from(bit(from + at)) << at);
                    self.add(name, &word.to_le_bytes(), 8);
                }
            }
        }
    }

    /// Overwrites the stack below the caller.
    #[inline(never)]
    fn overwrite() {
        let mut room = [0_u8; DEPTH];
        black_box(&mut room);
    }

    /// Copies the stack below the caller, from its far end on.
    #[inline(never)]
    fn copy(out: &mut Vec<u8>) {
        let here = 0_u8;
        let end = black_box((&raw const here).expose_provenance());
        for at in (0..DEPTH).rev() {
            // SAFETY: the thread's stack is mapped as a whole and longer by far, and any byte is one.
            out.push(unsafe { std::ptr::with_exposed_provenance::<u8>(end - at).read_volatile() });
        }
    }

    /// Runs a call below the stack that `copy` itself uses.
    #[inline(never)]
    fn deeper(call: impl FnOnce()) {
        let mut room = [0_u8; 8 << 10];
        black_box(&mut room);
        call();
        black_box(&mut room);
    }

    /// The secrets that are found on the stack after the call, by name and depth.
    fn left<T: 'static>(
        make: impl FnOnce() -> T + Send + 'static,
        call: impl FnOnce(&mut T) + Send + 'static,
        tell: impl FnOnce(&T, &mut Secrets) + Send + 'static,
    ) -> Vec<String> {
        let run = move || {
            let (mut inputs, mut bytes) = (make(), Vec::with_capacity(DEPTH));
            overwrite();
            deeper(|| call(&mut inputs));
            copy(&mut bytes);
            let mut secrets = Secrets::default();
            tell(&inputs, &mut secrets);
            let mut found: Vec<String> = Vec::new();
            for (at, window) in bytes.windows(8).enumerate() {
                if let Some((name, secret)) = secrets.0.get(window)
                    && bytes[at..].starts_with(secret)
                {
                    found.push(format!("{name} {} bytes down", bytes.len() - at));
                }
            }
            found
        };
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap().join().unwrap()
    }

    /// Runs a call at every level, on inputs that are made before.
    fn check<T: 'static>(
        name: &str,
        make: fn(&mut Random) -> T,
        call: fn(&Engine, &mut T),
        tell: fn(&Engine, &T, &mut Secrets),
    ) {
        for limit in Level::ALL {
            let engine = || Engine::new(Options { limit: Some(limit), weak_algorithms: true }).unwrap();
            let (first, second) = (engine(), engine());
            let found = left(
                move || make(&mut Random(0x57AC)),
                move |inputs| call(&first, inputs),
                move |inputs, secrets| tell(&second, inputs, secrets),
            );
            assert!(found.is_empty(), "{name}, at most {limit}: {}: {found:?}", found.len());
        }
    }

    #[test]
    fn what_is_left_is_found() {
        #[inline(never)]
        fn leave(secret: &[u8]) {
            let mut copy = [0_u8; 32];
            copy.copy_from_slice(secret);
            black_box(&mut copy);
        }
        let tell = |secret: &Vec<u8>, secrets: &mut Secrets| secrets.add("a copy", secret, 16);
        assert!(!left(|| Random(1).bytes(32), |secret| leave(secret), tell).is_empty());
        assert!(left(|| Random(1).bytes(32), |_| (), tell).is_empty());
    }

    #[test]
    fn gcm() {
        check(
            "GCM",
            |random| {
                let lengths = [256, 40, 16, 100, 1424];
                let texts: Vec<_> = (0..17).map(|at| random.bytes(lengths[at % lengths.len()])).collect();
                (random.arrays::<16>(17), texts)
            },
            |engine, (raw, texts)| {
                for count in [1, 17] {
                    let keys: Vec<_> = raw[..count].iter().map(|key| engine.gcm_key(key).unwrap()).collect();
                    let mut data = texts[..count].to_vec();
                    let mut items: Vec<_> = keys
                        .iter()
                        .zip(&mut data)
                        .map(|(key, data)| GcmItem::encipher(key, &[7; 12], &[1; 20], data))
                        .collect();
                    engine.gcm_batch(CipherDirection::Encipher, &mut items);
                    items.iter_mut().for_each(|item| item.tag_bytes = 16);
                    engine.gcm_batch(CipherDirection::Decipher, &mut items);
                    assert!(items.iter().all(|item| item.result.is_ok()));
                }
            },
            |engine, (raw, texts), secrets| {
                texts.iter().for_each(|text| secrets.add("text", text, 16));
                for key in raw {
                    secrets.add("key", key, 16);
                    let mut block = [0; 16];
                    let key = engine.cipher_key(CipherAlgorithm::Aes128, key).unwrap();
                    let mut items = [CipherItem::new(&key, &[], &mut block)];
                    engine.cipher_batch(Mode::Ecb, CipherDirection::Encipher, &mut items);
                    secrets.add("hash key", &block, 16);
                    block.reverse();
                    secrets.add("hash key", &block, 16);
                }
            },
        );
    }

    #[test]
    fn key_wrap() {
        check(
            "key wrap",
            |random| (random.arrays::<32>(19), random.arrays::<40>(19)),
            |engine, (raw, texts)| {
                for count in [1, 4, 19] {
                    let keys: Vec<_> = raw[..count]
                        .iter()
                        .map(|key| engine.cipher_key(CipherAlgorithm::Aes256, key).unwrap())
                        .collect();
                    for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
                        let mut items: Vec<_> = keys
                            .iter()
                            .zip(&mut texts[..])
                            .map(|(key, text)| KeyWrapItem::new(key, text))
                            .collect();
                        engine.key_wrap_batch(direction, &mut items);
                        assert!(items.iter().all(|item| item.result.is_ok()));
                    }
                }
            },
            |_, (raw, texts), secrets| {
                raw.iter().for_each(|key| secrets.add("key", key, 16));
                texts.iter().for_each(|text| secrets.add("text", text, 8));
            },
        );
    }

    const CIPHERS: [CipherAlgorithm; 2] = [CipherAlgorithm::Tdes3, CipherAlgorithm::Aes256];

    #[test]
    fn ciphers() {
        check(
            "CBC and ECB",
            |random| {
                CIPHERS.map(|algorithm| {
                    let keys: Vec<_> = (0..300).map(|_| random.bytes(algorithm.key_bytes())).collect();
                    // DES keys get two lines and a block each, so that kernels that write whole lines run in every
                    // form.
                    let long = [1024; 1].into_iter().chain([17 * algorithm.block_bytes(); 299]);
                    (keys, long.map(|bytes| random.bytes(bytes)).collect::<Vec<_>>())
                })
            },
            |engine, inputs| {
                for (algorithm, (raw, texts)) in CIPHERS.into_iter().zip(inputs) {
                    for mode in [Mode::Cbc, Mode::Ecb] {
                        for count in [1, 2, 12, 20, 40, 300] {
                            let keys: Vec<_> = raw[..count]
                                .iter()
                                .map(|key| engine.cipher_key(algorithm, key).unwrap())
                                .collect();
                            for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
                                let iv =
                                    if mode == Mode::Cbc { &[3; 16][..algorithm.block_bytes()] } else { &[] };
                                let mut items: Vec<_> = keys
                                    .iter()
                                    .zip(&mut texts[..])
                                    .map(|(key, text)| CipherItem::new(key, iv, text))
                                    .collect();
                                engine.cipher_batch(mode, direction, &mut items);
                                assert!(items.iter().all(|item| item.result.is_ok()));
                            }
                        }
                    }
                }
            },
            |_, inputs, secrets| {
                for (at, (raw, texts)) in inputs.iter().enumerate() {
                    let (block, names) =
                        (CIPHERS[at].block_bytes(), [["TDES key", "TDES text"], ["AES key", "AES text"]][at]);
                    raw.iter().for_each(|key| secrets.add(names[0], key, block));
                    texts.iter().for_each(|text| secrets.add(names[1], text, block));
                }
            },
        );
    }

    const MACS: [MacAlgorithm; 2] = [MacAlgorithm::X919, MacAlgorithm::CmacAes256];

    #[test]
    fn macs() {
        check(
            "MACs",
            |random| {
                let mut many = |bytes: usize| (0..300).map(|_| random.bytes(bytes)).collect::<Vec<_>>();
                (MACS.map(|algorithm| many(algorithm.key_bytes())), many(32), many(120))
            },
            |engine, (keys, hmac_keys, texts)| {
                for count in [1, 4, 12, 40, 300] {
                    for (algorithm, raw) in MACS.into_iter().zip(&*keys) {
                        let keys: Vec<_> =
                            raw[..count].iter().map(|key| engine.mac_key(algorithm, key).unwrap()).collect();
                        let mut items: Vec<_> =
                            keys.iter().zip(&*texts).map(|(key, text)| MacItem::new(key, text)).collect();
                        engine.mac_batch(&mut items);
                    }
                    for hash in [HashAlgorithm::Sha256, HashAlgorithm::Sha512] {
                        let keys: Vec<_> = hmac_keys[..count]
                            .iter()
                            .map(|key| engine.hmac_key(hash, key).unwrap())
                            .collect();
                        let mut items: Vec<_> =
                            keys.iter().zip(&*texts).map(|(key, text)| HmacItem::new(key, text)).collect();
                        engine.hmac_batch(&mut items);
                    }
                }
            },
            |_, (keys, hmac_keys, texts), secrets| {
                for (at, raw) in keys.iter().enumerate() {
                    let (block, name) = (MACS[at].block_bytes(), ["X9.19 key", "CMAC key"][at]);
                    raw.iter().for_each(|key| secrets.add(name, key, block));
                }
                hmac_keys.iter().for_each(|key| secrets.add("HMAC key", key, 16));
                texts.iter().for_each(|text| secrets.add("text", text, 16));
            },
        );
    }

    #[test]
    fn detection_codes() {
        check(
            "MDC",
            |random| (random.arrays::<MDC_BYTES>(40), random.arrays::<72>(40), Vec::new()),
            |engine, (states, texts, codes)| {
                for count in [1, 2, 4, 7, 40] {
                    for algorithm in [MdcAlgorithm::Mdc2, MdcAlgorithm::Mdc4] {
                        let mut items: Vec<_> =
                            texts[..count].iter().map(|text| MdcItem::new(algorithm, text)).collect();
                        for (item, state) in items.iter_mut().zip(&*states) {
                            item.state.copy_from_slice(state);
                        }
                        engine.mdc_batch(&mut items);
                        codes.extend(items.iter().map(|item| item.state.to_vec()));
                    }
                }
            },
            |_, (states, texts, codes), secrets| {
                states.iter().for_each(|state| secrets.add("state", state, 8));
                texts.iter().for_each(|text| secrets.add("text", text, 8));
                codes.iter().for_each(|code| secrets.add("code", &code[..], 8));
            },
        );
    }

    /// Columns of `lanes` requests: a wrapping key, tokens, raw keys, and texts of nine blocks for MACs and for
    /// ciphers.
    struct Columns {
        lanes: usize,
        over: [u8; 16],
        tokens: Vec<u8>,
        raw: Vec<u8>,
        texts: Vec<u8>,
        data: Vec<u8>,
    }

    const COLUMN_BYTES: usize = 144;

    #[test]
    fn columns() {
        check(
            "columns",
            |random| {
                [1, 7, 24, 40, 300, 600].map(|lanes| Columns {
                    lanes,
                    over: random.array(),
                    tokens: random.bytes(16 * lanes),
                    raw: random.bytes(16 * lanes),
                    texts: random.bytes(COLUMN_BYTES * lanes),
                    data: random.bytes(COLUMN_BYTES * lanes),
                })
            },
            |engine, all| {
                for Columns { lanes, over, tokens, raw, texts, data } in all {
                    let lanes = *lanes;
                    let [tokens, raw] =
                        [&*tokens, &*raw].map(|memory| Column::contiguous(memory, 16, lanes).unwrap());
                    let texts = Column::contiguous(texts, COLUMN_BYTES, lanes).unwrap();
                    let mut macs = vec![0; 32 * lanes];
                    for algorithm in [MacAlgorithm::X919, MacAlgorithm::CmacTdes2, MacAlgorithm::CmacAes128] {
                        let macs = &mut macs[..algorithm.block_bytes() * lanes];
                        engine.mac_columns(algorithm, raw, texts, macs).unwrap();
                    }
                    engine.hmac_columns(HashAlgorithm::Sha256, raw, texts, &mut macs).unwrap();
                    let tdes = CipherAlgorithm::Tdes2;
                    let mut keys = DesColumns::new();
                    let wrapped = [WrappedColumn { algorithm: tdes, under: &[&over[..]], keys: tokens }];
                    engine.unwrap_des_columns(&mut keys, &wrapped).unwrap();
                    let key = keys.key(0).unwrap();
                    engine.mac_columns(MacAlgorithm::X919, key, texts, &mut macs[..8 * lanes]).unwrap();
                    let mut data = ColumnMut::contiguous(data, COLUMN_BYTES, lanes).unwrap();
                    for mode in [Mode::Cbc, Mode::Ecb] {
                        for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
                            let chains = &mut macs[..8 * lanes];
                            engine.cipher_columns(tdes, mode, direction, key, chains, &mut data).unwrap();
                        }
                    }
                }
            },
            |engine, all, secrets| {
                for Columns { over, tokens, raw, .. } in all {
                    let mut clear = tokens.clone();
                    let over = engine.cipher_key(CipherAlgorithm::Tdes2, over).unwrap();
                    let mut item = [CipherItem::new(&over, &[], &mut clear)];
                    engine.cipher_batch(Mode::Ecb, CipherDirection::Decipher, &mut item);
                    secrets.add("unwrapped key", &clear, 8);
                    secrets.add("raw key", raw, 8);
                }
            },
        );
    }

    #[test]
    fn signatures() {
        check(
            "ECDSA",
            |random| {
                let mut scalars = random.arrays::<32>(9);
                scalars.iter_mut().for_each(|scalar| scalar[0] &= 0x7f);
                (scalars, random.arrays::<32>(9), Vec::new())
            },
            |engine, (scalars, digests, signatures)| {
                let key = |scalar| EcPrivateKey::from_bytes(Curve::P256, scalar).unwrap();
                let keys: Vec<_> = scalars.iter().map(|scalar| key(&scalar[..])).collect();
                for verified in [false, true] {
                    let mut items: Vec<_> = keys
                        .iter()
                        .zip(&*digests)
                        .map(|(key, digest)| EcdsaSignItem::new(key, digest))
                        .collect();
                    if verified {
                        engine.ecdsa_sign_verified_batch(&mut items);
                    } else {
                        engine.ecdsa_sign_batch(&mut items);
                    }
                    signatures.extend(items.iter().map(|item| item.signature().to_vec()));
                }
            },
            |_, (scalars, digests, signatures), secrets| {
                for (at, signature) in signatures.iter().enumerate() {
                    secrets.add_number("private key", &scalars[at % 9]);
                    secrets.add_number("nonce", &nonce(&scalars[at % 9], &digests[at % 9], signature));
                }
            },
        );
    }

    /// k = (z + r d) / s modulo the order.
    fn nonce(d: &[u8], z: &[u8], signature: &[u8]) -> Vec<u8> {
        let n = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
        let n = BigNum::from_hex_str(n).unwrap();
        let number = |bytes: &[u8]| BigNum::from_slice(bytes).unwrap();
        let mut context = BigNumContext::new().unwrap();
        let [mut product, mut sum, mut inverse, mut k] = [(); 4].map(|()| BigNum::new().unwrap());
        let (r, s) = signature.split_at(32);
        product.mod_mul(&number(r), &number(d), &n, &mut context).unwrap();
        sum.mod_add(&product, &number(z), &n, &mut context).unwrap();
        inverse.mod_inverse(&number(s), &n, &mut context).unwrap();
        k.mod_mul(&sum, &inverse, &n, &mut context).unwrap();
        k.to_vec_padded(32).unwrap()
    }

    #[test]
    fn agreements() {
        check(
            "X25519",
            |random| (random.arrays::<32>(17), random.arrays::<32>(17), vec![[0; 32]; 17]),
            |engine, (privates, publics, shared)| {
                for count in [1, 8, 17] {
                    let mut items: Vec<_> = privates[..count]
                        .iter()
                        .zip(&*publics)
                        .zip(&mut shared[..])
                        .map(|((private, public), shared)| X25519Item::new(private, public, shared))
                        .collect();
                    engine.x25519_batch(&mut items);
                    let mut items: Vec<_> = privates[..count].iter().map(X25519PublicItem::new).collect();
                    engine.x25519_public_batch(&mut items);
                }
            },
            |_, (privates, _, shared), secrets| {
                let mut add = |name, mut number: [u8; 32]| {
                    number.reverse();
                    secrets.add_number(name, &number);
                };
                for private in privates {
                    let mut clamped = *private;
                    clamped[0] &= 0xf8;
                    clamped[31] = clamped[31] & 0x7f | 0x40;
                    add("private value", *private);
                    add("private value", clamped);
                }
                shared.iter().for_each(|shared| add("shared secret", *shared));
            },
        );
    }
}
