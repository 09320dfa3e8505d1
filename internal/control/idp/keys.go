package idp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"

	"github.com/go-jose/go-jose/v4"
)

// minRSABits is the minimum size of an RSA key. Source: RFC 7518, section 3.3.
const minRSABits = 2048

// maxKeys bounds the keys of an issuer, because a token without a key id is tried with each of them.
const maxKeys = 100

// parseKeys returns the keys of a JWKS that can sign accepted tokens. Others are skipped: a set may contain keys for
// encryption and of future types.
func parseKeys(text []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New("the key set (JWKS) is not valid JSON")
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) == nil && usable(&key) {
			keys = append(keys, key)
		}
	}
	switch {
	case len(keys) == 0:
		return nil, errors.New("the key set (JWKS) has no RSA key of 2048 bits or more and no P-256 key")
	case len(keys) > maxKeys:
		return nil, errors.New("the key set (JWKS) has too many keys")
	}
	return keys, nil
}

func usable(key *jose.JSONWebKey) bool {
	if key.Use != "" && key.Use != "sig" {
		return false
	}
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		return public.N.BitLen() >= minRSABits && (key.Algorithm == "" || key.Algorithm == string(jose.RS256))
	case *ecdsa.PublicKey:
		return public.Curve == elliptic.P256() && (key.Algorithm == "" || key.Algorithm == string(jose.ES256))
	}
	return false
}

// verifyWith returns the payload of a token that one of the keys has signed. known reports whether a key has the
// token's key id.
func verifyWith(token *jose.JSONWebSignature, keys []jose.JSONWebKey) (payload []byte, known, ok bool) {
	id := token.Signatures[0].Header.KeyID
	for i := range keys {
		if id != "" && keys[i].KeyID != id {
			continue
		}
		known = id != ""
		if payload, err := token.Verify(&keys[i]); err == nil {
			return payload, true, true
		}
	}
	return nil, known, false
}

// tokenKeys verifies the signature of one token. It implements oidc.KeySet.
type tokenKeys struct {
	verifier *Verifier
	provider *Provider
	err      error // typed, of VerifySignature: package oidc keeps only its text
}

// VerifySignature returns the payload of a token with a valid signature of the provider.
func (k *tokenKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	var payload []byte
	parsed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.RS256, jose.ES256})
	if err != nil {
		k.err = invalid("it is not a JSON Web Token")
		return nil, k.err
	}
	if k.provider.Keys != "" {
		payload, k.err = k.registered(parsed)
	} else {
		payload, k.err = k.verifier.fetched(ctx, k.provider.Issuer, parsed)
	}
	return payload, k.err
}

// registered verifies with the keys of the provider's record.
func (k *tokenKeys) registered(token *jose.JSONWebSignature) ([]byte, error) {
	keys, err := parseKeys([]byte(k.provider.Keys))
	if err != nil {
		return nil, rejected("of provider %s, %s", k.provider.Name, err)
	}
	if payload, _, ok := verifyWith(token, keys); ok {
		return payload, nil
	}
	return nil, errSignature
}

var errSignature = invalid("it is not signed with a key of the issuer")

// fetched verifies with the keys of the issuer, and fetches them again if none has the token's key id.
func (v *Verifier) fetched(ctx context.Context, url string, token *jose.JSONWebSignature) ([]byte, error) {
	i := v.issuer(url)
	document, err := v.document(ctx, i, nil)
	if err != nil {
		return nil, err
	}
	payload, known, ok := verifyWith(token, document.keys)
	if ok {
		return payload, nil
	}
	if known {
		return nil, errSignature
	}
	newer, err := v.document(ctx, i, document)
	if err != nil {
		return nil, err
	}
	if payload, _, ok = verifyWith(token, newer.keys); !ok {
		return nil, errSignature
	}
	return payload, nil
}
