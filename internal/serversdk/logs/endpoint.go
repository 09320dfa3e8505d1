// Package logs is the endpoint for the logs of server processes: agents put them, with the auth token of their compute,
// and clients get them by the URLs of GetGameSessionLogUrl.
//
//	PUT …/agent/logs?FleetId=…&ComputeName=…&ProcessId=…    with Authorization: Bearer TOKEN, and a zip archive
//	GET /logs/KEY.zip?expires=…&signature=…
//
// A log is stored when the answer to a PUT is 200, in a cluster on a majority of the nodes that have to keep it. It
// replaces an earlier one of the process, so that an agent can repeat the request until it is answered.
package logs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/logs"
	"github.com/muster-gg/muster/internal/serversdk"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// PutPath is the end of the path of PUT requests: it is below that of the endpoint for agents.
	PutPath = "/agent/logs"
	// getPath is the beginning of the path of GET requests.
	getPath = "/logs/"

	// maxUploads is how many logs are received at a time.
	maxUploads = 16
	// maxName is the maximum length of ids in bytes.
	maxName = 512
	// stallTime is how long a connection may transfer nothing.
	stallTime = 30 * time.Second
	// callLimit is how long the control plane may take to authenticate an agent.
	callLimit = 15 * time.Second
)

// archiveBegin is how a zip archive begins.
var archiveBegin = []byte("PK\x03\x04")

// Config configures a Handler. All fields are required.
type Config struct {
	Store *logs.Store
	// Authorize verifies the auth token of a compute, and returns the id of its fleet. The error is a *fault.Error.
	Authorize func(ctx context.Context, fleetID, compute, token string) (fleet string, err error)
	// Spread returns when a log that is stored is on enough nodes to be acknowledged. The error is a *fault.Error.
	Spread func(ctx context.Context, key logs.Key) error
	// Verify reports whether a URL for a log was issued by this region.
	Verify func(key logs.Key, expires time.Time, signature string) bool
	Clock  clockwork.Clock
	Log    *slog.Logger
}

// A Handler serves both requests. It is safe for concurrent use.
type Handler struct {
	Config
	slots chan struct{}
	lines *loglimit.Limiter
}

// New returns the handler.
func New(c Config) *Handler {
	return &Handler{Config: c, slots: make(chan struct{}, maxUploads), lines: loglimit.New(c.Clock)}
}

// Matches reports whether a request is for this endpoint.
func Matches(r *http.Request) bool {
	switch r.Method {
	case http.MethodPut:
		return strings.HasSuffix(strings.TrimRight(r.URL.Path, "/"), PutPath)
	case http.MethodGet, http.MethodHead:
		return strings.HasPrefix(r.URL.Path, getPath) && strings.HasSuffix(r.URL.Path, ".zip")
	}
	return false
}

// ServeHTTP stores a log, or sends one.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut {
		h.get(w, r)
		return
	}
	err := h.put(w, r)
	if err == nil {
		return
	}
	refused, ok := errors.AsType[*refusal](err)
	if !ok {
		f := fault.Of(err)
		refused = &refusal{serversdk.StatusOf(f.Kind), serversdk.ErrorMessage(f)}
		if f.Kind == fault.ServiceUnavailable {
			refused.status = http.StatusServiceUnavailable
		}
	}
	level := slog.LevelWarn
	if refused.status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	if suppressed, ok := h.lines.Allow(refused.message); ok {
		q := r.URL.Query()
		h.Log.Log(r.Context(), level, "log of a process refused", "fleet", loglimit.Clip(q.Get("FleetId")),
			"compute", loglimit.Clip(q.Get("ComputeName")), "process", loglimit.Clip(q.Get("ProcessId")),
			"status", refused.status, "err", err, "suppressed", suppressed)
	}
	serversdk.Refuse(w, refused.status, refused.message)
}

// A refusal is an answer with a status that has no exception.
type refusal struct {
	status  int
	message string
}

// Error implements error.
func (r *refusal) Error() string { return r.message }

// put receives a log.
func (h *Handler) put(w http.ResponseWriter, r *http.Request) error {
	key, err := h.authorize(r)
	switch {
	case err != nil:
		return err
	case r.ContentLength < 0:
		return &refusal{http.StatusLengthRequired, "The request needs a Content-Length."}
	case r.ContentLength > logs.MaxLog:
		return &refusal{http.StatusRequestEntityTooLarge, "A log has at most " + strconv.Itoa(logs.MaxLog) + " bytes."}
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		return &refusal{http.StatusServiceUnavailable, "Too many logs are received at a time. Try again later."}
	}
	to, err := h.Store.Create(key, r.ContentLength)
	if errors.Is(err, logs.ErrFull) {
		return &refusal{http.StatusServiceUnavailable, "The store of logs is full. Try again later, or raise " +
			"max-process-logs."}
	}
	if err != nil {
		return err
	}
	defer to.Abort()
	if err := receive(to, w, r); err != nil {
		return err
	}
	if err := to.Commit(); err != nil {
		return err
	}
	if err := h.Spread(r.Context(), key); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// authorize returns the key of the log that a request may put.
func (h *Handler) authorize(r *http.Request) (logs.Key, error) {
	q := r.URL.Query()
	compute, process := q.Get("ComputeName"), q.Get("ProcessId")
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok:
		return "", fault.New(fault.AccessDenied, "The request needs the auth token of its compute as a bearer token")
	case process == "" || len(process) > maxName || len(compute) > maxName || len(q.Get("FleetId")) > maxName:
		return "", fault.New(fault.InvalidRequest, "FleetId, ComputeName and ProcessId must have 1 to %d bytes each",
			maxName)
	}
	ctx, cancel := context.WithTimeout(r.Context(), callLimit)
	defer cancel()
	fleet, err := h.Authorize(ctx, q.Get("FleetId"), compute, token)
	if err != nil {
		return "", err
	}
	return logs.KeyOf(fleet, compute, process), nil
}

// receive copies the body, which must be an archive of the announced length.
func receive(to io.Writer, w http.ResponseWriter, r *http.Request) error {
	body := &patient{http.NewResponseController(w), r.Body}
	begin := make([]byte, len(archiveBegin))
	if _, err := io.ReadFull(body, begin); err != nil || !bytes.Equal(begin, archiveBegin) {
		return fault.New(fault.InvalidRequest, "The body is no zip archive")
	}
	if _, err := to.Write(begin); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	n, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{body}, buf)
	if broken, ok := errors.AsType[*readError](err); ok {
		return &refusal{http.StatusRequestTimeout, "The body did not arrive: " + broken.Error()}
	}
	if err == nil && n+int64(len(begin)) != r.ContentLength {
		return &refusal{http.StatusRequestTimeout, "The body did not arrive in whole."}
	}
	return err
}

// patient reads and writes as long as bytes are transferred.
type patient struct {
	conn *http.ResponseController
	from io.Reader
}

// A readError is one of the connection.
type readError struct{ error }

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	now := time.Now() // the network's deadlines are in real time
	_ = p.conn.SetReadDeadline(now.Add(stallTime))
	_ = p.conn.SetWriteDeadline(now.Add(2 * stallTime))
	n, err := p.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &readError{err}
	}
	return n, err
}

// get sends a log to the holder of a URL.
func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	key, ok := logs.ParseKey(strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, getPath), ".zip"))
	q := r.URL.Query()
	unix, err := strconv.ParseInt(q.Get("expires"), 10, 64)
	expires := time.Unix(unix, 0)
	if !ok || err != nil || !h.Verify(key, expires, q.Get("signature")) {
		http.Error(w, "This URL was not issued by GetGameSessionLogUrl of this region.", http.StatusForbidden)
		return
	}
	if !h.Clock.Now().Before(expires) {
		http.Error(w, "This URL has expired. Call GetGameSessionLogUrl again.", http.StatusForbidden)
		return
	}
	f, err := h.Store.Open(key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "The log is not kept any more.", http.StatusNotFound)
		return
	case err != nil:
		h.Log.Error("log of a process not read", "err", err)
		http.Error(w, "The log cannot be read.", http.StatusInternalServerError)
		return
	}
	defer f.Close() //nolint:errcheck // it was only read
	head := w.Header()
	head.Set("Content-Type", "application/zip")
	head.Set("Content-Disposition", `attachment; filename="game-session-log.zip"`)
	head.Set("Content-Security-Policy", "sandbox") // it is from a game server, on the origin of the console
	head.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(&download{w, http.NewResponseController(w)}, r, "", time.Time{}, f)
}

// A download is an answer that may take long, as long as bytes are transferred.
type download struct {
	http.ResponseWriter
	conn *http.ResponseController
}

// Write implements io.Writer.
func (d *download) Write(p []byte) (int, error) {
	_ = d.conn.SetWriteDeadline(time.Now().Add(stallTime))
	return d.ResponseWriter.Write(p)
}
