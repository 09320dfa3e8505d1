package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
)

// A Driver is a program that calls the API for the test, one call after the other. It ends with the test.
type Driver struct {
	name    string
	input   io.WriteCloser
	output  *bufio.Reader
	command *exec.Cmd
	talk    *bytes.Buffer // its standard error; read it after the program has ended
}

// Boto3 starts Python with boto3. The environment says how the service is reached: see Environ. It also calls other
// services: their operations are written like sts.GetCallerIdentity.
func Boto3(t testing.TB, environ []string) *Driver {
	t.Helper()
	command := exec.CommandContext(t.Context(), Interpreter(t), filepath.Join(source(t), "boto3_call.py"))
	return start(t, command, environ)
}

// JavaScript starts Node.js with the AWS SDK for JavaScript. The environment is as for Boto3.
func JavaScript(t testing.TB, environ []string) *Driver {
	t.Helper()
	command := exec.CommandContext(t.Context(), "node", filepath.Join(source(t), "js", "call.mjs"))
	command.Dir = filepath.Dir(NodeModules(t))
	return start(t, command, environ)
}

// NodeModules returns the directory of the npm packages.
func NodeModules(t testing.TB) string {
	t.Helper()
	sdk := installed(t, "js/node_modules/@aws-sdk/client-gamelift/package.json")
	return filepath.Join(filepath.Dir(sdk), "..", "..")
}

func start(t testing.TB, command *exec.Cmd, environ []string) *Driver {
	t.Helper()
	d := &Driver{name: filepath.Base(command.Path), command: command, talk: &bytes.Buffer{}}
	command.Env = environment(t, environ)
	command.Stderr = d.talk
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.input, d.output = input, bufio.NewReader(output)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.end(); err != nil {
			t.Log(err) // a call has reported it already, or the test has ended its context
		}
	})
	return d
}

// end closes the program's input and waits for it. A second call does nothing.
func (d *Driver) end() error {
	if d.command.ProcessState != nil {
		return nil
	}
	closed := d.input.Close()
	if err := d.command.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", d.name, err, d.talk)
	}
	return closed
}

// Call implements Caller. Calls must not overlap.
func (d *Driver) Call(operation string, params, result any) error {
	request, err := json.Marshal(map[string]any{"operation": operation, "params": params})
	if err != nil {
		return err
	}
	if _, err := d.input.Write(append(request, '\n')); err != nil {
		return d.broken(operation, err)
	}
	line, err := d.output.ReadBytes('\n')
	if err != nil {
		return d.broken(operation, err)
	}
	var answer struct {
		Result         json.RawMessage
		Error, Message string
		Status         int
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return fmt.Errorf("%s: %s: %w in %s", d.name, operation, err, line)
	}
	if answer.Error != "" {
		return &APIError{Code: answer.Error, Message: answer.Message, Status: answer.Status}
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

// broken explains a driver that gave no answer with what it said at its end.
func (d *Driver) broken(operation string, err error) error {
	if ended := d.end(); ended != nil {
		err = ended
	}
	return fmt.Errorf("%s gave no answer to %s: %w", d.name, operation, err)
}
