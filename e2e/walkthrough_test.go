package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/e2e/clients"
)

// everyClient is the clients that people use, over both protocols.
var everyClient = map[string]func(*testing.T, *service) clients.Caller{
	"Go":         func(t *testing.T, s *service) clients.Caller { return goSDK{t.Context(), s.client()} },
	"bytes":      func(t *testing.T, s *service) clients.Caller { return botocore{t, s} },
	"AWS CLI":    func(t *testing.T, s *service) clients.Caller { return clients.AWSCLI(t, s.environ()) },
	"boto3":      func(t *testing.T, s *service) clients.Caller { return clients.Boto3(t, s.environ()) },
	"JavaScript": func(t *testing.T, s *service) clients.Caller { return clients.JavaScript(t, s.environ()) },
}

// TestWalkThrough follows, with every client, what guides to Anywhere fleets tell
// their readers to do: a location, a fleet, a compute, a game server started on
// the command line, a game session and player sessions.
func TestWalkThrough(t *testing.T) {
	t.Parallel()
	for name, open := range everyClient {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, fakeTime)
			w := &walk{T: t, service: s, client: open(t, s)}
			w.locations()
			w.fleet()
			w.computes()
			w.withoutServers()
			w.strangers()
			server := w.server()
			w.visitors()
			w.gameSession(server)
			w.playerSessions(server)
			w.fullGameSession()
		})
	}
}

// A walk is one way through.
type walk struct {
	*testing.T
	*service
	client clients.Caller

	fleetID, fleetArn string
	token             string
	session           string
}

const (
	uuidPattern = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
	arnPrefix   = "arn:aws:gamelift:" + testRegion + ":" + testAccount + ":"
)

// params are the members of a request.
type params = map[string]any

// do makes a call that must succeed.
func (w *walk) do(operation string, in params) answer {
	w.Helper()
	var out any
	if err := w.client.Call(operation, in, &out); err != nil {
		w.Fatalf("%s: %v", operation, err)
	}
	return answer{w.T, operation, out}
}

// refused makes a call that must fail with an exception.
func (w *walk) refused(code, operation string, in params) {
	w.Helper()
	err := w.client.Call(operation, in, nil)
	if clients.Code(err) != code {
		w.Errorf("%s %v: got %v, want %s", operation, in, err, code)
	}
}

// An answer is what a call answered.
type answer struct {
	*testing.T
	operation string
	value     any
}

// at finds a member by its path, as in "GameSessions.0.Status"; "" when it is absent.
func (a answer) at(path string) string {
	a.Helper()
	value := a.value
	for step := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(v) {
				a.Fatalf("%s: %s: there are %d", a.operation, path, len(v))
			}
			value = v[i]
		default:
			a.Fatalf("%s: no %s in %v", a.operation, path, a.value)
		}
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// is expects members to have these values.
func (a answer) is(want map[string]any) {
	a.Helper()
	for path, value := range want {
		if got := a.at(path); got != fmt.Sprint(value) {
			a.Errorf("%s: %s is %q, want %q", a.operation, path, got, fmt.Sprint(value))
		}
	}
}

// like expects members to match these patterns in whole.
func (a answer) like(want map[string]string) {
	a.Helper()
	for path, pattern := range want {
		if got := a.at(path); !regexp.MustCompile("^(?:" + pattern + ")$").MatchString(got) {
			a.Errorf("%s: %s is %q, which is not like %s", a.operation, path, got, pattern)
		}
	}
}

// each lists a member of all elements of a list.
func (a answer) each(list, member string) (found []string) {
	a.Helper()
	elements, ok := a.value.(map[string]any)[list].([]any)
	if !ok {
		a.Fatalf("%s: no list %s in %v", a.operation, list, a.value)
	}
	for _, e := range elements {
		found = append(found, answer{a.T, a.operation, e}.at(member))
	}
	return found
}

var walkLocations = []string{"custom-home-desktop", "custom-home-location", "custom-test-location"}

func (w *walk) locations() {
	w.do("CreateLocation", params{"LocationName": "custom-test-location"}).is(map[string]any{
		"Location.LocationName": "custom-test-location",
		"Location.LocationArn":  arnPrefix + "location/custom-test-location",
	})
	w.refused("ConflictException", "CreateLocation", params{"LocationName": "custom-test-location"})
	w.refused("InvalidRequestException", "CreateLocation", params{"LocationName": "mylocation"})
	w.do("CreateLocation", params{"LocationName": "custom-home-desktop"})
	w.do("CreateLocation", params{"LocationName": "custom-home-location"})
	expectSame(w.T, "locations", w.do("ListLocations", params{}).each("Locations", "LocationName"), walkLocations)
}

func (w *walk) fleet() {
	in := params{"Name": "AnywhereFleet", "ComputeType": "ANYWHERE", "Locations": []params{
		{"Location": "custom-home-location"}, {"Location": "custom-home-desktop"}, {"Location": "custom-test-location"},
	}}
	fleet := w.do("CreateFleet", in)
	fleet.like(map[string]string{"FleetAttributes.FleetId": "fleet-" + uuidPattern})
	w.fleetID = fleet.at("FleetAttributes.FleetId")
	w.fleetArn = arnPrefix + "fleet/" + w.fleetID
	fleet.is(map[string]any{"FleetAttributes.FleetArn": w.fleetArn, "FleetAttributes.ComputeType": "ANYWHERE",
		"FleetAttributes.Name": "AnywhereFleet"})
	expectSame(w.T, "locations of the fleet", fleet.each("LocationStates", "Location"), walkLocations)

	eventually(w, "the fleet is ACTIVE", func() bool {
		return w.do("DescribeFleetAttributes",
			params{"FleetIds": []string{w.fleetID}}).at("FleetAttributes.0.Status") == "ACTIVE"
	})
	codes := w.do("DescribeFleetEvents", params{"FleetId": w.fleetID}).each("Events", "EventCode")
	for _, code := range []string{"FLEET_CREATED", "FLEET_STATE_ACTIVE", "LOCATION_STATE_ACTIVE"} {
		if !slices.Contains(codes, code) {
			w.Errorf("no event %s in %q", code, codes)
		}
	}
}

func (w *walk) computes() {
	register := params{"FleetId": w.fleetID, "ComputeName": "DesktopPC", "IpAddress": "121.170.174.147",
		"Location": "custom-home-desktop"}
	compute := w.do("RegisterCompute", register)
	compute.is(map[string]any{
		"Compute.FleetId": w.fleetID, "Compute.FleetArn": w.fleetArn, "Compute.ComputeName": "DesktopPC",
		"Compute.ComputeArn": arnPrefix + "compute/DesktopPC", "Compute.IpAddress": "121.170.174.147",
		"Compute.ComputeStatus": "Active",
		"Compute.Location":      "custom-home-desktop", "Compute.GameLiftServiceSdkEndpoint": w.WSS,
		"Compute.GameLiftAgentEndpoint": w.WSS + "/agent",
	})
	register["Location"] = "custom-home-location"
	w.refused("ConflictException", "RegisterCompute", register)
	w.do("DeregisterCompute", params{"FleetId": w.fleetID, "ComputeName": "DesktopPC"})
	w.do("RegisterCompute", register)

	token := w.do("GetComputeAuthToken", params{"FleetId": w.fleetID, "ComputeName": "DesktopPC"})
	token.is(map[string]any{"FleetId": w.fleetID, "FleetArn": w.fleetArn, "ComputeName": "DesktopPC",
		"ComputeArn": arnPrefix + "compute/DesktopPC"})
	token.like(map[string]string{"AuthToken": uuidPattern, "ExpirationTimestamp": ".+"})
	w.token = token.at("AuthToken")
	w.refused("NotFoundException", "GetComputeAuthToken", params{"FleetId": w.fleetID, "ComputeName": "Laptop"})
}

// create are the members of CreateGameSession.
func (w *walk) create() params {
	return params{"FleetId": w.fleetID, "Name": "DebugGameSession", "MaximumPlayerSessionCount": 4,
		"Location": "custom-home-location"}
}

func (w *walk) withoutServers() {
	w.refused("FleetCapacityExceededException", "CreateGameSession", w.create())
	anywhere := w.create()
	delete(anywhere, "Location")
	w.refused("InvalidRequestException", "CreateGameSession", anywhere)
}

// serverArgs is the command line of a game server.
func (w *walk) serverArgs(token string, more ...string) []string {
	return append([]string{
		"-log", "-authtoken=" + token, "-hostid=DesktopPC", "-fleetid=" + w.fleetID, "-websocketurl=" + w.WS, "-port",
		"0",
	}, more...)
}

func (w *walk) strangers() {
	server := startArena(w, w.serverArgs("00000000-0000-4000-8000-000000000000")...)
	if err := receive(w, "the end of a server with a wrong token", server.ended); err == nil ||
		!strings.Contains(err.Error(), "403") {
		w.Errorf("a server with a wrong token: %v", err)
	}
}

// server starts the game server and waits until it is ready.
func (w *walk) server() *arenaServer {
	server := startArena(w, w.serverArgs(w.token)...)
	server.address(w)
	server.await(w, `Performing Health Check`)
	at := 0
	log := server.log.String()
	for _, line := range []string{
		"LogInit: Command Line: -log ", "Initializing the GameLift Server", "AUTH_TOKEN : ", "HOST_ID: DesktopPC",
		"FLEET_ID: " + w.fleetID, "WEBSOCKET_URL: ", "PID : ",
		"[info] Connecting to GameLift WebSocket server", "[info] Connected to WebSocket",
		"[info] Connection established successfully.",
		"[info] Networking outcome success. Init SDK success", "Calling ProcessReady",
		"Sending Socket Message, isConnected:true, endpoint: ",
		`Received message from websocket: {"Action":"ActivateServerProcess",`,
	} {
		next := strings.Index(log[at:], line)
		if next < 0 {
			w.Fatalf("the game server's log lacks %q, or has it out of order:\n%s", line, log)
		}
		at += next
	}
	if strings.Contains(log, w.token) {
		w.Error("the game server prints its token")
	}
	w.do("DescribeFleetLocationUtilization",
		params{"FleetId": w.fleetID, "Location": "custom-home-location"}).is(map[string]any{
		"FleetUtilization.ActiveServerProcessCount": 1, "FleetUtilization.ActiveGameSessionCount": 0,
	})
	return server
}

// visitors join a game server that lets anybody in.
func (w *walk) visitors() {
	server := startArena(w, w.serverArgs(w.token, "-allowunticketed")...)
	first := enter(w, server.address(w), "")
	second := enter(w, server.address(w), "")
	if first.Number() != 1 || second.Number() != 2 {
		w.Errorf("the players are number %d and %d", first.Number(), second.Number())
	}
	first.say("hello")
	for _, p := range []*player{first, second} {
		p.hear(1, "hello")
	}
	server.stop()
	if err := receive(w, "the end of a server", server.ended); err != nil {
		w.Errorf("a server that was stopped: %v", err)
	}
}

func (w *walk) gameSession(server *arenaServer) {
	created := w.do("CreateGameSession", w.create())
	created.like(map[string]string{
		"GameSession.GameSessionId": "arn:aws:gamelift:" + testRegion + "::gamesession/" + w.fleetID +
			"/custom-home-location/gsess-" + uuidPattern,
		"GameSession.CreationTime":   ".+",
		"GameSession.GameProperties": `(\[\])?`, // the SDK for Go reads an empty list as none
	})
	w.session = created.at("GameSession.GameSessionId")
	_, port, _ := strings.Cut(server.address(w), ":")
	created.is(map[string]any{
		"GameSession.Name": "DebugGameSession", "GameSession.FleetId": w.fleetID, "GameSession.FleetArn": w.fleetArn,
		"GameSession.CurrentPlayerSessionCount": 0, "GameSession.MaximumPlayerSessionCount": 4,
		"GameSession.Status":    "ACTIVATING",
		"GameSession.IpAddress": "121.170.174.147", "GameSession.Port": port,
		"GameSession.PlayerSessionCreationPolicy": "ACCEPT_ALL", "GameSession.Location": "custom-home-location",
	})
	server.await(w, `GameSession Initializing : `+regexp.QuoteMeta(w.session))
	eventually(w, "the game session is ACTIVE", func() bool {
		return w.do("DescribeGameSessions", params{"GameSessionId": w.session}).at("GameSessions.0.Status") == "ACTIVE"
	})
}

// reserve takes a place for a player and gives the player session's id.
func (w *walk) reserve(player string) string {
	created := w.do("CreatePlayerSession", params{"GameSessionId": w.session, "PlayerId": player})
	created.like(map[string]string{"PlayerSession.PlayerSessionId": "psess-" + uuidPattern,
		"PlayerSession.CreationTime": ".+"})
	created.is(map[string]any{
		"PlayerSession.PlayerId": player, "PlayerSession.GameSessionId": w.session, "PlayerSession.FleetId": w.fleetID,
		"PlayerSession.FleetArn": w.fleetArn, "PlayerSession.Status": "RESERVED",
		"PlayerSession.IpAddress": "121.170.174.147",
	})
	return created.at("PlayerSession.PlayerSessionId")
}

// status is that of a player session.
func (w *walk) status(playerSession string) string {
	return w.do("DescribePlayerSessions", params{"PlayerSessionId": playerSession}).at("PlayerSessions.0.Status")
}

// count is the number of players in the game session.
func (w *walk) count() string {
	return w.do("DescribeGameSessions",
		params{"GameSessionId": w.session}).at("GameSessions.0.CurrentPlayerSessionCount")
}

func (w *walk) playerSessions(server *arenaServer) {
	late := w.reserve("PlayerOne")
	w.do("DescribePlayerSessions", params{"PlayerId": "PlayerOne"}).is(map[string]any{
		"PlayerSessions.0.IpAddress": "121.170.174.147", "PlayerSessions.0.GameSessionId": w.session,
		"PlayerSessions.0.Status": "RESERVED",
	})
	w.advance(time.Minute)
	eventually(w, "the reservation has timed out", func() bool { return w.status(late) == "TIMEDOUT" })
	if n := w.count(); n != "0" {
		w.Errorf("%s players when the place is free again", n)
	}
	turnedAway(w, server.address(w), late)

	joined := w.reserve("PlayerOne")
	p := enter(w, server.address(w), joined)
	turnedAway(w, server.address(w), joined) // one player for one player session
	if got, n := w.status(joined), w.count(); got != "ACTIVE" || n != "1" {
		w.Errorf("the player is %s and %s players are in the game session", got, n)
	}
	p.leave()
	eventually(w, "the player session is COMPLETED", func() bool { return w.status(joined) == "COMPLETED" })
	if n := w.count(); n != "0" {
		w.Errorf("%s players when all have left", n)
	}
	if err := receive(w, "the end of the server", server.ended); err != nil { // its last player has left
		w.Errorf("the game server: %v", err)
	}
	eventually(w, "the game session has ended", func() bool {
		return w.do("DescribeGameSessions",
			params{"GameSessionId": w.session}).at("GameSessions.0.Status") == "TERMINATED"
	})
}

func (w *walk) fullGameSession() {
	slow := w.newCompute(w, w.fleetID, "custom-home-location", "SlowPC")
	p := w.launch(w, slow, behaviour{idle: true})
	w.session = w.do("CreateGameSession", w.create()).at("GameSession.GameSessionId")
	w.refused("InvalidGameSessionStatusException", "CreatePlayerSession",
		params{"GameSessionId": w.session, "PlayerId": "PlayerOne"})
	receive(w, "the game session at the process", p.started)
	if err := p.ActivateGameSession(w.Context()); err != nil {
		w.Fatal(err)
	}
	for i := range 4 {
		w.do("CreatePlayerSession", params{"GameSessionId": w.session, "PlayerId": fmt.Sprint("Player", i)})
	}
	w.refused("GameSessionFullException", "CreatePlayerSession",
		params{"GameSessionId": w.session, "PlayerId": "PlayerFive"})
	w.do("DescribePlayerSessions", params{"PlayerId": "Player3"}).is(map[string]any{
		"PlayerSessions.0.IpAddress": "127.0.0.1", "PlayerSessions.0.Port": 7777,
		"PlayerSessions.0.GameSessionId": w.session,
	})
}
