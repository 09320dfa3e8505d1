package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/agent/cgroup"
)

const (
	requestEnd  = 'T' // asks the game server to end
	requestKill = 'K' // ends its process group at once

	// outputLimit is how long output is read after the process and its group have ended.
	outputLimit = 2 * time.Second
)

// started is the answer on standard output.
type started struct {
	PID   int
	Error string // why there is no game server; "": it runs
}

// Supervise runs the game server of a directory until it ends. It is the whole of the supervisor's process: the Spec
// comes from in, and out gets the answer and is closed.
func Supervise(dir string, in io.Reader, out io.WriteCloser) error {
	runtime.LockOSThread() // which the life of the game server is bound to, on Linux
	s := &supervision{dir: dir, output: newOutput(dir, time.Now), agents: map[net.Conn]struct{}{}}
	err := s.start(in)
	answer := started{PID: s.pid()}
	if err != nil {
		answer.Error = err.Error()
	}
	// If the agent has ended, the next one finds the socket.
	_ = json.NewEncoder(out).Encode(answer)
	_ = out.Close()
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // of what the program has initialized: there is one supervisor for each game server
	return s.wait()
}

// A supervision is one game server.
type supervision struct {
	dir      string
	output   *output
	listener net.Listener
	command  *exec.Cmd
	group    group
	cgroup   string // its directory; "": none
	streams  sync.WaitGroup
	pipes    []*os.File // from which output is read

	mu     sync.Mutex
	agents map[net.Conn]struct{}
	ended  bool
}

func (s *supervision) pid() int {
	if s.command == nil || s.command.Process == nil {
		return 0
	}
	return s.command.Process.Pid
}

// start listens before it claims the directory, so that an agent that finds a claim without a socket knows that the
// supervisor has ended.
func (s *supervision) start(in io.Reader) error {
	var spec Spec
	if err := json.NewDecoder(in).Decode(&spec); err != nil {
		return fmt.Errorf("read the specification: %w", err)
	}
	var err error
	if s.listener, err = net.Listen("unix", filepath.Join(s.dir, socketFile)); err != nil {
		return err
	}
	mine, err := claim(s.dir)
	if err == nil && !mine {
		err = errors.New("the agent has given this process up")
	}
	if err == nil {
		err = s.launch(&spec)
	}
	if err != nil {
		return errors.Join(err, s.listener.Close())
	}
	go s.accept() // ends with the process
	return nil
}

func (s *supervision) launch(spec *Spec) error {
	command := exec.Command(spec.Program, spec.Args...)
	command.Dir, command.Env = spec.Dir, spec.Env
	s.command = command
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // the game server has its own
		}
	}()
	for _, to := range []*io.Writer{&command.Stdout, &command.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		spec.User.give(w)
		*to, theirs, s.pipes = w, append(theirs, w), append(s.pipes, r)
	}
	s.cgroup = spec.Cgroup
	if err := s.group.start(command, spec); err != nil {
		return errors.Join(err, s.leave(new(Exit)))
	}
	for i, stream := range []string{"out", "err"} {
		s.streams.Go(func() { s.output.copyLines(stream, s.pipes[i]) })
	}
	return nil
}

// wait waits for the end, writes it down and reports it.
func (s *supervision) wait() error {
	_ = s.command.Wait() // the state has the result
	state := s.command.ProcessState
	exit := Exit{Code: exitCode(state), Ended: time.Now(), User: state.UserTime(), System: state.SystemTime(),
		MaxRSS: maxRSS(state)}
	s.group.signal(s.pid(), true) // what it has left behind
	cgroupErr := s.leave(&exit)
	limit := time.AfterFunc(outputLimit, func() {
		for _, p := range s.pipes {
			_ = p.Close() // held open by a process of another group
		}
	})
	s.streams.Wait()
	limit.Stop()
	s.output.close()
	err := errors.Join(cgroupErr, writeJSON(s.dir, exitFile, exit))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for conn := range s.agents {
		_ = json.NewEncoder(conn).Encode(exit) // else the agent reads the file
		_ = conn.Close()
	}
	return errors.Join(err, s.listener.Close())
}

// leave removes the cgroup of the game server, and records whether it had no memory left.
func (s *supervision) leave(exit *Exit) (err error) {
	if s.cgroup != "" {
		exit.OutOfMemory, err = cgroup.Leave(s.cgroup)
	}
	return err
}

func (s *supervision) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		go s.serve(conn)
	}
}

// serve carries out the requests of an agent.
func (s *supervision) serve(conn net.Conn) {
	s.mu.Lock()
	ended := s.ended
	if !ended {
		s.agents[conn] = struct{}{}
		_ = json.NewEncoder(conn).Encode(started{PID: s.pid()}) // an agent that has ended needs none
	}
	s.mu.Unlock()
	var request [1]byte
	for !ended {
		if _, err := conn.Read(request[:]); err != nil {
			break
		}
		s.mu.Lock()
		if ended = s.ended; !ended && (request[0] == requestEnd || request[0] == requestKill) {
			s.group.signal(s.pid(), request[0] == requestKill)
			if s.cgroup != "" && request[0] == requestKill {
				cgroup.Kill(s.cgroup)
			}
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.agents, conn)
	_ = conn.Close() // it was read to its end
}
