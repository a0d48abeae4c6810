//! The cases: processors, provider, stages with threads of their own, and level.

use crate::kit::machine::processors_online;

/// Processors that a case may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processors {
    /// The first one.
    One,
    /// All processors.
    All,
}

/// A case of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The published tables that the case stands for; empty if it was not published.
    pub tables: &'static [&'static str],
    /// The portable provider, else the engine.
    pub is_software: bool,
    /// Processors that the case may use.
    pub processors: Processors,
    /// Whether compression and cipher run on all processors but the first, which keeps the rest.
    pub offload: bool,
    /// Whether I/O, compression and cipher have threads of their own (the original's three options).
    pub stages: bool,
    /// Level of compression.
    pub level: u8,
}

const fn case(
    tables: &'static [&'static str],
    is_software: bool,
    processors: Processors,
    stages: bool,
) -> Case {
    Case { tables, is_software, processors, offload: false, stages, level: 1 }
}

use Processors::{All, One};

/// Every case, those of the published tables first.
pub fn cases() -> Vec<Case> {
    vec![
        case(&["t1", "t10"], true, One, false),
        case(&["t2", "t6"], false, One, false),
        Case { offload: true, ..case(&["t3"], true, All, false) },
        Case { offload: true, ..case(&["t4"], false, All, false) },
        case(&["t7"], false, One, true),
        case(&["t8"], false, All, true),
        Case { offload: true, ..case(&["t9"], false, All, true) },
        case(&[], true, One, true),
        case(&[], true, All, false),
        case(&[], true, All, true),
        case(&[], false, All, false),
        Case { level: 9, ..case(&[], false, One, false) },
        Case { level: 9, ..case(&[], false, All, true) },
    ]
}

impl Case {
    /// The case of a published table.
    pub fn of_table(table: &str) -> Option<Self> {
        cases().into_iter().find(|case| case.tables.contains(&table))
    }

    /// Name of the case.
    pub fn name(&self) -> String {
        let who = if self.is_software { "software" } else { "engine" };
        let processors = match self.processors {
            One => "1 processor",
            All if self.offload => "offloaded",
            All => "all processors",
        };
        let stages = if self.stages { "options on" } else { "options off" };
        format!("{who}, {processors}, {stages}, level {}", self.level)
    }

    /// Arguments that the case adds to the command on a machine with `processors` processors.
    pub fn arguments(&self, processors: usize) -> Vec<String> {
        let provider = if self.is_software { "software" } else { "engine" };
        let stages = if self.stages { "io,compress,cipher" } else { "none" };
        let mut arguments = ["--provider", provider, "--async", stages].map(str::to_owned).to_vec();
        if self.offload && processors > 1 {
            let others: Vec<String> = (1..processors).map(|processor| processor.to_string()).collect();
            arguments.extend(["--offload-cpus".to_owned(), others.join(",")]);
        }
        arguments
    }

    /// The processors that the program is bound to; empty for all. With offloading the program chooses them itself.
    pub fn bound_to(&self) -> Vec<usize> {
        if self.processors == One || self.offload { vec![0] } else { Vec::new() }
    }

    /// Number of processors that the case may use on this machine.
    pub fn processors_used(&self) -> usize {
        if self.processors == One { 1 } else { processors_online() }
    }

    /// Estimated seconds for a gigabyte of text, for the remaining time.
    pub fn seconds_per_gigabyte(&self) -> f64 {
        let one = match (self.is_software, self.level) {
            (_, 9) => 25.0,
            (true, _) => 9.0,
            (false, _) => 1.6,
        };
        if self.processors == All && self.stages { one / processors_online() as f64 } else { one }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published;
    use std::collections::HashSet;

    #[test]
    fn every_published_table_with_figures_has_a_case() {
        let published = published::measurements();
        let tables =
            published.iter().filter(|row| row.field("document") == "ef2" && row.field("table") != "prose");
        let tables: HashSet<&str> = tables.map(|row| row.field("table")).collect();
        assert!(tables.len() >= 8);
        for table in tables {
            assert!(Case::of_table(table).is_some(), "{table}");
        }
        assert!(Case::of_table("t5").is_none());
    }

    #[test]
    fn names_are_the_cases_own() {
        let names: HashSet<String> = cases().iter().map(Case::name).collect();
        assert_eq!(names.len(), cases().len());
        assert!(names.contains("engine, 1 processor, options off, level 1"));
    }

    #[test]
    fn arguments_say_what_the_case_is() {
        let offloaded = Case::of_table("t4").unwrap().arguments(4).join(" ");
        assert_eq!(offloaded, "--provider engine --async none --offload-cpus 1,2,3");
        let alone = Case::of_table("t3").unwrap().arguments(1).join(" ");
        assert_eq!(alone, "--provider software --async none");
        let all = Case::of_table("t8").unwrap();
        assert_eq!(all.arguments(2).join(" "), "--provider engine --async io,compress,cipher");
        assert!(all.bound_to().is_empty() && Case::of_table("t7").unwrap().bound_to() == [0]);
    }
}
