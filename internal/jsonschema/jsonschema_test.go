package jsonschema

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"
	"time"
)

type colour string

type tree struct {
	Left  *tree `json:"left,omitempty"`
	Right *tree `json:"right"`
}

type Base struct {
	ID   string `json:"id"`
	Time bool   `json:"time"`
}

type everything struct {
	*Base
	Time    time.Time         `json:"time"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Address netip.Addr        `json:"address"`
	Colour  colour            `json:"colour"`
	Names   []string          `json:"names"`
	Few     []string          `json:"few,omitempty"`
	Ends    *time.Time        `json:"ends,omitempty"`
	Map     map[string]uint16 `json:"map,omitzero"`
	Bytes   []byte            `json:"bytes,omitempty"`
	Big     int64             `json:"big,string"`
	Share   float64           `json:"share"`
	Inner   struct{ A bool }  `json:"inner"`
	Tree    tree              `json:"tree"`
	Any     any               `json:"any"`
	Hidden  string            `json:"-"`
	_       string
}

func TestOf(t *testing.T) {
	d := Definitions{Prefix: "#/", ByName: map[string]*Schema{}}
	if ref := d.Of(reflect.TypeFor[*everything]()); ref.Ref != "#/Everything" {
		t.Errorf("reference %+v", ref)
	}
	for _, c := range []struct{ name, want string }{
		{"Tree", `{"type":"object","properties":{"left":{"$ref":"#/Tree"},` +
			`"right":{"anyOf":[{"$ref":"#/Tree"},{"type":"null"}]}},"required":["right"]}`},
		{"Everything", `{"type":"object","properties":{"address":{"type":"string"},"any":{},` +
			`"big":{"type":"string"},"bytes":{"type":"string","contentEncoding":"base64"},` +
			`"colour":{"type":"string"},"ends":{"type":"string","format":"date-time"},` +
			`"few":{"type":"array","items":{"type":"string"}},"id":{"type":"string"},` +
			`"inner":{"type":"object","properties":{"A":{"type":"boolean"}},"required":["A"]},` +
			`"map":{"type":"object","additionalProperties":{"type":"integer","minimum":0}},` +
			`"names":{"type":["array","null"],"items":{"type":"string"}},"raw":{},"share":{"type":"number"},` +
			`"time":{"type":"string","format":"date-time"},"tree":{"$ref":"#/Tree"}},` +
			`"required":["address","any","big","colour","id","inner","names","share","time","tree"]}`},
	} {
		if have, err := json.Marshal(d.ByName[c.name]); err != nil || string(have) != c.want {
			t.Errorf("%s: %s, want %s; %v", c.name, have, c.want, err)
		}
	}
	if len(d.ByName) != 2 {
		t.Errorf("definitions: %v", d.ByName)
	}
}

func TestOfInput(t *testing.T) {
	d := Definitions{ByName: map[string]*Schema{"Tree": {}, "TreeBody": {}}, Input: true}
	ref := d.Of(reflect.TypeFor[tree]())
	s := d.ByName[ref.Ref]
	if ref.Ref != "JsonschemaTreeBody" || s == nil || s.Required != nil || len(s.Properties["left"].AnyOf) != 2 {
		t.Errorf("%+v: %+v", ref, s)
	}
}
