package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
)

// TestDevOffersAFleetAndAGameServer runs the real service and the real sample
// game server twice on one data directory.
func TestDevOffersAFleetAndAGameServer(t *testing.T) {
	data := t.TempDir()
	var first, second map[string]string
	said := withDev(t, data, func(ctx context.Context, env map[string]string) {
		first = env
		client := clientOf(env)
		session := createSession(t, ctx, client, env)
		eventually(t, ctx, func() bool {
			return describe(t, ctx, client, session).Status == types.GameSessionStatusActive
		})
		_, err := client.TerminateGameSession(ctx, &gamelift.TerminateGameSessionInput{
			GameSessionId: &session, TerminationMode: types.TerminationModeTriggerOnProcessTerminate,
		})
		if err != nil {
			t.Fatal(err)
		}
		createSession(t, ctx, client, env) // the next game server takes it
	})
	for _, part := range []string{"\nThe console is at http", " call     CreateGameSession  ok  by the root key ",
		" session  gsess-", " is ACTIVE", " is TERMINATED", " process  ", " call     TerminateGameSession  ok "} {
		if !strings.Contains(said, part) {
			t.Errorf("muster dev writes no %q:\n%s", part, said)
		}
	}
	if strings.Index(said, "console") > strings.Index(said, "ready") || strings.Contains(said, "GetComputeAuthToken") {
		t.Errorf("the console is not first, or a call is shown that muster dev makes:\n%s", said)
	}
	withDev(t, data, func(_ context.Context, env map[string]string) { second = env })
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "MUSTER_SAMPLE_FLEET_ID"} {
		if first[name] == "" || first[name] != second[name] {
			t.Errorf("%s was %q at the first start and %q at the second", name, first[name], second[name])
		}
	}
}

// withDev calls use while muster dev runs, with what muster.env says, and returns what it has written to standard
// error.
func withDev(t *testing.T, data string, use func(ctx context.Context, env map[string]string)) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stdout, stderr := &lockedBuffer{}, &lockedBuffer{}
	a := &app{environ: os.Environ(), stdout: stdout, stderr: stderr, serve: muster.Run}
	status := make(chan int, 1)
	go func() {
		status <- a.run(ctx, []string{"dev", "--data", data, "--listen", "127.0.0.1:0", "--gateway-listen",
			"127.0.0.1:0"})
	}()
	path := filepath.Join(data, envFile)
	eventually(t, ctx, func() bool {
		_, err := os.Stat(path)
		return err == nil || len(status) > 0
	})
	if env := readExports(path); env["MUSTER_SAMPLE_FLEET_ID"] != "" {
		use(ctx, env)
	} else {
		t.Errorf("muster dev did not become ready: %s", stderr)
	}
	stop()
	if got := <-status; got != exitOK {
		t.Errorf("status %d: %s", got, stderr)
	}
	if _, err := os.Stat(path); err == nil {
		t.Errorf("%s was left behind", path)
	}
	return stderr.String()
}

// readExports reads export lines without quotes; nil when there is no file.
func readExports(path string) map[string]string {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	values := map[string]string{}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "export ")), "=")
		values[name] = value
	}
	return values
}

func clientOf(env map[string]string) *gamelift.Client {
	return gamelift.New(gamelift.Options{
		BaseEndpoint: aws.String(env["AWS_ENDPOINT_URL_GAMELIFT"]),
		Region:       env["AWS_REGION"],
		Credentials:  staticKey(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"]),
	})
}

// createSession creates a game session as soon as a game server is free.
func createSession(t *testing.T, ctx context.Context, client *gamelift.Client, env map[string]string) string {
	t.Helper()
	var id string
	var failed error
	eventually(t, ctx, func() bool {
		created, err := client.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{
			FleetId: aws.String(env["MUSTER_SAMPLE_FLEET_ID"]), Location: aws.String(sampleLocation),
			MaximumPlayerSessionCount: aws.Int32(2),
		})
		if failed = err; err != nil {
			return false
		}
		id = aws.ToString(created.GameSession.GameSessionId)
		return true
	})
	if id == "" {
		t.Fatal(failed)
	}
	return id
}

func describe(t *testing.T, ctx context.Context, client *gamelift.Client, session string) types.GameSession {
	t.Helper()
	out, err := client.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: &session})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.GameSessions) != 1 {
		t.Fatalf("%d game sessions, want 1", len(out.GameSessions))
	}
	return out.GameSessions[0]
}
