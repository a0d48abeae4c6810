//! A card that lies. It stands in the place of `cryptand-card` in a test's settings: it starts, attaches and
//! takes requests as a card does, and then answers as the name of its program file says ([`Lie`]).
//!
//! Only the first card lies; the others and the keeper are the real program, which lies beside this one as
//! `cryptand-card`. Nothing here is sandboxed or holds a key.
#![forbid(unsafe_code)]

use link::{CardQueue, Channel, ChannelError};
use rustix::net::{RecvFlags, SendFlags};
use seeded::Random;
use stand_in::{ANSWERED, Started, attached, inherited, slots};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::time::Duration;
use system_tests::hostile::Lie;
use wire::bounds::{CONTROL_BYTES_MAX, HEADER_BYTES};
use wire::control::{CardNotice, CardOrder, CardState, Delivery, Received, decode};
use wire::frame::{Outcome, ReplyHeader};
use wire::grant::Grant;

/// Where the slots of a queue's memory begin, and how far apart they lie (`link::queue`).
const SLOTS_AT: u64 = 4096;
const SLOT_BYTES: u64 = 4160;
/// Within a header line of the reply memory.
const REPLY_WORD: u64 = HEADER_BYTES as u64 - 8;
/// Time between two looks at the queues.
const LOOK_EVERY: Duration = Duration::from_micros(200);

struct Queue {
    number: u64,
    queue: CardQueue,
    reply: OwnedFd,
}

struct Card {
    lie: Lie,
    channel: Channel,
    started: Started,
    queues: Vec<Queue>,
    /// The keeper, from whom it takes its registers as any card does: else it would not be asked anything.
    keeper: Channel,
    random: Random,
}

fn main() {
    let path = PathBuf::from(std::env::args_os().next().expect("a program has a name"));
    let socket = inherited().expect("descriptor 3");
    let mut bytes = vec![0; CONTROL_BYTES_MAX];
    let keeper = std::env::args().count() > 1;
    // The first message is looked at and left where it is: the real program is to take it.
    let first = if keeper {
        0
    } else {
        rustix::net::recv(&socket, &mut bytes[..], RecvFlags::PEEK).map_or(0, |(count, _)| count)
    };
    let is_first_card =
        matches!(decode::<CardOrder>(&bytes[..first]), Ok(CardOrder::Start(start)) if start.index == 0);
    if !is_first_card {
        let error = std::process::Command::new(path.with_file_name("cryptand-card"))
            .args(std::env::args_os().skip(1))
            .exec();
        panic!("the real program is not executed: {error}");
    }
    let name = path.file_name().expect("a program has a name").to_string_lossy().into_owned();
    let lie = Lie::ALL.into_iter().find(|lie| lie.name() == name).expect("the name of a lie");
    Card::start(lie, Channel::from_fd(socket).expect("a control channel")).run();
}

impl Card {
    fn start(lie: Lie, channel: Channel) -> Self {
        let mut started = Started::take(&channel).expect("the first order is the start");
        started.status.set_state(CardState::Ready);
        let keeper = started.more.pop().expect("a coprocessor's keeper");
        let keeper = Channel::from_fd(keeper).expect("a socket");
        let ready =
            CardNotice::Ready { level: "portable".to_owned(), lanes: 1, isolation: Default::default() };
        channel.send(&ready, &[]).expect("the daemon listens");
        let (queues, random) = (Vec::new(), Random(13));
        Self { lie, channel, started, queues, keeper, random }
    }

    fn run(mut self) {
        loop {
            match self.channel.try_recv::<CardOrder>() {
                Ok((CardOrder::Stop, _)) | Err(ChannelError::Closed) => return,
                Ok((CardOrder::Attach { grant, slots }, descriptors)) => {
                    self.attach(&grant, slots, descriptors)
                }
                Ok((CardOrder::Detach { queue }, _)) => {
                    self.queues.retain(|of| of.number != queue);
                    let _ = self.channel.try_send(&CardNotice::Detached { queue }, &[]);
                }
                Ok(_) => {}
                Err(_) => std::thread::sleep(LOOK_EVERY),
            }
            if let Ok((delivery, _)) = self.keeper.try_recv::<Delivery>() {
                let received = Received { domain: delivery.handout.domain, serial: delivery.serial };
                let _ = self.keeper.try_send(&received, &[]);
            }
            for index in 0..self.queues.len() {
                self.look_at(index);
            }
        }
    }

    fn attach(&mut self, grant: &Grant, slots: u32, descriptors: Vec<OwnedFd>) {
        let reply = descriptors[1].try_clone().expect("a descriptor");
        let queue = attached(grant.queue, slots, descriptors).expect("a queue");
        self.queues.push(Queue { number: grant.queue, queue, reply });
        let _ = self.channel.try_send(&CardNotice::Attached { queue: grant.queue }, &[]);
    }

    fn look_at(&mut self, index: usize) {
        let (lie, mut payload) = (self.lie, Vec::new());
        for slot in slots(self.queues[index].queue.pending()) {
            let of = &mut self.queues[index];
            let Ok(header) = of.queue.take(slot, &mut payload) else { return };
            let honest = ReplyHeader { sequence: header.sequence, ..ANSWERED };
            let mut put = |outcome, payload: &[u8]| {
                of.queue.reply(slot, &ReplyHeader { outcome, ..honest }, payload).expect("a taken request");
            };
            match lie {
                Lie::Sequence => of.write(slot, &honest.to_bytes(), header.sequence.wrapping_add(640)),
                Lie::Header => {
                    let other = ReplyHeader { sequence: header.sequence ^ 1, ..honest };
                    of.write(slot, &other.to_bytes(), header.sequence);
                }
                Lie::Length => {
                    let long = ReplyHeader { payload_bytes: u32::MAX, ..honest };
                    of.write(slot, &long.to_bytes(), header.sequence);
                }
                Lie::Block => {
                    let block = ReplyHeader { bulk: 99, payload_bytes: 5000, ..honest };
                    of.write(slot, &block.to_bytes(), header.sequence);
                }
                Lie::Outcome => {
                    let mut bytes = honest.to_bytes();
                    bytes[2..4].copy_from_slice(&999_u16.to_le_bytes());
                    of.write(slot, &bytes, header.sequence);
                }
                Lie::Payload => put(Outcome::Answered, &self.random.bytes(40)),
                Lie::NotReady => put(Outcome::NotReady, &[]),
                Lie::Reference => put(Outcome::KeyReference, &[]),
                Lie::Silence => {}
                Lie::Crash => std::process::abort(),
                Lie::Status => {
                    self.started.status.set_queue_length(u64::MAX);
                    rustix::io::pwrite(&self.started.page, &self.random.bytes(2048), 64)
                        .expect("an own page");
                    put(Outcome::NotReady, &[]);
                }
                Lie::Notice => {
                    let _ = rustix::net::send(&self.channel, &self.random.bytes(300), SendFlags::NOSIGNAL);
                }
            }
        }
    }
}

impl Queue {
    /// Writes a reply past the rules of the link: its header, then its reply word.
    fn write(&self, slot: u32, header: &[u8; HEADER_BYTES], word: u64) {
        let at = SLOTS_AT + u64::from(slot) * SLOT_BYTES;
        rustix::io::pwrite(&self.reply, &header[..REPLY_WORD as usize], at).expect("an own memory");
        rustix::io::pwrite(&self.reply, &word.to_le_bytes(), at + REPLY_WORD).expect("an own memory");
    }
}
