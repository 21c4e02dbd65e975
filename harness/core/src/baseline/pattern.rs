use std::fmt;

use crate::FoldedStack;
use crate::fold::normalize_frame;

/// One entry of a stack in a baseline: a frame, or any run of frames.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PatternFrame {
    /// `"..."`: any run of frames, which may be empty.
    Any,
    /// One frame of this name.
    Frame(String),
}

impl PatternFrame {
    /// How a file writes [`PatternFrame::Any`].
    pub const ANY: &'static str = FoldedStack::ANY;

    /// Reads an entry of a file, whose frame is normalised.
    pub(super) fn read(name: &str) -> PatternFrame {
        match name {
            Self::ANY => PatternFrame::Any,
            name => PatternFrame::Frame(normalize_frame(name)),
        }
    }

    /// Returns the text of the entry in a file.
    pub fn as_str(&self) -> &str {
        match self {
            PatternFrame::Any => Self::ANY,
            PatternFrame::Frame(name) => name,
        }
    }
}

/// The stacks that an allowance is for: frames, root first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackPattern(Vec<PatternFrame>);

impl StackPattern {
    /// Makes a pattern from its frames, root first. Neighbouring runs become one run.
    pub fn new(frames: impl IntoIterator<Item = PatternFrame>) -> Self {
        let mut frames: Vec<PatternFrame> = frames.into_iter().collect();
        frames.dedup_by(|one, two| *one == PatternFrame::Any && *two == PatternFrame::Any);
        Self(frames)
    }

    /// Makes a pattern that matches this stack and no other.
    pub fn exact(stack: &FoldedStack) -> Self {
        let frames = stack.frames().iter().cloned();
        Self(frames.map(PatternFrame::Frame).collect())
    }

    /// Makes a pattern for every stack with these frames at its leaf, whatever calls them.
    pub(crate) fn ending_in(leaf: &FoldedStack) -> Self {
        let frames = leaf.frames().iter().cloned().map(PatternFrame::Frame);
        Self::new(std::iter::once(PatternFrame::Any).chain(frames))
    }

    /// Makes a pattern for every stack that passes through this frame.
    #[cfg(feature = "reports")]
    pub(crate) fn through(frame: &str) -> Self {
        let frame = PatternFrame::Frame(frame.to_owned());
        Self(vec![PatternFrame::Any, frame, PatternFrame::Any])
    }

    /// Makes the pattern that [`StackPattern::shown`] shows like this: `...` is a run of
    /// frames.
    pub(crate) fn from_shown(stack: &FoldedStack) -> Self {
        Self::new(stack.frames().iter().map(|name| match name.as_str() {
            PatternFrame::ANY => PatternFrame::Any,
            name => PatternFrame::Frame(name.to_owned()),
        }))
    }

    /// Returns the entries, root first.
    pub fn frames(&self) -> &[PatternFrame] {
        &self.0
    }

    /// Returns the pattern as a stack for display, with `...` for a run.
    pub fn shown(&self) -> FoldedStack {
        let frames = self.0.iter().map(PatternFrame::as_str);
        FoldedStack(frames.map(str::to_owned).collect())
    }

    /// Returns whether at most one stack can match.
    pub fn is_exact(&self) -> bool {
        !self.0.contains(&PatternFrame::Any)
    }

    /// Returns whether the pattern matches a stack.
    ///
    /// If a later part does not fit, only the run before it is tried with more frames. That is
    /// enough: everything before that run matched as early as possible, which leaves the most
    /// frames to choose from. So the time is at most frames of the pattern times frames of the
    /// stack, however many runs there are.
    pub fn matches(&self, stack: &FoldedStack) -> bool {
        let (pattern, frames) = (&self.0, stack.frames());
        let (mut at, mut frame) = (0, 0);
        // After the last run: the next entry of the pattern, and the frame that the run
        // reached.
        let mut retry: Option<(usize, usize)> = None;
        while frame < frames.len() {
            match pattern.get(at) {
                Some(PatternFrame::Any) => {
                    at += 1;
                    retry = Some((at, frame));
                }
                Some(PatternFrame::Frame(name)) if *name == frames[frame] => {
                    at += 1;
                    frame += 1;
                }
                _ => match retry {
                    None => return false,
                    Some((after, reached)) => {
                        (at, frame) = (after, reached + 1);
                        retry = Some((after, reached + 1));
                    }
                },
            }
        }
        pattern[at..].iter().all(|rest| *rest == PatternFrame::Any)
    }
}

/// Joins the entries with `;`, as in a folded stack.
impl fmt::Display for StackPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> StackPattern {
        StackPattern::new(text.split_whitespace().map(|word| match word {
            PatternFrame::ANY => PatternFrame::Any,
            name => PatternFrame::Frame(name.to_owned()),
        }))
    }

    fn stack(text: &str) -> FoldedStack {
        FoldedStack(text.split_whitespace().map(str::to_owned).collect())
    }

    /// Checks the stacks that a pattern matches, and some that it does not match, separated by
    /// commas.
    #[track_caller]
    fn check(text: &str, matching: &str, others: &str) {
        for (stacks, expected) in [(matching, true), (others, false)] {
            for frames in stacks.split(',') {
                let matches = pattern(text).matches(&stack(frames));
                assert_eq!(matches, expected, "`{text}` and `{frames}`");
            }
        }
    }

    #[test]
    fn exact_ones_and_any_run_of_frames() {
        check("a b c", "a b c", ",a b,b c,a b c d,x a b c,a c b");
        check("", "", "a");
        check("... b c", "b c,a b c,b c b c,x b x b c", ",c,b,b c d");
        check("a ...", "a,a b,a b c", ",b a");
        check("a ... c", "a c,a b c,a c c,a b a c", "a,c,a b,b c");
        check("... b ... d ...", "b d,a b c d e,d b d", "d b,b,a c");
        for any in ["", "a", "a b"] {
            assert!(pattern("...").matches(&stack(any)));
        }
        assert!(pattern("a b").is_exact());
        assert!(!pattern("a ... b").is_exact());
        assert!(StackPattern::exact(&stack("a b")).matches(&stack("a b")));
        // Neighbouring runs are one.
        assert_eq!(pattern("a ... ... b"), pattern("a ... b"));
        assert_ne!(pattern("a a"), pattern("a"));
        // The shown stack gives the pattern back.
        for text in ["a b", "... a ... b", ""] {
            let shown = pattern(text).shown();
            assert_eq!(StackPattern::from_shown(&shown), pattern(text));
        }
    }

    #[test]
    fn many_runs_against_a_stack_that_nearly_fits() {
        let many = "... a ".repeat(250) + "b";
        assert!(!pattern(&many).matches(&stack(&"a ".repeat(1_000))));
        assert!(pattern(&many).matches(&stack(&("a ".repeat(1_000) + "b"))));
    }

    /// The obvious definition, which takes exponential time if there are many runs.
    fn matches_by_definition(pattern: &[PatternFrame], frames: &[String]) -> bool {
        match pattern.split_first() {
            None => frames.is_empty(),
            Some((PatternFrame::Any, rest)) => {
                (0..=frames.len()).any(|skip| matches_by_definition(rest, &frames[skip..]))
            }
            Some((PatternFrame::Frame(name), rest)) => {
                frames.split_first().is_some_and(|(first, others)| {
                    first == name && matches_by_definition(rest, others)
                })
            }
        }
    }

    proptest! {
        #[test]
        fn as_defined(words in "((a|b|\\.\\.\\.) ){0,7}", frames in "([ab] ){0,9}") {
            let (pattern, stack) = (pattern(&words), stack(&frames));
            prop_assert_eq!(
                pattern.matches(&stack),
                matches_by_definition(pattern.frames(), stack.frames())
            );
        }
    }
}
