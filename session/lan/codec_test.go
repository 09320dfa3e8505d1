package lan

import (
	"bytes"
	"encoding/hex"
	"errors"
	"maps"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-gg/muster/session"
)

// sample is a session with something in every field, and sampleID its instance.
var (
	sample = session.Advert{
		SessionID: "s1", OwnerID: "o1", OwnerName: "Ada", Name: "Späti", Port: 7777, BuildID: -2,
		Connections: 8, OpenConnections: 7, Joinable: true, Properties: map[string]string{"mode": "ctf", "map": ""},
	}
	sampleID     = instanceID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	sampleHeader = header{app: 9999, nonce: 0x0102030405060708, sequence: 9}
)

// The bytes that other implementations send: they never change.
const (
	goldenHeader = "0000270f" + "0102030405060708" + "00000009"
	goldenQuery  = "4d4c414e" + "01" + "51" + "0400" + goldenHeader + "00000011"
	goldenReply  = "4d4c414e" + "01" + "52" + "0052" + goldenHeader +
		"000102030405060708090a0b0c0d0e0f" + "fffffffe" + "1e61" + "0008" + "0007" + "02" +
		"027331" + "026f31" + "03416461" + "065370c3a47469" +
		"036d6170" + "00" + "046d6f6465" + "03637466"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sampleReply is the reply with the sample.
func sampleReply(t testing.TB) []byte {
	t.Helper()
	template, err := encodeAdvert("Announce", sample, sampleID, Config{AppID: 9999}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	return stamp(new([maxPacket]byte), template, query{header: sampleHeader})
}

func TestGoldenQuery(t *testing.T) {
	want := append(unhex(t, goldenQuery), make([]byte, maxPacket-leastQuery)...)
	var got [maxPacket]byte
	q := query{sampleHeader, 17}
	if encodeQuery(&got, q); !bytes.Equal(got[:], want) {
		t.Errorf("a query is\n%x, want\n%x", got, want)
	}
	if read, err := parseQuery(want, 9999); err != nil || read != q {
		t.Errorf("read as %+v, %v", read, err)
	}
}

func TestGoldenReply(t *testing.T) {
	want := unhex(t, goldenReply)
	if got := sampleReply(t); !bytes.Equal(got, want) {
		t.Errorf("a reply is\n%x, want\n%x", got, want)
	}
	r, err := parseReply(want, 9999, 64)
	if err != nil || r.header != sampleHeader || r.instance != sampleID {
		t.Fatalf("read as %+v, %v", r, err)
	}
	got := r.result(netip.MustParseAddr("192.0.2.7"))
	if result := (session.SearchResult{
		SessionID: "s1", OwnerID: "o1", OwnerName: "Ada", Name: "Späti", LAN: true, IPAddress: "192.0.2.7", Port: 7777,
		BuildID: -2, Connections: 8, OpenConnections: 7, Properties: sample.Properties,
	}); !reflect.DeepEqual(got, result) {
		t.Errorf("the result is %+v, want %+v", got, result)
	}
}

// set changes bytes of a packet; nil removes all from there on.
func set(packet []byte, at int, b ...byte) []byte {
	packet = bytes.Clone(packet)
	if b == nil {
		return resized(packet[:at])
	}
	copy(packet[at:], b)
	return packet
}

// resized corrects the size in a header.
func resized(packet []byte) []byte {
	if len(packet) >= headerSize {
		packet[atSize], packet[atSize+1] = byte(len(packet)>>8), byte(len(packet))
	}
	return packet
}

func extended(packet []byte, b ...byte) []byte { return resized(append(bytes.Clone(packet), b...)) }

func TestMalformed(t *testing.T) {
	reply := unhex(t, goldenReply)
	query := extended(unhex(t, goldenQuery), make([]byte, maxPacket-leastQuery)...)
	for name, c := range map[string]struct {
		packet []byte
		want   error
	}{
		"empty":                     {nil, errMalformed},
		"half a header":             {reply[:headerSize-1], errMalformed},
		"a header":                  {set(reply, headerSize), errMalformed},
		"other magic":               {set(reply, 0, 'X'), errMalformed},
		"other version":             {set(reply, 4, 2), errForeign},
		"other application":         {set(reply, atApp, 1), errForeign},
		"other kind":                {set(reply, atKind, 'S'), errMalformed},
		"size too small":            {set(reply, atSize, 0, 0), errMalformed},
		"size too large":            {set(reply, atSize, 4, 0), errMalformed},
		"oversized":                 {extended(query, 0), errMalformed},
		"bytes behind a query":      {set(query, maxPacket-1, 1), errMalformed},
		"query without build":       {set(query, headerSize+3), errMalformed},
		"bytes behind a reply":      {extended(reply, 0), errMalformed},
		"no port":                   {set(reply, 44, 0, 0), errMalformed},
		"full":                      {set(reply, 48, 0, 0), errMalformed},
		"more free places than all": {set(reply, 48, 0, 9), errMalformed},
		"more properties":           {set(reply, 50, 3), errMalformed},
		"fewer properties":          {set(reply, 50, 1), errMalformed},
		"too many properties":       {set(reply, 50, 255), errMalformed},
		"cut in the texts":          {set(reply, fixedReply+5), errMalformed},
		"cut in the properties":     {set(reply, len(reply)-1), errMalformed},
		"text beyond the end":       {set(reply, len(reply)-4, 200), errMalformed},
		"id with a control":         {set(reply, fixedReply+1, '\n'), errMalformed},
		"owner id is not UTF-8":     {set(reply, fixedReply+4, 0xff), errMalformed},
		"key is not UTF-8":          {set(reply, len(reply)-5, 0xff), errMalformed},
		"value with a control":      {set(reply, len(reply)-1, 7), errMalformed},
		"keys out of order":         {set(reply, len(reply)-13, 'z'), errMalformed},
		"keys twice":                {extended(set(reply, 50, 3), []byte("\x04mode\x00")...), errMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			_, errQuery := parseQuery(c.packet, 9999)
			_, errReply := parseReply(c.packet, 9999, 64)
			if !errors.Is(errQuery, c.want) || !errors.Is(errReply, c.want) {
				t.Errorf("read as a query: %v; as a reply: %v; want %v", errQuery, errReply, c.want)
			}
			if n := testing.AllocsPerRun(10, func() {
				_, _ = parseQuery(c.packet, 9999)
				_, _ = parseReply(c.packet, 9999, 64)
			}); n > 0 {
				t.Errorf("reading allocates %v times", n)
			}
		})
	}
}

func TestDirtyNamesAreCleaned(t *testing.T) {
	packet := set(unhex(t, goldenReply), fixedReply+7, 'A', 0xff, '\n') // the owner's name
	r, err := parseReply(packet, 9999, 64)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.result(netip.IPv6Loopback()).OwnerName; got != "A" {
		t.Errorf("the owner's name is %q", got)
	}
}

func FuzzParseQuery(f *testing.F) {
	f.Add(unhex(f, goldenQuery))
	f.Add(resized(unhex(f, goldenQuery)))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := parseQuery(b, 9999)
		if err != nil {
			return
		}
		var again [maxPacket]byte
		if encodeQuery(&again, q); !bytes.Equal(resized(again[:len(b)]), b) {
			t.Errorf("%x is read as %+v, which is %x", b, q, again[:len(b)])
		}
	})
}

func FuzzParseReply(f *testing.F) {
	f.Add(unhex(f, goldenReply))
	f.Add(set(unhex(f, goldenReply), 50, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseReply(b, 9999, 64)
		if err != nil {
			return
		}
		got := r.result(netip.IPv6Loopback())
		if len(got.Properties) != r.propertyNum || len(got.Name) > maxName || !plain([]byte(got.Name+got.OwnerName)) {
			t.Errorf("the result is %+v", got)
		}
		a := session.Advert{
			SessionID: got.SessionID, OwnerID: got.OwnerID, OwnerName: got.OwnerName, Name: got.Name, Port: got.Port,
			BuildID: got.BuildID, Connections: got.Connections, OpenConnections: got.OpenConnections,
			Properties: got.Properties,
		}
		again, err := encodeAdvert("Announce", a, r.instance, Config{AppID: 9999}.withDefaults())
		if err != nil || len(again) > len(b) {
			t.Fatalf("announced again: %v, %d bytes of %d", err, len(again), len(b))
		}
		r2, err := parseReply(again, 9999, 64)
		if err != nil || !maps.Equal(r2.propertyMap(), got.Properties) {
			t.Errorf("%x does not come back: %v", again, err)
		}
	})
}

func TestCleanName(t *testing.T) {
	for in, want := range map[string]string{
		"":                                    "",
		"Friday":                              "Friday",
		" a\tb\r\nc\x00 ":                     "abc",
		"x\xffy":                              "xy",
		"evil \u202egnp.exe":                  "evil gnp.exe",
		"two\u2028lines":                      "twolines",
		"👩\u200d🚀":                            "👩\u200d🚀",
		strings.Repeat("x", 200):              strings.Repeat("x", maxName),
		"x" + strings.Repeat("ä", 100):        "x" + strings.Repeat("ä", 63),
		strings.Repeat("x", 127) + " " + "yz": strings.Repeat("x", 127),
	} {
		if got := cleanName(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
