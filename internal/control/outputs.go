package control

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The lines of a process arrive at the node that its agent is connected to. Another node opens a reader there, and asks
// for the next lines when its own caller wants them: so lines wait at one place, in a queue with a limit, and a node
// that has been lost is noticed by a question without an answer.

const (
	// linesWait is how long a question for lines waits for them, before it is repeated.
	linesWait = 10 * time.Second

	// outputLimit is the timeout of the other questions, and how long an answer may take longer than linesWait.
	outputLimit = 3 * time.Second

	// abandonAfter is the time after which a reader is closed for whose lines no node has asked.
	abandonAfter = time.Minute
)

// Methods of an outputRequest.
const (
	openOutput  = "open"
	nextOutput  = "next"
	closeOutput = "close"
)

// An outputRequest is a question about the output of a process whose agent may be connected to the node that is asked.
type outputRequest struct {
	Method string `json:"method"`
	Reader string `json:"reader"` // chosen by the node that asks

	// Of openOutput.
	Fleet    string `json:"fleet,omitempty"`
	Location string `json:"location,omitempty"`
	Compute  string `json:"compute,omitempty"`
	Process  string `json:"process,omitempty"`
	Tail     int64  `json:"tail,omitempty"`
	Follow   bool   `json:"follow,omitempty"`
}

// An outputAnswer is its result. Kind and Message are of a *fault.Error.
type outputAnswer struct {
	Lines   []byte     `json:"lines,omitempty"`
	Skipped bool       `json:"skipped,omitempty"`
	Problem string     `json:"problem,omitempty"`
	Ended   bool       `json:"ended,omitempty"`
	Lost    bool       `json:"lost,omitempty"`
	None    bool       `json:"none,omitempty"` // there are no lines yet
	Kind    fault.Kind `json:"kind,omitempty"`
	Message string     `json:"message,omitempty"`
}

// outputReaders are the readers that other nodes have opened on this one, by id.
type outputReaders struct {
	mu   sync.Mutex
	open map[string]*outputReader
}

type outputReader struct {
	stream  *processes.LogStream
	abandon clockwork.Timer
}

// answerOutput answers a question of another node.
func (p *Plane) answerOutput(ctx context.Context, question []byte) []byte {
	var r outputRequest
	if err := json.Unmarshal(question, &r); err != nil {
		return nil
	}
	a, err := p.serveOutput(ctx, &r)
	if err != nil {
		f := fault.Of(err)
		a = outputAnswer{Kind: f.Kind, Message: f.Message}
	}
	data, _ := json.Marshal(a) // cannot fail
	return data
}

func (p *Plane) serveOutput(ctx context.Context, r *outputRequest) (a outputAnswer, err error) {
	switch r.Method {
	case openOutput:
		return a, p.openReader(r)
	case nextOutput:
		return p.nextLines(ctx, r.Reader)
	case closeOutput:
		p.closeReader(r.Reader)
		return a, nil
	}
	return a, invalid("Method %.20q is not known", r.Method)
}

func (p *Plane) openReader(r *outputRequest) error {
	room := fleet.RoomID{Fleet: fleet.ID(r.Fleet), Location: r.Location}
	stream, err := p.agents.FollowLog(room, r.Compute, r.Process, r.Tail, r.Follow)
	if err != nil {
		return err
	}
	reader := &outputReader{stream: stream}
	reader.abandon = p.cfg.Clock.AfterFunc(abandonAfter, func() { p.closeReader(r.Reader) })
	p.readers.mu.Lock()
	defer p.readers.mu.Unlock()
	if p.readers.open == nil {
		p.readers.open = map[string]*outputReader{}
	}
	p.readers.open[r.Reader] = reader
	return nil
}

// nextLines waits for the next lines of a reader, and closes it after the last ones.
func (p *Plane) nextLines(ctx context.Context, id string) (a outputAnswer, err error) {
	p.readers.mu.Lock()
	r := p.readers.open[id]
	p.readers.mu.Unlock()
	if r == nil {
		return a, notFound("The output is not read any more")
	}
	r.abandon.Reset(abandonAfter)
	ctx, cancel := context.WithTimeout(ctx, linesWait)
	defer cancel()
	l, err := r.stream.Next(ctx)
	if err != nil {
		return outputAnswer{None: true}, nil
	}
	if l.Ended {
		p.closeReader(id)
	}
	return outputAnswer{Lines: []byte(l.Lines), Skipped: l.Skipped, Problem: l.Problem, Ended: l.Ended, Lost: l.Lost},
		nil
}

func (p *Plane) closeReader(id string) {
	p.readers.mu.Lock()
	r := p.readers.open[id]
	delete(p.readers.open, id)
	p.readers.mu.Unlock()
	if r != nil {
		r.abandon.Stop()
		r.stream.Close()
	}
}

// openRunning reads the output of a process that runs, on the node that its agent is connected to.
func (p *Plane) openRunning(ctx context.Context, room fleet.RoomID, process fleet.ProcessKey, q LogQuery) (LogReader,
	error) {
	stream, err := p.agents.FollowLog(room, process.Compute, process.ID, q.Tail, q.Follow)
	switch {
	case err == nil:
		return stream, nil
	case p.cfg.Cluster == nil || !fault.Is(err, fault.Conflict):
		return nil, err
	}
	return p.openElsewhere(ctx, outputRequest{Method: openOutput, Fleet: string(room.Fleet), Location: room.Location,
		Compute: process.Compute, Process: process.ID, Tail: q.Tail, Follow: q.Follow}, err)
}

// openElsewhere asks all other nodes at once for a reader. refused is why there is none on this one.
func (p *Plane) openElsewhere(ctx context.Context, r outputRequest, refused error) (LogReader, error) {
	type result struct {
		reader *remoteOutput
		err    error
	}
	results := make(chan result)
	asked := 0
	for _, node := range p.cfg.Cluster.Living() {
		if node == p.cfg.Cluster.Self() {
			continue
		}
		asked++
		at := r
		at.Reader = uuid.NewString()
		go func() {
			_, err := p.askOutput(ctx, node, at, outputLimit)
			results <- result{&remoteOutput{p, node, at.Reader}, err}
		}()
	}
	var found *remoteOutput
	for range asked {
		switch got := <-results; {
		case got.err != nil && !fault.Is(got.err, fault.Conflict):
			refused = got.err
			got.reader.Close() // the answer may have been lost
		case got.err != nil:
		case found != nil: // the agent is connected to two nodes
			got.reader.Close()
		default:
			found = got.reader
		}
	}
	if found == nil {
		return nil, refused
	}
	return found, nil
}

// askOutput asks another node. The error is a *fault.Error: ServiceUnavailable if the node does not answer.
func (p *Plane) askOutput(ctx context.Context, node string, r outputRequest, limit time.Duration) (a outputAnswer,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	question, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	answer, err := topic{p.cfg.Cluster, aboutOutput}.AskNode(ctx, node, question)
	if err == nil {
		err = json.Unmarshal(answer, &a)
	}
	switch {
	case err != nil:
		f := fault.New(fault.ServiceUnavailable, "Node %s does not answer. Try again.", node)
		f.Err = fmt.Errorf("ask node %s for output: %w", node, err)
		return a, f
	case a.Kind != "":
		return a, fault.New(a.Kind, "%s", a.Message)
	}
	return a, nil
}

// A remoteOutput is a reader on another node.
type remoteOutput struct {
	plane *Plane
	node  string
	id    string
}

// Next implements LogReader.
func (o *remoteOutput) Next(ctx context.Context) (processes.LogLines, error) {
	for {
		a, err := o.plane.askOutput(ctx, o.node, outputRequest{Method: nextOutput, Reader: o.id}, linesWait+outputLimit)
		switch {
		case ctx.Err() != nil:
			return processes.LogLines{}, ctx.Err()
		case err != nil:
			return processes.LogLines{Problem: "The node that the agent is connected to has failed.", Ended: true,
				Lost: true}, nil
		case a.None:
			continue
		}
		return processes.LogLines{Lines: string(a.Lines), Skipped: a.Skipped, Problem: a.Problem, Ended: a.Ended,
			Lost: a.Lost}, nil
	}
}

// Close implements LogReader. It does not wait for the other node, which closes the reader later if it does not get
// the request.
func (o *remoteOutput) Close() {
	o.plane.Go(func() {
		_, _ = o.plane.askOutput(context.Background(), o.node, outputRequest{Method: closeOutput, Reader: o.id},
			outputLimit)
	})
}
