//! The tests of the command: each runs it as a person or a script does.

mod audit;
mod commands;
mod cvv;
mod dukpt;
mod emv;
mod fpe;
mod health;
mod installation;
mod keys;
mod mac;
mod memory;
mod officers;
mod openpgp;
mod payments;
mod pin;
mod readme;
mod roles;
mod served;
mod tenants;
mod terminal;
mod trust;
mod undumpable;
mod unwritable;
