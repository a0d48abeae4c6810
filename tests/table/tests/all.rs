//! Every row of the verb table through all rooms, and through bindings that are made from it.

mod rows;
mod shells;
