package supervisor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// adoptLimit is how long an agent tries to reach a supervisor that may be starting.
	adoptLimit = time.Second
	adoptPause = 20 * time.Millisecond
	// maxMessage bounds a message of a supervisor, in bytes.
	maxMessage = 4 << 10
)

// ErrDetached is the error of Wait after Detach.
var ErrDetached = errors.New("detached from the supervisor")

// A StartError is a program that could not be started.
type StartError struct{ Reason string }

// Error implements error.
func (e *StartError) Error() string { return "start the game server: " + e.Reason }

// A Process is a game server with its supervisor. Its methods are safe for concurrent use.
type Process struct {
	Record
	Dir string // with its files
	PID int    // of the game server

	conn     net.Conn
	messages *bufio.Reader
	detached atomic.Bool
}

// Start starts a game server in a new directory dir. command starts a supervisor for it: Supervise(dir, standard input,
// standard output). The error is a *StartError if the program could not be started; then nothing is left.
func Start(dir string, r Record, spec Spec, command *exec.Cmd) (*Process, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	p, err := start(dir, r, spec, command)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

func start(dir string, r Record, spec Spec, command *exec.Cmd) (*Process, error) {
	if err := writeJSON(dir, recordFile, r); err != nil {
		return nil, err
	}
	detach(command)
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start a supervisor: %w", err)
	}
	var answer started
	err = errors.Join(json.NewEncoder(in).Encode(spec), in.Close())
	if err == nil {
		err = json.NewDecoder(out).Decode(&answer)
	}
	if err == nil && answer.Error != "" {
		err = &StartError{answer.Error}
	}
	if err != nil {
		_ = command.Process.Kill() // it may have ended
		_ = command.Wait()         // with an error, which is known
		return nil, err
	}
	go func() { _ = command.Wait() }() // reaps the supervisor, which reports the exit by its socket
	p, err := connect(dir, r)
	if err == nil {
		return p, nil
	}
	if readJSON(dir, exitFile, new(Exit)) == nil {
		return exited(dir, r, answer.PID), nil
	}
	_ = command.Process.Kill()
	new(group).signal(answer.PID, true)
	return nil, err
}

// exited returns a game server that has ended before the agent could connect to its supervisor.
func exited(dir string, r Record, pid int) *Process {
	conn, supervisor := net.Pipe()
	_ = supervisor.Close()
	return &Process{Record: r, Dir: dir, PID: pid, conn: conn, messages: bufio.NewReader(conn)}
}

// connect connects to the supervisor of a directory.
func connect(dir string, r Record) (*Process, error) {
	conn, err := net.Dial("unix", filepath.Join(dir, socketFile))
	if err != nil {
		return nil, err
	}
	p := &Process{Record: r, Dir: dir, conn: conn, messages: bufio.NewReaderSize(conn, maxMessage)}
	var answer started
	if err := p.receive(&answer); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	p.PID = answer.PID
	return p, nil
}

func (p *Process) receive(message any) error {
	line, err := p.messages.ReadSlice('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, message)
}

// Signal asks the game server to end or, with kill, ends its process group.
func (p *Process) Signal(kill bool) error {
	request := []byte{requestEnd}
	if kill {
		request[0] = requestKill
	}
	_, err := p.conn.Write(request)
	return err
}

// Wait waits for the end of the game server. The error is ErrDetached after Detach. If the supervisor was killed, the
// exit code is -1, and nothing of the game server is left.
func (p *Process) Wait() (Exit, error) {
	var exit Exit
	err := p.receive(&exit)
	_ = p.conn.Close() // nothing more comes
	switch {
	case p.detached.Load():
		return exit, ErrDetached
	case err == nil:
		return exit, nil
	}
	if err := readJSON(p.Dir, exitFile, &exit); err == nil {
		return exit, nil
	}
	new(group).signal(p.PID, true)
	return lost(p.Dir)
}

// lost records the end of a game server whose supervisor has ended without a word about it.
func lost(dir string) (Exit, error) {
	exit := Exit{Code: -1, Ended: time.Now()}
	return exit, writeJSON(dir, exitFile, exit)
}

// Detach leaves the game server to its supervisor, and ends Wait.
func (p *Process) Detach() {
	p.detached.Store(true)
	_ = p.conn.Close() // ends Wait
}

// Found is a game server of an earlier run of the agent: one that runs, or one that has ended.
type Found struct {
	Record
	Dir      string
	Running  *Process // nil: it has ended
	Exit     Exit
	Reported bool   // its end was reported
	Notes    *Notes // nil: its log is stored, or not wanted
}

// Find returns the game server of a directory. It is fs.ErrNotExist if there was none.
func Find(dir string) (Found, error) {
	f := Found{Dir: dir}
	err := readJSON(dir, recordFile, &f.Record)
	if errors.Is(err, fs.ErrNotExist) {
		f.Reported = true
		err = readJSON(dir, endedFile, &f.Record)
	}
	if err != nil {
		return f, err
	}
	if notes := new(Notes); readJSON(dir, notesFile, notes) == nil {
		f.Notes = notes
	}
	for deadline := time.Now().Add(adoptLimit); ; time.Sleep(adoptPause) {
		if readJSON(dir, exitFile, &f.Exit) == nil {
			return f, nil
		}
		if f.Running, err = connect(dir, f.Record); err == nil {
			return f, nil
		}
		if time.Now().After(deadline) {
			break
		}
	}
	mine, err := claim(dir)
	if err != nil {
		return f, err
	}
	if !mine { // the supervisor may have begun to listen meanwhile
		if f.Running, err = connect(dir, f.Record); err == nil {
			return f, nil
		}
	}
	f.Exit, err = lost(dir)
	return f, err
}

// A Recorded is a game server by its files alone.
type Recorded struct {
	Record
	Reported bool      // its end was reported
	Ended    time.Time // if it is known
}

// Records returns the game servers of the directories in parent. Those that cannot be read are left out.
func Records(parent string) (all []Recorded) {
	entries, _ := os.ReadDir(parent) // there is none
	for _, e := range entries {
		dir := filepath.Join(parent, e.Name())
		var r Recorded
		if readJSON(dir, recordFile, &r.Record) != nil {
			if readJSON(dir, endedFile, &r.Record) != nil {
				continue
			}
			r.Reported = true
		}
		var exit Exit
		_ = readJSON(dir, exitFile, &exit) // there is none while it runs
		r.Ended = exit.Ended
		all = append(all, r)
	}
	return all
}

// End ends the game servers of the directories in parent at once, with their process groups, and waits for that. No
// agent may run with them.
func End(parent string) error {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		f, findErr := Find(filepath.Join(parent, e.Name()))
		if findErr != nil || f.Running == nil {
			continue // it has ended, or there was none
		}
		_ = f.Running.Signal(true) // it may end by itself
		_, waitErr := f.Running.Wait()
		err = errors.Join(err, waitErr)
	}
	return err
}

// Reported records that the end of a game server was reported. Its output stays.
func Reported(dir string) error {
	_ = os.Remove(filepath.Join(dir, socketFile)) // which the supervisor has removed
	return os.Rename(filepath.Join(dir, recordFile), filepath.Join(dir, endedFile))
}

// Prune removes the oldest directories of game servers whose ends were reported, and keeps some. Those whose logs are
// not stored yet are kept until there are unstored of them; dropped is how many were removed nevertheless.
func Prune(parent string, keep, unstored int) (dropped int, err error) {
	ended, err := filepath.Glob(filepath.Join(parent, "*", endedFile))
	if err != nil || len(ended) <= keep {
		return 0, err
	}
	var stored, waiting []string
	for _, path := range ended {
		dir := filepath.Dir(path)
		if _, err := os.Stat(filepath.Join(dir, notesFile)); err == nil {
			waiting = append(waiting, dir)
		} else {
			stored = append(stored, dir)
		}
	}
	err = removeOldest(stored, keep)
	return max(0, len(waiting)-unstored), errors.Join(err, removeOldest(waiting, unstored))
}

// removeOldest removes directories of game servers, those that ended first, until some are left.
func removeOldest(dirs []string, keep int) (err error) {
	if len(dirs) <= keep {
		return nil
	}
	at := map[string]time.Time{}
	for _, dir := range dirs {
		var exit Exit
		_ = readJSON(dir, exitFile, &exit) // one that cannot be read is the oldest
		at[dir] = exit.Ended
	}
	slices.SortFunc(dirs, func(a, b string) int { return at[a].Compare(at[b]) })
	for _, dir := range dirs[:len(dirs)-keep] {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}
