//go:build unix

package agent

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/mustertest"
)

// measuringGame sends what server SDK 5 sends, by the variables that the agent gives it, and waits to be ended.
const measuringGame = `#!/bin/bash
tags="#process_pid:$$,gamelift_process_id:$GAMELIFT_SDK_PROCESS_ID"
exec 3<>"/dev/tcp/$GAMELIFT_CRASH_REPORTER_HOST/$GAMELIFT_CRASH_REPORTER_PORT"
printf 'GET /register?process_pid=%s HTTP/1.0\r\n\r\n' $$ >&3
cat <&3 >/dev/null
echo "server.up:1|g|$tags" >"/dev/udp/$GAMELIFT_STATSD_HOST/$GAMELIFT_STATSD_PORT"
exec tail -f /dev/null
`

// TestMetrics: what a game server measures is at the agent's /metrics, and one that is killed counts as a crash.
func TestMetrics(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	game := filepath.Join(b.data, "game.sh")
	if err := os.WriteFile(game, []byte(measuringGame), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	b.configure(types.ServerProcess{LaunchPath: &game, ConcurrentExecutions: new(int32(1))})
	b.start("--metrics-listen", "127.0.0.1:0", "--statsd-port", "0", "--crash-reporter-port", "0")
	var address string
	mustertest.Eventually(t, "the agent shows metrics", func() bool {
		found := regexp.MustCompile(`metrics=(\S+)`).FindStringSubmatch(b.agent.Log.Tail())
		if found != nil {
			address = found[1]
		}
		return found != nil
	})
	shows := func(pattern string) {
		t.Helper()
		expected := regexp.MustCompile(pattern)
		mustertest.Eventually(t, pattern, func() bool { return expected.MatchString(scrape(t, address)) })
	}
	shows(`(?m)^game_server_up\{game_session="",process="[0-9a-f-]{36}",tag_process_pid="\d+"\} 1$`)
	shows(`(?m)^muster_agent_processes 1$`)
	var pid int
	found := regexp.MustCompile(`tag_process_pid="(\d+)"`).FindStringSubmatch(scrape(t, address))
	if _, err := fmt.Sscan(found[1], &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	shows(`(?m)^muster_agent_crashes_total 1$`)
	b.agent.Await(t.Context(), func() bool { return b.agent.Log.Says("has not deregistered from the crash reporter") })
}

func scrape(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
