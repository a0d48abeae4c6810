//! Writes the PROXY header, version 2, that backends get.

use super::{FIXED_BYTES, LOCAL, PROXY, SIGNATURE, TCP_OVER_IPV4, TCP_OVER_IPV6, UNSPECIFIED};
use std::net::{IpAddr, SocketAddr};
use tls::Facts;

const ALPN: u8 = 0x01;
const AUTHORITY: u8 = 0x02;
const SSL: u8 = 0x20;
const SSL_VERSION: u8 = 0x21;
const SSL_COMMON_NAME: u8 = 0x22;
const SSL_CIPHER: u8 = 0x23;
/// Flag: the client connected by TLS.
const CLIENT_SSL: u8 = 0x01;
/// Flags: the client showed a certificate on this connection, and in this session.
const CLIENT_CERTIFICATE: u8 = 0x02 | 0x04;
/// Result of the verification: 0 if the certificate was verified, else this.
const NOT_VERIFIED: u32 = 1;

/// The facts that a backend is told of a connection.
#[derive(Clone, Debug)]
pub struct Said<'a> {
    /// The client's address and the address that it connected to; `None` if one of them is unknown.
    pub addresses: Option<(SocketAddr, SocketAddr)>,
    /// The facts that the TLS handshake agreed on.
    pub facts: &'a Facts,
    /// The client's certificate, if it showed one.
    pub certificate: Option<ClientCertificate>,
}

/// A client's certificate that was verified; clients with other certificates are refused before a backend hears of
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate's common name.
    pub common_name: Option<String>,
}

impl Said<'_> {
    /// The header as bytes.
    pub fn header(&self) -> Vec<u8> {
        let mut header = SIGNATURE.to_vec();
        // Backends, such as HAProxy, refuse a proxied connection without a family. A connection of the proxy's own has
        // no family and may have fields all the same.
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
        // The version in OpenSSL's form, which all senders of this field use.
        let version = self.facts.version.replacen("TLS", "TLSv", 1);
        field(&mut ssl, SSL_VERSION, version.trim_end_matches(".0").as_bytes());
        let name = self.certificate.as_ref().and_then(|certificate| certificate.common_name.as_ref());
        // Not shortened: the beginning of a name may be another client's name.
        if let Some(name) = name.filter(|name| name.len() <= COMMON_NAME_BYTES_MAX) {
            field(&mut ssl, SSL_COMMON_NAME, name.as_bytes());
        }
        field(&mut ssl, SSL_CIPHER, self.facts.cipher.as_bytes());
        ssl
    }
}

/// Both addresses in one family, as a header needs them: IPv4 ones are mapped to IPv6 if only one is IPv4.
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

/// Longest value of a field, in bytes; so the header's length fits in its two bytes.
const VALUE_BYTES_MAX: usize = 4 << 10;

/// Longest common name of a client that backends are told, in bytes. Authorities certify at most 64 characters (RFC
/// 5280, ub-common-name).
const COMMON_NAME_BYTES_MAX: usize = 1 << 10;

fn field(to: &mut Vec<u8>, kind: u8, value: &[u8]) {
    let value = &value[..value.len().min(VALUE_BYTES_MAX)];
    to.push(kind);
    to.extend_from_slice(&(value.len() as u16).to_be_bytes());
    to.extend_from_slice(value);
}
