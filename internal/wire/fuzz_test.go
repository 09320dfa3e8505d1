package wire

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
)

// seedBodies adds an encoded structure of each kind, and bodies that are almost one.
func seedBodies(f *testing.F, encode func(shape) []byte, others ...string) {
	for i, name := range slices.Sorted(maps.Keys(shapes)) {
		if i%7 == 0 || name == "CreatePlayerSessionsOutput" || name == "CreateGameSessionInput" {
			v := shapes[name]()
			(&maker{Rand: rand.New(rand.NewPCG(uint64(i), 3))}).fill(v)
			f.Add(uint16(i), encode(v))
		}
	}
	for _, body := range others {
		f.Add(uint16(0), []byte(body))
	}
}

// fuzzed picks a kind of structure.
func fuzzed(kind uint16) (empty func() shape) {
	names := slices.Sorted(maps.Keys(shapes))
	return shapes[names[int(kind)%len(names)]]
}

// FuzzJSON reads any bytes as any structure: no panic, and what was read
// survives being written and read again.
func FuzzJSON(f *testing.F) {
	seedBodies(f, func(v shape) []byte { return written(JSON, v) }, ``, `null`, `[]`, `{"Name":"\ud800"}`,
		`{"a":{"b":[{}]}}`)
	f.Fuzz(func(t *testing.T, kind uint16, body []byte) {
		empty := fuzzed(kind)
		v := empty()
		if readBody(JSON, body, v) != nil {
			return
		}
		got, text := again(t, JSON, v, empty())
		if !same(got, v) {
			t.Fatalf("read %+v, then %+v from %s", v, got, text)
		}
	})
}

// FuzzCBOR does the same with CBOR, and has the AWS client read what was written.
func FuzzCBOR(f *testing.F) {
	seedBodies(f, func(v shape) []byte { return written(CBOR, v) }, "\xa0", "\xbf\xff", "\xf6",
		"\xbf\x7f\x61N\x63ame\xff\x61x\xff", "\xa1\x65Limit\xf9\x3c\x00", "\xa1\x61a\xc1\xd9\xd9\xf7\x9f\x5f\xff\xff")
	p := &peer{status: http.StatusOK}
	c := client(p)
	session := reflect.ValueOf(&gamelift.CreateGameSessionInput{MaximumPlayerSessionCount: new(int32)})
	players := reflect.ValueOf(&gamelift.CreatePlayerSessionsInput{GameSessionId: new(string), PlayerIds: []string{""}})
	f.Fuzz(func(t *testing.T, kind uint16, body []byte) {
		empty := fuzzed(kind)
		v := empty()
		if readBody(CBOR, body, v) != nil {
			return
		}
		got, written := again(t, CBOR, v, empty())
		if !same(got, v) {
			t.Fatalf("read %+v, then %+v from %x", v, got, written)
		}
		for operation, in := range map[string]reflect.Value{
			"CreateGameSession": session, "CreatePlayerSessions": players,
		} {
			if reflect.TypeOf(v) != reflect.TypeOf(shapes[operation+"Output"]()) {
				continue
			}
			p.answer = written
			out, err := call(c, operation, in)
			if err != nil {
				t.Fatalf("%v: %x", err, written)
			}
			equalShapes(t, "answer", v, out.Elem())
		}
	})
}

// same compares two structures; NaN equals NaN.
func same(a, b shape) bool {
	return reflect.DeepEqual(a, b) || bytes.Equal(written(CBOR, a), written(CBOR, b))
}
