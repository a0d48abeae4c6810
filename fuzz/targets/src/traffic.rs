//! What begins a connection of the workloads over networks, and the options of the load.

use ::traffic::{Header, Load, Plan};
use std::sync::LazyLock;

/// What is not in an input.
static USUAL: LazyLock<Load> = LazyLock::new(Load::default);

/// The header that a server of workloads reads from whoever connects, and the options of `cryptand ipsec drive` as the
/// command hands them on: what is taken is within the bounds of its workload, and is written as it was read.
pub fn traffic_drive(data: &[u8]) {
    if let Some((bytes, _)) = data.split_first_chunk()
        && let Ok(header) = Header::read(bytes)
    {
        assert_eq!(header.bytes(), *bytes);
        assert_eq!(header.checked(), Ok(header));
    }
    let Ok(fields) = serde_json::from_slice(data) else { return };
    let Ok(typed) = options::changed(&*USUAL, fields) else { return };
    match Plan::at(&typed, ([127, 0, 0, 1], 1).into(), Vec::new()) {
        Ok(plan) => {
            let header = plan.header(7);
            assert_eq!(Header::read(&header.bytes()), Ok(header));
        }
        Err(why) => assert!(why.starts_with("--"), "{why}"),
    }
}
