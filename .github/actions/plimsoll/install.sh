#!/usr/bin/env bash
# Puts `plimsoll` into $RUNNER_TEMP/plimsoll/bin: a binary that is there already, one
# of a release, or one built from the commit that this action is pinned to.
#
# A release's archive is unpacked only after it was held against something that did
# not come with it: a digest from the workflow, or its attestation. Reads
# INPUT_INSTALL, INPUT_VERSION, INPUT_SHA256, INPUT_RELEASES, INPUT_BINARY,
# ACTION_REPOSITORY and GH_TOKEN.
set -feuo pipefail

# For `gh` alone: `cargo install` runs the build scripts of every dependency.
token=${GH_TOKEN:-}
unset GH_TOKEN

fail() {
    echo "::error title=plimsoll::$*"
    exit 1
}

bin=$RUNNER_TEMP/plimsoll/bin
# .github/actions/plimsoll is three folders deep, and the whole commit is there.
sources=$(realpath "$GITHUB_ACTION_PATH/../../..")
mkdir -p "$bin"

if [[ -n $INPUT_BINARY ]]; then
    [[ -f $INPUT_BINARY ]] || fail "binary: expected a file, found none"
    [[ -x $INPUT_BINARY ]] || fail "binary: expected a program, found a file that cannot be run"
    # It may be the one that an earlier step of the same job put there.
    [[ $INPUT_BINARY -ef $bin/plimsoll ]] || cp -- "$INPUT_BINARY" "$bin/plimsoll"
    exit
fi

case $INPUT_INSTALL in
release) ;;
source)
    CARGO_TARGET_DIR=$RUNNER_TEMP/plimsoll/target cargo install --quiet --locked --force \
        --path "$sources/harness/cli" --bin plimsoll --root "$RUNNER_TEMP/plimsoll"
    exit
    ;;
*) fail "install: expected release or source" ;;
esac

case $(uname -sm) in
"Linux x86_64") target=x86_64-unknown-linux-gnu ;;
"Linux aarch64") target=aarch64-unknown-linux-gnu ;;
*) fail "no release for $(uname -sm); use \`install: source\`" ;;
esac

version=$INPUT_VERSION
if [[ -z $version ]]; then
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$sources/Cargo.toml" | head -n 1)
fi
# It becomes part of an address.
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
    fail "version: expected one such as 0.1.0, without a v"
# Empty where the action is used by path, in its own repository.
repository=${ACTION_REPOSITORY:-$GITHUB_REPOSITORY}
releases=${INPUT_RELEASES:-https://github.com/$repository/releases/download}
[[ $releases == https://* ]] || fail "releases: expected an https address"
releases=${releases%/}

archive=$RUNNER_TEMP/plimsoll/plimsoll-$target.tar.gz
curl --proto '=https' --tlsv1.2 --fail --silent --show-error --location --retry 3 \
    --output "$archive" "$releases/v$version/plimsoll-$target.tar.gz" ||
    fail "release v$version cannot be downloaded; is there one? \`install: source\` needs none"

checked=false
if [[ -n $INPUT_SHA256 ]]; then
    found=$(sha256sum "$archive" | cut -d ' ' -f 1)
    for expected in $INPUT_SHA256; do
        [[ $found != "${expected,,}" ]] || checked=true
    done
    $checked || fail "the archive's SHA-256 is $found, which is none of those in \`sha256\`"
fi
if [[ -z $INPUT_RELEASES && $GITHUB_SERVER_URL == https://github.com ]] &&
    command -v gh >/dev/null; then
    GH_TOKEN=$token gh attestation verify "$archive" --repo "$repository" \
        --signer-workflow "$repository/.github/workflows/release.yml" \
        --source-ref "refs/tags/v$version" --deny-self-hosted-runners ||
        fail "the archive's attestation cannot be verified: it is not known who built it"
    checked=true
fi
$checked || fail "nothing to check the archive with: give its \`sha256\`, or have \`gh\`"

tar -xzf "$archive" -C "$bin" plimsoll
"$bin/plimsoll" --version
