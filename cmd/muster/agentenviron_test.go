package main

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestGameEnviron: game servers trust the CA that the agent trusts, and variables that are set stay.
func TestGameEnviron(t *testing.T) {
	ca, err := filepath.Abs("ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag          string
		environ, want []string
	}{
		{"", []string{"A=1"}, []string{"A=1"}},
		{"ca.pem", []string{"A=1"}, []string{"A=1", "MUSTER_CA_FILE=" + ca, "SSL_CERT_FILE=" + ca}},
		{"", []string{"AWS_CA_BUNDLE=" + ca}, []string{"AWS_CA_BUNDLE=" + ca, "MUSTER_CA_FILE=" + ca,
			"SSL_CERT_FILE=" + ca}},
		{"ca.pem", []string{"MUSTER_CA_FILE=/x", "SSL_CERT_FILE=/y"},
			[]string{"MUSTER_CA_FILE=/x", "SSL_CERT_FILE=/y"}},
	} {
		f := &agentFlags{app: &app{environ: c.environ}, caFile: c.flag}
		if got := f.gameEnviron(); !slices.Equal(got, c.want) {
			t.Errorf("--ca-file %q with %q: %q, want %q", c.flag, c.environ, got, c.want)
		}
	}
}
