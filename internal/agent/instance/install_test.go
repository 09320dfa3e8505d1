//go:build unix

package instance

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
)

// installation is a build of an instance.
type installation struct {
	tree    string
	environ []string // of its installer
	keys    string   // in the file that its installer found
}

// prepare gets a build for a new instance with a role, "" for none.
func prepare(t *testing.T, m *Instances, w protocol.Instance, role string, file bool) (in installation, err error) {
	t.Helper()
	m.mu.Lock()
	i := m.get(w.ID)
	i.want, i.want.Role, i.want.RoleFile = w, role, file
	m.mu.Unlock()
	t.Cleanup(i.forgetKeys)
	tree, _, release, err := m.builds.prepare(t.Context(), i, i.want, func(protocol.Stage) {})
	if err != nil {
		return in, err
	}
	defer release()
	environ, err := os.ReadFile(filepath.Join(tree, "environ"))
	if err != nil {
		t.Error(err)
	}
	keys, _ := os.ReadFile(filepath.Join(tree, "keys")) // no file, no keys
	return installation{tree, strings.Split(string(environ), "\n"), string(keys)}, nil
}

// TestInstallerKeys: an installer finds the keys of the role of the instance that prepares the build, once for all
// instances with that role. Without keys it runs after a while, and its failure is not the last attempt.
func TestInstallerKeys(t *testing.T) {
	f := newFakeService(t)
	s := &keyIssuer{clock: clockwork.NewFakeClock(), asked: make(chan string, 10), fails: 2}
	var log bytes.Buffer
	m, err := open(Config{Data: f.data, Service: f.server.URL, Clock: s.clock,
		Log: slog.New(slog.NewTextHandler(&log, nil)), Environ: []string{"PATH=/usr/bin:/bin", "AWS_PROFILE=mine"}})
	if err != nil {
		t.Fatal(err)
	}
	m.tokens = s
	t.Cleanup(m.stop)
	build := f.build("build-1", packed{name: "install.sh", content: "#!/bin/sh\nenv >environ\n" +
		`[ -z "$AWS_SHARED_CREDENTIALS_FILE" ] || cp "$AWS_SHARED_CREDENTIALS_FILE" keys` + "\n"})
	type result struct {
		installation
		err error
	}
	late := make(chan result)
	go func() {
		in, err := prepare(t, m, instanceOf("i-1", build), "role-1", true)
		late <- result{in, err}
	}()
	<-s.asked
	if err := s.clock.BlockUntilContext(t.Context(), 2); err != nil { // the limit, and the next attempt to get keys
		t.Fatal(err)
	}
	s.clock.Advance(keysLimit)
	r := <-late
	if r.err == nil || !strings.HasPrefix(r.err.Error(), "install.sh: exit status 1, its last line: ") ||
		!strings.HasSuffix(r.err.Error(), " (the service has issued no keys of the role in time)") {
		t.Errorf("without keys: %v", r.err)
	}
	<-s.asked
	if err := s.clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(2 * firstKeys)
	<-s.asked
	i1, err := prepare(t, m, instanceOf("i-1", build), "role-1", true)
	if err != nil || !strings.Contains(i1.keys, "secret of i-1") || valueOf(i1.environ, "AWS_PROFILE") != "" {
		t.Errorf("with keys: %+v, %v", i1, err)
	}
	if i2, err := prepare(t, m, instanceOf("i-2", build), "role-1", true); err != nil || i2.tree != i1.tree {
		t.Errorf("another instance with the role: %+v, %v", i2, err)
	}
	i3, err := prepare(t, m, instanceOf("i-3", build), "", false)
	if err != nil || i3.tree == i1.tree || i3.keys != "" || valueOf(i3.environ, "AWS_PROFILE") != "" {
		t.Errorf("without a role: %+v, %v", i3, err)
	}
	i4, err := prepare(t, m, instanceOf("i-4", build), "role-2", false)
	if err != nil || i4.tree == i1.tree || i4.tree == i3.tree {
		t.Fatalf("with another role: %+v, %v", i4, err)
	}
	status, k := fetch(t, valueOf(i4.environ, "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
		valueOf(i4.environ, "AWS_CONTAINER_AUTHORIZATION_TOKEN"))
	if status != http.StatusOK || k.AccessKeyId != "ASIA2" {
		t.Errorf("the endpoint of an installer: %d %+v", status, k)
	}
	for _, id := range []string{"i-1", "i-2", "i-3", "i-4"} {
		m.all[id].forgetKeys() // before the log is read
	}
	m.work.Wait()
	const line = "start without keys of its role\" instance=i-1 fleet=fleet-1 programs=installers\n"
	if n := strings.Count(log.String(), line); n != 1 {
		t.Errorf("logged %d times: %s", n, log.String())
	}
}
