package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/e2e/binary"
	"github.com/muster-gg/muster/e2e/clients"
)

var testingExamples = filepath.Join("..", "examples", "testing")

// TestExamplesOfTests runs the tests of examples/testing as a reader does, in a copy. Those in Go are tests of the root
// module. They leave neither files nor a service behind.
func TestExamplesOfTests(t *testing.T) {
	t.Parallel()
	program := buildMuster(t)
	for name, project := range map[string]struct {
		command []string
		passed  *regexp.Regexp
	}{
		"python": {[]string{clients.Interpreter(t), "-m", "unittest"},
			regexp.MustCompile(`(?s)Ran [1-9]\d* tests.*\nOK\n`)},
		"node": {[]string{"node", "--test"}, regexp.MustCompile(`pass [1-9]\d*\n`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, temporary := filepath.Join(t.TempDir(), name), t.TempDir()
			if err := errors.Join(os.CopyFS(dir, os.DirFS(filepath.Join(testingExamples, name))),
				os.Symlink(clients.NodeModules(t), filepath.Join(dir, "node_modules"))); err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), project.command[0], project.command[1:]...)
			command.Dir = dir
			command.Env = append(os.Environ(), "MUSTER="+program, "TMPDIR="+temporary, "TMP="+temporary)
			printed, err := command.CombinedOutput()
			if err != nil || !project.passed.Match(printed) {
				t.Errorf("the tests ended with %v\n%s", err, printed)
			}
			if left, err := filepath.Glob(filepath.Join(temporary, "*")); err != nil || len(left) > 0 {
				t.Errorf("%q is left behind, %v", left, err)
			}
		})
	}
}

func buildMuster(t *testing.T) (path string) {
	t.Helper()
	path, err := binary.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPipelines parses the pipelines of examples/testing, has bash read their scripts, and muster the flags of their
// commands.
func TestPipelines(t *testing.T) {
	t.Parallel()
	program := buildMuster(t)
	for _, name := range []string{"github-actions.yml", "gitlab-ci.yml"} {
		const toJSON = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))"
		text, err := clients.Python(t, nil, "-c", toJSON, filepath.Join(testingExamples, name))
		var pipeline any
		if err = errors.Join(err, json.Unmarshal(text, &pipeline)); err != nil {
			t.Fatal(err)
		}
		commands := 0
		for _, script := range scripts(pipeline) {
			check := exec.CommandContext(t.Context(), "bash", "-n")
			check.Stdin = strings.NewReader(script)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: bash: %v: %s\n%s", name, err, out, script)
			}
			for line := range strings.Lines(script) {
				if words := strings.Fields(strings.TrimSuffix(strings.TrimSpace(line), "&")); len(words) > 0 &&
					words[0] == "muster" {
					commands++
					checkFlags(t.Context(), t, program, words[1:])
				}
			}
		}
		if commands != 2 { // muster version, muster dev
			t.Errorf("%s has %d muster commands, want 2", name, commands)
		}
	}
}

// checkFlags has muster parse a command, and print its help in place of running it.
func checkFlags(ctx context.Context, t *testing.T, program string, args []string) {
	t.Helper()
	out, err := exec.CommandContext(ctx, program, append(slices.Clone(args), "--help")...).CombinedOutput()
	if err != nil {
		t.Errorf("muster %q: %v: %s", args, err, out)
	}
}

// scripts returns the scripts of the jobs of a pipeline. A list of commands is one script.
func scripts(pipeline any) (all []string) {
	switch p := pipeline.(type) {
	case []any:
		for _, item := range p {
			all = append(all, scripts(item)...)
		}
	case map[string]any:
		for key, item := range p {
			switch key {
			case "run", "script", "before_script":
				all = append(all, lines(item))
			default:
				all = append(all, scripts(item)...)
			}
		}
	}
	return all
}

func lines(script any) string {
	list, ok := script.([]any)
	if !ok {
		text, _ := script.(string)
		return text
	}
	var all []string
	for _, line := range list {
		text, _ := line.(string)
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}
