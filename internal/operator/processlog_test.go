package operator

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestProcessLog(t *testing.T) {
	w := newWorld(t)
	const want = `{"time":"T1","stream":"out","text":"one word"}
{"time":"T2","stream":"err","text":""}
{"text":"Lines are missing: they were written faster than they were read.","note":true}
{"text":"follow false tail 65536","note":true}
`
	for _, path := range []string{"game-sessions/g", "processes/process-g"} {
		if status, body := w.get("/v1/" + path + "/log"); status != 200 || body != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for path, want := range map[string]string{
		"/v1/game-sessions/g/log?follow=true&tail=7": "follow true tail 7",
		"/v1/game-sessions/g/log?tail=-1":            "InvalidRequestException",
		"/v1/game-sessions/g/log?tail=9999999":       "InvalidRequestException",
		"/v1/game-sessions/g/log?follow=maybe":       "InvalidRequestException",
		"/v1/processes/nobody/log":                   "NotFoundException",
	} {
		if _, body := w.get(path); !strings.Contains(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
	if status, _ := w.ask("GET", "/v1/game-sessions/g/log", ""); status != 403 {
		t.Errorf("without a signature: %d", status)
	}
}

// TestStopBreaksProcessLog: a client that follows can distinguish the end of the service from that of the process.
func TestStopBreaksProcessLog(t *testing.T) {
	defer leaktest.Check(t)()
	w := newWorld(t)
	defer w.Close()
	answer := w.request(t.Context(), http.MethodGet, "/v1/game-sessions/running/log?follow=true", "AKID")
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	if !lines.Scan() || lines.Text() != `{"time":"T1","stream":"out","text":"one"}` {
		t.Fatal(lines.Text(), lines.Err())
	}
	w.door.Stop()
	if lines.Scan() || !errors.Is(lines.Err(), io.ErrUnexpectedEOF) {
		t.Errorf("got %s, %v", lines.Text(), lines.Err())
	}
}

// TestProcessLogDenied: a search by an id does not evade a policy that denies the fleet.
func TestProcessLogDenied(t *testing.T) {
	w := newWorld(t)
	const fleets = "arn:aws:muster:us-west-2:111122223333:fleet/"
	key, err := w.access.CreateKey(t.Context(), nil, access.KeyInput{Service: "reader",
		Document: json.RawMessage(`{"Version":"2012-10-17","Statement":[` +
			`{"Effect":"Allow","Action":"muster:ProcessLogRead","Resource":"` + fleets + `*"},` +
			`{"Effect":"Deny","Action":"muster:ProcessLogRead","Resource":"` + fleets + timelineFleet + `"}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	w.keys[key.ID] = aws.Credentials{AccessKeyID: key.ID, SecretAccessKey: key.Secret}
	for _, path := range []string{"game-sessions/g", "processes/process-g",
		"game-sessions/" + url.PathEscape(timelineARN)} {
		if status, body := w.ask("GET", "/v1/"+path+"/log", key.ID); status != 403 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
