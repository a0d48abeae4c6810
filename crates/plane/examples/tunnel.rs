//! One end of a tunnel with SAs that both ends know: for measurements in two network namespaces, with `ping` and
//! `iperf3` over it. The keys are no secret.
//!
//! ```text
//! tunnel TUN 192.0.2.1 192.0.2.2 first  gcm [udp|esp [THREADS]]      in one namespace
//! tunnel TUN 192.0.2.2 192.0.2.1 second gcm [udp|esp [THREADS]]      in the other
//! ```
//!
//! Addresses and routes of the TUN are the caller's to set, once a line says that it runs. It ends with its standard
//! input, and says what it did and what processor time that took.
#![forbid(unsafe_code)]

use engine::{Engine, Options};
use ipsec::{
    Action, AesKey, Direction, Encryption, Endpoint, Family, Integrity, KeyBytes, Mode, NAT_PORT, Policy,
    PolicyDirection, Sa, SaParameters, Sad, Selector, Spd, Suite, Template,
};
use plane::{Shared, Tables, open_raw, open_tun, open_udp, spawn};
use std::error::Error;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

const SUITES: [(&str, Suite); 8] = [
    ("gcm", Suite::AesGcm16(AesKey::Bits128)),
    ("gcm256", Suite::AesGcm16(AesKey::Bits256)),
    ("chacha", Suite::ChaCha20Poly1305),
    ("cbc-sha1", Suite::Separate(Encryption::AesCbc(AesKey::Bits128), Integrity::Sha1)),
    ("cbc-sha256", Suite::Separate(Encryption::AesCbc(AesKey::Bits128), Integrity::Sha256)),
    ("cbc256-sha512", Suite::Separate(Encryption::AesCbc(AesKey::Bits256), Integrity::Sha512)),
    ("3des-sha1", Suite::Separate(Encryption::TdesCbc, Integrity::Sha1)),
    ("null-sha1", Suite::Separate(Encryption::Null, Integrity::Sha1)),
];

/// Of the end that is first, and of the other.
const SPIS: [u32; 2] = [0x1001, 0x2002];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (required, optional) =
        arguments.split_at_checked(5).ok_or("TUN LOCAL PEER first|second SUITE [udp|esp [THREADS]]")?;
    let (local, peer): (IpAddr, IpAddr) = (required[1].parse()?, required[2].parse()?);
    let is_first = required[3] == "first";
    let suite = SUITES.iter().find(|(name, _)| *name == required[4]).ok_or("no such suite")?.1;
    let in_udp = optional.first().is_none_or(|way| way == "udp");
    let threads = optional.get(1).map_or(Ok(1), |text| text.parse())?;

    let engine = Engine::new(Options::default())?;
    let shared = Arc::new(Shared::new(engine, threads)?);
    let queues = open_tun(&required[0], threads, false)?;
    let mut udp = Vec::new();
    if in_udp {
        let address = SocketAddr::new(local, NAT_PORT);
        udp.push((address, open_udp(address, threads)?));
    }
    shared.publish(tables(&engine, &shared, (local, peer), is_first, suite, in_udp)?);
    let running = spawn(&shared, queues, udp, open_raw()?)?;
    println!("{} runs", required[0]);
    std::io::stdin().read_to_end(&mut Vec::new())?;
    shared.stop();
    for thread in running {
        thread.join().map_err(|_| "a thread has panicked")??;
    }
    let (user, system) = processor_seconds()?;
    println!("processor seconds: user {user:.2} system {system:.2}");
    let all = shared.counters().all;
    let ratio = |packets: u64, calls: u64| packets as f64 / calls.max(1) as f64;
    println!(
        "sealed {} opened {}; packets a call: TUN read {:.1} send {:.1} receive {:.1} TUN write {:.1}",
        all.esp.sealed,
        all.esp.opened,
        ratio(all.esp.sealed, all.tun_reads),
        ratio(all.sent_packets, all.sends),
        ratio(all.received_packets, all.receives),
        ratio(all.tun_packets, all.tun_writes),
    );
    println!("sealed together {:?}, opened together {:?}", all.sealed_batches, all.opened_batches);
    for (loss, count) in all.losses().filter(|(_, count)| *count > 0) {
        println!("lost: {loss} {count}");
    }
    for (reason, count) in all.esp.reasons().filter(|(_, count)| *count > 0) {
        println!("dropped: {reason} {count}");
    }
    Ok(())
}

/// An SA for each direction, and policies for everything.
fn tables(
    engine: &Engine,
    shared: &Shared,
    (local, peer): (IpAddr, IpAddr),
    is_first: bool,
    suite: Suite,
    in_udp: bool,
) -> Result<Tables, Box<dyn Error>> {
    let (mut sad, mut spd) = (Sad::new(), Spd::new());
    for direction in [Direction::Out, Direction::In] {
        let from_first = is_first == (direction == Direction::Out);
        let spi = SPIS[usize::from(from_first)];
        let encryption: Vec<u8> = (0..suite.encryption_key_bytes()).map(|at| at as u8 ^ spi as u8).collect();
        let integrity: Vec<u8> = (0..suite.integrity_key_bytes()).map(|at| at as u8 ^ !spi as u8).collect();
        let keys = KeyBytes { encryption: &encryption, integrity: &integrity };
        let ends = if direction == Direction::Out { (local, peer) } else { (peer, local) };
        let port = if in_udp { NAT_PORT } else { 0 };
        let parameters = SaParameters {
            source: Endpoint::new(ends.0, port),
            destination: Endpoint::new(ends.1, port),
            in_udp,
            extended: true,
            window: 4096,
            request: 1,
            added: shared.now(),
            ..SaParameters::tunnel(spi, direction, suite, keys, ends)
        };
        sad.add(Arc::new(Sa::new(engine, &parameters, true)?))?;
        let template = Template { request: 1, mode: Mode::Tunnel, ends: Some(ends), spi: None };
        let directions: &[PolicyDirection] = match direction {
            Direction::Out => &[PolicyDirection::Out],
            Direction::In => &[PolicyDirection::In, PolicyDirection::Forward],
        };
        for family in [Family::V4, Family::V6] {
            for direction in directions {
                let policy = Policy {
                    id: 1,
                    selector: Selector::all(family),
                    priority: 1,
                    action: Action::Protect(template),
                };
                spd.add(*direction, policy)?;
            }
        }
    }
    Ok(Tables { sad: Arc::new(sad), spd: Arc::new(spd), ..Tables::default() })
}

/// User and system time of this process.
fn processor_seconds() -> Result<(f64, f64), Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // Behind the name, which may hold anything, the eleventh and twelfth.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| -> Result<f64, Box<dyn Error>> {
        Ok(fields.get(at).ok_or("a short /proc/self/stat")?.parse::<f64>()? / 100.0)
    };
    Ok((ticks(11)?, ticks(12)?))
}
