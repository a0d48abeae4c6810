//! `libcryptand-xfrm.so`: preloaded into an IKE daemon or `ip xfrm`, it connects the program's XFRM netlink sockets to
//! the data plane.
//!
//! All else stays the kernel's. The library has no thread, keeps no message and no key, and says on standard error what
//! an operator has to mend, once. Programs that call the kernel without the C library are not reached.
//!
//! | what a program does | what happens |
//! |---|---|
//! | `socket(AF_NETLINK, …, NETLINK_XFRM)` | a connection to `xfrm.sock`, whose datagrams carry netlink's messages; it is made anew when the data plane is back |
//! | binds a UDP socket to port 500 or 4500 | its packets are marked, so that they go around the data plane |
//! | binds a UDP socket to port 4500 | the data plane opens its sockets of that address first, and shares the port |
//! | asks for `UDP_ENCAP` | the kernel does not learn of it: it would take ESP for itself, and has none |
//! | asks that a socket's packets pass (`IP_XFRM_POLICY`) | its packets are marked |

// Unit tests export no function of the C library's, and so leave much of it without a caller.
#![cfg_attr(test, allow(dead_code))]

mod connection;
mod ffi;
mod ffi_border;
mod ffi_kernel;
mod ffi_real;
mod ffi_transfer;
mod ike;
mod message;
mod ours;
mod paths;
mod said;
mod table;

/// The firewall mark of packets that go around the data plane, by which rules of routing know them.
const MARK: u32 = 0x0000_E500;
