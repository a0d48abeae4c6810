//! The header that backends get, in version 2.

use super::{FIXED_BYTES, LOCAL, PROXY, SIGNATURE, TCP_OVER_IPV4, TCP_OVER_IPV6, UNSPECIFIED};
use std::net::{IpAddr, SocketAddr};
use tls::Facts;

const ALPN: u8 = 0x01;
const AUTHORITY: u8 = 0x02;
const SSL: u8 = 0x20;
const SSL_VERSION: u8 = 0x21;
const SSL_COMMON_NAME: u8 = 0x22;
const SSL_CIPHER: u8 = 0x23;
/// The client came by TLS.
const CLIENT_SSL: u8 = 0x01;
/// It showed a certificate on this connection, and in this session.
const CLIENT_CERTIFICATE: u8 = 0x02 | 0x04;
/// Verified is 0; everything else is not.
const NOT_VERIFIED: u32 = 1;

/// What a backend is told of a connection.
#[derive(Clone, Debug)]
pub struct Said<'a> {
    /// The client's address and the one that it connected to; none where one of them is not known.
    pub addresses: Option<(SocketAddr, SocketAddr)>,
    /// What was agreed.
    pub facts: &'a Facts,
    /// The client's certificate, if it showed one.
    pub certificate: Option<ClientCertificate>,
}

/// A certificate that a client showed, and that was verified: others are refused before a backend hears of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// Its common name.
    pub common_name: Option<String>,
}

impl Said<'_> {
    /// The header.
    pub fn header(&self) -> Vec<u8> {
        let mut header = SIGNATURE.to_vec();
        // Backends refuse a proxied connection of no family, as HAProxy does; one of the proxy's own has none, and
        // fields all the same.
        header.push(if self.addresses.is_some() { PROXY } else { LOCAL });
        match self.addresses.map(|(client, server)| (client, server, both(client.ip(), server.ip()))) {
            None => header.extend_from_slice(&[UNSPECIFIED, 0, 0]),
            Some((client, server, ips)) => {
                header.extend_from_slice(&match ips {
                    (IpAddr::V4(_), _) => [TCP_OVER_IPV4, 0, 0],
                    (IpAddr::V6(_), _) => [TCP_OVER_IPV6, 0, 0],
                });
                for ip in [ips.0, ips.1] {
                    match ip {
                        IpAddr::V4(ip) => header.extend_from_slice(&ip.octets()),
                        IpAddr::V6(ip) => header.extend_from_slice(&ip.octets()),
                    }
                }
                for port in [client.port(), server.port()] {
                    header.extend_from_slice(&port.to_be_bytes());
                }
            }
        }
        if let Some(protocol) = &self.facts.protocol {
            field(&mut header, ALPN, protocol.as_bytes());
        }
        if let Some(name) = &self.facts.server_name {
            field(&mut header, AUTHORITY, name.as_bytes());
        }
        field(&mut header, SSL, &self.ssl());
        let length = (header.len() - FIXED_BYTES) as u16;
        header[FIXED_BYTES - 2..FIXED_BYTES].copy_from_slice(&length.to_be_bytes());
        header
    }

    fn ssl(&self) -> Vec<u8> {
        let (flags, verified) = match self.certificate {
            Some(_) => (CLIENT_SSL | CLIENT_CERTIFICATE, 0),
            None => (CLIENT_SSL, NOT_VERIFIED),
        };
        let mut ssl = vec![flags];
        ssl.extend_from_slice(&u32::to_be_bytes(verified));
        // As OpenSSL writes it, and with it everybody who sends this field.
        let version = self.facts.version.replacen("TLS", "TLSv", 1);
        field(&mut ssl, SSL_VERSION, version.trim_end_matches(".0").as_bytes());
        let name = self.certificate.as_ref().and_then(|certificate| certificate.common_name.as_ref());
        // Not cut: the beginning of a name may be somebody else's.
        if let Some(name) = name.filter(|name| name.len() <= COMMON_NAME_BYTES_MAX) {
            field(&mut ssl, SSL_COMMON_NAME, name.as_bytes());
        }
        field(&mut ssl, SSL_CIPHER, self.facts.cipher.as_bytes());
        ssl
    }
}

/// Two addresses of one family, as a header has them.
fn both(client: IpAddr, server: IpAddr) -> (IpAddr, IpAddr) {
    let wide = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => IpAddr::V6(ip.to_ipv6_mapped()),
        IpAddr::V6(_) => ip,
    };
    match (client.to_canonical(), server.to_canonical()) {
        (client @ IpAddr::V4(_), server @ IpAddr::V4(_)) => (client, server),
        (client, server) => (wide(client), wide(server)),
    }
}

/// Longest value of a field, in bytes: with all fields the length of the header stays within its two bytes.
const VALUE_BYTES_MAX: usize = 4 << 10;

/// Longest common name of a client that is told, in bytes; authorities certify at most 64 characters (RFC 5280,
/// ub-common-name).
const COMMON_NAME_BYTES_MAX: usize = 1 << 10;

fn field(to: &mut Vec<u8>, kind: u8, value: &[u8]) {
    let value = &value[..value.len().min(VALUE_BYTES_MAX)];
    to.push(kind);
    to.extend_from_slice(&(value.len() as u16).to_be_bytes());
    to.extend_from_slice(value);
}
