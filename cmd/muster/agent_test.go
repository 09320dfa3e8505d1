package main

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestAgentArguments(t *testing.T) {
	got := agentArguments([]string{"agent", "-f", "fleet-1", "-loc", "custom-lab", "-ip=127.0.0.1", "-glc", "container",
		"--location", "-x"})
	want := []string{"agent", "-f", "fleet-1", "--location", "custom-lab", "--ip-address=127.0.0.1",
		"--gamelift-credentials", "container", "--location", "-x"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if other := []string{"run", "-ip", "x"}; !slices.Equal(agentArguments(other), other) {
		t.Error("the arguments of another command are changed")
	}
}

func TestAgentEnvironment(t *testing.T) {
	f := &agentFlags{app: &app{environ: []string{"GAMELIFT_FLEET_ID=fleet-env", "GAMELIFT_REGION=eu-west-1",
		"GAMELIFT_ENDPOINT=http://env"}}, fleet: "fleet-1", compute: "box-1", region: "us-west-2",
		location: "custom-lab", endpoint: "http://option", data: "/data"}
	if err := f.complete(); err != nil {
		t.Fatal(err)
	}
	// The location is that of the official agent, which ignores the option then.
	if f.fleet != "fleet-env" || f.compute != "box-1" || f.region != "eu-west-1" || f.location != "eu-west-1" ||
		f.endpoint != "http://env" {
		t.Errorf("got %+v", f)
	}
}

func TestAgentMisuse(t *testing.T) {
	complete := []string{"agent", "-f", "fleet-1", "-c", "box-1", "-r", "us-west-2", "-loc", "custom-lab",
		"--data", "/d"}
	for _, c := range []struct {
		environ, args []string
		want          string
	}{
		{nil, []string{"agent"}, "--fleet-id must be given"},
		{nil, []string{"agent", "-f", "fleet-1", "-c", "box-1", "-r", "us-west-2"}, "--location must be given"},
		{nil, append(complete, "-glc", "none"), "--gamelift-credentials"},
		{nil, append(complete, "--port-range", "9-1"), "--port-range"},
		{nil, append(complete, "--port-range", "7777"), "--port-range"},
		{nil, append(complete, "-rc", "{"), "--runtime-configuration"},
		{nil, append(complete, "--data", "/"+strings.Repeat("d", 100)), "too long"},
		{[]string{"GAMELIFT_COMPUTE_TYPE=CONTAINER"}, complete, "CONTAINER"},
		{nil, []string{"run", "--", "/bin/true"}, "--port or --ready-port"},
		{nil, []string{"run", "--ready-line", "(", "--port", "1", "--", "/bin/true"}, "--ready-line"},
	} {
		var stderr strings.Builder
		code := run(t.Context(), c.args, c.environ, nil, io.Discard, &stderr)
		if code != exitMisuse || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%q: exit %d, %s", c.args, code, stderr.String())
		}
	}
}

func TestParsePorts(t *testing.T) {
	if low, high, err := parsePorts("20000-29999"); low != 20000 || high != 29999 || err != nil {
		t.Errorf("got %d, %d, %v", low, high, err)
	}
	for _, text := range []string{"", "1", "0-5", "5-4", "1-70000", "a-b"} {
		if _, _, err := parsePorts(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
