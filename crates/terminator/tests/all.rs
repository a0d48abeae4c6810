//! The tests of the terminator: one program, for the most of them start the same one.

mod alpn;
mod cards;
mod client_certificates;
mod clients;
mod drive;
mod exchange;
mod forwarding;
mod hostile;
mod installed;
mod labels;
mod limits;
mod memory;
mod observing;
mod proxy;
mod reload;
mod robust;
mod scale;
mod sessions;
mod settings;
mod stapling;
mod support;
mod surviving;
mod tickets;
mod unit;
mod watching;
