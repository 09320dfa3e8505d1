package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Requests makes requests of operators (/v1). *operator.Handler implements it.
type Requests interface {
	// ServeLocal answers a request as if the person had signed it. If it returns an error it has written nothing.
	ServeLocal(w http.ResponseWriter, r *http.Request, id *access.Identity, from access.Origin) error
}

// An answerBuffer keeps an answer in memory.
type answerBuffer struct {
	header http.Header
	to     io.Writer
	status int // 0: none was written, which is 200
}

func (a *answerBuffer) Header() http.Header         { return a.header }
func (a *answerBuffer) Write(p []byte) (int, error) { return a.to.Write(p) }
func (a *answerBuffer) WriteHeader(status int)      { a.status = status }
func (a *answerBuffer) Flush()                      {} // what follows is written at once

// request makes a request of operators as the person who has signed in. in becomes the JSON of its body, unless it is
// nil, and the answer is decoded to out.
func (v *visit) request(method, path string, in, out any) error {
	var b bytes.Buffer
	if err := v.requestTo(&b, method, path, in); err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(b.Bytes(), out); err != nil {
		return fmt.Errorf("decode the answer of %s %s: %w", method, path, err)
	}
	return nil
}

// requestTo is request for an answer that is not one JSON value.
func (v *visit) requestTo(to io.Writer, method, path string, in any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode the body of %s %s: %w", method, path, err)
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(v.ctx, method, path, body)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.RemoteAddr = v.r.RemoteAddr
	answer := &answerBuffer{header: http.Header{}, to: to}
	err = v.h.Requests.ServeLocal(answer, r, v.id, v.from)
	if err == nil && answer.status >= http.StatusMultipleChoices { // a path with the element ".." leads elsewhere
		return fault.New(fault.NotFound, "There is no request %s %.200s.", method, path)
	}
	return err
}

// in returns a path with escaped elements.
func in(elements ...string) string {
	for i, e := range elements {
		elements[i] = url.PathEscape(e)
	}
	return "/v1/" + strings.Join(elements, "/")
}

// A tail keeps the last lines that are written to it, newest first, and counts all.
type tail struct {
	most  int
	lines [][]byte // oldest first
	count int
	part  []byte // of a line
}

func (t *tail) Write(p []byte) (int, error) {
	t.part = append(t.part, p...)
	for {
		line, rest, ok := bytes.Cut(t.part, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		if len(t.lines) == t.most {
			t.lines = t.lines[1:]
		}
		t.lines = append(t.lines, bytes.Clone(line))
		t.count, t.part = t.count+1, append([]byte(nil), rest...)
	}
}

// rowsOf returns the path of a page of a list.
func (v *visit) rowsOf(elements ...string) string {
	q := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if next := v.form("next"); next != "" {
		q.Set("after", next)
	}
	return in(elements...) + "?" + q.Encode()
}
