package cloudwatch

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
)

// maxToken is the maximum length of a token that is read.
const maxToken = 16 << 10

var errToken = errors.New("not a token of this query")

// token returns a NextToken: a position within the answer to a query. It is no secret, and can be used on every node.
func token(query []byte, position string) string {
	return base64.RawURLEncoding.EncodeToString(append(digest(query), position...))
}

// readToken returns the position of a token, "" of an empty one. It fails for a token of another query.
func readToken(text string, query []byte) (position string, err error) {
	if text == "" {
		return "", nil
	}
	if len(text) > maxToken {
		return "", errToken
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if sum := digest(query); err != nil || len(b) <= len(sum) || !bytes.Equal(b[:len(sum)], sum) {
		return "", errToken
	}
	return string(b[len(digest(nil)):]), nil
}

// digest returns 8 bytes that tell queries apart.
func digest(query []byte) []byte {
	sum := sha256.Sum256(query)
	return sum[:8]
}
