#!/usr/bin/env bash
# A person signs in with a browser and runs a game session on a machine of its own, from the first command to the last
# player: the AWS CLI signs in to a service with users and roles, and then creates locations, an Anywhere fleet, a
# compute, a game session and a player session. Every command is printed before it runs, and its answer after it, so
# that you can follow, or do the same by hand. README.md explains it.
#
#   examples/walkthrough/run.sh
#
# It starts a service of its own in a temporary directory, writes nothing into your ~/.aws and leaves nothing behind.
# It needs Go and the AWS CLI, version 1 or 2 (`make clients` installs one into .tools). Version 2 signs in itself; for
# version 1 "muster login" does. Its exit status is 0 if everything was as it must be; else its last line says what was
# not.
#
#   --browser-command COMMAND   run COMMAND URL instead of waiting for you to open the page. It gets SIGN_IN_USER and
#                               SIGN_IN_PASSWORD in its environment. approve.sh beside this script is one.
#   --device                    sign in with a code, as on a machine without a browser
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
browser=
device=
while [ $# -gt 0 ]; do
  case $1 in
  --browser-command) browser=${2:?a command is missing} && shift ;;
  --device) device=yes ;;
  *) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed '$d' >&2 && exit 2 ;;
  esac
  shift
done
work=$(mktemp -d)
start=$PWD

# The names of the guide that this follows.
person=shin profile=shin role=GameDev
region=ap-northeast-2 account=634747716040

# ---- Running and checking -----------------------------------------------------

# The AWS CLI stores the token of a sign-in below the home directory, and no variable names another place.
mkdir "$work/home"
if command -v aws >/dev/null; then
  aws() { HOME=$work/home command aws "$@"; }
else
  for python in "$root"/.tools/python/bin/python "$root"/.tools/python/Scripts/python.exe; do
    [ -x "$python" ] && break
  done
  [ -x "$python" ] || { echo "There is no AWS CLI: install it, or run make clients." >&2 && exit 1; }
  aws() { HOME=$work/home "$python" -m awscli "$@"; }
fi
muster() { HOME=$work/home command muster "$@"; }

. "$root/examples/steps.sh"

# becomes TEXT QUERY COMMAND…: asks until the answer is the text.
becomes() {
  local want=$1 query=$2
  shift 2
  is() { [ "$(aws gamelift "$@" --profile "$profile" --query "$query" --output text)" = "$want" ]; }
  within "$patience" is "$@" || fail "$query of $* never was $want"
}

# ---- A service with a person and a role ---------------------------------------

part 'A service with a person and a role'
echo 'Building muster and a player for its sample game server.'
(cd "$root" && go build -o "$work/bin/" ./cmd/muster ./examples/arena/client)
PATH=$work/bin:$PATH

unset "${!AWS_@}" "${!MUSTER_@}" # yours are for other services
export AWS_PAGER='' AWS_EC2_METADATA_DISABLED=true TZ=Asia/Seoul
cd "$work"
background service muster serve --region "$region" --account "$account" --listen 127.0.0.1:0 --gateway-listen= --data data
service=$pid
ready() { [ -s data/aws-profile ] || ! kill -0 "$service" 2>/dev/null; }
within "$patience" ready && kill -0 "$service" 2>/dev/null || fail 'the service did not start'
endpoint=$(sed -n 's/^ *endpoint_url = //p' data/aws-profile | head -n 1)
say "the service is at $endpoint, and has written the profile muster with its first access key"

mkdir home/.aws
cp data/aws-profile home/.aws/config
SIGN_IN_USER=$person SIGN_IN_PASSWORD=$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')
export SIGN_IN_USER SIGN_IN_PASSWORD
run muster user add "$person" --password-stdin --profile muster <<<"$SIGN_IN_PASSWORD"
run muster role put "$role" --policy GameLiftAdmin --max 4h --profile muster
run muster assign "$person" "$role" --profile muster

# ---- The person signs in ------------------------------------------------------

part "$person signs in"
run muster configure --profile "$profile" --endpoint "$endpoint" --role "$role"
run sed -n "/^\\[sso-session $profile\\]/,\$p" home/.aws/config

version=$(aws --version 2>&1)
if [[ $version == aws-cli/2.* ]]; then
  sign_in=(aws sso login --profile "$profile") sign_out=(aws sso logout --profile "$profile") device_flag=--use-device-code
else
  sign_in=(muster login --profile "$profile") sign_out=(muster logout --profile "$profile") device_flag=--device
fi
[ -z "$device" ] || sign_in+=("$device_flag")
[ -z "$browser" ] || sign_in+=(--no-browser)
echo "The CLI is ${version%% *}."
PYTHONUNBUFFERED=1 background sign-in "${sign_in[@]}"
login=$pid
page="$endpoint/(authorize\?|device\?user_code=)[^[:space:]]+"
await sign-in "$page"
url=$(grep -Eo -m 1 -- "$page" "$work/sign-in.log")
if [ "$browser" ]; then
  printf '\n$ %s URL\n' "$browser"
  (cd "$start" && HOME=$work/home bash -c "$browser \"\$1\"" browser "$url") >"$work/browser.log" 2>&1 ||
    fail "the browser: $(cat "$work/browser.log")"
else
  printf '\nOpen the address if your browser has not, sign in and press Allow.\n  name: %s\n  password: %s\n' "$person" "$SIGN_IN_PASSWORD"
fi
wait "$login" || fail "the sign-in failed: $(cat "$work/sign-in.log")"
tail -n 1 "$work/sign-in.log" | sed 's/^/  sign-in: /'
run ls home/.aws/sso/cache
expect '^[0-9a-f]{40}\.json$'

run aws sts get-caller-identity --profile "$profile"
expect "\"UserId\": \"AROA[A-Z0-9]+:$person\"" "\"Account\": \"$account\"" \
  "\"Arn\": \"arn:aws:sts::$account:assumed-role/AWSReservedSSO_${role}_[0-9a-f]{16}/$person\""
say "the keys are temporary ones of the role $role, and name $person"

# ---- Locations and a fleet ----------------------------------------------------

part 'Custom locations and an Anywhere fleet'
for location in custom-test-location custom-home-desktop custom-home-location; do
  run aws gamelift create-location --location-name "$location" --profile "$profile"
  expect "\"LocationArn\": \"arn:aws:gamelift:$region:$account:location/$location\""
done
run aws gamelift create-fleet --name AnywhereFleet --compute-type ANYWHERE \
  --locations Location=custom-home-location Location=custom-home-desktop --profile "$profile"
expect '"ComputeType": "ANYWHERE"' '"Status": "ACTIVE"'
fleet=$(member FleetId)

# ---- A compute and its game server --------------------------------------------

part 'A compute, its token and its game server'
run aws gamelift register-compute --compute-name DesktopPC --fleet-id "$fleet" --ip-address 121.170.174.147 \
  --location custom-home-location --profile "$profile"
expect "\"ComputeArn\": \"arn:aws:gamelift:$region:$account:compute/DesktopPC\"" '"ComputeStatus": "Active"'
url=$(member GameLiftServiceSdkEndpoint)
run aws gamelift get-compute-auth-token --fleet-id "$fleet" --compute-name DesktopPC --profile "$profile"
token=$(member AuthToken)

port=7777
if (exec 3<>/dev/tcp/127.0.0.1/7777) 2>/dev/null; then
  echo "Port 7777 is taken, so the game server takes any free one."
  port=0
fi
# The certificate behind the wss:// URL is of a CA that the service has made.
MUSTER_CA_FILE=data/tls/ca.pem background server muster sample-server -log "-authtoken=$token" -hostid=DesktopPC \
  "-fleetid=$fleet" "-websocketurl=$url" -port "$port"
await server 'Networking outcome success. Init SDK success'
await server 'players connect to '
port=$(sed -n 's/.*players connect to .*:\([0-9]*\)$/\1/p' "$work/server.log")

# ---- A game session and a player ----------------------------------------------

part 'A game session and a player'
run aws gamelift create-game-session --fleet-id "$fleet" --name DebugGameSession --maximum-player-session-count 4 \
  --region "$region" --location custom-home-location --profile "$profile"
expect "\"GameSessionId\": \"arn:aws:gamelift:$region::gamesession/$fleet/custom-home-location/gsess-" '"Status": "ACTIVATING"'
session=$(member GameSessionId)
await server 'GameSession Initializing : arn:'
becomes ACTIVE 'GameSessions[0].Status' describe-game-sessions --game-session-id "$session"
run aws gamelift describe-game-sessions --game-session-id "$session" --profile "$profile"
expect '"Status": "ACTIVE"' "\"Port\": $port"

run aws gamelift create-player-session --game-session-id "$session" --player-id PlayerOne --profile "$profile"
expect '"Status": "RESERVED"' '"PlayerSessionId": "psess-'
background player client -server "127.0.0.1:$port" "-playersession=$(member PlayerSessionId)" -player PlayerOne -quiet
player=$pid
await player 'joined as player'
run aws gamelift describe-player-sessions --game-session-id "$session" --profile "$profile"
expect '"PlayerId": "PlayerOne"' '"Status": "ACTIVE"'
kill "$player"
wait "$player" 2>/dev/null || fail "the player did not leave well: $(cat "$work/player.log")"
becomes COMPLETED 'PlayerSessions[0].Status' describe-player-sessions --game-session-id "$session"
say 'the player came, played and left'

# ---- What the administrator sees ----------------------------------------------

part 'The audit trail'
trail() { muster audit --user "$person" --profile muster | grep -q CreatePlayerSession; }
within "$patience" trail || fail 'the audit trail has no CreatePlayerSession'
run muster audit --user "$person" --profile muster
for event in CreateLocation CreateFleet RegisterCompute CreateGameSession CreatePlayerSession; do expect "$event"; done

part "$person signs out"
run "${sign_out[@]}"
try aws sts get-caller-identity --profile "$profile"
[ "$status" != 0 ] || fail 'the profile works after the sign-out'
say 'the session has ended'

printf '\nEverything was as it must be.\n'
