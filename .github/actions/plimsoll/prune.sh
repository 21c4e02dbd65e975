#!/usr/bin/env bash
# Calls `plimsoll prune-images`. Reads INPUT_MAX_WAIT and INPUT_TIMEOUT; the token is in
# GITHUB_TOKEN.
set -feuo pipefail

exec "$RUNNER_TEMP/plimsoll/bin/plimsoll" prune-images \
    ${INPUT_MAX_WAIT:+"--max-wait=$INPUT_MAX_WAIT"} \
    ${INPUT_TIMEOUT:+"--timeout=$INPUT_TIMEOUT"}
