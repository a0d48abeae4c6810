//! The program `cryptand-esp`: IPsec's ESP in user space, for machines whose kernel has none. IKE daemons, and `ip
//! xfrm`, take it for the kernel's.
//!
//! | need | module |
//! |---|---|
//! | the process that has the rights, and no keys | [`supervisor`] |
//! | the process that has the keys, and no rights | [`worker`] |
//! | what they say to each other | [`messages`] |
//! | the folder where they are found | [`place`] |
//! | what observers are shown | [`observed`] |
//! | `cryptand ipsec` | [`commands`] |
//! | arguments of the program | [`program`] |
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

/// Says something on standard error, for the log; where nobody reads it, it is lost, and nothing else.
macro_rules! tell {
    ($($text:tt)*) => {
        eprintln!("cryptand-esp: {}", format_args!($($text)*))
    };
}

pub mod commands;
pub mod messages;
pub mod observed;
pub mod place;
pub mod program;
pub mod supervisor;
pub mod worker;
