//! A request while it is answered.

use crate::client::Client;
use crate::fields::Clock;
use crate::outbox::Reply;
use crate::view::{Header, View};
use crate::wire::HEADER_BYTES;

/// One request while it is answered.
pub(crate) struct Request<'a> {
    pub(crate) header: Header,
    /// With its header.
    pub(crate) message: &'a [u8],
    pub(crate) client: Client,
    pub(crate) reply: Reply,
    pub(crate) clock: Clock,
}

impl<'a> Request<'a> {
    /// Behind the header.
    pub(crate) fn structure(&self) -> View<'a> {
        View(self.message.get(HEADER_BYTES..).unwrap_or(&[]))
    }
}
