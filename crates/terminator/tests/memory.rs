//! No number of a private key whose place is a card is anywhere in the server's memory, and its memory goes into no
//! core file.

use crate::support::{Client, Folder, Server, VERSIONS, ask, close, ecdsa, output, program, rsa};
use needs::Need;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslConnector, SslMethod, SslVerifyMode, SslVersion};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, prlimit, waitid};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use system_tests::Installation;

/// So many bytes in a row are no accident, and a part of a number that was left somewhere has them.
const WINDOW: usize = 32;
/// What is read of a process at once.
const PIECE: usize = 1 << 20;

/// The private numbers of keys, cut into every window of theirs, in both orders of bytes.
struct Wanted {
    windows: HashMap<[u8; WINDOW], &'static str>,
    /// Whether a window begins with these two bytes: few places of a memory are looked up.
    begins: Vec<bool>,
}

impl Wanted {
    fn new(rsa: &PKey<Private>, curve: &PKey<Private>) -> Self {
        let (rsa, curve) = (rsa.rsa().unwrap(), curve.ec_key().unwrap());
        let numbers = [
            ("p", rsa.p().unwrap()),
            ("q", rsa.q().unwrap()),
            ("d", rsa.d()),
            ("dP", rsa.dmp1().unwrap()),
            ("dQ", rsa.dmq1().unwrap()),
            ("qInv", rsa.iqmp().unwrap()),
            ("scalar", curve.private_key()),
        ];
        let mut wanted = Self { windows: HashMap::new(), begins: vec![false; 1 << 16] };
        for (name, number) in numbers {
            let length = (number.num_bytes() as usize).next_multiple_of(WINDOW);
            let mut bytes = number.to_vec_padded(length as i32).unwrap();
            for _ in 0..2 {
                for window in bytes.windows(WINDOW) {
                    wanted.begins[usize::from(u16::from_le_bytes([window[0], window[1]]))] = true;
                    wanted.windows.insert(window.try_into().unwrap(), name);
                }
                bytes.reverse();
            }
        }
        wanted
    }

    fn search(&self, memory: &[u8], found: &mut BTreeSet<&'static str>) {
        for window in memory.windows(WINDOW) {
            if self.begins[usize::from(u16::from_le_bytes([window[0], window[1]]))] {
                found.extend(self.windows.get(window));
            }
        }
    }

    /// Which numbers are in a process, wherever it may read. It stands still meanwhile.
    fn in_process(&self, pid: Pid) -> BTreeSet<&'static str> {
        rustix::process::kill_process(pid, Signal::STOP).unwrap();
        waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED).unwrap();
        let pid_text = pid.as_raw_nonzero();
        let maps = fs::read_to_string(format!("/proc/{pid_text}/maps")).unwrap();
        let memory = File::open(format!("/proc/{pid_text}/mem")).unwrap();
        let (mut found, mut buffer, mut all) = (BTreeSet::new(), vec![0; PIECE], 0);
        for line in maps.lines() {
            let (range, rest) = line.split_once(' ').unwrap();
            // The kernel's own pages, which no program writes and not all of which can be read this way.
            if !rest.starts_with('r') || rest.contains("[v") {
                continue;
            }
            let (from, to) = range.split_once('-').unwrap();
            let [mut at, to] = [from, to].map(|hex| u64::from_str_radix(hex, 16).unwrap());
            while at < to {
                let piece = &mut buffer[..PIECE.min((to - at) as usize)];
                memory.read_exact_at(piece, at).unwrap_or_else(|error| panic!("{line}: {error}"));
                self.search(piece, &mut found);
                all += piece.len();
                // The next piece has the windows that begin in this one and do not end there.
                at += if at + piece.len() as u64 == to { piece.len() } else { PIECE - WINDOW + 1 } as u64;
            }
        }
        assert!(all > 1 << 20, "the memory was read: {all}");
        rustix::process::kill_process(pid, Signal::CONT).unwrap();
        found
    }
}

fn settings(home: &str, keys: [&str; 2]) -> String {
    let mut text = home.to_owned();
    for (name, key) in ["rsa", "curve"].into_iter().zip(keys) {
        text += &format!("[[certificate]]\nchain = \"{name}.pem\"\n{key}\n");
    }
    text + "[[listener]]\naddress = \"127.0.0.1:0\"\npolicy = \"compatible\"\nanswer = \"served\\n\"\n"
}

/// Handshakes of both keys and each kind of work, and the memory in the middle of them, after a reload and at rest.
fn searched(server: &Server<'_>, wanted: &Wanted) -> BTreeSet<&'static str> {
    let (is_over, served, address) = (AtomicBool::new(false), AtomicUsize::new(0), server.address());
    let mut found = BTreeSet::new();
    std::thread::scope(|scope| {
        // The last of them has premasters opened, which only a key of RSA does.
        let exchanging = Client { ciphers: Some("AES128-GCM-SHA256"), ..Client::new(SslVersion::TLS1_2) };
        let both: &[&str] = &["rsa.test", "curve.test"];
        for (client, names) in [
            (Client::new(SslVersion::TLS1_2), both),
            (Client::new(SslVersion::TLS1_3), both),
            (exchanging, &["rsa.test"]),
        ] {
            let (is_over, served) = (&is_over, &served);
            scope.spawn(move || {
                for name in names.iter().cycle() {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let mut stream = client.connect(address, name).unwrap();
                    assert_eq!(ask(&mut stream), "served\n");
                    close(stream);
                    served.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..3 {
            let before = served.load(Ordering::Relaxed);
            while served.load(Ordering::Relaxed) < before + 20 {
                std::thread::yield_now();
            }
            found.append(&mut wanted.in_process(server.pid()));
            if round == 1 {
                server.reload();
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    found.append(&mut wanted.in_process(server.pid()));
    found
}

#[test]
fn private_numbers_of_labels_are_not_in_the_servers_memory() {
    if needs::lacks(Need::Root) {
        return;
    }
    let installation = Installation::new(2, 0);
    let folder = Folder::new();
    let (rsa, curve) = (rsa(), ecdsa());
    folder.certify("rsa", &rsa, &["rsa.test"]);
    folder.certify("curve", &curve, &["curve.test"]);
    let home = installation.home.folder();
    for (label, key) in [("WEB.RSA", "rsa.key"), ("WEB.P256", "curve.key")] {
        let mut command = Command::new(system_tests::program("cryptand"));
        command.arg("--home").arg(home).args(["key", "import", label]).arg(folder.path(key));
        let (is_done, said) = output(command.args(["--use", "tls"]), b"");
        assert!(is_done, "{said}");
    }
    let wanted = Wanted::new(&rsa, &curve);

    let home = format!("[home]\nfolder = \"{}\"\n", home.display());
    let server = folder.serve(&settings(&home, ["label = \"WEB.RSA\"", "label = \"WEB.P256\""]));
    assert_eq!(searched(&server, &wanted), BTreeSet::new());
    let log = server.stop();
    let is_done = |entry: &serde_json::Value| {
        entry["end"] == "done" && entry["key"].as_str().unwrap().starts_with("label WEB.")
    };
    assert!(log.len() >= 60 && log.iter().all(is_done), "{log:?}");

    // What is searched for would be found.
    fs::remove_file(folder.path("notify")).unwrap();
    let server = folder.serve(&settings("", ["key = \"rsa.key\"", "key = \"curve.key\""]));
    let found = searched(&server, &wanted);
    assert!(["p", "q", "scalar"].iter().all(|name| found.contains(name)), "{found:?}");
}

/// The secrets of connections, as a client knows them.
fn secrets(address: SocketAddr, version: SslVersion) -> Vec<String> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let mut builder = SslConnector::builder(SslMethod::tls_client()).unwrap();
    builder.set_verify(SslVerifyMode::NONE);
    builder.set_max_proto_version(Some(version)).unwrap();
    let lines = Arc::clone(&told);
    builder.set_keylog_callback(move |_, line| lines.lock().unwrap().push(line.to_owned()));
    let configuration = builder.build().configure().unwrap().verify_hostname(false);
    let stream = std::net::TcpStream::connect(address).unwrap();
    let mut stream = configuration.connect("curve.test", stream).unwrap();
    assert_eq!(ask(&mut stream), "served\n");
    close(stream);
    let told = told.lock().unwrap();
    told.iter().map(|line| line.rsplit(' ').next().unwrap().to_lowercase()).collect()
}

#[test]
fn what_the_server_writes_and_leaves_behind_has_no_secret() {
    let folder = Folder::new();
    folder.certify("rsa", &rsa(), &["rsa.test"]);
    let curve = ecdsa();
    folder.certify("curve", &curve, &["curve.test"]);
    let mut command = Command::new(program());
    command.current_dir(folder.path("."));
    folder.settings(&settings("", ["key = \"rsa.key\"", "key = \"curve.key\""]));
    let mut server = folder.serve_as(command);
    let mut wanted: Vec<String> =
        VERSIONS.iter().flat_map(|version| secrets(server.address(), *version)).collect();
    assert!(wanted.len() > 4 && wanted.iter().all(|secret| secret.len() >= 64), "{wanted:?}");
    let scalar = curve.ec_key().unwrap().private_key().to_vec_padded(32).unwrap();
    wanted.push(scalar.iter().map(|byte| format!("{byte:02x}")).collect());
    server.reload();

    // A fault in the middle of its work, on a machine that keeps core files of everybody.
    let every = Rlimit { current: None, maximum: None };
    let is_free = prlimit(Some(server.pid()), Resource::Core, every).is_ok();
    server.signal(Signal::ABORT);
    let status = server.wait();
    assert_eq!(status.signal(), Some(Signal::ABORT.as_raw()));
    assert!(!status.core_dumped(), "it left its memory");
    let mut plain = Command::new("cat").current_dir(folder.path(".")).stdin(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&plain);
    let is_free = is_free && prlimit(Some(pid), Resource::Core, every).is_ok();
    rustix::process::kill_process(pid, Signal::ABORT).unwrap();
    eprintln!("limits lifted: {is_free}; a program of no secrets leaves a core file: {}", {
        plain.wait().unwrap().core_dumped()
    });

    let written = server.said() + &fs::read_to_string(folder.path("access.log")).unwrap();
    let written = written.to_lowercase();
    assert!(written.contains("listening at") && written.contains("\"sni\":\"curve.test\""), "{written}");
    for secret in wanted {
        for part in secret.as_bytes().windows(32).step_by(16) {
            assert!(!written.contains(std::str::from_utf8(part).unwrap()), "{written}");
        }
    }
}
