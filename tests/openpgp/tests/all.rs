//! The real program against other OpenPGP programs, faults and attackers.

mod faults;
mod hostile;
mod interop;
mod oracle;
