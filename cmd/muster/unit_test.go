package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-gg/muster"
)

// TestSystemdUnit holds the unit file to what the program has: its flags, and a start
// that systemd is not notified of.
func TestSystemdUnit(t *testing.T) {
	unit, err := os.ReadFile("../../deploy/muster.service")
	if err != nil {
		t.Fatal(err)
	}
	options := map[string]string{}
	for line := range strings.Lines(string(unit)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			options[name] = value
		}
	}
	command := strings.Fields(options["ExecStart"])
	if len(command) < 2 || command[0] != "/usr/bin/muster" || command[1] != "serve" {
		t.Fatalf("ExecStart is %q", command)
	}
	given, words := map[string]string{}, command[2:]
	for ; len(words) > 1; words = words[2:] {
		given[strings.TrimPrefix(words[0], "--")] = words[1]
	}
	if len(words) > 0 || given["config"] == "" || given["data"] != "/var/lib/"+options["StateDirectory"] {
		t.Errorf("ExecStart has %v, and %v is left", given, words)
	}
	delete(given, "config")
	if _, _, err := muster.Load(muster.DefaultConfig(), muster.Sources{Flags: given}); err != nil {
		t.Error(err)
	}
	// Commands that read only the file, such as muster doctor, must find the same directory.
	file := muster.Sources{File: "../../deploy/deb/muster.toml"}
	if c, _, err := muster.Load(muster.DefaultConfig(), file); err != nil || c.Data != given["data"] {
		t.Errorf("%s has data %q, %v", file.File, c.Data, err)
	}
	for name, want := range map[string]string{
		"Type": "exec", "User": "muster", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "PrivateTmp": "yes",
		"CapabilityBoundingSet": "", "StartLimitIntervalSec": "0", "RestartSec": "5s",
		"RestartPreventExitStatus": strconv.Itoa(exitMisuse),
	} {
		if got, ok := options[name]; !ok || got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
