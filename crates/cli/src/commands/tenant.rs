//! `cryptand tenant`: who shares the cards, and how much of them each may use.

use crate::args::{Clearable, Tenant as Order, TenantOptions};
use crate::failure::Failure;
use crate::output::{print, print_json, table};
use crate::prompt::to_hexadecimal;
use crate::session;
use facility::{Facility, FacilityError, Ran, credential};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use wire::control::Refusal;
use wire::role::GUEST;
use wire::tenant::{Change, Credential, Limits, NAMED_TENANT, Tenant, TenantRow};

/// Runs the subcommands of `cryptand tenant`.
pub fn run(asked: Option<&Path>, order: &Order) -> Result<(), Failure> {
    let facility = session::connect(asked)?;
    match order {
        Order::List(output) => list(&facility, output.json),
        Order::Add { name, options } => add(&facility, name, options),
        Order::Set { name, options, clear } => set(&facility, name, options, clear),
        Order::Remove { name } => {
            change(&facility, name, Change::TenantRemove { name: name.clone() })?;
            eprintln!("{name}: removed");
            Ok(())
        }
        Order::Lift { name } => {
            facility.lift(name).map_err(Failure::change(format!("tenant {name}")))?;
            eprintln!("{name}: lifted; its requests are served as others'");
            Ok(())
        }
        Order::Credential { name, output: Some(output), end_former, revoke } => {
            draw(&facility, name, output, *end_former, *revoke)
        }
        Order::Credential { name, output: None, .. } => end_former(&facility, name),
    }
}

fn list(facility: &Facility, json: bool) -> Result<(), Failure> {
    let rows = facility.tenants()?;
    if json {
        return print_json(&rows);
    }
    let header =
        ["tenant", "who", "role", "labels", "domains", "cards", "weight", "limits", "connections", "queues"];
    print(&table(&header, rows.iter().map(row)))
}

fn row(row: &TenantRow) -> Vec<String> {
    let tenant = &row.tenant;
    let listed = |items: Vec<String>, none: &str| {
        if items.is_empty() { none.to_owned() } else { items.join(", ") }
    };
    let who = if row.id & NAMED_TENANT == 0 {
        "user".to_owned()
    } else {
        let groups = tenant.groups.iter().map(|group| format!("@{group}"));
        let credential = match (&tenant.credential_sha256, &tenant.former_credential_sha256) {
            (None, None) => None,
            (Some(_), Some(_)) => Some("2 credentials".to_owned()),
            _ => Some("credential".to_owned()),
        };
        listed(tenant.users.iter().cloned().chain(groups).chain(credential).collect(), "nobody yet")
    };
    let domains = tenant.domains.iter().map(ToString::to_string).collect();
    let share = |part: &wire::tenant::Dedicated| match part.share_percent {
        100 => part.card.to_string(),
        percent => format!("{}:{percent} %", part.card),
    };
    let shared = tenant.also_shared.then(|| "shared".to_owned());
    let cards = tenant.dedicated.iter().map(share).chain(shared);
    vec![
        tenant.name.clone(),
        who,
        tenant
            .role
            .clone()
            .unwrap_or_else(|| if row.id & NAMED_TENANT == 0 { String::new() } else { GUEST.to_owned() }),
        listed(super::role::rules(tenant), if row.id & NAMED_TENANT == 0 { "" } else { "its role's" }),
        listed(domains, "all"),
        if tenant.dedicated.is_empty() { "shared".to_owned() } else { listed(cards.collect(), "") },
        tenant.limits.weight.to_string(),
        limits(&tenant.limits),
        row.connections.to_string(),
        row.queues.to_string(),
    ]
}

fn limits(limits: &Limits) -> String {
    let parts = [
        (limits.in_flight_max, "in flight"),
        (limits.in_flight_per_card_max, "on a card"),
        (limits.per_second_max, "a second"),
    ];
    let set = parts.iter().filter(|(limit, _)| *limit > 0).map(|(limit, what)| format!("{limit} {what}"));
    let set: Vec<String> = set.collect();
    if set.is_empty() { "none".to_owned() } else { set.join(", ") }
}

fn add(facility: &Facility, name: &str, options: &TenantOptions) -> Result<(), Failure> {
    let mut tenant = Tenant::new(name, 0);
    apply(&mut tenant, options);
    let is_nobody = tenant.users.is_empty() && tenant.groups.is_empty();
    change(facility, name, Change::TenantAdd(tenant)).map_err(|failure| match found(facility, name) {
        Ok(_) if failure.is_of_its_object() => Failure::Exists(failure.to_string()),
        _ => failure,
    })?;
    eprintln!("{name}: made");
    if is_nobody {
        eprintln!(
            "nobody belongs to it yet: `cryptand tenant credential {name} --output FILE`, or --user, --group"
        );
    }
    Ok(())
}

fn set(facility: &Facility, name: &str, options: &TenantOptions, clear: &[Clearable]) -> Result<(), Failure> {
    let mut tenant = found(facility, name)?;
    for what in clear {
        match what {
            Clearable::Users => tenant.users.clear(),
            Clearable::Groups => tenant.groups.clear(),
            Clearable::Credential => {
                (tenant.credential_sha256, tenant.former_credential_sha256) = (None, None);
            }
            Clearable::Domains => tenant.domains.clear(),
            Clearable::Dedicated => tenant.dedicated.clear(),
            Clearable::Role => tenant.role = None,
            Clearable::Labels => tenant.labels.clear(),
        }
    }
    let before = tenant.clone();
    apply(&mut tenant, options);
    if tenant == before && clear.is_empty() {
        return Err(Failure::Usage(format!(
            "{name}: nothing to change; `cryptand tenant set --help` lists what can be"
        )));
    }
    change(facility, name, Change::TenantSet(tenant))?;
    eprintln!("{name}: changed");
    Ok(())
}

fn found(facility: &Facility, name: &str) -> Result<Tenant, Failure> {
    let is_named = |row: &TenantRow| row.id & NAMED_TENANT != 0 && row.tenant.name == name;
    let row = facility.tenants()?.into_iter().find(is_named);
    let refused = || FacilityError::Refused {
        operation: "look for the tenant",
        refusal: Refusal::NoSuchTenant(name.to_owned()),
    };
    Ok(row.ok_or_else(refused).map_err(Failure::change(format!("tenant {name}")))?.tenant)
}

fn change(facility: &Facility, name: &str, change: Change) -> Result<(), Failure> {
    facility.change(change).map_err(Failure::change(format!("tenant {name}")))
}

fn apply(tenant: &mut Tenant, options: &TenantOptions) {
    let TenantOptions { users, groups, domains, dedicate, .. } = options;
    let replace = |place: &mut Vec<String>, given: &Vec<String>| {
        if !given.is_empty() {
            place.clone_from(given);
        }
    };
    replace(&mut tenant.users, users);
    replace(&mut tenant.groups, groups);
    if !domains.is_empty() {
        tenant.domains.clone_from(domains);
    }
    if let Some(role) = &options.role {
        tenant.role = Some(role.clone());
    }
    if !options.labels.is_empty() {
        tenant.labels.clone_from(&options.labels);
    }
    if !dedicate.is_empty() {
        tenant.dedicated.clone_from(dedicate);
    }
    let limits = &mut tenant.limits;
    limits.weight = options.weight.unwrap_or(limits.weight);
    limits.in_flight_max = options.in_flight.unwrap_or(limits.in_flight_max);
    limits.in_flight_per_card_max = options.in_flight_per_card.unwrap_or(limits.in_flight_per_card_max);
    limits.per_second_max = options.per_second.unwrap_or(limits.per_second_max);
    tenant.also_shared = options.also_shared.unwrap_or(tenant.also_shared);
}

fn end_former(facility: &Facility, name: &str) -> Result<(), Failure> {
    let mut tenant = found(facility, name)?;
    if tenant.former_credential_sha256.take().is_none() {
        return Err(Failure::Missing(format!("{name}: there is no former credential to end")));
    }
    change(facility, name, Change::TenantSet(tenant))?;
    eprintln!("{name}: the former credential has ended");
    Ok(())
}

/// Draws a credential. The file is written first, so that every valid credential is in somebody's hands.
fn draw(
    facility: &Facility,
    name: &str,
    output: &Path,
    end_former: bool,
    revoke: bool,
) -> Result<(), Failure> {
    let mut tenant = found(facility, name)?;
    if tenant.former_credential_sha256.is_some() && !end_former && !revoke {
        return Err(Failure::Usage(format!(
            "{name}: two credentials are valid already; --end-former ends the older one of them, --revoke both"
        )));
    }
    let engine = session::engine()?;
    let hash = |credential: &Credential| to_hexadecimal(&engine::sha256(&credential.0));
    let of_tenant = [tenant.credential_sha256.take(), tenant.former_credential_sha256.take()];
    let mut drawn = Credential([0; 32]);
    engine.random(&mut drawn.0);
    let shown = output.display();
    // An existing file is replaced only after the new credential is valid, and only if it was for the same tenant.
    let known = credential::read(output).ok().map(|there| Some(hash(&there)));
    let replaces = known.is_some_and(|known| of_tenant.contains(&known));
    let mut path = output.as_os_str().to_owned();
    if replaces {
        path.push(".new");
    }
    let path = PathBuf::from(path);
    write_new(&path, &drawn, name)?;
    tenant.credential_sha256 = Some(hash(&drawn));
    let [current, _] = of_tenant;
    tenant.former_credential_sha256 = current.filter(|_| !revoke);
    let keeps = tenant.former_credential_sha256.is_some();
    if let Err(failure) = change(facility, name, Change::TenantSet(tenant)) {
        // The daemon may have accepted this credential: its only copy is kept.
        if !matches!(&failure, Failure::Change { cause, .. } if cause.ran() == Ran::Maybe) {
            let _ = fs::remove_file(&path);
        }
        return Err(failure);
    }
    if replaces {
        let operation = format!("rename {}, which holds the credential in force, to {shown}", path.display());
        fs::rename(&path, output).map_err(Failure::io(operation))?;
    }
    eprintln!("{name}: processes that show {shown} belong to it (CRYPTAND_CREDENTIAL_FILE={shown})");
    if keeps {
        eprintln!("the former one is valid until `cryptand tenant credential {name} --end-former`");
    }
    Ok(())
}

/// Writes a credential into a new file that only its owner can read.
fn write_new(path: &Path, drawn: &Credential, name: &str) -> Result<(), Failure> {
    let shown = path.display();
    let create = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = create.map_err(|cause| {
        let cause = match cause.kind() {
            ErrorKind::AlreadyExists => {
                let why = format!("there is a file already, which holds no credential of {name}");
                io::Error::new(ErrorKind::AlreadyExists, why)
            }
            _ => cause,
        };
        Failure::io(format!("create {shown}"))(cause)
    })?;
    let written = file.write_all(credential::to_text(drawn).as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|cause| {
        let _ = fs::remove_file(path);
        Failure::io(format!("write {shown}"))(cause)
    })
}
