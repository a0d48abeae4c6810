//! The options of a run, checked and resolved.

use crate::http;
use crate::library;
use crate::names;
use crate::outside::{Machine, Outside};
use crate::signing::Signer;
use crate::target;
use keyfiles::SigningKey;
use options::tls::{DRIVE_SECONDS, Drive};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use streams::Server;
use tls::{Chain, ChainError, Group, Offer, Resuming, SUITES, Trust};
use zeroize::Zeroizing;

/// Upper bound of connections in flight.
const CONNECTIONS_MAX: u32 = 1 << 20;
/// Upper bound of a message, in bytes.
const BYTES_MAX: u64 = 1 << 40;
/// Bounds of an open loop's starts a second.
pub(crate) const RATE_MIN: f64 = 0.001;
pub(crate) const RATE_MAX: f64 = 1e7;

/// The condition that ends a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    /// The run ends after this time.
    After(Duration),
    /// The run ends after this number of transactions.
    Transactions(u64),
}

/// The work of a connection after its handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// The connection ends at once.
    Nothing,
    /// Sends messages of `send` bytes in `packets` writes, each with an answer of `receive` bytes.
    Messages { send: u64, receive: u64, packets: u64 },
    /// Sends an HTTP GET for the path.
    Http { path: String },
}

/// Parameters that must be negotiated; None allows any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) version: Option<&'static str>,
    pub(crate) suite: Option<String>,
    pub(crate) group: Option<String>,
}

/// A process whose processor time is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Booked {
    pub(crate) pid: u32,
    pub(crate) name: String,
}

/// A run whose options are checked and resolved.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) target_text: String,
    pub(crate) target: Server,
    pub(crate) connections: usize,
    pub(crate) threads: usize,
    pub(crate) end: End,
    pub(crate) warm_up: Duration,
    /// Connections that begin in a second, whether others have ended or not; None: each begins when another one ends.
    pub(crate) rate: Option<f64>,
    /// Bound of the time of 99 of 100 transactions, for the search for the knee; None for no search.
    pub(crate) knee: Option<Duration>,
    /// Share of connections that are to resume a session, 0 to 1.
    pub(crate) resume: f64,
    pub(crate) sessions: Resuming,
    pub(crate) cache_size: usize,
    pub(crate) cache_lifetime: Duration,
    pub(crate) work: Work,
    pub(crate) messages: u64,
    pub(crate) names: Vec<String>,
    pub(crate) offer: Offer,
    pub(crate) wanted: Wanted,
    pub(crate) trust: Trust,
    /// The client's certificate with its key, shown to servers that ask for one.
    pub(crate) own: Option<Chain>,
    /// The signer with the client's key, if s2n-tls is the client.
    pub(crate) signer: Option<Arc<Signer>>,
    /// The client's certificate and key in PEM, for GnuTLS.
    pub(crate) own_pem: Option<(Vec<u8>, Zeroizing<Vec<u8>>)>,
    /// GnuTLS's priority string; None: the library is s2n-tls.
    pub(crate) priorities: Option<String>,
    pub(crate) timeout: Duration,
    pub(crate) booked: Vec<Booked>,
    pub(crate) is_json: bool,
}

impl Plan {
    /// Checks the options, and reads the files named there.
    ///
    /// # Errors
    /// The option or file at fault, and why.
    pub fn new(typed: &Drive) -> Result<Self, String> {
        Self::with(typed, &Machine)
    }

    /// Checks the options, with files, host names and processes read through `outside`.
    ///
    /// # Errors
    /// The option or file at fault, and why.
    pub fn with(typed: &Drive, outside: &dyn Outside) -> Result<Self, String> {
        let connections =
            within("--connections", u64::from(typed.connections), 1, u64::from(CONNECTIONS_MAX))?;
        let threads = within("--threads", u64::from(typed.threads), 1, 1024)?;
        if threads > connections {
            return Err("--threads: each thread has a connection at least".to_owned());
        }
        let end = match (typed.seconds, typed.transactions) {
            (Some(_), Some(_)) => {
                return Err("--seconds and --transactions: one of them ends the run".to_owned());
            }
            (seconds, None) => End::After(time("--seconds", seconds.unwrap_or(DRIVE_SECONDS), 0.01)?),
            (None, Some(count)) => End::Transactions(within("--transactions", count, 1, BYTES_MAX)?),
        };
        if typed.rate.is_some_and(|rate| !(RATE_MIN..=RATE_MAX).contains(&rate)) {
            return Err(format!("--rate: {RATE_MIN} to {RATE_MAX} a second"));
        }
        if typed.find_knee && typed.transactions.is_some() {
            return Err("--find-knee: each rate is tried for --seconds, not --transactions".to_owned());
        }
        let bound = time("--within", typed.within / 1000.0, 1e-6)?;
        if !(0.0..=100.0).contains(&typed.resume) {
            return Err("--resume: a share of 0 to 100 percent".to_owned());
        }
        let sessions = match typed.resume_by.as_str() {
            "ticket" if typed.resume > 0.0 => Resuming::Tickets,
            "ticket" | "session-id" => Resuming::Ids,
            other => return Err(format!("--resume-by {other}: ticket or session-id")),
        };
        let (offer, wanted) = offer(typed)?;
        if typed.resume_by == "session-id" && typed.resume > 0.0 && matches!(offer, Offer::Tls13(_)) {
            return Err("--resume-by session-id: TLS 1.3 has none; say --tls 1.2".to_owned());
        }
        let priorities = match (typed.library.as_str(), &typed.priority) {
            ("s2n", None) => None,
            ("s2n", Some(_)) => return Err("--priority: of --library gnutls alone".to_owned()),
            ("gnutls", Some(_)) if typed.tls.is_some() || typed.suite.is_some() || typed.group.is_some() => {
                return Err("--priority: in place of --tls, --suite and --group".to_owned());
            }
            ("gnutls", Some(priority)) => Some(priority.clone()),
            ("gnutls", None) => {
                Some(library::priorities(wanted.version, wanted.suite.as_deref(), wanted.group.as_deref())?)
            }
            (other, _) => return Err(format!("--library {other}: s2n or gnutls")),
        };
        let (own, own_pem) = own(typed, outside)?;
        let signer = own_pem.as_ref().map(|(_, key)| signer(typed, key)).transpose()?;
        let names = match typed.sni.as_deref() {
            Some(list) => match list.strip_prefix('@') {
                Some(path) => names::read(&outside.text(Path::new(path))?, true)
                    .map_err(|why| format!("{path}: {why}"))?,
                None => names::read(list, false).map_err(|why| format!("--sni: {why}"))?,
            },
            None => target::host_of(&typed.target).map(str::to_owned).into_iter().collect(),
        };
        let trust = match &typed.ca {
            Some(path) => Trust::Roots(outside.text(path)?.into_bytes()),
            None => Trust::Everybody,
        };
        if typed.ca.is_some() && names.is_empty() {
            return Err("--ca: certificates are checked for a name; give it by --sni".to_owned());
        }
        Ok(Self {
            target_text: typed.target.clone(),
            target: target::from_text(&typed.target, outside)?,
            connections: connections as usize,
            threads: threads as usize,
            end,
            warm_up: time("--warm-up", typed.warm_up, 0.0)?,
            rate: typed.rate,
            knee: if typed.find_knee { Some(bound) } else { None },
            resume: typed.resume / 100.0,
            sessions,
            cache_size: typed.cache_size,
            cache_lifetime: time("--cache-lifetime", typed.cache_lifetime, 0.0)?,
            work: work(typed)?,
            messages: within("--messages", typed.messages, 1, BYTES_MAX)?,
            names,
            offer,
            wanted,
            trust,
            own,
            signer,
            own_pem,
            priorities,
            timeout: time("--timeout", typed.timeout, 0.001)?,
            booked: typed.pid.iter().map(|text| booked(text, outside)).collect::<Result<_, _>>()?,
            is_json: typed.json,
        })
    }

    /// The HTTP request for the server name with this number; None if the work is not HTTP.
    pub fn request(&self, name: usize, is_last: bool) -> Option<Vec<u8>> {
        let Work::Http { path } = &self.work else { return None };
        let host = match (self.names.get(name), &self.target) {
            (Some(name), _) => name,
            (None, Server::Tcp(_)) => self.target_text.as_str(),
            (None, Server::Unix(_)) => "localhost",
        };
        Some(http::request(path, host, is_last))
    }
}

fn within(option: &str, value: u64, least: u64, most: u64) -> Result<u64, String> {
    if (least..=most).contains(&value) { Ok(value) } else { Err(format!("{option}: {least} to {most}")) }
}

fn time(option: &str, seconds: f64, least: f64) -> Result<Duration, String> {
    if (least..=1e7).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(format!("{option}: {least} to 10000000 seconds"))
    }
}

/// The client's certificate with its key, and both in PEM.
type Own = (Option<Chain>, Option<(Vec<u8>, Zeroizing<Vec<u8>>)>);

fn own(typed: &Drive, outside: &dyn Outside) -> Result<Own, String> {
    let (chain, key) = match (&typed.client_certificate, &typed.client_key) {
        (None, None) => return Ok((None, None)),
        (Some(chain), Some(key)) => (chain, key),
        (Some(_), None) => return Err("--client-certificate: its key is missing, --client-key".to_owned()),
        (None, Some(_)) => {
            return Err("--client-key: its certificate is missing, --client-certificate".to_owned());
        }
    };
    let private_key = Zeroizing::new(outside.text(key)?.into_bytes());
    let pem = outside.text(chain)?.into_bytes();
    // `of_client` reports a certificate and a key that do not belong together.
    let own = Chain::of_client(&pem, &private_key).map_err(|error| match error {
        ChainError::PrivateKey(_) | ChainError::OtherKey => {
            format!("--client-key {}: {error}", key.display())
        }
        _ => format!("--client-certificate {}: {error}", chain.display()),
    })?;
    drop(own);
    let own = Chain::of_client_elsewhere(&pem)
        .map_err(|error| format!("--client-certificate {}: {error}", chain.display()))?;
    Ok((Some(own), Some((pem, private_key))))
}

fn signer(typed: &Drive, key: &[u8]) -> Result<Arc<Signer>, String> {
    let named = || typed.client_key.as_deref().map_or_else(String::new, |path| path.display().to_string());
    let text = std::str::from_utf8(key).map_err(|_| format!("--client-key {}: no text", named()))?;
    let key = SigningKey::from_pem(text).map_err(|error| format!("--client-key {}: {error}", named()))?;
    Signer::new(key).map(Arc::new).map_err(|error| error.to_string())
}

fn work(typed: &Drive) -> Result<Work, String> {
    if let Some(path) = &typed.http {
        if typed.send > 0 || typed.receive > 0 || typed.packets > 1 {
            return Err(
                "--http: the request is the message; leave out --send, --receive and --packets".to_owned()
            );
        }
        if !path.starts_with('/') || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("--http {path:?}: a path begins with / and has no spaces"));
        }
        return Ok(Work::Http { path: path.clone() });
    }
    let send = within("--send", typed.send, 0, BYTES_MAX)?;
    let receive = within("--receive", typed.receive, 0, BYTES_MAX)?;
    if typed.messages > 1 && (send == 0 || receive == 0) {
        return Err("--messages: each message needs bytes each way, --send and --receive".to_owned());
    }
    if send == 0 && receive == 0 {
        return Ok(Work::Nothing);
    }
    let packets = within("--packets", typed.packets, 1, send.max(1))?;
    Ok(Work::Messages { send, receive, packets })
}

/// Groups: the name in options, the name in reports, and the library's value.
const GROUPS: [(&str, &str, Group); 6] = [
    ("X25519", "X25519", Group::X25519),
    ("X25519MLKEM768", "X25519MLKEM768", Group::X25519MlKem768),
    ("P-256", "secp256r1", Group::P256),
    ("secp256r1", "secp256r1", Group::P256),
    ("P-384", "secp384r1", Group::P384),
    ("secp384r1", "secp384r1", Group::P384),
];

fn offer(typed: &Drive) -> Result<(Offer, Wanted), String> {
    let group = match typed.group.as_deref() {
        None => None,
        Some(name) => Some(
            GROUPS
                .iter()
                .find(|(typed, ..)| typed.eq_ignore_ascii_case(name))
                .ok_or_else(|| format!("--group {name}: X25519, X25519MLKEM768, P-256 or P-384"))?,
        ),
    };
    let suite = typed.suite.as_deref().map(str::to_ascii_uppercase);
    if let Some(suite) = suite.as_deref().filter(|suite| !SUITES.contains(suite)) {
        return Err(format!("--suite {suite}: none of {}", SUITES.join(" ")));
    }
    let is_13 = suite.as_deref().is_some_and(|suite| suite.starts_with("TLS_"));
    let is_rsa = suite.as_deref().is_some_and(|suite| !is_13 && !suite.starts_with("ECDHE-"));
    let mut version = match typed.tls.as_deref() {
        None => None,
        Some("1.2") => Some("TLSv1.2"),
        Some("1.3") => Some("TLSv1.3"),
        Some(other) => return Err(format!("--tls {other}: 1.2 or 1.3")),
    };
    match (version, &suite) {
        (None, Some(_)) => version = Some(if is_13 { "TLSv1.3" } else { "TLSv1.2" }),
        (None, None) if group.is_some() => version = Some("TLSv1.3"),
        (Some(version), Some(suite)) if (version == "TLSv1.3") != is_13 => {
            return Err(format!("--suite {suite}: not a suite of {version}"));
        }
        _ => {}
    }
    if is_rsa && group.is_some() {
        return Err("--group: RSA key exchange has none".to_owned());
    }
    let offer = match version {
        None => Offer::All,
        Some("TLSv1.3") => Offer::Tls13(group.map_or(Group::X25519, |(.., group)| *group)),
        Some(_) if is_rsa => Offer::RsaKeyExchange,
        Some(_) => Offer::Tls12,
    };
    let group = group.map(|(_, told, _)| (*told).to_owned());
    Ok((offer, Wanted { version, suite, group }))
}

fn booked(text: &str, outside: &dyn Outside) -> Result<Booked, String> {
    let (pid, name) = text.split_once('=').map_or((text, None), |(pid, name)| (pid, Some(name)));
    let pid = pid.parse().ok().filter(|pid| (1..=i32::MAX as u32).contains(pid));
    let pid = pid.ok_or_else(|| format!("--pid {text}: PID or PID=NAME"))?;
    let known = outside.process(pid).ok_or_else(|| format!("--pid {text}: there is no such process"))?;
    Ok(Booked { pid, name: name.map_or(known, str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(json: &str) -> Result<Plan, String> {
        let fields = serde_json::from_str(&format!("{{{json}}}")).unwrap();
        let target = Drive { target: "127.0.0.1:1".to_owned(), ..Drive::default() };
        Plan::new(&options::changed(&target, fields).map_err(|error| error.to_string())?)
    }

    #[test]
    fn what_is_typed_becomes_a_plan() {
        let plan = typed("").unwrap();
        assert_eq!((plan.connections, plan.threads, plan.offer), (64, 1, Offer::All));
        assert_eq!((plan.end, plan.work), (End::After(Duration::from_secs(10)), Work::Nothing));
        let plan =
            typed(r#""suite":"aes128-sha","send":3,"receive":4,"packets":3,"transactions":9"#).unwrap();
        assert_eq!(plan.offer, Offer::RsaKeyExchange);
        assert_eq!(plan.wanted.suite.as_deref(), Some("AES128-SHA"));
        assert_eq!(plan.work, Work::Messages { send: 3, receive: 4, packets: 3 });
        assert_eq!(plan.end, End::Transactions(9));
        let plan = typed(r#""group":"p-256""#).unwrap();
        assert_eq!((plan.offer, plan.wanted.version), (Offer::Tls13(Group::P256), Some("TLSv1.3")));
        let plan = typed(r#""rate":12.5"#).unwrap();
        assert_eq!((plan.rate, plan.knee), (Some(12.5), None));
        let plan = typed(r#""find_knee":true,"within":2.5"#).unwrap();
        assert_eq!((plan.rate, plan.knee), (None, Some(Duration::from_micros(2500))));
        let own = std::process::id();
        let plan = typed(&format!(r#""pid":["{own}=server"]"#)).unwrap();
        assert_eq!(plan.booked, [Booked { pid: own, name: "server".to_owned() }]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_its_name() {
        for (json, option) in [
            (r#""connections":0"#, "--connections"),
            (r#""threads":2,"connections":1"#, "--threads"),
            (r#""seconds":1,"transactions":1"#, "--transactions"),
            (r#""seconds":0"#, "--seconds"),
            (r#""seconds":1e300"#, "--seconds"),
            (r#""warm_up":-1"#, "--warm-up"),
            (r#""rate":0"#, "--rate"),
            (r#""rate":-1"#, "--rate"),
            (r#""rate":1e8"#, "--rate"),
            (r#""find_knee":true,"transactions":9"#, "--find-knee"),
            (r#""find_knee":true,"within":0"#, "--within"),
            (r#""resume":101"#, "--resume"),
            (r#""resume_by":"psk""#, "--resume-by"),
            (r#""resume":1,"resume_by":"session-id","tls":"1.3""#, "--resume-by"),
            (r#""messages":2"#, "--messages"),
            (r#""messages":2,"send":1"#, "--messages"),
            (r#""send":2,"packets":3"#, "--packets"),
            (r#""http":"x""#, "--http"),
            (r#""http":"/","send":1"#, "--http"),
            (r#""tls":"1.1""#, "--tls"),
            (r#""tls":"1.3","suite":"AES128-SHA""#, "--suite"),
            (r#""suite":"AES-128-SHA""#, "--suite"),
            (r#""group":"P-257""#, "--group"),
            (r#""group":"P-256","suite":"AES128-SHA""#, "--group"),
            (r#""sni":"a,,b""#, "--sni"),
            (r#""sni":"@/nowhere""#, "/nowhere"),
            (r#""ca":"/nowhere""#, "/nowhere"),
            (r#""client_certificate":"/nowhere""#, "--client-key"),
            (r#""client_key":"/nowhere""#, "--client-certificate"),
            (r#""client_certificate":"/nowhere","client_key":"/dev/null""#, "/nowhere"),
            (r#""client_certificate":"/dev/null","client_key":"/dev/null""#, "--client-certificate"),
            (r#""pid":["0"]"#, "--pid"),
            (r#""pid":["2147483647=x"]"#, "--pid"),
            (r#""timeout":0"#, "--timeout"),
            (r#""library":"openssl""#, "--library"),
            (r#""priority":"NORMAL""#, "--priority"),
            (r#""library":"gnutls","priority":"NORMAL","tls":"1.2""#, "--priority"),
            (r#""library":"gnutls","group":"X25519MLKEM768""#, "--group"),
            (r#""nonsense":1"#, "nonsense"),
        ] {
            let refused = typed(json).unwrap_err();
            assert!(refused.contains(option), "{json}: {refused}");
        }
    }
}
