use std::fmt;
use std::str::FromStr;

/// A day of the calendar, from year 1 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// Makes a day. `None` if the (proleptic Gregorian) calendar does not have it.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Date> {
        let valid = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in(year, month)).contains(&day);
        valid.then_some(Date { year, month, day })
    }

    /// Returns the day in UTC of a number of seconds since 1970. `None` after the year 9999.
    pub fn from_unix_seconds(seconds: u64) -> Option<Date> {
        // Counting by years and then months takes a few thousand steps at most, once a run.
        let mut days = seconds / 86_400;
        let mut year = 1970;
        loop {
            let length = if is_leap(year) { 366 } else { 365 };
            if days < length {
                break;
            }
            days -= length;
            year += 1;
            if year > 9999 {
                return None;
            }
        }
        let mut month = 1;
        while days >= u64::from(days_in(year, month)) {
            days -= u64::from(days_in(year, month));
            month += 1;
        }
        Date::new(year, month, u8::try_from(days + 1).ok()?)
    }

    /// Returns the days from this day to another; negative if the other day is earlier.
    pub fn days_until(self, other: Date) -> i64 {
        other.number() - self.number()
    }

    /// Returns the days since the first day of year 1.
    fn number(self) -> i64 {
        let before = i64::from(self.year) - 1;
        let months = (1..self.month).map(|month| i64::from(days_in(self.year, month)));
        before * 365 + before / 4 - before / 100
            + before / 400
            + months.sum::<i64>()
            + i64::from(self.day)
            - 1
    }
}

/// Formats the day as `YYYY-MM-DD`.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// Parses `YYYY-MM-DD` and nothing else. The error says what was expected.
impl FromStr for Date {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Date, &'static str> {
        const EXPECTED: &str = "expected a day as `YYYY-MM-DD`";
        let bytes = text.as_bytes();
        let shape = bytes.len() == 10
            && bytes.iter().enumerate().all(|(index, byte)| match index {
                4 | 7 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        if !shape {
            return Err(EXPECTED);
        }
        let year = text[..4].parse().map_err(|_| EXPECTED)?;
        let month = text[5..7].parse().map_err(|_| EXPECTED)?;
        let day = text[8..].parse().map_err(|_| EXPECTED)?;
        Date::new(year, month, day).ok_or("expected a day that is in the calendar")
    }
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u16, month: u8) -> u8 {
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
    fn days_of_the_calendar() {
        for text in ["2027-01-31", "2028-02-29", "2000-02-29"] {
            assert_eq!(text.parse::<Date>().unwrap().to_string(), text);
        }
        let no_day = "2027-02-29 1900-02-29 2027-04-31 2027-13-01 2027-00-10 0000-01-01";
        for text in no_day.split(' ') {
            let error = Err("expected a day that is in the calendar");
            assert_eq!(text.parse::<Date>(), error, "{text}");
        }
        let no_date = " 2027-1-31 27-01-31 2027-01-31T00:00 +027-01-31 ２027-01-3";
        for text in no_date.split(' ') {
            let error = Err("expected a day as `YYYY-MM-DD`");
            assert_eq!(text.parse::<Date>(), error, "{text}");
        }
    }

    #[test]
    fn from_a_clock() {
        let day = |seconds| Date::from_unix_seconds(seconds).map(|date| date.to_string());
        assert_eq!(day(0).as_deref(), Some("1970-01-01"));
        assert_eq!(day(951_782_399).as_deref(), Some("2000-02-28"));
        assert_eq!(day(951_782_400).as_deref(), Some("2000-02-29"));
        assert_eq!(day(1_735_689_599).as_deref(), Some("2024-12-31"));
        assert_eq!(day(1_735_689_600).as_deref(), Some("2025-01-01"));
        assert_eq!(day(u64::MAX), None);
    }

    #[test]
    fn days_between() {
        let days = |one: &str, two: &str| {
            let [one, two] = [one, two].map(|text| text.parse::<Date>().unwrap());
            assert_eq!(one.days_until(two), -two.days_until(one));
            one.days_until(two)
        };
        assert_eq!(days("2026-11-21", "2026-11-21"), 0);
        assert_eq!(days("2027-12-31", "2028-03-01"), 61);
        assert_eq!(days("1900-02-28", "1900-03-01"), 1);
        assert_eq!(days("1970-01-01", "2025-01-01"), 1_735_689_600 / 86_400);
        assert_eq!(days("0001-01-01", "9999-12-31"), 3_652_058);
    }

    #[test]
    fn in_order() {
        let date = |text: &str| text.parse::<Date>();
        assert!(date("2026-12-31") < date("2027-01-01"));
        assert!(date("2027-01-09") < date("2027-01-10"));
    }
}
