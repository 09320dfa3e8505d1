package audit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestQueries(t *testing.T) {
	w := started(t, 0)
	begun := w.clock.Now()
	record := func(r audit.Record) {
		w.Record(r)
		w.clock.Advance(time.Hour)
	}
	record(audit.Record{Name: "A", Address: "192.0.2.1", RequestID: "request-1",
		Identity: audit.Identity{User: "Ada", AccessKey: "AKIA1", PrincipalID: "AIDA1"}})
	record(audit.Record{Name: "B", Address: "192.0.2.77", ErrorCode: "AccessDeniedException",
		Identity: audit.Identity{Arn: "arn:aws:sts::1:assumed-role/r/ada",
			Session: audit.Session{SourceIdentity: "ada"}}})
	record(audit.Record{Name: "C", Address: "2001:db8::1", Identity: audit.Identity{User: "bob"},
		Resources: []string{"arn:x", "arn:aws:gamelift:r:1:fleet/fleet-1"}})
	record(audit.Record{Name: "a", Address: "::ffff:192.0.2.1"})
	w.flush()
	hour := func(n int) time.Time { return begun.Add(time.Duration(n) * time.Hour) }
	for what, c := range map[string]struct {
		q    audit.Query
		want string
	}{
		"all":             {audit.Query{}, "ABCa"},
		"since":           {audit.Query{Since: hour(1)}, "BCa"},
		"since later":     {audit.Query{Since: hour(1).Add(1)}, "Ca"},
		"since the end":   {audit.Query{Since: hour(9)}, ""},
		"until":           {audit.Query{Until: hour(1)}, "A"},
		"period":          {audit.Query{Since: hour(1), Until: hour(3)}, "BC"},
		"user":            {audit.Query{User: "ada"}, "AB"},
		"principal":       {audit.Query{User: "AIDA1"}, "A"},
		"arn":             {audit.Query{User: "arn:aws:sts::1:assumed-role/r/ada"}, "B"},
		"event":           {audit.Query{Event: "a"}, "Aa"},
		"key":             {audit.Query{Key: "AKIA1"}, "A"},
		"key, other case": {audit.Query{Key: "akia1"}, ""},
		"resource":        {audit.Query{Resource: "fleet-1"}, "C"},
		"address":         {audit.Query{Address: "192.0.2.1"}, "Aa"},
		"network":         {audit.Query{Address: "192.0.2.0/25"}, "ABa"},
		"IPv6":            {audit.Query{Address: "2001:db8::/64"}, "C"},
		"request":         {audit.Query{Request: "request-1"}, "A"},
		"errors":          {audit.Query{Errors: true}, "B"},
		"limit":           {audit.Query{Limit: 2}, "AB"},
		"limit of found":  {audit.Query{Event: "a", Limit: 2}, "Aa"},
		"two":             {audit.Query{User: "ada", Errors: true}, "B"},
		"none":            {audit.Query{User: "bob", Errors: true}, ""},
	} {
		got := ""
		for _, name := range names(w.read(c.q)) {
			got += name
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// Reading can stop at any record and go on after it, within messages and between them.
func TestCursors(t *testing.T) {
	w := newWorld(t, 0)
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprint(i))
		w.Record(call(want[i]))
		if i == 6 {
			w.run()
			w.flush()
		}
	}
	w.flush()
	for size := 1; size < 12; size++ {
		var got []string
		for q := (audit.Query{Limit: size}); ; {
			n := 0
			err := w.Read(t.Context(), q, func(cursor string, line []byte) bool {
				n++
				q.After = cursor
				got = append(got, decode(t, line).Name)
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			if n < size {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %q", size, got)
		}
	}
}

func TestMalformedQueries(t *testing.T) {
	w := newWorld(t, 0)
	for _, q := range []audit.Query{
		{After: "x"}, {After: "1"}, {After: "0-1"}, {After: "1-0"}, {After: "1-1-1"}, {After: "-1-1"},
		{Address: "here"}, {Address: "192.0.2.0/33"},
	} {
		visit := func(string, []byte) bool { return true }
		for _, err := range []error{w.Read(t.Context(), q, visit), w.Follow(t.Context(), q, visit)} {
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.InvalidRequest {
				t.Errorf("%+v gives %v", q, err)
			}
		}
	}
}

// A damaged line is passed over.
func TestDamagedLine(t *testing.T) {
	w := started(t, 0)
	if _, err := w.feed.Append(t.Context(), "damaged", []byte("{\"eventName\":\"x\"\n\x00\n")); err != nil {
		t.Fatal(err)
	}
	w.Record(call("a"))
	w.flush()
	w.wantNames("a")
}

func TestFollow(t *testing.T) {
	w := started(t, 0)
	w.Record(call("before"))
	w.Record(call("cursor"))
	w.flush()
	var cursor string
	if err := w.Read(t.Context(), audit.Query{Limit: 1}, func(c string, _ []byte) bool {
		cursor = c
		return true
	}); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		q    audit.Query
		want []string
	}{
		"since":  {audit.Query{Since: w.clock.Now(), Limit: 3}, []string{"before", "cursor", "new"}},
		"cursor": {audit.Query{After: cursor, Event: "new", Limit: 1}, []string{"new"}},
	} {
		got, ended := []string{}, make(chan error, 1)
		go func() {
			ended <- w.Follow(t.Context(), c.q, func(_ string, line []byte) bool {
				got = append(got, decode(t, line).Name)
				return true
			})
		}()
		w.Record(call("new"))
		if err := <-ended; err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", what, got, err, c.want)
		}
	}
}

// Without a start, Follow begins with what is recorded from then on.
func TestFollowFromTheEnd(t *testing.T) {
	w := started(t, 0)
	w.Record(call("before"))
	w.flush()
	ctx, cancel := context.WithCancelCause(t.Context())
	seen, ended := make(chan string), make(chan error, 1)
	go func() {
		ended <- w.Follow(ctx, audit.Query{}, func(_ string, line []byte) bool {
			seen <- decode(t, line).Name
			return true
		})
	}()
	stop := errors.New("stop")
	// Records come until one is seen, because nothing shows when Follow has begun.
	var recording sync.WaitGroup
	recording.Go(func() {
		for ctx.Err() == nil {
			w.Record(call("new"))
			_ = w.Flush(ctx)
		}
	})
	for range 3 {
		if name := <-seen; name != "new" {
			t.Errorf("%s is followed", name)
		}
	}
	cancel(stop)
	for done := false; !done; {
		select {
		case <-seen:
		case err := <-ended:
			if done = true; !errors.Is(err, stop) {
				t.Errorf("it ends with %v", err)
			}
		}
	}
	recording.Wait()
}
