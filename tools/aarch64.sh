#!/bin/sh
# Compiles the extension for aarch64 and runs its tests there, under qemu: `make aarch64`. It takes Debian, and as root it
# installs the emulator of the processor and the compiler. Whatever runs on aarch64 comes into .aarch64 and nowhere else.
set -eu
folder=$(pwd)/.aarch64
root=$folder/root
mkdir -p "$folder/lists/partial" "$folder/archives/partial" "$root"

if ! { command -v qemu-aarch64 && command -v aarch64-linux-gnu-gcc; } >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross >/dev/null
fi

# Debian's Python with all that it needs, down to the C library: a system of which nothing is installed.
if [ ! -x "$root/usr/bin/python3" ]; then
  for step in update "install --yes --no-install-recommends --download-only python3 libpython3-dev"; do
    # shellcheck disable=SC2086  # words
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::Lists="$folder/lists" \
      -o Dir::State::status=/dev/null -o Dir::Cache::Archives="$folder/archives" -o Dir::Cache::pkgcache= $step >/dev/null
  done
  for package in "$folder"/archives/*.deb; do dpkg-deb --extract "$package" "$root"; done
fi
cat >"$folder/python" <<END
#!/bin/sh
export PYTHONHOME=$root/usr PYTHONPATH=$folder/package:$folder/site PYTHONSAFEPATH=1
exec qemu-aarch64 -L $root -0 "\$0" $root/usr/bin/python3 "\$@"
END
chmod +x "$folder/python"
python=$folder/python
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# pip runs here, because it would take an hour there.
"${PYTHON:-python3}" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' \
  >"$folder/requirements.txt"
"${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --upgrade --target "$folder/site" \
  --constraint constraints.txt --only-binary=:all: --implementation cp --python-version "$version" \
  --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 \
  setuptools aioresponses asyncpg hypothesis pytest pytest-asyncio pytest-timeout --requirement "$folder/requirements.txt"

rm -rf "$folder/build" "$folder/package"
CC="aarch64-linux-gnu-gcc --sysroot=$root" "$python" setup.py --quiet build \
  --build-base "$folder/build" --build-lib "$folder/package"
"$python" -c "import platform, sys; print(platform.machine(), sys.version)"
"$python" -m pytest -o pythonpath="$folder/package ." -p no:cacheprovider --timeout=1800 "${@:-tests/speedups}"
