package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/agent/plan"
	"github.com/muster-gg/muster/internal/agent/supervisor"
)

const (
	// keptOutputs is how many directories of ended game servers are kept.
	keptOutputs = 50
	// keptUnstored is how many are kept whose logs are not stored yet.
	keptUnstored = 500
	// maxDetail is the maximum size of the detail of an end, in bytes, which the service checks.
	maxDetail = 512
	// tailLines is how much of its output is logged when a game server has crashed.
	tailLines = 50
	// nameLength is the length of the name of a directory: short, for the path of the socket in it.
	nameLength = 13
)

// A running is a process that is being started, or runs.
type running struct {
	cancel  context.CancelFunc // of the launch
	dir     string             // working directory
	process *supervisor.Process
	notes   supervisor.Notes
	exit    supervisor.Exit // once it has ended
	ended   chan struct{}   // closed then
	pending []bool          // signals for it while it is being started: kill or not
}

// processesDir is the directory of the directories of game servers.
func processesDir(data string) string { return filepath.Join(data, "p") }

// CheckData returns an error for a directory whose path is too long for the sockets in it.
func CheckData(data string) error {
	longest := filepath.Join(processesDir(data), strings.Repeat("x", nameLength), "s")
	if over := len(longest) - supervisor.MaxSocketPath; over > 0 {
		return fmt.Errorf("the path of the data directory is too long by %d bytes: choose a shorter one", over)
	}
	return nil
}

// adopt finds the game servers of earlier runs.
func (a *agent) adopt() error {
	dir := processesDir(a.cfg.Data)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	all := make([]supervisor.Found, len(names))
	errs := make([]error, len(names))
	var finding sync.WaitGroup
	for i, name := range names {
		finding.Go(func() { all[i], errs[i] = supervisor.Find(filepath.Join(dir, name.Name())) })
	}
	finding.Wait()
	for i, f := range all {
		switch {
		case errs[i] != nil:
			a.cfg.Log.Warn("directory of a game server ignored", "name", names[i].Name(), "error", errs[i])
		case f.Running != nil && (f.Fleet != a.cfg.Fleet || f.Compute != a.cfg.Compute):
			err = fmt.Errorf("the data directory has a game server of compute %s in fleet %s, which runs: run the "+
				"agent for that compute, or choose another directory", f.Compute, f.Fleet)
		default:
			a.found(f)
		}
	}
	if err != nil {
		a.detach()
	}
	return err
}

// found adds a game server of an earlier run. The end of one that has ended is reported, if it was not.
func (a *agent) found(f supervisor.Found) {
	now := a.now()
	mine := f.Fleet == a.cfg.Fleet && f.Compute == a.cfg.Compute
	if f.Running == nil && f.Reported || !mine {
		if mine && f.Notes != nil {
			a.unstored = append(a.unstored, f)
		}
		a.machine.Rest(f.Port, f.Exit.Ended)
		return
	}
	a.machine.Adopt(now, f.ID, f.Entry, f.Build, f.Port, f.Started)
	var notes supervisor.Notes
	if f.Notes != nil {
		notes = *f.Notes
	}
	if f.Running == nil {
		a.running[f.ID] = &running{cancel: func() {}, dir: f.WorkDir, notes: notes, ended: make(chan struct{}),
			process: &supervisor.Process{Record: f.Record, Dir: f.Dir}}
		a.work.Go(func() { a.post(func() { a.exited(f.ID, f.Exit) }) }) // once it can be reported
		return
	}
	a.cfg.Log.Info("game server adopted", "process", f.ID, "pid", f.Running.PID)
	a.running[f.ID] = &running{cancel: func() {}, dir: f.WorkDir, notes: notes, process: f.Running,
		ended: make(chan struct{})}
	a.began(f.ID, f.Running)
}

// began follows a game server that runs.
func (a *agent) began(id string, p *supervisor.Process) {
	if a.cfg.Telemetry != nil {
		a.cfg.Telemetry.Began(id, p.PID)
	}
	a.await(id, p)
}

// ended notes the end of a game server.
func (a *agent) ended(id string, exit supervisor.Exit) {
	a.cfg.Log.Info("game server ended", "process", id, "exit_code", exit.Code, "out_of_memory", exit.OutOfMemory)
	if a.cfg.Telemetry == nil {
		return
	}
	if session, crashed := a.cfg.Telemetry.Ended(id); crashed {
		a.cfg.Log.Warn("game server has not deregistered from the crash reporter", "process", id,
			"game_session", session)
	}
}

// detach leaves the game servers to their supervisors.
func (a *agent) detach() {
	for _, r := range a.running {
		r.cancel()
		if r.process != nil && r.process.PID != 0 {
			r.process.Detach()
		}
	}
}

// await posts the exit of a game server.
func (a *agent) await(id string, p *supervisor.Process) {
	a.work.Go(func() {
		exit, err := p.Wait()
		if errors.Is(err, supervisor.ErrDetached) {
			return
		}
		if err != nil {
			a.cfg.Log.Warn("exit of a game server not kept", "process", id, "error", err)
		}
		a.post(func() { a.exited(id, exit) })
	})
}

func (a *agent) exited(id string, exit supervisor.Exit) {
	r := a.running[id]
	a.ended(id, exit)
	actions := a.machine.Exited(a.now(), id, exit.Code, random())
	if r != nil {
		r.exit = exit
		close(r.ended)
	}
	if r != nil && slices.ContainsFunc(actions, isCrash) {
		a.cfg.Log.Warn("last output of the game server", "process", id,
			"output", strings.Join(supervisor.Tail(r.process.Dir, tailLines), "\n"))
	}
	a.do(actions)
}

func isCrash(action plan.Action) bool {
	_, crash := action.(plan.Crash)
	return crash
}

// start starts a game server beside the loop.
func (a *agent) start(s plan.Start) {
	program, dir, err := a.place(s.Entry.LaunchPath, s.Build)
	ctx, cancel := context.WithCancel(a.ctx)
	a.running[s.ID] = &running{cancel: cancel, dir: dir, ended: make(chan struct{})}
	if a.cfg.Telemetry != nil {
		a.cfg.Telemetry.Began(s.ID, 0) // it may send values at once
	}
	now := a.now()
	a.work.Go(func() {
		defer cancel()
		var p *supervisor.Process
		if err == nil {
			p, err = a.launch(ctx, s, program, dir, now)
		}
		if p != nil && a.ctx.Err() != nil { // the agent has stopped: the next one adopts it
			p.Detach()
			return
		}
		a.post(func() { a.launched(s, p, err) })
	})
}

// place returns the program and the working directory for a launch path. The error is a *supervisor.StartError.
func (a *agent) place(launchPath, build string) (program, dir string, err error) {
	if a.cfg.Place != nil {
		program, dir, err = a.cfg.Place(launchPath, build)
	} else {
		dir = a.cfg.WorkDir
		program, err = filepath.Abs(launchPath)
	}
	if err != nil {
		err = &supervisor.StartError{Reason: err.Error()}
	}
	return program, dir, err
}

// errPath is a launch path without a file.
var errPath = errors.New("there is no such file")

func (a *agent) launch(ctx context.Context, s plan.Start, program, workDir string, now time.Time) (
	*supervisor.Process, error) {
	if info, err := os.Stat(program); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", program, errPath)
	}
	token, err := a.conn.authToken(ctx)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir := filepath.Join(processesDir(a.cfg.Data), s.ID[:nameLength])
	record := supervisor.Record{ID: s.ID, Fleet: a.cfg.Fleet, Compute: a.cfg.Compute, Entry: s.Entry, Port: s.Port,
		Build: s.Build, WorkDir: workDir, Started: now}
	spec := supervisor.Spec{Program: program, Args: arguments(s), Dir: workDir, Env: a.environment(s, token),
		NoNewPrivs: a.cfg.NoNewPrivs, User: a.cfg.User}
	if a.cfg.Cgroup != "" {
		spec.Cgroup = filepath.Join(a.cfg.Cgroup, s.ID)
	}
	return supervisor.Start(dir, record, spec, a.cfg.Supervisor(dir))
}

// arguments splits Parameters at every space, as the official agent does, and fills in the port.
func arguments(s plan.Start) []string {
	if s.Entry.Parameters == "" {
		return nil
	}
	parameters := s.Entry.Parameters
	if s.Port != 0 {
		parameters = strings.ReplaceAll(parameters, plan.Placeholder, strconv.Itoa(s.Port))
	}
	return strings.Split(parameters, " ")
}

// environment returns the variables of a game server.
func (a *agent) environment(s plan.Start, token string) []string {
	env := append(slices.Clone(a.cfg.Environ),
		"GAMELIFT_SDK_WEBSOCKET_URL="+a.endpoints.SDK,
		"GAMELIFT_SDK_AUTH_TOKEN="+token,
		"GAMELIFT_SDK_FLEET_ID="+a.cfg.Fleet,
		"GAMELIFT_SDK_HOST_ID="+a.cfg.Compute,
		"GAMELIFT_SDK_PROCESS_ID="+s.ID,
	)
	if a.cfg.Telemetry != nil {
		env = append(env, a.cfg.Telemetry.Environ()...)
	}
	if s.Port != 0 {
		env = append(env, "MUSTER_PORT="+strconv.Itoa(s.Port))
	}
	return env
}

// launched takes the result of a launch.
func (a *agent) launched(s plan.Start, p *supervisor.Process, err error) {
	if err == nil {
		a.cfg.Log.Info("game server started", "process", s.ID, "pid", p.PID, "launch_path", s.Entry.LaunchPath,
			"port", s.Port)
		r := a.running[s.ID]
		r.process = p
		a.note(r)
		for _, kill := range r.pending {
			a.send(s.ID, p, kill)
		}
		a.began(s.ID, p)
		return
	}
	delete(a.running, s.ID)
	if a.cfg.Telemetry != nil {
		a.cfg.Telemetry.Ended(s.ID)
	}
	a.cfg.Log.Warn("game server not started", "process", s.ID, "error", err)
	if _, program := errors.AsType[*supervisor.StartError](err); program || errors.Is(err, errPath) {
		a.do(a.machine.StartFailed(a.now(), s.ID, random()))
		return
	}
	a.do(a.machine.NotStarted(a.now(), s.ID))
}

// signal asks a process to end, or ends it. One that is being started gets the signal later, if it starts.
func (a *agent) signal(s plan.Signal) {
	r := a.running[s.ID]
	switch {
	case r == nil:
	case r.process == nil:
		r.pending = append(r.pending, s.Kill)
		r.cancel()
	case r.process.PID != 0:
		a.send(s.ID, r.process, s.Kill)
	}
}

func (a *agent) send(id string, p *supervisor.Process, kill bool) {
	a.cfg.Log.Info("game server is asked to end", "process", id, "kill", kill)
	if err := p.Signal(kill); err != nil { // it has ended, which Wait reports
		a.cfg.Log.Debug("signal not sent", "process", id, "error", err)
	}
}

// report reports the end of a process until the service has it. If the agent ends before, the next one reports it.
func (a *agent) report(r plan.Report) {
	dir, ended := "", a.running[r.ID]
	if ended != nil && ended.process != nil {
		dir = ended.process.Dir
	}
	delete(a.running, r.ID)
	req := request{Action: actionProcessExited, RequestId: uuid.NewString(), ProcessId: r.ID,
		TerminationReason: string(r.Reason)}
	if ended != nil && a.conn.isMuster() {
		req.Detail = a.detail(r.Reason, ended)
	}
	if code := r.Reason.EventCode(); code != "" {
		req.EventCode = &code
	}
	a.reports.Add(1)
	a.work.Go(func() {
		defer a.reports.Done()
		var pause backoff
		for {
			_, err := a.conn.call(a.ctx, req)
			e, failed := errors.AsType[*callError](err)
			if err == nil || failed && e.final() {
				break
			}
			a.cfg.Log.Warn("exit of a process not reported", "process", r.ID, "error", err)
			if !pause.wait(a.ctx, a.cfg) {
				return
			}
		}
		a.reported(dir)
	})
	if dir != "" {
		ended.notes.Reason = string(r.Reason)
		a.note(ended)
		a.storeLog(supervisor.Found{Record: ended.process.Record, Dir: dir, Exit: ended.exit, Notes: &ended.notes})
	}
}

// detail says for people why a process has ended; "": there is nothing to add to the reason.
func (a *agent) detail(reason plan.Reason, ended *running) string {
	switch {
	case ended.exit.OutOfMemory:
		return fmt.Sprintf("Killed for memory: its instance has used the %d MiB of its type.", a.cfg.MemoryMiB)
	case ended.process == nil || reason != plan.Crashed && reason != plan.InitTimeout:
		return ""
	}
	text := fmt.Sprintf("Exit code %d.", ended.exit.Code)
	if ended.exit.Code < 0 {
		text = fmt.Sprintf("Ended by signal %d.", -ended.exit.Code)
	}
	if last := supervisor.Tail(ended.process.Dir, 1); len(last) > 0 {
		text += " Last line: " + last[0]
	}
	return strings.ToValidUTF8(text[:min(len(text), maxDetail)], "")
}

// reported keeps the output of a game server whose end was reported, and removes the oldest ones.
func (a *agent) reported(dir string) {
	if dir == "" { // it was not started
		return
	}
	if err := supervisor.Reported(dir); err != nil {
		a.cfg.Log.Warn("end of a game server not kept", "error", err)
	}
	dropped, err := supervisor.Prune(processesDir(a.cfg.Data), keptOutputs, keptUnstored)
	if err != nil {
		a.cfg.Log.Warn("output of game servers not removed", "error", err)
	}
	if dropped > 0 {
		a.cfg.Log.Warn("logs of game servers lost: too many wait for the service", "logs", dropped,
			"limit", keptUnstored)
	}
}
