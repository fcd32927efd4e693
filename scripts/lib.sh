# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# lib.sh: what the scripts share; sourced at the top of the tree. The three lists are the only place that names Debian packages.

# To build and run perigee. lua5.4 runs the scripts of the build that put the shipped policies into the binary.
BUILD_PACKAGES=(
  cmake ninja-build pkg-config gcc libc6-dev
  liblua5.4-dev lua5.4 libyaml-dev libcjson-dev libcurl4-openssl-dev libuv1-dev libpcre2-dev libedit-dev libzstd-dev
  libmicrohttpd-dev libwslay-dev libssl-dev
)
# To run the binary elsewhere, as deploy/Containerfile does.
# shellcheck disable=SC2034 # used by those who source this file
RUN_PACKAGES=(
  liblua5.4-0 libyaml-0-2 libcjson1 libcurl4 libuv1 libpcre2-8-0 libedit2 libzstd1 libmicrohttpd12 libwslay1 libssl3
)
# To test it, besides.
# shellcheck disable=SC2034
TEST_PACKAGES=(libcmocka-dev openssl lua-busted lua-check clang-format clang-tidy python3 python3-yaml zstd git)

say() { printf '\n== %s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 2; }

# need_packages NAME...: installs what is missing, says what it does; asks dpkg only when all is there.
need_packages() {
  command -v dpkg-query >/dev/null || die "this script installs Debian packages and finds no dpkg; install these yourself: $*"
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "missing packages, and neither root nor sudo is at hand: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "Installing Debian packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" ||
    die "apt-get could not install: ${missing[*]}"
}

# build PRESET: configures (once) and builds; two jobs unless JOBS says otherwise.
build() {
  say "Building (preset $1)"
  [ -f "build/$1/build.ninja" ] || cmake --preset "$1"
  cmake --build --preset "$1" -j "${JOBS:-2}"
}
