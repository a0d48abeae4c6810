//! The keys that an agent holds, and its program.

mod agent;
mod held;
