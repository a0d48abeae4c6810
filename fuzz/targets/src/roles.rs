//! Roles of settings that anybody wrote: what they come to, told in three ways that must agree.

use daemon::rights::{Rights, RightsTable, Who};
use home::Settings;
use wire::Label;
use wire::point::POINTS;
use wire::tenant::NAMED_TENANT;

/// Labels that patterns are tried on.
const LABELS: [&str; 4] = ["A", "SHOP.MAC", "SHOP.MAC.B", "BANK.RSA"];

/// Settings: where they are taken, what a role permits is what the reason for each point says, a list of refused points
/// comes last, and the daemon's table gives each tenant its role and labels and no other's.
pub fn roles(data: &[u8]) {
    let Some(settings) = std::str::from_utf8(data).ok().and_then(|text| Settings::from_text(text).ok())
    else {
        return;
    };
    for name in settings.role_names() {
        let resolved = settings.role(name).expect("a role that is listed exists");
        for point in POINTS.iter().map(|entry| entry.point) {
            let decision = settings.decision(name, point).expect("and says why");
            assert_eq!(decision.permits, resolved.points.permits(point), "{name}: {point:?}");
        }
        if let Some(own) = settings.roles.iter().find(|role| role.name == name) {
            for refused in own.deny.iter().flat_map(home::PointItem::points) {
                assert!(!resolved.points.permits(refused), "{name} refuses {refused:?}");
            }
        }
    }
    let table = RightsTable::of(&settings);
    for tenant in &settings.tenants {
        let role = settings.role(settings.role_name_of(Some(tenant))).expect("a tenant's role exists");
        let who = Who { tenant: NAMED_TENANT | tenant.number, owner: false };
        assert_eq!((&table.role(who).name, &table.role(who).points), (&role.name, &role.points));
        let labels = settings.labels_of(Some(tenant), &role);
        for label in LABELS.map(|label| Label::new(label).expect("a plain label")) {
            let uses = table.may_open(who, &label);
            assert_eq!(uses, labels.uses(&label), "{}: {label:?}", tenant.name);
            let is_named = labels.rules.iter().any(|rule| rule.pattern.matches(&label));
            assert!(is_named || uses.is_none(), "{}: {label:?} matches nothing", tenant.name);
        }
    }
}
