//! On random inputs the engine and other libraries agree: OpenSSL for everything it has, and for
//! constructions on single DES also the crate `des`, the construction then built here from single blocks.

use des::cipher::{Block, BlockDecrypt, BlockEncrypt, KeyInit};
use engine::*;
use openssl::bn::BigNum;
use openssl::cipher::{Cipher, CipherRef};
use openssl::cipher_ctx::CipherCtx;
use openssl::derive::Deriver;
use openssl::dsa::{Dsa, DsaSig};
use openssl::ec::{EcGroup, EcKey, EcPoint, PointConversionForm};
use openssl::ecdsa::EcdsaSig;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Private};
use openssl::pkey_ctx::PkeyCtx;
use openssl::provider::Provider;
use openssl::rsa::{Padding, Rsa};
use openssl::sign::{RsaPssSaltlen, Signer, Verifier};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::OnceLock;

fn engine() -> Engine {
    // Single DES is in OpenSSL's legacy provider; loading it by hand turns the default one off, so both are
    // loaded.
    static PROVIDERS: OnceLock<[Provider; 2]> = OnceLock::new();
    PROVIDERS.get_or_init(|| ["legacy", "default"].map(|name| Provider::load(None, name).unwrap()));
    Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap()
}

fn theirs(algorithm: CipherAlgorithm, mode: Mode) -> Option<&'static CipherRef> {
    use CipherAlgorithm::*;
    Some(match (algorithm, mode) {
        (Des, Mode::Ecb) => Cipher::des_ecb(),
        (Des, Mode::Cbc) => Cipher::des_cbc(),
        (Tdes3, Mode::Ecb) => Cipher::des_ede3_ecb(),
        (Tdes3, Mode::Cbc) => Cipher::des_ede3_cbc(),
        (Aes128, Mode::Ecb) => Cipher::aes_128_ecb(),
        (Aes128, Mode::Cbc) => Cipher::aes_128_cbc(),
        (Aes128, Mode::Ctr) => Cipher::aes_128_ctr(),
        (Aes192, Mode::Ecb) => Cipher::aes_192_ecb(),
        (Aes192, Mode::Cbc) => Cipher::aes_192_cbc(),
        (Aes192, Mode::Ctr) => Cipher::aes_192_ctr(),
        (Aes256, Mode::Ecb) => Cipher::aes_256_ecb(),
        (Aes256, Mode::Cbc) => Cipher::aes_256_cbc(),
        (Aes256, Mode::Ctr) => Cipher::aes_256_ctr(),
        _ => return None,
    })
}

fn openssl_cipher(cipher: &CipherRef, encipher: bool, key: &[u8], iv: &[u8], text: &[u8]) -> Vec<u8> {
    let mut context = CipherCtx::new().unwrap();
    let iv = (cipher.iv_length() != 0).then_some(&iv[..cipher.iv_length()]);
    if encipher {
        context.encrypt_init(Some(cipher), Some(key), iv).unwrap();
    } else {
        context.decrypt_init(Some(cipher), Some(key), iv).unwrap();
    }
    context.set_padding(false);
    let mut out = Vec::new();
    context.cipher_update_vec(text, &mut out).unwrap();
    context.cipher_final_vec(&mut out).unwrap();
    out
}

/// One block of single DES by OpenSSL and by the crate `des`, which must agree.
fn des_block(encipher: bool, key: &[u8], block: [u8; 8]) -> [u8; 8] {
    let first = openssl_cipher(Cipher::des_ecb(), encipher, key, &[], &block);
    let mut second = Block::<des::Des>::clone_from_slice(&block);
    let des = des::Des::new_from_slice(key).unwrap();
    if encipher {
        des.encrypt_block(&mut second)
    } else {
        des.decrypt_block(&mut second)
    }
    assert_eq!(first, second.as_slice());
    second.into()
}

/// One block of DES or triple DES out of single DES.
fn tdes_block(key: &[u8], block: [u8; 8]) -> [u8; 8] {
    match key.len() {
        8 => des_block(true, key, block),
        bytes => {
            let third = if bytes == 16 { &key[..8] } else { &key[16..] };
            des_block(true, third, des_block(false, &key[8..16], des_block(true, &key[..8], block)))
        }
    }
}

/// CTR out of single blocks; also the counter that is next.
fn built_ctr(key: &[u8], counter: [u8; 8], text: &[u8]) -> (Vec<u8>, [u8; 8]) {
    let mut counter = u64::from_be_bytes(counter);
    let mut out = Vec::new();
    for part in text.chunks(8) {
        let keystream = tdes_block(key, counter.to_be_bytes());
        out.extend(part.iter().zip(keystream).map(|(byte, key_byte)| byte ^ key_byte));
        counter = counter.wrapping_add(1);
    }
    (out, counter.to_be_bytes())
}

/// The last chaining value of X9.9 out of single blocks.
fn built_cbc_mac(key: &[u8], text: &[u8]) -> [u8; 8] {
    text.chunks(8).fold([0; 8], |chain, part| {
        let mut block = chain;
        block.iter_mut().zip(part).for_each(|(byte, text_byte)| *byte ^= text_byte);
        des_block(true, key, block)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn ciphers(
        algorithm in select(&CipherAlgorithm::ALL[..]), mode in select(&[Mode::Ecb, Mode::Cbc, Mode::Ctr][..]),
        encipher: bool, key in vec(any::<u8>(), 32), iv in any::<[u8; 16]>(), text in vec(any::<u8>(), 0..600),
        low_counter: bool,
    ) {
        let engine = engine();
        let block = algorithm.block_bytes();
        let key = &key[..algorithm.key_bytes()];
        let mut iv = iv[..block].to_vec();
        if low_counter {
            // The carry runs through the counter.
            iv[block - 7..].fill(0xff);
        }
        let text = if mode == Mode::Ctr { &text[..] } else { &text[..text.len() / block * block] };
        let direction = if encipher { CipherDirection::Encipher } else { CipherDirection::Decipher };
        let (mut data, mut chain) = (text.to_vec(), iv.clone());
        engine.cipher(algorithm, mode, direction, key, &mut chain, &mut data).unwrap();
        let expected = match theirs(algorithm, mode) {
            Some(cipher) => openssl_cipher(cipher, encipher, key, &iv, text),
            None if algorithm == CipherAlgorithm::Tdes2 && mode != Mode::Ctr => {
                let cipher = theirs(CipherAlgorithm::Tdes3, mode).unwrap();
                openssl_cipher(cipher, encipher, &[key, &key[..8]].concat(), &iv, text)
            }
            None => {
                let (expected, next) = built_ctr(key, iv.clone().try_into().unwrap(), text);
                prop_assert_eq!(&chain[..], &next[..]);
                expected
            }
        };
        prop_assert_eq!(&data, &expected);
        let prepared = engine.cipher_key(algorithm, key).unwrap();
        let mut data = text.to_vec();
        let mut items = [CipherItem::new(&prepared, &iv, &mut data)];
        engine.cipher_batch(mode, direction, &mut items);
        prop_assert_eq!(&items[0].chain[..block], &chain[..]);
        prop_assert_eq!(&data, &expected);
    }

    #[test]
    fn gcm(
        key in vec(any::<u8>(), 32), key_bytes in select(&[16usize, 24, 32][..]), nonce in vec(any::<u8>(), 1..40),
        aad in vec(any::<u8>(), 0..80), text in vec(any::<u8>(), 0..400),
    ) {
        let engine = engine();
        let key = &key[..key_bytes];
        let cipher = match key_bytes {
            16 => openssl::symm::Cipher::aes_128_gcm(),
            24 => openssl::symm::Cipher::aes_192_gcm(),
            _ => openssl::symm::Cipher::aes_256_gcm(),
        };
        let mut tag = [0; 16];
        let expected = openssl::symm::encrypt_aead(cipher, key, Some(&nonce), &aad, &text, &mut tag).unwrap();
        let prepared = engine.gcm_key(key).unwrap();
        let mut data = text.clone();
        let mut items = [GcmItem::encipher(&prepared, &nonce, &aad, &mut data)];
        engine.gcm_batch(CipherDirection::Encipher, &mut items);
        prop_assert_eq!(items[0].result, Ok(()));
        prop_assert_eq!(items[0].tag, tag);
        prop_assert_eq!(&data, &expected);
        for tag_bytes in 4..=16 {
            let mut data = expected.clone();
            let mut items = [GcmItem::decipher(&prepared, &nonce, &aad, &mut data, &tag[..tag_bytes])];
            engine.gcm_batch(CipherDirection::Decipher, &mut items);
            prop_assert_eq!(items[0].result, Ok(()));
            prop_assert_eq!(&data, &text);
        }
    }

    #[test]
    fn x99_and_x919(key in any::<[u8; 16]>(), text in vec(any::<u8>(), 1..1400)) {
        let engine = engine();
        let single = engine.mac_key(MacAlgorithm::X99, &key[..8]).unwrap();
        let double = engine.mac_key(MacAlgorithm::X919, &key).unwrap();
        let mut items = [MacItem::new(&single, &text), MacItem::new(&double, &text)];
        engine.mac_batch(&mut items);
        let chain = built_cbc_mac(&key[..8], &text);
        prop_assert_eq!(&items[0].mac[..8], &chain[..]);
        let last = des_block(true, &key[..8], des_block(false, &key[8..], chain));
        prop_assert_eq!(&items[1].mac[..8], &last[..]);
        prop_assert!(items.iter().all(|item| item.result.is_ok() && item.mac[8..] == [0; 8]));
    }

    #[test]
    fn macs_in_segments_are_those_of_the_whole(
        algorithm in select(&MacAlgorithm::ALL[..]), key in vec(any::<u8>(), 32), text in vec(any::<u8>(), 1..400),
        cuts in vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let engine = engine();
        let key = engine.mac_key(algorithm, &key[..algorithm.key_bytes()]).unwrap();
        let mut whole = [MacItem::new(&key, &text)];
        engine.mac_batch(&mut whole);
        let block = algorithm.block_bytes();
        let blocks = (text.len() - 1) / block + 1;
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(blocks) * block).collect();
        cuts.sort_unstable();
        let (mut chain, mut from) = ([0; 16], 0);
        for cut in cuts {
            let mut items = [MacItem { chain, last: false, ..MacItem::new(&key, &text[from..cut]) }];
            engine.mac_batch(&mut items);
            prop_assert_eq!(items[0].result, Ok(()));
            (chain, from) = (items[0].chain, cut);
        }
        let mut items = [MacItem { chain, ..MacItem::new(&key, &text[from..]) }];
        engine.mac_batch(&mut items);
        prop_assert_eq!(items[0].mac, whole[0].mac);
    }

    #[test]
    fn cmac(
        algorithm in select(&MacAlgorithm::ALL[2..]), key in vec(any::<u8>(), 32), text in vec(any::<u8>(), 0..400),
    ) {
        let engine = engine();
        let key = &key[..algorithm.key_bytes()];
        let prepared = engine.mac_key(algorithm, key).unwrap();
        let mut items = [MacItem::new(&prepared, &text)];
        engine.mac_batch(&mut items);
        let (cipher, their_key) = match algorithm {
            MacAlgorithm::CmacTdes2 => (openssl::symm::Cipher::des_ede3_cbc(), [key, &key[..8]].concat()),
            MacAlgorithm::CmacTdes3 => (openssl::symm::Cipher::des_ede3_cbc(), key.to_vec()),
            MacAlgorithm::CmacAes128 => (openssl::symm::Cipher::aes_128_cbc(), key.to_vec()),
            MacAlgorithm::CmacAes192 => (openssl::symm::Cipher::aes_192_cbc(), key.to_vec()),
            _ => (openssl::symm::Cipher::aes_256_cbc(), key.to_vec()),
        };
        let their_key = PKey::cmac(&cipher, &their_key).unwrap();
        let expected = Signer::new_without_digest(&their_key).unwrap().sign_oneshot_to_vec(&text).unwrap();
        prop_assert_eq!(&items[0].mac[..expected.len()], &expected[..]);
    }

    #[test]
    fn hashes_and_hmac(
        hash in select(&HashAlgorithm::ALL[..]), key in vec(any::<u8>(), 1..300), text in vec(any::<u8>(), 0..700),
        cut in any::<prop::sample::Index>(),
    ) {
        let engine = engine();
        let expected = openssl::hash::hash(message_digest(hash), &text).unwrap();
        let digest = engine.hash(hash, &text).unwrap();
        prop_assert_eq!(&digest[..hash.digest_bytes()], &expected[..]);
        let mut state = engine.hash_state(hash).unwrap();
        let (first, second) = text.split_at(cut.index(text.len() + 1));
        state.update(first);
        let mut copy = state.clone();
        state.update(second);
        prop_assert_eq!(state.finish(), digest);
        copy.update(second);
        prop_assert_eq!(copy.finish(), digest);
        let their_key = PKey::hmac(&key).unwrap();
        let expected =
            Signer::new(message_digest(hash), &their_key).unwrap().sign_oneshot_to_vec(&text).unwrap();
        let prepared = engine.hmac_key(hash, &key).unwrap();
        let mut items = [HmacItem::new(&prepared, &text)];
        engine.hmac_batch(&mut items);
        prop_assert_eq!(&items[0].mac[..hash.digest_bytes()], &expected[..]);
    }
}

/// Texts of one block with their padding, and longer ones.
#[test]
fn sha256_of_texts_of_all_lengths() {
    let text: Vec<u8> = (0..=130).collect();
    for length in 0..=text.len() {
        assert_eq!(engine::sha256(&text[..length]), openssl::sha::sha256(&text[..length]), "{length}");
    }
}

fn message_digest(hash: HashAlgorithm) -> MessageDigest {
    match hash {
        HashAlgorithm::Md5 => MessageDigest::md5(),
        HashAlgorithm::Sha1 => MessageDigest::sha1(),
        HashAlgorithm::Ripemd160 => MessageDigest::ripemd160(),
        HashAlgorithm::Sha224 => MessageDigest::sha224(),
        HashAlgorithm::Sha256 => MessageDigest::sha256(),
        HashAlgorithm::Sha384 => MessageDigest::sha384(),
        HashAlgorithm::Sha512 => MessageDigest::sha512(),
        HashAlgorithm::Sha3_224 => MessageDigest::sha3_224(),
        HashAlgorithm::Sha3_256 => MessageDigest::sha3_256(),
        HashAlgorithm::Sha3_384 => MessageDigest::sha3_384(),
        HashAlgorithm::Sha3_512 => MessageDigest::sha3_512(),
    }
}

/// The engine's key as OpenSSL's.
fn theirs_rsa(key: &RsaPrivateKey) -> Rsa<Private> {
    let number = |bytes: &[u8]| BigNum::from_slice(bytes).unwrap();
    let secret = |bytes: Option<SecretBytes>| number(&bytes.unwrap());
    Rsa::from_private_components(
        number(&key.n()),
        number(&key.e()),
        number(&key.d()),
        secret(key.p()),
        secret(key.q()),
        secret(key.dp()),
        secret(key.dq()),
        secret(key.qinv()),
    )
    .unwrap()
}

/// OpenSSL's key as the engine's, in both private forms.
fn ours_rsa(key: &Rsa<Private>) -> [RsaPrivateKey; 2] {
    let (n, e, d) = (key.n().to_vec(), key.e().to_vec(), key.d().to_vec());
    let part = |number: Option<&openssl::bn::BigNumRef>| number.unwrap().to_vec();
    let crt = RsaPrivateKey::from_crt(&RsaCrt {
        n: &n,
        e: &e,
        p: &part(key.p()),
        q: &part(key.q()),
        dp: &part(key.dmp1()),
        dq: &part(key.dmq1()),
        qinv: &part(key.iqmp()),
    });
    [crt.unwrap(), RsaPrivateKey::from_me(&n, &e, &d).unwrap()]
}

#[test]
fn rsa_raw_operations() {
    let engine = engine();
    for bits in [512, 640, 768, 1000, 1024, 1536, 2048] {
        let key = Rsa::generate(bits).unwrap();
        let bytes = key.size() as usize;
        for ours in ours_rsa(&key) {
            for _ in 0..4 {
                let mut input = vec![0; bytes];
                engine.random(&mut input[1..]);
                let (mut out, mut expected) = (vec![0; bytes], vec![0; bytes]);
                engine.rsa_private(&ours, &input, &mut out).unwrap();
                key.private_encrypt(&input, &mut expected, Padding::NONE).unwrap();
                assert_eq!(out, expected, "{bits} bits");
                engine.rsa_public(&ours.public_key().unwrap(), &input, &mut out).unwrap();
                key.public_encrypt(&input, &mut expected, Padding::NONE).unwrap();
                assert_eq!(out, expected, "{bits} bits");
            }
        }
    }
}

#[test]
fn rsa_generated_keys_pass_openssl_s_check() {
    let engine = engine();
    for bits in [512, 520, 768, 1000, 1024, 1048, 2048] {
        for e in [&[3][..], &[1, 0, 1], &[1, 0, 0, 0, 0, 0, 0, 0, 1, 1]] {
            let key = engine.rsa_generate(bits, e).unwrap();
            assert_eq!((key.bits(), key.e()), (bits, e.to_vec()));
            assert!(key.p().unwrap().as_slice() > key.q().unwrap().as_slice());
            assert!(theirs_rsa(&key).check_key().unwrap(), "{bits} bits");
        }
    }
}

#[test]
fn rsa_paddings() {
    let engine = engine();
    let key = Rsa::generate(2048).unwrap();
    let [ours, _] = ours_rsa(&key);
    let public = ours.public_key().unwrap();
    let private = PKey::from_rsa(key.clone()).unwrap();
    let message = b"a message";
    let mut out = [0; 256];

    // Encryption: ours to theirs, theirs to ours.
    engine.rsa_public(&public, &pkcs1_v15_encrypt_pad(message, 256).unwrap(), &mut out).unwrap();
    let mut plain = [0; 256];
    let found = key.private_decrypt(&out, &mut plain, Padding::PKCS1).unwrap();
    assert_eq!(&plain[..found], message);
    key.public_encrypt(message, &mut out, Padding::PKCS1).unwrap();
    engine.rsa_private(&ours, &out, &mut plain).unwrap();
    assert_eq!(&*pkcs1_v15_encrypt_unpad(&plain).unwrap(), message);
    for hash in [HashAlgorithm::Sha1, HashAlgorithm::Sha256, HashAlgorithm::Sha512] {
        let digest = message_digest(hash);
        engine.rsa_public(&public, &oaep_pad(hash, b"label", message, 256).unwrap(), &mut out).unwrap();
        let mut decrypter = openssl::encrypt::Decrypter::new(&private).unwrap();
        decrypter.set_rsa_padding(Padding::PKCS1_OAEP).unwrap();
        decrypter.set_rsa_oaep_md(digest).unwrap();
        decrypter.set_rsa_mgf1_md(digest).unwrap();
        decrypter.set_rsa_oaep_label(b"label").unwrap();
        let found = decrypter.decrypt(&out, &mut plain).unwrap();
        assert_eq!(&plain[..found], message);
        let mut encrypter = openssl::encrypt::Encrypter::new(&private).unwrap();
        encrypter.set_rsa_padding(Padding::PKCS1_OAEP).unwrap();
        encrypter.set_rsa_oaep_md(digest).unwrap();
        encrypter.set_rsa_mgf1_md(digest).unwrap();
        encrypter.encrypt(message, &mut out).unwrap();
        engine.rsa_private(&ours, &out, &mut plain).unwrap();
        assert_eq!(&*oaep_unpad(hash, b"", &plain).unwrap(), message);
    }

    // Signatures: ours to theirs, theirs to ours.
    for hash in HashAlgorithm::ALL {
        let hashed = engine.hash(hash, message).unwrap();
        let hashed = &hashed[..hash.digest_bytes()];
        let digest = message_digest(hash);
        engine.rsa_private(&ours, &pkcs1_v15_sign_pad(hash, hashed, 256).unwrap(), &mut out).unwrap();
        let mut verifier = Verifier::new(digest, &private).unwrap();
        assert!(verifier.verify_oneshot(&out, message).unwrap(), "{hash}");
        let signature = Signer::new(digest, &private).unwrap().sign_oneshot_to_vec(message).unwrap();
        engine.rsa_public(&public, &signature, &mut plain).unwrap();
        assert_eq!(pkcs1_v15_verify(hash, hashed, &plain), Ok(()), "{hash}");

        let block = pss_encode(hash, hashed, hash.digest_bytes(), 2048).unwrap();
        engine.rsa_private(&ours, &block, &mut out).unwrap();
        let mut verifier = Verifier::new(digest, &private).unwrap();
        verifier.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
        verifier.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).unwrap();
        assert!(verifier.verify_oneshot(&out, message).unwrap(), "{hash}");
        let mut signer = Signer::new(digest, &private).unwrap();
        signer.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
        let signature = signer.sign_oneshot_to_vec(message).unwrap();
        engine.rsa_public(&public, &signature, &mut plain).unwrap();
        assert_eq!(pss_verify_vartime(hash, hashed, None, &plain, 2048), Ok(()), "{hash}");
    }
}

#[test]
fn ecdsa_and_ecdh() {
    let engine = engine();
    for (curve, nid) in [
        (Curve::P224, Nid::SECP224R1),
        (Curve::P256, Nid::X9_62_PRIME256V1),
        (Curve::P384, Nid::SECP384R1),
        (Curve::P521, Nid::SECP521R1),
        (Curve::Secp256k1, Nid::SECP256K1),
        (Curve::BrainpoolP256r1, Nid::BRAINPOOL_P256R1),
        (Curve::BrainpoolP384r1, Nid::BRAINPOOL_P384R1),
    ] {
        let group = EcGroup::from_curve_name(nid).unwrap();
        let mut context = openssl::bn::BigNumContext::new().unwrap();
        for round in 0..8u8 {
            let bytes = curve.scalar_bytes();
            let key = engine.ec_generate(curve).unwrap();
            let point = EcPoint::from_bytes(&group, &key.public_bytes(), &mut context).unwrap();
            let scalar = BigNum::from_slice(&key.to_bytes()).unwrap();
            let theirs = EcKey::from_private_components(&group, &scalar, &point).unwrap();
            theirs.check_key().unwrap();

            let digest = [round; 32];
            let mut items = [EcdsaSignItem::new(&key, &digest)];
            engine.ecdsa_sign_batch(&mut items);
            assert_eq!(items[0].result, Ok(()));
            let (r, s) = items[0].signature().split_at(bytes);
            let number = |bytes: &[u8]| BigNum::from_slice(bytes).unwrap();
            let signature = EcdsaSig::from_private_components(number(r), number(s)).unwrap();
            assert!(signature.verify(&digest, &theirs).unwrap());
            let signature = EcdsaSig::sign(&digest, &theirs).unwrap();
            let padded = |number: &openssl::bn::BigNumRef| number.to_vec_padded(bytes as i32).unwrap();
            let signature = [padded(signature.r()), padded(signature.s())].concat();
            let public = key.public_key().unwrap();
            let mut items = [EcdsaVerifyItem::new(&public, &digest, &signature)];
            engine.ecdsa_verify_batch(&mut items);
            assert_eq!(items[0].result, Ok(()));

            let peer = EcKey::generate(&group).unwrap();
            let compressed =
                peer.public_key().to_bytes(&group, PointConversionForm::COMPRESSED, &mut context).unwrap();
            let (ours, peer) = (PKey::from_ec_key(theirs).unwrap(), PKey::from_ec_key(peer).unwrap());
            let mut deriver = Deriver::new(&ours).unwrap();
            deriver.set_peer(&peer).unwrap();
            assert_eq!(*key.ecdh(&compressed).unwrap(), *deriver.derive_to_vec().unwrap());
        }
    }
}

#[test]
fn dsa_signatures_hold_for_openssl_and_keys_that_are_none_are_refused() {
    engine();
    for bits in [1024, 2048] {
        let theirs = Dsa::generate(bits).unwrap();
        let [p, q, g] = [theirs.p(), theirs.q(), theirs.g()].map(|number| number.to_vec());
        let (y, x) = (theirs.pub_key().to_vec(), theirs.priv_key().to_vec());
        let key = DsaPrivateKey::new(&p, &q, &g, &y, &x).unwrap();
        assert_eq!(key.order_bytes(), q.len());
        for digest in [&[7; 20][..], &[9; 32], &[0xff; 64]] {
            let signature = key.sign(digest).unwrap();
            let (r, s) = signature.split_at(q.len());
            let number = |bytes: &[u8]| BigNum::from_slice(bytes).unwrap();
            let public = Dsa::from_public_components(number(&p), number(&q), number(&g), number(&y)).unwrap();
            let signature = DsaSig::from_private_components(number(r), number(s)).unwrap();
            let public = PKey::from_dsa(public).unwrap();
            let mut check = PkeyCtx::new(&public).unwrap();
            check.verify_init().unwrap();
            let cut = &digest[..digest.len().min(q.len())];
            assert!(check.verify(cut, &signature.to_der().unwrap()).unwrap(), "{bits} {}", digest.len());
        }
        let zeros = [&[0; 3][..], &x].concat();
        assert!(DsaPrivateKey::new(&p, &q, &g, &y, &zeros).is_some());
        let mut other = y.clone();
        *other.last_mut().unwrap() ^= 1;
        assert!(DsaPrivateKey::new(&p, &q, &g, &other, &x).is_none());
        for x in [&q[..], &[0], &[0xff; 33], &[1]] {
            assert!(DsaPrivateKey::new(&p, &q, &g, &y, x).is_none());
        }
        assert!(DsaPrivateKey::new(&p, &q[1..], &g, &y, &x).is_none());
        assert!(DsaPrivateKey::new(&[0xff; 520], &q, &g, &y, &x).is_none());
    }
}

/// Under a public key of small order R = the neutral point and S = 0 fit where the hash is a multiple of the order: of
/// one text in eight at the least.
#[test]
fn ed25519_public_keys_of_small_order_take_forgeries_and_are_none() {
    let number = |low: u8, high: u8| -> [u8; 32] {
        std::array::from_fn(|at| match at {
            0 => low,
            31 => high,
            _ => 0xFF,
        })
    };
    let order_eight = |text: &str| -> [u8; 32] {
        std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
    };
    let neutral: [u8; 32] = std::array::from_fn(|at| u8::from(at == 0));
    let forged = [neutral, [0; 32]].concat();
    for y in [
        neutral,
        number(0xEC, 0x7F),
        [0; 32],
        order_eight("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
        order_eight("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
    ] {
        let key = PKey::public_key_from_raw_bytes(&y, Id::ED25519).unwrap();
        let takes = |text: &[u8; 1]| {
            let theirs = Verifier::new_without_digest(&key).unwrap().verify_oneshot(&forged, text);
            assert_eq!(ed25519_verify(&y, text, &forged).is_ok(), theirs.unwrap_or(false));
            ed25519_verify(&y, text, &forged).is_ok()
        };
        assert!((0..=255).any(|byte| takes(&[byte])), "{y:02x?}");
        let mut negated = y;
        negated[31] ^= 0x80;
        assert!(!is_ed25519_public(&y) && !is_ed25519_public(&negated), "{y:02x?}");
    }
    // Numbers that are not below the prime, and the largest that is.
    for (low, high) in [(0xED, 0x7F), (0xEE, 0x7F), (0xFF, 0x7F), (0xED, 0xFF), (0xFF, 0xFF)] {
        assert!(!is_ed25519_public(&number(low, high)), "{low:#x}");
    }
    assert!(is_ed25519_public(&number(0xEB, 0x7F)) && is_ed25519_public(&number(0xFF, 0x7E)));
    assert!((0..64).all(|_| is_ed25519_public(&Ed25519Key::generate().public())));
}

#[test]
fn x25519_and_ed25519() {
    engine();
    for round in 0..16u8 {
        let (private, public) = x25519_keypair();
        assert_eq!(x25519_public(private.as_slice().try_into().unwrap()), public);
        let ours = PKey::private_key_from_raw_bytes(&private, Id::X25519).unwrap();
        assert_eq!(ours.raw_public_key().unwrap(), public);
        let peer = PKey::generate_x25519().unwrap();
        let mut deriver = Deriver::new(&ours).unwrap();
        deriver.set_peer(&peer).unwrap();
        let peer = peer.raw_public_key().unwrap().try_into().unwrap();
        let shared = x25519(private.as_slice().try_into().unwrap(), &peer).unwrap();
        assert_eq!(*shared, *deriver.derive_to_vec().unwrap());

        let key = Ed25519Key::from_seed(&[round; 32]);
        let theirs = PKey::private_key_from_raw_bytes(&[round; 32], Id::ED25519).unwrap();
        assert_eq!(theirs.raw_public_key().unwrap(), key.public());
        assert_eq!(*key.to_seed(), [round; 32]);
        let message = vec![round; usize::from(round)];
        let expected = Signer::new_without_digest(&theirs).unwrap().sign_oneshot_to_vec(&message).unwrap();
        assert_eq!(key.sign(&message).unwrap(), *expected);
    }
}
