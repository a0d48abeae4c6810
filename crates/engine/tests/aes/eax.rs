//! EAX: the vectors of its paper, and a plain composition of OpenSSL's CTR and CMAC.

use super::*;

/// Plaintext, key, nonce, header and ciphertext with its tag (appendix G of the paper).
const VECTORS: [[&str; 5]; 10] = [
    [
        "",
        "233952DEE4D5ED5F9B9C6D6FF80FF478",
        "62EC67F9C3A4A407FCB2A8C49031A8B3",
        "6BFB914FD07EAE6B",
        "E037830E8389F27B025A2D6527E79D01",
    ],
    [
        "F7FB",
        "91945D3F4DCBEE0BF45EF52255F095A4",
        "BECAF043B0A23D843194BA972C66DEBD",
        "FA3BFD4806EB53FA",
        "19DD5C4C9331049D0BDAB0277408F67967E5",
    ],
    [
        "1A47CB4933",
        "01F74AD64077F2E704C0F60ADA3DD523",
        "70C3DB4F0D26368400A10ED05D2BFF5E",
        "234A3463C1264AC6",
        "D851D5BAE03A59F238A23E39199DC9266626C40F80",
    ],
    [
        "481C9E39B1",
        "D07CF6CBB7F313BDDE66B727AFD3C5E8",
        "8408DFFF3C1A2B1292DC199E46B7D617",
        "33CCE2EABFF5A79D",
        "632A9D131AD4C168A4225D8E1FF755939974A7BEDE",
    ],
    [
        "40D0C07DA5E4",
        "35B6D0580005BBC12B0587124557D2C2",
        "FDB6B06676EEDC5C61D74276E1F8E816",
        "AEB96EAEBE2970E9",
        "071DFE16C675CB0677E536F73AFE6A14B74EE49844DD",
    ],
    [
        "4DE3B35C3FC039245BD1FB7D",
        "BD8E6E11475E60B268784C38C62FEB22",
        "6EAC5C93072D8E8513F750935E46DA1B",
        "D4482D1CA78DCE0F",
        "835BB4F15D743E350E728414ABB8644FD6CCB86947C5E10590210A4F",
    ],
    [
        "8B0A79306C9CE7ED99DAE4F87F8DD61636",
        "7C77D6E813BED5AC98BAA417477A2E7D",
        "1A8C98DCD73D38393B2BF1569DEEFC19",
        "65D2017990D62528",
        "02083E3979DA014812F59F11D52630DA30137327D10649B0AA6E1C181DB617D7F2",
    ],
    [
        "1BDA122BCE8A8DBAF1877D962B8592DD2D56",
        "5FFF20CAFAB119CA2FC73549E20F5B0D",
        "DDE59B97D722156D4D9AFF2BC7559826",
        "54B9F04E6A09189A",
        "2EC47B2C4954A489AFC7BA4897EDCDAE8CC33B60450599BD02C96382902AEF7F832A",
    ],
    [
        "6CF36720872B8513F6EAB1A8A44438D5EF11",
        "A4A4782BCFFD3EC5E7EF6D8C34A56123",
        "B781FCF2F75FA5A8DE97A9CA48E522EC",
        "899A175897561D7E",
        "0DE18FD0FDD91E7AF19F1D8EE8733938B1E8E7F6D2231618102FDB7FE55FF1991700",
    ],
    [
        "CA40D7446E545FFAED3BD12A740A659FFBBB3CEAB7",
        "8395FCF1E95BEBD697BD010BC766AAC3",
        "22E7ADD93CFC6393C57EC0B3C17D6B44",
        "126735FCC320D25A",
        "CB8920F87A6C75CFF39627B56E3ED197C552D295A7CFC46AFC253B4652B1AF3795B124AB6E",
    ],
];

fn check_both_ways(engine: &Engine, key: &[u8], nonce: &[u8], aad: &[u8], text: &[u8], expected: &[u8]) {
    let key = engine.eax_key(key).unwrap();
    let (ciphertext, tag) = expected.split_at(text.len());
    let mut data = text.to_vec();
    let mut items = [EaxItem { tag_bytes: tag.len(), ..EaxItem::encipher(&key, nonce, aad, &mut data) }];
    engine.eax_batch(CipherDirection::Encipher, &mut items);
    let [item] = items;
    assert_eq!(item.result, Ok(()));
    assert_eq!(&item.tag[..tag.len()], tag);
    assert!(item.tag[tag.len()..].iter().all(|byte| *byte == 0));
    assert_eq!(data, ciphertext);
    let mut items = [EaxItem::decipher(&key, nonce, aad, &mut data, tag)];
    engine.eax_batch(CipherDirection::Decipher, &mut items);
    assert_eq!(items[0].result, Ok(()));
    assert_eq!(data, text);
}

#[test]
fn vectors_of_the_paper() {
    for engine in engines() {
        for [text, key, nonce, header, expected] in VECTORS.map(|vector| vector.map(hex)) {
            check_both_ways(&engine, &key, &nonce, &header, &text, &expected);
        }
    }
}

/// Figure 4 of the paper, out of OpenSSL's CMAC and CTR.
pub(super) fn composed(key: &[u8], nonce: &[u8], aad: &[u8], text: &[u8]) -> Vec<u8> {
    let omac = |number: u8, text: &[u8]| openssl_cmac(key, &[&[0; 15], &[number][..], text].concat());
    let (first, header) = (omac(0, nonce), omac(1, aad));
    let ciphertext = if text.is_empty() { Vec::new() } else { openssl("ctr", true, key, &first, text) };
    let last = omac(2, &ciphertext);
    let tag = (0..16).map(|at| first[at] ^ header[at] ^ last[at]);
    ciphertext.iter().copied().chain(tag).collect()
}

#[test]
fn agrees_with_the_composition_from_openssl() {
    let mut random = Random(2004);
    let engines = engines();
    for _ in 0..cases(1_000_000) {
        let (key, nonce_bytes) = (random_key(&mut random), random.below(40));
        let nonce = random.bytes(nonce_bytes);
        let (aad_bytes, text_bytes) = (random_length(&mut random), random_length(&mut random));
        let (aad, text) = (random.bytes(aad_bytes), random.bytes(text_bytes));
        let mut expected = composed(&key, &nonce, &aad, &text);
        // A shorter tag is the first bytes of the whole one.
        expected.truncate(text.len() + 8 + random.below(9));
        for engine in &engines {
            check_both_ways(engine, &key, &nonce, &aad, &text, &expected);
        }
    }
}

/// Batches of many sizes, which may go through lanes: each request has the answer that it has alone, those that
/// fail at any place between the others as well.
#[test]
fn batches_are_as_each_alone() {
    let mut random = Random(17);
    for engine in engines() {
        for count in 0..cases(4_100).max(41) {
            let count = count % 41;
            let keys: Vec<_> = (0..count).map(|_| random_key(&mut random)).collect();
            let prepared: Vec<_> = keys.iter().map(|key| engine.eax_key(key).unwrap()).collect();
            let texts: Vec<_> = (0..count)
                .map(|_| {
                    let (nonce, aad, text) = (random.below(40), random.below(80), random_length(&mut random));
                    [random.bytes(nonce), random.bytes(aad), random.bytes(text)]
                })
                .collect();
            let mut data: Vec<_> = texts.iter().map(|[_, _, text]| text.clone()).collect();
            let mut items: Vec<_> = prepared
                .iter()
                .zip(&texts)
                .zip(&mut data)
                .map(|((key, [nonce, aad, _]), data)| EaxItem::encipher(key, nonce, aad, data))
                .collect();
            engine.eax_batch(CipherDirection::Encipher, &mut items);
            for ((item, key), [nonce, aad, text]) in items.iter_mut().zip(&keys).zip(&texts) {
                let expected = composed(key, nonce, aad, text);
                assert_eq!((&*item.data, &item.tag[..]), expected.split_at(text.len()));
            }
            let sealed: Vec<_> = items.iter().map(|item| item.data.to_vec()).collect();
            let (forged, short) = (random.below(count.max(1)), random.below(2 * count.max(1)));
            if let Some(item) = items.get_mut(forged) {
                item.tag[15] ^= 1;
            }
            if let Some(item) = items.get_mut(short) {
                item.tag_bytes = 7;
            }
            engine.eax_batch(CipherDirection::Decipher, &mut items);
            for (at, (item, [_, _, text])) in items.iter().zip(&texts).enumerate() {
                if at == short {
                    assert_eq!(item.result, Err(CipherError::AeadTagLength { bytes: 7 }));
                    assert_eq!(item.data, sealed[at]);
                } else if at == forged {
                    assert_eq!(item.result, Err(CipherError::Authentication));
                    assert!(item.data.iter().all(|byte| *byte == 0));
                } else {
                    assert_eq!((item.result, &*item.data), (Ok(()), &text[..]));
                }
            }
        }
    }
}
