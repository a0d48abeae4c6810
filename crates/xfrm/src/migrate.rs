//! MIGRATE: a policy and its SAs get other ends, as MOBIKE (RFC 4555) asks for. Keys, numbers, windows and counts stay.

use crate::asked::Request;
use crate::fields::{RawSelector, address, address_field, family, family_number};
use crate::keeper::{Change, Keeper};
use crate::outbox::{Outbox, Reply};
use crate::policies::{Entry, PolicyRank, direction};
use crate::policy::action;
use crate::refusal::Refusal;
use crate::request::check_not_served;
use crate::state::{Encap, XfrmState};
use crate::states::StateId;
use crate::view::{Attributes, View};
use crate::wire::{
    ENCAP_ESP_IN_UDP, attribute, errno, group, message, migrate, mode, policy_id, protocol, template,
};
use crate::xfrm::Xfrm;
use ipsec::{Direction, Family, Mode};
use std::net::IpAddr;

/// One pair of ends that becomes another.
struct Move {
    old: (IpAddr, IpAddr),
    new: (IpAddr, IpAddr),
    mode: Mode,
    mode_number: u8,
    request: u32,
}

fn read_move(view: View<'_>) -> Result<Option<Move>, Refusal> {
    let families = (family(view.u16(migrate::OLD_FAMILY)), family(view.u16(migrate::NEW_FAMILY)));
    let (Some(old), Some(new)) = families else {
        return Err(Refusal::invalid("Invalid address family"));
    };
    let pair = |source, destination, family: Family| {
        (address(view, source, family), address(view, destination, family))
    };
    let new = pair(migrate::NEW_SOURCE, migrate::NEW_DESTINATION, new);
    if new.0.is_unspecified() || new.1.is_unspecified() {
        return Err(Refusal::invalid("Addresses in the MIGRATE attribute's list cannot be null"));
    }
    let mode_number = view.u8(migrate::MODE);
    if view.u8(migrate::PROTOCOL) != protocol::ESP {
        return Ok(None);
    }
    Ok(Some(Move {
        old: pair(migrate::OLD_SOURCE, migrate::OLD_DESTINATION, old),
        new,
        mode: if mode_number == mode::TUNNEL { Mode::Tunnel } else { Mode::Transport },
        mode_number,
        request: view.u32(migrate::REQUEST),
    }))
}

impl Xfrm {
    pub(crate) fn migrate(
        &mut self,
        request: &Request<'_>,
        keeper: &mut dyn Keeper,
        out: &mut Outbox,
    ) -> Result<(), Refusal> {
        let attributes = Attributes::read(request.message, policy_id::BYTES)?;
        let Some(value) = attributes.get(attribute::MIGRATE) else {
            return Err(Refusal::invalid("Missing required MIGRATE attribute"));
        };
        let entries = value.0.as_chunks::<{ migrate::BYTES }>().0;
        if entries.is_empty() || entries.len() > template::MAX {
            return Err(Refusal::invalid(
                "Invalid number of SAs to migrate, must be 0 < num <= XFRM_MAX_DEPTH (6)",
            ));
        }
        let moves: Result<Vec<_>, _> = entries.iter().map(|entry| read_move(View(entry))).collect();
        let moves: Vec<Move> = moves?.into_iter().flatten().collect();
        check_not_served(&attributes)?;
        let view = request.structure();
        let number = view.u8(policy_id::DIRECTION);
        let direction = direction(number).ok_or(Refusal::invalid("Invalid policy direction"))?;
        let raw_selector = RawSelector::read(view, policy_id::SELECTOR);
        let selector = raw_selector.selector()?;
        let rank = selector.and_then(|selector| self.policies.find(direction, &selector));
        let rank = rank.ok_or(Refusal::new(errno::ENOENT, "Target policy not found"))?;
        let encap = attributes.get(attribute::ENCAP).map(Encap::read);
        if encap.is_some_and(|encap| {
            View(&encap.raw).u16(0) != ENCAP_ESP_IN_UDP
                || encap.source_port == 0
                || encap.destination_port == 0
        }) {
            return Err(Refusal::invalid("Unsupported encapsulation type for ESP"));
        }
        for step in &moves {
            self.check_move(step)?;
        }
        let moved = self.moved_policy(rank, &moves)?;
        if let Some(moved) = &moved {
            let before = self.policies.get(rank).map(|entry| &entry.policy);
            let change = Change::Put { direction, before, after: &moved.policy };
            keeper.keep(&change, &moved.record(request.clock))?;
        }
        for step in &moves {
            if let Some(id) = self.find_moved(step) {
                self.move_sa(id, step, encap, request)?;
            }
        }
        if let Some(Entry { templates, policy, .. }) = moved {
            self.spd.replace(direction, policy).map_err(|error| crate::policy::refuse_spd(&error))?;
            self.policies.set_templates(rank, templates, policy);
            self.changed_policies();
        }
        let mut id = [0; policy_id::BYTES];
        id[..raw_selector.0.len()].copy_from_slice(&raw_selector.0);
        id[policy_id::DIRECTION] = number;
        self.multicast(group::MIGRATE, out, |writer| {
            writer.begin(message::MIGRATE, Reply::EVENT, &id);
            if let Some(ends) = attributes.get(attribute::KMADDRESS) {
                writer.attribute(attribute::KMADDRESS, &[ends.0]);
            }
            if let Some(encap) = &encap {
                writer.attribute(attribute::ENCAP, &[&encap.raw]);
            }
            writer.attribute(attribute::POLICY_TYPE, &[&[0; crate::wire::POLICY_TYPE_BYTES]]);
            for entry in entries {
                writer.attribute(attribute::MIGRATE, &[entry]);
            }
            writer.end();
        });
        Ok(())
    }

    fn find_moved(&self, step: &Move) -> Option<StateId> {
        let fits = |state: &XfrmState| {
            let given = &state.given;
            !state.is_larval()
                && given.mode == step.mode_number
                && (step.request == 0 || given.request == step.request)
                && (given.source, given.destination) == step.old
        };
        self.states.iter().find(|(_, state)| fits(state)).map(|(id, _)| id)
    }

    /// Refuses a move whose SA cannot be between its new ends.
    fn check_move(&self, step: &Move) -> Result<(), Refusal> {
        let Some(state) = self.find_moved(step).and_then(|id| self.states.get(id)) else { return Ok(()) };
        if Family::of(step.new.0) != Family::of(step.new.1) {
            return Err(Refusal::invalid("Invalid address family"));
        }
        let is_elsewhere = step.new.1 != state.given.destination;
        if is_elsewhere && self.states.find(step.new.1, state.given.spi).is_some() {
            return Err(Refusal::bare(errno::EEXIST));
        }
        Ok(())
    }

    /// Moves an SA to other ends: it is made again of its keys, with its numbers.
    fn move_sa(
        &mut self,
        id: StateId,
        step: &Move,
        encap: Option<Encap>,
        request: &Request<'_>,
    ) -> Result<(), Refusal> {
        let Some(state) = self.states.get(id) else { return Ok(()) };
        let Some(sa) = state.sa() else { return Ok(()) };
        let direction = sa.direction();
        if direction == Direction::In {
            // A number that it takes while its window is read would be taken again.
            sa.expire();
        }
        let current = state.current(request.clock);
        let replay = state.replay();
        let Some(state) = self.remove_sa(id) else { return Ok(()) };
        let mut given = state.given;
        given.replay = replay;
        (given.source, given.destination) = step.new;
        given.encap = encap.or(given.encap);
        self.insert_as(direction, given, None, Some(current), request.clock)?;
        Ok(())
    }

    /// The policy with new ends in templates that name the old ones; `None` if none does.
    fn moved_policy(&self, rank: PolicyRank, moves: &[Move]) -> Result<Option<Entry>, Refusal> {
        let Some(entry) = self.policies.get(rank) else { return Ok(None) };
        let mut moved = entry.clone();
        for step in moves {
            let fits = moved.template().is_some_and(|template| {
                template.ends == Some(step.old)
                    && template.mode == step.mode
                    && (step.request == 0 || template.request == step.request)
            });
            if !fits {
                continue;
            }
            let mut put = |at: usize, bytes: &[u8]| {
                if let Some(place) = moved.templates.get_mut(at..at + bytes.len()) {
                    place.copy_from_slice(bytes);
                }
            };
            put(template::SOURCE, &address_field(step.new.0));
            put(template::DESTINATION, &address_field(step.new.1));
            put(template::FAMILY, &family_number(Family::of(step.new.1)).to_ne_bytes());
            moved.policy.action = action(&moved.templates, moved.direction)?;
        }
        Ok((moved.policy != entry.policy).then_some(moved))
    }
}
