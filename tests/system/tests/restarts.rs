//! A planned stop and start, as a service manager restarts a unit, is a pause to clients: no request fails, whatever
//! asks: threads, tickets, an event loop, writers of key records.

use facility::{Facility, Options, Reply, Ticket};
use rustix::process::Signal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use system_tests::load::Stop;
use system_tests::{Installation, PATIENCE, expected_mac, mac_key, mac_of, mac_request, null, signal};
use wire::Label;
use wire::control::Store;
use wire::verb::{Filled, TypedAsk};

const RESTARTS: usize = 5;
const LABEL: &str = "RESTART.MAC";
/// Requests that the loop, and the thread with tickets, keep under way.
const UNDER_WAY: u64 = 40;

/// What one client has seen.
struct Seen<'a> {
    name: &'static str,
    answered: &'a AtomicU64,
    last: Instant,
    longest: Duration,
    pauses: &'a Mutex<Vec<(&'static str, Duration)>>,
}

impl<'a> Seen<'a> {
    fn new(name: &'static str, all: &'a All) -> Self {
        let answered = &all.answered[all.clients.iter().position(|client| *client == name).unwrap()];
        Self { name, answered, last: Instant::now(), longest: Duration::ZERO, pauses: &all.pauses }
    }

    fn one(&mut self) {
        let now = Instant::now();
        self.longest = self.longest.max(now - self.last);
        self.last = now;
        self.answered.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Seen<'_> {
    fn drop(&mut self) {
        self.pauses.lock().unwrap().push((self.name, self.longest));
    }
}

struct All {
    clients: [&'static str; 5],
    answered: [AtomicU64; 5],
    pauses: Mutex<Vec<(&'static str, Duration)>>,
    stop: AtomicBool,
}

impl All {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Waits until every client has had so many answers more.
    fn until_all_grow(&self, by: u64) {
        let before: Vec<u64> = self.answered.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let end = Instant::now() + PATIENCE;
        let grown = |(count, before): (&AtomicU64, &u64)| count.load(Ordering::Relaxed) >= before + by;
        while !self.answered.iter().zip(&before).all(grown) && self.goes_on() {
            assert!(Instant::now() < end, "no progress: {before:?}, {:?}", self.answered);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn calls(all: &All, name: &'static str, facility: &Facility, key: &[u8]) {
    let (_stop, mut seen) = (Stop(&all.stop), Seen::new(name, all));
    for number in (0_u64..).take_while(|_| all.goes_on()) {
        let text = number.to_le_bytes();
        let reply =
            facility.ask(0, &mac_request(key, &text)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(mac_of(&reply), expected_mac(&text));
        seen.one();
    }
}

fn tickets(all: &All, facility: &Facility, key: &[u8]) {
    let (_stop, mut seen) = (Stop(&all.stop), Seen::new("tickets", all));
    let (ask, mut filled) = (mac_request(key, b"ticket"), Filled::default());
    let request = ask.arguments(&mut filled);
    let mut tickets: Vec<Ticket> = (0..UNDER_WAY).map(|_| facility.submit(0, &request).unwrap()).collect();
    while all.goes_on() {
        let index = Ticket::wait_any(&mut tickets).unwrap();
        let reply = tickets[index].try_wait().unwrap().unwrap_or_else(|error| panic!("tickets: {error}"));
        assert_eq!(mac_of(&reply), expected_mac(b"ticket"));
        seen.one();
        facility.submit_into(&mut tickets[index], 0, &request).unwrap();
    }
}

fn event_loop(all: &All, facility: &Facility, key: &[u8]) {
    let (_stop, mut seen) = (Stop(&all.stop), Seen::new("event loop", all));
    let mut completions = facility.completions().unwrap();
    let mut reply = Reply::new();
    (0..UNDER_WAY).for_each(|number| completions.ask(number, 0, &mac_request(key, b"loop")).unwrap());
    while all.goes_on() {
        while let Some((number, answer)) = completions.collect(&mut reply) {
            answer.unwrap_or_else(|error| panic!("event loop: {error}"));
            assert_eq!(mac_of(&reply), expected_mac(b"loop"));
            seen.one();
            completions.ask(number, 0, &mac_request(key, b"loop")).unwrap();
        }
        completions.wait(Some(Duration::from_millis(100)));
    }
}

fn writes(all: &All, facility: &Facility, token: &[u8]) {
    let (_stop, mut seen) = (Stop(&all.stop), Seen::new("records", all));
    for number in (0_u64..).take_while(|_| all.goes_on()) {
        let label = Label::new(&format!("RESTART.N{number}")).unwrap();
        facility.record_create(Store::Des, &label, token).unwrap_or_else(|error| panic!("records: {error}"));
        assert_eq!(facility.record_read(Store::Des, &label).unwrap(), token);
        seen.one();
    }
}

#[test]
fn stopped_and_started_under_load_it_is_a_pause() {
    let mut installation = Installation::new(2, 0);
    installation.until_ready();
    let facility = installation.facility();
    let token = mac_key(&facility);
    facility.record_create(Store::Des, &Label::new(LABEL).unwrap(), &token).unwrap();
    let field = Label::new(LABEL).unwrap().to_field();
    let all = All {
        clients: ["threads", "tickets", "event loop", "records", "starter"],
        answered: Default::default(),
        pauses: Mutex::default(),
        stop: AtomicBool::new(false),
    };
    // One that starts a daemon where it may.
    let options = Options { start_daemon: true, card_wait: PATIENCE, ..Options::default() };
    let starter = Facility::open(installation.home.folder(), options).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| calls(&all, "threads", &facility, &field));
        scope.spawn(|| calls(&all, "threads", &facility, &token));
        scope.spawn(|| calls(&all, "starter", &starter, &field));
        let ticketing = installation.facility();
        let looping = installation.facility();
        let (all_of, field_of) = (&all, &field);
        scope.spawn(move || tickets(all_of, &ticketing, field_of));
        scope.spawn(move || event_loop(all_of, &looping, field_of));
        let writing = installation.facility();
        let token_of = &token;
        scope.spawn(move || writes(all_of, &writing, token_of));
        let _stop = Stop(&all.stop);
        for _ in 0..RESTARTS {
            all.until_all_grow(20);
            signal(installation.daemon_pid(), Signal::TERM);
            installation.wait_stopped();
            installation.start();
        }
        all.until_all_grow(20);
    });
    let pauses = all.pauses.into_inner().unwrap();
    println!("longest pause of each client over {RESTARTS} restarts: {pauses:?}");
    assert_eq!(pauses.len(), 6);
    assert_eq!(facility.ask(0, &null()).unwrap().codes(), wire::code::OK);
}
