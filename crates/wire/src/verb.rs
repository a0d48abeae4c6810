//! The verb table: every verb's number, slot, name, entry point, parameters, class and point, as data.
//!
//! Dispatch, shells, command lines, fuzz targets and the page of documentation are made from the
//! table, so that no signature is written twice. Parameters stand in the order of the CCA
//! interface, after `return_code`, `reason_code`, `exit_data_length` and `exit_data`.
//!
//! | file | holds |
//! |---|---|
//! | `types` | the types of a row |
//! | `rows` | the rows, a file a family, and [`for_each_verb`](crate::for_each_verb) |
//! | `table` | [`TABLE`], and a module for each verb: positions of its parameters, `Request`, `Answer`, `Ask`, `Got` |
//! | `request`, `answer` | the card's end of a row: a typed request and answer |
//! | `ask` | the client's end of a row: a typed request to send and the answer that it got |
//! | `fault` | why an argument is refused |
//! | `lookup` | from a number, a slot or a name to a row |
//! | `keywords`, `groups` | keywords of rule arrays: their groups, and which go together |
//! | `reasons` | why keywords of the definitions are refused |
//! | `misfit` | why a rule array is refused, in words for people |
//! | `length` | how many bytes a parameter has |

mod answer;
mod ask;
mod fault;
mod groups;
mod keywords;
mod length;
mod lookup;
mod misfit;
mod reasons;
mod request;
mod rows;
mod rules;
mod table;
mod types;

/// The level of CCA's interface that is served; programs choose by it which functions they call.
pub const CCA_LEVEL: &str = "8.3.0";

pub use answer::{TypedAnswer, too_small, write_no_outputs};
pub use ask::{Filled, Key, Room, TypedAsk, TypedGot};
pub use fault::Fault;
pub use groups::*;
pub use keywords::{Choice, Group, Keyword, Need, Others, Rule, RuleArray, words};
pub use length::TOKEN_HEADER_BYTES;
pub use misfit::Misfit;
pub use reasons::{unknown, why_refused};
pub use request::{Buffer, TypedRequest};
pub use table::*;
pub use types::{Audit, Class, Entry, Executor, Kernel};

pub use crate::parameters::{Direction, Kind, Length, Null, Parameter, Role, Verb};
