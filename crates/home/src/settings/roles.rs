//! Roles of a home: their tables in the settings, and the points and labels that follow from them.

use super::{Settings, SettingsError};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use wire::Label;
use wire::bounds::{ROLE_ITEMS_MAX, ROLES_MAX, TENANT_NAME_BYTES_MAX};
use wire::pattern::{LabelPattern, LabelRule, uses_of};
use wire::point::{Point, PointSet};
use wire::role::{BUILT_IN, BuiltIn, GUEST, OWNER, points_named};
use wire::tenant::Tenant;
use wire::uses::Uses;

/// A table `[[role]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleSettings {
    /// Name of the role: letters, digits, `-` and `_`.
    pub name: String,
    /// The role whose points it starts with; none to start with nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Points that the role permits beyond those of its base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<PointItem>,
    /// Points that the role then refuses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<PointItem>,
    /// Labels that tenants of this role may open. Empty: those of the role's base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<LabelRule>,
}

/// A point, a group of points, or all points, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PointItem(String);

/// Error: neither a point nor a group has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPoint(pub String);

impl std::fmt::Display for UnknownPoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = &self.0;
        write!(
            f,
            "there is no access-control point or group {name:?}; `cryptand role show owner` lists them all"
        )
    }
}

impl std::error::Error for UnknownPoint {}

impl PointItem {
    /// Reads a name of a point, a group of points, or all.
    ///
    /// # Errors
    /// `UnknownPoint` if no point or group of points has this name.
    pub fn new(name: &str) -> Result<Self, UnknownPoint> {
        points_named(name).map(|_| Self(name.to_owned())).ok_or_else(|| UnknownPoint(name.to_owned()))
    }

    /// The name as it is written in the settings.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The points that the name stands for.
    pub fn points(&self) -> Vec<Point> {
        points_named(&self.0).unwrap_or_default()
    }
}

impl TryFrom<String> for PointItem {
    type Error = UnknownPoint;
    fn try_from(name: String) -> Result<Self, UnknownPoint> {
        Self::new(&name)
    }
}

impl From<PointItem> for String {
    fn from(item: PointItem) -> String {
        item.0
    }
}

/// The points and labels that follow from a role and the roles it is based on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Name of the role.
    pub name: String,
    /// Points that the role permits.
    pub points: PointSet,
    /// Labels that the role may open, with the uses of their keys.
    pub labels: Vec<LabelRule>,
    /// The role whose table holds these labels: this role, or a role that it is based on.
    pub labels_of: String,
}

/// Why a role permits or refuses a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the role permits the point.
    pub permits: bool,
    /// The role that decides: this role, or a role that it is based on.
    pub role: String,
    /// The item of that role's lists; none if a built-in role decides, or no list names the point.
    pub item: Option<String>,
}

/// The labels that a tenant may open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The rules of the labels, with the uses of their keys.
    pub rules: Vec<LabelRule>,
    /// The table that holds the rules, as errors and listings name it.
    pub table: String,
}

impl Labels {
    /// The uses that the rules allow for the key of a label.
    pub fn uses(&self, label: &Label) -> Uses {
        uses_of(&self.rules, label)
    }
}

impl Settings {
    /// The names of all roles, built-in roles first.
    pub fn role_names(&self) -> Vec<&str> {
        let own = self.roles.iter().map(|role| role.name.as_str());
        BUILT_IN.iter().map(|role| role.name).chain(own).collect()
    }

    /// The points and labels of the role of this name; `None` if there is no such role.
    pub fn role(&self, name: &str) -> Option<Resolved> {
        self.role_within(name, ROLES_MAX)
    }

    fn role_within(&self, name: &str, depth: usize) -> Option<Resolved> {
        if let Some(role) = BuiltIn::from_name(name) {
            let rule = LabelRule { pattern: LabelPattern::every(), uses: role.uses };
            let labels = if role.uses.is_none() { Vec::new() } else { vec![rule] };
            let (name, labels_of) = (role.name.to_owned(), role.name.to_owned());
            return Some(Resolved { name, points: role.points, labels, labels_of });
        }
        let role = self.roles.iter().find(|role| role.name == name)?;
        let base = self.role_within(role.base.as_deref().unwrap_or(NOBODY), depth.checked_sub(1)?)?;
        let mut points = base.points;
        role.allow.iter().flat_map(PointItem::points).for_each(|point| points.allow(point));
        role.deny.iter().flat_map(PointItem::points).for_each(|point| points.deny(point));
        let (labels, labels_of) = if role.labels.is_empty() {
            (base.labels, base.labels_of)
        } else {
            (role.labels.clone(), name.to_owned())
        };
        Some(Resolved { name: name.to_owned(), points, labels, labels_of })
    }

    /// Name of the role of a tenant; without a tenant, of users who have none.
    pub fn role_name_of<'a>(&'a self, tenant: Option<&'a Tenant>) -> &'a str {
        let named = match tenant {
            Some(tenant) => tenant.role.as_deref(),
            None => self.access.role.as_deref(),
        };
        named.unwrap_or(GUEST)
    }

    /// The labels that a tenant may open in this role, or, without a tenant, a user who has none.
    /// The tenant's own rules count if it has any, else those of the role.
    pub fn labels_of(&self, tenant: Option<&Tenant>, role: &Resolved) -> Labels {
        match tenant.filter(|tenant| !tenant.labels.is_empty()) {
            Some(tenant) => {
                let table = format!("[[tenant]] name = {:?}", tenant.name);
                Labels { rules: tenant.labels.clone(), table }
            }
            None => {
                let table = format!("role {}", role.labels_of);
                Labels { rules: role.labels.clone(), table }
            }
        }
    }

    /// Why the role of this name permits or refuses a point; `None` if there is no such role.
    pub fn decision(&self, name: &str, point: Point) -> Option<Decision> {
        let mut name = name;
        for _ in 0..=ROLES_MAX {
            if let Some(role) = BuiltIn::from_name(name) {
                let permits = role.points.permits(point);
                return Some(Decision { permits, role: name.to_owned(), item: None });
            }
            let role = self.roles.iter().find(|role| role.name == name)?;
            for (list, permits) in [(&role.deny, false), (&role.allow, true)] {
                if let Some(item) = list.iter().find(|item| item.points().contains(&point)) {
                    let item = Some(item.name().to_owned());
                    return Some(Decision { permits, role: name.to_owned(), item });
                }
            }
            name = role.base.as_deref().unwrap_or(NOBODY);
        }
        None
    }

    pub(super) fn check_roles(&self) -> Result<(), SettingsError> {
        let count = BUILT_IN.len() + self.roles.len();
        if count > ROLES_MAX {
            return Err(SettingsError::Roles(count));
        }
        let mut earlier = HashSet::new();
        for role in &self.roles {
            let wrong = |(key, cause)| SettingsError::Role { name: role.name.clone(), key, cause };
            check_name(role).map_err(wrong)?;
            if !earlier.insert(role.name.as_str()) {
                return Err(wrong(("name", "there are two roles of this name".into())));
            }
            check_lists(role).map_err(wrong)?;
            check_labels(&role.labels).map_err(wrong)?;
        }
        for role in &self.roles {
            self.check_base(role).map_err(|cause| SettingsError::Role {
                name: role.name.clone(),
                key: "base",
                cause,
            })?;
        }
        for tenant in &self.tenants {
            let wrong = |(key, cause)| SettingsError::Tenant { name: tenant.name.clone(), key, cause };
            check_labels(&tenant.labels).map_err(wrong)?;
            if let Some(role) = &tenant.role {
                self.check_named(role).map_err(|cause| wrong(("role", cause)))?;
            }
        }
        match &self.access.role {
            Some(role) => {
                self.check_named(role).map_err(|cause| SettingsError::Access { key: "role", cause })
            }
            None => Ok(()),
        }
    }

    fn check_named(&self, name: &str) -> Result<(), String> {
        let known = self.role_names();
        if known.contains(&name) {
            return Ok(());
        }
        Err(format!("there is no role {name:?}; known are {}", known.join(", ")))
    }

    fn check_base(&self, role: &RoleSettings) -> Result<(), String> {
        let mut met = vec![role.name.as_str()];
        let mut at = role;
        while let Some(base) = &at.base {
            self.check_named(base)?;
            met.push(base);
            if met[..met.len() - 1].contains(&base.as_str()) {
                return Err(format!("roles are based on each other in a circle: {}", met.join(", ")));
            }
            match self.roles.iter().find(|role| role.name == *base) {
                Some(next) => at = next,
                None => break,
            }
        }
        Ok(())
    }
}

/// The wrong key, and what is wrong with it.
type Wrong = (&'static str, String);

fn check_name(role: &RoleSettings) -> Result<(), Wrong> {
    let name = &role.name;
    let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if name.is_empty() || name.len() > TENANT_NAME_BYTES_MAX || !letters {
        let cause = format!("names are letters, digits, - and _, 1 to {TENANT_NAME_BYTES_MAX} of them");
        return Err(("name", cause));
    }
    if BuiltIn::from_name(name).is_some() {
        return Err(("name", "every home has a role of this name, which cannot be changed".into()));
    }
    Ok(())
}

/// Checks that a list names no item twice, and that no item is permitted of which the role refuses
/// every point. A group may be permitted and a part of it refused, but not the other way round.
fn check_lists(role: &RoleSettings) -> Result<(), Wrong> {
    for (key, list) in [("allow", &role.allow), ("deny", &role.deny)] {
        if list.len() > ROLE_ITEMS_MAX {
            return Err((key, format!("{} items; at most {ROLE_ITEMS_MAX}", list.len())));
        }
        for (at, item) in list.iter().enumerate() {
            if list[..at].contains(item) {
                return Err((key, format!("{:?} is named twice", item.name())));
            }
        }
    }
    let denied: HashSet<Point> = role.deny.iter().flat_map(PointItem::points).collect();
    for item in &role.allow {
        let points = item.points();
        if points.iter().all(|point| denied.contains(point)) {
            let name = item.name();
            return Err(("allow", format!("{name:?} is permitted here, but all of it is refused by `deny`")));
        }
    }
    Ok(())
}

fn check_labels(rules: &[LabelRule]) -> Result<(), Wrong> {
    if rules.len() > ROLE_ITEMS_MAX {
        return Err(("labels", format!("{} patterns; at most {ROLE_ITEMS_MAX}", rules.len())));
    }
    for (at, rule) in rules.iter().enumerate() {
        if rules[..at].iter().any(|other| other.pattern == rule.pattern) {
            return Err(("labels", format!("pattern {:?} is named twice", rule.pattern.as_str())));
        }
    }
    Ok(())
}

/// The role that permits nothing.
const NOBODY: &str = "nobody";

const _: () = assert!(BUILT_IN.len() < ROLES_MAX && !OWNER.is_empty());

#[cfg(test)]
mod tests {
    use super::*;
    use wire::point::POINTS;

    const HEAD: &str = "tenant_number_next = 9\n[programs]\ndaemon = \"/d\"\ncard = \"/c\"\n";

    fn read(text: &str) -> Result<Settings, SettingsError> {
        Settings::from_text(&format!("{HEAD}{text}"))
    }

    const SHOP: &str = r#"
[[role]]
name = "shop"
base = "guest"
allow = ["token-bytes", "rsa-decipher"]
deny = ["mac", "pka-decrypt-pkcs-1.2"]
[[role.labels]]
pattern = "SHOP.*"
uses = ["use", "read"]

[[role]]
name = "till"
base = "shop"
allow = ["mac-verify", "mac-x9.19"]
"#;

    #[test]
    fn a_role_is_its_base_with_what_it_permits_without_what_it_refuses() {
        let settings = read(SHOP).unwrap();
        let shop = settings.role("shop").unwrap();
        assert!(shop.points.permits(Point::TokenBytes) && shop.points.permits(Point::PkaDecryptOaep));
        assert!(!shop.points.permits(Point::PkaDecryptPkcs12) && !shop.points.permits(Point::MacVerify));
        assert!(shop.points.is_set(Point::PkaDecryptPkcs12), "a point that forbids");
        let till = settings.role("till").unwrap();
        assert!(till.points.permits(Point::MacVerify) && !till.points.permits(Point::MacGenerate));
        assert_eq!((till.labels, till.labels_of.as_str()), (shop.labels.clone(), "shop"));
        let uses = uses_of(&shop.labels, &Label::new("SHOP.A").unwrap());
        assert_eq!(uses, Uses::USE.union(Uses::READ));
        assert_eq!(settings.role("none"), None);
        assert_eq!(
            settings.role_names(),
            ["owner", "guest", "trusted", "tls-server", "nobody", "shop", "till"]
        );
    }

    #[test]
    fn every_decision_names_the_role_and_the_item() {
        let settings = read(SHOP).unwrap();
        for name in settings.role_names() {
            let role = settings.role(name).unwrap();
            for entry in POINTS {
                let decision = settings.decision(name, entry.point).unwrap();
                assert_eq!(decision.permits, role.points.permits(entry.point), "{name} {}", entry.name);
            }
        }
        let decided = |point| settings.decision("till", point).map(|it| (it.role, it.item));
        assert_eq!(decided(Point::MacVerify), Some(("till".into(), Some("mac-verify".into()))));
        assert_eq!(decided(Point::MacGenerate), Some(("shop".into(), Some("mac".into()))));
        assert_eq!(decided(Point::Encipher), Some(("guest".into(), None)));
        assert_eq!(settings.decision("none", Point::Null), None);
    }

    #[test]
    fn tenants_and_users_have_the_role_that_is_named_for_them_or_a_guests() {
        let text = format!(
            "{HEAD}[access]\nrole = \"till\"\n{SHOP}[[tenant]]\nname = \"a\"\nnumber = 1\n\
             role = \"shop\"\n[[tenant.labels]]\npattern = \"A.*\"\nuses = [\"mac-verify\"]\n\
             [[tenant]]\nname = \"b\"\nnumber = 2\n"
        );
        let settings = Settings::from_text(&text).unwrap();
        let (a, b) = (&settings.tenants[0], &settings.tenants[1]);
        let names = [Some(a), Some(b), None].map(|tenant| settings.role_name_of(tenant));
        assert_eq!(names, ["shop", "guest", "till"]);
        let (shop, guest) = (settings.role("shop").unwrap(), settings.role("guest").unwrap());
        let own = settings.labels_of(Some(a), &shop);
        assert_eq!(own.uses(&Label::new("A.B").unwrap()), Uses::MAC_VERIFY);
        assert_eq!(own.uses(&Label::new("SHOP.B").unwrap()), Uses::NONE, "its own rules stand instead");
        assert_eq!(settings.labels_of(Some(b), &guest).uses(&Label::new("X").unwrap()), Uses::USE);
        assert_eq!(settings.labels_of(None, &shop).table, "role shop");
        let again = Settings::from_text(&settings.to_text().unwrap()).unwrap();
        assert_eq!(again, settings);
    }

    #[test]
    fn contradictions_are_refused_by_line_and_cause() {
        let role = |rest: &str| format!("[[role]]\nname = \"x\"\n{rest}\n");
        let tenant = "[[tenant]]\nname = \"t\"\nnumber = 1\n";
        let labels = |table: &str, pattern: &str, uses: &str| {
            format!("[[{table}.labels]]\npattern = \"{pattern}\"\nuses = [{uses}]\n")
        };
        let circle = "[[role]]\nname = \"x\"\nbase = \"y\"\n[[role]]\nname = \"y\"\nbase = \"x\"\n";
        let cases = [
            (role("allow = [\"coffee\"]"), 7, "no access-control point or group \"coffee\""),
            (role("base = \"y\""), 7, "no role \"y\""),
            (role("base = \"x\""), 7, "in a circle: x, x"),
            (circle.to_owned(), 7, "in a circle: x, y, x"),
            (role("allow = [\"mac-verify\"]\ndeny = [\"mac\"]"), 7, "\"mac-verify\" is permitted here"),
            (role("\ndeny = [\"mac\", \"mac\"]"), 8, "\"mac\" is named twice"),
            ("[[role]]\nname = \"guest\"\n".to_owned(), 6, "every home has a role of this name"),
            ("\n[[role]]\nname = \"a b\"\n".to_owned(), 7, "names are letters"),
            ([role(""), role("")].concat(), 9, "two roles of this name"),
            (role(&labels("role", "shop", "\"use\"")), 8, "patterns hold A-Z"),
            (role(&labels("role", "A..B", "\"use\"")), 8, "no label can match it"),
            (role(&labels("role", "A", "\"sing\"")), 9, "no use \"sing\""),
            (role(&labels("role", "A", "")), 9, "no use is named"),
            (role(&labels("role", "A", "\"use\", \"sign\"")), 9, "\"sign\" is named twice, or part"),
            (role(&labels("role", "A", "\"use\"").repeat(2)), 7, "pattern \"A\" is named twice"),
            (format!("{tenant}role = \"y\"\n"), 8, "no role \"y\""),
            (format!("{tenant}{}", labels("tenant", "A.1", "\"use\"")), 9, "no label can match it"),
            ("[access]\nusers = []\nrole = \"y\"\n".to_owned(), 7, "[access] role: there is no role \"y\""),
        ];
        for (text, line, cause) in cases {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(cause), "{cause}: {error}\n{text}");
            assert!(error.contains(&format!("line {line}")), "line {line}: {error}\n{text}");
        }
        let many: String = (0..ROLES_MAX).map(|at| format!("[[role]]\nname = \"r{at}\"\n")).collect();
        assert!(read(&many).unwrap_err().to_string().contains("69 roles"));
    }
}
