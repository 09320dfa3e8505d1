package audit

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
)

// A line is a record as encoding/json encodes it.
type line struct {
	Version string `json:"eventVersion"`
	*Record
	Category   string `json:"eventCategory"`
	Management bool   `json:"managementEvent"`
}

func reflected(t *testing.T, r *Record) string {
	t.Helper()
	var data bytes.Buffer
	out := json.NewEncoder(&data)
	out.SetEscapeHTML(false)
	if err := out.Encode(line{"1.11", r, "Management", true}); err != nil {
		t.Fatal(err)
	}
	return data.String()
}

// same fails unless a record is encoded as encoding/json does.
func same(t *testing.T, r Record) {
	t.Helper()
	messages, _ := encode([]Record{r}, nil)
	if len(messages) != 1 {
		t.Fatalf("%d messages", len(messages))
	}
	data, err := s2.Decode(nil, messages[0].data)
	if err != nil {
		t.Fatal(err)
	}
	r.ID = idIn(t, data)
	r.complete()
	if got, want := string(data), reflected(t, &r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func idIn(t *testing.T, text []byte) string {
	t.Helper()
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return r.ID
}

// TestLine sets each field alone, so that one that appendLine does not have is noticed, and then all.
func TestLine(t *testing.T) {
	same(t, Record{})
	var all Record
	for _, path := range fieldsOf(reflect.TypeFor[Record](), nil) {
		var one Record
		set(t, reflect.ValueOf(&one).Elem().FieldByIndex(path))
		set(t, reflect.ValueOf(&all).Elem().FieldByIndex(path))
		same(t, one)
	}
	same(t, all)
}

// fieldsOf returns the fields of a structure and of those in it.
func fieldsOf(of reflect.Type, at []int) (paths [][]int) {
	for i := range of.NumField() {
		path := append(at[:len(at):len(at)], i)
		if f := of.Field(i); f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[time.Time]() {
			paths = append(paths, fieldsOf(f.Type, path)...)
		} else {
			paths = append(paths, path)
		}
	}
	return paths
}

func set(t *testing.T, v reflect.Value) {
	t.Helper()
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.Date(2026, 11, 25, 12, 0, 0, 120_456_789, time.FixedZone("", 3600))
	case *string:
		*p = "a text"
	case *bool:
		*p = true
	case *int:
		*p = 12
	case *ARNs:
		*p = ARNs{"arn:a", "arn:b"}
	case *map[string]string:
		*p = map[string]string{"b": "2", "a": "1"}
	default:
		t.Fatalf("a field of type %s", v.Type())
	}
}

// FuzzLine compares texts that clients choose.
func FuzzLine(f *testing.F) {
	for _, text := range []string{"", "aws-cli/2.36.7", "\"\\\n\x00\x7f", "<a href='x'>&", "\u2028é日本", "\xff\xc3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > maxText {
			return
		}
		same(t, Record{UserAgent: text, Resources: ARNs{text, ""}, Details: map[string]string{text: text, "z": ""}})
	})
}

// BenchmarkEncode is what a call of a person costs to encode.
func BenchmarkEncode(b *testing.B) {
	records := make([]Record, batchRecords)
	for i := range records {
		records[i] = Record{
			Time: time.Now(), Name: "CreatePlayerSession", Source: "gamelift.amazonaws.com", Type: "AwsApiCall",
			Region: "us-east-1", Account: "111122223333", Address: "192.0.2.1", UserAgent: "aws-sdk-go-v2/1.39.2",
			Identity: Identity{Type: "AssumedRole", PrincipalID: "AROAEXAMPLE:ada", Account: "111122223333",
				Arn: "arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_GameDev_0123456789abcdef/ada", User: "ada"},
			RequestID: "0b0a4f4e-53c5-4d1f-9f2c-6c3c1a9b5f7e",
			Resources: ARNs{"arn:aws:gamelift:us-east-1:111122223333:fleet/fleet-1"},
			Decision:  Decision{Allowed: true},
		}
	}
	var scratch []byte
	b.ReportAllocs()
	for b.Loop() {
		for i := range records {
			records[i].ID = ""
		}
		_, scratch = encode(records, scratch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batchRecords), "ns/record")
}
