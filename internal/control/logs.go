package control

import (
	"archive/zip"
	"bufio"
	"cmp"
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/logs"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// logURLLife is how long a URL for a log is valid. The API reference has no value.
const logURLLife = 15 * time.Minute

// KeepsLogs reports whether the logs of processes can be stored.
func (p *Plane) KeepsLogs() bool {
	return p.cfg.Logs != nil && (p.cfg.Cluster == nil || p.copies != nil)
}

// runLogs deletes old logs until ctx ends.
func (p *Plane) runLogs(ctx context.Context) error {
	if !p.KeepsLogs() {
		return nil
	}
	return p.cfg.Logs.Run(ctx)
}

// AuthorizeLog verifies the auth token of a compute whose agent uploads a log, and returns the id of its fleet. The
// error is a *fault.Error.
func (p *Plane) AuthorizeLog(ctx context.Context, fleetID, compute, token string) (string, error) {
	room, err := p.agents.AuthorizeCompute(ctx, fleetID, compute, token)
	if err != nil {
		return "", err
	}
	if !p.KeepsLogs() {
		return "", invalid("%s", noLogs)
	}
	return string(room.Fleet), nil
}

// noLogs is why a region does not store logs.
const noLogs = "This region does not store logs of processes."

// SpreadLog returns when a log that this node has stored is on a majority of the nodes that have to keep it. The error
// is a *fault.Error: ServiceUnavailable if too few of them answer.
func (p *Plane) SpreadLog(ctx context.Context, key logs.Key) error {
	if p.copies == nil {
		return nil
	}
	if err := p.copies.ProcessLogs.Spread(ctx, string(key)); err != nil {
		f := fault.New(fault.ServiceUnavailable, "Too few nodes of the region have a copy of the log. Try again.")
		f.Err = err
		return f
	}
	return nil
}

// GetGameSessionLogUrl returns where the log of a game session can be downloaded for 15 minutes: with the scheme and
// host that the call was sent to, because the AWS CLI downloads it without its settings for certificates and endpoints.
func (p *Plane) GetGameSessionLogUrl(ctx context.Context,
	in *wire.GetGameSessionLogUrlInput) (*wire.GetGameSessionLogUrlOutput, error) {
	room, g, err := p.findSession(ctx, in.GameSessionId)
	if err != nil {
		return nil, err
	}
	key := logs.KeyOf(string(room.Fleet), g.Host.Compute, g.Host.ID)
	if err := p.findLog(ctx, room, key, in.GameSessionId, g); err != nil {
		return nil, err
	}
	expires := p.cfg.Clock.Now().Add(logURLLife).Unix()
	query := url.Values{"expires": {strconv.FormatInt(expires, 10)},
		"signature": {p.secrets.LogSignature(string(key), expires)}}
	return &wire.GetGameSessionLogUrlOutput{PreSignedUrl: cmp.Or(callOf(ctx).URL, p.ownURL()) + "/logs/" + string(key) +
		".zip?" + query.Encode()}, nil
}

// ownURL returns the URL of this service for calls that do not come over HTTP: that of its endpoint for game servers.
func (p *Plane) ownURL() string { return "http" + strings.TrimPrefix(p.cfg.SDKEndpoint, "ws") }

// findLog returns a NotFound fault unless there is a log for a game session.
func (p *Plane) findLog(
	ctx context.Context, room fleet.RoomID, key logs.Key, id string, g *fleet.GameSession,
) error {
	switch {
	case !g.HasEnded():
		return notFound("Game session %s has not ended: it has no log yet. Its output can be read with "+
			"\"muster logs\"", id)
	case !p.KeepsLogs():
		return notFound("%s", noLogs)
	}
	if found, err := p.hasLog(ctx, key); found || err != nil {
		return err
	}
	if p.cfg.Clock.Now().Sub(g.Ended.Time()) >= logs.Retention {
		return notFound("The log of game session %s is not kept any more: it ended more than 14 days ago", id)
	}
	why, err := p.whyNoLog(ctx, room, g.Host)
	if err != nil {
		return err
	}
	return notFound("There is no log of game session %s: %s", id, why)
}

// Why there is no log of a process.
const (
	noAgent = "no agent has reported that it runs the server process; \"muster agent\" stores the logs of those that " +
		"it runs"
	notEnded    = "the server process has not ended; its output can be read with \"muster logs\""
	notUploaded = "the agent of the server process has not uploaded it yet"
	forgotten   = "the server process was not run by \"muster agent\", or its agent has not uploaded the log"
)

// whyNoLog returns why there is no log of a process. A few minutes after its end the process has no entry any more.
func (p *Plane) whyNoLog(ctx context.Context, room fleet.RoomID, key fleet.ProcessKey) (string, error) {
	return router.InRoom(ctx, p.Router, room, func(r *fleet.Room) string {
		process, ok := r.Process(key)
		switch {
		case !ok:
			return forgotten
		case !process.Supervised && !process.Exited:
			return noAgent
		case process.Status != fleet.ProcessEnded:
			return notEnded
		}
		return notUploaded
	})
}

// hasLog reports whether a node has a log.
func (p *Plane) hasLog(ctx context.Context, key logs.Key) (bool, error) {
	_, err := p.cfg.Logs.Find(key)
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return err == nil, err
	case p.copies == nil:
		return false, nil
	}
	had, err := p.copies.ProcessLogs.Elsewhere(ctx, []string{string(key)})
	if err != nil && len(had) == 0 {
		f := fault.New(fault.ServiceUnavailable, "Some nodes of the region, which may have the log, do not answer. "+
			"Try again.")
		f.Err = err
		return false, f
	}
	return len(had) > 0, nil
}

// VerifyLogURL reports whether a URL for a log was issued by GetGameSessionLogUrl.
func (p *Plane) VerifyLogURL(key logs.Key, expires time.Time, signature string) bool {
	return hmac.Equal([]byte(signature), []byte(p.secrets.LogSignature(string(key), expires.Unix())))
}

// A LogQuery selects the output of a process.
type LogQuery struct {
	Follow bool
	Tail   int64 // at most so many bytes of the output before; a log that is stored is read in whole
}

// A ProcessLog is the output of a server process.
type ProcessLog struct {
	FleetID string
	LogReader
}

// A LogReader reads the output of a process, of one that runs or of one that has ended.
type LogReader interface {
	// Next waits for lines. After the last ones, which have Ended set, it must not be called.
	Next(ctx context.Context) (processes.LogLines, error)
	// Close ends the reading.
	Close()
}

// SessionLog returns the output of the process of a game session, by the ARN or its last segment. NotFoundException:
// there is no such game session, or no log of it.
func (p *Plane) SessionLog(ctx context.Context, id string, q LogQuery) (*ProcessLog, error) {
	room, g, err := p.anySession(ctx, id)
	if err != nil {
		return nil, err
	}
	running, err := p.runs(ctx, room, g.Host) // also for a while after the end of the game session
	if err != nil {
		return nil, err
	}
	if running {
		return p.runningLog(ctx, room, g.Host, q)
	}
	key := logs.KeyOf(string(room.Fleet), g.Host.Compute, g.Host.ID)
	if err := p.findLog(ctx, room, key, id, g); err != nil {
		return nil, err
	}
	return p.endedLog(room, key)
}

// runningLog reads the output of a process that runs.
func (p *Plane) runningLog(ctx context.Context, room fleet.RoomID, process fleet.ProcessKey, q LogQuery) (*ProcessLog,
	error) {
	open := p.openRunning
	if q.Follow {
		open = p.follow
	}
	stream, err := open(ctx, room, process, q)
	if err != nil {
		return nil, err
	}
	return &ProcessLog{string(room.Fleet), stream}, nil
}

// endedLog reads the output in a log that is stored.
func (p *Plane) endedLog(room fleet.RoomID, key logs.Key) (*ProcessLog, error) {
	stored, err := p.openStored(key)
	if err != nil {
		return nil, err
	}
	return &ProcessLog{string(room.Fleet), stored}, nil
}

// ProcessOutput returns the output of a server process, by its id. NotFoundException: no process has the id, or there
// is no log of it.
func (p *Plane) ProcessOutput(ctx context.Context, id string, q LogQuery) (*ProcessLog, error) {
	room, process, err := p.findProcess(ctx, id)
	if err != nil {
		return nil, err
	}
	if process.Status != fleet.ProcessEnded {
		return p.runningLog(ctx, room, process.ProcessKey, q)
	}
	if !p.KeepsLogs() {
		return nil, notFound("%s", noLogs)
	}
	log, err := p.endedLog(room, logs.KeyOf(string(room.Fleet), process.Compute, id))
	if errors.Is(err, fs.ErrNotExist) {
		why, err := p.whyNoLog(ctx, room, process.ProcessKey)
		if err != nil {
			return nil, err
		}
		return nil, notFound("There is no log of server process %s: %s", id, why)
	}
	return log, err
}

// runs reports whether a process has not ended.
func (p *Plane) runs(ctx context.Context, room fleet.RoomID, key fleet.ProcessKey) (bool, error) {
	return router.InRoom(ctx, p.Router, room, func(r *fleet.Room) bool {
		process, ok := r.Process(key)
		return ok && process.Status != fleet.ProcessEnded
	})
}

// findProcess finds a process by its id in all rooms.
func (p *Plane) findProcess(ctx context.Context, id string) (room fleet.RoomID, found *fleet.Process, err error) {
	err = p.lookAtProcesses(ctx, func(r *fleet.Room) {
		r.Processes(func(process *fleet.Process) bool {
			if process.ID == id && (found == nil || process.Status != fleet.ProcessEnded) {
				room, found = r.ID(), process
			}
			return true
		})
	})
	if err == nil && found == nil {
		err = notFound("Server process %.128s not found: only processes that run or have ended a few minutes ago have "+
			"an entry. Give the id of its game session", id)
	}
	return room, found, err
}

// A storedLog is the output in a log that is stored: two streams, each in the order of time.
type storedLog struct {
	file    io.Closer
	entries []io.Closer
	streams []*storedStream
}

type storedStream struct {
	name  string // out or err
	lines *bufio.Reader
	next  string // with its line end; "": it has ended
}

// maxStoredLine is the maximum size of a line in bytes; longer ones are divided.
const maxStoredLine = 96 << 10

// openStored opens the output in a log. The error is fs.ErrNotExist if there is none.
func (p *Plane) openStored(key logs.Key) (*storedLog, error) {
	f, err := p.cfg.Logs.Open(key)
	if err != nil {
		return nil, err
	}
	l := &storedLog{file: f}
	if err := l.open(f); err != nil {
		l.Close()
		return nil, fmt.Errorf("log %s: %w", key, err)
	}
	return l, nil
}

func (l *storedLog) open(f interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(f, info.Size())
	if err != nil {
		return err
	}
	for _, of := range []struct{ name, file string }{{"out", "stdout.log"}, {"err", "stderr.log"}} {
		entry, err := archive.Open(of.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		l.entries = append(l.entries, entry)
		s := &storedStream{name: of.name, lines: bufio.NewReaderSize(entry, maxStoredLine)}
		if err := s.read(); err != nil {
			return err
		}
		l.streams = append(l.streams, s)
	}
	return nil
}

// read reads the next line.
func (s *storedStream) read() error {
	line, err := s.lines.ReadSlice('\n')
	s.next = string(line)
	if errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrBufferFull) {
		return nil
	}
	return err
}

// Next implements LogReader.
func (l *storedLog) Next(context.Context) (processes.LogLines, error) {
	lines, err := l.lines()
	return processes.LogLines{Lines: lines, Ended: lines == ""}, err
}

// lines returns the next lines, each with its time and stream; none at the end.
func (l *storedLog) lines() (string, error) {
	var text strings.Builder
	for text.Len() < maxStoredLine {
		var first *storedStream
		for _, s := range l.streams {
			if s.next != "" && (first == nil || s.next < first.next) {
				first = s
			}
		}
		if first == nil {
			break
		}
		at, line, _ := strings.Cut(strings.TrimSuffix(first.next, "\n"), " ")
		text.WriteString(at + " " + first.name + " " + line + "\n")
		if err := first.read(); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}

// Close implements LogReader.
func (l *storedLog) Close() {
	for _, e := range l.entries {
		_ = e.Close() // it was only read
	}
	_ = l.file.Close()
}

// lookAtProcesses calls look with each room. A shard that does not answer is an error: the process may be in it.
func (p *Plane) lookAtProcesses(ctx context.Context, look func(*fleet.Room)) error {
	var missing Partial
	err := lookEach(ctx, &missing, p.shards, (*region.Machine).Freeze, func(m *region.Machine) {
		for _, r := range m.Rooms() {
			look(r)
		}
	})
	if err == nil && len(missing.MissingShards) > 0 {
		err = fault.New(fault.ServiceUnavailable, "Some shards do not answer. Try again.")
	}
	return err
}
