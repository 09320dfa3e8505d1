package e2e

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
)

// writeData makes TestOldDataDirectory write its files instead of reading them. Do it at the
// commit whose directories later ones must open.
var writeData = flag.Bool("write-data", false, "write testdata/olddata anew")

const (
	oldDirectory = "testdata/olddata/directory.tar.gz"
	oldAnswers   = "testdata/olddata/answers.json"
)

// oldTime is when the old directory was written, in the time of its service.
var oldTime = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// oldSettings makes the service go by a clock that the test moves. The age of the history
// goes by the real time.
func oldSettings(at time.Time) func(*muster.Config) {
	return func(c *muster.Config) {
		c.Clock, c.HistoryRetention = clockwork.NewFakeClockAt(at), 3650*24*time.Hour
	}
}

// TestOldDataDirectory opens a data directory that commit 63757af wrote and was killed on,
// with snapshots and records behind them: this service gives the same answers as that one.
func TestOldDataDirectory(t *testing.T) {
	t.Parallel()
	if *writeData {
		writeOldData(t)
	}
	want, err := os.ReadFile(oldAnswers)
	if err != nil {
		t.Fatal(err)
	}
	if got := answersOf(t, unpackOldData(t)); got != string(want) {
		t.Errorf("this service answers\n%s\nthe old one answered\n%s", got, want)
	}
}

// answersOf starts a service on an old directory, and describes all that it holds.
func answersOf(t *testing.T, data string) string {
	s := start(t, oldSettings(oldTime.Add(time.Minute)), func(c *muster.Config) { c.Data = data })
	fleet := *call(t, s.client().DescribeFleetAttributes,
		&gamelift.DescribeFleetAttributesInput{}).FleetAttributes[0].FleetId
	answers := s.everything(t, fleet) + s.allOfMatchmaking(t) + s.history(t, fleet)
	return strings.ReplaceAll(answers, strings.TrimPrefix(s.HTTP, "http://"), "127.0.0.1:0")
}

// allOfMatchmaking describes queues, placements and matchmaking, as text to compare.
func (s *service) allOfMatchmaking(t testing.TB) string {
	t.Helper()
	c := s.client()
	values := []any{
		call(t, c.DescribeGameSessionQueues, &gamelift.DescribeGameSessionQueuesInput{}).GameSessionQueues,
		call(t, c.DescribeMatchmakingConfigurations, &gamelift.DescribeMatchmakingConfigurationsInput{}).Configurations,
		call(t, c.DescribeMatchmakingRuleSets, &gamelift.DescribeMatchmakingRuleSetsInput{}).RuleSets,
		call(t, c.ListTagsForResource, &gamelift.ListTagsForResourceInput{ResourceARN: new(arnPrefix +
			"matchmakingconfiguration/asking")}).Tags,
		call(t, c.DescribeMatchmaking, &gamelift.DescribeMatchmakingInput{TicketIds: []string{"ada", "grace", "linus",
			"carol", "dave", "late"}}).TicketList,
	}
	for _, id := range []string{"fulfilled", "waiting", "cancelled"} {
		values = append(values, s.placement(t, id))
	}
	return text(t, values...)
}

// history describes game sessions that have ended, and who was in them, as text to compare.
func (s *service) history(t testing.TB, fleet string) string {
	t.Helper()
	c := s.client()
	ended := call(t, c.DescribeGameSessions, &gamelift.DescribeGameSessionsInput{FleetId: &fleet,
		StatusFilter: new("TERMINATED")}).GameSessions
	values := []any{ended}
	for _, g := range ended {
		values = append(values, call(t, c.DescribePlayerSessions,
			&gamelift.DescribePlayerSessionsInput{GameSessionId: g.GameSessionId}).PlayerSessions)
	}
	return text(t, values...)
}

// writeOldData fills a data directory, copies it as a kill would leave it, and writes the
// answers of a service that opens the copy.
func writeOldData(t *testing.T) {
	s := start(t, oldSettings(oldTime), func(c *muster.Config) { c.SessionRetention = time.Second })
	fleet := s.newFleet(t, home, "custom-away")
	compute := s.newCompute(t, fleet, home, "pc")
	call(t, s.client().CreateAlias, &gamelift.CreateAliasInput{
		Name: new("live"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple,
			FleetId: &fleet},
	})
	s.launch(t, compute, behaviour{})
	ended := s.newActiveSession(t, fleet, home)
	s.join(t, ended, "ada")
	s.join(t, ended, "bob")
	call(t, s.client().TerminateGameSession, &gamelift.TerminateGameSessionInput{
		GameSessionId: &ended, TerminationMode: types.TerminationModeTriggerOnProcessTerminate,
	})
	s.awaitStatus(t, ended, types.GameSessionStatusTerminated)
	s.advance(5 * time.Second) // the ended game session moves to the history
	s.fillMatchmaking(t, fleet, compute)
	s.stop() // writes snapshots
	s.http.CloseIdleConnections()
	s.run()

	s.launch(t, compute, behaviour{port: 7780})
	s.join(t, s.newActiveSession(t, fleet, home), "zoe")
	for _, id := range []string{"waiting", "cancelled"} { // there is no process for them
		call(t, s.client().StartGameSessionPlacement, &gamelift.StartGameSessionPlacementInput{
			PlacementId: &id, GameSessionQueueName: new("duel"), MaximumPlayerSessionCount: new(int32(2)),
			DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: new("yan"), PlayerData: new("green")}},
		})
	}
	call(t, s.client().StopGameSessionPlacement, &gamelift.StopGameSessionPlacementInput{PlacementId: new("cancelled")})
	s.seek(t, "late")
	call(t, s.client().StopMatchmaking, &gamelift.StopMatchmakingInput{TicketId: new("late")})
	s.awaitTicket(t, "late", types.MatchmakingConfigurationStatusCancelled)
	s.seek(t, "carol")
	packOldData(t, s.config.Data)
	if err := os.WriteFile(oldAnswers, []byte(answersOf(t, unpackOldData(t))), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fillMatchmaking makes a queue with a placement, a match that is played, and one that waits
// for its players.
func (s *service) fillMatchmaking(t *testing.T, fleet string, compute gameserver.ServerParameters) {
	s.newMatchmaker(t, fleet, types.BackfillModeManual)
	c := s.client()
	s.launch(t, compute, behaviour{port: 7778})
	call(t, c.StartGameSessionPlacement, &gamelift.StartGameSessionPlacementInput{
		PlacementId: new("fulfilled"), GameSessionQueueName: new("duel"), MaximumPlayerSessionCount: new(int32(2)),
		GameProperties:        []types.GameProperty{{Key: new("map"), Value: new("harbour")}},
		DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: new("ada")}},
	})
	eventually(t, "the placement is fulfilled",
		func() bool { return s.placement(t, "fulfilled").Status == types.GameSessionPlacementStateFulfilled })
	s.launch(t, compute, behaviour{port: 7779})
	s.seek(t, "ada")
	s.seek(t, "grace")
	s.awaitTicket(t, "ada", types.MatchmakingConfigurationStatusCompleted)
	call(t, c.CreateMatchmakingConfiguration, &gamelift.CreateMatchmakingConfigurationInput{
		Name: new("asking"), RuleSetName: new("duel"), RequestTimeoutSeconds: new(int32(900)),
		AcceptanceRequired:       new(true),
		AcceptanceTimeoutSeconds: new(int32(600)), FlexMatchMode: types.FlexMatchModeStandalone,
		Tags: []types.Tag{{Key: new("team"), Value: new("blue")}},
	})
	for _, id := range []string{"dave", "linus"} {
		call(t, c.StartMatchmaking, &gamelift.StartMatchmakingInput{
			ConfigurationName: new("asking"), TicketId: &id,
			Players: []types.Player{{PlayerId: &id,
				PlayerAttributes: map[string]types.AttributeValue{"skill": {N: new(float64(12))}}}},
		})
	}
	s.awaitTicket(t, "linus", types.MatchmakingConfigurationStatusRequiresAcceptance)
	call(t, c.AcceptMatch, &gamelift.AcceptMatchInput{
		TicketId: new("dave"), PlayerIds: []string{"dave"}, AcceptanceType: types.AcceptanceTypeAccept,
	})
}

// placement describes a placement.
func (s *service) placement(t testing.TB, id string) *types.GameSessionPlacement {
	t.Helper()
	return call(t, s.client().DescribeGameSessionPlacement,
		&gamelift.DescribeGameSessionPlacementInput{PlacementId: &id}).GameSessionPlacement
}

func packOldData(t *testing.T, data string) {
	file, err := os.Create(oldDirectory)
	if err != nil {
		t.Fatal(err)
	}
	packed := gzip.NewWriter(file)
	archive := tar.NewWriter(packed)
	if err := errors.Join(archive.AddFS(os.DirFS(data)), archive.Close(), packed.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// unpackOldData makes a directory of the archive.
func unpackOldData(t *testing.T) (data string) {
	data = t.TempDir()
	file, err := os.Open(oldDirectory)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(packed)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return data
		}
		if err != nil {
			t.Fatal(err)
		}
		unpackFile(t, filepath.Join(data, filepath.FromSlash(header.Name)), header.FileInfo(), archive)
	}
}

func unpackFile(t *testing.T, name string, info fs.FileInfo, content io.Reader) {
	if info.IsDir() {
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
		return
	}
	out, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, content); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
