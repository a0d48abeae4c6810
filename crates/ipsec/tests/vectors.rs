//! The published packets: RFC 7634, appendix A; draft-mcgrew-gcm-test-01, section 4, for RFC 4106, which has none of
//! its own; RFC 3602, section 4. RFC 2451 has none: 3DES is compared with OpenSSL in `batches`. The MACs of RFC 4868,
//! section 2.7, are of short texts and no packets.

use crate::common::{self, arrival_of, engines, ip, packet, unhex};
use ipsec::*;
use std::sync::Arc;

/// A published packet.
struct Vector {
    name: &'static str,
    suite: Suite,
    /// With the salt behind it.
    key: &'static str,
    spi: u32,
    number: u64,
    extended: bool,
    iv: &'static str,
    /// Without padding.
    payload: &'static str,
    next_header: u8,
    /// Enciphered, and the ICV of an AEAD.
    body: &'static str,
}

const AEADS: [Vector; 4] = [
    Vector {
        name: "RFC 7634, appendix A",
        suite: Suite::ChaCha20Poly1305,
        key: "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3",
        spi: 0x01020304,
        number: 5,
        extended: false,
        iv: "1011121314151617",
        payload: "45000054a6f200004001e778c6336405c000020508005b7a3a080000553bec100007362708090a0b0c0d0e0f1011121314151617\
                  18191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
        next_header: 4,
        body: "24039428b97f417e3c13753a4f05087b67c352e6a7fab1b982d466ef407ae5c614ee8099d52844eb61aa95dfab4c02f72aa71e7c4c4f\
               64c9befe2facc638e8f3cbec163fac469b502773f6fb94e664da9165b82829f641e076aaa8266b7fb0f7b11b369907e1ad43",
    },
    Vector {
        name: "GCM, key of 128 bits, extended number",
        suite: Suite::AesGcm16(AesKey::Bits128),
        key: "4c80cdefbb5d10da906ac73c3613a6342e443b68",
        spi: 0x00004321,
        number: 0x87654321_00000000,
        extended: true,
        iv: "4956ed7e3b244cfe",
        payload: "45000048699a000080114db7c0a80102c0a801010a9bf15638d301000001000000000000045f736970045f756470037369700963\
                  796265726369747902646b0000210001",
        next_header: 1,
        body: "fecf537e729d5b07dc30df528dd22b768d1b98736696a6fd348509fa13ceac34cfa2436f14a3f3cf65925bf1f4a13c5d15b21e1884f5\
               ff6247aeabb786b93bce61bc17d768fd9732459018148f6cbe722fd04796562dfdb4",
    },
    Vector {
        name: "GCM, key of 192 bits",
        suite: Suite::AesGcm16(AesKey::Bits192),
        key: "feffe9928665731c6d6a8f9467308308feffe9928665731ccafebabe",
        spi: 0x0000a5f8,
        number: 0x0a,
        extended: false,
        iv: "facedbaddecaf888",
        payload: "45000028a4ad4000400678800a01038f0a010612802306b8cb712602dd6bb03e501016d07568",
        next_header: 1,
        body: "a5b1f8066029aea40e598b8122de02420938b3ab33f828e687b8858b5bfbdbd0315b27452144cc7795457b9652037f5318027b5b4cd7\
               a636",
    },
    Vector {
        name: "GCM, key of 256 bits",
        suite: Suite::AesGcm16(AesKey::Bits256),
        key: "abbccddef00112233445566778899aababbccddef00112233445566778899aab11223344",
        spi: 0x4a2cbfe3,
        number: 2,
        extended: false,
        iv: "0102030405060708",
        payload: "4500003069a6400080062690c0a801029389155e0a9e008b2dc57ee0000000007002400020bf0000020405b401010402",
        next_header: 1,
        body: "ff425c9b724599df7a3bcd510194e00d6a78107f1b0b1cbf06efae9d65a5d763748a637985771d347f0545659f14e99def842d8eb335\
               f4eecfdbf831824b4c4915956c96",
    },
];

/// RFC 3602, section 4, cases 5 to 8, which have no ICV.
const CBC: [Vector; 4] = [
    Vector {
        name: "RFC 3602, case 5",
        suite: CBC_SHA256,
        key: "90d382b410eeba7ad938c46cec1a82bf",
        spi: 0x4321,
        number: 1,
        extended: false,
        iv: "e96e8c08ab465763fd098d45dd3ff893",
        payload: "08000ebda70a00008e9c083db95b070008090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b\
                  2c2d2e2f3031323334353637",
        next_header: 1,
        body: "f663c25d325c18c6a9453e194e120849a4870b66cc6b9965330013b4898dc856a4699e523a55db080b59ec3a8e4b7e52775b07d1db34\
               ed9c538ab50c551b874aa269add047ad2d5913ac19b7cfbad4a6",
    },
    Vector {
        name: "RFC 3602, case 6",
        suite: CBC_SHA256,
        key: "90d382b410eeba7ad938c46cec1a82bf",
        spi: 0x4321,
        number: 8,
        extended: false,
        iv: "69d08df7d203329db093fc4924e5bd80",
        payload: "0800b5e8a80a0500a69c083d0b660e00777777777777777777777777",
        next_header: 1,
        body: "f51995881ec4e0c4488987ce742e8109689bb379d2d750c0d915dca346a89f75",
    },
    Vector {
        name: "RFC 3602, case 7",
        suite: CBC_SHA256,
        key: "0123456789abcdef0123456789abcdef",
        spi: 0x8765,
        number: 2,
        extended: false,
        iv: "f4e765244f6407adf13dc1380f673f37",
        payload: "45000054090400004001f988c0a87b03c0a87bc808009f76a90a0100b49c083d02a2040008090a0b0c0d0e0f1011121314151617\
                  18191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
        next_header: 4,
        body: "773b5241a4c449225e4f3ce5ed611b0c237ca96cf74a93013c1b0ea1a0cf70f8e4ecaec78ac53aad7a0f022b859243c647752e94a859\
               352b8a4d4d2decd136e5c177f132ad3fbfb2201ac9904c74ee0a109e0ca1e4dfe9d5a100b842f1c22f0d",
    },
    Vector {
        name: "RFC 3602, case 8",
        suite: CBC_SHA256,
        key: "0123456789abcdef0123456789abcdef",
        spi: 0x8765,
        number: 5,
        extended: false,
        iv: "85d47224b5f3dd5d2101d4ea8dffab22",
        payload: "45000044090c00004001f990c0a87b03c0a87bc80800d63caa0a0200c69c083da3de0300ffffffffffffffffffffffffffffffff\
                  ffffffffffffffffffffffffffffffff",
        next_header: 4,
        body: "15b92683819596a8047232cc00f7048fe45318e11f8a0f62ede3c3fc61203bb50f980a08c9843fd3a1b06d5c07ff9639b7eb7dfb3512\
               e5de435e7207ed971ef3d2726d9b5ef6affc6d17a0decbb13892",
    },
];

const CBC_SHA256: Suite = Suite::Separate(Encryption::AesCbc(AesKey::Bits128), Integrity::Sha256);

/// Opens a published packet as what its next header says: a packet in a tunnel, else what stands above IP, whatever it
/// is.
fn open(vector: &Vector, integrity: &[u8], esp: &[u8]) {
    let mode = if vector.next_header == 4 { Mode::Tunnel } else { Mode::Transport };
    let (key, payload) = (unhex(vector.key), unhex(vector.payload));
    let ends = (ip("192.0.2.1"), ip("192.0.2.2"));
    for engine in engines() {
        let parameters = SaParameters {
            mode,
            extended: vector.extended,
            // One of the numbers before it was the highest.
            number: vector.number - 1,
            window: 64,
            ..SaParameters::tunnel(
                vector.spi,
                Direction::In,
                vector.suite,
                KeyBytes { encryption: &key, integrity },
                ends,
            )
        };
        let mut sad = Sad::new();
        sad.add(Arc::new(Sa::new(&engine, &parameters, false).unwrap())).unwrap();
        let mut worker = Worker::new(engine);
        let opened = common::open(&mut worker, &sad, esp, arrival_of(ends)).expect(vector.name);
        match mode {
            Mode::Tunnel => assert_eq!(opened, payload, "{}", vector.name),
            Mode::Transport => {
                let expected = packet(ends.0, ends.1, vector.next_header, &payload);
                // Identification is nobody's.
                assert_eq!(
                    (&opened[..4], &opened[6..10]),
                    (&expected[..4], &expected[6..10]),
                    "{}",
                    vector.name
                );
                assert_eq!(opened[12..], expected[12..], "{}", vector.name);
            }
        }
        let again = common::open(&mut worker, &sad, esp, arrival_of(ends));
        assert_eq!(again, Err(Reason::Replayed), "{}", vector.name);
    }
}

fn esp(vector: &Vector) -> Vec<u8> {
    let header = [vector.spi.to_be_bytes(), (vector.number as u32).to_be_bytes()].concat();
    [header, unhex(vector.iv), unhex(vector.body)].concat()
}

#[test]
fn packets_of_aeads_open_to_what_is_published() {
    for vector in &AEADS {
        open(vector, &[], &esp(vector));
    }
}

/// With an ICV behind them, as none is published.
#[test]
fn packets_of_aes_cbc_open_to_what_is_published() {
    for vector in &CBC {
        let (key, integrity, payload, iv) =
            (unhex(vector.key), vec![7; 32], unhex(vector.payload), unhex(vector.iv));
        let keys = common::RawKeys { encryption: key, integrity: integrity.clone() };
        let plain = common::twin::Plain {
            spi: vector.spi,
            number: vector.number,
            extended: false,
            iv: &iv,
            payload: &payload,
            next_header: vector.next_header,
        };
        let sealed = common::twin::seal(vector.suite, &keys, &plain);
        // The second ESP of these tests makes what is published.
        let without_icv = sealed.len() - 16;
        assert!(sealed[..without_icv] == esp(vector), "{}", vector.name);
        open(vector, &integrity, &sealed);
    }
}

/// RFC 4868, 2.7.2.1 and 2.7.2.3: the first and second case of each, cut to the length of an ICV.
#[test]
fn macs_are_those_of_rfc_4868() {
    let cases: [(Integrity, Vec<u8>, &[u8], &str); 4] = [
        (Integrity::Sha256, vec![0x0b; 32], b"Hi There", "198a607eb44bfbc69903a0f1cf2bbdc5"),
        (
            Integrity::Sha256,
            b"JefeJefeJefeJefeJefeJefeJefeJefe".to_vec(),
            b"what do ya want for nothing?",
            "167f928588c5cc2eef8e3093caa0e87c",
        ),
        (
            Integrity::Sha512,
            vec![0x0b; 64],
            b"Hi There",
            "637edc6e01dce7e6742a99451aae82df23da3e92439e590e43e761b33e910fb8",
        ),
        (
            Integrity::Sha512,
            b"JefeJefeJefeJefeJefeJefeJefeJefeJefeJefeJefeJefeJefeJefeJefeJefe".to_vec(),
            b"what do ya want for nothing?",
            "cb370917ae8a7ce28cfd1d8f4705d6141c173b2a9362c15df235dfb251b15454",
        ),
    ];
    for engine in engines() {
        for (integrity, key, text, icv) in &cases {
            assert_eq!(key.len(), integrity.key_bytes());
            let key = engine.hmac_key(integrity.hash(), key).unwrap();
            let mut items = [engine::HmacItem::new(&key, text)];
            engine.hmac_batch(&mut items);
            assert_eq!(items[0].mac[..integrity.icv_bytes()], unhex(icv));
        }
    }
}
