//! Messages and keys, read and written, against other programs.

mod body;
mod keys;
mod keys_gnupg;
mod keys_sq;
mod keys_support;
