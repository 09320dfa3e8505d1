package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// A Child is a process that answers commands.
type Child struct {
	name    string
	process *exec.Cmd
	stdin   io.WriteCloser
	answers *bufio.Reader
	errors  *tail
}

// stopLimit is how long a child may take to end before it is killed.
const stopLimit = 10 * time.Second

// Start starts a program and reads into ready what it says when it is. The child is killed when ctx is done. Whoever
// started it stops it.
func Start(ctx context.Context, name string, command []string, ready any) (*Child, error) {
	c := &Child{name: name, process: exec.CommandContext(ctx, command[0], command[1:]...), errors: &tail{}}
	c.process.Stderr = c.errors
	c.process.WaitDelay = stopLimit
	stdin, err := c.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.stdin, c.answers = stdin, bufio.NewReader(stdout)
	if err := c.process.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := c.read(ready); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Ask sends a command and reads the answer.
func (c *Child) Ask(command string, answer any) error {
	if _, err := io.WriteString(c.stdin, command+"\n"); err != nil {
		return fmt.Errorf("%s: %s: %w", c.name, command, err)
	}
	return c.read(answer)
}

func (c *Child) read(answer any) error {
	line, err := c.answers.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s has ended: %w", c.name, err)
	}
	if err := json.Unmarshal(line, answer); err != nil {
		return fmt.Errorf("%s: %q: %w", c.name, line, err)
	}
	return nil
}

// Stop ends the child and waits for it. The error has what the child said last when it did not end well.
func (c *Child) Stop() error {
	_, _ = io.WriteString(c.stdin, Quit+"\n") // a child that has ended does not read it
	_ = c.stdin.Close()
	killer := time.AfterFunc(stopLimit, func() { _ = c.process.Process.Kill() })
	err := c.process.Wait()
	if !killer.Stop() {
		return fmt.Errorf("%s did not end within %s and was killed", c.name, stopLimit)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", c.name, err, c.errors)
	}
	return nil
}

// A tail keeps the last of what is written.
type tail struct{ b []byte }

const tailLimit = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > tailLimit {
		t.b = bytes.Clone(t.b[len(t.b)-tailLimit:])
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.b)) }
