//go:build unix

package instance

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	buildtree "github.com/muster-gg/muster/internal/builds"
)

// TestFiles: an instance has the bytes and modes of its build, the installer runs once, and what a game server writes
// does not change another instance.
func TestFiles(t *testing.T) {
	f := newFakeService(t)
	build := f.build("build-1", packed{"bin/game", game, 0o755}, packed{"data/level", "ice", 0o644},
		packed{"data/art", "snow", 0o444}, packed{"latest", "bin/game", fs.ModeSymlink | 0o777},
		packed{"install.sh", "echo installing in $PWD\necho x >>installed\n", 0o644})
	f.want(func(w *protocol.Wanted) {
		w.Instances = []protocol.Instance{instanceOf("i-1", build, process(2, "-p {port}"))}
	})
	f.run()
	f.awaitProcesses("i-1", 2)
	if s := f.state("i-1"); !s.Installed || s.Build != "build-1" {
		t.Errorf("the state is %+v", s)
	}
	root := filepath.Join(f.data, "i", "i-1", "game-1")
	for name, want := range map[string]string{"bin/game": game, "data/level": "ice", "data/art": "snow", "latest": game,
		"installed": "x\n"} {
		if got, err := os.ReadFile(filepath.Join(root, name)); string(got) != want || err != nil {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for name, want := range map[string]fs.FileMode{"bin/game": 0o755, "data/level": 0o644, "data/art": 0o444} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "data/level"), []byte("fire"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.want(func(w *protocol.Wanted) {
		w.Instances = append(w.Instances, instanceOf("i-2", build, process(1, "-p {port}")))
	})
	f.awaitProcesses("i-2", 1)
	for name, want := range map[string]string{"data/level": "ice", "installed": "x\n"} {
		got, err := os.ReadFile(filepath.Join(f.data, "i", "i-2", "game-1", name))
		if string(got) != want || err != nil {
			t.Errorf("the second instance has %s %q, %v", name, got, err)
		}
	}
	if n := f.downloads(); n != 1 {
		t.Errorf("%d downloads", n)
	}
	f.eventually("the output of the installer is sent", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return strings.HasPrefix(f.puts["/logs/i-1"], "installing in ")
	})
	ports := map[string]bool{}
	for _, s := range f.awaitStarts(3) {
		ports[s.port] = true
		if s.parameters != "-p "+s.port || !strings.HasSuffix(s.dir, "/game-1") {
			t.Errorf("started as %+v", s)
		}
	}
	if len(ports) != 3 {
		t.Errorf("the ports are %v", ports)
	}
}

// TestStages: the stages are reported in order, as far as they are.
func TestStages(t *testing.T) {
	f := newFakeService(t)
	order := []protocol.Stage{protocol.Waiting, protocol.Downloading, protocol.Extracting, protocol.Installing,
		protocol.Validating, protocol.Building, protocol.Running}
	f.run()
	f.wantInstances(instanceOf("i-1", f.build("build-1", packed{"bin/game", game, 0},
		packed{"install.sh", "until [ -e $RECORD.go ]; do sleep 0.01; done", 0}), process(1, "")))
	f.awaitStage("i-1", protocol.Installing)
	if err := os.WriteFile(f.record+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.awaitProcesses("i-1", 1)
	got := f.stagesOf("i-1")
	if !slices.IsSortedFunc(got, func(a, b protocol.InstanceState) int {
		return slices.Index(order, a.Stage) - slices.Index(order, b.Stage)
	}) {
		t.Errorf("the stages are %v", got)
	}
	for _, s := range got { // the service may see any of them first
		if after := slices.Index(order, s.Stage) > slices.Index(order, protocol.Installing); s.Installed != after {
			t.Errorf("in stage %s: installed is %t", s.Stage, s.Installed)
		}
	}
}

func TestFailures(t *testing.T) {
	ok := packed{"bin/game", game, 0}
	for name, c := range map[string]struct {
		entries []packed
		change  func(*fakeService, *protocol.Instance)
		code    string
		text    string
	}{
		"no build": {[]packed{ok}, func(_ *fakeService, i *protocol.Instance) { i.Build.Path = "/none" }, codeDownload,
			"404"},
		"another host": {[]packed{ok}, func(_ *fakeService, i *protocol.Instance) { i.Build.Path = "@host/x" },
			codeDownload, "no path"},
		"other bytes": {[]packed{ok}, func(f *fakeService, i *protocol.Instance) {
			other := f.build("other", packed{"x", "y", 0})
			i.Build.Path, i.Build.Size = other.Path, other.Size
		}, codeDownload, "another hash"},
		"too many bytes": {[]packed{ok}, func(_ *fakeService, i *protocol.Instance) { i.Build.Size-- }, codeDownload,
			"more than"},
		"no hash": {[]packed{ok}, func(_ *fakeService, i *protocol.Instance) { i.Build.SHA256 = "../x" }, codeDownload,
			"no valid hash"},
		"no archive": {nil, func(f *fakeService, i *protocol.Instance) {
			i.Build = f.archive("text", []byte("text"))
		}, codeDownload, "damaged"},
		"outside": {[]packed{ok, {"../x", "x", 0}}, nil, codeDownload, "leads out"},
		"link":    {[]packed{ok, {"l", "../../etc", fs.ModeSymlink}}, nil, codeDownload, "leads out"},
		"below link": {[]packed{ok, {"d/l", "..", fs.ModeSymlink}, {"d/l/../../x", "x", 0}}, nil, codeDownload,
			"escapes"},
		"bomb":   {[]packed{ok, {"zeros", strings.Repeat("\x00", 5<<20), 0}}, nil, codeDownload, "100 times"},
		"device": {[]packed{ok, {"d", "", fs.ModeDevice | 0o644}}, nil, codeDownload, "mode"},
		"installer": {[]packed{ok, {"install.sh", "echo it is broken; exit 3", 0o644}}, nil, codeInstaller,
			"exit status 3, its last line: it is broken"},
		"no program":  {[]packed{{"bin/other", game, 0}}, nil, codePath, "/local/game/bin/game"},
		"a directory": {[]packed{{"bin/game/x", game, 0}}, nil, codePath, "no such file"},
		"no mode":     {[]packed{{"bin/game", game, 0o644}}, nil, codeNotExecutable, "-rw-r--r--"},
		"host path": {[]packed{ok}, func(_ *fakeService, i *protocol.Instance) {
			i.Runtime[0].LaunchPath = "/bin/sleep"
		}, codePath, "--allow-host-paths"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeService(t)
			i := instanceOf("i-1", protocol.Build{}, process(1, ""))
			if c.entries != nil {
				i.Build = f.build("build-1", c.entries...)
			}
			if c.change != nil {
				c.change(f, &i)
			}
			f.run()
			f.wantInstances(i)
			s := f.awaitStage("i-1", protocol.Failed)
			if s.Failure == nil || s.Failure.Code != c.code || !strings.Contains(s.Failure.Message, c.text) {
				t.Errorf("the failure is %+v", s.Failure)
			}
			if c.code == codeInstaller && f.puts["/logs/i-1"] != "it is broken\n" {
				t.Errorf("the output is %q", f.puts["/logs/i-1"])
			}
			i.Ends = true
			f.wantInstances(i)
			f.awaitStage("i-1", protocol.Ended)
			if left, err := os.ReadDir(filepath.Join(f.data, "i")); err == nil && len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// TestResumed: a download goes on where it was cut off.
func TestResumed(t *testing.T) {
	f := newFakeService(t)
	f.cut = 100
	build := f.build("build-1", packed{"bin/game", game, 0})
	f.run()
	f.wantInstances(instanceOf("i-1", build, process(1, "")))
	f.awaitProcesses("i-1", 1)
	if want := []string{build.Path, build.Path + "bytes=100-"}; !slices.Equal(f.gets, want) {
		t.Errorf("requests %q", f.gets)
	}
}

// TestEnds: game servers are asked to end and nothing is left; an instance that is not wanted ends at once.
func TestEnds(t *testing.T) {
	f := newFakeService(t)
	build := f.build("build-1", packed{"bin/game", game, 0})
	first, second := instanceOf("i-1", build, process(1, "")), instanceOf("i-2", build, process(1, ""))
	f.run()
	f.wantInstances(first, second)
	f.awaitProcesses("i-1", 1)
	f.awaitProcesses("i-2", 1)
	started := f.awaitStarts(2) // else one may be ended before it is noted
	first.Ends = true
	f.wantInstances(first, second)
	f.awaitStage("i-1", protocol.Ended)
	f.wantInstances()
	f.eventually("no instance is left", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.observed.Generation == f.generation && len(f.observed.Instances) == 0
	})
	if left, err := os.ReadDir(filepath.Join(f.data, "i")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	for _, s := range started {
		if alive(s.pid) {
			t.Errorf("game server %s runs", s.pid)
		}
	}
}

// TestAdopted: game servers run on while the agent is away. It starts none twice, and ends those that are not wanted
// any more when the service wants so.
func TestAdopted(t *testing.T) {
	f := newFakeService(t)
	build := f.build("build-1", packed{"bin/game", game, 0})
	keep := func(c *Config) { c.Keep = true }
	first, second := instanceOf("i-1", build, process(2, "{port}")), instanceOf("i-2", build, process(1, "{port}"))
	stop := f.run(keep)
	f.wantInstances(first, second)
	f.awaitProcesses("i-1", 2)
	f.awaitProcesses("i-2", 1)
	started := f.awaitStarts(3)
	stop()
	for _, s := range started {
		if !alive(s.pid) {
			t.Fatalf("game server %s has ended with the agent", s.pid)
		}
	}
	f.mu.Lock()
	f.observed = protocol.Observed{}
	f.mu.Unlock()
	third := instanceOf("i-3", build, process(1, "{port}"))
	f.wantInstances(first, third)
	f.run()
	f.awaitProcesses("i-1", 2)
	f.awaitProcesses("i-3", 1)
	f.eventually("the other instance has ended", func() bool {
		_, err := os.Stat(filepath.Join(f.data, "i", "i-2"))
		return err != nil && f.state("i-2").ID == ""
	})
	all := f.awaitStarts(4)
	if len(all) != 4 || f.downloads() != 1 {
		t.Errorf("%d starts, %d downloads", len(all), f.downloads())
	}
	for _, s := range started {
		if alive(s.pid) != strings.Contains(s.dir, "i-1") {
			t.Errorf("game server %+v runs: %v", s, alive(s.pid))
		}
		if s.port == all[3].port {
			t.Errorf("port %s is leased twice", s.port)
		}
	}
}

// TestStopped: game servers end with the agent unless they are kept, and the instance runs again with the next one.
func TestStopped(t *testing.T) {
	f := newFakeService(t)
	stop := f.run()
	f.wantInstances(instanceOf("i-1", f.build("build-1", packed{"bin/game", game, 0}), process(1, "")))
	f.awaitProcesses("i-1", 1)
	pid := f.awaitStarts(1)[0].pid
	stop()
	if alive(pid) {
		t.Error("the game server runs on")
	}
	f.run()
	f.awaitStarts(2)
}

// TestFixedPort: a second instance with the same port in its parameters waits for the first one.
func TestFixedPort(t *testing.T) {
	f := newFakeService(t)
	build := f.build("build-1", packed{"bin/game", game, 0})
	fixed := process(1, "-port=7777")
	first, second := instanceOf("i-1", build, fixed), instanceOf("i-2", build, fixed)
	f.run()
	f.wantInstances(first)
	f.awaitProcesses("i-1", 1)
	f.wantInstances(first, second)
	s := f.awaitStage("i-2", protocol.Waiting)
	f.eventually("the reason is known", func() bool { s = f.state("i-2"); return s.Failure != nil })
	if !strings.Contains(s.Failure.Message, "{port}") || !strings.Contains(s.Failure.Message, "-port=7777") {
		t.Errorf("it waits for %+v", s.Failure)
	}
	first.Ends = true
	f.wantInstances(first, second)
	f.awaitProcesses("i-2", 1)
	if s := f.state("i-2"); s.Failure != nil {
		t.Errorf("it runs with %+v", s.Failure)
	}
}

// TestDrain: nothing new begins on a machine that is drained, and a game server that ends is not started again.
func TestDrain(t *testing.T) {
	f := newFakeService(t)
	build := f.build("build-1", packed{"bin/game", game, 0})
	first, second := instanceOf("i-1", build, process(1, "")), instanceOf("i-2", build, process(1, ""))
	f.run()
	f.wantInstances(first)
	f.awaitProcesses("i-1", 1)
	pid := f.awaitStarts(1)[0].pid
	f.want(func(w *protocol.Wanted) { w.Drain, w.Instances = true, []protocol.Instance{first, second} })
	f.eventually("the second instance waits", func() bool {
		s := f.state("i-2")
		return s.Stage == protocol.Waiting && s.Failure != nil && strings.Contains(s.Failure.Message, "drained")
	})
	if err := exec.Command("kill", pid).Run(); err != nil {
		t.Fatal(err)
	}
	f.awaitProcesses("i-1", 0)
	f.want(func(w *protocol.Wanted) { w.Drain = false })
	f.awaitProcesses("i-2", 1)
	f.awaitProcesses("i-1", 1)
}

// TestReplaced: another build is prepared beside the first one. Game servers that run keep their files.
func TestReplaced(t *testing.T) {
	f := newFakeService(t)
	i := instanceOf("i-1", f.build("build-1", packed{"bin/game", game, 0}), process(1, ""))
	f.run()
	f.wantInstances(i)
	f.awaitProcesses("i-1", 1)
	first := f.awaitStarts(1)[0]
	i.Build = f.build("build-2", packed{"bin/game", game, 0}, packed{"new", "", 0})
	f.wantInstances(i)
	f.eventually("the build is reported", func() bool { return f.state("i-1").Build == "build-2" })
	if !alive(first.pid) || len(f.starts()) != 1 {
		t.Error("the game server of the first build has ended")
	}
	if s := f.state("i-1"); len(s.Outdated) != 1 {
		t.Errorf("outdated are %v", s.Outdated)
	}
	if err := exec.Command("kill", first.pid).Run(); err != nil {
		t.Fatal(err)
	}
	second := f.awaitStarts(2)[1]
	if !strings.HasSuffix(first.dir, "game-1") || !strings.HasSuffix(second.dir, "game-2") {
		t.Errorf("started in %s, then in %s", first.dir, second.dir)
	}
	f.eventually("the files of the first build are removed", func() bool {
		_, err := os.Stat(first.dir)
		return err != nil
	})
	i.Build = f.build("build-3", packed{"bin/other", game, 0})
	f.wantInstances(i)
	f.eventually("the failure is reported", func() bool {
		s := f.state("i-1")
		return s.Stage == protocol.Running && s.Build == "build-2" && s.Failure != nil && s.Failure.Code == codePath &&
			strings.HasPrefix(s.Failure.Message, "Build build-3 could not replace build build-2, which goes on: ")
	})
	if s := f.state("i-1"); !alive(second.pid) || len(s.Outdated) != 0 {
		t.Errorf("the game server runs: %v, outdated are %v", alive(second.pid), s.Outdated)
	}
	i.Build.ID = "build-2"
	f.wantInstances(i)
	f.eventually("the failure is over", func() bool { return f.state("i-1").Failure == nil })
}

// TestReplacedTwice: a build that is being prepared gives way to the next one, and one whose installer has failed is
// tried again under another id.
func TestReplacedTwice(t *testing.T) {
	f := newFakeService(t)
	game := packed{"bin/game", game, 0}
	i := instanceOf("i-1", f.build("build-1", game), process(1, ""))
	f.run()
	f.wantInstances(i)
	f.awaitProcesses("i-1", 1)
	i.Build = f.build("build-2", game, packed{"install.sh", "touch $RECORD.begun; sleep 1000", 0})
	f.wantInstances(i)
	f.eventually("the installer runs", func() bool { _, err := os.Stat(f.record + ".begun"); return err == nil })
	i.Build = f.build("build-3", game, packed{"install.sh", "[ -e $RECORD.fixed ]", 0})
	f.wantInstances(i)
	f.eventually("the installer fails", func() bool {
		s := f.state("i-1")
		return s.Failure != nil && s.Failure.Code == codeInstaller && s.Build == "build-1"
	})
	if err := os.WriteFile(f.record+".fixed", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	i.Build.ID = "build-4"
	f.wantInstances(i)
	f.eventually("the build is replaced", func() bool {
		s := f.state("i-1")
		return s.Build == "build-4" && s.Failure == nil && s.Installed
	})
}

// TestAssembled: a build is made of the files of another one and of those parts of the archive that are new, unless the
// hash of the tree is another.
func TestAssembled(t *testing.T) {
	large := func(seed byte) packed {
		data := make([]byte, 300<<10)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
		return packed{fmt.Sprint("data/", seed), string(data), 0o644}
	}
	changed := packed{"bin/game", game + "\n", 0}
	link := packed{"latest", "bin/game", fs.ModeSymlink | 0o777}
	entries := []packed{changed, large(1), large(2), link}
	for name, tree := range map[string]string{"by tree": treeOf(t, entries...),
		"another tree": strings.Repeat("0", 64)} {
		t.Run(name, func(t *testing.T) {
			f := newFakeService(t)
			i := instanceOf("i-1", f.build("build-1", packed{"bin/game", game, 0}, large(1), large(2)), process(1, ""))
			f.run()
			f.wantInstances(i)
			f.awaitProcesses("i-1", 1)
			i.Build = f.build("build-2", entries...)
			i.Build.Tree = tree
			f.wantInstances(i)
			f.eventually("the build is replaced", func() bool { return f.state("i-1").Build == "build-2" })
			for _, e := range []packed{changed, large(1), large(2)} {
				got, err := os.ReadFile(filepath.Join(f.data, "i", "i-1", "game-2", e.name))
				if string(got) != e.content || err != nil {
					t.Errorf("%s has %d bytes, %v", e.name, len(got), err)
				}
			}
			if target, err := os.Readlink(filepath.Join(f.data, "i", "i-1", "game-2", "latest")); target != "bin/game" {
				t.Errorf("the link leads to %q, %v", target, err)
			}
			if whole := slices.Contains(f.gets, i.Build.Path); whole != (name == "another tree") {
				t.Errorf("the requests are %q", f.gets)
			}
		})
	}
}

// treeOf returns the hash of the tree of an archive.
func treeOf(t *testing.T, entries ...packed) string {
	t.Helper()
	data := pack(t, entries...)
	content, err := buildtree.Check(t.Context(), bytes.NewReader(data), int64(len(data)),
		buildtree.Limits{MaxUnpacked: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	return content.Tree
}

// TestCrashLoop: a crash loop is a failure of an instance that runs, also if requests for tokens are lost.
func TestCrashLoop(t *testing.T) {
	f := newFakeService(t)
	f.lostTokens = 2
	clock := clockwork.NewFakeClock()
	f.run(func(c *Config) { c.Clock = clock })
	f.wantInstances(instanceOf("i-1", f.build("build-1", packed{"bin/game", "#!/bin/sh\nexit 7\n", 0}), process(1, "")))
	f.eventually("the crash loop is reported", func() bool {
		clock.Advance(time.Second / 2)
		s := f.state("i-1")
		return s.Stage == protocol.Running && s.Failure != nil && s.Failure.Code == codeActivation &&
			strings.HasSuffix(s.Failure.Message, "exit code 7")
	})
}
