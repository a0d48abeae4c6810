//! A server with one epoll loop: clients send texts over a Unix socket and get MACs under a key that only cards hold.
//! Nothing in the loop waits for a card, a label or the daemon.
//!
//! ```text
//! server HOME SOCKET LABEL
//! request: number (8 bytes, little-endian), length (4), text        answer: number (8), code (4), MAC (8)
//! ```
//! Answers come in the order in which they are ready; code is 0, or says that there is no MAC. When standard input is
//! closed the server ends, and says how many requests were in flight at the most.

use facility::{Completions, Facility, Reply};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use wire::Label;
use wire::verb::{MacFormat, MacMethod, Segment, TypedGot, mac_generate};

/// Requests in flight, at the most: beyond, nothing more is read.
const IN_FLIGHT_MAX: usize = 1000;
/// Longest text.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// What a client does not take of its answers, before it is disconnected.
const UNSENT_BYTES_MAX: usize = 1 << 20;
const HEAD_BYTES: usize = 12;

const LISTENER: u64 = 0;
const COMPLETIONS: u64 = 1;
const INPUT: u64 = 2;
/// Clients are numbered from here.
const CLIENTS: u64 = 3;

struct Client {
    socket: OwnedFd,
    /// Read and not yet asked; answered and not yet sent.
    read: Vec<u8>,
    unsent: Vec<u8>,
}

struct Server {
    epoll: OwnedFd,
    listener: OwnedFd,
    completions: Completions,
    key: Label,
    clients: HashMap<u64, Client>,
    next_client: u64,
    /// Client and number of each request in flight, by the loop's number.
    asked: HashMap<u64, (u64, u64)>,
    next_number: u64,
    most: usize,
}

/// Runs the server.
pub fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [home, socket, label] = &arguments[..] else {
        eprintln!("server HOME SOCKET LABEL");
        std::process::exit(2);
    };
    match Server::new(home, socket, label).and_then(|mut server| server.run()) {
        Ok(most) => println!("{most} requests in flight at the most"),
        Err(error) => {
            eprintln!("server: {error}");
            std::process::exit(1);
        }
    }
}

impl Server {
    fn new(home: &str, path: &str, label: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let facility = Facility::open(Path::new(home), facility::Options::default())?;
        let completions = facility.completions()?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::bind(&listener, &SocketAddrUnix::new(path)?)?;
        rustix::net::listen(&listener, 128)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, &completions, EventData::new_u64(COMPLETIONS), EventFlags::IN)?;
        epoll::add(&epoll, std::io::stdin(), EventData::new_u64(INPUT), EventFlags::IN)?;
        let key = Label::new(label)?;
        let (clients, asked) = (HashMap::new(), HashMap::new());
        let (next_client, next_number, most) = (CLIENTS, 0, 0);
        Ok(Self { epoll, listener, completions, key, clients, next_client, asked, next_number, most })
    }

    fn run(&mut self) -> Result<usize, Box<dyn std::error::Error>> {
        let (mut reply, mut events) = (Reply::new(), Vec::<Event>::with_capacity(256));
        loop {
            while let Some((number, answer)) = self.completions.collect(&mut reply) {
                let mac = answer.is_ok().then_some(&reply).filter(|reply| reply.codes().is_ok());
                let got =
                    |reply: &Reply| mac_generate::Got::of(&reply.arguments()).mac.get(..8)?.try_into().ok();
                let mac = mac.and_then(got);
                self.answer(number, mac);
            }
            // What was read and not asked, for there were too many, is asked now.
            let waiting = self.clients.iter().filter(|(_, client)| client.read.len() >= HEAD_BYTES);
            for id in waiting.map(|(id, _)| *id).collect::<Vec<_>>() {
                self.ask(id);
            }
            if !self.completions.arm() {
                continue;
            }
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            for event in &events {
                // The structure is packed: the field is copied before use.
                let data = event.data;
                match data.u64() {
                    LISTENER => self.accept(),
                    COMPLETIONS => {}
                    INPUT => return Ok(self.most),
                    id => self.hear(id),
                }
            }
        }
    }

    fn accept(&mut self) {
        while let Ok(socket) =
            rustix::net::accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
        {
            let (id, data) = (self.next_client, EventData::new_u64(self.next_client));
            if epoll::add(&self.epoll, &socket, data, EventFlags::IN | EventFlags::OUT | EventFlags::ET)
                .is_ok()
            {
                self.next_client += 1;
                self.clients.insert(id, Client { socket, read: Vec::new(), unsent: Vec::new() });
            }
        }
    }

    /// Reads what a client sent, and asks it; takes along what it has not taken of its answers.
    fn hear(&mut self, id: u64) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let mut is_gone = client.send().is_err();
        let mut buffer = [0; 64 * 1024];
        loop {
            match rustix::net::recv(&client.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => is_gone = true,
                Ok((count, _)) => {
                    client.read.extend_from_slice(&buffer[..count]);
                    continue;
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => is_gone = true,
            }
            break;
        }
        self.ask(id);
        if is_gone {
            self.clients.remove(&id);
        }
    }

    /// Submits what a client asks, as long as there are not too many in flight.
    fn ask(&mut self, id: u64) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let mut at = 0;
        while self.completions.in_flight() < IN_FLIGHT_MAX {
            let Some((head, rest)) = client.read[at..].split_at_checked(HEAD_BYTES) else { break };
            let number = u64::from_le_bytes(head[..8].try_into().unwrap_or_default());
            let length = u32::from_le_bytes(head[8..].try_into().unwrap_or_default()) as usize;
            if length > TEXT_BYTES_MAX {
                self.clients.remove(&id);
                return;
            }
            let Some(text) = rest.get(..length) else { break };
            let ask = mac_generate::Ask {
                key_identifier: (&self.key).into(),
                text,
                method: Some(MacMethod::X99),
                segment: Some(Segment::Only),
                format: Some(MacFormat::Bytes8),
                chaining_vector: Some(&[0; 18]),
                ..mac_generate::Ask::new()
            };
            self.next_number += 1;
            if self.completions.ask(self.next_number, 0, &ask).is_err() {
                self.clients.remove(&id);
                return;
            }
            self.asked.insert(self.next_number, (id, number));
            at += HEAD_BYTES + length;
            self.most = self.most.max(self.completions.in_flight());
        }
        client.read.drain(..at);
    }

    fn answer(&mut self, number: u64, mac: Option<[u8; 8]>) {
        let Some((id, number)) = self.asked.remove(&number) else { return };
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.unsent.extend_from_slice(&number.to_le_bytes());
        client.unsent.extend_from_slice(&u32::from(mac.is_none()).to_le_bytes());
        client.unsent.extend_from_slice(&mac.unwrap_or_default());
        if client.send().is_err() || client.unsent.len() > UNSENT_BYTES_MAX {
            self.clients.remove(&id);
        }
    }
}

impl Client {
    fn send(&mut self) -> Result<(), Errno> {
        while !self.unsent.is_empty() {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match rustix::net::send(self.socket.as_fd(), &self.unsent, flags) {
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}
