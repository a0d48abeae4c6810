//! The command line: its words and dates, and the program.

mod dates;
mod program;
mod words;
