package gateway

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"
)

// half sends the beginning of a request and reads the answer.
func half(t *testing.T, d *testGateway, request string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", d.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprint(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// TestHalfABody answers who promises a body and does not send it, and lets go of
// the connection.
func TestHalfABody(t *testing.T) {
	g := newGateway(t, newWorld())
	g.bodyTime = 20 * time.Millisecond
	d := serve(t, g)
	for _, request := range []string{
		"POST /create_session HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n\r\n{",
		"GET /v1/sessions/" + escape("arn:aws:gamelift:us-west-2::gamesession/fleet-1/here/gsess-1") +
			"/events HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n\r\n{",
	} {
		answer := half(t, d, request)
		var body errorBody
		if err := json.NewDecoder(answer.Body).Decode(&body); err != nil ||
			answer.StatusCode != http.StatusBadRequest || body.Code != InvalidRequest || !answer.Close {
			t.Errorf("%q: status %d, %+v, closed %v, %v", request, answer.StatusCode, body, answer.Close, err)
		}
	}
}

// TestStreamsOfOneCaller leaves streams for others.
func TestStreamsOfOneCaller(t *testing.T) {
	s := &streams{most: 3, mostEach: 2}
	for _, want := range []bool{true, true, false} {
		if s.take("ada") != want {
			t.Fatalf("ada's next stream: want %v", want)
		}
	}
	if !s.take("bob") || s.take("cid") {
		t.Error("three streams in all, of which one is bob's")
	}
	s.release("ada")
	if !s.take("cid") || s.take("ada") {
		t.Error("cid has ada's place")
	}
	for _, caller := range []string{"ada", "bob", "cid"} {
		s.release(caller)
	}
	if s.open != 0 || len(s.by) != 0 {
		t.Errorf("%d streams are left, %v", s.open, s.by)
	}
}
