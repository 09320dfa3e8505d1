#!/usr/bin/env bash
# The way through an Anywhere fleet, from the first location to the last player,
# with the AWS CLI, the sample game server and players of examples/arena. Every
# command is printed before it runs, and its answer after it, so that you can
# follow, or do the same by hand.
#
#   examples/walkthrough/anywhere.sh
#
# It starts a service of its own in a temporary directory and leaves nothing
# behind. It needs Go and the AWS CLI, version 1 or 2 (`make clients` installs
# one into .tools). At its end it prints the list of what was to be seen; its
# exit status is 0 if all of it was.
#
#   --reservation-timeout 15s   do not wait a whole minute for a player who never
#                               comes; a setting of the service that it starts
#   --existing                  use a service that runs: the one that the variables
#                               AWS_ENDPOINT_URL_GAMELIFT, AWS_ACCESS_KEY_ID,
#                               AWS_SECRET_ACCESS_KEY and AWS_REGION point to, as
#                               in muster.env, and MUSTER_CA_FILE for its wss://
#                               address. What the walk creates there is deleted.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
existing=
reservation=60s
while [ $# -gt 0 ]; do
  case $1 in
  --existing) existing=yes ;;
  --reservation-timeout) reservation=${2:?a time such as 15s is missing} && shift ;;
  *) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2 && exit 2 ;;
  esac
  shift
done
work=$(mktemp -d)

# ---- The list -----------------------------------------------------------------

first=5 last=33
title[5]='create-location answers with a location and its ARN'
title[6]='the same location again is a conflict; a name without custom- is refused'
title[7]='three locations are listed'
title[8]='create-fleet answers with the fleet and its locations'
title[9]='the fleet has an id and an ARN, and becomes ACTIVE'
title[10]='console: metrics of the fleet'
title[11]='describe-fleet-events tells of the fleet and its locations'
title[12]='register-compute answers with the compute, Active, and the address for game servers'
title[13]='the name of the compute is taken'
title[14]='the compute moves to custom-home-location'
title[15]='get-compute-auth-token answers with a token; an unknown compute is not found'
title[16]='the game server connects, with its log in order'
title[17]='its process is counted, and is free'
title[18]='its health is checked every minute'
title[19]='a game server with a wrong token is turned away with 403 and fails'
title[20]='players without a player session are refused, unless the game server lets them in'
title[21]='two players are in the same game, see one another and hear one another'
title[22]='without a game server there is no capacity for a game session'
title[23]='a fleet of several locations needs to be told which'
title[24]='create-game-session answers ACTIVATING'
title[25]='the game server is given the game session'
title[26]='the game session becomes ACTIVE'
title[27]='create-player-session answers RESERVED'
title[28]='console: player sessions of the game session'
title[29]='a player who does not come loses the place'
title[30]='a player who comes is ACTIVE and counted'
title[31]='a player who leaves is COMPLETED, and the place is free'
title[32]='a full game session takes no player, nor does one that is ACTIVATING'
title[33]='describe-player-sessions finds a player'
later=' 10 28 ' # not in this release

# seen N: the walk has come to item N. wrong N WHY: it is not as it should be.
seen() { was_seen[$1]=yes; }
wrong() {
  printf '✗ %s: %s\n' "$1" "$2"
  was_wrong[$1]=${was_wrong[$1]:-$2}
}

# summary prints the list. It fails unless all is well.
summary() {
  local n all=0
  printf '\n   1–4 – single sign-on: examples/walkthrough/run.sh\n'
  for ((n = first; n <= last; n++)); do
    if [[ $later == *" $n "* ]]; then
      printf '%5s – %s: not in this release\n' "$n" "${title[n]}"
    elif [ "${was_seen[n]:-}" ] && [ -z "${was_wrong[n]:-}" ]; then
      printf '%5s ✓ %s\n' "$n" "${title[n]}"
    else
      printf '%5s ✗ %s: %s\n' "$n" "${title[n]}" "${was_wrong[n]:-not reached}"
      all=1
    fi
  done
  return $all
}

# ---- Running and checking -----------------------------------------------------

if ! command -v aws >/dev/null; then
  for python in "$root"/.tools/python/bin/python "$root"/.tools/python/Scripts/python.exe; do
    [ -x "$python" ] && break
  done
  [ -x "$python" ] || { echo "There is no AWS CLI: install it, or run make clients." >&2 && exit 1; }
  aws() { "$python" -m awscli "$@"; }
fi

# run prints a command, runs it and prints what it says. $answer is its output,
# $complaint its standard error and $status its exit status.
run() {
  printf '\n$ %s\n' "$*"
  status=0
  answer=$("$@" 2>"$work/complaint") || status=$?
  complaint=$(cat "$work/complaint")
  [ -z "$answer$complaint" ] || printf '%s\n' "$answer$complaint" | sed 's/^/  /'
}

# expect N PATTERN…: the last command worked and its answer matches the patterns.
expect() {
  local n=$1 pattern
  seen "$n"
  shift
  [ "$status" = 0 ] || wrong "$n" "exit status $status: $complaint"
  for pattern; do
    grep -Eq -- "$pattern" <<<"$answer" || wrong "$n" "the answer has no $pattern"
  done
}

# refused N EXCEPTION: the service refused the last command with this exception.
refused() {
  seen "$1"
  [ "$status" -ge 254 ] || wrong "$1" "exit status $status, not 254 or 255"
  [[ $complaint == *"An error occurred ($2) when calling the "* ]] || wrong "$1" "no $2: $complaint"
}

# member NAME: the first text of that name in the last answer.
member() { sed -n 's/.*"'"$1"'": "\([^"]*\)".*/\1/p' <<<"$answer" | head -n 1; }

# within SECONDS COMMAND…: repeats the command until it succeeds.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.2
  done
}

logged() { grep -Fq -- "$2" "$1"; }
logged_twice() { [ "$(grep -Fc -- "$2" "$1")" -ge 2 ]; }
over() { ! kill -0 "$1" 2>/dev/null; }

# ask QUERY COMMAND…: the result of a query, without telling.
ask() {
  local query=$1
  shift
  aws gamelift "$@" --profile shin --query "$query" --output text
}
answers() { # answers TEXT QUERY COMMAND…
  local want=$1
  shift
  [ "$(ask "$@")" = "$want" ]
}

give_up() {
  echo "$*" >&2
  exit 1
}

# ---- The end ------------------------------------------------------------------

started=() # process ids
fleet=
finish() {
  local result=$? pid i
  trap - EXIT
  for ((i = ${#started[@]} - 1; i >= 0; i--)); do # the service last
    pid=${started[i]}
    kill -CONT "$pid" 2>/dev/null || true
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  [ -z "$existing" ] || tidy
  rm -rf "$work"
  summary || result=1
  exit "$result"
}
# tidy deletes what was created at a service that was there before.
tidy() {
  local location
  [ -z "$fleet" ] || aws gamelift delete-fleet --fleet-id "$fleet" --profile shin || true
  for location in ${created[@]+"${created[@]}"}; do
    aws gamelift delete-location --location-name "$location" --profile shin || true
  done
}
created=() # locations
trap finish EXIT
trap 'exit 130' INT TERM PIPE

# ---- The service and a profile ------------------------------------------------

echo "Building muster and a player for its sample game server."
muster=$work/muster$(go env GOEXE)
client=$work/arena-client$(go env GOEXE)
(cd "$root" && go build -o "$muster" ./cmd/muster && go build -o "$client" ./examples/arena/client)

if [ "$existing" ]; then
  : "${AWS_ENDPOINT_URL_GAMELIFT:?}" "${AWS_ACCESS_KEY_ID:?}" "${AWS_SECRET_ACCESS_KEY:?}" "${AWS_REGION:?}"
  region=$AWS_REGION account='[0-9]{12}'
else
  region=ap-northeast-2 account=634747716040
  printf '\n$ muster dev --no-sample --no-machine --region %s --account %s --reservation-timeout %s --listen 127.0.0.1:0 --data %s\n' \
    "$region" "$account" "$reservation" "$work/data"
  "$muster" dev --no-sample --no-machine --region "$region" --account "$account" --reservation-timeout "$reservation" \
    --listen 127.0.0.1:0 --data "$work/data" >"$work/service.log" 2>&1 &
  service=$!
  started+=("$service")
  ready() { [ -s "$work/data/muster.env" ] || over "$service"; }
  within 60 ready && ! over "$service" || give_up "The service did not start: $(cat "$work/service.log")"
  # shellcheck source=/dev/null
  source "$work/data/muster.env"
fi

cat >"$work/config" <<END
[profile shin]
region = $region
output = json
cli_timestamp_format = iso8601
aws_access_key_id = $AWS_ACCESS_KEY_ID
aws_secret_access_key = $AWS_SECRET_ACCESS_KEY
END
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION
export AWS_CONFIG_FILE=$work/config AWS_SHARED_CREDENTIALS_FILE=$work/none AWS_PAGER='' TZ=Asia/Seoul
export AWS_ENDPOINT_URL_GAMELIFT MUSTER_CA_FILE=${MUSTER_CA_FILE:-}
arn=arn:aws:gamelift:$region:$account
uuid='[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
time='"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+\+09:00"'
echo
echo "The service is at $AWS_ENDPOINT_URL_GAMELIFT; the profile shin has its access key."
[ "$existing" ] || echo "A reservation lasts $reservation there."

# ---- Locations and a fleet ----------------------------------------------------

if [ "$existing" ] && aws gamelift list-locations --profile shin --output text | grep -E 'custom-(test-location|home-desktop|home-location)'; then
  give_up "The service has a location that the walk is to create."
fi

created=(custom-test-location custom-home-desktop custom-home-location)
run aws gamelift create-location --location-name custom-test-location --profile shin
expect 5 '"LocationName": "custom-test-location"' "\"LocationArn\": \"$arn:location/custom-test-location\""

run aws gamelift create-location --location-name custom-test-location --profile shin
refused 6 ConflictException
run aws gamelift create-location --location-name mylocation --profile shin
refused 6 InvalidRequestException

run aws gamelift create-location --location-name custom-home-desktop --profile shin
expect 7 custom-home-desktop
run aws gamelift create-location --location-name custom-home-location --profile shin
expect 7 custom-home-location
run aws gamelift list-locations --profile shin
expect 7 custom-test-location custom-home-desktop custom-home-location

run aws gamelift create-fleet --name AnywhereFleet --compute-type ANYWHERE \
  --locations Location=custom-home-location Location=custom-home-desktop Location=custom-test-location --profile shin
expect 8 '"Name": "AnywhereFleet"' '"ComputeType": "ANYWHERE"' '"LocationStates"' '"Location": "custom-home-location"'
expect 9 "\"FleetId\": \"fleet-$uuid\"" "\"FleetArn\": \"$arn:fleet/fleet-$uuid\"" "\"CreationTime\": $time"
fleet=$(member FleetId)
[ "$fleet" ] || give_up "There is no fleet to go on with."
within 60 answers ACTIVE 'FleetAttributes[0].Status' describe-fleet-attributes --fleet-ids "$fleet" || wrong 9 'it never became ACTIVE'

run aws gamelift describe-fleet-events --fleet-id "$fleet" --profile shin
expect 11 '"EventCode": "FLEET_CREATED"' '"EventCode": "FLEET_STATE_ACTIVE"' '"EventCode": "LOCATION_STATE_ACTIVE"' "\"EventTime\": $time"

# ---- A compute and its token --------------------------------------------------

run aws gamelift register-compute --compute-name DesktopPC --fleet-id "$fleet" --ip-address 121.170.174.147 --location custom-home-desktop --profile shin
expect 12 "\"FleetArn\": \"$arn:fleet/$fleet\"" "\"ComputeArn\": \"$arn:compute/DesktopPC\"" '"ComputeStatus": "Active"' '"IpAddress": "121.170.174.147"' \
  '"Location": "custom-home-desktop"' "\"CreationTime\": $time" '"GameLiftServiceSdkEndpoint": "wss://' '"GameLiftAgentEndpoint": "wss://'
endpoint=$(member GameLiftServiceSdkEndpoint)

run aws gamelift register-compute --compute-name DesktopPC --fleet-id "$fleet" --ip-address 121.170.174.148 --location custom-home-location --profile shin
refused 13 ConflictException

run aws gamelift deregister-compute --compute-name DesktopPC --fleet-id "$fleet" --profile shin
expect 14
run aws gamelift register-compute --compute-name DesktopPC --fleet-id "$fleet" --ip-address 121.170.174.147 --location custom-home-location --profile shin
expect 14 '"Location": "custom-home-location"'

run aws gamelift get-compute-auth-token --fleet-id "$fleet" --compute-name DesktopPC --profile shin
expect 15 "\"AuthToken\": \"$uuid\"" "\"ExpirationTimestamp\": $time" "\"ComputeArn\": \"$arn:compute/DesktopPC\""
token=$(member AuthToken)
run aws gamelift get-compute-auth-token --fleet-id "$fleet" --compute-name Laptop --profile shin
refused 15 NotFoundException

# ---- No game server yet -------------------------------------------------------

create=(aws gamelift create-game-session --fleet-id "$fleet" --name DebugGameSession --maximum-player-session-count 4 --region "$region")
run "${create[@]}" --location custom-home-location --profile shin
refused 22 FleetCapacityExceededException
run "${create[@]}" --profile shin
refused 23 InvalidRequestException

# ---- Game servers -------------------------------------------------------------

# serve NAME TOKEN PORT FLAG…: starts a game server; $server is its process.
serve() {
  local name=$1 token=$2 port=$3
  shift 3
  set -- -log "-authtoken=$token" -hostid=DesktopPC "-fleetid=$fleet" "-websocketurl=$endpoint" -port "$port" "$@"
  printf '\n$ muster sample-server %s >%s.log &\n' "$*" "$name"
  "$muster" sample-server "$@" >"$work/$name.log" 2>&1 &
  server=$!
  started+=("$server")
}
# players NAME: waits for a game server; $port is where its players connect.
players() {
  within 60 logged "$work/$1.log" 'players connect to ' || give_up "The game server is not ready: $(cat "$work/$1.log")"
  port=$(sed -n 's/.*players connect to .*:\([0-9]*\)$/\1/p' "$work/$1.log")
}

serve stranger 00000000-0000-4000-8000-000000000000 0
seen 19
result=0
wait "$server" || result=$?
sed 's/^/  /' "$work/stranger.log"
[ "$result" != 0 ] || wrong 19 'it ended well'
logged "$work/stranger.log" 403 || wrong 19 'it was not told 403'

want=7777
if (exec 3<>/dev/tcp/127.0.0.1/7777) 2>/dev/null; then
  echo "Port 7777 is taken, so the game server takes any free one."
  want=0
fi
serve desktop "$token" "$want"
desktop=$server
players desktop
game=$port
within 10 logged "$work/desktop.log" 'Performing Health Check' || wrong 18 'no health check at the start'
sed 's/^/  /' "$work/desktop.log"

seen 16
line=0
while read -r text; do
  next=$(tail -n +"$((line + 1))" "$work/desktop.log" | grep -Fn -m 1 -- "$text" | cut -d : -f 1) || true
  [ "$next" ] || { wrong 16 "the log has no '$text' where it should be" && break; }
  line=$((line + next))
done <<END
LogInit: Command Line: -log -authtoken=
Initializing the GameLift Server
AUTH_TOKEN :
HOST_ID: DesktopPC
FLEET_ID: $fleet
WEBSOCKET_URL: $endpoint
PID :
[info] Connecting to GameLift WebSocket server
[info] Connected to WebSocket
[info] Connection established successfully.
[info] Networking outcome success. Init SDK success
Calling ProcessReady
Sending Socket Message, isConnected:true, endpoint:
Received message from websocket: {"Action":"ActivateServerProcess",
END

run aws gamelift describe-fleet-location-utilization --fleet-id "$fleet" --location custom-home-location --profile shin
expect 17 '"ActiveServerProcessCount": 1' '"ActiveGameSessionCount": 0'
run aws gamelift describe-compute --fleet-id "$fleet" --compute-name DesktopPC --profile shin
expect 17 '"ComputeStatus": "Active"'

# ---- Players without a player session -----------------------------------------

# enter NAME PORT PLAYER-SESSION FLAG…: starts a player, who walks in a circle.
enter() {
  local name=$1 port=$2 ticket=$3
  shift 3
  set -- -server "127.0.0.1:$port" "-playersession=$ticket" "$@"
  printf '\n$ go run ./examples/arena/client %s >%s.log &\n' "$*" "$name"
  "$client" "$@" >"$work/$name.log" 2>&1 </dev/null &
  player=$!
  started+=("$player")
}
# hear N NAME TEXT: waits until a player prints a line with the text.
hear() {
  if within 20 logged "$work/$2.log" "$3"; then
    grep -F -m 1 -- "$3" "$work/$2.log" | sed "s/^/  $2: /"
  else
    wrong "$1" "$2 did not print '$3', but: $(cat "$work/$2.log")"
  fi
}
# leave N PROCESS: lets a player leave, as Ctrl+C does.
leave() {
  kill "$2"
  wait "$2" || wrong "$1" 'a player did not end well'
}

seen 20
enter nobody "$game" ''
result=0
wait "$player" || result=$?
hear 20 nobody 'refused: a player session id is needed'
[ "$result" = 3 ] || wrong 20 "a player who was to be refused ended with $result"
serve open "$token" 0 -allowunticketed
open=$server
players open
enter ada "$port" '' -player ada -say hello
ada=$player
hear 20 ada 'joined as player 1'
seen 21
enter bob "$port" '' -player bob -say 'hello yourself'
bob=$player
hear 21 bob 'joined as player 2'
hear 21 ada 'sees player 2 (bob) at'
hear 21 bob 'sees player 1 (ada) at'
hear 21 ada 'player 1 (ada) says: hello'
hear 21 bob 'player 1 (ada) says: hello'
hear 21 ada 'player 2 (bob) says: hello yourself'
leave 21 "$bob"
hear 21 ada 'player 2 (bob) left'
leave 21 "$ada"
kill "$open" # so that the game session goes to the other one
wait "$open" || wrong 20 'the game server did not end well'

# ---- A game session -----------------------------------------------------------

run "${create[@]}" --location custom-home-location --profile shin
expect 24 "\"GameSessionId\": \"arn:aws:gamelift:$region::gamesession/$fleet/custom-home-location/gsess-$uuid\"" '"Name": "DebugGameSession"' \
  "\"FleetArn\": \"$arn:fleet/$fleet\"" "\"CreationTime\": $time" '"CurrentPlayerSessionCount": 0' '"MaximumPlayerSessionCount": 4' \
  '"Status": "ACTIVATING"' '"GameProperties": \[\]' '"IpAddress": "121.170.174.147"' "\"Port\": $game" \
  '"PlayerSessionCreationPolicy": "ACCEPT_ALL"' '"Location": "custom-home-location"'
session=$(member GameSessionId)

seen 25
within 20 logged "$work/desktop.log" "GameSession Initializing : $session" || wrong 25 'it was not'

within 20 answers ACTIVE 'GameSessions[0].Status' describe-game-sessions --game-session-id "$session" || wrong 26 'it never became ACTIVE'
run aws gamelift describe-game-sessions --game-session-id "$session" --profile shin
expect 26 '"Status": "ACTIVE"'

# ---- Player sessions ----------------------------------------------------------

run aws gamelift create-player-session --game-session-id "$session" --player-id PlayerOne --profile shin
expect 27 "\"PlayerSessionId\": \"psess-$uuid\"" '"PlayerId": "PlayerOne"' "\"GameSessionId\": \"$session\"" "\"FleetArn\": \"$arn:fleet/$fleet\"" \
  "\"CreationTime\": $time" '"Status": "RESERVED"' '"IpAddress": "121.170.174.147"' "\"Port\": $game"
late=$(member PlayerSessionId)

run aws gamelift describe-player-sessions --player-id PlayerOne --profile shin
expect 33 '"IpAddress": "121.170.174.147"' "\"Port\": $game" "\"GameSessionId\": \"$session\""

printf '\nPlayerOne does not come: waiting until the reservation has run out.\n'
timed_out() { answers TIMEDOUT 'PlayerSessions[0].Status' describe-player-sessions --player-session-id "$late"; }
within 90 timed_out || wrong 29 'the reservation did not time out'
run aws gamelift describe-game-sessions --game-session-id "$session" --profile shin
expect 29 '"CurrentPlayerSessionCount": 0'

run aws gamelift create-player-session --game-session-id "$session" --player-id PlayerOne --profile shin
expect 30 '"Status": "RESERVED"'
joined=$(member PlayerSessionId)
enter PlayerOne "$game" "$joined" -player PlayerOne
one=$player
hear 30 PlayerOne 'joined as player 1'
run aws gamelift describe-player-sessions --player-session-id "$joined" --profile shin
expect 30 '"Status": "ACTIVE"'
run aws gamelift describe-game-sessions --game-session-id "$session" --profile shin
expect 30 '"CurrentPlayerSessionCount": 1'

seen 18
echo
echo "Waiting for the second health check: at most 70 s after the first."
within 75 logged_twice "$work/desktop.log" 'Performing Health Check' || wrong 18 'there was no second one'
run aws gamelift describe-fleet-location-utilization --fleet-id "$fleet" --location custom-home-location --profile shin
expect 18 '"ActiveServerProcessCount": 1'

leave 31 "$one"
tail -n 1 "$work/PlayerOne.log" | sed 's/^/  PlayerOne: /'
completed() { answers COMPLETED 'PlayerSessions[0].Status' describe-player-sessions --player-session-id "$joined"; }
within 20 completed || wrong 31 'the player session was not COMPLETED'
run aws gamelift describe-game-sessions --game-session-id "$session" --profile shin
expect 31 '"CurrentPlayerSessionCount": 0'
wait "$desktop" || wrong 31 'the game server, whose last player had left, did not end well'

# ---- A full game session ------------------------------------------------------

serve second "$token" 0
players second
echo "The game server sleeps, so that the game session stays ACTIVATING."
kill -STOP "$server"
run "${create[@]}" --location custom-home-location --profile shin
expect 32 '"Status": "ACTIVATING"'
session=$(member GameSessionId)
run aws gamelift create-player-session --game-session-id "$session" --player-id PlayerOne --profile shin
refused 32 InvalidGameSessionStatusException
kill -CONT "$server"
within 20 answers ACTIVE 'GameSessions[0].Status' describe-game-sessions --game-session-id "$session" || wrong 32 'the game session never became ACTIVE'
run aws gamelift create-player-sessions --game-session-id "$session" --player-ids PlayerOne PlayerTwo PlayerThree PlayerFour --profile shin
expect 32 '"PlayerId": "PlayerFour"'
run aws gamelift create-player-session --game-session-id "$session" --player-id PlayerFive --profile shin
refused 32 GameSessionFullException
