mod hostile;

use super::*;
use crate::{cache, modules};

/// Held by tests that change the table of modules, because there is only one.
pub(super) static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn both_find_the_same_however_modules_are_found() {
    let _alone = ALONE.lock();
    let linked: fn() = || modules::prepare(Files::Linked);
    let loaded: fn() = || modules::prepare(Files::Loaded);
    for (prepare, files) in [
        (linked, Files::Linked),
        (modules::prepare_table, Files::Loaded),
        (loaded, Files::Loaded),
    ] {
        prepare();
        cache::clear();
        assert_eq!(agrees_with_libgcc(files), Ok(()));
    }
}

/// Walks through functions with large and small frames. The order of the calls leaves
/// sometimes little and sometimes much of the stack unchanged since the last walk.
#[test]
fn both_find_the_same_from_walk_to_walk() {
    fn wander(random: &mut u64, depth: usize, walks: &mut usize) {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let (choice, more) = (*random % 5, *random >> 8 & 3);
        if depth == 0 || choice == 0 {
            *walks += 1;
            let outcome = compare("in a test", record);
            assert_eq!(outcome, Ok(()), "walk {walks}");
            return;
        }
        for _ in 0..=more {
            match choice {
                1 => wide(random, depth - 1, walks),
                2 => through_c(&mut || wander(random, depth - 1, walks)),
                3 => deeper(depth, &mut || wander(random, depth - 1, walks)),
                _ => wander(random, depth - 1, walks),
            }
        }
    }

    #[inline(never)]
    fn wide(random: &mut u64, depth: usize, walks: &mut usize) {
        let room = black_box([depth; 600]);
        wander(random, depth, walks);
        black_box(room);
    }

    let _alone = ALONE.lock();
    modules::prepare(Files::Loaded);
    let (mut random, mut walks) = (0x9E37_79B9, 0);
    while walks < 5_000 {
        wander(&mut random, 6, &mut walks);
    }
}

#[test]
fn code_and_data() {
    static DATA: [u8; 64] = [0; 64];
    assert!(has_tables(has_tables as *const () as usize));
    assert!(!has_tables(DATA.as_ptr() as usize + 32));
}

#[test]
fn a_difference_is_found() {
    let _alone = ALONE.lock();
    modules::prepare(Files::Loaded);
    let without_the_root = |both: &mut Both| {
        deeper(4, &mut || record(both));
        both.libgcc.length -= 1;
    };
    let problem = compare("in Rust", without_the_root).unwrap_err();
    assert!(problem.contains("finds another stack"), "{problem}");
    let nothing = compare("in Rust", |_| ()).unwrap_err();
    assert_eq!(nothing, "libgcc's found no stack in Rust");
}
