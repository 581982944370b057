#!/usr/bin/env bash
# Builds oneTBB, Abseil and GoogleTest with ThreadSanitizer, because the distribution's binaries are
# not instrumented and give false reports.
#
#   tsan_deps.sh          builds what is missing, then prints the prefix
#   tsan_deps.sh --find   prints the prefix, or fails at once when it is not built yet
#
# The sources are those of the installed packages, fetched by `apt-get source` over a private list of
# sources and a private apt state, so the system's own configuration is left as it is. The result lies
# outside the tree in ${XDG_CACHE_HOME:-~/.cache}/quiesce/tsan-deps/<key>, where the key is made from
# the versions and flags; whoever comes second waits for the first.
set -euo pipefail

readonly CACHE="${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/quiesce/tsan-deps"
readonly RECIPE=1  # raised when the options below change
readonly FLAGS="-fsanitize=thread -O2 -g1 -fno-omit-frame-pointer"
readonly CXX="${QUIESCE_TSAN_CXX:-clang++}"
readonly CC="${CXX/clang++/clang}"

say() { echo "tsan-deps: $*" >&2; }
fail() { say "$*"; exit 1; }

command -v "$CXX" >/dev/null || fail "$CXX is missing; ./run setup installs it"

# source_of PACKAGE: "name=version" of the source package behind an installed binary package.
source_of() {
  dpkg-query -W -f '${source:Package}=${source:Version}' "$1" 2>/dev/null ||
    fail "package $1 is not installed; ./run setup installs it"
}
tbb=$(source_of libtbb-dev)
absl=$(source_of libabsl-dev)
gtest=$(source_of googletest)
key=$({ echo "recipe $RECIPE: $tbb $absl $gtest $FLAGS"; "$CXX" --version | head -n 1; } |
  sha256sum | cut -c 1-16)
readonly PREFIX="$CACHE/$key"

if [[ -e $PREFIX/complete ]]; then
  echo "$PREFIX"
  exit 0
fi
[[ ${1:-} != --find ]] || fail "not built yet; ./run setup tsan builds it (about five minutes)"

mkdir -p "$CACHE"
exec 9>"$CACHE/lock"
flock -n 9 || { say "another build is under way, waiting for it"; flock 9; }
if [[ -e $PREFIX/complete ]]; then
  echo "$PREFIX"
  exit 0
fi

work=$(mktemp -d "$CACHE/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
rm -rf "$PREFIX"

# The distribution's own entries (suites of its code name, component main), turned into deb-src.
private_sources() {
  local codename file
  codename=$(. /etc/os-release; echo "${VERSION_CODENAME:-stable}")
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -e $file ]] || continue
    awk -v code="$codename" '$1 == "deb" {
        suite = 2
        if ($2 ~ /^\[/) { while ($suite !~ /\]$/) suite++; suite++ }
        suite++
        if ($suite ~ "^(" code "|stable)(-updates|-security|/updates)?$" && / main( |$)/) {
          $1 = "deb-src"; print
        }
      }' "$file"
  done >"$work/etc/sources.list"
  for file in /etc/apt/sources.list.d/*.sources; do
    [[ -e $file ]] || continue
    awk -v RS= -v ORS='\n\n' -v code="$codename" '
      $0 ~ "(^|\n)Suites:[^\n]* (" code "|stable)(-updates|-security)?( |\n|$)" &&
      $0 ~ "(^|\n)Components:[^\n]* main( |\n|$)" &&
      $0 !~ "(^|\n)Enabled: *no" {
        sub("(^|\n)Types:[^\n]*", "\nTypes: deb-src"); print
      }' "$file" | sed '/^#/d' >"$work/etc/parts/$(basename "$file")"
  done
}

mkdir -p "$work"/{etc/parts,lists/partial,cache/archives/partial,src}
private_sources
apt=(apt-get -q -y -o Dir::Etc::SourceList="$work/etc/sources.list"
  -o Dir::Etc::SourceParts="$work/etc/parts" -o Dir::State::Lists="$work/lists"
  -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root -o Acquire::Retries=3
  -o Acquire::Languages=none)
say "fetching the sources of $tbb and $absl"
"${apt[@]}" update >&2 || fail "apt-get update of the source lists failed"

# fetch NAME=VERSION DIR: unpacks a source package, the very version where the archive still has it.
fetch() {
  (cd "$work/src" &&
    { "${apt[@]}" source --download-only --only-source "$1" ||
      "${apt[@]}" source --download-only --only-source "${1%%=*}"; } &&
    dpkg-source --no-check -x "${1%%=*}"_*.dsc "$2") >&2 || fail "cannot fetch the source of $1"
}
fetch "$tbb" tbb
fetch "$absl" absl

# build NAME SOURCE OPTIONS...: configures, builds and installs one of them.
build() {
  local name=$1 source=$2
  shift 2
  say "building $name"
  { cmake -S "$source" -B "$work/$name-build" -G Ninja -DCMAKE_BUILD_TYPE=None \
      -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_STANDARD=20 \
      -DCMAKE_C_FLAGS="$FLAGS" -DCMAKE_CXX_FLAGS="$FLAGS" -DBUILD_SHARED_LIBS=ON \
      -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib \
      -DCMAKE_INSTALL_RPATH="$PREFIX/lib" "${launcher[@]}" "$@" &&
    cmake --build "$work/$name-build" &&
    cmake --install "$work/$name-build"; } >"$work/$name.log" 2>&1 || {
    tail -n 40 "$work/$name.log" >&2
    fail "building $name failed"
  }
}
launcher=()
! command -v ccache >/dev/null || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
build gtest /usr/src/googletest -DBUILD_GMOCK=OFF
build tbb "$work/src/tbb" -DTBB_TEST=OFF -DTBB_EXAMPLES=OFF -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF \
  -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON
build absl "$work/src/absl" -DABSL_PROPAGATE_CXX_STD=ON -DABSL_ENABLE_INSTALL=ON -DBUILD_TESTING=OFF

touch "$PREFIX/complete"
say "complete in ${SECONDS} s"
echo "$PREFIX"
