//! What is done with a listener's connections.

use super::raw::RawExchange;
use super::{At, Place, Wrong};
use crate::backend::Backend;
use std::fmt;
use toml::Spanned;

/// Most backends of a listener.
const BACKENDS_MAX: usize = 64;
/// Longest answer to be given in place of a backend's, in bytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Longest message of an exchange, in bytes.
const MESSAGE_BYTES_MAX: u64 = 1 << 40;

/// What is done with a listener's connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// Forwarded to one of these.
    Forward(Vec<Backend>),
    /// Answered by this program: each request is, once its head has ended with an empty line, with this text in a reply of HTTP.
    Answer(String),
    /// Answered by this program: messages by their lengths alone.
    Exchange(Exchange),
}

/// Messages of fixed lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// After so many bytes of the client's, each time; with 0, once, after the handshake.
    pub receive: u64,
    /// So many bytes are sent.
    pub send: u64,
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forward(backends) => {
                let backends: Vec<_> = backends.iter().map(ToString::to_string).collect();
                f.write_str(&backends.join(" "))
            }
            Self::Answer(_) => f.write_str("an answer of its own"),
            Self::Exchange(Exchange { receive, send }) => {
                write!(f, "an exchange of {receive} for {send} bytes")
            }
        }
    }
}

impl Place<'_> {
    pub(super) fn service(
        &self,
        line: usize,
        backends: Option<Spanned<Vec<Spanned<String>>>>,
        answer: Option<Spanned<String>>,
        exchange: Option<Spanned<RawExchange>>,
    ) -> Result<Service, Wrong> {
        match (backends, answer, exchange) {
            (Some(backends), None, None) => Ok(Service::Forward(self.backends(backends)?)),
            (None, Some(answer), None) => {
                let answer = self.at(answer);
                if answer.value.len() > ANSWER_BYTES_MAX {
                    let cause = format!("it is longer than {ANSWER_BYTES_MAX} bytes");
                    return Err(self.wrong(answer.line, "answer", cause));
                }
                Ok(Service::Answer(answer.value))
            }
            (None, None, Some(exchange)) => Ok(Service::Exchange(self.exchange(exchange.into_inner())?)),
            (Some(_), Some(answer), _) => {
                let cause = "connections are forwarded to `backends` already: name one of both";
                Err(self.wrong(self.at(answer).line, "answer", cause))
            }
            (backends, _, Some(exchange)) => {
                let other = if backends.is_some() { "forwarded to `backends`" } else { "given an `answer`" };
                let cause = format!("connections are {other} already: name one of both");
                Err(self.wrong(self.at(exchange).line, "exchange", cause))
            }
            (None, None, None) => {
                let cause =
                    "it has neither `backends` to forward to nor, for tests, an `answer` or `exchange`";
                Err(self.wrong(line, "[[listener]]", cause))
            }
        }
    }

    fn backends(&self, raw: Spanned<Vec<Spanned<String>>>) -> Result<Vec<Backend>, Wrong> {
        let raw = self.at(raw);
        if raw.value.is_empty() || raw.value.len() > BACKENDS_MAX {
            let cause = format!("there must be 1 to {BACKENDS_MAX}, and not {}", raw.value.len());
            return Err(self.wrong(raw.line, "backends", cause));
        }
        let read = |backend: Spanned<String>| {
            let At { value, line } = self.at(backend);
            Backend::from_text(&value).map_err(|cause| self.wrong(line, "backends", cause))
        };
        raw.value.into_iter().map(read).collect()
    }

    fn exchange(&self, raw: RawExchange) -> Result<Exchange, Wrong> {
        Ok(Exchange {
            receive: self.number("receive", Some(raw.receive), 0, 0, MESSAGE_BYTES_MAX)?,
            send: self.number("send", Some(raw.send), 0, 0, MESSAGE_BYTES_MAX)?,
        })
    }
}
