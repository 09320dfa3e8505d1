package jetstream

import (
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// relied are lines of nats-server's source that this package or its documents rely on, and no option or API
// offers. An upgrade that changes one fails here: read what it means, and change what relies on it.
var relied = map[string]struct {
	why   string
	lines []string
}{
	"raft.go": {"elections take 4 to 9 s (patience, silence, decision 36, docs/cluster.md, docs/faults.md)", []string{
		"minElectionTimeoutDefault       = 4 * time.Second",
		"maxElectionTimeoutDefault       = 9 * time.Second",
		"hbIntervalDefault               = 1 * time.Second",
		"lostQuorumIntervalDefault       = hbIntervalDefault * 10",
		"return !ts.IsZero() && time.Since(ts) <= hbInterval*3", // withinLiveWindow
		`n.error("Critical write error: %v", err)`,              // brokenWords, here and below
	}},
	"server.go": {"Shutdown hands leadership over", []string{"s.stepdownRaftNodes()"}},
	"filestore.go": {"brokenWords", []string{`fs.error("Critical write error: %v", err)`,
		"disabling JetStream: %v"}},
	"jetstream_cluster.go": {"brokenWords", []string{"meta group critical write error: %v"}},
	"jetstream.go":         {"brokenWords", []string{"will be DISABLED", "disabling JetStream"}},
	"stream.go": {"brokenWords", []string{"JetStream out of space, will be DISABLED",
		`critical write error: %v"`}},
	"store.go":  {"logger.noteSpace", []string{`"no space left"`}},
	"client.go": {"logger.Errorf", []string{`"TLS %s handshake error: %v%s"`}},
	"auth.go":   {"logger.warn", []string{`"Plaintext passwords detected`}},
}

func TestServerSource(t *testing.T) {
	server, err := build.Import("github.com/nats-io/nats-server/v2/server", ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	for file, r := range relied {
		source, err := os.ReadFile(filepath.Join(server.Dir, file))
		if err != nil {
			t.Error(err)
		}
		for _, line := range r.lines {
			if !strings.Contains(string(source), line) {
				t.Errorf("%s has no %q any more: %s", file, line, r.why)
			}
		}
	}
}
