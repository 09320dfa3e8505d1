package machine

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestMember(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpuinfo")
	err := os.WriteFile(path, []byte("processor\t: 0\nmodel name\t: A Processor: fast\nmodel name\t: another\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"model name": "A Processor: fast", "flags": "otherwise"} {
		if got := member(path, name, "otherwise"); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := member(path+"x", "model name", "otherwise"); got != "otherwise" {
		t.Errorf("a file that is not there says %q", got)
	}
}

func TestDescribe(t *testing.T) {
	if got := Describe(t.Context()); !strings.HasSuffix(got, ", "+runtime.Version()) || !strings.Contains(got, " × ") {
		t.Errorf("this is %q", got)
	}
}

func TestCommitOfNothing(t *testing.T) {
	if got := Commit(t.Context(), filepath.Join(t.TempDir(), "nowhere")); got != "unknown" {
		t.Errorf("a directory that is not there is at %q", got)
	}
}
