//! The roles that a card knows: what requests under a grant may do.

use wire::bounds::CARD_ROLES_MAX;
use wire::point::PointSet;
use wire::role::Role;

/// Roles by their numbers. An unknown number permits nothing.
#[derive(Debug, Default)]
pub struct Roles {
    known: Vec<Option<PointSet>>,
}

static NOTHING: PointSet = PointSet::NOTHING;

impl Roles {
    /// The points that a role permits.
    #[inline]
    pub fn points(&self, number: u16) -> &PointSet {
        self.known.get(usize::from(number)).and_then(Option::as_ref).unwrap_or(&NOTHING)
    }

    /// Notes a role; `is_used` says whether a grant names its number. A number beyond the bound is not noted. A number
    /// in use gets no other meaning: if the points differ, it permits nothing.
    pub fn define(&mut self, role: Role, is_used: bool) {
        let number = usize::from(role.number);
        if number >= CARD_ROLES_MAX {
            return;
        }
        if self.known.len() <= number {
            self.known.resize(number + 1, None);
        }
        let contradicts = is_used && self.known[number].is_some_and(|known| known != role.points);
        self.known[number] = Some(if contradicts { PointSet::NOTHING } else { role.points });
    }

    /// The roles that are known among these numbers, each once, for a later daemon.
    pub fn among(&self, numbers: impl Iterator<Item = u16>) -> Vec<Role> {
        let mut numbers: Vec<u16> = numbers.collect();
        numbers.sort_unstable();
        numbers.dedup();
        let known = |number: u16| *self.known.get(usize::from(number))?;
        numbers.into_iter().filter_map(|number| Some(Role { number, points: known(number)? })).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::point::Point;

    fn of(point: Point) -> PointSet {
        let mut points = PointSet::NOTHING;
        points.allow(point);
        points
    }

    #[test]
    fn what_was_not_told_permits_nothing() {
        let mut roles = Roles::default();
        roles.define(Role { number: 3, points: of(Point::Null) }, false);
        assert!(roles.points(3).permits(Point::Null));
        for unknown in [0, 2, 4, CARD_ROLES_MAX as u16, u16::MAX] {
            assert_eq!(*roles.points(unknown), PointSet::NOTHING, "{unknown}");
        }
        roles.define(Role { number: CARD_ROLES_MAX as u16, points: PointSet::EVERYTHING }, false);
        roles.define(Role { number: u16::MAX, points: PointSet::EVERYTHING }, false);
        assert_eq!(*roles.points(CARD_ROLES_MAX as u16), PointSet::NOTHING);
        assert_eq!(*roles.points(u16::MAX), PointSet::NOTHING);
    }

    #[test]
    fn a_number_in_use_never_means_something_else() {
        let mut roles = Roles::default();
        let (few, more) = (of(Point::Null), PointSet::EVERYTHING);
        roles.define(Role { number: 1, points: few }, false);
        roles.define(Role { number: 1, points: few }, true);
        assert_eq!(*roles.points(1), few);
        roles.define(Role { number: 1, points: more }, true);
        assert_eq!(*roles.points(1), PointSet::NOTHING);
        roles.define(Role { number: 1, points: more }, false);
        assert_eq!(*roles.points(1), more);
        assert_eq!(roles.among([1, 1, 7].into_iter()), [Role { number: 1, points: more }]);
    }
}
