//! A set of points, as roles hold them and cards test them.

use super::table::ALL;
use super::{POINTS, POINTS_MAX, Point, PointEffect};
use serde::{Deserialize, Serialize};

const WORDS: usize = POINTS_MAX / u64::BITS as usize;

/// A set of points: one bit each, by [`Point`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "[u64; 6]", into = "[u64; 6]")]
pub struct PointSet([u64; WORDS]);

/// Error: a set names points that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPoints;

impl std::fmt::Display for UnknownPoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a set of access-control points that names unknown ones")
    }
}

impl std::error::Error for UnknownPoints {}

impl PointSet {
    /// Permits nothing: no point that permits is set, every point that forbids is.
    pub const NOTHING: Self = Self::of_effect(PointEffect::Forbids);
    /// Permits everything: every point that permits is set, no point that forbids is.
    pub const EVERYTHING: Self = Self::of_effect(PointEffect::Permits);

    const fn of_effect(effect: PointEffect) -> Self {
        let mut words = [0; WORDS];
        let mut at = 0;
        while at < ALL.len() {
            if ALL[at].effect as u8 == effect as u8 {
                words[at / 64] |= 1 << (at % 64);
            }
            at += 1;
        }
        Self(words)
    }

    /// Whether the point's bit is set; for a point that forbids, this is the contrary of
    /// [`PointSet::permits`].
    pub const fn is_set(&self, point: Point) -> bool {
        self.0[point as usize / 64] & (1 << (point as usize % 64)) != 0
    }

    /// Whether the set permits the right that the point stands for.
    #[inline]
    pub const fn permits(&self, point: Point) -> bool {
        // `NOTHING` has the bit of a point that forbids, and not that of a point that permits.
        let word = self.0[point as usize / 64] ^ Self::NOTHING.0[point as usize / 64];
        word & (1 << (point as usize % 64)) != 0
    }

    /// Permits the right that the point stands for.
    pub const fn allow(&mut self, point: Point) {
        self.put(point, matches!(ALL[point as usize].effect, PointEffect::Permits));
    }

    /// Refuses the right that the point stands for.
    pub const fn deny(&mut self, point: Point) {
        self.put(point, matches!(ALL[point as usize].effect, PointEffect::Forbids));
    }

    /// Whether the set permits nothing at all.
    pub fn permits_nothing(&self) -> bool {
        let lifted =
            |entry: &super::PointEntry| entry.effect == PointEffect::Permits && self.permits(entry.point);
        !POINTS.iter().any(lifted)
    }

    /// Every point whose right the set permits, in the order of the table.
    pub fn permitted(&self) -> impl Iterator<Item = Point> + '_ {
        POINTS.iter().map(|entry| entry.point).filter(|point| self.permits(*point))
    }

    const fn put(&mut self, point: Point, set: bool) {
        let bit = 1 << (point as usize % 64);
        let word = &mut self.0[point as usize / 64];
        *word = if set { *word | bit } else { *word & !bit };
    }
}

impl TryFrom<[u64; WORDS]> for PointSet {
    type Error = UnknownPoints;
    fn try_from(words: [u64; WORDS]) -> Result<Self, UnknownPoints> {
        let known = Self::NOTHING.0.iter().zip(Self::EVERYTHING.0).map(|(one, other)| one | other);
        if words.iter().zip(known).any(|(word, known)| word & !known != 0) {
            return Err(UnknownPoints);
        }
        Ok(Self(words))
    }
}

impl From<PointSet> for [u64; WORDS] {
    fn from(set: PointSet) -> Self {
        set.0
    }
}

const _: () = assert!(ALL.len() <= POINTS_MAX && WORDS == 6);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{MessageError, decode, encode};

    #[test]
    fn the_two_ends_permit_everything_and_nothing() {
        for entry in POINTS {
            assert!(PointSet::EVERYTHING.permits(entry.point), "{}", entry.name);
            assert!(!PointSet::NOTHING.permits(entry.point), "{}", entry.name);
            assert_eq!(PointSet::NOTHING.is_set(entry.point), entry.effect == PointEffect::Forbids);
        }
        assert!(PointSet::NOTHING.permits_nothing() && !PointSet::EVERYTHING.permits_nothing());
    }

    #[test]
    fn each_point_is_allowed_and_denied_by_itself() {
        for entry in POINTS {
            let (mut one, mut all_but) = (PointSet::NOTHING, PointSet::EVERYTHING);
            one.allow(entry.point);
            all_but.deny(entry.point);
            for other in POINTS {
                assert_eq!(one.permits(other.point), other.point == entry.point);
                assert_eq!(all_but.permits(other.point), other.point != entry.point);
            }
            assert_eq!(one.is_set(entry.point), entry.effect == PointEffect::Permits);
            // Lifting a point that forbids permits nothing yet where nothing is permitted.
            assert_eq!(one.permits_nothing(), entry.effect == PointEffect::Forbids);
        }
    }

    #[test]
    fn every_bit_set_is_not_the_most_powerful_set() {
        let all: [u64; WORDS] = std::array::from_fn(|at| {
            let (one, other): ([u64; WORDS], [u64; WORDS]) =
                (PointSet::NOTHING.into(), PointSet::EVERYTHING.into());
            one[at] | other[at]
        });
        let all = PointSet::try_from(all).unwrap();
        assert_ne!(all, PointSet::EVERYTHING);
        assert!(!all.permits(Point::PkaDecryptPkcs12));
    }

    #[test]
    fn sets_read_back_and_unknown_points_are_refused() {
        for set in [PointSet::NOTHING, PointSet::EVERYTHING] {
            assert_eq!(decode::<PointSet>(&encode(&set).unwrap()).unwrap(), set);
        }
        for at in POINTS.len()..POINTS_MAX {
            let mut words = [0u64; WORDS];
            words[at / 64] |= 1 << (at % 64);
            assert_eq!(PointSet::try_from(words), Err(UnknownPoints));
            let bytes = encode(&words).unwrap();
            // Such words alone read like the greeting of another version.
            let read = decode::<PointSet>(&bytes);
            assert!(matches!(read, Err(MessageError::Malformed | MessageError::Version(_))), "{read:?}");
        }
    }
}
