package gateway

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

func TestPythonTime(t *testing.T) {
	for want, at := range map[string]time.Time{
		`"2025-12-17 10:48:17.441000+00:00"`: time.Date(2025, 12, 17, 10, 48, 17, 441e6, time.UTC),
		`"2025-12-17 10:48:17+00:00"`:        time.Date(2025, 12, 17, 11, 48, 17, 0, time.FixedZone("", 3600)),
		`"2025-12-17 10:48:17.000001+00:00"`: time.Date(2025, 12, 17, 10, 48, 17, 1999, time.UTC),
		`"2025-01-02 00:00:00+00:00"`:        time.Date(2025, 1, 2, 0, 0, 0, 999, time.UTC),
	} {
		got, err := json.Marshal(pythonTime{at})
		if err != nil || string(got) != want {
			t.Errorf("%v is %s (%v), want %s", at, got, err, want)
		}
	}
}

// The objects of the older interface have all the members of the API's, with the
// values that these have.
func TestObjectsAreTheAPIs(t *testing.T) {
	var p wire.PlayerSession
	var s wire.GameSession
	fill(reflect.ValueOf(&p).Elem())
	fill(reflect.ValueOf(&s).Elem())
	c := &call{g: &Gateway{}}
	same(t, p, c.playerObject(&p))
	same(t, s, c.sessionObject(&s))
	for _, o := range []any{c.playerObject(&wire.PlayerSession{}), c.sessionObject(&wire.GameSession{})} {
		text, _ := json.Marshal(o)
		if strings.Contains(string(text), "null") {
			t.Errorf("%s holds null", text)
		}
	}
}

// TestObjectTexts holds order and omission of members to the bytes.
func TestObjectTexts(t *testing.T) {
	full, minimal := &call{g: &Gateway{}}, &call{g: &Gateway{fields: FieldsMinimal}}
	at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &wire.GameSession{
		GameSessionId: "id", Name: "<n>", FleetId: "f", CreationTime: at,
		MaximumPlayerSessionCount: wire.Some[int32](4),
		Status:                    wire.GameSessionStatusActive, Port: wire.Some[int32](0), Location: "l",
	}
	p := &wire.PlayerSession{
		PlayerSessionId: "p", GameSessionId: "id", CreationTime: at, DnsName: "d", Port: wire.Some[int32](7777),
	}
	for want, object := range map[string]any{
		`{"GameSessionId":"id","Name":"\u003cn\u003e","FleetId":"f","CreationTime":"2025-01-01 00:00:00+00:00",` +
			`"CurrentPlayerSessionCount":0,"MaximumPlayerSessionCount":4,"Status":"ACTIVE","GameProperties":[],` +
			`"Location":"l"}`: full.sessionObject(s),
		`{"GameSessionId":"id","Name":"\u003cn\u003e","CurrentPlayerSessionCount":0,` +
			`"MaximumPlayerSessionCount":4}`: minimal.sessionObject(s),
		`{"PlayerSessionId":"p","PlayerId":"","GameSessionId":"id","CreationTime":"2025-01-01 00:00:00+00:00",` +
			`"IpAddress":"","DnsName":"d","Port":7777}`: full.playerObject(p),
	} {
		if got, err := json.Marshal(object); err != nil || string(got) != want {
			t.Errorf("%s (%v), want %s", got, err, want)
		}
	}
}

// fill gives every field a value of its own.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch f.Interface().(type) {
		case time.Time:
			f.Set(reflect.ValueOf(time.Date(2025, 1, 1, 0, 0, i, 0, time.UTC)))
		case wire.Opt[int32]:
			f.Set(reflect.ValueOf(wire.Some(int32(i + 1))))
		case []wire.GameProperty:
			f.Set(reflect.ValueOf([]wire.GameProperty{{Key: "k", Value: "v"}}))
		default:
			f.SetString(v.Type().Field(i).Name)
		}
	}
}

func same(t *testing.T, api, shown any) {
	t.Helper()
	text, _ := json.Marshal(shown)
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(api)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		var want any = name
		switch x := v.Field(i).Interface().(type) {
		case time.Time:
			want = x.Format("2006-01-02 15:04:05") + "+00:00"
		case wire.Opt[int32]:
			want = float64(x.Or(0))
		case []wire.GameProperty:
			want = []any{map[string]any{"Key": "k", "Value": "v"}}
		}
		if !reflect.DeepEqual(got[name], want) {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) != 0 {
		t.Errorf("not the API's: %v", got)
	}
}

func TestErrorsNameNestedMembers(t *testing.T) {
	for text, want := range map[string]string{
		`{"o":{"id":""}}`:                            "o.id must have 1 to 3 characters.",
		`{"o":[]}`:                                   "o must be a JSON object.",
		`{"o":{"id":"a","id":"b"}}`:                  "o.id appears twice.",
		`{"o":{"id":"a"},"o":1}`:                     "o appears twice.",
		`{"` + strings.Repeat("k", 99) + `":tru}`:    strings.Repeat("k", 64) + "… is not valid JSON.",
		`{"o":{"id":"a"},"l":[{"id":"b"},{"id":1}]}`: "l[1].id must be a text.",
		`{"o":{"id":"a"},"l":[1,2,3]}`:               "l must have 1 to 2 elements.",
		`{"o":{"id":"a"},"l":"x"}`:                   "l must be a list.",
	} {
		o, err := parseObject([]byte(text))
		if err == nil {
			o.object("o").text("id", 1, 3)
			for i, e := range o.list("l", 1, 2) {
				o.objectOf(element("l", i), e).text("id", 1, 3)
			}
			err = *o.problem
		}
		if err == nil || asFailure(err).text != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
