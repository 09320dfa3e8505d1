package browser_test

import (
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/browser"
	"github.com/muster-gg/muster/e2e/people"
)

// TestConsoleLog: the page of the log shows lines as they come, and the number of those that came between two readings
// and are on neither.
func TestConsoleLog(t *testing.T) {
	t.Parallel()
	s := people.Start(t, func(c *muster.Config) { c.OpenConsole = "on" })
	backup := func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.HTTP+"/v1/backup", nil)
		must(t, err)
		s.Signed(s.Root, "gamelift")(r)
		answer, err := s.Web.Do(r)
		must(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		must(t, err)
		must(t, answer.Body.Close())
	}
	var hold sync.RWMutex // held: the page cannot be read
	origin := proxied(t, s.HTTP, func(r *http.Request, serve func()) {
		if r.URL.Path == "/console/log" {
			hold.RLock()
			defer hold.RUnlock()
		}
		serve()
	})
	p := browser.Open(t, origin)
	p.Go("/console/log?text=backup", 200)
	p.Shows("None of the lines", "live")
	backup()
	p.Shows("backup finished")

	hold.Lock()
	const lines = 250 // of which the page shows 100
	for range lines {
		backup()
	}
	hold.Unlock()
	p.Shows("Skipped about", "Older ones match too")
	p.Check("console-log")
}
