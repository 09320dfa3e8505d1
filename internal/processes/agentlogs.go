package processes

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// maxLogReaders is how many streams of lines this node has at a time.
	maxLogReaders = 64
	// maxLogQueue is how many messages with lines wait for a reader, each of up to 100 kB.
	maxLogQueue = 16
)

// LogLines are lines of a process that runs, as its agent sends them.
type LogLines struct {
	Lines   string // each with its time, stream and line end
	Skipped bool   // lines before these are missing, because they were written faster than they were read
	Problem string // why there are no more lines; "": they have ended
	Ended   bool   // these are the last ones
	Lost    bool   // with Ended: because the connection to the agent was lost, and the process may go on
}

// FollowLogPush asks for the lines of a process. It is Muster's own, and is pushed only to agents that have announced
// that they send lines.
type FollowLogPush struct {
	ProcessID, StreamID string
	TailBytes           int64 // at most so many bytes of the lines before
	Once                bool  // no lines that are written later
}

func (FollowLogPush) agentPush() {}

// A LogStream is the lines of a process for one reader.
type LogStream struct {
	all   *Agents
	id    string
	key   computeKey
	lines chan LogLines

	mu      sync.Mutex
	skipped bool // lines were dropped since the last ones in the queue
	ended   bool
}

// FollowLog asks the agent of a compute for the lines of a process: at most tail bytes of those before, and then, with
// follow, those that are written. Close must be called. The error is a Conflict fault if no agent that sends lines is
// connected to this node, and LimitExceeded if there are too many readers.
func (all *Agents) FollowLog(room fleet.RoomID, compute, process string, tail int64, follow bool) (*LogStream, error) {
	s := &LogStream{all: all, id: uuid.NewString(), key: computeKey{room, compute},
		lines: make(chan LogLines, maxLogQueue)}
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.logs) >= maxLogReaders {
		return nil, fault.New(fault.LimitExceeded, "The output of %d processes is read. Try again later.",
			len(all.logs))
	}
	found := false
	for a := range all.open[s.key] {
		if a.muster {
			a.push(FollowLogPush{process, s.id, tail, !follow})
			found = true
		}
	}
	if !found {
		return nil, fault.New(fault.Conflict, "No \"muster agent\" of compute %s, which sends the output of its "+
			"processes, is connected to the region.", compute)
	}
	all.logs[s.id] = s
	return s, nil
}

// Next waits for lines. After the last ones, which have Ended set, it must not be called. The error is ctx's.
func (s *LogStream) Next(ctx context.Context) (LogLines, error) {
	select {
	case l := <-s.lines:
		return l, nil
	case <-ctx.Done():
		return LogLines{}, ctx.Err()
	}
}

// Close ends the stream. The agent ends it when it sends the next lines.
func (s *LogStream) Close() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	delete(s.all.logs, s.id)
}

// put queues lines for the reader. If it is too slow, they are dropped, and the next ones have Skipped set. It
// does not wait.
func (s *LogStream) put(l LogLines) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	l.Skipped = l.Skipped || s.skipped
	if l.Ended {
		s.ended = true
		s.makeRoom(&l)
		s.lines <- l // has room: nothing else is sent
		return
	}
	select {
	case s.lines <- l:
		s.skipped = false
	default:
		s.skipped = true
	}
}

// makeRoom drops the oldest lines of a full queue in favour of the last ones.
func (s *LogStream) makeRoom(last *LogLines) {
	for len(s.lines) == cap(s.lines) {
		select {
		case <-s.lines:
			last.Skipped = true
		default:
		}
	}
}

// PutLines implements AgentConnection.
func (a *agent) PutLines(stream string, l LogLines) error {
	a.all.mu.Lock()
	s := a.all.logs[stream]
	a.all.mu.Unlock()
	if s == nil || s.key != a.key {
		return fault.New(fault.NotFound, "The lines are not read any more")
	}
	s.put(l)
	return nil
}

// endLogs ends the streams of a compute without a connection. The lock is held.
func (all *Agents) endLogs(key computeKey) {
	for _, s := range all.logs {
		if s.key == key {
			s.put(LogLines{Problem: "The agent of the compute has disconnected.", Ended: true, Lost: true})
		}
	}
}

// AuthorizeCompute verifies the auth token of a compute. The error is a *fault.Error, as that of ConnectAgent.
func (all *Agents) AuthorizeCompute(ctx context.Context, fleetID, compute, token string) (fleet.RoomID, error) {
	if fleetID == "" || compute == "" || token == "" {
		return fleet.RoomID{}, fault.New(fault.InvalidRequest,
			"The connection needs the parameters FleetId, ComputeName and Authorization")
	}
	room, err := roomOf(all.Router, fleetID, compute)
	if err != nil {
		return room, err
	}
	now := all.Router.Now()
	checked, err := router.InRoom(ctx, all.Router, room, func(room *fleet.Room) (checked struct {
		found   bool
		refused error
	}) {
		checked.found, checked.refused = true, room.CheckToken(compute, token, now)
		return checked
	})
	switch {
	case err != nil:
		return room, err
	case !checked.found:
		return room, fault.New(fault.AccessDenied, "Compute %s is not registered in fleet %s", compute, fleetID)
	}
	return room, checked.refused
}
