//! What both ends of a connection have in common.

use crate::error::{Cause, Failure};
use crate::exchange::{Exchange, KeyNumber};
use crate::ffi::Wired;
use crate::key::KeyRequest;
use s2n_tls::config::Config;
use s2n_tls::connection::Connection;
use s2n_tls::enums::{Blinding, Mode, Version};
use s2n_tls::error::Error;
use std::task::{Poll, Waker};
use std::{any, fmt};
use zeroize::Zeroizing;

/// One end of a connection: [`crate::Connection`] or [`crate::Client`].
pub struct End<S> {
    pub(crate) wired: Wired,
    /// Whether bytes were already sent to the other side.
    pub(crate) has_sent: bool,
    /// Whether a private key operation was given out and is not answered.
    pub(crate) is_asking: bool,
    /// Whether a client's certificates were given out and are not judged.
    pub(crate) is_judging: bool,
    /// Dropped after the library's connection.
    _side: S,
}

/// What an end is by itself.
pub trait ConnectionSide: Sized {
    /// What an error of the library means at this end. A server also sends the alert that the library did not send.
    fn failure(end: &mut End<Self>, error: &Error) -> Failure;
}

/// State of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The handshake is over: data may follow.
    Done,
    /// The handshake goes on when more bytes of the other side arrive.
    NeedsBytes,
    /// The handshake goes on when its private key operation is answered ([`End::take_request`], [`End::answer`]).
    NeedsKey,
    /// The handshake goes on when the client's certificates are judged ([`crate::Connection::take_client_chain`],
    /// [`crate::Connection::judge`]).
    NeedsVerdict,
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// This many bytes of the other side's data were read.
    Bytes(usize),
    /// No data until more bytes of the other side arrive.
    NeedsBytes,
    /// The other side has said that it sends no more.
    End,
}

/// What a handshake agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The name that the client asked for, as the client sent it; it may hold any characters.
    pub server_name: Option<String>,
    /// `TLS1.3` and so on; empty until the handshake is over. All fields below are empty until then, too.
    pub version: &'static str,
    /// The cipher suite, by OpenSSL's name.
    pub cipher: String,
    /// The group of the key agreement; `None` with RSA key exchange.
    pub group: Option<String>,
    /// Whether an earlier session is resumed.
    pub is_resumed: bool,
    /// The number of the private key of the chain that was shown.
    pub key: Option<u32>,
    /// The application protocol; `None` if the client offered none, or the server has no list.
    pub protocol: Option<String>,
}

impl Facts {
    /// The facts of a connection of the library, as far as it has agreed on them.
    fn of(library: &Connection) -> Self {
        let mut facts = Facts { server_name: library.server_name().map(str::to_owned), ..Facts::default() };
        if !library.handshake_complete() {
            return facts;
        }
        facts.version = library.actual_protocol_version().map_or("", version_name);
        facts.cipher = library.cipher_suite().unwrap_or_default().to_owned();
        facts.group = library.selected_key_exchange_group().map(str::to_owned);
        facts.is_resumed = library.resumed();
        facts.key = library
            .selected_cert()
            .and_then(|chain| chain.application_context::<KeyNumber>().map(|number| number.0));
        // A name of the server's own list, so it is text.
        facts.protocol =
            library.application_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
        facts
    }
}

impl<S: ConnectionSide> End<S> {
    /// A new end with these settings, and what else `set` does to it.
    pub(crate) fn made(
        mode: Mode,
        config: &Config,
        side: S,
        set: impl FnOnce(&mut Connection) -> Result<(), Error>,
    ) -> Result<Self, Failure> {
        let make = || -> Result<Wired, Error> {
            let mut wired = Wired::new(mode)?;
            let library = wired.library();
            library.set_config(config.clone())?;
            library.set_blinding(Blinding::SelfService)?;
            // The library is polled when it may go on, so that it has nobody to wake.
            library.set_waker(Some(Waker::noop()))?;
            library.set_receive_buffering(true)?;
            library.prefer_throughput()?;
            library.set_application_context(Exchange::default());
            set(library)?;
            Ok(wired)
        };
        let wired = make().map_err(|error| Failure { cause: Cause::Internal, name: error.name() })?;
        Ok(Self { wired, has_sent: false, is_asking: false, is_judging: false, _side: side })
    }

    /// Takes bytes that the other side sent.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.wired.buffers().receive(bytes);
    }

    /// Reports the end of the other side's stream: no more bytes will be received.
    pub fn receive_end(&mut self) {
        self.wired.buffers().receive_end();
    }

    /// Bytes to be sent to the other side.
    pub fn outgoing(&self) -> &[u8] {
        self.wired.buffers_now().outgoing()
    }

    /// Reports that this many bytes of [`End::outgoing`] were sent.
    pub fn sent(&mut self, bytes: usize) {
        self.has_sent |= bytes > 0;
        self.wired.buffers().sent(bytes);
    }

    /// Continues the handshake as far as it can go.
    ///
    /// # Errors
    /// [`Failure`]: the connection is over once what lies in [`End::outgoing`] is sent and, at the server's end,
    /// [`crate::Connection::delay`] has passed.
    pub fn handshake(&mut self) -> Result<Progress, Failure> {
        let gone_on = self.wired.library().poll_negotiate().map_ok(|_| ());
        match gone_on {
            // The library's policies with RC4, and of RSA key exchange alone, begin at SSL 3.0, which no end offers.
            Poll::Ready(Ok(()))
                if matches!(self.wired.library_now().actual_protocol_version(), Ok(Version::SSLV3)) =>
            {
                Err(Failure { cause: Cause::NothingInCommon, name: "SSLv3" })
            }
            Poll::Ready(Ok(())) => Ok(Progress::Done),
            Poll::Pending
                if self.is_asking || self.exchange().is_some_and(|exchange| exchange.asked.is_some()) =>
            {
                Ok(Progress::NeedsKey)
            }
            Poll::Pending
                if self.is_judging
                    || self.exchange().is_some_and(|exchange| exchange.client_chain.is_some()) =>
            {
                Ok(Progress::NeedsVerdict)
            }
            Poll::Pending => Ok(Progress::NeedsBytes),
            Poll::Ready(Err(error)) => Err(S::failure(self, &error)),
        }
    }

    /// The private key operation that the handshake waits for; each is given out once.
    pub fn take_request(&mut self) -> Option<KeyRequest> {
        let request = self.exchange()?.asked.take()?;
        self.is_asking = true;
        Some(request)
    }

    /// The answer to the operation that was taken; with `None`, for an operation that failed, the handshake fails. Call
    /// [`End::handshake`] afterwards.
    pub fn answer(&mut self, answer: Option<Zeroizing<Vec<u8>>>) {
        self.is_asking = false;
        if let Some(exchange) = self.exchange() {
            exchange.answer = Some(answer);
        }
    }

    /// Reads the other side's data, after the handshake. Tickets come with it in TLS 1.3.
    ///
    /// # Errors
    /// [`Failure`], as [`End::handshake`]; [`Cause::Cut`] if the stream ends without `close_notify`.
    pub fn read(&mut self, into: &mut [u8]) -> Result<Read, Failure> {
        match self.wired.library().poll_recv(into) {
            Poll::Ready(Ok(0)) => Ok(Read::End),
            Poll::Ready(Ok(count)) => Ok(Read::Bytes(count)),
            Poll::Pending => Ok(Read::NeedsBytes),
            Poll::Ready(Err(error)) => Err(S::failure(self, &error)),
        }
    }

    /// Enciphers all of the data for the other side into [`End::outgoing`].
    ///
    /// # Errors
    /// [`Failure`], as [`End::handshake`].
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        while !bytes.is_empty() {
            match self.wired.library().poll_send(bytes) {
                Poll::Ready(Ok(count)) => bytes = bytes.get(count..).unwrap_or_default(),
                // The library took only a part, although its buffer takes all.
                Poll::Pending => return Err(Failure { cause: Cause::Internal, name: "send" }),
                Poll::Ready(Err(error)) => return Err(S::failure(self, &error)),
            }
        }
        Ok(())
    }

    /// Tells the other side that this one sends no more (`close_notify`); the other one may go on sending.
    ///
    /// # Errors
    /// [`Failure`], as [`End::handshake`].
    pub fn close(&mut self) -> Result<(), Failure> {
        let closed = self.wired.library().poll_shutdown_send().map_ok(|_| ());
        match closed {
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
            Poll::Ready(Err(error)) => Err(S::failure(self, &error)),
        }
    }

    /// What the connection has agreed on so far; the key is that of this end's own chain.
    pub fn facts(&self) -> Facts {
        Facts::of(self.wired.library_now())
    }

    pub(crate) fn exchange(&mut self) -> Option<&mut Exchange> {
        self.wired.library().application_context_mut::<Exchange>()
    }
}

impl<S> fmt::Debug for End<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(any::type_name::<Self>()).finish_non_exhaustive()
    }
}

pub(crate) fn version_name(version: Version) -> &'static str {
    match version {
        Version::SSLV2 => "SSL2",
        Version::SSLV3 => "SSL3",
        Version::TLS10 => "TLS1.0",
        Version::TLS11 => "TLS1.1",
        Version::TLS12 => "TLS1.2",
        Version::TLS13 => "TLS1.3",
        _ => "other",
    }
}
