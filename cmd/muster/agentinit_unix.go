//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// runAsInit runs this command again in a child, because the first process of a container has to wait for all processes
// that lose their parent: those that game servers leave behind, and the supervisors of an earlier agent.
func runAsInit(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	child, err := os.StartProcess(program, os.Args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = child.Signal(syscall.SIGTERM) })() // it may have ended
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return err
		case pid == child.Pid && status.Exited() && status.ExitStatus() == 0:
			return nil
		case pid == child.Pid:
			return &exitError{max(status.ExitStatus(), exitFailure)}
		}
	}
}
