package instance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/agent/plan"
)

// Failures, by the code of their fleet event.
const (
	codeGeneric       = "GENERIC_EVENT"
	codeDownload      = "FLEET_BINARY_DOWNLOAD_FAILED"
	codeInstaller     = "FLEET_CREATION_FAILED_INSTALLER"
	codePath          = "FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND"
	codeNotExecutable = "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE"
	codeActivation    = "FLEET_ACTIVATION_FAILED"
)

// A failure is why an instance cannot run, or why it waits.
type failure struct {
	Code    string // of a fleet event
	Message string
	keyless bool // of an installer without the keys of its role
}

// Error implements error.
func (f *failure) Error() string { return f.Message }

func failed(code, format string, args ...any) *failure {
	return &failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// gamePattern matches the directory that stands for the root of an instance. Source: API reference, LaunchPath of
// ServerProcess.
var gamePattern = regexp.MustCompile(`^(/local/game/|[Cc]:\\[Gg]ame\\)`)

// programOf returns the program of a launch path in an instance with the given root.
func programOf(root, launchPath string, hostPaths bool) (string, error) {
	prefix := gamePattern.FindString(launchPath)
	if prefix == "" {
		if hostPaths && filepath.IsAbs(launchPath) {
			return launchPath, nil
		}
		return "", fmt.Errorf("launch path %q must begin with /local/game/ or C:\\game\\; other absolute paths need a "+
			"machine with --allow-host-paths", launchPath)
	}
	rest := launchPath[len(prefix):]
	if prefix[0] != '/' {
		rest = strings.ReplaceAll(rest, `\`, "/")
	}
	if rest = filepath.FromSlash(rest); !filepath.IsLocal(rest) {
		return "", fmt.Errorf("launch path %q leads out of the build", launchPath)
	}
	return filepath.Join(root, rest), nil
}

// validate checks the launch paths of a runtime configuration.
func validate(root string, processes []protocol.Process, hostPaths bool) error {
	for _, p := range processes {
		program, err := programOf(root, p.LaunchPath, hostPaths)
		if err != nil {
			return failed(codePath, "%v", err)
		}
		info, err := os.Stat(program)
		switch {
		case err != nil || !info.Mode().IsRegular():
			return failed(codePath, "launch path %q: the build has no such file", p.LaunchPath)
		case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
			return failed(codeNotExecutable, "launch path %q is not executable: its mode is %s", p.LaunchPath,
				info.Mode())
		}
	}
	return nil
}

// numbers are the numbers of parameters that may be ports: they are no part of a word or of another number.
var numbers = regexp.MustCompile(`(?:^|[^A-Za-z0-9._])([0-9]{4,5})(?:$|[^A-Za-z0-9._])`)

// fixedPort reports whether an entry has a port that all its processes would share.
func fixedPort(p protocol.Process) bool {
	if strings.Contains(p.Parameters, plan.Placeholder) {
		return false
	}
	for _, match := range numbers.FindAllStringSubmatch(p.Parameters, -1) {
		if n, err := strconv.Atoi(match[1]); err == nil && n >= 1024 && n <= 65535 {
			return true
		}
	}
	return false
}

// collide returns the first parameters with a fixed port that two runtime configurations have; "" if there are none.
func collide(a, b []protocol.Process) string {
	for _, p := range a {
		same := func(q protocol.Process) bool { return q.Parameters == p.Parameters }
		if fixedPort(p) && slices.ContainsFunc(b, same) {
			return p.Parameters
		}
	}
	return ""
}
