//! Tables without a packet path, for programs that speak NETLINK_XFRM through a socket of the file system: what they
//! add is listed, and nothing is sealed.
//!
//! ```text
//! cargo run --release -p xfrm --example serve -- SOCKET [--weak] [--journal=FILE] [ADDRESS ...]
//! ```
//!
//! The addresses are those of this machine. The journal is read at the start and written at each change. One thread
//! waits for all clients; SIGINT ends it.
#![forbid(unsafe_code)]

use engine::{Engine, Options};
use ipsec::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept, bind, listen, recv,
    send, socket_with,
};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use xfrm::{Client, Outbox, Settings, Unkeeping, Xfrm};

/// Longest datagram that is read.
const DATAGRAM_BYTES: usize = 65_536;

fn main() {
    let mut given = std::env::args().skip(1);
    let path = given.next().expect("usage: serve SOCKET [--weak] [--journal=FILE] [ADDRESS ...]");
    let (flags, addresses): (Vec<_>, Vec<_>) = given.partition(|text| text.starts_with("--"));
    let settings = Settings { weak_suites: flags.iter().any(|flag| flag == "--weak"), ..Settings::default() };
    let mut xfrm = Xfrm::new(Engine::new(Options::default()).expect("an engine"), settings);
    xfrm.set_local(addresses.iter().map(|text| text.parse().expect("an address")));
    let _ = std::fs::remove_file(&path);
    let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let listener = listener.expect("a socket");
    bind(&listener, &SocketAddrUnix::new(&path).expect("a short path")).expect("a free path");
    listen(&listener, 16).expect("a listener");
    let begun = Instant::now();
    let wall = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let journal = flags.iter().find_map(|flag| flag.strip_prefix("--journal="));
    if let Some(bytes) = journal.and_then(|path| std::fs::read(path).ok()) {
        xfrm.restore(&bytes, Time::default(), wall()).expect("a journal");
    }
    let mut written = xfrm.versions();
    let mut clients: BTreeMap<Client, OwnedFd> = BTreeMap::new();
    let (mut next, mut out) = (0, Outbox::new());
    let mut memory = vec![0; DATAGRAM_BYTES];
    loop {
        let now = || Time(begun.elapsed());
        let wait = xfrm.due().map(|due| due.since(now()));
        let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
        let mut waited = vec![PollFd::new(&listener, PollFlags::IN)];
        waited.extend(clients.values().map(|socket| PollFd::new(socket, PollFlags::IN)));
        poll(&mut waited, wait.as_ref()).expect("to wait");
        let ready: Vec<bool> = waited.iter().map(|waited| !waited.revents().is_empty()).collect();
        if ready[0] {
            clients.insert(Client(next), accept(&listener).expect("a client"));
            next += 1;
        }
        let with_news: Vec<Client> =
            clients.keys().zip(&ready[1..]).filter(|(_, ready)| **ready).map(|(client, _)| *client).collect();
        for client in with_news {
            match recv(clients[&client].as_fd(), memory.as_mut_slice(), RecvFlags::empty()) {
                Ok((_, bytes)) if bytes > 0 => {
                    let bytes = bytes.min(memory.len());
                    xfrm.request(client, &mut memory[..bytes], now(), wall(), &mut Unkeeping, &mut out);
                    while xfrm.is_dumping(client) {
                        xfrm.continue_dump(client, now(), wall(), &mut out);
                    }
                }
                _ => {
                    clients.remove(&client);
                    xfrm.forget(client);
                }
            }
        }
        xfrm.tick(now(), wall(), &mut Unkeeping, &mut out);
        xfrm.close_removed();
        if let Some(path) = journal.filter(|_| xfrm.versions() != written) {
            written = xfrm.versions();
            std::fs::write(path, xfrm.journal(now(), wall())).expect("to write the journal");
        }
        while let Some((client, datagram)) = out.take() {
            // A program that is gone, or reads nothing, loses what was for it.
            let socket = clients.get(&client);
            let _ = socket.map(|socket| send(socket, &datagram, SendFlags::DONTWAIT | SendFlags::NOSIGNAL));
        }
    }
}
