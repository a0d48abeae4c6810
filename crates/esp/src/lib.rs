//! The program `cryptand-esp`: IPsec's ESP in user space, for machines whose kernel has none. IKE daemons and `ip xfrm`
//! use it in place of the kernel's.
//!
//! | need | module |
//! |---|---|
//! | the process with privileges and without keys | [`supervisor`] |
//! | the process with keys and without privileges | [`worker`] |
//! | messages between the two processes | [`messages`] |
//! | the folder of their sockets and files | [`folder`] |
//! | the status and lists for observers | [`observed`] |
//! | `cryptand ipsec` | [`commands`] |
//! | arguments of the program | [`program`] |
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

/// Writes a line to standard error, for the log; if nobody reads it, only that line is lost.
macro_rules! tell {
    ($($text:tt)*) => {
        eprintln!("cryptand-esp: {}", format_args!($($text)*))
    };
}

pub mod commands;
pub mod folder;
pub mod messages;
pub mod observed;
pub mod program;
pub mod supervisor;
pub mod worker;
