package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/backup"
	"github.com/muster-gg/muster/internal/server"
)

// backup takes a backup with the bytes of builds into a file, again while shards are changing hands.
func (s *service) backup(t testing.TB) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "region.backup")
	eventually(t, "a backup is taken", func() bool {
		answer := s.operate(t, "/v1/backup?builds=true", s.SecretKey)
		data, err := io.ReadAll(answer.Body)
		if answer.StatusCode == http.StatusServiceUnavailable {
			t.Logf("no backup: %s", data)
			return false
		}
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %.500s", answer.Status, err, data)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return true
	})
	return file
}

// openBackup opens a file of a backup until the end of a test.
func openBackup(t testing.TB, name string) *io.SectionReader {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { report(t, "close the backup", file.Close()) })
	about, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return io.NewSectionReader(file, 0, about.Size())
}

// restore makes a data directory of a backup.
func restore(t testing.TB, file string) (data string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "restored")
	if _, err := muster.Restore(t.Context(), data, openBackup(t, file), nil); err != nil {
		t.Fatal(err)
	}
	return data
}

// stateAt is the state of a shard as text; of the newest record, for a number of 0.
func stateAt(t testing.TB, from backup.Source, shard int, at uint64) string {
	t.Helper()
	if at == 0 {
		held, err := from.Contents(t.Context(), shard)
		if err != nil {
			t.Fatal(err)
		}
		at = held.Last
	}
	var b strings.Builder
	state, err := backup.StateAt(t.Context(), from, shard, at)
	if err == nil {
		err = state.Each(func(f backup.Fact) error {
			line, err := json.Marshal(f)
			fmt.Fprintf(&b, "%s\n", line)
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// openData looks at a data directory.
func openData(t testing.TB, data string) (from backup.Source, closeData func()) {
	t.Helper()
	from, closed, err := server.OpenData(t.Context(), data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return from, func() {
		if err := closed(); err != nil {
			t.Error(err)
		}
	}
}

// TestBackupAndRestore puts a restored service in the place of the one that was backed up:
// everything is there, webhooks and events go on, and a game server that was
// connected comes back with its old token.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t, home, "custom-east")
	s.newMatchmaker(t, fleet, types.BackfillModeManual)
	params := s.newCompute(t, fleet, home, "pc")
	p := s.launch(t, params, behaviour{})
	session := s.newActiveSession(t, fleet, home)
	ada, bob := s.join(t, session, "ada"), s.join(t, session, "bob")
	report(t, "accept", p.AcceptPlayerSession(t.Context(), ada))
	s.seek(t, "cleo")
	s.awaitTicket(t, "cleo", types.MatchmakingConfigurationStatusSearching)
	eventually(t, "an event", func() bool {
		_, body := s.inspect(t, "/v1/events")
		return strings.Contains(body, "MatchmakingSearching")
	})
	_, eventsBefore := s.inspect(t, "/v1/events")
	before, key, authority := s.everything(t, fleet), s.AccessKey, readFile(t, s.CAFile)

	file := s.backup(t)
	s.stop()
	s.http.CloseIdleConnections()
	s.config.Data = restore(t, file)
	s.run()

	if s.AccessKey != key {
		t.Errorf("the access key changed from %s to %s", key, s.AccessKey)
	}
	if readFile(t, s.CAFile) != authority {
		t.Error("clients do not trust the certificate any more")
	}
	if after := s.everything(t, fleet); after != before {
		t.Errorf("before the backup\n%s\nafter the restore\n%s", before, after)
	}
	if _, after := s.inspect(t, "/v1/events"); !strings.HasPrefix(after, eventsBefore) { // the newest may come again
		t.Errorf("events before the backup\n%s\nafter the restore\n%s", eventsBefore, after)
	}
	s.awaitTicket(t, "cleo", types.MatchmakingConfigurationStatusSearching)
	// The call waits for the game server's connection.
	report(t, "the game server after the restore", p.AcceptPlayerSession(t.Context(), bob))
	s.launch(t, params, behaviour{}) // with the old token, which still holds
	s.seek(t, "dan")
	s.awaitTicket(t, "cleo", types.MatchmakingConfigurationStatusCompleted)
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A backupLoad does what services do, and remembers what was acknowledged.
type backupLoad struct {
	*service
	session string // that players join

	mu                           sync.Mutex
	players, placements, aliases []string
}

// run works until ctx is done.
func (l *backupLoad) run(ctx context.Context) {
	var all sync.WaitGroup
	for worker := range 2 {
		all.Go(func() { l.repeat(ctx, worker, l.join) })
	}
	all.Go(func() { l.repeat(ctx, 0, l.place) })
	all.Go(func() { l.repeat(ctx, 0, l.alias) })
	all.Wait()
}

// repeat makes calls until they fail, which they may when ctx is done.
func (l *backupLoad) repeat(ctx context.Context, worker int, do func(context.Context, string) (
	string, *[]string, error),
) {
	for i := 0; ctx.Err() == nil; i++ {
		id, list, err := do(ctx, fmt.Sprintf("%d-%d", worker, i))
		switch {
		case err == nil:
			l.mu.Lock()
			*list = append(*list, id)
			l.mu.Unlock()
		case ctx.Err() == nil && !full(err):
			l.Errorf("load: %v", err)
			return
		}
	}
}

// full reports whether there is no room for more: a quick machine gets there.
func full(err error) bool {
	return errors.As(err, new(*types.GameSessionFullException)) || errors.As(err, new(*types.LimitExceededException))
}

func (l *backupLoad) join(ctx context.Context, name string) (string, *[]string, error) {
	out, err := l.client().CreatePlayerSession(ctx,
		&gamelift.CreatePlayerSessionInput{GameSessionId: &l.session, PlayerId: &name})
	if err != nil {
		return "", nil, err
	}
	return *out.PlayerSession.PlayerSessionId, &l.players, nil
}

func (l *backupLoad) place(ctx context.Context, name string) (string, *[]string, error) {
	id := "placed-" + name
	_, err := l.client().StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
		PlacementId: &id, GameSessionQueueName: new("duel"), MaximumPlayerSessionCount: new(int32(2)),
		DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: new("player of " + id)}},
	})
	return id, &l.placements, err
}

func (l *backupLoad) alias(ctx context.Context, name string) (string, *[]string, error) {
	out, err := l.client().CreateAlias(ctx, &gamelift.CreateAliasInput{
		Name: &name, RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeTerminal,
			Message: new("closed")},
	})
	if err != nil {
		return "", nil, err
	}
	return *out.Alias.AliasId, &l.aliases, nil
}

// acknowledged is what was answered until now.
func (l *backupLoad) acknowledged() (players, placements, aliases []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.players), slices.Clone(l.placements), slices.Clone(l.aliases)
}

// TestBackupUnderLoad takes backups of a busy service with many small snapshots. Each holds
// what was acknowledged before, and no effect without its cause: whatever a placement was given is
// there.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	backUpUnderLoad(t, start(t, oftenSnapshots), 40, 100, 160)
}

func oftenSnapshots(c *muster.Config) { c.SnapshotEvery = 100 }

// backUpUnderLoad takes backups whenever so many calls of each kind were acknowledged.
func backUpUnderLoad(t *testing.T, s *service, calls ...int) {
	fleet := s.newFleet(t)
	s.newMatchmaker(t, fleet, types.BackfillModeManual)
	params := s.newCompute(t, fleet, home, "pc")
	for range 12 {
		s.launch(t, params, behaviour{})
	}
	l := &backupLoad{service: s, session: *call(t, s.client().CreateGameSession, &gamelift.CreateGameSessionInput{
		FleetId: &fleet, Location: new(home), MaximumPlayerSessionCount: new(int32(200)),
	}).GameSession.GameSessionId}
	s.awaitStatus(t, l.session, types.GameSessionStatusActive)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.run(ctx)
	}()
	for _, least := range calls {
		eventually(t, "more is acknowledged", func() bool {
			players, placements, aliases := l.acknowledged()
			return min(len(players), len(placements), len(aliases)) >= least
		})
		players, placements, aliases := l.acknowledged()
		file := s.backup(t)
		restored := start(t, func(c *muster.Config) { c.Data, c.Shards = restore(t, file), 0 })
		restored.AccessKey, restored.SecretKey = s.AccessKey, s.SecretKey
		restored.holds(t, players, placements, aliases)
		restored.stop()
	}
	stop()
	<-ended
}

// holds looks for what was acknowledged, and for what it led to.
func (s *service) holds(t testing.TB, players, placements, aliases []string) {
	t.Helper()
	for _, id := range players {
		s.player(t, id)
	}
	for _, id := range aliases {
		call(t, s.client().DescribeAlias, &gamelift.DescribeAliasInput{AliasId: &id})
	}
	fulfilled := 0
	for _, id := range placements {
		p := call(t, s.client().DescribeGameSessionPlacement,
			&gamelift.DescribeGameSessionPlacementInput{PlacementId: &id}).GameSessionPlacement
		if p.Status != types.GameSessionPlacementStateFulfilled {
			continue
		}
		fulfilled++
		s.session(t, *p.GameSessionArn)
		if got := s.player(t, *p.PlacedPlayerSessions[0].PlayerSessionId); *got.GameSessionId != *p.GameSessionArn {
			t.Errorf("the player of placement %s is in %s", id, *got.GameSessionId)
		}
	}
	if fulfilled == 0 {
		t.Error("no placement was fulfilled")
	}
}

// TestInspect looks at the same states in a backup, in the directory that it was taken of and in a
// restored one.
func TestInspect(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *muster.Config) { c.SnapshotEvery = 100 })
	fleet := s.newFleet(t)
	s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{})
	session := s.newActiveSession(t, fleet, home)
	for i := range 4 {
		s.join(t, session, fmt.Sprint("player-", i))
	}
	for i := range 120 { // more than a snapshot is away
		call(t, s.client().CreateLocation, &gamelift.CreateLocationInput{LocationName: new(fmt.Sprint("custom-", i))})
	}
	file := s.backup(t)
	if _, _, err := server.OpenData(t.Context(), s.config.Data, nil); !errors.Is(err, server.ErrRunning) {
		t.Errorf("the directory of a service that runs was opened: %v", err)
	}
	s.stop()
	fromFile, err := backup.OfFile(openBackup(t, file))
	if err != nil {
		t.Fatal(err)
	}
	fromData, closeData := openData(t, s.config.Data)
	defer closeData()
	restored := restore(t, file)
	fromRestored, closeRestored := openData(t, restored)
	defer closeRestored()
	found, snapshots := false, 0
	for shard := range s.config.Shards {
		held, err := fromFile.Contents(t.Context(), shard)
		if err != nil {
			t.Fatal(err)
		}
		snapshots += len(held.Snapshots)
		for at := held.First - 1; at <= held.Last; at++ {
			want := stateAt(t, fromFile, shard, at)
			if got := stateAt(t, fromRestored, shard, at); got != want {
				t.Errorf("shard %d after record %d, restored:\n%s\nand in the backup:\n%s", shard, at, got, want)
			}
			if at == held.Last {
				found = found || strings.Contains(want, `"PlayerID":"player-3"`) &&
					strings.Contains(want, fleet+"/"+home)
			}
		}
		data, err := fromData.Contents(t.Context(), shard)
		if err != nil {
			t.Fatal(err)
		}
		if data.First <= held.Last {
			if got, want := stateAt(t, fromData, shard, held.Last), stateAt(t, fromFile, shard, 0); got != want {
				t.Errorf("shard %d after record %d, in the directory:\n%s\nand in the backup:\n%s", shard, held.Last,
					got, want)
			}
		}
	}
	if !found || snapshots == 0 {
		t.Errorf("a state has the newest player: %t; there are %d snapshots", found, snapshots)
	}
}

// TestBackupRefused has no answer for strangers.
func TestBackupRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	if answer := s.operate(t, "/v1/backup", "of somebody else"); answer.StatusCode != http.StatusForbidden {
		t.Errorf("a stranger: %s", answer.Status)
	}
	if status, body := s.get(t, "/v1/backup"); status != http.StatusForbidden {
		t.Errorf("without a signature: %d %s", status, body)
	}
}
