package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/mustertest/ports"
)

// TestPortInUse: the error names the process and the flag, and the failed start leaves no data directory.
func TestPortInUse(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	for _, setting := range []string{"listen", "gateway-listen", "metrics-listen", "pprof-listen"} {
		data := filepath.Join(t.TempDir(), "data")
		args := []string{"dev", "--data", data, "--listen", "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0",
			"--" + setting, address}
		got := executeWith(t, runService, nil, args...)
		want := setting + ": " + address + " is in use by "
		if runtime.GOOS == "linux" {
			want += fmt.Sprintf("%s (pid %d)", filepath.Base(os.Args[0]), os.Getpid())
		}
		if got.status != exitFailure || !strings.Contains(got.stderr, want) ||
			!strings.Contains(got.stderr, "choose another address with --"+setting) ||
			!strings.Contains(got.stderr, "\nTry the same command with --"+setting+" 127.0.0.1:") ||
			strings.Contains(got.stderr, "The console is at") {
			t.Errorf("%s: %+v", setting, got)
		}
		if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the data directory is left behind: %v", setting, err)
		}
	}
}

// TestPortsInUse: the error has flags for all ports in use, which are free.
func TestPortsInUse(t *testing.T) {
	var taken []string
	for _, address := range ports.Free(t, rand.IntN, 2) {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		taken = append(taken, address)
	}
	config := devDefaults()
	config.Listen, config.Gateway.Listen, config.PprofListen = taken[0], taken[1], "127.0.0.1:0"
	err := checkPorts(t.Context(), &config)
	if err == nil {
		t.Fatal("the ports count as free")
	}
	lines := strings.Split(err.Error(), "\n")
	_, flags, _ := strings.Cut(lines[len(lines)-1], "with ")
	words := strings.Fields(flags)
	if len(lines) != 3 || len(words) != 4 || words[0] != "--listen" || words[2] != "--gateway-listen" {
		t.Fatalf("got %q", lines)
	}
	config.Listen, config.Gateway.Listen = words[1], words[3]
	if err := checkPorts(t.Context(), &config); err != nil {
		t.Error(err)
	}
}

// TestFailedStartKeepsData: a failed start removes only a directory that it has made itself, and that is still empty.
func TestFailedStartKeepsData(t *testing.T) {
	for name, write := range map[string]bool{"empty": false, "with data": true} {
		data := t.TempDir()
		if write {
			data = filepath.Join(data, "made")
		}
		executeWith(t, func(context.Context, muster.Config) error {
			if write {
				return errors.Join(errors.New("fails"), os.WriteFile(filepath.Join(data, "region.json"), nil, 0o600))
			}
			return errors.New("fails")
		}, nil, "dev", "--data", data)
		if _, err := os.Stat(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
