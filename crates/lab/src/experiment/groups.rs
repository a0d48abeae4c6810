//! Groups of rows that are measured one after the other, each under a name that `--filter` finds.

use super::promise::{Measure, Options, Part, Promise};
use crate::load::LabError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rounds and seconds with which rows are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effort {
    /// Rounds of each side.
    pub rounds: usize,
    /// Seconds that each side works in a round.
    pub seconds: f64,
}

impl Effort {
    /// At most `rounds_max` rounds; a side works `longer` times as long as a side of an engine row.
    pub fn of(options: &Options, rounds_max: usize, longer: f64) -> Self {
        Self { rounds: options.rounds.clamp(1, rounds_max), seconds: options.seconds * longer }
    }
}

/// The groups whose name matches the filter of the options.
pub(crate) fn wanted<G: Copy>(groups: &[(&'static str, G)], options: &Options) -> Vec<(&'static str, G)> {
    groups.iter().filter(|(name, _)| options.wants(name)).copied().collect()
}

/// Measures groups in their order. A group that cannot run becomes a row with the reason.
///
/// # Errors
/// [`LabError::Interrupted`], and every error of a group other than [`LabError::Program`].
pub(crate) fn measure<G>(
    part: Part,
    groups: Vec<(&'static str, G)>,
    stop: &AtomicBool,
    one: &mut dyn FnMut(&'static str, G) -> Result<Vec<Measure>, LabError>,
) -> Result<Vec<Measure>, LabError> {
    let mut rows = Vec::new();
    for (name, group) in groups {
        match one(name, group) {
            Ok(of_group) => rows.extend(of_group),
            Err(LabError::Program(why)) if !stop.load(Ordering::Relaxed) => rows.push(failed(name, &why)),
            Err(error) => return Err(error),
        }
    }
    rows.iter_mut().for_each(|row| row.part = part);
    Ok(rows)
}

/// What was measured; where that failed for want of a program or a card, a row with the reason.
///
/// # Errors
/// Every other error, and all after an interrupt.
pub(crate) fn or_why(
    part: Part,
    name: &str,
    stop: &AtomicBool,
    measured: Result<Vec<Measure>, LabError>,
) -> Result<Vec<Measure>, LabError> {
    match measured {
        Err(LabError::Program(why)) if !stop.load(Ordering::Relaxed) => {
            Ok(vec![Measure { part, ..failed(name, &why) }])
        }
        measured => measured,
    }
}

/// The row of a group that could not be measured: a promise that is not kept, with the reason.
fn failed(name: &str, why: &str) -> Measure {
    Measure::alone(&format!("{name}: not measured"), "-", &[0.0], Some(Promise::Above(0.0))).bounded_by(why)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Whether each name, as a filter, finds its own group alone.
    pub(crate) fn are_found_by_words_of_their_own<G: Copy>(groups: &[(&'static str, G)]) -> bool {
        groups.iter().all(|(name, _)| {
            let options = Options { filter: Some((*name).to_owned()), ..Options::default() };
            matches!(wanted(groups, &options)[..], [(found, _)] if found == *name)
        })
    }

    #[test]
    fn a_name_within_another_is_no_word_of_its_own() {
        assert!(are_found_by_words_of_their_own(&[("one", ()), ("two", ())]));
        assert!(!are_found_by_words_of_their_own(&[("one", ()), ("one and two", ())]));
    }

    #[test]
    fn a_group_that_is_not_measured_keeps_no_promise() {
        let stop = AtomicBool::new(false);
        let mut one = |_: &str, is_there: bool| match is_there {
            true => Ok(vec![Measure::alone("row", "s", &[1.0], None)]),
            false => Err(LabError::Program("the load driver failed".to_owned())),
        };
        let groups = || vec![("resumed", false), ("full", true)];
        let rows = measure(Part::Tls, groups(), &stop, &mut one).unwrap();
        assert!(!rows[0].is_kept() && !rows[0].is_note() && rows[0].bound.contains("driver"), "{rows:?}");
        assert!(rows.len() == 2 && rows[1].is_kept() && rows.iter().all(|row| row.part == Part::Tls));
        let missing = |stop| {
            or_why(Part::Scale, "resumed", &stop, Err(LabError::Program("openssl is not here".to_owned())))
        };
        let rows = missing(AtomicBool::new(false)).unwrap();
        assert!(!rows[0].is_kept() && rows[0].part == Part::Scale && rows[0].bound.contains("openssl"));
        assert!(missing(AtomicBool::new(true)).is_err());
        // An interrupt ends the programs, and that is no failure of the programs.
        stop.store(true, Ordering::Relaxed);
        assert!(measure(Part::Tls, groups(), &stop, &mut one).is_err());
    }

    #[test]
    fn rounds_and_seconds_are_bounded() {
        let effort = Effort::of(&Options::default(), 5, 10.0);
        assert_eq!(effort, Effort { rounds: 5, seconds: 1.0 });
        assert_eq!(Effort::of(&Options { rounds: 0, ..Options::default() }, 5, 1.0).rounds, 1);
    }
}
