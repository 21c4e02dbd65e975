#!/usr/bin/env bash
# Publishes the crates that are named, in that order, in the version of Cargo.toml.
# Cargo waits until each is in the index before the next. One that is there already is
# left out, so that a run that broke off can be run again. The token is in
# CARGO_REGISTRY_TOKEN.
set -euo pipefail

index=https://index.crates.io
for crate in "$@"; do
    version=$(cargo metadata --no-deps --format-version 1 |
        jq --exit-status --raw-output --arg crate "$crate" \
            '.packages[] | select(.name == $crate) | .version')
    entry=$(mktemp)
    # 404 for a crate of which there is no version; anything else is no answer.
    code=$(curl --proto '=https' --silent --show-error --location --retry 3 \
        --output "$entry" --write-out '%{http_code}' \
        "$index/${crate:0:2}/${crate:2:2}/$crate")
    case $code in
    200)
        if jq --exit-status --slurp --arg version "$version" \
            'any(.[]; .vers == $version)' "$entry" >/dev/null; then
            echo "$crate $version is published already"
            continue
        fi
        ;;
    404) ;;
    *)
        echo "expected 200 or 404 from the index for $crate, found $code" >&2
        exit 1
        ;;
    esac
    cargo publish --locked -p "$crate"
done
