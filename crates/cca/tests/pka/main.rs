//! The verbs of PKA keys, through whole batches; the other side is OpenSSL.

mod curves;
mod rsa;

use std::path::Path;
use verb_requests::exercised::check;

#[test]
fn what_is_exercised_is_what_the_file_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exercised");
    check(env!("CARGO_CRATE_NAME"), &folder, Path::new(env!("CARGO_TARGET_TMPDIR")));
}
