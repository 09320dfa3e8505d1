package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/agent/plan"
	"github.com/muster-gg/muster/internal/agent/supervisor"
)

const (
	heartbeatEvery = time.Minute
	runtimeEvery   = 5 * time.Minute
	noticeEvery    = 5 * time.Second
	noticeMargin   = 30 * time.Second // before the announced end of the machine

	registerTries = 9
	// stopLimit is how long game servers may take to end by themselves when the agent is stopped.
	stopLimit = 30 * time.Second
	// lastLimit is how long the last reports and the last heartbeat may take.
	lastLimit = 10 * time.Second

	// maxBackoffs is how many entries that wait after crashes are reported, and maxBackoffOutput how much of the output
	// of each, in bytes.
	maxBackoffs      = 10
	maxBackoffOutput = 2 << 10
)

// An agent is a run of Run. The fields below posts belong to the goroutine of loop.
type agent struct {
	cfg       *Config
	endpoints Endpoints
	conn      *connection
	ctx       context.Context // of all work; ends with Run
	work      sync.WaitGroup
	reports   sync.WaitGroup
	uploads   sync.WaitGroup
	uploading chan struct{} // has a token for each upload at a time
	posts     chan func()

	machine   *plan.Machine
	running   map[string]*running
	unstored  []supervisor.Found // of earlier runs: their logs are not stored
	following map[string]bool    // by id: streams of lines
	noLogs    sync.Once          // logs that the service does not store logs
	timer     clockwork.Timer    // fires when the machine has something to do; nil: none
	beating   bool               // a heartbeat waits for its answer
	beatAgain bool               // another one is due at once
	beatTimer clockwork.Timer
	reading   bool // the runtime configuration is being read
	readAgain bool
	readTimer clockwork.Timer
	finished  bool
	observed  State // that was reported last
}

// Run runs an agent until ctx ends and the game servers have ended, or the service ends the compute. With Config.Keep
// the game servers run on when ctx ends; they do so, too, when the process of the agent is killed.
func Run(ctx context.Context, cfg Config) error {
	cfg.fill()
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &agent{cfg: &cfg, ctx: work, posts: make(chan func(), 64), running: map[string]*running{},
		following: map[string]bool{}, uploading: make(chan struct{}, maxUploads), machine: plan.New(cfg.Ports)}
	defer a.work.Wait()
	defer cancel()
	if err := a.adopt(); err != nil {
		return err
	}
	defer a.detach()
	if err := a.connect(ctx); err != nil {
		return err
	}
	defer a.conn.close()
	for _, f := range a.unstored {
		a.storeLog(f)
	}
	a.loop(ctx)
	return nil
}

// connect registers the compute and opens the first socket.
func (a *agent) connect(ctx context.Context) error {
	var pause backoff
	for try := 1; ; try++ {
		var err error
		if a.endpoints, err = a.cfg.API.Register(ctx); err == nil {
			break
		}
		if errors.Is(err, ErrRefused) || try == registerTries || !pause.wait(ctx, a.cfg) {
			return fmt.Errorf("register compute %s: %w", a.cfg.Compute, err)
		}
		a.cfg.Log.Warn("registering the compute failed", "error", err)
	}
	a.conn = newConnection(a.cfg, a.endpoints.Agent, func(m message) { a.post(func() { a.pushed(m) }) },
		func() { a.post(a.readRuntime) })
	if _, err := a.conn.connect(ctx); err != nil {
		return err
	}
	debug.FreeOSMemory() // of registering, and of what the program has initialized
	a.cfg.Log.Info("agent connected", "fleet", a.cfg.Fleet, "compute", a.cfg.Compute)
	a.work.Go(func() {
		if err := a.conn.supervise(a.ctx); err != nil {
			a.cfg.Log.Error("compute ends", "error", err)
			a.post(func() { a.do(a.machine.TerminateCompute(a.now())) })
		}
	})
	return nil
}

func (a *agent) now() time.Time { return a.cfg.Clock.Now() }

// post has the loop call a function.
func (a *agent) post(f func()) {
	select {
	case a.posts <- f:
	case <-a.ctx.Done():
	}
}

// loop performs what the machine decides, until it has finished.
func (a *agent) loop(ctx context.Context) {
	notices := a.cfg.Clock.NewTicker(noticeEvery)
	defer notices.Stop()
	defer a.stopTimers()
	a.beat()
	if a.cfg.Runtime != nil {
		a.machine.Configure(a.cfg.Runtime)
	}
	a.tick()
	stop, end := ctx.Done(), a.cfg.End
	for !a.finished {
		select {
		case f := <-a.posts:
			f()
		case <-notices.Chan():
			a.readNotice()
		case <-a.cfg.Replaced:
			a.machine.Forgive()
		case <-a.cfg.Refreshed:
			a.beat()
		case <-end:
			end = nil
			a.do(a.machine.TerminateCompute(a.now()))
		case <-stop:
			stop = nil
			if a.cfg.Keep {
				a.cfg.Log.Info("agent stopped, game servers run on", "processes", len(a.running))
				return
			}
			a.do(a.machine.Terminate(a.now(), false, a.now().Add(stopLimit)))
		}
		a.tick()
	}
	a.finish()
}

func (a *agent) stopTimers() {
	for _, t := range []clockwork.Timer{a.timer, a.beatTimer, a.readTimer} {
		if t != nil {
			t.Stop()
		}
	}
}

// tick has the machine decide, and sets the timer.
func (a *agent) tick() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	if a.cfg.Held != nil {
		a.machine.Hold(a.cfg.Held())
	}
	a.do(a.machine.Tick(a.now(), uuid.NewString()))
	if next := a.machine.Next(); !next.IsZero() && !a.finished {
		a.timer = a.cfg.Clock.AfterFunc(next.Sub(a.now()), func() { a.post(func() {}) })
	}
	a.observe()
}

// observe reports the state of the compute if it has changed.
func (a *agent) observe() {
	if a.cfg.Observe == nil {
		return
	}
	s := State{Processes: len(a.machine.Processes()), Dirs: map[string]string{}}
	for id, r := range a.running {
		s.Dirs[id] = r.dir
	}
	if crash, loops := a.machine.Loop(); loops {
		s.Loop = &crash
	}
	if !reflect.DeepEqual(s, a.observed) {
		a.observed = s
		a.cfg.Observe(s)
	}
}

// do performs actions.
func (a *agent) do(actions []plan.Action) {
	for _, action := range actions {
		switch action := action.(type) {
		case plan.Start:
			a.start(action)
		case plan.Signal:
			a.signal(action)
		case plan.Report:
			a.report(action)
		case plan.Crash:
			a.logCrash(action)
			if a.conn.isMuster() {
				a.beat() // with the back-off
			}
		case plan.NoPort:
			a.cfg.Log.Warn("game server waits: all ports are leased", "launch_path", action.Entry.LaunchPath,
				"low", a.cfg.Ports.Low, "high", a.cfg.Ports.High)
		case plan.Beat:
			a.beat()
		case plan.Finish:
			a.finished = true
		}
	}
}

// beat sends a heartbeat, and the next one a minute after its answer.
func (a *agent) beat() {
	if a.beating {
		a.beatAgain = true
		return
	}
	if a.beatTimer != nil {
		a.beatTimer.Stop()
	}
	a.beating, a.beatAgain = true, false
	r := a.heartbeat()
	a.work.Go(func() {
		m, err := a.conn.call(a.ctx, r)
		a.post(func() { a.beaten(m, err) })
	})
}

func (a *agent) heartbeat() request {
	r := request{Action: actionHeartbeat, Status: string(a.machine.Status()),
		ProcessList:         append([]string{}, a.machine.Processes()...), // not null
		HeartbeatTimeMillis: a.now().UnixMilli()}
	if a.conn.isMuster() {
		r.Backoffs = a.backoffs()
		if a.cfg.Builds != nil {
			r.Builds = append([]string{}, a.cfg.Builds()...) // not null: there are none
		}
	}
	return r
}

// backoffs returns the entries that wait after crashes, for the service to show.
func (a *agent) backoffs() []backoffReport {
	all := []backoffReport{} // not null: none waits
	for _, b := range a.machine.Backoffs(a.now()) {
		if len(all) == maxBackoffs {
			break
		}
		lines := supervisor.Tail(filepath.Join(processesDir(a.cfg.Data), b.ID[:nameLength]), tailLines)
		output := strings.Join(lines, "\n")
		output = strings.ToValidUTF8(output[max(0, len(output)-maxBackoffOutput):], "")
		all = append(all, backoffReport{LaunchPath: b.Entry.LaunchPath, Parameters: b.Entry.Parameters, ProcessId: b.ID,
			ExitCode: b.Code, Crashes: b.Crashes, WaitMillis: b.Until.Sub(a.now()).Milliseconds(), Output: output})
	}
	return all
}

func (a *agent) beaten(m message, err error) {
	a.beating = false
	wait := heartbeatEvery
	if err != nil {
		a.cfg.Log.Warn("heartbeat failed", "error", err)
		if a.machine.Status() == plan.Initializing {
			wait = firstRetry // nothing starts before the first answer
		}
	} else {
		before := a.machine.Status()
		a.do(a.machine.Heartbeat(a.now(), plan.Status(m.Status), m.UnhealthyProcesses, m.UnregisteredProcesses))
		if before == plan.Initializing && a.machine.Status() != before {
			a.readRuntime()
		}
	}
	if a.beatAgain {
		a.beat()
		return
	}
	a.beatTimer = a.cfg.Clock.AfterFunc(wait, func() { a.post(a.beat) })
}

// readRuntime reads the runtime configuration, and again after five minutes: services other than Muster do not report a
// change.
func (a *agent) readRuntime() {
	if a.cfg.Runtime != nil || a.machine.Status() == plan.Initializing {
		return
	}
	if a.reading {
		a.readAgain = true
		return
	}
	if a.readTimer != nil {
		a.readTimer.Stop()
	}
	a.reading, a.readAgain = true, false
	a.work.Go(func() {
		m, err := a.conn.call(a.ctx, request{Action: actionRuntime})
		a.post(func() { a.runtimeRead(m, err) })
	})
}

func (a *agent) runtimeRead(m message, err error) {
	a.reading = false
	entries, wait := []plan.Entry(nil), runtimeEvery
	if e, ok := errors.AsType[*callError](err); ok && e.status == http.StatusNotFound {
		a.cfg.Log.Info("the fleet has no runtime configuration")
		err = nil
	} else if err == nil {
		entries, err = entriesOf(m.ServerProcesses)
	}
	if err == nil {
		a.machine.Configure(entries)
	} else {
		a.cfg.Log.Warn("runtime configuration not read", "error", err)
		wait = maxRetry
	}
	if a.readAgain {
		a.readRuntime()
		return
	}
	a.readTimer = a.cfg.Clock.AfterFunc(wait, func() { a.post(a.readRuntime) })
}

// pushed handles a message that is no reply.
func (a *agent) pushed(m message) {
	switch m.Action {
	case pushRegistered:
		a.do(a.machine.Registered(m.ProcessId))
		a.noteLogPaths(m.ProcessId, m.LogPaths)
	case pushActivated:
		a.cfg.Log.Info("game session activated", "process", m.ProcessId, "game_session", m.GameSessionId)
		a.noteSession(m.ProcessId, m.GameSessionId)
	case pushFollow:
		a.followLog(m)
	case pushForceExit, pushExit:
		a.cfg.Log.Info("process is ended for the service", "process", m.ProcessId, "reason", m.TerminationReason)
		a.do(a.machine.ForceExit(a.now(), m.ProcessId, plan.Reason(m.TerminationReason)))
	case pushTermination:
		a.cfg.Log.Info("compute is ended for the service")
		a.do(a.machine.TerminateCompute(a.now()))
	case pushRefresh:
		a.work.Go(func() { a.conn.refresh(a.ctx, m) })
	case pushRuntime:
		a.readRuntime()
	case pushStart:
		a.cfg.Log.Info("process is requested", "process", m.ProcessId, "build", m.BuildId)
		a.machine.Request(m.ProcessId, m.BuildId)
	default:
		a.cfg.Log.Debug("message ignored", "action", m.Action)
	}
}

// readNotice ends the compute if the end of its machine is announced.
func (a *agent) readNotice() {
	if a.cfg.NoticeFile == "" {
		return
	}
	text, err := os.ReadFile(a.cfg.NoticeFile)
	if err != nil {
		return // there is no notice
	}
	end, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	if err != nil {
		a.cfg.Log.Warn("notice of termination ignored", "file", filepath.Base(a.cfg.NoticeFile), "error", err)
		return
	}
	a.do(a.machine.Terminate(a.now(), true, end.Add(-noticeMargin)))
}

// logCrash reports a crash with the last lines of the game server.
func (a *agent) logCrash(c plan.Crash) {
	log := a.cfg.Log.Warn
	if c.Loops() {
		log = a.cfg.Log.Error
	}
	log("game server crashed", "process", c.ID, "launch_path", c.Entry.LaunchPath, "exit_code", c.Code,
		"crashes", c.Crashes, "loop", c.Loops(), "restart_in", c.Wait.Round(time.Millisecond))
}

// finish sends what is left to send.
func (a *agent) finish() {
	ctx, cancel := context.WithTimeout(a.ctx, lastLimit)
	defer cancel()
	if !a.waitFor(ctx, &a.reports) {
		a.cfg.Log.Warn("some exits were not reported: the next run reports them")
	}
	limit := lastUploads
	if _, err := a.conn.call(ctx, a.heartbeat()); err != nil {
		a.cfg.Log.Warn("last heartbeat failed", "error", err)
		limit = 0 // the service cannot be reached
	}
	uploads, cancel := context.WithTimeout(a.ctx, limit)
	defer cancel()
	if !a.waitFor(uploads, &a.uploads) {
		a.cfg.Log.Warn("some logs were not stored: the next run uploads them")
	}
	a.cfg.Log.Info("agent terminated")
}

// waitFor performs posts until a group is done; false if ctx ends before.
func (a *agent) waitFor(ctx context.Context, group *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	for {
		select {
		case <-done:
			return true
		case f := <-a.posts:
			f()
		case <-ctx.Done():
			return false
		}
	}
}

func random() float64 { return rand.Float64() }
