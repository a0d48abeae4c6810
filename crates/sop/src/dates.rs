//! Dates as they are typed (draft, 5.8): `now`, or a date of ISO 8601, which may be followed by a time.

/// Whether `text` is `now` or a date of the form `YYYY-MM-DD`, `YYYY-DDD` or the same without hyphens. Behind a month
/// and day may follow `T` with `HH:MM`, `HH:MM:SS` or the same without colons, and a zone: `Z`, `+HH:MM`, `+HHMM` or
/// `+HH`.
pub(crate) fn is_date(text: &str) -> bool {
    if text == "now" {
        return true;
    }
    match text.split_once('T') {
        Some((date, time)) => is_month_and_day(date) && is_time_with_zone(time),
        None => is_month_and_day(text) || is_day_of_year(text),
    }
}

fn is_month_and_day(date: &str) -> bool {
    let Some([year, month, day]) = fields(date, "-", [4, 2, 2]).or_else(|| fields(date, "", [4, 2, 2]))
    else {
        return false;
    };
    let days = match month {
        2 => 28 + u32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_day_of_year(date: &str) -> bool {
    let found = fields(date, "-", [4, 3]).or_else(|| fields(date, "", [4, 3]));
    found.is_some_and(|[year, day]| (1..=365 + u32::from(is_leap(year))).contains(&day))
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn is_time_with_zone(text: &str) -> bool {
    let (time, zone) = match text.strip_suffix('Z') {
        Some(time) => (time, None),
        None => match text.find(['+', '-']) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        },
    };
    is_time(time) && zone.is_none_or(|zone| is_hour_and_minute(zone) || is_hour(zone))
}

fn is_time(time: &str) -> bool {
    let with_second = fields(time, ":", [2, 2, 2]).or_else(|| fields(time, "", [2, 2, 2]));
    // 60 is the number of a leap second.
    with_second.is_some_and(|[hour, minute, second]| hour < 24 && minute < 60 && second <= 60)
        || is_hour_and_minute(time)
}

fn is_hour_and_minute(time: &str) -> bool {
    let found = fields(time, ":", [2, 2]).or_else(|| fields(time, "", [2, 2]));
    found.is_some_and(|[hour, minute]| hour < 24 && minute < 60)
}

fn is_hour(zone: &str) -> bool {
    fields(zone, "", [2]).is_some_and(|[hour]| hour < 24)
}

/// The numbers in `text`, each of as many digits as `digits` says, with `between` between them; `None` if the text has
/// another form.
fn fields<const N: usize>(text: &str, between: &str, digits: [usize; N]) -> Option<[u32; N]> {
    let mut rest = text;
    let mut numbers = [0; N];
    for (index, (number, digits)) in numbers.iter_mut().zip(digits).enumerate() {
        if index > 0 {
            rest = rest.strip_prefix(between)?;
        }
        let (field, behind) = rest.split_at_checked(digits)?;
        *number = field.bytes().all(|octet| octet.is_ascii_digit()).then(|| field.parse().ok())??;
        rest = behind;
    }
    rest.is_empty().then_some(numbers)
}
