//! The published workloads over IPsec.
