//go:build unix

package agent

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/clients"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/mustertest"
)

// logGame is the first argument of this program as a game server that writes logs.
const logGame = "log-game"

// runLogGame hosts one game session, writes to its outputs and to a file, and ends as the session's data demand.
func runLogGame() error {
	ctx := context.Background()
	server := gameserver.New(gameserver.Config{Log: slog.New(slog.DiscardHandler)})
	defer server.Close()
	if err := server.Connect(ctx, gameserver.ServerParameters{}); err != nil {
		return err
	}
	file := filepath.Join("logs", fmt.Sprint(os.Getpid(), ".txt"))
	if err := os.WriteFile(file, []byte("of the game\n"), 0o600); err != nil {
		return err
	}
	sessions := make(chan gameserver.GameSession, 1)
	fmt.Println("waiting")
	if err := server.ProcessReady(ctx, gameserver.ProcessParameters{
		Port: 7777, LogPaths: []string{"/local/game/logs", "/etc/hostname"},
		OnStartGameSession: func(s gameserver.GameSession) { sessions <- s },
	}); err != nil {
		return err
	}
	session := <-sessions
	if err := server.ActivateGameSession(ctx); err != nil {
		return err
	}
	fmt.Println("session", session.GameSessionData)
	fmt.Fprintln(os.Stderr, "to standard error")
	line := false
	for { // until there is the file that ends it
		if _, err := os.Stat("line"); err == nil && !line {
			fmt.Println("a line")
			line = true
		}
		if _, err := os.Stat(session.GameSessionData); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return server.ProcessEnding(ctx)
}

// awaitStatus waits until a game session has a status.
func (b *box) awaitStatus(id string, status types.GameSessionStatus) {
	b.Helper()
	mustertest.Eventually(b, "the game session is "+string(status), func() bool {
		return mustertest.Call(b, b.Client.DescribeGameSessions, &gamelift.DescribeGameSessionsInput{
			GameSessionId: &id}).GameSessions[0].Status == status
	})
}

// TestLog: the log of a game session that has ended, with the AWS CLI, also after the agent was killed.
func TestLog(t *testing.T) {
	b := newBox(t)
	work := t.TempDir()
	t.Chdir(work)
	if err := os.Mkdir("logs", 0o700); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parameters := logGame
	b.configure(types.ServerProcess{LaunchPath: &program, Parameters: &parameters, ConcurrentExecutions: new(int32(1))})
	b.start()
	b.awaitReady(1)
	end := filepath.Join(work, "end")
	session := mustertest.Call(t, b.Client.CreateGameSession, &gamelift.CreateGameSessionInput{FleetId: &b.fleet,
		Location: new("custom-lab"), MaximumPlayerSessionCount: new(int32(2)), GameSessionData: &end}).GameSession
	id := *session.GameSessionId
	b.awaitStatus(id, types.GameSessionStatusActive)
	cli := clients.AWSCLI(t, clients.Environ(b.HTTP, b.Region, b.AccessKey, b.SecretKey))
	path := filepath.Join(work, "log.zip")
	save := func() error {
		_, err := cli.Run("gamelift", "get-game-session-log", "--game-session-id", id, "--save-as", path)
		return err
	}
	if err := save(); clients.Code(err) != "NotFoundException" || !strings.Contains(err.Error(), "has not ended") {
		t.Errorf("the log of a live game session: %v", err)
	}
	follow := b.process("muster logs")
	follow.Launch("logs", "-f", id)
	follow.Await(t.Context(), func() bool { return follow.Log.Says("out session " + end) })
	began := time.Now()
	if err := os.WriteFile(filepath.Join(work, "line"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	follow.Await(t.Context(), func() bool { return follow.Log.Says("out a line") })
	t.Logf("a line was shown %s after its cause", time.Since(began))
	follow.Stop()
	follow.AwaitEnd()
	b.agent.Kill() // the process ends without an agent
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.awaitStatus(id, types.GameSessionStatusTerminated)
	b.configure() // nothing more is started
	b.start()
	mustertest.Eventually(t, "the log is stored", func() bool { return save() == nil })
	stored := b.process("muster logs")
	stored.Launch("logs", id)
	<-stored.Ended()
	if !stored.Log.Says("out session "+end) || !stored.Log.Says("err to standard error") {
		t.Errorf("the stored output is %s", stored.Log.Tail())
	}
	got := unzip(t, path)
	names := make([]string, 0, len(got))
	for name := range got {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) != 5 || names[0] != "ReadMe.txt" || !strings.HasPrefix(names[1], "local/game/logs/") ||
		!slices.Equal(names[2:], []string{"process.json", "stderr.log", "stdout.log"}) {
		t.Fatalf("the archive has %v", names)
	}
	for name, want := range map[string]string{
		"stdout.log": "Z session " + end, "stderr.log": "Z to standard error", names[1]: "of the game\n",
		"process.json": `"gameSessionId": "` + id + `"`, "ReadMe.txt": "/etc/hostname: it is not below",
	} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s has no %q:\n%s", name, want, got[name])
		}
	}
}

func unzip(t *testing.T, path string) map[string]string {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := map[string]string{}
	for _, f := range archive.File {
		from, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	return files
}
