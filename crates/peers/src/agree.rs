//! The libraries agree with each other, as far as they are here: what binds them is right.

use crate::aws_lc_ffi as aws;
use crate::ipsec_mb_ffi::{AesKey, IpsecMb, Job, JobCipher, Reach};
use crate::openssl_ffi::{self, openssl};
use std::panic::{AssertUnwindSafe, catch_unwind};

const KEY: [u8; 24] = *b"0123456789abcdefghijklmn";
const IV: [u8; 16] = *b"chaining value!!";

fn text(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index * 7 + index / 256) as u8).collect()
}

fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes[..N].try_into().unwrap()
}

fn reaches() -> Vec<IpsecMb> {
    let mut reaches = vec![Reach::Sse];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") {
            reaches.push(Reach::Avx2);
        }
        if is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512bw") {
            reaches.push(Reach::Avx512);
        }
    }
    reaches.into_iter().filter_map(|reach| IpsecMb::new(reach).ok()).collect()
}

#[test]
fn ciphers() {
    let bytes = 4096;
    let (key8, key16): ([u8; 8], [u8; 16]) = (first(&KEY), first(&KEY));
    for encipher in [true, false] {
        let (mut des, mut tdes, mut aes) = (text(bytes), text(bytes), text(bytes));
        aws::Des::new(&key8).cbc(encipher, &mut first(&IV), &mut des);
        aws::Tdes::new(&KEY).cbc(encipher, &mut first(&IV), &mut tdes);
        aws::Aes::new(&key16, encipher).unwrap().cbc(encipher, &mut IV.clone(), &mut aes);
        if let Ok(library) = openssl() {
            let mut data = text(bytes);
            openssl_ffi::Des::new(library, &key8).cbc(encipher, &mut first(&IV), &mut data);
            assert_eq!(data, des);
            for (name, key, expected) in
                [("DES-EDE3-CBC", &KEY[..], &tdes), ("AES-128-CBC", &key16[..], &aes)]
            {
                let mut cipher = openssl_ffi::Cipher::new(library, name, encipher, key).unwrap();
                for _ in 0..2 {
                    let mut data = text(bytes);
                    cipher.start(&IV);
                    cipher.update(&mut data);
                    assert_eq!(&data, expected, "{name}");
                }
            }
        }
        for mut library in reaches() {
            let keys = (library.des(&key8), library.des(&KEY), library.aes128(&key16));
            let mut data = [text(bytes), text(bytes), text(bytes)];
            let [a, b, c] = &mut data;
            let job = |work, data| Job::Cipher { work, encipher, iv: &IV, data };
            library.run(&mut [
                job(JobCipher::DesCbc(&keys.0), a),
                job(JobCipher::TdesCbc(&keys.1), b),
                job(JobCipher::AesCbc(&keys.2), c),
            ]);
            assert_eq!(data, [des.clone(), tdes.clone(), aes.clone()]);
        }
    }
}

#[test]
fn ecb_ctr_and_gcm() {
    let key: [u8; 16] = first(&KEY);
    let (mut ctr, mut sealed, mut ecb, mut des) = (text(1000), text(1008), text(800), text(800));
    aws::Aes::new(&key, true).unwrap().ctr(&mut IV.clone(), &mut ctr);
    let tag = aws::Gcm::new(&key).unwrap().seal(&first(&IV), b"aad", &mut sealed);
    aws::Tdes::new(&KEY).ecb(true, &mut ecb);
    aws::Des::new(&first(&KEY)).ecb(true, &mut des);
    if let Ok(library) = openssl() {
        let mut data = text(1000);
        let mut cipher = openssl_ffi::Cipher::new(library, "AES-128-CTR", true, &key).unwrap();
        cipher.start(&IV);
        cipher.update(&mut data);
        assert_eq!(data, ctr);
        let mut data = text(1008);
        let mut cipher = openssl_ffi::Cipher::new(library, "AES-128-GCM", true, &key).unwrap();
        assert_eq!(cipher.seal(&first(&IV), b"aad", &mut data), tag);
        assert_eq!(data, sealed);
        let mut data = text(800);
        openssl_ffi::Cipher::new(library, "DES-EDE3-ECB", true, &KEY).unwrap().update(&mut data);
        assert_eq!(data, ecb);
        let mut data = text(800);
        openssl_ffi::Des::new(library, &first(&KEY)).ecb(true, &mut data);
        assert_eq!(data, des);
    }
    for mut library in reaches() {
        let (ctr_key, gcm_key) = (library.aes128(&key), library.gcm(&key));
        let mut data = text(1000);
        let work = JobCipher::AesCtr(&ctr_key);
        library.run(&mut [Job::Cipher { work, encipher: true, iv: &IV, data: &mut data }]);
        assert_eq!(data, ctr);
        let mut data = text(1008);
        assert_eq!(library.gcm_seal(&gcm_key, &first(&IV), b"aad", &mut data), tag);
        assert_eq!(data, sealed);
    }
}

#[test]
fn hashes_and_macs() {
    let (data, key) = (text(1001), first::<16>(&KEY));
    let digests = (aws::sha1(&data), aws::sha256(&data));
    let mut macs = [[0; 32]; 2];
    for (sha256, mac) in [false, true].into_iter().zip(&mut macs) {
        aws::Hmac::new(sha256, &key).mac(&data, mac);
    }
    let mut cmac = [0; 16];
    aws::Cmac::new(&key).mac(&data, &mut cmac);
    if let Ok(library) = openssl() {
        assert_eq!((library.sha1(&data), library.sha256(&data)), digests);
        for (sha256, expected) in [false, true].into_iter().zip(macs) {
            let (mut hmac, mut mac) = (openssl_ffi::Hmac::new(library, sha256, &key), [0; 32]);
            hmac.mac(b"another", &mut mac);
            mac.fill(0);
            hmac.mac(&data, &mut mac);
            assert_eq!(mac, expected);
        }
        let mut mac = [0; 16];
        openssl_ffi::Cmac::new(library, &key).mac(&data, &mut mac);
        assert_eq!(mac, cmac);
    }
    for mut library in reaches() {
        let keys = [library.hmac(false, &key), library.hmac(true, &key)];
        let cmac_key = library.cmac(&key);
        let mut tags = [[0; 32]; 5];
        let [a, b, c, d, e] = &mut tags;
        library.run(&mut [
            Job::Hash { sha256: false, data: &data, tag: a },
            Job::Hash { sha256: true, data: &data, tag: b },
            Job::Hmac { key: &keys[0], data: &data, tag: c },
            Job::Hmac { key: &keys[1], data: &data, tag: d },
            Job::Cmac { key: &cmac_key, data: &data, tag: e },
        ]);
        assert_eq!((first::<20>(&tags[0]), tags[1]), digests);
        assert_eq!([tags[2], tags[3]], macs);
        assert_eq!(first::<16>(&tags[4]), cmac);
    }
}

/// X9.19 as it is composed: the peer's low-level calls against the cipher of the other library.
#[test]
fn x919_is_put_together_as_the_standard_says() {
    let Ok(library) = openssl() else { return };
    let (key, data) = (first::<16>(&KEY), text(64));
    let (left, right) = (aws::Des::new(&first(&key)), aws::Des::new(&first(&key[8..])));
    let mut room = data.clone();
    left.cbc(true, &mut [0; 8], &mut room);
    let mut last = first::<8>(&room[56..]);
    right.ecb(false, &mut last);
    left.ecb(true, &mut last);
    assert_eq!(library.x919(&key, &data, &mut [0; 64]), last);
}

/// Lengths that OpenSSL would read or write beyond do not reach it.
#[test]
fn lengths_that_do_not_fit_are_refused() {
    let Ok(library) = openssl() else { return };
    let cipher = |name, key: &[u8]| openssl_ffi::Cipher::new(library, name, true, key);
    for (name, key_bytes) in [("AES-128-CBC", 16), ("AES-256-GCM", 32), ("DES-EDE3-ECB", 24)] {
        for bytes in 0..40 {
            assert_eq!(cipher(name, &[1; 40][..bytes]).is_some(), bytes == key_bytes, "{name} {bytes}");
        }
    }
    assert!(cipher("NO-SUCH-CIPHER", &KEY).is_none());
    let refused = |name, call: &dyn Fn(&mut openssl_ffi::Cipher)| {
        let mut cipher = cipher(name, &KEY[..16]).unwrap();
        catch_unwind(AssertUnwindSafe(|| call(&mut cipher))).is_err()
    };
    assert!(refused("AES-128-CBC", &|cipher| cipher.start(&IV[..15])));
    assert!(refused("AES-128-CBC", &|cipher| cipher.update(&mut [0; 17])));
    assert!(refused("AES-128-OCB", &|cipher| _ = cipher.seal(&first(&IV), b"aad", &mut [0; 17])));
    assert!(refused("AES-128-ECB", &|cipher| _ = cipher.seal(&first(&IV), b"aad", &mut [0; 16])));
    assert!(!refused("AES-128-OCB", &|cipher| _ = cipher.seal(&first(&IV), b"aad", &mut [0; 32])));
}

fn cbc<'a>(key: &'a AesKey, data: &'a mut [u8]) -> Job<'a> {
    Job::Cipher { work: JobCipher::AesCbc(key), encipher: true, iv: &IV, data }
}

/// A job that the library does not take panics only when the others are back, and its manager works on.
#[test]
fn a_refused_job_leaves_none_behind() {
    let key: [u8; 16] = first(&KEY);
    let mut expected = text(64);
    aws::Aes::new(&key, true).unwrap().cbc(true, &mut IV.clone(), &mut expected);
    for mut library in reaches() {
        let keys = library.aes128(&key);
        for bytes in [0, 15, (32 << 10) + 16] {
            let mut data = [text(64), text(bytes), text(64)];
            let mut jobs: Vec<Job<'_>> = data.iter_mut().map(|data| cbc(&keys, data)).collect();
            assert!(catch_unwind(AssertUnwindSafe(|| library.run(&mut jobs))).is_err(), "{bytes}");
            let mut data = text(64);
            library.run(&mut [cbc(&keys, &mut data)]);
            assert_eq!(data, expected);
        }
    }
}
