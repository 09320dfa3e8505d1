package signin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/fxamacker/cbor/v2"
	"github.com/jonboulle/clockwork"
	"go.uber.org/goleak"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/binary"
	"github.com/muster-gg/muster/e2e/people"
	"github.com/muster-gg/muster/mustertest"
)

// account is the default account of a region.
const account = "111122223333"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		sdkProgram()
		return
	}
	dir, err := os.MkdirTemp("", "muster-signin")
	if err != nil {
		panic(err)
	}
	binaries = dir
	status := m.Run()
	_ = os.RemoveAll(dir)
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

var (
	binaries string // directory of the built binary; set by TestMain
	build    = sync.OnceValues(func() (string, error) { return binary.Build(context.Background(), binaries) })
)

// A world is a service with what the tests need around it.
type world struct {
	*people.Service
	clock *clockwork.FakeClock // the service's; nil: it goes by the real one
	data  string               // directory
}

// start runs a service.
func start(t *testing.T, change ...func(*muster.Config)) *world {
	t.Helper()
	w := new(world)
	w.Service = people.Start(t, append(change, func(c *muster.Config) {
		w.data = c.Data
		w.clock, _ = c.Clock.(*clockwork.FakeClock)
	})...)
	return w
}

// fakeTime makes the service go by a clock that the test moves. Clients sign with the real time.
func fakeTime(c *muster.Config) {
	c.Clock = clockwork.NewFakeClockAt(time.Now())
	c.ClockSkew = 24 * time.Hour
}

// logTo makes the service log everything to a buffer.
func logTo(to io.Writer) func(*muster.Config) {
	return func(c *muster.Config) {
		c.Log = slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
}

// An object is a JSON object.
type object = map[string]any

// An answer is an HTTP response with its body.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request to the service. The body is a string, or a value that becomes JSON; nil: none.
func (w *world) send(method, path string, body any, change ...func(*http.Request)) answer {
	w.Helper()
	return w.request(w.Web, method, path, body, change...)
}

func (w *world) request(by *http.Client, method, path string, body any, change ...func(*http.Request)) answer {
	w.Helper()
	text, isText := body.(string)
	if !isText && body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			w.Fatal(err)
		}
		text = string(encoded)
	}
	r, err := http.NewRequestWithContext(w.Context(), method, w.HTTP+path, strings.NewReader(text))
	if err != nil {
		w.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, f := range change {
		f(r)
	}
	response, err := by.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, data}
}

// header returns a change of a request.
func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// v1 calls the operator's API.
func (w *world) v1(keys aws.Credentials, method, path string, body any) answer {
	w.Helper()
	return w.send(method, "/v1/"+path, body, w.Signed(keys, "gamelift"))
}

func (a answer) object(t testing.TB) (o object) {
	t.Helper()
	if err := json.Unmarshal(a.body, &o); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return o
}

// addKey adds a service account with a policy, and returns its access key.
func (w *world) addKey(name string, in object) aws.Credentials {
	w.Helper()
	in["service"] = name
	return keyOf(w.Manage("POST", "keys", in))
}

func keyOf(made object) aws.Credentials {
	return aws.Credentials{AccessKeyID: made["id"].(string), SecretAccessKey: made["secret"].(string)}
}

// allow returns a policy document.
func allow(resource string, actions ...string) object {
	return object{"Version": "2012-10-17", "Statement": object{"Effect": "Allow", "Action": actions,
		"Resource": resource}}
}

func (w *world) fleetARN(id string) string {
	return fmt.Sprintf("arn:aws:gamelift:%s:%s:fleet/%s", w.Region, account, id)
}

// audit returns the records of the trail with an event's name.
func (w *world) audit(event string) (records []object) {
	w.Helper()
	a := w.v1(w.Root, "GET", "audit?event="+event, nil)
	if a.status != http.StatusOK {
		w.Fatalf("the audit trail: %d %s", a.status, a.body)
	}
	for line := range bytes.Lines(a.body) {
		records = append(records, answer{body: line}.object(w))
	}
	return records
}

// audited waits for a record of an event, and returns the first.
func (w *world) audited(event string) (record object) {
	w.Helper()
	mustertest.Eventually(w, "the audit trail has "+event, func() bool {
		records := w.audit(event)
		if len(records) > 0 {
			record = records[0]
		}
		return len(records) > 0
	})
	return record
}

// signIns returns how many sessions of a kind a user has.
func (w *world) signIns(user, kind string) (n int) {
	w.Helper()
	list, _ := w.Manage("GET", "users/"+user+"/sign-ins", nil)["signIns"].([]any)
	for _, each := range list {
		if each.(object)["kind"] == kind {
			n++
		}
	}
	return n
}

// gamelift returns a client with keys, without retries.
func (w *world) gamelift(keys aws.Credentials) *gamelift.Client {
	return gamelift.NewFromConfig(w.awsConfig(keys))
}

func (w *world) sts(keys aws.Credentials) *sts.Client { return sts.NewFromConfig(w.awsConfig(keys)) }

func (w *world) awsConfig(keys aws.Credentials) aws.Config {
	c := w.AWS.Copy()
	c.Credentials = aws.NewCredentialsCache(static(keys))
	c.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return c
}

// static provides keys, temporary ones too.
func static(keys aws.Credentials) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return keys, nil })
}

// codeOf returns the code of a service's error; "" without one.
func codeOf(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return ""
}

// refused checks that a call was refused with a code.
func refused(t testing.TB, what string, err error, want string) {
	t.Helper()
	if codeOf(err) != want {
		t.Errorf("%s: got %v, want %s", what, err, want)
	}
}

// A refusal is a GameLift exception as it is on the wire.
type refusal struct {
	status        int
	kind, message string
}

// The protocols of GameLift.
const (
	jsonProtocol = "JSON"
	cborProtocol = "CBOR"
)

// call calls an operation of GameLift with raw members. ok is whether it succeeded.
func (w *world) call(keys aws.Credentials, protocol, operation string, in object) (r refusal, out []byte) {
	w.Helper()
	decode := json.Unmarshal
	var a answer
	if protocol == cborProtocol {
		body, err := cbor.Marshal(in)
		if err != nil {
			w.Fatal(err)
		}
		decode = cbor.Unmarshal
		a = w.send("POST", "/service/GameLift/operation/"+operation, string(body),
			header("Content-Type", "application/cbor"), header("Smithy-Protocol", "rpc-v2-cbor"),
			w.Signed(keys, "gamelift"))
	} else {
		a = w.send("POST", "/", in, header("Content-Type", "application/x-amz-json-1.1"),
			header("X-Amz-Target", "GameLift."+operation), w.Signed(keys, "gamelift"))
	}
	if a.status == http.StatusOK {
		return refusal{status: a.status}, a.body
	}
	var e struct {
		Type    string `json:"__type"`
		Message string
	}
	if err := decode(a.body, &e); err != nil {
		w.Fatalf("%s of %s: %v in %q", protocol, operation, err, a.body)
	}
	return refusal{a.status, e.Type[strings.LastIndexByte(e.Type, '#')+1:], e.Message}, a.body
}

// musterBinary returns the path of the built command.
func musterBinary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// write writes a file of a test.
func write(t testing.TB, text string, path ...string) (file string) {
	t.Helper()
	file = filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func readFile(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
