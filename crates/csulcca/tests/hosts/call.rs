//! What a call from C costs beside the same call of the facility in Rust: nanoseconds, median, least and most of the
//! rounds, which take the two in turn. Of a MAC, which travels to a card and back; and of a label that is none, which
//! the facility refuses in the caller's thread, so that nothing but the way into it and out of it is left.
//!
//! ```text
//! cargo run --release -p csulcca --example call -- 51
//! ```

use facility::{Facility, Reply};
use std::ffi::{c_long, c_void};
use std::ptr::{from_mut, null_mut};
use std::time::{Duration, Instant};
use system_tests::{Installation, mac_key};
use wire::code;
use wire::verb::{Filled, MacFormat, MacMethod, TypedAsk, mac_generate as mgn};

const RULES: &[u8; 16] = b"X9.9-1  MACLEN8 ";
const TEXT: &[u8; 64] = b"sixty-four bytes of text, as long as a message of a payment is..";
const ROUND: Duration = Duration::from_millis(50);

/// Return code, reason code and MAC of one call.
type Answer = (i64, i64, [u8; 8]);

fn from_c(key: &mut [u8; 64]) -> Answer {
    let (mut return_code, mut reason_code, mut mac): (c_long, c_long, _) = (-1, -1, [0u8; 8]);
    let (mut length, mut count, mut chain) = (TEXT.len() as c_long, 2 as c_long, [0u8; 18]);
    let bytes = |bytes: &[u8]| bytes.as_ptr().cast_mut().cast::<c_void>();
    // SAFETY: each pointer is to a `long`, or to as many bytes as the verb's row says; the library writes to none that
    // is only read here.
    unsafe {
        csulcca::CSNBMGN(
            &raw mut return_code,
            &raw mut reason_code,
            null_mut(),
            null_mut(),
            from_mut(key).cast(),
            from_mut(&mut length).cast(),
            bytes(TEXT),
            from_mut(&mut count).cast(),
            bytes(RULES),
            from_mut(&mut chain).cast(),
            from_mut(&mut mac).cast(),
        );
    }
    (return_code, reason_code, mac)
}

fn from_rust(facility: &Facility, key: &[u8; 64], reply: &mut Reply) -> Answer {
    let ask = mgn::Ask {
        key_identifier: key.into(),
        text: TEXT,
        method: Some(MacMethod::X99),
        format: Some(MacFormat::Bytes8),
        chaining_vector: Some(&[0; 18]),
        ..mgn::Ask::new()
    };
    let codes = match facility.call_into(0, &ask.arguments(&mut Filled::default()), reply) {
        Ok(()) => reply.codes(),
        Err(error) => error.codes(),
    };
    let mut mac = [0; 8];
    if codes.has_output() {
        mac.copy_from_slice(reply.arguments().bytes(mgn::MAC));
    }
    (codes.return_code.into(), codes.reason_code.into(), mac)
}

/// Nanoseconds of a call, and its answer.
fn time(mut call: impl FnMut() -> Answer) -> (f64, Answer) {
    let (begin, mut calls, mut answer) = (Instant::now(), 0u32, call());
    while begin.elapsed() < ROUND {
        for _ in 0..64 {
            answer = call();
        }
        calls += 64;
    }
    (begin.elapsed().as_nanos() as f64 / f64::from(calls + 1), answer)
}

fn show(what: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    println!(
        "{what}: {:.0} ns ({:.0} to {:.0})",
        values[values.len() / 2],
        values[0],
        values[values.len() - 1]
    );
}

fn measure(facility: &Facility, what: &str, key: &[u8; 64], expected: (i64, i64), rounds: usize) {
    let (mut own, mut reply) = (*key, Reply::new());
    let (mut c, mut rust, mut more) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let ((first, one), (second, other)) =
            (time(|| from_c(&mut own)), time(|| from_rust(facility, key, &mut reply)));
        assert!(one == other && (one.0, one.1) == expected && own == *key, "{what}: {one:?} {other:?}");
        c.push(first);
        rust.push(second);
        more.push(first - second);
    }
    show(&format!("{what}, from C"), c);
    show(&format!("{what}, from Rust"), rust);
    show(&format!("{what}, what C adds"), more);
}

fn main() {
    let rounds = std::env::args().nth(1).map_or(51, |given| given.parse().expect("a number of rounds"));
    let installation = Installation::new(1, 0);
    installation.until_ready_with_keeper();
    // SAFETY: no other thread of this program runs yet.
    unsafe { std::env::set_var("CRYPTAND_HOME", installation.home.folder()) };
    let facility = installation.facility();
    let key: [u8; 64] = mac_key(&facility).as_slice().try_into().expect("a DES token has 64 bytes");
    let refused = code::LABEL_FORMAT;
    let codes = (refused.return_code.into(), refused.reason_code.into());
    measure(&facility, "a label that is none", &[b'!'; 64], codes, rounds);
    measure(&facility, "a MAC", &key, (0, 0), rounds);
}
