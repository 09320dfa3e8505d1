//go:build unix

package managed

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/mustertest"
)

// push runs muster push, and returns what it prints.
func (w *world) push(root string, args ...string) (id, steps string, err error) {
	w.Helper()
	path, err := build()
	if err != nil {
		w.Fatal(err)
	}
	command := exec.CommandContext(w.Context(), path, append([]string{"push", root, "--name", "arena"}, args...)...)
	command.Env = os.Environ()
	for name, value := range w.environ {
		command.Env = append(command.Env, name+"="+value)
	}
	var talk strings.Builder
	command.Stderr = &talk
	out, err := command.Output()
	w.Logf("muster push %s:\n%s", strings.Join(args, " "), talk.String())
	return strings.TrimSpace(string(out)), talk.String(), err
}

func (w *world) buildOf(fleet string) string {
	w.Helper()
	out := mustertest.Call(w, w.client.DescribeFleetAttributes,
		&gamelift.DescribeFleetAttributesInput{FleetIds: []string{fleet}})
	return aws.ToString(out.FleetAttributes[0].BuildId)
}

// TestDeploy changes the build of a fleet in place, fails to, and then replaces the fleet behind an alias.
func TestDeploy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "--cpus", "8", "--memory", "32768")
	root := t.TempDir()
	server, err := os.ReadFile(filepath.Join(binaries, "server"))
	write := func(name, content string) {
		t.Helper()
		err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o755) //nolint:gosec // programs
		if err != nil {
			t.Fatal(err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	write("server", string(server))
	write("rules", "1")
	first, _, err := w.push(root)
	if err != nil {
		t.Fatal(err)
	}
	w.create(first, arena(2))
	w.awaitStatus(types.FleetStatusActive)
	w.awaitReady(2)
	s := w.session()

	write("rules", "2")
	second, steps, err := w.push(root, "--in-place", "Arena")
	if err != nil || !strings.Contains(steps, "1 instance of 1 replaced") || w.buildOf(w.fleet) != second {
		t.Fatalf("in place: %v, build %s", err, w.buildOf(w.fleet))
	}
	mustertest.Eventually(t, "new game servers have the new files", func() bool {
		found, _ := filepath.Glob(filepath.Join(w.data, "i", "*", "game-2", "rules"))
		return len(found) == 1 && w.ready() == 2
	})
	if status := w.sessionStatus(*s.GameSessionId); status != types.GameSessionStatusActive {
		t.Errorf("the game session is %s", status)
	}

	write("install.sh", "#!/bin/sh\necho no network\nexit 3\n")
	_, steps, err = w.push(root, "--in-place", w.fleet)
	if err == nil || !strings.Contains(steps, "FLEET_CREATION_FAILED_INSTALLER") {
		t.Errorf("a build that cannot be installed: %v", err)
	}
	if codes := w.events(); !slices.Contains(codes, types.EventCodeFleetCreationFailedInstaller) {
		t.Errorf("the events are %v", codes)
	}
	w.session() // of the build before

	alias := mustertest.Call(t, w.client.CreateAlias, &gamelift.CreateAliasInput{Name: aws.String("live"),
		RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &w.fleet}}).Alias
	old := w.fleet
	_, steps, err = w.push(root, "--alias", "live")
	if err == nil || !strings.Contains(steps, "exit status 3") || !strings.Contains(steps, "the alias is as it was") {
		t.Errorf("a fleet that fails: %v", err)
	}
	if err := os.Remove(filepath.Join(root, "install.sh")); err != nil {
		t.Fatal(err)
	}
	third, steps, err := w.push(root, "--alias", "live", "--keep")
	if err != nil || !strings.Contains(steps, "delete-fleet --fleet-id "+old) {
		t.Fatalf("by alias: %v", err)
	}
	w.fleet = *mustertest.Call(t, w.client.ResolveAlias, &gamelift.ResolveAliasInput{AliasId: alias.AliasId}).FleetId
	if w.fleet == old || w.buildOf(w.fleet) != third {
		t.Errorf("the alias leads to fleet %s with build %s", w.fleet, w.buildOf(w.fleet))
	}
	w.awaitReady(2)
	runtime := mustertest.Call(t, w.client.DescribeRuntimeConfiguration,
		&gamelift.DescribeRuntimeConfigurationInput{FleetId: &w.fleet}).RuntimeConfiguration.ServerProcesses
	if len(runtime) != 1 || aws.ToInt32(runtime[0].ConcurrentExecutions) != 2 {
		t.Errorf("the runtime configuration is %+v", runtime)
	}
	mustertest.Call(t, w.client.DeleteFleet, &gamelift.DeleteFleetInput{FleetId: &old})

	_, steps, err = w.push(root, "--alias", *alias.AliasId)
	if err != nil || !strings.Contains(steps, "fleet "+w.fleet+" is being deleted") {
		t.Fatalf("by alias, with the deletion: %v", err)
	}
}
