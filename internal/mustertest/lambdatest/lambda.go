// Package lambdatest runs AWS Lambda functions in tests.
package lambdatest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// invocations is the path that functions call. Source: Lambda developer guide, "Using the Lambda runtime API", version
// 2018-06-01.
const invocations = "/2018-06-01/runtime/invocation/"

// patience is how long a function may take, on a busy machine.
const patience = time.Minute

// A Lambda is the HTTP interface from which an AWS Lambda function receives its events, and to which it returns its
// answers, one at a time.
type Lambda struct {
	server *httptest.Server
	events chan event
	quit   chan struct{}

	mu      sync.Mutex
	waiting map[string]chan Result
	next    int
}

type event struct {
	id       string
	payload  []byte
	deadline time.Time
}

// A Result is what a function made of an event.
type Result struct {
	Failed  bool            // the function reported an error
	Payload json.RawMessage // its answer, or the error
}

// Start starts an interface for functions, which ends with the test.
func Start(t testing.TB) *Lambda {
	r := &Lambda{events: make(chan event), quit: make(chan struct{}), waiting: map[string]chan Result{}}
	r.server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(func() {
		close(r.quit)
		r.server.Close()
	})
	return r
}

// Start runs a program as the function, with environment variables besides those of this process that begin neither
// with AWS nor with MUSTER. The program ends with the test.
func (r *Lambda) Start(t testing.TB, environ []string, program string, args ...string) {
	t.Helper()
	command := exec.Command(program, args...)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "AWS") && !strings.HasPrefix(e, "MUSTER") {
			command.Env = append(command.Env, e)
		}
	}
	command.Env = append(command.Env, environ...)
	command.Env = append(command.Env, "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(r.server.URL, "http://"))
	command.Stdout, command.Stderr = t.Output(), t.Output()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // as Lambda does
		_ = command.Wait()
	})
}

// Invoke has the function answer an event, and fails the test if it does not. It may be called at the same time; the
// events then queue.
func (r *Lambda) Invoke(t testing.TB, payload any) Result {
	t.Helper()
	body, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.next++
	id := fmt.Sprint("invocation-", r.next)
	answer := make(chan Result, 1)
	r.waiting[id] = answer
	r.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r.events <- event{id, body, time.Now().Add(patience)}:
	case <-timer.C:
		t.Fatal("the function does not ask for events")
	}
	select {
	case result := <-answer:
		return result
	case <-timer.C:
		t.Fatal("the function does not answer")
	}
	return Result{}
}

func (r *Lambda) serve(w http.ResponseWriter, q *http.Request) {
	rest, ok := strings.CutPrefix(q.URL.Path, invocations)
	id, what, _ := strings.Cut(rest, "/")
	switch {
	case ok && q.Method == http.MethodGet && rest == "next":
		r.hand(w, q)
	case ok && q.Method == http.MethodPost && (what == "response" || what == "error"):
		r.take(w, q, id, what == "error")
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// hand gives the function the next event when there is one.
func (r *Lambda) hand(w http.ResponseWriter, q *http.Request) {
	select {
	case e := <-r.events:
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", e.id)
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(e.deadline.UnixMilli(), 10))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn",
			"arn:aws:lambda:eu-central-1:123456789012:function:gateway")
		_, _ = w.Write(e.payload)
	case <-r.quit:
		w.WriteHeader(http.StatusServiceUnavailable)
	case <-q.Context().Done():
	}
}

func (r *Lambda) take(w http.ResponseWriter, q *http.Request, id string, failed bool) {
	body, err := io.ReadAll(q.Body)
	r.mu.Lock()
	answer := r.waiting[id]
	delete(r.waiting, id)
	r.mu.Unlock()
	if err != nil || answer == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer <- Result{failed, body}
	w.WriteHeader(http.StatusAccepted)
}
