package calls

import (
	"bytes"
	"io"
	"net/http"
)

// WholeBodies sends requests whose bodies are never closed. The AWS SDK closes the body as soon as it has the answer;
// when the service is quicker than the transport, which then still looks for the body's end, that takes it for a
// failure and cuts the connection, and with it an answer that is being read.
type WholeBodies struct{ http.RoundTripper }

// RoundTrip makes a call.
func (w WholeBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := r.Body.Close(); err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	return w.RoundTripper.RoundTrip(r)
}
