package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// CLI is the AWS CLI. It runs one process for each command.
type CLI struct {
	ctx     context.Context // the test's: a CLI lives as long as its test
	program []string        // and its first arguments
	environ []string
}

// AWSCLI finds the AWS CLI. The environment is as for Boto3.
func AWSCLI(t testing.TB, environ []string) *CLI {
	t.Helper()
	return &CLI{
		ctx:     t.Context(),
		program: cliProgram(t, Interpreter(t)),
		environ: append(environment(t, environ), "AWS_PAGER="),
	}
}

// Run executes `aws args…` and returns what it printed. When the service refuses, the error is an *APIError.
func (c *CLI) Run(args ...string) ([]byte, error) {
	command := exec.CommandContext(c.ctx, c.program[0], slices.Concat(c.program[1:], args)...)
	command.Env = c.environ
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return nil, cliError(args, err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// Bash makes a process of bash that runs a script in which the command aws is this CLI.
func (c *CLI) Bash(ctx context.Context, script string) *exec.Cmd {
	aws := fmt.Sprintf("aws() { '%s' \"$@\"; }\n", strings.Join(c.program, "' '"))
	command := exec.CommandContext(ctx, "bash", "-c", aws+script)
	command.Env = c.environ
	return command
}

// Call implements Caller. It asks for one page, as the other clients do.
func (c *CLI) Call(operation string, params, result any) error {
	request := []byte("{}")
	if params != nil {
		var err error
		if request, err = json.Marshal(params); err != nil {
			return err
		}
	}
	answer, err := c.Run("gamelift", subcommand(operation), "--no-paginate", "--output", "json", "--cli-input-json",
		string(request))
	if err != nil {
		return err
	}
	if result == nil || len(bytes.TrimSpace(answer)) == 0 {
		return nil
	}
	return json.Unmarshal(answer, result)
}

var refusal = regexp.MustCompile(`(?s)An error occurred \((\w+)\) when calling the \w+ operation[^:]*: (.*)`)

func cliError(args []string, err error, talk string) error {
	if m := refusal.FindStringSubmatch(talk); m != nil {
		return &APIError{Code: m[1], Message: strings.TrimSpace(m[2])}
	}
	return fmt.Errorf("aws %s: %w: %s", strings.Join(args, " "), err, talk)
}

var (
	wordStart = regexp.MustCompile(`(.)([A-Z][a-z]+)`)
	wordEnd   = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// subcommand is the name of an operation in the AWS CLI: create-fleet for CreateFleet, describe-ec2-instance-limits for
// DescribeEC2InstanceLimits.
func subcommand(operation string) string {
	s := wordStart.ReplaceAllString(operation, "$1-$2")
	return strings.ToLower(wordEnd.ReplaceAllString(s, "$1-$2"))
}
