package control

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/logs"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// withLogs gives a world a store of logs.
func withLogs(t *testing.T) option {
	dir := t.TempDir()
	return func(w *world) {
		store, err := logs.Open(logs.Config{Dir: dir, MaxSize: 1 << 30, Clock: w.clock,
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		w.config.Logs = store
	}
}

// An outputNet is three nodes: the first one owns the room of a game session, the second one has the agent of its
// compute, and the third one its process.
type outputNet struct {
	*net
	t              *testing.T
	agent          *agentSocket
	process        *socket
	fleet, session string
}

func newOutputNet(t *testing.T) *outputNet {
	n := &outputNet{net: newStoringNet(t, 3), t: t}
	first := n.worlds[0]
	n.fleet = first.fleetAt("custom-a")
	token := first.compute(n.fleet, "custom-a", "c1")
	n.agent = n.worlds[1].agentAs(n.fleet, "c1", token, true)
	n.process = n.worlds[2].process(n.fleet, "c1", token, "p1")
	n.session = first.create(n.fleet, nil)
	n.process.next()
	n.process.ok(n.process.activate(n.session))
	return n
}

// reconnect has the agent connect to another node.
func (n *outputNet) reconnect(node int) {
	n.agent = n.worlds[node].agentAs(n.fleet, "c1", n.worlds[0].token(n.fleet, "c1"), true)
}

// asked waits until the agent is asked for lines.
func (n *outputNet) asked() (push processes.FollowLogPush) {
	n.t.Helper()
	for {
		select {
		case p := <-n.agent.pushes:
			if push, ok := p.(processes.FollowLogPush); ok {
				return push
			}
		case <-n.worlds[0].ctx.Done():
			n.t.Fatal("the agent is not asked for lines")
		}
	}
}

// send has the agent send lines.
func (n *outputNet) send(stream string, l processes.LogLines) {
	n.t.Helper()
	if err := n.agent.PutLines(stream, l); err != nil {
		n.t.Fatal(err)
	}
}

// output opens the output of the game session on a node.
func (n *outputNet) output(node int, q LogQuery) *ProcessLog {
	n.t.Helper()
	log, err := n.worlds[node].SessionLog(n.worlds[node].ctx, n.session, q)
	if err != nil {
		n.t.Fatal(err)
	}
	return log
}

// next checks the next lines, and that the reason for their end has a text.
func (n *outputNet) next(log *ProcessLog, want processes.LogLines) {
	n.t.Helper()
	got, err := log.Next(n.worlds[0].ctx)
	if err != nil {
		n.t.Fatal(err)
	}
	if !strings.Contains(got.Problem, want.Problem) || (got.Problem == "") != (want.Problem == "") {
		n.t.Errorf("the problem is %q, not %q", got.Problem, want.Problem)
	}
	if got.Lines != want.Lines || got.Skipped != want.Skipped || got.Ended != want.Ended {
		n.t.Errorf("got %+v, want %+v", got, want)
	}
}

const (
	lineOne   = "2026-01-02T03:04:05.000001Z out one\n"
	lineTwo   = "2026-01-02T03:04:05.000002Z out two\n"
	lineTwoB  = "2026-01-02T03:04:05.000002Z out two again\n"
	lineThree = "2026-01-02T03:04:05.000003Z out three\xff\n"
	lineErr   = "2026-01-02T03:04:05.000001Z err broken\n"
)

// TestOutputOfAnyNode: the output is read on each node, and its agent sends lines as long as they are read.
func TestOutputOfAnyNode(t *testing.T) {
	n := newOutputNet(t)
	for node, w := range n.worlds {
		log := n.output(node, LogQuery{Follow: node != 2, Tail: 100})
		push := n.asked()
		if push.ProcessID != "p1" || push.TailBytes != 100 || push.Once != (node == 2) {
			t.Errorf("node %d asks the agent for %+v", node, push)
		}
		n.send(push.StreamID, processes.LogLines{Lines: lineOne})
		n.next(log, processes.LogLines{Lines: lineOne})
		n.send(push.StreamID, processes.LogLines{Lines: lineThree, Skipped: true})
		n.next(log, processes.LogLines{Lines: lineThree, Skipped: true})
		if node == 0 {
			log.Close() // before the end
			w.await("the end of the reading", func() bool {
				return fault.Is(n.agent.PutLines(push.StreamID, processes.LogLines{Lines: lineOne}), fault.NotFound)
			})
			continue
		}
		n.send(push.StreamID, processes.LogLines{Ended: true})
		n.next(log, processes.LogLines{Ended: true})
		log.Close()
	}
	n.agent.Disconnected()
	for _, w := range n.worlds {
		if _, err := w.SessionLog(w.ctx, n.session, LogQuery{}); !fault.Is(err, fault.Conflict) {
			t.Errorf("without an agent: %v", err)
		}
	}
	n.setDown(1, true)
	w := n.worlds[0]
	if _, err := w.ProcessOutput(w.ctx, "p1", LogQuery{}); !fault.Is(err, fault.ServiceUnavailable) {
		t.Errorf("with a node that may have the agent: %v", err)
	}
}

// TestFollowedOutputContinues: when the agent connects to another node, or its node fails, those who follow get the
// lines after those that they have, and each once.
func TestFollowedOutputContinues(t *testing.T) {
	n := newOutputNet(t)
	log := n.output(0, LogQuery{Follow: true})
	defer log.Close()
	push := n.asked()
	n.send(push.StreamID, processes.LogLines{Lines: lineErr + lineOne + lineTwo})
	n.next(log, processes.LogLines{Lines: lineErr + lineOne + lineTwo})
	n.agent.Disconnected()
	n.next(log, processes.LogLines{Problem: "disconnected. Waiting"})

	n.reconnect(2)
	got := make(chan processes.LogLines, 1)
	next := func() {
		go func() {
			l, err := log.Next(n.worlds[0].ctx)
			if err != nil {
				t.Error(err)
			}
			got <- l
		}()
	}
	next()
	if push = n.asked(); push.TailBytes != reconnectTail {
		t.Errorf("the agent is asked for %+v", push)
	}
	n.send(push.StreamID, processes.LogLines{Lines: lineErr + lineOne})
	n.send(push.StreamID, processes.LogLines{Lines: lineTwo + lineTwoB + lineThree})
	if l := <-got; l.Lines != lineTwoB+lineThree || l.Problem != "" {
		t.Errorf("got %+v", l)
	}
	n.setDown(2, true)
	n.next(log, processes.LogLines{Problem: "has failed. Waiting"})
	next()
	n.worlds[0].advance("the end", reconnectPause, func() bool { return len(got) > 0 })
	if l := <-got; !l.Ended || !strings.Contains(l.Problem, "not connected again") {
		t.Errorf("without an agent: %+v", l)
	}
}

// TestFollowedOutputEnds: those who follow a process that ends while its agent is away get the end.
func TestFollowedOutputEnds(t *testing.T) {
	n := newOutputNet(t)
	log := n.output(2, LogQuery{Follow: true})
	n.asked()
	n.agent.Disconnected()
	n.next(log, processes.LogLines{Problem: "Waiting"})
	n.process.ok(n.process.end())
	n.next(log, processes.LogLines{Problem: "process has ended", Ended: true})
	log.Close()
}

// TestAbandonedOutput: a reader whose node has failed is closed after a while.
func TestAbandonedOutput(t *testing.T) {
	n := newOutputNet(t)
	n.output(0, LogQuery{Follow: true})
	stream := n.asked().StreamID
	n.send(stream, processes.LogLines{Lines: lineOne})
	n.worlds[1].clock.Advance(abandonAfter - time.Second)
	n.send(stream, processes.LogLines{Lines: lineOne})
	n.worlds[1].clock.Advance(time.Second)
	n.worlds[1].await("the end of the reader", func() bool {
		return fault.Is(n.agent.PutLines(stream, processes.LogLines{Lines: lineOne}), fault.NotFound)
	})
}

// TestLogOfAnyNode: the log of an ended game session is found and read on each node, also without the node that has
// received it.
func TestLogOfAnyNode(t *testing.T) {
	n := newOutputNet(t)
	key := logs.KeyOf(n.fleet, "c1", "p1")
	n.process.ok(n.process.end())
	if _, err := n.worlds[0].call("GetGameSessionLogUrl", object{"GameSessionId": n.session}); !fault.Is(err,
		fault.NotFound) {
		t.Errorf("before the upload: %v", err)
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	f, err := z.Create("stdout.log")
	if err == nil {
		_, err = io.WriteString(f, "2026-01-02T03:04:05.000001Z one\n")
	}
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	receiver := n.worlds[1]
	w, err := receiver.config.Logs.Create(key, int64(archive.Len()))
	if err == nil {
		_, err = w.Write(archive.Bytes())
	}
	if err != nil || w.Commit() != nil {
		t.Fatal(err)
	}
	for _, other := range []int{0, 2} {
		n.setDown(other, true)
	}
	if err := receiver.SpreadLog(receiver.ctx, key); !fault.Is(err, fault.ServiceUnavailable) {
		t.Errorf("with one node of three: %v", err)
	}
	n.setDown(0, false)
	if err := receiver.SpreadLog(receiver.ctx, key); err != nil {
		t.Fatal(err)
	}
	n.setDown(2, false)
	n.setDown(1, true) // lost
	for _, node := range []int{0, 2} {
		w := n.worlds[node]
		out := w.must("GetGameSessionLogUrl", object{"GameSessionId": n.session})
		u, err := url.Parse(text(out, "PreSignedUrl"))
		if err != nil || path.Base(u.Path) != string(key)+".zip" {
			t.Errorf("node %d: %v, %v", node, out, err)
		}
		n.next(n.output(node, LogQuery{}), processes.LogLines{Lines: lineOne})
	}
}

// FuzzOutputQuestion: any question has an answer or none, and opens nothing unless it is one.
func FuzzOutputQuestion(f *testing.F) {
	w := newWorld(f)
	for _, r := range []outputRequest{{Method: openOutput, Fleet: "fleet-1", Compute: "c", Process: "p", Follow: true},
		{Method: nextOutput, Reader: "r"}, {Method: closeOutput, Reader: "r"}} {
		data, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w.AnswerNode(w.ctx, append([]byte{aboutOutput}, data...))
		if len(w.readers.open) > 0 {
			t.Errorf("%q has opened a reader", data)
		}
	})
}

// TestNoLog names the reason why there is no log that applies.
func TestNoLog(t *testing.T) {
	w := newWorld(t, withLogs(t))
	id := w.fleetAt("custom-a")
	process := w.process(id, "c1", w.compute(id, "custom-a", "c1"), "p1")
	session := w.active(id, nil, process)
	process.ok(process.end())
	want := func(reason string) {
		t.Helper()
		_, err := w.SessionLog(w.ctx, session, LogQuery{})
		_, other := w.ProcessOutput(w.ctx, "p1", LogQuery{})
		for _, err := range []error{err, other} {
			if !fault.Is(err, fault.NotFound) || !strings.HasSuffix(err.Error(), ": "+reason) {
				t.Errorf("%v, want %s", err, reason)
			}
		}
	}
	want(noAgent)
	_, err := router.AskRoom[any](w.ctx, w.Router, w.room(id, "custom-a"),
		fleet.ExitProcess{ProcessKey: fleet.ProcessKey{Compute: "c1", ID: "p1"}, Reason: fleet.ExitCrashed})
	if err != nil {
		t.Fatal(err)
	}
	want(notUploaded)
}

// TestSeenLines: lines that are read again are returned once, also those of one time.
func TestSeenLines(t *testing.T) {
	f := &followedOutput{room: fleet.RoomID{}, seen: map[string]*seenLines{}}
	steps := []struct{ lines, want string }{
		{lineOne + lineTwo + lineErr, lineOne + lineTwo + lineErr},
		{lineOne + lineErr + lineTwo + lineTwoB, lineTwoB},
		{lineTwo + lineTwoB, ""},
		{lineThree + lineTwo, lineThree + lineTwo}, // the clock of the machine was set back
	}
	for _, s := range steps {
		if got := f.unseen(s.lines); got != s.want {
			t.Errorf("%q: got %q", s.lines, got)
		}
		for _, seen := range f.seen {
			seen.again, seen.repeated = true, 0
		}
	}
}
