package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A peer stands in for the service below the real client: it keeps the body of the
// request and answers with the one it was given.
type peer struct {
	request []byte
	status  int
	answer  []byte
}

// Do is what the client sends requests with.
func (p *peer) Do(r *http.Request) (*http.Response, error) {
	var err error
	if p.request, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	header := http.Header{"Smithy-Protocol": {"rpc-v2-cbor"}, "Content-Type": {"application/cbor"}}
	return &http.Response{StatusCode: p.status, Header: header, Body: io.NopCloser(bytes.NewReader(p.answer)),
		Request: r}, nil
}

// client is the real client, connected to p.
func client(p gamelift.HTTPClient) *gamelift.Client {
	return gamelift.New(gamelift.Options{
		Region:       "eu-central-1",
		BaseEndpoint: aws.String("http://127.0.0.1"),
		HTTPClient:   p,
		Retryer:      aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		}),
	})
}

// call calls an operation of the client by its name. in is the client's type.
func call(c *gamelift.Client, operation string, in reflect.Value) (out reflect.Value, err error) {
	results := reflect.ValueOf(c).MethodByName(operation).Call([]reflect.Value{reflect.ValueOf(context.Background()),
		in})
	err, _ = results[1].Interface().(error)
	return results[0], err
}

// inputType is the client's type of an operation's input.
func inputType(t *testing.T, operation string) reflect.Type {
	t.Helper()
	method, ok := reflect.TypeFor[*gamelift.Client]().MethodByName(operation)
	if !ok {
		t.Fatalf("the client has no operation %s", operation)
	}
	return method.Type.In(2).Elem()
}

// TestClientReadsOutputs has the real client make a request of each operation and
// read an answer to it: what it wrote and read must be what we read and wrote.
func TestClientReadsOutputs(t *testing.T) {
	for _, info := range Operations {
		t.Run(info.Name, func(t *testing.T) {
			ours := shapesOf(t, info)
			for seed := range uint64(8) {
				m := &maker{Rand: rand.New(rand.NewPCG(seed, 2)), full: true}
				theirs := reflect.New(inputType(t, info.Name))
				m.fill(ours.input)
				toClient(theirs.Elem(), reflect.ValueOf(ours.input).Elem())

				p := &peer{status: http.StatusOK}
				if ours.output != nil {
					m.fill(ours.output)
					p.answer = written(CBOR, ours.output)
				}
				out, err := call(client(p), info.Name, theirs)
				if err != nil {
					t.Fatalf("%v\nanswer %x", err, p.answer)
				}
				got := shapes[ours.inputName]()
				if f := readBody(CBOR, p.request, got); f != nil {
					t.Fatalf("%v\nrequest %x", f, p.request)
				}
				equalShapes(t, "request", got, theirs.Elem())
				if ours.output != nil {
					equalShapes(t, "answer", ours.output, out.Elem())
				}
			}
		})
	}
}

// TestClientKnowsErrors has the real client read each exception of each operation,
// and errors that no model lists.
func TestClientKnowsErrors(t *testing.T) {
	others := []string{string(fault.Throttling), string(fault.AccessDenied), string(fault.Serialization),
		string(fault.UnknownOperation)}
	for _, info := range Operations {
		for _, name := range append(others, info.Errors...) {
			f := fault.New(fault.Kind(name), "why %s failed", info.Name)
			modelled := info.Models(f.Kind)
			p := &peer{status: f.Kind.HTTPStatus(), answer: AppendError(nil, CBOR, f, modelled)}
			in := reflect.New(inputType(t, info.Name))
			ours := shapesOf(t, info)
			(&maker{Rand: rand.New(rand.NewPCG(1, 2)), full: true}).fill(ours.input)
			toClient(in.Elem(), reflect.ValueOf(ours.input).Elem())
			_, err := call(client(p), info.Name, in)
			api, ok := errors.AsType[apiError](err)
			if !ok || api.ErrorCode() != name || api.ErrorMessage() != f.Message {
				t.Errorf("%s %s: %v", info.Name, name, err)
				continue
			}
			if typed := reflect.TypeOf(api).Elem().Name() == name; modelled && !typed {
				t.Errorf("%s %s: the client made a %T", info.Name, name, api)
			}
		}
	}
}

// An apiError is an exception as the SDK returns it.
type apiError interface {
	error
	ErrorCode() string
	ErrorMessage() string
}

// A service answers the real client with handlers, as the door of the API does.
type service map[string]Handler

// Do serves a request.
func (s service) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	h, p := s[path.Base(r.URL.Path)], peer{status: http.StatusOK}
	if err := h.Serve(r.Context(), CBOR, body, &p.answer); err != nil {
		f := fault.Of(err)
		p.status, p.answer = f.Kind.HTTPStatus(), AppendError(nil, CBOR, f, h.Info.Models(f.Kind))
	}
	return p.Do(r.WithContext(context.Background()))
}

// TestClientThroughHandlers has the real client reserve places, make a mistake and
// be refused.
func TestClientThroughHandlers(t *testing.T) {
	ctx := context.Background()
	c := client(service{
		"CreatePlayerSessions": OpCreatePlayerSessions.Handle(func(
			_ context.Context, in *CreatePlayerSessionsInput,
		) (*CreatePlayerSessionsOutput, error) {
			out := new(CreatePlayerSessionsOutput)
			for _, id := range in.PlayerIds {
				out.PlayerSessions = append(out.PlayerSessions,
					PlayerSession{PlayerId: id, PlayerData: in.PlayerDataMap[id], Status: PlayerSessionStatusReserved})
			}
			return out, nil
		}),
		"DeleteFleet": OpDeleteFleet.Refuse(fault.InvalidFleetStatus, "still active"),
	})
	in := &gamelift.CreatePlayerSessionsInput{
		GameSessionId: aws.String("arn:aws:gamelift:eu-central-1::gamesession/fleet-1/gsess-1"),
		PlayerIds:     []string{"ada", "bob"}, PlayerDataMap: map[string]string{"bob": "blue"},
	}
	out, err := c.CreatePlayerSessions(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	if got := out.PlayerSessions; len(got) != 2 || *got[0].PlayerId != "ada" || got[0].PlayerData != nil ||
		*got[1].PlayerData != "blue" || got[1].Status != types.PlayerSessionStatusReserved {
		t.Errorf("%+v", got)
	}
	in.GameSessionId, in.PlayerIds = aws.String("not an id"), make([]string, 26)
	_, err = c.CreatePlayerSessions(ctx, in)
	invalid, ok := errors.AsType[*types.InvalidRequestException](err)
	if !ok || !strings.HasPrefix(invalid.ErrorMessage(), "28 validation errors detected: ") {
		t.Errorf("%v", err)
	}
	_, err = c.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: aws.String("fleet-1")})
	if refused, ok := errors.AsType[*types.InvalidFleetStatusException](err); !ok ||
		refused.ErrorMessage() != "still active" {
		t.Errorf("%v", err)
	}
}

// operationShapes is an operation's input and output without their types.
type operationShapes struct {
	inputName string
	input     shape
	output    shape // nil when there is none
}

// shapesOf finds the shapes of an operation by the names that the model gives them.
func shapesOf(t *testing.T, info *OperationInfo) operationShapes {
	t.Helper()
	for _, suffix := range [][2]string{{"Input", "Output"}, {"Request", "Response"}} {
		in, ok := shapes[info.Name+suffix[0]]
		if !ok {
			continue
		}
		s := operationShapes{inputName: info.Name + suffix[0], input: in()}
		if info.HasOutput {
			s.output = shapes[info.Name+suffix[1]]()
		}
		return s
	}
	t.Fatalf("no input for %s", info.Name)
	return operationShapes{}
}

// equalShapes compares a structure of ours with one of the client's, in the
// client's terms.
func equalShapes(t *testing.T, what string, ours shape, theirs reflect.Value) {
	t.Helper()
	want := reflect.New(theirs.Type()).Elem()
	toClient(want, reflect.ValueOf(ours).Elem())
	if m := theirs.FieldByName("ResultMetadata"); m.IsValid() {
		m.SetZero()
	}
	if d := difference(what, theirs, want); d != "" {
		t.Fatal(d)
	}
}

// difference finds the first member in which two values of the client's differ.
// The client reads an empty list as none, and times in the local zone.
func difference(path string, theirs, ours reflect.Value) string {
	if t, ok := theirs.Interface().(time.Time); ok && t.Equal(ours.Interface().(time.Time)) {
		return ""
	}
	switch theirs.Kind() {
	case reflect.Pointer:
		if !theirs.IsNil() && !ours.IsNil() {
			return difference(path, theirs.Elem(), ours.Elem())
		}
	case reflect.Struct:
		for i := range theirs.NumField() {
			if f := theirs.Type().Field(i); f.IsExported() {
				if d := difference(path+"."+f.Name, theirs.Field(i), ours.Field(i)); d != "" {
					return d
				}
			}
		}
		if theirs.Type() != reflect.TypeFor[time.Time]() {
			return ""
		}
	case reflect.Slice:
		if theirs.Len() == ours.Len() {
			for i := range theirs.Len() {
				if d := difference(fmt.Sprintf("%s[%d]", path, i), theirs.Index(i), ours.Index(i)); d != "" {
					return d
				}
			}
			return ""
		}
	case reflect.Map:
		if theirs.Len() == ours.Len() {
			for key, value := range theirs.Seq2() {
				other := ours.MapIndex(key)
				if !other.IsValid() {
					return fmt.Sprintf("%s: we have no %q", path, key)
				}
				if d := difference(fmt.Sprintf("%s[%q]", path, key), value, other); d != "" {
					return d
				}
			}
			return ""
		}
	}
	if reflect.DeepEqual(theirs.Interface(), ours.Interface()) {
		return ""
	}
	return fmt.Sprintf("%s: the client has %#v, we have %#v", path, theirs.Interface(), ours.Interface())
}

// toClient copies a value of ours into one of the client's, which has pointers
// where we have Opt, "" or the zero time. Members that the client does not know yet stay out.
func toClient(dst, src reflect.Value) {
	switch v := src.Interface().(type) {
	case Opt[int32]:
		copyOpt(dst, v)
		return
	case Opt[int64]:
		copyOpt(dst, v)
		return
	case Opt[float32]:
		copyOpt(dst, v)
		return
	case Opt[float64]:
		copyOpt(dst, v)
		return
	case Opt[bool]:
		copyOpt(dst, v)
		return
	case Opt[string]:
		copyOpt(dst, v)
		return
	case time.Time:
		if !v.IsZero() {
			dst.Set(reflect.ValueOf(&v))
		}
		return
	}
	switch src.Kind() {
	case reflect.String:
		if dst.Kind() == reflect.String {
			dst.SetString(src.String())
		} else if src.String() != "" {
			dst.Set(reflect.ValueOf(aws.String(src.String())))
		}
	case reflect.Pointer:
		if !src.IsNil() {
			dst.Set(reflect.New(dst.Type().Elem()))
			toClient(dst.Elem(), src.Elem())
		}
	case reflect.Struct:
		for i := range src.NumField() {
			if field := dst.FieldByName(src.Type().Field(i).Name); field.IsValid() {
				toClient(field, src.Field(i))
			}
		}
	case reflect.Slice:
		if !src.IsNil() {
			dst.Set(reflect.MakeSlice(dst.Type(), src.Len(), src.Len()))
			for i := range src.Len() {
				toClient(dst.Index(i), src.Index(i))
			}
		}
	case reflect.Map:
		if !src.IsNil() {
			dst.Set(reflect.MakeMap(dst.Type()))
			for key, value := range src.Seq2() {
				e := reflect.New(dst.Type().Elem()).Elem()
				toClient(e, value)
				dst.SetMapIndex(key, e)
			}
		}
	default:
		dst.Set(src)
	}
}

func copyOpt[T comparable](dst reflect.Value, o Opt[T]) {
	v, ok := o.Get()
	switch {
	case !ok:
	case dst.Kind() == reflect.Pointer:
		dst.Set(reflect.ValueOf(&v))
	default:
		dst.Set(reflect.ValueOf(v))
	}
}
