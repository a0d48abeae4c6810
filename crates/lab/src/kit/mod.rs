//! The ground floor: figures, charts, tables and pages, journals, and the machine. Nothing here knows what is measured.

pub mod chart;
pub mod digits;
pub mod journal;
pub mod machine;
pub mod page;
pub mod statistics;
