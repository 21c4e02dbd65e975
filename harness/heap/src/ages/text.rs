//! Ages as text.

use plimsoll_core::ages::{Birth, Fate};
use plimsoll_core::report::units::{bytes, count, duration, plural};
use plimsoll_core::text::escape;
use plimsoll_core::to_u64;

use super::{Ages, Stack, rate};
use crate::series::shortened;
use crate::text::{more, most};

/// Bars of a spark line. Each is twice as high as the one before.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Births in a bar: an octave.
const BIRTHS: u16 = 4;

impl Ages<'_> {
    pub(super) fn text(&self, top: usize, columns: Option<usize>) -> String {
        let room = columns.unwrap_or(usize::MAX).max(40);
        let mut lines = vec![self.title(), self.sum(), String::new()];
        let shown = most(top, self.stacks.len());
        for stack in &self.stacks[..shown] {
            let fate = stack.judged.fate.as_str();
            lines.push(format!("{fate:9}  {}", stack.amount()));
            if let Some(blame) = &stack.blame {
                let place = escape::terminal(&blame.words().plain());
                lines.push(format!(
                    "{:11}in {}",
                    "",
                    escape::cut_middle(&place, room - 14)
                ));
            }
            let names = escape::terminal(&shortened(&stack.names));
            lines.push(format!(
                "{:11}{}",
                "",
                escape::cut_middle(&names, room - 11)
            ));
            lines.push(format!("{:11}{}", "", self.spark(stack)));
        }
        lines.extend(more(self.stacks.len() - shown, "stack", "stacks"));
        lines.extend([String::new()]);
        lines.extend(self.legend().map(str::to_owned));
        lines.join("\n") + "\n"
    }

    /// Returns `1 stack leaks +1.2 KiB per second; 2 unsure, 1 thins out, 3 set-up, 12 in use`.
    pub(super) fn sum(&self) -> String {
        let leaks: Vec<&Stack> = self.are(Fate::Leaks).collect();
        let leak: f64 = leaks.iter().map(|stack| stack.judged.rate.bytes).sum();
        let stacks = plural(leaks.len() as u64, "stack leaks", "stacks leak");
        let mut sum = match leaks.is_empty() {
            true => "no stack leaks".to_owned(),
            false => format!("{stacks} {} per second", bytes(leak)),
        };
        let others = Fate::OTHERS.into_iter().filter_map(|fate| {
            let stacks = self.are(fate).count() as u64;
            (stacks > 0).then(|| format!("{} {}", count(stacks), fate.as_str()))
        });
        let others: Vec<String> = others.collect();
        if !others.is_empty() {
            sum.push_str(&format!("; {}", others.join(", ")));
        }
        sum
    }

    /// Returns what the words and the bars mean.
    pub(super) fn legend(&self) -> [&'static str; 4] {
        [
            "leaks: as many of each second stay   thins out: fewer old than young (a cache)",
            "set-up: all old   in use: all young   unsure, too few: too little to tell",
            "A bar is a doubling of the uptime, from the start to the dump; the last, after",
            "the line, is not complete. A step of the bars is a factor of two.",
        ]
    }

    /// Returns a bar for each octave of birth: survivors for each second.
    fn spark(&self, stack: &Stack) -> String {
        let rates: Vec<f64> = self
            .octaves()
            .map(|octave| stack.survivors(octave))
            .collect();
        let greatest = rates.iter().copied().fold(0.0, f64::max);
        let bar = |rate: f64| match rate > 0.0 {
            true => {
                #[expect(clippy::cast_possible_truncation, reason = "a small number")]
                #[expect(clippy::cast_sign_loss, reason = "not below zero")]
                let steps = (greatest / rate).log2().round().min(7.0) as usize;
                BARS[7 - steps]
            }
            false => '·',
        };
        let mut bars: Vec<char> = rates.iter().map(|rate| bar(*rate)).collect();
        bars.insert(bars.len() - 1, '│');
        let bars: String = bars.into_iter().collect();
        let kept = stack.kept().map_or_else(String::new, |kept| {
            format!("; {kept:.1} % of the old half stay")
        });
        format!("0 s {bars} {}{kept}", duration(self.youngest.start()))
    }

    /// Returns the births of each bar: the first four, then octaves that end with the youngest
    /// birth, and that birth.
    fn octaves(&self) -> impl Iterator<Item = (u16, u16)> {
        let youngest = self.youngest.number();
        let first = youngest % BIRTHS;
        let starts = (first..youngest).step_by(BIRTHS.into());
        let octaves = starts.map(|start| (start, start + BIRTHS));
        let incomplete = (first > 0).then_some((0, first));
        let octaves = incomplete.into_iter().chain(octaves);
        octaves.chain([(youngest, youngest + 1)])
    }
}

impl Stack {
    /// Returns what is alive, and the rate of a leak.
    pub(super) fn amount(&self) -> String {
        let live = self.alive.alive;
        let objects = plural(to_u64(live.objects.round()), "object", "objects");
        let alive = format!("{}, {objects}", bytes(live.bytes));
        match (self.judged.fate, self.judged.wait) {
            (Fate::Leaks, _) => rate(&self.judged),
            (_, Some(wait)) => format!("{alive}; look again at {} of uptime", duration(wait)),
            _ => alive,
        }
    }

    /// Returns the survivors for each second in which they were born.
    fn survivors(&self, (from, to): (u16, u16)) -> f64 {
        let births = (from..to).filter_map(Birth::new);
        let (objects, seconds) = births.fold((0.0, 0.0), |(objects, seconds), birth| {
            let born = self.born.get(&birth).copied().unwrap_or_default();
            let length = birth.end() - birth.start();
            (objects + born.alive.objects, seconds + length)
        });
        objects / seconds
    }
}
