package control

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func withDriver(activation time.Duration) option {
	return func(w *world) {
		w.config.ActivationTimeout, w.config.ReplaceAfter = activation, DefaultReplaceAfter
	}
}

// A rack is machines that run what is wanted of them, with one server process for each instance.
type rack struct {
	*world
	boxes   []*box
	sockets map[string]*socket // by instance
	asked   map[string]bool    // by instance: its process was asked to end
	hosts   map[string]string  // the game session, by instance
	ended   map[string]bool    // by instance: its process has ended
	mute    bool               // processes do not begin
}

func (w *world) rack(boxes ...*box) *rack {
	return &rack{world: w, boxes: boxes, sockets: map[string]*socket{}, asked: map[string]bool{},
		hosts: map[string]string{}, ended: map[string]bool{}}
}

// until lets time pass, and the machines act, until ok holds.
func (r *rack) until(what string, ok func() bool) {
	r.t.Helper()
	r.advance(what, 100*time.Millisecond, func() bool {
		r.act()
		return ok()
	})
}

// pass lets time pass, and the machines act.
func (r *rack) pass(d time.Duration) {
	r.t.Helper()
	end := r.clock.Now().Add(d)
	r.advance("the time to pass", time.Second, func() bool {
		r.act()
		return !r.clock.Now().Before(end)
	})
}

func (r *rack) act() {
	r.t.Helper()
	for _, b := range r.boxes {
		var states []protocol.InstanceState
		for _, in := range b.newest().Instances {
			states = append(states, protocol.InstanceState{ID: in.ID, Stage: r.stageOf(b, in)})
		}
		b.report(states...)
	}
	for id, s := range r.sockets {
		select {
		case p := <-s.pushes:
			r.pushed(id, s, p)
		default:
		}
	}
}

func (r *rack) stageOf(b *box, in protocol.Instance) protocol.Stage {
	s := r.sockets[in.ID]
	switch {
	case in.Ends && (s == nil || r.ended[in.ID]):
		return protocol.Ended
	case s == nil && !r.mute:
		r.sockets[in.ID] = b.serve(in, "p-"+in.ID)
	}
	return protocol.Running
}

func (r *rack) pushed(id string, s *socket, p processes.Push) {
	switch p := p.(type) {
	case processes.CreateGameSessionPush:
		s.ok(s.activate(p.GameSessionID))
		r.hosts[id] = p.GameSessionID
	case processes.TerminateProcessPush:
		r.asked[id] = true
		if r.hosts[id] == "" { // one that hosts takes its time
			r.end(id)
		}
	}
}

func (r *rack) end(id string) {
	s := r.sockets[id]
	s.ok(s.end())
	r.ended[id] = true
}

// session creates a game session, and returns the instance that hosts it.
func (r *rack) session(fleet, protection string) (instance string) {
	r.t.Helper()
	id := text(r.must("CreateGameSession", object{"FleetId": fleet, "MaximumPlayerSessionCount": 2}), "GameSession",
		"GameSessionId")
	r.until("a host", func() bool {
		for i, session := range r.hosts {
			if session == id {
				instance = i
			}
		}
		return instance != ""
	})
	r.must("UpdateGameSession", object{"GameSessionId": id, "ProtectionPolicy": protection})
	return instance
}

func (r *rack) scale(fleet string, desired int) {
	r.t.Helper()
	r.must("UpdateFleetCapacity", object{"FleetId": fleet, "MaxSize": 9, "DesiredInstances": desired})
}

// instances returns the machines of the instances of a fleet that are not TERMINATING, in order.
func (r *rack) instances(fleet string) (on []string) {
	for _, i := range r.Catalog().Instances(fleet, "") {
		if i.Status != catalog.InstanceTerminating {
			on = append(on, i.Machine)
		}
	}
	slices.Sort(on)
	return on
}

// ready waits until a fleet has a number of instances, all ACTIVE.
func (r *rack) ready(fleet string, n int) {
	r.t.Helper()
	r.until("instances that are ready", func() bool {
		active := 0
		for _, i := range r.Catalog().Instances(fleet, "") {
			if i.Status == catalog.InstanceActive {
				active++
			}
		}
		return active == n && len(r.Catalog().Instances(fleet, "")) == n
	})
}

// TestScaleIn: instances are packed, idle ones end first, then those whose game sessions are not protected, and no
// protected game session ends.
func TestScaleIn(t *testing.T) {
	w := newWorld(t, withObjects(t), withDriver(time.Hour))
	build, _ := w.readyBuild(t)
	r := w.rack(w.boxOf("a", 1, 4000), w.boxOf("b", 2, 4000), w.boxOf("c", 3, 4000))
	id := w.managedFleet(build, nil) // of two CPUs for each instance
	r.ready(id, 1)
	r.scale(id, 5)
	r.ready(id, 5)
	if on := r.instances(id); !reflect.DeepEqual(on, []string{"a", "a", "b", "b", "c"}) {
		t.Errorf("the instances are on %v", on)
	}
	protected, other := r.session(id, "FullProtection"), r.session(id, "NoProtection")

	r.scale(id, 2)
	r.ready(id, 2)
	if r.asked[protected] || r.asked[other] || len(r.asked) != 3 {
		t.Errorf("asked to end: %v; %s and %s have game sessions", r.asked, protected, other)
	}
	r.scale(id, 1)
	r.until("the unprotected one is asked to end", func() bool { return r.asked[other] })
	r.end(other)
	r.ready(id, 1)
	r.scale(id, 0)
	r.pass(20 * time.Second)
	if i, ok := r.Catalog().Instance(protected); !ok || i.Status != catalog.InstanceActive || r.asked[protected] {
		t.Errorf("the protected one is %+v", i)
	}
	r.end(protected)
	r.until("the last one ends with its game session", func() bool { return len(r.instances(id)) == 0 })
}

// TestMachineLost: the instances of a machine that is lost are replaced, and those of one that was cut off for a short
// time are not. What was replaced is not wanted of the machine when it returns.
func TestMachineLost(t *testing.T) {
	w := newWorld(t, withObjects(t), withDriver(time.Hour))
	build, _ := w.readyBuild(t)
	a, b := w.boxOf("a", 1, 4000), w.boxOf("b", 2, 4000)
	r := w.rack(a, b)
	id := w.managedFleet(build, nil)
	r.ready(id, 1)
	r.scale(id, 2)
	r.ready(id, 2)
	first := slices.Clone(w.Catalog().Instances(id, ""))

	r.boxes = []*box{b}
	a.Disconnected()
	r.pass(time.Minute)
	if on := r.instances(id); !reflect.DeepEqual(on, []string{"a", "a"}) {
		t.Errorf("after a minute the instances are on %v", on)
	}
	begun := w.clock.Now().Add(-time.Minute)
	r.pass(DefaultReplaceAfter - time.Minute - 10*time.Second)
	r.until("other instances", func() bool { return reflect.DeepEqual(r.instances(id), []string{"b", "b"}) })
	if took := w.clock.Since(begun); took > DefaultReplaceAfter+15*time.Second || took < DefaultReplaceAfter {
		t.Errorf("replaced after %s", took)
	}
	r.ready(id, 2)
	if !slices.Contains(w.codes(id), "INSTANCE_REPLACED_UNHEALTHY") {
		t.Errorf("the events are %v", w.codes(id))
	}
	again, err := w.joinMachine("a", "", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	if left := again.newest().Instances; len(left) != 0 {
		t.Errorf("wanted of the machine that returns: %+v", left)
	}
	for _, i := range first {
		if _, ok := w.Catalog().Instance(i.ID); ok {
			t.Errorf("instance %s was not dropped", i.ID)
		}
	}
}

// TestDrainedMachine: no game session on a drained machine ends, and its instances end with them.
func TestDrainedMachine(t *testing.T) {
	w := newWorld(t, withObjects(t), withDriver(time.Hour))
	build, _ := w.readyBuild(t)
	r := w.rack(w.boxOf("a", 1, 4000), w.boxOf("b", 2, 4000))
	id := w.managedFleet(build, nil)
	r.ready(id, 1)
	r.scale(id, 2)
	r.ready(id, 2)
	host := r.session(id, "NoProtection")
	m, err := w.DrainMachine(w.ctx, "a", true)
	if err != nil || m.GameSessions == nil || *m.GameSessions != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	r.until("other instances", func() bool {
		return slices.Equal(r.instances(id), []string{"a", "b", "b"})
	})
	r.pass(20 * time.Second)
	if i, _ := w.Catalog().Instance(host); i == nil || i.Status != catalog.InstanceActive || r.asked[host] {
		t.Errorf("the host is %+v", i)
	}
	err = w.DeleteMachine(w.ctx, "a", false)
	wantFault(t, "delete a machine that runs instances", err, fault.Conflict)
	if !strings.Contains(err.Error(), "still runs 1 instance with 1 game session.") {
		t.Error(err)
	}
	r.session(id, "NoProtection")
	if len(r.hosts) != 2 || r.hosts[host] == "" {
		t.Errorf("the game sessions are on %v", r.hosts)
	}
	r.end(host)
	r.until("the machine is empty", func() bool { return len(w.Catalog().InstancesOf("a")) == 0 })
	if err := w.DeleteMachine(w.ctx, "a", false); err != nil {
		t.Error(err)
	}
	if _, err := w.DrainMachine(w.ctx, "b", true); err != nil {
		t.Fatal(err)
	}
	if err := w.DeleteMachine(w.ctx, "b", true); err != nil { // with its instances
		t.Error(err)
	}
}

// TestFleetActivation: a fleet fails that gets no machine, and one whose processes do not call ProcessReady.
func TestFleetActivation(t *testing.T) {
	w := newWorld(t, withObjects(t), withDriver(time.Minute))
	build, _ := w.readyBuild(t)
	id := w.managedFleet(build, nil)
	r := w.rack()
	r.until("the fleet without a machine fails", func() bool { return w.fleetStatus(id) == "ERROR" })
	if codes := w.codes(id); !slices.Contains(codes, "FLEET_ACTIVATION_FAILED_NO_INSTANCES") {
		t.Errorf("the events are %v", codes)
	}
	if took := w.clock.Since(fleetCreated(w, id)); took > time.Minute+6*time.Second {
		t.Errorf("failed after %s", took)
	}

	w = newWorld(t, withObjects(t), withDriver(time.Hour))
	build, _ = w.readyBuild(t)
	r = w.rack(w.box("a", 1))
	r.mute = true
	id = w.managedFleet(build, nil)
	r.until("ACTIVATING", func() bool { return w.fleetStatus(id) == "ACTIVATING" })
	r.pass(9 * time.Minute)
	if got := w.fleetStatus(id); got != "ACTIVATING" {
		t.Errorf("after nine minutes the fleet is %s", got)
	}
	r.until("the fleet without a ready process fails", func() bool { return w.fleetStatus(id) == "ERROR" })
	if codes := w.codes(id); !slices.Contains(codes, "FLEET_ACTIVATION_FAILED") {
		t.Errorf("the events are %v", codes)
	}
	r.pass(9 * time.Minute)
	if on := r.instances(id); len(on) != 1 {
		t.Errorf("the fleet that has failed has instances on %v", on)
	}
	r.until("they end", func() bool { return len(w.Catalog().Instances(id, "")) == 0 })
}

func fleetCreated(w *world, id string) time.Time {
	f, _ := w.Catalog().Fleet(id)
	return f.Created.Time()
}

// TestInstallLog: the output of an installation that has failed is behind the URL of the fleet event, for 15 minutes.
func TestInstallLog(t *testing.T) {
	w := newWorld(t, withObjects(t), withDriver(time.Hour))
	build, _ := w.readyBuild(t)
	b := w.box("a", 1)
	id := w.managedFleet(build, nil)
	in := b.instance()
	request := func(method, url, body string) *httptest.ResponseRecorder {
		out := httptest.NewRecorder()
		w.ServeFile(out, httptest.NewRequestWithContext(w.ctx, method, url, strings.NewReader(body)))
		return out
	}
	if got := request(http.MethodPut, in.LogPath, "make: no rule"); got.Code != http.StatusOK {
		t.Fatalf("put: %d %s", got.Code, got.Body)
	}
	if got := request(http.MethodPut, in.LogPath, strings.Repeat("x", 1<<20+1)); got.Code != 413 {
		t.Errorf("put a long one: %d %s", got.Code, got.Body)
	}
	if got := request(http.MethodPut, in.LogPath+"0", "x"); got.Code != http.StatusForbidden {
		t.Errorf("put without permission: %d", got.Code)
	}
	b.report(protocol.InstanceState{ID: in.ID, Stage: protocol.Failed,
		Failure: &protocol.Failure{Code: "FLEET_CREATION_FAILED_INSTALLER", Message: "install.sh: exit code 2"}})
	w.await("ERROR", func() bool { return w.fleetStatus(id) == "ERROR" })
	ctx := WithCall(context.Background(), Call{URL: "http://muster.example"})
	out, err := w.callAs(ctx, "DescribeFleetEvents", object{"FleetId": id})
	if err != nil {
		t.Fatal(err)
	}
	url := ""
	for _, e := range at(out, "Events").([]any) {
		if text(e.(object), "EventCode") == "FLEET_CREATION_FAILED_INSTALLER" {
			url = text(e.(object), "PreSignedLogUrl")
		}
	}
	if !strings.HasPrefix(url, "http://muster.example/") {
		t.Fatalf("the URL is %q", url)
	}
	got := request(http.MethodGet, url, "")
	if body, _ := io.ReadAll(got.Body); got.Code != http.StatusOK || string(body) != "make: no rule" {
		t.Errorf("get: %d %q", got.Code, body)
	}
	w.clock.Advance(16 * time.Minute)
	if got := request(http.MethodGet, url, ""); got.Code != http.StatusForbidden {
		t.Errorf("get after 16 minutes: %d", got.Code)
	}
	w.refused(fault.InvalidFleetStatus, "CreateGameSession", object{"FleetId": id, "MaximumPlayerSessionCount": 2})
}
