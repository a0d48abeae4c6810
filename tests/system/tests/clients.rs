//! Clients that write garbage, die, fork, or have no business here; no other client is disturbed.

use facility::{Facility, FacilityError, Options, Ticket};
use link::{Channel, Counter, StatusView};
use rustix::net::SendFlags;
use seeded::Random;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use system_tests::{
    Installation, PATIENCE, copy_program, expected_mac, mac_key, mac_of, mac_request, null, submit,
};
use wire::Label;
use wire::control::{CONTROL_VERSION, ClientReply, ClientRequest, Store};
use wire::verb::clear_key_import;

/// Where a process that plays a part finds its home.
const HOME: &str = "SYSTEM_TEST_HOME";
/// What such a process writes when it is where it should be.
const IN_PLACE: &str = "in place";

/// Starts one of the ignored tests of this file as a process of its own.
fn play(part: &str, home: &Path, adjust: impl FnOnce(&mut Command)) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", part, "--ignored", "--nocapture"]).env(HOME, home).stdout(Stdio::piped());
    adjust(&mut command);
    command.spawn().unwrap()
}

/// None where the part is run by itself, outside of the test that it belongs to.
fn home_of_the_part() -> Option<PathBuf> {
    std::env::var_os(HOME).map(PathBuf::from)
}

/// Asserts that a client of its own is served, and correctly.
fn is_served(facility: &Facility, key: &[u8]) {
    let text = [3; 50];
    assert_eq!(mac_of(&facility.ask(0, &mac_request(key, &text)).unwrap()), expected_mac(&text));
}

/// Attaches a queue without the client library, and returns its descriptors.
fn attach(channel: &Channel) -> Vec<OwnedFd> {
    let ask = |request: &ClientRequest| {
        channel.send(request, &[]).unwrap();
        channel.recv_timeout::<ClientReply>(PATIENCE).unwrap()
    };
    ask(&ClientRequest::Hello { version: CONTROL_VERSION, credential: None, completions: false });
    let request = ClientRequest::Attach { card: 0, domain: 0, slots: 64, blocks: 16 };
    let (reply, descriptors) = ask(&request);
    assert!(matches!(reply, ClientReply::Attached { .. }), "{reply:?}");
    descriptors
}

#[test]
fn garbage_in_slots_ends_its_own_queue_only() {
    let installation = Installation::new(1, 0);
    let cards = installation.until_ready();
    let (facility, mut random) = (installation.facility(), Random(1));
    let key = mac_key(&facility);
    let mut offences = 0;
    for round in 0..60 {
        let channel = Channel::connect(&installation.home.admin_socket()).unwrap();
        let descriptors = attach(&channel);
        let status = StatusView::join(descriptors[3].as_fd()).unwrap();
        let before = status.count(Counter::Offences);
        // Slots first, then the head with the word that hands them over; every other round with
        // headers of the right version, so that what follows the version is looked at as well.
        let mut slots = random.bytes(64 * 4160);
        if round % 2 == 0 {
            for slot in slots.chunks_mut(4160) {
                slot[..2].copy_from_slice(&1_u16.to_le_bytes());
                slot[4..8].copy_from_slice(&(random.below(5000) as u32).to_le_bytes());
            }
        }
        rustix::io::pwrite(&descriptors[0], &slots, 4096).unwrap();
        rustix::io::pwrite(&descriptors[0], &random.bytes(4096), 0).unwrap();
        let _ = rustix::net::send(&descriptors[2], &[], SendFlags::DONTWAIT);
        is_served(&facility, &key);
        let end = Instant::now() + PATIENCE;
        while status.count(Counter::Offences) == before {
            assert!(Instant::now() < end, "round {round}: the card saw nothing wrong");
            is_served(&facility, &key);
        }
        offences += 1;
    }
    assert_eq!(offences, 60);
    let after = installation.until_ready();
    assert_eq!((after[0].pid, after[0].restarts), (cards[0].pid, 0));
}

#[test]
fn garbage_in_replies_and_status_cannot_be_written() {
    let installation = Installation::new(1, 0);
    installation.until_ready();
    let channel = Channel::connect(&installation.home.admin_socket()).unwrap();
    let descriptors = attach(&channel);
    for (descriptor, what) in [(&descriptors[1], "reply memory"), (&descriptors[3], "status page")] {
        let refused = rustix::io::pwrite(descriptor, &[1; 64], 0).unwrap_err();
        assert_eq!(refused, rustix::io::Errno::BADF, "{what}");
        assert!(rustix::fs::ftruncate(descriptor, 0).is_err(), "{what}");
    }
    assert!(rustix::fs::ftruncate(&descriptors[0], 0).is_err(), "the request memory is sealed");
}

#[test]
fn garbage_on_doorbells_and_control_sockets_disturbs_nobody() {
    let installation = Installation::new(1, 0);
    let cards = installation.until_ready();
    let (facility, mut random) = (installation.facility(), Random(2));
    let key = mac_key(&facility);
    let channel = Channel::connect(&installation.home.admin_socket()).unwrap();
    let descriptors = attach(&channel);
    for _ in 0..2000 {
        let length = random.below(4000);
        let _ = rustix::net::send(&descriptors[2], &random.bytes(length), SendFlags::DONTWAIT);
    }
    is_served(&facility, &key);
    for round in 0..200 {
        let stranger = Channel::connect(&installation.home.admin_socket()).unwrap();
        if round % 2 == 0 {
            stranger
                .send(
                    &ClientRequest::Hello { version: CONTROL_VERSION, credential: None, completions: false },
                    &[],
                )
                .unwrap();
        }
        let length = 1 + random.below(3000);
        let _ = rustix::net::send(stranger.as_fd(), &random.bytes(length), SendFlags::NOSIGNAL);
    }
    let other_version = Channel::connect(&installation.home.admin_socket()).unwrap();
    other_version
        .send(&ClientRequest::Hello { version: 999, credential: None, completions: false }, &[])
        .unwrap();
    let (refusal, _) = other_version.recv_timeout::<ClientReply>(PATIENCE).unwrap();
    assert!(matches!(refusal, ClientReply::Refused(_)), "{refusal:?}");
    is_served(&facility, &key);
    is_served(&installation.facility(), &key);
    let after = installation.until_ready();
    assert_eq!((after[0].pid, after[0].restarts), (cards[0].pid, 0));
}

#[test]
fn a_client_that_dies_mid_request_leaves_nothing_behind() {
    let installation = Installation::new(1, 0);
    let cards = installation.until_ready();
    let facility = installation.facility();
    let key = mac_key(&facility);
    is_served(&facility, &key);
    let queues = installation.facility().cards().unwrap()[0].queues;
    let mut client = play("clients::part_of_a_client_that_dies", installation.home.folder(), |_| {});
    let said = BufReader::new(client.stdout.take().unwrap()).lines();
    assert!(said.map_while(Result::ok).any(|line| line.contains(IN_PLACE)), "the client did not come so far");
    installation.until("its queue is there", |status| status.cards[0].queues > queues);
    client.kill().unwrap();
    client.wait().unwrap();
    is_served(&facility, &key);
    let after = installation.until("its queue is gone", |status| status.cards[0].queues == queues);
    assert_eq!((after.cards[0].pid, after.cards[0].restarts), (cards[0].pid, 0));
    is_served(&facility, &key);
}

#[test]
#[ignore = "a part of another test"]
fn part_of_a_client_that_dies() {
    let Some(home) = home_of_the_part() else { return };
    let facility = Facility::open(&home, Options::default()).unwrap();
    let (key, text) = (mac_key(&facility), vec![1; 1 << 20]);
    let tickets: Vec<Ticket> =
        (0..16).map(|_| submit(&facility, &mac_request(&key, &text)).unwrap()).collect();
    println!("{IN_PLACE}");
    std::thread::sleep(PATIENCE);
    drop(tickets);
}

#[test]
fn a_stranger_is_refused() {
    let installation = Installation::new(1, 0);
    installation.until_ready();
    if needs::lacks(needs::Need::Root) {
        // Only root can become a stranger. What the daemon decides by user id is tested beside it.
        return;
    }
    let copy = installation.beside("stranger");
    copy_program(&std::env::current_exe().unwrap(), &copy);
    let home = installation.home.folder();
    let open_up =
        |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    open_up(&copy, 0o755);
    open_up(home.parent().unwrap(), 0o755);
    let is_refused = || {
        let stranger = Command::new(&copy)
            .args(["--exact", "clients::part_of_a_stranger", "--ignored"])
            .env(HOME, home)
            .current_dir("/")
            .uid(65534)
            .gid(65534)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&stranger.stdout);
        assert!(stranger.status.success() && said.contains("1 passed"), "{said}");
    };
    // The folder is private.
    is_refused();
    // Even where the way to the socket is open, the daemon knows who comes.
    open_up(home, 0o711);
    open_up(&installation.home.run(), 0o711);
    open_up(&installation.home.version_path(), 0o644);
    open_up(&installation.home.guest_socket(), 0o666);
    is_refused();
    assert!(installation.facility().ask(0, &null()).is_ok());
}

#[test]
#[ignore = "a part of another test"]
fn part_of_a_stranger() {
    let Some(home) = home_of_the_part() else { return };
    let error = Facility::open(&home, Options::default()).unwrap_err();
    assert!(matches!(error, FacilityError::Denied { .. }), "{error}");
    assert!(error.to_string().contains("not permitted"), "{error}");
}

/// Runs a closure in a child of fork, and returns its exit code: 0 where it returned true.
pub(crate) fn forked(child: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child runs on with this thread alone and ends by `_exit`; it takes no lock that
    // another thread of the test may have held, as it touches only what this test made.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork failed");
    if pid == 0 {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
        // SAFETY: ends the process at once; nothing of the parent's is dropped in it.
        unsafe { libc::_exit(if outcome.unwrap_or(false) { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: `pid` is a child of this process, `status` is ours.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 }
}

#[test]
fn a_server_that_loads_keys_and_then_forks_works() {
    let installation = Installation::new(1, 1);
    installation.until_ready();
    let facility = installation.facility();
    let label = Label::new("SERVER.MAC").unwrap();
    facility.record_create(Store::Des, &label, &mac_key(&facility)).unwrap();
    let (field, text) = (label.to_field(), [6; 30]);
    let works = |facility: &Facility| {
        (0..20).all(|_| {
            let reply = facility.ask(0, &mac_request(&field, &text));
            reply.is_ok_and(|reply| mac_of(&reply) == expected_mac(&text))
        })
    };
    assert!(works(&facility));
    let mut ticket = submit(&facility, &mac_request(&field, &text)).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let code =
                    forked(|| works(&facility) && forked(|| works(&facility)) == 0 && works(&facility));
                assert_eq!(code, 0, "a worker and its own worker are served");
            });
        }
        assert!(works(&facility));
    });
    let code = forked(|| {
        let error = ticket.try_wait();
        matches!(error, Some(Err(FacilityError::Forked { .. }))) && works(&facility)
    });
    assert_eq!(code, 0, "a child cannot collect what its parent sent");
    // The children's ends disturb nobody; the parent's request is the parent's.
    let end = Instant::now() + PATIENCE;
    let reply = loop {
        if let Some(reply) = ticket.try_wait() {
            break reply.unwrap();
        }
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(1));
    };
    assert_eq!(mac_of(&reply), expected_mac(&text));
    assert!(works(&facility));
}

/// Where a process that plays a part finds its key, in hexadecimal digits: a token, or a clear key.
const KEY: &str = "SYSTEM_TEST_KEY";
/// Where it finds whether that key is clear.
const IS_CLEAR: &str = "SYSTEM_TEST_KEY_IS_CLEAR";

/// A program makes MACs under a token, and its memory is searched for the key. That the search finds a key is shown by
/// another program, which has the same key in clear.
#[test]
fn a_programs_memory_has_the_token_and_not_the_key() {
    let installation = Installation::new(1, 0);
    installation.until_ready();
    let facility = installation.facility();
    // None of eight equal halves, of odd parity: the bytes stand nowhere by chance.
    let mut random = Random(std::process::id().into());
    let clear: [u8; 8] = std::array::from_fn(|_| {
        let byte = random.array::<1>()[0] & 0xFE;
        byte | u8::from(byte.count_ones().is_multiple_of(2))
    });
    let import = clear_key_import::Ask { clear_key: &clear, ..clear_key_import::Ask::new() };
    let token = facility.ask(0, &import).unwrap().got().target_key_identifier.to_vec();
    for (key, is_clear) in [(&token[..], false), (&clear[..], true)] {
        let mut program =
            play("clients::part_of_a_program_with_a_key", installation.home.folder(), |command| {
                let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
                command.env(KEY, digits).env(IS_CLEAR, is_clear.to_string()).stdin(Stdio::piped());
            });
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains(IN_PLACE)), "it made its MACs");
        let memory = memory_of(program.id());
        let holds = |bytes: &[u8]| memory.iter().any(|range| range.windows(8).any(|window| window == bytes));
        assert!(is_clear || holds(&token[16..24]), "the search finds the token");
        assert_eq!(holds(&clear), is_clear);
        drop(program.stdin.take());
        assert!(program.wait().unwrap().success());
    }
}

/// Every range of memory that a process can read itself.
fn memory_of(pid: u32) -> Vec<Vec<u8>> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let ranges =
        maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.starts_with('r')));
    let read = ranges.filter_map(|line| {
        let (from, to) = line.split(' ').next()?.split_once('-')?;
        let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
        let mut bytes = vec![0; (to - from) as usize];
        // Pages of the kernel's own, such as those of the clock, are not read by others.
        memory.read_exact_at(&mut bytes, from).ok().map(|()| bytes)
    });
    read.collect()
}

#[test]
#[ignore = "a part of another test"]
fn part_of_a_program_with_a_key() {
    let Some(home) = home_of_the_part() else { return };
    let digits = std::env::var(KEY).unwrap();
    let key: Vec<u8> = (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    if std::env::var(IS_CLEAR).unwrap() == "false" {
        let facility = Facility::open(&home, Options::default()).unwrap();
        for number in 0..100 {
            mac_of(&facility.ask(0, &mac_request(&key, &[number; 50])).unwrap());
        }
    }
    println!("{IN_PLACE}");
    let _ = std::io::stdin().read_line(&mut String::new());
    drop(key);
}
