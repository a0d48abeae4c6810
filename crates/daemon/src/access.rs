//! Who may use a home, and for what.
//!
//! | socket | who is let in | for what |
//! |---|---|---|
//! | `admin.sock` | owner, root | everything |
//! | `guest.sock` | users and groups of the settings, holders of a credential | a guest's rights |
//! | `observe.sock` | owner, root, observers of the settings | observing |
//!
//! The owner of the folder, and root, may do everything where they come through the socket for administrators
//! ([`Door`]) and show no credential. Users and groups named in the settings may attach queues and use keys, as their
//! role permits ([`crate::rights`]); they may not administer the home (officers' orders, backup, reload, shutdown). So
//! may users and groups of tenants, and whoever shows a tenant's credential ([`crate::tenants`]). Everyone else is
//! refused at the first message.
//!
//! Every resource that is bounded for a whole home has tighter bounds for each tenant of guests
//! ([`GUEST_CONNECTIONS_MAX`], [`GUEST_QUEUES_MAX`]; of labels, see [`crate::labels`]), so that none of them can take
//! all of it, and for one user with several credentials ([`GUEST_USER_CONNECTIONS_MAX`]). All guests together leave
//! places for administrators ([`ADMINISTRATORS_CONNECTIONS`], [`ADMINISTRATORS_QUEUES`]).

use home::Settings;
use link::world;
use nix::unistd::{Group, Uid, User};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};
use wire::bounds::{CONNECTIONS_MAX, CONTROL_BYTES_MAX, QUEUES_PER_CARD_MAX};

/// Upper bound of the connections of one tenant of guests, and of one user before the greeting.
pub const GUEST_CONNECTIONS_MAX: usize = CONNECTIONS_MAX / 4;
/// Connections that are kept for administrators.
pub const ADMINISTRATORS_CONNECTIONS: usize = 64;
/// Upper bound of the greeted connections of guests with one user id, whatever credentials they show. Tenants in
/// containers may share a user id: together they may have more than one tenant alone, but never all connections.
pub const GUEST_USER_CONNECTIONS_MAX: usize = 2 * GUEST_CONNECTIONS_MAX - ADMINISTRATORS_CONNECTIONS;
/// Queues on each card that are kept for administrators.
pub const ADMINISTRATORS_QUEUES: usize = 64;
/// Upper bound of the queues of one tenant of guests, and of one user, on one card.
pub const GUEST_QUEUES_MAX: usize = QUEUES_PER_CARD_MAX / 2;
/// Upper bound of the memory of the queues of one tenant of guests over all cards, all pages touched, in bytes: 1,770
/// queues for short requests, or 27 for long ones.
pub const GUEST_QUEUE_BYTES_MAX: u64 = 1 << 30;
/// Upper bound of the memory of the queues of one user of guests, whatever credentials it shows, in bytes.
pub const GUEST_USER_QUEUE_BYTES_MAX: u64 = 2 * GUEST_QUEUE_BYTES_MAX;
/// Upper bound of the memory of the queues of all guests together, in bytes.
pub const GUESTS_QUEUE_BYTES_MAX: u64 = 4 * GUEST_QUEUE_BYTES_MAX;
/// Upper bound, in bytes, of the grants of all guests on one card in the message that tells a later daemon of the
/// card's queues. A card takes no queue whose grant does not fit into that message, so administrators keep more than a
/// quarter of it.
pub const GUESTS_GRANTS_BYTES_MAX: usize = CONTROL_BYTES_MAX / 2;
/// The users and groups of the settings as numbers: names are looked up once, when the settings are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    owner: u32,
    named: Vec<Members>,
    observers: Members,
}

/// The socket that a connection comes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// `admin.sock`: the home's owner and root administer through it, nobody else reaches it.
    Administrators,
    /// `guest.sock`: nobody administers through it, whatever the user id. User ids in containers may be the owner's or
    /// root's, and mean nothing there.
    Guests,
    /// `observe.sock`: everybody who connects to it may observe cards and tenants, and nothing else.
    Observers,
}

/// The standing of a peer in a home: administrator, observer, or guest (neither).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether the peer may give officers' orders, back up, reload and shut down.
    pub administers: bool,
    /// Whether the peer sees what all tenants do; an observer may do nothing else.
    pub observes: bool,
}

/// A name in the settings that the machine does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessError {
    /// No such user.
    User {
        /// The table of the settings that names the user.
        table: String,
        /// The name that was looked up.
        name: String,
    },
    /// No such group.
    Group {
        /// The table of the settings that names the group.
        table: String,
        /// The name that was looked up.
        name: String,
    },
}

impl std::fmt::Display for AccessError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User { table, name } => write!(f, "{table} users: this machine has no user {name:?}"),
            Self::Group { table, name } => write!(f, "{table} groups: this machine has no group {name:?}"),
        }
    }
}

impl std::error::Error for AccessError {}

/// Users and groups that a table of the settings names, as numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Ids of the users that the table names.
    pub users: HashSet<u32>,
    /// Ids of the groups that the table names.
    pub groups: HashSet<u32>,
    /// Ids of the users that these groups list.
    pub listed: HashSet<u32>,
}

impl Members {
    /// Looks up names.
    ///
    /// # Errors
    /// [`AccessError`] names the table and the first unknown one.
    pub fn resolve(table: &str, users: &[String], groups: &[String]) -> Result<Self, AccessError> {
        let mut members = Self::default();
        for name in users {
            let unknown = || AccessError::User { table: table.into(), name: name.clone() };
            members.users.insert(user_id(name).ok_or_else(unknown)?);
        }
        for name in groups {
            let unknown = || AccessError::Group { table: table.into(), name: name.clone() };
            let group = Group::from_name(name).ok().flatten().ok_or_else(unknown)?;
            members.groups.insert(group.gid.as_raw());
            // A member without an account cannot connect, and is skipped.
            members.listed.extend(group.mem.iter().filter_map(|member| user_id(member)));
        }
        Ok(members)
    }

    /// Whether a user of this primary group is in one of the groups.
    pub fn has_group_of(&self, user: u32, group: u32) -> bool {
        self.listed.contains(&user) || self.groups.contains(&group)
    }

    /// Whether a user of this primary group is named, or in one of the groups.
    pub fn has(&self, user: u32, group: u32) -> bool {
        self.users.contains(&user) || self.has_group_of(user, group)
    }
}

impl Standing {
    /// The standing of users that the settings name, and of tenants.
    pub const GUEST: Self = Self { administers: false, observes: false };
    /// The standing of the owner and of root.
    pub const ADMINISTRATOR: Self = Self { administers: true, observes: false };
    /// The standing of everyone who comes through the observers' socket.
    pub const OBSERVER: Self = Self { administers: false, observes: true };
}

/// How errors name a tenant's table.
pub(crate) fn table_of(name: &str) -> String {
    format!("[[tenant]] name = {name:?},")
}

/// The name of a user, or the number where the machine knows none.
pub fn user_name(user: u32) -> String {
    let account = User::from_uid(Uid::from_raw(user)).ok().flatten();
    account.map_or_else(|| user.to_string(), |account| account.name)
}

/// Cache of users' names: a lookup may go to another machine (NSS), and a greeting waits for it.
#[derive(Debug, Default)]
pub struct UserNames {
    known: HashMap<u32, (String, Instant)>,
}

impl UserNames {
    /// Name of a user as [`user_name`] gives it, at most a minute old.
    pub fn of(&mut self, user: u32) -> String {
        let now = world::now();
        if let Some((name, since)) = self.known.get(&user)
            && now.saturating_duration_since(*since) < NAME_AGE_MAX
        {
            return name.clone();
        }
        if self.known.len() >= NAMES_MAX {
            self.known.clear();
        }
        let name = user_name(user);
        self.known.insert(user, (name.clone(), now));
        name
    }
}

/// The primary group of a user's account; `u32::MAX` if the machine knows no such account.
pub fn group_of(user: u32) -> u32 {
    let account = User::from_uid(Uid::from_raw(user)).ok().flatten();
    account.map_or(NO_GROUP, |account| account.gid.as_raw())
}

impl Access {
    /// Looks up the names of the settings, those of tenants among them.
    ///
    /// # Errors
    /// [`AccessError`] names the first unknown one.
    pub fn resolve(owner: u32, settings: &Settings) -> Result<Self, AccessError> {
        let mut named = vec![Members::resolve("[access]", &settings.access.users, &settings.access.groups)?];
        for tenant in &settings.tenants {
            named.push(Members::resolve(&table_of(&tenant.name), &tenant.users, &tenant.groups)?);
        }
        let observers = Members::resolve("[access] observers,", &settings.access.observers, &[])?;
        Ok(Self { owner, named, observers })
    }

    /// The rights of a peer with this user and primary group; `None` if it may not use the home.
    pub fn standing(&self, user: u32, group: u32) -> Option<Standing> {
        if self.is_owner(user) {
            Some(Standing::ADMINISTRATOR)
        } else if self.named.iter().any(|members| members.has(user, group)) {
            Some(Standing::GUEST)
        } else {
            None
        }
    }

    /// The rights of a peer at this socket: at most a guest's at the guests' socket, and observing only at the
    /// observers'. `None` if the peer may not use the home through it.
    pub fn standing_at(&self, door: Door, user: u32, group: u32) -> Option<Standing> {
        match door {
            Door::Administrators => self.standing(user, group),
            Door::Guests => self.standing(user, group).map(|_| Standing::GUEST),
            Door::Observers => {
                let may_observe = self.is_owner(user) || self.observers.users.contains(&user);
                may_observe.then_some(Standing::OBSERVER)
            }
        }
    }

    /// Whether a user is the home's owner, or root.
    pub fn is_owner(&self, user: u32) -> bool {
        user == self.owner || user == ROOT
    }

    /// [`Access::standing`] for a user id alone: the primary group is looked up.
    pub fn of_user(&self, user: u32) -> Option<Standing> {
        self.standing(user, NO_GROUP).or_else(|| self.standing(user, group_of(user)))
    }

    /// Whether users other than the owner are named, so that the socket must be accessible. A credential
    /// alone does not make it so: with nobody named, only processes of the owner's user can show one.
    pub fn is_shared(&self) -> bool {
        let mut members = self.named.iter().chain([&self.observers]);
        members.any(|members| !members.users.is_empty() || !members.groups.is_empty())
    }
}

fn user_id(name: &str) -> Option<u32> {
    User::from_name(name).ok().flatten().map(|user| user.uid.as_raw())
}

const ROOT: u32 = 0;
/// Upper bound of cached users' names; each is believed for [`NAME_AGE_MAX`].
const NAMES_MAX: usize = 1024;
const NAME_AGE_MAX: Duration = Duration::from_secs(60);
/// The value for "leave unchanged" in chown(2): no group has this number.
const NO_GROUP: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use home::Programs;

    fn settings(users: &[&str], groups: &[&str]) -> Settings {
        let programs = Programs { daemon: "/d".into(), card: "/c".into(), manifest: None };
        let mut settings = Settings::new(programs);
        settings.access.users = users.iter().map(ToString::to_string).collect();
        settings.access.groups = groups.iter().map(ToString::to_string).collect();
        settings
    }

    #[test]
    fn strangers_get_nothing_and_guests_not_everything() {
        let access = Access::resolve(1000, &settings(&["nobody"], &[])).unwrap();
        let nobody = user_id("nobody").unwrap();
        assert_eq!(access.standing(1000, 1), Some(Standing::ADMINISTRATOR));
        assert_eq!(access.standing(0, 0), access.standing(1000, 1));
        let guest = access.standing(nobody, 1).unwrap();
        assert!(!guest.administers);
        for user in [1000, 0, nobody] {
            assert_eq!(access.standing_at(Door::Guests, user, 1), Some(Standing::GUEST));
        }
        assert_eq!(access.standing_at(Door::Administrators, 1000, 1), access.standing(1000, 1));
        assert_eq!(access.standing_at(Door::Administrators, nobody, 1), Some(guest));
        assert_eq!(access.standing_at(Door::Administrators, 4242, 4242), None);
        assert_eq!(access.standing(4242, 4242), None);
        assert!(access.is_shared());
    }

    #[test]
    fn a_group_lets_its_members_in() {
        let access = Access::resolve(1000, &settings(&[], &["daemon"])).unwrap();
        let group = Group::from_name("daemon").unwrap().unwrap().gid.as_raw();
        assert!(access.standing(4242, group).is_some());
        // The account "daemon" is of that group, though the group does not list it.
        let account = user_id("daemon").unwrap();
        assert_eq!(access.of_user(account), access.standing(4242, group));
        assert_eq!((access.of_user(4242), access.of_user(user_id("nobody").unwrap())), (None, None));
        assert_eq!(access.standing(4242, group + 4000), None);
    }

    #[test]
    fn observers_observe_and_no_more() {
        let mut settings = settings(&[], &[]);
        settings.access.observers = vec!["nobody".into()];
        let access = Access::resolve(1000, &settings).unwrap();
        let nobody = user_id("nobody").unwrap();
        assert!(access.is_shared());
        for user in [nobody, 1000, 0] {
            assert_eq!(access.standing_at(Door::Observers, user, 1), Some(Standing::OBSERVER));
        }
        for door in [Door::Administrators, Door::Guests] {
            assert_eq!(access.standing_at(door, nobody, 1), None);
        }
        assert_eq!(access.standing_at(Door::Observers, 4242, 1), None);
    }

    #[test]
    fn unknown_names_are_refused_by_name() {
        let error = Access::resolve(0, &settings(&["no-such-user-here"], &[])).unwrap_err();
        assert!(error.to_string().contains("no-such-user-here"));
        let error = Access::resolve(0, &settings(&[], &["no-such-group-here"])).unwrap_err();
        assert_eq!(error, AccessError::Group { table: "[access]".into(), name: "no-such-group-here".into() });
    }
}
