//! The PROXY header that a proxy sends, and the one that backends get.

use super::{Around, Moved, Over, Phase, Session, of_client};
use crate::proxy::{self, ClientCertificate, Origin, Progress, Said};
use std::net::SocketAddr;

impl Session {
    /// Reads a proxy's header; bytes behind it are the client's.
    pub(super) fn read_header(&mut self, around: &mut Around<'_>) -> Moved {
        let Some(count) = self.client.read(around.scratch).map_err(of_client)? else { return Ok(false) };
        if count == 0 {
            return Err(Over::of("proxy: cut"));
        }
        self.active = around.now;
        self.header.extend_from_slice(around.scratch.get(..count).unwrap_or_default());
        let read = proxy::read(&self.header).map_err(|cause| Over::of(format!("proxy: {cause}")))?;
        let Progress::Done { origin, bytes } = read else { return Ok(true) };
        let header = std::mem::take(&mut self.header);
        let rest = header.get(bytes..).unwrap_or_default();
        if let Origin::Client { client, server } = origin {
            (self.address, self.server) = (client, Some(server));
        }
        let most = around.limits.per_address;
        self.permit.claim(self.address.ip(), most).map_err(|full| Over::of(full.name()))?;
        if let Some(tls) = self.tls.as_mut().filter(|_| !rest.is_empty()) {
            tls.receive(rest);
            self.handshake_bytes += rest.len();
        }
        self.phase = Phase::Handshake;
        Ok(true)
    }

    /// Begins to forward to the connected backend, with a PROXY header first if the listener sends one.
    pub(super) fn begin_forward(&mut self) {
        self.phase = Phase::Forward;
        if self.listener.sends_proxy {
            let certificate = self
                .client_certificate()
                .map(|client| ClientCertificate { common_name: client.common_name.clone() });
            let header = Said { addresses: self.addresses(), facts: &self.facts, certificate }.header();
            self.to_backend.push(&header);
        }
    }

    /// The client's address and the address that it connected to; `None` for clients of Unix sockets.
    fn addresses(&self) -> Option<(SocketAddr, SocketAddr)> {
        let is_known = !self.address.ip().is_unspecified();
        let here = || SocketAddr::try_from(rustix::net::getsockname(&self.client.socket).ok()?).ok();
        let server = self.server.or_else(here);
        server.filter(|_| is_known).map(|server| (self.address, server))
    }
}
