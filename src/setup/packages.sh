# What has to be installed, by group, and how it gets there. Sourced by ./run.

declare -A QUIESCE_PACKAGES=(
  [build]="g++ cmake ninja-build ccache lld pkg-config libabsl-dev libtbb-dev libdnnl-dev
           zlib1g-dev nlohmann-json3-dev libcli11-dev googletest libgtest-dev libbenchmark-dev"
  [tsan]="clang llvm libclang-rt-dev dpkg-dev"
  [data]="dataset-fashion-mnist"
  [model]="spin"
)

say() { echo "run: $*" >&2; }
fail() { say "$*"; exit 1; }

# missing GROUP...: the packages of these groups that are not installed.
missing() {
  local group package
  for group in "$@"; do
    for package in ${QUIESCE_PACKAGES[$group]}; do
      [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
        echo "$package"
    done
  done
}

# need GROUP...: installs what is missing of these groups; says nothing when nothing is.
need() {
  local packages sudo=()
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    command -v cmake >/dev/null && command -v ninja >/dev/null && return
    say "this system has no apt-get; please install by hand what these packages of Debian hold:"
    for group in "$@"; do
      echo "  " ${QUIESCE_PACKAGES[$group]} >&2
    done
    fail "then try again"
  fi
  mapfile -t packages < <(missing "$@")
  ((${#packages[@]})) || return 0
  say "installing: ${packages[*]}"
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "not root and no sudo; as root: apt-get install ${packages[*]}"
    say "root is needed for that, so sudo may ask for your password"
    sudo=(sudo)
  fi
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y
    -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
  local log
  log=$(mktemp)
  # The lists may be old or absent, so a failed attempt is repeated after an update.
  "${apt[@]}" install --no-install-recommends "${packages[@]}" >"$log" 2>&1 </dev/null ||
    { "${apt[@]}" update >>"$log" 2>&1 </dev/null || true
      "${apt[@]}" install --no-install-recommends "${packages[@]}" >>"$log" 2>&1 </dev/null; } || {
    tail -n 30 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install them"
  }
  rm -f "$log"
}

setup_command() {
  need build tsan data model
  case ${1:-} in
    "") ;;
    tsan) "$ROOT/src/setup/tsan_deps.sh" >/dev/null ;;
    *) say "setup takes nothing or 'tsan', not '$1'"; exit 2 ;;
  esac
  say "everything is there; ./run tune is the main job, ./run test the tests"
}
