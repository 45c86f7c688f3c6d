#!/bin/sh
# Builds wheel and sdist and tries them as a newcomer would: from nothing but the wheel, `pappi demo`.
#   tools/dist.sh FOLDER WORK     FOLDER gets the two files, WORK is emptied and used
set -eu
folder=$1 work=$2
python=${PYTHON:-python3}
rm -rf "$folder" "$work"
mkdir -p "$work"

"$python" -m venv "$work/tools"
quiet="--quiet --disable-pip-version-check"
# shellcheck disable=SC2086  # several words
"$work/tools/bin/python" -m pip install $quiet --constraint constraints.txt build hatchling twine
# The wheel is built from the sdist: what is missing in that would be missing there.
"$work/tools/bin/python" -m build --no-isolation --outdir "$folder" .
"$work/tools/bin/python" -m twine check --strict "$folder"/*

"$python" -m venv "$work/bare"
started=$(date +%s)
# shellcheck disable=SC2086
"$work/bare/bin/python" -m pip install $quiet "$folder"/pappi-*.whl
"$work/bare/bin/pappi" demo "$work/demo"
"$work/bare/bin/pip" check --disable-pip-version-check
echo "From the wheel to the charts in $(($(date +%s) - started)) s: $work/demo/claims.html"
