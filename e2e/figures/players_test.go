package figures

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire"
)

// seats is how many players a game session takes: the most that GameLift allows.
const seats = 200

// A reservation is a kind of call that reserves places for players.
type reservation struct {
	protocol wire.Protocol
	players  int // a call; 1 is CreatePlayerSession, more are CreatePlayerSessions
}

func (r reservation) operation() string {
	if r.players == 1 {
		return wire.OpCreatePlayerSession.Name
	}
	return wire.OpCreatePlayerSessions.Name
}

func (r reservation) String() string {
	return fmt.Sprintf("%s/%s", r.operation(), map[wire.Protocol]string{wire.JSON: "json",
		wire.CBOR: "cbor"}[r.protocol])
}

var reservations = []reservation{{wire.JSON, 25}, {wire.CBOR, 25}, {wire.JSON, 1}, {wire.CBOR, 1}}

// BenchmarkReservations makes calls that reserve places, over 256 connections, to
// the whole service, then to a bare net/http handler with the same codec; then
// it appends the bytes of the same events to a bare journal, in records as large
// as those that the service came to.
func BenchmarkReservations(b *testing.B) {
	for _, r := range reservations {
		var c *contest
		b.Run(r.String(), func(leaf *testing.B) {
			if c == nil {
				c = r.open(b, operations(b))
			}
			o := c.round(leaf, leaf.N)
			if leaf.N > 1 {
				tell("%s: %.0f calls/s, the bare handler %.0f, the bare journal %.0f", r, o.service.rate(),
					o.bare.rate(), o.journal)
			}
			o.service.sample().report(leaf, "")
			leaf.ReportMetric(o.service.rate()*float64(r.players), "players/s")
			o.bare.sample().report(leaf, "bare-")
			leaf.ReportMetric(o.service.rate()/o.bare.rate(), "of-bare")
			leaf.ReportMetric(o.bare.cpuPerCall()/o.service.cpuPerCall(), "of-bare-by-cpu")
			leaf.ReportMetric(o.journal, "journal-rate/s")
			leaf.ReportMetric(o.service.rate()/o.journal, "of-journal")
			leaf.ReportMetric(o.perRecord, "calls/record")
		})
		if c != nil {
			c.stop()
		}
	}
}

// A contest is a service and its peers, ready to be measured in turns, so that
// what else the machine does at the time weighs on all of them alike.
type contest struct {
	reservation
	service, bare *load
	endpoints     muster.Endpoints
	stop          func()
}

// A comparison is one measure of the service and its peers.
type comparison struct {
	service, bare measure
	journal       float64 // calls per second whose events a bare journal takes
	perRecord     float64 // calls that shared a record of the service's journal
}

// open prepares for n calls to each.
func (r reservation) open(tb testing.TB, n int) *contest {
	tb.Helper()
	tell("%s: preparing for %d calls", r, n)
	dir := tb.TempDir()
	l, sessions := r.prepare(tb, dir, n)
	e, stop := start(tb, dir)
	l.reach(e)
	peer := *l
	address, stopBare := r.startBare(tb, sessions[0])
	peer.addresses = []string{address}
	l.run(tb, warm) // derives the signing keys and fills the pools
	peer.run(tb, warm)
	l.first = warm
	return &contest{reservation: r, service: l, bare: &peer, endpoints: e, stop: func() {
		stop()
		stopBare()
	}}
}

// mostRecords is how many records are appended at most to a bare journal: so
// many tell how fast it is.
const mostRecords = 500

// round makes n calls to each.
func (c *contest) round(tb testing.TB, n int) (o comparison) {
	tb.Helper()
	before := counters(tb, c.endpoints)
	o.service = c.service.run(tb, n)
	after := counters(tb, c.endpoints)
	c.service.first += n
	o.bare = c.bare.run(tb, n)
	records := after[appended] - before[appended]
	o.perRecord = float64(n) / records
	o.journal = o.perRecord * appends(tb, c.record(int(o.perRecord+0.5)), min(int(records)+1, mostRecords))
	return o
}

// appended is the metric that counts the batches that were made durable.
const appended = "muster_journal_append_seconds_count"

// warm is how many calls are made before the measure.
const warm = 200

// prepare fills a data directory with ACTIVE game sessions that have room for n
// calls besides the warm ones, and makes the load.
func (r reservation) prepare(tb testing.TB, dir string, n int) (*load, []string) {
	tb.Helper()
	_, stop := start(tb, dir) // makes the directory what it is
	stop()
	p := openPlane(tb, dir, shard.SnapshotEvery{})
	perSession := seats / r.players
	h := fill(tb, p, (n+warm+perSession-1)/perSession, func(int) wire.CreateGameSessionInput {
		return wire.CreateGameSessionInput{Name: "a game", MaximumPlayerSessionCount: wire.Some[int32](seats)}
	})
	p.stop()
	runtime.GC()
	return &load{protocol: r.protocol, operation: r.operation(), body: func(dst []byte, call int) []byte {
		return r.appendBody(dst, h.sessions[call/perSession], call)
	}}, h.sessions
}

// appendBody appends the body of the call that reserves places for the next
// players.
func (r reservation) appendBody(dst []byte, session string, call int) []byte {
	first := uint64(call * r.players)
	if r.protocol == wire.CBOR {
		dst = append(dst, 0xa2) // a map of two
		dst = appendText(appendText(dst, "GameSessionId"), session)
		if r.players == 1 {
			return appendPlayerText(appendText(dst, "PlayerId"), first)
		}
		dst = append(appendText(dst, "PlayerIds"), 0x98, byte(r.players))
		for i := range r.players {
			dst = appendPlayerText(dst, first+uint64(i))
		}
		return dst
	}
	dst = append(dst, `{"GameSessionId":"`...)
	dst = append(dst, session...)
	if r.players == 1 {
		dst = appendPlayer(append(dst, `","PlayerId":"`...), first)
		return append(dst, `"}`...)
	}
	dst = append(dst, `","PlayerIds":[`...)
	for i := range r.players {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendPlayer(append(dst, '"'), first+uint64(i)), '"')
	}
	return append(dst, `]}`...)
}

const playerLength = len("player-000000000000")

// appendPlayer appends playerID(n).
func appendPlayer(dst []byte, n uint64) []byte {
	dst = append(dst, "player-000000000000"...)
	for i := len(dst) - 1; n > 0; i-- {
		dst[i] = '0' + byte(n%10)
		n /= 10
	}
	return dst
}

func appendPlayerText(dst []byte, n uint64) []byte {
	return appendPlayer(append(dst, 0x60|byte(playerLength)), n)
}

// appendText appends a text of less than 256 bytes in CBOR.
func appendText(dst []byte, s string) []byte {
	if len(s) < 24 {
		return append(append(dst, 0x60|byte(len(s))), s...)
	}
	return append(append(dst, 0x78, byte(len(s))), s...)
}

// startBare starts a net/http handler that decodes and checks calls and encodes
// an answer of the same size, and does nothing else.
func (r reservation) startBare(tb testing.TB, session string) (address string, stop func()) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	server := &http.Server{Handler: r.bareHandler(session)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return listener.Addr().String(), func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			tb.Error(err)
		}
	}
}

type bodies struct{ in, out []byte }

func (r reservation) bareHandler(session string) http.Handler {
	pool := sync.Pool{New: func() any { return &bodies{make([]byte, 0, 4<<10), make([]byte, 0, 16<<10)} }}
	contentType := "application/x-amz-json-1.1"
	if r.protocol == wire.CBOR {
		contentType = "application/cbor"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		b := pool.Get().(*bodies)
		defer pool.Put(b)
		b.in = b.in[:request.ContentLength]
		for read := 0; read < len(b.in); {
			n, err := request.Body.Read(b.in[read:])
			if read += n; err != nil && read < len(b.in) {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		var err error
		if b.out, err = r.echo(b.out[:0], b.in, session); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header()["Content-Type"] = []string{contentType}
		w.Header()["Content-Length"] = []string{fmt.Sprint(len(b.out))}
		_, _ = w.Write(b.out)
	})
}

// echo answers a call as if every player had got a place.
func (r reservation) echo(dst, body []byte, session string) ([]byte, error) {
	if r.players == 1 {
		in, err := wire.OpCreatePlayerSession.Decode(r.protocol, body)
		if err != nil {
			return dst, err
		}
		s := seat(session, in.PlayerId)
		return wire.OpCreatePlayerSession.Append(dst, r.protocol, &wire.CreatePlayerSessionOutput{PlayerSession: &s}),
			nil
	}
	in, err := wire.OpCreatePlayerSessions.Decode(r.protocol, body)
	if err != nil {
		return dst, err
	}
	out := &wire.CreatePlayerSessionsOutput{PlayerSessions: make([]wire.PlayerSession, len(in.PlayerIds))}
	for i, id := range in.PlayerIds {
		out.PlayerSessions[i] = seat(session, id)
	}
	return wire.OpCreatePlayerSessions.Append(dst, r.protocol, out), nil
}

// seat is a player session as the service would answer it.
func seat(session, player string) wire.PlayerSession {
	return wire.PlayerSession{
		PlayerSessionId: "psess-00000000-0000-8000-8000-000000000000", PlayerId: player, GameSessionId: session,
		FleetId:  "fleet-00000000-0000-4000-8000-000000000000",
		FleetArn: "arn:aws:gamelift:us-west-2:111122223333:fleet/fleet-00000000-0000-4000-8000-000000000000",
		Status:   wire.PlayerSessionStatusReserved, CreationTime: time.UnixMilli(1_700_000_000_123),
		IpAddress: "10.1.2.3", Port: wire.Some[int32](7777),
	}
}

// record is the journal's record of so many calls.
func (r reservation) record(calls int) []byte {
	facts := make([]byte, 9) // version and owner
	for call := range max(1, calls) {
		facts = append(facts, encode(r.fact(call))...)
	}
	return facts
}

// fact is the event of one call.
func (r reservation) fact(call int) event.Fact {
	now := event.At(time.Now())
	e := &fleet.PlayersReserved{Session: uint64(100_000 + call), At: now, Expires: now.Add(time.Minute),
		Players: make([]fleet.Slot, r.players)}
	for i := range e.Players {
		e.Players[i] = fleet.Slot{ID: fleet.PlayerSessionID{1, 2, 3}, PlayerID: playerID(uint64(call*r.players + i))}
	}
	return event.Fact{Room: 1, Body: e}
}

// appends appends a record n times to a journal of its own and returns how many
// a second it takes.
func appends(tb testing.TB, record []byte, n int) float64 {
	tb.Helper()
	engine, err := jetstream.Open(tb.Context(), jetstream.Config{Dir: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := engine.Close(); err != nil {
			tb.Error(err)
		}
	}()
	j, err := engine.Journal(tb.Context(), 0)
	if err != nil {
		tb.Fatal(err)
	}
	begin := time.Now()
	for last := uint64(0); last < uint64(n); {
		if last, err = j.Append(tb.Context(), last, record); err != nil {
			tb.Fatal(err)
		}
	}
	return float64(n) / time.Since(begin).Seconds()
}

// encode is a fact as it stands in a record.
func encode(f event.Fact) []byte {
	var buf bytes.Buffer
	if err := region.Events.Append(&buf, f); err != nil {
		panic(err) // the fact is of a type of ours
	}
	return buf.Bytes()
}
