//! Laws about the sources, the pages and the tables, and the numbers that tests take for chance.

mod arguments;
mod bounds;
mod chance;
mod codes;
mod exercised;
mod floors;
mod form;
mod laws;
mod manifests;
mod names;
mod pages;
mod programs;
mod promises;
mod prose;
mod role_table;
mod verb_table;
mod workflows;
