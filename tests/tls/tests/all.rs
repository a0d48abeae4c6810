//! The terminator against clients, proxies and checkers of others.

mod clients;
mod debian;
mod hostile;
mod renewal;
mod rustls;
mod testssl;
