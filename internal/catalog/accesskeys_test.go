package catalog

import (
	"bytes"
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
