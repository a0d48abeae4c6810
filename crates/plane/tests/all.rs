//! The packet path: superpackets, sockets, and both ends of a tunnel in namespaces.

mod common;
mod packets;
mod sockets;
mod traffic;
