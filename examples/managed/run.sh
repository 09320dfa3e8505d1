#!/usr/bin/env bash
# A managed fleet from end to end, with the AWS CLI: a build, a fleet of it on this
# machine, game sessions and players, another number of processes, a new version behind
# the same alias, and the end. Every command is printed before it runs, and its answer
# after it, so that you can follow, or do the same by hand.
#
#   examples/managed/run.sh
#
# It starts a service of its own in a temporary directory and leaves nothing behind.
# It needs Go, and the AWS CLI, version 1 or 2 (`make clients` installs one into
# .tools). Its exit status is 0 if everything was as it must be; else its last line
# says what was not.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d /tmp/mXXXXXX) # short: sockets are below it

if ! command -v aws >/dev/null; then
  python=$root/.tools/python/bin/python
  [ -x "$python" ] || { echo "There is no AWS CLI: install it, or run make clients." >&2 && exit 1; }
  aws() { "$python" -m awscli "$@"; }
fi

. "$root/examples/steps.sh"

# becomes TEXT QUERY COMMAND…: asks until the answer is the text.
becomes() {
  local want=$1 query=$2
  shift 2
  is() { got=$(aws gamelift "$@" --query "$query" --output text) && [ "$got" = "$want" ]; }
  within "$patience" is "$@" || fail "$query of $* never was $want; it is $got"
  say "$query is $want"
}

part 'A service, which this machine joins'
echo 'Building muster and a game server.'
mkdir -p "$work/build"
(cd "$root" && go build -o "$work/bin/" ./cmd/muster && go build -o "$work/build/" ./examples/arena/server)
PATH=$work/bin:$PATH
background service muster dev --no-sample --log-level info --listen 127.0.0.1:0 --gateway-listen '' --data "$work/data"
service=$pid
ready() { [ -s "$work/data/muster.env" ] || ! kill -0 "$service" 2>/dev/null; }
within "$patience" ready && kill -0 "$service" 2>/dev/null || fail 'the service did not start'
unset AWS_PROFILE AWS_SESSION_TOKEN
# shellcheck source=/dev/null
source "$work/data/muster.env"
export AWS_CONFIG_FILE=$work/none AWS_SHARED_CREDENTIALS_FILE=$work/none AWS_PAGER='' AWS_EC2_METADATA_DISABLED=true AWS_DEFAULT_OUTPUT=json
say "the service is at $AWS_ENDPOINT_URL_GAMELIFT"

part 'A build with an installer'
printf '#!/bin/sh\necho "installed on $(date)" >installed\n' >"$work/build/install.sh"
chmod +x "$work/build/install.sh"
run aws gamelift upload-build --name arena --build-version 1 --build-root "$work/build"
build=$(sed -n 's/.*Build ID: //p' <<<"$answer")
becomes READY Build.Status describe-build --build-id "$build"

part 'A fleet with two processes'
run aws gamelift create-fleet --name Arena --build-id "$build" --ec2-instance-type c5.large --runtime-configuration \
  'ServerProcesses=[{LaunchPath=/local/game/server,Parameters="-port={port} -log",ConcurrentExecutions=2}]'
fleet=$(member FleetId)
becomes ACTIVE 'FleetAttributes[0].Status' describe-fleet-attributes --fleet-ids "$fleet"
run aws gamelift describe-fleet-events --fleet-id "$fleet" --query 'Events[].EventCode' --output text
expect FLEET_CREATED FLEET_STATE_DOWNLOADING FLEET_CREATION_RUNNING_INSTALLER FLEET_STATE_ACTIVE
run aws gamelift describe-instances --fleet-id "$fleet"
expect '"InstanceId": "i-[0-9a-f]{17}"' '"Status": "ACTIVE"'
run aws gamelift create-alias --name live --routing-strategy "Type=SIMPLE,FleetId=$fleet"
alias=$(member AliasId)
processes() { becomes "$1" 'FleetUtilization[0].ActiveServerProcessCount' describe-fleet-utilization --fleet-ids "$fleet"; }
processes 2

part 'A game session and a player'
run aws gamelift create-game-session --alias-id "$alias" --maximum-player-session-count 4
session=$(member GameSessionId)
becomes ACTIVE 'GameSessions[0].Status' describe-game-sessions --game-session-id "$session"
run aws gamelift create-player-session --game-session-id "$session" --player-id ada
expect '"PlayerSessionId": "psess-'

part 'Three processes in place of two'
run aws gamelift update-runtime-configuration --fleet-id "$fleet" --runtime-configuration \
  'ServerProcesses=[{LaunchPath=/local/game/server,Parameters="-port={port} -log",ConcurrentExecutions=3}]'
processes 3

part 'Another version replaces it'
echo 'The second version.' >"$work/build/version.txt"
run aws gamelift upload-build --name arena --build-version 2 --build-root "$work/build"
build=$(sed -n 's/.*Build ID: //p' <<<"$answer")
becomes READY Build.Status describe-build --build-id "$build"
old=$fleet
run aws gamelift create-fleet --name 'Arena 2' --build-id "$build" --ec2-instance-type c5.large --runtime-configuration \
  'ServerProcesses=[{LaunchPath=/local/game/server,Parameters="-port={port} -log",ConcurrentExecutions=1}]'
fleet=$(member FleetId)
becomes ACTIVE 'FleetAttributes[0].Status' describe-fleet-attributes --fleet-ids "$fleet"
run aws gamelift update-alias --alias-id "$alias" --routing-strategy "Type=SIMPLE,FleetId=$fleet"
run aws gamelift create-game-session --alias-id "$alias" --maximum-player-session-count 4
expect "\"FleetId\": \"$fleet\""
becomes ACTIVE 'GameSessions[0].Status' describe-game-sessions --game-session-id "$session"
run aws gamelift delete-fleet --fleet-id "$old"

part 'The end'
run aws gamelift delete-fleet --fleet-id "$fleet"
left() { [ -z "$(ls "$work/data/machine0/i" 2>/dev/null)" ]; }
within "$patience" left || fail 'the machine still has the instance'
say 'the machine has no instance'
printf '\nEverything was as it must be.\n'
