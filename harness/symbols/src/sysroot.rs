use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The number of links that the kernel follows.
const MAX_LINKS: usize = 40;

/// Resolves a path inside a directory that stands for `/`. Symbolic links stay inside it: if
/// `/lib` of a container is a link to `/usr/lib`, that is the container's folder, not this
/// machine's.
pub(crate) fn resolve(root: &Path, path: &Path) -> PathBuf {
    let mut inside: Vec<OsString> = Vec::new();
    // The names that are still to be walked; the next one is last.
    let mut ahead: Vec<OsString> = backwards(path);
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            inside.pop();
            continue;
        }
        inside.push(name);
        let here = join(root, &inside);
        if let Ok(target) = std::fs::read_link(&here)
            && links < MAX_LINKS
        {
            links += 1;
            inside.pop();
            if target.is_absolute() {
                inside.clear();
            }
            ahead.extend(backwards(&target));
        }
    }
    join(root, &inside)
}

fn join(root: &Path, inside: &[OsString]) -> PathBuf {
    let mut path = root.to_owned();
    path.extend(inside);
    path
}

fn backwards(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut names: Vec<OsString> = names.collect();
    names.reverse();
    names
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_stay_inside() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("usr/lib/x")).unwrap();
        fs::write(root.join("usr/lib/x/libc.so"), "").unwrap();
        symlink("/usr/lib", root.join("lib")).unwrap();
        symlink("../../../../../usr/lib/x", root.join("usr/lib/up")).unwrap();
        symlink("x/libc.so", root.join("usr/lib/beside")).unwrap();
        symlink("/round", root.join("round")).unwrap();
        let found = |path: &str| {
            let found = resolve(root, Path::new(path));
            format!("/{}", found.strip_prefix(root).unwrap().display())
        };
        assert_eq!(found("/lib/x/libc.so"), "/usr/lib/x/libc.so");
        assert_eq!(found("/lib/up/libc.so"), "/usr/lib/x/libc.so");
        assert_eq!(found("/lib/beside"), "/usr/lib/x/libc.so");
        assert_eq!(found("/../../usr/./lib"), "/usr/lib");
        assert_eq!(found("/not/there"), "/not/there");
        assert_eq!(found("/round"), "/round");
        assert_eq!(found("/round/trip"), "/round/trip");
    }
}
