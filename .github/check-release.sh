#!/usr/bin/env bash
# Refuses a tag that is not the version of Cargo.toml, that is not on main, or whose
# crates name another repository: cargo-binstall looks for the binaries there.
set -euo pipefail

fail() {
    echo "::error::$*"
    exit 1
}

metadata=$(cargo metadata --no-deps --format-version 1)
for crate in plimsoll-core plimsoll-symbols plimsoll-profile plimsoll-unwind \
    plimsoll-ages plimsoll-subject plimsoll-front plimsoll plimsoll-criterion plimsoll-desk \
    plimsoll-report plimsoll-bot plimsoll-heap plimsoll-dropin \
    plimsoll-history plimsoll-cli; do
    field() {
        jq --raw-output --arg crate "$crate" --arg field "$1" \
            '.packages[] | select(.name == $crate) | .[$field] // ""' <<<"$metadata"
    }
    [[ v$(field version) == "$GITHUB_REF_NAME" ]] ||
        fail "$crate: expected version ${GITHUB_REF_NAME#v}, found $(field version)"
    [[ $(field repository) == "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY" ]] ||
        fail "$crate: expected repository $GITHUB_SERVER_URL/$GITHUB_REPOSITORY," \
            "found $(field repository)"
done
git merge-base --is-ancestor "$GITHUB_SHA" origin/main ||
    fail "the tagged commit is not on main"
