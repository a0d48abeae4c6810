//! Laws about the sources, the pages and the tables.

mod arguments;
mod bounds;
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
mod role_table;
mod verb_table;
mod workflows;
