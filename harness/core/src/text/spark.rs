//! Draws a row of numbers as bars: `▁▁▂▄█`.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns one character for each value, scaled from the smallest to the greatest. If there
/// are more than `width` values, `width` of them are drawn, at equal distances, with the first
/// and the last.
pub fn line(values: &[u64], width: usize) -> String {
    let shown: Vec<u64> = match values.len() {
        n if n <= width => values.to_vec(),
        n => (0..width)
            .filter_map(|place| values.get(place * (n - 1) / (width - 1).max(1)))
            .copied()
            .collect(),
    };
    let least = shown.iter().copied().min().unwrap_or(0);
    let span = shown.iter().copied().max().unwrap_or(0) - least;
    let bar = |value: &u64| {
        // Rounded down, so that only the greatest value has the highest bar. A little is added,
        // because levels between two rungs were rounded down as well.
        let part = u128::from(value - least) * (BARS.len() as u128 - 1) + u128::from(span / 64);
        let step = part.checked_div(u128::from(span)).unwrap_or(0);
        BARS[usize::try_from(step).unwrap_or(0)]
    };
    shown.iter().map(bar).collect()
}

/// Returns levels over iterations as `width` bars, at equal distances of iterations, so that
/// what grows evenly is a straight line. `points` are iterations, in ascending order, with the
/// level after them.
pub fn over(points: &[(u64, u64)], width: usize) -> String {
    let (Some((first, _)), Some((last, _))) = (points.first(), points.last()) else {
        return String::new();
    };
    let (first, last) = (u128::from(*first), u128::from(*last));
    let steps = u128::try_from(width.max(2) - 1).unwrap_or(1);
    let at = |step: u128| first + (last.saturating_sub(first)) * step / steps;
    let levels = (0..=steps).filter_map(|step| {
        let place = at(step);
        let after = points.iter().position(|(x, _)| u128::from(*x) >= place)?;
        let (x, level) = points[after];
        let (x0, level0) = points[after.saturating_sub(1)];
        let (wide, part) = (
            u128::from(x.saturating_sub(x0)),
            place.saturating_sub(x0.into()),
        );
        let (low, high) = (u128::from(level0), u128::from(level));
        let level = match (wide, low <= high) {
            (0, _) => high,
            (_, true) => low + (high - low).saturating_mul(part.min(wide)) / wide,
            (_, false) => low - (low - high).saturating_mul(part.min(wide)) / wide,
        };
        u64::try_from(level).ok()
    });
    line(&levels.collect::<Vec<u64>>(), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_growth_is_a_straight_line() {
        let doubling: Vec<(u64, u64)> = (0..12).map(|n| (1 << n, 48 << n)).collect();
        assert_eq!(over(&doubling, 8), "▁▂▃▄▅▆▇█");
        assert_eq!(over(&[(1, 7), (2, 7), (64, 7)], 4), "▁▁▁▁");
        // A step at the end of the first eighth, and no more.
        assert_eq!(over(&[(0, 0), (8, 56), (64, 56)], 9), "▁████████");
        assert_eq!(over(&[(0, u64::MAX), (u64::MAX, 0)], 3), "█▄▁");
        assert_eq!(over(&[], 8), "");
        assert_eq!(over(&[(5, 1), (5, 2)], 3), "▁▁▁");
    }

    #[test]
    fn lines() {
        assert_eq!(line(&[], 8), "");
        assert_eq!(line(&[7], 8), "▁");
        assert_eq!(line(&[7, 7, 7], 8), "▁▁▁");
        assert_eq!(line(&[0, 1, 2, 4, 8, 16], 8), "▁▁▁▂▄█");
        assert_eq!(line(&[16, 8, 0], 8), "█▄▁");
        assert_eq!(line(&[0, u64::MAX], 8), "▁█");
        let many: Vec<u64> = (0..=700).collect();
        assert_eq!(line(&many, 8), "▁▂▃▄▅▆▇█");
    }
}
