package sse

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

func TestStream(t *testing.T) {
	w := httptest.NewRecorder()
	s := Start(w)
	for i, ok := range []bool{
		s.Retry(time.Second), s.Comment("GET /v1/nodes"), s.Send(Event{Name: "open"}),
		s.Send(Event{Name: "snapshot", ID: "a1", Data: []byte(`{"a":1}`)}),
	} {
		if !ok {
			t.Errorf("part %d was not sent", i)
		}
	}
	s.End()
	const want = "retry: 1000\n\n: GET /v1/nodes\n\nevent: open\ndata: \n\n" +
		"event: snapshot\nid: a1\ndata: {\"a\":1}\n\n"
	if got := w.Body.String(); got != want || !w.Flushed {
		t.Errorf("sent %q, want %q", got, want)
	}
	for name, want := range map[string]string{
		"Content-Type": Media, "Cache-Control": "no-store", "X-Accel-Buffering": "no",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// A gone client takes nothing.
type gone struct{ *httptest.ResponseRecorder }

func (gone) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestGone(t *testing.T) {
	if Start(gone{httptest.NewRecorder()}).Send(Event{Name: "changed"}) {
		t.Error("a client that has gone can take more")
	}
}

// TestPace: a look comes a pause after a change, and otherwise a beat and a pause later.
func TestPace(t *testing.T) {
	for name, c := range map[string]struct {
		begin  func(p *paced)
		steps  []time.Duration
		during func(p *paced) // after the steps
		want   bool
	}{
		"a change": {func(p *paced) { p.changed <- struct{}{} }, []time.Duration{time.Second}, nil, true},
		"none":     {nil, []time.Duration{5 * time.Second, time.Second}, nil, true},
		"stopped":  {nil, nil, func(p *paced) { close(p.stop) }, false},
		"stopped in the pause": {func(p *paced) { p.changed <- struct{}{} }, nil, func(p *paced) { close(p.stop) },
			false},
		"the client goes": {nil, nil, func(p *paced) { p.cancel() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p := &paced{changed: make(chan struct{}, 1), stop: make(chan struct{}), cancel: cancel}
			clock := clockwork.NewFakeClock()
			pace := Pace{Clock: clock, Changed: p.changed, Stop: p.stop, Pause: time.Second, Beat: 5 * time.Second}
			if c.begin != nil {
				c.begin(p)
			}
			looks := make(chan bool, 1)
			go func() { looks <- pace.Wait(ctx) }()
			timers := 1
			if c.begin != nil {
				timers = 2 // the beat, which is not over, and the pause
			}
			for _, d := range append(c.steps, 0) {
				if d == 0 && c.during == nil {
					break
				}
				if err := clock.BlockUntilContext(t.Context(), timers); err != nil {
					t.Fatal(err)
				}
				clock.Advance(d)
			}
			if c.during != nil {
				c.during(p)
			}
			if got := <-looks; got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
			cancel()
		})
	}
}

type paced struct {
	changed chan struct{}
	stop    chan struct{}
	cancel  context.CancelFunc
}

var _ http.ResponseWriter = gone{}
