//! Whole installations, in the programs that do not need all of the machine.

mod cards;
mod clients;
mod daemon;
mod examples;
mod hostile;
mod input;
mod lab;
mod liars;
mod loops;
mod master_keys;
mod observing;
mod pins;
mod quarantine;
mod restarts;
mod rights;
mod service;
mod sharing;
mod starting;
mod starving;
mod tenants;
mod threads;
mod unattended;
mod unit;
mod units;
mod upgrade;
mod without_keys;
