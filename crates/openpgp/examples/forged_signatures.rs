//! How long it takes to judge a certificate with so many signatures that say that its owner made them, and do not hold:
//! `forged_signatures [rsa2048 | ed25519 | p256] [count]`. Each has the right start of its hash, so that all of it is
//! checked.

use openpgp::Timestamp;
use openpgp::certificate::Certificate;
use openpgp::generate::{CertificateAlgorithms, NewKey, generate};
use rustix::time::{ClockId, clock_gettime};

const MADE_SECONDS: u32 = 1_700_000_000;
const TRIES: usize = 9;

fn main() {
    let made = Timestamp::from_secs(MADE_SECONDS);
    let mut arguments = std::env::args().skip(1);
    let algorithm = arguments.next().unwrap_or_else(|| "rsa2048".to_owned());
    let count: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(2040);
    let kind = match algorithm.as_str() {
        "rsa2048" => CertificateAlgorithms::Rsa { bits: 2048 },
        "ed25519" => CertificateAlgorithms::Curve25519,
        "p256" => CertificateAlgorithms::P256,
        other => panic!("{other}: none of rsa2048, ed25519, p256"),
    };
    let what = NewKey { kind, ..NewKey::new("A <a@example.org>", made) };
    let private = generate(&what, None).expect("a key is made");
    let bytes = private.certificate().to_bytes();
    let (at, end) = self_signature(&bytes);
    let mut flooded = bytes[..end].to_vec();
    for number in 0..count {
        let mut forged = bytes[at..end].to_vec();
        // In the middle of the last number: what is out of range would be refused without any work.
        let at = forged.len() - 20;
        let changed = u16::try_from(number + 1).expect("at most 65535");
        forged[at..].iter_mut().zip(changed.to_be_bytes()).for_each(|(octet, change)| *octet ^= change);
        flooded.extend(forged);
    }
    flooded.extend_from_slice(&bytes[end..]);
    let certificate = Certificate::parse_all(&flooded).expect("it is within the bounds").remove(0);
    let mut milliseconds: Vec<f64> = (0..TRIES)
        .map(|_| {
            let begin = processor_ms();
            let user_ids = certificate.check(made).expect("its own signature holds").user_ids();
            assert_eq!(user_ids, ["A <a@example.org>"]);
            processor_ms() - begin
        })
        .collect();
    milliseconds.sort_by(f64::total_cmp);
    let [least, median, most] = [0, TRIES / 2, TRIES - 1].map(|at| milliseconds[at]);
    println!(
        "{count} forged signatures, {algorithm}: {median:.1} ms of processor time ({least:.1} to {most:.1})"
    );
}

/// Processor time of this thread so far: others' work beside it does not count.
fn processor_ms() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Where the packet of the signature behind the user id lies.
fn self_signature(bytes: &[u8]) -> (usize, usize) {
    let mut splitter = openpgp::packet::Splitter::new();
    let (mut at, mut begin, mut seen_user_id) = (0, 0, false);
    loop {
        let step = splitter.step(&bytes[at..]).expect("packets");
        match step.event {
            openpgp::packet::Event::Header(header) => {
                seen_user_id |= header.tag == openpgp::packet::Tag::UserId;
                if header.tag == openpgp::packet::Tag::Signature && seen_user_id {
                    begin = start_of(bytes, at + step.consumed);
                }
            }
            openpgp::packet::Event::End if begin > 0 => return (begin, at + step.consumed),
            openpgp::packet::Event::More => panic!("there is a signature"),
            _ => {}
        }
        at += step.consumed;
    }
}

/// Where the header that ends here begins: the last octet before it that a packet of signatures begins with.
fn start_of(bytes: &[u8], end: usize) -> usize {
    const SIGNATURE_NEW: u8 = 0xc2;
    (0..end).rev().find(|at| bytes[*at] == SIGNATURE_NEW).expect("a header")
}
