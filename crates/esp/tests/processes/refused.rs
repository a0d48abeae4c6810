//! What cannot be protected, or not by the next worker, is refused: with the error of the kernel or of the file, and
//! nothing changes.

use crate::clear_text::nothing_leaves;
use crate::mounts::{mount, with_own_mounts};
use crate::net::{FAR, NEAR, NEAR_INSIDE, NEAR_INSIDE_V6, Net, with_rights};
use crate::plane::Plane;
use crate::xfrm::{self, Xfrm};
use netlink_packet_xfrm::{XfrmMessage, policy};
use serde_json::Value;
use std::fs;
use std::process::Command;

const EACCES: i32 = 13;
const ENOSPC: i32 = 28;
/// Policies of which some find no room in what is left of a page.
const MANY: usize = 256;

fn listed(plane: &Plane<'_>) -> Vec<Value> {
    serde_json::from_str(&plane.shows("policy", true)).unwrap()
}

/// The request that removes what another added.
fn removal(added: &XfrmMessage) -> XfrmMessage {
    let XfrmMessage::AddPolicy(added) = added else { panic!("{added:?}") };
    let mut removal = policy::DelGetMessage::default();
    removal.user_policy_id.selector = added.user_policy_info.selector;
    removal.user_policy_id.direction = added.user_policy_info.direction;
    XfrmMessage::DeletePolicy(removal)
}

/// What lets pass what another protects.
fn pass_instead(added: &XfrmMessage) -> XfrmMessage {
    let XfrmMessage::AddPolicy(mut added) = added.clone() else { panic!("{added:?}") };
    added.nlas.clear();
    XfrmMessage::UpdatePolicy(added)
}

#[test]
fn a_policy_whose_route_the_kernel_refuses() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        plane.protect(true);
        net.near.run(|| fs::write("/proc/sys/net/ipv6/conf/cryptand0/disable_ipv6", "1").unwrap());
        // What drops the packets of those that were there stays.
        nothing_leaves(&net, "with IPv6 disabled on the device");
        let (before, traces) = (listed(&plane), net.near.traces());
        let mut client = plane.xfrm();
        let another = xfrm::policy(1, (NEAR_INSIDE_V6, "fd03::1"), 64, (NEAR, FAR));
        for _ in 0..2 {
            let (errno, text) = client.refusal(another.clone());
            assert_eq!(errno, EACCES);
            assert!(
                text.contains("setting the route of fd03::/64 to cryptand0: Permission denied"),
                "{text}"
            );
        }
        assert_eq!((listed(&plane), net.near.traces()), (before, traces), "nothing is left of it");
        // What needs no route there is served.
        client.ok(xfrm::policy(0, ("fd03::1", NEAR_INSIDE_V6), 64, (FAR, NEAR)));
        client.ok(xfrm::policy(1, (NEAR_INSIDE, "10.3.0.1"), 16, (NEAR, FAR)));
        nothing_leaves(&net, "after some were refused");
        // The next worker goes on with all that there are.
        plane.kill_worker();
        assert_eq!(plane.status()["policies"], 8);
        nothing_leaves(&net, "with the next worker");
        net.near.run(|| fs::write("/proc/sys/net/ipv6/conf/cryptand0/disable_ipv6", "0").unwrap());
        plane.xfrm().ok(another);
        let down = plane.down();
        assert!(down.status.success(), "{}", String::from_utf8_lossy(&down.stderr));
        assert_eq!(net.near.traces(), "");
    });
}

#[test]
fn where_ipv6_is_disabled_before_the_start() {
    with_rights(|| {
        let net = Net::new();
        net.near.run(|| {
            for link in ["all", "default"] {
                fs::write(format!("/proc/sys/net/ipv6/conf/{link}/disable_ipv6"), "1").unwrap();
            }
        });
        let plane = Plane::start(&net.near, &[]);
        let mut client = plane.xfrm();
        for (position, policy) in xfrm::policies(true).into_iter().enumerate() {
            // The outbound one of the second family.
            assert_eq!(client.errno(policy), if position == 3 { EACCES } else { 0 });
        }
        plane.key(0x1001);
        assert!(net.near.traces().contains("10.2.0.0/16 dev cryptand0"));
        let down = plane.down();
        assert!(down.status.success(), "{}", String::from_utf8_lossy(&down.stderr));
        assert_eq!(net.near.traces(), "");
    });
}

/// Sends requests until one is refused; how many were not, and the first that was.
fn until_refused<'r>(
    client: &mut Xfrm,
    requests: impl IntoIterator<Item = &'r XfrmMessage>,
) -> (usize, &'r XfrmMessage) {
    for (done, request) in requests.into_iter().enumerate() {
        let (errno, text) = client.refusal(request.clone());
        if errno != 0 {
            assert_eq!(errno, ENOSPC, "{text}");
            let expected = "writing the journal, by which policies outlive the data plane's worker: No space left on device";
            assert!(text.starts_with(expected), "{text}");
            return (done, request);
        }
    }
    panic!("there is room for everything");
}

#[test]
fn policies_that_the_journal_has_no_room_for() {
    with_rights(|| {
        with_own_mounts(|| {
            let net = Net::new();
            let mut plane = Plane::none(&net.near);
            fs::create_dir_all(&plane.folder).unwrap();
            let folder = plane.folder.to_str().unwrap().to_owned();
            mount(&["-t", "tmpfs", "-o", "size=64k", "none", &folder]);
            plane.restart(&[]);
            plane.protect(true);
            // Nothing is left but what the page that was begun has.
            let filled = fs::write(plane.folder.join("filler"), vec![0; 1 << 20]);
            assert!(filled.is_err(), "the folder is full");
            let mut client = plane.xfrm();
            let many: Vec<XfrmMessage> = (0..MANY)
                .map(|number| xfrm::policy(1, (NEAR_INSIDE, &format!("10.3.{number}.1")), 24, (NEAR, FAR)))
                .collect();
            let (added, refused) = until_refused(&mut client, &many);
            let before = listed(&plane);
            assert_eq!(before.len(), 6 + added);
            let traces = net.near.traces();
            assert!(!traces.contains(&format!("10.3.{added}.0/24")), "no route of it is left: {traces}");
            assert_eq!(client.errno(refused.clone()), ENOSPC, "and again");
            // What would let pass what was protected is refused as well.
            let own = xfrm::policies(true);
            let removals: Vec<XfrmMessage> = many[..added].iter().chain(&own).map(removal).collect();
            let (removed, _) = until_refused(&mut client, &removals);
            let protecting = [pass_instead(&own[0]), removal(&own[0])];
            until_refused(&mut client, &protecting[..1]);
            until_refused(&mut client, &protecting[1..]);
            assert_eq!(listed(&plane).len(), 6 + added - removed);
            nothing_leaves(&net, "while the journal is full");
            // SAs are served: what protects is not less than it was.
            plane.key(0x1001);
            plane.kill_worker();
            assert_eq!(listed(&plane).len(), 6 + added - removed, "the next one has them all");
            nothing_leaves(&net, "with the next worker");
            // With room everything goes on.
            fs::remove_file(plane.folder.join("filler")).unwrap();
            let mut client = plane.xfrm();
            client.ok(refused.clone());
            client.ok(removal(&own[0]));
            assert_eq!(listed(&plane).len(), 6 + added - removed);
            let lost: Vec<XfrmMessage> = own[1..].iter().map(removal).collect();
            lost.into_iter().for_each(|removal| client.ok(removal));
            assert!(plane.down().status.success());
            plane.ended();
            assert_eq!(net.near.traces(), "");
            let unmounted = Command::new("umount").arg(&folder).status().unwrap();
            assert!(unmounted.success());
        });
    });
}

/// Where a journal cannot be written from the first policy on, there is none.
#[test]
fn a_journal_that_can_never_be_written() {
    with_rights(|| {
        let net = Net::new();
        let mut plane = Plane::none(&net.near);
        fs::create_dir_all(&plane.folder).unwrap();
        std::os::unix::fs::symlink("/dev/full", plane.folder.join("journal")).unwrap();
        plane.restart(&[]);
        let mut client = plane.xfrm();
        let own = xfrm::policies(true);
        for policy in &own {
            until_refused(&mut client, [policy]);
        }
        assert_eq!((listed(&plane).len(), plane.status()["policies"].as_u64()), (0, Some(0)));
        let routes = net.near.traces();
        assert!(!routes.contains("dev cryptand0") && !routes.contains("blackhole"), "{routes}");
        assert!(plane.down().status.success());
        plane.ended();
        assert_eq!(net.near.traces(), "");
    });
}
