package serversdk

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseQuery(t *testing.T) {
	tests := []struct{ raw, key, want string }{
		{"sdkLanguage=Go&Authorization=a+b", "Authorization", "a b"},
		{"Authorization=a%2Bb%2Fc&sdkLanguage=Go", "Authorization", "a+b/c"},
		{"sdkLanguage=Cpp&Authorization=a+b/c=", "Authorization", "a+b/c="},
		{"sdkLanguage=Cpp&Authorization=100%&x", "Authorization", "100%"},
		{"sdkLanguage=Cpp&X-Amz-Credential=AK%2F20260102%2Fus-west-2", "X-Amz-Credential", "AK/20260102/us-west-2"},
		{"sdkLanguage=CSharp&ComputeId=a/b", "ComputeId", "a/b"},
		{"pID=1&pID=2", "pID", "1"},
		{"pID", "pID", ""},
		{"", "pID", ""},
		{"PID=1", "pID", ""},
	}
	for _, tt := range tests {
		if got := parseQuery(tt.raw)[tt.key]; got != tt.want {
			t.Errorf("parseQuery(%q)[%s] = %q, want %q", tt.raw, tt.key, got, tt.want)
		}
	}
}

func TestSigV4Query(t *testing.T) {
	got := parseQuery("Authorization=SigV4&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2Fx&" +
		"X-Amz-Date=20260102T030405Z&X-Amz-Security-Token=a%2Bb%3D&X-Amz-Signature=09ca&sdkLanguage=Cpp").connect()
	if s := got.SigV4; got.Authorization != "SigV4" || s.Algorithm != "AWS4-HMAC-SHA256" || s.Credential != "AK/x" ||
		s.Date != "20260102T030405Z" || s.SecurityToken != "a+b=" || s.Signature != "09ca" {
		t.Errorf("got %+v", got)
	}
}

// plain is a request as encoding/json sees it.
type plain struct {
	Action, RequestId, SdkVersion, SdkLanguage, SdkToolName, SdkToolVersion                             string
	GameSessionId, PlayerSessionId, PlayerId, PlayerSessionPolicy, PlayerSessionStatusFilter, NextToken string
	GameSessionArn, MatchmakingConfigurationArn, TicketId                                               string
	HealthStatus                                                                                        bool
}

func FuzzDecodeRequest(f *testing.F) {
	for _, seed := range []string{
		accept, heartbeat, `{}`, `{"Action":null,"LogPaths":[null,"a",3],"Port":1e400,"Limit":-1}`,
		`{"action":"é","x":{"y":[{}]}}`,
		`{"Players":[{"PlayerId":"p","LatencyInMS":{"l":40.0},"PlayerAttributes":{"a":{"attrType":"DOUBLE",` +
			`"N":1}}}],"TicketId":null}`, `{"players":[{"LatencyInMs":{"l":1.5}}]}`, `{"Players":[[]]}`,
		`{"LogPaths":{},"Port":"7777","HealthStatus":1,"Action":"A"}`, `{"Action":"\ud800","RequestId":"\u0000"}`,
		`{"a":tru}`, `{"a":1,}`, `{"a" 1}`, `[1]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRequest(data, "g")
		if err != nil {
			if json.Valid(data) && len(data) > 0 && strings.HasPrefix(strings.TrimLeft(string(data), " \t\r\n"), "{") {
				t.Fatalf("refused valid JSON %q: %v", data, err)
			}
			return
		}
		var p plain
		if !utf8.Valid(data) || r.badField != "" || json.Unmarshal(data, &p) != nil {
			return
		}
		got := plain{
			r.Action, r.RequestID, r.SDKVersion, r.SDKLanguage, r.SDKToolName, r.SDKToolVersion, r.GameSessionID,
			r.PlayerSessionID, r.PlayerID,
			r.PlayerSessionPolicy, r.PlayerSessionStatusFilter, r.NextToken,
			r.GameSessionArn, r.ConfigurationArn, r.TicketID, r.HealthStatus,
		}
		if got != p {
			t.Fatalf("%q\n decoded as %+v\n instead of  %+v", data, got, p)
		}
	})
}

func FuzzReplyIsJSON(f *testing.F) {
	f.Add("AcceptPlayerSession", "r1", "NotFoundException: \"quoted\"\u2028\x00")
	f.Fuzz(func(t *testing.T, action, id, message string) {
		data := reply{action: action, id: id, status: 404, message: message}.appendTo(nil, roleCredentials{})
		var back struct {
			Action, RequestId, ErrorMessage string
			StatusCode                      int
		}
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if utf8.ValidString(action) && utf8.ValidString(id) && utf8.ValidString(message) &&
			(back.Action != action || back.RequestId != id || back.ErrorMessage != message) {
			t.Fatalf("%q came back as %+v", data, back)
		}
	})
}

func TestDecodedStringsOutliveTheMessage(t *testing.T) {
	data := []byte(`{"Action":"AcceptPlayerSession","RequestId":"abc","LogPaths":["/x"]}`)
	r, err := decodeRequest(data, "g")
	if err != nil {
		t.Fatal(err)
	}
	clear(data)
	if r.Action != "AcceptPlayerSession" || r.RequestID != "abc" || !reflect.DeepEqual(r.LogPaths, []string{"/x"}) {
		t.Errorf("the request changed with its buffer: %+v", r)
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, message := range map[string]string{"heartbeat": heartbeat, "accept": accept} {
		data := []byte(message)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decodeRequest(data, "g"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncodeReply(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		reply{action: "AcceptPlayerSession", id: cppRequestID, status: 200}.appendTo(nil, nil)
	}
}
