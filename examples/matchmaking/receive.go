package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxEvent = 1 << 20         // bytes
	maxAge   = 5 * time.Minute // of a delivery: an older one may be a replay
)

// receive serves an endpoint for webhooks until ctx ends. It prints its address first. The first delivery of all it
// refuses, to show that it comes again.
func receive(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("receive", flag.ContinueOnError)
	file := flags.String("secret-file", "", "file with the secret that deliveries are signed with")
	if err := flags.Parse(args); err != nil {
		return err
	}
	secret, err := readSecret(*file)
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "receiving at http://%s\n", l.Addr())
	server := &http.Server{Handler: &receiver{secret: secret, out: out, seen: map[string]bool{}},
		ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// readSecret reads whsec_ and base64.
func readSecret(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	encoded, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "whsec_")
	if !ok {
		return nil, fmt.Errorf("%s does not begin with whsec_", file)
	}
	return base64.StdEncoding.DecodeString(encoded)
}

// A receiver takes deliveries, which come one or several at a time.
type receiver struct {
	secret []byte

	mu      sync.Mutex
	out     io.Writer
	seen    map[string]bool // ids of events, with the paths that they came to
	refused bool            // the first delivery
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxEvent))
	if err == nil {
		err = r.verify(request.Header, body, time.Now())
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		r.print("refused: %v", err)
		return
	}
	if r.stumbles() {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	r.take(request.URL.Path, request.Header.Get("webhook-id"), body)
	w.WriteHeader(http.StatusNoContent)
}

// verify checks the signature of a delivery.
// Source: https://github.com/standard-webhooks/standard-webhooks, 1.0.0.
func (r *receiver) verify(header http.Header, body []byte, now time.Time) error {
	id, at := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > maxAge {
		return fmt.Errorf("webhook-timestamp %q is not of now", at)
	}
	mac := hmac.New(sha256.New, r.secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	for signature := range strings.FieldsSeq(header.Get("webhook-signature")) {
		encoded, _ := strings.CutPrefix(signature, "v1,")
		if given, err := base64.StdEncoding.DecodeString(encoded); err == nil && hmac.Equal(given, mac.Sum(nil)) {
			return nil
		}
	}
	return errors.New("webhook-signature is not that of the secret")
}

// stumbles reports whether this delivery is the first, which is refused.
func (r *receiver) stumbles() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.refused
	r.refused = true
	if first {
		fmt.Fprintln(r.out, "answered the first delivery with 503")
	}
	return first
}

// take prints an event, unless it was here before: whoever sends does so until it is sure that the event has arrived.
func (r *receiver) take(path, id string, body []byte) {
	var event struct {
		ID     string `json:"id"`
		Detail struct {
			Type string `json:"type"`
		} `json:"detail"`
	}
	if err := json.Unmarshal(body, &event); err != nil || event.ID != id {
		r.print("refused: event %q came as %q: %v", event.ID, id, err)
		return
	}
	r.mu.Lock()
	again := r.seen[path+" "+id]
	r.seen[path+" "+id] = true
	r.mu.Unlock()
	if again {
		r.print("again: %s %s", path, id)
		return
	}
	r.print("verified %s %s %s", path, event.Detail.Type, id)
}

func (r *receiver) print(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format+"\n", args...)
}
