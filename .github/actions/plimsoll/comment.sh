#!/usr/bin/env bash
# Calls `plimsoll comment` with the inputs that were given; what was not has its
# default there. The token is in GITHUB_TOKEN.
set -feuo pipefail

arguments=(comment "--report=$RUNNER_TEMP/plimsoll/report.json")
# `--name=value`, so that no value is taken for an option.
option() {
    [[ -z $2 ]] || arguments+=("--$1=$2")
}
option key "$INPUT_KEY"
option when "$INPUT_WHEN"
option check-name "$INPUT_CHECK_NAME"
option image "$INPUT_IMAGE"
option bot-login "$INPUT_BOT_LOGIN"
option on-post-error "$INPUT_ON_POST_ERROR"
option max-wait "$INPUT_MAX_WAIT"
option timeout "$INPUT_TIMEOUT"
option artifact-url "$INPUT_ARTIFACT_URL"
# Words, on one line or several.
for part in ${INPUT_SKIP//,/ }; do
    option skip "$part"
done

case $INPUT_COMMAND in
report) arguments+=(--skip=check --skip=comment) ;;
comment) option base-artifact "$INPUT_ARTIFACT_NAME" ;;
fetch-and-comment)
    arguments+=(--untrusted)
    option base-artifact "$INPUT_ARTIFACT_NAME"
    ;;
*) exit 0 ;; # said by report.sh
esac

exec "$RUNNER_TEMP/plimsoll/bin/plimsoll" "${arguments[@]}"
