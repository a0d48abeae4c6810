//! CMAC (SP 800-38B) and HMAC (RFC 2202, RFC 4231).

use super::engine;
use super::reader::{Case, cases};
use engine::*;

fn check_cmac(file: &str, key: impl Fn(&Case) -> (MacAlgorithm, Vec<u8>)) {
    let engine = engine();
    for case in cases(file) {
        let (algorithm, key) = key(&case);
        let key = engine.mac_key(algorithm, &key).unwrap();
        let (text, expected) = (case.bytes("MESSAGE"), case.bytes("OUTPUT"));
        let mut items = [MacItem::new(&key, &text)];
        engine.mac_batch(&mut items);
        assert_eq!(items[0].result, Ok(()));
        assert_eq!(items[0].mac[..expected.len()], expected, "{file} {case:?}");
        // The same in two segments, cut at every block that leaves something for the last.
        let block = algorithm.block_bytes();
        for cut in (block..text.len()).step_by(block) {
            let mut first = [MacItem { last: false, ..MacItem::new(&key, &text[..cut]) }];
            engine.mac_batch(&mut first);
            assert_eq!((first[0].result, first[0].mac), (Ok(()), [0; 16]));
            let mut second = [MacItem { chain: first[0].chain, ..MacItem::new(&key, &text[cut..]) }];
            engine.mac_batch(&mut second);
            assert_eq!(second[0].mac[..expected.len()], expected, "{file} {case:?} cut at {cut}");
        }
    }
}

#[test]
fn cmac() {
    check_cmac("CMAC/nist-800-38b-aes128.txt", |case| (MacAlgorithm::CmacAes128, case.bytes("KEY")));
    check_cmac("CMAC/nist-800-38b-aes192.txt", |case| (MacAlgorithm::CmacAes192, case.bytes("KEY")));
    check_cmac("CMAC/nist-800-38b-aes256.txt", |case| (MacAlgorithm::CmacAes256, case.bytes("KEY")));
    let parts = |case: &Case| ["KEY1", "KEY2", "KEY3"].map(|name| case.bytes(name)).concat();
    check_cmac("CMAC/nist-800-38b-3des.txt", |case| (MacAlgorithm::CmacTdes3, parts(case)));
    let two_keys = cases("CMAC/nist-800-38b-3des.txt")
        .iter()
        .filter(|case| case.text("KEY1") == case.text("KEY3"))
        .count();
    assert!(two_keys > 0);
    let engine = engine();
    for case in
        cases("CMAC/nist-800-38b-3des.txt").iter().filter(|case| case.text("KEY1") == case.text("KEY3"))
    {
        let key = engine.mac_key(MacAlgorithm::CmacTdes2, &parts(case)[..16]).unwrap();
        let text = case.bytes("MESSAGE");
        let mut items = [MacItem::new(&key, &text)];
        engine.mac_batch(&mut items);
        assert_eq!(items[0].mac[..8], case.bytes("OUTPUT"));
    }
}

#[test]
fn hmac() {
    let engine = engine();
    for (file, hash) in [
        ("HMAC/rfc-2202-md5.txt", HashAlgorithm::Md5),
        ("HMAC/rfc-2202-sha1.txt", HashAlgorithm::Sha1),
        ("HMAC/rfc-4231-sha224.txt", HashAlgorithm::Sha224),
        ("HMAC/rfc-4231-sha256.txt", HashAlgorithm::Sha256),
        ("HMAC/rfc-4231-sha384.txt", HashAlgorithm::Sha384),
        ("HMAC/rfc-4231-sha512.txt", HashAlgorithm::Sha512),
    ] {
        for case in cases(file) {
            let key = engine.hmac_key(hash, &case.bytes("Key")).unwrap();
            let text = case.bytes("Msg");
            let mut items = [HmacItem::new(&key, &text)];
            engine.hmac_batch(&mut items);
            let expected = case.bytes("MD");
            assert_eq!(items[0].mac[..expected.len()], expected, "{file} {case:?}");
        }
    }
}
