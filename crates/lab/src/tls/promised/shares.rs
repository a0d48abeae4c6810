//! The shares of a full handshake's time, and how far their sum is from the least possible.

use super::sides::{Bench, Side, Who, of};
use crate::cards::{bound, own};
use crate::experiment::promise::Measure;
use crate::kit::statistics::median;
use crate::load::{LabError, keys};
use crate::tls::desk::TlsKey;
use peers::{RsaNumbers, aws_lc_ffi as aws};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Bits of the key.
const BITS: u32 = 2048;
/// How long an operation is repeated to be timed, and the number of repetitions of that.
const REPEATED: Duration = Duration::from_millis(40);
const REPEATS: usize = 5;

/// Microseconds of a handshake, by share.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shares {
    /// The engine's private key operation, in full passes.
    key: f64,
    /// Both operations of the key agreement.
    agreement: f64,
    /// The rest of a server with its key in its process: messages, hashes, keys, records, its own loop.
    protocol: f64,
    /// The kernel, in the server's process.
    kernel: f64,
    /// The rest: requests, queues, and passes that are not full.
    hand_off: f64,
}

/// The measured times of a handshake, in microseconds.
struct Measured {
    /// Server and card together.
    all: f64,
    /// The kernel, in the server's process.
    kernel: f64,
    /// A server with its key in its process, without the kernel.
    in_process: f64,
    /// One private key operation of a server with its key in its process.
    key_in_process: f64,
    /// The key operation of the engine, in full passes.
    key: f64,
    /// Both operations of the key agreement.
    agreement: f64,
}

impl Shares {
    fn of(measured: &Measured) -> Self {
        let Measured { all, kernel, in_process, key_in_process, key, agreement } = *measured;
        // Small differences of large times: the rest is at least 0.
        let protocol = (in_process - key_in_process - agreement).max(0.0);
        let hand_off = (all - key - agreement - protocol - kernel).max(0.0);
        Self { key, agreement, protocol, kernel, hand_off }
    }
}

/// The shares of a full handshake by TLS 1.3, RSA-2048 on a card.
pub(super) fn shares(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let case = bench.case(TlsKey::Rsa2048);
    let sides = bench.sides(&case, &[Who::Process, Who::Card])?;
    let (Some(card), Some(process)) = (of(&sides, Who::Card), of(&sides, Who::Process)) else {
        return Ok(Vec::new());
    };
    let Some(key) = bench.engine_us(TlsKey::Rsa2048)? else { return Ok(Vec::new()) };
    let (key_in_process, agreement) = bound(own(0), || Some((one_private()?, one_agreement())))
        .ok_or_else(|| LabError::Program("a test key that is none".to_owned()))?;
    let all = card.values(|ran| ran.driven.us_per_transaction());
    let in_server = |side: &Side, kernel: bool| {
        median(&side.values(|ran| {
            let system = ran.driven.system_of("server");
            let seconds = if kernel { system } else { ran.driven.booked_of("server") - system };
            1e6 * seconds / ran.driven.transactions.max(1) as f64
        }))
    };
    let shares = Shares::of(&Measured {
        all: median(&all),
        kernel: in_server(card, true),
        in_process: in_server(process, false),
        key_in_process,
        key,
        agreement,
    });
    Ok(rows(&shares, &all, &card.where_it_goes(Some(key))))
}

fn rows(shares: &Shares, all: &[f64], where_it_goes: &str) -> Vec<Measure> {
    const CASE: &str = "where the time goes, full TLS 1.3, RSA-2048 on a card";
    let whole = median(all).max(f64::MIN_POSITIVE);
    let mut rows = vec![Measure::alone(&format!("{CASE}: all"), "us", all, None).bounded_by(where_it_goes)];
    let Shares { key, agreement, protocol, kernel, hand_off } = *shares;
    for (name, share, what) in [
        ("key operation", key, "the engine's, eight side by side"),
        (
            "key agreement",
            agreement,
            "X25519 of the TLS library's cryptography: a public value and a shared secret",
        ),
        (
            "protocol",
            protocol,
            "the server with its key in its process, without the two above and the kernel",
        ),
        ("kernel", kernel, "in the server, as the kernel booked it"),
        ("hand-off", hand_off, "the rest: requests to the card and back, and passes that are not full"),
    ] {
        let bound = format!("{:.0} % of all; {what}", 100.0 * share / whole);
        rows.push(Measure::alone(&format!("{CASE}: {name}"), "us", &[share], None).bounded_by(bound));
    }
    let least = key + agreement + protocol + kernel;
    let row = Measure::alone(&format!("{CASE}: of the limit"), "%", &[100.0 * least / whole], None);
    rows.push(row.bounded_by(format!(
        "{least:.0} us if the hand-off were free; {:.0} us for key operation and agreement alone",
        key + agreement
    )));
    rows
}

/// Microseconds of a closure, the median of a few runs.
fn time_us(mut run: impl FnMut()) -> f64 {
    let times: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let (begin, mut count) = (Instant::now(), 0u32);
            while begin.elapsed() < REPEATED {
                run();
                count += 1;
            }
            1e6 * begin.elapsed().as_secs_f64() / f64::from(count)
        })
        .collect();
    median(&times)
}

/// Microseconds of a private key operation as a server does it in its process.
fn one_private() -> Option<f64> {
    let key = keys::rsa_test_key(BITS, 0)?;
    let crt = Some([&key.p[..], &key.q[..], &key.dp[..], &key.dq[..], &key.qinv[..]]);
    let mut rsa = aws::Rsa::new(&RsaNumbers { n: &key.n, e: &key.e, d: &key.d, crt })?;
    let mut input = keys::test_bytes(0x45A, 0, BITS as usize / 8);
    input[0] = 0;
    let mut output = input.clone();
    Some(time_us(|| rsa.private(black_box(&input), &mut output)))
}

/// Microseconds of a public value and a shared secret together.
fn one_agreement() -> f64 {
    let theirs = aws::x25519_public(&[7; 32]);
    time_us(|| {
        let own = black_box([9; 32]);
        black_box((aws::x25519_public(&own), aws::x25519(&own, &theirs)));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_of_the_time_and_none_is_below_nothing() {
        let measured = Measured {
            all: 300.0,
            kernel: 30.0,
            in_process: 620.0,
            key_in_process: 460.0,
            key: 85.0,
            agreement: 60.0,
        };
        let shares = Shares::of(&measured);
        let expected = Shares { key: 85.0, agreement: 60.0, protocol: 100.0, kernel: 30.0, hand_off: 25.0 };
        assert_eq!(shares, expected);
        let rows = rows(&shares, &[300.0], "in the server");
        assert_eq!(rows.len(), 7);
        assert!(rows[6].bound.contains("275 us") && (rows[6].ours - 100.0 * 275.0 / 300.0).abs() < 0.01);
        let noisy = Shares::of(&Measured { in_process: 500.0, all: 100.0, ..measured });
        assert_eq!((noisy.protocol, noisy.hand_off), (0.0, 0.0));
    }
}
