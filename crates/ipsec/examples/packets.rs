//! How much faster packets are together than one at a time, sealed and opened, for each suite; every answer is checked.
//!
//! ```text
//! cargo run --release -p ipsec --example packets -- [PACKETS [BYTES [ROUNDS [csv]]]]
//! ```
//!
//! 47 packets of 1,424 bytes, unless other numbers are given: about what one look at a TUN with segmentation offload
//! brings. Both ways run in turn, a round each; the figure is the median over the rounds, and the ratio is between the
//! medians. Bytes are those of the packet inside.
#![forbid(unsafe_code)]

use engine::{Engine, Options};
use ipsec::{
    Arrival, Direction, Encryption, Endpoint, Frame, HEAD_ROOM, Integrity, KeyBytes, OpenItem, Sa,
    SaParameters, Sad, SealItem, Suite, TAIL_ROOM, Time, Worker,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_csv = arguments.pop_if(|last| last == "csv").is_some();
    let mut given = arguments.iter().map(|text| text.parse().expect("a number"));
    let (packets, bytes, rounds) =
        (given.next().unwrap_or(47), given.next().unwrap_or(1424), given.next().unwrap_or(200));
    assert!(packets > 0 && rounds > 0 && (28..=9000).contains(&bytes), "packets have 28 to 9,000 bytes");
    let engine = Engine::new(Options::default()).expect("an engine");
    if is_csv {
        for suite in Suite::ALL {
            let [seal, seal_one, open, open_one] = measure(&engine, suite, packets, bytes, rounds);
            println!("{suite},seal,{seal},{seal_one}\n{suite},open,{open},{open_one}");
            if suite == TDES {
                let [seal_one, open_one] = openssl(&engine, packets, bytes, rounds);
                println!(
                    "{suite},seal beside OpenSSL,{seal},{seal_one}\n{suite},open beside OpenSSL,{open},{open_one}"
                );
            }
        }
        return;
    }
    println!("{packets} packets of {bytes} bytes, level {}, nanoseconds a packet", engine.level());
    println!("{:42}{:>30}{:>30}", "", "seal: together, one, ratio", "open: together, one, ratio");
    for suite in Suite::ALL {
        let figures = measure(&engine, suite, packets, bytes, rounds);
        let [seal, open] = [[figures[0], figures[1]], [figures[2], figures[3]]]
            .map(|[together, one]| format!("{together:>10.0}{one:>10.0}{:>10.2}", one / together));
        println!("{:42}{seal}{open}", suite.to_string());
        if suite == TDES {
            let ones = openssl(&engine, packets, bytes, rounds);
            let [seal, open] = [(figures[0], ones[0]), (figures[2], ones[1])]
                .map(|(together, one)| format!("{together:>10.0}{one:>10.0}{:>10.2}", one / together));
            println!("{:42}{seal}{open}", format!("{suite}, beside OpenSSL"));
        }
    }
}

const TDES: Suite = Suite::Separate(Encryption::TdesCbc, Integrity::Sha1);
/// Before and behind what is enciphered: SPI, sequence number and IV; the ICV (RFC 2451, RFC 2404).
const TDES_HEAD: usize = 16;
const TDES_ICV: usize = 12;

/// Keys of a suite: three keys of 3DES that are not equal.
fn keys(suite: Suite) -> (Vec<u8>, Vec<u8>) {
    let encryption = (0..suite.encryption_key_bytes()).map(|at| 0x5a ^ at as u8).collect();
    (encryption, vec![0xa5; suite.integrity_key_bytes()])
}

/// 3DES with HMAC-SHA-1 by OpenSSL, a packet at a time with contexts that hold the keys: seal and open, the median of
/// each in nanoseconds a packet. It makes the packets that we make, and opens them.
fn openssl(engine: &Engine, packets: usize, bytes: usize, rounds: usize) -> [f64; 2] {
    use openssl::cipher::Cipher;
    use openssl::cipher_ctx::CipherCtx;
    use openssl::md::Md;
    use openssl::md_ctx::MdCtx;
    use openssl::pkey::PKey;
    let (encryption, integrity) = keys(TDES);
    let ends = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let bytes_of_keys = KeyBytes { encryption: &encryption, integrity: &integrity };
    let parameters = SaParameters::tunnel(4096, Direction::Out, TDES, bytes_of_keys, ends);
    let sa = Sa::new(engine, &parameters, true).expect("an SA");
    let mut worker = Worker::new(*engine);
    let sealed: Vec<Vec<u8>> = (0..packets)
        .map(|number| {
            let mut memory = [&[0; HEAD_ROOM][..], &packet(number, bytes), &[0; TAIL_ROOM]].concat();
            let frame = Frame::new(&mut memory, HEAD_ROOM, HEAD_ROOM + bytes).expect("within its memory");
            let mut items = [SealItem::new(&sa, frame)];
            worker.seal(Time::default(), &mut items);
            assert!(items[0].outcome.is_done(), "{:?}", items[0].outcome);
            items[0].frame.bytes().to_vec()
        })
        .collect();
    // What is enciphered: the packet, padding of 1, 2, 3 and so on, its length, and the number of IP in IP.
    let texts: Vec<Vec<u8>> = (0..packets)
        .map(|number| {
            let mut text = packet(number, bytes);
            let padding = (8 - (bytes + 2) % 8) % 8;
            text.extend((1..=padding as u8).chain([padding as u8, 4]));
            text
        })
        .collect();
    let mac_key = PKey::hmac(&integrity).expect("a key");
    let (mut encipher, mut decipher) =
        (CipherCtx::new().expect("a context"), CipherCtx::new().expect("a context"));
    encipher.encrypt_init(Some(Cipher::des_ede3_cbc()), Some(&encryption), Some(&[0; 8])).expect("a key");
    decipher.decrypt_init(Some(Cipher::des_ede3_cbc()), Some(&encryption), Some(&[0; 8])).expect("a key");
    encipher.set_padding(false);
    decipher.set_padding(false);
    let mut mac = MdCtx::new().expect("a context");
    let mut authenticate = |text: &[u8], icv: &mut [u8; 20]| {
        mac.digest_sign_init(Some(Md::sha1()), &mac_key).expect("a key");
        mac.digest_sign_update(text).expect("a text");
        mac.digest_sign_final(Some(icv)).expect("an ICV");
    };
    let mut times: [Vec<Duration>; 2] = Default::default();
    let mut out = vec![0; bytes + 64];
    let mut icv = [0; 20];
    for _ in 0..rounds {
        let mut each = [Duration::ZERO; 2];
        for (sealed, text) in sealed.iter().zip(&texts) {
            let end = TDES_HEAD + text.len();
            let begun = Instant::now();
            out[..TDES_HEAD].copy_from_slice(&sealed[..TDES_HEAD]);
            encipher.encrypt_init(None, None, Some(&sealed[8..TDES_HEAD])).expect("an IV");
            encipher.cipher_update(text, Some(&mut out[TDES_HEAD..])).expect("whole blocks");
            authenticate(&out[..end], &mut icv);
            out[end..end + TDES_ICV].copy_from_slice(&icv[..TDES_ICV]);
            each[0] += begun.elapsed();
            assert_eq!(out[..end + TDES_ICV], sealed[..], "both make the same packet");
            let begun = Instant::now();
            authenticate(&sealed[..end], &mut icv);
            let is_right = openssl::memcmp::eq(&icv[..TDES_ICV], &sealed[end..]);
            decipher.decrypt_init(None, None, Some(&sealed[8..TDES_HEAD])).expect("an IV");
            decipher.cipher_update(&sealed[TDES_HEAD..end], Some(&mut out)).expect("whole blocks");
            each[1] += begun.elapsed();
            assert!(is_right && out[..text.len()] == text[..], "it opens what we make");
        }
        times.iter_mut().zip(each).for_each(|(times, time)| times.push(time));
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2].as_nanos() as f64 / packets as f64
    })
}

/// A packet of IPv4 of so many bytes.
fn packet(number: usize, bytes: usize) -> Vec<u8> {
    let mut packet: Vec<u8> = (0..bytes).map(|at| (at * 7 + number * 13) as u8).collect();
    packet[..20].fill(0);
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
    packet[8..10].copy_from_slice(&[64, 253]);
    packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    packet
}

/// Seal together and alone, open together and alone: the median of each, in nanoseconds a packet.
fn measure(engine: &Engine, suite: Suite, packets: usize, bytes: usize, rounds: usize) -> [f64; 4] {
    let (encryption, integrity) = keys(suite);
    let keys = KeyBytes { encryption: &encryption, integrity: &integrity };
    let ends = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let inners: Vec<_> = (0..packets).map(|number| packet(number, bytes)).collect();
    let mut memory = vec![vec![0; HEAD_ROOM + bytes + TAIL_ROOM]; packets];
    let mut worker = Worker::new(*engine);
    let mut times: [Vec<Duration>; 4] = Default::default();
    for round in 0..rounds {
        for together in [true, false] {
            // Another pair for each round: limits by packets are never met.
            let make = |direction| {
                let parameters = SaParameters {
                    window: 4096,
                    ..SaParameters::tunnel(4096 + round as u32, direction, suite, keys, ends)
                };
                Sa::new(engine, &parameters, true).expect("an SA")
            };
            let (out, inbound) = (make(Direction::Out), Arc::new(make(Direction::In)));
            let mut sad = Sad::new();
            sad.add(inbound).expect("room for an SA");
            let size = if together { packets } else { 1 };
            for (memory, inner) in memory.iter_mut().zip(&inners) {
                memory[HEAD_ROOM..HEAD_ROOM + bytes].copy_from_slice(inner);
            }
            let mut items: Vec<_> = memory
                .iter_mut()
                .map(|memory| Frame::new(memory, HEAD_ROOM, HEAD_ROOM + bytes).expect("within its memory"))
                .map(|frame| SealItem::new(&out, frame))
                .collect();
            let begun = Instant::now();
            items.chunks_mut(size).for_each(|items| worker.seal(Time::default(), items));
            times[usize::from(!together)].push(begun.elapsed());
            let arrival = Arrival::new(Endpoint::new(ends.0, 0), ends.1);
            let mut items: Vec<_> = items
                .into_iter()
                .map(|item| {
                    assert!(item.outcome.is_done(), "{suite}: {:?}", item.outcome);
                    OpenItem::new(item.frame, arrival)
                })
                .collect();
            let begun = Instant::now();
            items.chunks_mut(size).for_each(|items| worker.open(&sad, Time::default(), items));
            times[2 + usize::from(!together)].push(begun.elapsed());
            for (item, inner) in items.iter().zip(&inners) {
                assert!(item.outcome.is_done() && item.frame.bytes() == inner, "{suite}: {:?}", item.outcome);
            }
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2].as_nanos() as f64 / packets as f64
    })
}
