//! Parses libtest's command line.
//!
//! libtest-mimic runs the tests. But it takes one filter where libtest takes many, and it does
//! not know `--no-capture`, `--shuffle`, `--fail-fast` and `RUST_TEST_THREADS`. So this module
//! parses the command line, and the front translates what libtest-mimic does not know.

use libtest_mimic::{ColorSetting, FormatSetting};

/// The parsed command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments {
    /// What libtest-mimic knows as well. Its `skip` and `exact` are those of the command line.
    pub(crate) mimic: libtest_mimic::Arguments,
    pub(crate) filters: Vec<String>,
    pub(crate) fail_fast: bool,
    /// `Some(None)` shuffles with a seed that the caller chooses.
    pub(crate) shuffle: Option<Option<u64>>,
    pub(crate) help: bool,
}

pub(crate) const HELP: &str = "\
Usage: [OPTIONS] [FILTERS...]

Options:
        --include-ignored
                        Run ignored and not ignored tests
        --ignored       Run only ignored tests
        --test          Run tests and not benchmarks
        --bench         Run benchmarks instead of tests: there are none
        --list          List all tests
    -h, --help          Display this message
        --logfile PATH  Write logs to the specified file
        --no-capture    don't capture what scenarios print, and say of each
                        passing one what it could have seen (also --nocapture)
        --test-threads n_threads
                        Number of scenarios run side by side (default: one for
                        every core; also RUST_TEST_THREADS)
        --skip FILTER   Skip tests whose names contain FILTER (this flag can
                        be used multiple times)
    -q, --quiet         Display one character per test instead of one line
        --exact         Exactly match filters rather than by substring
        --color auto|always|never
                        Configure coloring of output
        --format pretty|terse|json
                        Configure formatting of output
        --show-output   Show what passing scenarios printed
        --shuffle       Run tests in random order (also RUST_TEST_SHUFFLE)
        --shuffle-seed SEED
                        Run tests in a random order that SEED decides
        --fail-fast     Do not start another test after one has failed
    -Z unstable-options Accepted, and needed for nothing

The FILTER strings are tested against the names of all tests, and only those
tests whose names contain one of them are run.

Variables: PLIMSOLL_BUDGET=10s, PLIMSOLL_MAX_ITERATIONS, PLIMSOLL_THRESHOLD,
PLIMSOLL_SETTLE, PLIMSOLL_TIMEOUT, PLIMSOLL_MEMORY_LIMIT=2GiB,
PLIMSOLL_INCONCLUSIVE=warn, PLIMSOLL_STALE=deny, PLIMSOLL_KEEP_RUNGS=1,
PLIMSOLL_VERBOSE=1, PLIMSOLL_EXPLAIN=PART (why stacks have their verdict whose
names contain PART), PLIMSOLL_HOLDERS=off (not who holds what grows),
PLIMSOLL_MALLOC_CONF, PLIMSOLL_ISOLATION=off (one scenario in this process, for
a debugger, measuring nothing).
";

impl Arguments {
    /// Parses the arguments after the program's name, and the variables that libtest reads.
    ///
    /// # Errors
    ///
    /// A message in libtest's words if an option is unknown, or if a value is missing or
    /// invalid.
    pub(crate) fn parse(
        words: impl IntoIterator<Item = String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Arguments, String> {
        let mut arguments = Arguments::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if word == "--" {
                arguments.filters.extend(words);
                break;
            }
            let (option, attached) = match word.split_once('=') {
                Some((option, value)) if option.starts_with("--") => (option, Some(value)),
                _ => (word.as_str(), None),
            };
            let name = option.trim_start_matches('-');
            if arguments.flag(option) {
                if attached.is_some() {
                    return Err(format!("Option '{name}' does not take an argument"));
                }
            } else if !option.starts_with('-') || option == "-" {
                arguments.filters.push(word);
            } else {
                let value = || {
                    let value = attached.map(str::to_owned).or_else(|| words.next());
                    value.ok_or_else(|| format!("Argument to option '{name}' missing"))
                };
                arguments.valued(option, value)?;
            }
        }
        let mimic = &mut arguments.mimic;
        if mimic.test_threads.is_none()
            && let Some(value) = variable("RUST_TEST_THREADS")
        {
            mimic.test_threads = Some(threads("RUST_TEST_THREADS", &value)?);
        }
        let is_on = |name: &str| variable(name).is_some_and(|value| value != "0");
        mimic.nocapture |= is_on("RUST_TEST_NOCAPTURE");
        if arguments.shuffle.is_none() {
            if let Some(seed) = variable("RUST_TEST_SHUFFLE_SEED") {
                arguments.shuffle = Some(Some(number("RUST_TEST_SHUFFLE_SEED", &seed)?));
            } else if is_on("RUST_TEST_SHUFFLE") {
                arguments.shuffle = Some(None);
            }
        }
        if mimic.quiet && mimic.format.is_some() {
            return Err("argument --format cannot be used with --quiet".to_owned());
        }
        Ok(arguments)
    }

    /// Sets an option that has no value. Returns whether `option` is such an option.
    fn flag(&mut self, option: &str) -> bool {
        match option {
            "--include-ignored" => self.mimic.include_ignored = true,
            "--ignored" => self.mimic.ignored = true,
            "--bench" => self.mimic.bench = true,
            "--list" => self.mimic.list = true,
            "-h" | "--help" => self.help = true,
            "--nocapture" | "--no-capture" => self.mimic.nocapture = true,
            "--show-output" => self.mimic.show_output = true,
            "-q" | "--quiet" => self.mimic.quiet = true,
            "--exact" => self.mimic.exact = true,
            "--shuffle" => self.shuffle = self.shuffle.or(Some(None)),
            "--fail-fast" => self.fail_fast = true,
            // These apply to every run already, or mean nothing for a scenario.
            "--test"
            | "--exclude-should-panic"
            | "--force-run-in-process"
            | "--report-time"
            | "--ensure-time"
            | "-Zunstable-options" => {}
            _ => return false,
        }
        true
    }

    /// Sets an option that has a value.
    fn valued(
        &mut self,
        option: &str,
        value: impl FnOnce() -> Result<String, String>,
    ) -> Result<(), String> {
        let mimic = &mut self.mimic;
        match option {
            "--skip" => mimic.skip.push(value()?),
            "--logfile" => mimic.logfile = Some(value()?),
            "--test-threads" => mimic.test_threads = Some(threads(option, &value()?)?),
            "--shuffle-seed" => self.shuffle = Some(Some(number(option, &value()?)?)),
            "--color" => {
                let choices = [
                    ("auto", ColorSetting::Auto),
                    ("always", ColorSetting::Always),
                    ("never", ColorSetting::Never),
                ];
                mimic.color = Some(chosen(option, &value()?, choices)?);
            }
            "--format" => {
                let choices = [
                    ("pretty", FormatSetting::Pretty),
                    ("terse", FormatSetting::Terse),
                    ("json", FormatSetting::Json),
                ];
                mimic.format = Some(chosen(option, &value()?, choices)?);
            }
            "-Z" => match value()?.as_str() {
                "unstable-options" => {}
                other => return Err(format!("Unrecognized option to `-Z`: {other}")),
            },
            _ => {
                let name = option.trim_start_matches('-');
                return Err(format!("Unrecognized option: '{name}'"));
            }
        }
        Ok(())
    }

    /// Returns whether every scenario is selected, to be run and not listed.
    pub(crate) fn selects_all(&self) -> bool {
        self.filters.is_empty() && self.mimic.skip.is_empty() && !self.mimic.list
    }

    /// Returns whether the test of this name is selected. It may have a title as well.
    pub(crate) fn selects(&self, name: &str, title: Option<&String>) -> bool {
        let names = || std::iter::once(name).chain(title.map(String::as_str));
        let matches = |filter: &String| match self.mimic.exact {
            true => names().any(|name| filter == name),
            false => names().any(|name| name.contains(filter.as_str())),
        };
        (self.filters.is_empty() || self.filters.iter().any(matches))
            && !self.mimic.skip.iter().any(matches)
    }
}

/// Returns which of three words a value is.
fn chosen<T>(name: &str, value: &str, choices: [(&str, T); 3]) -> Result<T, String> {
    let [a, b, c] = choices.each_ref().map(|(word, _)| *word);
    let chosen = choices.into_iter().find(|(word, _)| *word == value);
    chosen
        .map(|(_, chosen)| chosen)
        .ok_or_else(|| format!("argument for {name} must be {a}, {b}, or {c} (was {value})"))
}

fn threads(name: &str, value: &str) -> Result<usize, String> {
    match value.parse::<usize>() {
        Ok(0) => Err(format!("argument for {name} must not be 0")),
        Ok(threads) => Ok(threads),
        Err(error) => Err(format!(
            "argument for {name} must be a number > 0 (error: {error})"
        )),
    }
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    value
        .parse()
        .map_err(|error| format!("argument for {name} must be a number (error: {error})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned), |_| None)
    }

    fn selected(line: &str) -> Vec<&'static str> {
        let arguments = parsed(line).unwrap();
        let names = ["http", "http_echo", "lru"].into_iter();
        names.filter(|name| arguments.selects(name, None)).collect()
    }

    #[test]
    fn filters_add_up_and_skips_take_away() {
        assert_eq!(selected(""), ["http", "http_echo", "lru"]);
        assert_eq!(selected("http"), ["http", "http_echo"]);
        assert_eq!(selected("echo lru"), ["http_echo", "lru"]);
        assert_eq!(selected("http --exact"), ["http"]);
        assert_eq!(selected("--exact http lru"), ["http", "lru"]);
        assert_eq!(selected("--skip echo"), ["http", "lru"]);
        assert_eq!(selected("--skip http --exact"), ["http_echo", "lru"]);
        assert_eq!(selected("-- --odd"), Vec::<&str>::new());
    }

    #[test]
    fn both_spellings_and_attached_values() {
        assert!(parsed("--nocapture").unwrap().mimic.nocapture);
        assert!(parsed("--no-capture").unwrap().mimic.nocapture);
        assert_eq!(
            parsed("--test-threads=3").unwrap().mimic.test_threads,
            Some(3)
        );
        assert_eq!(
            parsed("--test-threads 3").unwrap().mimic.test_threads,
            Some(3)
        );
        assert_eq!(parsed("--shuffle").unwrap().shuffle, Some(None));
        let seeded = parsed("--shuffle-seed 7 --shuffle").unwrap();
        assert_eq!(seeded.shuffle, Some(Some(7)));
        assert!(parsed("-Z unstable-options --format json").is_ok());
        assert!(parsed("-Zunstable-options --format=json").is_ok());
    }

    #[test]
    fn what_libtest_refuses_is_refused_in_its_words() {
        let number = "a number > 0 (error: invalid digit found in string)";
        for (line, expected) in [
            ("--nonsense", "Unrecognized option: 'nonsense'"),
            ("-x", "Unrecognized option: 'x'"),
            ("--skip", "Argument to option 'skip' missing"),
            ("--exact=yes", "Option 'exact' does not take an argument"),
            (
                "--test-threads 0",
                "argument for --test-threads must not be 0",
            ),
            (
                "--test-threads x",
                &format!("argument for --test-threads must be {number}"),
            ),
            (
                "--format yaml",
                "argument for --format must be pretty, terse, or json (was yaml)",
            ),
        ] {
            assert_eq!(parsed(line).unwrap_err(), expected);
        }
    }

    #[test]
    fn variables_count_where_the_line_says_nothing() {
        let variables = |name: &str| match name {
            "RUST_TEST_THREADS" => Some("2".to_owned()),
            "RUST_TEST_NOCAPTURE" => Some("1".to_owned()),
            _ => None,
        };
        let arguments = Arguments::parse([], variables).unwrap();
        assert!(arguments.mimic.test_threads == Some(2) && arguments.mimic.nocapture);
        let words = ["--test-threads=1".to_owned()];
        let arguments = Arguments::parse(words, variables).unwrap();
        assert_eq!(arguments.mimic.test_threads, Some(1));
        assert!(Arguments::parse([], |_| Some("none".to_owned())).is_err());
    }
}
