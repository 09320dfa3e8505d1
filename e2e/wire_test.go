package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/uuid"

	"github.com/muster-gg/muster/e2e/clients"
)

// A request is an AWS JSON call before it is signed, as botocore makes it.
type request struct {
	operation          string
	body               string
	header             map[string]string // overrides; "" removes
	accessKey, secret  string            // "": those of the service
	signed             time.Time         // zero: now
	unsigned, tampered bool              // not signed at all; changed after it was signed
}

// send sends a request and reads the whole answer.
func (s *service) send(t testing.TB, r request) (*http.Response, []byte) {
	t.Helper()
	out, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.HTTP+"/", strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	out.Header.Set("Content-Type", "application/x-amz-json-1.1")
	out.Header.Set("X-Amz-Target", "GameLift."+r.operation)
	out.Header.Set("User-Agent", "Boto3/1.44.5 md/Botocore#1.44.5 ua/2.1 lang/python#3.12.3")
	out.Header.Set("amz-sdk-invocation-id", uuid.NewString())
	for name, value := range r.header {
		if out.Header.Del(name); value != "" {
			out.Header.Set(name, value)
		}
	}
	if !r.unsigned {
		s.sign(t, r, out)
	}
	if r.tampered {
		out.Body = io.NopCloser(strings.NewReader(strings.Repeat(" ", len(r.body))))
	}
	answer, err := s.http.Do(out)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, data
}

func (s *service) sign(t testing.TB, r request, out *http.Request) {
	t.Helper()
	keys := aws.Credentials{AccessKeyID: s.AccessKey, SecretAccessKey: s.SecretKey}
	if r.accessKey != "" {
		keys.AccessKeyID = r.accessKey
	}
	if r.secret != "" {
		keys.SecretAccessKey = r.secret
	}
	if r.signed.IsZero() {
		r.signed = time.Now()
	}
	hash := sha256.Sum256([]byte(r.body))
	err := v4.NewSigner().SignHTTP(t.Context(), keys, out, hex.EncodeToString(hash[:]), "gamelift", s.Region, r.signed)
	if err != nil {
		t.Fatal(err)
	}
}

// A botocore calls the API with the bytes that botocore sends.
type botocore struct {
	testing.TB
	*service
}

// Call implements clients.Caller.
func (b botocore) Call(operation string, params, result any) error {
	body, err := pythonJSON(params)
	if err != nil {
		return err
	}
	answer, data := b.send(b.TB, request{operation: operation, body: body})
	if answer.StatusCode != http.StatusOK {
		return refusalOf(answer, data)
	}
	if result == nil || len(data) == 0 {
		return nil
	}
	return json.Unmarshal(data, result)
}

// refusalOf reads an error as botocore does: the type without its namespace, and
// the message under either of its names.
func refusalOf(answer *http.Response, data []byte) error {
	var body struct {
		Type  string `json:"__type"`
		Lower string `json:"message"`
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return fmt.Errorf("status %d: %w in %q", answer.StatusCode, err, data)
	}
	return &clients.APIError{Code: body.Type[strings.LastIndexByte(body.Type, '#')+1:], Message: body.Lower,
		Status: answer.StatusCode}
}

// pythonJSON encodes as Python's json module does: with a space after each colon
// and comma, and nothing but ASCII.
func pythonJSON(v any) (string, error) {
	if v == nil {
		return "{}", nil
	}
	var compact bytes.Buffer
	encoder := json.NewEncoder(&compact)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return "", err
	}
	var out strings.Builder
	quoted, escaped := false, false
	for _, r := range strings.TrimSpace(compact.String()) {
		switch {
		case r > 0xFFFF:
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
		case r > 0x7E:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
		if !quoted && (r == ':' || r == ',') {
			out.WriteByte(' ')
		}
		if r == '"' && !escaped {
			quoted = !quoted
		}
		escaped = r == '\\' && !escaped
	}
	return out.String(), nil
}

func TestPythonJSON(t *testing.T) {
	got, err := pythonJSON(map[string]any{"a": []any{1, `x: "y", \`, "é😀<"}, "b": map[string]bool{"c": true}})
	const want = `{"a": [1, "x: \"y\", \\", "\u00e9\ud83d\ude00<"], "b": {"c": true}}`
	if err != nil || got != want {
		t.Errorf("got  %s\nwant %s (%v)", got, want, err)
	}
}

// TestRequestsThatAreNoGood sends what a stranger, a misconfigured client or a
// broken one sends.
func TestRequestsThatAreNoGood(t *testing.T) {
	t.Parallel()
	s := start(t)
	const list, location = "ListFleets", `{"LocationName": "custom-place"}`
	for _, test := range []struct {
		name    string
		request request
		status  int
		code    string
	}{
		{"unsigned", request{operation: list, body: "{}", unsigned: true}, 400, "MissingAuthenticationTokenException"},
		{"unknown key", request{operation: list, body: "{}", accessKey: "AKIDUNKNOWN0EXAMPLE0"}, 400,
			"UnrecognizedClientException"},
		{"wrong secret", request{operation: list, body: "{}", secret: "of somebody else"}, 400,
			"InvalidSignatureException"},
		{"body changed on the way", request{operation: "CreateLocation", body: location, tampered: true}, 400,
			"InvalidSignatureException"},
		{"clock behind", request{operation: list, body: "{}", signed: time.Now().Add(-6 * time.Minute)}, 400,
			"InvalidSignatureException"},
		{"clock ahead", request{operation: list, body: "{}", signed: time.Now().Add(6 * time.Minute)}, 400,
			"InvalidSignatureException"},
		{"no operation", request{body: "{}", header: map[string]string{"X-Amz-Target": ""}}, 400,
			"UnknownOperationException"},
		{"unknown operation", request{operation: "LaunchRocket", body: "{}"}, 400, "UnknownOperationException"},
		{"other service", request{body: "{}",
			header: map[string]string{"X-Amz-Target": "DynamoDB_20120810.ListTables"}}, 400,
			"UnknownOperationException"},
		{"not JSON", request{operation: "CreateLocation", body: "LocationName=custom-place"}, 400,
			"SerializationException"},
		{"cut short", request{operation: "CreateLocation", body: location[:20]}, 400, "SerializationException"},
		{"wrong type", request{operation: "CreateLocation", body: `{"LocationName": 7}`}, 400,
			"SerializationException"},
		{"two values", request{operation: "CreateLocation", body: location + location}, 400, "SerializationException"},
		{"deep", request{operation: "CreateLocation",
			body: strings.Repeat(`{"a": `, 1000) + "1" + strings.Repeat("}", 1000)}, 400, "SerializationException"},
		{"not UTF-8", request{operation: "CreateLocation", body: "{\"LocationName\": \"custom-\xff\"}"}, 400,
			"SerializationException"},
		{"wrong content type", request{operation: list, body: "{}",
			header: map[string]string{"Content-Type": "text/plain"}}, 400, "SerializationException"},
		{"missing member", request{operation: "CreateLocation", body: "{}"}, 400, "InvalidRequestException"},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer, data := s.send(t, test.request)
			refusal, ok := refusalOf(answer, data).(*clients.APIError)
			if !ok || answer.StatusCode != test.status || refusal.Code != test.code || refusal.Message == "" {
				t.Errorf("got %d %s, want %d %s", answer.StatusCode, data, test.status, test.code)
			}
			if answer.Header.Get("X-Amzn-Requestid") == "" {
				t.Error("the answer has no request id")
			}
		})
	}
	if n := s.metric(t, `muster_events_total{event="LocationCreated"}`); n != 0 {
		t.Errorf("%v locations were made", n)
	}
}

// TestOversizeBody sends more than a request may hold: it is refused without
// being read to its end, and the service goes on.
func TestOversizeBody(t *testing.T) {
	t.Parallel()
	s := start(t)
	endless := io.MultiReader(strings.NewReader(`{"Name": "`), repeat('a'))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, s.HTTP+"/", endless)
	if err != nil {
		t.Fatal(err)
	}
	out.Header.Set("Content-Type", "application/x-amz-json-1.1")
	out.Header.Set("X-Amz-Target", "GameLift.CreateFleet")
	if answer, err := s.http.Do(out); err == nil { // else it was cut off while it was sent
		answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("status %d", answer.StatusCode)
		}
	} else if ctx.Err() != nil {
		t.Error("the endless body was read for a minute")
	}
	if err := (botocore{t, s}).Call("ListFleets", nil, nil); err != nil {
		t.Error("afterwards:", err)
	}
}

// repeat is an endless reader of one byte.
type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// TestWireForm looks at the bytes of an answer: they are what older clients
// insist on.
func TestWireForm(t *testing.T) {
	t.Parallel()
	s := start(t, fakeTime)
	s.newFleet(t)
	answer, data := s.send(t, request{operation: "DescribeFleetAttributes", body: `{"Limit": 1}`})
	if got := answer.Header.Get("Content-Type"); got != "application/x-amz-json-1.1" {
		t.Errorf("Content-Type %q", got)
	}
	var out struct {
		FleetAttributes []struct{ CreationTime json.Number }
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	seconds := fmt.Sprintf("%.3f", float64(s.clock.Now().UnixMilli())/1000)
	if got := out.FleetAttributes[0].CreationTime.String(); !strings.HasPrefix(seconds, got) {
		t.Errorf("CreationTime is %s, want %s", got, seconds)
	}
	if strings.Contains(string(data), "null") {
		t.Errorf("absent members are left out: %s", data)
	}
}
