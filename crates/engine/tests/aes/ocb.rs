//! OCB: the vectors of RFC 7253, appendix A, and OpenSSL.

use super::*;

/// Nonce, associated data, plaintext and ciphertext with its tag of 16 bytes, under the key 00 01 .. 0F.
const VECTORS: [(&str, usize, usize, &str); 16] = [
    ("BBAA99887766554433221100", 0, 0, "785407BFFFC8AD9EDCC5520AC9111EE6"),
    ("BBAA99887766554433221101", 8, 8, "6820B3657B6F615A5725BDA0D3B4EB3A257C9AF1F8F03009"),
    ("BBAA99887766554433221102", 8, 0, "81017F8203F081277152FADE694A0A00"),
    ("BBAA99887766554433221103", 0, 8, "45DD69F8F5AAE72414054CD1F35D82760B2CD00D2F99BFA9"),
    ("BBAA99887766554433221104", 16, 16, "571D535B60B277188BE5147170A9A22C3AD7A4FF3835B8C5701C1CCEC8FC3358"),
    ("BBAA99887766554433221105", 16, 0, "8CF761B6902EF764462AD86498CA6B97"),
    ("BBAA99887766554433221106", 0, 16, "5CE88EC2E0692706A915C00AEB8B2396F40E1C743F52436BDF06D8FA1ECA343D"),
    (
        "BBAA99887766554433221107",
        24,
        24,
        "1CA2207308C87C010756104D8840CE1952F09673A448A122C92C62241051F57356D7F3C90BB0E07F",
    ),
    ("BBAA99887766554433221108", 24, 0, "6DC225A071FC1B9F7C69F93B0F1E10DE"),
    (
        "BBAA99887766554433221109",
        0,
        24,
        "221BD0DE7FA6FE993ECCD769460A0AF2D6CDED0C395B1C3CE725F32494B9F914D85C0B1EB38357FF",
    ),
    (
        "BBAA9988776655443322110A",
        32,
        32,
        "BD6F6C496201C69296C11EFD138A467ABD3C707924B964DEAFFC40319AF5A48540FBBA186C5553C68AD9F592A79A4240",
    ),
    ("BBAA9988776655443322110B", 32, 0, "FE80690BEE8A485D11F32965BC9D2A32"),
    (
        "BBAA9988776655443322110C",
        0,
        32,
        "2942BFC773BDA23CABC6ACFD9BFD5835BD300F0973792EF46040C53F1432BCDFB5E1DDE3BC18A5F840B52E653444D5DF",
    ),
    (
        "BBAA9988776655443322110D",
        40,
        40,
        "D5CA91748410C1751FF8A2F618255B68A0A12E093FF454606E59F9C1D0DDC54B65E8628E568BAD7AED07BA06A4A69483A7035490C5769E60",
    ),
    ("BBAA9988776655443322110E", 40, 0, "C5CD9D1850C141E358649994EE701B68"),
    (
        "BBAA9988776655443322110F",
        0,
        40,
        "4412923493C57D5DE0D700F753CCE0D1D2D95060122E9F15A5DDBFC5787E50B5CC55EE507BCB084E479AD363AC366B95A98CA5F3000B1479",
    ),
];

fn encipher(
    engine: &Engine,
    key: &OcbKey,
    nonce: &[u8],
    aad: &[u8],
    text: &[u8],
    tag_bytes: usize,
) -> Vec<u8> {
    let mut data = text.to_vec();
    let mut items = [OcbItem { tag_bytes, ..OcbItem::encipher(key, nonce, aad, &mut data) }];
    engine.ocb_batch(CipherDirection::Encipher, &mut items);
    let [item] = items;
    assert_eq!(item.result, Ok(()));
    assert!(item.tag[tag_bytes..].iter().all(|byte| *byte == 0));
    let tag = item.tag;
    [&data, &tag[..tag_bytes]].concat()
}

fn check_both_ways(engine: &Engine, key: &[u8], nonce: &[u8], aad: &[u8], text: &[u8], expected: &[u8]) {
    let key = engine.ocb_key(key).unwrap();
    let tag_bytes = expected.len() - text.len();
    assert_eq!(encipher(engine, &key, nonce, aad, text, tag_bytes), expected, "{}", text.len());
    let (data, tag) = expected.split_at(text.len());
    let mut data = data.to_vec();
    let mut items = [OcbItem::decipher(&key, nonce, aad, &mut data, tag)];
    engine.ocb_batch(CipherDirection::Decipher, &mut items);
    assert_eq!(items[0].result, Ok(()));
    assert_eq!(data, text);
}

#[test]
fn vectors_of_rfc_7253() {
    let counting: Vec<u8> = (0..40).collect();
    for engine in engines() {
        for (nonce, aad, text, expected) in VECTORS {
            let key = &counting[..16];
            check_both_ways(&engine, key, &hex(nonce), &counting[..aad], &counting[..text], &hex(expected));
        }
        let expected = "1792A4E31E0755FB03E31B22116E6C2DDF9EFD6E33D536F1A0124B0A55BAE884ED93481529C76B6AD0C515F4D1CDD4FDAC4F02AA";
        let key: Vec<u8> = (0..16).rev().collect();
        check_both_ways(
            &engine,
            &key,
            &hex("BBAA9988776655443322110D"),
            &counting,
            &counting,
            &hex(expected),
        );
    }
}

/// The algorithm of appendix A that runs through 385 texts.
#[test]
fn iterated_test_of_rfc_7253() {
    const EXPECTED: [(usize, usize, &str); 9] = [
        (16, 16, "67E944D23256C5E0B6C61FA22FDF1EA2"),
        (24, 16, "F673F2C3E7174AAE7BAE986CA9F29E17"),
        (32, 16, "D90EB8E9C977C88B79DD793D7FFA161C"),
        (16, 12, "77A3D8E73589158D25D01209"),
        (24, 12, "05D56EAD2752C86BE6932C5E"),
        (32, 12, "5458359AC23B0CBA9E6330DD"),
        (16, 8, "192C9B7BD90BA06A"),
        (24, 8, "0066BC6E0EF34E24"),
        (32, 8, "7D4EA5D445501CBE"),
    ];
    for engine in engines() {
        for (key_bytes, tag_bytes, expected) in EXPECTED {
            let mut key = vec![0; key_bytes];
            key[key_bytes - 1] = 8 * tag_bytes as u8;
            let key = engine.ocb_key(&key).unwrap();
            let run = |number: u32, aad: &[u8], text: &[u8]| {
                let nonce = [&[0; 8][..], &number.to_be_bytes()].concat();
                encipher(&engine, &key, &nonce, aad, text, tag_bytes)
            };
            let mut all = Vec::new();
            for i in 0..128 {
                let zeros = vec![0; i as usize];
                all.extend(run(3 * i + 1, &zeros, &zeros));
                all.extend(run(3 * i + 2, &[], &zeros));
                all.extend(run(3 * i + 3, &zeros, &[]));
            }
            assert_eq!(run(385, &all, &[]), hex(expected), "key {key_bytes}, tag {tag_bytes}");
        }
    }
}

fn openssl_ocb(key: &[u8], nonce: &[u8], aad: &[u8], text: &[u8], tag_bytes: usize) -> Vec<u8> {
    let mut context = CipherCtx::new().unwrap();
    context.encrypt_init(Some(theirs("ocb", key)), None, None).unwrap();
    context.set_iv_length(nonce.len()).unwrap();
    context.set_tag_length(tag_bytes).unwrap();
    context.encrypt_init(None, Some(key), Some(nonce)).unwrap();
    if !aad.is_empty() {
        context.cipher_update(aad, None).unwrap();
    }
    let mut out = Vec::new();
    if !text.is_empty() {
        context.cipher_update_vec(text, &mut out).unwrap();
    }
    context.cipher_final_vec(&mut out).unwrap();
    let mut tag = vec![0; tag_bytes];
    context.tag(&mut tag).unwrap();
    [out, tag].concat()
}

#[test]
fn agrees_with_openssl() {
    let mut random = Random(7253);
    let engines = engines();
    for _ in 0..cases(1_000_000) {
        let (key, nonce_bytes) = (random_key(&mut random), 1 + random.below(15));
        let nonce = random.bytes(nonce_bytes);
        let (aad_bytes, text_bytes) = (random_length(&mut random), random_length(&mut random));
        let (aad, text) = (random.bytes(aad_bytes), random.bytes(text_bytes));
        let expected = openssl_ocb(&key, &nonce, &aad, &text, 8 + random.below(9));
        for engine in &engines {
            check_both_ways(engine, &key, &nonce, &aad, &text, &expected);
        }
    }
}

/// Long enough for offsets with many trailing zeros.
#[test]
fn long_texts_agree_with_openssl() {
    let mut random = Random(9580);
    for bytes in [16 * 4096, (1 << 20) + 16 * 31 + 5] {
        let (key, nonce, text) = (random_key(&mut random), random.bytes(15), random.bytes(bytes));
        let expected = openssl_ocb(&key, &nonce, &text[1..], &text, 16);
        for engine in engines() {
            check_both_ways(&engine, &key, &nonce, &text[1..], &text, &expected);
        }
    }
}
