//! A request while it is answered.

use crate::client::Client;
use crate::fields::Clock;
use crate::outbox::Reply;
use crate::view::{Header, View};
use crate::wire::HEADER_BYTES;

/// A client's request while it is answered: who sent it, its message, and where replies go.
pub(crate) struct Request<'a> {
    pub(crate) header: Header,
    /// The whole message, with its header.
    pub(crate) message: &'a [u8],
    pub(crate) client: Client,
    pub(crate) reply: Reply,
    pub(crate) clock: Clock,
}

impl<'a> Request<'a> {
    /// The structure behind the header.
    pub(crate) fn structure(&self) -> View<'a> {
        View(self.message.get(HEADER_BYTES..).unwrap_or(&[]))
    }
}
