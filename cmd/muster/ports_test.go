package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/muster-gg/muster"
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
			!strings.Contains(got.stderr, "choose another address with --"+setting) {
			t.Errorf("%s: %+v", setting, got)
		}
		if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the data directory is left behind: %v", setting, err)
		}
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
