package instance

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
)

func TestProgramOf(t *testing.T) {
	root, host := filepath.FromSlash("/data/i/game-1"), filepath.FromSlash("/usr/bin/game")
	for _, c := range []struct {
		path      string
		hostPaths bool
		want      string // below root; "": an error
	}{
		{"/local/game/server", false, "server"},
		{"/local/game/bin/../server", false, "server"},
		{`C:\game\bin\server.exe`, false, "bin/server.exe"},
		{`c:\Game\server.exe`, false, "server.exe"},
		{"/local/game/../server", false, ""},
		{`C:\game\..\server.exe`, false, ""},
		{"/local/game/", true, ""},
		{"/local/gamer/server", false, ""},
		{"server", true, ""},
		{"/usr/bin/game", false, ""},
	} {
		got, err := programOf(root, c.path, c.hostPaths)
		want := filepath.Join(root, filepath.FromSlash(c.want))
		if (err != nil) != (c.want == "") || err == nil && got != want {
			t.Errorf("%s is %q, %v", c.path, got, err)
		}
	}
	if got, err := programOf(root, host, true); filepath.IsAbs(host) && (got != host || err != nil) {
		t.Errorf("a path of the machine is %q, %v", got, err)
	}
}

func TestFixedPorts(t *testing.T) {
	for parameters, want := range map[string]bool{
		"": false, "-port=7777": true, "7777": true, "-ip 10.0.0.1:7777 -log": true, "-p{port} 7777": false,
		"-players 64": false, "-seed 123456": false, "-build a7777": false, "-scale 1.5000": false,
		"-port 99999": false, "-fps 30 -port 30000": true, "map_2024": false,
	} {
		if got := fixedPort(protocol.Process{Parameters: parameters}); got != want {
			t.Errorf("%q has a fixed port: %v", parameters, got)
		}
	}
	a, b := protocol.Process{Parameters: "-port 7777"}, protocol.Process{Parameters: "-port 7778"}
	if got := collide([]protocol.Process{b, a}, []protocol.Process{a}); got != a.Parameters {
		t.Errorf("collide in %q", got)
	}
	if got := collide([]protocol.Process{b}, []protocol.Process{a}); got != "" {
		t.Errorf("collide in %q", got)
	}
}

func TestNewest(t *testing.T) {
	n := new(newest)
	for range 5 {
		if _, err := n.Write([]byte(strings.Repeat("x", maxOutput-1) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.Write([]byte("the last line \n")); err != nil {
		t.Fatal(err)
	}
	if got := n.bytes(); len(got) != maxOutput || !strings.HasSuffix(string(got), "the last line \n") {
		t.Errorf("%d bytes are kept", len(got))
	}
	if got := n.lastLine(); got != "the last line" {
		t.Errorf("the last line is %q", got)
	}
}
