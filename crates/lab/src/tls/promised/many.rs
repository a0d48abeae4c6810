//! Rows of large numbers: kept connections, and certificates.

use super::sides::{Bench, Who};
use crate::experiment::promise::{Measure, Promise};
use crate::load::LabError;
use crate::tls::desk::{NAME, TlsKey};
use crate::tls::drive::{Data, Drive, Length};
use crate::tls::server::{KeyHolder, Server, Serving, Work, free};
use rustix::process::{Signal, kill_process};
use std::fmt::Write;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Connections that are kept.
const CONNECTIONS: usize = 2000;
/// How long the connections work, and the share of that time after which memory is read.
const WORK: Duration = Duration::from_secs(4);
const LOOK_AT: f64 = 0.8;
/// How long the connections rest before memory is read again: servers take a moment to notice the silence.
const REST: Duration = Duration::from_secs(4);
/// Number of certificates, and of reloads.
const CERTIFICATES: usize = 10_000;
const RELOADS: usize = 10;
/// Kibibytes and mebibytes.
const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * 1024.0;

/// Memory of a kept connection, of ours and of nginx: at rest, and while it works.
pub(super) fn connections(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let mut case = bench.case(TlsKey::Rsa2048);
    case.serving.work = Work::Answer(64);
    case.drive.connections = CONNECTIONS;
    case.drive.warm_up = 0.0;
    case.drive.length = Length::Seconds(WORK.as_secs_f64());
    case.drive.data = Data::Http { send: 128 };
    case.drive.messages = Some(1_000_000_000);
    let mut figures = Vec::new();
    for who in [Who::Nginx, Who::Card] {
        let Some(server) = bench.serve(&case, who)? else { continue };
        let before = server.memory_bytes();
        let drive = Drive { address: server.address.to_string(), ..case.drive.clone() };
        let (_, looks) = drive.run_beside(bench.desk.ours(), &bench.stop, |driver| {
            std::thread::sleep(WORK.mul_f64(LOOK_AT));
            let at_work = server.memory_bytes();
            // A stopped driver keeps its connections, and sends nothing.
            let is_stopped = kill_process(driver, Signal::STOP).is_ok();
            std::thread::sleep(REST);
            let look = (at_work, server.memory_bytes(), connected(server.address));
            // A driver that has ended needs no signal.
            let _ = kill_process(driver, Signal::CONT);
            is_stopped.then_some(look)
        })?;
        let (at_work, at_rest, connected) =
            looks.ok_or_else(|| LabError::Program("the load driver did not stand still".to_owned()))?;
        if connected < CONNECTIONS / 2 {
            return Err(LabError::Program(format!("{connected} of {CONNECTIONS} connections were open")));
        }
        let each = |now: u64| now.saturating_sub(before) as f64 / connected as f64 / KIB;
        figures.push((who, [each(at_rest), each(at_work)]));
    }
    let of = |who| figures.iter().find(|(of, _)| *of == who).map(|(_, values)| *values);
    let Some([at_rest, at_work]) = of(Who::Card) else { return Ok(Vec::new()) };
    let theirs = of(Who::Nginx);
    let nginx = super::handshakes::nginx_name(bench);
    let row = |name, ours, theirs: Option<f64>, promise: Option<Promise>, bound: &str| {
        let row = Measure::alone(name, "KiB", &[ours], promise);
        let row = match theirs {
            Some(theirs) => row.beside(&nginx, theirs),
            None => row,
        };
        row.bounded_by(format!("{CONNECTIONS} connections, {bound}; memory of the server alone"))
    };
    let idle = format!("each with requests before, and without one for {} s", REST.as_secs());
    let promise = Some(Promise::Below(32.0));
    let at_rest = row("memory of an idle connection", at_rest, theirs.map(|of| of[0]), promise, &idle);
    Ok(vec![
        Measure { stretch: Some(16.0), ..at_rest },
        row(
            "memory of a connection while it works",
            at_work,
            theirs.map(|of| of[1]),
            None,
            "each with a request now and then",
        ),
    ])
}

/// Connections that a local address has, as the kernel lists them.
fn connected(address: SocketAddr) -> usize {
    let port = format!(":{:04X}", address.port());
    let text = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let is_one = |line: &&str| {
        let mut fields = line.split_whitespace().skip(1);
        fields.next().is_some_and(|local| local.ends_with(&port)) && fields.nth(1) == Some("01")
    };
    text.lines().filter(is_one).count()
}

/// A server with 10,000 certificates: its start, its memory, and ten reloads.
pub(super) fn certificates(bench: &mut Bench) -> Result<Vec<Measure>, LabError> {
    let folder = bench.desk.path("many");
    fs::create_dir(&folder).map_err(LabError::io("make a folder for certificates"))?;
    let names = chains(&bench.desk.chain(TlsKey::Rsa2048), &folder)?;
    let holder = KeyHolder::Cards(bench.cards.folder()?.to_owned());
    let serving = Serving {
        work: Work::Answer(16),
        ..Serving::handshakes(TlsKey::Rsa2048, holder, crate::cards::own(0))
    };
    let address = free()?;
    let settings = serving.settings(&bench.desk, address);
    let own =
        format!("[[certificate]]\nchain = {:?}", bench.desk.chain(TlsKey::Rsa2048).display().to_string());
    let Some((head, tail)) = settings.split_once(&own) else {
        return Err(LabError::Program("settings without a certificate".to_owned()));
    };
    let mut text = format!("{head}{own}");
    let (key, listener) = tail.split_once("[[listener]]").unwrap_or((tail, ""));
    text += key;
    let label = key.lines().find(|line| line.starts_with("label")).unwrap_or_default();
    for name in &names {
        let chain = folder.join(name).display().to_string();
        let _ = write!(text, "[[certificate]]\nchain = {chain:?}\n{label}\n");
    }
    let _ = write!(text, "[[listener]]{listener}");
    let server = Server::with_settings(&bench.desk, &text, address, &serving)?;
    let started = server.started_in.as_secs_f64();
    // Memory freed at the start is returned to the system by then.
    std::thread::sleep(Duration::from_millis(200));
    let memory = server.memory_bytes() as f64;
    let mut times = Vec::new();
    for round in 0..RELOADS {
        let changed = folder.join(&names[round % names.len()]);
        let text = fs::read(&changed).and_then(|text| fs::write(&changed, text));
        text.map_err(LabError::io("change a certificate"))?;
        let begin = Instant::now();
        server.signal(Signal::HUP)?;
        until_idle(&server, begin);
        times.push(begin.elapsed().as_secs_f64() * 1e3);
        if TcpStream::connect(address).is_err() {
            return Err(LabError::Program(format!("no connection after a reload: {}", server.said())));
        }
    }
    let grown = 100.0 * (server.memory_bytes() as f64 / memory - 1.0);
    fs::remove_dir_all(&folder).map_err(LabError::io("remove certificates"))?;
    let name = format!("{CERTIFICATES} certificates under one label");
    Ok(vec![
        Measure::alone(&format!("{name}: start"), "s", &[started], Some(Promise::Below(3.0)))
            .bounded_by("from the program's start to the first connection"),
        Measure::alone(&format!("{name}: memory"), "MB", &[memory / 1e6], Some(Promise::Below(200.0)))
            .bounded_by(format!("{:.1} KiB a certificate", memory / CERTIFICATES as f64 / KIB)),
        Measure::alone(
            &format!("{name}: memory after {RELOADS} reloads"),
            "% more",
            &[grown],
            Some(Promise::Below(10.0)),
        )
        .bounded_by(format!("{:.0} MiB before", memory / MIB)),
        Measure::alone(&format!("{name}: a reload with one of them changed"), "ms", &times, None),
    ])
}

/// Waits until a server that was told to reload uses no more processor time.
fn until_idle(server: &Server, begin: Instant) {
    let used = || server.pids().into_iter().filter_map(crate::load::process_seconds).sum::<f64>();
    let mut last = used();
    while begin.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
        let now = used();
        if now - last < 0.001 {
            return;
        }
        last = now;
    }
}

/// Writes copies of one chain under other names, by changing the digits of its name. Their signatures become invalid,
/// which no server checks when it loads its own chain.
fn chains(like: &Path, folder: &Path) -> Result<Vec<String>, LabError> {
    let what = "make certificates";
    let pem = fs::read_to_string(like).map_err(LabError::io(what))?;
    let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let der = unbase64(&body).ok_or_else(|| LabError::Program("a certificate that is no PEM".to_owned()))?;
    (0..CERTIFICATES)
        .map(|number| {
            let name = format!("n{number:0width$}", width = NAME.len() - 1);
            let der = replaced(&der, NAME.as_bytes(), name.as_bytes());
            let text = base64(&der);
            let lines: Vec<&str> =
                text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
            let text =
                format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"));
            let file = format!("{name}.pem");
            fs::write(folder.join(&file), text).map_err(LabError::io(what))?;
            Ok(file)
        })
        .collect()
}

/// The text with every occurrence of `from` replaced by `to`, which is as long.
fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    let mut at = 0;
    while at + from.len() <= out.len() {
        if &out[at..at + from.len()] == from {
            out[at..at + from.len()].copy_from_slice(to);
        }
        at += 1;
    }
    out
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base 64 (RFC 4648, 4).
fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let word =
            three.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * place)) as usize & 63];
            out.push(if place > three.len() { '=' } else { char::from(digit) });
        }
    }
    out
}

fn unbase64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let mut word = 0u32;
        for digit in four {
            word = word << 6 | DIGITS.iter().position(|of| of == digit)? as u32;
        }
        word <<= 6 * (4 - four.len());
        out.extend(&word.to_be_bytes()[1..four.len()]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_is_that_of_the_standard() {
        for (text, encoded) in [("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(text.as_bytes()), encoded);
            assert_eq!(unbase64(encoded).unwrap(), text.as_bytes());
        }
        assert_eq!(
            replaced(b"a localhost b localhost", b"localhost", b"n00000001"),
            b"a n00000001 b n00000001"
        );
        assert_eq!(unbase64("%%"), None);
    }
}
