package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestBackup(t *testing.T) {
	w := newWorld(t)
	w.taken = func(_ context.Context, to io.Writer, builds bool) error {
		_, err := io.WriteString(to, fmt.Sprint("all of it, builds ", builds))
		return err
	}
	for path, want := range map[string]string{
		"/v1/backup": "all of it, builds false", "/v1/backup?builds=true": "all of it, builds true",
	} {
		if status, body := w.get(path); status != 200 || body != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := w.get("/v1/backup?builds=all"); status != 400 || !strings.Contains(body, "builds") {
		t.Errorf("%d %s", status, body)
	}
	for _, c := range []struct {
		method, key string
		status      int
		body        string
	}{
		{"GET", "AKGUEST", 403, "AccessDeniedException"},
		{"GET", "", 403, "MissingAuthenticationTokenException"},
		{"POST", "AKID", 404, "UnknownOperationException"},
	} {
		if status, body := w.ask(c.method, "/v1/backup", c.key); status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s with key %q: %d %s", c.method, c.key, status, body)
		}
	}
}

// TestBackupFails is an answer with an error before anything was written, and is cut
// off after that.
func TestBackupFails(t *testing.T) {
	w := newWorld(t)
	w.taken = func(context.Context, io.Writer, bool) error { return fault.New(fault.Conflict, "there is one") }
	if status, body := w.get("/v1/backup"); status != 409 || !strings.Contains(body, "there is one") {
		t.Errorf("%d %s", status, body)
	}
	w.taken = func(_ context.Context, to io.Writer, _ bool) error {
		_, err := to.Write(make([]byte, 100_000)) // more than is kept back
		return errors.Join(err, errors.New("the disk is gone"))
	}
	answer := w.request(t.Context(), http.MethodGet, "/v1/backup", "AKID")
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("cut off, and the client took %d bytes for all", len(body))
	}
}

// TestStopEndsBackup does not wait for a backup that takes long.
func TestStopEndsBackup(t *testing.T) {
	defer leaktest.Check(t)()
	w := newWorld(t)
	defer w.Close()
	begun := make(chan struct{})
	w.taken = func(ctx context.Context, to io.Writer, _ bool) error {
		_, err := to.Write(bytes.Repeat([]byte("x"), 100_000))
		close(begun)
		<-ctx.Done()
		return errors.Join(err, context.Cause(ctx))
	}
	answer := w.request(t.Context(), http.MethodGet, "/v1/backup", "AKID")
	defer answer.Body.Close()
	<-begun
	w.door.Stop()
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Error("the client took a part for all")
	}
}
