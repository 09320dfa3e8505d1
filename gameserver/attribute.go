package gameserver

import (
	"encoding/json"
	"fmt"
)

// An AttributeType is the type of an AttributeValue, by its name on the wire.
type AttributeType string

// The types.
const (
	AttributeString          AttributeType = "STRING"
	AttributeDouble          AttributeType = "DOUBLE"
	AttributeStringList      AttributeType = "STRING_LIST"
	AttributeStringDoubleMap AttributeType = "STRING_DOUBLE_MAP"
)

// An AttributeValue is one attribute of a player for the matchmaker: a value of the type that Type names, in the field
// of that type; the others are not used. The zero value is of no type, and is refused.
type AttributeValue struct {
	Type AttributeType
	S    string             // of AttributeString
	N    float64            // of AttributeDouble; finite
	SL   []string           // of AttributeStringList
	SDM  map[string]float64 // of AttributeStringDoubleMap; finite
}

// StringAttribute makes an attribute that is a text.
func StringAttribute(s string) AttributeValue { return AttributeValue{Type: AttributeString, S: s} }

// DoubleAttribute makes an attribute that is a number.
func DoubleAttribute(n float64) AttributeValue { return AttributeValue{Type: AttributeDouble, N: n} }

// StringListAttribute makes an attribute that is a list of texts. It keeps the slice.
func StringListAttribute(list ...string) AttributeValue {
	return AttributeValue{Type: AttributeStringList, SL: list}
}

// StringDoubleMapAttribute makes an attribute that is a number for each of some texts. It keeps the map.
func StringDoubleMapAttribute(m map[string]float64) AttributeValue {
	return AttributeValue{Type: AttributeStringDoubleMap, SDM: m}
}

// MarshalJSON writes the attribute as the server SDK's messages have it: the type and the one value, which is left out
// when it is empty, unless it is a number. Source: server SDK 5, Go edition, model.AttributeValue.
func (a AttributeValue) MarshalJSON() ([]byte, error) {
	wire := struct {
		AttrType AttributeType
		N        *float64           `json:",omitempty"`
		S        string             `json:",omitempty"`
		SL       []string           `json:",omitempty"`
		SDM      map[string]float64 `json:",omitempty"`
	}{AttrType: a.Type}
	switch a.Type {
	case AttributeString:
		wire.S = a.S
	case AttributeDouble:
		wire.N = &a.N
	case AttributeStringList:
		wire.SL = a.SL
	case AttributeStringDoubleMap:
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
	case "S", string(AttributeString):
		a.Type, to = AttributeString, &a.S
	case "N", string(AttributeDouble):
		a.Type, to = AttributeDouble, &a.N
	case "SL", string(AttributeStringList):
		a.Type, to = AttributeStringList, &a.SL
	case "SDM", string(AttributeStringDoubleMap):
		a.Type, to = AttributeStringDoubleMap, &a.SDM
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
