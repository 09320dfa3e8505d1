package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/klauspost/compress/s2"

	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A world is a trail on a feed in memory, with a clock that stands still.
type world struct {
	*audit.Trail
	t       *testing.T
	clock   *clockwork.FakeClock
	feed    *memory.Feed
	dropped atomic.Int64
	stop    func() // ends Run and waits for it
}

// newWorld makes a trail that does not run.
func newWorld(t *testing.T, capacity int) *world {
	t.Helper()
	w := &world{t: t, clock: clockwork.NewFakeClockAt(time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC))}
	w.feed = memory.NewFeedAt(w.clock)
	w.Trail = audit.New(audit.Config{
		Feed: w.feed, Clock: w.clock, Log: slog.New(slog.DiscardHandler), Capacity: capacity,
		Dropped: func(n int) { w.dropped.Add(int64(n)) },
	})
	return w
}

func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(w.stop)
}

func started(t *testing.T, capacity int) *world {
	t.Helper()
	w := newWorld(t, capacity)
	w.run()
	return w
}

func (w *world) flush() {
	w.t.Helper()
	if err := w.Flush(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// read returns what a query selects.
func (w *world) read(q audit.Query) (records []audit.Record) {
	w.t.Helper()
	err := w.Read(w.t.Context(), q, func(_ string, line []byte) bool {
		records = append(records, decode(w.t, line))
		return true
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return records
}

func decode(t *testing.T, line []byte) (r audit.Record) {
	t.Helper()
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return r
}

// names returns the names of records, with their counts.
func names(records []audit.Record) (all []string) {
	for _, r := range records {
		name := r.Name
		if r.Count > 0 {
			name += fmt.Sprint("×", r.Count)
		}
		all = append(all, name)
	}
	return all
}

func (w *world) wantNames(want ...string) {
	w.t.Helper()
	if got := names(w.read(audit.Query{})); !slices.Equal(got, want) {
		w.t.Errorf("the trail has %q, want %q", got, want)
	}
}

func call(name string) audit.Record { return audit.Record{Name: name, Type: "AwsApiCall"} }

func refusal(name, address string) audit.Record {
	r := call(name)
	r.Address, r.ErrorCode = address, "AccessDeniedException"
	return r
}

func TestRecordInJSON(t *testing.T) {
	w := started(t, 0)
	w.Record(audit.Record{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("", 3600)), ID: "id", Name: "CreateFleet",
		Source: "gamelift.amazonaws.com", Type: "AwsApiCall", Region: "us-east-1", Account: "111122223333",
		Address: "192.0.2.1", UserAgent: "<cli>", RequestID: "request",
		Identity: audit.Identity{
			Type: "AssumedRole", PrincipalID: "AROA:ada", Arn: "arn:aws:sts::111122223333:assumed-role/r/ada",
			Account: "111122223333", AccessKey: "ASIA", User: "ada",
			Session: audit.Session{SourceIdentity: "ada", SignIn: "session", Role: "r"},
		},
		ErrorCode: "AccessDeniedException", ErrorMessage: "a\nb", Resources: []string{"arn:1", "arn:2"},
		Details: map[string]string{"b": "2", "a": "1"}, Decision: audit.Decision{Policy: "p", Statement: "s"},
		Count: 7,
	})
	w.Record(audit.Record{Name: "SignIn"})
	w.flush()
	var lines []string
	if err := w.Read(t.Context(), audit.Query{}, func(_ string, line []byte) bool {
		lines = append(lines, string(line))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	want := `{"eventVersion":"1.11","eventTime":"2026-01-02T02:04:05.678Z","eventID":"id","eventName":"CreateFleet",` +
		`"eventSource":"gamelift.amazonaws.com","eventType":"AwsApiCall","awsRegion":"us-east-1",` +
		`"recipientAccountId":"111122223333","sourceIPAddress":"192.0.2.1","userAgent":"<cli>",` +
		`"userIdentity":{"type":"AssumedRole","principalId":"AROA:ada",` +
		`"arn":"arn:aws:sts::111122223333:assumed-role/r/ada","accountId":"111122223333","accessKeyId":"ASIA",` +
		`"userName":"ada","sessionContext":{"sourceIdentity":"ada","sessionId":"session","role":"r"}},` +
		`"requestID":"request","readOnly":false,"errorCode":"AccessDeniedException","errorMessage":"a\nb",` +
		`"resources":[{"ARN":"arn:1"},{"ARN":"arn:2"}],"requestParameters":{"a":"1","b":"2"},` +
		`"decision":{"allowed":false,"policy":"p","statement":"s"},"eventCategory":"Management",` +
		`"managementEvent":true}`
	if len(lines) != 2 || lines[0] != want {
		t.Errorf("got\n%s\nwant\n%s", lines[0], want)
	}
	r := decode(t, []byte(lines[1]))
	if !r.Time.Equal(w.clock.Now()) || len(r.ID) != 36 {
		t.Errorf("time %v and id %q were not filled in", r.Time, r.ID)
	}
	if strings.Contains(lines[1], "sessionContext") || strings.Contains(lines[1], "decision") {
		t.Errorf("empty parts are recorded: %s", lines[1])
	}
}

// What clients send is shortened, and the caller's own values are not.
func TestLongTexts(t *testing.T) {
	w := started(t, 0)
	long := strings.Repeat("é", 5000)
	resources, details := make([]string, 500), map[string]string{}
	for i := range resources {
		resources[i] = long
		details[fmt.Sprint(i, long)] = long
	}
	r := call("a")
	r.UserAgent, r.Resources, r.Details = long, resources, details
	w.Record(r)
	w.flush()
	got := w.read(audit.Query{})[0]
	if got.UserAgent != long[:1024] || len(got.Resources) != 100 || got.Resources[0] != long[:1024] ||
		len(got.Details) != 100 {
		t.Errorf("%d bytes, %d resources, %d details", len(got.UserAgent), len(got.Resources), len(got.Details))
	}
	if len(details) != 500 || len(resources[0]) != 10_000 {
		t.Error("the caller's values were changed")
	}
}

// A burst becomes few messages.
func TestBatches(t *testing.T) {
	w := newWorld(t, 0)
	var want []string
	for i := range 1000 {
		want = append(want, fmt.Sprint(i))
		w.Record(call(want[i]))
	}
	w.run()
	w.flush()
	w.wantNames(want...)
	if last, err := w.feed.Last(t.Context()); last != 4 || err != nil {
		t.Errorf("%d messages, %v; want 4", last, err)
	}
}

// Large records do not make messages that the journal rejects.
func TestLargeBatches(t *testing.T) {
	w := newWorld(t, 0)
	r := call("a")
	r.Details = map[string]string{}
	for i := range 100 {
		r.Details[fmt.Sprint(i)] = strings.Repeat("\x01", 1024) // six bytes each in JSON
	}
	for range 20 {
		w.Record(r)
	}
	w.run()
	w.flush()
	n, records := 0, 0
	err := w.feed.Read(t.Context(), 0, func(_ uint64, data []byte) bool {
		n++
		lines, err := s2.Decode(nil, data)
		if err != nil {
			t.Error(err)
		}
		records += strings.Count(string(lines), "\n")
		if len(lines) > 2<<20 {
			t.Errorf("a message of %d bytes", len(lines))
		}
		return true
	})
	if err != nil || n < 2 || records != 20 {
		t.Errorf("%d messages, %d records, %v", n, records, err)
	}
}

// The journal is away for a while: what waits is stored afterwards, in order and once.
func TestJournalAway(t *testing.T) {
	w := newWorld(t, 0)
	away := errors.New("away")
	for range 5 {
		w.feed.FailAppend(away)
	}
	w.feed.LoseAnswer(away)
	w.run()
	w.Record(call("a"))
	for range 6 { // a pause after each failure
		if err := w.clock.BlockUntilContext(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		w.Record(call("b"))
		w.clock.Advance(5 * time.Second)
	}
	w.flush()
	w.wantNames("a", "b", "b", "b", "b", "b", "b")
	if n := w.dropped.Load(); n > 0 {
		t.Errorf("%d records were dropped", n)
	}
}

// When too many wait, the oldest ones are dropped, counted, and shown as a gap.
func TestFull(t *testing.T) {
	w := newWorld(t, 3)
	for i := range 10 {
		w.Record(call(fmt.Sprint(i)))
	}
	if n := w.dropped.Load(); n != 7 {
		t.Errorf("%d records were dropped, want 7", n)
	}
	w.run()
	w.flush()
	w.Record(call("later"))
	w.flush()
	w.wantNames("RecordsDropped×7", "7", "8", "9", "later")
}

// A guesser's refusals are one record a minute after the first.
func TestRepeatedRefusals(t *testing.T) {
	w := started(t, 0)
	guess := func(n int, name, address string) {
		for range n {
			w.Record(refusal(name, address))
		}
	}
	guess(1000, "SignIn", "192.0.2.1")
	w.Record(call("CreateFleet"))
	guess(1, "SignIn", "192.0.2.2")
	guess(3, "CreateToken", "192.0.2.1")
	for i := range 50 { // one network of a host
		guess(1, "SignIn", fmt.Sprintf("2001:db8::%x", i+1))
	}
	guess(1, "SignIn", "2001:db8:0:1::1")
	w.clock.Advance(30 * time.Second)
	guess(500, "SignIn", "192.0.2.1")
	w.clock.Advance(30 * time.Second)
	guess(1, "SignIn", "192.0.2.1") // in the next minute
	w.flush()
	w.wantNames("SignIn", "CreateFleet", "SignIn", "CreateToken", "SignIn", "SignIn", "SignIn×1499", "CreateToken×2",
		"SignIn×49", "SignIn")
	counted := w.read(audit.Query{Address: "192.0.2.1", Event: "signin"})[1]
	if counted.Count != 1499 || !counted.Time.Equal(w.clock.Now().Add(-30*time.Second)) ||
		counted.ErrorCode != "AccessDeniedException" {
		t.Errorf("the count is %+v", counted)
	}
}

// The count is stored when its minute ends, without another record.
func TestCountIsStoredByItself(t *testing.T) {
	w := started(t, 0)
	w.Record(refusal("SignIn", "192.0.2.1"))
	w.Record(refusal("SignIn", "192.0.2.1"))
	w.Record(refusal("SignIn", "192.0.2.1"))
	counted := make(chan audit.Record, 2)
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	following.Go(func() {
		_ = w.Follow(ctx, audit.Query{Since: w.clock.Now()}, func(_ string, line []byte) bool {
			counted <- decode(t, line)
			return true
		})
	})
	if first := <-counted; first.Count != 0 {
		t.Errorf("the first is %+v", first)
	}
	if err := w.clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Minute)
	if r := <-counted; r.Count != 2 {
		t.Errorf("the count is %+v, want 2", r)
	}
}

// From more addresses than are counted separately, the rest is one record a minute.
func TestRefusalsFromManyAddresses(t *testing.T) {
	w := started(t, 0)
	for i := range 5000 {
		w.Record(refusal("SignIn", fmt.Sprintf("10.0.%d.%d", i/250, i%250)))
	}
	w.flush()
	all := w.read(audit.Query{})
	if len(all) != 1025 || all[1024].Name != "RepeatedRefusals" || all[1024].Count != 5000-1024 {
		t.Errorf("%d records, the last one %+v", len(all), all[len(all)-1])
	}
	if w.dropped.Load() > 0 {
		t.Errorf("%d were dropped", w.dropped.Load())
	}
}

// At its end, Run stores what waits, for 2 s.
func TestEnd(t *testing.T) {
	w := newWorld(t, 0)
	for range 3 {
		w.Record(refusal("SignIn", "192.0.2.1"))
	}
	w.run()
	w.stop()
	w.wantNames("SignIn", "SignIn×2")
	w.Record(call("late"))
	if n := w.dropped.Load(); n != 1 {
		t.Errorf("%d were dropped after the end, want 1", n)
	}
	if err := w.Flush(t.Context()); err != nil {
		t.Errorf("everything else is stored: %v", err)
	}
}

func TestEndWhileJournalIsAway(t *testing.T) {
	w := newWorld(t, 0)
	for range 100 {
		w.feed.FailAppend(errors.New("away"))
	}
	w.run()
	for range 5 {
		w.Record(call("a"))
		w.Record(refusal("SignIn", "192.0.2.1"))
	}
	flushed, stopped := make(chan error, 1), make(chan struct{})
	go func() { flushed <- w.Flush(context.WithoutCancel(t.Context())) }()
	if err := w.clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(stopped)
		w.stop()
	}()
	for done := false; !done; { // the pauses between attempts pass, and the time limit
		w.clock.Advance(100 * time.Millisecond)
		select {
		case <-stopped:
			done = true
		default:
		}
	}
	if err := <-flushed; err == nil {
		t.Error("a flush of records that are dropped succeeds")
	}
	if n := w.dropped.Load(); n != 10 {
		t.Errorf("%d were dropped, want 10", n)
	}
	w.wantNames()
}

func TestFlushEndsWithItsContext(t *testing.T) {
	w := newWorld(t, 0) // does not run
	w.Record(call("a"))
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if err := w.Flush(ctx); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestNilTrail(t *testing.T) {
	var none *audit.Trail
	none.Record(call("a"))
	visit := func(string, []byte) bool { return true }
	if err := errors.Join(none.Flush(t.Context()), none.Read(t.Context(), audit.Query{}, visit)); err != nil {
		t.Error(err)
	}
}

// Whatever is recorded, and whenever the journal fails: each record is in the trail, in a count, or dropped and
// counted, and those that succeeded are in their order.
func TestNothingIsLost(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			w := started(t, 1+random.IntN(20))
			recorded := 0
			for range 300 {
				switch n := random.IntN(20); {
				case n < 10:
					w.Record(call(fmt.Sprint(recorded)))
					recorded++
				case n < 16:
					w.Record(refusal("SignIn", fmt.Sprintf("192.0.2.%d", random.IntN(3))))
					recorded++
				case n == 16:
					w.feed.FailAppend(errors.New("away"))
				case n == 17:
					w.feed.LoseAnswer(errors.New("away"))
				default:
					w.clock.Advance(time.Duration(random.IntN(20_000)) * time.Millisecond)
				}
			}
			w.flushInTime()
			found, last, gaps := 0, -1, 0
			ids := map[string]bool{}
			for _, r := range w.read(audit.Query{}) {
				if ids[r.ID] {
					t.Errorf("record %s is there twice", r.ID)
				}
				ids[r.ID] = true
				if r.Name == "RecordsDropped" {
					gaps += r.Count
					continue
				}
				found += max(r.Count, 1)
				var number int
				if _, err := fmt.Sscan(r.Name, &number); err == nil {
					if number <= last {
						t.Errorf("record %d comes after %d", number, last)
					}
					last = number
				}
			}
			if dropped := int(w.dropped.Load()); found+dropped != recorded || gaps > dropped {
				t.Errorf("%d of %d records are found, %d were dropped, %d are shown", found, recorded, dropped, gaps)
			}
		})
	}
}

// flushInTime flushes while time passes.
func (w *world) flushInTime() {
	w.t.Helper()
	flushed := make(chan error, 1)
	go func() { flushed <- w.Flush(w.t.Context()) }()
	for {
		select {
		case err := <-flushed:
			if err != nil {
				w.t.Fatal(err)
			}
			return
		default:
			w.clock.Advance(100 * time.Millisecond)
		}
	}
}

func TestConcurrentRecords(t *testing.T) {
	w := started(t, 1<<20)
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for i := range 500 {
				r := call(fmt.Sprint(i))
				r.Identity.User = fmt.Sprint(caller)
				w.Record(r)
				if i%100 == 0 {
					w.flush()
				}
			}
		})
	}
	callers.Wait()
	w.flush()
	next := map[string]int{}
	for _, r := range w.read(audit.Query{}) {
		if r.Name != fmt.Sprint(next[r.Identity.User]) {
			t.Fatalf("caller %s: record %s, want %d", r.Identity.User, r.Name, next[r.Identity.User])
		}
		next[r.Identity.User]++
	}
	if len(next) != 8 || next["0"] != 500 {
		t.Errorf("records of each caller: %v", next)
	}
}

func BenchmarkRecord(b *testing.B) {
	for name, r := range map[string]audit.Record{
		"call": {Name: "CreateFleet", Type: "AwsApiCall", Address: "192.0.2.1", UserAgent: "aws-cli"},
		"refusal": {Name: "CreateFleet", Type: "AwsApiCall", Address: "192.0.2.1", UserAgent: "aws-cli",
			ErrorCode: "AccessDeniedException"},
	} {
		b.Run(name, func(b *testing.B) {
			trail := audit.New(audit.Config{Feed: memory.NewFeed(), Clock: clockwork.NewRealClock()})
			b.ReportAllocs()
			for b.Loop() {
				trail.Record(r)
			}
		})
	}
}

// BenchmarkStored is what a record costs until it is stored, in memory.
func BenchmarkStored(b *testing.B) {
	trail := audit.New(audit.Config{Feed: memory.NewFeed(), Clock: clockwork.NewRealClock(), Capacity: 1 << 20})
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { _ = trail.Run(ctx) })
	b.ReportAllocs()
	for b.Loop() {
		trail.Record(audit.Record{
			Name: "CreatePlayerSession", Source: "gamelift.amazonaws.com", Type: "AwsApiCall", Region: "us-east-1",
			Account: "111122223333", Address: "192.0.2.1", UserAgent: "aws-sdk-go-v2/1.39.2 os/linux lang/go#1.26",
			Identity: audit.Identity{Type: "AssumedRole", PrincipalID: "AROAEXAMPLE:ada", Account: "111122223333",
				Arn: "arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_GameDev_0123456789abcdef/ada", User: "ada"},
			RequestID: "0b0a4f4e-53c5-4d1f-9f2c-6c3c1a9b5f7e",
			Resources: []string{"arn:aws:gamelift:us-east-1:111122223333:fleet/fleet-1"},
		})
	}
	if err := trail.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}
