package catalog

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestAccessKeyCommands(t *testing.T) {
	put := PutAccessKey{ID: "AKIA1", SealedSecret: []byte{1, 2}, Name: "first", Created: t0 - day}
	was := &AccessKeyPut{ID: "AKIA1", SealedSecret: []byte{1, 2}, Name: "first", Created: t0 - day}
	play(t, []scene{
		{name: "put", when: put, then: []Event{was}},
		{name: "put over", given: []Event{&AccessKeyPut{ID: "AKIA1"}}, when: put, then: []Event{was}},
		{name: "delete", given: []Event{was}, when: DeleteAccessKey{"AKIA1"},
			then: []Event{&AccessKeyDeleted{"AKIA1"}}},
		{name: "delete unknown", when: DeleteAccessKey{"AKIA1"}, fault: fault.NotFound,
			text: "Access key AKIA1 not found"},
	})
}

func TestAccessKeys(t *testing.T) {
	s := New(DefaultLimits())
	secret := []byte{1, 2, 3}
	do(t, s, t0, PutAccessKey{ID: "AKIA1", SealedSecret: secret})
	do(t, s, t0, PutAccessKey{ID: "AKIA2", SealedSecret: secret})
	secret[0] = 9
	if k, ok := s.AccessKey("AKIA1"); !ok || !bytes.Equal(k.SealedSecret, []byte{1, 2, 3}) {
		t.Errorf("key %v %v", k, ok)
	}
	if keys, more := s.AccessKeys("", 1); len(keys) != 1 || keys[0].ID != "AKIA1" || !more {
		t.Errorf("got %v, more %v", keys, more)
	}
	do(t, s, t0, DeleteAccessKey{"AKIA1"})
	if _, ok := s.AccessKey("AKIA1"); ok {
		t.Error("the key is still there")
	}
}

func TestOwnedAccessKeys(t *testing.T) {
	ada, bob := userMade("ada"), userMade("bob")
	put := PutAccessKey{ID: "AKIA1", SealedSecret: []byte{1}, Name: "laptop", Created: t0, Owner: "ada", Inactive: true,
		Expires: t0 + day, Policies: []string{"ReadOnly", "Fleets", "Fleets"}, Document: "{}",
		Stored: []string{"Fleets"}}
	was := &AccessKeyPut{ID: "AKIA1", SealedSecret: []byte{1}, Name: "laptop", Created: t0, Owner: "ada",
		Inactive: true,
		Expires:  t0 + day, Policies: []string{"Fleets", "ReadOnly"}, Document: "{}"}
	simple := &AccessKeyPut{ID: "AKIA1", Name: "laptop", Owner: "ada"}
	key := func(id, name, owner string) Event { return &AccessKeyPut{ID: id, Name: name, Owner: owner} }
	play(t, []scene{
		{name: "put", given: []Event{ada, policyMade("Fleets")}, when: put, then: []Event{was}},
		{name: "of nobody", given: []Event{policyMade("Fleets")}, when: put, fault: fault.NotFound,
			text: "User ada not found"},
		{name: "with an unknown policy", given: []Event{ada}, when: put, fault: fault.NotFound,
			text: "Policy Fleets not found"},
		{name: "with a long document", given: []Event{ada},
			when: PutAccessKey{ID: "AKIA1", Document: strings.Repeat("x", 21)}, fault: fault.LimitExceeded},
		{name: "with a long name", given: []Event{ada},
			when:  PutAccessKey{ID: "AKIA1", Owner: "ada", Name: strings.Repeat("x", 1001)},
			fault: fault.InvalidRequest},
		{name: "the third", given: []Event{ada, key("AKIA2", "", "ada"), key("AKIA3", "", "ada")},
			when: PutAccessKey{ID: "AKIA1", Owner: "ada"}, fault: fault.LimitExceeded,
			text: "The limit of 2 access keys of a user is reached"},
		{name: "the second again", given: []Event{ada, key("AKIA1", "", "ada"), key("AKIA3", "", "ada")},
			when: PutAccessKey{ID: "AKIA1", Owner: "ada"}, then: []Event{key("AKIA1", "", "ada")}},
		{name: "the root's third", given: []Event{key("AKIA2", "", ""), key("AKIA3", "", "")},
			when: PutAccessKey{ID: "AKIA1"}, then: []Event{key("AKIA1", "", "")}},
		{name: "another owner", given: []Event{ada, simple}, when: PutAccessKey{ID: "AKIA1", Name: "laptop"},
			fault: fault.Conflict, text: "Access key AKIA1 has another owner"},
		{name: "the name of another user's", given: []Event{ada, bob, key("AKIA2", "laptop", "bob")},
			when: PutAccessKey{ID: "AKIA1", Name: "laptop", Owner: "ada"}, then: []Event{simple}},
		{name: "the name of an own one", given: []Event{ada, key("AKIA2", "laptop", "ada")},
			when: PutAccessKey{ID: "AKIA1", Name: "laptop", Owner: "ada"}, fault: fault.Conflict,
			text: "An access key with the name laptop exists"},
		{name: "the name of the root's", given: []Event{ada, key("AKIA2", "root", "")},
			when: PutAccessKey{ID: "AKIA1", Name: "root", Owner: "ada"}, fault: fault.Conflict},
		{name: "the root's with the name of a user's", given: []Event{ada, simple},
			when: PutAccessKey{ID: "AKIA2", Name: "laptop"}, fault: fault.Conflict},

		{name: "replace", given: []Event{ada, simple, key("AKIA3", "", "ada")},
			when: PutAccessKey{ID: "AKIA2", Name: "laptop", Owner: "ada", Replaces: "AKIA1"},
			then: []Event{&AccessKeyDeleted{"AKIA1"}, key("AKIA2", "laptop", "ada")}},
		{name: "replace the root's", given: []Event{key("AKIA1", "root", "")},
			when: PutAccessKey{ID: "AKIA2", Name: "root", Replaces: "AKIA1"},
			then: []Event{&AccessKeyDeleted{"AKIA1"}, key("AKIA2", "root", "")}},
		{name: "replace one that was replaced", given: []Event{key("AKIA2", "root", "")},
			when:  PutAccessKey{ID: "AKIA3", Name: "root", Replaces: "AKIA1"},
			fault: fault.NotFound, text: "Access key AKIA1 not found"},
		{name: "replace another user's", given: []Event{ada, bob, simple},
			when:  PutAccessKey{ID: "AKIA2", Owner: "bob", Replaces: "AKIA1"},
			fault: fault.Conflict, text: "Access key AKIA1 has another owner"},
		{name: "replace the root's by a user's", given: []Event{ada, key("AKIA1", "", "")},
			when:  PutAccessKey{ID: "AKIA2", Owner: "ada", Replaces: "AKIA1"},
			fault: fault.Conflict, text: "Access key AKIA1 has another owner"},
		{name: "replace itself", given: []Event{ada, simple},
			when:  PutAccessKey{ID: "AKIA1", Owner: "ada", Replaces: "AKIA1"},
			fault: fault.InvalidRequest, text: "Replaces must be another key than ID"},
		{name: "replace with the name of a third", given: []Event{ada, simple, key("AKIA3", "server", "ada")},
			when:  PutAccessKey{ID: "AKIA2", Name: "server", Owner: "ada", Replaces: "AKIA1"},
			fault: fault.Conflict, text: "An access key with the name server exists"},

		{name: "switch off", given: []Event{ada, simple},
			when: UpdateAccessKey{ID: "AKIA1", Inactive: true, Expires: t0 + day},
			then: []Event{&AccessKeyUpdated{"AKIA1", true, t0 + day}}},
		{name: "switch on", given: []Event{ada, was}, when: UpdateAccessKey{ID: "AKIA1"},
			then: []Event{&AccessKeyUpdated{ID: "AKIA1"}}},
		{name: "another end", given: []Event{ada, was}, when: UpdateAccessKey{ID: "AKIA1", Expires: t0 + 1,
			KeepState: true}, then: []Event{&AccessKeyUpdated{"AKIA1", true, t0 + 1}}},
		{name: "switch on with the same end", given: []Event{ada, was}, when: UpdateAccessKey{ID: "AKIA1",
			KeepExpires: true}, then: []Event{&AccessKeyUpdated{"AKIA1", false, t0 + day}}},
		{name: "keep all", given: []Event{ada, was}, when: UpdateAccessKey{ID: "AKIA1", KeepState: true,
			KeepExpires: true}},
		{name: "nothing", given: []Event{ada, simple}, when: UpdateAccessKey{ID: "AKIA1"}},
		{name: "unknown", when: UpdateAccessKey{ID: "AKIA1"}, fault: fault.NotFound,
			text: "Access key AKIA1 not found"},
	})
	s := given(t, DefaultLimits(), ada, was, key("AKIA2", "", ""), &AccessKeyUpdated{ID: "AKIA1"},
		&AccessKeyUpdated{ID: "AKIA9"})
	want := &AccessKey{ID: "AKIA1", SealedSecret: []byte{1}, Name: "laptop", Created: t0, Owner: "ada",
		Policies: []string{"Fleets", "ReadOnly"}, Document: "{}"}
	if keys := s.KeysOf("ada"); len(keys) != 1 || !reflect.DeepEqual(keys[0], want) || len(s.KeysOf("")) != 1 {
		t.Errorf("keys %+v", keys)
	}
}

func TestPutOfAnAccessKey(t *testing.T) {
	k := AccessKey{"AKIA1", []byte{1}, "laptop", t0, "ada", true, t0 + day, []string{"Fleets", "ReadOnly"}, "{}"}
	c := k.Put([]string{"Fleets"})
	if !reflect.DeepEqual(c.key(), k) || len(c.Stored) != 1 || c.FeatureLevel() != AccessLevel {
		t.Errorf("%+v is put as %+v", k, c)
	}
}

// Bytes of releases before AccessLevel are the keys of the root, as they were.
func TestEarlierAccessKeys(t *testing.T) {
	for _, data := range []string{
		"83182300a4016b414b49414558414d504c4502440001feff03696669727374206b6579041b000001977420dc00",
		"83183900a4016b414b49414558414d504c4502440001feff03696669727374206b6579041b000001977420dc00",
	} {
		encoded, err := hex.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		s := New(DefaultLimits())
		feed(s, encoded)
		want := &AccessKey{ID: "AKIAEXAMPLE", SealedSecret: []byte{0, 1, 254, 255}, Name: "first key", Created: t0}
		if k, ok := s.AccessKey("AKIAEXAMPLE"); !ok || !reflect.DeepEqual(k, want) || len(s.KeysOf("")) != 1 {
			t.Errorf("%s is read as %+v", data, k)
		}
		if again := encode(t, s); !bytes.Equal(again[4:], encoded[4:]) { // behind the number of the type
			t.Errorf("%s is written as %x", data, again)
		}
	}
}
