package signin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"time"
)

const (
	// proofSkew is the maximum difference between a proof's time and this node's clock.
	proofSkew = 5 * time.Minute

	// proofLife is from when the time of a proof refuses it.
	proofLife = 2*proofSkew + leeway

	maxProofs = 20_000 // that a node remembers
	maxProof  = 4 << 10
	maxJTI    = 128
)

// A proof shows that the sender of a request has a key. Source: RFC 9449, section 4.2.
type proof struct {
	thumbprint []byte // of the key; RFC 7638

	HTM string `json:"htm"`
	HTU string `json:"htu"`
	IAT int64  `json:"iat"`
	JTI string `json:"jti"`
}

// proof checks the DPoP header of a request to Sign-in's token endpoint and returns the thumbprint of its key. A node
// accepts each proof once.
func (h *Handler) proof(v *visit) (thumbprint []byte, err error) {
	values := v.r.Header.Values("DPoP")
	if len(values) != 1 {
		return nil, loginInvalid.because("The request needs one header DPoP.")
	}
	p, err := parseProof(values[0])
	if err != nil {
		return nil, loginDenied.because("The DPoP proof is not valid: %s.", err)
	}
	now, issued := h.Clock.Now(), time.Unix(p.IAT, 0)
	switch {
	case p.HTM != v.r.Method:
		return nil, loginDenied.because("The DPoP proof is for another method.")
	case !h.own(p.HTU, loginTokenPath):
		return nil, loginDenied.because("The DPoP proof is for %.200q; use the endpoint %s.", p.HTU, h.PublicURL)
	case issued.Before(now.Add(-proofSkew)) || issued.After(now.Add(proofSkew)):
		return nil, loginDenied.because("The DPoP proof is older or newer than 5 minutes; check the clock.")
	}
	h.proofs.use(hex.EncodeToString(p.thumbprint)+p.JTI, func(_ *struct{}, _ time.Time, known bool) {
		if known {
			err = loginDenied.because("The DPoP proof was used before.")
		}
	})
	return p.thumbprint, err
}

// parseProof parses a proof and checks its signature. It does not use package jose, which refuses coordinates without
// their leading zeros: AWS's Go client sends such ones.
func parseProof(text string) (*proof, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || len(text) > maxProof {
		return nil, errors.New("it is not a compact JWS")
	}
	var header struct {
		Type string          `json:"typ"`
		Alg  string          `json:"alg"`
		Crit json.RawMessage `json:"crit"`
		Key  struct {
			Type    string          `json:"kty"`
			Curve   string          `json:"crv"`
			X       string          `json:"x"`
			Y       string          `json:"y"`
			Private json.RawMessage `json:"d"`
		} `json:"jwk"`
	}
	p := new(proof)
	if decodePart(parts[0], &header) != nil || decodePart(parts[1], p) != nil {
		return nil, errors.New("it cannot be decoded")
	}
	k := &header.Key
	switch {
	case !strings.EqualFold(header.Type, "dpop+jwt") || header.Alg != "ES256" || header.Crit != nil:
		return nil, errors.New("its type must be dpop+jwt and its algorithm ES256")
	case k.Type != "EC" || k.Curve != "P-256" || k.Private != nil:
		return nil, errors.New("its key must be a public key on P-256")
	case p.JTI == "" || len(p.JTI) > maxJTI:
		return nil, errors.New("its claim jti is missing or too long")
	}
	x, y := coordinate(k.X), coordinate(k.Y)
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
	if err != nil {
		return nil, errors.New("its key is no point of P-256")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err != nil || len(signature) != 64 || !ecdsa.Verify(key, digest[:], new(big.Int).SetBytes(signature[:32]),
		new(big.Int).SetBytes(signature[32:])) {
		return nil, errors.New("its signature does not match")
	}
	p.thumbprint = sum(`{"crv":"P-256","kty":"EC","x":"` + encode(x) + `","y":"` + encode(y) + `"}`)
	return p, nil
}

func decodePart(part string, into any) error {
	data, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// coordinate decodes a coordinate to its 32 bytes; nil if it is none.
func coordinate(s string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) > 32 {
		return nil
	}
	return append(make([]byte, 32-len(b), 32), b...)
}
