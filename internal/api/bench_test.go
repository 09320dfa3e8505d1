package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/wire"
)

// BenchmarkDoor shows what the door adds to a CreatePlayerSessions call of 25
// players: the same handler and codec behind a bare net/http handler that reuses
// its buffers, without signature, request id and the rest, stands beside it.
// Neither has a network.
func BenchmarkDoor(b *testing.B) {
	players := make([]string, 25)
	for i := range players {
		players[i] = fmt.Sprintf("player-%d", i)
	}
	input := map[string]any{"GameSessionId": "arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-home/x",
		"PlayerIds": players}
	asJSON, _ := json.Marshal(input)
	asCBOR, _ := cbor.Marshal(input)
	operation := wire.OpCreatePlayerSessions.Handle(createPlayerSessions)
	for p, body := range [][]byte{wire.JSON: asJSON, wire.CBOR: asCBOR} {
		p := wire.Protocol(p)
		signed := newRequest(p, "http://localhost:9080", "CreatePlayerSessions", body)
		signed.RequestURI = ""
		sign(b, signed, body)
		b.Run(p.String()+"/door", func(b *testing.B) {
			benchmark(b, newEndpoint(b, api.Config{Handlers: []wire.Handler{operation}}), signed, body)
		})
		b.Run(p.String()+"/bare", func(b *testing.B) { benchmark(b, bare(p, operation), signed, body) })
	}
}

// bare answers one caller at a time with nothing but the codec and the handler.
func bare(p wire.Protocol, h wire.Handler) http.Handler {
	var in bytes.Buffer
	var out []byte
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in.Reset()
		_, _ = in.ReadFrom(r.Body)
		out = out[:0]
		if err := h.Serve(context.Background(), p, in.Bytes(), &out); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(out)
	})
}

// A resender sends one body again and again.
type resender struct{ body, left []byte }

func (r *resender) Read(p []byte) (int, error) {
	n := copy(p, r.left)
	if r.left = r.left[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *resender) Close() error {
	r.left = r.body
	return nil
}

func benchmark(b *testing.B, h http.Handler, r *http.Request, body []byte) {
	again := &resender{body, body}
	r.Body = again
	b.ReportAllocs()
	for b.Loop() {
		_ = again.Close()
		w := httptest.ResponseRecorder{Code: http.StatusOK}
		h.ServeHTTP(&w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}
