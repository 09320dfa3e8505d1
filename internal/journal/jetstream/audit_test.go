package jetstream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
)

func audit(t *testing.T, e *jetstream.Engine, limits jetstream.AuditLimits) journal.Audit {
	t.Helper()
	return must(e.Audit(t.Context(), limits))(t)
}

func records(t *testing.T, f journal.Feed) (all []string) {
	t.Helper()
	err := f.Read(t.Context(), 0, func(_ uint64, data []byte) bool {
		all = append(all, string(data[:3]))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The trail and the event feed are apart, and each start sets the limits of the trail.
func TestAuditLimits(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir)
	a := audit(t, e, jetstream.AuditLimits{})
	record := make([]byte, 10_000)
	for i := range 100 {
		copy(record, fmt.Sprintf("%03d", i))
		must(a.Append(t.Context(), fmt.Sprint(i), record))(t)
	}
	if got := records(t, a); len(got) != 100 {
		t.Errorf("%d records, want 100", len(got))
	}
	if n := len(records(t, must(e.Feed(t.Context()))(t))); n != 0 {
		t.Errorf("the event feed has %d records", n)
	}
	mustClose(t, e)
	e = open(t, dir)
	defer func() { mustClose(t, e) }()
	a = audit(t, e, jetstream.AuditLimits{Bytes: 500_000, Age: 7 * 24 * time.Hour})
	if got := records(t, a); len(got) == 0 || len(got) > 50 || got[len(got)-1] != "099" {
		t.Errorf("with 500 kB, the records are %q", got)
	}
	copy(record, "new")
	must(a.Append(t.Context(), "new", record))(t)
	if got := records(t, a); len(got) > 50 || got[len(got)-1] != "new" {
		t.Errorf("after another append, the records are %q", got)
	}
	cfg := must(e.JetStream().Stream(t.Context(), "MUSTER_AUDIT"))(t).CachedInfo().Config
	if cfg.MaxAge != 7*24*time.Hour || cfg.MaxBytes != 500_000 {
		t.Errorf("the limits are %v and %d bytes", cfg.MaxAge, cfg.MaxBytes)
	}
	mustClose(t, e)
	e = open(t, dir)
	a = audit(t, e, jetstream.AuditLimits{Age: 100 * time.Millisecond})
	for len(records(t, a)) > 0 { // until they are deleted, or the test's time is over
	}
	if seq, err := a.After(t.Context(), time.Time{}); err != nil || seq != 101 {
		t.Errorf("an emptied trail begins after %d, %v", seq, err)
	}
}

func BenchmarkAuditRead(b *testing.B) {
	e := open(b, b.TempDir())
	defer mustClose(b, e)
	a, err := e.Audit(b.Context(), jetstream.AuditLimits{})
	if err != nil {
		b.Fatal(err)
	}
	const n = 2000
	for i := range n {
		if _, err := a.Append(b.Context(), fmt.Sprint(i), make([]byte, 600)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if err := a.Read(b.Context(), 0, func(uint64, []byte) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "records/s")
}
