package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/muster-gg/muster"
)

func testEndpoints() muster.Endpoints {
	return muster.Endpoints{
		HTTP: "http://127.0.0.1:9080", WS: "ws://127.0.0.1:9080", WSS: "wss://127.0.0.1:9080",
		CAFile: "/data/it's mine/ca.pem", AccessKey: "AKIDEXAMPLE", SecretKey: "top secret", Region: "us-west-2",
	}
}

var testExports = fmt.Sprintf(`export AWS_ENDPOINT_URL_GAMELIFT=http://127.0.0.1:9080
export AWS_ENDPOINT_URL_STS=http://127.0.0.1:9080
export AWS_ENDPOINT_URL_SSO=http://127.0.0.1:9080
export AWS_ENDPOINT_URL_SSO_OIDC=http://127.0.0.1:9080
export AWS_ENDPOINT_URL_IAM=http://127.0.0.1:9080
export AWS_ENDPOINT_URL_SIGNIN=http://127.0.0.1:9080
export AWS_ENDPOINT_URL_CLOUDWATCH=http://127.0.0.1:9080
export AWS_ENDPOINT_URL_S3=http://127.0.0.1:9080
export AWS_ACCESS_KEY_ID=AKIDEXAMPLE
export AWS_SECRET_ACCESS_KEY='top secret'
export AWS_REGION=us-west-2
export AWS_DEFAULT_REGION=us-west-2
export MUSTER_HTTP_URL=http://127.0.0.1:9080
export MUSTER_WS_URL=ws://127.0.0.1:9080
export MUSTER_WSS_URL=wss://127.0.0.1:9080
export MUSTER_CA_FILE='/data/it'\''s mine/ca.pem'
export MUSTER_PID=%d
`, os.Getpid())

// TestDevHandsOver follows muster.env through a run: a stale one goes when the
// directory is ours, before the service starts; a new one comes when the service is ready, and none is left.
func TestDevHandsOver(t *testing.T) {
	data := t.TempDir()
	path := filepath.Join(data, envFile)
	if err := os.WriteFile(path, []byte("stale"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	serve := func(service context.Context, config muster.Config) error {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the stale file is still there: %v", err)
		}
		config.Ready(testEndpoints())
		checkEnvFile(t, service, path)
		cancel()
		<-service.Done()
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the service stopped before the file was gone: %v", err)
		}
		return nil
	}
	stdout, stderr := &bytes.Buffer{}, &bytes.Buffer{}
	a := &app{stdout: stdout, stderr: stderr, serve: serve}
	if status := a.run(ctx, []string{
		"dev", "--data", data, "--listen", "127.0.0.1:0", "--gateway-listen", "", "--no-sample",
	}); status != exitOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	want := strings.Replace(testExports, "export AWS_SECRET_ACCESS_KEY='top secret'\n", "", 1)
	if stdout.String() != want {
		t.Errorf("standard output:\n%s", stdout)
	}
	for _, part := range []string{"http://127.0.0.1:9080", "AKIDEXAMPLE", userDialect(runtime.GOOS, "").read(path),
		"Then: aws gamelift list-fleets", "process       " + strconv.Itoa(os.Getpid()), "IAM, STS and CloudWatch"} {
		if !strings.Contains(stderr.String(), part) {
			t.Errorf("standard error lacks %q:\n%s", part, stderr)
		}
	}
	left, err := os.ReadDir(data)
	if err != nil || len(left) != 2 || left[0].Name() != profileFile || left[1].Name() != "dev.lock" {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The next muster of a shell that took over muster.env knows its variables.
func TestDevExportsAreKnown(t *testing.T) {
	var environ []string
	for line := range strings.Lines(testExports) {
		environ = append(environ, strings.TrimSpace(strings.TrimPrefix(line, "export ")))
	}
	if got := execute(t, environ, "config", "--data", t.TempDir()); got.status != exitOK {
		t.Errorf("status %d: %s", got.status, got.stderr)
	}
}

// checkEnvFile waits for the file and reads it.
func checkEnvFile(t *testing.T, ctx context.Context, path string) {
	var info os.FileInfo
	eventually(t, ctx, func() bool {
		var err error
		info, err = os.Stat(path)
		return err == nil
	})
	content, err := os.ReadFile(path)
	if err != nil || string(content) != testExports {
		t.Errorf("%s holds\n%s%v", path, content, err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
	for _, d := range []dialect{fish, powerShell} {
		line := fmt.Sprintf(d.set, "AWS_SECRET_ACCESS_KEY", "'top secret'") + "\n"
		if content, err := os.ReadFile(d.file(path)); err != nil || !strings.Contains(string(content), line) {
			t.Errorf("%s lacks %q (%v):\n%s", d.file(path), line, err, content)
		}
	}
}

func TestDevLeavesAnotherRunAlone(t *testing.T) {
	data := t.TempDir()
	path := filepath.Join(data, envFile)
	if err := os.WriteFile(path, []byte("of the run that holds the directory"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := flock.New(filepath.Join(data, "dev.lock"))
	if locked, err := other.TryLock(); err != nil || !locked {
		t.Fatal(locked, err)
	}
	t.Cleanup(func() {
		if err := other.Unlock(); err != nil {
			t.Error(err)
		}
	})
	if got := execute(t, nil, "dev", "--data", data); got.status != exitFailure ||
		!strings.Contains(got.stderr, "another muster dev") {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// TestNewerDataDirectory: no subcommand makes or changes a file in a data directory that a
// newer release wrote.
func TestNewerDataDirectory(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "region.json"), []byte(`{"version":1000}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"dev", "--data", data}, {"serve", "--data", data, "--listen", "127.0.0.1:0"}, {"inspect", "--data", data},
	} {
		got := executeWith(t, muster.Run, nil, args...)
		if got.status != exitFailure ||
			!strings.Contains(got.stderr, "written by a newer Muster: its layout has version 1000") {
			t.Errorf("%s: %+v", args[0], got)
		}
		if left := names(t, data); !slices.Equal(left, []string{"region.json"}) {
			t.Fatalf("%s leaves %v", args[0], left)
		}
	}
}

// With --test the service has test equipment and temporary data, and nothing of its own runs in it.
func TestDevForTests(t *testing.T) {
	for _, c := range []struct {
		args    []string
		slots   time.Duration // how long they are reserved; 0: a minute
		quotas  bool
		data    string // that is kept; "": temporary
		refused string
	}{
		{args: []string{"--test"}},
		{args: []string{"--test", "--gamelift-quotas"}, quotas: true},
		{args: []string{"--test", "--reservation-timeout", "5m"}, slots: 5 * time.Minute},
		{args: []string{"--test", "--data"}, data: t.TempDir()},
		{args: []string{"--gamelift-quotas"}, refused: "--gamelift-quotas needs --test"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		used := ""
		serve := func(service context.Context, config muster.Config) error {
			if used = config.Data; config.Test == nil || config.Clock == nil ||
				config.Test.EmulatesQuotas() != c.quotas {
				t.Errorf("%q: the service has the equipment %v", c.args, config.Test)
			}
			if got := config.ReservationTimeout; got != cmp.Or(c.slots, time.Minute) {
				t.Errorf("%q: slots are reserved for %s", c.args, got)
			}
			config.Ready(testEndpoints())
			checkEnvFile(t, service, filepath.Join(config.Data, envFile))
			cancel()
			<-service.Done()
			return nil
		}
		if c.data != "" {
			c.args = append(c.args, c.data)
		}
		stderr := &bytes.Buffer{}
		a := &app{stdout: &bytes.Buffer{}, stderr: stderr, serve: serve}
		status := a.run(ctx, append([]string{"dev", "--listen", "127.0.0.1:0", "--gateway-listen", ""}, c.args...))
		cancel()
		switch _, err := os.Stat(used); {
		case c.refused != "":
			if status != exitMisuse || !strings.Contains(stderr.String(), c.refused) {
				t.Errorf("%q: status %d: %s", c.args, status, stderr)
			}
		case status != exitOK || !strings.Contains(stderr.String(), "http://127.0.0.1:9080/v1/test"):
			t.Errorf("%q: status %d: %s", c.args, status, stderr)
		case used == c.data != (err == nil):
			t.Errorf("%q: data in %s: %v", c.args, used, err)
		}
	}
}

func TestDevFailsWithItsService(t *testing.T) {
	got := executeWith(t, func(context.Context, muster.Config) error { return errors.New("the port is in use") }, nil,
		"dev", "--data", t.TempDir())
	if got.status != exitFailure || !strings.Contains(got.stderr, "the port is in use") {
		t.Errorf("got %+v", got)
	}
}

func TestDevStopsWhenItsServiceEnds(t *testing.T) {
	data, env := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere.env")
	got := executeWith(t, func(ctx context.Context, config muster.Config) error {
		config.Ready(testEndpoints())
		eventually(t, ctx, func() bool { _, err := os.Stat(env); return err == nil })
		return errors.New("the journal is gone")
	}, nil, "dev", "--data", data, "--no-sample", "--env-file", env)
	if got.status != exitFailure || !strings.Contains(got.stderr, "the journal is gone") {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Stat(env); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was left behind: %v", err)
	}
}

func TestDevDefaults(t *testing.T) {
	config := devDefaults()
	config.Data = "somewhere" // a machine without a home directory has no default
	if err := config.Validate(); err != nil {
		t.Error(err)
	}
	config.Data = ""
	if err := config.Validate(); err == nil || !strings.Contains(err.Error(), "setting data") {
		t.Errorf("got %v", err)
	}
}

// TestUnusableData says what is wrong with a data directory, and what to do.
func TestUnusableData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{
		file:   file + " is a file: choose a directory with --data",
		closed: "this user may not read and write " + closed + ": give it the permission",
	} {
		if data == closed && (runtime.GOOS == "windows" || os.Geteuid() == 0) {
			continue // root may do everything; TestExplainData of package server has the text
		}
		for _, command := range []string{"dev", "serve"} {
			got := executeWith(t, muster.Run, nil, command, "--data", data, "--listen", "127.0.0.1:0",
				"--gateway-listen", "127.0.0.1:0")
			if got.status != exitFailure || !strings.Contains(got.stderr, want) {
				t.Errorf("%s %s: %+v", command, data, got)
			}
		}
	}
}
