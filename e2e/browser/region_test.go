//go:build screenshots

package browser_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/people"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/agent/machine"
	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/mustertest"
)

// A liveRegion is a service with two fleets, in which people play. Its clock runs as the system's does, and jumps, so
// that not all is new.
type liveRegion struct {
	*people.Service
	clock *clockwork.FakeClock

	fleets   map[string]types.FleetAttributes // by name
	sessions []types.GameSession
	players  int                    // who play
	shown    string                 // the ARN of the game session with a picture
	servers  map[string]startedGame // by the game session's ARN, after it has started
	started  chan startedGame
	build    string // the id of the build with a picture
}

// A startedGame is a game session that a game server was given.
type startedGame struct {
	id      string
	server  *gameserver.Server
	restart func() // starts another process in the place of the game server
}

// The fleets, with the number of their processes.
var plan = []struct {
	fleet, location, host, address string
	processes                      int
}{
	{"arena-eu", "custom-fra", "fra-01", "203.0.113.10", 8}, {"arena-eu", "custom-lon", "lon-01", "203.0.113.24", 6},
	{"arena-us", "custom-iad", "iad-01", "198.51.100.7", 10},
}

// startRegion fills a region through the API.
func startRegion(t *testing.T) *liveRegion {
	r := &liveRegion{clock: clockwork.NewFakeClockAt(time.Now().Add(-22 * time.Hour)),
		fleets: map[string]types.FleetAttributes{}, servers: map[string]startedGame{},
		started: make(chan startedGame, 64)}
	r.runClock(t)
	r.Service = people.Start(t, func(c *muster.Config) {
		c.Clock, c.ClockSkew, c.OpenConsole = r.clock, 24*time.Hour, "on"
	})
	r.people()
	r.createFleets()
	r.createQueues()
	r.clock.Advance(20*time.Hour + 50*time.Minute)
	r.startServers()
	r.createSessions()
	r.place()
	r.match()
	r.fail()
	r.lateJoin()
	r.upload()
	r.joinMachines()
	return r
}

// runClock lets the clock run until the test has ended.
func (r *liveRegion) runClock(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-stopped })
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				r.clock.Advance(now.Sub(last))
				last = now
			}
		}
	}()
}

// people adds users, a group and keys.
func (r *liveRegion) people() {
	r.AddUser("ana", "administrator")
	r.AddUser("ben", "developer")
	r.AddUser("chloe", "read-only", "developer")
	r.AddUser("dmitri", "operator")
	r.Manage("POST", "users", object{"name": "eve", "invite": true})
	r.Manage("POST", "groups", object{"name": "live-ops", "description": "On call for the arenas"})
	r.Manage("POST", "keys", object{"service": "arena-backend", "name": "backend of production"})
	r.Manage("POST", "keys", object{"service": "nightly-load-test"})
}

// coordinates are those of the locations of plan.
var coordinates = map[string]string{"custom-fra": "50.1,8.7", "custom-lon": "51.5,-0.1", "custom-iad": "38.9,-77.4"}

func (r *liveRegion) createFleets() {
	locations := map[string][]types.LocationConfiguration{}
	for _, each := range plan {
		mustertest.Call(r, r.Client.CreateLocation, &gamelift.CreateLocationInput{LocationName: &each.location,
			Tags: []types.Tag{{Key: aws.String("muster:lat,lon"), Value: aws.String(coordinates[each.location])}}})
		locations[each.fleet] = append(locations[each.fleet], types.LocationConfiguration{Location: &each.location})
	}
	for _, name := range []string{"arena-eu", "arena-us"} {
		r.fleets[name] = *mustertest.Call(r, r.Client.CreateFleet, &gamelift.CreateFleetInput{Name: &name,
			Description: aws.String("Arena 1.4.2, " + strings.ToUpper(name[6:])), MetricGroups: []string{"arena"},
			ComputeType: types.ComputeTypeAnywhere, Locations: locations[name],
			Tags: []types.Tag{{Key: aws.String("game"), Value: aws.String("arena")},
				{Key: aws.String("release"), Value: aws.String("1.4.2")}}}).FleetAttributes
	}
}

// startServers starts the game servers: 24 processes.
func (r *liveRegion) startServers() {
	for _, each := range plan {
		on := r.Compute(*r.fleets[each.fleet].FleetId, each.location, each.host,
			func(in *gamelift.RegisterComputeInput) { in.IpAddress = &each.address })
		for i := range each.processes {
			on.ProcessID = gameserver.NewProcessID()
			r.startServer(on, 7777+i)
		}
	}
}

func (r *liveRegion) startServer(on gameserver.ServerParameters, port int) {
	server := gameserver.New(gameserver.Config{Getenv: func(string) string { return "" }})
	r.Cleanup(func() { server.Close(); server.Wait() })
	must(r, server.Connect(r.Context(), on))
	must(r, server.ProcessReady(r.Context(), gameserver.ProcessParameters{
		Port: port,
		OnStartGameSession: func(gs gameserver.GameSession) {
			r.started <- startedGame{gs.GameSessionID, server, func() { r.startServer(on, port) }}
		},
		OnProcessTerminate: func() { r.Report(server.ProcessEnding(context.Background())) },
	}))
}

// activateNext activates the next game session that a game server was given.
func (r *liveRegion) activateNext() {
	started := <-r.started
	r.clock.Advance(840 * time.Millisecond) // the game server loads the map
	must(r, started.server.ActivateGameSession(r.Context()))
	r.servers[started.id] = started
}

// await waits until a game session has started.
func (r *liveRegion) await(id string) *gameserver.Server {
	for r.servers[id].server == nil {
		r.activateNext()
	}
	return r.servers[id].server
}

// pass lets minutes pass, in which a backend searches. A jump of the clock by 10 s, the interval of the metrics, is a
// pause of the service, which extends the deadlines of the game servers; the calls give it time to record.
func (r *liveRegion) pass(minutes int) {
	for range 6 * minutes {
		r.clock.Advance(10 * time.Second)
		for range 10 {
			mustertest.Call(r, r.Client.SearchGameSessions, &gamelift.SearchGameSessionsInput{
				FleetId: r.fleets["arena-eu"].FleetId, Location: aws.String("custom-fra")})
		}
	}
}

// A guest is a player of a game that ends before the pictures are taken.
type guest struct{ name, session, id string }

// playBefore starts games of 3 players that end one after the other, each when next is called.
func (r *liveRegion) playBefore() (next func()) {
	var guests []guest
	for i := range 6 {
		each := plan[i%len(plan)]
		gs := *mustertest.Call(r, r.Client.CreateGameSession, &gamelift.CreateGameSessionInput{
			FleetId: r.fleets[each.fleet].FleetId, Location: &each.location,
			MaximumPlayerSessionCount: aws.Int32(8)}).GameSession
		r.await(*gs.GameSessionId)
		for n := range 3 {
			g := guest{name: fmt.Sprintf("guest-%d", 3*i+n), session: *gs.GameSessionId}
			g.id = r.join(r.servers[g.session].server, g.session, g.name, 700*time.Millisecond)
			guests = append(guests, g)
		}
		r.pass(1)
	}
	return func() {
		if len(guests) == 0 {
			return
		}
		g, game := guests[0], r.servers[guests[0].session]
		must(r, game.server.RemovePlayerSession(r.Context(), g.id))
		if guests = guests[1:]; len(guests) == 0 || guests[0].session != g.session {
			must(r, game.server.ProcessEnding(r.Context()))
			game.server.Close()
			game.restart()
		}
	}
}

// createSessions creates 15 game sessions in an hour, with the players of most of them, while earlier games end.
func (r *liveRegion) createSessions() {
	endNext := r.playBefore()
	maps := []string{"Frostbite", "Old Harbour", "Canopy", "Meridian", "Saltworks"}
	modes := []string{"ranked", "duel", "free-for-all"}
	for i := range 15 {
		each := plan[i%len(plan)]
		size := []int32{8, 2, 12}[i%3]
		gs := *mustertest.Call(r, r.Client.CreateGameSession, &gamelift.CreateGameSessionInput{
			FleetId: r.fleets[each.fleet].FleetId, Location: &each.location, MaximumPlayerSessionCount: &size,
			Name:      aws.String(fmt.Sprintf("%s %d", maps[i%len(maps)], 401+i)),
			CreatorId: aws.String("arena-backend"),
			GameProperties: []types.GameProperty{{Key: aws.String("map"), Value: &maps[i%len(maps)]},
				{Key: aws.String("mode"), Value: &modes[i%len(modes)]}}}).GameSession
		r.sessions = append(r.sessions, gs)
		server := r.await(*gs.GameSessionId)
		for range min(int(size), []int{5, 2, 3, 1, 0}[i%5]) {
			r.join(server, *gs.GameSessionId, players[r.players], 300*time.Millisecond)
			r.players++
			endNext()
		}
		r.pass([]int{2, 5, 3, 4, 4}[i%5])
	}
}

// players are those of game sessions, beside the game session of the picture.
var players = []string{
	"aaron", "amira", "anouk", "arjun", "bjorn", "bruno", "carmen", "chidi", "dede", "diego", "elif", "erik",
	"fatima", "freya", "gus", "hugo", "idris", "ines", "jamal", "jun", "karim", "kirsten", "lena", "luca",
	"marco", "maya", "nadia", "niko", "olga", "pablo", "quentin", "rafael", "sanne", "theo",
}

// join reserves a slot for a player, who joins a while later; 0: does not join.
func (r *liveRegion) join(server *gameserver.Server, session, player string, after time.Duration) (id string) {
	id = *mustertest.Call(r, r.Client.CreatePlayerSession, &gamelift.CreatePlayerSessionInput{
		GameSessionId: &session, PlayerId: &player}).PlayerSession.PlayerSessionId
	if after > 0 {
		r.clock.Advance(after)
		must(r, server.AcceptPlayerSession(r.Context(), id))
	}
	return id
}

// createQueues creates queues, and the configurations and rule sets of matchmaking.
func (r *liveRegion) createQueues() {
	to := []types.GameSessionQueueDestination{{DestinationArn: r.fleets["arena-eu"].FleetArn},
		{DestinationArn: r.fleets["arena-us"].FleetArn}}
	last := types.PlayerLatencyPolicy{MaximumIndividualPlayerLatencyMilliseconds: aws.Int32(120)}
	for name, policies := range map[string][]types.PlayerLatencyPolicy{"duel": {last}, "ranked": {
		{MaximumIndividualPlayerLatencyMilliseconds: aws.Int32(60), PolicyDurationSeconds: aws.Int32(30)}, last}} {
		mustertest.Call(r, r.Client.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{Name: &name,
			Destinations: to, TimeoutInSeconds: aws.Int32(300), PlayerLatencyPolicies: policies})
	}
	queue := mustertest.Call(r, r.Client.DescribeGameSessionQueues, &gamelift.DescribeGameSessionQueuesInput{
		Names: []string{"ranked"}}).GameSessionQueues[0]
	mustertest.Call(r, r.Client.CreateMatchmakingRuleSet, &gamelift.CreateMatchmakingRuleSetInput{
		Name: aws.String("four-against-four"), RuleSetBody: aws.String(fourAgainstFour)})
	mustertest.Call(r, r.Client.CreateMatchmakingConfiguration, &gamelift.CreateMatchmakingConfigurationInput{
		Name: aws.String("ranked-4v4"), RuleSetName: aws.String("four-against-four"),
		Description:           aws.String("Ranked, four against four"),
		GameSessionQueueArns:  []string{*queue.GameSessionQueueArn},
		RequestTimeoutSeconds: aws.Int32(180), AcceptanceRequired: aws.Bool(false)})
}

const fourAgainstFour = `{
  "name": "four-against-four",
  "ruleLanguageVersion": "1.0",
  "playerAttributes": [
    { "name": "skill", "type": "number", "default": 1000 },
    { "name": "mode", "type": "string" }
  ],
  "teams": [
    { "name": "red", "minPlayers": 4, "maxPlayers": 4 },
    { "name": "blue", "minPlayers": 4, "maxPlayers": 4 }
  ],
  "rules": [
    {
      "name": "FairSkill",
      "description": "Players are at most 150 points from the average.",
      "type": "distance",
      "measurements": [ "flatten(teams[*].players.attributes[skill])" ],
      "referenceValue": "avg(flatten(teams[*].players.attributes[skill]))",
      "maxDistance": 150
    },
    {
      "name": "SameMode",
      "type": "comparison",
      "operation": "=",
      "measurements": [ "flatten(teams[*].players.attributes[mode])" ]
    },
    { "name": "LowLatency", "type": "latency", "maxLatency": 90 }
  ],
  "expansions": [
    {
      "target": "rules[FairSkill].maxDistance",
      "steps": [
        { "waitTimeSeconds": 60, "value": 300 },
        { "waitTimeSeconds": 120, "value": 600 }
      ]
    }
  ]
}`

// place starts a placement that is fulfilled, whose game session has the picture, and one that waits.
func (r *liveRegion) place() {
	placed := mustertest.Call(r, r.Client.StartGameSessionPlacement, r.placement("ranked", "evening-cup-final", 8,
		31, 44, 95, "ada", "goran", "mira", "priya")).GameSessionPlacement
	r.activateNext()
	var arn string
	mustertest.Eventually(r, "the placement is fulfilled", func() bool {
		p := mustertest.Call(r, r.Client.DescribeGameSessionPlacement,
			&gamelift.DescribeGameSessionPlacementInput{PlacementId: placed.PlacementId}).GameSessionPlacement
		arn = aws.ToString(p.GameSessionArn)
		return p.Status == types.GameSessionPlacementStateFulfilled
	})
	r.shown = arn
	server := r.await(arn)
	for _, p := range mustertest.Call(r, r.Client.DescribePlayerSessions,
		&gamelift.DescribePlayerSessionsInput{GameSessionId: &arn}).PlayerSessions {
		r.clock.Advance(2600 * time.Millisecond)
		if *p.PlayerId != "priya" { // whose reservation times out
			must(r, server.AcceptPlayerSession(r.Context(), *p.PlayerSessionId))
		}
	}
	r.join(server, arn, "tomoko", 3*time.Second)
	mustertest.Call(r, r.Client.StartGameSessionPlacement, r.placement("duel", "late-night-duel", 2, 190, 210, 240,
		"sven", "wanda"))
}

// placement is that of players who have the same latencies to Frankfurt, London and Virginia, in milliseconds.
func (r *liveRegion) placement(queue, id string, size int32, fra, lon, iad float32,
	names ...string) *gamelift.StartGameSessionPlacementInput {
	in := &gamelift.StartGameSessionPlacementInput{PlacementId: &id, GameSessionQueueName: &queue,
		GameSessionName: aws.String("Evening cup, final"), MaximumPlayerSessionCount: &size,
		GameProperties: []types.GameProperty{{Key: aws.String("map"), Value: aws.String("Frostbite")},
			{Key: aws.String("mode"), Value: aws.String("ranked")}}}
	for _, name := range names {
		in.DesiredPlayerSessions = append(in.DesiredPlayerSessions, types.DesiredPlayerSession{PlayerId: &name})
		for location, ms := range map[string]float32{"custom-fra": fra, "custom-lon": lon, "custom-iad": iad} {
			in.PlayerLatencies = append(in.PlayerLatencies, types.PlayerLatency{PlayerId: &name,
				RegionIdentifier: &location, LatencyInMilliseconds: &ms})
		}
	}
	return in
}

// match starts tickets that search: seven players who fit, of whom one lacks, and others who do not fit.
func (r *liveRegion) match() {
	skills := map[string]float64{"hana": 1040, "ilse": 1010, "jonas": 985, "kaya": 1075, "leandro": 960, "noor": 1450,
		"otto": 1390, "rosa": 300, "ulla": 1240}
	for i, name := range []string{"hana", "ilse", "jonas", "kaya", "leandro", "noor", "otto", "rosa", "ulla"} {
		mode := "capture"
		if name == "otto" {
			mode = "deathmatch"
		}
		mustertest.Call(r, r.Client.StartMatchmaking, &gamelift.StartMatchmakingInput{
			ConfigurationName: aws.String("ranked-4v4"), TicketId: aws.String(fmt.Sprintf("ticket-%d", 7401+i)),
			Players: []types.Player{{PlayerId: &name,
				LatencyInMs: map[string]int32{"custom-fra": int32(24 + 3*i), "custom-lon": int32(41 + 2*i)},
				PlayerAttributes: map[string]types.AttributeValue{
					"skill": {N: aws.Float64(skills[name])}, "mode": {S: &mode}}}}})
		r.clock.Advance(1100 * time.Millisecond)
	}
}

// fail makes calls that are refused, for the audit trail.
func (r *liveRegion) fail() {
	_, err := r.Client.DeleteGameSessionQueue(r.Context(), &gamelift.DeleteGameSessionQueueInput{Name: aws.String("x")})
	if err == nil {
		r.Fatal("a queue that does not exist was deleted")
	}
	_, err = r.Client.DeleteMatchmakingRuleSet(r.Context(),
		&gamelift.DeleteMatchmakingRuleSetInput{Name: aws.String("four-against-four")})
	if err == nil {
		r.Fatal("a rule set in use was deleted")
	}
}

// lateJoin lets a player into the game session of the picture after a reservation in it has timed out.
func (r *liveRegion) lateJoin() {
	for begun := r.begun(); r.clock.Since(begun) < 58*time.Second; r.begun() {
		r.clock.Advance(time.Second) // a longer jump is a pause of the service, which extends deadlines
	}
	mustertest.Eventually(r, "a reservation times out", func() bool {
		out := mustertest.Call(r, r.Client.DescribePlayerSessions, &gamelift.DescribePlayerSessionsInput{
			GameSessionId: &r.shown, PlayerSessionStatusFilter: aws.String("TIMEDOUT")})
		return len(out.PlayerSessions) > 0
	})
	r.join(r.servers[r.shown].server, r.shown, "viktor", 1800*time.Millisecond)
	r.join(r.servers[r.shown].server, r.shown, "yusuf", 0)
	for i, name := range []string{"ursula", "xenia", "zora"} {
		r.join(nil, *r.sessions[i*2].GameSessionId, name, 0)
	}
}

// begun returns when the game session of the picture was created.
func (r *liveRegion) begun() time.Time {
	return *mustertest.Call(r, r.Client.DescribeGameSessions, &gamelift.DescribeGameSessionsInput{
		GameSessionId: &r.shown}).GameSessions[0].CreationTime
}

// pictures returns the pages to take pictures of.
func (r *liveRegion) pictures() []picture {
	eu := "/console/fleets/" + *r.fleets["arena-eu"].FleetId
	return []picture{
		{"game-session", "/console/search?q=" + r.shown, "TIMEDOUT", everyWidth}, // first: a reservation runs
		{"overview", "/console/", "arena-us", everyWidth},
		{"fleets", "/console/fleets", "arena-us", nil},
		{"fleets-selected", "/console/fleets/selected?fleet=" + *r.fleets["arena-eu"].FleetId, "arena-eu", nil},
		{"create-fleet", "/console/fleets/create", "Description", nil},
		{"fleet", eu, "custom-lon", everyWidth},
		{"fleet-sessions", eu + "?tab=sessions", "Old Harbour", nil},
		{"fleet-computes", eu + "?tab=computes&compute=fra-01", "Server processes of fra-01", nil},
		{"fleet-events", eu + "?tab=events", "FLEET_CREATED", nil},
		{"game-sessions", "/console/game-sessions?fleet=" + *r.fleets["arena-us"].FleetId, "Canopy", nil},
		{"player", "/console/search?q=ada", "Player session", nil},
		{"queues", "/console/queues", "ranked", nil},
		{"queue", "/console/queues/ranked", "Free processes", nil},
		{"placement", "/console/placements/evening-cup-final", "FULFILLED", nil},
		{"placement-waits", "/console/placements/late-night-duel", "It waits", nil},
		{"matchmaking", "/console/matchmaking", "ranked-4v4", nil},
		{"configuration", "/console/matchmaking/ranked-4v4", "four-against-four", nil},
		{"create-configuration", "/console/matchmaking/create", "Time-out of a ticket", nil},
		{"ticket", "/console/tickets/ticket-7409", "Why it waits", nil},
		{"rule-sets", "/console/rule-sets", "four-against-four", nil},
		{"rule-set", "/console/rule-sets/four-against-four", "FairSkill", nil},
		{"rule-set-editor", "/console/rule-sets/create?from=four-against-four", "Save as new", nil},
		{"locations", "/console/locations", "custom-fra", nil},
		{"builds", "/console/builds", "is not a zip file", nil},
		{"build", "/console/builds/" + r.build, "READY", nil},
		{"machines", "/console/machines", "rack-2", nil},
		{"events", "/console/events", "MatchmakingSearching", nil},
		{"cluster", "/console/cluster", "runs alone", nil},
		{"settings", "/console/settings", "open-console", nil},
		{"api", "/console/api", "StartMatchmaking", nil},
		{"api-operation", "/console/api/DescribeFleetAttributes", "Members of the input", nil},
		{"users", "/console/users", "chloe", nil},
		{"user", "/console/users/chloe", "Sign-in sessions", nil},
		{"groups", "/console/groups", "live-ops", nil},
		{"roles", "/console/roles", "administrator", nil},
		{"role", "/console/roles/developer", "built-in", nil},
		{"policies", "/console/policies", "MusterViewer", nil},
		{"policy", "/console/policies/MusterViewer", "ConsoleUse", nil},
		{"keys", "/console/keys", "arena-backend", nil},
		{"audit", "/console/audit", "DeleteMatchmakingRuleSet", nil},
		{"log", "/console/log?level=info", "muster is ready", nil},
	}
}

// upload uploads a build, and one that is no archive; a third waits for its files.
func (r *liveRegion) upload() {
	r.Helper()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, size := range map[string]int{"server": 900_000, "maps/harbour.pak": 400_000, "maps/canopy.pak": 300_000} {
		f, err := z.Create(name)
		must(r, err)
		content := make([]byte, size)
		_, _ = rand.Read(content) // never fails
		_, err = f.Write(content)
		must(r, err)
	}
	must(r, z.Close())
	r.build = r.uploadBuild("1.4.0", archive.Bytes())
	r.uploadBuild("1.4.1", []byte("a page of an expired link"))
	mustertest.Call(r, r.Client.CreateBuild, &gamelift.CreateBuildInput{Name: aws.String("arena"),
		Version: aws.String("1.5.0")})
}

func (r *liveRegion) uploadBuild(version string, archive []byte) (id string) {
	r.Helper()
	made := mustertest.Call(r, r.Client.CreateBuild, &gamelift.CreateBuildInput{Name: aws.String("arena"),
		Version: &version})
	key := made.UploadCredentials
	client := s3.New(s3.Options{Region: r.Region, BaseEndpoint: &r.HTTP, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(*key.AccessKeyId, *key.SecretAccessKey,
			*key.SessionToken)})
	_, err := client.PutObject(r.Context(), &s3.PutObjectInput{Bucket: made.StorageLocation.Bucket,
		Key: made.StorageLocation.Key, Body: bytes.NewReader(archive)})
	must(r, err)
	return *made.Build.BuildId
}

// joinMachines joins two machines, of which one is drained.
func (r *liveRegion) joinMachines() {
	r.Helper()
	for i, name := range []string{"rack-1", "rack-2"} {
		token := r.Manage("POST", "machine-tokens", map[string]any{"location": "custom-fra", "ttlSeconds": 3600})
		m, err := machine.Open(machine.Config{Service: r.HTTP, Name: name, Data: r.TempDir(), Load: machine.MeasureLoad,
			Token: func() (string, error) { return token["token"].(string), nil }, Log: slog.New(slog.DiscardHandler),
			Offer: protocol.Offer{MilliCPUs: int32(8000 * (i + 1)), MemoryMiB: int64(32768 * (i + 1)),
				IP: fmt.Sprint("192.0.2.", 10+i), PortFirst: 20000, PortLast: 29999, Version: "v0.9.0", OS: "linux",
				Arch: "amd64"}})
		must(r, err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		r.Cleanup(func() { cancel(); must(r, <-ended) })
	}
	mustertest.Eventually(r, "the machines have joined", func() bool {
		return len(r.Manage("GET", "machines?status=ONLINE", nil)["machines"].([]any)) == 2
	})
	r.Manage("POST", "machines/rack-1/drain", nil)
}
