//go:build unix

package crash

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/e2e/child"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
)

const (
	// oldEntries is how many game sessions of one player the history of the release before has.
	oldEntries = 60_000

	// oldRoom is the room of those game sessions, which no room of the service has.
	oldRoom = 900

	// migrated is what the service logs at the end.
	migrated = "moved the entries of the release before into batches"
)

// A service that is killed while it moves the entries of the release before loses and doubles none of them, and finds
// each at any time: also with an index that was damaged in between.
func TestKillDuringMigration(t *testing.T) {
	t.Parallel()
	m := newMigration(t)
	for kills := share(2); kills > 0; {
		m.restore()
		m.begin()
		for kills > 0 && !m.service.Log.Says(migrated) {
			kills--
			m.killMoving()
			m.begin()
			if m.random.IntN(2) == 0 {
				m.ask()
			}
			m.complain()
		}
		m.service.Await(m.ctx, func() bool { return m.service.Log.Says(migrated) })
		m.ask()
		m.readAll()
		m.complain()
		m.service.Stop()
		m.service.awaitEnd()
	}
}

// A migration is a service with a history of the release before the batches.
type migration struct {
	*trial
	old string // its data directory before anything moves
}

func newMigration(t *testing.T) migration {
	t.Helper()
	m := migration{newTrial(t, plan{}), filepath.Join(t.TempDir(), "old")}
	m.ctx = t.Context()
	m.service.options = []string{"--shards", "1", "--log-level", "info"}
	m.service.start(m.ctx)
	m.connect()
	t.Cleanup(m.http.CloseIdleConnections)
	_, err := m.client.CreateLocation(m.ctx, &gamelift.CreateLocationInput{LocationName: aws.String("custom-home")})
	m.must(err)
	created, err := m.client.CreateFleet(m.ctx, &gamelift.CreateFleetInput{
		Name: aws.String("main"), ComputeType: types.ComputeTypeAnywhere,
		Locations: []types.LocationConfiguration{{Location: aws.String("custom-home")}},
	})
	m.must(err)
	m.fleet = *created.FleetAttributes.FleetId
	m.service.Stop()
	m.service.awaitEnd()
	m.writeOldEntries()
	m.must(os.Rename(m.service.data, m.old))
	return m
}

// restore gives the service the old data directory again.
func (m migration) restore() {
	m.t.Helper()
	m.must(os.RemoveAll(m.service.data))
	m.must(os.CopyFS(m.service.data, os.DirFS(m.old)))
}

func (m migration) begin() {
	m.t.Helper()
	m.service.start(m.ctx)
	m.connect()
}

// writeOldEntries stores game sessions in the stream as the release before did: each under a subject of its own, with
// another one for its player.
func (m migration) writeOldEntries() {
	m.t.Helper()
	s, err := server.NewServer(&server.Options{ServerName: "muster", DontListen: true, NoSigs: true, JetStream: true,
		StoreDir: filepath.Join(m.service.data, "journal"), MaxPayload: 8 << 20})
	m.must(err)
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(child.StartLimit) {
		m.t.Fatal("the engine is not ready")
	}
	conn, err := nats.Connect("", nats.InProcessServer(s))
	m.must(err)
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(4096))
	m.must(err)
	publish := func(subject string, data []byte) {
		_, err := js.PublishAsync("muster.history."+subject, data, jetstream.WithStallWait(child.StartLimit))
		m.must(err)
	}
	now := event.At(time.Now())
	for n := range uint64(oldEntries) {
		name := fmt.Sprintf("%s.custom-home.%s.0-%d-%d", m.fleet, oldGame(n), oldRoom, n)
		var record bytes.Buffer
		m.must(region.Events.Append(&record, event.Fact{Room: oldRoom, Body: &fleet.GameSession{
			Ordinal: n, ID: oldGame(n), Maximum: 2, Status: fleet.Terminated, Created: now.Add(-time.Hour), Ended: now,
			Host: fleet.ProcessKey{Compute: "pc", ID: "p"}, IPAddress: "192.0.2.1", Port: 7777,
			PastPlayers: []*fleet.PlayerSession{{ID: oldPlayerSession(n), PlayerID: oldPlayer(n),
				Status: fleet.Completed, Created: now.Add(-time.Hour), Ended: now}},
		}}))
		publish("s."+name, record.Bytes())
		publish(fmt.Sprintf("p.%x.%s", n, name), nil)
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(child.StartLimit):
		m.t.Fatal("the entries were not stored in time")
	}
	stream, err := js.Stream(m.ctx, "MUSTER_HISTORY")
	m.must(err)
	if stored := stream.CachedInfo().State.Msgs; stored != 2*oldEntries {
		m.t.Fatalf("%d entries were stored", stored)
	}
}

func oldGame(n uint64) string   { return fmt.Sprintf("gsess-old-%06d", n) }
func oldPlayer(n uint64) string { return fmt.Sprintf("player-%06d", n) }

// oldPlayerSession returns the id of the player session, which contains where its game session is.
func oldPlayerSession(n uint64) (id fleet.PlayerSessionID) {
	place := oldRoom<<36 | n
	binary.BigEndian.PutUint64(id[:], place>>12<<16|8<<12|place&0xfff)
	id[8] = 0x80
	return id
}

// killMoving waits until the history's files have changed some times, kills the service, and damages its index.
func (m migration) killMoving() {
	m.t.Helper()
	const history = "MUSTER_HISTORY"
	changes := 1 + m.random.IntN(8)
	for range changes {
		before := m.service.files(history)
		m.service.Catch(m.ctx, func() bool {
			return m.service.files(history) != before || m.service.Log.Says(migrated)
		})
	}
	m.service.Kill()
	m.t.Logf("kill after %d changes of the history, all moved: %v; %s", changes, m.service.Log.Says(migrated),
		m.service.harmIndex(m.random))
}

// ask asks about some of the game sessions: by their ids, their players and their player sessions.
func (m migration) ask() {
	m.t.Helper()
	for range 50 {
		n := m.random.Uint64N(oldEntries)
		game := fmt.Sprintf("arn:aws:gamelift:%s::gamesession/%s/custom-home/%s",
			m.service.environment()["AWS_REGION"], m.fleet, oldGame(n))
		games, err := m.reader.DescribeGameSessions(m.ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: &game})
		m.must(err)
		if len(games.GameSessions) != 1 || games.GameSessions[0].Status != types.GameSessionStatusTerminated {
			m.found.Lost("game session %s, found %d times", oldGame(n), len(games.GameSessions))
		}
		id, player := oldPlayerSession(n).String(), oldPlayer(n)
		for _, in := range []*gamelift.DescribePlayerSessionsInput{{PlayerSessionId: &id}, {PlayerId: &player}} {
			players, err := m.reader.DescribePlayerSessions(m.ctx, in)
			m.must(err)
			if len(players.PlayerSessions) != 1 || *players.PlayerSessions[0].PlayerId != player {
				m.found.Lost("player session of %s, found %d times", player, len(players.PlayerSessions))
			}
		}
	}
}

// readAll pages through all game sessions of the fleet: each is there once.
func (m migration) readAll() {
	m.t.Helper()
	seen := map[string]int{}
	pages := gamelift.NewDescribeGameSessionsPaginator(m.reader, &gamelift.DescribeGameSessionsInput{FleetId: &m.fleet,
		StatusFilter: aws.String("TERMINATED"), Limit: aws.Int32(100)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(m.ctx)
		m.must(err)
		for _, g := range page.GameSessions {
			id := *g.GameSessionId
			seen[id[strings.LastIndexByte(id, '/')+1:]]++
		}
	}
	for n := range uint64(oldEntries) {
		switch seen[oldGame(n)] {
		case 0:
			m.found.Lost("game session %s", oldGame(n))
		case 1:
		default:
			m.found.Doubled("game session %s, shown %d times", oldGame(n), seen[oldGame(n)])
		}
	}
	if len(seen) > oldEntries {
		m.found.Doubled("%d game sessions of %d", len(seen), oldEntries)
	}
	noteTotals(totals{acknowledged: oldEntries})
}
