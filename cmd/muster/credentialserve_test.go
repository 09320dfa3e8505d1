package main

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/signin/container"
)

// A lines writer sends each complete line.
type lines struct {
	rest bytes.Buffer
	to   chan string
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest.Write(p)
	for {
		line, err := l.rest.ReadString('\n')
		if err != nil {
			l.rest.WriteString(line)
			return len(p), nil
		}
		l.to <- strings.TrimSpace(line)
	}
}

// TestServeKeys serves the keys of a role with the printed variables, until it is interrupted.
func TestServeKeys(t *testing.T) {
	s := newSignInService(t)
	p := newPerson(t, s, "--role", "dev")
	p.run(exitFailure, []string{"credentials", "--serve"}, "you are not signed in: run 'muster login --profile muster'")
	ctx, cancel := context.WithCancel(t.Context())
	go p.await(ctx)
	p.run(exitOK, []string{"login", "--device"})
	for _, address := range []string{"0.0.0.0:0", "192.0.2.1:9911", "127.0.0.1", ":9911"} {
		p.run(exitMisuse, []string{"credentials", "--serve=" + address}, "serve keys at")
	}
	out := &lines{to: make(chan string, 2)}
	var stderr bytes.Buffer
	a := &app{environ: p.environ, stdin: strings.NewReader(""), stdout: out, stderr: &stderr, clock: p.clock}
	status := make(chan int)
	go func() { status <- a.run(ctx, []string{"credentials", "--serve"}) }()
	url, ok := strings.CutPrefix(<-out.to, "AWS_CONTAINER_CREDENTIALS_FULL_URI=")
	token, alsoOK := strings.CutPrefix(<-out.to, "AWS_CONTAINER_AUTHORIZATION_TOKEN=")
	if !ok || !alsoOK || !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.HasSuffix(url, container.Path) {
		t.Fatalf("printed %s, %s", url, token)
	}
	for given, want := range map[string]string{
		token: `{"AccessKeyId":"ASIAdev","SecretAccessKey":"sk","Token":"st",` +
			`"Expiration":"2026-11-23T06:04:08.277Z"}`,
		"other": `"code":"AccessDenied"`,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", given)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		_, err = body.ReadFrom(answer.Body)
		_ = answer.Body.Close()
		if err != nil || !strings.Contains(body.String(), want) {
			t.Errorf("%s: %s, %v", given, body.String(), err)
		}
	}
	cancel()
	if got := <-status; got != exitOK {
		t.Errorf("status %d: %s", got, stderr.String())
	}
	if _, err := http.DefaultClient.Get(url); err == nil { //nolint:bodyclose,noctx // it fails
		t.Error("it still serves")
	}
}
