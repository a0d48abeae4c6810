//! `struct xfrm_usersa_info` and its attributes as a request: checked in the kernel's order (verify_newsa_info,
//! xfrm_state_construct).

use crate::algorithms::{Algorithms, check_lengths};
use crate::fields::{RawLifetime, RawSelector, address, family, family_number};
use crate::refusal::Refusal;
use crate::replay::Replay;
use crate::state::{Encap, Given, REPLAY_THRESHOLD, TIMER_THRESHOLD};
use crate::view::{Attributes, View};
use crate::wire::{
    AF_INET, AF_INET6, AF_UNSPEC, ENCAP_ESP_IN_UDP, SEC_CTX_BYTES, attribute, errno, flag, mode, protocol,
    sa_info,
};
use ipsec::Family;

/// Upper bound of the numbers of a window in the plain form.
const PLAIN_WINDOW_MAX: u8 = 32;

/// The SA that a request asks for.
pub(crate) fn read_sa(info: View<'_>, attributes: &Attributes<'_>) -> Result<Given, Refusal> {
    let family = check_families(info)?;
    check_protocol(info, attributes)?;
    check_lengths(attributes)?;
    check_context(attributes)?;
    let replay = Replay::read(info, attributes)?;
    check_mode(info, attributes)?;
    let kind = info.u8(sa_info::PROTOCOL);
    if kind != protocol::ESP {
        return Err(Refusal::new(errno::EPROTONOSUPPORT, "Requested type not found"));
    }
    let algorithms = Algorithms::read(attributes)?;
    let said_direction = read_direction(info, attributes, &replay)?;
    check_not_served(attributes)?;
    let encap = attributes.get(attribute::ENCAP).map(|value| (value.u16(0), Encap::read(value)));
    if encap.is_some_and(|(kind, _)| kind != ENCAP_ESP_IN_UDP) {
        return Err(Refusal::invalid("Unsupported encapsulation type for ESP"));
    }
    if ![mode::TRANSPORT, mode::TUNNEL].contains(&info.u8(sa_info::MODE)) {
        return Err(Refusal::new(errno::EPROTONOSUPPORT, "Requested mode not found"));
    }
    let flags = info.u8(sa_info::FLAGS);
    let mut selector = RawSelector::read(info, sa_info::SELECTOR);
    if selector.family_number() == AF_UNSPEC && flags & flag::AF_UNSPEC == 0 {
        selector.set_family(family_number(family));
    }
    Ok(Given {
        selector,
        source: address(info, sa_info::SOURCE, family),
        destination: address(info, sa_info::DESTINATION, family),
        spi: info.spi(sa_info::SPI),
        lifetime: RawLifetime::read(info, sa_info::LIFETIME),
        sequence: info.u32(sa_info::SEQUENCE),
        request: info.u32(sa_info::REQUEST),
        mode: info.u8(sa_info::MODE),
        window: info.u8(sa_info::WINDOW).min(PLAIN_WINDOW_MAX),
        flags,
        extra_flags: attributes.u32(attribute::SA_EXTRA_FLAGS).unwrap_or(0),
        algorithms,
        encap: encap.map(|(_, encap)| encap),
        tfc_bytes: attributes.u32(attribute::TFCPAD).unwrap_or(0),
        care_of: attributes.get(attribute::COADDR).map(|value| value.array(0)),
        replay,
        replay_threshold: attributes.u32(attribute::REPLAY_THRESH).unwrap_or(REPLAY_THRESHOLD),
        timer_threshold: attributes.u32(attribute::ETIMER_THRESH).unwrap_or(TIMER_THRESHOLD),
        mapping_threshold: attributes.u32(attribute::MTIMER_THRESH).unwrap_or(0),
        said_direction,
    })
}

fn check_families(info: View<'_>) -> Result<Family, Refusal> {
    let family = family(info.u16(sa_info::FAMILY)).ok_or(Refusal::invalid("Invalid address family"))?;
    let selector = RawSelector::read(info, sa_info::SELECTOR);
    match selector.family_number() {
        AF_UNSPEC => {}
        AF_INET | AF_INET6 => selector.check_prefixes()?,
        _ => return Err(Refusal::invalid("Invalid address family in selector")),
    }
    Ok(family)
}

/// Refuses attributes that the protocol does not have, and the lack of those that it needs.
fn check_protocol(info: View<'_>, attributes: &Attributes<'_>) -> Result<(), Refusal> {
    let has = |kinds: &[u16]| kinds.iter().any(|kind| attributes.has(*kind));
    const MAC: [u16; 2] = [attribute::ALG_AUTH, attribute::ALG_AUTH_TRUNC];
    const SEPARATE: [u16; 3] = [attribute::ALG_AUTH, attribute::ALG_AUTH_TRUNC, attribute::ALG_CRYPT];
    let refuse = |text| Err(Refusal::invalid(text));
    match info.u8(sa_info::PROTOCOL) {
        protocol::AH => {
            if !has(&MAC) {
                return refuse("Missing required attribute for AH: AUTH_TRUNC or AUTH");
            }
            if has(&[attribute::ALG_AEAD, attribute::ALG_CRYPT, attribute::ALG_COMP, attribute::TFCPAD]) {
                return refuse("Invalid attributes for AH: AEAD, CRYPT, COMP, TFCPAD");
            }
        }
        protocol::ESP => {
            if has(&[attribute::ALG_COMP]) {
                return refuse("Invalid attribute for ESP: COMP");
            }
            if !has(&SEPARATE) && !has(&[attribute::ALG_AEAD]) {
                return refuse(
                    "Missing required attribute for ESP: at least one of AUTH, AUTH_TRUNC, CRYPT, AEAD",
                );
            }
            if has(&SEPARATE) && has(&[attribute::ALG_AEAD]) {
                return refuse(
                    "Invalid attribute combination for ESP: AEAD can't be used with AUTH, AUTH_TRUNC, CRYPT",
                );
            }
            if has(&[attribute::TFCPAD]) && info.u8(sa_info::MODE) != mode::TUNNEL {
                return refuse("TFC padding can only be used in tunnel mode");
            }
        }
        protocol::COMP => {
            if !has(&[attribute::ALG_COMP]) {
                return refuse("Missing required attribute for COMP: COMP");
            }
            if has(&SEPARATE) || has(&[attribute::ALG_AEAD, attribute::TFCPAD]) {
                return refuse("Invalid attributes for COMP: AEAD, AUTH, AUTH_TRUNC, CRYPT, TFCPAD");
            }
            if info.spi(sa_info::SPI) >= 0x1_0000 {
                return refuse("SPI is too large for COMP (must be < 0x10000)");
            }
        }
        protocol::DSTOPTS | protocol::ROUTING => {
            let others = [attribute::ALG_COMP, attribute::ALG_AEAD, attribute::ENCAP, attribute::SEC_CTX];
            if has(&SEPARATE) || has(&others) || has(&[attribute::TFCPAD]) {
                return refuse("Invalid attributes for DSTOPTS/ROUTING");
            }
            if !has(&[attribute::COADDR]) {
                return refuse("Missing required COADDR attribute for DSTOPTS/ROUTING");
            }
        }
        _ => return refuse("Unsupported protocol"),
    }
    Ok(())
}

/// Refuses a security context whose length is wrong. No security module uses the context.
pub(crate) fn check_context(attributes: &Attributes<'_>) -> Result<(), Refusal> {
    let Some(value) = attributes.get(attribute::SEC_CTX) else { return Ok(()) };
    let (length, context) = (usize::from(value.u16(0)), usize::from(value.u16(6)));
    if length > value.0.len() || length != SEC_CTX_BYTES + context {
        return Err(Refusal::invalid("Invalid security context length"));
    }
    Ok(())
}

fn check_mode(info: View<'_>, attributes: &Attributes<'_>) -> Result<(), Refusal> {
    let modes = [mode::TRANSPORT, mode::TUNNEL, mode::ROUTE_OPTIMIZATION, mode::BEET];
    if !modes.contains(&info.u8(sa_info::MODE)) {
        return Err(Refusal::invalid("Unsupported mode"));
    }
    if attributes.has(attribute::MTIMER_THRESH) && !attributes.has(attribute::ENCAP) {
        return Err(Refusal::invalid("MTIMER_THRESH attribute can only be set on ENCAP states"));
    }
    Ok(())
}

/// XFRMA_SA_DIR; also refuses a window of 0 with extended numbers, unless the SA seals.
fn read_direction(
    info: View<'_>,
    attributes: &Attributes<'_>,
    replay: &Replay,
) -> Result<Option<u8>, Refusal> {
    let said = attributes.get(attribute::SA_DIR).map(|value| value.u8(0));
    if said.is_some_and(|said| !(1..=2).contains(&said)) {
        return Err(Refusal::new(errno::ERANGE, "Attribute failed policy validation"));
    }
    let has_no_window = replay.extended_form().is_some_and(|form| form.window == 0);
    if info.u8(sa_info::FLAGS) & flag::ESN != 0 && has_no_window && said != Some(2) {
        return Err(Refusal::invalid("ESN replay window must be > 0"));
    }
    Ok(said)
}

/// Refuses attributes that a kernel may serve and this data plane does not.
pub(crate) fn check_not_served(attributes: &Attributes<'_>) -> Result<(), Refusal> {
    if attributes.u32(attribute::IF_ID).is_some_and(|id| id != 0) {
        return Err(no_interfaces());
    }
    if attributes.get(attribute::MARK).is_some_and(|mark| mark.u32(4) != 0)
        || attributes.u32(attribute::SET_MARK).is_some_and(|mark| mark != 0)
    {
        return Err(Refusal::new(errno::EOPNOTSUPP, "Marks are not served: packets do not carry them here"));
    }
    if attributes.has(attribute::OFFLOAD_DEV) {
        return Err(Refusal::new(errno::EOPNOTSUPP, "Hardware offload is not served"));
    }
    Ok(())
}

pub(crate) fn no_interfaces() -> Refusal {
    Refusal::new(errno::EOPNOTSUPP, "XFRM interfaces are not served: XFRMA_IF_ID must be 0")
}
