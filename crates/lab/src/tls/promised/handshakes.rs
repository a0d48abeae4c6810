//! Rows of handshakes: full ones by each kind of key, with client certificates, and resumed ones.

use super::FULL_RSA;
use super::sides::{Bench, Case, Who, of, row};
use crate::experiment::promise::Measure;
use crate::load::LabError;
use crate::tls::desk::TlsKey;
use crate::tls::drive::{Data, ResumeBy, Version};
use crate::tls::server::{Serving, Sessions, Work};

/// End of the names of rows whose key is on a card.
const ON_A_CARD: &str = " on a card";
/// Unit of the figures.
const UNIT: &str = "per processor s";
/// Bytes each way of the row with RSA key exchange.
const EXCHANGED_BYTES: usize = 2048;
/// Suites of TLS 1.2, by OpenSSL's names.
const RSA_EXCHANGE: &str = "AES128-GCM-SHA256";
const EPHEMERAL: &str = "ECDHE-RSA-AES128-GCM-SHA256";

/// Full handshakes by TLS 1.3 with RSA-2048.
pub(super) fn full_rsa(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let case = bench.case(TlsKey::Rsa2048);
    let name = FULL_RSA.trim_end_matches(ON_A_CARD);
    on_card(bench, &case, name, (2.4, 2.9), Some((1.7, 2.1)))
}

/// Full handshakes by TLS 1.2 with RSA key exchange, and a request and an answer of 2 KiB.
pub(super) fn key_exchange(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let case = bench.case(TlsKey::Rsa2048);
    let mut case = with_suite(case, RSA_EXCHANGE);
    case.drive.group = None;
    case.drive.data = Data::Http { send: EXCHANGED_BYTES };
    case.serving = Serving { policy: "compatible", work: Work::Answer(EXCHANGED_BYTES), ..case.serving };
    on_card(bench, &case, "full TLS 1.2, RSA-2048 key exchange, 2 KiB each way", (2.1, 2.6), Some((1.9, 2.3)))
}

/// Full handshakes by TLS 1.3 with P-256.
pub(super) fn full_ecdsa(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let case = bench.case(TlsKey::P256);
    on_card(bench, &case, "full TLS 1.3, ECDSA P-256", (1.5, 1.8), None)
}

/// Full handshakes by TLS 1.3 with RSA-2048 on both sides.
pub(super) fn client_certificates(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let mut case = bench.case(TlsKey::Rsa2048);
    case.serving.asks_clients = true;
    case.drive.client = Some(bench.desk.client(TlsKey::Rsa2048));
    on_card(bench, &case, "client certificates of RSA-2048, TLS 1.3, RSA-2048", (2.2, 2.7), None)
}

/// Resumed handshakes of both versions, which need no key.
pub(super) fn resumed(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let mut rows = Vec::new();
    for (name, version, promised) in [
        ("resumed TLS 1.3, by ticket", Version::Tls13, (1.6, 1.9)),
        ("resumed TLS 1.2, by ticket", Version::Tls12, (1.0, 1.2)),
    ] {
        let mut case = bench.case(TlsKey::Rsa2048);
        if version == Version::Tls12 {
            case = with_suite(case, EPHEMERAL);
        }
        case.serving.sessions = Sessions::Tickets;
        case.drive.resume = Some((100, ResumeBy::Ticket));
        if version == Version::Tls12 {
            // A resumed session of TLS 1.2 agrees on no group.
            case.drive.group = None;
        }
        let sides = bench.sides(&case, &[Who::Nginx, Who::Process])?;
        let Some(ours) = of(&sides, Who::Process) else { continue };
        let nginx = nginx_name(bench);
        rows.push(row(
            name,
            UNIT,
            ours,
            (&nginx, of(&sides, Who::Nginx)),
            Some(promised),
            ours.where_it_goes(None),
        ));
    }
    Ok(rows)
}

/// A case with TLS 1.2 and a suite of it.
fn with_suite(mut case: Case, suite: &str) -> Case {
    case.drive.version = Version::Tls12;
    case.drive.suite = suite.to_owned();
    case
}

/// The rows of a key on a card: beside nginx, and beside the key in our server's process.
fn on_card(
    bench: &mut Bench,
    case: &Case,
    name: &str,
    promised: (f64, f64),
    over_process: Option<(f64, f64)>,
) -> Result<Vec<Measure>, LabError> {
    let engine = bench.engine_us(case.serving.kind)?;
    let sides = bench.sides(case, &[Who::Nginx, Who::Process, Who::Card])?;
    let (Some(card), Some(process)) = (of(&sides, Who::Card), of(&sides, Who::Process)) else {
        return Ok(Vec::new());
    };
    let nginx = nginx_name(bench);
    let theirs = of(&sides, Who::Nginx);
    let case = format!("{name}{ON_A_CARD}");
    let beside = row(&case, UNIT, card, (&nginx, theirs), Some(promised), card.where_it_goes(engine));
    let within = row(
        &format!("{case}, beside the key in the process"),
        UNIT,
        card,
        ("the same server, key in its process", Some(process)),
        over_process,
        process.where_it_goes(None),
    );
    let stated = row(
        &format!("{name} in the process"),
        UNIT,
        process,
        (&nginx, theirs),
        None,
        theirs.map_or(String::new(), |theirs| format!("nginx: {}", theirs.where_it_goes(None))),
    );
    Ok(vec![beside, within, stated])
}

/// Name and version of nginx.
pub(super) fn nginx_name(bench: &Bench) -> String {
    bench.desk.nginx().map_or("nginx".to_owned(), |nginx| nginx.name.clone())
}
