//! The cases: the published rows that each stands for, the place of the key, cards, suite, sessions and data.

use crate::queues::models::{Model, Rates, TimedCard};
use crate::queues::shared::window_us;
use crate::tls::desk::TlsKey;

/// A published table, or one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// System SSL on four processors of a z990: PCICA and PCIXCC.
    Ssl304,
    /// System SSL on sixteen processors of a z990: PCICA and PCIXCC.
    Ssl316,
    /// System SSL on four processors of a z990, with CEX2C.
    Ssl304Later,
    /// Linux on four processors of a z990, and as guests of z/VM.
    Linux,
    /// One guest of z/VM on shared cards and on cards of its own.
    OneGuest,
    /// One guest and thirty.
    ThirtyGuests,
    /// Thirty guests and three ciphers.
    Ciphers,
    /// z/OS native and as a guest.
    ZosGuest,
    /// Starts of z/TPF by form and length of the key.
    StartsByKey,
    /// Starts of z/TPF on two cards.
    StartsOnTwo,
    /// Messages of z/TPF by length.
    Data,
    /// Messages of z/TPF by cipher.
    CipherRatio,
    /// Handshakes of Linux on a System z9.
    LinuxHandshakes,
    /// Data of Linux on a System z9.
    LinuxData,
    /// Today's suites, and cards that are not timed.
    Today,
}

impl Table {
    /// Every table, in the order of the report.
    pub const ALL: [Self; 15] = [
        Self::Ssl304,
        Self::Ssl316,
        Self::Ssl304Later,
        Self::Linux,
        Self::OneGuest,
        Self::ThirtyGuests,
        Self::Ciphers,
        Self::ZosGuest,
        Self::StartsByKey,
        Self::StartsOnTwo,
        Self::Data,
        Self::CipherRatio,
        Self::LinuxHandshakes,
        Self::LinuxData,
        Self::Today,
    ];

    /// The name in cases.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ssl304 => "ssl-304",
            Self::Ssl316 => "ssl-316",
            Self::Ssl304Later => "ssl-304-later",
            Self::Linux => "linux",
            Self::OneGuest => "one-guest",
            Self::ThirtyGuests => "thirty-guests",
            Self::Ciphers => "ciphers",
            Self::ZosGuest => "zos-guest",
            Self::StartsByKey => "starts-by-key",
            Self::StartsOnTwo => "starts-on-two",
            Self::Data => "data",
            Self::CipherRatio => "cipher-ratio",
            Self::LinuxHandshakes => "linux-handshakes",
            Self::LinuxData => "linux-data",
            Self::Today => "today",
        }
    }

    /// The heading for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Ssl304 => "System SSL, 2084-304 (z990 4.6.2)",
            Self::Ssl316 => "System SSL, 2084-316 (z990 4.6.2)",
            Self::Ssl304Later => "System SSL, 2084-304, CEX2C (z990 5.3.2)",
            Self::Linux => "Linux, native and guests (z990 4.6.3)",
            Self::OneGuest => "One guest, shared and dedicated cards (z/VM tables 2 to 4)",
            Self::ThirtyGuests => "One guest and thirty (z/VM table 5)",
            Self::Ciphers => "Thirty guests, three ciphers (z/VM table 6)",
            Self::ZosGuest => "z/OS native and as a guest (z/VM table 8)",
            Self::StartsByKey => "Starts by form and length of the key (z/TPF)",
            Self::StartsOnTwo => "Starts on two cards (z/TPF)",
            Self::Data => "Messages by length (z/TPF)",
            Self::CipherRatio => "Messages by cipher (z/TPF)",
            Self::LinuxHandshakes => "Handshakes (Linux, System z9)",
            Self::LinuxData => "Data (Linux, System z9)",
            Self::Today => "Today's suites, cards as they are",
        }
    }
}

/// The place of the server's key, and the cards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Engine {
    /// In the server's process, which is held to the portable level, as are its ciphers.
    Software,
    /// In the server's process, at the machine's best level.
    Process,
    /// On this many timed cards.
    Timed(TimedCard, usize),
    /// On one timed card with rates of its own, for a form or length of the key that cards here do not distinguish.
    Paced(Model, Rates),
    /// On this many cards that are not timed.
    Real(usize),
}

impl Engine {
    /// Number of cards that carry load.
    pub const fn cards(self) -> usize {
        match self {
            Self::Software | Self::Process => 0,
            Self::Paced(..) => 1,
            Self::Timed(_, count) | Self::Real(count) => count,
        }
    }

    /// Private operations a second of one full timed card; none for other places of the key.
    pub fn full(self) -> Option<f64> {
        match self {
            Self::Timed(card, _) => card.rates(crate::queues::models::PRIVATE).map(|rates| rates.full),
            Self::Paced(_, rates) => Some(rates.full),
            _ => None,
        }
    }

    /// Timings for the program of timed cards; none without timed cards.
    pub fn timings(self) -> Option<String> {
        match self {
            Self::Timed(card, count) => Some(crate::queues::models::timing_text(0, &vec![Some(card); count])),
            Self::Paced(_, rates) => Some(crate::queues::models::timing_text_of(rates)),
            _ => None,
        }
    }

    /// The name for people.
    pub fn title(self) -> String {
        match self {
            Self::Software => "software".to_owned(),
            Self::Process => "in process".to_owned(),
            Self::Timed(card, count) => format!("{count} {}", card.model.title()),
            Self::Paced(model, _) => format!("1 {}", model.title()),
            Self::Real(count) => format!("{count} real"),
        }
    }
}

/// A cipher suite, with its version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// TLS 1.2, RSA key exchange, RC4 and MD5.
    Rc4Md5,
    /// TLS 1.2, RSA key exchange, triple DES and SHA-1.
    TdesSha,
    /// TLS 1.2, RSA key exchange, AES-128-CBC and SHA-1.
    Aes128Sha,
    /// TLS 1.2, RSA key exchange, AES-128-GCM.
    Aes128Gcm,
    /// TLS 1.3, X25519, AES-128-GCM.
    Tls13,
}

impl Suite {
    /// Name of the suite for the driver: OpenSSL's, for TLS 1.3 the standard's.
    pub const fn told(self) -> &'static str {
        match self {
            Self::Rc4Md5 => "RC4-MD5",
            Self::TdesSha => "DES-CBC3-SHA",
            Self::Aes128Sha => "AES128-SHA",
            Self::Aes128Gcm => "AES128-GCM-SHA256",
            Self::Tls13 => "TLS_AES_128_GCM_SHA256",
        }
    }

    /// The name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Rc4Md5 => "RC4-MD5",
            Self::TdesSha => "3DES-SHA",
            Self::Aes128Sha => "AES128-SHA",
            Self::Aes128Gcm => "AES128-GCM",
            Self::Tls13 => "TLS 1.3",
        }
    }

    /// Whether only GnuTLS, as a client, can offer this suite alone.
    pub const fn is_gnutls(self) -> bool {
        matches!(self, Self::Rc4Md5 | Self::TdesSha | Self::Aes128Sha)
    }
}

/// The limit of the server's tenants on the cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Queue {
    /// All cards, without a limit.
    Free,
    /// All cards, with this many requests in flight.
    Limited(u32),
}

/// The cards of the server's tenant, and of its clients' tenant, out of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shares {
    /// Both have both.
    Both,
    /// The first is the server's own, the second is shared.
    One,
}

/// A case of the TLS tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The table of the case.
    pub table: Table,
    /// Name of the case within the table.
    pub name: String,
    /// Beginnings of the names of the published rows that the case stands for.
    pub rows: Vec<String>,
    /// The place of the key, and the cards.
    pub engine: Engine,
    /// Kind of the key.
    pub kind: TlsKey,
    /// The cipher suite.
    pub suite: Suite,
    /// Whether all but the first connections resume a session by its ID.
    pub resumes: bool,
    /// Whether clients show certificates of the same kind.
    pub clients: bool,
    /// Number of servers, each with a tenant of its own.
    pub servers: usize,
    /// The limit of each server's tenant on the cards.
    pub queue: Queue,
    /// Connections in flight, over all servers.
    pub connections: usize,
    /// Bytes that a client sends in a message.
    pub send: u64,
    /// Bytes that the client gets back.
    pub receive: u64,
    /// Messages of a connection; 0 for as many as fit the time.
    pub messages: u32,
    /// Loops of a server, each with a processor.
    pub processors: usize,
    /// The cards of the clients' tenant, which keeps public operations in flight; none without such a tenant.
    pub client_tenant: Option<Shares>,
    /// Whether a quick report runs the case.
    pub is_quick: bool,
}

/// Connections in flight that fill timed cards: more than the cards hold.
const CONNECTIONS: usize = 96;
/// Messages of a connection that is kept.
const KEPT: u32 = 100_000_000;

fn case(table: Table, name: &str, engine: Engine, rows: &[&str]) -> Case {
    Case {
        table,
        name: name.to_owned(),
        rows: rows.iter().map(|row| (*row).to_owned()).collect(),
        engine,
        kind: TlsKey::Rsa1024,
        suite: Suite::Rc4Md5,
        resumes: false,
        clients: false,
        servers: 1,
        queue: Queue::Free,
        connections: CONNECTIONS,
        send: 2048,
        receive: 2048,
        messages: 1,
        processors: 1,
        client_tenant: None,
        is_quick: false,
    }
}

fn timed(model: Model, count: usize) -> Engine {
    Engine::Timed(TimedCard::of(model), count)
}

impl Case {
    /// Name of the case among all cases.
    pub fn id(&self) -> String {
        format!("{}/{}", self.table.name(), self.name)
    }

    /// Whether a kept connection carries messages.
    pub fn is_kept(&self) -> bool {
        self.messages > 1
    }

    /// Whether the same home can serve another case.
    pub fn is_served_like(&self, other: &Self) -> bool {
        self.engine == other.engine
    }

    fn quick(self) -> Self {
        Self { is_quick: true, ..self }
    }

    fn with(self, suite: Suite) -> Self {
        Self { suite, ..self }
    }

    fn resumed(self) -> Self {
        Self { resumes: true, ..self }
    }

    fn of_clients(self) -> Self {
        Self { clients: true, ..self }
    }

    fn guests(self, servers: usize) -> Self {
        let queue =
            if servers > 0 { Queue::Limited(crate::queues::shared::VIRTUAL_QUEUES) } else { Queue::Free };
        let servers = servers.max(1);
        Self { servers, queue, connections: (12 * servers).max(self.connections), ..self }
    }

    fn on(self, processors: usize) -> Self {
        Self { processors, name: format!("{}, {processors} processors", self.name), rows: Vec::new(), ..self }
    }
}

/// Every case, in the order of the report.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    all.extend(system_ssl());
    all.extend(linux());
    all.extend(guests());
    all.extend(tpf());
    all.extend(linux_z9());
    all.extend(today());
    all
}

fn system_ssl() -> Vec<Case> {
    use Model::{Cex2c, Pcica, Pcixcc};
    use Table::{Ssl304, Ssl304Later, Ssl316};
    let (process, software) = (Engine::Process, Engine::Software);
    let of = |at: &str| format!("z990.{at}");
    let row = |at: &str| vec![of(at)];
    let with = |case: Case, rows: Vec<String>| Case { rows, ..case };
    vec![
        with(case(Ssl304, "reused", process, &[]).resumed().quick(), row("4.6.2.ssl-304.avoided")),
        with(case(Ssl304, "software", software, &[]).quick(), row("4.6.2.ssl-304.software")),
        with(case(Ssl304, "4 PCICA", timed(Pcica, 4), &[]).quick(), row("4.6.2.ssl-304.pcica4")),
        with(
            case(Ssl304, "4 PCICA, client certificates", timed(Pcica, 4), &[]).of_clients().quick(),
            row("4.6.2.ssl-304.pcica4-clientauth"),
        ),
        with(
            case(Ssl304, "4 PCIXCC, 3DES-SHA", timed(Pcixcc, 4), &[]).with(Suite::TdesSha),
            row("4.6.2.ssl-304-pcixcc.pcixcc4-tdes-sha"),
        ),
        with(case(Ssl304, "4 PCIXCC", timed(Pcixcc, 4), &[]), row("4.6.2.ssl-304-pcixcc.pcixcc4-rc4-md5")),
        with(
            case(Ssl304, "4 PCIXCC, client certificates", timed(Pcixcc, 4), &[]).of_clients(),
            row("4.6.2.ssl-304-pcixcc.pcixcc4-rc4-md5-clientauth"),
        ),
        case(Ssl304, "software", software, &[]).on(2),
        case(Ssl304, "4 PCICA", timed(Pcica, 4), &[]).on(2),
        with(case(Ssl316, "reused", process, &[]).resumed(), row("4.6.2.ssl-316.avoided")),
        with(case(Ssl316, "software", software, &[]), row("4.6.2.ssl-316.software")),
        with(case(Ssl316, "8 PCICA", timed(Pcica, 8), &[]), row("4.6.2.ssl-316.pcica8")),
        with(case(Ssl316, "12 PCICA", timed(Pcica, 12), &[]), row("4.6.2.ssl-316.pcica12")),
        with(case(Ssl316, "4 PCIXCC", timed(Pcixcc, 4), &[]), row("4.6.2.ssl-316.pcixcc4")),
        with(case(Ssl304Later, "reused", process, &[]).resumed(), row("5.3.2.ssl-304.avoided-rc4-md5")),
        with(case(Ssl304Later, "software", software, &[]), row("5.3.2.ssl-304.software-rc4-md5")),
        with(case(Ssl304Later, "4 PCIXCC", timed(Pcixcc, 4), &[]), row("5.3.2.ssl-304.pcixcc4-rc4-md5")),
        with(case(Ssl304Later, "4 CEX2C", timed(Cex2c, 4), &[]).quick(), row("5.3.2.ssl-304.cex2c4-rc4-md5")),
        with(case(Ssl304Later, "8 CEX2C", timed(Cex2c, 8), &[]), row("5.3.2.ssl-304.cex2c8-rc4-md5")),
        with(
            case(Ssl304Later, "4 PCIXCC, 3DES-SHA", timed(Pcixcc, 4), &[]).with(Suite::TdesSha),
            row("5.3.2.ssl-304.pcixcc4-tdes-sha"),
        ),
        with(
            case(Ssl304Later, "4 CEX2C, 3DES-SHA", timed(Cex2c, 4), &[]).with(Suite::TdesSha),
            row("5.3.2.ssl-304.cex2c4-tdes-sha"),
        ),
    ]
}

fn linux() -> Vec<Case> {
    use Model::Pcica;
    use Table::Linux;
    let at = |name: &str, engine: Engine, row: &str| case(Linux, name, engine, &[row]);
    vec![
        at("software", Engine::Software, "z990.4.6.3.linux-native.software-4cp"),
        at("8 PCICA", timed(Pcica, 8), "z990.4.6.3.linux-native.pcica8-4cp").quick(),
        at("12 PCICA", timed(Pcica, 12), "z990.4.6.3.linux-native.pcica12-16cp"),
        at("software, 30 tenants", Engine::Software, "z990.4.6.3.linux-guest.software-30g-4cp").guests(30),
        at("8 PCICA, 1 tenant", timed(Pcica, 8), "z990.4.6.3.linux-guest.pcica8-1g-4cp").guests(1),
        at("8 PCICA, 10 tenants", timed(Pcica, 8), "z990.4.6.3.linux-guest.pcica8-10g-4cp").guests(10),
        at("8 PCICA, 30 tenants", timed(Pcica, 8), "z990.4.6.3.linux-guest.pcica8-30g-4cp").guests(30),
        at("8 PCICA, 120 tenants", timed(Pcica, 8), "z990.4.6.3.linux-guest.pcica8-120g-4cp").guests(120),
        at("12 PCICA, 30 tenants", timed(Pcica, 12), "z990.4.6.3.linux-guest.pcica12-30g-16cp").guests(30),
    ]
}

fn guests() -> Vec<Case> {
    use Model::{Pcica, PcixccZvm};
    use Table::{Ciphers, OneGuest, ThirtyGuests, ZosGuest};
    let shared = |model: Model, count| {
        Engine::Timed(TimedCard { poll_us: window_us(model), ..TimedCard::of(model) }, count)
    };
    let mut all = Vec::new();
    for (model, count) in [(Pcica, 1), (Pcica, 6), (PcixccZvm, 1), (PcixccZvm, 2), (PcixccZvm, 4)] {
        let card = format!("{}{count}", model.title().to_lowercase());
        let name = format!("{count} {}", model.title());
        let rows = [format!("zvm.t2.{card}"), format!("zvm.t4.{card}.shared"), format!("zvm.t5.{card}.1g")];
        let one = case(OneGuest, &format!("{name}, shared"), shared(model, count), &[]).guests(1);
        all.push(Case { rows: rows.to_vec(), is_quick: model == Pcica, ..one });
        let rows = [format!("zvm.t3.{card}"), format!("zvm.t4.{card}.dedicated")];
        let own = case(OneGuest, &format!("{name}, its own"), timed(model, count), &[]);
        all.push(Case { rows: rows.to_vec(), is_quick: model == Pcica, ..own });
    }
    for (model, count) in [(Pcica, 6), (PcixccZvm, 2), (PcixccZvm, 4)] {
        let card = format!("{}{count}", model.title().to_lowercase());
        let name = format!("{count} {}, 30 tenants", model.title());
        let thirty = case(ThirtyGuests, &name, timed(model, count), &[&format!("zvm.t5.{card}.30g")]);
        all.push(thirty.guests(30));
    }
    for (model, count) in [(Pcica, 6), (PcixccZvm, 2)] {
        let card = format!("{}{count}", model.title().to_lowercase());
        for (suite, at) in [(Suite::Rc4Md5, "rc4-md5"), (Suite::TdesSha, "tdes-sha")] {
            let name = format!("{count} {}, {}", model.title(), suite.title());
            let one = case(Ciphers, &name, timed(model, count), &[&format!("zvm.t6.{card}.{at}")]);
            all.push(one.with(suite).guests(30));
        }
    }
    for (model, count) in [(Pcica, 8), (PcixccZvm, 2)] {
        let card = format!("{}{count}", model.title().to_lowercase());
        let name = format!("{count} {}, 2 servers", model.title());
        let native = case(ZosGuest, &name, timed(model, count), &[&format!("zvm.t8.native.{card}")]);
        // Two servers, whose clients keep no sessions: forty connections in flight.
        all.push(Case { servers: 2, connections: 40, ..native });
    }
    all
}

fn tpf() -> Vec<Case> {
    use Model::Pcica;
    use Table::{CipherRatio, Data, StartsByKey, StartsOnTwo};
    let pace = |one_job, full| Engine::Paced(Pcica, Rates { one_job, full });
    let start =
        |name: &str, engine, kind, row: &str| Case { kind, ..case(StartsByKey, name, engine, &[row]) };
    let kept = |table, name: String, engine, suite, bytes, rows: &[&str]| Case {
        send: 100,
        receive: bytes,
        messages: KEPT,
        connections: 8,
        suite,
        ..case(table, &name, engine, rows)
    };
    // Rates of one card by form and length of the key: `z990.4.4.pka.pkd-*`, with one job and with eight.
    let mut all = vec![
        start("CRT, 1024 bits", pace(205.0, 1093.0), TlsKey::Rsa1024, "ztpf.ssl-start-1.crt-1024").quick(),
        start("ME, 1024 bits", pace(103.0, 544.0), TlsKey::Rsa1024, "ztpf.ssl-start-1.me-1024").quick(),
        start("CRT, 2048 bits", pace(53.0, 268.0), TlsKey::Rsa2048, "ztpf.ssl-start-1.crt-2048"),
        start("ME, 2048 bits", pace(13.0, 69.0), TlsKey::Rsa2048, "ztpf.ssl-start-1.me-2048"),
    ];
    for (name, shares, row) in [
        ("both shared", Shares::Both, "ztpf.ssl-start-2"),
        ("card 1 the server's own, card 2 shared", Shares::One, "ztpf.ssl-start-3"),
    ] {
        let one = case(StartsOnTwo, name, timed(Pcica, 2), &[row]);
        all.push(Case { client_tenant: Some(shares), connections: 32, is_quick: true, ..one });
    }
    for suite in [Suite::TdesSha, Suite::Aes128Sha, Suite::Aes128Gcm] {
        for bytes in [100, 500, 1000, 2000, 4000, 32_000] {
            for engine in [Engine::Software, Engine::Process] {
                let name = format!("{}, {bytes} bytes, {}", suite.title(), engine.title());
                let row = format!("ztpf.ssl-data.{bytes}");
                let is_published = suite == Suite::TdesSha && engine == Engine::Process;
                let rows: &[&str] = if is_published { &[&row] } else { &[] };
                let one = kept(Data, name, engine, suite, bytes, rows);
                all.push(Case {
                    is_quick: suite == Suite::Aes128Sha && [100, 32_000].contains(&bytes),
                    ..one
                });
            }
        }
    }
    for (suite, at) in [(Suite::Rc4Md5, "rc4-sha"), (Suite::TdesSha, "tdes-sha"), (Suite::Aes128Sha, "")] {
        for (engine, of) in [(Engine::Process, "cpacf"), (Engine::Software, "software")] {
            let name = format!("{}, {}", suite.title(), engine.title());
            let row = format!("ztpf.cipher-ratio.{at}.{of}");
            let rows: &[&str] = if at.is_empty() { &[] } else { &[&row] };
            all.push(kept(CipherRatio, name, engine, suite, 1000, rows));
        }
    }
    all
}

fn linux_z9() -> Vec<Case> {
    use Model::{Cex2a, Cex2c};
    use Table::{LinuxData, LinuxHandshakes};
    let small = |name: String, engine, connections, rows: &[&str]| Case {
        send: 40,
        receive: 40,
        connections,
        ..case(LinuxHandshakes, &name, engine, rows)
    };
    let mut all = Vec::new();
    for connections in [1, 2, 4, 8, 16, 32] {
        let at = |name: &str| format!("{name}, {connections} in flight");
        let row = |at: usize, row: &'static str| if at == connections { vec![row] } else { Vec::new() };
        let software = row(8, "lnx.ssl.software");
        all.push(small(at("software"), Engine::Software, connections, &software));
        all.push(small(at("1 CEX2C"), timed(Cex2c, 1), connections, &row(8, "lnx.ssl.cex2c")));
        all.push(small(at("1 CEX2A"), timed(Cex2a, 1), connections, &row(16, "lnx.ssl.cex2a")));
        all.push(small(at("2 CEX2A"), timed(Cex2a, 2), connections, &row(32, "lnx.ssl.cex2a-2")));
    }
    for one in &mut all {
        one.is_quick = one.connections == 16;
    }
    let ticks = Engine::Timed(TimedCard { poll_us: 10_000, ..TimedCard::of(Cex2a) }, 1);
    all.push(small("polling off, 1 in flight".to_owned(), ticks, 1, &["lnx.poll-off.1conn"]).quick());
    for (suite, at) in [(Suite::TdesSha, "tdes"), (Suite::Aes128Sha, "aes128")] {
        for engine in [Engine::Software, Engine::Process] {
            let name = format!("1000 KB, {}, {}", suite.title(), engine.title());
            let row = format!("lnx.cpacf.{at}");
            let rows: &[&str] = if engine == Engine::Process { &[&row] } else { &[] };
            let one = case(LinuxData, &name, engine, rows);
            all.push(Case { send: 100, receive: 1_024_000, messages: KEPT, connections: 1, suite, ..one });
        }
    }
    for (size, bytes) in [("20 KB", 20_480), ("1000 KB", 1_024_000)] {
        for (what, engine) in
            [("neither", Engine::Software), ("engine", Engine::Process), ("engine and card", timed(Cex2a, 1))]
        {
            let one = case(LinuxData, &format!("{size} a connection, {what}"), engine, &[]);
            all.push(Case { send: 100, receive: bytes, connections: 8, suite: Suite::Aes128Sha, ..one });
        }
    }
    all
}

fn today() -> Vec<Case> {
    use Table::Today;
    let one = |name: &str, engine, kind, suite| Case { kind, suite, ..case(Today, name, engine, &[]) };
    let (card, process) = (Engine::Real(1), Engine::Process);
    let mut all = Vec::new();
    for (place, engine) in [("card", card), ("process", process)] {
        let name = |what: &str| format!("{what}, {place}");
        all.push(one(&name("RSA-1024 key exchange, RC4-MD5"), engine, TlsKey::Rsa1024, Suite::Rc4Md5));
        all.push(one(&name("RSA-1024 key exchange, AES128-SHA"), engine, TlsKey::Rsa1024, Suite::Aes128Sha));
        all.push(one(&name("RSA-2048 key exchange, AES128-GCM"), engine, TlsKey::Rsa2048, Suite::Aes128Gcm));
        all.push(one(&name("TLS 1.3, RSA-2048"), engine, TlsKey::Rsa2048, Suite::Tls13).quick());
        all.push(one(&name("TLS 1.3, ECDSA P-256"), engine, TlsKey::P256, Suite::Tls13).quick());
    }
    let clients = one("TLS 1.3, RSA-2048, client certificates", card, TlsKey::Rsa2048, Suite::Tls13);
    all.push(clients.of_clients());
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::measurements;
    use std::collections::HashSet;

    #[test]
    fn cases_have_names_of_their_own_and_published_rows() {
        let all = cases();
        let names: HashSet<String> = all.iter().map(Case::id).collect();
        assert_eq!(names.len(), all.len());
        let published = measurements();
        for case in &all {
            for row in &case.rows {
                let is_there = published.iter().any(|one| one.id().starts_with(&format!("{row}.")));
                // Rows that are kept aside are in no table, and run all the same.
                let kept_aside = [
                    "pcica8", "pcica12", "pcixcc4", "cex2c8", "-10g", "-120g", "2000", "4000", "cex2a-2",
                    "t8.", "t5.", "t6.", "t2.", "t4.", "t3.", "software", "start-",
                ];
                assert!(is_there || kept_aside.iter().any(|part| row.contains(part)), "{row}");
            }
        }
        for table in Table::ALL {
            assert!(all.iter().any(|case| case.table == table), "{table:?}");
        }
    }

    #[test]
    fn old_suites_are_asked_for_by_gnutls() {
        assert!(Suite::Rc4Md5.is_gnutls() && Suite::Aes128Sha.is_gnutls() && !Suite::Tls13.is_gnutls());
        assert!(cases().iter().all(|case| case.kind != TlsKey::P256 || case.suite == Suite::Tls13));
    }
}
