//! The settings file as an operator wrote it: a change at run time alters the tables that it
//! concerns, and keeps comments, order and everything else.

use super::{CardSettings, Settings, SettingsError};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike, value};
use wire::tenant::{Limits, Tenant};

/// The text of a settings file, with the settings in it.
#[derive(Clone, Debug)]
pub struct SettingsFile {
    document: DocumentMut,
    settings: Settings,
}

impl SettingsFile {
    /// Reads and checks a settings file.
    ///
    /// # Errors
    /// [`SettingsError`] if the settings are not valid.
    pub fn from_text(text: &str) -> Result<Self, SettingsError> {
        let settings = Settings::from_text(text)?;
        let document = text.parse().map_err(|error: toml_edit::TomlError| syntax(&error))?;
        Ok(Self { document, settings })
    }

    /// The settings in the file.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The text of the file with the settings `wanted`. They may differ from the present settings
    /// in tenants, in tables of cards, in decimalisation tables, and in the number of the next
    /// tenant.
    ///
    /// # Errors
    /// [`SettingsError`] if `wanted` is not valid, or differs in anything else.
    pub fn changed(&self, wanted: &Settings) -> Result<String, SettingsError> {
        wanted.check()?;
        let mut document = self.document.clone();
        if wanted.tenant_number_next != self.settings.tenant_number_next {
            document["tenant_number_next"] = value(i64::from(wanted.tenant_number_next));
        }
        let cards = wanted.card.iter().map(|card| (i64::from(card.index), card_document(card)));
        put_tables(&mut document, "card", |table| table.get("index")?.as_integer(), cards.collect());
        let tenants = wanted.tenants.iter().map(|tenant| (tenant.name.clone(), tenant_document(tenant)));
        let name = |table: &dyn TableLike| Some(table.get("name")?.as_str()?.to_owned());
        put_tables(&mut document, "tenant", name, tenants.collect());
        if wanted.pin.tables != self.settings.pin.tables {
            let tables: toml_edit::Array = wanted.pin.tables.iter().map(ToString::to_string).collect();
            let place = &mut document["pin"];
            if place.is_none() {
                *place = toml_edit::table();
            }
            place["tables"] = value(tables);
        }
        let mut text = document.to_string();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let text = Settings::bounded(text)?;
        let said = Settings::from_text(&text)?;
        if said != *wanted {
            let cause = "the change cannot be written into this file; make it with an editor";
            return Err(SettingsError::Syntax(cause.into()));
        }
        Ok(text)
    }
}

/// Makes the tables under `key` match the wanted ones: in their order, each found by its name.
fn put_tables<N: PartialEq>(
    document: &mut DocumentMut,
    key: &str,
    name: impl Fn(&dyn TableLike) -> Option<N>,
    wanted: Vec<(N, DocumentMut)>,
) {
    if !document.contains_key(key) && wanted.is_empty() {
        return;
    }
    // Tables that were written in brackets on one line become tables of their own.
    let found = std::mem::take(&mut document[key]);
    let mut tables = found.into_array_of_tables().unwrap_or_default();
    tables.retain(|table| name(table).is_some_and(|name| wanted.iter().any(|(wanted, _)| *wanted == name)));
    for (wanted, content) in wanted {
        let at = tables.iter().position(|table| name(table).is_some_and(|name| name == wanted));
        match at.and_then(|at| tables.get_mut(at)) {
            Some(table) => merge(table, content.as_table()),
            None => tables.push(fresh(content)),
        }
    }
    if tables.is_empty() {
        document.remove(key);
    } else {
        document[key] = Item::ArrayOfTables(tables);
    }
}

/// A new table, which the operator has not written.
fn fresh(content: DocumentMut) -> Table {
    let mut table = content.into_table();
    table.decor_mut().set_prefix("\n");
    table
}

/// Gives a table the wanted content; unchanged entries keep their places and comments.
fn merge(table: &mut dyn TableLike, wanted: &dyn TableLike) {
    let gone: Vec<String> =
        table.iter().map(|(key, _)| key.to_owned()).filter(|key| !wanted.contains_key(key)).collect();
    for key in gone {
        table.remove(&key);
    }
    for (key, item) in wanted.iter() {
        match table.get_mut(key) {
            None => drop(table.insert(key, item.clone())),
            Some(old) => put(old, item),
        }
    }
}

fn put(old: &mut Item, wanted: &Item) {
    if plain(old) == plain(wanted) {
        return;
    }
    if let (Some(old), Some(wanted)) = (old.as_table_like_mut(), wanted.as_table_like()) {
        return merge(old, wanted);
    }
    if let (Item::ArrayOfTables(tables), Ok(wanted)) = (&mut *old, wanted.clone().into_array_of_tables()) {
        *tables = wanted.into_iter().collect::<ArrayOfTables>();
        return;
    }
    match (old.as_value_mut(), wanted.as_value()) {
        (Some(old), Some(wanted)) => {
            let decor = old.decor().clone();
            *old = wanted.clone();
            *old.decor_mut() = decor;
        }
        _ => *old = wanted.clone(),
    }
}

/// The value of an item, without its formatting.
fn plain(item: &Item) -> Option<toml::Value> {
    let mut document = DocumentMut::new();
    document["x"] = item.clone();
    toml::from_str::<toml::Table>(&document.to_string()).ok()?.remove("x")
}

fn card_document(card: &CardSettings) -> DocumentMut {
    toml_edit::ser::to_document(card).unwrap_or_default()
}

/// A tenant as TOML, without options that have their defaults.
pub(super) fn tenant_document(tenant: &Tenant) -> DocumentMut {
    let mut document = toml_edit::ser::to_document(tenant).unwrap_or_default();
    let lists = [
        ("users", tenant.users.is_empty()),
        ("groups", tenant.groups.is_empty()),
        ("domains", tenant.domains.is_empty()),
        ("labels", tenant.labels.is_empty()),
        ("dedicated", tenant.dedicated.is_empty()),
        ("also_shared", !tenant.also_shared),
        ("limits", tenant.limits == Limits::default()),
    ];
    for (key, _) in lists.into_iter().filter(|(_, is_default)| *is_default) {
        document.remove(key);
    }
    let is_none = |key: &str, item: &Item| item.as_integer() == Some(i64::from(key == "weight"));
    if let Some(limits) = document.get_mut("limits").and_then(Item::as_table_like_mut) {
        let unlimited: Vec<String> =
            limits.iter().filter(|(key, item)| is_none(key, item)).map(|(key, _)| key.to_owned()).collect();
        unlimited.iter().for_each(|key| drop(limits.remove(key)));
    }
    document
}

fn syntax(error: &toml_edit::TomlError) -> SettingsError {
    SettingsError::Syntax(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::{Personality, PollMode};
    use wire::tenant::Dedicated;

    const FILE: &str = "# ours
weak_algorithms = false
[programs]
card = \"/c\"  # the card
daemon = \"/d\"

# why card 2
[[card]]
index = 2
personality = \"accelerator\" # fast

[[tenant]]
# the shop
name = \"web\"
number = 1
users = [
  \"a\", # the first
]
[tenant.limits]
per_second_max = 5 # agreed
[[tenant.dedicated]]
card = 2
share_percent = 100

[access]
users = []
";

    fn changed(change: impl FnOnce(&mut Settings)) -> Result<String, SettingsError> {
        let file = SettingsFile::from_text(&FILE.replace("weak", "tenant_number_next = 2\nweak")).unwrap();
        let mut wanted = file.settings().clone();
        change(&mut wanted);
        let text = file.changed(&wanted)?;
        assert_eq!(Settings::from_text(&text).unwrap(), wanted, "{text}");
        Ok(text)
    }

    #[test]
    fn a_change_leaves_comments_and_order() {
        let text = changed(|settings| {
            settings.tenants[0].limits.per_second_max = 9;
            settings.tenants[0].limits.weight = 3;
            settings.tenants[0].domains = vec![0];
            let mut second = settings.tenants[0].clone();
            (second.name, second.number, second.users) = ("db".into(), 2, vec!["b".into()]);
            second.dedicated = vec![Dedicated { card: 1, share_percent: 50 }];
            settings.tenants.push(second);
            settings.tenant_number_next = 3;
            let mut card = settings.card_settings(2);
            card.poll = Some(PollMode::Sleep);
            settings.put_card(card);
            let mut fourth = settings.card_settings(3);
            fourth.personality = Some(Personality::Coprocessor);
            settings.put_card(fourth);
        })
        .unwrap();
        for kept in [
            "# ours",
            "# the card",
            "# why card 2",
            "\"accelerator\" # fast",
            "# the shop",
            "\"a\", # the first",
            "per_second_max = 9 # agreed",
        ] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
        let order = ["weak", "card = \"/c\"", "daemon", "[[card]]", "name = \"web\"", "[access]"];
        let places: Vec<_> = order.iter().map(|part| text.find(part).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");
    }

    #[test]
    fn a_tenant_and_a_table_go_with_what_they_said() {
        let text = changed(|settings| {
            settings.tenants.clear();
            settings.put_card(CardSettings { index: 2, removed: true, ..CardSettings::default() });
        })
        .unwrap();
        assert!(!text.contains("tenant]]") && !text.contains("agreed") && text.contains("removed = true"));
        assert!(text.contains("# the card") && text.contains("[access]"));
    }

    #[test]
    fn tables_in_brackets_are_changed_as_well() {
        let text = "tenant_number_next = 3\ntenant = [{ name = \"a\", number = 1 }, { name = \"b\", number = 2 }]\n\
                    [programs]\ncard = \"/c\"\ndaemon = \"/d\"\n";
        let file = SettingsFile::from_text(text).unwrap();
        let mut wanted = file.settings().clone();
        wanted.tenants.remove(0);
        wanted.tenants[0].also_shared = true;
        assert_eq!(Settings::from_text(&file.changed(&wanted).unwrap()).unwrap(), wanted);
    }

    #[test]
    fn what_could_not_be_read_back_is_not_written() {
        let error = changed(|settings| {
            let many = |number: u32| {
                let users = (0..128).map(|user| format!("{number:032}-{user:031}")).collect();
                Tenant { name: format!("t{number}"), number, users, ..settings.tenants[0].clone() }
            };
            let more: Vec<Tenant> =
                (2..200).map(many).map(|tenant| Tenant { dedicated: vec![], ..tenant }).collect();
            settings.tenants.extend(more);
            settings.tenant_number_next = 200;
        });
        assert!(matches!(error, Err(SettingsError::TooLong(_))), "{error:?}");
    }

    #[test]
    fn other_changes_are_not_written() {
        assert!(matches!(changed(|settings| settings.weak_algorithms = true), Err(SettingsError::Syntax(_))));
        assert!(changed(|settings| settings.tenants[0].domains = vec![3]).is_err());
    }
}
