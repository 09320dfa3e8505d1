package machine

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
)

func TestSocketURL(t *testing.T) {
	for service, want := range map[string]string{
		"wss://games.example.com:9080":          "wss://games.example.com:9080/agent/machine",
		"https://games.example.com/":            "wss://games.example.com/agent/machine",
		"http://127.0.0.1:9080/base":            "ws://127.0.0.1:9080/base/agent/machine",
		"wss://games.example.com/agent/machine": "wss://games.example.com/agent/machine",
		"ftp://games.example.com":               "",
		"games.example.com:9080":                "",
		"":                                      "",
		"wss://":                                "",
		"wss://games.example.com:9080/agent/machine/": "wss://games.example.com:9080/agent/machine",
	} {
		if got, err := socketURL(service); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", service, got, err, want)
		}
	}
}

func open(dir, name string) (*Machine, error) {
	return Open(Config{Service: "ws://127.0.0.1:1", Name: name, Data: dir, Log: slog.New(slog.DiscardHandler),
		Offer: protocol.Offer{}})
}

// TestIdentity: the key is made once, for one name, and readable by its owner alone.
func TestIdentity(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	first, err := open(dir, "box")
	if err != nil {
		t.Fatal(err)
	}
	again, err := open(dir, "")
	if err != nil || again.Name() != "box" || !again.key.Equal(first.key) {
		t.Errorf("opened again: %+v, %v", again, err)
	}
	if _, err := open(dir, "other"); err == nil || !strings.Contains(err.Error(), "or --name box") {
		t.Errorf("another name: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, identityFile)); err != nil || info.Mode().Perm()&0o077 != 0 &&
		os.PathSeparator == '/' {
		t.Errorf("the file of the key: %v, %v", info.Mode(), err)
	}
	for _, text := range []string{"", "{", `{"machine":"box"}`, `{"machine":"box","privateKey":"AAAA"}`} {
		if err := os.WriteFile(filepath.Join(dir, identityFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := open(dir, ""); err == nil || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestCapacity: this machine has CPUs and, where it can be measured, memory.
func TestCapacity(t *testing.T) {
	cpus, memory := Capacity()
	if cpus < 1 || memory < 0 {
		t.Errorf("%d, %d MiB", cpus, memory)
	}
	if m := MeasureLoad(); m.Load != nil && *m.Load < 0 || m.FreeMemoryMiB != nil && *m.FreeMemoryMiB < 0 {
		t.Errorf("%+v", m)
	}
}
