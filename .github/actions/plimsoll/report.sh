#!/usr/bin/env bash
# Writes the joined report, or the fetched one, and renders its page. Reads
# INPUT_COMMAND, INPUT_REPORT, INPUT_ARTIFACT_NAME, INPUT_MAX_WAIT and INPUT_TIMEOUT.
# Sets the outputs `report` and, where there is a page, `html`: both are paths made here.
set -euo pipefail

plimsoll=$RUNNER_TEMP/plimsoll/bin/plimsoll
report=$RUNNER_TEMP/plimsoll/report.json
# The name becomes a file's, and the file's the artifact's.
if [[ ! $INPUT_ARTIFACT_NAME =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]]; then
    echo "::error title=plimsoll::artifact-name: expected letters, digits and \`._-\`"
    exit 1
fi
html=$RUNNER_TEMP/plimsoll/$INPUT_ARTIFACT_NAME-$GITHUB_RUN_ATTEMPT.html
# One that an earlier step of the same job left would be taken for this one's.
rm -f -- "$report" "$html"
echo "report=$report" >>"$GITHUB_OUTPUT"

case $INPUT_COMMAND in
report | comment)
    paths=()
    while IFS= read -r path; do
        [[ -z $path ]] || paths+=("$path")
    done <<<"$INPUT_REPORT"
    "$plimsoll" report --format json --output "$report" -- "${paths[@]}"
    ;;
fetch-and-comment)
    # Where there is no report the file says why, for the comment.
    "$plimsoll" fetch --artifact "$INPUT_ARTIFACT_NAME" --output "$report" \
        ${INPUT_MAX_WAIT:+"--max-wait=$INPUT_MAX_WAIT"} \
        ${INPUT_TIMEOUT:+"--timeout=$INPUT_TIMEOUT"}
    ;;
*)
    echo "::error title=plimsoll::command: expected report, comment, fetch-and-comment or prune-images"
    exit 1
    ;;
esac

if [[ -f $report ]]; then
    [[ $INPUT_COMMAND == fetch-and-comment ]] || echo "upload=$report" >>"$GITHUB_OUTPUT"
    # A file that was fetched may say why there is no report: of that there is no page.
    "$plimsoll" report "$report" --format html --output "$html" ||
        [[ $INPUT_COMMAND == fetch-and-comment ]]
fi
if [[ -f $html ]]; then
    echo "html=$html" >>"$GITHUB_OUTPUT"
fi
