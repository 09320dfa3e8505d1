package protocol

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

var (
	seed      = bytes.Repeat([]byte{1}, ed25519.SeedSize)
	challenge = Challenge{Nonce: bytes.Repeat([]byte{2}, NonceSize), Region: "us-west-2/0102"}
	offer     = Offer{1500, 2048, "192.0.2.7", "box.example.com", 20000, 29999, "v1", "linux", "amd64",
		"/var/lib/muster/i"}
)

func signed(c Challenge, name string) *Join {
	key := ed25519.NewKeyFromSeed(seed)
	return &Join{Name: name, Location: "custom-a", PublicKey: key.Public().(ed25519.PublicKey),
		Signature: ed25519.Sign(key, SignedText(c, name)), Token: "mjt-1", Offer: offer}
}

// TestMessages: each message is read as it was written, and by the side that receives it alone.
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		message     any
		fromMachine bool
	}{
		{&challenge, false},
		{&Wanted{3, true, []Instance{}, 10, 30}, false},
		{&Wanted{4, false, []Instance{{ID: "i-1", Fleet: "fleet-1", Build: Build{"build-1", "ab", "cd", 9, "/x"},
			Versions: []Build{{"build-2", "ef", "", 8, "/z"}}, Runtime: []Process{{"/local/game/g", "{port}", 2}},
			MilliCPUs: 2000, MemoryMiB: 4096, Ends: true, LogPath: "/y", Role: "arn:aws:iam::111122223333:role/game",
			RoleFile: true}}, 10, 30}, false},
		{&Refused{"AccessDeniedException", "no", true}, false},
		{&Token{Instance: "i-1", Token: "t", Expires: 9, SDK: "wss://h", Agent: "wss://h/agent",
			RoleKeys: &RoleKeys{"ASIA1", "secret", "token", 9}}, false},
		{signed(challenge, "box"), true},
		{&Observed{3, offer, new(0.5), new(int64(512)), []InstanceState{{"i-1", Failed, "build-1", true, 0,
			&Failure{"FLEET_ACTIVATION_FAILED", "no"}, []string{"p-1"}, []VersionState{{"build-2", nil},
				{"build-3", &Failure{"GENERIC_EVENT", "full"}}}}}}, true},
		{&TokenRequest{"i-1", []byte{1}, true}, true},
		{&Observed{Offer: offer}, true},
	} {
		data := Encode(c.message)
		machine, errMachine := DecodeFromMachine(data)
		service, errService := DecodeFromService(data)
		got, err, other := service, errService, errMachine
		if c.fromMachine {
			got, err, other = machine, errMachine, errService
		}
		if err != nil || !reflect.DeepEqual(got, c.message) {
			t.Errorf("%s is read as %+v, %v", data, got, err)
		}
		if !errors.Is(other, ErrUnknown) {
			t.Errorf("%s from the other side: %v", data, other)
		}
	}
}

// TestForm holds the form of the messages, which other programs may send.
func TestForm(t *testing.T) {
	for want, message := range map[string]any{
		`{"type":"wanted","generation":1,"drain":false,"instances":[],"reportSeconds":10,"lostSeconds":30}`: &Wanted{
			1, false, []Instance{}, 10, 30},
		`{"type":"observed","generation":1,"offer":{"milliCpus":1500,"memoryMiB":2048},"load":0.5}`: &Observed{
			1, Offer{MilliCPUs: 1500, MemoryMiB: 2048}, new(0.5), nil, nil},
		`{"type":"refused","error":"E","message":"m","final":false}`: &Refused{"E", "m", false},
	} {
		if got := string(Encode(message)); got != want {
			t.Errorf("sent\n %s\nwant\n %s", got, want)
		}
	}
}

func TestSignature(t *testing.T) {
	j := signed(challenge, "box")
	if !j.Verify(challenge) {
		t.Error("a good signature is not verified")
	}
	otherNonce := Challenge{bytes.Repeat([]byte{3}, NonceSize), challenge.Region}
	if j.Verify(otherNonce) {
		t.Error("the signature is good for another socket")
	}
	if j.Verify(Challenge{challenge.Nonce, "us-west-2/0103"}) {
		t.Error("the signature is good for another region")
	}
	if j.Name = "other"; j.Verify(challenge) {
		t.Error("the signature is good for another name")
	}
}

func TestRefusedMessages(t *testing.T) {
	long := strings.Repeat("x", maxOffered+1)
	for name, data := range map[string]string{
		"no JSON": `{`, "an array": `[]`, "a wrong type": `{"type":1}`,
		"no key":         `{"type":"join","name":"box"}`,
		"no name":        strings.Replace(string(Encode(signed(challenge, "box"))), `"box"`, `""`, 1),
		"long name":      strings.Replace(string(Encode(signed(challenge, "box"))), `"box"`, `"`+long+`"`, 1),
		"negative load":  `{"type":"observed","load":-1}`,
		"negative space": `{"type":"observed","freeMemoryMiB":-1}`,
		"long system":    `{"type":"observed","offer":{"os":"` + long + `"}}`,
		"unknown stage":  `{"type":"observed","instances":[{"id":"i-1","stage":"ASLEEP"}]}`,
		"many outdated": `{"type":"observed","instances":[{"id":"i-1","stage":"RUNNING","outdated":[""` +
			strings.Repeat(`,""`, MaxOutdated) + `]}]}`,
		"many versions": `{"type":"observed","instances":[{"id":"i-1","stage":"RUNNING","versions":[{}` +
			strings.Repeat(`,{}`, MaxVersions) + `]}]}`,
		"long version": `{"type":"observed","instances":[{"id":"i-1","stage":"RUNNING","versions":[{"build":"` + long +
			`"}]}]}`,
		"no instance": `{"type":"tokenRequest"}`,
		"many CPUs":   `{"type":"observed","offer":{"milliCpus":3000000000}}`,
	} {
		if m, err := DecodeFromMachine([]byte(data)); err == nil || errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	for name, data := range map[string]string{
		"short nonce": `{"type":"challenge","nonce":"AAAA","region":"r"}`,
		"no interval": `{"type":"wanted","generation":1}`,
		"reversed":    `{"type":"wanted","generation":1,"reportSeconds":10,"lostSeconds":9}`,
	} {
		if m, err := DecodeFromService([]byte(data)); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// FuzzDecode: any bytes are refused, or read as a message within the bounds that is written alike.
func FuzzDecode(f *testing.F) {
	for _, m := range []any{&challenge, &Wanted{3, true, []Instance{{ID: "i-1"}}, 10, 30}, &Refused{},
		signed(challenge, "b"),
		&Observed{3, offer, new(0.5), new(int64(512)), []InstanceState{{ID: "i-1", Stage: Running}}},
		&TokenRequest{Instance: "i-1"}, &Token{Instance: "i-1", Expires: 5, RoleKeys: &RoleKeys{Expires: 6}}} {
		f.Add(Encode(m))
	}
	f.Add([]byte(`{"type":"observed","load":1e400}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, decode := range []func([]byte) (any, error){DecodeFromMachine, DecodeFromService} {
			m, err := decode(data)
			if err != nil {
				continue
			}
			if j, ok := m.(*Join); ok {
				j.Verify(challenge)
			}
			again, err := decode(Encode(m))
			if err != nil || !json.Valid(Encode(m)) || !reflect.DeepEqual(again, m) {
				t.Errorf("%q is read as %+v, and that as %+v, %v", data, m, again, err)
			}
		}
	})
}
