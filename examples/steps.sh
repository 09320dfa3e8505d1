# Functions for scripts that show commands and check their answers. Source it with $work set to a temporary directory of
# the script. When the script ends, the programs that it started end, and the directory is removed.

part() { printf '\n======== %s ========\n' "$*"; }
say() { printf '✓ %s\n' "$*"; }
failure=
fail() {
  failure=$*
  exit 1
}

# run prints a command, runs it and prints its answer, which is then in $answer. The command must succeed.
run() {
  try "$@"
  [ "$status" = 0 ] || fail "the command failed with exit status $status"
}
# try is run for a command that may fail. $complaint is its standard error.
try() {
  printf '\n$ %s\n' "$*"
  status=0
  answer=$("$@" 2>"$work/complaint") || status=$?
  complaint=$(cat "$work/complaint")
  printf '%s\n' "$answer" "$complaint" | sed '/^$/d; s/^/  /'
}

# expect PATTERN…: the last answer matches the patterns.
expect() {
  local pattern
  for pattern; do
    grep -Eq -- "$pattern" <<<"$answer" || fail "the answer has no $pattern"
  done
}

# member NAME: the first text of that name in the last answer.
member() { sed -n 's/.*"'"$1"'": "\([^"]*\)".*/\1/p' <<<"$answer" | head -n 1; }

# within SECONDS COMMAND…: repeats the command until it succeeds.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}
patience=90 # seconds, for what takes milliseconds on a machine with nothing else to do

logged() { grep -Eq -- "$2" "$work/$1.log"; }
# await LOG PATTERN: waits for a line in the log of a program, and prints it.
await() {
  within "$patience" logged "$1" "$2" || fail "$1 never printed $2: $(cat "$work/$1.log")"
  grep -E -m 1 -- "$2" "$work/$1.log" | sed "s/^/  $1: /"
}

started=() # process ids
# background LOG COMMAND…: starts a program whose output goes to a log; $pid is its process.
background() {
  local log=$1
  shift
  printf '\n$ %s >%s.log &\n' "$*" "$log"
  : >"$work/$log.log" # before anything reads it
  "$@" >"$work/$log.log" 2>&1 &
  pid=$!
  started+=("$pid")
}
stop() {
  kill "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}

# finish ends the programs, the service last, which was the first. What failed is the last line.
finish() {
  local result=$? i
  trap - EXIT
  for ((i = ${#started[@]} - 1; i >= 0; i--)); do
    stop "${started[i]}"
  done
  if [ "$result" != 0 ] && [ -s "$work/service.log" ]; then
    echo "The end of the service's log:" >&2
    tail -n 40 "$work/service.log" >&2
  fi
  rm -rf "$work"
  [ -z "$failure" ] || printf '✗ %s\n' "$failure" >&2
  exit "$result"
}
trap finish EXIT
set -E
trap 'failure="line $LINENO: $BASH_COMMAND"' ERR
trap 'exit 130' INT TERM PIPE
