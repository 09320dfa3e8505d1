package signin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"
)

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// proofOf makes a DPoP proof. Like AWS's Go client it does not pad coordinates.
func proofOf(t testing.TB, key *ecdsa.PrivateKey, header, claims object) string {
	t.Helper()
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	short := func(b []byte) string { return encode(new(big.Int).SetBytes(b).Bytes()) }
	h := object{"typ": "dpop+jwt", "alg": "ES256",
		"jwk": object{"kty": "EC", "crv": "P-256", "x": short(point[1:33]), "y": short(point[33:])}}
	maps.Copy(h, header)
	part := func(o object) string {
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return encode(b)
	}
	signed := part(h) + "." + part(claims)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

func (w *world) claims() object {
	return object{"htm": "POST", "htu": public + "/v1/token", "iat": w.clock.Now().Unix(), "jti": random()}
}

func (w *world) login(key *ecdsa.PrivateKey, body object) answer {
	w.t.Helper()
	return w.json("/v1/token", body, header("DPoP", proofOf(w.t, key, nil, w.claims())))
}

func TestLogin(t *testing.T) {
	w := newWorld(t)
	w.signIn("ada")
	key := newKey(t)
	body := object{
		"clientId":     sameDevice,
		"grantType":    "authorization_code",
		"code":         w.code(loginQuery(), "role", "GameDev"),
		"codeVerifier": verifier,
		"redirectUri":  redirect,
	}
	m := w.login(key, body).object()
	if keys := m["accessToken"].(map[string]any); keys["accessKeyId"] != "ASIAEXAMPLE" ||
		keys["sessionToken"] != "token" ||
		keys["secretAccessKey"] != "secret" {
		t.Errorf("%v", keys)
	}
	if m["tokenType"] != "aws_sigv4" || m["expiresIn"] != 900.0 {
		t.Errorf("%v", m)
	}
	parts := strings.Split(m["idToken"].(string), ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || len(parts) != 3 ||
		!strings.Contains(string(payload), `"sub":"arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_GameDev_`) {
		t.Errorf("%s, %v", payload, err)
	}
	w.login(key, body).fails(400, "AccessDeniedException", "AUTHCODE_EXPIRED")

	refresh := object{"clientId": sameDevice, "grantType": "refresh_token", "refreshToken": m["refreshToken"]}
	w.login(newKey(t), refresh).fails(400, "AccessDeniedException", "TOKEN_EXPIRED")
	again := w.login(key, refresh).object()
	c := w.register(object{})
	w.json("/token", object{"grantType": "refresh_token", "clientId": c.id, "clientSecret": c.secret,
		"refreshToken": again["refreshToken"]}).fails(400, "InvalidGrantException", "invalid_grant") // without the key
	refresh["refreshToken"] = again["refreshToken"]
	w.access.users["ada"].roles = nil
	again = w.login(key, refresh).fails(400, "AccessDeniedException", "INSUFFICIENT_PERMISSIONS").decoded()
	w.access.disable("ada")
	for id := range w.access.signIns {
		refresh["refreshToken"] = w.access.tokens(w.access.signIns[id]).Refresh
		if w.access.signIns[id].Kind == "login" {
			w.login(key, refresh).fails(400, "AccessDeniedException", "USER_CREDENTIALS_CHANGED")
		}
	}
	if again["error"] == "" {
		t.Error("no error")
	}
}

func (a answer) decoded() (m map[string]any) {
	a.t.Helper()
	if err := json.Unmarshal(a.Body.Bytes(), &m); err != nil {
		a.t.Fatal(err)
	}
	return m
}

func TestLoginErrors(t *testing.T) {
	w := newWorld(t)
	w.signIn("ada")
	key := newKey(t)
	for name, body := range map[string]object{
		"client":     {"clientId": "x", "grantType": "refresh_token", "refreshToken": "x"},
		"grant":      {"clientId": sameDevice, "grantType": "password"},
		"no code":    {"clientId": sameDevice, "grantType": "authorization_code"},
		"no refresh": {"clientId": sameDevice, "grantType": "refresh_token"},
	} {
		t.Run(name, func(t *testing.T) { w.login(key, body).fails(400, "ValidationException", "INVALID_REQUEST") })
	}
	w.do("POST", "/v1/token", "}").fails(400, "ValidationException", "INVALID_REQUEST")
	code := w.code(loginQuery(), "role", "GameDev")
	w.login(key, object{"clientId": crossDevice, "grantType": "authorization_code", "code": code,
		"codeVerifier": verifier,
		"redirectUri":  redirect}).
		fails(400, "AccessDeniedException", "AUTHCODE_EXPIRED")
	// A code of SSO is of no use here.
	sso := w.code(w.pkceClient().authorize())
	w.login(key, object{"clientId": sameDevice, "grantType": "authorization_code", "code": sso,
		"codeVerifier": verifier,
		"redirectUri":  redirect}).
		fails(400, "AccessDeniedException", "AUTHCODE_EXPIRED")
	code = w.code(loginQuery(), "role", "GameDev")
	w.access.disable("ada")
	w.login(key, object{"clientId": sameDevice, "grantType": "authorization_code", "code": code,
		"codeVerifier": verifier,
		"redirectUri":  redirect}).
		fails(400, "AccessDeniedException", "USER_CREDENTIALS_CHANGED")
}

func TestProofs(t *testing.T) {
	w := newWorld(t)
	key := newKey(t)
	body := object{"clientId": sameDevice, "grantType": "refresh_token", "refreshToken": "unknown"}
	send := func(proof string) answer { return w.json("/v1/token", body, header("DPoP", proof)) }
	const denied, passed = "INVALID_REQUEST", "TOKEN_EXPIRED" // of the refresh token
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	jwk := func(change object) object {
		k := object{"kty": "EC", "crv": "P-256", "x": encode(point[1:33]), "y": encode(point[33:])}
		maps.Copy(k, change)
		return object{"jwk": k}
	}
	other, err := newKey(t).PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		header, claims object
		want           string
	}{
		"good":          {nil, nil, passed},
		"good type":     {object{"typ": "DPoP+JWT"}, nil, passed},
		"type":          {object{"typ": "JWT"}, nil, denied},
		"none":          {object{"alg": "none"}, nil, denied},
		"HS256":         {object{"alg": "HS256"}, nil, denied},
		"crit":          {object{"crit": []string{"x"}}, nil, denied},
		"no key":        {object{"jwk": nil}, nil, denied},
		"RSA":           {jwk(object{"kty": "RSA"}), nil, denied},
		"curve":         {jwk(object{"crv": "P-384"}), nil, denied},
		"private":       {jwk(object{"d": "AA"}), nil, denied},
		"not a point":   {jwk(object{"x": encode(other[1:33])}), nil, denied},
		"long":          {jwk(object{"x": encode(append([]byte{0}, point[1:33]...))}), nil, denied},
		"base64":        {jwk(object{"y": "!"}), nil, denied},
		"another's key": {jwk(object{"x": encode(other[1:33]), "y": encode(other[33:])}), nil, denied},
		"method":        {nil, object{"htm": "GET"}, denied},
		"url":           {nil, object{"htu": "https://evil.example/v1/token"}, denied},
		"path":          {nil, object{"htu": public + "/token"}, denied},
		"query":         {nil, object{"htu": public + "/v1/token?x"}, denied},
		"old":           {nil, object{"iat": w.clock.Now().Add(-301 * time.Second).Unix()}, denied},
		"future":        {nil, object{"iat": w.clock.Now().Add(301 * time.Second).Unix()}, denied},
		"skewed":        {nil, object{"iat": w.clock.Now().Add(-299 * time.Second).Unix()}, passed},
		"no jti":        {nil, object{"jti": ""}, denied},
		"long jti":      {nil, object{"jti": strings.Repeat("x", 200)}, denied},
		"wrong claims":  {nil, object{"iat": "x"}, denied},
	} {
		t.Run(name, func(t *testing.T) {
			claims := w.claims()
			maps.Copy(claims, test.claims)
			send(proofOf(t, key, test.header, claims)).fails(400, "AccessDeniedException", test.want)
		})
	}
	proof := proofOf(t, key, nil, w.claims())
	send(proof).fails(400, "AccessDeniedException", passed)
	send(proof).fails(400, "AccessDeniedException", denied).has("used before")
	w.clock.Advance(10 * time.Minute)
	send(proof).fails(400, "AccessDeniedException", denied)
	proof = proofOf(t, key, nil, w.claims())
	i := strings.LastIndex(proof, ".")
	for _, bad := range []string{"", "a.b", "a.b.c", "..", proof[:i+1], proof[:len(proof)-3],
		proof + strings.Repeat("x", 5000),
		proof[:i] + ".AAAA"} {
		w.json("/v1/token", body, header("DPoP", bad)).status(400)
	}
	w.json("/v1/token", body).fails(400, "ValidationException", denied)
	w.json("/v1/token", body, header("DPoP", proof), func(r *http.Request) { r.Header.Add("DPoP", proof) }).
		fails(400, "ValidationException", denied)
}

// AWS's Go client leaves out the leading zeros of coordinates: one key of 128 has such ones.
func TestShortCoordinates(t *testing.T) {
	w := newWorld(t)
	for {
		key := newKey(t)
		point, err := key.PublicKey.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if point[1] != 0 && point[33] != 0 {
			continue
		}
		short, err := parseProof(proofOf(t, key, nil, w.claims()))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := parseProof(
			proofOf(t, key, object{"jwk": object{"kty": "EC", "crv": "P-256", "x": encode(point[1:33]),
				"y": encode(point[33:])}}, w.claims()),
		)
		if err != nil || string(short.thumbprint) != string(whole.thumbprint) {
			t.Errorf("the thumbprints differ: %v", err)
		}
		return
	}
}
