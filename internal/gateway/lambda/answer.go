package lambda

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// An answer is the http.ResponseWriter of a request.
type answer struct {
	header   http.Header
	sent     http.Header // copied when the handler began to write
	status   int         // 0: nothing was written
	body     bytes.Buffer
	streamed bool // the handler began an event stream
	stream   context.CancelFunc
}

// errStream is the error of writes to an event stream.
var errStream = errors.New("streams cannot be written here")

func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. It cancels the request of an event stream.
func (a *answer) WriteHeader(status int) {
	if a.status != 0 || status < http.StatusOK { // informational
		return
	}
	a.status, a.sent = status, a.header.Clone()
	if kind, _, err := mime.ParseMediaType(a.sent.Get("Content-Type")); err == nil && kind == "text/event-stream" {
		a.streamed = true
		a.stream()
	}
}

func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		if a.header.Get("Content-Type") == "" {
			a.header.Set("Content-Type", http.DetectContentType(p))
		}
		a.WriteHeader(http.StatusOK)
	}
	if a.streamed {
		return 0, errStream
	}
	return a.body.Write(p)
}

// finish returns the answer after the handler has returned.
func (a *answer) finish() (status int, header http.Header, body string, encoded bool) {
	a.WriteHeader(http.StatusOK) // if nothing was written
	header = a.sent
	header.Del("Content-Length") // API Gateway sets it
	if raw := a.body.Bytes(); header.Get("Content-Encoding") != "" || !utf8.Valid(raw) {
		return a.status, header, base64.StdEncoding.EncodeToString(raw), true
	}
	return a.status, header, a.body.String(), false
}

func (e *restEvent) answer(a *answer) any {
	status, header, body, encoded := a.finish()
	return events.APIGatewayProxyResponse{StatusCode: status, MultiValueHeaders: header, Body: body,
		IsBase64Encoded: encoded}
}

func (e *httpEvent) answer(a *answer) any {
	status, header, body, encoded := a.finish()
	out := events.APIGatewayV2HTTPResponse{
		StatusCode: status, Headers: make(map[string]string, len(header)), Body: body, IsBase64Encoded: encoded,
		Cookies: []string{},
	}
	for name, values := range header {
		if name == "Set-Cookie" { // the one header that cannot be joined
			out.Cookies = values
			continue
		}
		out.Headers[name] = strings.Join(values, ", ")
	}
	return out
}
