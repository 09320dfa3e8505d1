package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"time"
)

const (
	shortLife = 5 * time.Second // a process that ended sooner is restarted with a delay
	firstWait = 500 * time.Millisecond
	longWait  = 30 * time.Second
	farewell  = 5 * time.Second // for a process to end after its standard input was closed
)

// A keeper runs a program and restarts it when it ends. Closing its standard input ends the program, which works on
// every system, even if this process is killed.
type keeper struct {
	program     string
	args        []string
	environment func(context.Context) ([]string, error) // for each start anew
	output      io.Writer                               // of the program
	log         *slog.Logger
}

// run returns when ctx and the program have ended.
func (k *keeper) run(ctx context.Context) {
	wait := firstWait
	for {
		started := time.Now()
		err := k.once(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil || time.Since(started) >= shortLife:
			wait = firstWait
		default:
			wait = min(2*wait, longWait)
		}
		if err != nil {
			k.log.Warn("process ended", "error", err, "restart_in", wait)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// once runs the program to its end.
func (k *keeper) once(ctx context.Context) error {
	environment, err := k.environment(ctx)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	command := exec.CommandContext(ctx, k.program, k.args...)
	command.Env = environment
	command.Stdout, command.Stderr = k.output, k.output
	input, err := command.StdinPipe()
	if err != nil {
		return err
	}
	command.Cancel = input.Close
	command.WaitDelay = farewell
	return command.Run()
}
