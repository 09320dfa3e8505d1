package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	testRegion  = "us-west-2"
	testAccount = "111122223333"
)

// birth is when every world begins: 1767323045 seconds after the epoch.
var birth = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A world is a control plane that runs on journals in memory and a fake clock.
type world struct {
	*Plane
	t        testing.TB
	ctx      context.Context
	clock    *clockwork.FakeClock
	journals []*memory.Journal
	history  *memory.History
	config   Config
	handlers map[string]wire.Handler
	stop     func()
	wrap     func(journal.Journal) journal.Journal // nil: the journals as they are
	broken   bool                                  // Run may fail
}

// An option changes a world before it begins.
type option func(*world)

func withShards(n int) option { return func(w *world) { w.journals = make([]*memory.Journal, n) } }

func withFleet(change func(*fleet.Settings)) option {
	return func(w *world) { change(&w.config.Settings.Fleet) }
}

func withLimits(change func(*catalog.Limits)) option {
	return func(w *world) { change(&w.config.Settings.Catalog) }
}

func withMemory(d time.Duration) option { return func(w *world) { w.config.SessionRetention = d } }

func newWorld(t testing.TB, options ...option) *world {
	t.Helper()
	w := &world{t: t, clock: clockwork.NewFakeClockAt(birth), journals: make([]*memory.Journal, 3)}
	w.history = memory.NewHistory(w.clock, 30*24*time.Hour)
	w.config = Config{
		Region: testRegion, Account: testAccount, Secret: bytes.Repeat([]byte{7}, credentials.SecretSize),
		History:     w.history,
		Settings:    region.Settings{Fleet: fleet.DefaultSettings(testRegion), Catalog: catalog.DefaultLimits()},
		SDKEndpoint: "wss://127.0.0.1:9080", AgentEndpoint: "wss://127.0.0.1:9080", SessionRetention: time.Hour,
		Clock: w.clock, Log: slog.New(slog.DiscardHandler),
	}
	for _, o := range options {
		o(w)
	}
	for i := range w.journals {
		w.journals[i] = memory.New(memory.Config{})
	}
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

// read calls look with a room, and reports whether there is one.
func (w *world) read(ctx context.Context, id fleet.RoomID, look func(*fleet.Room)) (found bool, err error) {
	return router.InRoom(ctx, w.Router, id, func(r *fleet.Room) bool { look(r); return true })
}

// start runs a new plane on the world's journals.
func (w *world) start() {
	w.t.Helper()
	w.config.Journals = nil
	for _, j := range w.journals {
		if w.wrap != nil {
			w.config.Journals = append(w.config.Journals, w.wrap(j))
			continue
		}
		w.config.Journals = append(w.config.Journals, journal.Journal(j))
	}
	p, err := New(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Plane, w.handlers = p, map[string]wire.Handler{}
	for _, h := range append(p.Handlers(), api.Refusals()...) {
		w.handlers[h.Info.Name] = h
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !w.broken {
			w.t.Errorf("Run: %v", err)
		}
	})
	if err := p.WaitReady(w.ctx); err != nil {
		w.t.Fatal(err)
	}
}

// restart stops the plane and starts another one on the same journals.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	for i, j := range w.journals {
		w.journals[i] = j.Reopen()
	}
	w.start()
}

// await polls until ok holds.
func (w *world) await(what string, ok func() bool) {
	w.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-w.ctx.Done():
			w.t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

// advance moves the clock in steps until ok holds: the goroutine to wake may not wait yet.
func (w *world) advance(what string, step time.Duration, ok func() bool) {
	w.t.Helper()
	w.await(what, func() bool {
		if ok() {
			return true
		}
		w.clock.Advance(step)
		return false
	})
}

// object is a JSON object.
type object = map[string]any

// call makes an API call as a client with the JSON protocol does.
func (w *world) call(operation string, in any) (object, error) {
	w.t.Helper()
	return w.callAs(w.ctx, operation, in)
}

func (w *world) callAs(ctx context.Context, operation string, in any) (object, error) {
	w.t.Helper()
	body, isText := in.(string)
	if !isText {
		data, err := json.Marshal(in)
		if err != nil {
			w.t.Fatal(err)
		}
		body = string(data)
	}
	h, ok := w.handlers[operation]
	if !ok {
		w.t.Fatalf("no operation %s", operation)
	}
	var out []byte
	if err := h.Serve(ctx, wire.JSON, []byte(body), &out); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, nil
	}
	var answer object
	if err := json.Unmarshal(out, &answer); err != nil {
		w.t.Fatalf("%s answered %s: %v", operation, out, err)
	}
	return answer, nil
}

// must is call for one that has to succeed.
func (w *world) must(operation string, in any) object {
	w.t.Helper()
	out, err := w.call(operation, in)
	if err != nil {
		w.t.Fatalf("%s %v: %v", operation, in, err)
	}
	return out
}

// refused checks that a call fails with the given kind.
func (w *world) refused(kind fault.Kind, operation string, in any) {
	w.t.Helper()
	if _, err := w.call(operation, in); !fault.Is(err, kind) {
		w.t.Errorf("%s %v: got %v, want %s", operation, in, err, kind)
	}
}

// at walks into a JSON value: at(out, "Fleets", 0, "FleetId").
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			o, _ := v.(object)
			v = o[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func text(v any, path ...any) string {
	s, _ := at(v, path...).(string)
	return s
}

// texts collects a member of each element of a list.
func texts(list any, member string) []string {
	got := []string{}
	for _, e := range list.([]any) {
		got = append(got, text(e, member))
	}
	return got
}

// same compares a JSON value with what it has to be, given as JSON.
func same(t testing.TB, got any, want string, args ...any) {
	t.Helper()
	var w any
	if err := json.Unmarshal([]byte(fmt.Sprintf(want, args...)), &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, w) {
		g, _ := json.MarshalIndent(got, "", " ")
		e, _ := json.MarshalIndent(w, "", " ")
		t.Errorf("got %s\nwant %s", g, e)
	}
}

// fleetAt makes an Anywhere fleet in the given locations, which it makes if
// need be.
func (w *world) fleetAt(locations ...string) string {
	w.t.Helper()
	var list []object
	for _, l := range locations {
		if _, err := w.call("CreateLocation", object{"LocationName": l}); err != nil && !fault.Is(err, fault.Conflict) {
			w.t.Fatal(err)
		}
		list = append(list, object{"Location": l})
	}
	out := w.must("CreateFleet", object{"Name": "fleet", "ComputeType": "ANYWHERE", "Locations": list})
	return text(out, "FleetAttributes", "FleetId")
}

// compute registers a compute and returns its auth token.
func (w *world) compute(fleet, location, name string) (token string) {
	w.t.Helper()
	w.must("RegisterCompute", object{"FleetId": fleet, "ComputeName": name, "Location": location,
		"IpAddress": "10.0.0.1", "DnsName": strings.ReplaceAll(name, "/", "-") + ".example"})
	return w.token(fleet, name)
}

func (w *world) token(fleet, compute string) string {
	w.t.Helper()
	return text(w.must("GetComputeAuthToken", object{"FleetId": fleet, "ComputeName": compute}), "AuthToken")
}

// A socket is a server process's end of a connection.
type socket struct {
	processes.Connection
	w        *world
	connect  processes.ConnectRequest
	pushes   chan processes.Push
	replaced chan struct{}
}

// dial connects a server process.
func (w *world) dial(c processes.ConnectRequest) (*socket, error) {
	s := &socket{w: w, connect: c, pushes: make(chan processes.Push, 100), replaced: make(chan struct{}, 10)}
	c.Push = func(p processes.Push) { s.pushes <- p }
	c.Replaced = func() { s.replaced <- struct{}{} }
	var err error
	s.Connection, err = w.processes.Connect(w.ctx, c)
	return s, err
}

func (w *world) mustDial(c processes.ConnectRequest) *socket {
	w.t.Helper()
	s, err := w.dial(c)
	if err != nil {
		w.t.Fatalf("connect %s: %v", c.ProcessID, err)
	}
	return s
}

// process connects a server process that is ready to host.
func (w *world) process(fleet, compute, token, id string) *socket {
	w.t.Helper()
	s := w.mustDial(processes.ConnectRequest{
		FleetID: fleet, ComputeName: compute, ProcessID: id, Authorization: token,
		SDKVersion: "5.4.0", SDKLanguage: "Go", IdempotencyToken: id + "-1",
	})
	s.ok(s.ready(7777))
	return s
}

// host makes a fleet in one location with a compute and ready processes.
func (w *world) host(processes int) (fleet string, sockets []*socket) {
	w.t.Helper()
	fleet = w.fleetAt("custom-a")
	token := w.compute(fleet, "custom-a", "c1")
	for i := range processes {
		sockets = append(sockets, w.process(fleet, "c1", token, fmt.Sprintf("p%d", i)))
	}
	return fleet, sockets
}

// wait turns an asynchronous call into one that returns its error.
func wait(call func(done func(error))) error {
	result := make(chan error, 1)
	call(func(err error) { result <- err })
	return <-result
}

func (s *socket) ready(port int32) error {
	return wait(func(done func(error)) {
		s.Activate(processes.ProcessReady{SDKVersion: "5.4.0", SDKLanguage: "Go", Port: port}, done)
	})
}

func (s *socket) heartbeat(healthy bool) error {
	return wait(func(done func(error)) { s.Heartbeat(healthy, done) })
}

func (s *socket) activate(gameSession string) error {
	return wait(func(done func(error)) { s.ActivateGameSession(gameSession, done) })
}

func (s *socket) accept(gameSession, playerSession string) error {
	return wait(func(done func(error)) { s.AcceptPlayerSession(gameSession, playerSession, done) })
}

func (s *socket) remove(gameSession, playerSession string) error {
	return wait(func(done func(error)) { s.RemovePlayerSession(gameSession, playerSession, done) })
}

func (s *socket) policy(gameSession, policy string) error {
	return wait(func(done func(error)) { s.UpdatePlayerSessionCreationPolicy(gameSession, policy, done) })
}

func (s *socket) end() error { return wait(s.Terminate) }

func (s *socket) describe(q processes.PlayerSessionQuery) (page processes.PlayerSessionPage, err error) {
	err = wait(func(done func(error)) {
		s.DescribePlayerSessions(q, func(p processes.PlayerSessionPage, err error) { page = p; done(err) })
	})
	return page, err
}

func (s *socket) ok(err error) {
	s.w.t.Helper()
	if err != nil {
		s.w.t.Fatal(err)
	}
}

// next is the next push, which has to come.
func (s *socket) next() processes.Push {
	s.w.t.Helper()
	select {
	case p := <-s.pushes:
		return p
	case <-s.w.ctx.Done():
		s.w.t.Fatal("no push came")
		return nil
	}
}

// quiet checks that no push is waiting.
func (s *socket) quiet() {
	s.w.t.Helper()
	select {
	case p := <-s.pushes:
		s.w.t.Errorf("process %s was pushed %#v", s.connect.ProcessID, p)
	default:
	}
}

// wasReplaced waits until the socket is notified that it is not the primary one.
func (s *socket) wasReplaced() {
	s.w.t.Helper()
	select {
	case <-s.replaced:
	case <-s.w.ctx.Done():
		s.w.t.Fatal("the socket was not replaced")
	}
}

// create makes a game session, activates it and returns its id.
func (w *world) create(fleet string, more object) string {
	w.t.Helper()
	in := object{"FleetId": fleet, "Location": "custom-a", "MaximumPlayerSessionCount": 2}
	for k, v := range more {
		in[k] = v
	}
	return text(w.must("CreateGameSession", in), "GameSession", "GameSessionId")
}

func (w *world) active(fleet string, more object, sockets ...*socket) string {
	w.t.Helper()
	id := w.create(fleet, more)
	for _, s := range sockets {
		select {
		case p := <-s.pushes:
			if start, ok := p.(processes.CreateGameSessionPush); ok && start.GameSessionID == id {
				s.ok(s.activate(id))
				return id
			}
			w.t.Fatalf("unexpected push %#v", p)
		default:
		}
	}
	w.t.Fatalf("no process was asked to start %s", id)
	return ""
}

func (w *world) status(gameSession string) string {
	w.t.Helper()
	return text(w.must("DescribeGameSessions", object{"GameSessionId": gameSession}), "GameSessions", 0, "Status")
}

func (w *world) room(fleetID, location string) fleet.RoomID {
	return fleet.RoomID{Fleet: fleet.ID(fleetID), Location: location}
}

// events are the codes of a fleet's events, newest first.
func (w *world) events(fleet string) string {
	w.t.Helper()
	return strings.Join(texts(w.must("DescribeFleetEvents", object{"FleetId": fleet})["Events"], "EventCode"), " ")
}

func (w *world) seconds() float64 { return float64(event.At(w.clock.Now())) / 1000 }

// state is a digest of everything that is kept, apart from heartbeats.
func (w *world) state() string {
	w.t.Helper()
	var all strings.Builder
	for _, s := range w.shards {
		view, err := s.View(w.ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		err = view.Snapshot(func(f event.Fact) error {
			line, err := json.Marshal(f.Body)
			fmt.Fprintf(&all, "%d %T %s\n", f.Room, f.Body, line)
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return all.String()
}

// elapse lets time go by. Whatever a shard is asked afterwards it decides at the new
// time: it reads the clock once for the requests that it finds waiting. The last steps are
// shorter than what a shard takes for a pause, so the deadlines for game servers pass as
// they do for a service that runs. See jump.
func (w *world) elapse(d time.Duration) {
	w.t.Helper()
	const step, deadlines = 5 * time.Second, 11 * time.Minute
	if d > deadlines {
		w.jump(d - deadlines)
		d = deadlines
	}
	for ; d > step; d -= step {
		w.jump(step)
	}
	w.jump(d)
}

// jump moves the clock at once, and lets all shards look at it.
func (w *world) jump(d time.Duration) {
	w.t.Helper()
	w.clock.Advance(d)
	for _, s := range w.shards {
		if err := s.Read(w.ctx, func(*region.Machine) {}); err != nil {
			w.t.Fatal(err)
		}
	}
}
