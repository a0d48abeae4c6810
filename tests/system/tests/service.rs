//! A system service, each of its parts as a user of its own: officers make master keys that cards work with, and
//! whoever takes over the daemon, the metrics or one officer gets none.
//!
//! It runs programs as users by number, which needs root; without it says so, and tests nothing.

use crate::unit;
use facility::{Facility, FacilityError, Options, officer};
use home::{Home, Service, Settings};
use link::{Channel, ChannelError};
use rustix::process::{Gid, Uid};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use system_tests::{Installation, PATIENCE, expected_mac, mac_key, mac_of, mac_request, program, settings};
use wire::Label;
use wire::control::{
    CONTROL_VERSION, CardGreeting, CardState, ClientReply, ClientRequest, Delivery, KeeperNotice,
    KeeperOrder, LaunchOrder, LaunchReply, OfficerOrder, OfficerRefusal, OfficerReply, PURPOSE_PASSPHRASE,
    Part, Record, Refusal, Register, Replacement, Sealed, Served, Status, Store, TwoOfficers, Unsealing,
    purpose_of_part,
};

const KEEPER: u32 = 62_001;
const CARDS: u32 = 62_002;
const DAEMON: u32 = 62_003;
const ALICE: u32 = 62_004;
const BOB: u32 = 62_005;
const METRICS: u32 = 62_006;
const STRANGER: u32 = 62_007;
const PROGRAMS: [&str; 5] =
    ["cryptand-keeper", "cryptand-launcher", "cryptand-daemon", "cryptand-card", "cryptand"];
const PASSPHRASE: &[u8] = b"a passphrase of officers";

/// Does something as another user, in a thread that ends with it.
fn as_user<T: Send>(user: u32, act: impl FnOnce() -> T + Send) -> T {
    let become_and_act = || {
        let (group, user) = (Gid::from_raw(user), Uid::from_raw(user));
        rustix::thread::set_thread_groups(&[]).unwrap();
        rustix::thread::set_thread_res_gid(group, group, group).unwrap();
        rustix::thread::set_thread_res_uid(user, user, user).unwrap();
        act()
    };
    std::thread::scope(|scope| scope.spawn(become_and_act).join().unwrap())
}

/// A program that runs as a user; killed at the end.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        // Cards outlive a launcher that is killed by itself; its unit would end them.
        self.launcher = None;
        let base = self.base.path().as_os_str().as_encoded_bytes().to_owned();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let is_ours = line.windows(base.len()).any(|part| part == base);
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw).filter(|_| is_ours) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

/// A service with all of its parts.
struct Stand {
    base: tempfile::TempDir,
    bin: PathBuf,
    home: Home,
    service: Service,
    file: PathBuf,
    // Dropped in this order: who is asked by others goes last.
    daemon: Option<Running>,
    launcher: Option<Running>,
    keeper: Option<Running>,
}

impl Stand {
    /// None, and said so, where this process may not act as other users.
    fn new() -> Option<Self> {
        if needs::lacks(needs::Need::Root) {
            return None;
        }
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), Permissions::from_mode(0o711)).unwrap();
        // The programs lie where every user reaches them.
        let built = program("cryptand").parent().unwrap().to_owned();
        let bin = match as_user(STRANGER, || fs::File::open(built.join("cryptand")).is_ok()) {
            true => built,
            false => {
                let bin = base.path().join("bin");
                fs::create_dir(&bin).unwrap();
                for name in PROGRAMS {
                    system_tests::copy_program(&program(name), &bin.join(name));
                }
                bin
            }
        };
        let folder = |name: &str, user: u32, mode: u32| {
            let path = base.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            chown(&path, Some(user), Some(user)).unwrap();
            path
        };
        let service = Service {
            keeper: KEEPER.to_string(),
            cards: CARDS.to_string(),
            daemon: DAEMON.to_string(),
            officers: vec![ALICE.to_string(), BOB.to_string()],
            domains: 1,
            card: bin.join("cryptand-card"),
            manifest: None,
            keeper_folder: folder("run-keeper", KEEPER, 0o711),
            cards_folder: folder("run-cards", CARDS, 0o711),
            sealed: folder("keeper", KEEPER, 0o700).join("master-keys.sealed"),
            home: None,
            seal_memory_mib: 64,
            unseal: wire::control::Unseal::Attended,
        };
        let file = base.path().join("service.toml");
        fs::write(&file, toml::to_string(&service).unwrap()).unwrap();
        let mut settings: Settings = settings(2, 1);
        (settings.development, settings.service) = (None, Some(file.clone()));
        settings.programs.card = service.card.clone();
        settings.programs.daemon = bin.join("cryptand-daemon");
        let home = Home::create(&base.path().join("home"), &settings).unwrap();
        let given =
            Command::new("chown").arg("-R").arg(format!("{DAEMON}:{DAEMON}")).arg(home.folder()).status();
        assert!(given.unwrap().success());
        let mut stand = Self { base, bin, home, service, file, daemon: None, launcher: None, keeper: None };
        stand.start_keeper();
        stand.launcher =
            Some(Running(stand.command(CARDS, "cryptand-launcher").arg(&stand.file).spawn().unwrap()));
        until("the launcher listens", || stand.service.launch_socket().exists());
        stand.start_daemon();
        Some(stand)
    }

    /// A program as a user, and where this machine can tell under the system calls of its unit.
    fn command(&self, user: u32, name: &str) -> Command {
        let program = self.bin.join(name);
        let unit = match name {
            "cryptand-daemon" => Some("cryptand.service".to_owned()),
            "cryptand" => None,
            name => Some(format!("{name}.service")),
        };
        let filter = unit.filter(|_| unit::has_checker()).and_then(|unit| unit::filter(&unit));
        let mut command = match &filter {
            Some(filter) => unit::under(filter, &program),
            None => Command::new(&program),
        };
        command.uid(user).gid(user).env_clear().stdin(Stdio::null());
        command
    }

    fn start_keeper(&mut self) {
        self.start_keeper_with(None);
    }

    /// With a folder of credentials, as the service manager gives one.
    fn start_keeper_with(&mut self, credentials: Option<&Path>) {
        let mut command = self.command(KEEPER, "cryptand-keeper");
        command.envs(credentials.map(|folder| ("CREDENTIALS_DIRECTORY", folder)));
        let mut child = command.arg(&self.file).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said: Vec<String> =
            lines.by_ref().map_while(Result::ok).take_while(|line| !line.contains("ready")).collect();
        assert!(child.try_wait().unwrap().is_none(), "{said:?}");
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        self.keeper = Some(Running(child));
    }

    fn start_daemon(&mut self) {
        let mut command = self.command(DAEMON, "cryptand-daemon");
        let child = command.arg("--home").arg(self.home.folder()).stderr(Stdio::null()).spawn().unwrap();
        self.daemon = Some(Running(child));
        let open = || Facility::open(self.home.folder(), Options::default());
        until("the daemon answers", || open().is_ok_and(|facility| facility.status().is_ok()));
        self.status_until("cards", |status| status.cards.iter().all(|card| card.state.serves()));
    }

    fn facility(&self) -> Facility {
        Facility::open(self.home.folder(), Options { card_wait: PATIENCE, ..Options::default() }).unwrap()
    }

    fn status_until(&self, what: &str, holds: impl Fn(&Status) -> bool) -> Status {
        let facility = self.facility();
        let mut last = None;
        until(what, || holds(last.insert(facility.status().unwrap())));
        last.unwrap()
    }

    fn officer(&self, user: u32) -> officer::Keeper {
        let users = self.service.users().unwrap();
        as_user(user, || officer::Keeper::meet(&self.service, &users)).unwrap()
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn sealed(keeper: &officer::Keeper, purpose: &[u8], secret: &[u8]) -> Sealed {
    let OfficerReply::StartupKey(key) = keeper.officer(OfficerOrder::StartupKey).unwrap() else { panic!() };
    officer::seal(&key, purpose, secret).unwrap()
}

fn load(keeper: &officer::Keeper, register: Register, part: Part, byte: u8) -> OfficerReply {
    let purpose = purpose_of_part(0, register, part);
    let sealed = sealed(keeper, &purpose, &vec![byte; register.key_bytes()]);
    keeper.officer(OfficerOrder::LoadPart { domain: 0, register, part, sealed }).unwrap()
}

fn awaits(reply: OfficerReply, by: u32, kind: TwoOfficers) -> u64 {
    let OfficerReply::Awaits(order) = reply else { panic!("{reply:?}") };
    assert_eq!((order.officer, order.what), (by, kind));
    order.number
}

/// Both officers make new keys of domain 0 and put them into use.
fn ceremony(alice: &officer::Keeper, bob: &officer::Keeper, bytes: [u8; 2]) {
    for register in Register::ALL {
        assert!(matches!(load(alice, register, Part::First, bytes[0]), OfficerReply::PartLoaded { .. }));
        assert!(matches!(load(bob, register, Part::Last, bytes[1]), OfficerReply::PartLoaded { .. }));
    }
    let asked = alice.officer(OfficerOrder::Set { domain: 0 }).unwrap();
    let number = awaits(asked, ALICE, TwoOfficers::Set { domain: 0 });
    assert_eq!(bob.officer(OfficerOrder::Confirm { number }).unwrap(), OfficerReply::Done);
}

#[test]
fn a_keeper_of_a_service_unseals_itself_and_only_it_reads_the_credential() {
    let Some(mut stand) = Stand::new() else { return };
    let (alice, bob) = (stand.officer(ALICE), stand.officer(BOB));
    ceremony(&alice, &bob, [0x11, 0x2C]);
    let secret = sealed(&alice, PURPOSE_PASSPHRASE, PASSPHRASE);
    let asked = alice.officer(OfficerOrder::SealUnder { sealed: secret, former: None }).unwrap();
    let number = awaits(asked, ALICE, TwoOfficers::Seal);
    assert_eq!(bob.officer(OfficerOrder::Confirm { number }).unwrap(), OfficerReply::Done);
    let key = mac_key(&stand.facility());

    let credentials = stand.base.path().join("credentials");
    let file = credentials.join("cryptand-passphrase");
    fs::create_dir(&credentials).unwrap();
    fs::write(&file, PASSPHRASE).unwrap();
    for (path, mode) in [(&file, 0o400), (&credentials, 0o500)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        chown(path, Some(KEEPER), Some(KEEPER)).unwrap();
    }
    for user in [CARDS, DAEMON, ALICE, BOB, STRANGER] {
        assert!(as_user(user, || fs::File::open(&file).is_err()), "user {user}");
    }
    stand.service.unseal = wire::control::Unseal::Unattended;
    fs::write(&stand.file, toml::to_string(&stand.service).unwrap()).unwrap();
    let keeper = |stand: &mut Stand, credentials: Option<&Path>, holds: &dyn Fn(&Status) -> bool| {
        drop(stand.keeper.take());
        stand.status_until("the keeper is gone", |status| status.keeper_pid.is_none());
        stand.start_keeper_with(credentials);
        stand.status_until("another keeper", |status| status.keeper_pid.is_some() && holds(status));
    };
    let unsealed = |status: &Status| status.unsealing == Unsealing::Unattended && status.registers.len() == 4;
    let failed = |why: &'static str| {
        move |status: &Status| {
            status.registers.is_empty()
                && matches!(&status.unsealing, Unsealing::Failed(said) if said.contains(why))
        }
    };
    keeper(&mut stand, Some(&credentials), &unsealed);
    let mac = mac_of(&stand.facility().ask(0, &mac_request(&key, b"a text")).unwrap());
    assert_eq!(mac, expected_mac(b"a text"));
    // One that ended over it leaves its mark: the next one does not try the same again, the one after that does.
    let mark = stand.service.sealed.with_extension("trying");
    assert!(!mark.exists());
    fs::write(&mark, "").unwrap();
    keeper(&mut stand, Some(&credentials), &failed("ended the keeper"));
    keeper(&mut stand, Some(&credentials), &unsealed);
    keeper(&mut stand, None, &failed("CREDENTIALS_DIRECTORY is not set"));
}

#[test]
fn two_officers_make_keys_and_one_does_not() {
    let Some(mut stand) = Stand::new() else { return };
    let (alice, bob) = (stand.officer(ALICE), stand.officer(BOB));
    let refused = |reply: OfficerReply| match reply {
        OfficerReply::Refused(why) => why,
        other => panic!("{other:?}"),
    };
    // One officer alone comes to no key.
    assert!(matches!(load(&alice, Register::Aes, Part::First, 1), OfficerReply::PartLoaded { .. }));
    assert_eq!(refused(load(&alice, Register::Aes, Part::Last, 2)), OfficerRefusal::SameOfficer);
    assert!(matches!(load(&bob, Register::Aes, Part::Last, 2), OfficerReply::PartLoaded { .. }));
    let asked = alice.officer(OfficerOrder::Set { domain: 0 }).unwrap();
    let number = awaits(asked, ALICE, TwoOfficers::Set { domain: 0 });
    let confirm = OfficerOrder::Confirm { number };
    assert_eq!(refused(alice.officer(confirm.clone()).unwrap()), OfficerRefusal::SameOfficer);
    assert!(
        stand.status_until("a new key", |status| !status.registers.is_empty()).registers[0]
            .current_pattern
            .is_none()
    );
    // What is confirmed is what was ordered.
    let clear = OfficerOrder::ClearNew { domain: 0, register: Register::Aes };
    assert_eq!(alice.officer(clear).unwrap(), OfficerReply::Done);
    assert_eq!(refused(bob.officer(confirm).unwrap()), OfficerRefusal::NothingPending);

    ceremony(&alice, &bob, [0x11, 0x2C]);
    let facility = stand.facility();
    let key = mac_key(&facility);
    let mac = |facility: &Facility| mac_of(&facility.ask(0, &mac_request(&key, b"a text")).unwrap());
    assert_eq!(mac(&facility), expected_mac(b"a text"));

    // Sealing takes two as well, and lies with the keeper alone.
    let secret = sealed(&alice, PURPOSE_PASSPHRASE, PASSPHRASE);
    let number = awaits(
        alice.officer(OfficerOrder::SealUnder { sealed: secret, former: None }).unwrap(),
        ALICE,
        TwoOfficers::Seal,
    );
    assert_eq!(
        refused(alice.officer(OfficerOrder::Confirm { number }).unwrap()),
        OfficerRefusal::SameOfficer
    );
    assert!(!stand.service.sealed.exists());
    assert_eq!(bob.officer(OfficerOrder::Confirm { number }).unwrap(), OfficerReply::Done);
    let found = fs::metadata(&stand.service.sealed).unwrap();
    assert_eq!((found.uid(), found.mode() & 0o777), (KEEPER, 0o600));

    // A sealed copy is replaced by who knows its passphrase, which is asked for with the order.
    let seal = |former| {
        let sealed = sealed(&alice, PURPOSE_PASSPHRASE, PASSPHRASE);
        alice.officer(OfficerOrder::SealUnder { sealed, former }).unwrap()
    };
    assert_eq!(refused(seal(None)), OfficerRefusal::FormerPassphrase);
    let number = awaits(seal(Some(sealed(&alice, PURPOSE_PASSPHRASE, PASSPHRASE))), ALICE, TwoOfficers::Seal);
    assert_eq!(bob.officer(OfficerOrder::Confirm { number }).unwrap(), OfficerReply::Done);

    // Each part is who it should be, and the status says so.
    let status = facility.status().unwrap();
    let apart = status.apart.unwrap();
    assert_eq!((apart.daemon, apart.keeper, apart.cards), (DAEMON, KEEPER, CARDS));
    for card in &status.cards {
        let status = fs::read_to_string(format!("/proc/{}/status", card.pid)).unwrap();
        assert!(status.contains(&format!("Uid:\t{CARDS}\t{CARDS}")), "{status}");
        let missing = &card.isolation.missing;
        assert!(missing.is_empty() || !system_lacks_nothing(), "{missing:?}");
    }

    // A daemon that is killed finds its cards again; a keeper that is killed is unsealed by one officer.
    let pids: Vec<u32> = status.cards.iter().map(|card| card.pid).collect();
    stand.daemon = None;
    stand.start_daemon();
    let status =
        stand.status_until("cards", |status| status.cards.iter().all(|card| card.state == CardState::Ready));
    assert_eq!(status.cards.iter().map(|card| card.pid).collect::<Vec<_>>(), pids);
    stand.keeper = None;
    stand.start_keeper();
    let alice = stand.officer(ALICE);
    let secret = sealed(&alice, PURPOSE_PASSPHRASE, PASSPHRASE);
    assert_eq!(alice.officer(OfficerOrder::Unseal { sealed: secret }).unwrap(), OfficerReply::Done);
    let facility = stand.facility();
    assert_eq!(mac(&facility), expected_mac(b"a text"));
    // Cards of the keeper before are replaced, so that they hear of the next key.
    stand.status_until("new coprocessors", |status| {
        let mut cards = status.cards.iter().zip(&pids).take(2);
        cards.all(|(card, before)| card.state == CardState::Ready && card.pid != *before)
    });
    ceremony(&alice, &stand.officer(BOB), [0x41, 0x53]);
    let reply = facility.ask(0, &mac_request(&key, b"a text")).unwrap();
    assert_eq!(reply.codes(), wire::code::OLD_MASTER_KEY);

    // No record comes under keys that end with the keeper, which the home does not end.
    stand.status_until("keys in no sealed copy", |status| !status.registers.iter().all(|row| row.is_sealed));
    let record = Record { store: Store::Des, label: Label::new("A.KEY").unwrap(), token: key.clone() };
    let replacements = vec![Replacement { record, token: key.clone() }];
    match facility.token_replace(replacements.clone(), false) {
        Err(FacilityError::Refused { refusal: refusal @ Refusal::NotSealed { .. }, .. }) => {
            let said = refusal.to_string();
            let named =
                Register::ALL.iter().all(|register| said.contains(&format!("domain 0 {}", register.name())));
            assert!(named && said.contains("`cryptand master-key seal`"), "{said}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(facility.token_replace(replacements, true).unwrap(), [false], "there is no such record");

    // A card that is stuck is ended, though it runs as another user.
    let stuck = facility.status().unwrap().cards[0].pid;
    system_tests::signal(stuck, rustix::process::Signal::STOP);
    stand.status_until("another card", |status| {
        status.cards[0].pid != stuck && status.cards[0].state == CardState::Ready
    });
    facility.shutdown(false).unwrap();
}

/// Whether cards of this machine take every step into their sandbox when they run as root.
fn system_lacks_nothing() -> bool {
    let installation = Installation::new(1, 0);
    installation.until_ready().iter().all(|card| card.isolation.missing.is_empty())
}

/// Whether master keys come, of a keeper that takes this for a card's channel. What else comes is passed over.
fn registers_come(channel: &Channel) -> bool {
    loop {
        match channel.recv_timeout::<Delivery>(Duration::from_secs(10)) {
            Ok((delivery, _)) => return delivery.handout.keys.iter().any(|pair| !pair.current.is_empty()),
            Err(ChannelError::Message(_)) => {}
            Err(ChannelError::Closed | ChannelError::System { .. }) => return false,
            Err(error) => panic!("neither keys nor the end: {error}"),
        }
    }
}

/// Whether whoever this thread is gets registers by saying that it is the daemon, at this socket.
fn adopter_gets_keys(socket: &Path) -> bool {
    let Ok(channel) = Channel::connect(socket) else { return false };
    let (ours, theirs) = Channel::pair().unwrap();
    let theirs = theirs.into_fd();
    let served = Served { card: 60, generation: 1 };
    // Closed before or while it asks: refused.
    let _ = channel.send(&KeeperOrder::Adopt, &[]);
    let _ = channel.send(&KeeperOrder::Serve(served), &[theirs.as_fd()]);
    drop(theirs);
    registers_come(&ours)
}

/// Whether whoever this thread is gets registers by saying that it is a card.
fn card_gets_keys(socket: &Path) -> bool {
    let Ok(channel) = Channel::connect(socket) else { return false };
    let greeting = CardGreeting { version: CONTROL_VERSION, served: Served { card: 61, generation: 1 } };
    let _ = channel.send(&greeting, &[]);
    registers_come(&channel)
}

/// What an officer's socket says to whoever this thread is.
fn officer_is_let_in(socket: &Path) -> bool {
    let Ok(channel) = Channel::connect(socket) else { return false };
    let hello = ClientRequest::Hello { version: CONTROL_VERSION, credential: None, completions: false };
    let _ = channel.send(&hello, &[]);
    let _ = channel.send(&ClientRequest::Officer(OfficerOrder::StartupKey), &[]);
    match channel.recv_timeout::<ClientReply>(Duration::from_secs(10)) {
        Ok((ClientReply::Done, _)) => true,
        Ok((ClientReply::Refused(Refusal::Denied), _)) | Err(ChannelError::Closed) => false,
        Err(ChannelError::System { .. }) => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_homes_own_user_gets_the_keys_of_a_home_of_ones_own() {
    // What the service is there for: these attacks succeed where all is one user.
    let installation = Installation::new(1, 0);
    installation.until_ready();
    assert!(adopter_gets_keys(&installation.home.keeper_listener()));
    assert_eq!(installation.facility().status().unwrap().apart, None);
}

#[test]
fn whoever_takes_over_another_part_gets_no_keys() {
    let Some(stand) = Stand::new() else { return };
    let (alice, bob) = (stand.officer(ALICE), stand.officer(BOB));
    ceremony(&alice, &bob, [0x11, 0x2C]);
    let (cards, officers, daemon) =
        (stand.service.card_socket(), stand.service.officer_socket(), stand.service.daemon_socket());
    let keeper = stand.keeper.as_ref().unwrap().0.id();

    // The attacks bite: the one user who should get keys gets them in just this way.
    assert!(as_user(CARDS, || card_gets_keys(&cards)));
    assert!(as_user(ALICE, || officer_is_let_in(&officers)));
    for user in [DAEMON, METRICS, STRANGER, ALICE] {
        for socket in [&cards, &officers, &daemon] {
            assert!(!as_user(user, || card_gets_keys(socket)), "{user} at {}", socket.display());
            assert!(!as_user(user, || adopter_gets_keys(socket)), "{user} at {}", socket.display());
        }
    }
    assert!(!as_user(CARDS, || adopter_gets_keys(&cards)));
    for user in [DAEMON, CARDS, METRICS, STRANGER, KEEPER] {
        assert!(!as_user(user, || officer_is_let_in(&officers)), "{user}");
    }

    // A daemon that is taken over sends the keeper every message that there is, on its own connection.
    let order =
        |sealed| OfficerOrder::LoadPart { domain: 0, register: Register::Aes, part: Part::First, sealed };
    let empty = Sealed { share: [9; 32], ciphertext: vec![0; 48] };
    let officer_orders = [
        OfficerOrder::StartupKey,
        OfficerOrder::Registers,
        order(empty.clone()),
        OfficerOrder::ClearNew { domain: 0, register: Register::Aes },
        OfficerOrder::Set { domain: 0 },
        OfficerOrder::SealUnder { sealed: empty.clone(), former: None },
        OfficerOrder::Unseal { sealed: empty },
        OfficerOrder::Confirm { number: 1 },
    ];
    let as_alice = |order| KeeperOrder::Officer {
        order,
        sealed_registers: None,
        seal_memory_mib: 64,
        officer: Some(ALICE),
    };
    let mut messages: Vec<KeeperOrder> = officer_orders.into_iter().map(as_alice).collect();
    messages.extend([
        KeeperOrder::Adopt,
        KeeperOrder::Serve(Served { card: 0, generation: 1 }),
        KeeperOrder::Start {
            version: CONTROL_VERSION,
            domains: 1,
            insecure_seed: Some(1),
            service: false,
            unattended: None,
        },
        KeeperOrder::Stop,
    ]);
    as_user(DAEMON, || {
        for message in messages {
            let channel = Channel::connect(&daemon).unwrap();
            let (ours, theirs) = Channel::pair().unwrap();
            let theirs = theirs.into_fd();
            let _ = channel.send(&message, &[theirs.as_fd()]);
            drop(theirs);
            // It is told which cards hold keys, and nothing else; then it is let go for having spoken.
            loop {
                match channel.recv_timeout::<KeeperNotice>(PATIENCE) {
                    Ok((KeeperNotice::Ready { .. } | KeeperNotice::Holds(_), descriptors)) => {
                        assert!(descriptors.is_empty());
                    }
                    Ok((other, _)) => panic!("{message:?}: {other:?}"),
                    Err(ChannelError::Closed | ChannelError::System { .. }) => break,
                    Err(error) => panic!("{message:?}: {error}"),
                }
            }
            assert!(!registers_come(&ours), "{message:?}");
        }
    });

    // Nor does it get them from the memory or the files of those who have them.
    let status = stand.facility().status().unwrap();
    let card = status.cards[0].pid;
    as_user(DAEMON, || {
        for pid in [keeper, card] {
            for file in ["mem", "maps", "environ"] {
                assert!(fs::read(format!("/proc/{pid}/{file}")).is_err(), "{file} of {pid}");
            }
            let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
            assert!(rustix::process::kill_process(pid, rustix::process::Signal::TERM).is_err());
        }
        assert!(fs::read_dir(stand.service.sealed.parent().unwrap()).is_err());
        assert!(fs::write(&stand.file, "").is_err());
        assert!(UnixDatagram::bind(stand.service.keeper_folder.join("another")).is_err());
    });

    // It has cards started: the one program, which it cannot make another one of. It has none but cards ended.
    let launch = stand.service.launch_socket();
    let ask = |user, order: LaunchOrder| {
        as_user(user, || {
            let channel = Channel::connect(&launch).unwrap();
            let _ = channel.send(&order, &[]);
            channel.recv_timeout::<LaunchReply>(PATIENCE).ok().map(|(reply, _)| reply)
        })
    };
    let start = LaunchOrder::Start { version: CONTROL_VERSION, level: None };
    assert!(matches!(ask(DAEMON, start), Some(LaunchReply::Refused(_))), "without a channel");
    assert_eq!(ask(DAEMON, LaunchOrder::End { pid: keeper }), Some(LaunchReply::Done));
    for user in [METRICS, STRANGER, ALICE, KEEPER] {
        assert_eq!(ask(user, start), None, "{user}");
        assert_eq!(ask(user, LaunchOrder::End { pid: card }), None, "{user}");
    }
    // All of it is as it was.
    stand.status_until("the cards", |now| {
        now.keeper_pid == Some(keeper) && now.cards.iter().all(|card| card.state.serves())
    });
    assert_eq!(stand.facility().status().unwrap().cards[0].pid, card);
    let OfficerReply::Registers(rows) = alice.officer(OfficerOrder::Registers).unwrap() else { panic!() };
    assert!(rows.iter().all(|row| row.current_pattern.is_some()));

    // Officers' orders do not go through the daemon, whoever gives them.
    let refused = stand.facility().officer(OfficerOrder::StartupKey).unwrap_err().to_string();
    assert!(refused.contains("not through the daemon"), "{refused}");
}

#[test]
fn the_programs_run_as_the_users_of_their_file_alone() {
    let Some(stand) = Stand::new() else { return };
    for (name, user) in
        [("cryptand-keeper", DAEMON), ("cryptand-launcher", DAEMON), ("cryptand-keeper", CARDS)]
    {
        let output = stand.command(user, name).arg(&stand.file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("it runs as user"), "{said}");
    }
    // A file that another user could have written is not read.
    let planted = stand.base.path().join("planted.toml");
    fs::copy(&stand.file, &planted).unwrap();
    chown(&planted, Some(DAEMON), None).unwrap();
    let output = stand.command(KEEPER, "cryptand-keeper").arg(&planted).output().unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("belongs to user"));
}

#[test]
fn officers_use_the_command_as_themselves() {
    let Some(stand) = Stand::new() else { return };
    let run = |user, arguments: &[&str], typed: &str| {
        let mut command = stand.command(user, "cryptand");
        command.args(arguments).env("CRYPTAND_SERVICE", &stand.file).env("HOME", "/nonexistent");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), typed.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    };
    let home = stand.home.folder().to_str().unwrap();
    let engine = engine::Engine::new(engine::Options::default()).unwrap();
    let drawn = |bytes: usize| {
        let mut part = vec![0; bytes];
        engine.random(&mut part);
        part.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n"
    };
    for (register, bytes) in [("sym", 24), ("asym", 24), ("aes", 32), ("apka", 32)] {
        let load = |part| ["master-key", "load", register, part, "--from-stdin"];
        let (done, said) = run(ALICE, &load("first"), &drawn(bytes));
        assert!(done, "{said}");
        let last = drawn(bytes);
        let (done, said) = run(ALICE, &load("last"), &last);
        assert!(!done && said.contains("another officer"), "{said}");
        // Whatever the home says of itself, its officers come to the keeper.
        let of_home: Vec<&str> = ["--home", home].into_iter().chain(load("last")).collect();
        let (done, said) = run(BOB, &of_home, &drawn(bytes));
        assert!(done, "{said}");
    }
    let (done, said) = run(ALICE, &["master-key", "set"], "");
    assert!(done && said.contains("master-key confirm 1"), "{said}");
    let (_, said) = run(BOB, &["master-key", "pending"], "");
    assert!(said.contains("order 1") && said.contains(&ALICE.to_string()), "{said}");
    assert!(!run(ALICE, &["master-key", "confirm", "1"], "").0);
    assert!(run(BOB, &["master-key", "confirm", "1"], "").0);
    let (done, said) = run(DAEMON, &["--home", home, "status"], "");
    // The keys are in no sealed copy yet, which the exit code says.
    assert!(!done && said.contains("keys-not-sealed") && said.contains("never gets master keys"), "{said}");
    let (done, said) = run(DAEMON, &["--home", home, "master-key", "set"], "");
    assert!(!done, "{said}");
}
