//! The bench's and the report's TLS servers, run for moments: figures are there, and a server that does something else
//! than was asked for gives none. Needs the command, its TLS program, daemon, card and timed card, as `make test`
//! builds them.

use lab::tls::desk::{Desk, TlsKey};
use lab::tls::drive::{Data, Drive, Length, Version};
use lab::tls::server::{KeyHolder, Server, Serving, Work};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::AtomicBool;

/// What a backend of the tests is asked with, and what it answers.
const ASKED: usize = 16;
const ANSWERED: usize = 100;

fn lab(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand-lab"));
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn rows_of_a_server_with_its_key_on_a_card_are_measured() {
    let group = "full TLS 1.3, ECDSA";
    let arguments =
        ["bench", "--only", "tls", "--rounds", "1", "--seconds", "0.02", "--json", "--filter", group];
    let output = lab(&arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    let rows: Vec<serde_json::Value> =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"));
    assert!(output.status.success() || error.contains("not kept"), "{error}");
    let names: Vec<&str> = rows.iter().map(|row| row["case"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "full TLS 1.3, ECDSA P-256 on a card",
            "full TLS 1.3, ECDSA P-256 on a card, beside the key in the process",
            "full TLS 1.3, ECDSA P-256 in the process",
        ]
    );
    for row in &rows {
        assert!(row["ours"].as_f64().unwrap() > 0.0 && row["part"] == "tls", "{row}");
    }
    assert!(
        rows[1]["ratio"].as_f64().unwrap() > 0.0 && rows[0]["promise"]["ratio-at-least"] == 1.5,
        "{rows:?}"
    );
    assert!(rows[0]["bound"].as_str().unwrap().contains("in the card"), "{}", rows[0]);
}

#[test]
fn a_run_counts_only_where_the_server_did_what_was_asked() {
    let desk = Desk::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let backend = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = [0; ASKED];
            if stream.read_exact(&mut asked).is_ok() {
                let _ = stream.write_all(&[b'x'; ANSWERED]);
            }
        }
    });
    let work = Work::Backend(backend);
    let server =
        Server::ours(&desk, &Serving { work, ..Serving::handshakes(TlsKey::P256, KeyHolder::Process, None) });
    let server = server.unwrap();
    let asked = |receive: usize| Drive {
        connections: 2,
        data: Data::Messages { send: ASKED as u64, receive: receive as u64, messages: 1, packets: 1 },
        processes: vec![(std::process::id(), "server".to_owned())],
        ..Drive::handshakes(&server.address.to_string(), &desk.chain(TlsKey::P256), Length::Transactions(20))
    };
    let run = |drive: &Drive| drive.run(desk.ours(), &AtomicBool::new(false));
    let driven = run(&asked(ANSWERED)).unwrap();
    assert_eq!((driven.transactions, driven.full, driven.resumed), (20, 20, 0));
    assert!(driven.handshake_us.p50 > 0.0 && driven.processes.len() == 1, "{driven:?}");
    // The backend ends before it has sent as much.
    let error = run(&asked(2 * ANSWERED)).unwrap_err().to_string();
    assert!(!error.is_empty(), "{error}");
    // A certificate that nobody signed for.
    let other = Drive { trusted: desk.chain(TlsKey::Rsa2048), ..asked(ANSWERED) };
    run(&other).unwrap_err();
    // A version and a group that the server has, but the driver was not asked for, are no figure either.
    let driven = run(&asked(ANSWERED)).unwrap();
    let drive = Drive { version: Version::Tls12, ..asked(ANSWERED) };
    assert!(drive.check(&driven).unwrap_err().to_string().contains("agreed on"));
}

#[test]
fn the_report_plans_every_table_of_tls() {
    let planned = lab(&["report", "--plan", "--only", "tls"]);
    assert!(planned.status.success());
    let names = String::from_utf8(planned.stdout).unwrap();
    for name in [
        "ssl-304/4 PCICA",
        "zos-guest/8 PCICA, 2 servers",
        "linux-handshakes/polling off, 1 in flight",
        "today/TLS 1.3, RSA-2048, card",
    ] {
        assert!(names.lines().any(|line| line == name), "{name}");
    }
    assert!(String::from_utf8_lossy(&planned.stderr).contains(" of TLS and "));
    let quick = lab(&["report", "--plan", "--only", "tls", "--quick"]);
    assert!(quick.stdout.len() * 3 < names.len());
}
