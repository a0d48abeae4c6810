//! Requests about policies: NEWPOLICY, UPDPOLICY, DELPOLICY, GETPOLICY, FLUSHPOLICY, POLEXPIRE.

use crate::asked::Request;
use crate::fields::{Clock, RawLifetime, RawSelector, family, family_number};
use crate::keeper::{Change, Keeper};
use crate::outbox::{Outbox, Reply, Writer};
use crate::policies::{Entry, INDEX_DIRECTION, LastUses, PolicyRank, direction, flush_record, template_ends};
use crate::refusal::Refusal;
use crate::request::{check_context, check_not_served};
use crate::view::{Attributes, View};
use crate::wire::{
    AF_INET, AF_INET6, attribute, errno, group, message, mode, policy_id, policy_info, protocol, template,
};
use crate::xfrm::Xfrm;
use ipsec::{Action, Family, Mode, POLICIES_MAX, Policy, PolicyDirection, Spd, SpdError, Template};

impl Xfrm {
    /// NEWPOLICY and UPDPOLICY: adds a policy, or replaces one.
    pub(crate) fn add_policy(
        &mut self,
        request: &Request<'_>,
        keeper: &mut dyn Keeper,
        out: &mut Outbox,
    ) -> Result<(), Refusal> {
        let attributes = Attributes::read(request.message, policy_info::BYTES)?;
        let is_update = request.header.kind == message::UPDPOLICY;
        let rank = self.put_policy(request.structure(), &attributes, is_update, request.clock, keeper)?;
        self.forget_acquired(rank);
        if let Some(entry) = self.policies.get(rank) {
            let (kind, clock, uses) = (request.header.kind, request.clock, LastUses::new());
            self.multicast(group::POLICY, out, |writer| {
                entry.write(writer, kind, request.reply, &uses, clock)
            });
        }
        Ok(())
    }

    /// Puts a policy into the tables, once `keeper` has let the change be made; an update replaces a policy with the
    /// same selector.
    pub(crate) fn put_policy(
        &mut self,
        info: View<'_>,
        attributes: &Attributes<'_>,
        is_update: bool,
        clock: Clock,
        keeper: &mut dyn Keeper,
    ) -> Result<PolicyRank, Refusal> {
        let mut entry = read_policy(info, attributes, clock)?;
        let (direction, selector) = (entry.direction, entry.policy.selector);
        let before = self.policies.find(direction, &selector);
        if before.is_some() && !is_update {
            return Err(Refusal::bare(errno::EEXIST));
        }
        let replaced = before.and_then(|rank| self.policies.get(rank)).map(|before| before.policy);
        if replaced.is_none() && self.spd.len(direction) >= POLICIES_MAX {
            return Err(refuse_spd(&SpdError::Full));
        }
        entry.policy.id = match replaced {
            Some(replaced) => replaced.id,
            None => self.policies.free_index(direction, entry.policy.id),
        };
        let change = Change::Put { direction, before: replaced.as_ref(), after: &entry.policy };
        keeper.keep(&change, &entry.record(clock))?;
        self.spd.replace(direction, entry.policy).map_err(|error| refuse_spd(&error))?;
        if let Some(before) = before {
            self.policies.remove(before);
        }
        self.changed_policies();
        Ok(self.policies.add(entry))
    }

    /// Has the next packet of a policy ask for its SA again: a daemon that puts the policy, after a restart say, may
    /// not have been there, or ready, when the SA was asked for.
    fn forget_acquired(&mut self, rank: PolicyRank) {
        let Some(wanted) = self.policies.get(rank).and_then(Entry::template) else { return };
        let number = if wanted.mode == Mode::Tunnel { mode::TUNNEL } else { mode::TRANSPORT };
        for id in self.states.acquired_for(wanted.ends, number, wanted.request) {
            self.remove_sa(id);
        }
    }

    /// Takes a policy out of all tables, unless `keeper` refuses the change.
    pub(crate) fn remove_policy(
        &mut self,
        rank: PolicyRank,
        keeper: &mut dyn Keeper,
    ) -> Result<Option<Entry>, Refusal> {
        let Some(entry) = self.policies.get(rank) else { return Ok(None) };
        let change = Change::Remove { direction: entry.direction, policy: &entry.policy };
        keeper.keep(&change, &entry.removal_record())?;
        let removed = self.policies.remove(rank);
        if let Some(entry) = &removed {
            self.spd.remove(entry.direction, &entry.policy.selector);
        }
        self.changed_policies();
        Ok(removed)
    }

    /// The policy that a request names, by index or by selector.
    fn find_policy(
        &self,
        number: u8,
        index: u32,
        selector: RawSelector,
        attributes: &Attributes<'_>,
    ) -> Result<PolicyRank, Refusal> {
        check_type(attributes)?;
        let direction = direction(number).ok_or(Refusal::invalid("Invalid policy direction"))?;
        let missing = || Refusal::bare(errno::ENOENT);
        if attributes.u32(attribute::IF_ID).is_some_and(|id| id != 0)
            || attributes.get(attribute::MARK).is_some_and(|mark| mark.u32(4) != 0)
        {
            return Err(missing());
        }
        if index != 0 {
            return self.policies.find_index(direction, index).ok_or_else(missing);
        }
        check_context(attributes)?;
        // A selector that no policy can have is not any policy's.
        let selector = selector.selector().ok().flatten().ok_or_else(missing)?;
        self.policies.find(direction, &selector).ok_or_else(missing)
    }

    fn find_by_id(&self, request: &Request<'_>) -> Result<PolicyRank, Refusal> {
        let attributes = Attributes::read(request.message, policy_id::BYTES)?;
        let view = request.structure();
        let selector = RawSelector::read(view, policy_id::SELECTOR);
        self.find_policy(view.u8(policy_id::DIRECTION), view.u32(policy_id::INDEX), selector, &attributes)
    }

    /// DELPOLICY: removes a policy.
    pub(crate) fn delete_policy(
        &mut self,
        request: &Request<'_>,
        keeper: &mut dyn Keeper,
        out: &mut Outbox,
    ) -> Result<(), Refusal> {
        let rank = self.find_by_id(request)?;
        if let Some(entry) = self.remove_policy(rank, keeper)? {
            let by_index = request.structure().u32(policy_id::INDEX) != 0;
            let clock = request.clock;
            self.multicast(group::POLICY, out, |writer| {
                entry.write_deleted(writer, request.reply, by_index, clock);
            });
        }
        Ok(())
    }

    /// GETPOLICY: replies with one policy.
    pub(crate) fn get_policy(&mut self, request: &Request<'_>, out: &mut Outbox) -> Result<(), Refusal> {
        let rank = self.find_by_id(request)?;
        let uses = self.last_uses();
        if let Some(entry) = self.policies.get(rank) {
            let mut writer = Writer::new();
            entry.write(&mut writer, message::NEWPOLICY, request.reply, &uses, request.clock);
            out.push(request.client, writer.finish());
        }
        Ok(())
    }

    /// When SAs of each direction and request number were last used: policies show the last use of their SAs.
    pub(crate) fn last_uses(&self) -> LastUses {
        let mut uses = LastUses::new();
        for sa in self.sad.iter() {
            if let Some(last) = sa.figures().last {
                let known = uses.entry((sa.direction(), sa.request())).or_insert(last);
                *known = last.max(*known);
            }
        }
        uses
    }

    pub(crate) fn clear_policies(&mut self) {
        self.policies.clear();
        self.spd = Spd::new();
        self.changed_policies();
    }

    /// FLUSHPOLICY: removes all policies.
    pub(crate) fn flush_policies(
        &mut self,
        request: &Request<'_>,
        keeper: &mut dyn Keeper,
        out: &mut Outbox,
    ) -> Result<(), Refusal> {
        let attributes = Attributes::read(request.message, 0)?;
        check_type(&attributes)?;
        if self.policies.iter().next().is_none() {
            return Ok(());
        }
        keeper.keep(&Change::Clear, &flush_record())?;
        self.clear_policies();
        self.multicast(group::POLICY, out, |writer| {
            writer.begin(message::FLUSHPOLICY, request.reply, &[]);
            writer.attribute(attribute::POLICY_TYPE, &[&[0; crate::wire::POLICY_TYPE_BYTES]]);
            writer.end();
        });
        Ok(())
    }

    /// POLEXPIRE as a request: sends the event, and after a hard limit removes the policy.
    pub(crate) fn expire_policy(
        &mut self,
        request: &Request<'_>,
        keeper: &mut dyn Keeper,
        out: &mut Outbox,
    ) -> Result<(), Refusal> {
        let attributes = Attributes::read(request.message, policy_info::WITH_HARD_BYTES)?;
        let view = request.structure();
        let selector = RawSelector::read(view, policy_info::SELECTOR);
        let (number, index) = (view.u8(policy_info::DIRECTION), view.u32(policy_info::INDEX));
        let rank = self.find_policy(number, index, selector, &attributes)?;
        let reply = Reply { sequence: 0, ..request.reply };
        if view.u8(policy_info::HARD) != 0 {
            self.end_policy(rank, reply, request.clock, keeper, out)
        } else {
            self.tell_policy_soft(rank, reply, request.clock, out);
            Ok(())
        }
    }

    /// Removes a policy whose time is over, and sends POLEXPIRE.
    pub(crate) fn end_policy(
        &mut self,
        rank: PolicyRank,
        reply: Reply,
        clock: Clock,
        keeper: &mut dyn Keeper,
        out: &mut Outbox,
    ) -> Result<(), Refusal> {
        if let Some(entry) = self.remove_policy(rank, keeper)? {
            self.multicast(group::EXPIRE, out, |writer| entry.write_expired(writer, reply, true, clock));
        }
        Ok(())
    }

    /// Sends POLEXPIRE of a soft limit.
    pub(crate) fn tell_policy_soft(
        &mut self,
        rank: PolicyRank,
        reply: Reply,
        clock: Clock,
        out: &mut Outbox,
    ) {
        if let Some(entry) = self.policies.get(rank) {
            self.multicast(group::EXPIRE, out, |writer| entry.write_expired(writer, reply, false, clock));
        }
        self.policies.set_told(rank);
    }
}

/// Refuses types of policies other than the main one.
fn check_type(attributes: &Attributes<'_>) -> Result<(), Refusal> {
    match attributes.get(attribute::POLICY_TYPE).map_or(0, |value| value.u8(0)) {
        0 => Ok(()),
        _ => Err(Refusal::invalid("Invalid policy type")),
    }
}

/// The policy that a request asks for, checked in the kernel's order (verify_newpolicy_info, xfrm_policy_construct).
/// Its index may still be another policy's.
fn read_policy(info: View<'_>, attributes: &Attributes<'_>, clock: Clock) -> Result<Entry, Refusal> {
    if info.u8(policy_info::SHARE) > policy_info::SHARE_LAST {
        return Err(Refusal::invalid("Invalid policy share"));
    }
    let is_block = match info.u8(policy_info::ACTION) {
        0 => false,
        1 => true,
        _ => return Err(Refusal::invalid("Invalid policy action")),
    };
    let raw_selector = RawSelector::read(info, policy_info::SELECTOR);
    let family = match raw_selector.family_number() {
        number @ (AF_INET | AF_INET6) => {
            raw_selector.check_prefixes()?;
            family(number)
        }
        _ => None,
    };
    let family = family.ok_or(Refusal::invalid("Invalid selector family"))?;
    let number = info.u8(policy_info::DIRECTION);
    let direction = direction(number).ok_or(Refusal::invalid("Invalid policy direction"))?;
    let index = info.u32(policy_info::INDEX);
    if index != 0 && index & INDEX_DIRECTION != u32::from(number) {
        return Err(Refusal::invalid("Policy index doesn't match direction"));
    }
    check_context(attributes)?;
    check_type(attributes)?;
    let value = attributes.get(attribute::TMPL).map_or(&[][..], |value| value.0);
    let templates = read_templates(value, direction, family)?;
    let action = if is_block { Action::Discard } else { action(&templates, direction)? };
    check_not_served(attributes)?;
    let selector = raw_selector.selector()?.ok_or(Refusal::invalid("Invalid selector family"))?;
    Ok(Entry {
        direction,
        raw_selector,
        lifetime: RawLifetime::read(info, policy_info::LIFETIME),
        flags: info.u8(policy_info::FLAGS),
        is_block,
        templates,
        policy: Policy { id: index, selector, priority: info.u32(policy_info::PRIORITY), action },
        added: clock.now,
        added_wall: clock.wall,
        is_told: false,
    })
}

/// Templates as they are kept: whole ones, each with a family (validate_tmpl).
fn read_templates(value: &[u8], direction: PolicyDirection, family: Family) -> Result<Vec<u8>, Refusal> {
    let given = value.as_chunks::<{ template::BYTES }>().0;
    if given.len() > template::MAX {
        return Err(Refusal::invalid("Template count must be <= XFRM_MAX_DEPTH (6)"));
    }
    let mut before = family_number(family);
    let mut templates = given.as_flattened().to_vec();
    for template in templates.chunks_exact_mut(template::BYTES) {
        if View(template).u16(template::FAMILY) == 0 {
            let number = family_number(family).to_ne_bytes();
            template[template::FAMILY..template::FAMILY + 2].copy_from_slice(&number);
        }
        let view = View(template);
        let number = view.u16(template::FAMILY);
        let may_change_family = [mode::TUNNEL, mode::BEET].contains(&view.u8(template::MODE));
        let is_optional = view.u8(template::OPTIONAL) != 0;
        if may_change_family && is_optional && direction == PolicyDirection::Out {
            return Err(Refusal::invalid("Mode in optional template not allowed in outbound policy"));
        }
        if !may_change_family && number != before {
            return Err(Refusal::invalid("Mode in template doesn't support a family change"));
        }
        if view.u8(template::MODE) >= mode::END {
            return Err(Refusal::invalid("Mode in template must be < XFRM_MODE_MAX (5)"));
        }
        before = number;
        if crate::fields::family(number).is_none() {
            return Err(Refusal::invalid("Invalid family in template"));
        }
        let known = [protocol::ESP, protocol::AH, protocol::COMP, protocol::ROUTING, protocol::DSTOPTS];
        let number = view.u8(template::PROTOCOL);
        if !known.contains(&number) && number != protocol::IPSEC_ANY {
            return Err(Refusal::invalid("Invalid XFRM protocol in template"));
        }
    }
    Ok(templates)
}

/// The action that templates ask for: to let traffic pass, or to protect it by one SA of ESP.
pub(crate) fn action(templates: &[u8], direction: PolicyDirection) -> Result<Action, Refusal> {
    let not_served = |text| Err(Refusal::new(errno::EOPNOTSUPP, text));
    if templates.is_empty() {
        return Ok(Action::Bypass);
    }
    if templates.len() > template::BYTES {
        return not_served("More than one template is not served");
    }
    let view = View(templates);
    if view.u8(template::PROTOCOL) != protocol::ESP {
        return not_served("Templates of other protocols than ESP are not served");
    }
    let mode = match view.u8(template::MODE) {
        mode::TUNNEL => Mode::Tunnel,
        mode::TRANSPORT => Mode::Transport,
        _ => return not_served("Templates of other modes than tunnel and transport are not served"),
    };
    let is_out = direction == PolicyDirection::Out;
    if view.u8(template::OPTIONAL) != 0 {
        // Traffic that comes in may be protected or clear: either is let through. Traffic that goes out would leave in
        // clear whenever there is no SA.
        return if is_out {
            not_served("Optional templates are not served outbound")
        } else {
            Ok(Action::Bypass)
        };
    }
    let family = family(view.u16(template::FAMILY)).ok_or_else(|| Refusal::bare(errno::EINVAL))?;
    let ends = template_ends(view, family).filter(|_| mode == Mode::Tunnel);
    let is_open = ends.is_none_or(|(_, destination)| destination.is_unspecified());
    if mode == Mode::Tunnel && is_open && (is_out || ends.is_some()) {
        return not_served("Templates of tunnels need both ends");
    }
    let spi = Some(view.spi(template::SPI)).filter(|spi| *spi != 0);
    Ok(Action::Protect(Template { request: view.u32(template::REQUEST), mode, ends, spi }))
}

pub(crate) fn refuse_spd(error: &SpdError) -> Refusal {
    match error {
        SpdError::Exists => Refusal::bare(errno::EEXIST),
        _ => Refusal::new(errno::ENOMEM, error.to_string()),
    }
}
