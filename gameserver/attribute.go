package gameserver

import (
	"encoding/json"
	"fmt"
)

// An AttributeValue is one attribute of a player for the matchmaker: a value in the field that Type names; the others
// are not used. The zero value is of no type, and is refused.
type AttributeValue struct {
	Type string             // "S", "N", "SL" or "SDM"
	S    string             // a text
	N    float64            // a number; finite
	SL   []string           // a list of texts
	SDM  map[string]float64 // a number for each of some texts; finite
}

// wireTypes are the types by their names in messages.
var wireTypes = map[string]string{"S": "STRING", "N": "DOUBLE", "SL": "STRING_LIST", "SDM": "STRING_DOUBLE_MAP"}

// StringAttribute makes an attribute that is a text.
func StringAttribute(s string) AttributeValue { return AttributeValue{Type: "S", S: s} }

// DoubleAttribute makes an attribute that is a number.
func DoubleAttribute(n float64) AttributeValue { return AttributeValue{Type: "N", N: n} }

// StringListAttribute makes an attribute that is a list of texts. It keeps the slice.
func StringListAttribute(list ...string) AttributeValue {
	return AttributeValue{Type: "SL", SL: list}
}

// StringDoubleMapAttribute makes an attribute that is a number for each of some texts. It keeps the map.
func StringDoubleMapAttribute(m map[string]float64) AttributeValue {
	return AttributeValue{Type: "SDM", SDM: m}
}

// MarshalJSON writes the attribute as the server SDK's messages have it: the type and the one value, which is left out
// when it is empty, unless it is a number. Source: server SDK 5, Go edition, model.AttributeValue.
func (a AttributeValue) MarshalJSON() ([]byte, error) {
	wire := struct {
		AttrType string
		N        *float64           `json:",omitempty"`
		S        string             `json:",omitempty"`
		SL       []string           `json:",omitempty"`
		SDM      map[string]float64 `json:",omitempty"`
	}{AttrType: wireTypes[a.Type]}
	switch a.Type {
	case "S":
		wire.S = a.S
	case "N":
		wire.N = &a.N
	case "SL":
		wire.SL = a.SL
	case "SDM":
		wire.SDM = a.SDM
	default:
		return nil, fmt.Errorf("an attribute has the unknown type %q: make it with StringAttribute, DoubleAttribute, …",
			a.Type)
	}
	return json.Marshal(wire)
}

// parseAttribute reads a value of a type that is named in the long way, as the service does, or in the short way of the
// API: S, N, SL, SDM.
// Source: O3DE AWSGameLift Gem, matchmaking player attributes.
func parseAttribute(typeName string, value json.RawMessage) (AttributeValue, error) {
	var a AttributeValue
	var to any
	switch typeName {
	case "S", wireTypes["S"]:
		a.Type, to = "S", &a.S
	case "N", wireTypes["N"]:
		a.Type, to = "N", &a.N
	case "SL", wireTypes["SL"]:
		a.Type, to = "SL", &a.SL
	case "SDM", wireTypes["SDM"]:
		a.Type, to = "SDM", &a.SDM
	default:
		return AttributeValue{}, fmt.Errorf("unknown type %q", typeName)
	}
	if isNull(value) {
		return AttributeValue{}, fmt.Errorf("no value of type %s", a.Type)
	}
	if err := json.Unmarshal(value, to); err != nil {
		return AttributeValue{}, fmt.Errorf("no value of type %s: %w", a.Type, err)
	}
	return a, nil
}

// isNull reports whether a member of an object is absent or null.
func isNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }
