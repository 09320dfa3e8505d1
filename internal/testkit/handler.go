package testkit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/gateway/guard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const prefix = "/v1/test"

// Matches reports whether a request is for a Kit.
func Matches(r *http.Request) bool {
	return r.URL.Path == prefix || strings.HasPrefix(r.URL.Path, prefix+"/")
}

// state is the answer of GET /v1/test, and of requests without another one.
type state struct {
	Time   time.Time `json:"time"`
	Ahead  Seconds   `json:"ahead"`     // of the system's clock
	Left   Seconds   `json:"advancing"` // that the clock still advances
	Quotas bool      `json:"quotas"`    // GameLift's are emulated
	Faults []Fault   `json:"faults"`    // that are left
}

// A request is a row of the table of requests.
type request struct {
	pattern string
	serve   func(k *Kit, r *http.Request, body []byte) (answer any, err error) // nil: the answer is the state
}

var requests = []request{
	{"GET " + prefix, func(*Kit, *http.Request, []byte) (any, error) { return nil, nil }},
	{"POST " + prefix + "/advance", taking(func(ctx context.Context, k *Kit, in *struct {
		Seconds Seconds `json:"seconds"`
	}) (any, error) {
		return nil, k.Advance(ctx, in.Seconds.Duration())
	})},
	{"POST " + prefix + "/faults", taking(func(_ context.Context, k *Kit, in *Fault) (any, error) {
		return nil, k.Fail(*in)
	})},
	{"DELETE " + prefix + "/faults", func(k *Kit, _ *http.Request, _ []byte) (any, error) {
		k.ClearFaults()
		return nil, nil
	}},
	{"POST " + prefix + "/fleets", taking(func(ctx context.Context, k *Kit, in *FleetRequest) (any, error) {
		return k.CreateFleet(ctx, *in)
	})},
	{"POST " + prefix + "/processes/kill", taking(func(_ context.Context, k *Kit, in *struct {
		ProcessID     string `json:"processId"`
		GameSessionID string `json:"gameSessionId"`
	}) (any, error) {
		return nil, k.Kill(cmp.Or(in.ProcessID, in.GameSessionID))
	})},
	{"POST " + prefix + "/game-sessions/fill", taking(func(ctx context.Context, k *Kit, in *struct {
		GameSessionID string `json:"gameSessionId"`
	}) (any, error) {
		players, err := k.Fill(ctx, in.GameSessionID)
		return map[string]any{"playerSessionIds": players}, err
	})},
	{"POST " + prefix + "/player-sessions/{id}/connect", func(k *Kit, r *http.Request, _ []byte) (any, error) {
		return nil, k.Connect(r.Context(), r.PathValue("id"))
	}},
	{"POST " + prefix + "/player-sessions/{id}/disconnect", func(k *Kit, r *http.Request, _ []byte) (any, error) {
		return nil, k.Disconnect(r.Context(), r.PathValue("id"))
	}},
}

// taking returns a request whose body is a JSON object; none is an empty one.
func taking[T any](do func(context.Context, *Kit, *T) (any, error)) func(*Kit, *http.Request, []byte) (any, error) {
	return func(k *Kit, r *http.Request, body []byte) (any, error) {
		in := new(T)
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(in); err != nil && !errors.Is(err, io.EOF) {
			return nil, fault.New(fault.InvalidRequest, "The body is not what %s takes: %s.", r.URL.Path, explain(err))
		}
		return do(r.Context(), k, in)
	}
}

// explain names the field that cannot be decoded.
func explain(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return "it must be a JSON object, not a " + wrong.Value
		}
		return fmt.Sprintf("%s must not be a JSON %s; use a %s", wrong.Field, wrong.Value, jsonType(wrong.Type))
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// jsonType returns the JSON type for a Go type of a field.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	default:
		return "number"
	}
}

// Handler serves the requests of tests.
func (k *Kit) Handler() http.Handler {
	mux := http.NewServeMux()
	var known []string
	for _, q := range requests {
		known = append(known, q.pattern)
		mux.HandleFunc(q.pattern, func(w http.ResponseWriter, r *http.Request) { k.serve(w, r, &q) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusNotFound, fault.New(fault.UnknownOperation,
			"Unknown request %s %.200s. These are known: %s.", r.Method, r.URL.Path, strings.Join(known, ", ")))
	})
	return mux
}

const maxBody = 64 << 10

func (k *Kit) serve(w http.ResponseWriter, r *http.Request, q *request) {
	if !guard.Local(r) || r.Header.Get("Origin") != "" {
		write(w, http.StatusForbidden, fault.New(fault.AccessDenied,
			"Requests of tests are answered to programs on this machine only, and not to web pages."))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		write(w, http.StatusBadRequest, fault.New(fault.InvalidRequest, "The body cannot be read: %v", err))
		return
	}
	answer, err := q.serve(k, r, body)
	if err != nil {
		f := fault.Of(err)
		status := f.Kind.HTTPStatus()
		if f.Kind == fault.NotFound {
			status = http.StatusNotFound
		}
		write(w, status, f)
		return
	}
	if answer == nil {
		answer = state{Time: k.Clock.Now(), Ahead: Of(k.Clock.Ahead()), Left: Of(k.Left()), Quotas: k.EmulatesQuotas(),
			Faults: k.Faults()}
	}
	write(w, http.StatusOK, answer)
}

// write answers with JSON; a fault in the form of package operator.
func write(w http.ResponseWriter, status int, body any) {
	if f, failed := body.(*fault.Error); failed {
		body = map[string]string{"error": string(f.Kind), "message": f.Message}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have closed the connection
}
