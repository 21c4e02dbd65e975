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
        // Rounded down, so that only the greatest value has the highest bar.
        let part = u128::from(value - least) * (BARS.len() as u128 - 1);
        let step = part.checked_div(u128::from(span)).unwrap_or(0);
        BARS[usize::try_from(step).unwrap_or(0)]
    };
    shown.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
