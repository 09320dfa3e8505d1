package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	maxDatagram = 64 << 10
	// maxSession is the length of a game session's id in bytes. Source: API model, ArnStringModel.
	maxSession = 256
)

// Receiver receives what game servers send. Its methods are safe for concurrent use.
type Receiver struct {
	log  *slog.Logger
	udp  net.PacketConn
	http net.Listener

	mu        sync.Mutex
	processes map[string]*process // by id
	early     []early             // of processes whose PID is not known yet, the newest maxEarly
	crashes   uint64
	dropped   uint64 // lines that are malformed, of unknown processes or beyond the bounds
}

// A process is a game server that runs.
type process struct {
	pid        int
	session    string // the last one that the crash reporter was told
	registered bool   // with the crash reporter
	series     map[string]*series
}

// An early is what the crash reporter was told of a process before its PID was known.
type early struct {
	pid        int
	session    string
	registered bool
}

// maxEarly is far above the number of processes that are being started at one time.
const maxEarly = 64

// Listen opens the two ports on a local address such as 127.0.0.1; a port of 0 is any free one.
func Listen(ctx context.Context, host string, statsd, crashes int, log *slog.Logger) (*Receiver, error) {
	r := &Receiver{log: log, processes: map[string]*process{}}
	var config net.ListenConfig
	var err error
	if r.udp, err = config.ListenPacket(ctx, "udp", net.JoinHostPort(host, strconv.Itoa(statsd))); err != nil {
		return nil, fmt.Errorf("metrics of game servers: %w", err)
	}
	if r.http, err = config.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(crashes))); err != nil {
		return nil, errors.Join(fmt.Errorf("crash reporter: %w", err), r.udp.Close())
	}
	return r, nil
}

// Environ returns the variables that lead the SDK of a game server to the ports, NAME=value each.
func (r *Receiver) Environ() []string {
	var env []string
	for name, a := range map[string]net.Addr{"STATSD": r.udp.LocalAddr(), "CRASH_REPORTER": r.http.Addr()} {
		host, port, err := net.SplitHostPort(a.String())
		if err == nil {
			env = append(env, "GAMELIFT_"+name+"_HOST="+host, "GAMELIFT_"+name+"_PORT="+port)
		}
	}
	return env
}

// Run receives until ctx ends, and closes the ports.
func (r *Receiver) Run(ctx context.Context) error {
	server := &http.Server{Handler: http.HandlerFunc(r.serve), ReadTimeout: 5 * time.Second,
		WriteTimeout: 5 * time.Second, MaxHeaderBytes: 8 << 10,
		ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() {
		_ = r.udp.Close()
		_ = server.Close()
	})
	defer stop()
	var serving sync.WaitGroup
	defer serving.Wait()
	serving.Go(func() { _ = server.Serve(r.http) }) // ends with Close
	buf := make([]byte, maxDatagram)
	for {
		n, _, err := r.udp.ReadFrom(buf)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // such as a port that is unreachable, on Windows
			continue
		}
		r.receive(string(buf[:n]))
	}
}

// Began adds a process of the agent that is being started, with a PID of 0, and then its PID.
func (r *Receiver) Began(id string, pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.processes[id]
	if p == nil {
		p = &process{series: map[string]*series{}}
		r.processes[id] = p
	}
	p.pid = pid
	r.early = slices.DeleteFunc(r.early, func(e early) bool {
		is := pid != 0 && (e.pid == pid || groupOf(e.pid) == pid)
		if is {
			p.session, p.registered = e.session, e.registered
		}
		return is
	})
}

// Ended removes a process. crashed reports that it had registered with the crash reporter and has not deregistered;
// session is the game session that it had named, or "".
func (r *Receiver) Ended(id string) (session string, crashed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.processes[id]
	if p == nil {
		return "", false
	}
	delete(r.processes, id)
	if p.registered {
		r.crashes++
	}
	return p.session, p.registered
}

// receive adds the values of a datagram.
func (r *Receiver) receive(datagram string) {
	for line := range strings.SplitSeq(datagram, "\n") {
		if line == "" || strings.HasPrefix(line, "_e{") || strings.HasPrefix(line, "_sc|") { // events, checks
			continue
		}
		s, err := parse(line)
		r.mu.Lock()
		if err != nil || !r.add(&s) {
			r.dropped++
		}
		r.mu.Unlock()
	}
}

// add adds a sample to its series; false if there is none and none may be added.
func (r *Receiver) add(s *sample) bool {
	id, session := s.take(processTag), s.take(sessionTag)
	p := r.processes[id]
	if p == nil || len(session) > maxSession {
		return false
	}
	key := s.key()
	to := p.series[key]
	if to == nil {
		if len(p.series) == maxSeries {
			return false
		}
		to = s.newSeries()
		p.series[key] = to
	}
	to.add(s, session)
	return true
}

// serve serves the crash reporter. Source: GameLift server SDK 5, crash reporter client.
func (r *Receiver) serve(w http.ResponseWriter, request *http.Request) {
	pid, err := strconv.Atoi(request.URL.Query().Get("process_pid"))
	if err != nil {
		http.Error(w, "process_pid must be a number", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	session, registered := r.known(pid)
	switch request.URL.Path {
	case "/register":
		*registered = true
	case "/update":
		name := request.URL.Query().Get(sessionTag)
		if len(name) > maxSession {
			http.Error(w, "session_id is too long", http.StatusBadRequest)
			return
		}
		*session = name
	case "/deregister":
		*registered = false
	default:
		http.NotFound(w, request)
	}
}

// known returns what the crash reporter knows of a process: of the agent, of one that is being started, or of another
// program, which is forgotten.
func (r *Receiver) known(pid int) (session *string, registered *bool) {
	if p := r.ofPID(pid); p != nil {
		return &p.session, &p.registered
	}
	i := slices.IndexFunc(r.early, func(e early) bool { return e.pid == pid })
	if i < 0 {
		if len(r.early) == maxEarly {
			r.early = slices.Delete(r.early, 0, 1)
		}
		i, r.early = len(r.early), append(r.early, early{pid: pid})
	}
	return &r.early[i].session, &r.early[i].registered
}

// ofPID returns the process with a PID, or whose group has it.
func (r *Receiver) ofPID(pid int) *process {
	group := groupOf(pid)
	for _, p := range r.processes {
		if p.pid != 0 && (p.pid == pid || p.pid == group) {
			return p
		}
	}
	return nil
}

// Descriptions of the metrics of the receiver itself.
var (
	processesDesc = prometheus.NewDesc("muster_agent_processes", "Game servers that run.", nil, nil)
	crashesDesc   = prometheus.NewDesc("muster_agent_crashes_total",
		"Game servers that ended without deregistering from the crash reporter.", nil, nil)
	droppedDesc = prometheus.NewDesc("muster_agent_dropped_values_total",
		"Lines of metrics that are malformed, of unknown processes or out of bounds.", nil, nil)
)

// Describe implements prometheus.Collector. What games send is not known before, so nothing is described.
func (r *Receiver) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (r *Receiver) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out <- prometheus.MustNewConstMetric(processesDesc, prometheus.GaugeValue, float64(len(r.processes)))
	out <- prometheus.MustNewConstMetric(crashesDesc, prometheus.CounterValue, float64(r.crashes))
	out <- prometheus.MustNewConstMetric(droppedDesc, prometheus.CounterValue, float64(r.dropped))
	for id, p := range r.processes {
		for _, s := range p.series {
			if m, err := s.metric(id); err == nil { // names and labels are valid, since they are clean
				out <- m
			}
		}
	}
}
