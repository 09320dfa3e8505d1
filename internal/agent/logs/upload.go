package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// uploadLimit is how long an upload may take.
const uploadLimit = 15 * time.Minute

// URL returns where the log of a process is uploaded, for the WebSocket URL of an agent.
func URL(endpoint, fleet, compute, process string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return "", errors.New("the endpoint for agents is no URL")
	}
	u.Scheme = "http" + strings.TrimPrefix(u.Scheme, "ws")
	u.Path = strings.TrimRight(u.Path, "/") + "/logs"
	u.RawQuery = url.Values{"FleetId": {fleet}, "ComputeName": {compute}, "ProcessId": {process}}.Encode()
	return u.String(), nil
}

// A RefusedError is an answer other than that the log is stored.
type RefusedError struct {
	Status  int // of HTTP
	Message string
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("upload of a log: %d: %s", e.Status, e.Message)
}

// Final reports whether another attempt would end in the same way.
func (e *RefusedError) Final() bool {
	switch e.Status {
	case http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return e.Status >= 400 && e.Status < 500 || e.Status == http.StatusNotImplemented
}

// Forbidden reports whether the token was not accepted.
func (e *RefusedError) Forbidden() bool { return e.Status == http.StatusForbidden }

// Upload uploads an archive. When it returns nil, the service has stored it.
func Upload(ctx context.Context, client *http.Client, to, token, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, uploadLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, to, f)
	if err != nil {
		return err
	}
	r.ContentLength = info.Size()
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/zip")
	r.Header.Set("Expect", "100-continue") // a refusal comes before the bytes
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	if answer.StatusCode/100 == 2 {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10)) // what there is of it
	var refusal struct{ ErrorMessage string }
	if json.Unmarshal(body, &refusal) != nil || refusal.ErrorMessage == "" {
		refusal.ErrorMessage = answer.Status
	}
	return &RefusedError{answer.StatusCode, refusal.ErrorMessage}
}
