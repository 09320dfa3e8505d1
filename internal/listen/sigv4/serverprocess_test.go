package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

var signedAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// signedProcess is a connection request whose signature was computed outside
// this package.
var signedProcess = ServerProcessQuery{
	ComputeID: "task-0123", FleetID: "containerfleet-aaaa", ProcessID: "3f0e6a1c-1111-4222-8333-444455556666",
	Algorithm: Algorithm, Credential: "AKIDLONG/20260102/us-west-2/gamelift/aws4_request", Date: "20260102T030405Z",
	Signature: "09cafe2706169bcb66225209a77b33ed4b7ca565d71b90e9c836feaf7207d369",
}

func TestVerifyServerProcess(t *testing.T) {
	canonical := sha256.Sum256(signedProcess.appendCanonical(nil))
	got, want := hex.EncodeToString(canonical[:]), "005a49316d9eb3a96728f482ff183d3a606f041566710be17ba401a7075dba92"
	if got != want {
		t.Errorf("the canonical text has the sum %s, want %s", got, want)
	}
	v := newVerifier()
	for range 2 { // the second time with a remembered key
		got, err := v.VerifyServerProcess(signedProcess, signedAt.Add(DefaultSkew))
		want := Caller{AccessKeyID: "AKIDLONG", Principal: "alice", Region: "us-west-2"}
		if err != nil || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
}

func TestVerifyServerProcessEscapes(t *testing.T) {
	q := ServerProcessQuery{ComputeID: "a/b c", FleetID: "é", ProcessID: "x~y"}
	if got, want := string(q.appendCanonical(nil)), "ComputeId=a%2Fb%20c&FleetId=%C3%A9&pID=x~y"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestVerifyServerProcessRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*ServerProcessQuery)
		late   time.Duration
		kind   fault.Kind
	}{
		"compute": {func(q *ServerProcessQuery) { q.ComputeID = "task-0124" }, 0, fault.InvalidSignature},
		"fleet":   {func(q *ServerProcessQuery) { q.FleetID = "" }, 0, fault.InvalidSignature},
		"process": {func(q *ServerProcessQuery) { q.ProcessID += "0" }, 0, fault.InvalidSignature},
		"moved": {func(q *ServerProcessQuery) {
			q.ComputeID, q.FleetID = "task-0123&FleetId=containerfleet-aaaa", ""
		}, 0, fault.InvalidSignature},
		"algorithm":  {func(q *ServerProcessQuery) { q.Algorithm = "" }, 0, fault.IncompleteSignature},
		"credential": {func(q *ServerProcessQuery) { q.Credential = "AKIDLONG" }, 0, fault.IncompleteSignature},
		"key":        {func(q *ServerProcessQuery) { q.Credential = "X" + q.Credential }, 0, fault.UnrecognizedClient},
		"token":      {func(q *ServerProcessQuery) { q.SecurityToken = "x" }, 0, fault.UnrecognizedClient},
		"date":       {func(q *ServerProcessQuery) { q.Date = "yesterday" }, 0, fault.IncompleteSignature},
		"other day": {func(q *ServerProcessQuery) { q.Date = "20260103T030405Z" }, 24 * time.Hour,
			fault.InvalidSignature},
		"signature": {func(q *ServerProcessQuery) { q.Signature = flip(q.Signature, 63) }, 0, fault.InvalidSignature},
		"none":      {func(q *ServerProcessQuery) { q.Signature = "" }, 0, fault.IncompleteSignature},
		"late":      {func(*ServerProcessQuery) {}, DefaultSkew + time.Second, fault.InvalidSignature},
		"early":     {func(*ServerProcessQuery) {}, -DefaultSkew - time.Second, fault.InvalidSignature},
	} {
		t.Run(name, func(t *testing.T) {
			q := signedProcess
			tt.change(&q)
			_, err := newVerifier().VerifyServerProcess(q, signedAt.Add(tt.late))
			wantKind(t, err, tt.kind, "")
		})
	}
}

// A local time that is called UTC is a whole number of quarters of an hour away, within the
// zones that there are.
func TestVerifyLocalServerProcess(t *testing.T) {
	v := newVerifier()
	for _, tt := range []struct {
		zone, off time.Duration // off: how wrong the clock is
		good      bool
	}{
		{0, 0, true},
		{0, 5 * time.Minute, true},
		{0, 6 * time.Minute, false},
		{2 * time.Hour, 0, true},
		{5*time.Hour + 45*time.Minute, -5 * time.Minute, true},
		{5*time.Hour + 45*time.Minute, 5 * time.Minute, true},
		{5*time.Hour + 45*time.Minute, 7 * time.Minute, false},
		{-3*time.Hour - 30*time.Minute, 0, true},
		{14 * time.Hour, 5 * time.Minute, true},
		{14 * time.Hour, 6 * time.Minute, false},
		{14*time.Hour + 15*time.Minute, 0, false},
		{-12 * time.Hour, -5 * time.Minute, true},
		{-12 * time.Hour, -6 * time.Minute, false},
		{-12*time.Hour - 15*time.Minute, 0, false},
		{1000 * time.Hour, 0, false},
	} {
		caller, ahead, err := v.VerifyLocalServerProcess(signedProcess, signedAt.Add(-tt.zone-tt.off))
		if (err == nil) != tt.good || tt.good && (ahead != tt.zone || caller.Principal != "alice") {
			t.Errorf("%+v: %v, %v, %v", tt, caller, ahead, err)
		}
		if end := LocalSignatureEnd(signedProcess.Date, DefaultSkew); tt.good &&
			signedAt.Add(-tt.zone-tt.off).After(end) {
			t.Errorf("%+v: good after %s", tt, end)
		}
	}
	_, _, err := v.VerifyLocalServerProcess(ServerProcessQuery{Date: "yesterday"}, signedAt)
	wantKind(t, err, fault.IncompleteSignature, "")
}
