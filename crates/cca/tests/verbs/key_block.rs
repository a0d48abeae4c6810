//! The verbs of key blocks: a file each.

mod combine;
mod export;
mod import;
mod matrix;
mod optional;
mod psec;

use verb_requests::twin::seal_payload;

/// The second way to make blocks makes those of the standard.
#[test]
fn blocks_of_the_twin_are_those_of_the_standard() {
    let hex = |text: &str| -> Vec<u8> {
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..][..2], 16).unwrap()).collect()
    };
    let mut payload = vec![0, 0x80];
    payload.extend(hex("F039121BEC83D26B169BDCD5B22AAF8F"));
    // Six bytes were drawn at random: what is known is the length, and that the text opens.
    payload.extend([0; 6]);
    let text = seal_payload(&hex("89E88CF7931444F334BD7547FC3F380C"), "A0000P0TE00E0000", &payload);
    assert_eq!((text.len(), &text[..16]), (72, "A0072P0TE00E0000"));
    assert_eq!(text[16..48], "F5161ED902807AF26F1D62263644BD24"[..]);
}
