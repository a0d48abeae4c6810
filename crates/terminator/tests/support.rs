//! A running `cryptand-tls`, certificates, clients and backends for tests. Everything waits for events: the program
//! says by the service manager's protocol when it serves and when a reload is over.

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, PKeyRef, Private, Public};
use openssl::rsa::Rsa;
use openssl::ssl::{SslConnector, SslMethod, SslStream, SslVerifyMode, SslVersion};
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509, X509NameBuilder};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

/// Longer than anything that must happen takes. Connections have no such bound: a read with one ends for any signal,
/// such as of a child that ends while another thread starts one. `scripts/bounded` ends who waits for ever.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The program that was built beside the tests.
pub fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_cryptand-tls"))
}

/// RSA keys take long to find: the tests of a process share one.
pub fn rsa() -> PKey<Private> {
    static KEY: OnceLock<PKey<Private>> = OnceLock::new();
    KEY.get_or_init(|| PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap()).clone()
}

pub fn ecdsa() -> PKey<Private> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

/// A certificate of a key for these names, signed by another key; its days may lie behind.
pub fn certificate(
    public: &PKeyRef<Public>,
    signer: &PKeyRef<Private>,
    names: &[&str],
    days: [i64; 2],
) -> X509 {
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    let mut serial = [0; 16];
    openssl::rand::rand_bytes(&mut serial).unwrap();
    let serial = BigNum::from_slice(&serial).unwrap().to_asn1_integer().unwrap();
    builder.set_serial_number(&serial).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", names.first().copied().unwrap_or("nobody")).unwrap();
    let name = name.build();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(&name).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
    let at = |days: i64| Asn1Time::from_unix(now + days * 86_400).unwrap();
    builder.set_not_before(&at(days[0])).unwrap();
    builder.set_not_after(&at(days[1])).unwrap();
    builder.set_pubkey(public).unwrap();
    if !names.is_empty() {
        let mut alternative = SubjectAlternativeName::new();
        for name in names {
            alternative.dns(name);
        }
        let extension = alternative.build(&builder.x509v3_context(None, None)).unwrap();
        builder.append_extension(extension).unwrap();
    }
    builder.sign(signer, MessageDigest::sha256()).unwrap();
    builder.build()
}

pub fn public(key: &PKeyRef<Private>) -> PKey<Public> {
    PKey::public_key_from_der(&key.public_key_to_der().unwrap()).unwrap()
}

/// A folder with a settings file and what it names.
pub struct Folder {
    base: TempDir,
}

impl Folder {
    pub fn new() -> Self {
        Self { base: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes NAME.pem and NAME.key: a self-signed certificate for these names.
    pub fn certify(&self, name: &str, key: &PKey<Private>, names: &[&str]) -> X509 {
        let made = certificate(&public(key), key, names, [-1, 30]);
        self.write(&format!("{name}.pem"), made.to_pem().unwrap());
        self.write(&format!("{name}.key"), key.private_key_to_pem_pkcs8().unwrap());
        made
    }

    /// The settings file: this text, and a log that tests read.
    pub fn settings(&self, text: &str) -> PathBuf {
        let log =
            if text.contains("[log]") { "" } else { "\n[log]\naccess = \"access.log\"\nformat = \"json\"\n" };
        // Plain keys stand before the first table.
        let at = text.find('[').unwrap_or(text.len());
        let (keys, tables) = text.split_at(at);
        self.write("tls.toml", format!("loops = 2\n{keys}{log}{tables}"))
    }

    /// Starts the program, and waits until it serves.
    pub fn serve(&self, text: &str) -> Server<'_> {
        self.settings(text);
        self.serve_as(Command::new(program()))
    }

    pub fn serve_as(&self, mut command: Command) -> Server<'_> {
        // A server before this one has left its.
        let _ = fs::remove_file(self.path("notify"));
        let notify = UnixDatagram::bind(self.path("notify")).unwrap();
        notify.set_read_timeout(Some(PATIENCE)).unwrap();
        let said = self.path("said");
        let child = command
            .arg("serve")
            .arg(self.path("tls.toml"))
            .env("NOTIFY_SOCKET", self.path("notify"))
            .stdin(Stdio::null())
            .stderr(fs::File::create(&said).unwrap())
            .spawn()
            .unwrap();
        let server = Server { folder: self, child: Some(child), notify };
        server.wait_for("READY=1");
        server
    }
}

/// A running program; it is killed when it is dropped.
pub struct Server<'a> {
    folder: &'a Folder,
    child: Option<Child>,
    notify: UnixDatagram,
}

impl Server<'_> {
    fn wait_for(&self, state: &str) {
        let mut buffer = [0; 256];
        loop {
            let count = needs::uninterrupted(|| self.notify.recv(&mut buffer));
            let count = count.unwrap_or_else(|error| panic!("until {state}: {error}: {}", self.said()));
            if &buffer[..count] == state.as_bytes() {
                return;
            }
        }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(self.child.as_ref().unwrap())
    }

    /// What it wrote to standard error.
    pub fn said(&self) -> String {
        fs::read_to_string(self.folder.path("said")).unwrap()
    }

    /// Where its listeners listen, in the order of the file, as it said last.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let said = self.said();
        let last = said.rfind("reloaded ").unwrap_or(0);
        let lines = said[last..].lines().filter_map(|line| line.strip_prefix("cryptand-tls: listening at "));
        lines.map(|line| line.split(',').next().unwrap().parse().unwrap()).collect()
    }

    pub fn address(&self) -> SocketAddr {
        self.addresses()[0]
    }

    /// Has it read everything again, and waits until it has.
    pub fn reload(&self) {
        kill_process(self.pid(), Signal::HUP).unwrap();
        self.wait_for("RELOADING=1");
        self.wait_for("READY=1");
    }

    /// Waits until it has read everything again by itself.
    pub fn reloaded(&self) {
        self.wait_for("RELOADING=1");
        self.wait_for("READY=1");
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Stops it, and gives the access log.
    pub fn stop(mut self) -> Vec<Value> {
        self.signal(Signal::TERM);
        let status = self.child.take().unwrap().wait().unwrap();
        assert!(status.success(), "{status}: {}", self.said());
        let log = fs::read_to_string(self.folder.path("access.log")).unwrap_or_default();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.child.take().unwrap().wait().unwrap()
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How a client connects.
pub struct Client {
    pub version: SslVersion,
    pub ciphers: Option<&'static str>,
    pub signatures: Option<&'static str>,
    /// As the extension has them: each behind its length.
    pub protocols: &'static [u8],
}

impl Client {
    pub fn new(version: SslVersion) -> Self {
        Self { version, ciphers: None, signatures: None, protocols: &[] }
    }

    /// Connects, and trusts everybody.
    pub fn connect(&self, address: SocketAddr, name: &str) -> Result<SslStream<TcpStream>, String> {
        let mut builder = SslConnector::builder(SslMethod::tls_client()).unwrap();
        builder.set_verify(SslVerifyMode::NONE);
        builder.set_min_proto_version(Some(self.version)).unwrap();
        builder.set_max_proto_version(Some(self.version)).unwrap();
        if let Some(ciphers) = self.ciphers {
            builder.set_cipher_list(ciphers).unwrap();
        }
        if let Some(signatures) = self.signatures {
            builder.set_sigalgs_list(signatures).unwrap();
        }
        if !self.protocols.is_empty() {
            builder.set_alpn_protos(self.protocols).unwrap();
        }
        let mut configuration = builder.build().configure().unwrap();
        configuration.set_use_server_name_indication(!name.is_empty());
        configuration.set_verify_hostname(false);
        let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        let name = if name.is_empty() { "unnamed" } else { name };
        configuration.connect(name, stream).map_err(|error| error.to_string())
    }
}

pub const VERSIONS: [SslVersion; 2] = [SslVersion::TLS1_2, SslVersion::TLS1_3];

/// Asks as a browser would, and gives the text of the answer.
pub fn ask(stream: &mut SslStream<TcpStream>) -> String {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "cut: {}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&answer).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split("Content-Length: ").nth(1).unwrap();
            if body.len() == length.split("\r\n").next().unwrap().parse::<usize>().unwrap() {
                return body.to_owned();
            }
        }
    }
}

/// Ends a connection with the word for it.
pub fn close(mut stream: SslStream<TcpStream>) {
    let _ = stream.shutdown();
    let _ = stream.shutdown();
}

/// The certificate that a server showed.
pub fn shown(stream: &SslStream<TcpStream>) -> Vec<u8> {
    stream.ssl().peer_certificate().unwrap().to_der().unwrap()
}

/// What a program writes, with this input.
pub fn output(command: &mut Command, input: &[u8]) -> (bool, String) {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let done = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = [&done.stdout[..], &done.stderr].concat();
    (done.status.success(), String::from_utf8_lossy(&text).into_owned())
}

pub fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}
