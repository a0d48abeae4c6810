//! Chooses the certificate chain by the name that a client asks for.

use crate::alpn::offered;
use crate::authorities::Authorities;
use crate::bound::{Bound, keys_of};
use crate::chain::Chain;
use crate::clients::Clients;
use crate::exchange::{AskCaller, AskForVerdict, Exchange, refused};
use crate::ffi;
use crate::hello::{ecdsa_scheme, takes_in_tls13};
use crate::policy::Policy;
use crate::sessions::Sessions;
use crate::ticket::TicketKeys;
use s2n_tls::callbacks::{ClientHelloCallback, ConnectionFuture};
use s2n_tls::config::{Builder, Config};
use s2n_tls::connection::Connection;
use s2n_tls::enums::ClientAuthType;
use s2n_tls::error::Error;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// The answer to clients that name no server, or one that no certificate is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// The alert `unrecognized_name`.
    Refuse,
    /// These chains, by their places in the list of chains: at most one of each kind of key.
    Chains(Vec<usize>),
}

/// The server's side of a listener: policy and chains. Clones are the same acceptor.
#[derive(Clone)]
pub struct Acceptor {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    /// The configuration that each connection begins with: it has no chain, and looks at the client's name.
    pub(crate) front: Config,
    /// Kept alive here, since configurations hold pointers to them.
    _caches: HashMap<Policy, Arc<ffi::Cache>>,
}

/// Why an acceptor cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptorError {
    /// The list of chains is empty.
    Empty,
    /// Two chains for one name have keys of the same kind: the chains' places in the list.
    Twice {
        /// The name that both chains are for.
        name: String,
        /// The first chain's place.
        first: usize,
        /// The second chain's place.
        second: usize,
    },
    /// Of two chains for one name, one has its private key in this process and the other has its key elsewhere.
    Mixed {
        /// The name that both chains are for.
        name: String,
        /// The first chain's place.
        first: usize,
        /// The second chain's place.
        second: usize,
    },
    /// Two chains for clients without a known name have keys of the same kind: the chains' places in the list.
    TwiceUnnamed {
        /// The first chain's place.
        first: usize,
        /// The second chain's place.
        second: usize,
    },
    /// Of the chains for clients without a known name, some have their keys in this process and others elsewhere.
    MixedUnnamed,
    /// Two chains for one name ask clients for different certificates, or only one of them asks.
    Clients {
        /// The name that both chains are for.
        name: String,
        /// The first chain's place.
        first: usize,
        /// The second chain's place.
        second: usize,
    },
    /// The chains for clients without a known name ask for different certificates, or only some of them ask.
    ClientsUnnamed,
    /// Two chains for one name have different policies.
    Policies {
        /// The name that both chains are for.
        name: String,
        /// The first chain's place.
        first: usize,
        /// The second chain's place.
        second: usize,
    },
    /// The chains for clients without a known name have different policies.
    PoliciesUnnamed,
    /// The library refused: its message.
    Library(&'static str),
}

impl fmt::Display for AcceptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is no certificate"),
            Self::Twice { name, .. } => write!(f, "two certificates for {name} have keys of the same kind"),
            Self::Mixed { name, .. } => write!(
                f,
                "one of two certificates for {name} has its key in a file, the other one on cards; let both be in the same place"
            ),
            Self::TwiceUnnamed { .. } => f.write_str("two default certificates have keys of the same kind"),
            Self::MixedUnnamed => f.write_str(
                "one of the default certificates has its key in a file, another one on cards; let all be in the same place",
            ),
            Self::Clients { name, .. } => write!(
                f,
                "two certificates for {name} ask their clients for different certificates; let both ask for the same"
            ),
            Self::ClientsUnnamed => f.write_str(
                "the default certificates ask their clients for different certificates; let all ask for the same",
            ),
            Self::Policies { name, .. } => {
                write!(f, "two certificates for {name} have different policies; let both have the same")
            }
            Self::PoliciesUnnamed => {
                f.write_str("the default certificates have different policies; let all have the same")
            }
            Self::Library(why) => write!(f, "the TLS library refuses: {why}"),
        }
    }
}

impl std::error::Error for AcceptorError {}

/// Where the private keys of a configuration's chains are. The library asks either for all operations of a
/// configuration or for none.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum KeyLocation {
    Here,
    Elsewhere,
}

/// The settings that all certificate chains of a configuration share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    location: KeyLocation,
    clients: Option<Clients>,
    policy: Policy,
}

impl Kind {
    /// The kind of a chain at a listener of this policy; the chain's own policy takes precedence.
    fn of(chain: &Chain, policy: Policy) -> Self {
        let location = if chain.is_elsewhere() { KeyLocation::Elsewhere } else { KeyLocation::Here };
        Self { location, clients: chain.clients(), policy: chain.policy().unwrap_or(policy) }
    }
}

/// The chains and settings that serve the clients of a name.
#[derive(Clone)]
struct Named {
    kind: Kind,
    /// Chains for the name: one, or one of each kind of key.
    chains: Vec<Chain>,
    /// If the name has two chains: the scheme by which the one with an ECDSA key signs in TLS 1.3.
    ecdsa: Option<u16>,
}

impl Named {
    /// Gathers the chains of a name, given by their places in the list; `None` if there are none.
    fn of(chains: &[Chain], ats: &[usize], policy: Policy) -> Option<Self> {
        let kind = Kind::of(chains.get(*ats.first()?)?, policy);
        let chains: Vec<Chain> = ats.iter().filter_map(|at| chains.get(*at)).cloned().collect();
        let mut schemes = chains.iter().filter_map(|chain| ecdsa_scheme(&chain.leaf().public_key));
        let ecdsa = schemes.next().filter(|_| chains.len() > 1);
        Some(Self { kind, chains, ecdsa })
    }
}

/// Everything that a listener offers.
#[derive(Clone, Copy)]
pub struct Serving<'a> {
    /// The listener's policy; a chain may have another one for its names.
    pub policy: Policy,
    /// The chains among which the client's name decides.
    pub chains: &'a [Chain],
    /// The answer to clients without a known name.
    pub unnamed: &'a Unnamed,
    /// The ticket keys of a policy; without keys, every handshake under the policy is a full one.
    pub tickets: &'a dyn Fn(Policy) -> Option<&'a TicketKeys>,
    /// Where sessions of TLS 1.2 are kept for clients that take no tickets. Ticket keys seal these sessions, so
    /// policies without such keys keep none.
    pub sessions: Option<&'a Sessions>,
    /// Authorities by [`Clients::number`]: a client that is asked for a certificate is told their names.
    pub authorities: &'a dyn Fn(u32) -> Option<&'a Authorities>,
}

impl Acceptor {
    /// An acceptor for these chains, without a session store and without names of authorities. Without ticket keys,
    /// every handshake is a full one.
    ///
    /// # Errors
    /// [`AcceptorError`].
    pub fn new(
        policy: Policy,
        chains: &[Chain],
        unnamed: &Unnamed,
        tickets: Option<&TicketKeys>,
    ) -> Result<Self, AcceptorError> {
        let tickets = |of| tickets.filter(|_| of == policy);
        let authorities = &|_| None;
        Self::serving(Serving { policy, chains, unnamed, tickets: &tickets, sessions: None, authorities })
    }

    /// An acceptor for all that `serving` holds.
    ///
    /// # Errors
    /// [`AcceptorError`].
    pub fn serving(serving: Serving<'_>) -> Result<Self, AcceptorError> {
        let Serving { policy, chains, unnamed, tickets, sessions, authorities } = serving;
        if chains.is_empty() {
            return Err(AcceptorError::Empty);
        }
        let names = chains_of_names(chains, policy)?;
        let defaults: &[usize] = match unnamed {
            Unnamed::Refuse => &[],
            Unnamed::Chains(places) => places,
        };
        for (at, &second) in defaults.iter().enumerate() {
            let kind = |chain: usize| Some(std::mem::discriminant(&chains.get(chain)?.leaf().public_key));
            if let Some(&first) = defaults[..at].iter().find(|first| kind(**first) == kind(second)) {
                return Err(AcceptorError::TwiceUnnamed { first, second });
            }
        }
        let mut default_kind: Option<Kind> = None;
        for chain in defaults.iter().filter_map(|at| chains.get(*at)) {
            let kind = Kind::of(chain, policy);
            let first = default_kind.get_or_insert(kind);
            if first.location != kind.location {
                return Err(AcceptorError::MixedUnnamed);
            }
            if first.clients != kind.clients {
                return Err(AcceptorError::ClientsUnnamed);
            }
            if *first != kind {
                return Err(AcceptorError::PoliciesUnnamed);
            }
        }
        let mut of_kinds: HashMap<Kind, Vec<&Chain>> = HashMap::new();
        for chain in chains {
            of_kinds.entry(Kind::of(chain, policy)).or_default().push(chain);
        }
        let default = Named::of(chains, defaults, policy);
        // Places of the chains with ECDSA keys that serve a name together with a chain of another kind of key.
        let pairs = names.values().map(Vec::as_slice).chain([defaults]).filter(|ats| ats.len() > 1).flatten();
        let paired: BTreeSet<usize> =
            pairs.copied().filter(|at| chains.get(*at).is_some_and(is_ecdsa)).collect();
        let mut of_pairs: HashMap<Kind, Vec<&Chain>> = HashMap::new();
        for chain in paired.iter().filter_map(|at| chains.get(*at)) {
            of_pairs.entry(Kind::of(chain, policy)).or_default().push(chain);
        }
        let policies: HashSet<Policy> = of_kinds.keys().map(|kind| kind.policy).collect();
        let keys = policies.iter().filter_map(|of| Some((*of, tickets(*of)?.clone())));
        let keys: HashMap<Policy, TicketKeys> = keys.collect();
        let caches = sessions.iter().flat_map(|sessions| {
            let cache = |of: Policy| ffi::Cache { store: Arc::clone(&sessions.store), policy: of.name() };
            keys.keys().map(move |of| (*of, Arc::new(cache(*of))))
        });
        let caches: HashMap<Policy, Arc<ffi::Cache>> = caches.collect();
        let defaults: Vec<&Chain> = defaults.iter().filter_map(|at| chains.get(*at)).collect();
        let default_kind = default.as_ref().map(|default| default.kind);
        // Kinds whose names get configurations of their own are made here too, so that a refusal of the library is
        // reported before a client comes.
        let make = |(kind, of_kind): (Kind, Vec<&Chain>), defaults: &[&Chain]| {
            let defaults = if default_kind == Some(kind) { defaults } else { &[] };
            let told = kind.clients.and_then(|clients| authorities(clients.number));
            let config = configuration(kind, &of_kind, defaults, keys.get(&kind.policy), told);
            Ok((kind, config.map_err(of_library)?))
        };
        let configs =
            of_kinds.into_iter().map(|of_kind| make(of_kind, &defaults)).collect::<Result<_, _>>()?;
        let ecdsa_defaults: Vec<&Chain> = match &default {
            Some(Named { ecdsa: Some(_), .. }) => {
                defaults.into_iter().filter(|chain| is_ecdsa(chain)).collect()
            }
            _ => Vec::new(),
        };
        let ecdsa = of_pairs.into_iter().map(|of_kind| make(of_kind, &ecdsa_defaults));
        let ecdsa = ecdsa.collect::<Result<_, _>>()?;
        let names =
            names.into_iter().filter_map(|(name, ats)| Some((name.into(), Named::of(chains, &ats, policy)?)));
        let with_tickets = sessions.is_some_and(|sessions| sessions.with_tickets);
        let sealed = Sealed { keys, caches: caches.clone(), with_tickets, bound: Bound::default() };
        let lookup = Lookup { names: names.collect(), default, configs, ecdsa, sealed };
        let front = begun(policy).and_then(|mut builder| {
            builder.set_client_hello_callback(lookup)?;
            builder.build()
        });
        Ok(Self { inner: Arc::new(Inner { front: front.map_err(of_library)?, _caches: caches }) })
    }
}

fn is_ecdsa(chain: &Chain) -> bool {
    ecdsa_scheme(&chain.leaf().public_key).is_some()
}

fn of_library(error: Error) -> AcceptorError {
    AcceptorError::Library(error.message())
}

/// For each name, the places of its chains: one, or one of each kind of key.
///
/// # Errors
/// [`AcceptorError`] for two chains of one name that differ in more than their keys' kinds, or in nothing.
fn chains_of_names(chains: &[Chain], policy: Policy) -> Result<HashMap<&str, Vec<usize>>, AcceptorError> {
    let mut seen: HashMap<&str, Vec<usize>> = HashMap::new();
    for (second, chain) in chains.iter().enumerate() {
        for name in &chain.leaf().names {
            let others = seen.entry(name).or_default();
            for &first in others.iter() {
                let name = name.clone();
                let [one, other] = [&chains[first], chain].map(|chain| Kind::of(chain, policy));
                if one.location != other.location {
                    return Err(AcceptorError::Mixed { name, first, second });
                }
                if one.clients != other.clients {
                    return Err(AcceptorError::Clients { name, first, second });
                }
                if one != other {
                    return Err(AcceptorError::Policies { name, first, second });
                }
                let kinds =
                    [&chains[first], chain].map(|chain| std::mem::discriminant(&chain.leaf().public_key));
                if kinds[0] == kinds[1] && first != second {
                    return Err(AcceptorError::Twice { name, first, second });
                }
            }
            // A certificate may contain a name twice.
            if others.last() != Some(&second) {
                others.push(second);
            }
        }
    }
    Ok(seen)
}

fn begun(policy: Policy) -> Result<Builder, Error> {
    let mut builder = Builder::new();
    builder.with_system_certs(false)?.set_security_policy(&policy.of_library()?)?;
    Ok(builder)
}

fn configuration(
    kind: Kind,
    chains: &[&Chain],
    defaults: &[&Chain],
    tickets: Option<&TicketKeys>,
    told: Option<&Authorities>,
) -> Result<Config, Error> {
    let mut builder = begun(kind.policy)?;
    match (kind.clients, tickets) {
        (Some(clients), _) => {
            // Under such a name no session is begun or resumed: every client that is let in has shown a certificate.
            ffi::leave_to_callback(&mut builder)?;
            told.map(|told| told.add_to(&mut builder)).transpose()?;
            let asked = if clients.is_required { ClientAuthType::Required } else { ClientAuthType::Optional };
            builder.set_client_auth_type(asked)?.set_cert_validation_callback(AskForVerdict(clients))?;
        }
        (None, Some(tickets)) => tickets.add_to(&mut builder)?,
        (None, None) => {}
    }
    for chain in chains {
        builder.load_chain(chain.of_library.clone())?;
    }
    if !defaults.is_empty() {
        builder.set_default_chains(defaults.iter().map(|chain| chain.of_library.clone()))?;
    }
    if kind.location == KeyLocation::Elsewhere {
        builder.set_private_key_callback(AskCaller)?;
    }
    builder.build()
}

/// Finds the configuration for a name, when the client has sent it.
struct Lookup {
    names: HashMap<Box<str>, Named>,
    default: Option<Named>,
    configs: HashMap<Kind, Config>,
    /// Configurations for names with two chains that have the ECDSA chains alone. If a configuration has both kinds,
    /// the library's policies prefer RSA in TLS 1.3.
    ecdsa: HashMap<Kind, Config>,
    sealed: Sealed,
}

/// The keys that seal sessions, and the configurations with these keys.
struct Sealed {
    keys: HashMap<Policy, TicketKeys>,
    /// Where sessions of TLS 1.2 are kept, by policy.
    caches: HashMap<Policy, Arc<ffi::Cache>>,
    /// Whether clients get tickets although sessions are kept.
    with_tickets: bool,
    bound: Bound,
}

impl Sealed {
    /// The configuration for a name whose sessions can be resumed, made if need be; `None` if every handshake is a full
    /// one. With `is_ecdsa_alone` it has only the ECDSA chain.
    fn config(&self, name: &str, named: &Named, is_ecdsa_alone: bool) -> Option<Result<Config, Error>> {
        let Kind { policy, clients: None, .. } = named.kind else { return None };
        let keys = self.keys.get(&policy)?;
        let make = |name: &str| {
            let chains = named.chains.iter().filter(|chain| !is_ecdsa_alone || is_ecdsa(chain));
            let chains: Vec<&Chain> = chains.collect();
            // Clients that come by the default send a name that these chains do not have, or none; so the chains are
            // the default, too.
            let config = configuration(named.kind, &chains, &chains, Some(&keys_of(name, keys)), None)?;
            match self.caches.get(&policy) {
                Some(cache) if !ffi::keep_sessions(&config, cache, self.with_tickets) => {
                    Err(refused("it keeps no sessions"))
                }
                _ => Ok(config),
            }
        };
        Some(self.bound.get((name.into(), is_ecdsa_alone), make))
    }
}

impl Lookup {
    /// The entry for a name, found as the library does: the name itself, or else a wildcard in place of its first
    /// label.
    fn named(&self, name: &str) -> Option<&Named> {
        let of_wildcard = || self.names.get(format!("*.{}", name.split_once('.')?.1).as_str());
        self.names.get(name).or_else(of_wildcard)
    }

    /// The configuration for a name: with the ECDSA chain alone, which signs at less cost, if the client takes it; else
    /// with all chains.
    fn config(&self, name: &str, named: &Named, connection: &Connection) -> Result<Option<Config>, Error> {
        let is_ecdsa_alone = match named.ecdsa {
            Some(scheme) if !connection.client_hello_is_sslv2()? => {
                takes_in_tls13(&connection.client_hello()?.raw_message()?, scheme)
            }
            _ => false,
        };
        if let Some(config) = self.sealed.config(name, named, is_ecdsa_alone) {
            return config.map(Some);
        }
        let configs = if is_ecdsa_alone { &self.ecdsa } else { &self.configs };
        Ok(configs.get(&named.kind).or_else(|| self.configs.get(&named.kind)).cloned())
    }
}

impl ClientHelloCallback for Lookup {
    fn on_client_hello(
        &self,
        connection: &mut Connection,
    ) -> Result<Option<Pin<Box<dyn ConnectionFuture>>>, Error> {
        ffi::take_final_dot(connection);
        let name = connection.server_name().unwrap_or_default().to_ascii_lowercase();
        let named = self.named(&name);
        let config = match named.or(self.default.as_ref()) {
            // A name with a dot at its end, still after one was taken off, is no name: a backend may read it as another
            // one.
            Some(named) if !name.ends_with('.') => self.config(&name, named, connection)?,
            _ => None,
        };
        let Some(config) = config else {
            if let Some(exchange) = connection.application_context_mut::<Exchange>() {
                exchange.is_unknown_name = true;
            }
            return Err(refused("a name that there is no certificate for"));
        };
        connection.set_config(config)?;
        if named.is_some() {
            connection.server_name_extension_used();
        }
        agree_on_protocol(connection)?;
        Ok(None)
    }
}

/// Chooses the protocol from the client's offer, in the server's order. Without a common one the library would go on
/// without a protocol, while the handshake must be refused (RFC 7301, 3.2).
fn agree_on_protocol(connection: &mut Connection) -> Result<(), Error> {
    let exchange = connection.application_context::<Exchange>();
    let Some(protocols) = exchange.and_then(|exchange| exchange.protocols.clone()) else { return Ok(()) };
    if connection.client_hello_is_sslv2()? {
        return Ok(());
    }
    let hello = connection.client_hello()?.raw_message()?;
    let Some(offered) = offered(&hello) else { return Ok(()) };
    if let Some(protocol) = protocols.choose(&offered) {
        connection.set_application_protocol_preference([protocol])?;
        return Ok(());
    }
    if let Some(exchange) = connection.application_context_mut::<Exchange>() {
        exchange.is_unknown_protocol = true;
    }
    Err(refused("no common application protocol"))
}
