//! Changes of cards, tenants and decimalisation tables at run time, and reloading the settings file.
//!
//! ```text
//! asked --checked as a whole--> written --taken over--> carried out by cards --> answered
//!            '--> refused            '--> refused: the file could not be written
//! ```
//! The check covers the resulting state: the settings themselves, the names in them, and that no
//! tenant loses the last card of a kind that it could use. The file is written before anything is done, so
//! if the daemon dies later, the next one finishes the change; if it dies earlier,
//! nothing has happened. The write is short and blocks the event loop: only administrators cause it.

use super::Daemon;
use super::cards::{START_WAIT, STOP_WAIT};
use super::start::open_way;
use crate::access::{Access, user_name};
use crate::rights::RightsTable;
use crate::supervise::card::{Card, Phase};
use crate::supervise::keeper::KeeperSpecification;
use crate::supervise::plan::limit;
use crate::supervise::program::Program;
use crate::tenants::Tenants;
use home::{CardSettings, Settings, SettingsError, share_percent};
use link::world;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};
use wire::bounds::{CARDS_MAX, PIN_TABLES_MAX};
use wire::control::{CardState, ClientReply, Personality, Refusal};
use wire::pin::DecimalisationTable;
use wire::tenant::{Change, NAMED_TENANT, Tenant};

/// A change that is written and not yet carried out.
pub(super) struct Changing {
    pub(super) client: u64,
    pub(super) awaits: Awaits,
    pub(super) until: Instant,
}

/// The event that a change waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    /// The change is done once the settings are taken over.
    Nothing,
    /// The card is in the wanted state: it serves, or is quiesced.
    Card(u32),
    /// The card is gone.
    End(u32),
    /// The card has a newer process than that of this generation, in the wanted state.
    Successor { card: u32, generation: u64 },
}

/// Checked settings, ready to be taken over, with what was resolved from them.
pub(super) struct Prepared {
    filed: Settings,
    settings: Settings,
    access: Access,
    tenants: Tenants,
    program: Program,
}

impl Daemon {
    /// Checks a change, writes it, and begins to carry it out; it is answered by [`Daemon::settle_change`].
    pub(super) fn change(&mut self, client: u64, change: Change) -> Result<(), Refusal> {
        if self.stopping {
            return Err(Refusal::Stopping);
        }
        if self.changing.is_some() {
            return Err(Refusal::Invalid(
                "another change is being carried out; try again when it is done".into(),
            ));
        }
        let file = self.home.settings_file().map_err(|error| Refusal::Settings(error.to_string()))?;
        if *file.settings() != self.filed {
            let why = "settings.toml was edited since it was last read: run `cryptand reload` first";
            return Err(Refusal::Invalid(why.into()));
        }
        let mut wanted = self.filed.clone();
        let what = describe(&change);
        let awaits = apply(&mut wanted, change)?;
        let prepared = self.prepare(wanted)?;
        let text = file.changed(&prepared.filed).map_err(|error| Refusal::Settings(error.to_string()))?;
        if let Err(error) = self.home.write_settings_text(&text) {
            // Access to the socket is set back to what the settings in force say.
            let _ = open_way(&self.home, &self.access);
            return Err(Refusal::Storage {
                operation: "write the settings".into(),
                cause: error.to_string(),
            });
        }
        let user = self.clients.get(&client).map_or(0, |client| client.user);
        tracing::info!(user, "settings changed: {what}");
        self.take_over(prepared, Some(client));
        self.changing = Some(Changing { client, awaits, until: world::now() + CHANGE_WAIT });
        Ok(())
    }

    /// Reads the settings again, and makes everything match them. If they are not valid, or
    /// would strand a tenant, nothing changes.
    pub(super) fn reload(&mut self, client: Option<u64>) -> Result<(), Refusal> {
        if self.stopping {
            return Err(Refusal::Stopping);
        }
        let settings = self.home.settings().map_err(|error| Refusal::Settings(error.to_string()))?;
        check_numbers(&self.filed, &settings)?;
        let prepared = self.prepare(settings)?;
        self.check_keeper(&prepared.settings)?;
        tracing::info!("settings taken over");
        let labels = prepared.settings.daemon.labels;
        if link::key_table_units_for(labels) != self.key_table.units() {
            tracing::warn!(
                "[daemon] labels = {labels} takes effect when the home is started after `cryptand stop`"
            );
        }
        self.take_over(prepared, client);
        Ok(())
    }

    /// Refuses settings that would replace the keeper while master keys in use are in no sealed copy.
    fn check_keeper(&self, settings: &Settings) -> Result<(), Refusal> {
        let is_replaced = self.keeper.wanted != KeeperSpecification::wanted(settings);
        if is_replaced && self.would_lose_keys() {
            let keys = self.unsealed_keys();
            let why = format!(
                "with other `domains` or another seed the keeper is replaced, and master keys in use are in no sealed copy ({keys}): \
                 `cryptand master-key seal` first"
            );
            return Err(Refusal::Settings(why));
        }
        Ok(())
    }

    /// Whether master keys in use would be lost with the keeper: no sealed copy has them, and no seed makes them. Never
    /// so in a service, whose keeper the daemon does not end.
    pub(super) fn would_lose_keys(&self) -> bool {
        self.service.is_none() && self.has_unsealed_keys()
    }

    /// Whether master keys in use are in no sealed copy; keys that a seed makes need none.
    fn has_unsealed_keys(&self) -> bool {
        self.settings.development.is_none() && !self.keeper.registers.iter().all(|row| row.is_sealed)
    }

    /// Refuses to end the keeper if master keys in use would be lost with it, unless the client accepts that
    /// (`lose_keys`).
    pub(super) fn may_end_keeper(&self, lose_keys: bool, risk: &str) -> Result<(), Refusal> {
        if self.would_lose_keys() { self.need_sealed(lose_keys, risk) } else { Ok(()) }
    }

    /// Refuses to put records under master keys in use that are in no sealed copy, unless the client accepts that
    /// (`lose_keys`). This holds for the keeper of a service too.
    pub(super) fn need_sealed(&self, lose_keys: bool, risk: &str) -> Result<(), Refusal> {
        match self.has_unsealed_keys() && !lose_keys {
            true => Err(Refusal::NotSealed { keys: self.unsealed_keys(), risk: risk.to_owned() }),
            false => Ok(()),
        }
    }

    /// Names of the registers whose keys are in no sealed copy; of more than [`KEYS_NAMED_MAX`], also the number of the
    /// rest.
    fn unsealed_keys(&self) -> String {
        let rows = self.keeper.registers.iter().filter(|row| !row.is_sealed);
        let names: Vec<String> =
            rows.map(|row| format!("domain {} {}", row.domain, row.register.name())).collect();
        let (named, rest) = names.split_at(names.len().min(KEYS_NAMED_MAX));
        let named = named.join(", ");
        if rest.is_empty() { named } else { format!("{named} and {} more", rest.len()) }
    }

    /// Checks settings as a whole, also against what runs now, and resolves the names in them.
    fn prepare(&self, filed: Settings) -> Result<Prepared, Refusal> {
        let refused = |cause: String| Refusal::Settings(cause);
        filed.check().map_err(|error| match error {
            SettingsError::Stranded { name } => {
                Refusal::Strands { tenant: name, lacks: "any card that it may use".into() }
            }
            error => refused(error.to_string()),
        })?;
        let owner = self.home.owner().map_err(|error| refused(error.to_string()))?;
        let access = Access::resolve(owner, &filed).map_err(|error| refused(error.to_string()))?;
        let tenants = Tenants::resolve(&filed).map_err(|error| refused(error.to_string()))?;
        let program = Program::open(&filed.programs.card, filed.programs.manifest.as_deref())
            .map_err(|error| refused(error.to_string()))?;
        check_processors(&self.filed, &filed)?;
        if let Some((tenant, lacks)) = stranded(&self.filed, &filed, self.users().as_deref()) {
            return Err(Refusal::Strands { tenant, lacks });
        }
        open_way(&self.home, &access).map_err(|error| refused(error.to_string()))?;
        let mut settings = filed.clone();
        limit(&mut settings, self.level);
        Ok(Prepared { filed, settings, access, tenants, program })
    }

    /// Puts settings in force. The client that requested the change stays connected for its answer, even if it now
    /// belongs to another tenant.
    fn take_over(&mut self, prepared: Prepared, asking: Option<u64>) {
        let Prepared { filed, settings, access, tenants, program } = prepared;
        (self.filed, self.settings, self.access) = (filed, settings, access);
        (self.tenants, self.program) = (tenants, program);
        self.rights = RightsTable::of(&self.settings);
        // Labels first: cards see the change with the next request, whatever else they do.
        self.review_labels();
        self.keeper.wanted = KeeperSpecification::wanted(&self.settings);
        self.review_clients(asking);
        self.review_queues();
        self.want_keeper();
        self.want_cards();
        let running: Vec<u32> = self.cards.keys().copied().collect();
        running.into_iter().for_each(|index| self.tell_tables(index));
        self.review_failures();
    }

    /// Names users who share cards without a named tenant: one with queues, or those of `[access]`; `None` if there are
    /// none.
    fn users(&self) -> Option<String> {
        let user = self.queues.values().find(|queue| queue.grant.tenant < NAMED_TENANT);
        let named = |all: &[String], of: fn(&Tenant) -> &[String]| {
            let is_tenant = |name: &String| self.filed.tenants.iter().any(|tenant| of(tenant).contains(name));
            all.iter().any(|name| !is_tenant(name))
        };
        let access = &self.filed.access;
        let others =
            named(&access.users, |tenant| &tenant.users) || named(&access.groups, |tenant| &tenant.groups);
        user.map(|queue| user_name(queue.grant.tenant))
            .or_else(|| others.then(|| "of the users in [access]".to_owned()))
    }

    /// Answers the change under way once it is carried out, or cannot be.
    pub(super) fn settle_change(&mut self, now: Instant) {
        let Some(changing) = &self.changing else { return };
        let (client, awaits, late) = (changing.client, changing.awaits, now >= changing.until);
        let reply = match awaits {
            Awaits::Nothing => ClientReply::Done,
            Awaits::End(index) => match self.cards.get(&index) {
                None => ClientReply::Done,
                Some(_) if late => failed(index),
                Some(_) => return,
            },
            Awaits::Successor { card: index, generation } => match self.cards.get(&index) {
                Some(card) if card.generation != generation && self.is_as_wanted(card) => ClientReply::Done,
                Some(card) if !late && !cannot_start(card) => return,
                _ => ClientReply::Refused(Refusal::Invalid(format!(
                    "card {index} does not come back; log/daemon.log and log/card-{index}.log may say why"
                ))),
            },
            Awaits::Card(index) => match self.cards.get(&index) {
                Some(card) if self.is_as_wanted(card) => ClientReply::Done,
                Some(card) if late || cannot_start(card) => failed(index),
                Some(_) => return,
                None => failed(index),
            },
        };
        self.changing = None;
        self.reply(client, &reply, &[]);
        self.review_clients(None);
    }

    fn is_as_wanted(&self, card: &Card) -> bool {
        let fits = card.phase == Phase::Serving && card.running_as == card.wanted;
        match (&card.process, card.quiesced) {
            // A card that does not run takes no requests, and will take none when it is back.
            (None, true) => card.backoff.failures() > 0,
            (_, true) => fits && card.state == CardState::Quiescing,
            (_, false) => fits && self.serves(card),
        }
    }

    /// When the change under way is given up.
    pub(super) fn change_due(&self) -> Option<Instant> {
        self.changing.as_ref().map(|changing| changing.until)
    }
}

fn cannot_start(card: &Card) -> bool {
    let is_down = matches!(card.phase, Phase::Down(Some(_)) | Phase::Starting(_));
    card.phase == Phase::Broken || (is_down && card.is_settled())
}

fn failed(index: u32) -> ClientReply {
    ClientReply::Refused(Refusal::Invalid(format!(
        "the settings are changed, but card {index} does not follow; log/daemon.log and log/card-{index}.log may say why"
    )))
}

/// A change as the log names it.
fn describe(change: &Change) -> String {
    match change {
        Change::TenantAdd(tenant) => format!("tenant {} is new", tenant.name),
        Change::TenantSet(tenant) => format!("tenant {}", tenant.name),
        Change::TenantRemove { name } => format!("tenant {name:?} is removed"),
        Change::CardAdd(change) => format!("a new card, {change:?}"),
        Change::CardSet { card, change } => format!("card {card}, {change:?}"),
        Change::CardRemove { card } => format!("card {card} is removed"),
        Change::CardQuiesce { card } => format!("card {card} is quiesced"),
        Change::CardResume { card } => format!("card {card} is resumed"),
        Change::TableAdd { table } => format!("decimalisation table {table} is stored"),
        Change::TableRemove { table } => format!("decimalisation table {table} is stored no more"),
    }
}

/// Applies a change to the settings, and returns what the change then waits for.
fn apply(settings: &mut Settings, change: Change) -> Result<Awaits, Refusal> {
    match change {
        Change::TenantAdd(tenant) => add_tenant(settings, tenant).map(|()| Awaits::Nothing),
        Change::TenantSet(tenant) => set_tenant(settings, tenant).map(|()| Awaits::Nothing),
        Change::TenantRemove { name } => {
            let at = settings.tenants.iter().position(|tenant| tenant.name == name);
            settings.tenants.remove(at.ok_or(Refusal::NoSuchTenant(name))?);
            Ok(Awaits::Nothing)
        }
        Change::CardAdd(change) => {
            let wanted = settings.wanted_cards();
            let free = (0..CARDS_MAX as u32).find(|index| !wanted.contains_key(index));
            let full = || Refusal::Full { what: "cards".into(), limit: CARDS_MAX as u64 };
            let mut card = CardSettings { index: free.ok_or_else(full)?, ..CardSettings::default() };
            card.personality = Some(Personality::Accelerator);
            card.apply(&change);
            let index = card.index;
            settings.put_card(card);
            Ok(Awaits::Card(index))
        }
        Change::CardSet { card: index, change } => {
            let mut card = known(settings, index)?;
            card.apply(&change);
            settings.put_card(card);
            Ok(Awaits::Card(index))
        }
        Change::CardRemove { card: index } => {
            known(settings, index)?;
            let part = |tenant: &&Tenant| share_percent(tenant, index) > 0;
            if let Some(tenant) = settings.tenants.iter().find(part) {
                let lacks = format!("card {index}, which is dedicated to it; dedicate another card first");
                return Err(Refusal::Strands { tenant: tenant.name.clone(), lacks });
            }
            let removed = index < settings.counted_cards();
            settings.put_card(CardSettings { index, removed, ..CardSettings::default() });
            Ok(Awaits::End(index))
        }
        Change::CardQuiesce { card } => quiesce(settings, card, true),
        Change::CardResume { card } => quiesce(settings, card, false),
        Change::TableAdd { table } => add_table(settings, table).map(|()| Awaits::Nothing),
        Change::TableRemove { table } => remove_table(settings, table).map(|()| Awaits::Nothing),
    }
}

fn quiesce(settings: &mut Settings, index: u32, quiesced: bool) -> Result<Awaits, Refusal> {
    let card = known(settings, index)?;
    settings.put_card(CardSettings { quiesced, ..card });
    Ok(Awaits::Card(index))
}

fn known(settings: &Settings, index: u32) -> Result<CardSettings, Refusal> {
    let exists = settings.wanted_cards().contains_key(&index);
    exists.then(|| settings.card_settings(index)).ok_or(Refusal::NoSuchCard)
}

fn add_tenant(settings: &mut Settings, mut tenant: Tenant) -> Result<(), Refusal> {
    if settings.tenant(&tenant.name).is_some() {
        let name = &tenant.name;
        return Err(Refusal::Invalid(format!(
            "there is a tenant {name} already; `cryptand tenant set` changes it"
        )));
    }
    let next = settings.tenant_number_next;
    match tenant.number {
        0 => tenant.number = next,
        number if number < next => {
            return Err(Refusal::Invalid(format!(
                "number {number} may have been another tenant's; the next is {next}"
            )));
        }
        _ => {}
    }
    settings.tenant_number_next = tenant.number.saturating_add(1);
    settings.tenants.push(tenant);
    Ok(())
}

fn add_table(settings: &mut Settings, table: DecimalisationTable) -> Result<(), Refusal> {
    let tables = &mut settings.pin.tables;
    if table == DecimalisationTable::DEFAULT || tables.contains(&table) {
        return Err(Refusal::Invalid(format!("decimalisation table {table} is stored already")));
    }
    if tables.len() >= PIN_TABLES_MAX {
        return Err(Refusal::Full { what: "decimalisation tables".into(), limit: PIN_TABLES_MAX as u64 });
    }
    tables.push(table);
    Ok(())
}

fn remove_table(settings: &mut Settings, table: DecimalisationTable) -> Result<(), Refusal> {
    let why = match settings.pin.tables.iter().position(|stored| *stored == table) {
        Some(at) => {
            settings.pin.tables.remove(at);
            return Ok(());
        }
        None if table == DecimalisationTable::DEFAULT => "is that of every card and stays",
        None => "is not stored",
    };
    Err(Refusal::Invalid(format!("decimalisation table {table} {why}")))
}

fn set_tenant(settings: &mut Settings, mut tenant: Tenant) -> Result<(), Refusal> {
    let place = settings.tenants.iter_mut().find(|place| place.name == tenant.name);
    let place = place.ok_or_else(|| Refusal::NoSuchTenant(tenant.name.clone()))?;
    tenant.number = place.number;
    *place = tenant;
    Ok(())
}

/// Refuses settings that reuse a tenant's number, also if the file was edited by hand: opened labels, queues and
/// accounts name tenants by their numbers.
fn check_numbers(before: &Settings, after: &Settings) -> Result<(), Refusal> {
    let (given, next) = (before.tenant_number_next, after.tenant_number_next);
    let is_known = |number: u32| before.tenants.iter().any(|tenant| tenant.number == number);
    let again = after.tenants.iter().find(|tenant| tenant.number < given && !is_known(tenant.number));
    if let Some(Tenant { name, number, .. }) = again {
        return Err(Refusal::Settings(format!(
            "[[tenant]] name = {name:?}, number: {number} may have been another tenant's; give it {given} or above"
        )));
    }
    if next < given {
        return Err(Refusal::Settings(format!(
            "tenant_number_next = {next}: numbers below {given} were given already; leave it at {given} or above"
        )));
    }
    Ok(())
}

/// Refuses a card on processors that the machine does not have: the card would not start. Unchanged lists are not
/// checked: their processors may be offline for a while.
fn check_processors(before: &Settings, after: &Settings) -> Result<(), Refusal> {
    let Some(online) = processors_online() else { return Ok(()) };
    let earlier = before.wanted_cards();
    for (index, card) in after.wanted_cards() {
        if earlier.get(&index).is_some_and(|earlier| earlier.processors == card.processors) {
            continue;
        }
        let away = |number: &&u32| !online.iter().any(|range| range.contains(*number));
        if let Some(number) = card.processors.iter().flatten().find(away) {
            return Err(Refusal::Settings(format!(
                "card {index}, processors: this machine has no processor {number} online; /sys/devices/system/cpu/online \
                 lists those that it has"
            )));
        }
    }
    Ok(())
}

/// The processors that are online; `None` if the system does not say.
fn processors_online() -> Option<Vec<RangeInclusive<u32>>> {
    parse_ranges(&std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?)
}

/// Numbers and ranges such as `0,2-3`, as the kernel writes lists of processors.
fn parse_ranges(text: &str) -> Option<Vec<RangeInclusive<u32>>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    text.trim().split(',').map(range).collect()
}

/// The first tenant that would lose the last card of a kind that it could use, and what it would lack. A tenant may
/// lose its coprocessors by a change of its own share of cards. Users without a tenant, if there are any, count as one
/// tenant.
fn stranded(before: &Settings, after: &Settings, users: Option<&str>) -> Option<(String, String)> {
    let mut shared = Vec::new();
    for tenant in &after.tenants {
        // Tenants are matched by number: a renamed tenant is the same tenant.
        let earlier = before.tenants.iter().find(|earlier| earlier.number == tenant.number);
        let is_its_wish = earlier.is_none_or(|earlier| {
            (&earlier.dedicated, earlier.also_shared) != (&tenant.dedicated, tenant.also_shared)
        });
        let had = earlier.map_or(Usable { any: true, coprocessor: false }, |of| usable(before, Some(of)));
        shared.push((tenant.name.as_str(), had, usable(after, Some(tenant)), is_its_wish));
    }
    if let Some(users) = users {
        shared.push((users, usable(before, None), usable(after, None), false));
    }
    shared.into_iter().find_map(|(name, had, has, is_its_wish)| {
        if had.any && !has.any {
            Some((name.to_owned(), "any card that serves it; add, resume or share one first".to_owned()))
        } else if had.coprocessor && !has.coprocessor && !is_its_wish {
            Some((
                name.to_owned(),
                "a coprocessor for its secure keys; add, resume or share one first".to_owned(),
            ))
        } else {
            None
        }
    })
}

/// The kinds of cards that a tenant can use, without quiesced ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Usable {
    any: bool,
    coprocessor: bool,
}

fn usable(settings: &Settings, tenant: Option<&Tenant>) -> Usable {
    let mut found = Usable { any: false, coprocessor: false };
    for (index, card) in settings.wanted_cards() {
        if !card.quiesced && settings.may_use(tenant, index) {
            found.any = true;
            found.coprocessor |= card.personality == Personality::Coprocessor;
        }
    }
    found
}

/// Upper bound of the registers that a refusal names one by one.
const KEYS_NAMED_MAX: usize = 8;
/// How long a change may take: a card stops, and starts again. Clients wait longer for an answer.
pub(super) const CHANGE_WAIT: Duration = START_WAIT.saturating_add(STOP_WAIT);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_ranges("0-3,6\n"), Some(vec![0..=3, 6..=6]));
        for bad in ["", "a", "1-", "1,,2"] {
            assert_eq!(parse_ranges(bad), None, "{bad}");
        }
    }
}
