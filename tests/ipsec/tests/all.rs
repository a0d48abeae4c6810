//! The data plane with real IKE daemons, iproute2 and others at its ends.

mod capture;
mod iproute2;
mod libreswan;
mod mobility;
mod pairs;
mod peers;
mod scapy;
mod strongswan;
