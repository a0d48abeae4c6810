//! Times as typed: moments, and when a key expires.

use agent::message::SECONDS_MAX;

/// Seconds of a day.
const DAY_SECONDS: u64 = 86_400;

/// When a key expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Never.
    Never,
    /// So many seconds from now on.
    After(u32),
    /// At this second since 1970.
    At(u32),
}

/// `never`, a date, or a number with y, m (months), w or d.
pub fn expiry(text: &str) -> Result<Expiry, String> {
    if text == "never" {
        return Ok(Expiry::Never);
    }
    if let Some(at) = date(text) {
        return Ok(Expiry::At(at));
    }
    let said = || format!("{text:?} is no time: give 2y, 18m, 6w, 90d, a date such as 2028-01-31, or never");
    let unit_at = text.char_indices().last().ok_or_else(said)?.0;
    let (number, unit) = text.split_at(unit_at);
    let days = match unit {
        "y" => 365,
        "m" => 30,
        "w" => 7,
        "d" => 1,
        _ => return Err(said()),
    };
    let number: u64 = number.parse().map_err(|_| said())?;
    let seconds = number.checked_mul(days * DAY_SECONDS).and_then(|seconds| u32::try_from(seconds).ok());
    match seconds {
        Some(0) | None => Err(format!("{text:?}: keys expire after 1 day to 130 years, or never")),
        Some(seconds) => Ok(Expiry::After(seconds)),
    }
}

/// A number with s, m (minutes), h or d: how long the agent holds a key.
pub fn span(text: &str) -> Result<u32, String> {
    let said =
        || format!("{text:?} is no time that a key is held for: give 90s, 10m, 8h or 1d, which is the most");
    let unit_at = text.char_indices().last().ok_or_else(said)?.0;
    let (number, unit) = text.split_at(unit_at);
    let seconds: u32 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(said()),
    };
    let number: u32 = number.parse().map_err(|_| said())?;
    let seconds = number.checked_mul(seconds).filter(|seconds| (1..=SECONDS_MAX).contains(seconds));
    seconds.ok_or_else(said)
}

/// Seconds since 1970, or a date (its first second, UTC).
pub fn moment(text: &str) -> Result<u32, String> {
    let said = || format!("{text:?} is no time: give seconds since 1970 or a date such as 2026-01-31");
    date(text).or_else(|| text.parse().ok()).ok_or_else(said)
}

/// The first second of a date such as 2026-01-31, UTC; none for anything else, and for what OpenPGP's 32 bits
/// do not hold.
fn date(text: &str) -> Option<u32> {
    let mut parts = text.splitn(3, '-');
    let mut part = |digits: usize| {
        let part = parts.next()?;
        let is_plain = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_plain { part.parse::<u64>().ok() } else { None }
    };
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    if year < 1970 || !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) {
        return None;
    }
    let years: u64 = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    let months: u64 = (1..month).map(|month| days_in(year, month)).sum();
    u32::try_from((years + months + day - 1) * DAY_SECONDS).ok()
}

/// A moment as date and time, UTC.
pub fn to_text(seconds: u32) -> String {
    let (mut days, rest) = (u64::from(seconds) / DAY_SECONDS, u64::from(seconds) % DAY_SECONDS);
    let mut year = 1970;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let mut month = 1;
    while days >= days_in(year, month) {
        days -= days_in(year, month);
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{:02} {hour:02}:{minute:02}:{second:02} UTC", days + 1)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_seconds_and_back() {
        // Figures of `date -u -d DATE +%s`.
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2026-01-31", 1_769_817_600),
            ("2100-03-01", 4_107_542_400),
        ] {
            assert_eq!(date(text), Some(seconds));
            assert_eq!(to_text(seconds), format!("{text} 00:00:00 UTC"));
        }
        for bad in
            ["1969-12-31", "2026-02-29", "2026-13-01", "2026-1-31", "2026-01-31x", "2200-01-01", "+026-01-31"]
        {
            assert_eq!(date(bad), None, "{bad}");
        }
        assert_eq!(to_text(u32::MAX), "2106-02-07 06:28:15 UTC");
    }

    #[test]
    fn keys_are_held_for_a_second_to_a_day() {
        for (text, seconds) in [("1s", 1), ("10m", 600), ("8h", 28_800), ("1d", 86_400)] {
            assert_eq!(span(text), Ok(seconds));
        }
        for bad in ["", "h", "0h", "25h", "2d", "10", "-1h", "1w", "99999999999h", "1ü"] {
            assert!(span(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_expire_after_a_while_at_a_date_or_never() {
        assert_eq!(expiry("never"), Ok(Expiry::Never));
        assert_eq!(expiry("2y"), Ok(Expiry::After(730 * 86_400)));
        assert_eq!(expiry("90d"), Ok(Expiry::After(90 * 86_400)));
        assert_eq!(expiry("2026-01-31"), Ok(Expiry::At(1_769_817_600)));
        for bad in ["", "0d", "200y", "y", "2", "2x", "-1d", "2ü"] {
            assert!(expiry(bad).is_err(), "{bad}");
        }
    }
}
