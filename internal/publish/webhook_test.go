package publish

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

// An endpoint takes deliveries.
type endpoint struct {
	*httptest.Server
	got chan delivery

	mu      sync.Mutex
	answers []int // of the next tries; then 200
}

type delivery struct {
	header http.Header
	body   string
}

func newEndpoint(t *testing.T, answers ...int) *endpoint {
	e := &endpoint{got: make(chan delivery, 1000), answers: answers}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status := e.next()
		switch status {
		case http.StatusTooManyRequests:
			w.Header().Set("Retry-After", "30")
		case http.StatusInsufficientStorage:
			w.Header().Set("Retry-After", "9223372037") // seconds: more nanoseconds than fit
		}
		w.WriteHeader(status)
		e.got <- delivery{r.Header, string(body)}
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) next() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.answers) == 0 {
		return http.StatusOK
	}
	status := e.answers[0]
	e.answers = e.answers[1:]
	return status
}

// ids are those of the next n deliveries, sorted.
func (e *endpoint) ids(n int) []string {
	var ids []string
	for range n {
		d := <-e.got
		ids = append(ids, d.header.Get("webhook-id"))
	}
	slices.Sort(ids)
	return ids
}

// A world is a feed with what reads it.
type world struct {
	t     *testing.T
	feed  *memory.Feed
	clock *clockwork.FakeClock
	tried chan Outcome
	n     int
	log   strings.Builder
}

func newWorld(t *testing.T) *world {
	return &world{t: t, feed: memory.NewFeed(), clock: clockwork.NewFakeClock(), tried: make(chan Outcome, 1000)}
}

// publish appends a record with an event for each id.
func (w *world) publish(topic string, ids ...string) {
	w.t.Helper()
	var record strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&record, `{"target":%q,"event":{"id":%q,"detail":{}}}`+"\n", topic, id)
	}
	w.n++
	if _, err := w.feed.Append(w.t.Context(), fmt.Sprint(w.n), []byte(record.String())); err != nil {
		w.t.Fatal(err)
	}
}

// run delivers until stop is called.
func (w *world) run(targets ...Target) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	client := &http.Client{Transport: &http.Transport{}}
	go func() {
		ended <- Webhooks{
			Feed: w.feed, Targets: targets, Secret: []byte("0123456789abcdef01234567"), HTTP: client, Clock: w.clock,
			// The log is read when it has stopped.
			Log: slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),

			Observe: func(how Outcome) { w.tried <- how },
		}.Run(ctx)
	}()
	for _, t := range targets {
		for ok := false; !ok; _, ok, _ = w.feed.Position(ctx, t.name()) {
			runtime.Gosched() // until it has begun
		}
	}
	return func() {
		w.t.Helper()
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
		client.CloseIdleConnections()
	}
}

func target(topic, url string) Target { return Target{topic, url, url} }

func (w *world) want(how Outcome) {
	w.t.Helper()
	if got := <-w.tried; got != how {
		w.t.Fatalf("a try was %s, want %s", got, how)
	}
}

func TestDelivery(t *testing.T) {
	defer leaktest.Check(t)()
	w, e := newWorld(t), newEndpoint(t)
	defer e.Close()
	w.publish("t", "before") // before there was such a target
	stop := w.run(target(Everything, e.URL))
	w.publish("t", "a", "b")
	w.publish("", "c")
	var got []string
	for range 3 {
		d := <-e.got
		id, at := d.header.Get("webhook-id"), d.header.Get("webhook-timestamp")
		mac := hmac.New(sha256.New, []byte("0123456789abcdef01234567"))
		fmt.Fprintf(mac, "%s.%s.%s", id, at, d.body)
		if sign := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); d.header.Get("webhook-signature") != sign {
			t.Errorf("signature %s, want %s", d.header.Get("webhook-signature"), sign)
		}
		if at != fmt.Sprint(w.clock.Now().Unix()) || d.body != fmt.Sprintf(`{"id":%q,"detail":{}}`, id) {
			t.Errorf("at %s: %s", at, d.body)
		}
		got = append(got, id)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %v", got)
	}
	stop()
}

// TestTopics sends each event once to the targets of its topic, even if the feed has it twice.
func TestTopics(t *testing.T) {
	defer leaktest.Check(t)()
	w, red, all := newWorld(t), newEndpoint(t), newEndpoint(t)
	defer red.Close()
	defer all.Close()
	stop := w.run(target("red", red.URL), target(Everything, all.URL))
	w.publish("red", "a")
	w.publish("blue", "b")
	w.publish("red", "a", "c") // a was published again after a crash
	w.publish("red", "end")
	if got := red.ids(3); !slices.Equal(got, []string{"a", "c", "end"}) {
		t.Errorf("red got %v", got)
	}
	if got := all.ids(4); !slices.Equal(got, []string{"a", "b", "c", "end"}) {
		t.Errorf("all got %v", got)
	}
	stop()
}

func TestRetry(t *testing.T) {
	defer leaktest.Check(t)()
	w, e := newWorld(t), newEndpoint(t, 500, 302, 429, 507)
	defer e.Close()
	stop := w.run(target(Everything, e.URL))
	w.publish("t", "a")
	for _, pause := range []time.Duration{time.Second, 2 * time.Second, 30 * time.Second, longPause} {
		w.want(Retried)
		if err := w.clock.BlockUntilContext(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(pause - 1)
		if len(w.tried) > 0 {
			t.Errorf("tried again before %s", pause)
		}
		w.clock.Advance(1)
	}
	w.want(Delivered)
	if got := e.ids(5); !slices.Equal(got, []string{"a", "a", "a", "a", "a"}) {
		t.Errorf("got %v", got)
	}
	stop()
}

// TestHopeless drops the events of an endpoint that answers 410 Gone, and continues.
func TestHopeless(t *testing.T) {
	defer leaktest.Check(t)()
	w, e := newWorld(t), newEndpoint(t, 410)
	defer e.Close()
	stop := w.run(target(Everything, e.URL))
	w.publish("t", "a")
	w.want(Dropped)
	w.publish("t", "b")
	w.want(Delivered)
	stop()
}

// TestGiveUp tries for a day, and for ten minutes what the endpoint refuses.
func TestGiveUp(t *testing.T) {
	for status, want := range map[int]time.Duration{503: giveUp, 429: giveUp, 422: refusal} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			defer leaktest.Check(t)()
			bad := slices.Repeat([]int{status}, 500)
			w, e := newWorld(t), newEndpoint(t, bad...)
			defer e.Close()
			stop := w.run(target(Everything, e.URL))
			w.publish("t", "a")
			begin := w.clock.Now()
			how := <-w.tried
			for how == Retried {
				if err := w.clock.BlockUntilContext(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				w.clock.Advance(longPause)
				how = <-w.tried
			}
			if took := w.clock.Since(begin); how != Dropped || took < want || took > want+longPause {
				t.Errorf("%s after %s", how, took)
			}
			stop()
		})
	}
}

// TestRefusedAfterAnOutage has the whole patience for refusals left after an outage
// that was longer.
func TestRefusedAfterAnOutage(t *testing.T) {
	defer leaktest.Check(t)()
	w, e := newWorld(t), newEndpoint(t, append(slices.Repeat([]int{503}, 20), 404)...)
	defer e.Close()
	stop := w.run(target(Everything, e.URL))
	w.publish("t", "a")
	for range 21 {
		w.want(Retried)
		if err := w.clock.BlockUntilContext(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(longPause)
	}
	w.want(Delivered)
	stop()
}

// TestRestart continues at the stored position: delivered events are not sent again.
func TestRestart(t *testing.T) {
	defer leaktest.Check(t)()
	w, e := newWorld(t), newEndpoint(t)
	defer e.Close()
	stop := w.run(target(Everything, e.URL))
	w.publish("t", "a")
	w.publish("t", "b")
	if got := e.ids(2); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("got %v", got)
	}
	w.want(Delivered)
	w.want(Delivered)
	stop()
	w.publish("t", "c") // while nobody is there
	stop = w.run(target(Everything, e.URL))
	if got := e.ids(1); !slices.Equal(got, []string{"c"}) {
		t.Errorf("after the restart came %v", got)
	}
	w.want(Delivered)
	stop()
}

func TestSecret(t *testing.T) {
	if s, err := ParseSecret(" whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3\n"); err != nil ||
		string(s) != "0123456789abcdef01234567" {
		t.Errorf("%q, %v", s, err)
	}
	for _, bad := range []string{"", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3", "whsec_MDEy", "whsec_?"} {
		if _, err := ParseSecret(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestLogHidesSecrets keeps the query of a URL out of the log, whatever goes wrong.
func TestLogHidesSecrets(t *testing.T) {
	defer leaktest.Check(t)()
	w, refuses, gone := newWorld(t), newEndpoint(t, 410), newEndpoint(t)
	gone.Close() // nothing answers there
	defer refuses.Close()
	hidden := func(topic, url string) Target { return Target{topic, url + "/hook?token=sesame", url + "/hook?***"} }
	stop := w.run(hidden("a", refuses.URL), hidden("b", gone.URL))
	w.publish("a", "a")
	w.want(Dropped)
	w.publish("b", "b")
	w.want(Retried)
	stop()
	if log := w.log.String(); strings.Contains(log, "sesame") || strings.Count(log, "/hook?***") < 2 {
		t.Errorf("the log is\n%s", log)
	}
}
