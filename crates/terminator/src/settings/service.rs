//! Settings of a listener's service: its backends or own answers, its application protocols, and its proxies.

use super::raw::{RawExchange, Texts};
use super::{At, SettingsText, Wrong};
use crate::backend;
use crate::networks::Network;
use std::collections::BTreeMap;
use std::fmt;
use streams::Server;
use tls::Protocols;
use toml::Spanned;

/// At most this many backends of a listener.
const BACKENDS_MAX: usize = 64;
/// At most this many networks of proxies.
const NETWORKS_MAX: usize = 256;
/// Longest answer that is given in place of a backend's, in bytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Longest message of an exchange, in bytes.
const MESSAGE_BYTES_MAX: u64 = 1 << 40;

/// The use that a listener makes of its connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// Connections are forwarded to one of these lists of backends; the first list is for connections that no other
    /// list is for.
    Forward(Vec<Backends>),
    /// Connections are answered by this program: each HTTP request, once its head has ended with an empty line, gets
    /// this text as its reply.
    Answer(String),
    /// Connections are answered by this program with messages of fixed lengths.
    Exchange(Exchange),
}

/// A list of backends, of which one gets the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backends {
    /// The application protocol that the list is for; `None` for all connections without a list of their own.
    pub protocol: Option<String>,
    /// The backends, which take turns.
    pub list: Vec<Server>,
}

/// Lengths of the messages of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Length of the client's message in bytes; each is followed by an answer. With 0, one answer follows the
    /// handshake.
    pub receive: u64,
    /// Length of an answer in bytes.
    pub send: u64,
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forward(lists) => {
                for (at, Backends { protocol, list }) in lists.iter().enumerate() {
                    let list: Vec<_> = list.iter().map(ToString::to_string).collect();
                    let of = protocol.as_ref().map(|protocol| format!("{protocol} to ")).unwrap_or_default();
                    write!(f, "{}{of}{}", if at > 0 { "; " } else { "" }, list.join(" "))?;
                }
                Ok(())
            }
            Self::Answer(_) => f.write_str("an answer of its own"),
            Self::Exchange(Exchange { receive, send }) => {
                write!(f, "an exchange of {receive} for {send} bytes")
            }
        }
    }
}

impl SettingsText<'_> {
    pub(super) fn service(
        &self,
        line: usize,
        backends: Option<Texts>,
        answer: Option<Spanned<String>>,
        exchange: Option<Spanned<RawExchange>>,
    ) -> Result<Service, Wrong> {
        match (backends, answer, exchange) {
            (Some(backends), None, None) => {
                let list = self.backends("backends", backends)?;
                Ok(Service::Forward(vec![Backends { protocol: None, list }]))
            }
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

    /// Networks of proxies that may name a connection's client.
    pub(super) fn accept_proxy(&self, raw: Option<Texts>) -> Result<Option<Vec<Network>>, Wrong> {
        let Some(raw) = raw else { return Ok(None) };
        let raw = self.at(raw);
        if raw.value.is_empty() || raw.value.len() > NETWORKS_MAX {
            let cause = format!("there must be 1 to {NETWORKS_MAX} networks, and not {}", raw.value.len());
            return Err(self.wrong(raw.line, "accept_proxy", cause));
        }
        let read = |network: Spanned<String>| {
            let At { value, line } = self.at(network);
            Network::from_text(&value).map_err(|cause| self.wrong(line, "accept_proxy", cause))
        };
        raw.value.into_iter().map(read).collect::<Result<_, _>>().map(Some)
    }

    /// Whether backends get a PROXY header.
    pub(super) fn send_proxy(&self, service: &Service, raw: Option<Spanned<String>>) -> Result<bool, Wrong> {
        let Some(raw) = raw else { return Ok(false) };
        let At { value, line } = self.at(raw);
        let cause = match (value.as_str(), service) {
            ("v2", Service::Forward(_)) => return Ok(true),
            ("v2", _) => "there are no `backends` to tell it to".to_owned(),
            _ => format!("\"{value}\" is not \"v2\""),
        };
        Err(self.wrong(line, "send_proxy", cause))
    }

    /// The application protocols of a listener.
    pub(super) fn protocols(&self, raw: Option<Texts>) -> Result<Option<Protocols>, Wrong> {
        let Some(raw) = raw else { return Ok(None) };
        let raw = self.at(raw);
        let names = raw.value.into_iter().map(Spanned::into_inner);
        Protocols::new(names).map(Some).map_err(|cause| self.wrong(raw.line, "alpn", cause))
    }

    /// Adds the lists of backends that are for single protocols.
    pub(super) fn backends_by_protocol(
        &self,
        service: &mut Service,
        protocols: Option<&Protocols>,
        raw: Option<BTreeMap<Spanned<String>, Texts>>,
    ) -> Result<(), Wrong> {
        for (protocol, list) in raw.into_iter().flatten() {
            let At { value: protocol, line } = self.at(protocol);
            let wrong = |cause: String| self.wrong(line, "alpn_backends", cause);
            let Service::Forward(lists) = service else {
                return Err(wrong(
                    "it needs `backends`, for connections that agree on no protocol".to_owned(),
                ));
            };
            if !protocols.is_some_and(|protocols| protocols.names().contains(&protocol)) {
                return Err(wrong(format!("\"{protocol}\" is not in `alpn`: nobody would agree on it")));
            }
            let list = self.backends("alpn_backends", list)?;
            lists.push(Backends { protocol: Some(protocol), list });
        }
        Ok(())
    }

    fn backends(&self, key: &str, raw: Texts) -> Result<Vec<Server>, Wrong> {
        let raw = self.at(raw);
        if raw.value.is_empty() || raw.value.len() > BACKENDS_MAX {
            let cause = format!("there must be 1 to {BACKENDS_MAX}, and not {}", raw.value.len());
            return Err(self.wrong(raw.line, key, cause));
        }
        let read = |backend: Spanned<String>| {
            let At { value, line } = self.at(backend);
            backend::from_text(&value).map_err(|cause| self.wrong(line, key, cause))
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
