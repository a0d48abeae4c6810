//! `cryptand role`: the rights that the settings give to users and tenants.

use crate::args::{Role as Order, RoleCheck};
use crate::failure::Failure;
use crate::output::{print, print_json, table};
use crate::session;
use home::{Decision, Resolved, Settings};
use nix::errno::Errno;
use nix::unistd::{Gid, Group, Uid, User, getgrouplist};
use serde::Serialize;
use std::ffi::CString;
use std::path::Path;
use wire::point::{POINTS, Point, PointEffect};
use wire::role::{BuiltIn, OWNER};
use wire::tenant::Tenant;
use wire::uses::Uses;
use wire::{Label, Verb};

/// Runs the subcommands of `cryptand role`.
pub fn run(asked: Option<&Path>, order: &Order) -> Result<(), Failure> {
    let home = session::open_home(asked)?;
    let settings = home.settings()?;
    match order {
        Order::List(output) => list(&settings, output.json),
        Order::Show { role, output } => show(&settings, role, output.json),
        Order::Check(typed) => check(&settings, home.owner()?, typed),
    }
}

/// A role of a listing.
#[derive(Serialize)]
struct Row<'a> {
    role: &'a str,
    base: Option<&'a str>,
    points: usize,
    labels: Vec<String>,
    holders: Vec<String>,
}

fn list(settings: &Settings, json: bool) -> Result<(), Failure> {
    let rows: Vec<Row<'_>> = settings.role_names().iter().filter_map(|name| row(settings, name)).collect();
    if json {
        return print_json(&rows);
    }
    let cells = rows.iter().map(|row| {
        let listed = |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
        let base = row.base.unwrap_or("");
        let permits = format!("{} of {}", row.points, POINTS.len());
        vec![row.role.to_owned(), base.to_owned(), permits, listed(&row.labels), listed(&row.holders)]
    });
    print(&table(&["role", "base", "permits", "labels", "who has it"], cells))
}

fn row<'a>(settings: &'a Settings, name: &'a str) -> Option<Row<'a>> {
    let role = settings.role(name)?;
    let of_tenant = |tenant: &&Tenant| settings.role_name_of(Some(tenant)) == name;
    let tenants = settings.tenants.iter().filter(of_tenant).map(|tenant| tenant.name.clone());
    let others = (settings.role_name_of(None) == name).then(|| "who is of no tenant".to_owned());
    let owner = (name == OWNER).then(|| "the owner".to_owned());
    Some(Row {
        role: name,
        base: settings.roles.iter().find(|role| role.name == name).and_then(|role| role.base.as_deref()),
        points: role.points.permitted().count(),
        labels: labels(&role),
        holders: owner.into_iter().chain(others).chain(tenants).collect(),
    })
}

fn labels(role: &Resolved) -> Vec<String> {
    role.labels.iter().map(|rule| format!("{} ({})", rule.pattern, rule.uses)).collect()
}

/// A point of a role.
#[derive(Serialize)]
struct PointRow {
    point: &'static str,
    /// Number of the point in hexadecimal: CCA's, or one of this system's from F000 on.
    number: String,
    ours: bool,
    group: &'static str,
    /// Whether setting the point forbids instead of permits.
    forbids: bool,
    set: bool,
    permitted: bool,
    /// The role that decides, and the item of its lists.
    role: String,
    item: Option<String>,
    what: &'static str,
}

fn show(settings: &Settings, name: &str, json: bool) -> Result<(), Failure> {
    let role = settings.role(name).ok_or_else(|| no_role(settings, name))?;
    let rows: Vec<PointRow> =
        POINTS.iter().filter_map(|entry| point_row(settings, &role, entry.point)).collect();
    if json {
        #[derive(Serialize)]
        struct Shown<'a> {
            role: &'a str,
            labels: Vec<String>,
            labels_of: &'a str,
            points: Vec<PointRow>,
        }
        let (labels, labels_of) = (labels(&role), role.labels_of.as_str());
        return print_json(&Shown { role: name, labels, labels_of, points: rows });
    }
    let mut text = match BuiltIn::from_name(name) {
        Some(known) => format!("{name}: {}. Every home has it.\n\n", known.text),
        None => format!("{name}\n\n"),
    };
    let cells = rows.iter().map(|row| {
        let permitted = if row.permitted { "yes" } else { "no" };
        let number = format!("{}{}", row.number, if row.ours { " (ours)" } else { "" });
        let kind = if row.forbids { "forbids" } else { "permits" };
        let by = decided(&row.role, row.item.as_deref());
        let cells = [permitted, row.point, &number, kind, row.group, &by, row.what];
        cells.map(str::to_owned).to_vec()
    });
    text += &table(&["permitted", "point", "number", "set, it", "group", "decided by", "what"], cells);
    let labels = labels(&role);
    let labels = if labels.is_empty() { "none".to_owned() } else { labels.join(", ") };
    print(&format!("{text}\nlabels: {labels}, by role {}\n", role.labels_of))
}

fn point_row(settings: &Settings, role: &Resolved, point: Point) -> Option<PointRow> {
    let entry = point.entry();
    let Decision { permits, role: by, item } = settings.decision(&role.name, point)?;
    Some(PointRow {
        point: entry.name,
        number: format!("{:04X}", entry.number),
        ours: entry.is_ours(),
        group: entry.group.name(),
        forbids: entry.effect == PointEffect::Forbids,
        set: role.points.is_set(point),
        permitted: permits,
        role: by,
        item,
        what: entry.text,
    })
}

fn decided(role: &str, item: Option<&str>) -> String {
    item.map_or_else(|| format!("role {role}"), |item| format!("role {role}, {item:?}"))
}

/// The result of `role check`.
#[derive(Serialize)]
struct Checked {
    who: String,
    role: String,
    label: String,
    verb: &'static str,
    allowed: bool,
    /// The verb's own point, checked before the verb runs.
    point: PointRow,
    /// Uses of the key that the verb makes.
    use_of_key: Vec<&'static str>,
    /// Uses of the key that the label rules permit.
    uses: Vec<&'static str>,
    /// The settings table whose label rules apply, and the patterns of these rules that match the label.
    labels_of: String,
    patterns: Vec<String>,
    /// Points that the call's keywords and parameters need.
    keywords: Vec<PointRow>,
}

fn check(settings: &Settings, owner: u32, typed: &RoleCheck) -> Result<(), Failure> {
    let label = Label::new(&typed.label).map_err(|error| Failure::Usage(error.to_string()))?;
    let verb = Verb::from_name(&typed.verb).ok_or_else(|| {
        Failure::Usage(format!("there is no verb {:?}; `cryptand verb` lists them", typed.verb))
    })?;
    let checked = checked(settings, holder(settings, owner, &typed.who)?, &typed.who, &label, verb)?;
    if typed.output.json {
        print_json(&checked)?;
    } else {
        print(&told(&checked))?;
    }
    if checked.allowed { Ok(()) } else { Err(Failure::Refused(why(&checked))) }
}

fn checked(
    settings: &Settings,
    (role, tenant): (&str, Option<&Tenant>),
    who: &str,
    label: &Label,
    verb: Verb,
) -> Result<Checked, Failure> {
    let role = settings.role(role).ok_or_else(|| no_role(settings, role))?;
    let labels = settings.labels_of(tenant, &role);
    let entry = verb.entry();
    let mut points = entry.points().into_iter().filter_map(|point| point_row(settings, &role, point));
    let point = points.next().ok_or_else(|| no_role(settings, &role.name))?;
    let (needed, uses) = (entry.uses(), labels.uses(label));
    let by_label = needed.is_none() || uses.contains(needed);
    let matching = labels.rules.iter().filter(|rule| rule.pattern.matches(label));
    Ok(Checked {
        who: who.to_owned(),
        role: role.name.clone(),
        label: label.to_string(),
        verb: entry.name,
        allowed: point.permitted && by_label,
        point,
        use_of_key: needed.names(),
        uses: uses.names(),
        patterns: matching.map(|rule| rule.pattern.to_string()).collect(),
        labels_of: labels.table,
        keywords: points.collect(),
    })
}

/// The role of a user or tenant, and the tenant if there is one. A user is admitted as the daemon does it: as the owner
/// or root, as a tenant that names the user or one of the user's groups, or by `[access]`.
fn holder<'a>(
    settings: &'a Settings,
    owner: u32,
    who: &str,
) -> Result<(&'a str, Option<&'a Tenant>), Failure> {
    if who == OWNER {
        return Ok((OWNER, None));
    }
    let of_tenant = |tenant| Ok((settings.role_name_of(Some(tenant)), Some(tenant)));
    if let Some(tenant) = settings.tenant(who) {
        return of_tenant(tenant);
    }
    let account = Account::of(who)?;
    if account.user.is_some_and(|user| user.is_root() || user.as_raw() == owner) {
        return Ok((OWNER, None));
    }
    let tenants = || settings.tenants.iter();
    let by_user: Vec<_> = tenants().filter(|tenant| account.is_named(&tenant.users)).collect();
    let by_group = || tenants().filter(|tenant| account.is_in(&tenant.groups)).collect();
    match if by_user.is_empty() { by_group() } else { by_user }[..] {
        [] => {}
        [tenant] => return of_tenant(tenant),
        [one, other, ..] => {
            return Err(Failure::Usage(format!(
                "user {who:?} belongs to the tenants {} and {}: whoever comes without a credential is refused",
                one.name, other.name
            )));
        }
    }
    if account.is_named(&settings.access.users) || account.is_in(&settings.access.groups) {
        return Ok((settings.role_name_of(None), None));
    }
    Err(Failure::Missing(format!(
        "the settings name no tenant and no user {who:?}, and no group of such a user; who comes by a credential has \
         the role of the tenant that has it: `cryptand tenant list` shows them"
    )))
}

/// A user of this machine, or a name without an account.
struct Account<'a> {
    name: &'a str,
    user: Option<Uid>,
    groups: Vec<Gid>,
}

impl<'a> Account<'a> {
    /// The user of a name, with all of his groups.
    fn of(name: &'a str) -> Result<Self, Failure> {
        let failed = |cause: Errno| Failure::Io {
            operation: format!("look up the user {name:?}"),
            cause: cause.into(),
        };
        let Some(user) = User::from_name(name).map_err(failed)? else {
            return Ok(Self { name, user: None, groups: Vec::new() });
        };
        let groups = match CString::new(name) {
            Ok(name) => getgrouplist(&name, user.gid).map_err(failed)?,
            Err(_) => Vec::new(),
        };
        Ok(Self { name, user: Some(user.uid), groups })
    }

    fn is_named(&self, users: &[String]) -> bool {
        users.iter().any(|user| user == self.name)
    }

    /// Whether the user is in one of these groups; groups unknown to the machine have no members.
    fn is_in(&self, groups: &[String]) -> bool {
        let known = groups.iter().filter_map(|group| Group::from_name(group).ok().flatten());
        known.into_iter().any(|group| self.groups.contains(&group.gid))
    }
}

fn told(checked: &Checked) -> String {
    let Checked { who, role, label, verb, allowed, point, .. } = checked;
    let verdict = if *allowed { "allowed" } else { "refused" };
    let mut text = format!("{verdict}: {verb} with {label} by {who}, role {role}\n");
    let by = decided(&point.role, point.item.as_deref());
    let permits = if point.permitted { "permits" } else { "refuses" };
    text += &format!("  point {} (X'{}'): {by} {permits} it\n", point.point, point.number);
    if checked.use_of_key.is_empty() {
        text += "  the verb uses no key\n";
    } else {
        let uses = if checked.uses.is_empty() { "nothing".to_owned() } else { checked.uses.join(", ") };
        let patterns = match checked.patterns.as_slice() {
            [] => "no pattern matches".to_owned(),
            matching => format!("matching {}", matching.join(", ")),
        };
        let needed = checked.use_of_key.join(", ");
        text += &format!("  label: needs {needed}; {} allows {uses} ({patterns})\n", checked.labels_of);
    }
    for point in checked.keywords.iter().filter(|point| !point.permitted) {
        let by = decided(&point.role, point.item.as_deref());
        text += &format!("  not with it: {} (X'{}'), {}: {by}\n", point.point, point.number, point.what);
    }
    text
}

fn why(checked: &Checked) -> String {
    if checked.point.permitted {
        format!("the label: add a pattern with {} to {}", checked.use_of_key.join(", "), checked.labels_of)
    } else {
        format!(
            "the role: {:?} in its `allow` would permit it; `cryptand role show {}`",
            checked.point.point, checked.role
        )
    }
}

fn no_role(settings: &Settings, name: &str) -> Failure {
    Failure::Missing(format!("there is no role {name:?}; known are {}", settings.role_names().join(", ")))
}

/// Rules for key uses, as the table of tenants shows them.
pub(super) fn rules(tenant: &Tenant) -> Vec<String> {
    let shown =
        |uses: Uses| if uses == Uses::USE { String::new() } else { format!(":{}", uses.names().join("+")) };
    tenant.labels.iter().map(|rule| format!("{}{}", rule.pattern, shown(rule.uses))).collect()
}
