package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestReadJSON reads members in all the forms that clients may choose.
func TestReadJSON(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	for _, c := range []struct {
		body string
		want shape
	}{
		{``, &ListLocationsInput{}},
		{` { } `, &ListLocationsInput{}},
		{`null`, &ListLocationsInput{}},
		{`{"Limit":5}`, &ListLocationsInput{Limit: Some(int32(5))}},
		{`{"Limit":-0}`, &ListLocationsInput{Limit: Some(int32(0))}},
		{`{"Limit":5.0}`, &ListLocationsInput{Limit: Some(int32(5))}},
		{`{"Limit":0.5e1}`, &ListLocationsInput{Limit: Some(int32(5))}},
		{`{"Limit":null}`, &ListLocationsInput{}},
		{`{"limit":5}`, &ListLocationsInput{}},
		{`{"Filters":[]}`, &ListLocationsInput{Filters: []LocationFilter{}}},
		{`{"Filters":[ "AWS" , "CUSTOM" ]}`, &ListLocationsInput{Filters: []LocationFilter{LocationFilterAws,
			LocationFilterCustom}}},
		{`{"Count":9223372036854775807}`, &Event{Count: Some(int64(math.MaxInt64))}},
		{`{"EventTime":1469498468}`, &Event{EventTime: at(1469498468000)}},
		{`{"EventTime":1469498468.057}`, &Event{EventTime: at(1469498468057)}},
		{`{"EventTime":1.469498468057E9}`, &Event{EventTime: at(1469498468057)}},
		{`{"EventTime":-0.5}`, &Event{EventTime: at(-500)}},
		{`{"N\u0061me":"\u00e9\n\ud83d\ude00\/"}`, &CreateBuildInput{Name: "é\n😀/"}},
		{`{"Name":"\ud83d"}`, &CreateBuildInput{Name: "\uFFFD"}},
		{`{"Name":"a","Name":"b"}`, &CreateBuildInput{Name: "b"}},
		{`{"ZipFile":"AP8="}`, &CreateScriptInput{ZipFile: []byte{0, 255}}},
		{`{"ZipFile":""}`, &CreateScriptInput{ZipFile: []byte{}}},
		{`{"N":"NaN","SDM":{"a":"Infinity","b":"-Infinity","c":null,"d":1e3}}`,
			&AttributeValue{N: Some(math.NaN()), SDM: map[string]float64{"a": math.Inf(1), "b": math.Inf(-1),
				"d": 1000}}},
	} {
		got := reflect.New(reflect.TypeOf(c.want).Elem()).Interface().(shape)
		if f := readBody(JSON, []byte(c.body), got); f != nil {
			t.Errorf("%s: %v", c.body, f)
		} else if !same(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.body, got, c.want)
		}
	}
	for _, c := range []struct {
		into       shape
		body, want string
	}{
		{&ListLocationsInput{}, `[]`, "the request body: expected an object, got an array"},
		{&ListLocationsInput{}, `{"Limit":"5"}`, "'limit': expected an integer of 32 bits, got a string"},
		{&ListLocationsInput{}, `{"Limit":5.5}`, "'limit': expected an integer of 32 bits, got 5.5"},
		{&ListLocationsInput{}, `{"Limit":2147483648}`, "got 2147483648"},
		{&ListLocationsInput{}, `{"Limit":1e400}`, "got 1e400"},
		{&ListLocationsInput{}, `{"Filters":["AWS",{}]}`, "'filters.2.member': expected a string, got an object"},
		{&ListLocationsInput{}, `{"Filters":{}}`, "'filters': expected an array, got an object"},
		{&Event{}, `{"Count":9223372036854775808}`, "an integer of 64 bits"},
		{&Event{}, `{"EventTime":"2016-07-26"}`, "'eventTime': expected a timestamp in epoch seconds, got a string"},
		{&Event{}, `{"EventTime":1e15}`, "'eventTime': expected a timestamp in epoch seconds, got 1e15"},
		{&CreateBuildInput{}, `{"Name":5}`, "'name': expected a string, got a number"},
		{&CreateBuildInput{}, `{"StorageLocation":true}`, "'storageLocation': expected an object, got a boolean"},
		{&CreateScriptInput{}, `{"ZipFile":"a"}`, "'zipFile': expected base64"},
		{&CreateScriptInput{}, `{"ZipFile":[1]}`, "'zipFile': expected base64 in a string, got an array"},
		{&AttributeValue{}, `{"N":"nan"}`, "'n': expected a number"},
		{&AttributeValue{}, `{"SDM":{"a":{}}}`, "'sDM.a.value': expected a number, got an object"},
		{&CreateMatchmakingConfigurationInput{}, `{"GameProperties":[[]]}`,
			"'gameProperties.1.member': expected an object, got an array"},
		{&CreateMatchmakingConfigurationInput{}, `{"AcceptanceRequired":1}`,
			"'acceptanceRequired': expected a boolean, got a number"},
	} {
		f := readBody(JSON, []byte(c.body), c.into)
		if f == nil || f.Kind != fault.Serialization || !strings.Contains(f.Message, c.want) {
			t.Errorf("%s: got %v, want %q", c.body, f, c.want)
		}
	}
}

// TestJSONText has another implementation read what is written.
func TestJSONText(t *testing.T) {
	m := &maker{Rand: rand.New(rand.NewPCG(9, 9))}
	texts := []string{"", "a\xffb\xc3", "\xf0\x9f\x98", "\x7f\u2028\u2029</script>"}
	for range 500 {
		texts = append(texts, m.text())
	}
	for _, want := range texts {
		var got string
		if err := json.Unmarshal(appendJSONText(nil, want), &got); err != nil {
			t.Fatalf("%q: %v", want, err)
		}
		if got != string([]rune(want)) { // which replaces what is not UTF-8
			t.Errorf("%q reads as %q", want, got)
		}
	}
}

// TestJSONFloat has another implementation read what is written.
func TestJSONFloat(t *testing.T) {
	m := &maker{Rand: rand.New(rand.NewPCG(9, 9))}
	for range 500 {
		want := m.float()
		if math.IsInf(want, 0) {
			continue
		}
		var got float64
		if err := json.Unmarshal(appendJSONFloat(nil, want, 64), &got); err != nil || got != want {
			t.Errorf("%v reads as %v (%v)", want, got, err)
		}
	}
}

// TestJSONTime holds timestamps to the form that AWS documents.
func TestJSONTime(t *testing.T) {
	for ms, want := range map[int64]string{
		1469498468057: "1469498468.057", 1469498468000: "1469498468", 1469498468500: "1469498468.500", 0: "0",
		7: "0.007", -7: "-0.007", -1500: "-1.500",
	} {
		if got := string(appendJSONTime(nil, time.UnixMilli(ms))); got != want {
			t.Errorf("%d: %s, want %s", ms, got, want)
		}
	}
}

// TestPlainLen holds that eight bytes at a time are judged as one at a time.
func TestPlainLen(t *testing.T) {
	for at := range 8 {
		for c := range 256 {
			for _, rest := range []byte{' ', '!', 'x', '~', 0x7f, 0, 0x80} {
				s := bytes.Repeat([]byte{rest}, 8)
				s[at] = byte(c)
				want := slices.IndexFunc(append(s, '"'), func(c byte) bool { return !plain[c] })
				if got := plainLen(s); got != want {
					t.Fatalf("plainLen(%q) = %d, want %d", s, got, want)
				}
			}
		}
	}
}
