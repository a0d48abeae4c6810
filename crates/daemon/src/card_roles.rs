//! Which roles a card was told of, by number.
//!
//! A number means one set of points as long as a grant names it. When a role changes, the card gets a new number for
//! it, grants move over to that one by one, and the old number is reused for another set only after that.

use std::collections::HashSet;
use wire::bounds::CARD_ROLES_MAX;
use wire::point::PointSet;
use wire::role::Role;

/// The roles that the running process of a card knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CardRoles {
    /// Generation of the card's process that was told of these roles.
    generation: u64,
    known: Vec<PointSet>,
}

/// The number by which a grant names a set of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// The role's number at the card.
    pub number: u16,
    /// Whether the card must be told of this role before the grant.
    pub is_new: bool,
}

/// A number that no card knows: nothing is permitted under it.
pub const NO_ROLE: u16 = u16::MAX;

impl CardRoles {
    /// The roles that an adopted card says it knows.
    pub fn adopted(generation: u64, roles: &[Role]) -> Self {
        let mut known = Vec::new();
        for role in roles.iter().filter(|role| usize::from(role.number) < CARD_ROLES_MAX) {
            let number = usize::from(role.number);
            if known.len() <= number {
                known.resize(number + 1, PointSet::NOTHING);
            }
            known[number] = role.points;
        }
        Self { generation, known }
    }

    /// The number of a set of points at the process of this generation, or [`NO_ROLE`] if all numbers are in use.
    /// `used` gives the numbers that grants name; it is called only if a new number is needed.
    pub fn number(
        &mut self,
        generation: u64,
        points: PointSet,
        used: impl FnOnce() -> HashSet<u16>,
    ) -> Numbered {
        if self.generation != generation {
            *self = Self { generation, known: Vec::new() };
        }
        if let Some(at) = self.known.iter().position(|known| *known == points) {
            return Numbered { number: at as u16, is_new: false };
        }
        let used = used();
        let free = (0..self.known.len()).find(|at| !used.contains(&(*at as u16)));
        let Some(at) = free.or_else(|| (self.known.len() < CARD_ROLES_MAX).then_some(self.known.len()))
        else {
            return Numbered { number: NO_ROLE, is_new: false };
        };
        if at == self.known.len() {
            self.known.push(points);
        } else {
            self.known[at] = points;
        }
        Numbered { number: at as u16, is_new: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::point::POINTS;

    fn nth(at: usize) -> PointSet {
        let mut points = PointSet::NOTHING;
        for bit in (0..8).filter(|bit| at & (1 << bit) != 0) {
            points.allow(POINTS[bit].point);
        }
        points
    }

    #[test]
    fn a_number_is_given_anew_only_when_no_grant_names_it() {
        let mut roles = CardRoles::default();
        let mut used = HashSet::new();
        for at in 0..CARD_ROLES_MAX {
            let numbered = roles.number(1, nth(at), || used.clone());
            assert!(numbered.is_new && used.insert(numbered.number));
        }
        let full = roles.number(1, nth(200), || used.clone());
        assert_eq!(full, Numbered { number: NO_ROLE, is_new: false });
        used.remove(&9);
        let given = roles.number(1, nth(200), || used.clone());
        assert_eq!(given, Numbered { number: 9, is_new: true });
        let again = roles.number(1, nth(200), || used.clone());
        assert_eq!(again, Numbered { number: 9, is_new: false });
    }

    #[test]
    fn another_process_knows_nothing_and_an_adopted_one_what_it_says() {
        let mut roles = CardRoles::default();
        roles.number(1, nth(1), HashSet::new);
        assert!(roles.number(2, nth(1), HashSet::new).is_new);
        let said = [Role { number: 5, points: nth(3) }, Role { number: u16::MAX, points: nth(4) }];
        let mut roles = CardRoles::adopted(7, &said);
        assert_eq!(roles.number(7, nth(3), HashSet::new), Numbered { number: 5, is_new: false });
        assert!(roles.number(7, nth(4), || HashSet::from([5])).is_new);
    }
}
