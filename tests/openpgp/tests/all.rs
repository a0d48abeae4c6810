//! The real program against other OpenPGP programs, faults and attackers, and what it signs of a release.

mod faults;
mod hostile;
mod interop;
mod oracle;
mod release;
