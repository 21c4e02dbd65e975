//! Draws flame graphs.

use std::collections::BTreeMap;

use plimsoll_core::flamegraph::{FlamegraphError, Picture, Theme, Tower, draw, names, nothing};

use crate::calls::{Calls, Least};
use crate::view::{NameId, Names};

const WIDTH: usize = 1200;
/// The width, in percent of the picture, below which a frame is not drawn. A narrower frame
/// can be neither read nor clicked.
const MIN_WIDTH: f64 = 0.1;
/// The most frames that are drawn of a stack. jemalloc cuts stacks at 128 addresses, each with
/// a few inlined frames.
const MAX_FRAMES: usize = 500;
const NOTHING: &str = "nothing is there";
/// The largest count of a stack. The widest picture has no room for more.
const MAX_COUNT: f64 = 1e17;

/// Draws the value or the growth of every stack, in units of `count_name`. With `is_growth`,
/// stacks that grew and stacks that shrank are in separate towers.
///
/// # Errors
///
/// If inferno fails. No profile is known for which it does.
pub fn flamegraph(
    calls: &Calls<'_>,
    gains: &[f64],
    is_growth: bool,
    names: &Names,
    title: &str,
    subtitle: &str,
    count_name: &str,
) -> Result<String, FlamegraphError> {
    let total: f64 = gains.iter().map(|gain| gain.abs()).sum();
    let towers: &[(Tower, f64)] = match is_growth {
        true => &[(Tower::Grew, 1.0), (Tower::Shrank, -1.0)],
        false => &[(Tower::Held, 1.0)],
    };
    let mut stacks = Vec::new();
    for (tower, sign) in towers {
        let least = Least::Width(total * MIN_WIDTH / 100.0);
        for (stack, gain) in calls.wide(gains, *sign, least) {
            let count = whole(gain);
            if count > 0 {
                stacks.push((*tower, shown(&stack, names), count));
            }
        }
    }
    let why_none = match is_growth {
        // Some stacks have a value, but each is too narrow to be seen.
        _ if whole(total) > 0 => "every stack is too narrow to be drawn",
        true => "nothing grew and nothing shrank",
        false => NOTHING,
    };
    picture(
        stacks,
        BTreeMap::new(),
        why_none,
        [title, subtitle, count_name],
    )
}

/// Draws stacks, root first, in which each name comes with its age: from 0 (young) to 1 (old). A
/// name has one age.
///
/// # Errors
///
/// If inferno fails. No profile is known for which it does.
pub fn flamegraph_of_ages(
    stacks: &[(Vec<(String, f64)>, f64)],
    title: &str,
    subtitle: &str,
    count_name: &str,
) -> Result<String, FlamegraphError> {
    let mut ages = BTreeMap::new();
    let mut drawn = Vec::new();
    for (stack, value) in stacks {
        let (frames, of_frames): (Vec<String>, Vec<f64>) = stack.iter().cloned().unzip();
        let all = frames.iter().zip(of_frames);
        ages.extend(
            all.flat_map(|(name, age)| Some((names(std::slice::from_ref(name), 1).pop()?, age))),
        );
        let count = whole(*value);
        if count > 0 {
            drawn.push((Tower::Held, names(&frames, MAX_FRAMES), count));
        }
    }
    picture(drawn, ages, NOTHING, [title, subtitle, count_name])
}

/// Draws stacks below their texts: title, subtitle, and the name of a count.
fn picture(
    mut stacks: Vec<(Tower, Vec<String>, u64)>,
    ages: BTreeMap<String, f64>,
    why_none: &str,
    [title, subtitle, count_name]: [&str; 3],
) -> Result<String, FlamegraphError> {
    let title = plimsoll_core::flamegraph::shown(title);
    if stacks.is_empty() {
        return Ok(nothing(WIDTH, &title, why_none));
    }
    stacks.sort();
    draw(&Picture {
        title,
        subtitle: Some(plimsoll_core::flamegraph::shown(subtitle)),
        count_name: count_name.to_owned(),
        width: WIDTH,
        min_width: MIN_WIDTH,
        image: false,
        theme: Theme::Light,
        stacks: &stacks,
        ages,
    })
}

fn shown(stack: &[NameId], all: &Names) -> Vec<String> {
    let stack: Vec<String> = stack.iter().map(|name| all.get(*name).to_owned()).collect();
    names(&stack, MAX_FRAMES)
}

#[expect(clippy::cast_possible_truncation, reason = "cut to the range before")]
#[expect(clippy::cast_sign_loss, reason = "it is not negative")]
fn whole(count: f64) -> u64 {
    count.round().min(MAX_COUNT) as u64
}
