//go:build unix

package managed

import (
	"archive/zip"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/mustertest"
)

// TestFleet is the whole life of a managed fleet, with the AWS CLI.
func TestFleet(t *testing.T) {
	w := newWorld(t)
	id := w.upload(map[string]string{"install.sh": "#!/bin/sh\necho installing\n"})
	began := time.Now()
	out, err := w.cli.Run("gamelift", "create-fleet", "--name", "Arena", "--build-id", id, "--ec2-instance-type",
		"c5.large", "--certificate-configuration", "CertificateType=GENERATED", "--runtime-configuration",
		"ServerProcesses=[{LaunchPath=/local/game/server,Parameters='-port={port} -log',ConcurrentExecutions=2}]")
	if err != nil {
		t.Fatal(err)
	}
	var created struct{ FleetAttributes struct{ FleetId string } }
	if err := json.Unmarshal(out, &created); err != nil {
		t.Fatal(err)
	}
	w.fleet = created.FleetAttributes.FleetId
	w.awaitStatus(types.FleetStatusActive)
	t.Logf("create-fleet to ACTIVE took %s", time.Since(began))
	var life []types.EventCode
	for _, e := range w.events() {
		if e != types.EventCodeGenericEvent {
			life = append(life, e)
		}
	}
	if want := []types.EventCode{types.EventCodeFleetCreated, types.EventCodeFleetStateDownloading,
		types.EventCodeFleetCreationExtractingBuild, types.EventCodeFleetCreationRunningInstaller,
		"FLEET_CREATION_COMPLETED_INSTALLER", types.EventCodeFleetStateValidating,
		types.EventCodeFleetCreationValidatingRuntimeConfig, types.EventCodeFleetStateBuilding,
		types.EventCodeFleetStateActivating, types.EventCodeFleetStateActive}; !slices.Equal(life, want) {
		t.Errorf("the events are %v", life)
	}
	w.awaitReady(2)
	instances := mustertest.Call(t, w.client.DescribeInstances,
		&gamelift.DescribeInstancesInput{FleetId: &w.fleet}).Instances
	computes := mustertest.Call(t, w.client.ListCompute, &gamelift.ListComputeInput{FleetId: &w.fleet}).ComputeList
	if len(instances) != 1 || instances[0].Status != types.InstanceStatusActive || len(computes) != 1 ||
		*computes[0].ComputeName != *instances[0].InstanceId {
		t.Fatalf("instances %+v, computes %+v", instances, computes)
	}

	s := w.session()
	if parts := strings.Split(*s.GameSessionId, "/"); len(parts) != 3 || *s.IpAddress != "127.0.0.1" {
		t.Errorf("the game session is %s at %s", *s.GameSessionId, *s.IpAddress)
	}
	for _, player := range []string{"ada", "ben"} {
		mustertest.Call(t, w.client.CreatePlayerSession, &gamelift.CreatePlayerSessionInput{
			GameSessionId: s.GameSessionId, PlayerId: &player})
	}

	began = time.Now()
	w.configure(arena(4))
	w.awaitReady(4)
	t.Logf("2 to 4 processes took %s", time.Since(began))
	w.configure(arena(1))
	other := w.session()
	if n := w.ready(); n != 4 {
		t.Errorf("after a reduction %d processes are ready", n)
	}
	for _, session := range []*types.GameSession{s, other} {
		if status := w.sessionStatus(*session.GameSessionId); status != types.GameSessionStatusActive {
			t.Errorf("game session %s is %s", *session.GameSessionId, status)
		}
	}

	w.checkCertificate(*s.DnsName, *instances[0].InstanceId)
	w.forceEnd(*s.GameSessionId)
	w.checkLog(*other.GameSessionId)
	pids := w.pids("game server started")
	if _, err := w.cli.Run("gamelift", "delete-fleet", "--fleet-id", w.fleet); err != nil {
		t.Fatal(err)
	}
	mustertest.Eventually(t, "nothing is left of the fleet", func() bool {
		left, err := os.ReadDir(filepath.Join(w.data, "i"))
		return err == nil && len(left) == 0 && !slices.ContainsFunc(pids, alive)
	})
	mustertest.Eventually(t, "the fleet is deleted", func() bool { return w.status() == "" })
}

// checkCertificate verifies the certificate on the machine as a client does that trusts the service's CA.
func (w *world) checkCertificate(name, instance string) {
	w.Helper()
	if name != instance+"."+w.fleet+".muster.internal" {
		w.Errorf("the DNS name is %s", name)
	}
	dir := filepath.Join(w.data, "i", instance, "certificate")
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "privateKey.pem"))
	if err != nil {
		w.Fatal(err)
	}
	ca, err := os.ReadFile(w.environ["MUSTER_CA_FILE"])
	if err != nil {
		w.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for _, host := range []string{name, "127.0.0.1"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
			w.Errorf("as %s: %v", host, err)
		}
	}
}

// forceEnd ends a game session at once.
func (w *world) forceEnd(session string) {
	w.Helper()
	ended := mustertest.Call(w, w.client.TerminateGameSession, &gamelift.TerminateGameSessionInput{
		GameSessionId: &session, TerminationMode: types.TerminationModeForceTerminate}).GameSession
	if ended.Status != types.GameSessionStatusTerminated ||
		ended.StatusReason != types.GameSessionStatusReasonForceTerminated {
		w.Errorf("the game session is %s: %s", ended.Status, ended.StatusReason)
	}
	mustertest.Eventually(w, "a game server was ended by force", func() bool {
		return slices.Contains(w.events(), types.EventCodeServerProcessForceTerminated) &&
			w.agent.Log.Says("process is ended for the service", "reason=SERVER_PROCESS_FORCE_TERMINATED") &&
			w.agent.Log.Says("game server ended") // by itself if it was quicker than the agent
	})
}

// checkLog ends a game session, and downloads its log.
func (w *world) checkLog(session string) {
	w.Helper()
	mustertest.Call(w, w.client.TerminateGameSession, &gamelift.TerminateGameSessionInput{GameSessionId: &session,
		TerminationMode: types.TerminationModeTriggerOnProcessTerminate})
	saved := filepath.Join(w.TempDir(), "log.zip")
	mustertest.Eventually(w, "the log of a game session is stored", func() bool {
		_, err := w.cli.Run("gamelift", "get-game-session-log", "--game-session-id", session, "--save-as", saved)
		return err == nil
	})
	archive, err := zip.OpenReader(saved)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = archive.Close() }() // it was only read
	var names []string
	for _, f := range archive.File {
		names = append(names, f.Name)
	}
	if want := []string{"process.json", "stdout.log", "stderr.log"}; !slices.Equal(names, want) {
		w.Errorf("the log has %v", names)
	}
}

// TestKilled: the agent is killed, and then the service, with 20 game sessions that all go on.
func TestKilled(t *testing.T) {
	t.Parallel()
	const n = 20
	w := newWorld(t)
	w.create(w.upload(nil), arena(n))
	w.awaitStatus(types.FleetStatusActive)
	w.awaitReady(n)
	var sessions []string
	for range n {
		sessions = append(sessions, *w.session().GameSessionId)
	}
	pids := w.pids("game server started")
	if len(pids) != n {
		t.Fatalf("processes started: %v", pids)
	}
	t.Logf("the agent has a peak of %d MiB RSS", w.agent.PeakMemory())
	w.agent.Kill()
	for _, pid := range pids {
		if !alive(pid) {
			t.Fatalf("game server %s has ended with the agent", pid)
		}
	}
	began := time.Now()
	w.startAgent()
	w.agent.Await(t.Context(), func() bool { return len(w.pids("game server adopted")) == n })
	t.Logf("adopted after %s", time.Since(began))
	if adopted := w.pids("game server adopted"); !slices.Equal(adopted, pids) {
		t.Errorf("adopted %v, want %v", adopted, pids)
	}
	w.agent.Await(t.Context(), func() bool { return w.agent.Log.Says("agent connected") })

	w.service.Kill()
	w.startService()
	w.agent.Await(t.Context(), func() bool { return w.agent.Log.Says("connected again") })
	w.awaitReady(n)
	for _, id := range sessions {
		if status := w.sessionStatus(id); status != types.GameSessionStatusActive {
			t.Errorf("game session %s is %s", id, status)
		}
	}
	if got := w.pids("game server started"); len(got) > n {
		t.Errorf("processes started: %v", got)
	}
	if got := w.status(); got != types.FleetStatusActive {
		t.Errorf("the fleet is %s", got)
	}
}

// TestFailures: each failure has its event, and an installation has a log.
func TestFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		name  string
		files map[string]string
		entry types.ServerProcess
		code  types.EventCode
	}{
		{"installer", map[string]string{"install.sh": "#!/bin/sh\necho no library; exit 1\n"}, arena(1),
			types.EventCodeFleetCreationFailedInstaller},
		{"path", nil, entry("none", "", 1), types.EventCodeFleetValidationLaunchPathNotFound},
		{"crashes", map[string]string{"crash": "#!/bin/sh\nexit 7\n"}, entry("crash", "", 1),
			types.EventCodeFleetActivationFailed},
	} {
		w.create(w.upload(c.files), c.entry)
		w.awaitStatus(types.FleetStatusError)
		i := slices.IndexFunc(w.described(), func(e types.Event) bool { return e.EventCode == c.code })
		if i < 0 {
			t.Errorf("%s: the events are %v", c.name, w.events())
			continue
		}
		e := w.described()[i]
		t.Logf("%s: %s", c.name, aws.ToString(e.Message))
		if c.code == types.EventCodeFleetCreationFailedInstaller {
			if log := w.get(aws.ToString(e.PreSignedLogUrl)); !strings.Contains(log, "no library") {
				t.Errorf("the log is %s", log)
			}
		}
		mustertest.Call(t, w.client.DeleteFleet, &gamelift.DeleteFleetInput{FleetId: &w.fleet})
	}
	mustertest.Eventually(t, "no instance is left", func() bool {
		left, err := os.ReadDir(filepath.Join(w.data, "i"))
		return err == nil && len(left) == 0
	})
}
