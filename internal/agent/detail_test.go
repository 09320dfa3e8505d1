package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/agent/plan"
	"github.com/muster-gg/muster/internal/agent/supervisor"
)

// TestDetail: the service gets the exit code and the last line of a crash.
func TestDetail(t *testing.T) {
	written, silent := t.TempDir(), t.TempDir()
	last := "no such file é" + strings.Repeat("é", maxDetail)
	err := os.WriteFile(filepath.Join(written, "output.log"), []byte("first\n"+last+"\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason plan.Reason
		exit   supervisor.Exit
		dir    string
		want   string
	}{
		{plan.Crashed, supervisor.Exit{Code: 3}, written, "Exit code 3. Last line: no such file é"},
		{plan.InitTimeout, supervisor.Exit{Code: -9}, silent, "Ended by signal 9."},
		{plan.Crashed, supervisor.Exit{Code: -9, OutOfMemory: true}, silent, "Killed for memory: "},
		{plan.NormalTermination, supervisor.Exit{}, written, ""},
	} {
		a := &agent{cfg: &Config{}}
		got := a.detail(c.reason, &running{exit: c.exit, process: &supervisor.Process{Dir: c.dir}})
		if !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") || len(got) > maxDetail ||
			strings.ToValidUTF8(got, "?") != got {
			t.Errorf("%s %+v: %q, want %q", c.reason, c.exit, got, c.want)
		}
	}
}
