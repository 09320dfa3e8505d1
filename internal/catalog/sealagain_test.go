package catalog

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestSealAgain(t *testing.T) {
	key := &AccessKeyPut{ID: "AKIA1", SealedSecret: []byte{1}, Owner: "ada", Inactive: true, Expires: t0 + day}
	provider := &ProviderPut{Provider{Name: "dex", Issuer: "https://i", SealedSecret: []byte{2}, Keys: "{}"}}
	all := []Event{userMade("ada"), key, provider}
	invalid := func(name string, c SealAgain) scene {
		return scene{name: name, given: all, when: c, fault: fault.InvalidRequest,
			text: "Name an access key or a provider, and its old and new sealed secret"}
	}
	play(t, []scene{
		{name: "a key", given: all, when: SealAgain{AccessKey: "AKIA1", From: []byte{1}, To: []byte{9}},
			then: []Event{&SealedAgain{AccessKey: "AKIA1", Sealed: []byte{9}}}},
		{name: "a provider", given: all, when: SealAgain{Provider: "dex", From: []byte{2}, To: []byte{9}},
			then: []Event{&SealedAgain{Provider: "dex", Sealed: []byte{9}}}},
		{name: "to the same", given: all, when: SealAgain{Provider: "dex", From: []byte{2}, To: []byte{2}}},
		{name: "a changed key", given: all, when: SealAgain{AccessKey: "AKIA1", From: []byte{7}, To: []byte{9}}},
		{name: "a changed provider", given: all, when: SealAgain{Provider: "dex", From: []byte{7}, To: []byte{9}}},
		{name: "a deleted key", when: SealAgain{AccessKey: "AKIA1", From: []byte{1}, To: []byte{9}}},
		{name: "a deleted provider", when: SealAgain{Provider: "dex", From: []byte{2}, To: []byte{9}}},
		invalid("nothing", SealAgain{From: []byte{1}, To: []byte{9}}),
		invalid("both", SealAgain{AccessKey: "AKIA1", Provider: "dex", From: []byte{1}, To: []byte{9}}),
		invalid("from nothing", SealAgain{AccessKey: "AKIA1", To: []byte{9}}),
		invalid("to nothing", SealAgain{AccessKey: "AKIA1", From: []byte{1}}),
	})
	s := given(t, DefaultLimits(), all...)
	to := []byte{9}
	do(t, s, t0, SealAgain{AccessKey: "AKIA1", From: []byte{1}, To: to})
	do(t, s, t0, SealAgain{Provider: "dex", From: []byte{2}, To: to})
	to[0] = 8 // the caller's
	wantKey, wantProvider := AccessKey(*key), provider.Provider
	wantKey.SealedSecret, wantProvider.SealedSecret = []byte{9}, []byte{9}
	if k, _ := s.AccessKey("AKIA1"); !reflect.DeepEqual(*k, wantKey) || s.KeysOf("ada")[0] != k {
		t.Errorf("the key is %+v", k)
	}
	if p, _ := s.Provider("dex"); !reflect.DeepEqual(*p, wantProvider) {
		t.Errorf("the provider is %+v", p)
	}
	if !bytes.Equal(key.SealedSecret, []byte{1}) || !bytes.Equal(provider.SealedSecret, []byte{2}) {
		t.Error("the earlier records have changed")
	}
}
