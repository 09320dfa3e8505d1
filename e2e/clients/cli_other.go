//go:build !linux

package clients

import (
	"os"
	"testing"
)

// cliProgram returns a program that runs the AWS CLI of a Python. The console script names its interpreter by path,
// which systems cut off when it is long; so Python runs the module.
func cliProgram(_ testing.TB, python string) []string { return []string{python, "-m", "awscli"} }

// Path is a PATH for scripts: this process has no other program aws than that of the system, if there is one.
func (c *CLI) Path() string { return os.Getenv("PATH") }
