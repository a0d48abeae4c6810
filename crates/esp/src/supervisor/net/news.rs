//! News from the kernel of changes that others make.

use super::{NetError, PROTOCOL_NUMBER, socket};
use netlink_sys::{Socket, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// Groups of rtnetlink(7), as bits: links, and addresses, routes and rules of both families.
const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x80 | 0x100 | 0x400 | (1 << 18);
/// Types of messages (linux/rtnetlink.h).
const LINKS: [u16; 2] = [16, 17];
const ADDRESSES: [u16; 2] = [20, 21];
const DELETED_ROUTE: u16 = 25;
const DELETED_RULE: u16 = 33;
/// Length of a message's header, and the offsets of its length, its type and its sender's port.
const HEADER_BYTES: usize = 16;
/// Offset of a link's number in a message of links, and of a route's maker in a message of routes.
const LINK_INDEX: usize = HEADER_BYTES + 4;
const ROUTE_PROTOCOL: usize = HEADER_BYTES + 5;
/// Bytes of a datagram that are read: the cut-off rest is an attribute of its last message.
const DATAGRAM_BYTES: usize = 32 << 10;

/// A socket that becomes readable when links, addresses, routes or rules change.
pub struct News(Socket);

/// The kinds of change since the last look.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Changed {
    /// Addresses of this machine changed.
    pub addresses: bool,
    /// Others changed the device, or rules or routes that may be the supervisor's.
    pub ours: bool,
}

impl News {
    /// Opens a socket that hears of all changes from here on.
    ///
    /// # Errors
    /// The error of the system.
    pub fn listen() -> Result<News, NetError> {
        const OPERATION: &str = "listening for changes of links, addresses, routes and rules";
        let mut socket = socket(OPERATION)?;
        socket
            .bind(&SocketAddr::new(0, GROUPS))
            .and_then(|()| socket.set_non_blocking(true))
            .map_err(|cause| NetError { operation: OPERATION.to_owned(), cause })?;
        Ok(News(socket))
    }

    /// Kinds of change since the last call, except changes of routes and rules made by the socket of this port. Lost
    /// messages count as a change of everything.
    pub fn take(&self, own_port: u32, device: u32) -> Changed {
        let mut changed = Changed::default();
        let mut buffer = Vec::with_capacity(DATAGRAM_BYTES);
        loop {
            buffer.clear();
            match self.0.recv(&mut buffer, 0) {
                Ok(_) => read(&buffer, own_port, device, &mut changed),
                Err(cause) if cause.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error()) => {
                    changed = Changed { addresses: true, ours: true };
                }
                Err(_) => return changed,
            }
        }
    }
}

impl AsFd for News {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn read(datagram: &[u8], own_port: u32, device: u32, changed: &mut Changed) {
    let mut rest = datagram;
    while let Some(header) = rest.first_chunk::<HEADER_BYTES>() {
        let [l0, l1, l2, l3, t0, t1, _, _, _, _, _, _, p0, p1, p2, p3] = *header;
        let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
        let kind = u16::from_ne_bytes([t0, t1]);
        let is_own = u32::from_ne_bytes([p0, p1, p2, p3]) == own_port;
        let index = rest
            .get(LINK_INDEX..LINK_INDEX + 4)
            .and_then(|word| word.try_into().ok())
            .map(u32::from_ne_bytes);
        changed.addresses |= ADDRESSES.contains(&kind);
        changed.ours |= LINKS.contains(&kind) && index == Some(device);
        changed.ours |= !is_own
            && (kind == DELETED_RULE
                || kind == DELETED_ROUTE && rest.get(ROUTE_PROTOCOL) == Some(&PROTOCOL_NUMBER));
        rest = rest.get(length.max(HEADER_BYTES).next_multiple_of(4)..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, port: u32, body: &[u8]) -> Vec<u8> {
        let length = (HEADER_BYTES + body.len()) as u32;
        [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 6], &port.to_ne_bytes(), body].concat()
    }

    fn changed(datagram: &[u8]) -> (bool, bool) {
        let mut changed = Changed::default();
        read(datagram, 7, 3, &mut changed);
        (changed.addresses, changed.ours)
    }

    #[test]
    fn only_changes_that_matter_are_told() {
        let link = |index: u32| message(16, 0, &[&[0; 4][..], &index.to_ne_bytes(), &[0; 8]].concat());
        let route = |port, protocol| message(25, port, &[2, 16, 0, 0, 252, protocol, 0, 1, 0, 0, 0, 0]);
        assert_eq!(changed(&link(3)), (false, true));
        assert_eq!(changed(&link(4)), (false, false));
        assert_eq!(changed(&message(20, 9, &[0; 8])), (true, false));
        assert_eq!(changed(&route(0, PROTOCOL_NUMBER)), (false, true));
        assert_eq!(changed(&route(0, 3)), (false, false));
        assert_eq!(changed(&route(7, PROTOCOL_NUMBER)), (false, false));
        assert_eq!(changed(&message(33, 1, &[0; 12])), (false, true));
        assert_eq!(changed(&message(33, 7, &[0; 12])), (false, false));
        // Several messages in a datagram, the last of them cut.
        let several = [link(4), message(21, 0, &[0; 8]), message(25, 0, &[2])].concat();
        assert_eq!(changed(&several), (true, false));
        for datagram in [&[][..], &[0; 15], &[0; 40], &[0xff; 40]] {
            assert_eq!(changed(datagram), (false, false), "{datagram:?}");
        }
    }
}
