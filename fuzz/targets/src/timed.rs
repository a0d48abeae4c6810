//! The settings of timed cards.

use card::held::Waits;
use timed::{DEPTH_MAX, Lanes, Settings};
use wire::bounds::{CARDS_MAX, VERB_SLOTS};

/// The file beside the program: whatever it says, a card holds no more than its depth and answers nothing too soon.
pub fn timed_settings(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(settings) = Settings::from_text(text) else { return };
    for card in (0..CARDS_MAX as u32).filter_map(|index| settings.card(index)) {
        let mut lanes = Lanes::new(Some(card));
        let mut now = link::tsc();
        for slot in (0..VERB_SLOTS).cycle().take(2 * VERB_SLOTS.max(DEPTH_MAX)) {
            let free = lanes.free(now);
            assert!(free <= card.depth && card.depth <= DEPTH_MAX);
            if free == 0 {
                let next = lanes.room_at();
                assert!(next > now, "a full card is full for a while");
                now = next;
                assert!(lanes.free(now) > 0, "a place is free when it was said to be");
            }
            assert!(lanes.due(now, slot) >= now);
        }
    }
}
