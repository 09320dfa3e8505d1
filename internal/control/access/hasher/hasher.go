// Package hasher computes the hashes of passwords in processes of their own.
//
// A hash costs 19 MiB of memory and 40 ms of a processor on purpose. When passwords are guessed, hashes within the
// service make its garbage collector run many times a second, and calls wait for the processors. A process of its own
// has its own memory and a low priority, so that calls go first.
package hasher

import (
	"encoding/gob"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/crypto/argon2"
)

// A request has the arguments of argon2.IDKey.
type request struct {
	Password, Salt []byte
	Times, Memory  uint32
	Lanes          uint8
	Size           uint32
}

func (r *request) sum() []byte {
	return argon2.IDKey(r.Password, r.Salt, r.Times, r.Memory, r.Lanes, r.Size)
}

// Serve is what the process does: it lowers its priority, and answers requests until in ends. The error is that of
// reading or writing.
func Serve(in io.Reader, out io.Writer) error {
	lowerPriority() // without it, hashing only disturbs more
	requests, sums := gob.NewDecoder(in), gob.NewEncoder(out)
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := sums.Encode(r.sum()); err != nil {
			return err
		}
	}
}

// idleTime is how long a process waits for another password: few people sign in.
const idleTime = time.Minute

// A Pool has a process for each hash at a time. They start when they are needed. It is safe for concurrent use.
type Pool struct {
	command []string
	clock   clockwork.Clock
	log     *slog.Logger

	mu     sync.Mutex
	idle   []*process
	closed bool
}

// New returns a pool of processes, each of which is started by a command, its path and arguments, and calls Serve with
// its standard input and output.
func New(command []string, clock clockwork.Clock, log *slog.Logger) *Pool {
	return &Pool{command: command, clock: clock, log: log}
}

// Argon2id returns what argon2.IDKey returns. Where no process can compute it, this one does.
func (p *Pool) Argon2id(password, salt []byte, times, memory uint32, lanes uint8, size uint32) []byte {
	r := &request{password, salt, times, memory, lanes, size}
	sum, err := p.ask(r)
	if err != nil {
		p.log.Warn("a password is hashed in the service's own process", "err", err)
		return r.sum()
	}
	return sum
}

func (p *Pool) ask(r *request) ([]byte, error) {
	c, err := p.take()
	if err != nil {
		return nil, err
	}
	sum, err := c.ask(r)
	if err != nil {
		return nil, errors.Join(err, c.end())
	}
	p.giveBack(c)
	return sum, nil
}

// take returns a process that waits, or a new one.
func (p *Pool) take() (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		c := p.idle[last]
		p.idle = p.idle[:last]
		c.timer.Stop()
		return c, nil
	}
	return start(p.command)
}

func (p *Pool) giveBack(c *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.end(c)
		return
	}
	c.timer = p.clock.AfterFunc(idleTime, func() { p.expire(c) })
	p.idle = append(p.idle, c)
}

// expire ends a process that has waited long enough, unless it was taken at the last moment.
func (p *Pool) expire(c *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.idle {
		if other == c {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			p.end(c)
			return
		}
	}
}

func (p *Pool) end(c *process) {
	if err := c.end(); err != nil {
		p.log.Debug("a process that hashes passwords has failed", "err", err)
	}
}

// Close ends the processes that wait. Those that compute end when they have answered.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		c.timer.Stop()
		p.end(c)
	}
	p.idle = nil
	return nil
}

// A process computes one hash at a time.
type process struct {
	command  *exec.Cmd
	in       io.WriteCloser
	requests *gob.Encoder
	sums     *gob.Decoder
	timer    clockwork.Timer // of the time that it waits
}

// start starts a process. It inherits nothing of the environment, in which there can be secrets.
func start(command []string) (*process, error) {
	c := exec.Command(command[0], command[1:]...)
	c.Env = []string{"GOMAXPROCS=1", "GOMEMLIMIT=40MiB"} // two hashes: the collector follows each
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return &process{command: c, in: in, requests: gob.NewEncoder(in), sums: gob.NewDecoder(out)}, nil
}

func (c *process) ask(r *request) (sum []byte, err error) {
	if err := c.requests.Encode(r); err != nil {
		return nil, err
	}
	return sum, c.sums.Decode(&sum)
}

// end has the process end, which it does when its input ends, and waits for it.
func (c *process) end() error {
	err := c.in.Close()
	return errors.Join(err, c.command.Wait())
}
