package access

import (
	"reflect"
	"testing"
)

func TestSealed(t *testing.T) {
	full := sealed{User: "ada", Role: "dev", RoleID: "AROA1", Arn: "arn:a", SessionName: "ci", SignIn: "s",
		Key: "AKIA1", Policy: "{}", Source: "src", UserID: "AIDA1", Secret: "x\x00y",
		Issued: 1, Expires: 1 << 41, Until: 1<<63 - 1,
		Assigned: true, Policies: []string{"A", ""}, Tags: map[string]string{"a": "1", "": "2"}}
	for _, in := range []sealed{{}, full, {Role: "game", Instance: "i-1"}, {Tags: full.Tags, Instance: "i-1"}} {
		var out sealed
		if body := in.encode(); !out.decode(body) || !reflect.DeepEqual(in, out) {
			t.Errorf("%+v became %+v", in, out)
		}
	}
	body := full.encode()
	for i := range body {
		if new(sealed).decode(body[:i]) {
			t.Errorf("the first %d bytes are read", i)
		}
	}
	if new(sealed).decode(append(body, 0)) {
		t.Error("more than the encoding is read")
	}
}

func FuzzSealed(f *testing.F) {
	f.Add((&sealed{User: "ada", Policies: []string{"A"}, Tags: map[string]string{"a": "1"}}).encode())
	f.Fuzz(func(t *testing.T, body []byte) {
		var in, out sealed
		if !in.decode(body) {
			return
		}
		if again := in.encode(); !out.decode(again) || !reflect.DeepEqual(in, out) {
			t.Errorf("%+v became %+v", in, out)
		}
	})
}
