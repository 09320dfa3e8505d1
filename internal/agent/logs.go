package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/muster-gg/muster/internal/agent/logs"
	"github.com/muster-gg/muster/internal/agent/supervisor"
)

const (
	// maxUploads is how many logs are packed and uploaded at a time.
	maxUploads = 2
	// lastUploads is how long an agent that ends uploads logs.
	lastUploads = 30 * time.Second
	// maxFollowing is how many streams of lines there may be at a time.
	maxFollowing = 32
	// followEvery is how often new lines are looked for, while they are followed.
	followEvery = 50 * time.Millisecond
	// maxTail is how many bytes of lines a stream may begin with.
	maxTail = 1 << 20
	// linesSize is the size of a message with lines in bytes, more than that of any line.
	linesSize = 96 << 10
)

// note stores the notes of a game server.
func (a *agent) note(r *running) {
	if r.process == nil {
		return
	}
	if err := supervisor.Note(r.process.Dir, r.notes); err != nil {
		a.cfg.Log.Warn("notes for the log of a process not kept", "process", r.process.ID, "error", err)
	}
}

// noteLogPaths keeps what the game server has reported with ProcessReady.
func (a *agent) noteLogPaths(id string, paths []string) {
	r := a.running[id]
	if r == nil || len(paths) == 0 || paths[0] == noLogs {
		return
	}
	r.notes.LogPaths = paths
	a.note(r)
}

// noteSession keeps that the game server hosts a game session. The service repeats it over each socket.
func (a *agent) noteSession(id, session string) {
	r := a.running[id]
	if r == nil {
		return
	}
	if n := len(r.notes.Sessions); n > 0 && r.notes.Sessions[n-1].ID == session {
		return
	}
	r.notes.Sessions = append(r.notes.Sessions, supervisor.Session{ID: session, Activated: a.now()})
	a.note(r)
}

// storeLog packs the log of a game server that has ended, and uploads it until the service has stored it. If the agent
// ends before, the next run does it.
func (a *agent) storeLog(f supervisor.Found) {
	a.uploads.Add(1)
	a.work.Go(func() {
		defer a.uploads.Done()
		var pause backoff
		for {
			again := a.tryLog(&f)
			if !again {
				break
			}
			if !pause.wait(a.ctx, a.cfg) {
				return
			}
		}
		if a.ctx.Err() != nil {
			return
		}
		if err := logs.Remove(f.Dir); err != nil {
			a.cfg.Log.Warn("archive of a log not removed", "process", f.ID, "error", err)
		}
		if err := supervisor.Stored(f.Dir); err != nil {
			a.cfg.Log.Warn("end of an upload not kept", "process", f.ID, "error", err)
		}
	})
}

// tryLog uploads a log once, and reports whether to try again.
func (a *agent) tryLog(f *supervisor.Found) (again bool) {
	select {
	case a.uploading <- struct{}{}:
		defer func() { <-a.uploading }()
	case <-a.ctx.Done():
		return true
	}
	err := a.uploadLog(f)
	refused, answered := errors.AsType[*logs.RefusedError](err)
	switch {
	case err == nil:
		a.cfg.Log.Info("log stored", "process", f.ID)
		return false
	case errors.Is(err, errNoLogs):
		a.noLogs.Do(func() { a.cfg.Log.Info("the service does not store logs of processes") })
		return false
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrNotRegistered), answered && refused.Final():
		a.cfg.Log.Warn("log of a process not stored", "process", f.ID, "error", err)
		return false
	}
	if a.ctx.Err() == nil {
		a.cfg.Log.Warn("upload of a log failed", "process", f.ID, "error", err)
	}
	return true
}

// errNoLogs is the error for a service that has not announced that it stores logs.
var errNoLogs = errors.New("the service does not store logs")

func (a *agent) uploadLog(f *supervisor.Found) error {
	ctx, cancel := context.WithTimeout(a.ctx, callLimit)
	defer cancel()
	s, err := a.conn.awaitSocket(ctx)
	if err != nil {
		return err
	}
	if !s.storesLogs {
		return errNoLogs
	}
	path, err := logs.Archive(f)
	if err != nil {
		return err
	}
	to, err := logs.URL(a.conn.address(), a.cfg.Fleet, a.cfg.Compute, f.ID)
	if err != nil {
		return err
	}
	token, err := a.conn.authToken(ctx)
	if err != nil {
		return err
	}
	err = logs.Upload(a.ctx, a.conn.client, to, token, path)
	if refused, ok := errors.AsType[*logs.RefusedError](err); ok && refused.Forbidden() {
		a.conn.forget()
	}
	return err
}

// followLog sends the newest lines of a process, and then those that it writes, until the service refuses them.
func (a *agent) followLog(m message) {
	if a.following[m.StreamId] || m.StreamId == "" {
		return // it was pushed over another socket, too
	}
	r := a.running[m.ProcessId]
	if r == nil || r.process == nil || len(a.following) >= maxFollowing {
		problem := "The agent does not run this process."
		if r != nil {
			problem = "The process is being started, or too many others are followed. Try again."
		}
		a.work.Go(func() {
			_, _ = a.conn.call(a.ctx, request{Action: actionPutLines, StreamId: m.StreamId, Problem: problem,
				Ended: true}) // without the answer the service ends the stream itself
		})
		return
	}
	a.following[m.StreamId] = true
	s := &stream{agent: a, id: m.StreamId, once: m.Once, ended: r.ended,
		lines: supervisor.Follow(r.process.Dir, min(max(0, m.TailBytes), maxTail))}
	a.work.Go(func() {
		s.run()
		a.post(func() { delete(a.following, m.StreamId) })
	})
}

// A stream sends the lines of a process.
type stream struct {
	*agent
	id    string
	once  bool // only the lines that there are
	lines *supervisor.Follower
	ended chan struct{} // closed when the process has ended
}

// run returns when the process has ended and all of its lines are sent, or when the service does not want more.
func (s *stream) run() {
	ticker := s.cfg.Clock.NewTicker(followEvery)
	defer ticker.Stop()
	buf := make([]byte, linesSize)
	for {
		ended := s.once || isClosed(s.ended)
		lines, skipped, err := s.lines.Next(buf)
		r := request{Action: actionPutLines, StreamId: s.id, Lines: string(lines), Skipped: skipped,
			Ended: ended && len(lines) == 0}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			r.Problem, r.Ended = "The output cannot be read.", true
			s.cfg.Log.Warn("output of a process not read", "error", err)
		}
		if r.Lines != "" || r.Skipped || r.Ended {
			if _, err := s.conn.call(s.ctx, r); err != nil || r.Ended {
				return
			}
			continue
		}
		select {
		case <-ticker.Chan():
		case <-s.ended:
		case <-s.ctx.Done():
			return
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
