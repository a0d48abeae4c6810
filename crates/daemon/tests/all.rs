//! The daemon, with clients and cards that the tests play.

mod clients;
mod common;
mod doors;
mod full_disk;
mod guests;
mod homes;
mod life;
mod run_folder;
mod stores;
mod tenants;
