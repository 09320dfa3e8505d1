package event

import (
	"errors"
	"reflect"
	"testing"
)

type asked struct {
	Name string `cbor:"1,keyasint,omitzero"`
	List []int  `cbor:"2,keyasint,omitzero"`
}

func TestValues(t *testing.T) {
	set := NewSet([]Entry{{Number: 300, Type: (*asked)(nil)}})
	for name, c := range map[string]struct {
		v    any
		data string
		want *asked
	}{
		"value":      {asked{Name: "a"}, "\x82\x19\x01\x2c\xa1\x01\x61a", &asked{Name: "a"}},
		"pointer":    {&asked{Name: "a"}, "\x82\x19\x01\x2c\xa1\x01\x61a", &asked{Name: "a"}},
		"empty list": {asked{List: []int{}}, "\x82\x19\x01\x2c\xa1\x02\x80", &asked{List: []int{}}},
		"nil":        {(*asked)(nil), "\x82\x19\x01\x2c\xf6", nil},
	} {
		data, err := set.AppendValue([]byte("x"), c.v)
		if err != nil || string(data) != "x"+c.data {
			t.Errorf("%s is %x, %v", name, data, err)
		}
		got, rest, err := set.NextValue([]byte(c.data + "rest"))
		if err != nil || string(rest) != "rest" || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s is read as %+v, %q, %v", name, got, rest, err)
		}
		if v, ok := Deref(got); ok != (c.want != nil) || ok && !reflect.DeepEqual(v, *c.want) {
			t.Errorf("%s points to %+v, %v", name, v, ok)
		}
	}
	for _, v := range []any{nil, 5, struct{}{}, &struct{}{}} {
		if data, err := set.AppendValue(nil, v); err == nil {
			t.Errorf("%v is %x", v, data)
		}
	}
	for data, unknown := range map[string]bool{"": false, "\x83\x05\xa0\xa0": false, "\x82": false, "\x82\x61a": false,
		"\x82\x05\xa0": true, "\x82\x19\x01\x2c": false, "\x82\x19\x01\x2c\x05": false} {
		if v, _, err := set.NextValue([]byte(data)); err == nil || errors.Is(err, ErrUnknown) != unknown {
			t.Errorf("%x is read as %v, %v", data, v, err)
		}
	}
}
