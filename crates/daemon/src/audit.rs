//! Lines for an auditor: who did what to which object, and the result. They go to files of their own
//! ([`crate::audit_log`]) and to the journal, and hold only names and numbers: no token, no part of a key, no
//! passphrase.
//!
//! There is a line for everything that administrators and officers request, for every read and change of key records,
//! and for every request refused for want of a right, by the daemon or by a card (which tells the daemon). Lines that
//! guests cause are bounded ([`crate::bounded`]). Uses of keys are counted ([`link::Samples`]).

use crate::bounded::{Allowance, DAY};
use crate::verbs;
use wire::control::{
    ClientReply, ClientRequest, OfficerOrder, OfficerReply, Part, Refusal, Register, Upgrade,
};
use wire::tenant::Change;
use wire::{Label, code};

/// A request, as an auditor's line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// The action, in words of the command line.
    pub what: &'static str,
    /// The action's object: a label, a card, a tenant, a register, a folder; empty if there can be only one.
    pub object: String,
    /// Whether a line is written whatever the result, rather than only if the request is refused for want of a right.
    pub always: bool,
}

impl Act {
    fn always(what: &'static str, object: impl Into<String>) -> Self {
        Self { what, object: object.into(), always: true }
    }

    fn if_refused(what: &'static str, object: impl Into<String>) -> Self {
        Self { what, object: object.into(), always: false }
    }

    /// The act that a client's request asks for, with its object.
    pub fn of(request: &ClientRequest) -> Self {
        use ClientRequest as R;
        match request {
            R::Hello { .. } => Self::if_refused("greet", ""),
            R::Attach { card, domain, .. } => {
                Self::if_refused("attach", format!("card {card} domain {domain}"))
            }
            R::Cards => Self::if_refused("list cards", ""),
            R::OpenLabel { label } => Self::if_refused("use key", label.as_str()),
            R::Call { verb, payload, .. } => Self::of_call(*verb, payload),
            R::RecordList { pattern, .. } => Self::if_refused("list records", shortened(pattern)),
            R::TokenList { pattern, .. } => Self::always("read records", shortened(pattern)),
            R::TokenReplace { replacements, .. } => {
                Self::always("replace records", objects(replacements.iter().map(|of| &of.record.label)))
            }
            R::ChainRead { label } => Self::if_refused("read certificates", label.as_str()),
            R::ChainWrite { label, .. } => Self::always("install certificates", label.as_str()),
            R::Status => Self::if_refused("look at the status", ""),
            R::Reload => Self::always("reload", ""),
            R::Shutdown { lose_keys } => Self::always("stop", if *lose_keys { "--lose-keys" } else { "" }),
            R::Backup { folder } => Self::always("backup", shortened(folder)),
            R::Officer(order) => Self::of_officer(order),
            R::Tenants { .. } => Self::if_refused("list tenants", ""),
            R::Failures { .. } => Self::if_refused("pin failures list", ""),
            R::ClearFailures { digest } => {
                let what = digest.map_or_else(|| "all".to_owned(), |digest| digest.to_string());
                Self::always("pin failures clear", what)
            }
            R::Tables => Self::if_refused("pin table list", ""),
            R::Change(change) => Self::of_change(change),
            R::Observe { card } => Self::if_refused("observe", format!("card {card}")),
            R::Upgrade(upgrade) => Self::of_upgrade(*upgrade),
            R::Lift { tenant } => Self::always("tenant lift", shortened(tenant)),
        }
    }

    fn of_call(verb: u16, payload: &[u8]) -> Self {
        let Ok(entry) = verbs::entry(verb) else {
            return Self::if_refused("call", format!("verb {verb:#06x}"));
        };
        if verbs::is_query(entry.verb) {
            return Self::if_refused(entry.name, "");
        }
        let labels = verbs::read(entry, payload);
        Self::always(entry.name, labels.map_or(String::new(), |call| objects(call.labels().into_iter())))
    }

    /// The act that an officer's order asks for, with its object.
    pub fn of_officer(order: &OfficerOrder) -> Self {
        let register = |domain: &u16, register: &Register| format!("domain {domain} {}", register.name());
        match order {
            OfficerOrder::StartupKey => Self::if_refused("ask for the start-up key", ""),
            OfficerOrder::LoadPart { domain, register: of, part, .. } => {
                Self::always("master-key load", format!("{} {}", register(domain, of), part_name(*part)))
            }
            OfficerOrder::ClearNew { domain, register: of } => {
                Self::always("master-key clear", register(domain, of))
            }
            OfficerOrder::Set { domain } => Self::always("master-key set", format!("domain {domain}")),
            OfficerOrder::SealUnder { .. } => Self::always("master-key seal", ""),
            OfficerOrder::Unseal { .. } => Self::always("unseal", ""),
            // Always logged: after a refusal no part follows that would be logged itself.
            OfficerOrder::MayLoad { domain, register: of, part } => {
                let object = format!("{} {}", register(domain, of), part_name(*part));
                Self::always("master-key load, asked before", object)
            }
            OfficerOrder::Registers => Self::if_refused("master-key show", ""),
            OfficerOrder::Pending => Self::if_refused("master-key pending", ""),
            OfficerOrder::Confirm { number } => Self::always("master-key confirm", number.to_string()),
        }
    }

    fn of_upgrade(upgrade: Upgrade) -> Self {
        match upgrade {
            Upgrade::Check => Self::if_refused("upgrade check", ""),
            Upgrade::Keeper { lose_keys: false } => Self::always("upgrade", "keeper"),
            Upgrade::Keeper { lose_keys: true } => Self::always("upgrade", "keeper --lose-keys"),
            Upgrade::Card { card } => Self::always("upgrade", format!("card {card}")),
            Upgrade::Daemon => Self::always("upgrade", "daemon"),
        }
    }

    fn of_change(change: &Change) -> Self {
        match change {
            Change::TenantAdd(tenant) => Self::always("tenant add", shortened(&tenant.name)),
            Change::TenantSet(tenant) => Self::always("tenant set", shortened(&tenant.name)),
            Change::TenantRemove { name } => Self::always("tenant remove", shortened(name)),
            Change::CardAdd(_) => Self::always("card add", ""),
            Change::CardSet { card, .. } => Self::always("card set", card.to_string()),
            Change::CardRemove { card } => Self::always("card remove", card.to_string()),
            Change::CardQuiesce { card } => Self::always("card quiesce", card.to_string()),
            Change::CardResume { card } => Self::always("card resume", card.to_string()),
            Change::TableAdd { table } => Self::always("pin table add", table.to_string()),
            Change::TableRemove { table } => Self::always("pin table remove", table.to_string()),
        }
    }
}

/// How a request ended, for an auditor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The result in words, such as `done` or `refused: …`.
    pub how: String,
    /// Whether the request was refused for want of a right.
    pub denied: bool,
}

impl Ended {
    /// How a request ended that got this reply.
    pub fn by(reply: &ClientReply) -> Self {
        let (how, denied) = match reply {
            ClientReply::Refused(refusal) => {
                let denied = matches!(refusal, Refusal::Denied | Refusal::Verb(code::ACCESS_DENIED));
                (format!("refused: {refusal}"), denied)
            }
            ClientReply::Called { codes, .. } => {
                (format!("{}/{}", codes.return_code, codes.reason_code), *codes == code::ACCESS_DENIED)
            }
            ClientReply::Officer(OfficerReply::Refused(refusal)) => (format!("refused: {refusal}"), false),
            ClientReply::Officer(OfficerReply::Awaits(_)) => ("waits for a second officer".into(), false),
            ClientReply::Replaced(replaced) => {
                let done = replaced.iter().filter(|done| **done).count();
                (format!("done: {done} of {}", replaced.len()), false)
            }
            _ => ("done".into(), false),
        };
        Self { how, denied }
    }
}

/// Name of a process's program as the kernel has it, which the process may change; empty if the process has ended.
pub fn process_name(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().chars().filter(|letter| !letter.is_control()).collect()
}

/// The allowance of lines about refused requests, for one user and for all together.
pub fn refusals() -> Allowance {
    Allowance::new(20, 200)
}

/// The allowance of lines about guests' reads and changes of key records.
pub fn guests_acts() -> Allowance {
    Allowance::new(300, 3000)
}

/// The allowance of lines for one tenant of guests in a day, and for all. With [`GUESTS_LINE_BYTES_MAX`], the lines of
/// two days that one tenant writes at once fill no file of [`LOG_BYTES_MAX`](crate::log::LOG_BYTES_MAX).
pub fn guests_days() -> Allowance {
    Allowance::within(DAY, GUESTS_LINES_PER_DAY, 10 * GUESTS_LINES_PER_DAY)
}

/// Upper bound of the lines of one tenant in a day.
const GUESTS_LINES_PER_DAY: u32 = 4000;
/// Longest line about guests, in bytes.
pub const GUESTS_LINE_BYTES_MAX: usize = 900;
/// Bytes that a line takes besides its text: its prefix, and its share of the minutely reports of lines left out.
const BESIDES_BYTES: u64 = 48 + 3 * 24 * 60 * 160 / 8000;
const _: () = assert!(
    2 * GUESTS_LINES_PER_DAY as u64 * (GUESTS_LINE_BYTES_MAX as u64 + BESIDES_BYTES)
        < crate::log::LOG_BYTES_MAX,
    "one tenant takes a day at the least"
);

/// Upper bound of the letters shown of a text that a client chose.
const LETTERS_MAX: usize = 200;
/// Labels of a request that are named one by one; of the others only the number is told.
const LABELS_MAX: usize = 4;

/// A client's text on one line, cut to [`LETTERS_MAX`] letters.
fn shortened(text: &str) -> String {
    text.chars()
        .take(LETTERS_MAX)
        .map(|letter| if letter.is_control() { '\u{FFFD}' } else { letter })
        .collect()
}

fn objects<'a>(labels: impl ExactSizeIterator<Item = &'a Label>) -> String {
    let count = labels.len();
    let mut named: Vec<&str> = labels.take(LABELS_MAX).map(Label::as_str).collect();
    let rest = format!("and {} more", count.saturating_sub(LABELS_MAX));
    if count > LABELS_MAX {
        named.push(&rest);
    }
    named.join(" ")
}

fn part_name(part: Part) -> &'static str {
    match part {
        Part::First => "first",
        Part::Middle => "middle",
        Part::Last => "last",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::{Record, Replacement, Sealed, Store};

    #[test]
    fn acts_name_their_object_and_nothing_secret() {
        let sealed = Sealed { share: [0x5A; 32], ciphertext: vec![0x5A; 64] };
        let label = Label::new("PAY.KEY").unwrap();
        let record = Record { store: Store::Des, label: label.clone(), token: vec![0x5A; 64] };
        let replacement = Replacement { record, token: vec![0x5A; 64] };
        let load = OfficerOrder::LoadPart {
            domain: 1,
            register: Register::Aes,
            part: Part::Last,
            sealed: sealed.clone(),
        };
        let seal = OfficerOrder::SealUnder { sealed: sealed.clone(), former: Some(sealed.clone()) };
        for (request, what, object) in [
            (ClientRequest::Officer(load), "master-key load", "domain 1 aes last"),
            (ClientRequest::Officer(seal), "master-key seal", ""),
            (ClientRequest::Officer(OfficerOrder::Unseal { sealed }), "unseal", ""),
            (
                ClientRequest::TokenReplace { replacements: vec![replacement; 6], lose_keys: false },
                "replace records",
                "PAY.KEY PAY.KEY PAY.KEY PAY.KEY and 2 more",
            ),
            (ClientRequest::OpenLabel { label: label.clone() }, "use key", "PAY.KEY"),
            (ClientRequest::ChainRead { label: label.clone() }, "read certificates", "PAY.KEY"),
            (ClientRequest::ChainWrite { label, chain: vec![90; 40] }, "install certificates", "PAY.KEY"),
            (ClientRequest::Backup { folder: "/a\nb".into() }, "backup", "/a\u{FFFD}b"),
            (ClientRequest::Change(Change::CardQuiesce { card: 3 }), "card quiesce", "3"),
            (
                ClientRequest::Call { domain: 0, card: None, verb: 9999, payload: vec![0x5A; 90] },
                "call",
                "verb 0x270f",
            ),
        ] {
            let act = Act::of(&request);
            assert_eq!((act.what, act.object.as_str()), (what, object));
            assert!(!format!("{act:?}").contains("90, 90"), "{act:?}");
        }
    }
}
