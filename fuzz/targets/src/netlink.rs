//! Datagrams of NETLINK_XFRM of two clients, and what the packet path and time bring in between.

use crate::esp::engine;
use ipsec::{Direction, Event, Flow, PolicyDirection, SAS_MAX, SaName, Time};
use std::net::IpAddr;
use xfrm::{Client, OUTBOX_BYTES_MAX, Outbox, Settings, Unkeeping, Xfrm};

/// Whose datagrams are read.
const CLIENTS: [Client; 2] = [Client(1), Client(2)];
const NEAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const FAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 7));

/// Steps: a byte says which, and whose; two bytes how many follow. Replies are whole messages, and tables agree with
/// each other after each step.
pub fn xfrm_netlink(data: &[u8]) {
    let settings = Settings { weak_suites: true, ..Settings::default() };
    let fresh = || {
        let mut xfrm = Xfrm::new(engine(), settings.clone());
        xfrm.set_local([NEAR]);
        xfrm
    };
    let (mut xfrm, mut out) = (fresh(), Outbox::new());
    let (mut seconds, mut rest) = (1000_u64, data);
    while let [kind, low, high, tail @ ..] = rest {
        let bytes = usize::from(u16::from_le_bytes([*low, *high])).min(tail.len());
        let (step, after) = tail.split_at(bytes);
        rest = after;
        let client = CLIENTS[usize::from(kind & 1)];
        let (now, wall) = (Time::seconds(seconds), 1_700_000_000 + seconds);
        match kind >> 1 {
            0..=3 => {
                let mut datagram = step.to_vec();
                xfrm.request(client, &mut datagram, now, wall, &mut Unkeeping, &mut out);
                assert!(datagram.iter().all(|byte| *byte == 0), "requests are wiped");
            }
            4 => {
                seconds += step.first().map_or(1, |seconds| u64::from(*seconds));
                xfrm.tick(Time::seconds(seconds), wall, &mut Unkeeping, &mut out);
                assert!(xfrm.due().is_none_or(|due| due > Time::seconds(seconds)), "what was due is done");
            }
            5 => xfrm.continue_dump(client, now, wall, &mut out),
            6 => {
                // Whatever is there needs an SA, or has reached its end.
                let flow = Flow::new(NEAR, FAR, 17, (1, 2)).expect("of one family");
                let policy = xfrm.protected().next().map(|protected| protected.index);
                if let Some(policy) = policy {
                    xfrm.event(&Event::Acquire { policy, flow }, now, wall, &mut out);
                }
                let sa = xfrm.sad().iter().next().map(|sa| sa.name());
                let named = SaName { direction: Direction::In, spi: 4096, destination: NEAR, request: 0 };
                for hard in [false, true] {
                    let event = Event::Expire { sa: sa.unwrap_or(named), hard };
                    xfrm.event(&event, now, wall, &mut out);
                }
            }
            7 => {
                let mut next = fresh();
                next.restore(&xfrm.journal(now, wall), now, wall).expect("what was written is read");
                let count = |xfrm: &Xfrm| xfrm.list_policies().count();
                assert_eq!(count(&next), count(&xfrm), "policies come back");
                xfrm = next;
            }
            8 => xfrm.forget(client),
            _ => {
                let _ = fresh().restore(step, now, wall);
            }
        }
        check_tables(&xfrm, now);
        assert!(out.bytes() <= OUTBOX_BYTES_MAX);
        while let Some((client, datagram)) = out.take() {
            assert!(CLIENTS.contains(&client));
            check_datagram(&datagram);
        }
    }
}

/// Every message is whole, of a known type, and at a multiple of four.
fn check_datagram(mut datagram: &[u8]) {
    assert!(datagram.len() <= 65_536);
    while let Some((length, _)) = datagram.split_first_chunk::<4>() {
        let length = u32::from_ne_bytes(*length) as usize;
        assert!((16..=datagram.len()).contains(&length));
        let kind = u16::from_ne_bytes([datagram[4], datagram[5]]);
        assert!(matches!(kind, 2 | 3 | 0x10..=0x28), "{kind:#x}");
        datagram = &datagram[length.next_multiple_of(4).min(datagram.len())..];
    }
    assert!(datagram.is_empty());
}

/// What is listed is what threads read.
fn check_tables(xfrm: &Xfrm, now: Time) {
    let sas: Vec<_> = xfrm.list_sas(now).filter(|sa| sa.spi != 0).collect();
    assert_eq!(sas.len(), xfrm.sad().len());
    assert!(sas.len() <= SAS_MAX);
    for sa in &sas {
        let held = match sa.direction {
            Some(Direction::In) => xfrm.sad().inbound(sa.spi),
            Some(Direction::Out) => xfrm.sad().outbound(sa.spi, sa.destination),
            None => continue,
        };
        let held = held.expect("what is listed is there");
        assert_eq!((held.ends(), held.request()), ((sa.source, sa.destination), sa.request));
    }
    for direction in PolicyDirection::ALL {
        let listed = xfrm.list_policies().filter(|policy| policy.direction == direction);
        assert_eq!(listed.count(), xfrm.spd().len(direction));
    }
    for policy in xfrm.list_policies() {
        let held = xfrm.spd().find(policy.direction, &policy.selector).expect("what is listed is there");
        assert_eq!((held.id, held.action, held.priority), (policy.index, policy.action, policy.priority));
    }
}
