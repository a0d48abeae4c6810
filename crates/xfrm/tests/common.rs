//! Requests written and replies read by a codec that is not ours, over tables of one test.

use engine::{Engine, Options};
use ipsec::Time;
use netlink_packet_core::{NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_xfrm::state::{AllocSpiMessage, DelGetMessage, ModifyMessage};
use netlink_packet_xfrm::{
    Address, Alg, AlgAead, AlgAuth, LifetimeConfig, UserSaId, UserSaInfo, UserSpiInfo, UserTemplate,
    XfrmAttrs, XfrmMessage, policy,
};
use std::net::IpAddr;
use xfrm::{Client, Keeper, Outbox, Settings, Unkeeping, Xfrm};

pub const REQUEST: u16 = 1;
pub const ACK: u16 = 4;
pub const DUMP: u16 = 0x300;

pub const ESRCH: i32 = 3;
pub const ENOENT: i32 = 2;
pub const ENOMEM: i32 = 12;
pub const EBUSY: i32 = 16;
pub const ENOSPC: i32 = 28;
pub const EEXIST: i32 = 17;
pub const EINVAL: i32 = 22;
pub const ERANGE: i32 = 34;
pub const ENOSYS: i32 = 38;
pub const EPROTONOSUPPORT: i32 = 93;
pub const EOPNOTSUPP: i32 = 95;

/// A key that is found wherever it is not meant to be.
pub const KEY: [u8; 16] = *b"the key of an SA";

pub fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// A reply or an event, as it came and as the codec reads it.
pub struct Answer {
    pub raw: Vec<u8>,
    pub header: NetlinkHeader,
    pub message: Option<XfrmMessage>,
    /// Of an acknowledgement: 0 or an error number.
    pub errno: Option<i32>,
    pub is_done: bool,
}

impl Answer {
    /// The text of an extended acknowledgement.
    pub fn text(&self) -> String {
        // Behind the header, the number and the request's header stands the attribute.
        let text = self.raw.get(16 + 20 + 4..).unwrap_or(&[]);
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        String::from_utf8(text[..end].to_vec()).expect("text")
    }
}

pub fn engine() -> Engine {
    Engine::new(Options::default()).expect("an engine")
}

pub struct Bench {
    pub xfrm: Xfrm,
    pub out: Outbox,
    pub now: u64,
    pub wall: u64,
    sequence: u32,
}

pub const NEAR: &str = "192.0.2.1";
pub const FAR: &str = "198.51.100.7";

impl Bench {
    pub fn new() -> Bench {
        Bench::with(Settings { weak_suites: true, ..Settings::default() })
    }

    pub fn with(settings: Settings) -> Bench {
        let mut xfrm = Xfrm::new(engine(), settings);
        xfrm.set_local([ip(NEAR), ip("2001:db8::1")]);
        let mut bench = Bench { xfrm, out: Outbox::new(), now: 1000, wall: 1_700_000_000, sequence: 0 };
        bench.hello(1, 0);
        bench
    }

    pub fn time(&self) -> Time {
        Time::seconds(self.now)
    }

    pub fn pass(&mut self, seconds: u64) {
        self.now += seconds;
        self.wall += seconds;
        self.xfrm.tick(Time::seconds(self.now), self.wall, &mut Unkeeping, &mut self.out);
    }

    /// A client's port is 1000 and its number; it asks for texts.
    pub fn hello(&mut self, client: u64, groups: u32) {
        let numbers = [28_u32, 1, 0, 0, 1000 + client as u32, groups, 1];
        let mut datagram: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        self.raw(client, &mut datagram);
    }

    pub fn raw(&mut self, client: u64, datagram: &mut [u8]) {
        self.raw_with(&mut Unkeeping, client, datagram);
    }

    fn raw_with(&mut self, keeper: &mut dyn Keeper, client: u64, datagram: &mut [u8]) {
        let now = Time::seconds(self.now);
        self.xfrm.request(Client(client), datagram, now, self.wall, keeper, &mut self.out);
    }

    pub fn send(&mut self, client: u64, message: XfrmMessage, flags: u16) -> u32 {
        self.sequence += 1;
        let mut datagram = encode(message, flags, self.sequence);
        self.raw(client, &mut datagram);
        assert!(datagram.iter().all(|byte| *byte == 0), "requests are wiped");
        self.sequence
    }

    /// What the first client is sent for a request, by which a keeper is asked.
    pub fn keep(&mut self, keeper: &mut dyn Keeper, message: XfrmMessage) -> Vec<Answer> {
        self.sequence += 1;
        let mut datagram = encode(message, REQUEST | ACK, self.sequence);
        self.raw_with(keeper, 1, &mut datagram);
        self.answers(1)
    }

    /// What a client was sent.
    pub fn answers(&mut self, client: u64) -> Vec<Answer> {
        let mut others = Vec::new();
        let mut answers = Vec::new();
        while let Some((to, datagram)) = self.out.take() {
            if to == Client(client) {
                answers.extend(decode(&datagram));
            } else {
                others.push((to, datagram));
            }
        }
        assert_eq!(others.len(), 0, "nobody else is told");
        answers
    }

    /// The one reply to a request, and its acknowledgement.
    pub fn ask(&mut self, message: XfrmMessage) -> Vec<Answer> {
        let sequence = self.send(1, message, REQUEST | ACK);
        let answers = self.answers(1);
        for answer in &answers {
            assert_eq!((answer.header.sequence_number, answer.header.port_number), (sequence, 1001));
        }
        answers
    }

    /// The error number of a request that has no reply but that.
    pub fn errno(&mut self, message: XfrmMessage) -> i32 {
        let answers = self.ask(message);
        assert_eq!(answers.len(), 1);
        answers[0].errno.expect("an acknowledgement")
    }

    pub fn refusal(&mut self, message: XfrmMessage) -> (i32, String) {
        let answers = self.ask(message);
        assert_eq!(answers.len(), 1);
        (answers[0].errno.expect("an acknowledgement"), answers[0].text())
    }

    pub fn ok(&mut self, message: XfrmMessage) {
        assert_eq!(self.refusal(message), (0, String::new()));
    }

    /// The SA that GETSA shows.
    pub fn get(&mut self, destination: &str, spi: u32) -> Option<ModifyMessage> {
        let mut answers = self.ask(XfrmMessage::GetSa(name(destination, spi)));
        match answers.remove(0).message {
            Some(XfrmMessage::AddSa(sa)) => {
                assert_eq!(answers[0].errno, Some(0));
                Some(sa)
            }
            _ => None,
        }
    }

    pub fn sa_events(&mut self) -> Vec<(u32, bool)> {
        let events = self.answers(1).into_iter().filter_map(|answer| match answer.message {
            Some(XfrmMessage::Expire(message)) => {
                Some((message.expire.state.id.spi, message.expire.hard != 0))
            }
            _ => None,
        });
        events.collect()
    }
}

pub fn encode(message: XfrmMessage, flags: u16, sequence: u32) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    (header.flags, header.sequence_number) = (flags, sequence);
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
    message.finalize();
    let mut datagram = vec![0; message.buffer_len()];
    message.serialize(&mut datagram);
    datagram
}

pub fn decode(datagram: &[u8]) -> Vec<Answer> {
    let (mut rest, mut answers) = (datagram, Vec::new());
    while !rest.is_empty() {
        let length = u32::from_ne_bytes(rest[..4].try_into().unwrap()) as usize;
        let raw = rest[..length].to_vec();
        let message = NetlinkMessage::<XfrmMessage>::deserialize(&raw).expect("every reply is read");
        let mut answer = Answer { raw, header: message.header, message: None, errno: None, is_done: false };
        match message.payload {
            NetlinkPayload::InnerMessage(message) => answer.message = Some(message),
            NetlinkPayload::Error(error) => answer.errno = Some(error.code.map_or(0, |code| -code.get())),
            NetlinkPayload::Done(_) => answer.is_done = true,
            other => panic!("{other:?}"),
        }
        answers.push(answer);
        rest = &rest[length.next_multiple_of(4).min(rest.len())..];
    }
    answers
}

pub fn field(address: IpAddr) -> Address {
    Address::from_ip(&address)
}

pub fn family(address: IpAddr) -> u16 {
    if address.is_ipv4() { 2 } else { 10 }
}

pub fn name(destination: &str, spi: u32) -> DelGetMessage {
    let destination = ip(destination);
    let user_sa_id = UserSaId { daddr: field(destination), spi, family: family(destination), proto: 50 };
    DelGetMessage { user_sa_id, nlas: Vec::new() }
}

pub fn info(source: &str, destination: &str, spi: u32) -> UserSaInfo {
    let (source, destination) = (ip(source), ip(destination));
    let mut info = UserSaInfo {
        saddr: field(source),
        family: family(destination),
        mode: 1,
        reqid: 7,
        replay_window: 32,
        lifetime_cfg: LifetimeConfig::default(),
        ..UserSaInfo::default()
    };
    (info.id.daddr, info.id.spi, info.id.proto) = (field(destination), spi, 50);
    info
}

pub fn name_field(name: &str) -> [u8; 64] {
    let mut field = [0; 64];
    field[..name.len()].copy_from_slice(name.as_bytes());
    field
}

pub fn aead(name: &str, key: &[u8], icv_bits: u32) -> XfrmAttrs {
    XfrmAttrs::EncryptionAlgAead(AlgAead {
        alg_name: name_field(name),
        alg_key_len: 8 * key.len() as u32,
        alg_icv_len: icv_bits,
        alg_key: key.to_vec(),
    })
}

pub fn gcm() -> XfrmAttrs {
    aead("rfc4106(gcm(aes))", &[&KEY[..], b"salt"].concat(), 128)
}

pub fn cipher(name: &str, key: &[u8]) -> XfrmAttrs {
    let (alg_name, alg_key_len) = (name_field(name), 8 * key.len() as u32);
    XfrmAttrs::EncryptionAlg(Alg { alg_name, alg_key_len, alg_key: key.to_vec() })
}

pub fn mac(name: &str, key: &[u8]) -> XfrmAttrs {
    let (alg_name, alg_key_len) = (name_field(name), 8 * key.len() as u32);
    XfrmAttrs::AuthenticationAlg(Alg { alg_name, alg_key_len, alg_key: key.to_vec() })
}

pub fn mac_cut(name: &str, key: &[u8], bits: u32) -> XfrmAttrs {
    XfrmAttrs::AuthenticationAlgTrunc(AlgAuth {
        alg_name: name_field(name),
        alg_key_len: 8 * key.len() as u32,
        alg_trunc_len: bits,
        alg_key: key.to_vec(),
    })
}

pub fn sa(source: &str, destination: &str, spi: u32, nlas: Vec<XfrmAttrs>) -> ModifyMessage {
    ModifyMessage { user_sa_info: info(source, destination, spi), nlas }
}

pub fn out_sa(spi: u32) -> XfrmMessage {
    XfrmMessage::AddSa(sa(NEAR, FAR, spi, vec![gcm()]))
}

pub fn in_sa(spi: u32) -> XfrmMessage {
    XfrmMessage::AddSa(sa(FAR, NEAR, spi, vec![gcm()]))
}

pub fn allocate(first: u32, last: u32) -> XfrmMessage {
    let spi_info = UserSpiInfo { info: info(FAR, NEAR, 0), min: first, max: last };
    XfrmMessage::AllocSpi(AllocSpiMessage { spi_info, nlas: Vec::new() })
}

pub fn template(source: &str, destination: &str) -> UserTemplate {
    let (source, destination) = (ip(source), ip(destination));
    let mut template = UserTemplate {
        id: netlink_packet_xfrm::Id::default(),
        family: family(destination),
        saddr: field(source),
        reqid: 7,
        mode: 1,
        share: 0,
        optional: 0,
        aalgos: u32::MAX,
        ealgos: u32::MAX,
        calgos: u32::MAX,
    };
    (template.id.daddr, template.id.proto) = (field(destination), 50);
    template
}

/// A policy between two networks of 24 bits.
pub fn policy(
    direction: u8,
    source: &str,
    destination: &str,
    templates: Vec<UserTemplate>,
) -> policy::ModifyMessage {
    let mut message = policy::ModifyMessage::default();
    let info = &mut message.user_policy_info;
    info.selector.source_prefix(&ip(source), 24);
    info.selector.destination_prefix(&ip(destination), 24);
    info.selector.family = family(ip(source));
    info.direction = direction;
    info.priority = 100;
    if !templates.is_empty() {
        message.nlas.push(XfrmAttrs::Template(templates));
    }
    message
}

pub fn out_policy() -> policy::ModifyMessage {
    policy(1, "10.1.1.0", "10.2.2.0", vec![template(NEAR, FAR)])
}

pub fn policy_name(of: &policy::ModifyMessage) -> policy::DelGetMessage {
    let mut message = policy::DelGetMessage::default();
    message.user_policy_id.selector = of.user_policy_info.selector;
    message.user_policy_id.direction = of.user_policy_info.direction;
    message
}
