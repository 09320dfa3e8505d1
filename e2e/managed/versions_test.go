//go:build unix

package managed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/mustertest"
)

// TestBuildVersions: a game session with the property BuildVersion is on a process of the build that was pushed under
// that version, and one without it is not.
func TestBuildVersions(t *testing.T) {
	w := newWorld(t, "--cpus", "8", "--memory", "32768")
	server, err := os.ReadFile(filepath.Join(binaries, "server"))
	if err != nil {
		t.Fatal(err)
	}
	tree := func(files map[string]string) (root string) {
		root = t.TempDir()
		for name, content := range files {
			err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o755) //nolint:gosec // programs
			if err != nil {
				t.Fatal(err)
			}
		}
		return root
	}
	first, _, err := w.push(tree(map[string]string{"server": string(server)}))
	if err != nil {
		t.Fatal(err)
	}
	w.create(first, arena(2))
	w.awaitStatus(types.FleetStatusActive)
	w.awaitReady(2)
	branch := tree(map[string]string{"arena": string(server),
		"server": "#!/bin/sh\n: >\"ran-$MUSTER_PORT\"\nexec ./arena \"$@\"\n"})
	_, steps, err := w.push(branch, "--fleet", "Arena", "--build-version", "branch")
	if err != nil || !strings.Contains(steps, "1 instance of 1 can start it") {
		t.Fatalf("attached: %v", err)
	}
	of := func(version string) *gamelift.CreateGameSessionInput {
		return &gamelift.CreateGameSessionInput{FleetId: &w.fleet, MaximumPlayerSessionCount: aws.Int32(2),
			GameProperties: []types.GameProperty{{Key: aws.String("BuildVersion"), Value: &version}}}
	}
	ranOn := func(port int32) bool {
		found, _ := filepath.Glob(filepath.Join(w.data, "i", "*", "version-*", fmt.Sprint("ran-", port)))
		return len(found) == 1
	}
	began := time.Now()
	s := mustertest.Call(t, w.client.CreateGameSession, of("branch")).GameSession
	mustertest.Eventually(t, "the game session of the version is active", func() bool {
		return w.sessionStatus(*s.GameSessionId) == types.GameSessionStatusActive
	})
	t.Logf("a game session of a version was ACTIVE after %s", time.Since(began).Round(time.Millisecond))
	if s.Port == nil || !ranOn(*s.Port) {
		t.Errorf("the game session is on port %d, not on a process of the version", aws.ToInt32(s.Port))
	}
	if own := w.session(); ranOn(*own.Port) {
		t.Error("a game session without the property is on a process of the version")
	}
	_, err = w.client.CreateGameSession(t.Context(), of("main"))
	if err == nil || !strings.Contains(err.Error(), "It has branch.") {
		t.Errorf("an unknown version: %v", err)
	}
}
