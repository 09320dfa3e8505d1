//go:build unix

package agent

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/e2e/child"
	"github.com/muster-gg/muster/mustertest"
)

// game is a game without SDK: it is ready after a line, shows its game session, and exits with 7.
const game = `echo loading; echo Done 1; while [ ! -f $MUSTER_GAME_SESSION_FILE ]; do sleep 0.05; done; ` +
	`cat $MUSTER_GAME_SESSION_FILE; exit 7`

func (b *box) wrap(args ...string) *child.Process {
	b.Helper()
	p := b.process("muster run")
	p.Launch(append([]string{"run", "--fleet", "Arena", "--location", "custom-lab", "--port", "7777"}, args...)...)
	return p
}

func (b *box) session(data string) {
	b.Helper()
	mustertest.Call(b, b.Client.CreateGameSession, &gamelift.CreateGameSessionInput{FleetId: &b.fleet,
		Location: new("custom-lab"), MaximumPlayerSessionCount: new(int32(2)), GameSessionData: &data})
}

func TestRun(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	p := b.wrap("--ready-line", "^Done [0-9]$", "--", "/bin/sh", "-c", game)
	b.awaitReady(1)
	b.session("the data")
	<-p.Ended()
	if exit, ok := errors.AsType[*exec.ExitError](p.Err()); !ok || exit.ExitCode() != 7 {
		t.Errorf("it ended with %v", p.Err())
	}
	if !p.Log.Says(`"gameSessionData": "the data"`) || !p.Log.Says("loading") {
		t.Errorf("the game had no data\n%s", p.Log.Tail())
	}
	if n := b.ready(); n != 0 {
		t.Errorf("%d processes are ready", n)
	}
	out := mustertest.Call(t, b.Client.ListCompute, &gamelift.ListComputeInput{FleetId: &b.fleet})
	if len(out.ComputeList) != 0 {
		t.Errorf("computes: %v", out.ComputeList)
	}
}

// TestRunStopped: Ctrl-C ends the game.
func TestRunStopped(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	p := b.wrap("--", "/bin/sh", "-c", `trap 'echo ending; exit 0' TERM; while :; do sleep 0.05; done`)
	b.awaitReady(1)
	b.session("data")
	p.Stop()
	p.AwaitEnd()
	if !p.Log.Says("ending") {
		t.Errorf("the game was not asked to end\n%s", p.Log.Tail())
	}
}

// TestRunUnderAgent: the parameters of a runtime configuration wrap a game, on a port of the agent's range.
func TestRunUnderAgent(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e := b.entry(1, "")
	e.Parameters = new("run -- /bin/sleep 1000")
	b.configure(e)
	b.start()
	b.agent.Await(t.Context(), func() bool { return b.agent.Log.Says("crashed") }) // it has no port
	e.Parameters = new("run --port {port} -- /bin/sleep 1000")
	b.configure(e)
	b.awaitReady(1)
	b.agent.Stop()
	b.agent.AwaitEnd()
	if n := b.ready(); n != 0 {
		t.Errorf("%d processes are ready", n)
	}
}
