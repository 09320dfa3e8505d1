package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// callbackURI is the address to which a browser brings the code. The port is added: a service compares without it.
// Source: RFC 8252, section 7.3, and the AWS CLI.
const (
	callbackURI  = "http://127.0.0.1" + callbackPath
	callbackPath = "/oauth/callback"
)

// callbackTime is how long a person has to sign in. Source: AWS CLI.
const callbackTime = 10 * time.Minute

// A loopback waits for a browser on this machine that brings the result of a sign-in.
type loopback struct {
	uri     string
	state   string
	server  *http.Server
	results chan url.Values
}

// listenLoopback waits for requests with a state, which is random.
func listenLoopback(state string) (*loopback, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &loopback{uri: "http://" + listener.Addr().String() + callbackPath, state: state,
		results: make(chan url.Values, 1)}
	l.server = &http.Server{Handler: http.HandlerFunc(l.serve), ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second}
	go l.server.Serve(listener) //nolint:errcheck // it ends when close closes the server
	return l, nil
}

func (l *loopback) close() {
	// The page must reach the browser.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if l.server.Shutdown(ctx) != nil {
		_ = l.server.Close()
	}
}

func (l *loopback) serve(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	// A request with another state is not from this sign-in: any page in the browser can make one.
	if r.URL.Path != callbackPath || r.Method != http.MethodGet || q.Get("state") != l.state {
		http.NotFound(w, r)
		return
	}
	select {
	case l.results <- q:
	default: // one result is enough
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Connection", "close")
	fmt.Fprintln(w, "Done. You may close this tab and return to your terminal.")
}

// await returns the code.
func (l *loopback) await(ctx context.Context) (code string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callbackTime, errors.New("no sign-in within 10 minutes"))
	defer cancel()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case q := <-l.results:
		switch {
		case q.Get("error") == "access_denied":
			return "", errors.New("it was refused in the browser")
		case q.Get("code") == "":
			return "", fmt.Errorf("the browser brought no code, but the error %q", q.Get("error"))
		}
		return q.Get("code"), nil
	}
}
