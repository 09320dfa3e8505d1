package sigv4

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/wire/fault"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// keyring is a key source over a map.
type keyring map[string]Credential

func (k keyring) Secret(id, _ string) (Credential, bool) {
	c, ok := k[id]
	return c, ok
}

var keys = keyring{
	"AKIDLONG": {Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", Principal: "alice"},
	"ASIATEMP": {Secret: "another/secret", SessionToken: "session+token/==", Expires: now.Add(time.Hour),
		Principal: "bob"},
	"ASIAGONE": {Secret: "another/secret", SessionToken: "session", Expires: now, Principal: "bob"},
}

func newVerifier() *Verifier { return New(Config{Keys: keys}) }

func credentials(id string) aws.Credentials {
	c := keys[id]
	return aws.Credentials{AccessKeyID: id, SecretAccessKey: c.Secret, SessionToken: c.SessionToken}
}

// newRequest makes an unsigned AWS JSON request.
func newRequest(url string, body []byte) *http.Request {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "GameLift.ListFleets")
	return r
}

// sign signs r in its header as aws-sdk-go-v2 does.
func sign(t testing.TB, r *http.Request, id, region string, body []byte, at time.Time) {
	t.Helper()
	sum := sha256.Sum256(body)
	err := v4.NewSigner().SignHTTP(t.Context(), credentials(id), r, hex.EncodeToString(sum[:]), "gamelift", region, at)
	if err != nil {
		t.Fatal(err)
	}
}

// presign returns r as it is after presigning by aws-sdk-go-v2.
func presign(t testing.TB, r *http.Request, id, hash string, life time.Duration) *http.Request {
	t.Helper()
	q := r.URL.Query()
	q.Set("X-Amz-Expires", fmt.Sprint(int(life/time.Second)))
	r.URL.RawQuery = q.Encode()
	signed, header, err := v4.NewSigner().PresignHTTP(t.Context(), credentials(id), r, hash, "gamelift", "us-west-2",
		now)
	if err != nil {
		t.Fatal(err)
	}
	out := newRequest(signed, nil)
	out.Header = header
	out.Header.Del("Host")
	out.ContentLength = r.ContentLength
	return out
}

// verify takes r over a wire of bytes, so that the verifier sees what a server
// would, and verifies it.
func verify(t testing.TB, v *Verifier, r *http.Request, body []byte, at time.Time) (Caller, error) {
	t.Helper()
	return v.Verify(view(received(t, r)), sha256.Sum256(body), at)
}

// view is r as the verifier wants it.
func view(r *http.Request) *listen.Request {
	v := listen.RequestOf(r)
	return &v
}

func wantKind(t *testing.T, err error, kind fault.Kind, text string) {
	t.Helper()
	if !fault.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %s with %q", err, kind, text)
	}
}

func TestVerifyHeader(t *testing.T) {
	body := []byte(`{"Limit":10}`)
	for _, url := range []string{
		"http://localhost:9080", "https://gamelift.example.com/", "http://h:1/a/b", "http://h/with%20space/%2F",
		"http://h//double/../x/./y/",
		"http://h/?b=2&a=1&a=0&c", "http://h/p?sp=a+b%20c&plus=%2B&a-b=1&a=2&%E2%82%AC=x",
	} {
		for _, region := range []string{"us-west-2", "", "anything"} {
			for id, cred := range keys {
				if id == "ASIAGONE" {
					continue
				}
				r := newRequest(url, body)
				sign(t, r, id, region, body, now.Add(-4*time.Minute))
				got, err := verify(t, newVerifier(), r, body, now)
				want := Caller{AccessKeyID: id, Principal: cred.Principal, Region: region}
				if err != nil || got != want {
					t.Errorf("%s %q %s: got %v, %v, want %v", url, region, id, got, err, want)
				}
			}
		}
	}
}

func TestVerifyRandomRequests(t *testing.T) {
	v := newVerifier()
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		body := make([]byte, rnd.IntN(300))
		for i := range body {
			body[i] = byte(rnd.Uint32())
		}
		r := newRequest("http://"+word(rnd, "abc.")+"x:8080/"+url.PathEscape(word(rnd, "aé/ %~+=&'()*!"))+"/s", body)
		query := url.Values{}
		for range rnd.IntN(4) {
			query.Add("k"+word(rnd, "ab1-_.~"), word(rnd, "ab +/=&%é~"))
		}
		r.URL.RawQuery = query.Encode()
		for range rnd.IntN(4) {
			r.Header.Add("X-"+word(rnd, "AbC1")+"q", word(rnd, "ab  ,;=\"")+"x")
		}
		sign(t, r, "ASIATEMP", "eu-west-1", body, now)
		if _, err := verify(t, v, r, body, now); err != nil {
			t.Fatalf("seed %d: %v\n%v %v", seed, err, r.URL, r.Header)
		}
	}
}

// word is a random string over letters.
func word(rnd *rand.Rand, letters string) string {
	runes := []rune(letters)
	var b strings.Builder
	for range rnd.IntN(9) {
		b.WriteRune(runes[rnd.IntN(len(runes))])
	}
	return b.String()
}

// received is r as the server's side of an HTTP connection gets it.
func received(t testing.TB, r *http.Request) *http.Request {
	t.Helper()
	c := r.Clone(context.Background())
	c.URL.Scheme, c.URL.Host = "http", r.URL.Host
	if c.Host == "" {
		c.Host = r.URL.Host
	}
	c.RequestURI = c.URL.RequestURI()
	return c
}

func TestAnyChangedByteIsRefused(t *testing.T) {
	body := []byte(`{"Limit":10}`)
	v := newVerifier()
	signed := func() *http.Request {
		r := newRequest("http://localhost:9080/pfx?x=1", body)
		sign(t, r, "ASIATEMP", "us-west-2", body, now)
		r.Host = r.URL.Host
		return r
	}
	refused := func(what string, r *http.Request, body []byte) {
		t.Helper()
		if _, err := verify(t, v, r, body, now); err == nil {
			t.Errorf("accepted after a change of %s", what)
		}
	}
	if _, err := verify(t, v, signed(), body, now); err != nil {
		t.Fatal(err)
	}
	for name, values := range signed().Header {
		for i := range values[0] {
			r := signed()
			r.Header[name] = []string{flip(values[0], i)}
			refused(fmt.Sprintf("%s[%d]", name, i), r, body)
		}
		if name != "Content-Length" {
			r := signed()
			r.Header.Del(name)
			refused(name+" (removed)", r, body)
		}
	}
	for i := range body {
		refused(fmt.Sprintf("body[%d]", i), signed(), []byte(flip(string(body), i)))
	}
	for what, change := range map[string]func(*http.Request){
		"method": func(r *http.Request) { r.Method = "PUT" },
		"path":   func(r *http.Request) { r.URL.Path = "/pfy" },
		"query":  func(r *http.Request) { r.URL.RawQuery = "x=2" },
		"more":   func(r *http.Request) { r.URL.RawQuery = "x=1&y=2" },
		"host":   func(r *http.Request) { r.Host = "localhost:9081" },
		"port":   func(r *http.Request) { r.Host = "localhost" },
		"header": func(r *http.Request) { r.Header.Add("X-Amz-Target", "GameLift.DeleteFleet") },
	} {
		r := signed()
		change(r)
		refused(what, r, body)
	}
}

// flip changes the byte at i into another printable one.
func flip(s string, i int) string {
	b := []byte(s)
	if b[i] == 'x' {
		b[i] = 'y'
	} else {
		b[i] = 'x'
	}
	return string(b)
}

func TestVerifyPresigned(t *testing.T) {
	empty := sha256.Sum256(nil)
	r := presign(t, newRequest("http://h:9/a?Action=x", nil), "ASIATEMP", hex.EncodeToString(empty[:]), time.Hour)
	for name, at := range map[string]time.Time{
		"at once": now, "late": now.Add(59 * time.Minute), "early": now.Add(-4 * time.Minute),
	} {
		if got, err := verify(t, newVerifier(), r, nil, at); err != nil || got.Principal != "bob" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	_, err := New(Config{Keys: keyring{"ASIATEMP": {Secret: "another/secret", SessionToken: "session+token/=="}}}).
		Verify(view(received(t, r)), empty, now.Add(61*time.Minute))
	wantKind(t, err, fault.InvalidSignature, "Signature expired: 20260304T050607Z is now earlier than")
	_, err = verify(t, newVerifier(), r, nil, now.Add(-6*time.Minute))
	wantKind(t, err, fault.InvalidSignature, "not yet current")

	query := r.URL.RawQuery
	for i := range query {
		r.URL.RawQuery = flip(query, i)
		if _, err := verify(t, newVerifier(), r, nil, now); err == nil {
			t.Errorf("accepted %q", r.URL.RawQuery)
		}
	}
}

func TestPresignedUnsignedPayload(t *testing.T) {
	unsigned := newRequest("http://h/", nil)
	unsigned.Header.Set("X-Amz-Content-Sha256", unsignedPayload)
	r := presign(t, unsigned, "AKIDLONG", unsignedPayload, time.Minute)
	if _, err := verify(t, newVerifier(), r, []byte("any body"), now); err != nil {
		t.Error("presigned:", err)
	}

	r = newRequest("http://h/", nil)
	r.Header.Set("X-Amz-Content-Sha256", unsignedPayload)
	if err := v4.NewSigner().SignHTTP(t.Context(), credentials("AKIDLONG"), r, unsignedPayload,
		"gamelift", "x", now); err != nil {
		t.Fatal(err)
	}
	_, err := verify(t, newVerifier(), r, []byte("any body"), now)
	wantKind(t, err, fault.InvalidSignature, "x-amz-content-sha256")
}

func TestRefusals(t *testing.T) {
	body := []byte("{}")
	replace := func(old, new string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), old, new, 1))
		}
	}
	for _, tt := range []struct {
		name, id string
		at       time.Duration // when it was signed, from now
		change   func(*http.Request)
		kind     fault.Kind
		text     string
	}{
		{"unsigned", "AKIDLONG", 0, func(r *http.Request) { r.Header.Del("Authorization") },
			fault.MissingAuthenticationToken, "missing"},
		{"empty", "AKIDLONG", 0, func(r *http.Request) { r.Header.Set("Authorization", "") },
			fault.MissingAuthenticationToken, "missing"},
		{"bearer", "AKIDLONG", 0, func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") },
			fault.IncompleteSignature, Algorithm},
		{"twice", "AKIDLONG", 0, func(r *http.Request) { r.Header.Add("Authorization", "x") },
			fault.IncompleteSignature, "more than one"},
		{"both forms", "AKIDLONG", 0, func(r *http.Request) { r.URL.RawQuery = "X-Amz-Algorithm=" + Algorithm },
			fault.IncompleteSignature, "not in both"},
		{"no signature", "AKIDLONG", 0, replace("Signature=", "Signatur="), fault.IncompleteSignature, "none of"},
		{"part missing", "AKIDLONG", 0, replace(", Signature=", ""), fault.IncompleteSignature, "no signature"},
		{"part empty", "AKIDLONG", 0, replace(", Signature=", ", Signature=,"), fault.IncompleteSignature,
			"'Signature' exactly once"},
		{"short credential", "AKIDLONG", 0, replace("/aws4_request", ""), fault.IncompleteSignature, "five parts"},
		{"long credential", "AKIDLONG", 0, replace("/aws4_request", "/aws4_request/x"), fault.IncompleteSignature,
			"five parts"},
		{"no key", "AKIDLONG", 0, replace("AKIDLONG", ""), fault.IncompleteSignature, "access key"},
		{"terminator", "AKIDLONG", 0, replace("/aws4_request", "/aws5_request"), fault.InvalidSignature, "terminator"},
		{"service", "AKIDLONG", 0, replace("/gamelift/", "/s3/"), fault.InvalidSignature,
			"correct service: 'gamelift'"},
		{"scope date", "AKIDLONG", 0, replace("/20260304/", "/20260305/"), fault.InvalidSignature,
			"Date in Credential scope"},
		{"region", "AKIDLONG", 0, replace("/us-west-2/", "/us-east-1/"), fault.InvalidSignature, "does not match"},
		{"upper-case hex", "AKIDLONG", 0, func(r *http.Request) {
			auth := r.Header.Get("Authorization")
			i := strings.Index(auth, "Signature=") + len("Signature=")
			r.Header.Set("Authorization", auth[:i]+strings.ToUpper(auth[i:]))
		}, fault.InvalidSignature, "does not match"},
		{"header order", "AKIDLONG", 0, replace("host;x-amz-date", "x-amz-date;host"), fault.IncompleteSignature,
			"alphabetical"},
		{"host unsigned", "AKIDLONG", 0, replace("host;", ""), fault.IncompleteSignature, "host header must be signed"},
		{"date unsigned", "AKIDLONG", 0, replace("x-amz-date;", ""), fault.IncompleteSignature,
			"x-amz-date header must be signed"},
		{"target unsigned", "AKIDLONG", 0, replace(";x-amz-target", ""), fault.IncompleteSignature,
			"x-amz-target header must be signed"},
		{"token unsigned", "ASIATEMP", 0, replace("x-amz-security-token;", ""), fault.IncompleteSignature,
			"x-amz-security-token header must be signed"},
		{"no date", "AKIDLONG", 0, func(r *http.Request) { r.Header.Del("X-Amz-Date") }, fault.IncompleteSignature,
			"neither"},
		{"bad date", "AKIDLONG", 0, func(r *http.Request) { r.Header.Set("X-Amz-Date", "20260304T050607.5Z") },
			fault.IncompleteSignature, "form"},
		{"two dates", "AKIDLONG", 0, func(r *http.Request) { r.Header.Add("X-Amz-Date", "20260304T050607Z") },
			fault.IncompleteSignature, "once"},
		{"too old", "AKIDLONG", -5*time.Minute - time.Second, nil, fault.InvalidSignature,
			"Signature expired: 20260304T050106Z is now earlier than 20260304T050107Z (20260304T050607Z - 5 min.)"},
		{"too new", "AKIDLONG", 5*time.Minute + time.Second, nil, fault.InvalidSignature,
			"Signature not yet current: 20260304T051108Z"},
		{"unknown key", "AKIDLONG", 0, replace("AKIDLONG", "AKIDNONE"), fault.UnrecognizedClient, "invalid"},
		{"token for a long-lived key", "AKIDLONG", 0, func(r *http.Request) {
			r.Header.Set("X-Amz-Security-Token", "x")
			replace(";x-amz-target", ";x-amz-security-token;x-amz-target")(r)
		}, fault.UnrecognizedClient, "invalid"},
		{"wrong token", "ASIATEMP", 0, func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "other") },
			fault.UnrecognizedClient, "invalid"},
		{"no token", "ASIATEMP", 0, func(r *http.Request) { r.Header.Del("X-Amz-Security-Token") },
			fault.UnrecognizedClient, "invalid"},
		{"expired key", "ASIAGONE", 0, nil, fault.ExpiredToken, "expired"},
		{"header removed", "AKIDLONG", 0, func(r *http.Request) { r.Header.Del("Content-Type") },
			fault.InvalidSignature, "content-type"},
		{"foreign hash", "AKIDLONG", 0,
			func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", strings.Repeat("0", 64)) },
			fault.InvalidSignature, "x-amz-content-sha256"},
		{"bad query", "AKIDLONG", 0, func(r *http.Request) { r.URL.RawQuery = "a=%zz" }, fault.IncompleteSignature,
			"query"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRequest("http://localhost:9080/", body)
			sign(t, r, tt.id, "us-west-2", body, now.Add(tt.at))
			if tt.change != nil {
				tt.change(r)
			}
			_, err := verify(t, newVerifier(), r, body, now)
			wantKind(t, err, tt.kind, tt.text)
			if s := err.Error(); strings.Contains(s, keys[tt.id].Secret) || strings.Contains(s, "session+token") {
				t.Error("the refusal tells a secret:", s)
			}
		})
	}
}

func TestPresignedRefusals(t *testing.T) {
	empty := sha256.Sum256(nil)
	for name, tt := range map[string]struct {
		old, new string
		kind     fault.Kind
	}{
		"algorithm": {"X-Amz-Algorithm=AWS4-HMAC-SHA256", "X-Amz-Algorithm=AWS4-HMAC-SHA1",
			fault.IncompleteSignature},
		"no expiry":     {"X-Amz-Expires", "X-Amz-Expired", fault.IncompleteSignature},
		"zero expiry":   {"X-Amz-Expires=3600", "X-Amz-Expires=0", fault.IncompleteSignature},
		"long expiry":   {"X-Amz-Expires=3600", "X-Amz-Expires=604801", fault.IncompleteSignature},
		"changed":       {"X-Amz-Expires=3600", "X-Amz-Expires=604800", fault.InvalidSignature},
		"twice":         {"X-Amz-Expires=3600", "X-Amz-Expires=3600&X-Amz-Expires=3600", fault.IncompleteSignature},
		"twice encoded": {"X-Amz-Expires=3600", "X-Amz-Expires=3600&X-Amz-Expire%73=3600", fault.IncompleteSignature},
		"no signature":  {"X-Amz-Signature=", "X-Amz-Sig=", fault.IncompleteSignature},
		"no credential": {"X-Amz-Credential=", "X-Amz-Cred=", fault.IncompleteSignature},
		"no date":       {"X-Amz-Date=", "X-Amz-Dat=", fault.IncompleteSignature},
		"no headers":    {"X-Amz-SignedHeaders=", "X-Amz-SignedHeader=", fault.IncompleteSignature},
		"bad escape":    {"X-Amz-Expires=3600", "X-Amz-Expires=%3", fault.IncompleteSignature},
	} {
		t.Run(name, func(t *testing.T) {
			r := presign(t, newRequest("http://h/", nil), "AKIDLONG", hex.EncodeToString(empty[:]), time.Hour)
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, tt.old, tt.new, 1)
			_, err := verify(t, newVerifier(), r, nil, now)
			wantKind(t, err, tt.kind, "")
		})
	}
}

// A request may be signed with a Date header alone.
func TestVerifyDateHeader(t *testing.T) {
	r := newRequest("http://h/", nil)
	sign(t, r, "AKIDLONG", "x", nil, now)
	c, err := claimOf(view(r))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Del("X-Amz-Date")
	r.Header.Set("Date", now.Format(http.TimeFormat))
	c.signedHeaders = "content-type;date;host;x-amz-target"
	sum := sha256.Sum256(nil)
	payload, _ := payloadHash(&c, view(r).Header, sum)
	canonical, err := appendCanonicalRequest(nil, view(received(t, r)), &c, "/", payload[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := newSigningKey(keys["AKIDLONG"].Secret, &c.scope).appendSignature(nil,
		appendStringToSign(nil, &c, sha256.Sum256(canonical)))
	r.Header.Set("Authorization",
		fmt.Sprintf("%s Credential=AKIDLONG/20260304/x/gamelift/aws4_request,SignedHeaders=%s,Signature=%s",
			Algorithm, c.signedHeaders, signature))
	if _, err := verify(t, newVerifier(), r, nil, now); err != nil {
		t.Error(err)
	}
}

// The verifier agrees with what net/http makes of a real request.
func TestVerifyOverTheWire(t *testing.T) {
	v := newVerifier()
	var got error
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, got = v.Verify(view(r), sha256.Sum256(body), now)
	}))
	defer server.Close()
	for _, path := range []string{"", "/", "/pfx/", "/a%2Fb//c", "/x?q=1&p=%20"} {
		body := []byte(`{"a":1}`)
		r := newRequest(server.URL+path, body)
		r.Header.Set("Amz-Sdk-Request", "attempt=1;  max=3")
		sign(t, r, "ASIATEMP", "", body, now)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got != nil {
			t.Errorf("%s: %v", path, got)
		}
	}
	server.CloseClientConnections()
}
