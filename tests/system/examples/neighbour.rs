//! How long a tenant waits for one small request while another keeps the same card at work: with the requests that take
//! longest, and with short ones under one key or under thousands.
//!
//! ```text
//! cargo build --release && cargo run --release -p system-tests --example neighbour -- [SECONDS]
//! ```
//! A throw-away home has one card. A guest keeps eight requests of one kind on it, from eight threads; a neighbour asks
//! for a MAC under one of ten labels, one after the other, and compares each. Printed are, for each kind, the
//! neighbour's median, its 99th percentile and its longest wait. The long requests are those that `pass_times` of
//! fuzz-targets finds; `SECONDS` (10) is how long each is kept up.

use facility::{Facility, Options};
use seeded::Random;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use system_tests::{
    Installation, expected_mac, mac_key, mac_of, mac_request, rsa_generate, rsa_skeleton_for, settings,
};
use wire::Label;
use wire::bounds::TEXT_BYTES_MAX;
use wire::control::Store;
use wire::tenant::{Credential, Tenant};
use wire::verb::{
    Key, MdcMethod, PkaUsage, SignatureFormat, digital_signature_generate, encipher, mdc_generate,
};

/// Threads of the guest, with a request each.
const GUESTS: usize = 8;
/// Labels of the guest, more than it may have open, and of the neighbour.
const GUEST_KEYS: u64 = 20_000;
const NEIGHBOUR_KEYS: u64 = 10;
const TEXT: &[u8] = b"a neighbour's request";

/// A tenant, and what it shows.
fn tenant(number: u32) -> (Tenant, Credential) {
    let credential = Credential([number as u8; 32]);
    let hash = engine::sha256(&credential.0).map(|byte| format!("{byte:02x}")).concat();
    let tenant = Tenant {
        credential_sha256: Some(hash),
        role: Some(wire::role::OWNER.into()),
        also_shared: true,
        ..Tenant::new(format!("t{number}"), number)
    };
    (tenant, credential)
}

/// Runs the guest's request over and over beside the neighbour's: the neighbour's waits, sorted, and how many requests
/// of the guest's were answered.
fn waits(neighbour: &Facility, span: Duration, request: impl Fn() + Sync) -> (Vec<Duration>, u64) {
    let (is_over, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let expected = expected_mac(TEXT);
    std::thread::scope(|scope| {
        for _ in 0..GUESTS {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    request();
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while answered.load(Ordering::Relaxed) < GUESTS as u64 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let (begin, mut waits) = (Instant::now(), Vec::new());
        while waits.is_empty() || begin.elapsed() < span {
            let sent = Instant::now();
            let label = field(NEIGHBOUR, waits.len() as u64 % NEIGHBOUR_KEYS);
            let reply = neighbour.ask(0, &mac_request(&label, TEXT)).expect("a card answers");
            waits.push(sent.elapsed());
            assert_eq!(mac_of(&reply), expected);
        }
        is_over.store(true, Ordering::Relaxed);
        waits.sort();
        (waits, answered.load(Ordering::Relaxed))
    })
}

const GUEST: &str = "GUEST";
const NEIGHBOUR: &str = "BESIDE";

/// The field of a label.
fn field(whose: &str, number: u64) -> Vec<u8> {
    format!("{:64}", format!("{whose}.N{number}")).into_bytes()
}

/// Puts one key under many labels.
fn fill(facility: &Facility, whose: &str, count: u64) {
    let key = mac_key(facility);
    for number in 0..count {
        let label = Label::new(&format!("{whose}.N{number}")).expect("a label");
        facility.record_create(Store::Des, &label, &key).expect("a record is written");
    }
}

fn main() -> ExitCode {
    let given = std::env::args().nth(1);
    let Ok(seconds) = given.as_deref().unwrap_or("10").parse() else {
        eprintln!("neighbour: {} is no number of seconds", given.unwrap_or_default());
        return ExitCode::from(2);
    };
    let ([guest, neighbour], mut settings) = ([tenant(1), tenant(2)], settings(1, 0));
    settings.tenant_number_next = 3;
    settings.tenants = vec![guest.0, neighbour.0];
    let mut installation = Installation::stopped(&settings);
    installation.start();
    installation.until_ready();
    let open = |credential: Credential| {
        let options = Options { credential: Some(credential), ..Options::default() };
        Facility::open(installation.home.folder(), options).expect("the home serves")
    };
    let (guest, neighbour) = (open(guest.1), open(neighbour.1));
    fill(&guest, GUEST, GUEST_KEYS);
    fill(&neighbour, NEIGHBOUR, NEIGHBOUR_KEYS);
    let text = vec![0x5A; TEXT_BYTES_MAX];
    let data_key = mac_key(&guest);
    let skeleton = rsa_skeleton_for(&guest, 4096, PkaUsage::Signature);
    let made = guest.ask(0, &rsa_generate(&skeleton)).expect("a card generates keys");
    let rsa = made.got().generated_key_identifier.to_vec();

    let mdc = || {
        let ask =
            mdc_generate::Ask { text_data: &text, method: Some(MdcMethod::Mdc4), ..mdc_generate::Ask::new() };
        black_box(guest.ask(0, &ask).and_then(facility::Answered::ok).expect("an MDC").got().mdc.len());
    };
    let cipher = || {
        let ask = encipher::Ask {
            key_identifier: Key::Bytes(&data_key),
            plaintext: &text,
            initialization_vector: Some(&[7; 8]),
            ..encipher::Ask::new()
        };
        black_box(
            guest.ask(0, &ask).and_then(facility::Answered::ok).expect("a text").got().ciphertext.len(),
        );
    };
    let sign = || {
        let ask = digital_signature_generate::Ask {
            format: Some(SignatureFormat::Pkcs11),
            pka_private_key_id: Key::Bytes(&rsa),
            hash: &[3; 32],
            signature_field: 512,
            ..digital_signature_generate::Ask::new()
        };
        black_box(guest.ask(0, &ask).expect("an answer").codes());
    };
    let mac = |number: u64| {
        let reply = guest.ask(0, &mac_request(&field(GUEST, number), TEXT)).expect("a card answers");
        black_box(mac_of(&reply));
    };
    let state = AtomicU64::new(1);
    let mac_of_any = || {
        let drawn =
            Random(state.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15)).number();
        mac(drawn % GUEST_KEYS);
    };
    let requests: [(&str, &(dyn Fn() + Sync)); 5] = [
        ("MACs, one key", &|| mac(0)),
        ("MACs, 20,000 keys", &mac_of_any),
        ("MDC-4 of 1 MiB", &mdc),
        ("DES-CBC of 1 MiB", &cipher),
        ("RSA-4096 signatures", &sign),
    ];
    println!(
        "{:<22} {:>10} {:>10} {:>10} {:>10}",
        "the guest's requests", "answered", "median ms", "99 % ms", "longest ms"
    );
    for (name, request) in requests {
        let (waits, answered) = waits(&neighbour, Duration::from_secs(seconds), request);
        let ms = |wait: Duration| wait.as_secs_f64() * 1e3;
        let [median, p99, longest] =
            [waits.len() / 2, waits.len() * 99 / 100, waits.len() - 1].map(|place| ms(waits[place]));
        println!("{name:<22} {answered:>10} {median:>10.3} {p99:>10.3} {longest:>10.2}");
    }
    ExitCode::SUCCESS
}
