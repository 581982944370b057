# Configuring and building a preset. Sourced by ./run.

readonly QUIESCE_PRESETS="release debug asan tsan cuda"

# build PRESET [TARGET...]: installs what the preset needs, configures when needed, builds.
build() {
  local preset=$1 tree="$ROOT/build/$1"
  shift
  [[ " $QUIESCE_PRESETS " == *" $preset "* ]] || {
    say "unknown preset '$preset'; there are: $QUIESCE_PRESETS"
    exit 2
  }
  need build
  if [[ $preset == tsan ]]; then
    need tsan
    "$ROOT/src/setup/tsan_deps.sh" >/dev/null
  fi
  # A tree that came along when the checkout was copied or moved cannot be used.
  if [[ -e $tree/CMakeCache.txt ]] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$ROOT" "$tree/CMakeCache.txt"; then
    rm -rf "$tree"
  fi
  # The tsan tree is configured again each time, to notice that its libraries have moved.
  if [[ ! -e $tree/build.ninja || $preset == tsan ]]; then
    quietly "$tree.log" bash -c 'cd "$0" && cmake --preset "$1"' "$ROOT" "$preset" ||
      fail "configuring $preset failed"
  fi
  local started=$SECONDS targets=()
  (($# == 0)) || targets=(--target "$@")
  if [[ -t 1 ]]; then
    cmake --build "$tree" "${targets[@]}"
  else
    quietly "$tree.log" cmake --build "$tree" "${targets[@]}"
  fi || fail "building $preset failed"
  ((SECONDS - started < 5)) || say "built $preset in $((SECONDS - started)) s"
}

# quietly LOG COMMAND...: shows the end of the output only when the command fails.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 </dev/null || {
    grep -E -A 30 '^FAILED|error' "$log" | head -n 120 >&2 || tail -n 40 "$log" >&2
    return 1
  }
}
