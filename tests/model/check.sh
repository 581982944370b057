#!/usr/bin/env bash
# Runs the checked models of this folder: epoch.pml (sessions, clears, passes) and drop.pml (a graph
# dropped in a session that stays live). docs/reset.md tells what they show.
#
#   check.sh quick      the cheap configurations and every mutation: what the tests run
#   check.sh full       every configuration, progress by LTL as well, and every mutation
#   check.sh NAME...    the configurations of these names, the mutations of these names
#   check.sh list       what there is
#
# A configuration must pass, and its search must have come to its own end, so that it is exhaustive.
# A mutation must fail, and by the kind of error that stands with it. JOBS=n runs n at a time
# (default 2 for quick, else 1); TMPDIR takes the builds. Seconds are those of the processor.
# Exit status: 0 all as it should be, 1 something is not, 2 usage, 77 spin or gcc is missing.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/runs.sh"  # configurations, mutations

row=' %-42s %-6s %12s %7s %6s  %-10s %s\n'

# Builds and runs one line of runs.sh. Prints: name|search|states|seconds|MB|exhaustive|verdict.
# The verdict is `ok` or says what is wrong.
run_one() {
  local name=$1 model=$2 search=$3 want=$4 memory=$5 definitions=$6
  local dir verdict ended=yes optimise=-O0 code limit=$((memory * 95 / 100))
  dir=$(mktemp -d "$work/XXXXXX")
  local spin_flags=() gcc_flags=(-w -DCOLLAPSE -DMEMLIM=$limit) pan_flags=(-n -m100000)
  [[ $want == pass && $memory -gt 1000 ]] && pan_flags+=(-w26) || pan_flags+=(-w20)
  if [[ $want == pass && $memory -gt 500 ]]; then optimise=-O1; fi  # what pays, compiling included
  if [[ $want == pass && $memory -gt 1000 ]]; then optimise=-O2; fi
  if [[ $search == live ]]; then
    spin_flags+=(-DLIVE) gcc_flags+=(-DNFAIR=3) pan_flags+=(-a -f)
  else
    gcc_flags+=(-DSAFETY)
  fi
  # Only what is unsafe may count, where an error of progress would come first.
  [[ $want == unsafe || $want == fresh ]] && spin_flags+=(-DSAFE_ONLY)
  # shellcheck disable=SC2086  # definitions are words
  if ! (cd "$dir" && spin -a "${spin_flags[@]}" $definitions "$here/$model.pml" &&
        gcc "$optimise" "${gcc_flags[@]}" -o pan pan.c) >"$dir/build" 2>&1; then
    echo "$name|$search|-|-|-|-|does not build: $(grep -m1 . "$dir/build" | tr '|' ' ')"
    return
  fi
  local TIMEFORMAT='%U %S'
  (cd "$dir" && time ./pan "${pan_flags[@]}" >out 2>&1) 2>"$dir/time"
  code=$?
  local states seconds megabytes error
  states=$(awk '/states, stored/ {print $1; exit}' "$dir/out")
  seconds=$(awk '{printf "%.1f", $1 + $2}' "$dir/time")
  megabytes=$(awk '/total actual memory/ {printf "%d", $1; exit}' "$dir/out")
  error=$(sed -n 's/^pan:[0-9]*: //p' "$dir/out" | head -1 | sed 's/ (at depth.*//' | tr '|' '/')
  if [[ $code != 0 || -z $states ]] || grep -q -e 'Search not completed' -e 'max search depth' \
      -e 'MEMLIM' -e 'out of memory' "$dir/out"; then
    ended=no
  fi
  case $error in
    '') verdict=passes ;;
    *nfull* | *q_full* | *'end state'*) verdict="error of the model: $error" ;;
    *acceptance*) verdict=stuck ;;
    *held* | *'(want)'* | *retired*shown*) verdict=stuck ;;
    *'(late)'* | *birth*) verdict=fresh ;;
    assertion*) verdict=unsafe ;;
    *) verdict="unknown error: $error" ;;
  esac
  if [[ $want == pass ]]; then
    if [[ $verdict != passes ]]; then
      verdict="FAILS ($verdict)"
    elif [[ $ended == no ]]; then
      verdict="ENDED EARLY, exit $code"
    else
      verdict=ok
    fi
  else
    ended=-
    [[ $verdict == "$want" ]] && verdict="ok: $want" || verdict="IS $verdict, wanted $want"
  fi
  echo "$name|$search|${states:--}|${seconds:--}|${megabytes:--}|$ended|$verdict"
  rm -rf "$dir"
}

# Lines of runs.sh on stdin, without spaces around their bars; prints the table as results come in.
run_all() {
  local running=0 line name model search want memory definitions
  while IFS='|' read -r name model search want memory definitions; do
    if ((running >= JOBS)); then wait -n; ((running--)); fi
    run_one "$name" "$model" "$search" "$want" "$memory" "$definitions" </dev/null |
      tee -a "$work/results" | show &
    ((running++))
  done
  wait
}
show() {
  local name search states seconds megabytes ended verdict
  while IFS='|' read -r name search states seconds megabytes ended verdict; do
    # shellcheck disable=SC2059
    printf "$row" "$name" "$search" "$states" "$seconds" "$megabytes" "$ended" "$verdict"
  done
}

# All lines as set|name|model|search|want|memory|definitions.
lines() {
  {
    configurations | awk -F'|' '{print $1 "|" $2 "|" $3 "|" $4 "|pass|" $5 "|" $6}'
    mutations | awk -F'|' '{n = split($1, w, " "); d = ""; for (i = 1; i <= n; ++i) d = d " -D" w[i]
      print "quick|" $1 "|" $2 "|" $3 "|" $4 "|1000|" d " " $5}'
  } | sed 's/ *| */|/g; s/^ *//; s/ *$//'
}

command=${1:-}
case $command in
  list) lines | cut -d'|' -f1-5,7 | column -t -s'|'; exit 0 ;;
  quick) chosen=$(lines | grep '^quick|') ;;
  full) chosen=$(lines) ;;
  '' | -h | --help) sed -n '2,/^set -u/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit 2 ;;
  *)
    chosen=$(for name in "$@"; do lines | awk -F'|' -v n="$name" '$2 == n'; done)
    if [[ -z $chosen ]]; then
      echo "check.sh: no configuration or mutation is named '$*'; see check.sh list" >&2
      exit 2
    fi
    ;;
esac
for tool in spin gcc; do
  if ! command -v "$tool" >/dev/null; then
    echo "SKIPPED: the models are not checked, $tool is missing (Debian: spin, gcc); see ./run setup"
    exit 77
  fi
done
JOBS=${JOBS:-$([[ $command == quick ]] && echo 2 || echo 1)}
work=$(mktemp -d "${TMPDIR:-/tmp}/quiesce_model.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM
: >"$work/results"

# shellcheck disable=SC2059
printf "$row" configuration search states 'cpu s' MB exhaustive verdict
run_all < <(cut -d'|' -f2- <<<"$chosen")
count=$(wc -l <"$work/results")
asked=$(grep -c . <<<"$chosen")
wrong=$(grep -v -c -E '\|ok(: [a-z]+)?$' "$work/results")
echo "$count of $asked runs, $wrong wrong, in ${SECONDS} s"
((wrong == 0 && count == asked))
