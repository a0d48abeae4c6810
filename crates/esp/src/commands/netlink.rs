//! XFRM requests of the commands themselves: to test a kernel for ESP, and to read the keys of SAs. Programs that hold
//! keys read such messages with `xfrm` only, which wipes them.

use super::Failure;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_xfrm::constants::{AF_INET, AF_INET6, IPPROTO_ESP, XFRM_MODE_TUNNEL};
use netlink_packet_xfrm::state::{GetDumpMessage, ModifyMessage};
use netlink_packet_xfrm::{Address, Alg, AlgAuth, XFRM_ALG_NAME_LEN, XfrmAttrs, XfrmMessage};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use zeroize::Zeroizing;

/// Adds an SA of ESP with NULL and HMAC-SHA-256, which every kernel that has ESP can have, between two addresses for
/// documentation (RFC 5737).
pub fn probe_request() -> Vec<u8> {
    let mut message = ModifyMessage::default();
    let info = &mut message.user_sa_info;
    info.id.daddr = address(Ipv4Addr::new(192, 0, 2, 2));
    info.id.spi = 0x1000;
    info.id.proto = IPPROTO_ESP;
    info.saddr = address(Ipv4Addr::new(192, 0, 2, 1));
    info.family = AF_INET;
    info.mode = XFRM_MODE_TUNNEL;
    let limits = &mut info.lifetime_cfg;
    (limits.soft_byte_limit, limits.hard_byte_limit) = (u64::MAX, u64::MAX);
    (limits.soft_packet_limit, limits.hard_packet_limit) = (u64::MAX, u64::MAX);
    message.nlas = vec![
        XfrmAttrs::AuthenticationAlgTrunc(AlgAuth {
            alg_name: name("hmac(sha256)"),
            alg_key_len: 256,
            alg_trunc_len: 128,
            alg_key: vec![0; 32],
        }),
        XfrmAttrs::EncryptionAlg(Alg { alg_name: name("cipher_null"), alg_key_len: 0, alg_key: Vec::new() }),
    ];
    bytes(XfrmMessage::AddSa(message), NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL)
}

/// A request for all SAs, with their keys.
pub fn dump_request() -> Vec<u8> {
    bytes(XfrmMessage::GetDumpSa(GetDumpMessage::default()), NLM_F_DUMP)
}

fn bytes(message: XfrmMessage, flags: u16) -> Vec<u8> {
    let mut message = NetlinkMessage::from(message);
    message.header.flags = NLM_F_REQUEST | flags;
    message.header.sequence_number = 1;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

fn address(address: Ipv4Addr) -> Address {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&address.octets());
    Address { addr: bytes }
}

fn name(text: &str) -> [u8; XFRM_ALG_NAME_LEN] {
    let mut name = [0; XFRM_ALG_NAME_LEN];
    name[..text.len()].copy_from_slice(text.as_bytes());
    name
}

/// The answers to [`dump_request`], as rows of Wireshark's table `esp_sa`.
#[derive(Default)]
pub struct Keys {
    rows: Vec<Zeroizing<String>>,
    done: bool,
}

impl Keys {
    /// Whether the last message of the answer was read.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// The rows read so far, each with an end of line.
    pub fn rows(self) -> Vec<Zeroizing<String>> {
        self.rows
    }

    /// Reads a datagram of the answer.
    ///
    /// # Errors
    /// The error of the answer, or why a datagram is not one of its messages.
    pub fn read(&mut self, datagram: &[u8]) -> Result<(), Failure> {
        let mut rest = datagram;
        while !rest.is_empty() {
            let message = NetlinkMessage::<XfrmMessage>::deserialize(rest)
                .map_err(|cause| format!("the data plane's answer: {cause}"))?;
            let length = (message.header.length as usize).next_multiple_of(4);
            rest = rest.get(length..).unwrap_or_default();
            match message.payload {
                NetlinkPayload::Done(_) => self.done = true,
                NetlinkPayload::Error(error) => {
                    return Err(format!("the data plane refuses: {}", error.to_io()));
                }
                NetlinkPayload::InnerMessage(XfrmMessage::AddSa(sa)) => self.rows.extend(row(&sa)),
                _ => {}
            }
        }
        Ok(())
    }
}

/// A row of the table; None for a reserved SPI, which carries nothing yet, and for an algorithm unknown here.
fn row(sa: &ModifyMessage) -> Option<Zeroizing<String>> {
    let info = &sa.user_sa_info;
    let (mut cipher, mut mac) = (None, ("NULL", Zeroizing::new(String::new())));
    let mut extended = false;
    for attribute in &sa.nlas {
        match attribute {
            XfrmAttrs::EncryptionAlgAead(aead) => {
                let name = match text(&aead.alg_name) {
                    "rfc4106(gcm(aes))" => "AES-GCM with 16 octet ICV [RFC4106]",
                    "rfc7539esp(chacha20,poly1305)" => "ChaCha20 with Poly1305 [RFC7634]",
                    _ => return None,
                };
                cipher = Some((name, hex(&aead.alg_key)));
            }
            XfrmAttrs::EncryptionAlg(alg) => {
                let name = match text(&alg.alg_name) {
                    "cbc(aes)" | "aes" => "AES-CBC [RFC3602]",
                    "cbc(des3_ede)" | "des3_ede" => "TripleDES-CBC [RFC2451]",
                    _ => "NULL",
                };
                cipher = Some((name, hex(&alg.alg_key)));
            }
            XfrmAttrs::AuthenticationAlgTrunc(alg) => {
                mac = (mac_name(text(&alg.alg_name)), hex(&alg.alg_key))
            }
            XfrmAttrs::AuthenticationAlg(alg) if mac.0 == "NULL" => {
                mac = (mac_name(text(&alg.alg_name)), hex(&alg.alg_key));
            }
            XfrmAttrs::ReplayStateEsn(_) => extended |= info.flags & FLAG_ESN != 0,
            _ => {}
        }
    }
    let (cipher, key) = cipher?;
    let ip = |address: &Address| match info.family {
        AF_INET6 => IpAddr::V6(Ipv6Addr::from(address.addr)),
        _ => IpAddr::V4(Ipv4Addr::new(address.addr[0], address.addr[1], address.addr[2], address.addr[3])),
    };
    let family = if info.family == AF_INET6 { "IPv6" } else { "IPv4" };
    let numbers = if extended { "64-bit" } else { "32-bit" };
    Some(Zeroizing::new(format!(
        "\"{family}\",\"{}\",\"{}\",\"0x{:08x}\",\"{cipher}\",\"{}\",\"{}\",\"{}\",\"{numbers}\",\"0x0\"\n",
        ip(&info.saddr),
        ip(&info.id.daddr),
        info.id.spi,
        *key,
        mac.0,
        *mac.1
    )))
}

/// `XFRM_STATE_ESN` of `xfrm_usersa_info.flags` (linux/xfrm.h).
const FLAG_ESN: u8 = 128;

fn mac_name(name: &str) -> &'static str {
    match name {
        "hmac(sha1)" | "sha1" => "HMAC-SHA-1-96 [RFC2404]",
        "hmac(sha256)" | "sha256" => "HMAC-SHA-256-128 [RFC4868]",
        "hmac(sha512)" | "sha512" => "HMAC-SHA-512-256 [RFC4868]",
        _ => "NULL",
    }
}

/// The text before the first zero byte.
fn text(name: &[u8]) -> &str {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    std::str::from_utf8(&name[..end]).unwrap_or_default()
}

fn hex(key: &[u8]) -> Zeroizing<String> {
    use std::fmt::Write as _;
    let mut text = Zeroizing::new(String::with_capacity(2 + 2 * key.len()));
    if !key.is_empty() {
        text.push_str("0x");
    }
    for byte in key {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
