package fleet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// The size of the Room that the benchmarks work on: 400 computes of 50
// processes, every second of which hosts a game for 200 players that holds 100.
const (
	benchComputes = 400
	benchPerHost  = 50
	benchSessions = benchComputes * benchPerHost / 2
	benchSeats    = 100
)

// benchWorld is the one large Room, made on first use. Benchmarks leave it much
// as they found it.
var benchWorld = sync.OnceValue(func() *world {
	w := newWorld(nil)
	w.settings.Reservation = 1000 * time.Hour
	for c := range benchComputes {
		w.bench(RegisterCompute{Name: fmt.Sprintf("host-%03d", c), IPAddress: "10.0.0.1"})
		for p := range benchPerHost {
			w.benchReady(benchKey(c*benchPerHost + p))
		}
	}
	for i := range benchSessions {
		g := w.bench(benchCreation(fmt.Sprintf("gsess-%032d", i))).(*GameSession)
		w.bench(ActivateGameSession{ProcessKey: g.Host, GameSession: g.ID})
		for range benchSeats / 25 {
			w.bench(benchReservation(w, g.ID, 25))
		}
	}
	return w
})

func benchKey(n int) ProcessKey {
	return ProcessKey{Compute: fmt.Sprintf("host-%03d", n/benchPerHost%benchComputes),
		ID: fmt.Sprintf("process-%06d", n)}
}

func benchCreation(id string) CreateGameSession {
	c := creation(id)
	c.Maximum, c.Name = 2*benchSeats, "a game"
	c.Properties = []Property{{"mode", "duel"}, {"map", "forest"}}
	return c
}

func benchReservation(w *world, session string, n int) ReservePlayers {
	c := ReservePlayers{GameSession: session, Players: make([]NewPlayer, n)}
	for i := range c.Players {
		random := w.random()
		c.Players[i] = NewPlayer{PlayerID: fmt.Sprintf("player-%012d", binary.BigEndian.Uint64(random[:])),
			Random: random}
	}
	return c
}

// bench handles a command without the checks of a test.
func (w *world) bench(c Command) any {
	_, answer, err := w.room.Handle(w.now, c)
	if err != nil {
		panic(err)
	}
	return answer
}

func (w *world) benchReady(k ProcessKey) {
	w.bench(ConnectProcess{ProcessKey: k, Idempotency: k.ID})
	w.bench(ReadyProcess{ProcessKey: k, Port: 7777})
}

// benchSession is the i-th game session, round and round, seen by nobody else.
func (w *world) benchSession(i int) *GameSession {
	g, _ := w.room.sessions.Get(uint64(i%benchSessions) + 1)
	return g
}

// BenchmarkReservePlayers takes 25 places at a time and, outside the clock,
// gives them back when a game is full.
func BenchmarkReservePlayers(b *testing.B) {
	w := benchWorld()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		g := w.benchSession(i)
		i++
		b.StopTimer()
		if g.Free() < 25 {
			late := &PlayersTimedOut{Session: g.Ordinal, At: w.now}
			for _, p := range g.CurrentPlayers[benchSeats:] {
				late.Indexes = append(late.Indexes, p.Index)
			}
			w.room.Apply(late)
		}
		c := benchReservation(w, g.ID, 25)
		b.StartTimer()
		w.bench(c)
	}
	b.ReportMetric(25*float64(b.N)/b.Elapsed().Seconds(), "players/s")
}

// BenchmarkAcceptPlayer accepts each of the million players once.
func BenchmarkAcceptPlayer(b *testing.B) {
	w := benchWorld()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		g := w.benchSession(i)
		w.bench(AcceptPlayer{g.Host, g.ID, g.CurrentPlayers[i/benchSessions%benchSeats].ID})
		i++
	}
}

// BenchmarkGame is the whole life of a server process and its game, in seven commands.
func BenchmarkGame(b *testing.B) {
	w := benchWorld()
	b.ReportAllocs()
	n := benchComputes * benchPerHost
	for b.Loop() {
		n++
		g := w.bench(benchCreation(fmt.Sprintf("game-%d-%d", n, w.room.header.Sessions))).(*GameSession)
		w.bench(ActivateGameSession{g.Host, g.ID})
		w.bench(EndProcess{g.Host})
		w.bench(ForgetGameSessions{[]uint64{g.Ordinal}})
		w.room.Apply(&ProcessForgotten{g.Host})
		w.benchReady(g.Host)
	}
}

func BenchmarkReportHealth(b *testing.B) {
	w := benchWorld()
	b.ReportAllocs()
	keys := make([]ProcessKey, benchComputes*benchPerHost)
	for i := range keys {
		keys[i] = benchKey(i)
	}
	i := 0
	for b.Loop() {
		w.bench(ReportHealth{keys[i%len(keys)], true})
		i++
	}
}

// BenchmarkFreeze is a frozen copy and, in "write", the first write after it,
// which copies the nodes on its way.
func BenchmarkFreeze(b *testing.B) {
	w := benchWorld()
	var frozen *Room
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			frozen = w.room.Freeze()
		}
	})
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			frozen = w.room.Freeze()
			g := w.benchSession(i * 7919)
			w.bench(UpdateGameSession{ID: g.ID, Name: "renamed"})
			i++
		}
	})
	if frozen.live != nil {
		b.Fatal("a frozen copy is alive")
	}
}

// BenchmarkSnapshot writes the million player sessions, encoded.
func BenchmarkSnapshot(b *testing.B) {
	frozen := benchWorld().room.Freeze()
	b.ReportAllocs()
	size := 0
	var buf bytes.Buffer
	for b.Loop() {
		size = 0
		err := frozen.Snapshot(func(record any) error {
			buf.Reset()
			err := types.Append(&buf, event.Fact{Room: 7, Body: record})
			size += buf.Len()
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size), "snapshot-bytes")
}

// BenchmarkRestore reads them back into a Room.
func BenchmarkRestore(b *testing.B) {
	w := benchWorld()
	snapshot := snapshotOf(b, w.room)
	b.ReportAllocs()
	for b.Loop() {
		r := NewRoom(testRoomID, w.room.address, &w.settings)
		for rest := snapshot; len(rest) > 0; {
			f, next, err := types.Next(rest)
			if err != nil {
				b.Fatal(err)
			}
			if err := r.Restore(f.Body); err != nil {
				b.Fatal(err)
			}
			rest = next
		}
	}
	b.ReportMetric(float64(len(snapshot)), "snapshot-bytes")
}
