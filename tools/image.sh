#!/bin/sh
# Installs PaPPI into a folder, of nothing but files whose hashes are in requirements/, with its
# bill of materials (CycloneDX) beside it. The Dockerfile and `make sbom` both go this way.
#   tools/image.sh FOLDER TOOLS     TOOLS is a folder for what only builds
set -eu
target=$1 tools=$2
python=${PYTHON:-python3}
hashed="--require-hashes --only-binary :all: --requirement"

"$python" -m venv "$tools"
pip() { "$tools/bin/python" -m pip --disable-pip-version-check --no-cache-dir --quiet "$@"; }
# shellcheck disable=SC2086  # several words
pip install $hashed requirements/image-build.txt

"$python" -m venv --without-pip "$target"
# shellcheck disable=SC2086
pip --python "$target/bin/python" install $hashed requirements/image.txt
# Without isolation: the build backend is the one above, not the newest there is.
pip wheel --no-build-isolation --no-deps --wheel-dir "$tools/wheels" .
pip --python "$target/bin/python" install --no-index --no-deps "$tools"/wheels/pappi-*.whl
pip --python "$target/bin/python" check

"$tools/bin/cyclonedx-py" environment --pyproject pyproject.toml --output-reproducible \
  --output-format JSON --output-file "$target/sbom.cdx.json" "$target/bin/python"
