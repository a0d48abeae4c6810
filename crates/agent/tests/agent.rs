//! The agent's program: keys that it computes with, who may ask it, what it survives, when it ends.

use agent::message::{Refusal, Reply, Request, SECONDS_MAX, VERSION};
use agent::{Agent, AgentError, AgentKey, AgentSocket};
use link::{Channel, PidFd};
use needs::Need;
use openpgp::certificate::Certificate;
use openpgp::form::CHUNK_BITS_WRITTEN;
use openpgp::generate::{CertificateAlgorithms, NewKey, generate};
use openpgp::private_key::PrivateCertificate;
use openpgp::session_key::{self, bytes};
use openpgp::signature::hash_for;
use openpgp::{
    AeadAlgorithm, Form, HashAlgorithm, Passphrase, PrivateKey, PrivateKeyError, Protection,
    SymmetricKeyAlgorithm, Timestamp,
};
use pgp::packet::{PacketHeader, PublicKeyEncryptedSessionKey};
use pgp::types::{KeyDetails, Tag};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_cryptand-agent");
/// An hour, in seconds.
const HOUR: u32 = 3600;
/// How long an agent may take to end.
const END_WAIT: Duration = Duration::from_secs(60);

/// A folder with an agent's socket.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn socket(&self) -> AgentSocket {
        AgentSocket::at(self.folder.path().join("agent/agent.sock"))
    }

    fn agent(&self) -> Agent {
        Agent::connect_or_start(&self.socket(), Path::new(PROGRAM)).unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Ok(Some(agent)) = Agent::connect(&self.socket()) {
            let _ = agent.forget(&[]);
        }
    }
}

fn passphrase() -> Passphrase {
    Passphrase::new(zeroize::Zeroizing::new(b"correct horse".to_vec()))
}

fn new_key(kind: CertificateAlgorithms, is_v6: bool) -> PrivateCertificate {
    let created = Timestamp::from_secs(1_700_000_000);
    let what = NewKey { kind, is_v6, announces_seipd_v2: is_v6, ..NewKey::new("a@b.example", created) };
    generate(&what, Some(&passphrase())).unwrap()
}

fn form(is_v6: bool) -> Form {
    let protection = match is_v6 {
        true => Protection::SeipdV2 { aead: AeadAlgorithm::Ocb, chunk_bits: CHUNK_BITS_WRITTEN },
        false => Protection::SeipdV1,
    };
    Form { cipher: SymmetricKeyAlgorithm::AES256, protection }
}

/// Hands all keys of a certificate to the agent, and gives them back as it computes with them.
fn hand_over(agent: &Arc<Agent>, private: &PrivateCertificate, seconds: u32) -> Vec<AgentKey> {
    let keys = private.certificate().keys();
    for key in &keys {
        let clear = private.clear_key(&key.fingerprint(), Some(&passphrase())).unwrap();
        agent.add(&clear, seconds).unwrap();
    }
    keys.into_iter().map(|key| agent.key(key)).collect()
}

fn session_key_packet(
    certificate: &Certificate,
    form: Form,
) -> (openpgp::PlainSessionKey, PublicKeyEncryptedSessionKey) {
    let valid = certificate.check(Timestamp::now()).unwrap();
    let session_key = session_key::generate(form);
    let packet =
        session_key::for_recipient(&valid.encryption_keys().unwrap()[0], &session_key, form).unwrap();
    let (header, body) = PacketHeader::try_from_reader(&packet[..])
        .map(|header| {
            (header, &packet[packet.len() - header.packet_length().maybe_len().unwrap() as usize..])
        })
        .unwrap();
    assert_eq!(header.tag(), Tag::PublicKeyEncryptedSessionKey);
    (session_key, PublicKeyEncryptedSessionKey::try_from_reader(header, body).unwrap())
}

fn wait_for_end(process: &PidFd) {
    let mut ends = [rustix::event::PollFd::new(process, rustix::event::PollFlags::IN)];
    let wait = rustix::event::Timespec { tv_sec: END_WAIT.as_secs() as i64, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut ends, Some(&wait)), Ok(1), "it did not end");
}

#[test]
fn every_kind_of_key_opens_and_signs_as_in_its_own_process() {
    let home = Home::new();
    let agent = Arc::new(home.agent());
    for (kind, is_v6) in [
        (CertificateAlgorithms::Rsa { bits: 2048 }, false),
        (CertificateAlgorithms::Curve25519, false),
        (CertificateAlgorithms::Curve25519, true),
        (CertificateAlgorithms::Curve448, true),
        (CertificateAlgorithms::P256, false),
        (CertificateAlgorithms::P384, true),
        (CertificateAlgorithms::MlDsa65MlKem768, true),
    ] {
        let private = new_key(kind, is_v6);
        let keys = hand_over(&agent, &private, HOUR);
        let own = private.unlock(Some(&passphrase())).unwrap();
        let (session_key, packet) = session_key_packet(private.certificate(), form(is_v6));
        let opened = |key: &dyn PrivateKey| key.open(&packet).map(|opened| bytes(&opened).to_vec());
        let mut opened_count = 0;
        for (key, own) in keys.iter().zip(&own) {
            assert_eq!(key.public().fingerprint(), own.public().fingerprint());
            let both = (opened(key), opened(own.as_ref()));
            assert_eq!(both.0, both.1, "{kind:?}");
            opened_count += usize::from(both.0 == Ok(bytes(&session_key).to_vec()));
            // A signature of a key that cannot sign is refused in the same words.
            let hash = hash_for(own.public(), &[]);
            let digest = vec![7; hash.digest_size().unwrap()];
            match (key.sign(hash, &digest), own.sign(hash, &digest)) {
                (Ok(signature), Ok(_)) => {
                    let public = private.certificate().keys();
                    let public =
                        public.iter().find(|public| public.fingerprint() == key.public().fingerprint());
                    use pgp::types::VerifyingKey;
                    public.unwrap().verify(hash, &digest, &signature).unwrap();
                }
                (theirs, ours) => assert_eq!(theirs.unwrap_err(), ours.unwrap_err(), "{kind:?}"),
            }
        }
        assert_eq!(opened_count, 1, "{kind:?}: its subkey opens the session key");
        let fingerprints: Vec<_> = keys.iter().map(|key| key.public().fingerprint()).collect();
        assert_eq!(agent.forget(&fingerprints).unwrap(), 2);
        assert_eq!(opened(&keys[0]), Err(PrivateKeyError::Locked));
    }
}

#[test]
fn a_key_is_held_for_its_time_and_the_agent_ends_with_its_last_one() {
    let home = Home::new();
    let agent = Arc::new(home.agent());
    let private = new_key(CertificateAlgorithms::Curve25519, false);
    hand_over(&agent, &private, HOUR);
    let rows = agent.held().unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| (HOUR - 60..=HOUR).contains(&row.seconds)), "{rows:?}");
    // Handed over again, the new time counts, shorter or longer.
    hand_over(&agent, &private, 1);
    assert!(agent.held().unwrap().iter().all(|row| row.seconds <= 1));
    let watched = PidFd::open(agent.pid()).unwrap();
    drop(agent);
    wait_for_end(&watched);
    assert!(Agent::connect(&home.socket()).unwrap().is_none());
    // What is left of its socket is no obstacle to the next one.
    let next = home.agent();
    assert!(next.held().unwrap().is_empty());
    assert_eq!(next.forget(&[]).unwrap(), 0);
}

#[test]
fn times_and_packets_that_make_no_sense_are_refused_and_others_are_served_on() {
    let home = Home::new();
    let agent = Arc::new(home.agent());
    let private = new_key(CertificateAlgorithms::Curve25519, true);
    let keys = hand_over(&agent, &private, HOUR);
    let fingerprint = private.certificate().fingerprint();
    let clear = private.clear_key(&fingerprint, Some(&passphrase())).unwrap();
    for seconds in [0, SECONDS_MAX + 1, u32::MAX] {
        assert!(matches!(agent.add(&clear, seconds), Err(AgentError::Refused(Refusal::Seconds))));
    }
    for end in 0..clear.body.len() {
        let mut cut = clear.clone();
        cut.body.truncate(end);
        assert!(
            matches!(agent.add(&cut, HOUR), Err(AgentError::Refused(Refusal::Malformed(_)))),
            "{end} of {} bytes",
            clear.body.len()
        );
    }
    // Another key's private half.
    let other = new_key(CertificateAlgorithms::Curve25519, true);
    let other = other.clear_key(&other.certificate().fingerprint(), Some(&passphrase())).unwrap();
    let mut spliced = clear.clone();
    // The private fields of version 6: 32 bytes at the end, without a sum.
    let half = spliced.body.len() - 32;
    spliced.body[half..].copy_from_slice(&other.body[half..]);
    assert!(matches!(agent.add(&spliced, HOUR), Err(AgentError::Refused(Refusal::Malformed(_)))));
    for length in [0, 1, 31, 33, 64] {
        let refused = keys[0].sign(HashAlgorithm::Sha256, &vec![0; length]);
        assert!(matches!(refused, Err(PrivateKeyError::Holder { .. })), "a digest of {length} bytes");
    }
    assert_eq!(agent.held().unwrap().len(), 2);
}

#[test]
fn clients_that_lie_lose_their_connection_and_nobody_else_does() {
    let home = Home::new();
    let agent = Arc::new(home.agent());
    let keys = hand_over(&agent, &new_key(CertificateAlgorithms::Curve25519, false), HOUR);
    let connect = || Channel::connect(home.socket().path()).unwrap();
    let ask = |channel: &Channel, request: &Request| {
        channel.send(request, &[]).unwrap();
        channel.recv::<Reply>().map(|(reply, _)| reply)
    };
    // Before its greeting nobody is told anything.
    for request in [Request::List, Request::Forget { fingerprints: Vec::new() }] {
        assert!(matches!(ask(&connect(), &request), Ok(Reply::Refused(Refusal::NoHello))));
    }
    let of_another_version = Request::Hello { version: VERSION + 1 };
    assert!(matches!(ask(&connect(), &of_another_version), Ok(Reply::Refused(Refusal::Version(VERSION)))));
    // What is no request ends the connection.
    let garbage = connect();
    garbage.send(&[0xFF_u8; 300].to_vec(), &[]).unwrap();
    assert!(garbage.recv::<Reply>().is_err());
    // A second greeting, a fingerprint of nobody's, a packet of nothing.
    let greeted = connect();
    assert!(matches!(ask(&greeted, &Request::Hello { version: VERSION }), Ok(Reply::Ready { .. })));
    assert!(matches!(ask(&greeted, &Request::Hello { version: VERSION }), Ok(Reply::Ready { .. })));
    let of_nobody = Request::Open { fingerprint: vec![0; 20], packet: Vec::new() };
    assert!(matches!(ask(&greeted, &of_nobody), Ok(Reply::Refused(Refusal::NotHeld))));
    let fingerprint = keys[0].public().fingerprint().as_bytes().to_vec();
    let of_nothing = Request::Open { fingerprint, packet: Vec::new() };
    assert!(matches!(ask(&greeted, &of_nothing), Ok(Reply::Refused(Refusal::Malformed(_)))));
    // More clients than are served at once wait, and are served once others leave.
    let crowd: Vec<_> = (0..100).map(|_| connect()).collect();
    drop(crowd);
    assert_eq!(agent.held().unwrap().len(), 2);
}

#[test]
fn a_client_that_reads_no_answers_is_left() {
    let home = Home::new();
    let agent = home.agent();
    let deaf = Channel::connect(home.socket().path()).unwrap();
    // The answers fill the socket's buffer, and then the questions do.
    let mut asked = 0_u32;
    while deaf.try_send(&Request::Hello { version: VERSION }, &[]).is_ok() && asked < 1_000_000 {
        asked += 1;
    }
    assert!(asked > 0);
    assert!(agent.held().unwrap().is_empty());
}

#[test]
fn of_many_that_start_one_at_once_all_reach_the_same() {
    let home = Home::new();
    let pids: Vec<_> = std::thread::scope(|scope| {
        let starters: Vec<_> = (0..8).map(|_| scope.spawn(|| home.agent())).collect();
        // All are connected at one time, so that none of them ends.
        let agents: Vec<_> = starters.into_iter().map(|starter| starter.join().unwrap()).collect();
        agents.iter().map(Agent::pid).collect()
    });
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
}

#[test]
fn an_agent_that_cannot_begin_says_why() {
    let home = Home::new();
    let refused = Agent::connect_or_start(&home.socket(), Path::new("/bin/false")).unwrap_err();
    assert!(matches!(&refused, AgentError::Start { .. }), "{refused}");
    let refused = Agent::connect_or_start(&home.socket(), Path::new("/nonexistent")).unwrap_err();
    assert!(refused.to_string().contains("No such file"), "{refused}");
    let by_hand = Command::new(PROGRAM).output().unwrap();
    assert_eq!(by_hand.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&by_hand.stderr).contains("cryptand agent unlock"));
    // A folder that others may write to: they could put a socket of theirs there.
    fs::set_permissions(home.folder.path().join("agent"), fs::Permissions::from_mode(0o777)).unwrap();
    let refused = Agent::connect_or_start(&home.socket(), Path::new(PROGRAM)).unwrap_err();
    assert!(matches!(&refused, AgentError::Folder { .. }), "{refused}");
}

#[test]
fn the_agent_is_confined_and_out_of_the_terminal_s_session() {
    let home = Home::new();
    let agent = home.agent();
    let status = fs::read_to_string(format!("/proc/{}/status", agent.pid())).unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name}: {status}")).trim().to_owned()
    };
    assert_eq!(field("NoNewPrivs:"), "1");
    assert_eq!(field("Seccomp:"), "2");
    assert_eq!(field("CapEff:"), "0000000000000000");
    assert_eq!(field("Threads:"), "1");
    let stat = fs::read_to_string(format!("/proc/{}/stat", agent.pid())).unwrap();
    // Behind the name in parentheses: state, parent, group, session.
    let session = stat.rsplit(')').next().unwrap().split_whitespace().nth(3).unwrap();
    assert_eq!(session, agent.pid().to_string());
    let is_unlocked = agent.lacks().iter().any(|lack| lack == "locked memory");
    if !needs::did_without(Need::LockedMemory, is_unlocked) {
        assert_ne!(field("VmLck:"), "0 kB");
    }
    assert!(Agent::connect(&home.socket()).unwrap().is_some());
}

#[test]
fn another_user_is_not_served_even_where_the_socket_lets_him_in() {
    if needs::lacks(Need::Root) {
        return;
    }
    let home = Home::new();
    let agent = Arc::new(home.agent());
    hand_over(&agent, &new_key(CertificateAlgorithms::Curve25519, false), HOUR);
    for folder in [home.folder.path(), &home.folder.path().join("agent")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(home.socket().path(), fs::Permissions::from_mode(0o666)).unwrap();
    // The greeting of this version, as a stranger sends it; what comes back is the end of the connection.
    let script = "import socket, sys\n\
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n\
        s.connect(sys.argv[1])\n\
        try:\n    s.send(bytes([0, 1]))\n    print(len(s.recv(4096)))\n\
        except (BrokenPipeError, ConnectionResetError):\n    print(0)\n";
    let ask = |uid: u32| {
        let mut command = Command::new("python3");
        command.args(["-c", script]).arg(home.socket().path()).uid(uid).gid(uid);
        let output = command.output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(ask(65533), ("0\n".to_owned(), String::new()));
    let own = ask(rustix::process::geteuid().as_raw());
    assert!(own.0.trim().parse::<usize>().is_ok_and(|bytes| bytes > 0), "{own:?}");
}

#[test]
fn no_key_is_sent_to_a_socket_of_another_user() {
    if needs::lacks(Need::Root) {
        return;
    }
    let home = Home::new();
    let folder = home.folder.path().join("agent");
    fs::create_dir(&folder).unwrap();
    for path in [home.folder.path(), &folder] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let script = "import socket, sys\n\
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n\
        s.bind(sys.argv[1]); s.listen(1); print('listens', flush=True)\n\
        c, _ = s.accept(); sys.exit(len(c.recv(4096)))\n";
    let mut command = Command::new("python3");
    command.args(["-c", script]).arg(home.socket().path()).uid(65533).gid(65533);
    let mut stranger = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stranger.stdout.take().unwrap()), &mut line)
        .unwrap();
    assert_eq!(line, "listens\n");
    let refused = Agent::connect(&home.socket()).unwrap_err();
    assert!(matches!(&refused, AgentError::Stranger { uid: 65533, .. }), "{refused}");
    assert_eq!(stranger.wait().unwrap().code(), Some(0), "it was sent nothing");
}

#[test]
fn an_agent_that_is_killed_takes_its_keys_with_it() {
    let home = Home::new();
    let agent = Arc::new(home.agent());
    let keys = hand_over(&agent, &new_key(CertificateAlgorithms::Curve25519, false), HOUR);
    let process = PidFd::open(agent.pid()).unwrap();
    let pid = rustix::process::Pid::from_raw(agent.pid() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    wait_for_end(&process);
    assert!(matches!(keys[0].sign(HashAlgorithm::Sha256, &[0; 32]), Err(PrivateKeyError::Holder { .. })));
    assert!(Agent::connect(&home.socket()).unwrap().is_none());
}
