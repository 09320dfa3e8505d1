package browser

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// violations is a script that logs what a content security policy blocks. It runs in a world of its own, to which the
// policy does not apply.
const violations = `addEventListener("securitypolicyviolation", e =>
	console.error("content security policy:", e.violatedDirective, e.blockedURI, e.sample))`

// A recorder collects from the events of a tab what no page should do, and which pages have loaded. The tab calls
// record in the order of the events; other methods may be called at the same time.
type recorder struct {
	mu       sync.Mutex
	origins  []string // to which requests may be sent
	problems []string
	away     bool // the service does not answer, so that requests fail
	plain    bool // scripts are disabled, and not loaded
	loading  bool // a page other than about:blank
	loads    int
	status   int // of the latest document
}

func (r *recorder) allow(origin string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.origins = append(r.origins, origin)
}

func (r *recorder) setAway(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = away
}

func (r *recorder) setPlain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plain = true
}

// unexpected returns what no page should have done.
func (r *recorder) unexpected() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.problems)
}

// loaded returns how many pages have loaded, and the status of the latest one.
func (r *recorder) loaded() (n, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loads, r.status
}

func (r *recorder) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *recorder) record(event any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := event.(type) {
	case *page.EventFrameNavigated:
		if e.Frame.ParentID == "" && !strings.HasPrefix(e.Frame.URL, "about:") {
			r.loading = true
		}
	case *page.EventLoadEventFired:
		if r.loading {
			r.loading = false
			r.loads++
		}
	case *runtime.EventConsoleAPICalled:
		r.problem("the console has %s: %s", e.Type, joined(e.Args))
	case *runtime.EventExceptionThrown:
		r.problem("exception in the page: %s", exception(e.ExceptionDetails))
	case *log.EventEntryAdded:
		// Responses with an error are judged by their status.
		judged := r.away || strings.Contains(e.Entry.Text, "responded with a status")
		if judged && e.Entry.Source == log.EntrySourceNetwork {
			return
		}
		r.problem("the log has %s of %s: %s %s", e.Entry.Level, e.Entry.Source, e.Entry.Text, e.Entry.URL)
	case *audits.EventIssueAdded:
		r.problem("the browser has an issue: %s %s", e.Issue.Code, describe(e.Issue.Details))
	case *network.EventRequestWillBeSent:
		r.request(e.Request.URL)
	case *network.EventResponseReceived:
		r.response(e)
	case *network.EventLoadingFailed:
		if r.away || r.plain && e.Type == network.ResourceTypeScript {
			return
		}
		r.problem("a request for a %s failed: %s %s", e.Type, e.ErrorText, e.BlockedReason)
	}
}

func (r *recorder) request(to string) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "data" && !slices.Contains(r.origins, u.Scheme+"://"+u.Host) {
		r.problem("a request to another origin: %s", to)
	}
}

func (r *recorder) response(e *network.EventResponseReceived) {
	if e.Type == network.ResourceTypeDocument {
		r.status = int(e.Response.Status)
	} else if e.Response.Status >= 500 && r.away { // it starts, or has no owner of a shard yet
		return
	} else if e.Response.Status >= 400 {
		r.problem("%s has the status %d", e.Response.URL, e.Response.Status)
	}
}

func joined(args []*runtime.RemoteObject) string {
	var all []string
	for _, a := range args {
		if text := string(a.Value); text != "" {
			all = append(all, text)
		} else {
			all = append(all, a.Description)
		}
	}
	return strings.Join(all, " ")
}

func exception(d *runtime.ExceptionDetails) string {
	if d.Exception != nil && d.Exception.Description != "" {
		return d.Exception.Description
	}
	return d.Text
}

// describe returns the details of an issue, of which those of other kinds are nil.
func describe(d *audits.InspectorIssueDetails) string {
	text, err := json.Marshal(d)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
