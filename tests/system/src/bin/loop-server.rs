//! The example server of the client library, built beside the tests, which run it.

#[path = "../../../../crates/facility/examples/server.rs"]
mod server;

fn main() {
    server::main();
}
