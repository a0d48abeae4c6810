//! A home whose daemon and cards are threads of the test: they speak the real protocols, and do
//! what a test tells them to. What stands for a card's process is a child that can be killed.

use home::{Home, Programs, Settings};
use link::{CardParts, CardQueue, Channel, Completion, Doorbell, Listener, PidFd, QueueMemory, StatusPage};
use stand_in::{ANSWERED, slots};
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;
use wire::control::{CardRow, CardState, ClientReply, ClientRequest, Personality, Refusal, Store};
use wire::frame::{Arguments, Outcome, ReplyHeader};
use wire::registers::RegisterSet;
use wire::verb::{
    HashMethod, Room, TypedAnswer, Verb, des_key_record_read, key_generate, key_records_write, one_way_hash,
    pka_key_generate,
};
use wire::{Codes, KeyReference, Label, code};

/// What a card does with a request.
pub enum Act {
    /// Answers.
    Answer(Codes, Vec<u8>),
    /// Refuses.
    Refuse(Outcome),
    /// Dies with it.
    Die,
    /// Keeps it for ever.
    Keep,
}

/// Decides what a card does: its index, the verb, and the request's arguments.
pub type Script = Arc<dyn Fn(u32, Verb, &Arguments<'_>) -> Act + Send + Sync>;

/// Answers everything with 0/0 and nothing else.
pub fn echo() -> Script {
    Arc::new(|_, _, _| Act::Answer(code::OK, Vec::new()))
}

/// Answers with these outputs.
pub fn answer(arguments: &Arguments<'_>, outputs: &impl TypedAnswer) -> Act {
    let mut payload = Vec::new();
    outputs.write(arguments, &mut payload).unwrap();
    Act::Answer(code::OK, payload)
}

/// A hash request whose text says what the card is to do, with room for the text in the answer.
pub fn hash(text: &[u8]) -> one_way_hash::Ask<'_> {
    one_way_hash::Ask { text, hash: Room::of(text.len()), ..one_way_hash::Ask::new(HashMethod::Sha256) }
}

pub fn text<'a>(arguments: &Arguments<'a>) -> &'a [u8] {
    arguments.bytes(one_way_hash::TEXT)
}

/// A reply to a hash request that carries its text back.
pub fn hashed(arguments: &Arguments<'_>) -> Act {
    answer(arguments, &one_way_hash::Answer { hash: Some(text(arguments)), ..Default::default() })
}

/// A card that makes keys: tokens of ones and twos, or one of 1,100 threes. It is never given a label.
pub fn makes_keys() -> Script {
    Arc::new(|_, verb, arguments| {
        if verb == Verb::PkaKeyGenerate {
            use pka_key_generate::*;
            assert!(arguments.integer(GENERATED_KEY_IDENTIFIER_LENGTH) >= 1100, "room for a token");
            assert!(arguments.bytes(GENERATED_KEY_IDENTIFIER).is_empty());
            answer(arguments, &Answer { generated_key_identifier: Some(&[3; 1100]) })
        } else {
            use key_generate::*;
            for at in [GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_2] {
                assert!(!Label::is_label_field(arguments.bytes(at)), "no card is given a label");
            }
            let (first, second) = (Some(&[1; 64][..]), Some(&[2; 64][..]));
            let made = Answer {
                generated_key_identifier_1: first,
                generated_key_identifier_2: second,
                ..Answer::default()
            };
            answer(arguments, &made)
        }
    })
}

/// A request for two DES keys, with these key identifiers.
pub fn generate<'a>(first: &'a [u8], second: &'a [u8]) -> key_generate::Ask<'a> {
    key_generate::Ask {
        generated_key_identifier_1: first.into(),
        generated_key_identifier_2: second.into(),
        ..key_generate::Ask::new()
    }
}

struct Card {
    row: CardRow,
    status: OwnedFd,
    page: Arc<StatusPage>,
    /// The registers that it says it holds, as bits.
    held: Arc<AtomicU64>,
    queues: Sender<NewQueue>,
    life: Arc<Mutex<Child>>,
    stop: Arc<AtomicBool>,
    served: Arc<AtomicU64>,
    /// Queue that it is to end, counted from 1; 0 for none.
    ends: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

/// A queue, its memories, and the cards' end of its client's completion socket.
type NewQueue = (u64, [OwnedFd; 2], Option<OwnedFd>);

/// Everything of the fake daemon.
pub struct World {
    home: Home,
    cards: Vec<Card>,
    script: Script,
    /// While it is set, no card takes anything.
    pub paused: Arc<AtomicBool>,
    queues: u64,
    /// Queues beyond this are refused.
    pub queues_max: u64,
    attached: Vec<(u64, u32)>,
    /// Tokens by label.
    pub labels: HashMap<Label, KeyReference>,
    /// Records that may be written; empty ones hold no key.
    pub records: HashMap<Label, Vec<u8>>,
    /// Whether the daemon goes away over the next write of records, and whether it writes them before.
    pub goes_away: Option<bool>,
    opened: u64,
    /// Requests of the control plane that came, by name.
    pub asked: Vec<String>,
}

/// A fake home.
pub struct FakeHome {
    _base: TempDir,
    pub home: Home,
    pub world: Arc<Mutex<World>>,
    daemon: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
}

impl FakeHome {
    /// Cards of these personalities, ready, and a daemon.
    pub fn new(personalities: &[Personality], script: Script) -> Self {
        let base = tempfile::tempdir().unwrap();
        let programs = Programs { daemon: "/nowhere/d".into(), card: "/nowhere/c".into(), manifest: None };
        let home = Home::create(&base.path().join("home"), &Settings::new(programs)).unwrap();
        let mut world = World {
            home: home.clone(),
            cards: Vec::new(),
            script,
            paused: Arc::default(),
            queues: 0,
            queues_max: u64::MAX,
            attached: Vec::new(),
            labels: HashMap::new(),
            records: HashMap::new(),
            goes_away: None,
            opened: 0,
            asked: Vec::new(),
        };
        for (index, personality) in personalities.iter().enumerate() {
            let card = world.start_card(index as u32, *personality, 1);
            world.cards.push(card);
        }
        let mut fake = Self { _base: base, home, world: Arc::new(Mutex::new(world)), daemon: None };
        fake.start_daemon();
        fake
    }

    pub fn start_daemon(&mut self) {
        let listener = Listener::bind(&self.home.guest_socket()).unwrap();
        let (stop, world) = (Arc::new(AtomicBool::new(false)), Arc::clone(&self.world));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut connections = Vec::new();
            while let Ok(channel) = listener.accept() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let (world, stopped) = (Arc::clone(&world), Arc::clone(&stopped));
                connections.push(std::thread::spawn(move || serve(&channel, &world, &stopped)));
            }
            drop(listener);
            for connection in connections {
                connection.join().unwrap();
            }
        });
        self.daemon = Some((stop, thread));
    }

    /// Ends the daemon, and with it all of its connections.
    pub fn stop_daemon(&mut self) {
        if let Some((stop, thread)) = self.daemon.take() {
            stop.store(true, Ordering::SeqCst);
            drop(Channel::connect(&self.home.guest_socket()).unwrap());
            thread.join().unwrap();
            std::fs::remove_file(self.home.guest_socket()).unwrap();
        }
    }

    /// Kills a card.
    pub fn kill(&self, index: usize) {
        self.world.lock().unwrap().kill(index);
    }

    /// Has a card that lives on end a queue.
    pub fn end_queue(&self, index: usize, queue: u64) {
        let ends = Arc::clone(&self.world.lock().unwrap().cards[index].ends);
        ends.store(queue, Ordering::SeqCst);
        while ends.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
    }

    /// Starts a dead card again.
    pub fn respawn(&self, index: usize) {
        let mut world = self.world.lock().unwrap();
        world.kill(index);
        let (personality, generation) =
            (world.cards[index].row.personality, world.cards[index].row.generation);
        let card = world.start_card(index as u32, personality, generation + 1);
        world.cards[index] = card;
    }

    /// Sets the state that a card shows.
    pub fn set_state(&self, index: usize, state: CardState) {
        let mut world = self.world.lock().unwrap();
        world.cards[index].row.state = state;
        world.cards[index].page.set_state(state);
    }

    /// Has a card say from now on that it holds these master keys, and the daemon whether it is sealed.
    pub fn set_registers(&self, index: usize, held: RegisterSet) {
        let mut world = self.world.lock().unwrap();
        let card = &mut world.cards[index];
        card.row.state = if held.is_empty() { CardState::Sealed } else { CardState::Ready };
        card.held.store(held.bits(), Ordering::SeqCst);
    }

    /// Requests that a card has taken.
    pub fn served(&self, index: usize) -> u64 {
        self.world.lock().unwrap().cards[index].served.load(Ordering::SeqCst)
    }

    /// Requests of this name that the daemon was asked.
    pub fn asked(&self, name: &str) -> usize {
        self.world.lock().unwrap().asked.iter().filter(|asked| *asked == name).count()
    }
}

impl Drop for FakeHome {
    fn drop(&mut self) {
        self.stop_daemon();
        let mut world = self.world.lock().unwrap();
        for index in 0..world.cards.len() {
            world.kill(index);
        }
    }
}

impl World {
    fn start_card(&self, index: u32, personality: Personality, generation: u64) -> Card {
        let status = StatusPage::create(generation).unwrap();
        let page = Arc::new(StatusPage::join(status.as_fd()).unwrap());
        page.set_state(CardState::Ready);
        let doorbell = Doorbell::bind(&self.home.card_doorbell(index)).unwrap();
        let life = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let (queues, new_queues) = channel();
        let (life, stop) = (Arc::new(Mutex::new(life)), Arc::new(AtomicBool::new(false)));
        let (served, ends) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let held = Arc::new(AtomicU64::new(RegisterSet::ALL.bits()));
        let row = CardRow {
            index,
            generation,
            personality,
            state: CardState::Ready,
            pid: life.lock().unwrap().id(),
            level: "portable".into(),
            lanes: 1,
            queues: 0,
            isolation: Default::default(),
            start_us: 1,
            restarts: 0,
            poll: Default::default(),
            processors: None,
            dedicated: Vec::new(),
        };
        let run = Run {
            index,
            doorbell,
            page: Arc::clone(&page),
            held: Arc::clone(&held),
            new_queues,
            life: Arc::clone(&life),
            stop: Arc::clone(&stop),
            served: Arc::clone(&served),
            ends: Arc::clone(&ends),
            script: Arc::clone(&self.script),
            paused: Arc::clone(&self.paused),
        };
        let thread = Some(std::thread::spawn(move || run.run()));
        Card { row, status, page, held, queues, life, stop, served, ends, thread }
    }

    fn kill(&mut self, index: usize) {
        let card = &mut self.cards[index];
        card.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = card.thread.take() {
            thread.join().unwrap();
        }
        let mut life = card.life.lock().unwrap();
        let _ = life.kill();
        let _ = life.wait();
        card.row.state = CardState::Failed;
    }

    fn answer(
        &mut self,
        request: ClientRequest,
        completion: &mut Option<OwnedFd>,
    ) -> (ClientReply, Vec<OwnedFd>) {
        let name = format!("{request:?}");
        let name = name.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
        self.asked.push(name);
        let reply = match request {
            ClientRequest::Hello { version, completions, .. } => {
                let welcome = ClientReply::Welcome {
                    version,
                    tenant: 1,
                    tenant_name: "one".into(),
                    role: wire::role::OWNER.into(),
                    insecure_dev: true,
                    tsc_hz: link::tsc_hz(),
                };
                let mut descriptors = Vec::new();
                if completions {
                    let (client, cards) = Completion::pair().unwrap();
                    *completion = Some(cards);
                    descriptors.push(client.into_fd());
                }
                return (welcome, descriptors);
            }
            ClientRequest::Cards => {
                let rows = self.cards.iter().map(|card| {
                    let mut row = card.row.clone();
                    // A card may have died by itself.
                    if card.stop.load(Ordering::SeqCst) {
                        row.state = CardState::Failed;
                    }
                    row.queues = self.attached.iter().filter(|(_, index)| *index == row.index).count() as u32;
                    row
                });
                ClientReply::Cards(rows.collect())
            }
            ClientRequest::Attach { card: index, domain, slots, blocks } => {
                return self.attach(index as usize, domain, [slots, blocks], completion.as_ref());
            }
            ClientRequest::OpenLabel { label } => match self.labels.get(&label) {
                Some(reference) => {
                    self.opened += 1;
                    ClientReply::Opened { reference: *reference, store: Store::Des, token_bytes: 64 }
                }
                None if self.records.get(&label).is_some_and(Vec::is_empty) => {
                    ClientReply::Refused(Refusal::Verb(code::TOKEN_INVALID))
                }
                None => ClientReply::Refused(Refusal::Verb(code::LABEL_NOT_FOUND)),
            },
            ClientRequest::Reload => ClientReply::Done,
            ClientRequest::Call { verb, payload, .. } => self.call(verb, &payload),
            _ => ClientReply::Refused(Refusal::Invalid("not in this test".into())),
        };
        (reply, Vec::new())
    }

    /// Every record reads as a token of nines, and nothing is written.
    fn call(&mut self, verb: u16, payload: &[u8]) -> ClientReply {
        let verb = Verb::from_number(verb).unwrap();
        let arguments = Arguments::read_request(verb, payload).unwrap();
        let mut payload = Vec::new();
        let codes = match verb {
            Verb::DesKeyRecordRead => {
                let read = des_key_record_read::Answer { key_token: Some(&[9; 64]) };
                read.write(&arguments, &mut payload).unwrap();
                code::OK
            }
            Verb::KeyRecordsWrite => self.write(&arguments),
            verb => return ClientReply::Refused(Refusal::Invalid(format!("{verb:?}: not in this test"))),
        };
        ClientReply::Called { codes, payload }
    }

    /// Both records or neither.
    fn write(&mut self, arguments: &Arguments<'_>) -> Codes {
        use key_records_write::*;
        assert_eq!(arguments.bytes(RULE_ARRAY), b"REPLACE ");
        let label = |at| Label::from_field(arguments.bytes(at)).ok();
        let pairs = [(KEY_LABEL_1, KEY_TOKEN_1), (KEY_LABEL_2, KEY_TOKEN_2)];
        let pairs: Vec<_> = pairs.into_iter().filter_map(|(at, token)| Some((label(at)?, token))).collect();
        if self.goes_away == Some(false) || !pairs.iter().all(|(label, _)| self.records.contains_key(label)) {
            return code::LABEL_NOT_FOUND;
        }
        for (label, token) in pairs {
            self.records.insert(label, arguments.bytes(token).to_vec());
        }
        code::OK
    }

    fn attach(
        &mut self,
        index: usize,
        domain: u16,
        [slots, blocks]: [u32; 2],
        completion: Option<&OwnedFd>,
    ) -> (ClientReply, Vec<OwnedFd>) {
        if domain != 0 {
            return (ClientReply::Refused(Refusal::Invalid("no such domain".into())), Vec::new());
        }
        let Some(card) = self.cards.get(index) else {
            return (ClientReply::Refused(Refusal::NoSuchCard), Vec::new());
        };
        if !card.row.state.serves() || card.stop.load(Ordering::SeqCst) {
            return (ClientReply::Refused(Refusal::NoCardReady), Vec::new());
        }
        if self.queues >= self.queues_max {
            let full = Refusal::Full { what: "queues of this test".into(), limit: self.queues_max };
            return (ClientReply::Refused(full), Vec::new());
        }
        // One that a request killed is not noted as dead yet.
        let Ok(life) = PidFd::open(card.row.pid) else {
            return (ClientReply::Refused(Refusal::NoCardReady), Vec::new());
        };
        self.queues += 1;
        let queue = self.queues;
        let memory = QueueMemory::create_with(slots, blocks, queue).unwrap();
        let completion = completion.map(|end| end.try_clone().unwrap());
        card.queues.send((queue, memory.for_card().unwrap(), completion)).unwrap();
        drop(Doorbell::connect(&self.home.card_doorbell(index as u32)).map(|bell| {
            // A full doorbell rings already.
            let _ = rustix::net::send(&bell, &[], rustix::net::SendFlags::DONTWAIT);
        }));
        let [request, reply] = memory.for_client().unwrap();
        let descriptors = vec![
            request,
            reply,
            Doorbell::connect(&self.home.card_doorbell(index as u32)).unwrap(),
            StatusPage::read_only(card.status.as_fd()).unwrap(),
            life.into_fd(),
        ];
        self.attached.push((queue, index as u32));
        (ClientReply::Attached { queue, card: card.row.clone(), slots }, descriptors)
    }
}

fn serve(channel: &Channel, world: &Mutex<World>, stopped: &AtomicBool) {
    let mut completion = None;
    while !stopped.load(Ordering::SeqCst) {
        match channel.recv_timeout::<ClientRequest>(Duration::from_millis(5)) {
            Ok((request, _)) => {
                let is_write = matches!(&request, ClientRequest::Call { verb, .. } if *verb == Verb::KeyRecordsWrite as u16);
                let mut world = world.lock().unwrap();
                let (reply, descriptors) = world.answer(request, &mut completion);
                if is_write && world.goes_away.take().is_some() {
                    return;
                }
                drop(world);
                let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
                let _ = channel.send(&reply, &descriptors);
            }
            Err(link::ChannelError::TimedOut) => {}
            Err(_) => return,
        }
    }
}

/// A card's thread.
struct Run {
    index: u32,
    doorbell: Doorbell,
    page: Arc<StatusPage>,
    held: Arc<AtomicU64>,
    new_queues: Receiver<NewQueue>,
    life: Arc<Mutex<Child>>,
    stop: Arc<AtomicBool>,
    served: Arc<AtomicU64>,
    ends: Arc<AtomicU64>,
    script: Script,
    paused: Arc<AtomicBool>,
}

impl Run {
    fn run(self) {
        let mut queues: Vec<CardQueue> = Vec::new();
        let mut payload = Vec::new();
        while !self.stop.load(Ordering::SeqCst) {
            for (queue, [request, reply], completion) in self.new_queues.try_iter() {
                let parts = CardParts { request, reply, completion, slots: 64, queue };
                queues.push(CardQueue::join(parts).unwrap());
            }
            let ends = self.ends.load(Ordering::SeqCst);
            if ends != 0 {
                queues.retain(|queue| queue.queue() != ends);
                self.ends.store(0, Ordering::SeqCst);
            }
            let held = RegisterSet::from_bits(self.held.load(Ordering::SeqCst));
            queues.iter().for_each(|queue| queue.set_registers(held));
            let is_paused = self.paused.load(Ordering::SeqCst);
            for queue in &mut queues {
                for slot in slots(if is_paused { 0 } else { queue.pending() }) {
                    let header = queue.take(slot, &mut payload).unwrap();
                    let verb = Verb::from_number(header.verb).unwrap();
                    let arguments = Arguments::read_request(verb, &payload).unwrap();
                    self.served.fetch_add(1, Ordering::SeqCst);
                    let (outcome, codes, reply) = match (self.script)(self.index, verb, &arguments) {
                        Act::Answer(codes, reply) => (Outcome::Answered, codes, reply),
                        Act::Refuse(outcome) => (outcome, code::OK, Vec::new()),
                        Act::Keep => continue,
                        Act::Die => {
                            self.stop.store(true, Ordering::SeqCst);
                            let mut life = self.life.lock().unwrap();
                            life.kill().unwrap();
                            life.wait().unwrap();
                            return;
                        }
                    };
                    let header = ReplyHeader { outcome, codes, start_tsc: 1, end_tsc: 2, ..ANSWERED };
                    queue.reply(slot, &header, &reply).unwrap();
                }
            }
            let timeout = Some(Duration::from_millis(2));
            let pending = || !is_paused && queues.iter().any(|queue| queue.pending() != 0);
            self.doorbell.sleep(&self.page, &[], timeout, pending).unwrap();
        }
    }
}
