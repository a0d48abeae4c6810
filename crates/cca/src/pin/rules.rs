//! What ANSI X9.8 forbids to do with PIN blocks, as far as roles do not permit it (CCA for Linux on IBM Z, "ANSI X9.8
//! PIN restrictions").

use super::form::Form;
use crate::call::Call;
use payments::Format;
use payments::block::PanDigits;
use wire::point::Point;
use wire::verb::Verb;
use wire::{Codes, code};

/// The verbs that tell whether the PIN in a block is right.
const VERIFYING: [Verb; 2] = [Verb::EncryptedPinVerify, Verb::EncryptedPinVerify2];

/// Refuses with 8/90 to put a PIN from one block into another, if the role does not permit it.
pub(crate) fn check_reformat(call: &Call<'_, '_>, from: &Form, to: &Form) -> Result<(), Codes> {
    let pan = |form: &Form| (form.layout.format, form.pan);
    check_formats(call, (from.layout.format, to.layout.format), is_same_pan(&pan(from), &pan(to)))
}

/// As [`check_reformat`], with the formats, and with whether both blocks have one PAN or the change of the PAN is
/// proved.
pub(crate) fn check_formats(
    call: &Call<'_, '_>,
    (out_of, into): (Format, Format),
    is_same_pan: bool,
) -> Result<(), Codes> {
    if !keeps_pan(out_of, into) {
        call.permit(Point::PinUnrestricted)?;
    }
    if !(is_known(out_of) && is_known(into) && (into != Format::Iso1 || out_of == Format::Iso1)) {
        call.permit(Point::PinAnyBlock)?;
    }
    let is_restricted =
        !call.points.permits(Point::PinUnrestricted) || !call.points.permits(Point::PinAnyBlock);
    if is_restricted && out_of.has_pan() && into.has_pan() && !is_same_pan {
        call.permit(Point::PanChange)?;
    }
    // A thousand PANs go with the filling of one block, and under each of them its PIN would be counted by itself.
    let verifies = VERIFYING.iter().any(|verb| call.points.permits(verb.entry().point));
    if verifies && out_of == Format::Iso3 && matches!(into, Format::Iso0 | Format::Visa4 | Format::Iso4) {
        call.permit(Point::PinBound)?;
    }
    Ok(())
}

/// Refuses with 8/90 to make a PVV of a PIN in a block of this format: without a PAN in it, blocks of chosen PINs make
/// a list of all PVVs.
pub(crate) fn check_pvv(call: &Call<'_, '_>, format: Format) -> Result<(), Codes> {
    match format {
        Format::Iso0 | Format::Iso3 => Ok(()),
        _ => call.permit(Point::PinUnrestricted),
    }
}

/// Refuses with 8/90 to verify a PIN in a block of this format. Only what ANSI X9.8 knows says which format it is: a
/// block of ISO-0 read as one of 3624 has two digits of the PIN in its first four, which a hundred guesses find.
pub(crate) fn check_verified(call: &Call<'_, '_>, format: Format) -> Result<(), Codes> {
    if is_known(format) { Ok(()) } else { call.permit(Point::PinAnyBlock) }
}

/// The codes for a clear block that is not valid, whatever is wrong with it.
pub(crate) fn wrong_block(call: &Call<'_, '_>) -> Codes {
    if call.points.permits(Point::PinFineCodes) { code::PIN_BLOCK_INCONSISTENT } else { code::PIN_BLOCK }
}

/// Whether a block that is bound to a PAN stays bound to it, and a block of 3624 is made from no format but 3624.
fn keeps_pan(out_of: Format, into: Format) -> bool {
    match (out_of, into) {
        (out_of, into) if out_of.is_ansi() => into.is_ansi(),
        (Format::Visa4, Format::Iso1 | Format::Iso2) => false,
        (Format::Ibm3624, Format::Ibm3624) => true,
        (_, into) => into != Format::Ibm3624,
    }
}

/// Whether ANSI X9.8 covers the format.
fn is_known(format: Format) -> bool {
    format == Format::Iso1 || format.is_ansi()
}

/// Whether both blocks have the same PAN. VISA-4 holds other PAN digits than ISO-0 and ISO-3, so the two cannot be
/// compared.
pub(crate) fn is_same_pan(from: &(Format, PanDigits), to: &(Format, PanDigits)) -> bool {
    (from.0 == Format::Visa4) == (to.0 == Format::Visa4) && from.1 == to.1
}
