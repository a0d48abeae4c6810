//! Certificates and private keys, read from files and from labels.

use crate::clients::{self, ClientRules};
use crate::file_state::FileState;
use crate::labels::{self, Field};
use crate::log::timestamp;
use crate::settings::{CertificateSettings, ClientsSettings, KeySettings, Settings, Wrong, read_bounded};
use crate::staples::{self, NoStaple, Staple};
use crate::tickets::Tickets;
use facility::Facility;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tls::{
    Acceptor, AcceptorError, Chain, ChainParts, ClientChain, Clients, Policy, PublicKey, Refusal, Serving,
    Unnamed,
};
use zeroize::Zeroizing;

/// Longest file of a chain or a key, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Everything that is served: chains with their keys, and acceptors that listeners offer them by.
pub(crate) struct Material {
    items: Vec<Arc<Item>>,
    /// Rules for clients, by the numbers that chains refer to them with.
    clients: Vec<Arc<ClientRules>>,
    acceptors: HashMap<tls::Policy, Acceptor>,
    /// Second since 1970 after which the first of the OCSP responses that are shown expires.
    shown_until: Option<i64>,
}

/// One chain with its key.
#[derive(Clone)]
struct Item {
    settings: CertificateSettings,
    /// State of the chain's files when they were read.
    files: Vec<FileState>,
    /// The chain that the key store has under the label, in DER; `None` if the chain is in a file.
    installed: Option<Vec<u8>>,
    chain: Chain,
    /// The chain with an OCSP response, and the second since 1970 until which it is shown; `None` for no end.
    stapled: Option<(Chain, Option<i64>)>,
    /// A warning that is reported at each start and reload.
    warning: Option<String>,
    key: Key,
}

/// A certificate that is served, as reports show it.
pub(crate) struct Shown<'a> {
    pub(crate) leaf: &'a tls::Certificate,
    /// File of the chain; `None` if it is stored under the key's label.
    chain: Option<&'a Path>,
    /// Name of the private key, as [`Key::name`].
    pub(crate) key: &'a str,
}

impl Shown<'_> {
    /// Where the chain is: its file, or the label of its key.
    pub(crate) fn chain(&self) -> String {
        self.chain.map_or_else(|| self.key.to_owned(), |file| file.display().to_string())
    }
}

impl Item {
    /// The chain to show at this second since 1970: with the OCSP response, unless that has expired.
    fn shown(&self, now: i64) -> &Chain {
        let is_fresh = |until: Option<i64>| until.is_none_or(|until| until >= now);
        self.stapled.as_ref().filter(|(_, until)| is_fresh(*until)).map_or(&self.chain, |(chain, _)| chain)
    }
}

/// The private key of a chain.
#[derive(Clone)]
pub(crate) struct Key {
    /// Name for logs: `file` or `label`, and its name.
    pub(crate) name: String,
    /// Where the key is.
    pub(crate) place: KeyPlace,
}

/// Where a private key is.
#[derive(Clone)]
pub(crate) enum KeyPlace {
    /// In this process.
    Here,
    /// On cards, under this label.
    Label(Field),
}

impl Material {
    /// Reads everything that the settings name; what has not changed since `before` is taken from there.
    ///
    /// # Errors
    /// [`Wrong`], with the line of the setting.
    pub(crate) fn load(
        settings: &Settings,
        before: Option<&Material>,
        facility: Option<&Facility>,
        tickets: &Tickets,
    ) -> Result<Self, Wrong> {
        let mut items = Vec::with_capacity(settings.certificates.len());
        let mut rules = Rules::new(before);
        for (number, certificate) in settings.certificates.iter().enumerate() {
            let old = before.and_then(|before| before.items.get(number));
            let item = load(settings, number as u32, certificate, old, facility)?;
            let asked = certificate.clients.as_ref().map(|clients| {
                let number = rules.number(settings, clients)?;
                Ok(Clients { number, is_required: clients.is_required })
            });
            let policy = certificate.policy.as_ref().map(|policy| policy.value);
            items.push(served(item, asked.transpose()?, policy));
        }
        Self::of_items(settings, items, rules.all, tickets)
    }

    /// The same chains with other ticket keys; nothing is read.
    ///
    /// # Errors
    /// [`Wrong`], if the library refuses.
    pub(crate) fn with_tickets(&self, settings: &Settings, tickets: &Tickets) -> Result<Self, Wrong> {
        Self::of_items(settings, self.items.clone(), self.clients.clone(), tickets)
    }

    fn of_items(
        settings: &Settings,
        items: Vec<Arc<Item>>,
        clients: Vec<Arc<ClientRules>>,
        tickets: &Tickets,
    ) -> Result<Self, Wrong> {
        let now = now();
        let chains: Vec<Chain> = items.iter().map(|item| item.shown(now).clone()).collect();
        let defaults = defaults(&items);
        let unnamed = if defaults.is_empty() { Unnamed::Refuse } else { Unnamed::Chains(defaults.clone()) };
        let mut acceptors = HashMap::new();
        for listener in &settings.listeners {
            let policy = listener.policy.value;
            let line = listener.policy.line;
            if let Entry::Vacant(entry) = acceptors.entry(policy) {
                let made = Acceptor::serving(Serving {
                    policy,
                    chains: &chains,
                    unnamed: &unnamed,
                    tickets: &|policy| tickets.of(policy),
                    sessions: tickets.sessions(),
                    authorities: &|number| clients.get(number as usize)?.told(),
                });
                entry.insert(made.map_err(|error| of_acceptor(settings, line, &defaults, &error))?);
            }
        }
        let stapled = items.iter().filter_map(|item| item.stapled.as_ref()?.1);
        let shown_until = stapled.filter(|until| *until >= now).min();
        Ok(Self { items, clients, acceptors, shown_until })
    }

    /// The acceptor for listeners of this policy; there is one for each policy of the listeners in the settings.
    pub(crate) fn acceptor(&self, policy: tls::Policy) -> Option<&Acceptor> {
        self.acceptors.get(&policy)
    }

    /// The key with this number.
    pub(crate) fn key(&self, number: u32) -> Option<&Key> {
        self.items.get(number as usize).map(|item| &item.key)
    }

    /// All certificates that are served, in the order of the settings.
    pub(crate) fn certificates(&self) -> impl Iterator<Item = Shown<'_>> {
        self.items.iter().map(|item| Shown {
            leaf: item.chain.leaf(),
            chain: item.settings.chain.as_ref().map(|chain| chain.value.as_path()),
            key: &item.key.name,
        })
    }

    /// The certificates that expire first, in that order; at most `most`.
    pub(crate) fn expiring_first(&self, most: usize) -> Vec<Shown<'_>> {
        let mut all: Vec<Shown<'_>> = self.certificates().collect();
        all.sort_by_key(|shown| shown.leaf.not_after);
        all.truncate(most);
        all
    }

    /// Checks whether a client is let in by the certificates that it has shown.
    ///
    /// # Errors
    /// The alert for the client, and the reason for the log.
    pub(crate) fn judge(&self, chain: &ClientChain) -> Result<(), Refusal> {
        match self.clients.get(chain.number as usize) {
            Some(rules) => rules.judge(chain),
            // No chain has such a number. 80 is `internal_error`.
            None => Err(Refusal { alert: 80, name: "no rules" }),
        }
    }

    /// Time from `now` (seconds since 1970) until an OCSP response that is shown expires; `None` if none does.
    pub(crate) fn stale_in(&self, now: u64) -> Option<Duration> {
        let after = self.shown_until?.saturating_add(1);
        Some(Duration::from_secs(u64::try_from(after).unwrap_or(0).saturating_sub(now)))
    }

    /// Warnings about chains and their OCSP responses, a line each, for people.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        let now = now();
        self.items.iter().filter_map(move |item| {
            let is_stale = item.stapled.as_ref().is_some_and(|(_, until)| until.is_some_and(|end| end < now));
            let stale = || {
                let path = item.settings.ocsp.as_ref().filter(|_| is_stale)?;
                Some(format!("{}: not shown: its time is over", path.value.display()))
            };
            item.warning.clone().or_else(stale)
        })
    }

    /// All chains and rules for clients, a line each, for people.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let chains = self.items.iter().map(|item| {
            let leaf = item.chain.leaf();
            let days = (leaf.not_after - now()).div_euclid(86_400);
            let policy = item.chain.policy().map(|policy| format!(" {},", policy.name()));
            format!(
                "{}: {}, {},{} {days} days left",
                leaf.names.join(" "),
                leaf.public_key.kind(),
                item.key.name,
                policy.unwrap_or_default()
            )
        });
        chains.chain(self.clients.iter().map(|rules| rules.line(now())))
    }
}

/// Places of the chains for clients that ask for no name or an unknown one: those that the settings declare as default.
/// If the settings declare nothing for any chain, and all chains have the same names, all are default.
fn defaults(items: &[Arc<Item>]) -> Vec<usize> {
    let names = |item: &Item| {
        let mut names = item.chain.leaf().names.clone();
        names.sort_unstable();
        names.dedup();
        names
    };
    let is_unsaid = items.iter().all(|item| item.settings.is_default.is_none());
    let first = items.first().filter(|_| is_unsaid).map(|item| names(item));
    let is_same =
        |first: Vec<String>| items[1..].iter().all(|item| !first.is_empty() && names(item) == first);
    if first.is_some_and(is_same) {
        return (0..items.len()).collect();
    }
    (0..items.len()).filter(|at| items[*at].settings.is_default == Some(true)).collect()
}

/// The chain with the settings for its names, both with and without an OCSP response: whether clients are asked for
/// certificates, and the policy.
fn served(item: Arc<Item>, clients: Option<Clients>, policy: Option<Policy>) -> Arc<Item> {
    let is_so = |chain: &Chain| chain.clients() == clients && chain.policy() == policy;
    if is_so(&item.chain) && item.stapled.as_ref().is_none_or(|(chain, _)| is_so(chain)) {
        return item;
    }
    let so = |chain: Chain| chain.with_clients(clients).with_policy(policy);
    let mut item = Arc::unwrap_or_clone(item);
    item.chain = so(item.chain);
    item.stapled = item.stapled.map(|(chain, until)| (so(chain), until));
    Arc::new(item)
}

/// Collects rules for clients, reading each only once.
struct Rules {
    before: HashMap<clients::Key, Arc<ClientRules>>,
    numbers: HashMap<clients::Key, u32>,
    all: Vec<Arc<ClientRules>>,
}

impl Rules {
    fn new(before: Option<&Material>) -> Self {
        let before = before.map(|before| before.clients.as_slice()).unwrap_or_default();
        let before = before.iter().map(|rules| (rules.key(), Arc::clone(rules))).collect();
        Self { before, numbers: HashMap::new(), all: Vec::new() }
    }

    fn number(&mut self, settings: &Settings, of: &ClientsSettings) -> Result<u32, Wrong> {
        let key = clients::key(of);
        if let Some(number) = self.numbers.get(&key) {
            return Ok(*number);
        }
        let number = self.all.len() as u32;
        self.all.push(ClientRules::load(settings, of, self.before.get(&key))?);
        self.numbers.insert(key, number);
        Ok(number)
    }
}

/// The error with the line of the certificate that it is about, or of the policy if it is about none.
fn of_acceptor(settings: &Settings, policy_line: usize, defaults: &[usize], error: &AcceptorError) -> Wrong {
    let at = match error {
        AcceptorError::Twice { second, .. }
        | AcceptorError::TwiceUnnamed { second, .. }
        | AcceptorError::Mixed { second, .. }
        | AcceptorError::Clients { second, .. }
        | AcceptorError::Policies { second, .. } => Some(*second),
        AcceptorError::MixedUnnamed | AcceptorError::ClientsUnnamed | AcceptorError::PoliciesUnnamed => {
            defaults.first().copied()
        }
        AcceptorError::Empty | AcceptorError::Library(_) => None,
    };
    match at.and_then(|at| settings.certificates.get(at)) {
        Some(certificate) => {
            let (line, key, named) = certificate.chain_place();
            settings.wrong(line, key, format!("{named}{error}"))
        }
        None => settings.wrong(policy_line, "policy", error),
    }
}

fn load(
    settings: &Settings,
    number: u32,
    certificate: &CertificateSettings,
    old: Option<&Arc<Item>>,
    facility: Option<&Facility>,
) -> Result<Arc<Item>, Wrong> {
    let mut paths: Vec<&Path> = certificate.chain.iter().map(|chain| chain.value.as_path()).collect();
    if let KeySettings::File(path) = &certificate.key {
        paths.push(&path.value);
    }
    paths.extend(certificate.ocsp.as_ref().map(|path| path.value.as_path()));
    // Taken before reading, so that a change made meanwhile is noticed the next time.
    let files: Vec<FileState> = paths.iter().filter_map(|path| FileState::of(path)).collect();
    let (line, key, named) = certificate.chain_place();
    let of_chain = |cause: &dyn std::fmt::Display| settings.wrong(line, key, format!("{named}{cause}"));
    let installed = installed(settings, certificate, facility)?;
    let path = |of: &CertificateSettings| of.chain.as_ref().map(|chain| chain.value.clone());
    let is_same = |old: &&Arc<Item>| {
        old.files == files
            && old.installed == installed
            && path(&old.settings) == path(certificate)
            && same_key(&old.settings.key, &certificate.key)
            && old.settings.ocsp.as_ref().map(|path| &path.value)
                == certificate.ocsp.as_ref().map(|path| &path.value)
    };
    let (chain, stapled, warning) = if let Some(old) = old.filter(is_same) {
        (old.chain.clone(), old.stapled.clone(), old.warning.clone())
    } else {
        let pem = match (&certificate.chain, &installed) {
            (Some(chain), _) => {
                read_bounded(&chain.value, FILE_BYTES_MAX).map_err(|cause| of_chain(&cause))?
            }
            (None, Some(der)) => {
                certificates::Chain::from_der(der).map_err(|cause| of_chain(&cause))?.to_pem().into_bytes()
            }
            // Settings that give neither are refused earlier.
            (None, None) => Vec::new(),
        };
        let mut private = None;
        let mut key_error = None;
        if let KeySettings::File(path) = &certificate.key {
            let of_key = |cause: &dyn std::fmt::Display| {
                settings.wrong(path.line, "key", format!("{}: {cause}", path.value.display()))
            };
            let read = read_bounded(&path.value, FILE_BYTES_MAX).map_err(|cause| of_key(&cause))?;
            private = Some(Zeroizing::new(read));
            key_error = Some(of_key);
        }
        let make = |staple: Option<&[u8]>| {
            let private_key = private.as_ref().map(|private| &private[..]);
            Chain::from_parts(ChainParts { chain: &pem, private_key, staple }, number).map_err(
                |error| match (&key_error, &error) {
                    (Some(of_key), tls::ChainError::PrivateKey(_) | tls::ChainError::OtherKey) => {
                        of_key(&error)
                    }
                    _ => of_chain(&error),
                },
            )
        };
        let chain = make(None)?;
        let (staple, warning) = staple(settings, certificate, &chain)?;
        let stapled = match staple {
            Some(staple) => Some((make(Some(&staple.der))?, staple.until)),
            None => None,
        };
        (chain, stapled, warning)
    };
    let not_after = chain.leaf().not_after;
    if not_after < now() {
        let at = timestamp(UNIX_EPOCH + Duration::from_secs(not_after.try_into().unwrap_or_default()));
        let days = (now() - not_after) / 86_400;
        return Err(of_chain(&format!("it expired {days} days ago, at {at}")));
    }
    // The whole item is kept if its key is not on cards: of thousands of chains, few change.
    if let Some(old) = old.filter(is_same)
        && old.settings == *certificate
        && matches!(certificate.key, KeySettings::File(_))
    {
        return Ok(Arc::clone(old));
    }
    let key = match &certificate.key {
        KeySettings::File(path) => {
            Key { name: format!("file {}", path.value.display()), place: KeyPlace::Here }
        }
        KeySettings::Label(label) => {
            let of_label = |cause: &dyn std::fmt::Display| settings.wrong(label.line, "label", cause);
            let home = settings.home.as_ref().zip(facility);
            let (home, facility) = home.ok_or_else(|| of_label(&"there is no home for it"))?;
            // Also if no file changed: the key under a label may have been replaced.
            labels::compare(facility, home.domain, &label.value, &chain.leaf().public_key)
                .map_err(|cause| of_label(&cause))?;
            let mut policies = settings.policies_of(certificate);
            if let PublicKey::Rsa { modulus, .. } = &chain.leaf().public_key
                && let Some(policy) = policies.find(|policy| policy.has_rsa_key_exchange())
            {
                labels::opens_premasters(facility, home.domain, &label.value, modulus.len()).map_err(
                    |cause| of_label(&format!("\"{}\" offers RSA key exchange, but {cause}", policy.name())),
                )?;
            }
            Key { name: format!("label {}", label.value), place: KeyPlace::Label(label.value.to_field()) }
        }
    };
    Ok(Arc::new(Item { settings: certificate.clone(), files, installed, chain, stapled, warning, key }))
}

/// The OCSP response to show with a chain, and a warning if there is something to report.
fn staple(
    settings: &Settings,
    certificate: &CertificateSettings,
    chain: &Chain,
) -> Result<(Option<Staple>, Option<String>), Wrong> {
    let (_, _, name) = certificate.chain_place();
    let Some(path) = &certificate.ocsp else {
        let warning =
            format!("{name}clients want an OCSP response with it (must-staple): name one by `ocsp`");
        return Ok((None, chain.leaf().must_staple.then_some(warning)));
    };
    let file = path.value.display();
    let wrong = |cause: String| settings.wrong(path.line, "ocsp", format!("{file}: {cause}"));
    let der = read_bounded(&path.value, staples::FILE_BYTES_MAX).map_err(wrong)?;
    match Staple::new(der, chain, now()) {
        Ok(staple) => Ok((Some(staple), None)),
        Err(NoStaple::Wrong(cause)) => Err(wrong(cause)),
        Err(NoStaple::Useless(cause)) => {
            let more = if chain.leaf().must_staple { ", and clients want one (must-staple)" } else { "" };
            Ok((None, Some(format!("{file}: not shown: {cause}{more}"))))
        }
    }
}

/// The chain that the key store has under the label, in DER; `None` if a file has the chain.
fn installed(
    settings: &Settings,
    certificate: &CertificateSettings,
    facility: Option<&Facility>,
) -> Result<Option<Vec<u8>>, Wrong> {
    let (None, KeySettings::Label(label), Some(facility)) = (&certificate.chain, &certificate.key, facility)
    else {
        return Ok(None);
    };
    let of_label = |cause: &dyn std::fmt::Display| settings.wrong(label.line, "label", cause);
    match facility.chain_read(&label.value) {
        Err(error) => Err(of_label(&format!("{}: {error}", label.value))),
        Ok(der) if der.is_empty() => Err(of_label(&crate::cert::not_installed(&label.value))),
        Ok(der) => Ok(Some(der)),
    }
}

fn same_key(old: &KeySettings, new: &KeySettings) -> bool {
    match (old, new) {
        (KeySettings::File(old), KeySettings::File(new)) => old.value == new.value,
        (KeySettings::Label(old), KeySettings::Label(new)) => old.value == new.value,
        _ => false,
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}
