//! Secrets steer neither branches nor addresses: as valgrind sees it, and in the machine code.

mod disassembly;
mod valgrind;
