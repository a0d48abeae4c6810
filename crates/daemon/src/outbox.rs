//! A control channel whose peer may be slow: orders that do not fit wait here, in order.

use link::{Channel, ChannelError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Upper bound of waiting orders. With more, the peer counts as hung, and the caller replaces it.
pub const ORDERS_MAX: usize = 4096;

/// A channel and the orders that wait for room in it.
pub struct Outbox<O> {
    channel: Channel,
    waiting: VecDeque<(O, Vec<OwnedFd>)>,
    broken: bool,
    /// Whether too many descriptors are in flight: then room in the socket alone does not help.
    stalled: bool,
}

impl<O: Serialize> Outbox<O> {
    /// A channel with nothing waiting.
    pub fn new(channel: Channel) -> Self {
        Self { channel, waiting: VecDeque::new(), broken: false, stalled: false }
    }

    /// Sends an order, now or as soon as there is room.
    pub fn send(&mut self, order: O, descriptors: Vec<OwnedFd>) {
        if self.waiting.len() >= ORDERS_MAX {
            self.broken = true;
            return;
        }
        self.waiting.push_back((order, descriptors));
        self.flush();
    }

    /// Sends waiting orders, as far as the channel has room for them.
    pub fn flush(&mut self) {
        self.stalled = false;
        while let Some((order, descriptors)) = self.waiting.front() {
            let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
            match self.channel.try_send(order, &borrowed) {
                Ok(()) => {
                    self.waiting.pop_front();
                }
                Err(ChannelError::WouldBlock) => return,
                Err(ChannelError::Descriptors) => {
                    self.stalled = true;
                    return;
                }
                Err(_) => {
                    self.broken = true;
                    self.waiting.clear();
                }
            }
        }
    }

    /// Receives a notice, if there is one.
    ///
    /// # Errors
    /// As [`Channel::try_recv`].
    pub fn receive<N: DeserializeOwned>(&self) -> Result<(N, Vec<OwnedFd>), ChannelError> {
        self.channel.try_recv()
    }

    /// Whether orders wait for room in the socket.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() && !self.stalled
    }

    /// Whether every order has gone out.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the peer can no longer be given orders.
    pub fn is_broken(&self) -> bool {
        self.broken
    }
}

impl<O> AsFd for Outbox<O> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_peer_gets_every_order_in_order() {
        let (here, there) = Channel::pair().unwrap();
        let mut outbox = Outbox::new(here);
        let mut sent = 0u64;
        while !outbox.is_waiting() {
            outbox.send((sent, vec![0u8; 4000]), Vec::new());
            sent += 1;
        }
        outbox.send((sent, Vec::new()), Vec::new());
        for expected in 0..=sent {
            let (number, _) = there.recv::<(u64, Vec<u8>)>().unwrap().0;
            assert_eq!(number, expected);
            outbox.flush();
        }
        assert!(!outbox.is_waiting() && !outbox.is_broken());
    }

    #[test]
    fn a_peer_that_never_reads_is_given_up() {
        let (here, _there) = Channel::pair().unwrap();
        let mut outbox = Outbox::new(here);
        while !outbox.is_broken() {
            outbox.send(vec![0u8; 4000], Vec::new());
        }
        let (here, there) = Channel::pair().unwrap();
        drop(there);
        let mut outbox = Outbox::new(here);
        outbox.send(1u8, Vec::new());
        assert!(outbox.is_broken());
    }
}
