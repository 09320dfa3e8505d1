package clients

import (
	"bytes"
	"fmt"
	"os/exec"
	"testing"
)

// Python runs a script that uses boto3, and returns what it prints. The environment is as for Boto3.
func Python(t testing.TB, environ []string, script string, args ...string) ([]byte, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), Interpreter(t), append([]string{script}, args...)...)
	command.Env = environment(t, environ)
	var talk bytes.Buffer
	command.Stderr = &talk
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", script, err, talk.String())
	}
	return out, nil
}

// Interpreter returns the path of the Python that has boto3.
func Interpreter(t testing.TB) string {
	t.Helper()
	return installed(t, "python/bin/python", "python/Scripts/python.exe")
}
