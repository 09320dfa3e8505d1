package operator

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/latencies"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A region knows placement p and ticket t.
type region struct{}

func (region) PlacementTrail(_ context.Context, id string) (*control.PlacementTrail, error) {
	switch id {
	case "p":
		return &control.PlacementTrail{PlacementID: "p", Candidates: []control.PlacementCandidate{},
			Steps: []control.PlacementStep{}}, nil
	case "broken":
		return nil, errors.New("a secret cause")
	}
	return nil, fault.New(fault.NotFound, "Placement %s not found", id)
}

func (region) ExplainTicket(_ context.Context, id string) (*control.TicketExplanation, error) {
	if id != "t" {
		return nil, fault.New(fault.InvalidRequest, "Matchmaking ticket %s is COMPLETED", id)
	}
	return &control.TicketExplanation{Ticket: "t", Explanation: &matcher.Explanation{Pool: 3}}, nil
}

// Timeline knows game session g of fleet fleet-1.
func (region) Timeline(_ context.Context, id string, players int) (*control.Timeline, error) {
	if id != "g" && id != timelineARN {
		return nil, fault.New(fault.NotFound, "Game session %s not found", id)
	}
	return &control.Timeline{GameSessionArn: timelineARN, FleetID: timelineFleet, Omitted: players}, nil
}

// SessionLog knows game session g of fleet fleet-1, whose process has written two lines, and running, whose process
// has not ended.
func (r region) SessionLog(_ context.Context, id string, q control.LogQuery) (*control.ProcessLog, error) {
	if id == "running" {
		return &control.ProcessLog{FleetID: timelineFleet, LogReader: &outputs{{Lines: "T1 out one\n"}}}, nil
	}
	if id != "g" && id != timelineARN {
		return nil, fault.New(fault.NotFound, "Game session %s not found", id)
	}
	return &control.ProcessLog{FleetID: timelineFleet, LogReader: &outputs{{Lines: "T1 out one word\nT2 err \n"},
		{Skipped: true, Problem: fmt.Sprintf("follow %v tail %d", q.Follow, q.Tail), Ended: true}}}, nil
}

func (r region) ProcessOutput(ctx context.Context, id string, q control.LogQuery) (*control.ProcessLog, error) {
	return r.SessionLog(ctx, strings.TrimPrefix(id, "process-"), q)
}

// outputs are the messages with lines of a process. After the last one it waits.
type outputs []processes.LogLines

func (l *outputs) Next(ctx context.Context) (processes.LogLines, error) {
	if len(*l) == 0 {
		<-ctx.Done()
		return processes.LogLines{}, ctx.Err()
	}
	next := (*l)[0]
	*l = (*l)[1:]
	return next, nil
}

func (*outputs) Close() {}

// ListSessions answers with what it understood.
func (region) ListSessions(_ context.Context, q control.SessionQuery) (*control.SessionList, error) {
	hides := q.Hidden != nil && q.Hidden(timelineFleet)
	q.Hidden = nil
	return &control.SessionList{NextToken: fmt.Sprintf("%+v hides %v", q, hides)}, nil
}

// Player knows player anna.
func (region) Player(_ context.Context, q control.PlayerQuery) (*control.Player, error) {
	hides := q.Hidden != nil && q.Hidden(timelineFleet)
	return &control.Player{PlayerID: q.PlayerID, NextToken: fmt.Sprint(q.Limit, q.NextToken, hides)}, nil
}

func (region) ReleasePlayerSession(_ context.Context, player, id string) (*control.PlayerSessionRow, error) {
	if player != "anna" {
		return nil, fault.New(fault.NotFound, "Player %q has no player session %s", player, id)
	}
	return &control.PlayerSessionRow{PlayerID: player, PlayerSessionID: id}, nil
}

func (region) QueuePlacements(_ context.Context, q control.RowQuery) (*control.PlacementList, error) {
	return &control.PlacementList{NextToken: fmt.Sprintf("%+v", q)}, nil
}

func (region) ConfigurationTickets(_ context.Context, q control.RowQuery) (*control.TicketList, error) {
	return &control.TicketList{NextToken: fmt.Sprintf("%+v", q)}, nil
}

func (region) Latencies(queue string) (*control.LatencyList, error) {
	return &control.LatencyList{Locations: []latencies.Reported{{Location: "of " + queue, Reports: 1}}}, nil
}

func (region) Lookup(_ context.Context, q control.LookupQuery) (*control.Lookup, error) {
	return &control.Lookup{Hits: []control.LookupHit{{Kind: "player", ID: q.Text}}}, nil
}

func (region) Overview(_ context.Context, hidden func(string) bool) (*control.Overview, error) {
	o := &control.Overview{Region: "us-west-2", Fleets: 3}
	if hidden != nil && hidden(timelineFleet) {
		o.Fleets--
	}
	return o, nil
}

// FleetRows knows the fleet of the timeline, and leaves out as many as the limit is.
func (region) FleetRows(_ context.Context, hidden func(string) bool, limit int) (*control.FleetList, error) {
	list := &control.FleetList{Fleets: []control.FleetRow{{FleetID: timelineFleet, Load: control.Load{Players: 2}}},
		Omitted: limit}
	if hidden != nil && hidden(timelineFleet) {
		list.Fleets = []control.FleetRow{}
	}
	return list, nil
}

// ComputeRows answers with what it understood.
func (region) ComputeRows(_ context.Context, q control.ComputeQuery) (*control.ComputeList, error) {
	return &control.ComputeList{NextToken: fmt.Sprintf("%+v", q)}, nil
}

// BuildViews answers with what it understood.
func (region) BuildViews(status string, limit int, token string) (*control.BuildList, error) {
	return &control.BuildList{Builds: []control.BuildView{}, NextToken: fmt.Sprint(status, limit, token)}, nil
}

func (region) BuildView(id string) (*control.BuildView, error) {
	return &control.BuildView{BuildID: id, Reason: "it is no zip"}, nil
}

// PushBuild misses one chunk for each file.
func (region) PushBuild(_ context.Context, in *control.BuildPush) (*control.BuildPushed, error) {
	pushed := &control.BuildPushed{}
	for _, f := range in.Files {
		pushed.Missing = append(pushed.Missing, f.SHA256)
	}
	if pushed.Missing == nil {
		pushed.Build = &control.BuildView{BuildID: "build-1", Name: in.Name}
	}
	return pushed, nil
}

func (region) FleetBuild(_ context.Context, fleet string) (*control.FleetBuild, error) {
	return &control.FleetBuild{FleetID: fleet, BuildID: "build-1"}, nil
}

func (region) SetFleetBuild(_ context.Context, fleet string, in control.FleetBuildInput) (*control.FleetBuild, error) {
	return &control.FleetBuild{FleetID: fleet, BuildID: in.BuildID, Now: in.Now}, nil
}

func (region) BuildVersions(_ context.Context, fleet string) (*control.BuildVersions, error) {
	return &control.BuildVersions{FleetID: fleet, BuildID: "build-1"}, nil
}

func (region) PutBuildVersion(_ context.Context, _, version string, in control.BuildVersionInput) (
	*control.BuildVersion, error) {
	return &control.BuildVersion{Version: version, BuildID: in.BuildID}, nil
}

func (region) DeleteBuildVersion(context.Context, string, string) error { return nil }

func (region) AliasWeights(alias string) (*control.AliasWeights, error) {
	return &control.AliasWeights{AliasID: alias}, nil
}

func (region) SetAliasWeights(_ context.Context, alias string, weights []control.AliasWeight) (*control.AliasWeights,
	error) {
	return &control.AliasWeights{AliasID: alias, Weights: weights}, nil
}

func (region) StoreChunks(_ context.Context, body io.Reader) (*control.ChunksStored, error) {
	n, err := io.Copy(io.Discard, body)
	if err != nil {
		return nil, err
	}
	return &control.ChunksStored{Chunks: 1, Bytes: n}, nil
}

func (region) Machines(_ context.Context, q control.MachineQuery) (*control.MachineList, error) {
	return &control.MachineList{NextToken: fmt.Sprintf("%+v", q)}, nil
}

func (region) Instances(_ context.Context, q control.InstanceQuery) (*control.InstanceList, error) {
	return &control.InstanceList{NextToken: fmt.Sprintf("%+v", q)}, nil
}

// Machine knows box-1.
func (region) Machine(_ context.Context, name string) (*control.MachineRow, error) {
	if name != "box-1" {
		return nil, fault.New(fault.NotFound, "Machine %s not found", name)
	}
	return &control.MachineRow{Name: name}, nil
}

func (r region) DrainMachine(ctx context.Context, name string, drained bool) (*control.MachineRow, error) {
	m, err := r.Machine(ctx, name)
	if err == nil {
		m.Drained = drained
	}
	return m, err
}

func (r region) DeleteMachine(ctx context.Context, name string, force bool) error {
	if _, err := r.Machine(ctx, name); err != nil || force {
		return err
	}
	return fault.New(fault.Conflict, "Machine %s still runs 1 instance.", name)
}

func (region) MachineTokens() []control.MachineTokenRow {
	return []control.MachineTokenRow{{ID: "mt-1", Location: "custom-a"}}
}

func (region) CreateMachineToken(
	_ context.Context, in control.MachineTokenInput,
) (*control.MachineTokenCreated, error) {
	return &control.MachineTokenCreated{MachineTokenRow: control.MachineTokenRow{ID: "mt-2", Location: in.Location},
		Token: fmt.Sprint("mjt_secret for ", in.TTLSeconds)}, nil
}

func (region) DeleteMachineToken(_ context.Context, id string) error {
	if id != "mt-1" {
		return fault.New(fault.NotFound, "There is no join token %s", id)
	}
	return nil
}

func (region) Changes() (changed <-chan struct{}, end func()) { return nil, func() {} }

// EndedSessions answers with what it understood.
func (region) EndedSessions(_ context.Context, q control.EndedQuery) (*control.EndedSessions, error) {
	return &control.EndedSessions{NextToken: fmt.Sprintf("%+v %v", q, q.Property)}, nil
}

type world struct {
	t     *testing.T
	feed  *failingFeed
	door  *Handler
	clock *clockwork.FakeClock
	begun time.Time
	ready bool
	taken func(context.Context, io.Writer, bool) error // what a backup does
	nodes *nodes

	access *access.Access
	keys   map[string]aws.Credentials // AKID, of the root, and AKGUEST, of a service that may read
	remote string                     // address of the clients; "": the real one
	*httptest.Server
}

// A failingFeed fails to read behind some records, if it is told to.
type failingFeed struct {
	*memory.Feed
	fails  bool
	behind uint64
}

func (f *failingFeed) Read(ctx context.Context, after uint64, visit func(uint64, []byte) bool) error {
	if !f.fails {
		return f.Feed.Read(ctx, after, visit)
	}
	err := f.Feed.Read(ctx, after, func(seq uint64, data []byte) bool { return seq <= f.behind && visit(seq, data) })
	return errors.Join(err, errors.New("the disk is gone"))
}

func newWorld(t *testing.T, change ...func(*Config)) *world {
	w := &world{t: t, feed: &failingFeed{Feed: memory.NewFeed()}, clock: clockwork.NewFakeClock(), ready: true,
		nodes: &nodes{}}
	w.begun = w.clock.Now()
	w.access, w.keys = newAccess(t, w.clock)
	config := Config{
		Region: region{}, Feed: w.feed, Access: w.access, Keys: w.access, Clock: w.clock,
		Log:   slog.New(slog.DiscardHandler),
		Ready: func(context.Context) bool { return w.ready },
		Backup: func(ctx context.Context, to io.Writer, builds bool) error {
			return w.taken(ctx, to, builds)
		},
		Nodes: w.nodes, RegionName: "us-west-2", Account: "111122223333", PublicURL: "https://games.example.com/",
	}
	for _, c := range change {
		c(&config)
	}
	w.door = New(config)
	w.Server = httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if w.remote != "" {
			r.RemoteAddr = w.remote
		}
		w.door.ServeHTTP(to, r)
	}))
	t.Cleanup(w.Close)
	return w
}

const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// request sends a signed request.
func (w *world) request(ctx context.Context, method, path, key string) *http.Response {
	w.t.Helper()
	return w.sendRequest(ctx, method, path, key, "")
}

func (w *world) sendRequest(ctx context.Context, method, path, key, body string) *http.Response {
	w.t.Helper()
	return w.do(w.newRequest(ctx, method, path, key, body))
}

// newRequest signs a request with a key; "" leaves it unsigned.
func (w *world) newRequest(ctx context.Context, method, path, key, body string) *http.Request {
	w.t.Helper()
	return w.newRequestOf(ctx, "application/json", method, path, key, body)
}

// newRequestOf is newRequest with a body of a media type.
func (w *world) newRequestOf(ctx context.Context, media, method, path, key, body string) *http.Request {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, w.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", media)
	}
	c, ok := w.keys[key]
	if !ok {
		c = aws.Credentials{AccessKeyID: key, SecretAccessKey: "secret"}
	}
	if key != "" {
		sum := sha256.Sum256([]byte(body))
		err := v4.NewSigner().SignHTTP(ctx, c, r, hex.EncodeToString(sum[:]), "gamelift", "us-west-2", w.clock.Now())
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return r
}

func (w *world) do(r *http.Request) *http.Response {
	w.t.Helper()
	answer, err := w.Client().Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer
}

// read returns the status and the body of an answer.
func (w *world) read(answer *http.Response) (int, string) {
	w.t.Helper()
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// runTrail runs the audit trail until the returned function is called.
func (w *world) runTrail() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.access.Trail().Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	}
}

// get is the status and the body of an answer.
func (w *world) get(path string) (int, string) {
	w.t.Helper()
	return w.ask(http.MethodGet, path, "AKID")
}

func (w *world) ask(method, path, key string) (int, string) {
	w.t.Helper()
	return w.read(w.request(w.t.Context(), method, path, key))
}

func TestAnswers(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		method, path, key string
		status            int
		body              string // part of it
	}{
		{"GET", "/v1/placements/p", "AKID", 200, `{"placementId":"p",`},
		{"GET", "/v1/placements/q", "AKID", 404, `{"error":"NotFoundException","message":"Placement q not found"}`},
		{"GET", "/v1/placements/broken", "AKID", 500,
			`{"error":"InternalServiceException","message":"The service could not complete the request. Try again."}`},
		{"GET", "/v1/tickets/t/explain", "AKID", 200, `"poolSize":3`},
		{"GET", "/v1/tickets/u/explain", "AKID", 400, `COMPLETED`},
		{"GET", "/v1/tickets/t", "AKID", 404, `UnknownOperationException`},
		{"POST", "/v1/placements/p", "AKID", 404, `UnknownOperationException`},
		{"GET", "/v1/placements/p", "", 403, `MissingAuthenticationTokenException`},
		{"GET", "/v1/placements/p", "AKOTHER", 403, `UnrecognizedClientException`},
		{"GET", "/v1/events?after=x", "AKID", 400, `Parameter after`},
		{"GET", "/v1/events?limit=0", "AKID", 400, `Parameter limit`},
		{"GET", "/v1/events?follow=perhaps", "AKID", 400, `Parameter follow`},
		{"GET", "/v1/events?limit=1&limit=2", "AKID", 400, `Parameter limit`},
		{"GET", "/v1/events?since=1", "AKID", 400, `Unknown parameter`},
		{"GET", "/v1/events", "AKID", 200, ``},
	} {
		status, body := w.ask(c.method, c.path, c.key)
		if status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s %s: %d %s; want %d with %s", c.method, c.path, status, body, c.status, c.body)
		}
	}
	w.ready = false
	if status, body := w.get("/v1/placements/p"); status != 503 ||
		!strings.Contains(body, "ServiceUnavailableException") {
		t.Errorf("while it starts: %d %s", status, body)
	}
}

// A presigned URL is good for five minutes, whatever it says.
func TestPresignedURLsAreShort(t *testing.T) {
	w := newWorld(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL+"/v1/placements/p?X-Amz-Expires=604800",
		nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, _, err := v4.NewSigner().PresignHTTP(t.Context(), w.keys["AKID"], r, emptyHash, "gamelift", "us-west-2",
		w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{200, 403} {
		answer, err := w.Client().Get(signed)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("after %s: %s, want %d", w.clock.Since(w.begun), answer.Status, want)
		}
		w.clock.Advance(maxExpires + time.Second)
	}
}

// publish appends a record with one event for each id.
func (w *world) publish(ids ...string) {
	w.t.Helper()
	var record strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&record, `{"target":"topic","event":{"id":%q}}`+"\n", id)
	}
	if _, err := w.feed.Append(w.t.Context(), ids[0], []byte(record.String())); err != nil {
		w.t.Fatal(err)
	}
}

// events are the ids in a stream of lines, with the last position.
func events(t *testing.T, body string) (ids, last string) {
	t.Helper()
	for line := range strings.Lines(body) {
		var l struct {
			Position, Target string
			Event            struct{ ID string }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Target != "topic" {
			t.Fatalf("%s: %v", line, err)
		}
		ids, last = ids+l.Event.ID, l.Position
	}
	return ids, last
}

// TestEventPages reads the feed in pages of every size; no event is left out or
// comes twice, also where a page ends within a record.
func TestEventPages(t *testing.T) {
	w := newWorld(t)
	w.publish("a", "b", "c")
	w.publish("d")
	w.publish("e", "f")
	for limit := 1; limit <= 7; limit++ {
		all, after := "", "0"
		for {
			status, body := w.get(fmt.Sprintf("/v1/events?limit=%d&after=%s", limit, after))
			ids, last := events(t, body)
			if status != 200 || len(ids) > limit {
				t.Fatalf("%d events of %d, status %d", len(ids), limit, status)
			}
			if ids == "" {
				break
			}
			all, after = all+ids, last
		}
		if all != "abcdef" {
			t.Errorf("pages of %d: %s", limit, all)
		}
	}
	if _, body := w.get("/v1/events?after=1"); !strings.HasPrefix(body, `{"position":"2.1",`) {
		t.Errorf("after a whole record comes %s", body)
	}
}

// TestEventsOfABrokenFeed are no short answer: nothing is an error, and a part is cut off.
func TestEventsOfABrokenFeed(t *testing.T) {
	w := newWorld(t)
	w.publish(strings.Fields(strings.Repeat("a ", 1000))...) // more than is kept back
	w.publish("b")
	w.feed.fails = true
	if status, body := w.get("/v1/events"); status != 500 || !strings.Contains(body, "InternalServiceException") {
		t.Errorf("nothing can be read: %d %s", status, body)
	}
	w.feed.behind = 1
	answer := w.request(t.Context(), http.MethodGet, "/v1/events", "AKID")
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("cut off: %d %s", answer.StatusCode, body)
	}
}

// TestStop ends a stream that follows, though its client stays.
func TestStop(t *testing.T) {
	defer leaktest.Check(t)()
	w := newWorld(t)
	defer w.Close()
	answer := w.request(t.Context(), http.MethodGet, "/v1/events?follow=true", "AKID")
	defer answer.Body.Close()
	w.door.Stop()
	w.door.Stop()
	if body, err := io.ReadAll(answer.Body); err != nil || len(body) > 0 {
		t.Errorf("got %s, %v", body, err)
	}
}

// TestFollow gets events as they come, until the client goes.
func TestFollow(t *testing.T) {
	defer leaktest.Check(t)()
	w := newWorld(t)
	defer w.Close()
	w.publish("a", "b")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answer := w.request(ctx, http.MethodGet, "/v1/events?follow=true&after=1.1", "AKID")
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for _, want := range []string{"b", "c", "d"} {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		if got, _ := events(t, lines.Text()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		w.publish(string(rune(want[0] + 1)))
	}
}
