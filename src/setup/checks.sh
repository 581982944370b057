# ./run test and ./run stress. Sourced by ./run.

# The tests of one preset, or of all three with one closing summary.
test_command() {
  need build data model
  if (($#)); then
    local preset=$1
    shift
    build "$preset"
    ctest --test-dir "$ROOT/build/$preset" --output-on-failure -j "$(nproc)" "$@" </dev/null
    return
  fi
  need tsan
  local preset
  for preset in release tsan asan; do
    build "$preset"
  done
  # One tree over the three. Names of sanitized tests begin with their preset.
  mkdir -p "$ROOT/build/all"
  printf 'subdirs("%s")\n' ../release ../tsan ../asan >"$ROOT/build/all/CTestTestfile.cmake"
  ctest --test-dir "$ROOT/build/all" --output-on-failure -j "$(nproc)" </dev/null
}

stress_command() {
  local name="" seconds=60 seed=$((RANDOM * 32768 + RANDOM)) list=""
  while (($#)); do
    case $1 in
      --seconds | --seed)
        [[ ${2:-} =~ ^[0-9]+$ ]] || { say "$1 wants a whole number, got '${2:-}'"; exit 2; }
        if [[ $1 == --seconds ]]; then seconds=$2; else seed=$2; fi
        shift
        ;;
      --list) list=1 ;;
      -*) say "stress has no option '$1'; it has --seconds N, --seed S and --list"; exit 2 ;;
      *)
        [[ -z $name ]] || { say "stress runs one program or all, not '$name' and '$1'"; exit 2; }
        name=$1
        ;;
    esac
    shift
  done
  shopt -s nullglob
  local programs=("$ROOT"/stress/*.cc)
  programs=("${programs[@]##*/}")
  programs=("${programs[@]%.cc}")
  if [[ -n $list ]]; then
    printf '%s\n' "${programs[@]}" model
    return
  fi
  if [[ $name == model ]]; then
    need model
    "$ROOT/tests/model/check.sh" full
    return
  fi
  if [[ -n $name ]]; then
    [[ " ${programs[*]} " == *" $name "* ]] || {
      say "there is no stress program '$name'; there are: ${programs[*]} model"
      exit 2
    }
    programs=("$name")
  fi
  need build data
  local preset failed=()
  for preset in release tsan; do
    build "$preset" "${programs[@]/#/stress_}"
    for name in "${programs[@]}"; do
      echo "== $name, $preset, $seconds s, seed $seed"
      TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1 ${TSAN_OPTIONS:-}" \
        "$ROOT/build/$preset/stress/$name" --seconds "$seconds" --seed "$seed" </dev/null ||
        failed+=("$name ($preset)")
    done
  done
  ((${#failed[@]} == 0)) || fail "failed: ${failed[*]}; repeat with --seed $seed"
  echo "stress: all passed, seed $seed"
}
