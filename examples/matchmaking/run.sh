#!/usr/bin/env bash
# Queues, placement and matchmaking from end to end, with the AWS CLI, game clients on
# the AWS SDK for Go (the program beside this script), the game server of
# examples/arena and its players. Every command is printed before it runs, and its
# answer after it, so that you can follow, or do the same by hand.
#
#   examples/matchmaking/run.sh
#
# It starts a service of its own in a temporary directory and leaves nothing behind.
# It needs Go, curl 7.75 or newer, and the AWS CLI, version 1 or 2 (`make clients`
# installs one into .tools). Its exit status is 0 if everything was as it must be; else
# its last line says what was not.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)

# ---- Running and checking -----------------------------------------------------

if ! command -v aws >/dev/null; then
  for python in "$root"/.tools/python/bin/python "$root"/.tools/python/Scripts/python.exe; do
    [ -x "$python" ] && break
  done
  [ -x "$python" ] || { echo "There is no AWS CLI: install it, or run make clients." >&2 && exit 1; }
  aws() { "$python" -m awscli "$@"; }
fi

. "$root/examples/steps.sh"

# ask QUERY COMMAND…: the result of a query, without telling.
ask() {
  local query=$1
  shift
  aws gamelift "$@" --query "$query" --output text
}
# becomes TEXT QUERY COMMAND…: asks until the answer is the text.
becomes() {
  local want=$1
  shift
  is() { got=$(ask "$@") && [ "$got" = "$want" ]; }
  within "$patience" is "$@" || fail "$2 ${*:3} never was $want; it is $got"
}
ticket_becomes() { becomes "$2" 'TicketList[0].Status' describe-matchmaking --ticket-ids "$1" && say "ticket $1 is $2"; }
placement_becomes() { becomes "$2" GameSessionPlacement.Status describe-game-session-placement --placement-id "$1" && say "placement $1 is $2"; }

# ---- A service, and where its events go ---------------------------------------

part 'A service, and where its events go'
echo 'Building muster and the players.'
(cd "$root" && go build -o "$work/bin/" ./cmd/muster ./examples/arena/client ./examples/matchmaking)
PATH=$work/bin:$PATH

echo "whsec_$(head -c 32 /dev/urandom | base64)" >"$work/secret"
background webhooks matchmaking receive -secret-file "$work/secret"
await webhooks 'receiving at http://'
receiver=$(sed -n 's/^receiving at //p' "$work/webhooks.log")

region=eu-central-1 account=634747716040
placements=arn:aws:sns:$region:$account:placements
matches=arn:aws:sns:$region:$account:matches
background service muster dev --no-sample --no-machine --region "$region" --account "$account" --reservation-timeout 10m \
  --listen 127.0.0.1:0 --gateway-listen 127.0.0.1:0 --data "$work/data" --webhook-secret-file "$work/secret" \
  --webhooks "$placements=$receiver/placements,$matches=$receiver/matches,$receiver/all"
service=$pid
ready() { [ -s "$work/data/muster.env" ] || ! kill -0 "$service" 2>/dev/null; }
within "$patience" ready && kill -0 "$service" 2>/dev/null || fail 'the service did not start'
unset AWS_PROFILE AWS_SESSION_TOKEN
# shellcheck source=/dev/null
source "$work/data/muster.env"
export AWS_CONFIG_FILE=$work/none AWS_SHARED_CREDENTIALS_FILE=$work/none AWS_PAGER='' AWS_EC2_METADATA_DISABLED=true AWS_DEFAULT_OUTPUT=json
say "the service is at $AWS_ENDPOINT_URL_GAMELIFT"

# ---- Game servers -------------------------------------------------------------

part 'A fleet with game servers: three near, one far, none elsewhere'
for location in custom-near custom-far custom-empty; do
  run aws gamelift create-location --location-name "$location"
done
run aws gamelift create-fleet --name Arena --compute-type ANYWHERE \
  --locations Location=custom-near Location=custom-far Location=custom-empty
fleet=$(member FleetId) fleet_arn=$(member FleetArn)
becomes ACTIVE 'FleetAttributes[0].Status' describe-fleet-attributes --fleet-ids "$fleet"

# serve NAME COMPUTE TOKEN: starts a game server.
serve() {
  background "$1" muster sample-server -log "-authtoken=$3" "-hostid=$2" "-fleetid=$fleet" "-websocketurl=$MUSTER_WS_URL" -port 0
  await "$1" 'players connect to '
}
run aws gamelift register-compute --compute-name near --fleet-id "$fleet" --ip-address 127.0.0.1 --location custom-near
token=$(ask AuthToken get-compute-auth-token --fleet-id "$fleet" --compute-name near)
for name in near1 near2 near3; do serve "$name" near "$token"; done
run aws gamelift register-compute --compute-name far --fleet-id "$fleet" --ip-address 127.0.0.1 --location custom-far
serve far1 far "$(ask AuthToken get-compute-auth-token --fleet-id "$fleet" --compute-name far)"

# ---- A queue and a placement --------------------------------------------------

part 'A queue, and a placement with the latencies of its players'
run aws gamelift create-game-session-queue --name arena --timeout-in-seconds 300 --destinations "DestinationArn=$fleet_arn" \
  --player-latency-policies MaximumIndividualPlayerLatencyMilliseconds=100 MaximumIndividualPlayerLatencyMilliseconds=50,PolicyDurationSeconds=60 \
  --custom-event-data season-1 --notification-target "$placements"
expect '"Name": "arena"' "\"GameSessionQueueArn\": \"arn:aws:gamelift:$region:$account:gamesessionqueue/arena\"" '"TimeoutInSeconds": 300'
queue_arn=$(member GameSessionQueueArn)

# custom-far comes first in the alphabet; the latencies make it custom-near.
run aws gamelift start-game-session-placement --placement-id first --game-session-queue-name arena \
  --maximum-player-session-count 2 --game-properties Key=map,Value=harbour \
  --player-latencies PlayerId=ada,RegionIdentifier=custom-near,LatencyInMilliseconds=20 PlayerId=ada,RegionIdentifier=custom-far,LatencyInMilliseconds=90 \
  PlayerId=bob,RegionIdentifier=custom-near,LatencyInMilliseconds=30 PlayerId=bob,RegionIdentifier=custom-far,LatencyInMilliseconds=80 \
  --desired-player-sessions PlayerId=ada PlayerId=bob
expect '"PlacementId": "first"' '"Status": "PENDING"' '"StartTime": '
placement_becomes first FULFILLED
run aws gamelift describe-game-session-placement --placement-id first
expect '"Status": "FULFILLED"' '"GameSessionRegion": "custom-near"' '"IpAddress": "127.0.0.1"' '"Port": [0-9]' '"EndTime": ' \
  "\"GameSessionArn\": \"arn:aws:gamelift:$region::gamesession/$fleet/custom-near/first\"" '"PlayerSessionId": "psess-'
port=$(sed -n 's/.*"Port": \([0-9]*\).*/\1/p' <<<"$answer")

# play NAME PORT PLAYERSESSION: a player joins a game; $pid is its process.
play() {
  background "$1" client -server "127.0.0.1:$2" -playersession "$3" -player "$1" -quiet
  await "$1" 'joined as player'
}
seat() { ask "GameSessionPlacement.PlacedPlayerSessions[?PlayerId=='$1'].PlayerSessionId | [0]" describe-game-session-placement --placement-id first; }
play ada "$port" "$(seat ada)" && ada=$pid
play bob "$port" "$(seat bob)" && bob=$pid
stop "$ada" && await bob 'player 1 \(ada\) left' && stop "$bob"
say 'both played in the game session that the queue has found'

try aws gamelift start-game-session-placement --placement-id first --game-session-queue-name arena --maximum-player-session-count 2
[[ $complaint == *"(InvalidRequestException)"* ]] || fail 'a placement id was taken twice'
say 'a placement id is good for one placement'

# signed PATH: asks the service for what the AWS API does not have.
signed() {
  curl --silent --show-error --fail --aws-sigv4 "aws:amz:$AWS_REGION:gamelift" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
    "$AWS_ENDPOINT_URL_GAMELIFT$1"
}
run signed /v1/placements/first
expect custom-near custom-far

part 'The same from a game client on the AWS SDK for Go'
run matchmaking place -queue arena -id second -players ada,bob -latencies custom-near=20,custom-far=90
expect 'placement second is PENDING' 'placement second is FULFILLED, in custom-near' 'ada joined' 'bob joined' 'ada sees 2 players'

part 'Placements that do not come to a game session'
for name in empty doomed; do
  run aws gamelift create-game-session-queue --name "$name" --timeout-in-seconds 10 --destinations "DestinationArn=$fleet_arn" \
    --filter-configuration AllowedLocations=custom-empty --notification-target "$placements"
done
start() { run aws gamelift start-game-session-placement --placement-id "$1" --game-session-queue-name "$2" --maximum-player-session-count 2; }
start patient empty
start stopped empty
run aws gamelift stop-game-session-placement --placement-id stopped
expect '"Status": "CANCELLED"' '"EndTime": '
start orphan doomed
run aws gamelift delete-game-session-queue --name doomed
placement_becomes orphan FAILED
placement_becomes patient TIMED_OUT

# ---- Matchmaking --------------------------------------------------------------

part 'A rule set and a configuration'
cat >"$work/rules.json" <<'END'
{"name": "duel", "ruleLanguageVersion": "1.0",
 "playerAttributes": [{"name": "skill", "type": "number", "default": 10}],
 "teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 1}, {"name": "blue", "minPlayers": 1, "maxPlayers": 2}],
 "rules": [{"name": "CloseSkill", "type": "distance", "maxDistance": 5,
   "measurements": ["max(flatten(teams[*].players.attributes[skill]))"],
   "referenceValue": "min(flatten(teams[*].players.attributes[skill]))"}]}
END
run aws gamelift validate-matchmaking-rule-set --rule-set-body "file://$work/rules.json"
expect '"Valid": true'
sed 's/skill\]/skil]/' "$work/rules.json" >"$work/misspelt.json"
try aws gamelift validate-matchmaking-rule-set --rule-set-body "file://$work/misspelt.json"
[[ $complaint == *"(InvalidRequestException)"*skil* ]] || fail 'a misspelt rule set is valid'
run aws gamelift create-matchmaking-rule-set --name duel --rule-set-body "file://$work/rules.json"
expect "\"RuleSetArn\": \"arn:aws:gamelift:$region:$account:matchmakingruleset/duel\""
run aws gamelift create-matchmaking-configuration --name duel --rule-set-name duel --game-session-queue-arns "$queue_arn" \
  --acceptance-required --acceptance-timeout-seconds 300 --request-timeout-seconds 900 --flex-match-mode WITH_QUEUE --backfill-mode MANUAL \
  --game-properties Key=mode,Value=duel --custom-event-data season-1 --notification-target "$matches"
expect '"FlexMatchMode": "WITH_QUEUE"' "\"ConfigurationArn\": \"arn:aws:gamelift:$region:$account:matchmakingconfiguration/duel\""

part 'Two tickets, one by the AWS CLI, one by the AWS SDK for Go'
run aws gamelift start-matchmaking --configuration-name duel --ticket-id ticket-ada \
  --players 'PlayerId=ada,PlayerAttributes={skill={N=10}},LatencyInMs={custom-near=20,custom-far=90}'
expect '"Status": "QUEUED"'
background grace matchmaking ticket -configuration duel -id ticket-grace -player grace -skill 12 -latencies custom-near=30,custom-far=80
grace=$pid
ticket_becomes ticket-ada REQUIRES_ACCEPTANCE
ticket_becomes ticket-grace REQUIRES_ACCEPTANCE
await grace 'accepts the match'
run aws gamelift accept-match --ticket-id ticket-ada --player-ids ada --acceptance-type ACCEPT
ticket_becomes ticket-ada COMPLETED
run aws gamelift describe-matchmaking --ticket-ids ticket-ada ticket-grace
expect '"GameSessionConnectionInfo"' '"IpAddress": "127.0.0.1"' '"Port": [0-9]' '"PlayerSessionId": "psess-' '"Team": "red"' '"Team": "blue"'
game=$(member GameSessionArn)
host=$(cd "$work" && grep -l 'LogMatch: Match ' -- near*.log) || fail 'no game server was given MatchmakerData'
host=${host%.log}
await "$host" 'LogMatch: Match .*"ada".*"grace"|LogMatch: Match .*"grace".*"ada"'
say 'the game server was given MatchmakerData that names both players'
await grace 'grace joined the game'
connection() { ask "TicketList[0].GameSessionConnectionInfo.$2" describe-matchmaking --ticket-ids "$1"; }
play ada "$(connection ticket-ada Port)" "$(connection ticket-ada 'MatchedPlayerSessions[0].PlayerSessionId')" && ada=$pid

part 'Backfill: the free place of the blue team'
aws gamelift describe-matchmaking --ticket-ids ticket-ada ticket-grace --query 'TicketList[].Players[]' --output json >"$work/players.json"
run aws gamelift start-match-backfill --configuration-name duel --ticket-id backfill --game-session-arn "$game" --players "file://$work/players.json"
expect '"Status": "QUEUED"' '"TicketId": "backfill"'
background linus matchmaking ticket -configuration duel -id ticket-linus -player linus -skill 11 -latencies custom-near=25,custom-far=85
linus=$pid
await linus 'ticket ticket-linus is REQUIRES_ACCEPTANCE'
ticket_becomes ticket-linus COMPLETED
ticket_becomes backfill COMPLETED
[ "$(connection ticket-linus GameSessionArn)" = "$game" ] || fail 'the third player is in another game session'
await "$host" 'LogMatch: GameSession updated: MATCHMAKING_DATA_UPDATED by backfill backfill'
await "$host" 'LogMatch: Match .*"linus"'
await linus 'linus joined the game'
say 'the third player is in the same game session, and the game server was told'
run aws gamelift describe-player-sessions --game-session-id "$game" --query 'PlayerSessions[].[PlayerId,Status]' --output text
expect $'ada\tACTIVE' $'grace\tACTIVE' $'linus\tACTIVE'

part 'A match that is rejected'
for name in ken dennis; do
  run aws gamelift start-matchmaking --configuration-name duel --ticket-id "ticket-$name" --players "PlayerId=$name"
done
ticket_becomes ticket-ken REQUIRES_ACCEPTANCE
ticket_becomes ticket-dennis REQUIRES_ACCEPTANCE
run aws gamelift accept-match --ticket-id ticket-ken --player-ids ken --acceptance-type ACCEPT
run aws gamelift accept-match --ticket-id ticket-dennis --player-ids dennis --acceptance-type REJECT
ticket_becomes ticket-dennis CANCELLED
ticket_becomes ticket-ken SEARCHING
run aws gamelift describe-matchmaking --ticket-ids ticket-ken ticket-dennis
expect '"StatusReason": '
try aws gamelift accept-match --ticket-id ticket-ken --player-ids ken --acceptance-type ACCEPT
[[ $complaint == *"(InvalidRequestException)"* ]] || fail 'a ticket that searches can be accepted'
run aws gamelift stop-matchmaking --ticket-id ticket-ken
ticket_becomes ticket-ken CANCELLED

part 'Tickets that time out, or fail'
run aws gamelift create-matchmaking-configuration --name hasty --rule-set-name duel --game-session-queue-arns "$queue_arn" \
  --no-acceptance-required --request-timeout-seconds 1 --notification-target "$matches"
run aws gamelift start-matchmaking --configuration-name hasty --ticket-id ticket-hasty --players PlayerId=barbara
ticket_becomes ticket-hasty TIMED_OUT
run aws gamelift create-game-session-queue --name doomed --destinations "DestinationArn=$fleet_arn" --notification-target "$placements"
run aws gamelift create-matchmaking-configuration --name lost --rule-set-name duel --game-session-queue-arns "$(member GameSessionQueueArn)" \
  --no-acceptance-required --request-timeout-seconds 900 --notification-target "$matches"
run aws gamelift delete-game-session-queue --name doomed
for name in edsger donald; do
  run aws gamelift start-matchmaking --configuration-name lost --ticket-id "ticket-$name" --players "PlayerId=$name"
done
ticket_becomes ticket-edsger FAILED
ticket_becomes ticket-donald FAILED

stop "$ada" && stop "$grace" && stop "$linus"
await "$host" 'LogSampleGame: Process ending'

# ---- Events -------------------------------------------------------------------

part 'The event feed, and the webhooks'
types() { grep -o '"type":"[A-Za-z]*"' "$work/feed" | cut -d '"' -f 4; }
ids() { grep -o '"id":"[^"]*"' | cut -d '"' -f 4 | sort; }
# verified PATH: the ids of the events that came to a path, signed.
verified() { sed -n "s,^verified /$1 [^ ]* ,,p" "$work/webhooks.log" | sort; }
# of TOPIC: the ids of the events in the feed for a topic.
of() { grep -F "\"target\":\"$1\"" "$work/feed" | ids; }
all_told() { signed /v1/events >"$work/feed" && [ "$(types | grep -cx MatchmakingFailed)" = 2 ]; }
within "$patience" all_told || fail "the feed never had all events: $(cat "$work/feed")"
printf '\n$ curl --aws-sigv4 aws:amz:%s:gamelift --user … %s/v1/events\n' "$AWS_REGION" "$AWS_ENDPOINT_URL_GAMELIFT"
sed 's/^/  /' "$work/feed"
[ -z "$(ids <"$work/feed" | uniq -d)" ] || fail 'the feed has an event twice'
all_sent() {
  signed /v1/events >"$work/feed" # once more: it may have had a later event
  [ "$(verified all)" = "$(ids <"$work/feed")" ] && [ "$(verified placements)" = "$(of "$placements")" ] && [ "$(verified matches)" = "$(of "$matches")" ]
}
within "$patience" all_sent || fail "the webhooks have not had the events of the feed: $(cat "$work/webhooks.log")"
echo
sed 's/^/  /' "$work/webhooks.log"
logged webhooks 'answered the first delivery with 503' && ! logged webhooks '^refused' || fail 'a delivery was not signed'
say "the webhooks were sent all $(ids <"$work/feed" | wc -l) events, signed; the first came again after it had been refused"

# happened TYPE COUNT: so many events of that type are in the feed.
happened() {
  local count
  count=$(types | grep -cx "$1") || true
  [ "$count" = "$2" ] || fail "the feed has $count × $1, not $2"
  printf '  %2d × %s\n' "$count" "$1"
}
happened PlacementFulfilled 3    # first, second, and the match of ada and grace
happened PlacementCancelled 1    # stopped
happened PlacementTimedOut 1     # patient
happened PlacementFailed 1       # orphan
happened MatchmakingSearching 10 # nine tickets, and ken for the second time
happened PotentialMatchCreated 4 # the first, the backfill, the rejected one, the one without a queue
happened AcceptMatch 5           # ada, grace, linus, ken, dennis
happened AcceptMatchCompleted 3  # Accepted, Accepted, Rejected
happened MatchmakingSucceeded 2  # the match and the backfill
happened MatchmakingCancelled 2  # dennis and ken
happened MatchmakingTimedOut 1   # hasty
happened MatchmakingFailed 2     # edsger and donald
printf '\nEverything was as it must be.\n'
