//! A program that is connected as to the kernel's XFRM, written and read by a codec that is not ours.

use crate::net::{FAR, FAR_INSIDE, FAR_INSIDE_V6, NEAR, NEAR_INSIDE, NEAR_INSIDE_V6, PATIENCE, ip};
use netlink_packet_core::{NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_xfrm::state::{DelGetMessage, GetDumpMessage, ModifyMessage};
use netlink_packet_xfrm::{
    Address, AlgAead, LifetimeConfig, UserSaId, UserSaInfo, UserTemplate, XfrmAttrs, XfrmMessage, policy,
};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

pub const REQUEST: u16 = 1;
pub const ACK: u16 = 4;
pub const DUMP: u16 = 0x300;
/// `XFRMGRP_EXPIRE` of linux/xfrm.h, a bit of nl_groups.
pub const EXPIRES: u32 = 2;
/// A key that is found wherever it is not meant to be.
pub const KEY: [u8; 16] = *b"the key of an SA";

/// A reply or an event.
pub struct Answer {
    pub message: Option<XfrmMessage>,
    /// Of an acknowledgement: 0 or an error number.
    pub errno: Option<i32>,
    /// Of a refusal: the text of its extended acknowledgement.
    pub text: String,
    pub is_done: bool,
}

pub struct Xfrm {
    pub socket: OwnedFd,
    sequence: u32,
}

/// Connects to a socket of sequenced packets.
pub fn connect(path: &Path) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(PATIENCE.as_secs() as i64))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

impl Xfrm {
    pub fn connect(path: &Path, groups: u32) -> Xfrm {
        let socket = connect(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut xfrm = Xfrm { socket, sequence: 0 };
        // The header of NLMSG_NOOP, a port, groups, and that texts are wanted.
        let hello: Vec<u8> =
            [28_u32, 1, 0, 0, 1000, groups, 1].iter().flat_map(|word| word.to_ne_bytes()).collect();
        xfrm.raw(&hello);
        xfrm
    }

    pub fn raw(&mut self, datagram: &[u8]) {
        rustix::net::send(&self.socket, datagram, SendFlags::NOSIGNAL).unwrap();
    }

    pub fn send(&mut self, message: XfrmMessage, flags: u16) {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        (header.flags, header.sequence_number) = (REQUEST | flags, self.sequence);
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        let mut datagram = vec![0; message.buffer_len()];
        message.serialize(&mut datagram);
        self.raw(&datagram);
    }

    /// The next datagram; none where the connection ended.
    pub fn receive(&self) -> Option<Vec<Answer>> {
        let mut memory = vec![0; 1 << 17];
        // A socket with a timeout does not go on by itself where the process was stopped for a while.
        let received = rustix::io::retry_on_intr(|| {
            rustix::net::recv(&self.socket, &mut memory[..], RecvFlags::empty())
        });
        if let Err(errno) = received {
            assert_eq!(errno, rustix::io::Errno::CONNRESET, "no answer in time");
        }
        let (_, bytes) = received.ok()?;
        (bytes > 0).then(|| decode(&memory[..bytes]))
    }

    /// The error number of a request.
    pub fn errno(&mut self, message: XfrmMessage) -> i32 {
        self.refusal(message).0
    }

    /// The same, and why.
    pub fn refusal(&mut self, message: XfrmMessage) -> (i32, String) {
        self.send(message, ACK);
        loop {
            let answers = self.receive().unwrap_or_else(|| panic!("the connection ended"));
            let told = answers.into_iter().find_map(|answer| Some((answer.errno?, answer.text)));
            if let Some(told) = told {
                return told;
            }
        }
    }

    pub fn ok(&mut self, message: XfrmMessage) {
        let text = format!("{message:?}");
        assert_eq!(self.errno(message), 0, "{text}");
    }

    /// SPIs of the SAs that there are.
    pub fn dump(&mut self) -> Vec<u32> {
        self.send(XfrmMessage::GetDumpSa(GetDumpMessage::default()), DUMP);
        let mut found = Vec::new();
        loop {
            for answer in self.receive().expect("an answer") {
                match answer.message {
                    Some(XfrmMessage::AddSa(sa)) => found.push(sa.user_sa_info.id.spi),
                    _ if answer.is_done => return found,
                    _ => {}
                }
            }
        }
    }
}

fn decode(datagram: &[u8]) -> Vec<Answer> {
    let (mut rest, mut answers) = (datagram, Vec::new());
    while !rest.is_empty() {
        let length = u32::from_ne_bytes(rest[..4].try_into().unwrap()) as usize;
        let message =
            NetlinkMessage::<XfrmMessage>::deserialize(&rest[..length]).expect("every reply is read");
        let mut answer = Answer { message: None, errno: None, text: String::new(), is_done: false };
        match message.payload {
            NetlinkPayload::InnerMessage(message) => answer.message = Some(message),
            NetlinkPayload::Error(error) => {
                answer.errno = Some(error.code.map_or(0, |code| -code.get()));
                // Behind its header, the number and the request's header stands the attribute.
                let text = rest[..length].get(16 + 20 + 4..).unwrap_or_default();
                answer.text = String::from_utf8_lossy(text).trim_end_matches('\0').to_owned();
            }
            NetlinkPayload::Done(_) => answer.is_done = true,
            other => panic!("{other:?}"),
        }
        answers.push(answer);
        rest = &rest[length.next_multiple_of(4).min(rest.len())..];
    }
    answers
}

fn family(address: &str) -> u16 {
    if ip(address).is_ipv4() { 2 } else { 10 }
}

/// An SA of a tunnel from one end to the other, in UDP.
pub fn sa(source: &str, destination: &str, spi: u32) -> XfrmMessage {
    let mut info = UserSaInfo {
        saddr: Address::from_ip(&ip(source)),
        family: family(destination),
        mode: 1,
        reqid: 7,
        replay_window: 32,
        lifetime_cfg: LifetimeConfig::default(),
        ..UserSaInfo::default()
    };
    (info.id.daddr, info.id.spi, info.id.proto) = (Address::from_ip(&ip(destination)), spi, 50);
    let mut alg_name = [0; 64];
    let name = b"rfc4106(gcm(aes))";
    alg_name[..name.len()].copy_from_slice(name);
    let alg_key = [&KEY[..], &spi.to_be_bytes()].concat();
    let aead = AlgAead { alg_name, alg_key_len: 8 * alg_key.len() as u32, alg_icv_len: 128, alg_key };
    XfrmMessage::AddSa(ModifyMessage { user_sa_info: info, nlas: vec![XfrmAttrs::EncryptionAlgAead(aead)] })
}

/// A policy that protects what goes between two networks of so many bits. Directions: 0 in, 1 out, 2 forward.
pub fn policy(direction: u8, inside: (&str, &str), bits: u8, outside: (&str, &str)) -> XfrmMessage {
    let mut message = policy::ModifyMessage::default();
    let info = &mut message.user_policy_info;
    info.selector.source_prefix(&ip(inside.0), bits);
    info.selector.destination_prefix(&ip(inside.1), bits);
    info.selector.family = family(inside.0);
    info.direction = direction;
    info.priority = 100;
    let mut template = UserTemplate {
        id: netlink_packet_xfrm::Id::default(),
        family: family(outside.1),
        saddr: Address::from_ip(&ip(outside.0)),
        reqid: 7,
        mode: 1,
        share: 0,
        optional: 0,
        aalgos: u32::MAX,
        ealgos: u32::MAX,
        calgos: u32::MAX,
    };
    (template.id.daddr, template.id.proto) = (Address::from_ip(&ip(outside.1)), 50);
    message.nlas.push(XfrmAttrs::Template(vec![template]));
    XfrmMessage::AddPolicy(message)
}

/// A policy for one protocol, and its ports: 0 for any.
pub fn with_ports(message: XfrmMessage, protocol: u8, (source, destination): (u16, u16)) -> XfrmMessage {
    let XfrmMessage::AddPolicy(mut policy) = message else { panic!("{message:?}") };
    let selector = &mut policy.user_policy_info.selector;
    selector.proto = protocol;
    (selector.sport, selector.dport) = (source, destination);
    let mask = |port: u16| if port == 0 { 0 } else { u16::MAX };
    (selector.sport_mask, selector.dport_mask) = (mask(source), mask(destination));
    XfrmMessage::AddPolicy(policy)
}

/// The same of transport mode.
pub fn transport(mut message: XfrmMessage) -> XfrmMessage {
    match &mut message {
        XfrmMessage::AddSa(sa) => sa.user_sa_info.mode = 0,
        XfrmMessage::AddPolicy(policy) => {
            for attribute in &mut policy.nlas {
                if let XfrmAttrs::Template(templates) = attribute {
                    templates.iter_mut().for_each(|template| template.mode = 0);
                }
            }
        }
        other => panic!("{other:?}"),
    }
    message
}

/// The policies of one end for both families inside.
pub fn policies(is_near: bool) -> Vec<XfrmMessage> {
    let (own, other) = if is_near { (NEAR, FAR) } else { (FAR, NEAR) };
    let mut all = Vec::new();
    for (near, far, bits) in [(NEAR_INSIDE, FAR_INSIDE, 16), (NEAR_INSIDE_V6, FAR_INSIDE_V6, 64)] {
        let (own_inside, other_inside) = if is_near { (near, far) } else { (far, near) };
        all.push(policy(1, (own_inside, other_inside), bits, (own, other)));
        all.push(policy(0, (other_inside, own_inside), bits, (other, own)));
        all.push(policy(2, (other_inside, own_inside), bits, (other, own)));
    }
    all
}

/// The SAs of a tunnel, which are those of both ends.
pub fn sas(first: u32) -> Vec<XfrmMessage> {
    vec![sa(NEAR, FAR, first), sa(FAR, NEAR, first + 1)]
}

/// The request that removes an SA.
pub fn removal(destination: &str, spi: u32) -> XfrmMessage {
    let destination_field = Address::from_ip(&ip(destination));
    let name = UserSaId { daddr: destination_field, spi, family: family(destination), proto: 50 };
    XfrmMessage::DeleteSa(DelGetMessage { user_sa_id: name, nlas: Vec::new() })
}
