package clients

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// cliServer is the program cli_server.py of this process and ends with it.
var cliServer struct {
	sync.Once
	directory string   // with the program aws
	lives     *os.File // the server ends when this is closed
	err       error
}

// cliProgram returns a program that runs the AWS CLI of a Python in a process that has loaded it already: a command
// then takes a third of its time.
func cliProgram(t testing.TB, python string) []string {
	t.Helper()
	s := &cliServer
	s.Do(func() { s.directory, s.lives, s.err = startCLI(python, filepath.Join(source(t), "cli_server.py")) })
	if s.err != nil {
		t.Fatalf("the server of the AWS CLI did not start: %v", s.err)
	}
	return []string{filepath.Join(s.directory, "aws")}
}

// Path is a PATH for scripts: its first directory has a program aws, which is this CLI.
func (c *CLI) Path() string {
	return filepath.Dir(c.program[0]) + string(filepath.ListSeparator) + os.Getenv("PATH")
}

func startCLI(python, server string) (directory string, lives *os.File, err error) {
	input, lives, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	ready, output, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	if directory, err = os.MkdirTemp("", "muster-aws"); err != nil {
		return "", nil, err
	}
	command := exec.CommandContext(context.Background(), python, server, directory) // it outlives each test
	command.Stdin, command.Stdout, command.Stderr = input, output, os.Stderr
	err = errors.Join(command.Start(), input.Close(), output.Close())
	if err == nil {
		_, err = bufio.NewReader(ready).ReadString('\n')
	}
	return directory, lives, errors.Join(err, ready.Close())
}
