//go:build unix

package instance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
)

// TestVersions: the files of further builds are prepared beside the instance's own, requested processes start from them
// in a free slot, and they are removed when they are not wanted any more. A build that fails changes nothing else.
func TestVersions(t *testing.T) {
	f := newFakeService(t)
	i := instanceOf("i-1", f.build("build-1", packed{"bin/game", game, 0}), process(1, ""))
	keep := func(c *Config) { c.Keep = true }
	stop := f.run(keep)
	f.wantInstances(i)
	f.awaitProcesses("i-1", 1)
	own := f.awaitStarts(1)[0]
	f.mu.Lock()
	f.request = "build-2"
	f.mu.Unlock()
	i.Versions = []protocol.Build{f.build("build-2", packed{"bin/game", game, 0}, packed{"new", "", 0}),
		f.build("build-3", packed{"bin/other", game, 0})}
	f.wantInstances(i)
	f.eventually("both versions are reported", func() bool {
		v := f.state("i-1").Versions
		return len(v) == 2 && v[0] == protocol.VersionState{Build: "build-2"} && v[1].Build == "build-3" &&
			v[1].Failure != nil && v[1].Failure.Code == codePath
	})
	f.eventually("the process is requested", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.request == ""
	})
	if len(f.starts()) != 1 {
		t.Error("a requested process was started without a slot")
	}
	if err := exec.Command("kill", own.pid).Run(); err != nil {
		t.Fatal(err)
	}
	requested := f.awaitStarts(2)[1]
	if !strings.HasSuffix(requested.dir, "version-build-2") {
		t.Errorf("the requested process was started in %s", requested.dir)
	}
	stop()
	f.mu.Lock()
	f.observed = protocol.Observed{}
	f.mu.Unlock()
	i.Versions = nil
	f.wantInstances(i)
	f.run() // it adopts the process
	f.awaitProcesses("i-1", 1)
	f.eventually("no version is reported", func() bool { return len(f.state("i-1").Versions) == 0 })
	if s := f.state("i-1"); len(s.Outdated) != 0 || s.Stage != protocol.Running || s.Failure != nil {
		t.Errorf("the instance is %+v", s)
	}
	if _, err := os.Stat(filepath.Join(requested.dir, "new")); err != nil {
		t.Errorf("the files of a process that runs: %v", err)
	}
	if err := exec.Command("kill", requested.pid).Run(); err != nil {
		t.Fatal(err)
	}
	if again := f.awaitStarts(3)[2]; !strings.HasSuffix(again.dir, "game-1") {
		t.Errorf("the slot has a process in %s", again.dir)
	}
	f.eventually("the files of the version are removed", func() bool {
		_, err := os.Stat(requested.dir)
		return os.IsNotExist(err)
	})
}
