package figures

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// BenchmarkSteps measures what a call that reserves places goes through, each
// step alone, without the others' company in the caches; and the whole call over
// one connection that has the service for itself, beside the bare handler's.
func BenchmarkSteps(b *testing.B) {
	for _, r := range reservations[:3] {
		b.Run(r.String(), func(b *testing.B) {
			for _, s := range r.steps(b, 12_000) {
				b.Run(s.name, func(b *testing.B) {
					b.ReportAllocs()
					begin := bench.OwnCPU()
					for b.Loop() {
						s.do()
					}
					b.ReportMetric(float64((bench.OwnCPU()-begin).Nanoseconds())/float64(b.N), "cpu-ns/op")
				})
			}
			b.Run("append-and-fsync", func(b *testing.B) {
				b.ReportMetric(1e9/appends(b, r.record(1), b.N), "ns/op")
			})
			b.Run("whole-call-alone", func(b *testing.B) { r.alone(b) })
		})
	}
}

// alone makes one call after the other over one connection.
func (r reservation) alone(b *testing.B) {
	b.StopTimer()
	dir := b.TempDir()
	l, sessions := r.prepare(b, dir, b.N)
	e, stop := start(b, dir)
	l.reach(e)
	l.over(b, 1, warm)
	l.first = warm
	peer := *l
	address, stopBare := r.startBare(b, sessions[0])
	peer.addresses = []string{address}
	defer stopBare()
	b.StartTimer()
	m := l.over(b, 1, b.N)
	b.StopTimer()
	stop()
	bare := peer.over(b, 1, b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(m.quantile(0.5), "p50-µs")
	b.ReportMetric(bare.quantile(0.5), "bare-p50-µs")
}

// A step is a part of a call that can be made again and again.
type step struct {
	name string
	do   func()
}

const (
	stepKey     = "AKIAIOSFODNN7EXAMPLE"
	stepSecret  = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	stepSession = "gsess-00000000-0000-4000-8000-000000000000"
	stepFleet   = "fleet-00000000-0000-4000-8000-000000000000"
)

// steps are those before and behind the journal, in the order of a call. Some of
// them need a control plane with so many game sessions, 8 calls of 25 for each.
func (r reservation) steps(tb testing.TB, sessions int) []step {
	session := arn.GameSession(testRegion, stepFleet, location, stepSession)
	l := &load{protocol: r.protocol, operation: r.operation(), accessKey: stepKey, secret: stepSecret}
	l.body = func(dst []byte, call int) []byte { return r.appendBody(dst, session, call) }
	c := l.newClient("127.0.0.1:9080", nil)
	c.compose(0)
	body := c.payload
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(c.request)))
	must(tb, err)
	signed := listen.RequestOf(request)
	verifier := sigv4.New(sigv4.Config{Keys: stepKeys{}})
	var buf []byte
	var facts bytes.Buffer
	fact := r.fact(0)
	room := r.room(tb)
	return []step{
		{"verify-signature", func() {
			_, err := verifier.Verify(&signed, sha256.Sum256(body), time.Now())
			must(tb, err)
		}},
		{"decode-and-validate", func() { must(tb, r.decode(body)) }},
		{"decide-and-apply", room},
		{"encode-event", func() {
			facts.Reset()
			must(tb, region.Events.Append(&facts, fact))
		}},
		{"control-and-shard", r.controlled(tb, sessions)},
		{"decode-and-encode", func() {
			var err error
			buf, err = r.echo(buf[:0], body, session)
			must(tb, err)
		}},
	}
}

func must(tb testing.TB, err error) {
	if err != nil {
		tb.Fatal(err)
	}
}

type stepKeys struct{}

func (stepKeys) Secret(_, _ string) (sigv4.Credential, bool) {
	return sigv4.Credential{Secret: stepSecret, Principal: stepKey}, true
}

func (r reservation) decode(body []byte) (err error) {
	if r.players == 1 {
		_, err = wire.OpCreatePlayerSession.Decode(r.protocol, body)
	} else {
		_, err = wire.OpCreatePlayerSessions.Decode(r.protocol, body)
	}
	return err
}

// room lets a room decide and apply reservations. When a game session is full,
// another one is there: it takes 200 calls of one player to fill one.
func (r reservation) room(tb testing.TB) func() {
	g := newRegister(tb, fleet.RoomID{Fleet: stepFleet, Location: location})
	free := 0
	return func() {
		if free < r.players {
			g.host(fleet.CreateGameSession{ID: fmt.Sprint("gsess-", g.hosted+1), Maximum: seats}, 0)
			free = seats
		}
		free -= r.players
		g.do(g.reservation(fmt.Sprint("gsess-", g.hosted), r.players))
	}
}

// controlled makes calls of the control plane whose journal is memory: what is
// left is its own work, that of the shard, and two hand-overs between goroutines.
func (r reservation) controlled(tb testing.TB, sessions int) func() {
	journals := make([]journal.Journal, shards)
	for i := range journals {
		journals[i] = memory.New(memory.Config{})
	}
	p, err := control.New(control.Config{
		Region: testRegion, Account: testAccount, Secret: bytes.Repeat([]byte{7}, credentials.SecretSize),
		Journals: journals,
		History:  memory.NewHistory(clockwork.NewRealClock(), long), Settings: patient(),
		SDKEndpoint:   "wss://127.0.0.1:1",
		AgentEndpoint: "wss://127.0.0.1:1", SessionRetention: long, Clock: clockwork.NewRealClock(),
		Log:           slog.New(slog.DiscardHandler),
		SnapshotEvery: never,
	})
	must(tb, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		must(tb, <-ended)
	})
	must(tb, p.WaitReady(tb.Context()))
	h := fill(tb, &plane{p, func() {}}, sessions, func(int) wire.CreateGameSessionInput {
		return wire.CreateGameSessionInput{Name: "a game", MaximumPlayerSessionCount: wire.Some[int32](seats)}
	})
	calls := 0
	return func() {
		session := h.sessions[calls*r.players/seats%len(h.sessions)]
		players := make([]string, r.players)
		for i := range players {
			players[i] = playerID(uint64(calls*r.players + i))
		}
		calls++
		_, err := p.CreatePlayerSessions(tb.Context(),
			&wire.CreatePlayerSessionsInput{GameSessionId: session, PlayerIds: players})
		must(tb, err)
	}
}
